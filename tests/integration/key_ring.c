/* The cluster key is replaced while keys are added and checked all the time: nobody notices,
 * nothing is lost, and in the end the new key alone is enough for a start of everything. */
#include "tests/support/flood.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

enum { LIMIT_S = 180, TEXT_BYTES = 1024, BATCHES = 100, LOG_BYTES = 1 << 20 };

static struct playground playground;
static struct command other; /* the second coordinator */
static char first_endpoint[PLAYGROUND_ENDPOINT_BYTES];
static char both[2 * PLAYGROUND_ENDPOINT_BYTES];
static char key_path[128];
static struct flood flood;
static void *silent_context;

static void shell(const char *text)
{
    cr_assert_eq(system(text), 0, "%s", text);
}

/* The first one's configuration under another name, on a port of its own. */
static void start_other(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    char line[PLAYGROUND_ENDPOINT_BYTES + 8] = "";
    char conf[TEXT_BYTES / 4];
    char text[TEXT_BYTES];

    (void)snprintf(conf, sizeof conf, "%s/other.conf", playground.dir);
    (void)snprintf(text, sizeof text,
                   "sed -e 's/^name = .*/name = \"other\";/' -e 's,^listen = .*,listen = "
                   "\"tcp://127.0.0.1:*\";,' %s/coordinator/conf >%s",
                   playground.dir, conf);
    shell(text);
    command_start(&other, span_text(""), SIGKILL, "orbloom-coordinator",
                  (const char *const[]){"--config", conf, NULL});
    while (strchr(line, '\n') == NULL) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it is not ready in time");
        cr_assert_not(command_ended(&other, 5), "it has ended");
        cr_assert_geq(pread(other.output_fd, line, sizeof line - 1, 0), 0);
    }
    cr_assert_eq(sscanf(line, "ready %255s", endpoint), 1, "%s", line);
    (void)snprintf(both, sizeof both, "%s,%s", first_endpoint, endpoint);
}

static void stop_other(void)
{
    cr_assert_eq(kill(other.pid, SIGTERM), 0);
    command_finish(&other, PLAYGROUND_STOP_MS);
    cr_assert_null(command_find_defect(other.errors), "%s", other.errors);
    command_forget(&other);
}

static const char *const daemons[] = {"coordinator", "node-1", "node-2", "node-3", "router"};

enum { NDAEMONS = sizeof daemons / sizeof daemons[0] };

static void tell_all_of_other(void)
{
    char text[TEXT_BYTES];

    for (size_t i = 1; i < NDAEMONS; i++) {
        playground_kill(&playground, daemons[i]);
        (void)snprintf(
            text, sizeof text,
            "sed -i 's|^coordinators = .*|coordinators = [\"%s\"\\, \"%s\"];|' %s/%s/conf",
            first_endpoint, strchr(both, ',') + 1, playground.dir, daemons[i]);
        shell(text);
        playground_restart(&playground, daemons[i]);
    }
}

static unsigned count(const char *text, const char *what)
{
    unsigned found = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        found++;
    }
    return found;
}

/* What it has logged since it was started; whose process the test has started logs to that. */
static char *log_of(const char *daemon)
{
    const struct command *started = NULL;
    char *text;

    for (size_t i = 0; i < playground.ndaemons; i++) {
        if (strcmp(playground.daemons[i].name, daemon) == 0) {
            started = playground.daemons[i].started;
        }
    }
    if (started == NULL) {
        return playground_log(&playground, daemon);
    }
    text = calloc(1, LOG_BYTES);
    cr_assert_not_null(text);
    cr_assert_geq(pread(started->errors_fd, text, LOG_BYTES - 1, 0), 0);
    return text;
}

static bool has_read(size_t daemon, unsigned times)
{
    static const char line[] = "SIGHUP: cluster_key_file holds other keys";
    char *log = log_of(daemons[daemon]);
    bool done = count(log, line) >= times;

    free(log);
    return done;
}

/* Some processes have the new ring, and some the one before: adds and checks go on. */
static void expect_service(void)
{
    static unsigned number;
    struct command command;
    char line[32];

    (void)snprintf(line, sizeof line, "between-%u\n", number++);
    PLAYGROUND_DO(line, "add", "seen");
    command_run(&command, span_text(line), "orbloom", "check", "seen", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "present\n");
    command_forget(&command);
}

/* All processes read the same file, one after the other. */
static void hang_up_all(void)
{
    static unsigned times;
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;

    times++;
    for (size_t i = 0; i < NDAEMONS; i++) {
        playground_signal(&playground, daemons[i], SIGHUP);
        while (!has_read(i, times)) {
            cr_assert_lt(command_now_ms(), deadline_ms, "%s has not read its key", daemons[i]);
            (void)usleep(20000);
        }
        expect_service();
    }
    cr_assert_eq(kill(other.pid, SIGHUP), 0); /* The last one: it signs what is left. */
    expect_service();
}

static void key(const char *step)
{
    PLAYGROUND_DO("", "key", step, key_path);
}

static void wait_signed(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    struct command status;
    bool done = false;

    while (!done) {
        cr_assert_lt(command_now_ms(), deadline_ms, "records are left");
        command_run(&status, span_text(""), "orbloom", "status", "--json", NULL);
        done = status.exit_status == 0 && strstr(status.output, "\"records_left\": 0") != NULL;
        command_forget(&status);
        expect_service();
    }
}

static void add_key(void)
{
    key("add");
    hang_up_all();
}

static void promote_key(void)
{
    struct command retire;

    key("promote");
    command_run(&retire, span_text(""), "orbloom", "key", "retire", key_path, "--coordinator", both,
                NULL);
    command_expect_errors(&retire, 1, "CONFLICT");
    command_forget(&retire);
    hang_up_all();
}

/* Each process tells with its next sync, and one coordinator at a time, that it serves with the new
 * key; until then it is refused. */
static void retire_key(void)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    struct command retire;
    bool done = false;

    wait_signed();
    while (!done) {
        command_run(&retire, span_text(""), "orbloom", "key", "retire", key_path, "--coordinator",
                    both, NULL);
        done = retire.exit_status == 0;
        cr_assert(done || strstr(retire.errors, "serves and signs with key") != NULL, "%s",
                  retire.errors);
        cr_assert(done || command_now_ms() < deadline_ms, "%s", retire.errors);
        command_forget(&retire);
        expect_service();
    }
    hang_up_all();
}

static void expect_nothing_failed(void)
{
    cr_assert_eq(flood.nfailed, 0, "%u batches failed, first: %s", flood.nfailed,
                 flood.first_error);
    cr_assert_eq(flood.nacked, flood.next, "%u of %u keys acknowledged", flood.nacked, flood.next);
    flood_expect_present(&flood);
}

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
    (void)snprintf(key_path, sizeof key_path, "%s/key", playground.dir);
    playground_endpoint(&playground, "coordinator", first_endpoint);
    start_other();
    tell_all_of_other();
    PLAYGROUND_DO("", "create", "seen", "--capacity", "100k", "--fpr", "0.1%", "--timeout", "20s");
    PLAYGROUND_DO("", "create", "gone", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");
    PLAYGROUND_DO("", "drop", "gone", "--timeout", "20s");
    flood_open(&flood, "seen");
}

Test(key_ring, a_key_is_replaced_and_nobody_notices, .timeout = LIMIT_S)
{
    char text[TEXT_BYTES];

    start();
    flood_add(&flood, BATCHES, add_key);
    expect_nothing_failed();
    flood_add(&flood, BATCHES, promote_key);
    expect_nothing_failed();
    flood_add(&flood, BATCHES, retire_key);
    expect_nothing_failed();
    PLAYGROUND_DO("", "create", "more", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");

    /* With the new key alone. */
    (void)snprintf(text, sizeof text, "test $(wc -l <%s) = 1", key_path);
    shell(text);
    stop_other();
    for (size_t i = 0; i < NDAEMONS; i++) {
        playground_kill(&playground, daemons[i]);
    }
    for (size_t i = 0; i < NDAEMONS; i++) {
        playground_restart(&playground, daemons[i]);
    }
    flood_reconnect(&flood);
    playground_wait_status("FULL 0 JOINING 0 BUILDING");
    expect_nothing_failed();
    PLAYGROUND_DO("new\n", "add", "more", "--timeout", "20s");
    flood_close(&flood);
    playground_stop(&playground);
}

/* One whose process is told to read the file as `edit` has left it says so, and goes on with the
 * ring that it had. */
static void expect_kept(const char *edit, const char *why)
{
    uint64_t deadline_ms;
    char text[TEXT_BYTES];
    bool refused = false;

    start();
    (void)snprintf(text, sizeof text, "cd %s && cp key key.kept && %s", playground.dir, edit);
    shell(text);
    playground_signal(&playground, "node-1", SIGHUP);
    deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    while (!refused) {
        char *log = log_of("node-1");

        refused = strstr(log, why) != NULL &&
                  strstr(log, "SIGHUP: all options stay as they were, and the cluster key") != NULL;
        free(log);
        cr_assert_lt(command_now_ms(), deadline_ms, "it says nothing");
        (void)usleep(20000);
    }
    flood_add(&flood, BATCHES, NULL);
    expect_nothing_failed();
    flood_close(&flood);
    stop_other();
    playground_stop(&playground);
}

Test(key_ring, a_ring_that_can_not_be_read_leaves_the_one_before, .timeout = LIMIT_S)
{
    expect_kept("printf 'nonsense\n' >>key", "line 2: character 1 is no hexadecimal digit");
}

Test(key_ring, a_ring_of_other_keys_leaves_the_one_before, .timeout = LIMIT_S)
{
    expect_kept("head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \n' >key",
                "none of its keys is in use here");
}

/* ---- the command, without a cluster ---- */

static void expect_key(const char *step, const char *path, int status, const char *text)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "key", step, path, "--coordinator",
                "tcp://127.0.0.1:1", "--timeout", "300ms", NULL);
    cr_assert_eq(command.exit_status, status, "%s: %s%s", step, command.output, command.errors);
    cr_assert_not_null(strstr(status == 0 ? command.output : command.errors, text), "%s: %s%s",
                       step, command.output, command.errors);
    command_forget(&command);
}

/* Promoted twice the file is as it was. */
static void expect_warning(const char *path, const char *text)
{
    for (int i = 0; i < 2; i++) {
        struct command command;

        command_run(&command, span_text(""), "orbloom", "key", "promote", path, "--coordinator",
                    "tcp://127.0.0.1:1", "--timeout", "300ms", NULL);
        cr_assert_eq(command.exit_status, 0, "%s", command.errors);
        cr_assert_not_null(strstr(command.errors, text), "%s", command.errors);
        command_forget(&command);
    }
}

/* A coordinator that never answers. */
static void *open_silent(char endpoint[PLAYGROUND_ENDPOINT_BYTES])
{
    const int wait_ms = PLAYGROUND_WAIT_MS;
    const int linger_ms = 0;
    size_t size = PLAYGROUND_ENDPOINT_BYTES;
    void *socket = zmq_socket(silent_context, ZMQ_ROUTER);

    cr_assert_not_null(socket);
    cr_assert_eq(zmq_setsockopt(socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms), 0);
    cr_assert_eq(zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms), 0);
    cr_assert_eq(zmq_bind(socket, "tcp://127.0.0.1:*"), 0);
    cr_assert_eq(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
    return socket;
}

/* What it warns of is read before it changes anything: so nothing has changed while it is asked. */
Test(key_ring, promote_asks_before_it_changes_the_file, .timeout = LIMIT_S)
{
    char dir[] = "/tmp/orbloom-keys-XXXXXX";
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    struct command command;
    char path[64];
    char text[TEXT_BYTES];
    uint8_t bytes[16];
    void *socket;

    silent_context = zmq_ctx_new();
    socket = open_silent(endpoint);
    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/key", dir);
    PLAYGROUND_DO("", "keygen", path);
    PLAYGROUND_DO("", "key", "add", path);
    (void)snprintf(text, sizeof text, "cp %s %s.before", path, path);
    shell(text);
    command_start(&command, span_text(""), SIGKILL, "orbloom",
                  (const char *const[]){"key", "promote", path, "--coordinator", endpoint, NULL});
    cr_assert_geq(zmq_recv(socket, bytes, sizeof bytes, 0), 0, "it asks nobody");
    (void)snprintf(text, sizeof text, "cmp %s %s.before", path, path);
    shell(text);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_not_null(strstr(command.errors, "it is not known here"), "%s", command.errors);
    command_forget(&command);
    (void)snprintf(text, sizeof text, "! cmp -s %s %s.before && rm -r %s", path, path, dir);
    shell(text);
    cr_assert_eq(zmq_close(socket), 0);
    cr_assert_eq(zmq_ctx_term(silent_context), 0);
}

/* The lines of the file are those of this command's output. */
static void expect_lines(const char *path, const char *lines)
{
    char text[2 * TEXT_BYTES];

    (void)snprintf(text, sizeof text, "test \"$(%s)\" = \"$(cat %s)\"", lines, path);
    shell(text);
}

Test(key_ring, the_command_edits_the_file, .timeout = LIMIT_S)
{
    char dir[] = "/tmp/orbloom-keys-XXXXXX";
    char path[64];
    char text[TEXT_BYTES];

    cr_assert_not_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/key", dir);
    expect_key("list", path, 1, "orbloom: IO: cannot use the cluster key file ");
    expect_key("list", path, 1, "No such file or directory; make one with: orbloom keygen FILE");
    PLAYGROUND_DO("", "keygen", path);
    expect_key("list", path, 0, "signs and verifies");
    expect_key("promote", path, 1, "holds one key only; add one first");
    expect_key("retire", path, 1, "holds one key only, which is in use");
    (void)snprintf(text, sizeof text, "sed -i '1i # of %s' %s && cp %s %s.one", dir, path, path,
                   path);
    shell(text);
    expect_key("add", path, 0, "holds 2 keys");
    (void)snprintf(text, sizeof text, "cp %s %s.two && test $(stat -c %%a %s) = 600", path, path,
                   path);
    shell(text);
    (void)snprintf(text, sizeof text, "mv %s %s.real && ln -s key.real %s", path, path, path);
    shell(text);
    expect_key("promote", path, 0, "signs; bring");
    (void)snprintf(text, sizeof text, "sed -n 1p %s.two; sed -n 3p %s.two; sed -n 2p %s.two", path,
                   path, path);
    expect_lines(path, text);
    expect_warning(path, "it is not known here: no answer from tcp://127.0.0.1:1");
    expect_key("retire", path, 1, "is as it was; --force");
    expect_lines(path, text);
    PLAYGROUND_DO("", "key", "retire", path, "--force");
    (void)snprintf(text, sizeof text, "sed -n 1p %s.two; sed -n 3p %s.two", path, path);
    expect_lines(path, text);
    (void)snprintf(text, sizeof text, "test -L %s && test $(stat -c %%a %s.real) = 600", path,
                   path);
    shell(text);
    for (int i = 0; i < 7; i++) {
        expect_key("add", path, 0, "keys; bring it");
    }
    expect_key("add", path, 1, "holds 8 keys, which is all it may");
    (void)snprintf(text, sizeof text, "printf %%064d 0 >%s.zero && chmod 600 %s.zero", path, path);
    shell(text);
    (void)snprintf(text, sizeof text, "%s.zero", path);
    expect_key("list", text, 1,
               "line 1: a key of zeros is none; make one with: orbloom keygen FILE");
    expect_key("turn", path, 2, "list, add, promote or retire");
    (void)snprintf(text, sizeof text, "chmod 644 %s", path);
    shell(text);
    expect_key("list", path, 1, "orbloom: INVALID: cannot use the cluster key file ");
    expect_key("list", path, 1, "chmod 600 it");
    (void)snprintf(text, sizeof text, "rm -r %s", dir);
    shell(text);
}
