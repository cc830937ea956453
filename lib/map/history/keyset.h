/* keyset.h - the numbers of keysets.
 *
 * A filter's keysets, the stretches of history whose keys count, are numbered by a counter in what
 * quorums agree on. It begins with 1 at create and only ever rises: no number is used again, not
 * even after an abort, and what was meant for a keyset that is gone can't get into another one. It
 * is no revision: those count what happens at one place, while a keyset may be the same one at
 * several.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_HISTORY_KEYSET_H
#define ORBLOOM_MAP_HISTORY_KEYSET_H

#include "map/document.h"

/* The keyset that a filter is created with. */
void keyset_first(struct epoch_content *content);

/* The number that the next one gets; 0: all 2^32 are used up. */
uint32_t keyset_next(const struct epoch_content *content);

/* ... and it is there, behind those that serve. */
void keyset_add(struct epoch_content *content);

/* So many more numbers may have been used by somebody whom nobody has heard of. */
void keyset_skip(struct epoch_content *content, uint32_t numbers);

/* NULL, or what is wrong. */
const char *keyset_fault(const struct filter_document *document);

#endif
