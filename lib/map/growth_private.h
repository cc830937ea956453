/* growth_private.h - what growth*.c share; for them only.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_GROWTH_PRIVATE_H
#define ORBLOOM_MAP_GROWTH_PRIVATE_H

#include "map/growth.h"

/* Above what there was and is; the revision suffices as long as every id comes from one. */
uint64_t growth_next_id(const struct filter_document *document);

/* Whether every node has room for `more` bytes a shard that it holds, and `peak` once; else the one
 * that lacks most is in the answer. */
bool growth_fits(const struct growth_view *view, uint64_t more, uint64_t peak,
                 struct growth_answer *answer);

/* Would it at once grow by itself from what is wished for? The answer tells the least that stays.
 */
bool growth_judge_on(const struct filter_document *document, const struct growth_wish *wish,
                     uint64_t keys, struct growth_answer *answer);

#endif
