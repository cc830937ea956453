/* sim_mixup.h - answers to another question: what a node was told once comes as the answer to
 * something else that a node asked, whole and with a good checksum.
 *
 * No transport does that; a source with a defect does, or one that serves an old question. It shows
 * whether a node looks at what an answer is about before it merges it.
 *
 * Owner:   sim_mixup_fini() frees what is kept.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_MIXUP_H
#define ORBLOOM_TESTS_SIM_MIXUP_H

#include "base/buffer.h"

#include <stdbool.h>

enum { SIM_MIXUP_KEPT = 48 };

struct sim;

struct sim_mixup {
    struct buffer kept[SIM_MIXUP_KEPT]; /* the latest answers between nodes */
    uint64_t count;
    struct buffer out;
};

void sim_mixup_fini(struct sim_mixup *self);

/* Of an answer of a node to another node. It is kept; with `strike` an earlier one to another
 * question takes its place, good until the next call. False: it stays as it is. */
bool sim_mixup_replace(struct sim *sim, struct span *frame, bool strike);

#endif
