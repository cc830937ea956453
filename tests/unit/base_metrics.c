/* Lines as Prometheus reads them, and the names of rows in base units. */
#include "base/telemetry/metrics.h"

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

Test(base_metrics, names_are_in_base_units)
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

Test(base_metrics, each_row_is_a_family)
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
Test(base_metrics, a_family_has_many_samples_and_any_label)
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

Test(base_metrics, without_room_it_stops_and_says_so)
{
    const uint64_t values[sizeof defs / sizeof defs[0]] = {0};
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    buffer_init(&out, 100);
    metrics_counters(&metrics, "x_", &table, values);
    cr_assert_eq(metrics.status, STATUS_TOO_LARGE);
    buffer_fini(&out);
}

/* Buckets hold what the ones before them hold, too; what lies on a bound is within it. */
Test(base_metrics, a_histogram_is_told_by_cumulative_buckets)
{
    const struct metrics_label labels[] = {{"op", "add"}};
    struct histogram histogram = {0};
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    histogram_add(&histogram, 0);
    histogram_add(&histogram, 100);
    histogram_add(&histogram, 101);
    histogram_add(&histogram, 3276800);
    histogram_add(&histogram, 3276801);
    buffer_init(&out, 1 << 16);
    metrics_family(&metrics, "f", METRICS_HISTOGRAM, "how long");
    metrics_histogram(&metrics, labels, 1, &histogram);
    cr_assert_eq(buffer_append(&out, span_of("", 1)), STATUS_OK);
    cr_expect_not_null(strstr((char *)out.data, "# TYPE f histogram\n"
                                                "f_bucket{op=\"add\",le=\"0.0001\"} 2\n"
                                                "f_bucket{op=\"add\",le=\"0.0002\"} 3\n"
                                                "f_bucket{op=\"add\",le=\"0.0004\"} 3\n"));
    cr_expect_not_null(strstr((char *)out.data, "f_bucket{op=\"add\",le=\"1.6384\"} 3\n"
                                                "f_bucket{op=\"add\",le=\"3.2768\"} 4\n"
                                                "f_bucket{op=\"add\",le=\"+Inf\"} 5\n"
                                                "f_count{op=\"add\"} 5\n"
                                                "f_sum{op=\"add\"} 6.553802\n"));
    buffer_fini(&out);
}

Test(base_metrics, a_ratio_has_as_many_digits_as_it_needs)
{
    struct buffer out;
    struct metrics metrics = metrics_to(&out);

    buffer_init(&out, 1 << 16);
    metrics_family(&metrics, "f", METRICS_GAUGE, "a share");
    metrics_ratio(&metrics, NULL, 0, 0.01);
    metrics_ratio(&metrics, NULL, 0, 1e-12);
    expect_text(&out, "# HELP f a share\n# TYPE f gauge\nf 0.01\nf 1e-12\n");
    buffer_fini(&out);
}
