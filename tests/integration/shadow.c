/* `orbloom shadow` between real clients and two clusters: what one acknowledges the other one has,
 * also when that was away for a while; and the old one's end is its clients' alone. */
#include "tests/support/playground.h"
#include "tests/support/redis_shell.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_S = 120, TRIES = 300, PAUSE_MS = 50 };

enum place { OLD, NEW, SHADOW, NPLACES };

static struct playground playground;
static struct command shadow;
static unsigned ports[NPLACES];

static void listen_at(const char *router, enum place place)
{
    char line[80];

    ports[place] = redis_free_port();
    (void)snprintf(line, sizeof line, "resp_listen = \"tcp://127.0.0.1:%u\";\n", ports[place]);
    playground_configure(&playground, router, line);
}

/* -1: nobody is there. */
static int reach(enum place place)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)ports[place])};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool is_there(enum place place)
{
    int fd = reach(place);

    return fd >= 0 && close(fd) == 0;
}

static void await(enum place place)
{
    for (int i = 0; i < TRIES && !is_there(place); i++) {
        (void)poll(NULL, 0, PAUSE_MS);
    }
    cr_assert(is_there(place), "%d", (int)place);
}

/* What redis-cli prints there, in one line. */
static const char *ask(enum place place, const char *words)
{
    static char text[512];
    char line[1024];
    FILE *shell;
    size_t size;

    (void)snprintf(line, sizeof line, "redis-cli -p %u %s 2>&1 | tr '\\n' ' '", ports[place],
                   words);
    shell = popen(line, "r");
    cr_assert_not_null(shell);
    size = fread(text, 1, sizeof text - 1, shell);
    text[size] = '\0';
    (void)pclose(shell);
    return text;
}

static void expect(enum place place, const char *words, const char *answer)
{
    const char *text = ask(place, words);

    cr_assert_str_eq(text, answer, "%s: %s", words, text);
}

static void expect_soon(enum place place, const char *words, const char *answer)
{
    const char *text = ask(place, words);

    for (int i = 0; i < TRIES && strcmp(text, answer) != 0; i++) {
        (void)poll(NULL, 0, PAUSE_MS);
        text = ask(place, words);
    }
    cr_assert_str_eq(text, answer, "%s: %s", words, text);
}

static void start(const char *answers)
{
    char endpoints[NPLACES][32];
    const char *words[] = {"shadow", "--listen",     endpoints[SHADOW], "--old", endpoints[OLD],
                           "--new",  endpoints[NEW], "--answers",       answers, NULL};

    playground_start(&playground, &(struct playground_plan){.sites = 2, .nodes = 3});
    listen_at("site-1/router", OLD);
    listen_at("site-2/router", NEW);
    ports[SHADOW] = redis_free_port();
    for (size_t i = 0; i < NPLACES; i++) {
        (void)snprintf(endpoints[i], sizeof endpoints[i], "127.0.0.1:%u", ports[i]);
    }
    await(OLD);
    await(NEW);
    command_start(&shadow, span_text(""), SIGKILL, "orbloom", words);
    await(SHADOW);
    expect_soon(OLD, "BF.RESERVE seen 0.0001 100000", "OK ");
    expect_soon(NEW, "BF.RESERVE seen 0.0001 100000", "OK ");
}

static void stop(int exit_status, const char *says)
{
    cr_assert_eq(kill(shadow.pid, SIGTERM), 0);
    command_finish(&shadow, COMMAND_LIMIT_MS);
    cr_assert_eq(shadow.exit_status, exit_status, "%s%s", shadow.output, shadow.errors);
    cr_assert_not_null(strstr(shadow.output, says), "%s", shadow.output);
    command_forget(&shadow);
    playground_stop(&playground);
}

/* Whoever ends his way out after what he has asked still gets the answers, and then the end. */
static void expect_half_closed(const char *asked, const char *answers)
{
    int fd = reach(SHADOW);
    char got[64] = "";
    size_t size = 0;
    ssize_t came;

    cr_assert_eq(write(fd, asked, strlen(asked)), (ssize_t)strlen(asked));
    cr_assert_eq(shutdown(fd, SHUT_WR), 0);
    while ((came = read(fd, got + size, sizeof got - 1 - size)) > 0) {
        size += (size_t)came;
    }
    cr_assert_str_eq(got, answers, "%s", got);
    (void)close(fd);
}

Test(shadow, the_new_one_gets_all_also_what_came_while_it_was_away, .timeout = LIMIT_S)
{
    start("old");
    expect_half_closed("PING\r\nBF.MADD seen a b\r\n", "+PONG\r\n*2\r\n:1\r\n:1\r\n");
    expect_soon(NEW, "BF.MEXISTS seen a b c", "1 1 0 ");
    playground_kill(&playground, "site-2/router");
    expect(SHADOW, "BF.ADD seen c", "1 ");
    expect(SHADOW, "BF.EXISTS seen c", "1 ");
    playground_restart(&playground, "site-2/router");
    expect_soon(NEW, "BF.MEXISTS seen a b c d", "1 1 1 0 ");
    stop(0, "keys added                              3                3");
}

Test(shadow, what_they_differ_about_is_counted_and_the_new_one_may_answer, .timeout = LIMIT_S)
{
    start("new");
    expect(OLD, "BF.ADD seen history", "1 ");
    expect_soon(SHADOW, "BF.EXISTS seen history", "0 ");
    expect_half_closed("BF.ADD seen fresh\r\nPING\r\n", ":1\r\n+PONG\r\n");
    expect(SHADOW, "BF.EXISTS seen fresh", "1 ");
    expect(OLD, "BF.EXISTS seen fresh", "1 ");
    playground_signal(&playground, "site-2/router", SIGSTOP);
    expect(SHADOW, "BF.EXISTS seen history", "1 ");
    playground_signal(&playground, "site-2/router", SIGCONT);
    stop(0, "answered by the old one");
}

Test(shadow, without_the_old_one_clients_are_told_so, .timeout = LIMIT_S)
{
    start("old");
    playground_kill(&playground, "site-1/router");
    expect(SHADOW, "BF.ADD seen a",
           "ERR orbloom shadow can't reach the old server: connection refused  ");
    expect(NEW, "BF.EXISTS seen a", "0 ");
    playground_restart(&playground, "site-1/router");
    await(OLD);
    expect_soon(SHADOW, "BF.ADD seen a", "1 ");
    expect_soon(NEW, "BF.EXISTS seen a", "1 ");
    stop(0, "old one not reached");
}

Test(shadow, a_new_one_that_stays_away_makes_it_say_so, .timeout = LIMIT_S)
{
    start("old");
    playground_kill(&playground, "site-2/router");
    expect(SHADOW, "BF.ADD seen a", "1 ");
    cr_assert_eq(kill(shadow.pid, SIGUSR1), 0);
    stop(1, "not ready to switch: 1 keys did not reach the new one");
}
