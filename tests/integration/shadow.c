/* `orbloom shadow` between real clients and two clusters: what one acknowledges the other one has,
 * also when that was away for a while; and the old one's end is its clients' alone. By TLS too, on
 * all three sides. */
#include "tests/support/certificates.h"
#include "tests/support/playground.h"
#include "tests/support/redis_shell.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_S = 120, TRIES = 300, PAUSE_MS = 50, MOST_WORDS = 24 };

enum place { OLD, NEW, SHADOW, NPLACES };

static struct playground playground;
static struct command shadow;
static unsigned ports[NPLACES];
static char endpoints[NPLACES][32]; /* as the shadow is told */
static const char *shadow_tls = ""; /* words of redis-cli */

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

    (void)snprintf(line, sizeof line, "redis-cli -p %u %s %s 2>&1 | tr '\\n' ' '", ports[place],
                   place == SHADOW ? shadow_tls : "", words);
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

/* Two clusters, whose routers serve Redis clients. */
static void start_servers(void)
{
    playground_start(&playground, &(struct playground_plan){.sites = 2, .nodes = 3});
    listen_at("site-1/router", OLD);
    listen_at("site-2/router", NEW);
    ports[SHADOW] = redis_free_port();
    for (size_t i = 0; i < NPLACES; i++) {
        (void)snprintf(endpoints[i], sizeof endpoints[i], "127.0.0.1:%u", ports[i]);
    }
    await(OLD);
    await(NEW);
    expect_soon(OLD, "BF.RESERVE seen 0.0001 100000", "OK ");
    expect_soon(NEW, "BF.RESERVE seen 0.0001 100000", "OK ");
}

/* With these further words, up to a NULL. */
static void start_shadow(const char *const *more)
{
    const char *words[MOST_WORDS] = {"shadow",       "--listen", endpoints[SHADOW], "--old",
                                     endpoints[OLD], "--new",    endpoints[NEW]};
    size_t count = 7;

    while (*more != NULL) {
        cr_assert_lt(count + 1, (size_t)MOST_WORDS);
        words[count++] = *more++;
    }
    command_start(&shadow, span_text(""), SIGKILL, "orbloom", words);
    await(SHADOW);
}

static void start(const char *answers)
{
    const char *const more[] = {"--answers", answers, NULL};

    start_servers();
    start_shadow(more);
}

static void stop_shadow(int exit_status, const char *says)
{
    cr_assert_eq(kill(shadow.pid, SIGTERM), 0);
    command_finish(&shadow, COMMAND_LIMIT_MS);
    cr_assert_eq(shadow.exit_status, exit_status, "%s%s", shadow.output, shadow.errors);
    cr_assert_not_null(strstr(shadow.output, says), "%s", shadow.output);
}

static void stop(int exit_status, const char *says)
{
    stop_shadow(exit_status, says);
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

static void expect_no_address(const char *old_server, const char *says)
{
    struct command run;

    command_run(&run, span_text(""), "orbloom", "shadow", "--listen", "127.0.0.1:0", "--old",
                old_server, "--new", "127.0.0.1:1", "--every", "1h", NULL);
    command_expect_errors(&run, 2, says);
    command_forget(&run);
}

/* Whoever says rediss:// must not be spoken to, and logged in at, in plain. */
Test(shadow, a_server_by_another_scheme_is_refused, .timeout = LIMIT_S)
{
    expect_no_address("rediss://127.0.0.1:1", "--old-ca-file");
    expect_no_address("redis://127.0.0.1:1", "write it as HOST:PORT");
    expect_no_address("127.0.0.1", "write it as HOST:PORT");
}

/* ---- servers and readers that stop ---- */

/* Of the playground's folder. */
static const char *in_folder(const char *name)
{
    static char paths[16][96];
    static unsigned next;
    char *path = paths[next++ % 16];

    (void)snprintf(path, sizeof paths[0], "%s/%s", playground.dir, name);
    return path;
}

/* In the place of the new server. Where it listens. */
static int pretend_new(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(listener, 4), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(endpoints[NEW], sizeof endpoints[NEW], "127.0.0.1:%u",
                   (unsigned)ntohs(address.sin_port));
    return listener;
}

/* With so many that nobody accepts that the next one hears nothing. */
static void crowd(int listener, int fds[], size_t count)
{
    struct sockaddr_in address;
    socklen_t size = sizeof address;

    cr_assert_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    for (size_t i = 0; i < count; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (struct sockaddr *)&address, size);
    }
}

static int accept_soon(int listener)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};

    cr_assert_eq(poll(&ready, 1, COMMAND_LIMIT_MS), 1, "nobody connects");
    return accept(listener, NULL, NULL);
}

static void expect_heard(int fd, const char *words)
{
    char heard[128] = "";

    cr_assert_eq(recv(fd, heard, strlen(words), MSG_WAITALL), (ssize_t)strlen(words));
    cr_assert_str_eq(heard, words);
}

/* It may have lost its memory of the connection: nothing but another one helps, and nothing is lost
 * meanwhile. */
Test(shadow, a_new_one_that_never_answers_a_login_is_tried_anew, .timeout = LIMIT_S)
{
    static const char login[] = "*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n";
    char rest[8];
    FILE *secret;
    int listener;
    int first;
    int second;

    start_servers();
    secret = fopen(in_folder("secret"), "w");
    cr_assert(secret != NULL && fputs("secret\n", secret) > 0 && fclose(secret) == 0);
    cr_assert_eq(chmod(in_folder("secret"), 0600), 0);
    listener = pretend_new();
    start_shadow((const char *const[]){"--new-auth", in_folder("secret"), NULL});
    first = accept_soon(listener);
    expect_heard(first, login);
    expect(SHADOW, "BF.ADD seen a", "1 ");
    second = accept_soon(listener);
    cr_assert_leq(recv(first, rest, sizeof rest, 0), 0, "it was told more than who asks");
    expect_heard(second, login);
    cr_assert_eq(send(second, "+OK\r\n", 5, 0), 5);
    expect_heard(second, "*3\r\n$6\r\nBF.ADD\r\n$4\r\nseen\r\n$1\r\na\r\n");
    cr_assert_eq(send(second, ":1\r\n", 4, 0), 4);
    stop(0, "keys added                              1                1");
    (void)close(first);
    (void)close(second);
    (void)close(listener);
}

/* That it was still on its way there is nobody's fault. */
Test(shadow, one_that_ends_before_the_new_one_is_there_blames_nobody, .timeout = LIMIT_S)
{
    enum { CROWD = 16 };
    int fds[CROWD];
    int listener;

    start_servers();
    listener = pretend_new();
    crowd(listener, fds, CROWD);
    start_shadow((const char *const[]){NULL});
    stop_shadow(0, "nothing to judge by");
    cr_assert_null(strstr(shadow.errors, "cannot reach"), "%s", shadow.errors);
    command_forget(&shadow);
    playground_stop(&playground);
    for (size_t i = 0; i < CROWD; i++) {
        (void)close(fds[i]);
    }
    (void)close(listener);
}

/* By a shell, into a pipe that the test has. Its end, which never blocks. */
static int start_into_pipe(void)
{
    char script[512];
    const char *const words[] = {"-c", script, NULL};
    int pipe;

    cr_assert_eq(mkfifo(in_folder("pipe"), 0600), 0);
    pipe = open(in_folder("pipe"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    cr_assert_geq(pipe, 0);
    (void)snprintf(
        script, sizeof script, "exec '%s/orbloom' shadow --listen %s --old %s --new %s >'%s'",
        command_bin_dir(), endpoints[SHADOW], endpoints[OLD], endpoints[NEW], in_folder("pipe"));
    command_start(&shadow, span_text(""), SIGKILL, "/bin/sh", words);
    await(SHADOW);
    return pipe;
}

static void fill(int pipe)
{
    static const char zeros[4096];

    while (write(pipe, zeros, sizeof zeros) > 0) {
    }
}

/* What comes next to its end. */
static void expect_report(int pipe, const char *says)
{
    static char text[1 << 17];
    size_t size = 0;

    for (int i = 0; i < TRIES && strstr(text, says) == NULL; i++) {
        ssize_t came = read(pipe, text + size, sizeof text - 1 - size);

        size += came > 0 ? (size_t)came : 0;
        for (size_t at = 0; at < size; at++) {
            text[at] = text[at] == '\0' ? ' ' : text[at];
        }
        (void)poll(NULL, 0, came > 0 ? 0 : PAUSE_MS);
    }
    cr_assert_not_null(strstr(text, says), "%s", text);
}

/* A terminal that is held, a pager that is not scrolled. */
Test(shadow, reports_that_nobody_reads_delay_nobody, .timeout = LIMIT_S)
{
    int pipe;

    start_servers();
    pipe = start_into_pipe();
    fill(pipe);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(kill(shadow.pid, SIGUSR1), 0);
        expect(SHADOW, "BF.EXISTS seen a", "0 ");
    }
    expect_report(pipe, " ");
    cr_assert_eq(kill(shadow.pid, SIGUSR1), 0);
    expect_report(pipe, "reports that nobody read");
    cr_assert_eq(kill(shadow.pid, SIGTERM), 0);
    command_finish(&shadow, COMMAND_LIMIT_MS);
    command_expect_exit(&shadow, 0);
    command_forget(&shadow);
    (void)close(pipe);
    playground_stop(&playground);
}

/* ---- by TLS ---- */

/* Routers listen by TLS, too, at ports that are the shadow's; the old one asks for certificates. */
static void serve_by_tls(const char *old_host)
{
    static const char *const routers[] = {[OLD] = "site-1/router", [NEW] = "site-2/router"};

    certificates_make(playground.dir);
    for (size_t i = OLD; i <= NEW; i++) {
        const char *host = i == OLD ? old_host : "127.0.0.1";
        unsigned port = redis_free_port();
        char lines[640];

        (void)snprintf(lines, sizeof lines,
                       "resp_tls_listen = \"tcp://%s:%u\";\ntls_cert_file = \"%s\";\n"
                       "tls_key_file = \"%s\";\ntls_ca_file = \"%s\";\ntls_clients = \"%s\";\n",
                       host, port, in_folder("server.pem"), in_folder("server.key"),
                       in_folder("ca.pem"), i == OLD ? "required" : "optional");
        playground_configure(&playground, routers[i], lines);
        (void)snprintf(endpoints[i], sizeof endpoints[i], "%s:%u", host, port);
        await((enum place)i);
    }
}

static void start_tls(const char *old_host, const char *old_ca, const char *new_ca)
{
    static char words[256];

    start_servers();
    serve_by_tls(old_host);
    (void)snprintf(words, sizeof words, "--tls --cacert %s", in_folder("ca.pem"));
    shadow_tls = words;
    start_shadow((const char *const[]){"--old-ca-file", in_folder(old_ca), "--old-cert-file",
                                       in_folder("client.pem"), "--old-key-file",
                                       in_folder("client.key"), "--new-ca-file", in_folder(new_ca),
                                       "--tls-cert-file", in_folder("second.pem"), "--tls-key-file",
                                       in_folder("second.key"), NULL});
}

/* Many at once, of which nobody reads an answer before all are sent. */
static void expect_pipe(unsigned count)
{
    FILE *file = fopen(in_folder("adds"), "w");
    char words[160];
    char answer[64];

    cr_assert_not_null(file);
    for (unsigned i = 0; i < count; i++) {
        (void)fprintf(file, "BF.ADD seen many-%u\r\n", i);
    }
    cr_assert_eq(fclose(file), 0);
    (void)snprintf(words, sizeof words, "--pipe < %s | tail -1", in_folder("adds"));
    (void)snprintf(answer, sizeof answer, "errors: 0, replies: %u ", count);
    expect(SHADOW, words, answer);
}

Test(shadow, all_three_sides_may_speak_tls, .timeout = LIMIT_S)
{
    start_tls("127.0.0.1", "ca.pem", "ca.pem");
    expect_soon(SHADOW, "BF.MADD seen a b", "1 1 ");
    expect_soon(NEW, "BF.MEXISTS seen a b c", "1 1 0 ");
    expect_pipe(20000);
    playground_kill(&playground, "site-2/router");
    expect(SHADOW, "BF.ADD seen c", "1 ");
    playground_restart(&playground, "site-2/router");
    expect_soon(NEW, "BF.MEXISTS seen a b c d", "1 1 1 0 ");
    expect(SHADOW, "BF.MEXISTS seen a b c d", "1 1 1 0 ");
    expect(NEW, "BF.MEXISTS seen many-0 many-19999", "1 1 ");
    stop(0, "keys added                         20,003           20,003");
}

/* What is not surely the right server gets no key, and whoever looks after it learns why. */
Test(shadow, servers_that_nobody_vouches_for_are_refused_in_words, .timeout = LIMIT_S)
{
    static const char asked[] = "BF.ADD seen a";

    start_tls("127.0.0.2", "ca.pem", "other.pem");
    expect(SHADOW, asked, "ERR orbloom shadow can't reach the old server: IP address mismatch  ");
    expect(OLD, "BF.EXISTS seen a", "0 ");
    stop_shadow(0, "old one not reached");
    cr_assert_not_null(strstr(shadow.errors, "IP address mismatch; check --old, --old-ca-file"),
                       "%s", shadow.errors);
    cr_assert_not_null(strstr(shadow.errors, "in certificate chain; check --new, --new-ca-file"),
                       "%s", shadow.errors);
    command_forget(&shadow);
    playground_stop(&playground);
}

/* By TLS 1.3 that is heard after hands were shaken. */
Test(shadow, a_server_that_wants_a_certificate_says_so_to_clients, .timeout = LIMIT_S)
{
    start_servers();
    serve_by_tls("127.0.0.1");
    start_shadow((const char *const[]){"--old-ca-file", in_folder("ca.pem"), "--new-ca-file",
                                       in_folder("ca.pem"), NULL});
    for (int i = 0; i < 2; i++) {
        const char *told = ask(SHADOW, "BF.ADD seen a");

        cr_assert_not_null(strstr(told, "certificate required"), "%s", told);
    }
    expect(OLD, "BF.EXISTS seen a", "0 ");
    stop_shadow(0, "old one not reached");
    cr_assert_not_null(strstr(shadow.errors, "certificate required; check --old"), "%s",
                       shadow.errors);
    command_forget(&shadow);
    playground_stop(&playground);
}
