/* Backups and restores that are interrupted: they go on, or begin anew; nothing serves before all
 * of it is there. */
#include "tests/support/backup_stage.h"
#include "tests/support/numbered_keys.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SCRIPT_BYTES = 1024 };

TestSuite(backup_interrupted, .timeout = STAGE_LIMIT_S);

Test(backup_interrupted, a_full_disk_leaves_what_is_whole_and_it_goes_on_from_there)
{
    char path[STAGE_PATH_BYTES];
    char part[STAGE_PATH_BYTES + 8];
    char script[SCRIPT_BYTES];
    struct command command;

    stage_start();
    stage_path_of("seen.orb", path);
    (void)snprintf(part, sizeof part, "%s.part", path);
    (void)snprintf(script, sizeof script,
                   "trap '' XFSZ; ulimit -f 1500; exec \"$ORBLOOM\" backup seen '%s'", path);
    stage_start_shell(&command, script);
    stage_expect_end(&command, 1, "goes on with that once there is room");
    cr_assert_eq(stage_size_of(path), -1, "it is not called whole");
    cr_assert_gt(stage_size_of(part), 500000);
    stage_add_keys("seen", "late", 1000);

    command_run(&command, span_text(""), "orbloom", "backup", "seen", path, NULL);
    command_expect_errors(&command, 0, "goes on with what was begun");
    command_forget(&command);
    cr_assert_eq(stage_size_of(part), -1);
    PLAYGROUND_DO("", "backup", "verify", path);
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    stage_expect_all("again", "old", STAGE_KEYS);

    /* Of another filter, or too old, it begins anew. */
    stage_start_shell(&command, script);
    stage_expect_end(&command, 1, NULL);
    stage_back_up_anew("again", path, "6h");
    stage_start_shell(&command, script);
    stage_expect_end(&command, 1, NULL);
    stage_back_up_anew("seen", path, "1ms");
    stage_stop();
}

/* What is in the part is of keys that are forgotten. */
Test(backup_interrupted, what_was_rebuilt_meanwhile_is_begun_anew)
{
    char path[STAGE_PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;
    char *text = numbered_keys_lines("new", 0, 1000);

    stage_start();
    stage_path_of("seen.orb", path);
    (void)snprintf(script, sizeof script,
                   "trap '' XFSZ; ulimit -f 1500; exec \"$ORBLOOM\" backup seen '%s'", path);
    stage_start_shell(&command, script);
    stage_expect_end(&command, 1, "goes on with that once there is room");
    PLAYGROUND_DO("", "rebuild", "seen", "begin", "--timeout", "20s");
    PLAYGROUND_DO(text, "rebuild", "seen", "feed");
    PLAYGROUND_DO("", "rebuild", "seen", "commit", "--timeout", "20s");
    command_run(&command, span_text(""), "orbloom", "backup", "seen", path, NULL);
    command_expect_errors(&command, 0, "is begun anew");
    command_forget(&command);
    PLAYGROUND_DO("", "backup", "verify", path);
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    stage_expect_all("again", "new", 1000);
    stage_expect_few("again", "old");
    free(text);
    stage_stop();
}

/* Whoever may write there may have left it. */
Test(backup_interrupted, a_part_that_others_may_have_written_is_refused)
{
    char path[STAGE_PATH_BYTES];
    char part[STAGE_PATH_BYTES + 8];

    stage_start();
    stage_path_of("seen.orb", path);
    (void)snprintf(part, sizeof part, "%s.part", path);
    stage_write_file(part, "ORBBAKP\1", 8);
    cr_assert_eq(chmod(part, 0620), 0);
    STAGE_FAILS("others may have written it", "backup", "seen", path);
    cr_assert_eq(chmod(part, 0600), 0);
    PLAYGROUND_DO("", "backup", "seen", path);
    stage_stop();
}

Test(backup_interrupted, a_restore_that_ends_halfway_serves_nobody_and_goes_on)
{
    char path[STAGE_PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;

    stage_start();
    stage_path_of("seen.orb", path);
    PLAYGROUND_DO("", "backup", "seen", path);
    (void)snprintf(script, sizeof script,
                   "head -c 1000000 '%s' | \"$ORBLOOM\" restore - --as again", path);
    stage_start_shell(&command, script);
    stage_expect_end(&command, 1, "cut short");
    command_run(&command, span_text("old-1\nnobody\n"), "orbloom", "check", "again", "--timeout",
                "1s", NULL);
    command_expect_errors(&command, 1, "being loaded");
    cr_assert_null(strstr(command.output, "absent"), "%s", command.output);
    command_forget(&command);

    PLAYGROUND_DO("", "restore", path, "--as", "again");
    stage_expect_all("again", "old", STAGE_KEYS);
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    STAGE_FAILS("EXISTS", "restore", path);
    stage_stop();
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

Test(backup_interrupted, a_restore_that_is_killed_goes_on)
{
    char path[STAGE_PATH_BYTES];
    char gate[STAGE_PATH_BYTES];
    char pid_path[STAGE_PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;
    char *pid;

    stage_start();
    stage_path_of("seen.orb", path);
    stage_path_of("gate", gate);
    stage_path_of("restore.pid", pid_path);
    cr_assert_eq(mkfifo(gate, 0600), 0);
    PLAYGROUND_DO("", "backup", "seen", path);
    (void)snprintf(script, sizeof script,
                   "(head -c 1200000 '%s'; cat '%s') | "
                   "sh -c 'echo $$ > \"%s\"; exec \"$ORBLOOM\" restore - --as again'",
                   path, gate, pid_path);
    stage_start_shell(&command, script);
    wait_for_filter("again");
    pid = command_read_file(pid_path);
    cr_assert_not_null(pid);
    cr_assert_eq(kill((pid_t)strtol(pid, NULL, 10), SIGKILL), 0);
    free(pid);
    stage_open_gate(gate);
    command_finish(&command, COMMAND_LIMIT_MS);
    cr_assert_neq(command.exit_status, 0);
    command_forget(&command);
    PLAYGROUND_DO("", "restore", path, "--as", "again");
    stage_expect_all("again", "old", STAGE_KEYS);
    stage_stop();
}

/* What was answered meanwhile is not too late. */
Test(backup_interrupted, a_pipe_may_pause_for_longer_than_the_timeout)
{
    char path[STAGE_PATH_BYTES];
    char script[SCRIPT_BYTES];
    struct command command;

    stage_start();
    PLAYGROUND_DO("", "backup", "seen", stage_path_of("seen.orb", path));
    (void)snprintf(script, sizeof script,
                   "(head -c 1300000 '%s'; sleep 3; tail -c +1300001 '%s') | "
                   "\"$ORBLOOM\" restore - --as again --timeout 1s",
                   path, path);
    stage_start_shell(&command, script);
    stage_expect_end(&command, 0, "it serves");
    stage_expect_all("again", "old", STAGE_KEYS);
    stage_stop();
}
