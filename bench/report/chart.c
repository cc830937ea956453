/* Draws the panels as SVG, element by element. */
#include "bench/report/chart.h"

#include "base/number.h"
#include "bench/report/show.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* In user units, which are pixels at the picture's own size. */
enum {
    MARGIN = 28,
    AXIS = 66,   /* Left of a plot: the name and the numbers of y. */
    VALUES = 58, /* Right of a plot: the last value of each line. */
    PLOT_WIDTH = 372,
    PLOT_HEIGHT = 330,
    HEAD = 166,     /* Above the plots: titles and legend. */
    FOOT = 62,      /* Below: the numbers and the name of x. */
    LABEL_GAP = 15, /* The least between two of the last values. */
    MAX_TICKS = 24,
    CLASS_BYTES = 64,
};

struct scale {
    double low; /* As logarithms. */
    double high;
    double from; /* As places. */
    double to;
};

/* Where a panel's plot is, and its scales. */
struct frame {
    double left;
    struct scale x;
    struct scale y;
};

static const char style[] =
    "<style>\n"
    ".back { fill: #ffffff } .ink { fill: #1f2328 } .soft { fill: #59636e }\n"
    ".grid { stroke: #e1e5ea; stroke-width: 1 } .axis { stroke: #9aa4af; stroke-width: 1 }\n"
    ".s0 { stroke: #0b62c4; fill: #0b62c4 } .s1 { stroke: #c8500a; fill: #c8500a }\n"
    ".s2 { stroke: #00805a; fill: #00805a } .s3 { stroke: #9a3fb5; fill: #9a3fb5 }\n"
    ".s4 { stroke: #77690a; fill: #77690a }\n"
    ".line { fill: none; stroke-width: 2.2; stroke-linejoin: round }\n"
    ".first { stroke-width: 3.2 } .bar { stroke-width: 1.2; opacity: 0.75 }\n"
    ".d1 { stroke-dasharray: 8 4 } .d2 { stroke-dasharray: 2 4 }\n"
    ".d3 { stroke-dasharray: 9 3 2 3 } .d4 { stroke-dasharray: 4 3 }\n"
    ".value { stroke: none; font-weight: 600 }\n"
    "text { font-family: system-ui, \"DejaVu Sans\", Arial, sans-serif; font-size: 13px }\n"
    ".title { font-size: 20px; font-weight: 600 } .panel { font-size: 15px; font-weight: 600 }\n"
    "@media (prefers-color-scheme: dark) {\n"
    ".back { fill: #0d1117 } .ink { fill: #e6edf3 } .soft { fill: #9aa5b1 }\n"
    ".grid { stroke: #262d36 } .axis { stroke: #5a6572 }\n"
    ".s0 { stroke: #58a6ff; fill: #58a6ff } .s1 { stroke: #ff9a4d; fill: #ff9a4d }\n"
    ".s2 { stroke: #3fc79a; fill: #3fc79a } .s3 { stroke: #d78bf0; fill: #d78bf0 }\n"
    ".s4 { stroke: #d8c24a; fill: #d8c24a } .line { fill: none }\n"
    "}\n"
    "</style>\n";

static void write_escaped(const char *text, FILE *out)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        case '&':
            (void)fputs("&amp;", out);
            break;
        default:
            (void)fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
        }
    }
}

static void write_text(FILE *out, double x, double y, const char *class, const char *anchor,
                       const char *text)
{
    (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class,
                  anchor);
    write_escaped(text, out);
    (void)fputs("</text>\n", out);
}

static void write_line(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
    (void)fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                  class, x1, y1, x2, y2);
}

/* Circle, square, triangle, diamond, circle: as paths from their middle. */
static void write_marker(FILE *out, size_t place, double x, double y)
{
    static const char *const shapes[CHART_MAX_LINES] = {
        "m-4.5 0 a4.5 4.5 0 1 0 9 0 a4.5 4.5 0 1 0 -9 0 z", "m-4 -4 h8 v8 h-8 z",
        "m0 -5 l5 9 h-10 z", "m0 -5.5 l5.5 5.5 l-5.5 5.5 l-5.5 -5.5 z",
        "m-3 0 a3 3 0 1 0 6 0 a3 3 0 1 0 -6 0 z"};

    (void)fprintf(out, "<path class=\"s%zu\" d=\"M%.1f %.1f %s\"/>\n", place, x, y, shapes[place]);
}

static double place_of(const struct scale *scale, double value)
{
    double share = (log10(value) - scale->low) / (scale->high - scale->low);

    return scale->from + share * (scale->to - scale->from);
}

/* Over all panels, so that they can be compared by eye: x from the first point to the last,
 * y in whole decades. */
static void find_range(const struct chart *chart, struct scale *x, struct scale *y)
{
    *x = (struct scale){.low = INFINITY, .high = -INFINITY};
    *y = *x;
    for (size_t p = 0; p < chart->count; p++) {
        for (size_t l = 0; l < chart->panels[p].count; l++) {
            const struct chart_line *line = &chart->panels[p].lines[l];

            for (size_t i = 0; i < line->count; i++) {
                x->low = fmin(x->low, log10(line->points[i].x));
                x->high = fmax(x->high, log10(line->points[i].x));
                y->low = fmin(y->low, floor(log10(line->points[i].low)));
                y->high = fmax(y->high, ceil(log10(line->points[i].high)));
            }
        }
    }
    if (!(x->high > x->low)) { /* One value of x, or none: any range that holds it. */
        x->low = isfinite(x->low) ? x->low - 0.5 : 0;
        x->high = x->low + 1;
    }
    if (!(y->high > y->low)) {
        y->low = isfinite(y->low) ? y->low - 1 : 0;
        y->high = y->low + 2;
    }
}

static void write_decades(const struct frame *frame, FILE *out)
{
    for (double decade = frame->y.low; decade <= frame->y.high; decade++) {
        static const char *const units[] = {"", "k", "M", "G"};
        int power = (int)decade;
        double y = place_of(&frame->y, pow(10, decade));
        char text[SHOW_BYTES];

        if (power >= 0 && power < 12) {
            (void)snprintf(text, sizeof text, "%.0f %s", pow(10, power % 3), units[power / 3]);
        } else {
            (void)snprintf(text, sizeof text, "1e%d", power);
        }
        write_line(out, "grid", frame->left, y, frame->left + PLOT_WIDTH, y);
        write_text(out, frame->left - 9, y + 4.5, "soft", "end", text);
    }
}

/* Every x that a line of this panel has. */
static void write_ticks(const struct chart_panel *panel, const struct frame *frame, FILE *out)
{
    double seen[MAX_TICKS];
    size_t nseen = 0;

    for (size_t l = 0; l < panel->count; l++) {
        for (size_t i = 0; i < panel->lines[l].count; i++) {
            double value = panel->lines[l].points[i].x;
            double x = place_of(&frame->x, value);
            bool new = nseen < MAX_TICKS;
            char text[NUMBER_TEXT_BYTES];

            for (size_t s = 0; s < nseen; s++) {
                new = new &&seen[s] != value;
            }
            if (new) {
                seen[nseen++] = value;
                (void)number_show_count((uint64_t)value, text);
                write_line(out, "grid", x, HEAD, x, HEAD + PLOT_HEIGHT);
                write_text(out, x, HEAD + PLOT_HEIGHT + 20, "soft", "middle", text);
            }
        }
    }
}

static void write_series(const struct chart_line *line, size_t place, const struct frame *frame,
                         FILE *out)
{
    (void)fprintf(out, "<polyline class=\"s%zu line d%zu%s\" points=\"", place, place,
                  place == 0 ? " first" : "");
    for (size_t i = 0; i < line->count; i++) {
        (void)fprintf(out, "%s%.1f,%.1f", i > 0 ? " " : "", place_of(&frame->x, line->points[i].x),
                      place_of(&frame->y, line->points[i].y));
    }
    (void)fputs("\"/>\n", out);
    for (size_t i = 0; i < line->count; i++) {
        const struct chart_point *point = &line->points[i];
        double x = place_of(&frame->x, point->x);
        char class[CLASS_BYTES];

        (void)snprintf(class, sizeof class, "s%zu bar", place);
        write_line(out, class, x, place_of(&frame->y, point->low), x,
                   place_of(&frame->y, point->high));
        write_marker(out, place, x, place_of(&frame->y, point->y));
    }
}

/* The last value of each line beside it, moved down where two would overlap: `lowest` is the
 * line above which the next may not be; lines are taken from the top. */
static void write_values(const struct chart_panel *panel, const struct frame *frame, FILE *out)
{
    bool done[CHART_MAX_LINES] = {false};
    double lowest = -INFINITY;

    for (size_t n = 0; n < panel->count; n++) {
        const struct chart_point *last = NULL;
        size_t best = 0;
        char text[SHOW_BYTES];
        char class[CLASS_BYTES];
        double y;

        for (size_t l = 0; l < panel->count; l++) {
            const struct chart_line *line = &panel->lines[l];

            if (!done[l] && line->count > 0 &&
                (last == NULL || line->points[line->count - 1].y > last->y)) {
                last = &line->points[line->count - 1];
                best = l;
            }
        }
        if (last == NULL) {
            return;
        }
        done[best] = true;
        y = fmax(place_of(&frame->y, last->y) + 4.5, lowest);
        lowest = y + LABEL_GAP;
        (void)snprintf(class, sizeof class, "s%zu value", best);
        write_text(out, place_of(&frame->x, last->x) + 10, y, class, "start",
                   show_rate(last->y, text));
    }
}

static void write_panel(const struct chart *chart, size_t index, FILE *out)
{
    const struct chart_panel *panel = &chart->panels[index];
    struct frame frame = {.left = MARGIN + AXIS +
                                  (double)index * (AXIS + PLOT_WIDTH + VALUES + MARGIN)};
    double bottom = HEAD + PLOT_HEIGHT;

    find_range(chart, &frame.x, &frame.y);
    frame.x.from = frame.left + 12;
    frame.x.to = frame.left + PLOT_WIDTH - 4;
    frame.y.from = bottom;
    frame.y.to = HEAD;
    write_text(out, frame.left, HEAD - 36, "ink panel", "start", panel->title);
    write_text(out, frame.left, HEAD - 16, "soft", "start", panel->remark);
    write_decades(&frame, out);
    write_ticks(panel, &frame, out);
    write_line(out, "axis", frame.left, HEAD, frame.left, bottom);
    write_line(out, "axis", frame.left, bottom, frame.left + PLOT_WIDTH, bottom);
    write_text(out, frame.left + PLOT_WIDTH / 2.0, bottom + 44, "soft", "middle", chart->x_name);
    (void)fprintf(out, "<g transform=\"translate(%.1f %.1f) rotate(-90)\">\n", frame.left - 60,
                  HEAD + PLOT_HEIGHT / 2.0);
    write_text(out, 0, 0, "soft", "middle", chart->y_name);
    (void)fputs("</g>\n", out);
    for (size_t l = panel->count; l > 0; l--) { /* The first on top. */
        write_series(&panel->lines[l - 1], l - 1, &frame, out);
    }
    write_values(panel, &frame, out);
}

/* A line has one name in all panels, or one in each: "SMISMEMBER / SADD". */
static void write_legend(const struct chart *chart, FILE *out)
{
    double x = MARGIN;

    for (size_t l = 0; chart->count > 0 && l < chart->panels[0].count; l++) {
        const char *name = chart->panels[0].lines[l].name;
        char class[CLASS_BYTES];
        char text[4 * SHOW_BYTES];
        int used = snprintf(text, sizeof text, "%s", name);

        for (size_t p = 1; p < chart->count; p++) {
            const char *other = chart->panels[p].lines[l].name;

            if (l < chart->panels[p].count && strcmp(name, other) != 0 && used > 0 &&
                (size_t)used < sizeof text) {
                used += snprintf(text + used, sizeof text - (size_t)used, " / %s", other);
            }
        }
        (void)snprintf(class, sizeof class, "s%zu line d%zu%s", l, l, l == 0 ? " first" : "");
        write_line(out, class, x, 88, x + 34, 88);
        write_marker(out, l, x + 17, 88);
        write_text(out, x + 42, 92.5, "ink", "start", text);
        x += 72 + 7.6 * (double)strlen(text);
    }
}

void chart_write(const struct chart *chart, FILE *out)
{
    double panels = (double)(chart->count > 0 ? chart->count : 1);
    double width = MARGIN + panels * (AXIS + PLOT_WIDTH + VALUES + MARGIN);
    double height = HEAD + PLOT_HEIGHT + FOOT;

    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                  "width=\"%.0f\" height=\"%.0f\" role=\"img\">\n<title>",
                  width, height, width, height);
    write_escaped(chart->title, out);
    (void)fprintf(out, "</title>\n%s<rect class=\"back\" width=\"%.0f\" height=\"%.0f\"/>\n", style,
                  width, height);
    write_text(out, MARGIN, 38, "ink title", "start", chart->title);
    write_text(out, MARGIN, 61, "soft", "start", chart->remark);
    write_legend(chart, out);
    for (size_t p = 0; p < chart->count; p++) {
        write_panel(chart, p, out);
    }
    (void)fputs("</svg>\n", out);
}
