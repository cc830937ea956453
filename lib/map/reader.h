/* reader.h - since when the reader of each slot is read.
 *
 * A member that becomes the reader of a slot brings keys along that it has copied, and that no
 * router sent it: who follows its log from an older position lacks them. So a slot names the epoch
 * since which its reader is read, without interruption as far as is known. It is written at every
 * edit that changes the reader, and stays as it is at every other one, also when the reader becomes
 * the slot's only member.
 *
 * A filter that goes on from a backup, or from what nodes hold, may have had other readers in
 * between: there every slot begins anew.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_READER_H
#define ORBLOOM_MAP_READER_H

#include "map/document.h"

/* After an edit of a slot; `epoch`: the one that the edit makes. */
void reader_note(const struct slot *before, uint64_t epoch, struct slot *slot);

/* Every reader is read since the document's epoch: at create, and when the document goes on from a
 * copy that may be old. */
void reader_note_all(struct filter_document *document);

/* NULL, or what is wrong. */
const char *reader_fault(const struct filter_document *document);

#endif
