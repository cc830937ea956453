/* Whatever a stranger sends to a port: the process stays up, counts it, says so at most once a
 * second, and other clients notice nothing. */
#include "tests/support/playground.h"
#include "tests/support/random.h"
#include "tests/support/stranger.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 100, MANY = 1000, ANSWER_MS = 10000, DAEMONS = 3 };

static const char *const daemons[DAEMONS] = {"router", "node-1", "coordinator"};
static struct playground playground;

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "0.01%");
    PLAYGROUND_DO("a\n", "add", "seen");
}

static void stop(void)
{
    playground_stop(&playground);
}

/* Every process still serves, and nothing was lost or made up. */
static void expect_undisturbed(void)
{
    struct command command;

    command_run(&command, span_text("a\nb\n"), "orbloom", "check", "seen", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "present\nabsent\n");
    command_forget(&command);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "0.01%");
    for (int i = 0; i < DAEMONS; i++) {
        (void)playground_counter(&playground, daemons[i], "malformed_total");
    }
}

static size_t count_text(const char *text, const char *part)
{
    size_t count = 0;

    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

static void fill_random(uint8_t *bytes, size_t size, uint64_t *state)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)random_next(state);
    }
}

/* Bytes that are not even ZeroMQ. */
Test(ports, plain_tcp_garbage_is_survived, .timeout = LIMIT_S)
{
    static const uint8_t greeting[] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                                       1,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    static uint8_t bytes[1 << 16];
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    uint64_t state = 7;

    start();
    for (int i = 0; i < DAEMONS; i++) {
        playground_endpoint(&playground, daemons[i], endpoint);
        for (int round = 0; round < 30; round++) {
            size_t size = random_below(&state, sizeof bytes);

            fill_random(bytes, size, &state);
            if (round % 3 == 1 && size > 64) {
                memcpy(bytes, greeting, sizeof greeting);
            } else if (round % 3 == 2 && size > 64) {
                memset(bytes, 0xff, 64); /* a frame of 2^64 - 1 bytes */
            }
            stranger_tcp(endpoint, span_of(bytes, size));
        }
        stranger_tcp(endpoint, span_text("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        stranger_tcp(endpoint, span_of("", 0));
    }
    expect_undisturbed();
    stop();
}

/* ZeroMQ frames of random bytes: refused, counted one by one, answered with an error. */
Test(ports, garbage_frames_are_counted_one_by_one, .timeout = LIMIT_S)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    uint8_t bytes[300];
    uint64_t state = 8;

    start();
    for (int i = 0; i < DAEMONS; i++) {
        struct stranger stranger;
        struct frame answer;

        playground_endpoint(&playground, daemons[i], endpoint);
        stranger_open(&stranger, endpoint);
        for (int round = 0; round < 200; round++) {
            /* Zeros are never a valid tag, so that none is a frame by chance. */
            size_t size = 1 + random_below(&state, sizeof bytes - 1);

            fill_random(bytes, size, &state);
            bytes[0] = 0;
            stranger_send(&stranger, span_of(bytes, size));
            cr_assert(stranger_receive(&stranger, ANSWER_MS, &answer), "a refusal is answered");
            cr_assert_eq(answer.kind, FRAME_ERROR);
            cr_assert_eq(answer.body.error.status, STATUS_MALFORMED);
        }
        cr_assert_eq(playground_counter(&playground, daemons[i], "malformed_total"), 200, "%s",
                     daemons[i]);
        stranger_close(&stranger);
    }
    expect_undisturbed();
    stop();
}

/* A good frame cut at every place: refused or, where the cut part was optional, served. */
Test(ports, truncated_frames_are_survived, .timeout = LIMIT_S)
{
    const uint32_t lengths[] = {1, 1, 1};
    struct frame whole = {.kind = FRAME_CLIENT_REQUEST,
                          .body.client_request = {.filter = "seen",
                                                  .operation = OPERATION_CHECK,
                                                  .op = {.session = {1, 2}, .sequence = 1},
                                                  .timeout_ms = 1000,
                                                  .keys = span_of("xyz", 3),
                                                  .lengths = lengths,
                                                  .count = 3}};
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    struct stranger stranger;
    struct buffer bytes;
    uint64_t before;

    start();
    buffer_init(&bytes, 4096);
    cr_assert_eq(codec_encode(&whole, &bytes), STATUS_OK);
    playground_endpoint(&playground, "router", endpoint);
    before = playground_counter(&playground, "router", "malformed_total");
    stranger_open(&stranger, endpoint);
    for (size_t size = 0; size < bytes.size; size++) {
        struct frame answer;

        stranger_send(&stranger, span_of(bytes.data, size));
        cr_assert(stranger_receive(&stranger, ANSWER_MS, &answer), "cut at %zu: no answer", size);
        cr_assert(answer.kind == FRAME_ERROR || answer.kind == FRAME_CLIENT_REPLY);
        cr_assert(answer.kind == FRAME_ERROR || answer.body.client_reply.count <= 3);
    }
    cr_assert_gt(playground_counter(&playground, "router", "malformed_total"),
                 before + bytes.size / 2);
    stranger_close(&stranger);
    buffer_fini(&bytes);
    expect_undisturbed();
    stop();
}

/* More than a frame may hold never reaches the process: the connection is cut. */
Test(ports, oversized_frames_are_cut_off, .timeout = LIMIT_S)
{
    size_t size = (size_t)CODEC_MAX_FRAME_BYTES + 1;
    uint8_t *bytes = calloc(size, 1);
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    cr_assert_not_null(bytes);
    start();
    for (int i = 0; i < DAEMONS; i++) {
        struct stranger stranger;
        struct frame answer;

        playground_endpoint(&playground, daemons[i], endpoint);
        stranger_open(&stranger, endpoint);
        stranger_send(&stranger, span_of(bytes, size));
        cr_assert_not(stranger_receive(&stranger, 300, &answer), "%s", daemons[i]);
        cr_assert_eq(playground_counter(&playground, daemons[i], "malformed_total"), 0);
        stranger_close(&stranger);
    }
    free(bytes);
    expect_undisturbed();
    stop();
}

Test(ports, another_protocol_version_is_refused_by_name, .timeout = LIMIT_S)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    start();
    for (int i = 0; i < DAEMONS; i++) {
        struct frame frame = {.version = 99, .correlation = 1234, .kind = FRAME_STATS_REQUEST};
        struct stranger stranger;
        struct frame answer;

        playground_endpoint(&playground, daemons[i], endpoint);
        stranger_open(&stranger, endpoint);
        stranger_send_frame(&stranger, &frame);
        cr_assert(stranger_receive(&stranger, ANSWER_MS, &answer));
        cr_assert_eq(answer.kind, FRAME_ERROR);
        cr_assert_eq(answer.body.error.status, STATUS_VERSION);
        cr_assert_eq(answer.correlation, 1234, "the asker can tell which request it was");
        cr_assert_eq(playground_counter(&playground, daemons[i], "version_total"), 1);
        stranger_close(&stranger);
    }
    expect_undisturbed();
    stop();
}

/* Valid frames that belong somewhere else: to each daemon those that only others answer. */
Test(ports, frames_in_the_wrong_direction_are_refused, .timeout = LIMIT_S)
{
    struct frame wrong[] = {
        {.kind = FRAME_CLIENT_REPLY, .body.client_reply = {.message = ""}},
        {.kind = FRAME_NODE_REPLY, .body.node_reply = {.node_id = 1, .incarnation = 2}},
        {.kind = FRAME_SYNC_REPLY, .body.sync_reply = {.message = "", .node_id = 7}},
        {.kind = FRAME_HINT, .body.hint = {.change = UINT64_MAX}},
        {.kind = FRAME_FENCE_REPLY, .body.fence_reply = {.filter_id = 1, .epoch = 99}},
        {.kind = FRAME_ADMIN_REPLY, .body.admin_reply = {.message = ""}},
        {.kind = FRAME_INFO_REPLY, .body.info_reply = {.message = ""}},
        {.kind = FRAME_STATS_REPLY, .body.stats_reply = {.program = "x", .name = "y"}},
        {.kind = FRAME_ERROR, .body.error = {.status = STATUS_IO, .message = "x"}},
    };
    const size_t nwrong = sizeof wrong / sizeof wrong[0];
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    start();
    for (int i = 0; i < DAEMONS; i++) {
        struct stranger stranger;
        struct frame answer;

        playground_endpoint(&playground, daemons[i], endpoint);
        stranger_open(&stranger, endpoint);
        for (size_t k = 0; k < nwrong; k++) {
            stranger_send_frame(&stranger, &wrong[k]);
            cr_assert(stranger_receive(&stranger, ANSWER_MS, &answer), "%s, frame %zu", daemons[i],
                      k);
            cr_assert_eq(answer.kind, FRAME_ERROR, "%s, frame %zu", daemons[i], k);
        }
        cr_assert_eq(playground_counter(&playground, daemons[i], "malformed_total"), nwrong, "%s",
                     daemons[i]);
        stranger_close(&stranger);
    }
    expect_undisturbed();
    stop();
}

/* A thousand in a row: all counted, few lines of log, and other clients served meanwhile. */
Test(ports, a_flood_of_garbage_disturbs_nobody_and_is_logged_once_a_second, .timeout = LIMIT_S)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    start();
    for (int i = 0; i < DAEMONS; i++) {
        uint64_t started_ms = command_now_ms();
        struct stranger stranger;
        size_t lines;
        char *log;

        playground_endpoint(&playground, daemons[i], endpoint);
        stranger_open(&stranger, endpoint);
        for (int n = 0; n < MANY; n++) {
            stranger_send(&stranger, span_text("garbage"));
            if (n == MANY / 2) {
                PLAYGROUND_DO("b\n", "check", "seen");
            }
        }
        playground_wait_counter(&playground, daemons[i], "malformed_total", MANY);
        log = playground_log(&playground, daemons[i]);
        lines = count_text(log, "refused a frame");
        cr_assert(lines >= 1 && lines <= (command_now_ms() - started_ms) / 1000 + 2,
                  "%s: %zu lines", daemons[i], lines);
        free(log);
        stranger_close(&stranger);
    }
    expect_undisturbed();
    stop();
}

/* Messages of several parts never reach the process; who sends them is still served. */
Test(ports, messages_of_several_parts_are_dropped_and_logged, .timeout = LIMIT_S)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    start();
    for (int i = 0; i < DAEMONS; i++) {
        struct frame frame = {.kind = FRAME_STATS_REQUEST};
        struct stranger stranger;
        struct frame answer;
        char *log;

        playground_endpoint(&playground, daemons[i], endpoint);
        stranger_open(&stranger, endpoint);
        stranger_send_parts(&stranger, span_text("one"), span_text("two"));
        stranger_send_parts(&stranger, span_text(""), span_text("as REQ sockets do"));
        stranger_send_frame(&stranger, &frame);
        cr_assert(stranger_receive(&stranger, ANSWER_MS, &answer));
        cr_assert_eq(answer.kind, FRAME_STATS_REPLY);
        log = playground_log(&playground, daemons[i]);
        cr_assert_eq(count_text(log, "dropped a message that is not one frame"), 1, "%s",
                     daemons[i]);
        free(log);
        stranger_close(&stranger);
    }
    expect_undisturbed();
    stop();
}

/* Documents with another cluster's key change nothing. */
Test(ports, documents_of_strangers_are_refused, .timeout = LIMIT_S)
{
    const struct span items[] = {span_text("not a document"), span_text("nor this")};
    struct frame frame = {.kind = FRAME_DOCUMENTS, .body.documents = {.items = items, .count = 2}};
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    struct stranger stranger;

    start();
    playground_endpoint(&playground, "node-1", endpoint);
    stranger_open(&stranger, endpoint);
    stranger_send_frame(&stranger, &frame);
    playground_wait_counter(&playground, "node-1", "documents_refused_total", 2);
    stranger_close(&stranger);
    expect_undisturbed();
    stop();
}
