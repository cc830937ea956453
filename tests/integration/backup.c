/* Backups through real processes: what was acknowledged before one began is in it, whatever is
 * killed meanwhile; some are kept each day; of what is torn or bent nothing is made. */
#include "map/document.h"
#include "tests/support/backup_stage.h"
#include "tests/support/numbered_keys.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCRIPT_BYTES = 1024 };

TestSuite(backup, .timeout = STAGE_LIMIT_S);

/* ---- what was acknowledged is there ---- */

/* The pipe holds the command up in its midst: it goes on once the node is dead. */
Test(backup, nothing_is_lost_under_load_while_a_node_is_killed)
{
    char path[STAGE_PATH_BYTES];
    char script[SCRIPT_BYTES];
    char gate[STAGE_PATH_BYTES];
    struct command backup;
    struct command load;
    char *text = numbered_keys_lines("new", 0, STAGE_KEYS);
    const char *const add[] = {"add", "seen", "--timeout", "20s", NULL};

    stage_start();
    stage_path_of("seen.orb", path);
    stage_path_of("gate", gate);
    cr_assert_eq(mkfifo(gate, 0600), 0);
    (void)snprintf(script, sizeof script,
                   "\"$ORBLOOM\" backup seen - | (head -c 100000; cat '%s'; cat) > '%s'", gate,
                   path);
    command_start(&load, span_text(text), SIGKILL, "orbloom", add);
    stage_start_shell(&backup, script);
    for (int i = 0; i < 1000 && stage_size_of(path) < 100000; i++) {
        (void)usleep(10000);
    }
    cr_assert_geq(stage_size_of(path), 100000, "it began");
    playground_kill(&backup_stage, "node-2");
    stage_open_gate(gate);
    stage_expect_end(&backup, 0, NULL);
    stage_expect_end(&load, 0, NULL);
    PLAYGROUND_DO("", "backup", "verify", path);
    playground_restart(&backup_stage, "node-2");
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    stage_expect_all("again", "old", STAGE_KEYS);
    stage_expect_few("again", "nobody");
    stage_expect_all("seen", "new", STAGE_KEYS);
    free(text);
    stage_stop();
}

Test(backup, a_cluster_with_another_key_takes_what_a_passphrase_seals)
{
    char path[STAGE_PATH_BYTES];
    char sealed[STAGE_PATH_BYTES];
    char secret[STAGE_PATH_BYTES];
    char key[STAGE_PATH_BYTES];
    char keep[] = "/tmp/orbloom-backup-XXXXXX";

    cr_assert_not_null(mkdtemp(keep));
    stage_start();
    (void)snprintf(path, sizeof path, "%s/all.orb", keep);
    (void)snprintf(sealed, sizeof sealed, "%s/own.orb", keep);
    (void)snprintf(secret, sizeof secret, "%s/secret", keep);
    stage_write_file(secret, STAGE_PASSPHRASE, strlen(STAGE_PASSPHRASE));
    PLAYGROUND_DO("", "create", "other", "--capacity", "10k", "--fpr", "0.1%");
    stage_add_keys("other", "it", 1000);
    playground_kill(&backup_stage, "node-3");
    PLAYGROUND_DO("", "backup", "--all", path, "--passphrase-file", secret);
    PLAYGROUND_DO("", "backup", "seen", sealed);
    PLAYGROUND_DO("", "backup", "verify", sealed, "--cluster-key", stage_path_of("key", key));
    STAGE_FAILS("not with a passphrase", "backup", "verify", sealed, "--passphrase-file", secret);
    playground_restart(&backup_stage, "node-3");
    stage_stop();

    playground_start(&backup_stage, &(struct playground_plan){.nodes = 3});
    STAGE_FAILS("another cluster key", "backup", "verify", sealed, "--cluster-key",
                stage_path_of("key", key));
    STAGE_FAILS("not sealed with this cluster's key", "restore", sealed);
    STAGE_FAILS("--passphrase-file", "restore", path);
    PLAYGROUND_DO("", "restore", path, "--passphrase-file", secret);
    stage_expect_all("seen", "old", STAGE_KEYS);
    stage_expect_all("other", "it", 1000);
    stage_expect_few("other", "nobody");
    stage_write_file(secret, "incorrect donkey battery\n", 25);
    STAGE_FAILS("passphrase", "restore", path, "--only", "seen", "--as", "x", "--passphrase-file",
                secret);
    STAGE_FAILS("NOT_FOUND", "info", "x");
    stage_stop();
    (void)unlink(path);
    (void)unlink(sealed);
    (void)unlink(secret);
    cr_assert_eq(rmdir(keep), 0);
}

/* ---- every day, and the drill: as docs/operations.md has them ---- */

static size_t count_files(const char *suffix)
{
    char script[SCRIPT_BYTES];
    struct command command;
    size_t count;

    (void)snprintf(script, sizeof script, "ls '%s/kept' | grep '%s$' | wc -l", backup_stage.dir,
                   suffix);
    stage_start_shell(&command, script);
    command_finish(&command, COMMAND_LIMIT_MS);
    count = (size_t)strtoul(command.output, NULL, 10);
    command_forget(&command);
    return count;
}

static void run_daily(int status)
{
    struct command command;

    stage_start_shell(&command, "sleep 1; exec deploy/systemd/orbloom-backup.sh");
    stage_expect_end(&command, status, NULL);
}

Test(backup, each_day_some_are_kept_and_the_drill_restores_one)
{
    char folder[STAGE_PATH_BYTES];
    char known[STAGE_PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;
    char *text = numbered_keys_lines("old", 0, 1000);

    stage_start();
    cr_assert_eq(mkdir(stage_path_of("kept", folder), 0700), 0);
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
    cr_assert_eq(count_files("Z[.]map"), 2, "likewise of the store");
    cr_assert_eq(count_files("Z[.]some[.]orb"), 2, "nor does it fill the disk");
    cr_assert_eq(count_files("Z[.]some[.]map"), 2);
    cr_assert_eq(setenv("ORBLOOM_BACKUP_EXCEPT", "bits", 1), 0);
    stage_write_file(stage_path_of("credential", known), "none", 4);
    cr_assert_eq(setenv("ORBLOOM_CREDENTIAL", known, 1), 0);
    run_daily(0);
    cr_assert_eq(unsetenv("ORBLOOM_CREDENTIAL"), 0);
    cr_assert_eq(count_files("Z[.]orb"), 2);

    stage_write_file(stage_path_of("known", known), text, strlen(text));
    (void)snprintf(script, sizeof script,
                   "exec tools/restore-drill.sh $(ls '%s'/*.orb | tail -n 1) seen '%s'", folder,
                   known);
    stage_start_shell(&command, script);
    stage_expect_end(&command, 0, "is good");
    stage_write_file(known, "never added\n", 12);
    stage_start_shell(&command, script);
    stage_expect_end(&command, 1, "keys are absent, the first one: never added");
    free(text);
    stage_stop();
}

/* ---- what is refused ---- */

Test(backup, of_a_bent_file_nothing_is_made)
{
    char path[STAGE_PATH_BYTES];
    struct command command;
    char *bytes;
    long size;

    stage_start();
    stage_path_of("seen.orb", path);
    PLAYGROUND_DO("", "backup", "seen", path);
    size = stage_size_of(path);
    bytes = command_read_file(path);
    cr_assert_not_null(bytes);
    for (long at = 20; at < size; at += size / 5) {
        bytes[at] ^= 0x10;
        stage_write_file(path, bytes, (size_t)size);
        STAGE_FAILS("orbloom: ", "backup", "verify", path);
        STAGE_FAILS("orbloom: ", "restore", path, "--as", "bent");
        bytes[at] ^= 0x10;
    }
    stage_write_file(path, bytes, (size_t)size - 1);
    STAGE_FAILS("cut short", "restore", path, "--as", "bent");
    stage_write_file(path, "", 0);
    STAGE_FAILS("it is empty", "restore", path, "--as", "bent");
    STAGE_FAILS("NOT_FOUND", "info", "bent");
    stage_write_file(path, "mine", 4);
    STAGE_FAILS("is not written over", "backup", "seen", path);
    command_run(&command, span_text(""), "orbloom", "backup", "seen", "/nowhere/x", NULL);
    command_expect_errors(&command, 1, "choose a folder");
    command_forget(&command);
    free(bytes);
    stage_stop();
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
    char path[STAGE_PATH_BYTES];
    char gate[STAGE_PATH_BYTES];
    char uid[FILTER_UID_TEXT_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;

    stage_start();
    stage_path_of("all.orb", path);
    stage_path_of("gate", gate);
    cr_assert_eq(mkfifo(gate, 0600), 0);
    PLAYGROUND_DO("", "create", "second", "--capacity", "10k", "--fpr", "0.1%");
    PLAYGROUND_DO("", "create", "third", "--capacity", "10k", "--fpr", "0.1%");
    stage_add_keys("second", "it", 1000);
    (void)snprintf(script, sizeof script,
                   "\"$ORBLOOM\" backup --all - | (head -c 100000; cat '%s'; cat) > '%s'", gate,
                   path);
    stage_start_shell(&command, script);
    for (int i = 0; i < 1000 && stage_size_of(path) < 100000; i++) {
        (void)usleep(10000);
    }
    PLAYGROUND_DO("", "rename", "second", "moved");
    PLAYGROUND_DO("", "drop", "third", "--timeout", "20s");
    PLAYGROUND_DO("", "create", "second", "--capacity", "10k", "--fpr", "0.1%");
    stage_open_gate(gate);
    stage_expect_end(&command, 0, "left out third: it was dropped meanwhile");
    PLAYGROUND_DO("", "restore", path, "--only", "moved", "--as", "again");
    stage_expect_all("again", "it", 1000);
    STAGE_FAILS("there is no second in it", "restore", path, "--only", "second", "--as", "x");
    uid_of("moved", uid);
    PLAYGROUND_DO("", "restore", path, "--only", uid, "--as", "thrice");
    stage_expect_all("thrice", "it", 1000);
    stage_stop();
}

/* One whose name is taken does not hold up the others. */
Test(backup, those_that_can_be_restored_are)
{
    char path[STAGE_PATH_BYTES];
    struct command command;

    stage_start();
    PLAYGROUND_DO("", "create", "a", "--capacity", "10k", "--fpr", "0.1%");
    stage_add_keys("a", "it", 1000);
    PLAYGROUND_DO("", "backup", "--all", stage_path_of("all.orb", path));
    PLAYGROUND_DO("", "drop", "seen", "--timeout", "20s");
    command_run(&command, span_text(""), "orbloom", "restore", path, NULL);
    command_expect_errors(&command, 1, "a: there is a filter of that name");
    cr_assert_not_null(strstr(command.errors, "1 restored, 1 not"), "%s", command.errors);
    command_forget(&command);
    stage_expect_all("seen", "old", STAGE_KEYS);
    stage_stop();
}

/* The one replica of its shards is gone. */
Test(backup, those_that_somebody_tells_are_backed_up)
{
    char path[STAGE_PATH_BYTES];
    struct command command;

    stage_start();
    PLAYGROUND_DO("", "create", "alone", "--capacity", "10k", "--fpr", "0.1%", "--replicas", "1");
    stage_add_keys("alone", "it", 1000);
    PLAYGROUND_DO("", "create", "z", "--capacity", "10k", "--fpr", "0.1%");
    playground_kill(&backup_stage, "node-3");
    command_run(&command, span_text(""), "orbloom", "backup", "--all",
                stage_path_of("all.orb", path), "--timeout", "2s", NULL);
    command_expect_errors(&command, 1, "left out alone: ");
    command_forget(&command);
    playground_restart(&backup_stage, "node-3");
    PLAYGROUND_DO("", "backup", "verify", path);
    PLAYGROUND_DO("", "restore", path, "--only", "seen", "--as", "again");
    stage_expect_all("again", "old", STAGE_KEYS);
    STAGE_FAILS("there is no alone in it", "restore", path, "--only", "alone", "--as", "x");
    stage_stop();
}

Test(backup, what_is_not_meant_is_refused_and_an_empty_file_is_none)
{
    char path[STAGE_PATH_BYTES];

    stage_start();
    stage_write_file(stage_path_of("empty.orb", path), "", 0);
    STAGE_FAILS("FILE is empty", "backup", "seen", "");
    STAGE_FAILS("go with verify alone", "backup", "seen", path, "--json");
    STAGE_FAILS("go with verify alone", "backup", "--all", path, "--cluster-key", "k");
    PLAYGROUND_DO("", "backup", "seen", path);
    PLAYGROUND_DO("", "backup", "verify", path);
    stage_stop();
}

Test(backup, of_none_nothing_is_written)
{
    char path[STAGE_PATH_BYTES];

    stage_start();
    STAGE_FAILS("there is no filter that can be backed up", "backup", "--all",
                stage_path_of("all.orb", path), "--except", "seen");
    cr_assert_eq(stage_size_of(path), -1);
    cr_assert_eq(stage_size_of(strcat(path, ".part")), -1);
    stage_stop();
}
