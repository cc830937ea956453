/* Wrong command lines and configurations: exit 2 before anything is done, with the place, the
 * cause and what would be right. No cluster is needed. */
#include "tests/support/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct command command;

static void expect_usage(const char *text)
{
    cr_assert_eq(command.exit_status, 2, "exit %d: %s%s", command.exit_status, command.output,
                 command.errors);
    cr_assert_not_null(strstr(command.errors, text), "\"%s\" is not in: %s", text, command.errors);
    cr_assert_eq(command.output_size, 0, "nothing on stdout: %s", command.output);
    command_forget(&command);
}

static void create_with(const char *flag, const char *value)
{
    /* Of a flag given twice the last one counts, so that the others are right. */
    command_run(&command, span_text(""), "orbloom", "create", "seen", "--capacity", "10k", "--fpr",
                "1%", flag, value, "--coordinator", "tcp://127.0.0.1:1", "--timeout", "1s", NULL);
}

/* ---- numbers ---- */

static void expect_bad_capacity(const char *value)
{
    char expected[64];

    command_run(&command, span_text(""), "orbloom", "create", "seen", "--capacity", value, "--fpr",
                "1%", NULL);
    (void)snprintf(expected, sizeof expected, "--capacity cannot be \"%s\"; give 1 to 1T", value);
    expect_usage(expected);
}

Test(bad_numbers, a_capacity_of_0)
{
    expect_bad_capacity("0");
}

Test(bad_numbers, a_negative_capacity)
{
    expect_bad_capacity("-5");
}

Test(bad_numbers, a_capacity_of_1e18)
{
    expect_bad_capacity("1e18");
}

Test(bad_numbers, a_capacity_past_64_bits)
{
    expect_bad_capacity("99999999999999999999999");
}

Test(bad_numbers, a_capacity_with_an_unknown_suffix)
{
    expect_bad_capacity("10Q");
}

Test(bad_numbers, an_empty_capacity)
{
    expect_bad_capacity("");
}

static void expect_bad_rate(const char *value)
{
    char expected[64];

    command_run(&command, span_text(""), "orbloom", "create", "seen", "--capacity", "10k", "--fpr",
                value, NULL);
    (void)snprintf(expected, sizeof expected, "--fpr cannot be \"%s\"; give 1e-9 to 50%%", value);
    expect_usage(expected);
}

Test(bad_numbers, a_rate_of_0)
{
    expect_bad_rate("0");
}

Test(bad_numbers, a_rate_of_1)
{
    expect_bad_rate("1");
}

Test(bad_numbers, a_rate_over_100_percent)
{
    expect_bad_rate("101%");
}

Test(bad_numbers, a_rate_that_is_no_number)
{
    expect_bad_rate("abc");
    expect_bad_rate("nan");
    expect_bad_rate("inf");
}

Test(bad_numbers, a_time_without_unit)
{
    command_run(&command, span_text(""), "orbloom", "status", "--timeout", "5", NULL);
    expect_usage("--timeout cannot be \"5\"");
}

/* A bound of 0 is one, and needs no unit. */
Test(bad_numbers, bounds_of_checks)
{
    static const char *const bad[] = {"-1", "abc", "9999d", "5", "", "721h"};
    char expected[128];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(expected, sizeof expected,
                       "--max-staleness cannot be \"%s\"; give 0, or a time such as 5s, up to 30d",
                       bad[i]);
        create_with("--max-staleness", bad[i]);
        expect_usage(expected);
        command_run(&command, span_text("k\n"), "orbloom", "check", "seen", "--max-staleness",
                    bad[i], NULL);
        expect_usage(expected);
    }
}

Test(bad_numbers, sites_that_acknowledge)
{
    static const char *const bad[] = {"9", "0", "foo", "-1", "", "2.0"};
    static const char *const commands[] = {"add", "dedup"};
    char expected[128];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(expected, sizeof expected,
                       "--acks cannot be \"%s\"; give local, 2 to 8 sites, or each", bad[i]);
        create_with("--acks", bad[i]);
        expect_usage(expected);
        for (size_t k = 0; k < sizeof commands / sizeof commands[0]; k++) {
            command_run(&command, span_text("k\n"), "orbloom", commands[k], "seen", "--acks",
                        bad[i], NULL);
            expect_usage(expected);
        }
    }
    command_run(&command, span_text("k\n"), "orbloom", "check", "seen", "--acks", "2", NULL);
    expect_usage("unknown flag --acks");
}

/* ---- quorums and names ---- */

Test(bad_quorums, write_and_read_quorums_that_do_not_meet)
{
    command_run(&command, span_text(""), "orbloom", "create", "seen", "--capacity", "10k", "--fpr",
                "1%", "--write-quorum", "2", "--read-quorum", "1", NULL);
    expect_usage("W + R > N");
}

Test(bad_quorums, write_quorums_that_do_not_meet)
{
    command_run(&command, span_text(""), "orbloom", "create", "seen", "--capacity", "10k", "--fpr",
                "1%", "--write-quorum", "1", "--read-quorum", "3", NULL);
    expect_usage("2 W > N");
}

Test(bad_quorums, more_replicas_than_a_rule_may_have)
{
    create_with("--replicas", "8");
    expect_usage("--replicas cannot be \"8\"; give 1 to 7");
}

static void expect_bad_name(const char *name)
{
    command_run(&command, span_text(""), "orbloom", "create", name, "--capacity", "10k", "--fpr",
                "1%", NULL);
    expect_usage("is not a filter's name; use 1 to 128 of");
}

Test(bad_names, a_name_with_blanks)
{
    expect_bad_name("a b");
}

Test(bad_names, a_name_with_slashes)
{
    expect_bad_name("a/b");
    expect_bad_name("../../etc/passwd");
}

Test(bad_names, an_empty_name)
{
    expect_bad_name("");
}

Test(bad_names, a_name_of_1000_characters)
{
    char name[1001];

    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    expect_bad_name(name);
    name[129] = '\0';
    expect_bad_name(name);
}

Test(bad_names, a_name_that_is_no_text)
{
    expect_bad_name("\xff\xfe");
    expect_bad_name("a\nb");
}

/* ---- words and flags ---- */

Test(bad_words, an_unknown_command)
{
    command_run(&command, span_text(""), "orbloom", "frobnicate", NULL);
    expect_usage("unknown command \"frobnicate\"");
}

Test(bad_words, an_unknown_flag)
{
    create_with("--bogus", "1");
    expect_usage("unknown flag --bogus");
}

Test(bad_words, a_flag_that_is_missing)
{
    command_run(&command, span_text(""), "orbloom", "create", "seen", "--capacity", "10k", NULL);
    expect_usage("--fpr is missing");
}

Test(bad_words, a_word_that_is_missing_or_one_too_many)
{
    command_run(&command, span_text(""), "orbloom", "add", NULL);
    expect_usage("too few words");
    command_run(&command, span_text(""), "orbloom", "drop", "a", "b", NULL);
    expect_usage("too many words");
}

Test(bad_words, an_endpoint_that_is_none)
{
    command_run(&command, span_text(""), "orbloom", "status", "--coordinator", "nonsense", NULL);
    expect_usage("--coordinator cannot be \"nonsense\"; give tcp://HOST:PORT");
}

/* ---- options of the daemons ---- */

static const char *const daemons[] = {"orbloom-node", "orbloom-router", "orbloom-link",
                                      "orbloom-coordinator"};

/* A configuration in a file of its own; unlink() it. */
static void write_conf(const char *text, char path[64])
{
    int fd;

    (void)snprintf(path, 64, "/tmp/orbloom-conf-XXXXXX");
    fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    cr_assert_eq(close(fd), 0);
}

static void expect_bad_conf(const char *text, const char *expected_place, const char *expected)
{
    char path[64];
    char place[96];

    write_conf(text, path);
    (void)snprintf(place, sizeof place, "%s%s", path, expected_place);
    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++) {
        command_run(&command, span_text(""), daemons[i], "--config", path, "--check-config", NULL);
        cr_assert_not_null(strstr(command.errors, place), "%s is not in: %s", place,
                           command.errors);
        expect_usage(expected);
    }
    (void)unlink(path);
}

Test(bad_options, an_unknown_option_is_named_with_file_and_line)
{
    expect_bad_conf("# a comment\nlog_level = \"info\";\nbogus_option = 5;\n",
                    ":3: ", "unknown option 'bogus_option'");
}

Test(bad_options, a_file_that_is_no_configuration_is_named_with_its_line)
{
    expect_bad_conf("log_level = \"info\";\nthis is not ( a configuration\n", ":2: ", "syntax");
}

Test(bad_options, a_value_out_of_range_is_named)
{
    expect_bad_conf("\nlog_level = \"loud\";\n", ":2: ", "log_level");
}

Test(bad_options, an_unknown_option_of_the_command_line_is_refused)
{
    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++) {
        command_run(&command, span_text(""), daemons[i], "--bogus=1", "--check-config", NULL);
        expect_usage("unknown option '--bogus=1'");
    }
}

Test(bad_options, a_configuration_that_is_not_there_is_named)
{
    for (size_t i = 0; i < sizeof daemons / sizeof daemons[0]; i++) {
        command_run(&command, span_text(""), daemons[i], "--config", "/nonexistent/conf", NULL);
        expect_usage("/nonexistent/conf: No such file");
    }
}

/* ---- options that do not go together ---- */

struct combination {
    const char *daemon;
    const char *text; /* its third line is to blame */
    const char *reason;
};

/* Public keys of two sites, and what every link's file has. */
#define EU   "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f"
#define US   "2d01a0a46d16eb11a05259f8c63751fa6b2463918886cca2cbdc83ee7f244e67"
#define LINK KEY "site_key_file = \"/nonexistent/site.key\"; site = \"asia\"; "

#define KEY "cluster_key_file = \"/nonexistent/key\";\n"

static const struct combination combinations[] = {
    {"orbloom-node",
     "name = \"n\"; " KEY "listen = \"tcp://*:7410\"; advertise = \"tcp://a:7410\";\n"
     "transport = \"plain\";\n",
     "transport is plain, and listen, tcp://*:7410, is not loopback"},
    {"orbloom-router", KEY "listen = \"tcp://10.0.0.1:7401\";\ntransport = \"plain\";\n",
     "transport is plain"},
    {"orbloom-coordinator",
     KEY "store = \"/tmp/s\"; listen = \"tcp://*:7400\";\ntransport = \"plain\";\n",
     "transport is plain"},
    {"orbloom-node", "name = \"n\";\n" KEY "listen = \"tcp://*:7410\";\n",
     "listen is on all hosts"},
    {"orbloom-node", "name = \"n\";\n" KEY "advertise = \"tcp://*:7410\";\n",
     "advertise must name a real host"},
    {"orbloom-router", KEY "\nresp_listen = \"tcp://*:6379\";\n", "is not loopback"},
    {"orbloom-router",
     KEY "tls_cert_file = \"c\"; tls_key_file = \"k\";\nresp_tls_listen = \"tcp://*:6380\";\n",
     "is not loopback"},
    {"orbloom-router", KEY "\nresp_listen = \"tcp://127.0.0.1:7401\";\n",
     "resp_listen, tcp://127.0.0.1:7401, and listen, tcp://127.0.0.1:7401, are one address"},
    {"orbloom-router",
     KEY "tls_cert_file = \"c\"; tls_key_file = \"k\"; resp_listen = \"tcp://127.0.0.1:6380\";\n"
         "resp_tls_listen = \"tcp://127.0.0.1:6380\";\n",
     "are one address"},
    {"orbloom-router", KEY "\nresp_tls_listen = \"tcp://127.0.0.1:6380\";\n",
     "resp_tls_listen is given without tls_cert_file"},
    {"orbloom-router", KEY "\ntls_cert_file = \"c\";\n",
     "tls_cert_file is given without resp_tls_listen"},
    {"orbloom-router",
     KEY
     "resp_tls_listen = \"tcp://127.0.0.1:6380\"; tls_key_file = \"k\"; tls_cert_file = \"c\";\n"
     "tls_clients = \"required\";\n",
     "nobody can vouch for them"},
    {"orbloom-router",
     KEY
     "resp_tls_listen = \"tcp://127.0.0.1:6380\"; tls_key_file = \"k\"; tls_cert_file = \"c\";\n"
     "tls_ca_file = \"a\";\n",
     "tls_ca_file is of no use"},
    {"orbloom-router", KEY "\ntls_clients = \"optional\";\n", "and there is no TLS"},
    {"orbloom-router", KEY "\nresp_error_rate = \"0\";\n", "resp_error_rate must be"},
    {"orbloom-router", KEY "resp_capacity = \"2M\";\nresp_max_capacity = \"1M\";\n",
     "must not be less"},
    {"orbloom-router", KEY "\nresp_capacity = \"2G\";\n", "must be 1 to"},
    {"orbloom-link", LINK "\nsite_peers = (\"eu tcp://a:1\");\n", "site_peers has 2 words"},
    {"orbloom-link", LINK "\nsite_peers = (\"eu tcp://a:1 " EU " x\");\n", "has 4 words"},
    {"orbloom-link", LINK "\nsite_peers = (\"E_U tcp://a:1 " EU "\");\n",
     "'E_U' is no name of a site"},
    {"orbloom-link", LINK "\nsite_peers = (\"eu a:1 " EU "\");\n", "'a:1' is no endpoint"},
    {"orbloom-link", LINK "\nsite_peers = (\"eu tcp://*:1 " EU "\");\n",
     "'tcp://*:1' is no endpoint"},
    {"orbloom-link", LINK "\nsite_peers = (\"eu tcp://a:1 " EU "0\");\n", "is no public key"},
    {"orbloom-link", LINK "\nsite_peers = (\"asia tcp://a:1 " EU "\");\n",
     "site_peers names asia, which is the site of this link itself"},
    {"orbloom-link", LINK "\nsite_peers = (\"eu - " EU "\");\n",
     "site eu dials this link, and there is no site_listen"},
    {"orbloom-link", LINK "\nsite_peers = (\"eu tcp://a:1 " EU "\", \"eu tcp://b:1 " US "\");\n",
     "two sites of the name eu"},
    {"orbloom-link", LINK "\nsite_peers = (\"eu tcp://a:1 " EU "\", \"us tcp://b:1 " EU "\");\n",
     "one key for eu and us"},
    {"orbloom-link", LINK "\nsite_peers = (\"eu tcp://a:1 " EU "\", \"us tcp://a:1 " US "\");\n",
     "one endpoint, tcp://a:1, for eu and us"},
    {"orbloom-link",
     LINK "site_peers = (\"eu tcp://a:1 " EU "\");\nsite_listen = \"tcp://127.0.0.1:7402\";\n",
     "are one address"},
    {"orbloom-link", LINK "site_peers = (\"eu tcp://a:1 " EU "\");\nlisten = \"tcp://*:7402\";\n",
     "listen is on all hosts"},
    {"orbloom-link", LINK "\nsite_peers = 5;\n", "site_peers is a bare number"},
    {"orbloom-coordinator", KEY "etcd_endpoints = [\"http://a:1\"];\nstore = \"/tmp/s\";\n",
     "both"},
    {"orbloom-coordinator", KEY "\netcd_endpoints = [];\n", "etcd_endpoints is empty"},
    {"orbloom-coordinator", KEY "etcd_endpoints = [\"http://a:1\"];\netcd_prefix = \"/o\";\n",
     "etcd_prefix must end in '/'"},
    {"orbloom-coordinator", KEY "etcd_endpoints = [\"http://a:1\"];\netcd_ca_file = \"c\";\n",
     "are for https"},
};

Test(bad_options, a_link_needs_a_site_its_key_and_others)
{
    static const char *const texts[][2] = {
        {KEY "site = \"eu\"; site_key_file = \"k\";\n", "site_peers is missing"},
        {KEY "site = \"eu\"; site_peers = (\"us tcp://a:1 " US "\");\n",
         "site_key_file is missing"},
        {KEY "site_key_file = \"k\"; site_peers = (\"us tcp://a:1 " US "\");\n", "site is missing"},
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char path[64];

        write_conf(texts[i][0], path);
        command_run(&command, span_text(""), "orbloom-link", "--config", path, "--check-config",
                    NULL);
        (void)unlink(path);
        expect_usage(texts[i][1]);
    }
}

Test(bad_options, what_does_not_go_together_is_named_with_file_and_line)
{
    for (size_t i = 0; i < sizeof combinations / sizeof combinations[0]; i++) {
        const struct combination *one = &combinations[i];
        char place[128];
        char path[64];

        write_conf(one->text, path);
        (void)snprintf(place, sizeof place, "%s: %s:3: ", one->daemon, path);
        command_run(&command, span_text(""), one->daemon, "--config", path, "--check-config", NULL);
        (void)unlink(path);
        cr_assert_not_null(strstr(command.errors, place), "%s is not in: %s", place,
                           command.errors);
        expect_usage(one->reason);
    }
}

/* ... of the command line, with its flag. */
Test(bad_options, flags_that_do_not_go_together_are_named)
{
    command_run(&command, span_text(""), "orbloom-router", "--cluster_key_file=/nonexistent/key",
                "--resp_listen=tcp://*:6379", NULL);
    expect_usage("orbloom-router: --resp_listen: resp_listen tcp://*:6379 is not loopback");
    command_run(&command, span_text(""), "orbloom-router", "--cluster_key_file=/nonexistent/key",
                "--listen=tcp://10.0.0.1:7401", "--transport=plain", NULL);
    expect_usage("orbloom-router: --transport: transport is plain");
}

/* ---- users: each action has its own flags ---- */

#define EXPECT_USER(text, ...)                                                      \
    do {                                                                            \
        command_run(&command, span_text(""), "orbloom", "user", __VA_ARGS__, NULL); \
        expect_usage(text);                                                         \
    } while (0)

Test(bad_users, flags_of_other_actions)
{
    EXPECT_USER("--expires is not for user key NAME remove", "key", "crawler", "remove", "1",
                "--expires", "1d");
    EXPECT_USER("--as is not for user key NAME remove", "key", "crawler", "remove", "1", "--as",
                "root.cred");
    EXPECT_USER("--token-file is not for user token NAME remove", "token", "crawler", "remove", "1",
                "--token-file", "token");
    EXPECT_USER("--token-file is not for user key NAME add", "key", "crawler", "add",
                "--credential", "crawler.cred", "--token-file", "token");
    EXPECT_USER("--expires is of a token or key", "create", "x", "--no-token", "--expires", "1d");
    EXPECT_USER("--yes is not for user create", "create", "x", "--yes");
    EXPECT_USER("--role is not for user list", "list", "--role", "admin");
}

Test(bad_users, actions_that_are_not_there)
{
    EXPECT_USER("user takes create, list", "make", "crawler");
    EXPECT_USER("user token takes NAME add, or NAME remove ID", "token", "crawler", "replace");
    EXPECT_USER("user key takes NAME add, or NAME remove ID", "key", "crawler");
    EXPECT_USER("too few words", "token", "crawler", "remove");
    EXPECT_USER("too many words", "key", "crawler", "add", "1", "--credential", "crawler.cred");
    EXPECT_USER("is no user's name", "token", "no name", "add");
}
