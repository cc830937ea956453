/* verdict.h - the figures to reach, and whether this run reached them.
 *
 * Each compares one median with another one of the same run, or with a fixed value. A figure
 * that this run did not measure is neither met nor missed. Nothing here fails a run: the
 * speed of a machine is no defect.
 *
 * Errors:  none.
 * Threads: any.
 */
#ifndef ORBLOOM_BENCH_REPORT_VERDICT_H
#define ORBLOOM_BENCH_REPORT_VERDICT_H

#include "bench/report/figures.h"
#include "bench/report/show.h"

enum { VERDICT_REFERENCE_BYTES = SHOW_BYTES + 40 };

enum verdict_outcome { VERDICT_MET, VERDICT_NOT_MET, VERDICT_NOT_MEASURED };

struct verdict {
    const char *claim;
    const char *note;    /* What exactly was measured; "" when the claim says it. */
    const char *not_run; /* Why; "" when it ran. */
    char reference[VERDICT_REFERENCE_BYTES]; /* What it is compared with, and that value. */
    char measured[SHOW_BYTES];
    double ratio;  /* measured / reference; NAN when not measured. */
    double bound;  /* The ratio to reach. */
    bool at_least; /* else: at most */
    enum verdict_outcome outcome;
};

size_t verdict_count(void);

/* Was this part measured at all, or meant to be? */
bool verdict_asked(size_t index, const struct cells *cells);

/* `index` below verdict_count(). */
struct verdict verdict_of(size_t index, const struct cells *cells);

/* "met", "not met", "not measured". */
const char *verdict_word(enum verdict_outcome outcome);

#endif
