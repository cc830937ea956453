/* Options: defaults, then the file, then flags; whatever is wrong is refused by file and line. */
#include "base/span.h"
#include "runtime/file.h"
#include "runtime/options/options.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct settings {
    char name[129];
    char path[16];
    char listen[64];
    char level[8];
    char peers[3][40];
    uint32_t npeers;
    char urls[2][40];
    uint32_t nurls;
    char user[16];
    char password[16];
    char file[16];
    char site[33];
    uint64_t keys;
    uint64_t memory;
    uint64_t share;
    uint64_t delay_us;
    double factor;
};

#define FIELD(field) \
    .offset = offsetof(struct settings, field), .size = sizeof(((struct settings *)NULL)->field)

static const struct option options[] = {
    {.name = "name",
     .kind = OPTION_NAME,
     FIELD(name),
     .required = true,
     .range = "a name",
     .help = "who it is"},
    {.name = "path",
     .kind = OPTION_TEXT,
     FIELD(path),
     .unit = "path",
     .range = "a file",
     .value = "a b",
     .help = "a text"},
    {.name = "listen",
     .kind = OPTION_ENDPOINT,
     FIELD(listen),
     .required = true,
     .unit = "endpoint",
     .range = "tcp://HOST:PORT",
     .value = "tcp://127.0.0.1:7401",
     .help = "where it listens"},
    {.name = "level",
     .kind = OPTION_CHOICE,
     FIELD(level),
     .range = "error | warn | info",
     .value = "info",
     .help = "how much is logged"},
    {.name = "peers",
     .kind = OPTION_LIST,
     FIELD(peers[0]),
     .count_offset = offsetof(struct settings, npeers),
     .max_count = 3,
     .required = true,
     .unit = "endpoints",
     .range = "1 to 3 of tcp://HOST:PORT",
     .value = "tcp://a:1",
     .help = "the others"},
    {.name = "keys",
     .kind = OPTION_COUNT,
     FIELD(keys),
     .min = 1,
     .max = 1000000000,
     .unit = "keys",
     .range = "1 to 1G",
     .value = "10M",
     .help = "how many"},
    {.name = "memory",
     .kind = OPTION_BYTES,
     FIELD(memory),
     .min = 1 << 20,
     .max = UINT64_C(1) << 44,
     .unit = "bytes",
     .range = "1 MiB to 16 TiB",
     .value = "64MiB",
     .help = "how much"},
    {.name = "share",
     .kind = OPTION_BYTES,
     FIELD(share),
     .min = 100,
     .max = 200,
     .unit = "bytes",
     .range = "auto, or 100 to 200",
     .value = "auto",
     .help = "automatic or not"},
    {.name = "delay",
     .kind = OPTION_DURATION,
     FIELD(delay_us),
     .min = 1000,
     .max = 60000000,
     .unit = "duration",
     .range = "1ms to 60s",
     .value = "20ms",
     .help = "how long"},
    {.name = "factor",
     .kind = OPTION_FACTOR,
     FIELD(factor),
     .min = 110,
     .max = 6400,
     .unit = "factor",
     .range = "1.1 to 64",
     .value = "2",
     .help = "how many times"},
};

/* Options that do or don't go together. */
static const struct option ruled[] = {
    {.name = "file",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, file),
     .size = 16,
     .required = true,
     .range = "a file",
     .help = "where it is",
     .excludes = "urls"},
    {.name = "urls",
     .kind = OPTION_URLS,
     .offset = offsetof(struct settings, urls),
     .size = 40,
     .count_offset = offsetof(struct settings, nurls),
     .max_count = 2,
     .range = "1 to 2",
     .help = "where else",
     .excludes = "file"},
    {.name = "user",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, user),
     .size = 16,
     .range = "a user",
     .help = "who",
     .needs = "urls password"},
    {.name = "password",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct settings, password),
     .size = 16,
     .range = "a text",
     .value = "none",
     .help = "what he knows",
     .needs = "urls user"},
    {.name = "site",
     .kind = OPTION_SITE,
     .offset = offsetof(struct settings, site),
     .size = 33,
     .range = "1 to 32 of a-z 0-9 -",
     .help = "which one"},
};

static const struct option_table ruled_table = {.program = "orbloom-test",
                                                .summary = "tests options",
                                                .options = ruled,
                                                .count = sizeof ruled / sizeof ruled[0]};

static const struct option_table table = {.program = "orbloom-test",
                                          .summary = "tests options",
                                          .options = options,
                                          .count = sizeof options / sizeof options[0]};

static char path[] = "/tmp/orbloom-options-XXXXXX";

static void set_up(void)
{
    int descriptor = mkstemp(path);

    if (descriptor < 0 || close(descriptor) != 0) {
        abort();
    }
    cr_redirect_stderr();
    cr_redirect_stdout();
}

static void tear_down(void)
{
    if (unlink(path) != 0) {
        abort();
    }
}

TestSuite(runtime_options, .init = set_up, .fini = tear_down, .timeout = 60);

static void write_config(struct span text)
{
    cr_assert_eq(file_write(path, 0600, text), STATUS_OK);
}

/* What was written to `stream` since the last call. */
static const char *written(FILE *stream, FILE *redirected)
{
    static char text[16384];
    size_t size;

    (void)fflush(stream);
    size = fread(text, 1, sizeof text - 1, redirected);
    text[size] = '\0';
    clearerr(redirected);
    return text;
}

static const char *errors(void)
{
    return written(stderr, cr_get_redirected_stderr());
}

enum { MAX_FLAGS = 8 };

/* Flags are separated by '\n'. */
static enum status load(const char *flags, struct settings *settings, struct option_result *result)
{
    static char words[4096];
    char *argv[MAX_FLAGS + 2] = {(char *)(uintptr_t) "orbloom-test"};
    char *rest = words;
    int argc = 1;

    (void)snprintf(words, sizeof words, "%s", flags);
    while (rest != NULL && rest[0] != '\0') {
        cr_assert_lt(argc, MAX_FLAGS);
        argv[argc++] = strsep(&rest, "\n");
    }
    return options_load(&table, argc, argv, settings, result);
}

static enum status load_ruled(const char *config, const char *flag, struct settings *settings)
{
    struct option_result result;
    char *argv[] = {(char *)(uintptr_t) "orbloom-test", (char *)(uintptr_t) "--config", path,
                    (char *)(uintptr_t)flag, NULL};

    *settings = (struct settings){0};
    write_config(span_text(config));
    return options_load(&ruled_table, flag != NULL ? 4 : 3, argv, settings, &result);
}

static enum status load_file(const char *more_flags, struct settings *settings)
{
    struct option_result result;
    char flags[512];

    (void)snprintf(flags, sizeof flags, "--config\n%s%s%s", path, more_flags[0] != '\0' ? "\n" : "",
                   more_flags);
    return load(flags, settings, &result);
}

Test(runtime_options, defaults_hold_where_nothing_is_said)
{
    struct settings got = {.keys = 7};
    struct option_result result;

    cr_assert_eq(load("--name=n", &got, &result), STATUS_OK);
    cr_assert_str_eq(got.name, "n");
    cr_assert_str_eq(got.path, "a b");
    cr_assert_str_eq(got.listen, "tcp://127.0.0.1:7401");
    cr_assert_str_eq(got.level, "info");
    cr_assert_eq(got.npeers, 1);
    cr_assert_str_eq(got.peers[0], "tcp://a:1");
    cr_assert_eq(got.keys, 10000000);
    cr_assert_eq(got.memory, 64 << 20);
    cr_assert_eq(got.share, 0);
    cr_assert_eq(got.delay_us, 20000);
    cr_assert_null(result.config);
    cr_assert_not(result.check_config || result.done);
}

/* Flags win over the file, wherever --config stands, and '-' in a flag may stand for '_'. */
Test(runtime_options, flags_win_over_the_file_and_the_file_over_defaults)
{
    struct settings got = {.keys = 7};

    write_config(span_text("# a comment\n"
                           "name = \"from-file\";\n"
                           "path = \"x y\"; keys = \"5M\"\n"
                           "memory = \"2GiB\"; // another\n"
                           "share = \"150\";\n"
                           "/* one\n more */ level : \"warn\"\n"
                           "peers = [\"tcp://b:1\", \"tcp://c:65535\"];\n"
                           "delay = \"1s\";\n"
                           "listen = \"tcp://*:*\";\n"));
    cr_assert_eq(load_file("", &got), STATUS_OK, "%s", errors());
    cr_assert_str_eq(got.name, "from-file");
    cr_assert_str_eq(got.path, "x y");
    cr_assert_str_eq(got.level, "warn");
    cr_assert_str_eq(got.listen, "tcp://*:*");
    cr_assert_eq(got.keys, 5000000);
    cr_assert_eq(got.memory, UINT64_C(2) << 30);
    cr_assert_eq(got.share, 150);
    cr_assert_eq(got.delay_us, 1000000);
    cr_assert_eq(got.npeers, 2);
    cr_assert_str_eq(got.peers[1], "tcp://c:65535");
    cr_assert_eq(load_file("--name\nfrom-flag\n--keys=1\n--keys=2\n--peers=tcp://d:1", &got),
                 STATUS_OK);
    cr_assert_str_eq(got.name, "from-flag");
    cr_assert_eq(got.keys, 2, "the last one wins");
    cr_assert_eq(got.npeers, 1);
    cr_assert_str_eq(got.peers[0], "tcp://d:1");
    cr_assert_eq(got.memory, UINT64_C(2) << 30);
}

struct refusal {
    const char *given;
    const char *message;
};

Test(runtime_options, a_site_has_a_name_of_its_own_kind)
{
    static const char longest[] = "0123456789-abcdefghijklmnopqrstu";
    struct settings got;
    char config[128];

    cr_assert_eq(load_ruled("file = \"f\";", NULL, &got), STATUS_OK);
    cr_assert_str_eq(got.site, "");
    cr_assert_eq(strlen(longest), 32);
    (void)snprintf(config, sizeof config, "file = \"f\"; site = \"%s\";", longest);
    cr_assert_eq(load_ruled(config, NULL, &got), STATUS_OK);
    cr_assert_str_eq(got.site, longest);
    (void)snprintf(config, sizeof config, "file = \"f\"; site = \"%sx\";", longest);
    cr_assert_eq(load_ruled(config, NULL, &got), STATUS_USAGE);
    cr_assert_eq(load_ruled("file = \"f\"; site = \"\";", NULL, &got), STATUS_USAGE);
    cr_assert_eq(load_ruled("file = \"f\"; site = \"EU\";", NULL, &got), STATUS_USAGE);
    cr_assert_eq(load_ruled("file = \"f\"; site = \"e.u\";", NULL, &got), STATUS_USAGE);
}

/* libconfig alone reads most of these without a word. */
Test(runtime_options, a_wrong_file_is_refused_by_file_and_line)
{
    static const struct refusal all[] = {
        {"\nnam = \"n\";", ":2: unknown option 'nam'; did you mean 'name'?"},
        {"memroy = \"1GiB\";", ":1: unknown option 'memroy'; did you mean 'memory'?"},
        {"colour = \"red\";", ":1: unknown option 'colour'; --help lists those that there are"},
        {"name = \"n\";\nname = \"m\";", ":2: duplicate setting name"},
        {"name = \"n\"\nkeys = = 3;", ":2: syntax error"},
        {"name = \"n\n\n", ":3: syntax error"},
        {"\n\nname = { first = \"n\"; };",
         ":3: name is a group; options are not nested; it must be a text such as \"a-text\""},
        {"name = [\"n\"];", ":1: name is a list; it must be a text such as \"a-text\""},
        {"name = (\"n\");", ":1: name is a list; it must be a text such as \"a-text\""},
        {"memory = 4294967296;", ":1: memory is a bare number; it must be a text such as \"8GiB\""},
        {"keys = 10;", ":1: keys is a bare number; it must be a text such as \"10M\""},
        {"delay = 0.5;", ":1: delay is a bare number; it must be a text such as \"20ms\""},
        {"level = true;", ":1: level is a bare word; it must be a text such as \"info\""},
        {"peers = 5L;",
         ":1: peers is a bare number; it must be a text such as \"tcp://127.0.0.1:7400\""},
        {"peers = [1, 2];",
         ":1: peers is a bare number; it must be a text such as \"tcp://127.0.0.1:7400\""},
        {"peers = ((\"tcp://a:1\"));",
         ":1: peers is a list; it must be a text such as \"tcp://127.0.0.1:7400\""},
        {"name = \"\";", ":1: '' is not a name; name must be 1 to 128 letters, digits, '.', '_', "
                         "':' or '-'"},
        {"name = \"a b\";", ":1: 'a b' is not a name; name must be 1 to 128 letters, digits, "
                            "'.', '_', ':' or '-'"},
        {"path = \"a\\tb\";", ":1: path holds a control character"},
        {"path = \"0123456789abcdef\";", ":1: path is longer than 15 bytes"},
        {"keys = \"ten\";", ":1: 'ten' is not a number; write keys such as \"10M\""},
        {"keys = \"-1\";", ":1: '-1' is not a number; write keys such as \"10M\""},
        {"keys = \"0\";", ":1: '0' is out of range; keys must be 1 to 1G"},
        {"keys = \"2G\";", ":1: '2G' is out of range; keys must be 1 to 1G"},
        {"memory = \"auto\";", ":1: 'auto' is not a number; write memory such as \"8GiB\""},
        {"memory = \"1KiB\";", ":1: '1KiB' is out of range; memory must be 1 MiB to 16 TiB"},
        {"share = \"0\";", ":1: '0' is out of range; share must be auto, or 100 to 200"},
        {"delay = \"20\";", ":1: '20' is not a duration; write delay such as \"20ms\""},
        {"delay = \"2m\";", ":1: '2m' is out of range; delay must be 1ms to 60s"},
        {"level = \"inf\";", ":1: 'inf' is none of the choices; level must be one of: error | "
                             "warn | info"},
        {"level = \"\";", ":1: '' is none of the choices; level must be one of: error | warn | "
                          "info"},
        {"level = \"| warn\";", ":1: '| warn' is none of the choices; level must be one of: "
                                "error | warn | info"},
        {"listen = \"127.0.0.1:7401\";",
         ":1: '127.0.0.1:7401' is not an endpoint; listen must be tcp://HOST:PORT"},
        {"name = \"n\"; peers = [];",
         ": peers is missing (the others); give --peers=VALUE or write peers = "
         "\"VALUE\"; in the configuration file"},
        {"peers = [\"tcp://a:1\",\n\"tcp://*:1\"];",
         ":1: 'tcp://*:1' is not an endpoint; peers must be tcp://HOST:PORT, with a real host and "
         "port"},
        {"peers = [\"tcp://a:1\", \"tcp://a:1\", \"tcp://a:1\", \"tcp://a:1\"];",
         ":1: peers has more than 3 elements"},
        {"\n  @include \"/etc/passwd\"\n", ":2: @include is not supported; write all of it here"},
        {"", ": name is missing (who it is); give --name=VALUE or write name = \"VALUE\"; in the "
             "configuration file"},
    };
    char expected[1024];
    struct settings got;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        got = (struct settings){.keys = 0};
        write_config(span_text(all[i].given));
        (void)snprintf(expected, sizeof expected, "orbloom-test: %s%s\n", path, all[i].message);
        cr_expect_eq(load_file("", &got), STATUS_USAGE, "%s", all[i].given);
        cr_expect_str_eq(errors(), expected, "%s", all[i].given);
    }
}

Test(runtime_options, a_file_that_is_none_is_refused)
{
    static char long_text[70000];
    struct settings got;
    struct option_result result;

    cr_assert_eq(load("--config=/none/such", &got, &result), STATUS_USAGE);
    cr_assert_str_eq(errors(), "orbloom-test: /none/such: No such file or directory; --config "
                               "names a file that can be read\n");
    cr_assert_eq(load("--config=/tmp", &got, &result), STATUS_USAGE);
    cr_assert_not_null(strstr(errors(), "/tmp: Is a directory"));
    memset(long_text, ' ', sizeof long_text);
    write_config(span_of(long_text, sizeof long_text));
    cr_assert_eq(load_file("", &got), STATUS_USAGE);
    cr_assert_not_null(strstr(errors(), "longer than 65535 bytes"));
    write_config(span_of("name = \"n\";\0 keys = 3", 20));
    cr_assert_eq(load_file("", &got), STATUS_USAGE);
    cr_assert_not_null(strstr(errors(), "holds a NUL byte"));
}

Test(runtime_options, a_wrong_flag_is_refused)
{
    static const struct refusal all[] = {
        {"--nam=n", "unknown option '--nam=n'; did you mean '--name'?"},
        {"--colour", "unknown option '--colour'; --help lists those that there are"},
        {"stray", "'stray' is not an option; --help lists those that there are"},
        {"-x", "'-x' is not an option; --help lists those that there are"},
        {"--", "'--' is not an option; --help lists those that there are"},
        {"--=x", "'--=x' is not an option; --help lists those that there are"},
        {"--name", "--name has no value; give --name=VALUE"},
        {"--config", "--config has no value; give --config=VALUE"},
        {"--name=", "--name: '' is not a name; name must be 1 to 128 letters, digits, '.', '_', "
                    "':' or '-'"},
        {"--keys=x", "--keys: 'x' is not a number; write keys such as \"10M\""},
        {"--peers=tcp://a:1,", "--peers: '' is not an endpoint; peers must be tcp://HOST:PORT, "
                               "with a real host and port"},
        {"--check-config\n--name=n", "--check-config needs a file; give --config FILE as well"},
        {"--keys=1", "name is missing (who it is); give --name=VALUE or write name = \"VALUE\"; "
                     "in the configuration file"},
    };
    char expected[1024];
    struct settings got;
    struct option_result result;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        got = (struct settings){.keys = 0};
        (void)snprintf(expected, sizeof expected, "orbloom-test: %s\n", all[i].message);
        cr_expect_eq(load(all[i].given, &got, &result), STATUS_USAGE, "%s", all[i].given);
        cr_expect_str_eq(errors(), expected, "%s", all[i].given);
    }
}

Test(runtime_options, endpoints_are_judged)
{
    static const char *const good[] = {"tcp://127.0.0.1:1",        "tcp://host.example-1:65535",
                                       "tcp://[::1]:7401",         "tcp://*:0",
                                       "tcp://0.0.0.0:*",          "tcp://[fe80::1%eth0]:1",
                                       "tcp://[fe80::1%br-0.5]:1", "tcp://[::ffff:10.0.0.1]:1"};
    static const char *const bad[] = {
        "", "tcp://", "tcp://a", "tcp://:1", "tcp://a:", "tcp://a:65536", "tcp://a:+1",
        "tcp://a:1x", "tcp://a b:1", "tcp://[]:1", "tcp://a;b:1", "ipc:///tmp/x", "udp://a:1",
        "TCP://a:1",
        /* What is between brackets is an IPv6 address, and such a one is between brackets. */
        "tcp://::1:7401", "tcp://[1:2]:1", "tcp://[127.0.0.1]:1", "tcp://[::1%]:1",
        "tcp://[%eth0]:1", "tcp://[::1%a/b]:1", "tcp://[host]:1", "tcp://[::1]", "[::1]:1"};
    struct settings got;
    struct option_result result;
    char flag[128];

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        (void)snprintf(flag, sizeof flag, "--name=n\n--listen=%s", good[i]);
        cr_expect_eq(load(flag, &got, &result), STATUS_OK, "%s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        (void)snprintf(flag, sizeof flag, "--name=n\n--listen=%s", bad[i]);
        cr_expect_eq(load(flag, &got, &result), STATUS_USAGE, "%s", bad[i]);
    }
    cr_assert(options_endpoint_is_wildcard("tcp://*:1"));
    cr_assert(options_endpoint_is_wildcard("tcp://0.0.0.0:1"));
    cr_assert(options_endpoint_is_wildcard("tcp://[::]:1"));
    cr_assert(options_endpoint_is_wildcard("tcp://10.0.0.1:0"));
    cr_assert_not(options_endpoint_is_wildcard("tcp://10.0.0.1:1"));
    cr_assert_not(options_endpoint_is_any_host("tcp://10.0.0.1:*"));
}

/* What two options are together is mended where the first of those named was given. */
Test(runtime_options, what_does_not_go_together_is_told_with_its_place)
{
    struct settings got;
    struct option_result result;
    char expected[256];
    char flags[160];

    write_config(span_text("name = \"n\";\n\nkeys = \"5\";\n"));
    (void)snprintf(flags, sizeof flags, "--config=%s\n--memory=2GiB", path);
    cr_assert_eq(load(flags, &got, &result), STATUS_OK);

    cr_expect_eq(options_refuse(&table, &result.origins, "delay keys", "no %d", 1), STATUS_USAGE);
    (void)snprintf(expected, sizeof expected, "orbloom-test: %s:3: no 1\n", path);
    cr_expect_str_eq(errors(), expected);

    cr_expect_eq(options_refuse(&table, &result.origins, "memory keys", "no %d", 2), STATUS_USAGE);
    cr_expect_str_eq(errors(), "orbloom-test: --memory: no 2\n");

    cr_expect_eq(options_refuse(&table, &result.origins, "delay factor", "no"), STATUS_USAGE);
    cr_expect_str_eq(errors(), "orbloom-test: default of delay: no\n");
}

Test(runtime_options, addresses_of_one_port_clash)
{
    static const struct {
        const char *a;
        const char *b;
        bool clash;
    } all[] = {
        {"tcp://127.0.0.1:7401", "tcp://127.0.0.1:7401", true},
        {"tcp://127.0.0.1:7401", "tcp://127.0.0.1:07401", true},
        {"tcp://*:7401", "tcp://127.0.0.1:7401", true},
        {"tcp://[::1]:7401", "tcp://[::]:7401", true},
        {"tcp://0.0.0.0:7401", "tcp://*:7401", true},
        {"tcp://127.0.0.1:7401", "tcp://127.0.0.2:7401", false},
        {"tcp://127.0.0.1:7401", "tcp://127.0.0.1:7402", false},
        {"tcp://127.0.0.1:0", "tcp://127.0.0.1:0", false},
        {"tcp://127.0.0.1:*", "tcp://127.0.0.1:*", false},
        {"tcp://*:0", "tcp://*:7401", false},
        {"", "", false},
        {"", "tcp://*:7401", false},
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        cr_expect_eq(options_endpoints_clash(all[i].a, all[i].b), all[i].clash, "%s and %s",
                     all[i].a, all[i].b);
        cr_expect_eq(options_endpoints_clash(all[i].b, all[i].a), all[i].clash, "%s and %s",
                     all[i].b, all[i].a);
    }
}

/* --check-config reads everything and says so by the result alone. */
Test(runtime_options, a_good_file_is_checked)
{
    struct settings got;
    struct option_result result;
    char flags[128];

    write_config(span_text("name = \"n\";"));
    (void)snprintf(flags, sizeof flags, "--check-config\n--config=%s", path);
    cr_assert_eq(load(flags, &got, &result), STATUS_OK);
    cr_assert(result.check_config);
    cr_assert_str_eq(result.config, path);
    write_config(span_text("name = 5;"));
    cr_assert_eq(load(flags, &got, &result), STATUS_USAGE);
}

/* Served whatever else is wrong. */
Test(runtime_options, help_version_and_table_are_shown)
{
    struct settings got;
    struct option_result result;
    const char *text;
    unsigned lines = 0;

    cr_assert_eq(load("--nonsense\n--help", &got, &result), STATUS_OK);
    cr_assert(result.done);
    text = written(stdout, cr_get_redirected_stdout());
    for (size_t i = 0; i < table.count; i++) {
        cr_assert_not_null(strstr(text, options[i].help));
        cr_assert_not_null(strstr(text, options[i].range));
    }
    cr_assert_eq(load("--version", &got, &result), STATUS_OK);
    cr_assert_eq(strncmp(written(stdout, cr_get_redirected_stdout()), "orbloom-test ", 13), 0);
    cr_assert_eq(load("--print-options", &got, &result), STATUS_OK);
    text = written(stdout, cr_get_redirected_stdout());
    cr_assert_eq(strncmp(text, "name\t-\ta name\trequired\twho it is\n", 33), 0, "%s", text);
    cr_assert_not_null(strstr(text, "\nmemory\tbytes\t1 MiB to 16 TiB\t64MiB\thow much\n"));
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    cr_assert_eq(lines, table.count);
}

Test(runtime_options, web_addresses_are_a_list)
{
    struct settings got;

    cr_assert_eq(load_ruled("urls = (\"http://a:1\", \"https://[::1]:2379\");", NULL, &got),
                 STATUS_OK);
    cr_assert_eq(got.nurls, 2);
    cr_assert_str_eq(got.urls[1], "https://[::1]:2379");
    cr_assert_eq(load_ruled("urls = \"http://a:1,http://b:2\";", NULL, &got), STATUS_OK);
    cr_assert_eq(got.nurls, 2);
    cr_assert_str_eq(got.urls[1], "http://b:2");
}

Test(runtime_options, what_is_no_web_address_is_refused)
{
    static const char *const wrong[] = {"http://a",        "http://a:0",   "tcp://a:1", "a:1",
                                        "http://a:1/x",    "http://u@a:1", "",          "http://:1",
                                        "https://a:99999", "http://a b:1"};
    struct settings got;
    char config[128];

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        (void)snprintf(config, sizeof config, "\nurls = (\"%s\");", wrong[i]);
        cr_assert_eq(load_ruled(config, NULL, &got), STATUS_USAGE, "%s", wrong[i]);
        cr_assert_not_null(strstr(errors(), ":2: "), "%s", wrong[i]);
    }
}

Test(runtime_options, options_that_do_not_go_together_are_refused)
{
    static const struct {
        const char *config;
        const char *flag;
        const char *words;
    } cases[] = {
        {"urls = (\"http://a:1\");\nfile = \"x\";", NULL, ":2: file and urls are both given"},
        {"urls = (\"http://a:1\");", "--file=x", "--file and urls are both given"},
        {"file = \"x\";\n\nuser = \"u\";", NULL, ":3: user is given without urls"},
        {"urls = (\"http://a:1\");\nuser = \"u\";", NULL, ":2: user is given without password"},
        {"urls = (\"http://a:1\");", "--password=p", "--password is given without user"},
        {"", NULL, "file is missing (where it is)"},
        {"", NULL, "or give urls"},
    };
    struct settings got;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *said;

        cr_assert_eq(load_ruled(cases[i].config, cases[i].flag, &got), STATUS_USAGE, "%s",
                     cases[i].words);
        said = errors();
        cr_assert_not_null(strstr(said, cases[i].words), "%s", said);
    }
    cr_assert_eq(load_ruled("file = \"x\";", NULL, &got), STATUS_OK);
    cr_assert_str_eq(got.password, "none", "a default is not given");
    cr_assert_eq(load_ruled("urls = (\"http://a:1\");user = \"u\";", "--password=p", &got),
                 STATUS_OK);
}

Test(runtime_options, factors_are_numbers_within_a_range)
{
    static const char *const wrong[] = {"1.09", "64.1", "0", "-2",  "nan", "inf",
                                        "200%", "2x",   "",  "1 5", "2k",  "1e9"};
    struct settings got = {0};
    struct option_result result;

    cr_assert_eq(load("--name=n", &got, &result), STATUS_OK);
    cr_assert_eq(got.factor, 2);
    cr_assert_eq(load("--name=n\n--factor=1.1", &got, &result), STATUS_OK);
    cr_assert_eq(got.factor, 1.1);
    cr_assert_eq(load("--name=n\n--factor=64", &got, &result), STATUS_OK);
    cr_assert_eq(got.factor, 64);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char flags[64];

        (void)snprintf(flags, sizeof flags, "--name=n\n--factor=%s", wrong[i]);
        cr_assert_eq(load(flags, &got, &result), STATUS_USAGE, "%s", wrong[i]);
        cr_assert_not_null(strstr(errors(), "factor"), "%s", wrong[i]);
    }
    cr_assert_eq(got.factor, 2, "the default, from the last load");
}

/* ---- what has changed ---- */

static const struct option *option_named(const char *name)
{
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (strcmp(options[i].name, name) == 0) {
            return &options[i];
        }
    }
    cr_assert_fail("%s", name);
    return NULL;
}

/* Behind a text's end there may be anything. */
Test(runtime_options, a_change_of_each_kind_is_seen_and_copied)
{
    struct settings before = {.name = "a", .npeers = 2, .peers = {"x", "y", "z"}, .keys = 1};
    struct settings after = before;

    memcpy(after.name, "a\0b", 4);
    memcpy(after.peers[2], "other", 6);
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        cr_assert_not(options_differ(&options[i], &before, &after), "%s", options[i].name);
    }
    after = (struct settings){.name = "b", .npeers = 2, .peers = {"x", "Y"}, .keys = 2};
    after.factor = 1.5;
    cr_assert(options_differ(option_named("name"), &before, &after));
    cr_assert(options_differ(option_named("peers"), &before, &after));
    cr_assert(options_differ(option_named("keys"), &before, &after));
    cr_assert(options_differ(option_named("factor"), &before, &after));
    after = before;
    after.npeers = 1;
    cr_assert(options_differ(option_named("peers"), &before, &after), "one fewer");
    after = (struct settings){.name = "b", .npeers = 1, .peers = {"x"}, .keys = 2, .factor = 1.5};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        options_copy(&options[i], &after, &before);
        cr_assert_not(options_differ(&options[i], &after, &before), "%s", options[i].name);
    }
    cr_assert_eq(before.npeers, 1);
    cr_assert_eq(before.keys, 2);
    cr_assert_str_eq(before.name, "b");
}
