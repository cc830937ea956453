/* survey.h - all filters, looked at a few at a time, so that what concerns all of them can be told
 * at once: sums, what is amiss, what changes, and how fast each fills.
 *
 * A pass goes through all filters by their ids, SURVEY_STEP of them a step; what it has found
 * counts from its end until the next one's. Passes begin SURVEY_PASS_US apart, or as soon as they
 * can.
 *
 * Bounds:  SURVEY_LACKING filters that lack replicas are told in full, SURVEY_CHANGING that change
 *          are named; the others are counted.
 * Errors:  STATUS_NOMEM ends a pass, which is begun anew; what the one before it found counts on.
 * Owner:   the coordinator.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_WEB_SURVEY_H
#define ORBLOOM_COORDINATOR_WEB_SURVEY_H

#include "coordinator/private.h"
#include "coordinator/web/pace.h"

enum {
    SURVEY_STEP = 512,
    SURVEY_STEP_US = 250000,
    SURVEY_PASS_US = 1000000,
    SURVEY_LACKING = 8,
    SURVEY_CHANGING = 256,
};

/* One filter with fewer FULL replicas than it is to have, in some shards. */
struct survey_lacking {
    uint64_t id;
    uint32_t shards;
    uint32_t fewest;
    char why[COORDINATOR_MESSAGE_BYTES];
    char remedy[COORDINATOR_MESSAGE_BYTES];
};

struct survey_found {
    uint64_t at_us; /* when it was found; 0: not yet */
    uint64_t nfilters;
    uint64_t capacity;
    uint64_t keys;
    uint64_t copy_bytes; /* of one replica each */
    uint64_t nlacking;   /* filters ... */
    uint64_t nunserved;  /* ... of which some shards have too few replicas to be served */
    uint64_t nchanging;
    struct survey_lacking lacking[SURVEY_LACKING]; /* the first nlacking of them */
    uint64_t changing[SURVEY_CHANGING];            /* ids; the first nchanging of them */
};

struct survey;

/* NULL: no memory. */
struct survey *survey_create(void);
void survey_destroy(struct survey *self);

/* Where `self` has a survey: what is due of it now, and when more is. */
void survey_turn(struct coordinator *self, uint64_t now_us);
uint64_t survey_next_us(const struct coordinator *self);

const struct survey_found *survey_found(const struct survey *self);

/* As it was seen so far; NULL: not yet. */
const struct pace *survey_pace(const struct survey *self, uint64_t filter_id);

/* Is something under way with the filter, or refused, that may take a while? */
bool survey_is_changing(const struct coordinator *self, const struct filter_document *document);

#endif
