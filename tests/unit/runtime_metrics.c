/* Lines as Prometheus reads them, and the names of rows in base units. */
#include "base/health.h"
#include "runtime/http/metrics.h"
#include "runtime/http/own_usage.h"
#include "runtime/http/pages.h"

#include <criterion/criterion.h>

static const struct counter_def defs[] = {
    {"keys_total", "keys", "keys looked up"},
    {"refused_total", "connections", "not let in: an \"unknown\" key, C:\\\nand more"},
    {"inflight_bytes", "bytes", "requests not yet answered (a gauge)"},
    {"log_end", "bytes", "appended so far (a gauge)"},
    {"wire_total", "bytes", "sent"},
    {"lag_us", "us", "how far it is behind (a gauge)"},
    {"waited_us_total", "us", "by all together"},
    {"incarnation", "", "this life (a gauge)"},
};
static const struct counter_table table = {defs, sizeof defs / sizeof defs[0]};

static void expect_text(const struct buffer *out, const char *text)
{
    cr_assert_eq(out->size, strlen(text), "%.*s", (int)out->size, (const char *)out->data);
    cr_assert_arr_eq(out->data, text, out->size);
}

Test(runtime_metrics, names_are_in_base_units)
{
    static const struct {
        const char *name;
        bool timed;
    } wanted[] = {
        {"orbloom_x_keys_total", false},          {"orbloom_x_refused_total", false},
        {"orbloom_x_inflight_bytes", false},      {"orbloom_x_log_end_bytes", false},
        {"orbloom_x_wire_bytes_total", false},    {"orbloom_x_lag_seconds", true},
        {"orbloom_x_waited_seconds_total", true}, {"orbloom_x_incarnation", false},
    };

    for (size_t i = 0; i < table.count; i++) {
        char name[METRICS_NAME_BYTES];

        cr_expect_eq(metrics_name("orbloom_x_", &defs[i], name), wanted[i].timed);
        cr_expect_str_eq(name, wanted[i].name);
    }
}

Test(runtime_metrics, each_row_is_a_family)
{
    const uint64_t values[] = {1, 0, 3, UINT64_MAX, 5, 1500000, 7, 8};
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    buffer_init(&out, 1 << 16);
    metrics_counters(&metrics, "x_", &table, values);
    cr_assert_eq(metrics.status, STATUS_OK);
    expect_text(&out, "# HELP x_keys_total keys looked up\n"
                      "# TYPE x_keys_total counter\n"
                      "x_keys_total 1\n"
                      "# HELP x_refused_total connections: not let in: an \"unknown\" key, "
                      "C:\\\\\\nand more\n"
                      "# TYPE x_refused_total counter\n"
                      "x_refused_total 0\n"
                      "# HELP x_inflight_bytes bytes: requests not yet answered\n"
                      "# TYPE x_inflight_bytes gauge\n"
                      "x_inflight_bytes 3\n"
                      "# HELP x_log_end_bytes bytes: appended so far\n"
                      "# TYPE x_log_end_bytes gauge\n"
                      "x_log_end_bytes 18446744073709551615\n"
                      "# HELP x_wire_bytes_total bytes: sent\n"
                      "# TYPE x_wire_bytes_total counter\n"
                      "x_wire_bytes_total 5\n"
                      "# HELP x_lag_seconds seconds: how far it is behind\n"
                      "# TYPE x_lag_seconds gauge\n"
                      "x_lag_seconds 1.500000\n"
                      "# HELP x_waited_seconds_total seconds: by all together\n"
                      "# TYPE x_waited_seconds_total counter\n"
                      "x_waited_seconds_total 0.000007\n"
                      "# HELP x_incarnation this life\n"
                      "# TYPE x_incarnation gauge\n"
                      "x_incarnation 8\n");
    buffer_fini(&out);
}

/* A filter may be called anything. */
Test(runtime_metrics, a_family_has_many_samples_and_any_label)
{
    const struct metrics_label labels[] = {{"a", "x\"y\\z\nend"}, {"b", ""}};
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    buffer_init(&out, 1 << 16);
    metrics_family(&metrics, "f", METRICS_GAUGE, "one\\two");
    metrics_count(&metrics, labels, 2, 1);
    metrics_seconds(&metrics, labels, 1, 2);
    metrics_count(&metrics, NULL, 0, 3);
    expect_text(&out, "# HELP f one\\\\two\n"
                      "# TYPE f gauge\n"
                      "f{a=\"x\\\"y\\\\z\\nend\",b=\"\"} 1\n"
                      "f{a=\"x\\\"y\\\\z\\nend\"} 0.000002\n"
                      "f 3\n");
    buffer_fini(&out);
}

Test(runtime_metrics, without_room_it_stops_and_says_so)
{
    const uint64_t values[sizeof defs / sizeof defs[0]] = {0};
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    buffer_init(&out, 100);
    metrics_counters(&metrics, "x_", &table, values);
    cr_assert_eq(metrics.status, STATUS_TOO_LARGE);
    buffer_fini(&out);
}

/* ---- what the kernel tells of this process ---- */

static const struct own_usage_units units = {
    .ticks_per_s = 100, .page_bytes = 4096, .booted_us = 5};

Test(runtime_metrics, a_line_of_stat_is_understood_whatever_the_name)
{
    struct own_usage usage = {0};

    cr_assert(own_usage_parse("12 (a) S (b) R) S 1 2 3 4 5 6 7 8 9 10 150 50 1 2 20 0 7 0 1000 "
                              "8192 3 18446744073709551615 1 1",
                              &units, &usage));
    cr_expect_eq(usage.cpu_us, 2000000);
    cr_expect_eq(usage.threads, 7);
    cr_expect_eq(usage.started_us, 10000005);
    cr_expect_eq(usage.virtual_bytes, 8192);
    cr_expect_eq(usage.resident_bytes, 3 * 4096);
}

Test(runtime_metrics, another_line_changes_nothing)
{
    static const char *const lines[] = {"", "12", "12 (a", "12 (a)", "12 (a) S 1 2 3 4 5 6 x"};
    struct own_usage usage = {.threads = 9};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        cr_expect_not(own_usage_parse(lines[i], &units, &usage), "%s", lines[i]);
    }
    cr_expect_eq(usage.threads, 9);
    cr_expect_eq(usage.cpu_us, 0);
}

Test(runtime_metrics, this_process_is_there)
{
    const uint64_t year_2020_us = UINT64_C(1577836800) * 1000000;
    struct own_usage usage;

    own_usage_read(&usage);
    cr_expect_gt(usage.resident_bytes, 1 << 16);
    cr_expect_gt(usage.virtual_bytes, usage.resident_bytes);
    cr_expect_geq(usage.threads, 1);
    cr_expect_geq(usage.descriptors, 3);
    cr_expect_leq(usage.descriptors, usage.max_descriptors);
    cr_expect_gt(usage.started_us, year_2020_us);
}

/* ---- does it move? ---- */

Test(runtime_metrics, what_stands_for_ten_seconds_hangs)
{
    static const struct {
        uint64_t silent_us;
        uint64_t commit_us;
        size_t reasons;
    } cases[] = {
        {0, 0, 0},
        {PAGES_STILL_US - 1, PAGES_STILL_US - 1, 0},
        {PAGES_STILL_US, 0, 1},
        {0, PAGES_STILL_US, 1},
        {PAGES_STILL_US, PAGES_STILL_US, 2},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct health health = {0};

        pages_judge_moves(cases[i].silent_us, cases[i].commit_us, &health);
        cr_expect_eq(health.count, cases[i].reasons, "case %zu", i);
    }
}
