/* Backups through real processes: what was acknowledged before one began is in it, whatever is
 * killed meanwhile; what was interrupted goes on; of what is torn or bent nothing is made. */
#include "tests/support/backup_samples.h"
#include "tests/support/numbered_keys.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_S = 120, KEYS = 300000, PATH_BYTES = 128, SCRIPT_BYTES = 1024, GROWN_KEYS = 20000 };

#define PASSPHRASE "correct horse battery staple\n"

static struct playground playground;

/* ---- keys, as lines ---- */

static void add_keys(const char *filter, const char *name, int count)
{
    char *text = numbered_keys_lines(name, 0, count);

    PLAYGROUND_DO(text, "add", filter, "--timeout", "20s");
    free(text);
}

static void expect_all(const char *filter, const char *name, int count)
{
    numbered_keys_expect_all(filter, name, 0, count);
}

static void expect_few(const char *filter, const char *name)
{
    char *text = numbered_keys_lines(name, 0, 1000);
    struct command command;

    command_run(&command, span_text(text), "orbloom", "check", filter, "--only", "present", NULL);
    command_expect_exit(&command, 0);
    cr_assert_lt(command.output_size, 100 * strlen(name), "it has not everything");
    command_forget(&command);
    free(text);
}

/* ---- commands ---- */

/* By a shell, with $ORBLOOM for the program. */
static void start_shell(struct command *command, const char *script)
{
    const char *const words[] = {"-c", script, NULL};
    char program[PATH_BYTES * 2];

    (void)snprintf(program, sizeof program, "%s/orbloom", command_bin_dir());
    cr_assert_eq(setenv("ORBLOOM", program, 1), 0);
    command_start(command, span_text(""), SIGKILL, "/bin/sh", words);
}

static void expect_fails(const char *text, const char *const *words)
{
    struct command command;

    command_start(&command, span_text(""), SIGKILL, "orbloom", words);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_assert_neq(command.exit_status, 0);
    cr_assert_not_null(strstr(command.errors, text), "%s", command.errors);
    command_forget(&command);
}

#define FAILS(text, ...) expect_fails((text), (const char *const[]){__VA_ARGS__, NULL})

/* It ends like this, and says all that; NULL: nothing more. */
static void expect_end(struct command *command, int status, const char *text)
{
    command_finish(command, COMMAND_LIMIT_MS);
    command_expect_exit(command, status);
    if (text != NULL) {
        cr_assert(strstr(command->errors, text) != NULL || strstr(command->output, text) != NULL,
                  "\"%s\" is not in: %s%s", text, command->output, command->errors);
    }
    command_forget(command);
}

/* It begins anew. */
static void back_up_anew(const char *filter, const char *path, const char *within)
{
    struct command command;

    command_run(&command, span_text(""), "orbloom", "backup", filter, path, "--resume-within",
                within, NULL);
    command_expect_exit(&command, 0);
    cr_assert_null(strstr(command.errors, "goes on"), "%s", command.errors);
    command_forget(&command);
}

static void start(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    playground_start(&playground, &(struct playground_plan){.nodes = 3});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "1M", "--fpr", "1%", "--timeout", "20s");
    add_keys("seen", "old", KEYS);
}

/* Whoever reads from it goes on. */
static void open_gate(const char *gate)
{
    int fd = open(gate, O_WRONLY | O_CLOEXEC);

    cr_assert_geq(fd, 0);
    (void)close(fd);
}

static char *path_of(const char *name, char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%s/%s", playground.dir, name);
    return path;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(chmod(path, 0600), 0);
}

static long size_of(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 ? (long)about.st_size : -1;
}

static void stop(void)
{
    playground_stop(&playground);
}

TestSuite(backup, .timeout = LIMIT_S);

/* ---- what was acknowledged is there ---- */

/* The pipe holds the command up in its midst: it goes on once the node is dead. */
Test(backup, nothing_is_lost_under_load_while_a_node_is_killed)
{
    char path[PATH_BYTES];
    char script[SCRIPT_BYTES];
    char gate[PATH_BYTES];
    struct command backup;
    struct command load;
    char *text = numbered_keys_lines("new", 0, KEYS);
    const char *const add[] = {"add", "seen", "--timeout", "20s", NULL};

    start();
    path_of("seen.orb", path);
    path_of("gate", gate);
    cr_assert_eq(mkfifo(gate, 0600), 0);
    (void)snprintf(script, sizeof script,
                   "\"$ORBLOOM\" backup seen - | (head -c 100000; cat '%s'; cat) > '%s'", gate,
                   path);
    command_start(&load, span_text(text), SIGKILL, "orbloom", add);
    start_shell(&backup, script);
    for (int i = 0; i < 1000 && size_of(path) < 100000; i++) {
        (void)usleep(10000);
    }
    cr_assert_geq(size_of(path), 100000, "it began");
    playground_kill(&playground, "node-2");
    open_gate(gate);
    expect_end(&backup, 0, NULL);
    expect_end(&load, 0, NULL);
    PLAYGROUND_DO("", "backup", "verify", path);
    playground_restart(&playground, "node-2");
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    expect_all("again", "old", KEYS);
    expect_few("again", "nobody");
    expect_all("seen", "new", KEYS);
    free(text);
    stop();
}

Test(backup, a_cluster_with_another_key_takes_what_a_passphrase_seals)
{
    char path[PATH_BYTES];
    char sealed[PATH_BYTES];
    char secret[PATH_BYTES];
    char key[PATH_BYTES];
    char keep[] = "/tmp/orbloom-backup-XXXXXX";

    cr_assert_not_null(mkdtemp(keep));
    start();
    (void)snprintf(path, sizeof path, "%s/all.orb", keep);
    (void)snprintf(sealed, sizeof sealed, "%s/own.orb", keep);
    (void)snprintf(secret, sizeof secret, "%s/secret", keep);
    write_file(secret, PASSPHRASE, strlen(PASSPHRASE));
    PLAYGROUND_DO("", "create", "other", "--capacity", "10k", "--fpr", "0.1%");
    add_keys("other", "it", 1000);
    playground_kill(&playground, "node-3");
    PLAYGROUND_DO("", "backup", "--all", path, "--passphrase-file", secret);
    PLAYGROUND_DO("", "backup", "seen", sealed);
    PLAYGROUND_DO("", "backup", "verify", sealed, "--cluster-key", path_of("key", key));
    FAILS("not with a passphrase", "backup", "verify", sealed, "--passphrase-file", secret);
    playground_restart(&playground, "node-3");
    stop();

    playground_start(&playground, &(struct playground_plan){.nodes = 3});
    FAILS("another cluster key", "backup", "verify", sealed, "--cluster-key", path_of("key", key));
    FAILS("not sealed with this cluster's key", "restore", sealed);
    FAILS("--passphrase-file", "restore", path);
    PLAYGROUND_DO("", "restore", path, "--passphrase-file", secret);
    expect_all("seen", "old", KEYS);
    expect_all("other", "it", 1000);
    expect_few("other", "nobody");
    write_file(secret, "incorrect donkey battery\n", 25);
    FAILS("passphrase", "restore", path, "--only", "seen", "--as", "x", "--passphrase-file",
          secret);
    FAILS("NOT_FOUND", "info", "x");
    stop();
    (void)unlink(path);
    (void)unlink(sealed);
    (void)unlink(secret);
    cr_assert_eq(rmdir(keep), 0);
}

/* ---- interrupted ---- */

Test(backup, a_full_disk_leaves_what_is_whole_and_it_goes_on_from_there)
{
    char path[PATH_BYTES];
    char part[PATH_BYTES + 8];
    char script[SCRIPT_BYTES];
    struct command command;

    start();
    path_of("seen.orb", path);
    (void)snprintf(part, sizeof part, "%s.part", path);
    (void)snprintf(script, sizeof script,
                   "trap '' XFSZ; ulimit -f 1500; exec \"$ORBLOOM\" backup seen '%s'", path);
    start_shell(&command, script);
    expect_end(&command, 1, "goes on with that once there is room");
    cr_assert_eq(size_of(path), -1, "it is not called whole");
    cr_assert_gt(size_of(part), 500000);
    add_keys("seen", "late", 1000);

    command_run(&command, span_text(""), "orbloom", "backup", "seen", path, NULL);
    command_expect_errors(&command, 0, "goes on with what was begun");
    command_forget(&command);
    cr_assert_eq(size_of(part), -1);
    PLAYGROUND_DO("", "backup", "verify", path);
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    expect_all("again", "old", KEYS);

    /* Of another filter, or too old, it begins anew. */
    start_shell(&command, script);
    expect_end(&command, 1, NULL);
    back_up_anew("again", path, "6h");
    start_shell(&command, script);
    expect_end(&command, 1, NULL);
    back_up_anew("seen", path, "1ms");
    stop();
}

/* What is in the part is of keys that are forgotten. */
Test(backup, what_was_rebuilt_meanwhile_is_begun_anew)
{
    char path[PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;
    char *text = numbered_keys_lines("new", 0, 1000);

    start();
    path_of("seen.orb", path);
    (void)snprintf(script, sizeof script,
                   "trap '' XFSZ; ulimit -f 1500; exec \"$ORBLOOM\" backup seen '%s'", path);
    start_shell(&command, script);
    expect_end(&command, 1, "goes on with that once there is room");
    PLAYGROUND_DO("", "rebuild", "seen", "begin", "--timeout", "20s");
    PLAYGROUND_DO(text, "rebuild", "seen", "feed");
    PLAYGROUND_DO("", "rebuild", "seen", "commit", "--timeout", "20s");
    command_run(&command, span_text(""), "orbloom", "backup", "seen", path, NULL);
    command_expect_errors(&command, 0, "is begun anew");
    command_forget(&command);
    PLAYGROUND_DO("", "backup", "verify", path);
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    expect_all("again", "new", 1000);
    expect_few("again", "old");
    free(text);
    stop();
}

/* Whoever may write there may have left it. */
Test(backup, a_part_that_others_may_have_written_is_refused)
{
    char path[PATH_BYTES];
    char part[PATH_BYTES + 8];

    start();
    path_of("seen.orb", path);
    (void)snprintf(part, sizeof part, "%s.part", path);
    write_file(part, "ORBBAKP\1", 8);
    cr_assert_eq(chmod(part, 0620), 0);
    FAILS("others may have written it", "backup", "seen", path);
    cr_assert_eq(chmod(part, 0600), 0);
    PLAYGROUND_DO("", "backup", "seen", path);
    stop();
}

Test(backup, a_restore_that_ends_halfway_serves_nobody_and_goes_on)
{
    char path[PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;

    start();
    path_of("seen.orb", path);
    PLAYGROUND_DO("", "backup", "seen", path);
    (void)snprintf(script, sizeof script,
                   "head -c 1000000 '%s' | \"$ORBLOOM\" restore - --as again", path);
    start_shell(&command, script);
    expect_end(&command, 1, "cut short");
    command_run(&command, span_text("old-1\nnobody\n"), "orbloom", "check", "again", "--timeout",
                "1s", NULL);
    command_expect_errors(&command, 1, "being loaded");
    cr_assert_null(strstr(command.output, "absent"), "%s", command.output);
    command_forget(&command);

    PLAYGROUND_DO("", "restore", path, "--as", "again");
    expect_all("again", "old", KEYS);
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    FAILS("EXISTS", "restore", path);
    stop();
}

static void wait_for_filter(const char *name)
{
    struct command command;
    int status = 1;

    for (int i = 0; i < 1000 && status != 0; i++) {
        command_run(&command, span_text(""), "orbloom", "info", name, "--timeout", "1s", NULL);
        status = command.exit_status;
        command_forget(&command);
    }
    cr_assert_eq(status, 0, "%s is not there", name);
}

Test(backup, a_restore_that_is_killed_goes_on)
{
    char path[PATH_BYTES];
    char gate[PATH_BYTES];
    char pid_path[PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;
    char *pid;

    start();
    path_of("seen.orb", path);
    path_of("gate", gate);
    path_of("restore.pid", pid_path);
    cr_assert_eq(mkfifo(gate, 0600), 0);
    PLAYGROUND_DO("", "backup", "seen", path);
    (void)snprintf(script, sizeof script,
                   "(head -c 1200000 '%s'; cat '%s') | "
                   "sh -c 'echo $$ > \"%s\"; exec \"$ORBLOOM\" restore - --as again'",
                   path, gate, pid_path);
    start_shell(&command, script);
    wait_for_filter("again");
    pid = command_read_file(pid_path);
    cr_assert_not_null(pid);
    cr_assert_eq(kill((pid_t)strtol(pid, NULL, 10), SIGKILL), 0);
    free(pid);
    open_gate(gate);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_assert_neq(command.exit_status, 0);
    command_forget(&command);
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    expect_all("again", "old", KEYS);
    stop();
}

/* What was answered meanwhile is not too late. */
Test(backup, a_pipe_may_pause_for_longer_than_the_timeout)
{
    char path[PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;

    start();
    PLAYGROUND_DO("", "backup", "seen", path_of("seen.orb", path));
    (void)snprintf(script, sizeof script,
                   "(head -c 1300000 '%s'; sleep 3; tail -c +1300001 '%s') | "
                   "\"$ORBLOOM\" restore - --as again --timeout 1s",
                   path, path);
    start_shell(&command, script);
    expect_end(&command, 0, "it serves");
    expect_all("again", "old", KEYS);
    stop();
}

/* ---- every day, and the drill: as docs/operations.md has them ---- */

static size_t count_files(const char *suffix)
{
    char script[SCRIPT_BYTES];
    struct command command;
    size_t count;

    (void)snprintf(script, sizeof script, "ls '%s/kept' | grep '%s$' | wc -l", playground.dir,
                   suffix);
    start_shell(&command, script);
    command_finish(&command, COMMAND_LIMIT_MS);
    count = (size_t)strtoul(command.output, NULL, 10);
    command_forget(&command);
    return count;
}

static void run_daily(int status)
{
    struct command command;

    start_shell(&command, "sleep 1; exec deploy/systemd/orbloom-backup.sh");
    expect_end(&command, status, NULL);
}

Test(backup, each_day_some_are_kept_and_the_drill_restores_one)
{
    char folder[PATH_BYTES];
    char known[PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;
    char *text = numbered_keys_lines("old", 0, 1000);

    start();
    cr_assert_eq(mkdir(path_of("kept", folder), 0700), 0);
    cr_assert_eq(setenv("ORBLOOM_BACKUP_DIR", folder, 1), 0);
    cr_assert_eq(setenv("ORBLOOM_BACKUP_KEEP", "2", 1), 0);
    for (int day = 0; day < 3; day++) {
        run_daily(0);
    }
    cr_assert_eq(count_files("[.]orb"), 2);
    cr_assert_eq(count_files("[.]map"), 2);

    PLAYGROUND_DO("", "create", "bits", "--capacity", "1k", "--fpr", "1%", "--keylog", "off");
    for (int day = 0; day < 3; day++) {
        run_daily(1);
    }
    cr_assert_eq(count_files("Z[.]orb"), 2, "what leaves filters out forgets none that has them");
    cr_assert_eq(count_files("Z[.]some[.]orb"), 2, "nor does it fill the disk");
    cr_assert_eq(setenv("ORBLOOM_BACKUP_EXCEPT", "bits", 1), 0);
    write_file(path_of("credential", known), "none", 4);
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", known, 1), 0);
    run_daily(0);
    cr_assert_eq(unsetenv("ORBLOOM_CREDENTIAL"), 0);
    cr_assert_eq(count_files("Z[.]orb"), 2);

    write_file(path_of("known", known), text, strlen(text));
    (void)snprintf(script, sizeof script,
                   "exec tools/restore-drill.sh $(ls '%s'/*.orb | tail -n 1) seen '%s'", folder,
                   known);
    start_shell(&command, script);
    expect_end(&command, 0, "is good");
    write_file(known, "never added\n", 12);
    start_shell(&command, script);
    expect_end(&command, 1, "keys are absent, the first one: never added");
    free(text);
    stop();
}

/* ---- what is refused ---- */

Test(backup, of_a_bent_file_nothing_is_made)
{
    char path[PATH_BYTES];
    struct command command;
    char *bytes;
    long size;

    start();
    path_of("seen.orb", path);
    PLAYGROUND_DO("", "backup", "seen", path);
    size = size_of(path);
    bytes = command_read_file(path);
    cr_assert_not_null(bytes);
    for (long at = 20; at < size; at += size / 5) {
        bytes[at] ^= 0x10;
        write_file(path, bytes, (size_t)size);
        FAILS("orbloom: ", "backup", "verify", path);
        FAILS("orbloom: ", "restore", path, "--as", "bent");
        bytes[at] ^= 0x10;
    }
    write_file(path, bytes, (size_t)size - 1);
    FAILS("cut short", "restore", path, "--as", "bent");
    write_file(path, "", 0);
    FAILS("it is empty", "restore", path, "--as", "bent");
    FAILS("NOT_FOUND", "info", "bent");
    write_file(path, "mine", 4);
    FAILS("is not written over", "backup", "seen", path);
    command_run(&command, span_text(""), "orbloom", "backup", "seen", "/nowhere/x", NULL);
    command_expect_errors(&command, 1, "choose a folder");
    command_forget(&command);
    free(bytes);
    stop();
}

/* While another one is under way its name is given to a filter that is not in the list. */
static void uid_of(const char *filter, char uid[FILTER_UID_TEXT_BYTES])
{
    static const char label[] = "uid           ";
    struct command command;
    const char *at;

    command_run(&command, span_text(""), "orbloom", "info", filter, NULL);
    command_expect_exit(&command, 0);
    at = strstr(command.output, label);
    cr_assert_not_null(at, "%s", command.output);
    (void)snprintf(uid, FILTER_UID_TEXT_BYTES, "%s", at + sizeof label - 1);
    command_forget(&command);
}

Test(backup, of_all_each_is_there_whatever_it_is_called_by_its_turn)
{
    char path[PATH_BYTES];
    char gate[PATH_BYTES];
    char uid[FILTER_UID_TEXT_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;

    start();
    path_of("all.orb", path);
    path_of("gate", gate);
    cr_assert_eq(mkfifo(gate, 0600), 0);
    PLAYGROUND_DO("", "create", "second", "--capacity", "10k", "--fpr", "0.1%");
    PLAYGROUND_DO("", "create", "third", "--capacity", "10k", "--fpr", "0.1%");
    add_keys("second", "it", 1000);
    (void)snprintf(script, sizeof script,
                   "\"$ORBLOOM\" backup --all - | (head -c 100000; cat '%s'; cat) > '%s'", gate,
                   path);
    start_shell(&command, script);
    for (int i = 0; i < 1000 && size_of(path) < 100000; i++) {
        (void)usleep(10000);
    }
    PLAYGROUND_DO("", "rename", "second", "moved");
    PLAYGROUND_DO("", "drop", "third", "--timeout", "20s");
    PLAYGROUND_DO("", "create", "second", "--capacity", "10k", "--fpr", "0.1%");
    open_gate(gate);
    expect_end(&command, 0, "left out third: it was dropped meanwhile");
    PLAYGROUND_DO("", "restore", path, "--only", "moved", "--as", "again");
    expect_all("again", "it", 1000);
    FAILS("there is no second in it", "restore", path, "--only", "second", "--as", "x");
    uid_of("moved", uid);
    PLAYGROUND_DO("", "restore", path, "--only", uid, "--as", "thrice");
    expect_all("thrice", "it", 1000);
    stop();
}

/* One whose name is taken does not hold up the others. */
Test(backup, those_that_can_be_restored_are)
{
    char path[PATH_BYTES];
    struct command command;

    start();
    PLAYGROUND_DO("", "create", "a", "--capacity", "10k", "--fpr", "0.1%");
    add_keys("a", "it", 1000);
    PLAYGROUND_DO("", "backup", "--all", path_of("all.orb", path));
    PLAYGROUND_DO("", "drop", "seen", "--timeout", "20s");
    command_run(&command, span_text(""), "orbloom", "restore", path, NULL);
    command_expect_errors(&command, 1, "a: there is a filter of that name");
    cr_assert_not_null(strstr(command.errors, "1 restored, 1 not"), "%s", command.errors);
    command_forget(&command);
    expect_all("seen", "old", KEYS);
    stop();
}

/* The one replica of its shards is gone. */
Test(backup, those_that_somebody_tells_are_backed_up)
{
    char path[PATH_BYTES];
    struct command command;

    start();
    PLAYGROUND_DO("", "create", "alone", "--capacity", "10k", "--fpr", "0.1%", "--replicas", "1");
    add_keys("alone", "it", 1000);
    PLAYGROUND_DO("", "create", "z", "--capacity", "10k", "--fpr", "0.1%");
    playground_kill(&playground, "node-3");
    command_run(&command, span_text(""), "orbloom", "backup", "--all", path_of("all.orb", path),
                "--timeout", "2s", NULL);
    command_expect_errors(&command, 1, "left out alone: ");
    command_forget(&command);
    playground_restart(&playground, "node-3");
    PLAYGROUND_DO("", "backup", "verify", path);
    PLAYGROUND_DO("", "restore", path, "--only", "seen", "--as", "again");
    expect_all("again", "old", KEYS);
    FAILS("there is no alone in it", "restore", path, "--only", "alone", "--as", "x");
    stop();
}

Test(backup, what_is_not_meant_is_refused_and_an_empty_file_is_none)
{
    char path[PATH_BYTES];

    start();
    write_file(path_of("empty.orb", path), "", 0);
    FAILS("FILE is empty", "backup", "seen", "");
    FAILS("go with verify alone", "backup", "seen", path, "--json");
    FAILS("go with verify alone", "backup", "--all", path, "--cluster-key", "k");
    PLAYGROUND_DO("", "backup", "seen", path);
    PLAYGROUND_DO("", "backup", "verify", path);
    stop();
}

Test(backup, of_none_nothing_is_written)
{
    char path[PATH_BYTES];

    start();
    FAILS("there is no filter that can be backed up", "backup", "--all", path_of("all.orb", path),
          "--except", "seen");
    cr_assert_eq(size_of(path), -1);
    cr_assert_eq(size_of(strcat(path, ".part")), -1);
    stop();
}

/* ---- more keys than it was made for ---- */

static void put_head_and_filter(struct backup_writer *writer, struct backup_key *key,
                                enum when_full when_full)
{
    struct backup_head head = backup_sample_head(BACKUP_SEAL_PASSPHRASE);
    struct backup_filter filter = backup_sample_filter("grown");
    const struct hash_secret secret = {{7}};
    const uint8_t nonce[SEAL_NONCE_BYTES] = {8};

    head.memory_kib = 8192;
    cr_assert_eq(backup_key_derive(span_of(PASSPHRASE, strlen(PASSPHRASE) - 1), &head, key),
                 STATUS_OK);
    filter.acks = 0;
    filter.expires_min = 1; /* long ago */
    filter.when_full = when_full;
    backup_secret_seal(key, filter.source, &secret, nonce, filter.sealed);
    cr_assert_eq(backup_writer_begin(writer, &head, key), STATUS_OK);
    cr_assert_eq(backup_put_filter(writer, &filter), STATUS_OK);
}

/* As of one that has grown between its header and its last page. */
static void write_grown(const char *path, enum when_full when_full)
{
    static uint64_t keys[GROWN_KEYS];
    const struct backup_chunk chunk = {DUMP_FIRST, DUMP_END, keys, GROWN_KEYS};
    struct backup_writer writer;
    struct backup_key key;

    for (uint64_t i = 0; i < GROWN_KEYS; i++) {
        keys[i] = i * (UINT64_MAX / GROWN_KEYS);
    }
    put_head_and_filter(&writer, &key, when_full);
    cr_assert_eq(backup_put_chunk(&writer, &chunk), STATUS_OK);
    cr_assert_eq(backup_put_filter_end(&writer), STATUS_OK);
    cr_assert_eq(backup_put_end(&writer), STATUS_OK);
    write_file(path, writer.out.data, writer.out.size);
    backup_writer_fini(&writer);
}

Test(backup, what_has_outgrown_its_capacity_grows_while_it_is_restored)
{
    char path[PATH_BYTES];
    char secret[PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;

    start();
    write_grown(path_of("grown.orb", path), WHEN_FULL_EXPAND);
    write_file(path_of("secret", secret), PASSPHRASE, strlen(PASSPHRASE));
    (void)snprintf(script, sizeof script, "\"$ORBLOOM\" restore - --passphrase-file %s < %s",
                   secret, path);
    start_shell(&command, script);
    expect_end(&command, 0, "it serves");
    command_run(&command, span_text(""), "orbloom", "info", "grown", NULL);
    command_expect_exit(&command, 0);
    cr_assert_not_null(strstr(command.output, "keys          about"), "%s", command.output);
    cr_assert_null(strstr(command.output, "capacity      1,000 keys"), "%s", command.output);
    command_forget(&command);
    stop();
}

/* As many as come through a pipe are not known before. */
Test(backup, what_has_outgrown_its_capacity_and_may_not_grow_asks_for_one)
{
    char path[PATH_BYTES];
    char secret[PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;

    start();
    write_grown(path_of("grown.orb", path), WHEN_FULL_REFUSE);
    write_file(path_of("secret", secret), PASSPHRASE, strlen(PASSPHRASE));
    (void)snprintf(script, sizeof script, "\"$ORBLOOM\" restore - --passphrase-file %s < %s",
                   secret, path);
    start_shell(&command, script);
    expect_end(&command, 1, "drop it, then restore it with --capacity");
    (void)snprintf(script, sizeof script,
                   "\"$ORBLOOM\" restore - --passphrase-file %s --as piped --capacity 20k < %s",
                   secret, path);
    start_shell(&command, script);
    expect_end(&command, 0, "it serves");
    PLAYGROUND_DO("", "restore", path, "--passphrase-file", secret, "--as", "read");
    stop();
}

static void expect_restored(const char *path, const char *name, const char *says, bool expires)
{
    char secret[PATH_BYTES];
    struct command command;

    write_file(path_of("secret", secret), PASSPHRASE, strlen(PASSPHRASE));
    command_run(&command, span_text(""), "orbloom", "restore", path, "--as", name,
                "--passphrase-file", secret, NULL);
    command_expect_errors(&command, 0, says);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "info", name, NULL);
    cr_assert_eq(strstr(command.output, "\nexpires ") != NULL, expires, "%s", command.output);
    command_forget(&command);
}

/* A list of what is blocked for a while is not to be blocked for good. */
Test(backup, what_was_to_be_dropped_some_day_is_and_that_is_said)
{
    char path[PATH_BYTES];
    char secret[PATH_BYTES];

    start();
    write_file(path_of("secret", secret), PASSPHRASE, strlen(PASSPHRASE));
    path_of("seen.orb", path);
    PLAYGROUND_DO("", "expire", "seen", "2h");
    PLAYGROUND_DO("", "backup", "seen", path, "--passphrase-file", secret);
    expect_restored(path, "again", "again: it is dropped by itself at ", true);
    expect_all("again", "old", KEYS);
    PLAYGROUND_DO("", "expire", "again", "never");
    expect_restored(path, "again", "it was restored from this backup before", false);
    write_grown(path_of("grown.orb", path), WHEN_FULL_EXPAND);
    expect_restored(path, "over", "over: it was to be dropped by 1970-01-01 00:01", false);
    stop();
}

/* Fill it until it takes no more; what it has, to be freed. */
static char *add_until_full(const char *filter, int count)
{
    char *text = numbered_keys_lines("full", 0, count);
    struct command command;

    command_run(&command, span_text(text), "orbloom", "add", filter, "--timeout", "20s", NULL);
    cr_assert_not_null(strstr(command.errors, "FULL"), "%s", command.errors);
    command_forget(&command);
    command_run(&command, span_text(text), "orbloom", "check", filter, "--only", "present", NULL);
    command_expect_exit(&command, 0);
    free(text);
    text = strdup(command.output);
    command_forget(&command);
    cr_assert_not_null(text);
    return text;
}

Test(backup, what_is_full_is_restored_with_room_for_all_of_it)
{
    char path[PATH_BYTES];
    struct command command;
    char *there;

    start();
    PLAYGROUND_DO("", "create", "full", "--capacity", "10k", "--fpr", "0.01%", "--when-full",
                  "refuse", "--timeout", "20s");
    there = add_until_full("full", 3 * GROWN_KEYS / 2);
    PLAYGROUND_DO("", "backup", "full", path_of("full.orb", path));
    command_run(&command, span_text(""), "orbloom", "restore", path, "--as", "again", NULL);
    command_expect_exit(&command, 0);
    cr_assert_not_null(strstr(command.errors, "it was for 10,000"), "%s", command.errors);
    command_forget(&command);
    command_run(&command, span_text(there), "orbloom", "check", "again", "--only", "absent", NULL);
    command_expect_exit(&command, 0);
    cr_assert_lt(command.output_size, 200, "but for what was there by chance: %s", command.output);
    command_forget(&command);
    free(there);
    stop();
}

Test(backup, each_kind_of_filter_works_or_is_named)
{
    char path[PATH_BYTES];
    struct command command;

    start();
    path_of("all.orb", path);
    PLAYGROUND_DO("", "create", "win", "--capacity", "1k", "--fpr", "1%", "--window", "1h",
                  "--slices", "4");
    PLAYGROUND_DO("", "create", "bits", "--capacity", "1k", "--fpr", "1%", "--keylog", "off");
    PLAYGROUND_DO("", "create", "empty", "--capacity", "1k", "--fpr", "1%", "--durability", "os");
    FAILS("time window", "backup", "win", path);
    FAILS("key log", "backup", "bits", path);
    FAILS("NOT_FOUND", "backup", "nosuch", path);
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "2M", "--timeout", "20s");
    PLAYGROUND_DO("", "rebuild", "seen", "begin");
    command_run(&command, span_text(""), "orbloom", "backup", "--all", path, NULL);
    command_expect_errors(&command, 1, "left out win: ");
    cr_assert_not_null(strstr(command.errors, "left out bits: "));
    command_forget(&command);
    PLAYGROUND_DO("", "backup", "--all", path, "--except", "win,bits");
    FAILS("--only", "restore", path, "--as", "x");
    PLAYGROUND_DO("", "restore", path, "--as", "nothing", "--only", "empty");
    expect_few("nothing", "nobody");
    PLAYGROUND_DO("", "restore", path, "--as", "again", "--only", "seen");
    expect_all("again", "old", KEYS);
    stop();
}
