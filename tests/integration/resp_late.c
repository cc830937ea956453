/* A router or a coordinator is stopped, and goes on after whoever asked it has given up and made
 * the name anew: what was asked then does nothing. */
#include "tests/support/playground.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 120, GIVEN_UP_S = 3 /* well above resp_timeout below */, MOST_TEXT = 512 };

static struct playground playground;
static char path[100];

/* A short time within which the router answers. */
static void start(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    (void)snprintf(path, sizeof path, "%s/router/resp.sock", playground.dir);
    playground_configure(&playground, "router", "resp_timeout = \"1s\"\n");
}

static void expect(const char *sent, const char *expected)
{
    int fd = resp_peer_dial(path, 0);

    resp_peer_expect(fd, sent, expected);
    (void)close(fd);
}

/* Sends, and does not wait for the answer. */
static int say(const char *text)
{
    int fd = resp_peer_dial(path, 0);

    resp_peer_send(fd, span_text(text));
    return fd;
}

Test(resp_late, a_router_that_was_stopped_drops_and_adds_nothing, .timeout = LIMIT_S)
{
    int dropping;
    int adding;

    start();
    expect("BF.RESERVE seen 0.01 1000\r\n", "+OK\r\n");
    playground_signal(&playground, "router", SIGSTOP);
    dropping = say("DEL seen\r\n");
    adding = say("BF.ADD seen late\r\n");
    (void)sleep(GIVEN_UP_S);
    (void)close(dropping);
    PLAYGROUND_DO("", "drop", "seen");
    PLAYGROUND_DO("", "create", "seen", "--capacity", "1000", "--fpr", "1%");
    playground_signal(&playground, "router", SIGCONT);
    resp_peer_expect(adding, "",
                     "-DEADLINE this router was stopped while the command waited; "
                     "nothing was changed, send it again if it is still meant\r\n");
    (void)close(adding);
    (void)sleep(1); /* What comes right after a pause may be of before. */
    expect("BF.EXISTS seen late\r\n", ":0\r\n");
    expect("BF.ADD seen new\r\n", ":1\r\n");
    expect("EXISTS seen\r\n", ":1\r\n");
    playground_stop(&playground);
}

Test(resp_late, a_coordinator_that_was_stopped_drops_nothing, .timeout = LIMIT_S)
{
    char text[MOST_TEXT] = "";
    int dropping;

    start();
    expect("BF.ADD seen kept\r\n", ":1\r\n");
    playground_signal(&playground, "coordinator", SIGSTOP);
    dropping = say("DEL seen\r\n");
    cr_assert_gt(resp_peer_receive(dropping, text, 10), 0);
    cr_assert_eq(text[0], '-', "%s", text); /* Nobody has answered the router. */
    (void)close(dropping);
    playground_signal(&playground, "coordinator", SIGCONT);
    PLAYGROUND_DO("", "status"); /* It has gone on. */
    expect("BF.EXISTS seen kept\r\n", ":1\r\n");
    expect("EXISTS seen\r\n", ":1\r\n");
    playground_stop(&playground);
}
