/* Prints rows of a Markdown table, each with its goal and whether that was met. */
#include "bench/sites_rows.h"

#include "bench/report/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void sites_rows_head(void)
{
    (void)printf("| figure | measured | goal | | of what |\n|---|---:|---:|---|---|\n");
    (void)fflush(stdout);
}

static const char *show(const struct sites_row *row, double value, char text[SHOW_BYTES])
{
    return strcmp(row->unit, "x") == 0 ? show_ratio(value, text)
                                       : show_value(value, row->unit, text);
}

static const char *verdict(const struct sites_row *row)
{
    if (isnan(row->value)) {
        return "**not measured**";
    }
    if (isnan(row->goal)) {
        return "";
    }
    return (row->at_least ? row->value >= row->goal : row->value <= row->goal) ? "met" : "missed";
}

void sites_rows_print(const struct sites_row *row)
{
    char value[SHOW_BYTES];
    char goal[SHOW_BYTES];

    (void)printf("| %s | %s | %s%s | %s | %s |\n", row->name, show(row, row->value, value),
                 isnan(row->goal) ? ""
                 : row->at_least  ? "at least "
                                  : "at most ",
                 show(row, row->goal, goal), verdict(row), row->note);
    (void)fflush(stdout);
}
