/* expansion_stage.h - a node on a disk in memory whose filter goes to other generations.
 *
 * The filter has one slot group of 16 shards, and arrays so small that one key in some is "present"
 * by chance. Its documents are signed here: nobody else says which generation is wanted.
 *
 * Errors:  a failed cr_assert.
 * Owner:   expansion_stage_init()'s caller calls expansion_stage_fini().
 */
#ifndef ORBLOOM_TESTS_SUPPORT_EXPANSION_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_EXPANSION_STAGE_H

#include "node/array/expansion_layers.h"
#include "node/private.h"
#include "tests/support/node_stage.h"

enum { EXPANSION_STAGE_LINES = 64, EXPANSION_STAGE_CAPACITY = 100000, EXPANSION_STAGE_SHARDS = 16 };

struct expansion_stage {
    struct node_stage stage;
    struct filter_document document;
};

/* Started, registered, the filter made, FULL and empty. */
void expansion_stage_init(struct expansion_stage *self);

/* The same of a size planned for that capacity and rate, as coordinators do. */
void expansion_stage_init_planned(struct expansion_stage *self, uint64_t capacity, double rate);
void expansion_stage_fini(struct expansion_stage *self);

/* Another generation is wanted; the node has a turn or not. Handed over, and no more. */
void expansion_stage_want(struct expansion_stage *self, uint32_t id, uint64_t lines,
                          uint64_t capacity, bool turn);

/* The same, planned for the document's rate. */
void expansion_stage_want_planned(struct expansion_stage *self, uint32_t id, uint64_t capacity,
                                  bool turn);

/* Whatever the document says now, under another revision. */
void expansion_stage_hand(struct expansion_stage *self);

/* A turn, a job of each lane of the disk, a slice of work. False: nothing was left to do. */
bool expansion_stage_step(struct expansion_stage *self);

/* Step until a span is in that phase, or it has settled. True: it is. */
bool expansion_stage_until(struct expansion_stage *self, enum expansion_phase phase);

struct arrays *expansion_stage_set(struct expansion_stage *self);
struct replica_report expansion_stage_report(struct expansion_stage *self);

/* How many of them are not in the arrays, where checks look. */
uint32_t expansion_stage_lacks(struct expansion_stage *self, const uint64_t *keys, uint32_t count);

/* Killed or ended, started again and served as what it was; settled. */
void expansion_stage_restart(struct expansion_stage *self, enum stage_end how);

/* The arrays are what the log makes of them: end, start, compare. All is served from one layer. */
void expansion_stage_expect_log(struct expansion_stage *self);

#endif
