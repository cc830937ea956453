/* Each mechanism that keeps the promises has a counter, and it moves when the mechanism works,
 * in real processes. Counters of refused frames are in ports.c, of void votes in faults.c. */
#include "tests/support/playground.h"
#include "tests/support/stranger.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 100, ANSWER_MS = 10000 };

static struct playground playground;
static struct command command;

static void start_plan(const struct playground_plan *plan)
{
    playground_start(&playground, plan);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "0.01%");
    PLAYGROUND_DO("a\n", "add", "seen");
}

static void start(uint32_t routers)
{
    start_plan(&(struct playground_plan){.routers = routers});
}

static uint64_t counter(const char *daemon, const char *name)
{
    return playground_counter(&playground, daemon, name);
}

static struct client_reply ask(struct stranger *stranger, uint64_t sequence, uint32_t attempt)
{
    static const uint32_t length = 1;
    struct frame frame = {.kind = FRAME_CLIENT_REQUEST,
                          .body.client_request = {.filter = "seen",
                                                  .filter_id = 1, /* the first one of a cluster */
                                                  .operation = OPERATION_ADD,
                                                  .op = {.session = {5, 6}, .sequence = sequence},
                                                  .attempt = attempt,
                                                  .timeout_ms = 5000,
                                                  .keys = span_of("a", 1),
                                                  .lengths = &length,
                                                  .count = 1}};
    struct frame answer;

    stranger_send_frame(stranger, &frame);
    cr_assert(stranger_receive(stranger, ANSWER_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_CLIENT_REPLY);
    cr_assert_eq(answer.body.client_reply.op.sequence, sequence);
    cr_assert_eq(answer.body.client_reply.attempt, attempt);
    return answer.body.client_reply;
}

static bool is_maybe_new(struct client_reply reply)
{
    cr_assert_eq(reply.status, STATUS_OK, "%s", reply.message);
    cr_assert_eq(reply.present[0], 1, "an added key");
    return reply.absent[0] == 1;
}

/* Op ids and attempts: a retried add never reports its own first attempt as a duplicate. */
Test(counters, a_retried_add_is_counted_as_maybe_new, .timeout = LIMIT_S)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    struct stranger stranger;
    uint64_t before;

    start(1);
    playground_endpoint(&playground, "router", endpoint);
    stranger_open(&stranger, endpoint);
    cr_assert_not(is_maybe_new(ask(&stranger, 1, 0)), "somebody else's add");
    before = counter("router", "keys_maybe_new_total");
    cr_assert(is_maybe_new(ask(&stranger, 2, 1)), "a second attempt");
    cr_assert(is_maybe_new(ask(&stranger, 1, 0)), "a sequence that came before");
    cr_assert_not(is_maybe_new(ask(&stranger, 3, 0)), "a new operation");
    cr_assert_eq(counter("router", "keys_maybe_new_total"), before + 2);
    stranger_close(&stranger);
    playground_stop(&playground);
}

/* A node is asked again while it does not answer, other replicas are asked before that, and the
 * deadline ends what is left. */
Test(counters, silence_is_answered_by_hedges_retries_suspicion_and_deadlines, .timeout = LIMIT_S)
{
    start(1);
    playground_signal(&playground, "node-1", SIGSTOP);
    playground_signal(&playground, "node-2", SIGSTOP);
    command_run(&command, span_text("b\n"), "orbloom", "check", "seen", "--timeout", "1500ms",
                NULL);
    cr_assert_str_eq(command.output, "unknown\n");
    command_forget(&command);
    cr_assert_gt(counter("router", "hedges_total"), 0);
    cr_assert_gt(counter("router", "retries_total"), 0);
    cr_assert_geq(counter("router", "suspects_total"), 2);
    playground_wait_counter(&playground, "router", "deadlines_total", 1);
    cr_assert_gt(counter("router", "keys_undecided_total"), 0);
    playground_signal(&playground, "node-1", SIGCONT);
    playground_signal(&playground, "node-2", SIGCONT);
    PLAYGROUND_DO("c\n", "add", "seen");
    cr_assert_eq(counter("router", "inflight_bytes"), 0, "all of it was given back");
    playground_stop(&playground);
}

/* Many small requests leave in few messages. */
Test(counters, coalescing_carries_many_subrequests_in_a_message, .timeout = LIMIT_S)
{
    enum { KEYS = 3000 };
    char *text = malloc((size_t)KEYS * 16);
    size_t used = 0;
    uint64_t subrequests;
    uint64_t messages;

    cr_assert_not_null(text);
    start(1);
    for (int i = 0; i < KEYS; i++) {
        used += (size_t)sprintf(text + used, "key-%d\n", i);
    }
    command_run(&command, span_of(text, used), "orbloom", "add", "seen", "--batch", "1",
                "--in-flight", "64", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    subrequests = counter("router", "segments_total");
    messages = counter("router", "node_requests_total");
    cr_assert_geq(subrequests, 3 * KEYS, "a request a key, a subrequest a replica");
    cr_assert_gt(subrequests, 2 * messages, "%d subrequests in %d messages", (int)subrequests,
                 (int)messages);
    free(text);
    playground_stop(&playground);
}

/* Fences: a drop is confirmed by the nodes before the name is free. */
Test(counters, a_drop_is_fenced, .timeout = LIMIT_S)
{
    uint64_t fences = 0;
    char node[32];

    start(1);
    PLAYGROUND_DO("", "drop", "seen");
    for (int n = 1; n <= 3; n++) {
        (void)snprintf(node, sizeof node, "node-%d", n);
        fences += counter(node, "fences_total");
    }
    cr_assert_geq(fences, 2, "F of three");
    cr_assert_geq(counter("coordinator", "fences_sent_total"), 3);
    cr_assert_geq(counter("coordinator", "fences_confirmed_total"), 2);
    cr_assert_eq(counter("coordinator", "filters_dropped_total"), 1);
    playground_stop(&playground);
}

/* Epochs: a router that slept through a drop learns it from the nodes. It never says "absent" and
 * acknowledges nothing, though it can't reach a coordinator. */
Test(counters, a_router_that_missed_a_drop_is_stale, .timeout = LIMIT_S)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    start(2);
    playground_endpoint(&playground, "router", endpoint);
    PLAYGROUND_DO("a\n", "check", "seen", "--router", endpoint);
    playground_signal(&playground, "router", SIGSTOP);
    PLAYGROUND_DO("", "drop", "seen");
    playground_kill(&playground, "coordinator");
    playground_signal(&playground, "router", SIGCONT);
    command_run(&command, span_text("a\nb\n"), "orbloom", "check", "seen", "--router", endpoint,
                "--timeout", "2s", NULL);
    cr_assert_eq(command.exit_status, 1);
    cr_assert_str_eq(command.output, "unknown\nunknown\n");
    command_forget(&command);
    command_run(&command, span_text("c\n"), "orbloom", "dedup", "seen", "--router", endpoint,
                "--timeout", "1s", NULL);
    cr_assert_eq(command.exit_status, 1);
    cr_assert_str_eq(command.output, "");
    command_forget(&command);
    cr_assert_gt(counter("router", "stale_total"), 0);
    cr_assert_gt(counter("router", "documents_taken_total"), 0);
    cr_assert_gt(counter("node-1", "stale_total") + counter("node-2", "stale_total") +
                     counter("node-3", "stale_total"),
                 0);
    playground_stop(&playground);
}

/* Without a coordinator a restarted node has no documents: routers hand them on. It has no id
 * either, so it is not ready; the add waits for a node that is. */
Test(counters, a_node_without_documents_is_given_them, .timeout = LIMIT_S)
{
    const char *words[] = {"add", "seen", "--timeout", "30s", NULL};

    start_plan(&(struct playground_plan){.in_memory = true}); /* it would have kept them */
    playground_kill(&playground, "coordinator");
    playground_kill(&playground, "node-1");
    playground_restart(&playground, "node-1");
    playground_signal(&playground, "node-2", SIGSTOP);
    command_start(&command, span_text("b\n"), SIGKILL, "orbloom", words);
    playground_wait_counter(&playground, "router", "need_doc_total", 1);
    playground_wait_counter(&playground, "node-1", "documents_taken_total", 1);
    playground_wait_counter(&playground, "router", "not_ready_total", 1);
    cr_assert_geq(counter("node-1", "need_doc_total"), 1);
    cr_assert_geq(counter("node-1", "not_ready_total"), 1);
    playground_signal(&playground, "node-2", SIGCONT);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    command_run(&command, span_text("a\nb\nx\n"), "orbloom", "check", "seen", NULL);
    cr_assert_str_eq(command.output, "present\npresent\nabsent\n");
    command_forget(&command);
    playground_stop(&playground);
}

/* A subrequest of a stranger, as a router would send it. */
static struct subrequest_reply ask_node(struct stranger *stranger, struct subrequest *subrequest)
{
    uint64_t fingerprint = 77;
    struct frame frame = {.kind = FRAME_NODE_REQUEST,
                          .body.node_request = {.subrequests = subrequest,
                                                .nsubrequests = 1,
                                                .fingerprints = &fingerprint,
                                                .count = 1}};
    struct frame answer;

    subrequest->count = 1;
    stranger_send_frame(stranger, &frame);
    cr_assert(stranger_receive(stranger, ANSWER_MS, &answer));
    cr_assert_eq(answer.kind, FRAME_NODE_REPLY);
    cr_assert_eq(answer.body.node_reply.nsubrequests, 1);
    return answer.body.node_reply.subrequests[0];
}

/* A message that arrives twice is known for what it is; wrong epochs are told apart. */
Test(counters, a_node_counts_repeats_and_every_refusal_by_epoch, .timeout = LIMIT_S)
{
    struct subrequest subrequest = {.filter_id = 1, .operation = OPERATION_CHECK};
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    struct stranger stranger;
    struct subrequest_reply reply;

    start(1);
    playground_endpoint(&playground, "node-1", endpoint);
    stranger_open(&stranger, endpoint);
    reply = ask_node(&stranger, &subrequest);
    cr_assert_eq(reply.status, STATUS_STALE);
    subrequest.epoch = reply.epoch + 1;
    cr_assert_eq(ask_node(&stranger, &subrequest).status, STATUS_NEED_DOC);
    subrequest.epoch = reply.epoch;
    subrequest.epoch_hash = reply.epoch_hash + 1;
    cr_assert_eq(ask_node(&stranger, &subrequest).status, STATUS_CONFLICT);
    subrequest.epoch_hash = reply.epoch_hash;
    subrequest.operation = OPERATION_ADD;
    subrequest.batch = (struct batch_id){.producer_id = 99, .number = 1};
    cr_assert_not(ask_node(&stranger, &subrequest).repeated);
    cr_assert_not(ask_node(&stranger, &subrequest).repeated, "its vote is remembered");
    subrequest.op.sequence++;
    cr_assert(ask_node(&stranger, &subrequest).repeated, "the batch is known, the add is not");
    cr_assert_eq(counter("node-1", "stale_total"), 1);
    cr_assert_eq(counter("node-1", "need_doc_total"), 1);
    cr_assert_eq(counter("node-1", "conflict_total"), 1);
    cr_assert_eq(counter("node-1", "remembered_total"), 1);
    cr_assert_eq(counter("node-1", "repeated_total"), 1);
    stranger_close(&stranger);
    playground_stop(&playground);
}

/* Too many bytes at once are refused and counted; less goes through. */
Test(counters, a_router_over_its_bound_is_overloaded, .timeout = LIMIT_S)
{
    enum { KEYS = 60000 };
    char *text = malloc((size_t)KEYS * 16);
    size_t used = 0;

    cr_assert_not_null(text);
    for (int i = 0; i < KEYS; i++) {
        used += (size_t)sprintf(text + used, "key-%d\n", i);
    }
    start(1);
    playground_configure(&playground, "router", "max_inflight = \"1MiB\";\n");
    command_run(&command, span_of(text, used), "orbloom", "check", "seen", "--batch", "60000",
                "--timeout", "3s", NULL);
    cr_assert_eq(command.exit_status, 1);
    cr_assert_not_null(strstr(command.errors, "OVERLOADED"), "%s", command.errors);
    command_forget(&command);
    cr_assert_gt(counter("router", "overloaded_total"), 0);
    command_run(&command, span_of(text, used), "orbloom", "check", "seen", "--batch", "1000",
                "--in-flight", "4", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    free(text);
    playground_stop(&playground);
}

Test(counters, unknown_and_full_filters_are_counted, .timeout = LIMIT_S)
{
    enum { KEYS = 3000 };
    char *text = malloc((size_t)KEYS * 16);
    size_t used = 0;

    cr_assert_not_null(text);
    start(1);
    command_run(&command, span_text("a\n"), "orbloom", "check", "nobody", NULL);
    command_forget(&command);
    cr_assert_gt(counter("router", "unknown_filters_total"), 0);
    PLAYGROUND_DO("", "create", "small", "--capacity", "1000", "--fpr", "1%", "--when-full",
                  "refuse");
    for (int i = 0; i < KEYS; i++) {
        used += (size_t)sprintf(text + used, "key-%d\n", i);
    }
    command_run(&command, span_of(text, used), "orbloom", "add", "small", NULL);
    cr_assert_eq(command.exit_status, 1);
    command_forget(&command);
    cr_assert_gt(counter("router", "full_total"), 0);
    cr_assert_gt(counter("node-2", "full_total"), 0);
    free(text);
    playground_stop(&playground);
}
