/* A writer as fast as one connection can be, into a filter that was reserved far too small: it
 * waits where it must, and nothing is refused. */
#include "tests/support/playground.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LIMIT_S = 120,
    BATCH = 1000,
    BATCHES = 200,
    MOST_TEXT = 32 << 10,
    ANSWER_BYTES = 7 + 4 * BATCH
};

static struct playground playground;
static char text[MOST_TEXT];

/* As many numbers as keys. */
static void expect_numbers(int fd, unsigned batch)
{
    size_t size = resp_peer_receive(fd, text, ANSWER_BYTES);

    text[size] = '\0';
    cr_assert_null(strchr(text, '-'), "batch %u: %s", batch, strchr(text, '-'));
    cr_assert_eq(size, ANSWER_BYTES, "batch %u", batch);
}

static void send_batch(int fd, const char *command, unsigned batch)
{
    size_t used = (size_t)snprintf(text, sizeof text, "%s", command);

    for (unsigned i = 0; i < BATCH; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, " key%u", batch * BATCH + i);
    }
    used += (size_t)snprintf(text + used, sizeof text - used, "\r\n");
    resp_peer_send(fd, span_of(text, used));
}

Test(expansion_fast, no_add_is_refused_because_a_filter_grows, .timeout = LIMIT_S)
{
    char path[100];
    int fd;

    (void)signal(SIGPIPE, SIG_IGN);
    playground_start(&playground, &(struct playground_plan){0});
    (void)snprintf(path, sizeof path, "%s/router/resp.sock", playground.dir);
    fd = resp_peer_dial(path, 0);
    resp_peer_expect(fd, "BF.RESERVE seen 0.01 100\r\n", "+OK\r\n");
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        send_batch(fd, "BF.MADD seen", batch);
        expect_numbers(fd, batch);
    }
    cr_assert_gt(playground_counter(&playground, "router", "held_total"), 0, "it never waited");
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        send_batch(fd, "BF.MEXISTS seen", batch);
        expect_numbers(fd, batch);
        cr_assert_null(strstr(text, ":0"), "batch %u: a key is absent", batch);
    }
    (void)close(fd);
    playground_stop(&playground);
}
