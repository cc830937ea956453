/* A client that asks for more than a node can answer, reads nothing and resets its connection.
 *
 * libzmq 4.3 aborts the process when a connection breaks while its receive queue is full and a
 * heartbeat is due: so that queue must never be full, however busy the node is. */
#include "tests/support/playground.h"
#include "tests/support/stranger.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    LIMIT_S = 100,
    REQUESTS = 500,
    FLOODS = 1,
    BIG_FILTER_ID = 1,
    GREETING_BYTES = 65,
    SETTLE_S = 3
};

/* The greeting of ZMTP 3.0 with mechanism NULL, and the READY command of a DEALER. */
static const char hello[] = "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                            "\4\x1c\5READY\xbSocket-Type\0\0\0\6DEALER";

static struct playground playground;

static int connect_plainly(const char *endpoint)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1));
    cr_assert_geq(descriptor, 0);
    cr_assert_eq(connect(descriptor, (struct sockaddr *)&address, sizeof address), 0);
    return descriptor;
}

/* One short ZMTP message: flags, length, content. */
static void append_message(struct buffer *bytes, struct span frame)
{
    const uint8_t head[2] = {0, (uint8_t)frame.size};

    cr_assert_lt(frame.size, 256);
    cr_assert_eq(buffer_append(bytes, span_of(head, sizeof head)), STATUS_OK);
    cr_assert_eq(buffer_append(bytes, frame), STATUS_OK);
}

/* Questions that take the node some milliseconds each. */
static void make_flood(struct buffer *bytes)
{
    const struct frame frame = {.kind = FRAME_INFO_REQUEST,
                                .body.info_request = {.filter = "", .filter_id = BIG_FILTER_ID}};
    struct buffer one;

    buffer_init(&one, 256);
    buffer_init(bytes, 1 << 20);
    cr_assert_eq(codec_encode(&frame, &one), STATUS_OK);
    for (int i = 0; i < REQUESTS; i++) {
        append_message(bytes, buffer_span(&one));
    }
    buffer_fini(&one);
}

/* Closing with answers unread makes TCP send a reset. */
static void flood(const char *endpoint, struct span bytes)
{
    int descriptor = connect_plainly(endpoint);
    char first[256];
    ssize_t got = 0;

    cr_assert_eq(send(descriptor, hello, sizeof hello - 1, MSG_NOSIGNAL), sizeof hello - 1);
    while (got < GREETING_BYTES) {
        ssize_t more = recv(descriptor, first, sizeof first, 0);

        cr_assert_gt(more, 0);
        got += more;
    }
    cr_assert_gt(send(descriptor, bytes.data, bytes.size, MSG_NOSIGNAL), 0);
    cr_assert_gt(recv(descriptor, first, sizeof first, 0), 0, "nothing was answered");
    cr_assert_eq(close(descriptor), 0);
}

Test(flood, a_busy_node_survives_clients_that_reset, .timeout = LIMIT_S)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    struct buffer bytes;
    time_t start_s;

    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "big", "--capacity", "60M", "--fpr", "1%");
    PLAYGROUND_DO("a\n", "add", "big");
    playground_endpoint(&playground, "node-1", endpoint);
    make_flood(&bytes);
    for (int i = 0; i < FLOODS; i++) {
        flood(endpoint, buffer_span(&bytes));
    }
    buffer_fini(&bytes);
    /* Until some heartbeats have passed, and when it is through with all that. */
    start_s = time(NULL);
    do {
        PLAYGROUND_DO("", "stats", endpoint, "--timeout", "60s");
    } while (time(NULL) < start_s + SETTLE_S);
    PLAYGROUND_DO("a\n", "check", "big", "--only", "present", "--timeout", "30s");
    playground_stop(&playground);
}
