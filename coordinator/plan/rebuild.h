/* rebuild.h - a filter's keys replaced by a list of the user's, while it serves.
 *
 * A keyset is a stretch of history whose keys count. A rebuild is open while the document names
 * two of them: the one that serves, and behind it the next one. Each step is an epoch of its own:
 *
 *   [old]  -- begin -->  [old, next]  -- commit -->  [next]
 *                                     -- abort  -->  [old]
 *
 * While it is open adds go to both, what is fed goes to the next one only, checks read the old one.
 * Fences make the two promises:
 *
 *   begin   has returned: F members of every slot group have fenced its epoch, so that no add can
 *           be acknowledged any more that is in the old keyset only
 *   commit  has returned: F have fenced its epoch, so that no check is answered from the old
 *           keyset any more
 *
 * A commit is written only where the first holds. An abort takes no fences: all that was ever
 * acknowledged is in the old keyset. No keyset gets a number that another one had, see
 * map/history/keyset.h: what was meant for one that is gone can't get into another.
 *
 * One change at a time: not while the filter is made of a dump, or gets another geometry, and no
 * step while a slot is a pair. That a replica is replaced between the steps is fine: it copies all
 * keysets.
 *
 * Units:   bytes.
 * Errors:  none: verdicts say why not.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_REBUILD_H
#define ORBLOOM_COORDINATOR_PLAN_REBUILD_H

#include "coordinator/plan/evidence.h"
#include "coordinator/plan/expansion.h"
#include "map/history/rebuild.h"

enum rebuild_verdict {
    REBUILD_VERDICT_WRITE,  /* the step may be written now */
    REBUILD_VERDICT_JOINS,  /* just that is written already; its fences may be missing */
    REBUILD_VERDICT_FENCES, /* a commit: those of `begin` are missing yet */
    REBUILD_VERDICT_NOT_ACTIVE,
    REBUILD_VERDICT_NO_KEYLOG,
    REBUILD_VERDICT_IN_MEMORY,
    REBUILD_VERDICT_WINDOW,
    REBUILD_VERDICT_SITES,    /* it is in several: each of them would have to begin */
    REBUILD_VERDICT_LOADS,    /* it is being made of a dump: those keys would be forgotten */
    REBUILD_VERDICT_GROWS,    /* it is on its way to another geometry */
    REBUILD_VERDICT_REPLICAS, /* a slot is a pair */
    REBUILD_VERDICT_NO_ROOM,  /* see `node` */
    REBUILD_VERDICT_NOT_OPEN,
    REBUILD_VERDICT_OTHER, /* the one that is named was committed or aborted; another one is open */
    REBUILD_VERDICT_EMPTY, /* no list has been fed */
    REBUILD_VERDICT_WORN,  /* all 2^32 numbers of keysets are used up */
};

struct rebuild_answer {
    enum rebuild_verdict verdict;
    uint32_t keyset;        /* the one that it is about; 0: none */
    uint32_t node;          /* NO_ROOM: which lacks most */
    uint64_t needed_bytes;  /* NO_ROOM: there, with all else that it holds */
    uint64_t missing_bytes; /* NO_ROOM: there */
};

/* May a rebuild begin? A node holds arrays for both keysets, so it needs the room of its shards
 * once more. Of the view only nodes count. JOINS: one is open. */
struct rebuild_answer rebuild_may_begin(const struct expansion_view *view);

/* May keys be fed into that keyset (0: whichever is open)? WRITE, where rebuild_takes(), or why
 * not. */
struct rebuild_answer rebuild_may_feed(const struct filter_document *document, uint32_t keyset);

/* May it be committed? `evidence`: about the document's epoch, or NULL: none yet. `empty`: even if
 * no list has been fed. JOINS: that keyset serves, by an earlier commit. */
struct rebuild_answer rebuild_may_commit(const struct filter_document *document, uint32_t keyset,
                                         const struct evidence *evidence, bool empty);

struct rebuild_answer rebuild_may_abort(const struct filter_document *document, uint32_t keyset);

/* Have F members of every slot group fenced the document's epoch? */
bool rebuild_fenced(const struct filter_document *document, const struct evidence *evidence);

/* How many fences the group still lacks. */
uint32_t rebuild_fences_missing(const struct filter_document *document,
                                const struct evidence *evidence, uint32_t group);

/* The edits: epoch and revision go up. */
void rebuild_begin(struct filter_document *document, const struct rebuild_answer *answer);
void rebuild_commit(struct filter_document *document);
void rebuild_abort(struct filter_document *document);

/* So many keys of the list have been acknowledged: the revision alone goes up. */
void rebuild_note_fed(struct filter_document *document, uint64_t keys);

#endif
