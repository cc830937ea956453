/* expansion_private.h - what expansion*.c share; for them only.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_EXPANSION_PRIVATE_H
#define ORBLOOM_MAP_EXPANSION_PRIVATE_H

#include "map/expansion.h"

/* Above what there was and is; the revision suffices as long as every id comes from one. */
uint64_t expansion_next_id(const struct filter_document *document);

/* Whether every node has room for `more` bytes a shard that it holds, and `peak` once; else the one
 * that lacks most is in the answer. */
bool expansion_fits(const struct expansion_view *view, uint64_t more, uint64_t peak,
                    struct expansion_answer *answer);

/* Would it at once grow by itself from what is wished for? The answer tells the least that stays.
 */
bool expansion_judge_on(const struct filter_document *document, const struct expansion_wish *wish,
                        uint64_t keys, struct expansion_answer *answer);

#endif
