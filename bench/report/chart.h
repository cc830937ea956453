/* chart.h - panels of lines on logarithmic axes, side by side, as one SVG picture.
 *
 * Needs no fonts, scripts or styles from elsewhere, and follows a reader's dark mode. Lines
 * differ by colour, dash and marker, so that they can be told apart without colour too.
 *
 * Units:   x and y are above 0; a thin bar runs from `low` to `high` at each point.
 * Errors:  none here; look at ferror() of the file.
 * Owner:   everything is borrowed for the call.
 * Threads: any.
 */
#ifndef ORBLOOM_BENCH_REPORT_CHART_H
#define ORBLOOM_BENCH_REPORT_CHART_H

#include <stddef.h>
#include <stdio.h>

enum { CHART_MAX_POINTS = 16, CHART_MAX_LINES = 5, CHART_MAX_PANELS = 3 };

struct chart_point {
    double x;
    double y;
    double low;
    double high;
};

struct chart_line {
    const char *name;
    struct chart_point points[CHART_MAX_POINTS]; /* In the order of x. */
    size_t count;                                /* 0: named in the legend, nothing drawn. */
};

struct chart_panel {
    const char *title;
    const char *remark;
    struct chart_line lines[CHART_MAX_LINES]; /* The same place has the same colour everywhere. */
    size_t count;
};

struct chart {
    const char *title;
    const char *remark;
    const char *x_name;
    const char *y_name;
    struct chart_panel panels[CHART_MAX_PANELS];
    size_t count;
};

void chart_write(const struct chart *chart, FILE *out);

#endif
