/* Users of a real cluster: made, changed and deleted by the command, known to routers while no
 * coordinator answers, kept by a coordinator's restart, a lost store and another cluster key. */
#include "tests/support/redis_shell.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_S = 180, TEXT_BYTES = 1024, TOKEN_DIGITS = 64 };

static struct playground playground;
static char redis[REDIS_SOCKET_BYTES];

static const char *at(const char *name)
{
    return playground_path(&playground, name);
}

static void shell(const char *text)
{
    cr_assert_eq(system(text), 0, "%s", text);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

/* ---- what the command says ---- */

#define USER(result, status, ...)                                                                \
    do {                                                                                         \
        command_run(result, span_text(""), "orbloom", "user", __VA_ARGS__, NULL);                \
        cr_assert_eq((result)->exit_status, status, "%s%s", (result)->output, (result)->errors); \
    } while (0)

#define DO_USER(...)                  \
    do {                              \
        struct command user_;         \
                                      \
        USER(&user_, 0, __VA_ARGS__); \
        command_forget(&user_);       \
    } while (0)

/* The only thing on stdout is the token. */
static void take_token(const struct command *command, char token[TOKEN_DIGITS + 1])
{
    cr_assert_eq(command->output_size, TOKEN_DIGITS + 1, "%s", command->output);
    cr_assert_eq(strspn(command->output, "0123456789abcdef"), TOKEN_DIGITS, "%s", command->output);
    memcpy(token, command->output, TOKEN_DIGITS);
    token[TOKEN_DIGITS] = '\0';
}

static void make_crawler(char token[TOKEN_DIGITS + 1])
{
    struct command command;

    USER(&command, 0, "create", "crawler", "--rights", "rwc crawl:*", "--rights", "r shared",
         "--create");
    take_token(&command, token);
    command_forget(&command);
}

static void expect_list(const char *has, const char *has_not)
{
    struct command command;

    USER(&command, 0, "list");
    cr_assert_not_null(strstr(command.output, has), "%s", command.output);
    if (has_not != NULL) {
        cr_assert_null(strstr(command.output, has_not), "%s", command.output);
    }
    command_forget(&command);
}

static void apply(const char *path, const char *says)
{
    struct command command;

    USER(&command, 0, "apply", path);
    cr_assert_str_eq(command.output, says);
    command_forget(&command);
}

/* ---- what a router makes of it ---- */

static void redis_as(const char *token, const char *command, const char *output)
{
    char script[TEXT_BYTES];

    (void)snprintf(script, sizeof script,
                   "redis-cli $S --no-auth-warning --user crawler --pass %s %s", token, command);
    redis_shell(redis, script, output);
}

/* Until the router has heard of what has changed. */
static void wait_redis(const char *token, const char *command, const char *text)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    char script[TEXT_BYTES];

    (void)snprintf(script, sizeof script,
                   "redis-cli -s %s --no-auth-warning --user crawler --pass %s %s 2>&1 | grep -q "
                   "'%s'",
                   redis, token, command, text);
    while (system(script) != 0) {
        cr_assert_lt(command_now_ms(), deadline_ms, "never: %s", text);
        (void)usleep(50000);
    }
}

static void open_playground(bool in_memory)
{
    playground_start(&playground, &(struct playground_plan){.in_memory = in_memory});
    redis_socket(&playground, redis);
}

Test(users, are_made_changed_and_deleted, .timeout = LIMIT_S)
{
    char token[TOKEN_DIGITS + 1];
    char second[TOKEN_DIGITS + 1];
    char path[TEXT_BYTES / 4];
    struct command command;

    open_playground(true);
    expect_list(
        "no users: a CURVE port lets in the cluster's processes and who holds the cluster key, "
        "and nobody else; at a plain one",
        NULL);
    make_crawler(token);
    USER(&command, 1, "create", "crawler");
    cr_assert_not_null(strstr(command.errors, "EXISTS: user crawler exists"), "%s", command.errors);
    command_forget(&command);
    expect_list("rwc crawl:*, r shared", token);
    wait_redis(token, "BF.ADD crawl:a x", "^1$");
    redis_as(token, "BF.EXISTS crawl:a x", "1\n");
    wait_redis(token, "BF.ADD other x", "^NOPERM");

    (void)snprintf(path, sizeof path, "%s", at("users.conf"));
    write_file(path, "users = ({ name = \"crawler\"; rights = \"r crawl:*\"; limits = { filters = "
                     "1; }; }, { name = \"dash\"; role = \"monitor\"; });\n");
    DO_USER("create", "old", "--no-token");
    apply(path, "~ crawler: rights, create, limits\n+ dash: created, without a token\n"
                "- 1 user not in the file: left alone\ndone\n");
    USER(&command, 0, "apply", path);
    cr_assert_not_null(
        strstr(command.output, "- 1 user not in the file: left alone\nnothing to do"), "%s",
        command.output);
    command_forget(&command);
    wait_redis(token, "BF.ADD crawl:a y", "^NOPERM");
    redis_as(token, "BF.EXISTS crawl:a x", "1\n");

    USER(&command, 0, "token", "crawler", "add", "--expires", "1d");
    take_token(&command, second);
    command_forget(&command);
    wait_redis(second, "BF.EXISTS crawl:a x", "^1$");
    DO_USER("token", "crawler", "remove", "1");
    wait_redis(token, "PING", "WRONGPASS");
    redis_as(second, "BF.EXISTS crawl:a x", "1\n");
    DO_USER("delete", "crawler");
    wait_redis(second, "PING", "WRONGPASS");
    expect_list("dash: monitor", "crawler");
    playground_stop(&playground);
}

/* The one line that is said begins, and ends, like this. */
static void refused(const char *begin, const char *end, const char *const *words)
{
    const char *line[COMMAND_MAX_WORDS] = {"user"};
    struct command command;
    size_t count = 0;

    for (; words[count] != NULL; count++) {
        line[count + 1] = words[count];
    }
    command_start(&command, span_text(""), SIGKILL, "orbloom", line);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_expect_neq(command.exit_status, 0, "%s", command.output);
    cr_expect_eq(command.output_size, 0, "%s", command.output);
    cr_expect_eq(strncmp(command.errors, begin, strlen(begin)), 0, "%s", command.errors);
    cr_expect(command.errors_size > strlen(end) &&
                  strcmp(command.errors + command.errors_size - strlen(end), end) == 0,
              "%s", command.errors);
    command_forget(&command);
}

#define REFUSED(begin, end, ...) refused(begin, end "\n", (const char *const[]){__VA_ARGS__, NULL})

static void refuse_secret_files(void)
{
    write_file(at("short"), "abc\n");
    REFUSED("orbloom: INVALID: cannot use the token file ",
            "chmod 600 it, or 640 where its group is one of this process' own", "create", "first",
            "--token-file", at("short"));
    cr_assert_eq(chmod(at("short"), 0600), 0);
    REFUSED("orbloom: MALFORMED: cannot use the token file ",
            "make one: (umask 077; openssl rand -hex 32 > FILE)", "create", "first", "--token-file",
            at("short"));
    REFUSED("orbloom: IO: cannot use the cluster key file ", "make one with: orbloom keygen FILE",
            "list", "--cluster-key", at("none"));
}

/* Nothing is told as done before all of it was judged: stdout stays empty. */
static void refuse_subjects(void)
{
    char begin[TEXT_BYTES];
    char path[TEXT_BYTES / 4];

    (void)snprintf(path, sizeof path, "%s", at("subjects.conf"));
    write_file(path, "users = ({ name = \"a\"; tls_subject = \"CN=x\"; },\n"
                     "  { name = \"b\"; tls_subject = \"CN=x\"; });\n");
    (void)snprintf(begin, sizeof begin, "orbloom: INVALID: %s:2: user b has the tls_subject", path);
    REFUSED(begin, "a subject names one user", "apply", path);
    DO_USER("create", "old", "--no-token", "--tls-subject", "CN=y");
    write_file(path, "users = ({ name = \"a\"; }, { name = \"b\"; tls_subject = \"CN=y\"; });");
    (void)snprintf(begin, sizeof begin, "orbloom: EXISTS: %s: tls_subject CN=y of user b", path);
    REFUSED(begin, "or say --prune", "apply", path);
    expect_list("old: client", "b: client");
}

Test(users, what_is_wrong_is_refused_with_its_remedy, .timeout = LIMIT_S)
{
    open_playground(true);
    refuse_secret_files();
    refuse_subjects();
    playground_stop(&playground);
}

/* ---- what is not sure ---- */

static sqlite3 *lock_store(void)
{
    sqlite3 *connection = NULL;

    cr_assert_eq(sqlite3_open_v2(at("coordinator/data/store.sqlite"), &connection,
                                 SQLITE_OPEN_READWRITE, NULL),
                 SQLITE_OK);
    (void)sqlite3_busy_timeout(connection, PLAYGROUND_WAIT_MS);
    cr_assert_eq(sqlite3_exec(connection, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    return connection;
}

/* Each command ends while the store is asked for it, which goes on for 2 s. The second one waits
 * for the first one's turn to end: with less time than that nothing would be asked for it. */
static void create_unsure(char token[TOKEN_DIGITS + 1], const char *credential)
{
    struct command command;

    USER(&command, 1, "create", "crawler", "--rights", "rw crawl:*", "--timeout", "1s");
    cr_assert_not_null(strstr(command.errors, "see `orbloom user show crawler`"), "%s",
                       command.errors);
    take_token(&command, token);
    command_forget(&command);
    USER(&command, 1, "create", "other", "--credential", credential, "--timeout", "2s");
    cr_assert_not_null(strstr(command.errors, "other.cred is kept"), "%s", command.errors);
    cr_assert_eq(command.output_size, 0);
    command_forget(&command);
    cr_assert_eq(access(credential, R_OK), 0);
}

Test(users, who_may_have_been_made_keep_their_secrets, .timeout = LIMIT_S)
{
    char token[TOKEN_DIGITS + 1];
    char credential[TEXT_BYTES / 4];
    struct command command;
    sqlite3 *lock;

    open_playground(true);
    DO_USER("create", "first", "--no-token");
    (void)snprintf(credential, sizeof credential, "%s", at("other.cred"));
    lock = lock_store();
    create_unsure(token, credential);
    cr_assert_eq(sqlite3_exec(lock, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_close(lock), SQLITE_OK);
    USER(&command, 1, "create", "first", "--credential", at("first.cred"));
    command_forget(&command);
    cr_assert_neq(access(at("first.cred"), F_OK), 0, "what was refused is removed");
    playground_stop(&playground);
}

Test(users, are_known_while_the_coordinator_is_down_and_after_it, .timeout = LIMIT_S)
{
    char token[TOKEN_DIGITS + 1];

    open_playground(true);
    make_crawler(token);
    wait_redis(token, "BF.ADD crawl:a x", "^1$");
    playground_kill(&playground, "coordinator");
    redis_as(token, "BF.EXISTS crawl:a x", "1\n");
    redis_as("wrong", "PING",
             "AUTH failed: WRONGPASS invalid username-password pair or user is disabled.\n"
             "NOAUTH Authentication required.\n\n");
    playground_restart(&playground, "coordinator");
    expect_list("crawler: client, id 1", NULL);
    DO_USER("create", "other", "--no-token");
    expect_list("other: client, id 2", NULL);
    playground_stop(&playground);
}

/* The backup is older than what nodes hold: what was deleted since stays so. */
Test(users, survive_a_lost_store, .timeout = LIMIT_S)
{
    char token[TOKEN_DIGITS + 1];
    char text[TEXT_BYTES];
    struct command command;

    open_playground(false);
    DO_USER("create", "gone", "--no-token");
    make_crawler(token);
    wait_redis(token, "BF.ADD crawl:a x", "^1$");
    PLAYGROUND_DO("", "map", "backup", at("backup"));
    DO_USER("delete", "gone");
    DO_USER("create", "later", "--no-token");
    for (int i = 1; i <= 3; i++) { /* What they have on disk counts. */
        (void)snprintf(text, sizeof text, "node-%d", i);
        playground_kill(&playground, text);
        playground_restart(&playground, text);
    }
    playground_wait_status("FULL 0 JOINING 0 BUILDING");
    playground_kill(&playground, "coordinator");
    (void)snprintf(text, sizeof text,
                   "rm -r %s/coordinator/data && mkdir -m 700 %s/coordinator/data", playground.dir,
                   playground.dir);
    shell(text);
    playground_restart(&playground, "coordinator");
    playground_wait_status("the store was lost");
    USER(&command, 1, "create", "meanwhile", "--no-token");
    cr_assert_not_null(strstr(command.errors, "CONFLICT: the store was lost"), "%s",
                       command.errors);
    command_forget(&command);
    PLAYGROUND_DO("", "map", "restore", at("backup"));
    expect_list("later: client", "gone: client");
    expect_list("crawler: client", NULL);
    wait_redis(token, "BF.EXISTS crawl:a x", "^1$");
    DO_USER("delete", "later");
    expect_list("crawler: client", "later");
    playground_stop(&playground);
}

static const char *const daemons[] = {"coordinator", "router", "node-1", "node-2", "node-3"};

static void wait_log(const char *daemon, const char *text, unsigned times)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    unsigned found = 0;

    while (found < times) {
        char *log = playground_log(&playground, daemon);

        found = 0;
        for (const char *line = log; (line = strstr(line, text)) != NULL; line++) {
            found++;
        }
        free(log);
        cr_assert_lt(command_now_ms(), deadline_ms, "%s does not say: %s", daemon, text);
        (void)usleep(20000);
    }
}

/* To retire a key is refused until each process has told, with its next sync, that it serves with
 * the new one. */
static void change_ring(const char *step, const char *path)
{
    uint64_t deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    struct command command;
    bool done = false;

    while (!done) {
        command_run(&command, span_text(""), "orbloom", "key", step, path, NULL);
        done = command.exit_status == 0;
        cr_assert(done || strstr(command.errors, "CONFLICT") != NULL, "%s", command.errors);
        cr_assert(done || command_now_ms() < deadline_ms, "%s", command.errors);
        command_forget(&command);
    }
}

static void key(const char *step, unsigned times)
{
    char path[TEXT_BYTES / 4];

    (void)snprintf(path, sizeof path, "%s", at("key"));
    change_ring(step, path);
    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++) {
        playground_signal(&playground, daemons[i], SIGHUP);
        wait_log(daemons[i], "SIGHUP: cluster_key_file holds other keys", times);
    }
}

/* The tokens are good with another cluster key, alone. */
Test(users, tokens_outlive_the_cluster_key, .timeout = LIMIT_S)
{
    uint64_t deadline_ms;
    struct command status;
    char token[TOKEN_DIGITS + 1];
    bool done = false;

    open_playground(true);
    make_crawler(token);
    wait_redis(token, "BF.ADD crawl:a x", "^1$");
    key("add", 1);
    key("promote", 2);
    deadline_ms = command_now_ms() + PLAYGROUND_WAIT_MS;
    while (!done) {
        command_run(&status, span_text(""), "orbloom", "status", "--json", NULL);
        done = strstr(status.output, "\"records_left\": 0") != NULL;
        command_forget(&status);
        cr_assert_lt(command_now_ms(), deadline_ms, "records are left");
    }
    key("retire", 3);
    wait_redis(token, "BF.EXISTS crawl:a x", "^1$");
    playground_kill(&playground, "router");
    playground_restart(&playground, "router");
    wait_redis(token, "BF.EXISTS crawl:a x", "^1$");
    DO_USER("token", "crawler", "add");
    expect_list("id 2", NULL);
    playground_stop(&playground);
}
