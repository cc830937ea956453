/* Keys, filters and places that are not as they should be: each gets an answer of its own, does
 * no harm, and what is right beside it goes on. */
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT_S = 60, MAX_KEY = 65536 };

static struct playground playground;
static struct command command;

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
    PLAYGROUND_DO("", "create", "seen", "--capacity", "10k", "--fpr", "0.01%");
}

static void stop(void)
{
    command_forget(&command);
    playground_stop(&playground);
}

static void expect_errors(int exit_status, const char *text)
{
    cr_assert_eq(command.exit_status, exit_status, "exit %d: %s", command.exit_status,
                 command.errors);
    cr_assert_not_null(strstr(command.errors, text), "\"%s\" is not in: %s", text, command.errors);
}

static void expect_output(struct span input, const char *flag, const char *output)
{
    command_run(&command, input, "orbloom", "check", "seen", flag, NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_str_eq(command.output, output);
    command_forget(&command);
}

static void add(struct span input)
{
    command_run(&command, input, "orbloom", "add", "seen", NULL);
}

/* ---- keys ---- */

Test(bad_keys, an_empty_key_is_named_by_its_line_and_the_rest_goes_on, .timeout = LIMIT_S)
{
    start();
    add(span_text("a\n\nb\n"));
    expect_errors(1, "stdin:2: empty key");
    command_forget(&command);
    expect_output(span_text("a\nb\n"), NULL, "present\npresent\n");
    command_run(&command, span_text("a\n\nb\n"), "orbloom", "check", "seen", NULL);
    expect_errors(1, "stdin:2: empty key");
    cr_assert_str_eq(command.output, "present\nunknown\npresent\n", "lines stay in step");
    stop();
}

Test(bad_keys, a_key_of_64_kib_is_a_key_and_one_byte_more_is_not, .timeout = LIMIT_S)
{
    char *text = malloc(MAX_KEY + 8);

    cr_assert_not_null(text);
    start();
    memset(text, 'x', MAX_KEY + 1);
    expect_output(span_of(text, MAX_KEY), NULL, "absent\n");
    add(span_of(text, MAX_KEY));
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    expect_output(span_of(text, MAX_KEY), NULL, "present\n");
    memcpy(text + MAX_KEY + 1, "\nok\n", 4);
    add(span_of(text, MAX_KEY + 5));
    expect_errors(1, "stdin:1: key too long");
    command_forget(&command);
    expect_output(span_text("ok\n"), NULL, "present\n");
    free(text);
    stop();
}

/* Batches of longest keys must not grow past what one frame holds. */
Test(bad_keys, many_longest_keys_fit, .timeout = LIMIT_S)
{
    enum { COUNT = 300 };
    size_t size = (size_t)COUNT * (MAX_KEY + 1);
    char *text = malloc(size);

    cr_assert_not_null(text);
    start();
    memset(text, 'x', size);
    for (int i = 0; i < COUNT; i++) {
        char *line = text + (size_t)i * (MAX_KEY + 1);

        (void)snprintf(line, 8, "%07u", (unsigned)i % 10000000U);
        line[7] = 'x';
        line[MAX_KEY] = '\n';
    }
    add(span_of(text, size));
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    command_run(&command, span_of(text, size), "orbloom", "check", "seen", NULL);
    cr_assert_eq(command_count_lines(command.output, "present"), COUNT);
    free(text);
    stop();
}

Test(bad_keys, a_nul_is_a_byte_of_a_line_like_any_other, .timeout = LIMIT_S)
{
    start();
    add(span_of("a\0b\nc", 5));
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    expect_output(span_of("a\0b\na\na\0c\nc\n", 12), NULL, "present\nabsent\nabsent\npresent\n");
    stop();
}

Test(bad_keys, with_0_a_nul_ends_a_key_and_a_newline_does_not, .timeout = LIMIT_S)
{
    start();
    command_run(&command, span_of("x\ny\0z", 5), "orbloom", "add", "-0", "seen", NULL);
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    expect_output(span_of("x\ny\0z\0x\0", 8), "-0", "present\npresent\nabsent\n");
    command_run(&command, span_of("a\0\0b\0", 5), "orbloom", "add", "-0", "seen", NULL);
    expect_errors(1, "stdin:2: empty key");
    stop();
}

Test(bad_keys, bytes_that_are_no_text_are_keys, .timeout = LIMIT_S)
{
    start();
    add(span_text("\xff\xfe\xc3\x28\n\x80\r\n"));
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    expect_output(span_text("\xff\xfe\xc3\x28\n\xff\xfe\n\x80\r\n\x80\n"), NULL,
                  "present\nabsent\npresent\nabsent\n");
    stop();
}

Test(bad_keys, a_last_line_without_newline_counts, .timeout = LIMIT_S)
{
    start();
    add(span_text("first\nlast"));
    command_forget(&command);
    expect_output(span_text("last"), NULL, "present\n");
    expect_output(span_text("last\n"), NULL, "present\n");
    stop();
}

Test(bad_keys, no_keys_at_all_are_fine, .timeout = LIMIT_S)
{
    start();
    add(span_text(""));
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    command_forget(&command);
    expect_output(span_text(""), NULL, "");
    stop();
}

Test(bad_keys, a_file_that_cannot_be_read_is_named, .timeout = LIMIT_S)
{
    start();
    command_run(&command, span_text(""), "orbloom", "add", "seen", "/nonexistent/keys", NULL);
    expect_errors(1, "/nonexistent/keys: No such file");
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "add", "seen", "/tmp", NULL);
    expect_errors(1, "/tmp: Is a directory");
    stop();
}

/* ---- filters ---- */

static void create(const char *name, const char *capacity, const char *replicas)
{
    command_run(&command, span_text(""), "orbloom", "create", name, "--capacity", capacity, "--fpr",
                "0.01%", "--replicas", replicas, NULL);
}

Test(bad_filters, creating_what_exists_is_fine_with_the_same_parameters_only, .timeout = LIMIT_S)
{
    start();
    create("seen", "10k", "3");
    cr_assert_eq(command.exit_status, 0, "%s", command.errors);
    cr_assert_not_null(strstr(command.output, "exists already"), "%s", command.output);
    command_forget(&command);
    create("seen", "20k", "3");
    expect_errors(1, "orbloom: EXISTS: filter seen exists with other parameters");
    command_forget(&command);
    create("seen", "10k", "1");
    expect_errors(1, "orbloom: EXISTS");
    stop();
}

Test(bad_filters, more_replicas_than_nodes_are_refused, .timeout = LIMIT_S)
{
    start();
    create("wide", "10k", "5");
    expect_errors(1, "orbloom: UNAVAILABLE: 5 replicas need as many nodes, 3 of the 3");
    stop();
}

Test(bad_filters, an_unknown_filter_is_not_found, .timeout = LIMIT_S)
{
    static const char *const commands[] = {"add", "check", "dedup", "info", "drop"};

    start();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        command_run(&command, span_text("a\n"), "orbloom", commands[i], "nobody", NULL);
        expect_errors(1, "orbloom: NOT_FOUND: there is no filter nobody");
        cr_assert_eq(command_count_lines(command.output, "absent"), 0, "never absent");
        cr_assert_eq(command_count_lines(command.output, "a"), 0, "nor new");
        command_forget(&command);
    }
    playground_stop(&playground);
}

/* Refused whole, before anything is allocated, saying how much is missing. */
Test(bad_filters, memory_that_does_not_suffice_is_refused_beforehand, .timeout = LIMIT_S)
{
    uint64_t before;

    start();
    before = playground_counter(&playground, "node-1", "memory_used_bytes");
    create("big", "10G", "3");
    expect_errors(1, "orbloom: NO_SPACE: memory does not suffice");
    cr_assert_not_null(strstr(command.errors, "lacks "), "%s", command.errors);
    cr_assert_not_null(strstr(command.errors, "GiB"), "%s", command.errors);
    cr_assert_eq(playground_counter(&playground, "node-1", "memory_used_bytes"), before);
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "info", "big", NULL);
    expect_errors(1, "NOT_FOUND");
    stop();
}

/* At capacity adds are refused, and checks go on. */
Test(bad_filters, a_full_filter_refuses_adds_and_says_so, .timeout = LIMIT_S)
{
    enum { KEYS = 4000 };
    char *text = malloc((size_t)KEYS * 16);
    size_t used = 0;

    cr_assert_not_null(text);
    start();
    PLAYGROUND_DO("", "create", "small", "--capacity", "1000", "--fpr", "1%", "--when-full",
                  "refuse");
    for (int i = 0; i < KEYS; i++) {
        used += (size_t)sprintf(text + used, "key-%d\n", i);
    }
    command_run(&command, span_of(text, used), "orbloom", "add", "small", NULL);
    expect_errors(1, "FULL: filter small has reached its capacity");
    command_forget(&command);
    command_run(&command, span_text("key-0\nnever-added\n"), "orbloom", "check", "small", NULL);
    cr_assert_str_eq(command.output, "present\nabsent\n");
    free(text);
    stop();
}

/* ---- places ---- */

/* A cluster that is not there is an error at the deadline, not a hang. */
Test(bad_places, no_router_and_no_coordinator_end_at_the_deadline, .timeout = LIMIT_S)
{
    static const char *const nowhere = "tcp://127.0.0.1:1";

    command_run(&command, span_text("a\n"), "orbloom", "add", "seen", "--router", nowhere,
                "--timeout", "1s", NULL);
    expect_errors(1, "orbloom: DEADLINE: no answer from tcp://127.0.0.1:1 within 1 s");
    cr_assert(command.took_ms >= 900 && command.took_ms < 4000, "%d ms", (int)command.took_ms);
    command_forget(&command);
    command_run(&command, span_text("a\n"), "orbloom", "check", "seen", "--router", nowhere,
                "--timeout", "1s", NULL);
    expect_errors(1, "DEADLINE");
    cr_assert_str_eq(command.output, "unknown\n");
    command_forget(&command);
    command_run(&command, span_text(""), "orbloom", "status", "--coordinator", nowhere, "--timeout",
                "1s", NULL);
    expect_errors(1, "DEADLINE");
    cr_assert_lt(command.took_ms, 4000);
    command_forget(&command);
}

Test(bad_places, a_port_in_use_is_named, .timeout = LIMIT_S)
{
    static const char *const programs[] = {"orbloom-node", "orbloom-router", "orbloom-coordinator"};
    static const char *const daemons[] = {"node-1", "router", "coordinator"};
    char endpoint[PLAYGROUND_ENDPOINT_BYTES];
    char flag[PLAYGROUND_ENDPOINT_BYTES + 16];
    char conf[128];

    start();
    playground_endpoint(&playground, "router", endpoint);
    (void)snprintf(flag, sizeof flag, "--listen=%s", endpoint);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        (void)snprintf(conf, sizeof conf, "%s/%s/conf", playground.dir, daemons[i]);
        command_run(&command, span_text(""), programs[i], "--config", conf, flag, NULL);
        expect_errors(1, "Address already in use");
        expect_errors(1, endpoint);
        cr_assert_eq(command.output_size, 0, "it never said ready: %s", command.output);
        command_forget(&command);
    }
    PLAYGROUND_DO("still\n", "add", "seen");
    playground_stop(&playground);
}

/* A second process under a living node's name is told so and takes nothing over. */
Test(bad_places, a_node_name_in_use_is_refused, .timeout = LIMIT_S)
{
    struct command second;
    char conf[128];
    char data[128];
    const char *words[] = {"--config", conf, "--listen=tcp://127.0.0.1:*", data, NULL};

    start();
    (void)snprintf(conf, sizeof conf, "%s/node-1/conf", playground.dir);
    (void)snprintf(data, sizeof data, "--data_dir=%s/other", playground.dir);
    command_start(&second, span_text(""), SIGKILL, "orbloom-node", words);
    playground_wait_counter(&playground, "coordinator", "registrations_refused_total", 1);
    PLAYGROUND_DO("still\n", "add", "seen");
    command_run(&command, span_text(""), "orbloom", "status", NULL);
    cr_assert_not_null(strstr(command.output, "3 FULL 0 JOINING"), "%s", command.output);
    cr_assert_eq(kill(second.pid, SIGTERM), 0);
    command_finish(&second, COMMAND_LIMIT_MS);
    cr_assert_not_null(strstr(second.errors, "another process serves as node-1"), "%s",
                       second.errors);
    command_forget(&second);
    stop();
}
