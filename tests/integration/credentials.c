/* Users who come by CURVE, and whoever else may come: each may do what its role says, at each port
 * of each kind of process, and nothing else; and who may not is told so, and never waits in vain.
 */
#include "client/orbloom.h"
#include "client/shell_credential.h"
#include "proto/gate.h"
#include "tests/support/backup_samples.h"
#include "tests/support/playground.h"
#include "tests/support/stranger.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

enum {
    LIMIT_S = 120,
    ANSWER_MS = 20000,
    SILENCE_MS = 500,
    FRAME_BYTES = 32,
    NDAEMONS = 5,
};

static const char *const daemons[NDAEMONS] = {"coordinator", "node-1", "node-2", "node-3",
                                              "router"};
static struct playground playground;
static struct cluster_key ring;
static char files[4][128]; /* of users */

enum user_of_ours { ROOT, CRAWLER, WATCH, STRANGER };

/* file_parse_fn */
static enum status take_key(void *context, struct span text, char *reason, size_t size)
{
    return cluster_key_read(context, text, reason, size);
}

static void read_ring(void)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/key", playground.dir);
    cr_assert_eq(file_read_secret(&file_cluster_key, path, take_key, &ring), STATUS_OK);
}

/* All users are made while all is plain; then each process comes back and speaks CURVE. */
static void start(void)
{
    static const char *const names[] = {"root", "crawler", "watch", "stranger"};

    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    read_ring();
    for (int i = 0; i < 4; i++) {
        (void)snprintf(files[i], sizeof files[i], "%s/%s.cred", playground.dir, names[i]);
    }
    PLAYGROUND_DO("", "user", "create", "root", "--role", "admin", "--credential", files[ROOT]);
    PLAYGROUND_DO("", "user", "create", "crawler", "--rights", "rwc crawl:*", "--rights",
                  "r shared", "--credential", files[CRAWLER]);
    PLAYGROUND_DO("", "user", "create", "watch", "--role", "monitor", "--credential", files[WATCH]);
    for (int i = 0; i < NDAEMONS; i++) {
        playground_configure(&playground, daemons[i], "transport = \"curve\";\n");
    }
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", files[ROOT], 1), 0);
    playground_wait_status("node-3");
    PLAYGROUND_DO("", "create", "shared", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");
    PLAYGROUND_DO("", "create", "hidden", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");
    PLAYGROUND_DO("a\n", "add", "shared", "--timeout", "20s");
}

static void stop(void)
{
    playground_stop(&playground);
}

TestSuite(credentials, .init = start, .fini = stop, .timeout = LIMIT_S);

static struct credential credential_of(enum user_of_ours user)
{
    struct credential out = {.role = USER_CLIENT};
    char why[FILE_REASON_BYTES];

    cr_assert_eq(credential_file_read(files[user], &out, why), STATUS_OK, "%s", why);
    return out;
}

/* ---- frames: a peer of each role, at each door, with each kind ---- */

/* Field numbers of Frame's bodies, by kind. */
static const uint32_t numbers[] = {
    [FRAME_CLIENT_REQUEST] = 10,
    [FRAME_CLIENT_REPLY] = 11,
    [FRAME_NODE_REQUEST] = 12,
    [FRAME_NODE_REPLY] = 13,
    [FRAME_DOCUMENTS] = 20,
    [FRAME_SYNC_REQUEST] = 21,
    [FRAME_SYNC_REPLY] = 22,
    [FRAME_HINT] = 23,
    [FRAME_FENCE_REQUEST] = 24,
    [FRAME_FENCE_REPLY] = 25,
    [FRAME_BOOT_REQUEST] = 26,
    [FRAME_BOOT_REPLY] = 27,
    [FRAME_ADMIN_REQUEST] = 40,
    [FRAME_ADMIN_REPLY] = 41,
    [FRAME_INFO_REQUEST] = 50,
    [FRAME_INFO_REPLY] = 51,
    [FRAME_STATS_REQUEST] = 52,
    [FRAME_STATS_REPLY] = 53,
    [FRAME_PULL_REQUEST] = 60,
    [FRAME_PULL_REPLY] = 61,
    [FRAME_ERROR] = 59,
    [FRAME_SITE_HELLO] = 110,
    [FRAME_SITE_OPEN] = 111,
    [FRAME_SITE_BATCH] = 112,
    [FRAME_SITE_APPLIED] = 113,
    [FRAME_SITE_MARK] = 114,
    [FRAME_SITE_MARKED] = 115,
    [FRAME_SITE_CLOSE] = 116,
    [FRAME_SITE_FILTERS] = 117,
    [FRAME_SITE_CONFIRM] = 118,
    [FRAME_SITE_CONFIRMED] = 119,
    [FRAME_SITE_OFFER] = 120,
    [FRAME_SITE_HELD] = 121,
    [FRAME_SITE_TAIL_REQUEST] = 62,
    [FRAME_SITE_TAIL_REPLY] = 63,
    [FRAME_SITE_CURSOR_REQUEST] = 64,
    [FRAME_SITE_CURSOR_REPLY] = 65,
    [FRAME_SITE_AGE_REQUEST] = 66,
    [FRAME_SITE_AGE_REPLY] = 67,
    [FRAME_SITE_LAG_REQUEST] = 54,
    [FRAME_SITE_LAG_REPLY] = 55,
    [FRAME_DUMP_REQUEST] = 56,
    [FRAME_DUMP_REPLY] = 57,
    [FRAME_LOAD_REQUEST] = 58,
};

/* A body without fields: whether it may come at all is what matters. */
static void send_kind(struct stranger *peer, enum frame_kind kind)
{
    uint8_t bytes[FRAME_BYTES] = {0x08, 0x01, 0x11, (uint8_t)kind};
    size_t used = 11;
    uint32_t tag = numbers[kind] << 3 | 2;

    while (tag >= 0x80) {
        bytes[used++] = (uint8_t)(tag | 0x80);
        tag >>= 7;
    }
    bytes[used++] = (uint8_t)tag;
    bytes[used++] = 0;
    stranger_send(peer, span_of(bytes, used));
}

/* Refusals come in the order of what they refuse, and an answer as a question, which ends the
 * row, is refused to all. */
static void expect_row(struct stranger *peer, enum gate_door door, enum peer_role role)
{
    bool refused[FRAME_ERROR + 1] = {false};
    struct frame answer;

    for (int kind = FRAME_CLIENT_REQUEST; kind <= FRAME_ERROR; kind++) {
        send_kind(peer, (enum frame_kind)kind);
    }
    while (!refused[FRAME_ERROR]) {
        cr_assert(stranger_receive(peer, ANSWER_MS, &answer), "door %d: a %s waits in vain",
                  (int)door, gate_role_name(role));
        if (answer.kind == FRAME_ERROR && answer.body.error.status == STATUS_UNAUTHENTIC) {
            cr_assert_leq(answer.correlation, FRAME_ERROR);
            cr_assert(strstr(answer.body.error.message, "may not send") != NULL, "%s",
                      answer.body.error.message);
            refused[answer.correlation] = true;
        }
    }
    for (int kind = FRAME_CLIENT_REQUEST; kind <= FRAME_ERROR; kind++) {
        cr_expect_eq(!refused[kind], gate_admits_kind(door, role, (enum frame_kind)kind),
                     "door %d, %s, kind %d", (int)door, gate_role_name(role), kind);
    }
}

static const struct {
    const char *daemon;
    enum gate_door door;
    enum curve_kind kind;
} doors[] = {
    {"router", GATE_ROUTER, CURVE_ROUTER},
    {"node-1", GATE_NODE, CURVE_NODE},
    {"coordinator", GATE_COORDINATOR, CURVE_COORDINATOR},
};

static void open_door(struct stranger *peer, size_t door, const struct curve_pair *own)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    struct curve_pair server;

    playground_endpoint(&playground, doors[door].daemon, endpoint);
    seal_curve_pair(&ring.keys[0], doors[door].kind, &server);
    stranger_open_curve(peer, endpoint, own, server.public);
}

Test(credentials, every_peer_may_send_what_the_table_says_to_every_process)
{
    struct curve_pair pairs[PEER_NROLES];
    struct stranger peer;

    pairs[PEER_ADMIN] = credential_of(ROOT).pair;
    pairs[PEER_CLIENT] = credential_of(CRAWLER).pair;
    pairs[PEER_MONITOR] = credential_of(WATCH).pair;
    seal_curve_pair(&ring.keys[0], CURVE_ROUTER, &pairs[PEER_ROUTER]);
    seal_curve_pair(&ring.keys[0], CURVE_NODE, &pairs[PEER_NODE]);
    seal_curve_pair(&ring.keys[0], CURVE_COORDINATOR, &pairs[PEER_COORDINATOR]);
    for (size_t door = 0; door < GATE_NDOORS; door++) {
        for (int role = PEER_CLIENT; role < PEER_NROLES; role++) {
            open_door(&peer, door, &pairs[role]);
            expect_row(&peer, doors[door].door, (enum peer_role)role);
            stranger_close(&peer);
        }
    }
}

/* Neither an unknown key, nor one of another cluster, nor plain ZMTP gets a word from any port. */
Test(credentials, who_is_not_known_gets_no_answer_at_any_port)
{
    uint8_t seed[CURVE_KEY_BYTES] = {77};
    struct curve_pair own;
    struct stranger peer;
    struct frame answer;
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    seal_pair_of_seed(seed, &own);
    for (size_t door = 0; door < GATE_NDOORS; door++) {
        open_door(&peer, door, &own);
        send_kind(&peer, FRAME_STATS_REQUEST);
        cr_expect_not(stranger_receive(&peer, SILENCE_MS, &answer), "%s", doors[door].daemon);
        stranger_close(&peer);
        playground_endpoint(&playground, doors[door].daemon, endpoint);
        stranger_open(&peer, endpoint);
        cr_assert_eq(zmq_setsockopt(peer.socket, ZMQ_LINGER, &(int){0}, sizeof(int)), 0);
        send_kind(&peer, FRAME_STATS_REQUEST);
        cr_expect_not(stranger_receive(&peer, SILENCE_MS, &answer), "%s", doors[door].daemon);
        stranger_close(&peer);
    }
    PLAYGROUND_DO("a\n", "check", "shared");
}

/* ---- commands ---- */

/* Its last two words: --credential FILE. */
static void expect(enum user_of_ours user, const char *code, const char *const *words)
{
    const char *line[COMMAND_MAX_WORDS];
    struct command command;
    size_t count = 0;

    for (; words[count] != NULL; count++) {
        line[count] = words[count];
    }
    line[count++] = "--credential";
    line[count++] = files[user];
    line[count] = NULL;
    command_start(&command, span_text("a\n"), SIGKILL, "orbloom", line);
    command_finish(&command, COMMAND_LIMIT_MS);
    if (code == NULL) {
        cr_expect_eq(command.exit_status, 0, "%s %s: %s", words[0], words[1], command.errors);
    } else {
        cr_expect_neq(command.exit_status, 0, "%s %s", words[0], words[1]);
        cr_expect(strstr(command.errors, code) != NULL, "%s %s: %s", words[0], words[1],
                  command.errors);
    }
    command_forget(&command);
}

/* What could be restored, but for who may. */
static void write_backup(const char *path)
{
    struct buffer bytes;
    FILE *file = fopen(path, "wb");

    buffer_init(&bytes, 1 << 20);
    backup_sample_write(NULL, &bytes);
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes.data, 1, bytes.size, file), bytes.size);
    cr_assert_eq(fclose(file), 0);
    buffer_fini(&bytes);
}

#define MAY(user, ...)     expect(user, NULL, (const char *const[]){__VA_ARGS__, NULL})
#define MAY_NOT(user, ...) expect(user, "UNAUTHENTIC", (const char *const[]){__VA_ARGS__, NULL})

Test(credentials, a_client_does_what_its_rights_say)
{
    char backup[128];
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    struct command command;

    (void)snprintf(backup, sizeof backup, "%s/backup", playground.dir);
    MAY(CRAWLER, "create", "crawl:1", "--capacity", "10k", "--fpr", "1%", "--timeout", "20s");
    MAY(CRAWLER, "add", "crawl:1");
    MAY(CRAWLER, "check", "crawl:1");
    MAY(CRAWLER, "info", "crawl:1");
    MAY(CRAWLER, "check", "shared");
    MAY(CRAWLER, "info", "shared");
    MAY(CRAWLER, "rename", "crawl:1", "crawl:2", "--timeout", "20s");
    MAY_NOT(CRAWLER, "add", "shared");
    MAY_NOT(CRAWLER, "check", "hidden");
    MAY_NOT(CRAWLER, "info", "hidden");
    MAY_NOT(CRAWLER, "rename", "crawl:2", "other");
    MAY_NOT(CRAWLER, "create", "other", "--capacity", "10k", "--fpr", "1%");
    MAY_NOT(CRAWLER, "drop", "shared");
    MAY_NOT(CRAWLER, "expand", "shared", "--capacity", "20k");
    MAY_NOT(CRAWLER, "expire", "hidden", "1h");
    MAY_NOT(CRAWLER, "rebuild", "shared", "begin");
    expect(CRAWLER, "NOT_FOUND: there is no filter hidden that you may see",
           (const char *const[]){"rebuild", "hidden", "begin", NULL});
    expect(CRAWLER, "NOT_FOUND: there is no filter nobody that you may see",
           (const char *const[]){"rebuild", "nobody", "begin", NULL});
    expect(CRAWLER, "may not do this to \"other\"",
           (const char *const[]){"rename", "crawl:2", "other", NULL});
    MAY_NOT(CRAWLER, "map", "backup", backup);
    MAY_NOT(CRAWLER, "backup", "shared", backup);
    MAY_NOT(CRAWLER, "backup", "hidden", backup);
    write_backup(backup);
    expect(CRAWLER, "use a credential of an admin",
           (const char *const[]){"restore", backup, "--only", "x", "--as", "crawl:3", NULL});
    MAY_NOT(CRAWLER, "node", "drain", "node-1");
    MAY_NOT(CRAWLER, "rebalance");
    MAY_NOT(CRAWLER, "upgrade", "finalize");
    MAY_NOT(CRAWLER, "user", "list");
    for (size_t door = 0; door < GATE_NDOORS; door++) {
        playground_endpoint(&playground, doors[door].daemon, endpoint);
        MAY_NOT(CRAWLER, "stats", endpoint);
    }
    MAY(CRAWLER, "drop", "crawl:2", "--timeout", "20s");
    command_run(&command, span_text(""), "orbloom", "info", "--credential", files[CRAWLER], NULL);
    cr_assert(strstr(command.output, "shared") != NULL, "%s", command.output);
    cr_assert(strstr(command.output, "hidden") == NULL, "%s", command.output);
    command_forget(&command);
}

Test(credentials, a_monitor_sees_how_the_cluster_does_and_no_key)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    MAY(WATCH, "status");
    MAY(WATCH, "upgrade", "status");
    for (size_t door = 0; door < GATE_NDOORS; door++) {
        playground_endpoint(&playground, doors[door].daemon, endpoint);
        MAY(WATCH, "stats", endpoint);
    }
    MAY_NOT(WATCH, "check", "shared");
    MAY_NOT(WATCH, "add", "shared");
    MAY_NOT(WATCH, "drop", "shared");
    MAY_NOT(WATCH, "create", "crawl:3", "--capacity", "10k", "--fpr", "1%");
    MAY_NOT(WATCH, "user", "list");
    expect(WATCH, "use a credential of an admin",
           (const char *const[]){"node", "drain", "node-1", NULL});
}

/* Neither by its name, nor as it is not in a file; and whoever means it says so. */
Test(credentials, the_last_admin_is_not_taken_away_by_mistake)
{
    const char *path = playground_path(&playground, "users.conf");
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    cr_assert_geq(fputs("users = ();\n", file), 0);
    cr_assert_eq(fclose(file), 0);
    expect(ROOT, "say --yes", (const char *const[]){"user", "apply", path, "--prune", NULL});
    expect(ROOT, "say --yes",
           (const char *const[]){"user", "apply", path, "--prune", "--dry-run", NULL});
    expect(ROOT, "say --yes", (const char *const[]){"user", "delete", "root", NULL});
    expect(ROOT, "say --yes", (const char *const[]){"user", "key", "root", "remove", "1", NULL});
    MAY(CRAWLER, "check", "shared");
    MAY(ROOT, "user", "delete", "root", "--yes");
    MAY_NOT(ROOT, "user", "list");
}

/* The file is who asks, and is not written; nobody else is named. */
Test(credentials, a_key_is_removed_by_the_credential_that_is_given)
{
    cr_assert_eq(unsetenv("ORBLOOM_CREDENTIAL"), 0);
    MAY(ROOT, "user", "key", "crawler", "remove", "1");
    MAY_NOT(CRAWLER, "status");
    MAY(ROOT, "user", "show", "crawler");
}

/* ---- who is not let in: at once, with what to do, and never a DEADLINE ---- */

Test(credentials, whoever_is_not_let_in_is_told_why)
{
    struct credential other = credential_of(CRAWLER);
    uint8_t seed[CURVE_KEY_BYTES] = {5};
    char why[FILE_REASON_BYTES];
    struct command command;

    seal_pair_of_seed(seed, &other.pair);
    cr_assert_eq(credential_file_write(files[STRANGER], true, &other, why), STATUS_OK, "%s", why);
    MAY_NOT(STRANGER, "check", "shared");
    MAY_NOT(STRANGER, "status");
    other = credential_of(CRAWLER);
    for (int kind = 0; kind < CURVE_NKINDS; kind++) {
        other.processes.of[kind].keys[0][7] ^= 1;
    }
    cr_assert_eq(credential_file_write(files[STRANGER], false, &other, why), STATUS_OK, "%s", why);
    MAY_NOT(STRANGER, "check", "shared");
    MAY_NOT(STRANGER, "status");
    command_run(&command, span_text("a\n"), "orbloom", "check", "shared", "--credential", "none",
                NULL);
    cr_assert_neq(command.exit_status, 0);
    cr_assert(strstr(command.errors, "UNAUTHENTIC") != NULL &&
                  strstr(command.errors, "--credential FILE") != NULL,
              "%s", command.errors);
    command_forget(&command);
    for (unsigned bit = 0; bit < 5; bit++) { /* All but reading by its group, which may be ours. */
        cr_assert_eq(chmod(files[CRAWLER], 0600 | 1U << bit), 0);
        expect(CRAWLER, "chmod 600", (const char *const[]){"status", NULL});
    }
}

static void refused_plain(const char *const *words)
{
    const char *line[COMMAND_MAX_WORDS];
    struct command command;
    size_t count = 0;

    for (; words[count] != NULL; count++) {
        line[count] = words[count];
    }
    line[count++] = "--credential";
    line[count++] = "none";
    line[count++] = "--timeout";
    line[count++] = "1h";
    line[count] = NULL;
    command_start(&command, span_text("a\n"), SIGKILL, "orbloom", line);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_expect_neq(command.exit_status, 0, "%s", words[0]);
    cr_expect(strstr(command.errors, "UNAUTHENTIC") != NULL &&
                  strstr(command.errors, "--credential FILE") != NULL,
              "%s: %s", words[0], command.errors);
    command_forget(&command);
}

/* It would wait for an hour: that it ends at all is what is looked at. */
Test(credentials, who_speaks_plain_is_told_so_and_not_left_waiting)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];

    refused_plain((const char *const[]){"add", "shared", NULL});
    refused_plain((const char *const[]){"check", "shared", NULL});
    refused_plain((const char *const[]){"info", "shared", NULL});
    refused_plain((const char *const[]){"status", NULL});
    refused_plain((const char *const[]){"drop", "shared", NULL});
    for (size_t door = 0; door < GATE_NDOORS; door++) {
        playground_endpoint(&playground, doors[door].daemon, endpoint);
        refused_plain((const char *const[]){"stats", endpoint, NULL});
    }
    MAY(CRAWLER, "check", "shared");
}

/* By a connection that is up: it ends within sync_interval, and with it all that is asked later. */
Test(credentials, a_user_that_is_deleted_gets_nothing_any_more)
{
    const struct orbloom_options options = {.credential = files[CRAWLER], .timeout_ms = 20000};
    uint64_t deadline_ms = command_now_ms() + ANSWER_MS;
    struct orbloom *handle = NULL;
    enum orbloom_answer answer;
    int code = orbloom_connect(&options, &handle);

    cr_assert_eq(code, ORBLOOM_OK, "%s", orbloom_error(handle));
    code = orbloom_check_key(handle, "shared", "a", 1, &answer);
    cr_assert_eq(code, ORBLOOM_OK, "%s", orbloom_error(handle));
    cr_assert_eq(answer, ORBLOOM_PRESENT);
    PLAYGROUND_DO("", "user", "delete", "crawler");
    while (code == ORBLOOM_OK) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it is served still");
        code = orbloom_check_key(handle, "shared", "a", 1, &answer);
    }
    cr_assert_eq(code, ORBLOOM_UNAUTHENTIC, "%s", orbloom_error(handle));
    orbloom_close(&handle);
    MAY_NOT(CRAWLER, "check", "shared");
    MAY_NOT(CRAWLER, "status");
}

/* It has not heard of users yet, as no coordinator answers: whoever comes is put off, and served
 * once that is known. */
Test(credentials, a_router_that_has_just_started_refuses_no_user)
{
    struct command command;

    playground_signal(&playground, "coordinator", SIGSTOP);
    playground_kill(&playground, "router");
    playground_restart(&playground, "router");
    command_start(&command, span_text("a\n"), SIGKILL, "orbloom",
                  (const char *const[]){"check", "shared", "--timeout", "20s", "--credential",
                                        files[CRAWLER], NULL});
    (void)command_ended(&command, 2 * SILENCE_MS);
    playground_signal(&playground, "coordinator", SIGCONT);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, "present\n");
    command_forget(&command);
    playground_kill(&playground, "coordinator");
    playground_restart(&playground, "coordinator");
    MAY(CRAWLER, "info", "--timeout", "20s");
}

/* ---- the cluster key is replaced ---- */

static void key_step(const char *step)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/key", playground.dir);
    PLAYGROUND_DO("", "key", step, path, "--force");
    read_ring();
    for (int i = 0; i < NDAEMONS; i++) {
        playground_signal(&playground, daemons[i], SIGHUP);
    }
}

/* Until the file lists so many keys of a kind. */
static void renew_until(enum user_of_ours user, uint32_t count)
{
    uint64_t deadline_ms = command_now_ms() + ANSWER_MS;
    struct credential credential = credential_of(user);

    while (credential.processes.of[CURVE_ROUTER].count != count) {
        cr_assert_lt(command_now_ms(), deadline_ms);
        MAY(user, "user", "renew");
        credential = credential_of(user);
    }
    cr_assert_eq(credential.processes.of[CURVE_NODE].count, count);
    cr_assert_eq(credential.processes.of[CURVE_COORDINATOR].count, count);
}

Test(credentials, a_renewed_credential_outlives_the_cluster_key)
{
    struct public_keys before = credential_of(CRAWLER).processes.of[CURVE_ROUTER];
    struct public_keys after;

    key_step("add");
    renew_until(CRAWLER, 2);
    renew_until(ROOT, 2);
    MAY(CRAWLER, "check", "shared");
    key_step("promote");
    MAY(CRAWLER, "check", "shared", "--timeout", "20s");
    key_step("retire");
    MAY(CRAWLER, "check", "shared", "--timeout", "20s");
    renew_until(CRAWLER, 1);
    after = credential_of(CRAWLER).processes.of[CURVE_ROUTER];
    cr_assert_neq(memcmp(before.keys[0], after.keys[0], CURVE_KEY_BYTES), 0);
    MAY(CRAWLER, "check", "shared");
}

static void expect_renewed_by(const char *key, int status, const char *text)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "user", "renew", "--credential", files[CRAWLER],
                "--cluster-key", key, NULL);
    cr_assert_eq(command.exit_status, status, "%s%s", command.output, command.errors);
    cr_assert_not_null(strstr(status == 0 ? command.output : command.errors, text), "%s%s",
                       command.output, command.errors);
    command_forget(&command);
}

Test(credentials, are_not_renewed_by_the_key_of_another_cluster)
{
    char key[128];

    (void)snprintf(key, sizeof key, "%s", playground_path(&playground, "other.key"));
    PLAYGROUND_DO("", "keygen", key);
    expect_renewed_by(key, 1, "orbloom user key crawler add --credential NEW");
    MAY(CRAWLER, "check", "shared");
    (void)snprintf(key, sizeof key, "%s", playground_path(&playground, "key"));
    expect_renewed_by(key, 0, "is up to date");
    PLAYGROUND_DO("", "key", "add", key);
    expect_renewed_by(key, 0, "was written anew");
    MAY(CRAWLER, "check", "shared");
}

/* Once the store's records are signed anew. */
static void retire_until(const char *text)
{
    uint64_t deadline_ms = command_now_ms() + ANSWER_MS;
    struct command command;
    char path[128];
    bool said = false;

    (void)snprintf(path, sizeof path, "%s/key", playground.dir);
    while (!said) {
        cr_assert_lt(command_now_ms(), deadline_ms, "it never says \"%s\"", text);
        command_run(&command, span_text(""), "orbloom", "key", "retire", path, NULL);
        said = strstr(command.exit_status == 0 ? command.output : command.errors, text) != NULL;
        cr_assert(command.exit_status != 0 || said, "it was retired: %s", command.output);
        command_forget(&command);
    }
}

static void promote_warned(void)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "key", "promote",
                playground_path(&playground, "key"), NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_not_null(strstr(command.errors, "orbloom user renew --credential FILE\n"), "%s",
                       command.errors);
    cr_assert_not_null(strstr(command.errors, "  crawler: key 1, last seen never\n"), "%s",
                       command.errors);
    cr_assert_not_null(strstr(command.errors, "  root: key 1, last seen 20"), "%s", command.errors);
    command_forget(&command);
}

/* A router that has not read its file: what is said to it, and by it, is by the former key. */
Test(credentials, a_key_is_not_retired_while_a_process_serves_with_it)
{
    key_step("add");
    renew_until(ROOT, 2);
    promote_warned();
    for (int i = 0; i < NDAEMONS; i++) {
        if (strcmp(daemons[i], "router") != 0) {
            playground_signal(&playground, daemons[i], SIGHUP);
        }
    }
    retire_until("router router serves and signs with key");
    playground_wait_status("router router has another cluster key first");
    playground_signal(&playground, "router", SIGHUP);
    retire_until("is retired");
}
