/* sites_rows.h - the table of figures between sites, a line as soon as it is measured.
 *
 * Errors:  none; what can't be written is lost.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_BENCH_SITES_ROWS_H
#define ORBLOOM_BENCH_SITES_ROWS_H

#include <stdbool.h>

enum { SITES_NOTE_BYTES = 256 };

struct sites_row {
    const char *name;
    double value;     /* NAN: it could not be measured */
    const char *unit; /* as show_value() knows them, and "x": a ratio */
    double goal;      /* NAN: there is none */
    bool at_least;
    char note[SITES_NOTE_BYTES];
};

void sites_rows_head(void);
void sites_rows_print(const struct sites_row *row);

#endif
