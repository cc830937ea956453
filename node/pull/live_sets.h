/* live_sets.h - which sets of keys a filter's document names: one for each (keyset, slice).
 *
 * A set has arrays, sorted runs, digests and cursors of its own. While a list is being rebuilt
 * from, there are two keysets: checks read the serving one, adds go to both. Of a window all
 * slices that are kept are read, and adds go to the newest one. A chain of generations is like a
 * window of which nothing expires: each has a slice, which is its place in the chain, from 0 on,
 * and arrays of its own size.
 *
 * What the document does not name is gone for good: it was forgotten, or has expired.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_PULL_LIVE_SETS_H
#define ORBLOOM_NODE_PULL_LIVE_SETS_H

#include "map/document.h"

struct live_set {
    uint32_t keyset;
    uint64_t slice;
    bool read;                           /* by checks */
    bool written;                        /* by adds that name no keyset */
    const struct generation *generation; /* of its arrays, in the end; the document's */
};

/* At least one. */
uint32_t live_sets_count(const struct filter_document *document);

/* `at` below the count. The first one is the newest of the serving keyset; those of a keyset
 * follow each other, the newest slice first. */
struct live_set live_sets_at(const struct filter_document *document, uint32_t at);

/* One that is not live yet, and whose arrays are to stand before it is: a window's next slice, or
 * the generation that a chain is to be longer by. */
bool live_sets_ahead(const struct filter_document *document, struct live_set *out);

/* The generation of a live slice's arrays, in the end; NULL: a chain has no such slice. */
const struct generation *live_sets_generation(const struct filter_document *document,
                                              uint64_t slice);

bool live_sets_have(const struct filter_document *document, uint32_t keyset, uint64_t slice);

bool live_sets_have_keyset(const struct filter_document *document, uint32_t keyset);

#endif
