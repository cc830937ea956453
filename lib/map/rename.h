/* rename.h - another name for a filter, and who has a name that several documents claim.
 *
 * The name is part of what quorums agree on. A rename is one swap of the store: the filter has the
 * new name under another epoch, and the filter that had that name, if there was one, is DROPPING.
 * Until F of every slot group of both have fenced that, routers that know neither may still go by
 * the old bindings. So the former name stays taken till then, and the rename is confirmed after it.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_RENAME_H
#define ORBLOOM_MAP_RENAME_H

#include "map/document.h"

/* Are its fences, or those of the filter that it replaces, still waited for? */
bool rename_is_open(const struct filter_document *document);

/* The edit: epoch and revision go up. `replaces`: id of the filter that had the name; 0: none. Not
 * while one is open. */
void rename_begin(struct filter_document *document, const char *name, uint64_t replaces);

/* The edit, once all is fenced: the revision goes up. */
void rename_end(struct filter_document *document);

/* Both claim one name, and both were found active: is it `self` that has it? One that was renamed
 * has it before the one that it replaced, else the later one: that could only get the name when the
 * other one had lost it. */
bool rename_outranks(const struct filter_document *self, const struct filter_document *other);

/* Has `self` lost its name to `other`, whose newest document has it, too? To one that is dropped
 * itself: unless `self` was renamed, which may have been after that. */
bool rename_lost(const struct filter_document *self, const struct filter_document *other);

/* May a document of this filter be followed by one with that name, or is it another filter's? */
bool rename_follows(const struct filter_document *older, const struct filter_document *newer);

/* NULL, or what can't be. */
const char *rename_fault(const struct filter_document *document);

#endif
