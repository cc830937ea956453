/* `orbloom doctor` on real processes: nothing to find where all is well, what was broken is named,
 * and exit codes say how bad it is. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIMIT_S = 100, WAIT_MS = 30000, KEY_BYTES = 32 };

static struct playground playground;
static struct command command;

static void start(uint32_t sites)
{
    playground_start(&playground, &(struct playground_plan){.sites = sites});
}

#define DOCTOR(...) command_run(&command, span_text(""), "orbloom", "doctor", __VA_ARGS__, NULL)

/* Whatever the machine is busy with meanwhile is found, too, and passes. */
static void expect(const char *flag, const char *value, int status, const char *text)
{
    uint64_t until_ms = command_now_ms() + WAIT_MS;

    for (;;) {
        DOCTOR("--look", "0s", flag, value);
        if (command.exit_status == status && strstr(command.output, text) != NULL) {
            break;
        }
        cr_assert_lt(command_now_ms(), until_ms, "no \"%s\" and exit %d, but %d: %s%s", text,
                     status, command.exit_status, command.output, command.errors);
        command_forget(&command);
    }
    cr_assert_eq(command.errors_size, 0, "%s", command.errors);
    command_forget(&command);
}

static void expect_now(int status, const char *text)
{
    expect("--timeout", "5s", status, text);
}

/* ---- is it JSON? ---- */

static const char *skip(const char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    return text;
}

static const char *skip_text(const char *text)
{
    cr_assert_eq(*text, '"', "%.40s", text);
    for (text++; *text != '"'; text++) {
        cr_assert_geq((unsigned char)*text, ' ', "%.40s", text);
        text += *text == '\\';
    }
    return skip(text + 1);
}

static const char *skip_word(const char *text)
{
    size_t size = strspn(text, "-+.0123456789abcdefghijklmnopqrstuvwxyz");

    cr_assert_gt(size, 0, "%.40s", text);
    return skip(text + size);
}

static bool opens(char byte)
{
    return byte == '{' || byte == '[';
}

/* Where the value ends that begins here. Brackets that are open are a stack. */
static const char *skip_value(const char *text)
{
    char open[64];
    size_t depth = 0;

    text = skip(text);
    do {
        if (depth > 0 && open[depth - 1] == '{' && *text == '"') {
            text = skip_text(text);
            cr_assert_eq(*text, ':', "%.40s", text);
            text = skip(text + 1);
        }
        if (opens(*text)) {
            cr_assert_lt(depth, sizeof open);
            open[depth++] = *text;
            text = skip(text + 1);
        } else {
            text = *text == '"' ? skip_text(text) : skip_word(text);
        }
        while (depth > 0 && *text == (open[depth - 1] == '{' ? '}' : ']')) {
            text = skip(text + 1);
            depth--;
        }
        if (depth > 0 && *text == ',') {
            text = skip(text + 1);
        }
    } while (depth > 0);
    return text;
}

static void expect_json(const char *text)
{
    cr_assert_eq(*text, '{', "%.40s", text);
    cr_assert_str_empty(skip_value(text));
}

/* ---- what it finds ---- */

Test(doctor, all_is_well_then_nodes_die, .timeout = LIMIT_S)
{
    start(1);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "1%");
    PLAYGROUND_DO("a\nb\n", "add", "seen");
    expect_now(0, "0 errors, 0 warnings");
    playground_kill(&playground, "node-2");
    expect_now(1, "silent       node-2: ");
    expect_now(1, "replicas     seen: ");
    playground_kill(&playground, "node-3");
    expect_now(2, "quorum       seen: ");
    playground_restart(&playground, "node-2");
    playground_restart(&playground, "node-3");
    expect_now(0, "0 errors, 0 warnings");
    playground_stop(&playground);
}

Test(doctor, a_coordinator_that_is_not_there, .timeout = LIMIT_S)
{
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    char both[2 * PLAYGROUND_ENDPOINT_BYTES];

    start(1);
    playground_endpoint(&playground, "coordinator", endpoint);
    (void)snprintf(both, sizeof both, "tcp://127.0.0.1:1,%s", endpoint);
    expect("--coordinator", both, 1, "reach        coordinator tcp://127.0.0.1:1: ");
    expect("--coordinator", "tcp://127.0.0.1:1", 2, "reach        coordinator tcp://127.0.0.1:1: ");
    playground_stop(&playground);
}

Test(doctor, a_filter_that_is_full, .timeout = LIMIT_S)
{
    char keys[20 * 8] = "";

    start(1);
    PLAYGROUND_DO("", "create", "small", "--capacity", "20", "--fpr", "1%", "--when-full",
                  "refuse");
    for (int i = 0; i < 20; i++) {
        (void)snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "key-%d\n", i);
    }
    PLAYGROUND_DO(keys, "add", "small");
    expect_now(2, "full         small: ");
    playground_stop(&playground);
}

/* What nodes told after the first look is no sign that more is to come. */
Test(doctor, a_load_that_is_over, .timeout = LIMIT_S)
{
    static char keys[100000 * 8];
    size_t size = 0;

    for (int i = 0; i < 100000; i++) {
        size += (size_t)snprintf(keys + size, sizeof keys - size, "%d\n", i);
    }
    start(1);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "150k", "--max-capacity", "150k", "--fpr",
                  "1%");
    PLAYGROUND_DO(keys, "add", "seen");
    DOCTOR("--look", "5s");
    cr_assert_null(strstr(command.output, "full         seen"), "%s", command.output);
    command_forget(&command);
    playground_stop(&playground);
}

Test(doctor, a_site_that_is_cut_off, .timeout = LIMIT_S)
{
    start(2);
    expect_now(0, "1 of 1 link;");
    playground_kill(&playground, "site-2/link");
    expect_now(1, "site         site-2: not connected");
    playground_stop(&playground);
}

/* Each process is known by its own keys; who is not let in by anybody has not found that all is
 * well. */
Test(doctor, a_cluster_that_speaks_curve, .timeout = LIMIT_S)
{
    static const char *const daemons[] = {"coordinator", "node-1", "node-2", "node-3", "router"};
    char credential[128];
    char client[128];

    start(1);
    (void)snprintf(client, sizeof client, "%s", playground_path(&playground, "client.cred"));
    PLAYGROUND_DO("", "user", "create", "crawler", "--credential", client);
    (void)snprintf(credential, sizeof credential, "%s", playground_path(&playground, "watch.cred"));
    PLAYGROUND_DO("", "user", "create", "watch", "--role", "monitor", "--credential", credential);
    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++) {
        playground_configure(&playground, daemons[i], "transport = \"curve\";\n");
    }
    expect("--credential", credential, 0, "1 of 1 coordinator, 1 of 1 router, 3 of 3 nodes");
    expect("--credential", client, 1, "reach        coordinator tcp://");
    expect("--credential", "none", 2, "reach        coordinator tcp://");
    playground_stop(&playground);
}

/* ---- how it tells ---- */

Test(doctor, json_is_one_object, .timeout = LIMIT_S)
{
    start(1);
    playground_kill(&playground, "node-2");
    expect_now(1, "silent       node-2: ");
    DOCTOR("--json", "--look", "1s");
    cr_assert_eq(command.exit_status, 1, "%s%s", command.output, command.errors);
    expect_json(command.output);
    cr_assert_not_null(strstr(command.output, "\"worst\": \"warning\""), "%s", command.output);
    cr_assert_not_null(strstr(command.output, "\"severity\": \"warning\""), "%s", command.output);
    cr_assert_not_null(strstr(command.output, "\"where\": \"node-2\""), "%s", command.output);
    cr_assert_not_null(strstr(command.output, "orbloom node remove node-2"), "%s", command.output);
    cr_assert_not_null(strstr(command.output, "\"not_looked_at\": ["), "%s", command.output);
    command_forget(&command);
    playground_stop(&playground);
}

static void read_key(char digits[2 * KEY_BYTES + 1], uint8_t key[KEY_BYTES])
{
    char *text = command_read_file(playground_path(&playground, "key"));

    cr_assert_not_null(text);
    memcpy(digits, text, 2 * KEY_BYTES);
    digits[2 * KEY_BYTES] = '\0';
    for (int i = 0; i < KEY_BYTES; i++) {
        unsigned byte;

        cr_assert_eq(sscanf(digits + 2 * i, "%2x", &byte), 1);
        key[i] = (uint8_t)byte;
    }
    free(text);
}

Test(doctor, a_bundle_is_made_once_and_holds_no_key, .timeout = LIMIT_S)
{
    char path[128];
    char backup[128];
    char digits[2 * KEY_BYTES + 1];
    uint8_t key[KEY_BYTES];
    struct stat about;
    char *text;
    char *again;

    start(1);
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "1%");
    (void)snprintf(path, sizeof path, "%s", playground_path(&playground, "bundle.json"));
    DOCTOR("--look", "0s", "--bundle", path);
    cr_assert_leq(command.exit_status, 1, "%s%s", command.output, command.errors);
    command_forget(&command);
    cr_assert_eq(stat(path, &about), 0);
    cr_assert_eq(about.st_mode & 0777, 0600);
    text = command_read_file(path);
    expect_json(text);
    cr_assert_not_null(strstr(text, "\"name\": \"seen\""));
    cr_assert_not_null(strstr(text, "\"log_synced\": "));
    read_key(digits, key);
    expect("--backup", path, 1, "is no backup of a store");
    (void)snprintf(backup, sizeof backup, "%s", playground_path(&playground, "backup"));
    PLAYGROUND_DO("", "map", "backup", backup);
    expect("--backup", backup, 0, "0 errors, 0 warnings");
    cr_assert_null(strstr(text, digits));
    cr_assert_null(memmem(text, strlen(text), key, sizeof key));

    DOCTOR("--look", "0s", "--bundle", path);
    cr_assert_eq(command.exit_status, 3);
    cr_assert_not_null(strstr(command.errors, "EXISTS"), "%s", command.errors);
    cr_assert_eq(command.output_size, 0, "%s", command.output);
    command_forget(&command);
    again = command_read_file(path);
    cr_assert_str_eq(again, text);
    free(again);
    free(text);
    playground_stop(&playground);
}

/* No cluster is needed. */
Test(doctor, wrong_usage_is_told_apart_from_what_is_found)
{
    DOCTOR("--bundel", "x");
    command_expect_errors(&command, 3, "USAGE");
    command_forget(&command);
    DOCTOR("--bundle", "/nowhere/x", "--look", "0s", "--coordinator", "tcp://127.0.0.1:1",
           "--router", "tcp://127.0.0.1:1", "--timeout", "100ms");
    cr_assert_eq(command.exit_status, 3);
    cr_assert_not_null(strstr(command.errors, "cannot write /nowhere/x"), "%s", command.errors);
    command_forget(&command);
    DOCTOR("--credential", "/nowhere/x");
    command_expect_errors(&command, 3, "/nowhere/x");
    command_forget(&command);
}
