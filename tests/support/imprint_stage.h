/* imprint_stage.h - a node alone with one filter, whose array has an imprint: for tests of
 * imprints.
 *
 * There is one of them in a program. What goes wrong fails the test.
 *
 * Owner:   imprint_open_stage()'s caller calls imprint_close_stage().
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_IMPRINT_STAGE_H
#define ORBLOOM_TESTS_SUPPORT_IMPRINT_STAGE_H

#include "node/array/hosted.h"
#include "tests/support/node_stage.h"

enum {
    IMPRINT_BATCH = 1000, /* keys */
    IMPRINT_POOL = 16000,
    IMPRINT_LATER = 4000,
    IMPRINT_OTHERS = 2000 /* that are never added */
};

extern struct node_stage imprint_stage;
extern struct filter_document imprint_document;
extern uint64_t imprint_keys[IMPRINT_POOL + IMPRINT_LATER + IMPRINT_OTHERS];
extern uint64_t imprint_lines; /* of a shard, of the filter to be made */
extern uint64_t imprint_added; /* of the pool, then of the later ones */
extern bool imprint_split;     /* the filter to be made has half of its shards in a group 1 */

/* With imprints of arrays of so many bytes, and more. */
void imprint_open_stage(uint64_t imprint_bytes);
void imprint_close_stage(void);
/* A batch of imprint_keys. */
void imprint_add(uint32_t from);
/* The filter's. */
struct arrays *imprint_array(void);
uint64_t imprint_count_of_keys(void);
/* Taken so far. */
uint64_t imprint_count(void);
/* The pool again and again, until there is one more than before. */
void imprint_add_until_one(void);
/* What is in no imprint: in runs merged of what it has and what it has not, and in the log. */
void imprint_add_later(void);
/* All that was added is there, and what was not is mostly absent. */
void imprint_expect_keys(void);
/* Half of the pool, and an imprint is due. */
void imprint_add_runs(void);
/* A start whose imprint is of no use. */
void imprint_expect_refused(void);
/* With one, what came later besides, and killed. */
void imprint_open_with_one(void);

#endif
