/* rebuild.h - the keysets of a filter whose keys are being replaced by a list: which one serves,
 * and which one is made. The steps of a rebuild are the coordinator's: coordinator/plan/rebuild.h.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_HISTORY_REBUILD_H
#define ORBLOOM_MAP_HISTORY_REBUILD_H

#include "map/document.h"

/* The keyset that does not serve yet; 0: no rebuild is open. */
uint32_t rebuild_keyset(const struct filter_document *document);

/* The one that checks read. */
uint32_t rebuild_serving(const struct filter_document *document);

/* May keys be fed into that keyset (0: whichever is open)? */
bool rebuild_takes(const struct filter_document *document, uint32_t keyset);

#endif
