/* tally.h - what a shadow has seen, in numbers and samples, since it began and since the last
 * report.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SHADOW_TALLY_H
#define ORBLOOM_CLI_SHADOW_TALLY_H

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum tally_count {
    TALLY_ADDED,   /* keys that the old one took */
    TALLY_CHECKED, /* ... and that it was asked for */
    TALLY_BOTH,    /* of both: keys that both servers had */
    TALLY_ONLY_OLD,
    TALLY_ONLY_NEW,
    TALLY_NEITHER,
    TALLY_UNCOMPARED, /* checks that the new one did not answer, or was not asked */
    TALLY_MISSED_FULL,
    TALLY_MISSED_REFUSED,
    TALLY_MISSED_LARGE,
    TALLY_MISSED_UNSURE,
    TALLY_NOT_MADE,
    TALLY_IN_PLACE,
    TALLY_OTHER_DATABASE,
    TALLY_BLIND,
    TALLY_OLD_FAILED,
    TALLY_NEW_FAILED,
    TALLY_UNREAD, /* reports that were dropped */
    TALLY_NCOUNTS
};

enum { TALLY_SAMPLES = 5, TALLY_TEXT_BYTES = 160 };

struct tally {
    uint64_t counts[TALLY_NCOUNTS];
    uint64_t reported[TALLY_NCOUNTS]; /* as of the last report */
    bool show_keys;
    bool late;        /* the new one's answers, so that nobody waits for them */
    bool new_answers; /* as long as nothing is missed */
    char samples[2][TALLY_SAMPLES][TALLY_TEXT_BYTES]; /* of TALLY_ONLY_OLD, TALLY_ONLY_NEW */
    uint32_t nsamples[2];                             /* since the last report */
    char refusal[TALLY_TEXT_BYTES];                   /* what the new one said last; "": nothing */
};

/* One key that only one of them has; `which` is TALLY_ONLY_OLD or TALLY_ONLY_NEW. */
void tally_sample(struct tally *self, enum tally_count which, struct span filter, struct span key);

/* The error of the new server, up to where it may quote a key. */
void tally_refusal(struct tally *self, struct span reply);

/* Keys of adds that the new one has not, for all that is known. */
uint64_t tally_missed(const struct tally *self);

/* So long after the beginning and after the last report; `waiting` commands are not answered by the
 * new one yet. */
void tally_report(const struct tally *self, FILE *out, uint64_t since_begin_us,
                  uint64_t since_report_us, uint64_t waiting);

/* The report has been read: the next one tells what comes from here on. */
void tally_reported(struct tally *self);

#endif
