/* run_list.h - the sorted runs that count, as records of the log edit them while it is read back.
 *
 * There may be a hundred thousand, and each segment of the log begins by naming all of them again:
 * so each is found by its number at once.
 *
 * Errors:  false: no memory; the list is as it was, or has some more of what was to be added.
 * Owner:   zeroed it is empty; run_list_fini() by its owner.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_STORE_RUN_LIST_H
#define ORBLOOM_NODE_STORE_RUN_LIST_H

#include "log/record.h"
#include "node/base/place_index.h"

struct run_list {
    struct record_run *runs; /* in any order; no two have a number */
    size_t count;
    size_t capacity;
    struct place_index places; /* in `runs`, by number */
};

void run_list_fini(struct run_list *self);

/* As a manifest says; putting one twice changes nothing. */
MUST_USE bool run_list_apply(struct run_list *self, const struct record_manifest *manifest);

bool run_list_has(const struct run_list *self, uint64_t number);

/* The last one takes its place. */
void run_list_remove_at(struct run_list *self, size_t place);

#endif
