/* What a restore makes of filters that have outgrown their capacity, are full, are to be dropped
 * some day, or are of a kind of their own. */
#include "tests/support/backup_samples.h"
#include "tests/support/backup_stage.h"
#include "tests/support/numbered_keys.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_BYTES = 1024, GROWN_KEYS = 20000 };

TestSuite(backup_restored, .timeout = STAGE_LIMIT_S);

static void put_head_and_filter(struct backup_writer *writer, struct backup_key *key,
                                enum when_full when_full)
{
    struct backup_head head = backup_sample_head(BACKUP_SEAL_PASSPHRASE);
    struct backup_filter filter = backup_sample_filter("grown");
    const struct hash_secret secret = {{7}};
    const uint8_t nonce[SEAL_NONCE_BYTES] = {8};

    head.memory_kib = 8192;
    cr_assert_eq(
        backup_key_derive(span_of(STAGE_PASSPHRASE, strlen(STAGE_PASSPHRASE) - 1), &head, key),
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
    stage_write_file(path, writer.out.data, writer.out.size);
    backup_writer_fini(&writer);
}

/* `secret` becomes the passphrase's file. */
static void restore_piped(const char *path, char secret[STAGE_PATH_BYTES], const char *flags,
                          int status, const char *says)
{
    char script[SCRIPT_BYTES];
    struct command command;

    stage_write_file(stage_path_of("secret", secret), STAGE_PASSPHRASE, strlen(STAGE_PASSPHRASE));
    (void)snprintf(script, sizeof script, "\"$ORBLOOM\" restore - --passphrase-file %s %s < %s",
                   secret, flags, path);
    stage_start_shell(&command, script);
    stage_expect_end(&command, status, says);
}

Test(backup_restored, what_has_outgrown_its_capacity_grows_while_it_is_restored)
{
    char path[STAGE_PATH_BYTES];
    char secret[STAGE_PATH_BYTES];
    struct command command;

    stage_start();
    write_grown(stage_path_of("grown.orb", path), WHEN_FULL_EXPAND);
    restore_piped(path, secret, "", 0, "it serves");
    command_run(&command, span_text(""), "orbloom", "info", "grown", NULL);
    command_expect_exit(&command, 0);
    cr_assert_not_null(strstr(command.output, "keys          about"), "%s", command.output);
    cr_assert_null(strstr(command.output, "capacity      1,000 keys"), "%s", command.output);
    command_forget(&command);
    stage_stop();
}

/* As many as come through a pipe are not known before. */
Test(backup_restored, what_has_outgrown_its_capacity_and_may_not_grow_asks_for_one)
{
    char path[STAGE_PATH_BYTES];
    char secret[STAGE_PATH_BYTES];

    stage_start();
    write_grown(stage_path_of("grown.orb", path), WHEN_FULL_REFUSE);
    restore_piped(path, secret, "", 1, "drop it, then restore it with --capacity");
    restore_piped(path, secret, "--as piped --capacity 20k", 0, "it serves");
    PLAYGROUND_DO("", "restore", path, "--passphrase-file", secret, "--as", "read");
    stage_stop();
}

static void expect_restored(const char *path, const char *name, const char *says, bool expires)
{
    char secret[STAGE_PATH_BYTES];
    struct command command;

    stage_write_file(stage_path_of("secret", secret), STAGE_PASSPHRASE, strlen(STAGE_PASSPHRASE));
    command_run(&command, span_text(""), "orbloom", "restore", path, "--as", name,
                "--passphrase-file", secret, NULL);
    command_expect_errors(&command, 0, says);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "info", name, NULL);
    cr_assert_eq(strstr(command.output, "\nexpires ") != NULL, expires, "%s", command.output);
    command_forget(&command);
}

/* A list of what is blocked for a while is not to be blocked for good. */
Test(backup_restored, what_was_to_be_dropped_some_day_is_and_that_is_said)
{
    char path[STAGE_PATH_BYTES];
    char secret[STAGE_PATH_BYTES];

    stage_start();
    stage_write_file(stage_path_of("secret", secret), STAGE_PASSPHRASE, strlen(STAGE_PASSPHRASE));
    stage_path_of("seen.orb", path);
    PLAYGROUND_DO("", "expire", "seen", "2h");
    PLAYGROUND_DO("", "backup", "seen", path, "--passphrase-file", secret);
    expect_restored(path, "again", "again: it is dropped by itself at ", true);
    stage_expect_all("again", "old", STAGE_KEYS);
    PLAYGROUND_DO("", "expire", "again", "never");
    expect_restored(path, "again", "it was restored from this backup before", false);
    write_grown(stage_path_of("grown.orb", path), WHEN_FULL_EXPAND);
    expect_restored(path, "over", "over: it was to be dropped by 1970-01-01 00:01", false);
    stage_stop();
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

Test(backup_restored, what_is_full_is_restored_with_room_for_all_of_it)
{
    char path[STAGE_PATH_BYTES];
    struct command command;
    char *there;

    stage_start();
    PLAYGROUND_DO("", "create", "full", "--capacity", "10k", "--fpr", "0.01%", "--when-full",
                  "refuse", "--timeout", "20s");
    there = add_until_full("full", 3 * GROWN_KEYS / 2);
    PLAYGROUND_DO("", "backup", "full", stage_path_of("full.orb", path));
    command_run(&command, span_text(""), "orbloom", "restore", path, "--as", "again", NULL);
    command_expect_exit(&command, 0);
    cr_assert_not_null(strstr(command.errors, "it was for 10,000"), "%s", command.errors);
    command_forget(&command);
    command_run(&command, span_text(there), "orbloom", "check", "again", "--only", "absent", NULL);
    command_expect_exit(&command, 0);
    cr_assert_lt(command.output_size, 200, "but for what was there by chance: %s", command.output);
    command_forget(&command);
    free(there);
    stage_stop();
}

Test(backup_restored, each_kind_of_filter_works_or_is_named)
{
    char path[STAGE_PATH_BYTES];
    struct command command;

    stage_start();
    stage_path_of("all.orb", path);
    PLAYGROUND_DO("", "create", "win", "--capacity", "1k", "--fpr", "1%", "--window", "1h",
                  "--slices", "4");
    PLAYGROUND_DO("", "create", "bits", "--capacity", "1k", "--fpr", "1%", "--keylog", "off");
    PLAYGROUND_DO("", "create", "empty", "--capacity", "1k", "--fpr", "1%", "--durability", "os");
    STAGE_FAILS("time window", "backup", "win", path);
    STAGE_FAILS("key log", "backup", "bits", path);
    STAGE_FAILS("NOT_FOUND", "backup", "nosuch", path);
    PLAYGROUND_DO("", "expand", "seen", "--capacity", "2M", "--timeout", "20s");
    PLAYGROUND_DO("", "rebuild", "seen", "begin");
    command_run(&command, span_text(""), "orbloom", "backup", "--all", path, NULL);
    command_expect_errors(&command, 1, "left out win: ");
    cr_assert_not_null(strstr(command.errors, "left out bits: "));
    command_forget(&command);
    PLAYGROUND_DO("", "backup", "--all", path, "--except", "win,bits");
    STAGE_FAILS("--only", "restore", path, "--as", "x");
    PLAYGROUND_DO("", "restore", path, "--as", "nothing", "--only", "empty");
    stage_expect_few("nothing", "nobody");
    PLAYGROUND_DO("", "restore", path, "--as", "again", "--only", "seen");
    stage_expect_all("again", "old", STAGE_KEYS);
    stage_stop();
}
