/* Whatever comes to the RESP port of a real router: every command with every nonsense, half a
 * command, far too much; and who behaves is answered as before. */
#include "tests/support/redis_shell.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LIMIT_S = 180, MOST_REPLY = 1 << 20, MOST_COMMANDS = 128, MOST_ARGUMENTS = 4, BLOB = 70000 };

static struct playground playground;
static char path[REDIS_SOCKET_BYTES];
static char reply[MOST_REPLY];

static int start(const char *options)
{
    int good;

    (void)signal(SIGPIPE, SIG_IGN);
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
    if (options[0] != '\0') {
        redis_restart_router(&playground, options);
    }
    good = resp_peer_dial(path, 0);
    resp_peer_expect(good, "BF.ADD kept item\r\n", ":1\r\n");
    return good;
}

static void end(int good)
{
    resp_peer_expect(good, "BF.EXISTS kept item\r\n", ":1\r\n");
    (void)close(good);
    playground_stop(&playground);
}

/* ---- every command, every nonsense ---- */

/* What comes up to `mark`, the answer to a command that was sent behind. */
static size_t reply_before(int fd, const char *mark)
{
    size_t size = 0;

    while (size < strlen(mark) || memcmp(reply + size - strlen(mark), mark, strlen(mark)) != 0) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got;

        cr_assert_eq(poll(&ready, 1, RESP_PEER_WAIT_MS), 1, "no answer behind %.*s", (int)size,
                     reply);
        got = recv(fd, reply + size, sizeof reply - size, 0);
        cr_assert_gt(got, 0, "closed behind %.*s", (int)size, reply);
        size += (size_t)got;
    }
    return size - strlen(mark);
}

static void send_command(int fd, const char *name, const struct span *arguments, size_t count)
{
    char head[64];

    (void)snprintf(head, sizeof head, "*%zu\r\n$%zu\r\n", count + 1, strlen(name));
    resp_peer_send(fd, span_text(head));
    resp_peer_send(fd, span_text(name));
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(head, sizeof head, "\r\n$%zu\r\n", arguments[i].size);
        resp_peer_send(fd, span_text(head));
        resp_peer_send(fd, arguments[i]);
    }
    resp_peer_send(fd, span_text("\r\n"));
}

/* They end or bend the connection itself. */
static bool is_apart(const char *name)
{
    static const char *const names[] = {"quit", "hello", "reset", "multi", "client", "auth"};
    bool apart = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        apart = apart || strcmp(name, names[i]) == 0;
    }
    return apart;
}

static void send_nonsense(int fd, const char *name)
{
    static char blob[BLOB];
    const struct span pieces[] = {
        span_text(""),
        span_text("-1"),
        span_text("2147483648"),
        span_text("9223372036854775808"),
        span_text("1e999"),
        span_text("nan"),
        span_of("\0\r\n\xff", 4),
        span_of(blob, sizeof blob),
        span_text("no such"),
        span_text("items"),
    };

    memset(blob, 'x', sizeof blob);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        for (size_t count = 0; count <= MOST_ARGUMENTS; count++) {
            struct span arguments[MOST_ARGUMENTS];

            for (size_t k = 0; k < count; k++) {
                arguments[k] = k == 0 && i % 2 == 0 ? span_text("nobody") : pieces[i];
            }
            send_command(fd, name, arguments, count);
            resp_peer_send(fd, span_text("ECHO =-=\r\n"));
            cr_assert_gt(reply_before(fd, "$3\r\n=-=\r\n"), 0, "%s with %zu arguments", name,
                         count);
        }
    }
}

/* Names from COMMAND LIST, so that none is forgotten. */
static size_t list_commands(int fd, char names[MOST_COMMANDS][32])
{
    size_t count = 0;
    char *at;

    resp_peer_send(fd, span_text("COMMAND LIST\r\nECHO =-=\r\n"));
    reply[reply_before(fd, "$3\r\n=-=\r\n")] = '\0';
    for (at = strchr(reply, '$'); at != NULL; at = strchr(at + 1, '$')) {
        cr_assert_lt(count, MOST_COMMANDS);
        cr_assert_eq(sscanf(at, "$%*d\r\n%31[^\r]", names[count]), 1);
        count++;
    }
    return count;
}

Test(resp_hostile, every_command_outlives_nonsense, .timeout = LIMIT_S)
{
    static char names[MOST_COMMANDS][32];
    int good = start("");
    size_t count = list_commands(good, names);

    cr_assert_gt(count, 50);
    for (size_t i = 0; i < count; i++) {
        int fd = resp_peer_dial(path, 0);

        if (strstr(names[i], "subscribe") != NULL) { /* RESP 2 takes no ECHO then. */
            resp_peer_send(fd, span_text("HELLO 3\r\nECHO =-=\r\n"));
            (void)reply_before(fd, "$3\r\n=-=\r\n");
        }
        if (!is_apart(names[i])) {
            send_nonsense(fd, names[i]);
        }
        (void)close(fd);
        resp_peer_expect(good, "BF.EXISTS kept item\r\n", ":1\r\n");
    }
    end(good);
}

/* ---- how many arguments ---- */

/* From COMMAND INFO: exactly so many words, or at least, if negative. */
static int arity_of(int fd, const char *name)
{
    char line[64];
    int arity;

    (void)snprintf(line, sizeof line, "COMMAND INFO %s\r\nECHO =-=\r\n", name);
    resp_peer_send(fd, span_text(line));
    reply[reply_before(fd, "$3\r\n=-=\r\n")] = '\0';
    cr_assert_eq(sscanf(reply, "*1\r\n*%*d\r\n$%*d\r\n%*[^\r]\r\n:%d", &arity), 1, "%s", reply);
    return arity;
}

Test(resp_hostile, one_argument_too_many_or_too_few_is_refused, .timeout = LIMIT_S)
{
    static char names[MOST_COMMANDS][32];
    struct span words[16];
    int good = start("");
    size_t count = list_commands(good, names);
    size_t refused = 0;

    for (size_t i = 0; i < 16; i++) {
        words[i] = span_text("x");
    }
    for (size_t i = 0; i < count; i++) {
        int arity = arity_of(good, names[i]);
        char error[128];

        if (arity == -1) {
            continue; /* Any number is right. */
        }
        (void)snprintf(error, sizeof error, "-ERR wrong number of arguments for '%s' command\r\n",
                       names[i]);
        send_command(good, names[i], words, arity > 0 ? (size_t)arity : (size_t)-arity - 2);
        resp_peer_expect(good, "", error);
        refused++;
    }
    cr_assert_gt(refused, 50);
    end(good);
}

/* ---- arguments of a wrong type, as peers refuse them ---- */

Test(resp_hostile, what_is_wrong_with_an_argument_is_said, .timeout = LIMIT_S)
{
    static const char *const rows[][2] = {
        {"BF.RESERVE n x 10", "-ERR bad error rate\r\n"},
        {"BF.RESERVE n 1 10", "-ERR error rate must be in the range (0.000000, 1.000000)\r\n"},
        {"BF.RESERVE n 0.1 0", "-ERR capacity must be in the range [1, 1073741824]\r\n"},
        {"BF.RESERVE n 0.1 x", "-ERR bad capacity\r\n"},
        {"BF.RESERVE n 0.1 10 EXPANSION x", "-ERR bad expansion\r\n"},
        {"BF.RESERVE n 0.1 10 EXPANSION 0", "-ERR expansion should be greater or equal to 1\r\n"},
        {"BF.ADD kept \"\"", "-ERR an item has 1 to 65536 bytes\r\n"},
        {"BF.ADD a/b x", "-ERR a filter's name takes 1 to 128 of [A-Za-z0-9._:-]\r\n"},
        {"BF.INSERT n CAPACITY x ITEMS b", "-Bad capacity\r\n"},
        {"BF.INSERT n ERROR x ITEMS b", "-Bad error rate\r\n"},
        {"BF.INSERT n NOCREATE ITEMS b", "-ERR not found\r\n"},
        {"BF.INFO kept WEIGHT", "-Invalid information value\r\n"},
        {"BF.INFO none", "-ERR not found\r\n"},
        {"BF.SCANDUMP kept x", "-Second argument must be numeric\r\n"},
        {"BF.LOADCHUNK n x y", "-ERR Second argument must be numeric\r\n"},
        {"BF.LOADCHUNK n 1 garbage", "-ERR received bad data\r\n"},
        {"BF.EXPAND kept CAPACITY x", "-ERR bad capacity\r\n"},
        {"BF.STATUS none", "-ERR not found\r\n"},
        {"EXPIRE kept x", "-ERR value is not an integer or out of range\r\n"},
        {"EXPIRE kept 9223372036854775808", "-ERR value is not an integer or out of range\r\n"},
        {"EXPIRE kept 1 YY", "-ERR Unsupported option YY\r\n"},
        {"RENAME none n", "-ERR no such key\r\n"},
        {"WAIT 1 -1", "-ERR timeout is negative\r\n"},
        {"SCAN x", "-ERR invalid cursor\r\n"},
        {"SELECT x", "-ERR value is not an integer or out of range\r\n"},
        {"HELLO 9", "-NOPROTO unsupported protocol version\r\n"},
        {"EXEC", "-ERR EXEC without MULTI\r\n"},
        {"DISCARD", "-ERR DISCARD without MULTI\r\n"},
        {"BF.REBUILD none BEGIN", "-ERR not found\r\n"},
        {"BF.DEBUG none", "-ERR not found\r\n"},
        {"PEXPIRE kept x", "-ERR value is not an integer or out of range\r\n"},
        {"EXPIREAT kept x", "-ERR value is not an integer or out of range\r\n"},
        {"RENAMENX none n", "-ERR no such key\r\n"},
        {"WAIT x 1", "-ERR value is not an integer or out of range\r\n"},
        {"SCAN 0 NONSENSE 1", "-ERR syntax error\r\n"},
        {"HELLO 3 AUTH a", "-ERR Syntax error in HELLO\r\n"},
        {"CLIENT NONSENSE", "-ERR unknown subcommand 'NONSENSE'. Try CLIENT HELP.\r\n"},
        {"CONFIG NONSENSE", "-ERR unknown subcommand 'NONSENSE'. Try CONFIG HELP.\r\n"},
        {"COMMAND NONSENSE", "-ERR unknown subcommand 'NONSENSE'. Try COMMAND HELP.\r\n"},
        {"CLUSTER NONSENSE", "-ERR unknown subcommand 'NONSENSE'. Try CLUSTER HELP.\r\n"},
        {"OBJECT NONSENSE kept", "-ERR unknown subcommand 'NONSENSE'. Try OBJECT HELP.\r\n"},
        {"MEMORY NONSENSE", "-ERR unknown subcommand 'NONSENSE'. Try MEMORY HELP.\r\n"},
        {"MULTI\r\nBF.ADD kept\r\nBF.ADD kept b\r\nEXEC",
         "+OK\r\n-ERR wrong number of arguments for 'bf.add' command\r\n+QUEUED\r\n"
         "-EXECABORT Transaction discarded because of previous errors.\r\n"},
        {"MULTI\r\nBF.INFO none\r\nBF.EXISTS kept item\r\nEXEC",
         "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-ERR not found\r\n:1\r\n"},
    };
    int good = start("");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char line[256];

        (void)snprintf(line, sizeof line, "%s\r\n", rows[i][0]);
        resp_peer_expect(good, line, rows[i][1]);
    }
    end(good);
}

/* ---- too little, too much, something else ---- */

Test(resp_hostile, half_a_command_does_not_hold_its_place_for_ever, .timeout = LIMIT_S)
{
    int good = start("resp_idle_timeout = \"500ms\";\nresp_max_clients = \"2\";\n");
    int half = resp_peer_dial(path, 0);

    resp_peer_send(half, span_text("*3\r\n$6\r\nBF.ADD\r\n$1000\r\nhal"));
    resp_peer_expect_end(half, "");
    (void)close(good); /* It was silent, too. */
    good = resp_peer_dial(path, 0);
    half = resp_peer_dial(path, 0); /* There is a place for it. */
    resp_peer_expect(half, "PING\r\n", "+PONG\r\n");
    (void)close(half);
    end(good);
}

Test(resp_hostile, a_client_that_dies_in_a_chunk_leaves_nothing, .timeout = LIMIT_S)
{
    int good = start("");
    int dying = resp_peer_dial(path, 0);

    resp_peer_expect(dying, "BF.EXISTS n x\r\n", ":0\r\n");
    resp_peer_send(dying,
                   span_text("*4\r\n$12\r\nBF.LOADCHUNK\r\n$1\r\nn\r\n$1\r\n1\r\n$999\r\nhal"));
    (void)close(dying);
    resp_peer_expect(good, "EXISTS n\r\nBF.RESERVE n 0.01 1000\r\n", ":0\r\n+OK\r\n");
    end(good);
}

Test(resp_hostile, a_crowd_that_says_nothing_is_kept_out, .timeout = LIMIT_S)
{
    int good = start("resp_max_clients = \"50\";\n");
    int crowd[300];
    size_t refused = 0;

    for (size_t i = 0; i < 300; i++) {
        crowd[i] = resp_peer_dial(path, 0);
    }
    resp_peer_expect(good, "BF.EXISTS kept item\r\n", ":1\r\n");
    for (size_t i = 0; i < 300; i++) {
        struct pollfd said = {.fd = crowd[i], .events = POLLIN};

        if (i >= 49) {
            cr_assert_eq(poll(&said, 1, RESP_PEER_WAIT_MS), 1);
            resp_peer_expect_end(crowd[i], "-ERR max number of clients reached\r\n");
            refused++;
        } else {
            (void)close(crowd[i]);
        }
    }
    cr_assert_eq(refused, 251);
    end(good);
}

/* Until nothing has been taken for 2 s: how much was. */
static size_t flood(int mute, int good)
{
    static char pings[6 << 14];
    size_t sent = 0;

    for (size_t i = 0; i < sizeof pings; i++) {
        pings[i] = "PING\r\n"[i % 6];
    }
    for (;;) {
        struct pollfd ready = {.fd = mute, .events = POLLOUT};
        ssize_t now;

        if (poll(&ready, 1, 2000) == 0) {
            return sent;
        }
        now = send(mute, pings, sizeof pings, MSG_DONTWAIT);
        cr_assert(now > 0 || errno == EAGAIN, "closed after %zu bytes", sent);
        sent += now > 0 ? (size_t)now : 0;
        cr_assert_lt(sent, 256 << 20, "whatever is sent is taken");
        resp_peer_expect(good, "BF.EXISTS kept item\r\n", ":1\r\n");
    }
}

/* Half of resp_max_unread in answers, of 7 bytes for 6 that were sent; and what sockets and reads
 * hold. */
Test(resp_hostile, what_is_never_read_is_not_taken_for_ever, .timeout = LIMIT_S)
{
    int good = start("resp_max_unread = \"1MiB\";\n");
    int mute = resp_peer_dial(path, 0);
    size_t sent = flood(mute, good);

    cr_assert_leq(sent, 16 << 20);
    resp_peer_expect(good, "PING\r\n", "+PONG\r\n");
    (void)close(mute);
    end(good);
}

Test(resp_hostile, a_web_page_can_not_have_a_browser_send_commands, .timeout = LIMIT_S)
{
    int good = start("");
    int page = resp_peer_dial(path, 0);

    resp_peer_send(page, span_text("POST / HTTP/1.1\r\nDEL kept\r\n"));
    resp_peer_expect_end(page, "-ERR this is no HTTP server\r\n");
    page = resp_peer_dial(path, 0);
    resp_peer_send(page, span_text("GET / HTTP/1.1\r\nHost: localhost\r\n\r\nDEL kept\r\n"));
    resp_peer_expect_end(page, "-ERR wrong number of arguments for 'get' command\r\n"
                               "-ERR this is no HTTP server\r\n");
    end(good);
}

/* ---- many at once ---- */

enum { FLOODERS = 1000, GUESSES = 20, GARBAGE = 200, GARBAGE_BYTES = 64 << 10 };

static void expect_served(int good)
{
    for (int i = 0; i < 20; i++) {
        resp_peer_expect(good, "BF.EXISTS kept item\r\n", ":1\r\n");
    }
}

/* Whatever was said to it: it ends. */
static void expect_over(int fd)
{
    static char text[1 << 16];

    while (resp_peer_receive(fd, text, sizeof text) == sizeof text) {
    }
    (void)close(fd);
}

/* Each waits longer for each guess, and goes with the tenth; nobody else waits. */
Test(resp_hostile, a_thousand_who_guess_the_password_disturb_nobody, .timeout = LIMIT_S)
{
    static int fds[FLOODERS];
    char guesses[GUESSES * 16] = "";
    char options[256];
    int good;

    (void)signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < GUESSES; i++) {
        (void)snprintf(guesses + strlen(guesses), sizeof guesses - strlen(guesses), "AUTH %d\r\n",
                       i);
    }
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
    (void)snprintf(options, sizeof options, "(umask 077; echo sesame >%s/password)",
                   playground.dir);
    redis_shell(path, options, "");
    (void)snprintf(options, sizeof options, "resp_password_file = \"%s/password\";\n",
                   playground.dir);
    redis_restart_router(&playground, options);
    good = resp_peer_dial(path, 0);
    resp_peer_expect(good, "AUTH sesame\r\nBF.ADD kept item\r\n", "+OK\r\n:1\r\n");
    for (int i = 0; i < FLOODERS; i++) {
        fds[i] = resp_peer_dial(path, 0);
        resp_peer_send(fds[i], span_text(guesses));
        if (i % 100 == 99) {
            expect_served(good);
        }
    }
    for (int i = 0; i < FLOODERS; i++) {
        expect_over(fds[i]);
        if (i % 100 == 99) {
            expect_served(good);
        }
    }
    redis_shell(path,
                "redis-cli $S --no-auth-warning -a sesame INFO | tr -d '\\r' | grep -E "
                "'^resp_(guessers|wrong_passwords)_total'",
                "resp_wrong_passwords_total:10000\nresp_guessers_total:1000\n");
    end(good);
}

/* Bytes that are drawn, as one who begins with a command, or with none. */
static void send_garbage(int fd, unsigned *seed)
{
    static uint8_t bytes[GARBAGE_BYTES];
    static const char *const begins[] = {
        "", "PING\r\n", "*3\r\n$6\r\nBF.ADD\r\n$1\r\ng\r\n$999\r\n", "MULTI\r\nPING\r\n*2\r\n"};

    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(rand_r(seed) >> 7);
    }
    (void)send(fd, begins[*seed % 4], strlen(begins[*seed % 4]), MSG_NOSIGNAL);
    (void)send(fd, bytes, sizeof bytes, MSG_NOSIGNAL); /* It may be closed meanwhile. */
    (void)send(fd, "*1\r\n$-5\r\n", 10, MSG_NOSIGNAL);
    (void)shutdown(fd, SHUT_WR);
}

Test(resp_hostile, pipelines_of_garbage_end_and_disturb_nobody, .timeout = LIMIT_S)
{
    static int fds[GARBAGE];
    int good = start("");
    unsigned seed = 20261126;

    for (int i = 0; i < GARBAGE; i++) {
        fds[i] = resp_peer_dial(path, 0);
        send_garbage(fds[i], &seed);
        if (i % 20 == 19) {
            expect_served(good);
        }
    }
    for (int i = 0; i < GARBAGE; i++) {
        char text[4096];

        while (recv(fds[i], text, sizeof text, 0) > 0) { /* A reset is an end, too. */
        }
        (void)close(fds[i]);
    }
    expect_served(good);
    end(good);
}
