/* One add through one router and, as by a client that heard nothing, through another: real
 * nodes know it again. */
#include "tests/support/playground.h"
#include "tests/support/stranger.h"

#include <criterion/criterion.h>
#include <signal.h>

enum { LIMIT_S = 120, ANSWER_MS = 20000, NODES = 3, BOTH = 2 };

static const char *const nodes[NODES] = {"node-1", "node-2", "node-3"};

static struct playground playground;
static struct stranger routers[BOTH];

static void start(void)
{
    static const char *const names[BOTH] = {"router", "router-2"};
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    playground_start(&playground, &(struct playground_plan){.nodes = NODES, .routers = BOTH});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "0.1%");
    for (int i = 0; i < BOTH; i++) {
        playground_endpoint(&playground, names[i], endpoint);
        stranger_open(&routers[i], endpoint);
        /* So that each has its documents and links before anything is counted. */
        PLAYGROUND_DO("x\n", "check", "seen", "--router", endpoint);
    }
}

static void stop(void)
{
    stranger_close(&routers[0]);
    stranger_close(&routers[1]);
    playground_stop(&playground);
}

static void send_add(struct stranger *router, uint64_t op, uint32_t attempt)
{
    const uint32_t length = 3;
    struct frame frame = {
        .correlation = op << 8 | attempt,
        .kind = FRAME_CLIENT_REQUEST,
        .body.client_request = {.filter = "seen",
                                .filter_id = 1, /* the first one of a cluster */
                                .operation = OPERATION_ADD,
                                .op = {.session = {1, 2}, .sequence = op},
                                .attempt = attempt,
                                .timeout_ms = ANSWER_MS,
                                .keys = span_text("key"),
                                .lengths = &length,
                                .count = 1},
    };

    stranger_send_frame(router, &frame);
}

/* The verdict on the one key, by its two planes. */
static const char *verdict(struct stranger *router, uint64_t op, uint32_t attempt)
{
    static const char *const words[] = {"unknown", "PRESENT", "NEW", "MAYBE_NEW"};
    const struct client_reply *reply;
    struct frame answer;

    cr_assert(stranger_receive(router, ANSWER_MS, &answer), "no answer");
    cr_assert_eq(answer.kind, FRAME_CLIENT_REPLY);
    cr_assert_eq(answer.correlation, op << 8 | attempt);
    reply = &answer.body.client_reply;
    cr_assert_eq(reply->status, STATUS_OK, "%s", reply->message);
    cr_assert_eq(reply->count, 1);
    return words[(reply->present[0] & 1) | (reply->absent[0] & 1) << 1];
}

/* Every node has executed so many adds: the slowest, too, has voted before the next one comes. */
static void wait_executed(uint64_t adds)
{
    for (int i = 0; i < NODES; i++) {
        playground_wait_counter(&playground, nodes[i], "keys_added_total", adds);
    }
}

static uint64_t sum(const char *counter)
{
    uint64_t total = 0;

    for (int i = 0; i < NODES; i++) {
        total += playground_counter(&playground, nodes[i], counter);
    }
    return total;
}

static void signal_nodes(int signal)
{
    for (int i = 0; i < NODES; i++) {
        playground_signal(&playground, nodes[i], signal);
    }
}

Test(retries, a_verdict_is_the_same_through_another_router, .timeout = LIMIT_S)
{
    start();
    send_add(&routers[0], 1, 0);
    cr_assert_str_eq(verdict(&routers[0], 1, 0), "NEW");
    wait_executed(1);
    send_add(&routers[1], 1, 1);
    cr_assert_str_eq(verdict(&routers[1], 1, 1), "NEW", "not the doing of its first attempt");
    wait_executed(2);
    cr_assert_geq(sum("remembered_total"), NODES);
    send_add(&routers[1], 2, 0);
    cr_assert_str_eq(verdict(&routers[1], 2, 0), "PRESENT", "another add of the same key");
    wait_executed(3);
    send_add(&routers[0], 2, 1);
    cr_assert_str_eq(verdict(&routers[0], 2, 1), "PRESENT");
    wait_executed(4);
    send_add(&routers[1], 3, 1);
    cr_assert_str_eq(verdict(&routers[1], 3, 1), "MAYBE_NEW", "its first attempt is not known");
    wait_executed(5);
    cr_assert_geq(sum("remembered_total"), 2 * NODES);
    cr_assert_geq(sum("repeated_total"), NODES);
    stop();
}

/* The router has passed the add on and then says nothing: it stands still from before the votes
 * come until the client has asked another. */
Test(retries, a_verdict_is_not_lost_with_a_router_that_stands_still, .timeout = LIMIT_S)
{
    start();
    signal_nodes(SIGSTOP);
    send_add(&routers[0], 1, 0);
    playground_wait_counter(&playground, "router", "inflight_bytes", 1);
    playground_signal(&playground, "router", SIGSTOP);
    signal_nodes(SIGCONT);
    wait_executed(1);
    send_add(&routers[1], 1, 1);
    cr_assert_str_eq(verdict(&routers[1], 1, 1), "NEW");
    wait_executed(2);
    send_add(&routers[1], 2, 0);
    cr_assert_str_eq(verdict(&routers[1], 2, 0), "PRESENT");
    playground_signal(&playground, "router", SIGCONT);
    cr_assert_str_eq(verdict(&routers[0], 1, 0), "NEW", "the late answer says the same");
    stop();
}
