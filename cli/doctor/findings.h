/* findings.h - what `orbloom doctor` has to say: what is wrong or soon will be, with what helps,
 * and what it could not look at.
 *
 * Errors:  none: what there is no room or memory for is counted, with how bad it is.
 * Owner:   findings_fini() frees; a zeroed struct is ready. Texts are copied, and cut if too long.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_CLI_DOCTOR_FINDINGS_H
#define ORBLOOM_CLI_DOCTOR_FINDINGS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum severity {
    SEVERITY_INFO,    /* good to know */
    SEVERITY_WARNING, /* will hurt, or is less safe than it should be */
    SEVERITY_ERROR,   /* something does not work, or is unsafe */
    NSEVERITIES,
};

enum {
    FINDINGS_OF_A_KIND = 20, /* at most; of a cluster with thousands of filters the first ones */
    FINDING_WHERE_BYTES = 320,
    FINDING_TEXT_BYTES = 1536,
};

struct finding {
    enum severity severity;
    const char *what; /* one word for programs, as docs/operations.md lists them; constant */
    char where[FINDING_WHERE_BYTES]; /* a filter, a process, a site, a machine */
    char text[FINDING_TEXT_BYTES];
    char remedy[FINDING_TEXT_BYTES]; /* "": there is nothing to do */
};

/* Something that was not looked at. */
struct omission {
    const char *what; /* constant */
    char why[FINDING_TEXT_BYTES];
};

struct findings {
    struct finding *items;
    size_t count;
    size_t room;
    struct omission *omissions;
    size_t nomissions;
    size_t omissions_room;
    size_t left_out;        /* beyond FINDINGS_OF_A_KIND, or without memory */
    bool taken;             /* the one that was told last is the last item */
    size_t of[NSEVERITIES]; /* those that were left out too */
};

void findings_tell(struct findings *self, enum severity severity, const char *what,
                   const char *where, const char *format, ...) PRINTF_LIKE(5, 6);

/* What helps against what was told last. */
void findings_mend(struct findings *self, const char *format, ...) PRINTF_LIKE(2, 3);

/* `what` was not looked at, or only in part. */
void findings_omit(struct findings *self, const char *what, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Worst first; else in the order in which they were told. */
void findings_sort(struct findings *self);

/* Of all that was told; SEVERITY_INFO where nothing was. */
enum severity findings_worst(const struct findings *self);

/* "warning" */
const char *severity_name(enum severity severity);

void findings_fini(struct findings *self);

#endif
