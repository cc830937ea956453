/* The chart is well-formed XML and shows every series; nothing in it makes it less. */
#include "bench/report/chart.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16, NAME_BYTES = 32 };

static char *draw(const struct chart *chart)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    cr_assert_not_null(out);
    chart_write(chart, out);
    cr_assert_eq(fclose(out), 0);
    return text;
}

/* Every tag is closed in order, one root, no bare ampersand, quotes in pairs. */
static bool is_well_formed(const char *text)
{
    char open[DEPTH_MAX][NAME_BYTES];
    int depth = 0;
    int roots = 0;

    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '&' && strncmp(at, "&lt;", 4) != 0 && strncmp(at, "&gt;", 4) != 0 &&
            strncmp(at, "&amp;", 5) != 0) {
            return false;
        }
        if (*at == '<') {
            const char *end = strchr(at, '>');
            char name[NAME_BYTES] = "";
            bool closes = at[1] == '/';
            int quotes = 0;

            if (end == NULL) {
                return false;
            }
            for (const char *c = at + 1; c < end; c++) {
                quotes += *c == '"';
                if (*c == '<') {
                    return false;
                }
            }
            (void)sscanf(at + 1 + closes, "%31[a-zA-Z]", name);
            if (name[0] == '\0' || quotes % 2 != 0) {
                return false;
            }
            if (closes) {
                if (depth == 0 || strcmp(open[--depth], name) != 0) {
                    return false;
                }
            } else if (end[-1] != '/') {
                if (depth == DEPTH_MAX) {
                    return false;
                }
                roots += depth == 0;
                memcpy(open[depth++], name, sizeof name);
            }
            at = end;
        }
    }
    return depth == 0 && roots == 1;
}

static unsigned count(const char *text, const char *what)
{
    unsigned found = 0;

    for (const char *at = strstr(text, what); at != NULL; at = strstr(at + 1, what)) {
        found++;
    }
    return found;
}

static struct chart sample(void)
{
    struct chart chart = {.title = "Keys & requests <fast>",
                          .remark = "medians",
                          .x_name = "keys in a request",
                          .y_name = "keys a second",
                          .count = 2};

    for (size_t p = 0; p < 2; p++) {
        static const char *const names[2][3] = {{"orbloom", "SMISMEMBER", "GETBIT"},
                                                {"orbloom", "SADD", "SETBIT"}};
        struct chart_panel *panel = &chart.panels[p];

        panel->title = p == 0 ? "check" : "add";
        panel->remark = "7 x";
        panel->count = 3;
        for (size_t l = 0; l < 3; l++) {
            panel->lines[l].name = names[p][l];
            panel->lines[l].count = 3;
            for (size_t i = 0; i < 3; i++) {
                double y = 1e7 / pow(10, (double)l) * (double)(i + 1) / 3;

                panel->lines[l].points[i] = (struct chart_point){pow(64, (double)i), y, y * 0.8,
                                                                 y * 1.1};
            }
        }
    }
    return chart;
}

Test(bench_chart, is_well_formed_and_shows_every_series)
{
    struct chart chart = sample();
    char *text = draw(&chart);

    cr_assert(is_well_formed(text), "%s", text);
    cr_assert_eq(count(text, "<polyline"), 6);
    cr_assert_eq(count(text, " bar\""), 18);
    cr_assert_eq(count(text, ">orbloom</text>"), 1);
    cr_assert_eq(count(text, ">SMISMEMBER / SADD</text>"), 1);
    cr_assert_eq(count(text, ">GETBIT / SETBIT</text>"), 1);
    cr_assert_eq(count(text, ">10.0 M</text>"), 2); /* The last value, beside its line. */
    cr_assert_eq(count(text, ">4,096</text>"), 2);
    cr_assert_eq(count(text, ">keys in a request</text>"), 2);
    cr_assert_eq(count(text, ">keys a second</text>"), 2);
    cr_assert_eq(count(text, "Keys &amp; requests &lt;fast&gt;"), 2);
    cr_assert_eq(count(text, "nan"), 0);
    cr_assert_eq(count(text, "inf"), 0);
    free(text);
}

/* Higher values are drawn higher: y grows downwards in a picture. */
Test(bench_chart, more_is_higher_and_further_right)
{
    struct chart chart = sample();
    char *text = draw(&chart);
    const char *at = strstr(text, "s0 line d0 first\" points=\"");
    double x1;
    double y1;
    double x2;
    double y2;

    cr_assert_not_null(at);
    cr_assert_eq(sscanf(strstr(at, "points=\"") + 8, "%lf,%lf %lf,%lf", &x1, &y1, &x2, &y2), 4);
    cr_assert_lt(x1, x2);
    cr_assert_gt(y1, y2);
    free(text);
}

Test(bench_chart, little_or_nothing_measured_is_drawn_too)
{
    struct chart chart = sample();
    char *text;

    for (size_t p = 0; p < 2; p++) {
        for (size_t l = 0; l < 3; l++) {
            chart.panels[p].lines[l].count = p == 0 && l == 1;
        }
    }
    text = draw(&chart);
    cr_assert(is_well_formed(text));
    cr_assert_eq(count(text, "nan"), 0);
    cr_assert_eq(count(text, "inf"), 0);
    free(text);
    chart.panels[0].lines[1].count = 0;
    text = draw(&chart);
    cr_assert(is_well_formed(text));
    cr_assert_eq(count(text, "inf"), 0);
    cr_assert_eq(count(text, ">orbloom</text>"), 1); /* Still in the legend. */
    free(text);
    chart.count = 0;
    text = draw(&chart);
    cr_assert(is_well_formed(text));
    free(text);
}

Test(bench_chart, the_test_for_well_formed_text_can_fail)
{
    cr_assert(is_well_formed("<svg><g a=\"1\"/><text>a &amp; b</text></svg>"));
    cr_assert_not(is_well_formed("<svg><text>a</svg></text>"));
    cr_assert_not(is_well_formed("<svg><text>a</text>"));
    cr_assert_not(is_well_formed("<svg>a & b</svg>"));
    cr_assert_not(is_well_formed("<svg a=\"1></svg>"));
    cr_assert_not(is_well_formed("<svg/><svg></svg><a></a>"));
}
