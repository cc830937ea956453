/* notes.h - what a coordinator remembers of filters, beside their documents; gone with the process.
 *
 * There are kinds of notes, and a filter has at most one of each. A note is opened by whoever has
 * something to remember, and forgotten here, in one place: when the filter is not any more what the
 * kind is about. That is looked at only for notes that are new, and for filters whose documents
 * have come or gone: the others cost nothing.
 *
 * Errors:  NULL where there is no memory for another note.
 * Owner:   notes_fini() frees; a zeroed struct is ready. A note stays where it is until it ends,
 *          and none ends behind the back of who holds it: notes_forget() is for between events.
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_NOTES_H
#define ORBLOOM_COORDINATOR_NOTES_H

#include "coordinator/counts.h"
#include "coordinator/plan/evidence.h"
#include "coordinator/plan/expansion.h"
#include "map/document_cache.h"

#include <stdbool.h>

enum { NOTES_TEXT_BYTES = 512 };

enum note_kind {
    NOTE_FENCING,   /* struct fencing: until the tombstone stands, whoever wrote it */
    NOTE_EXPANDING, /* struct expanding: while it is ACTIVE */
    NOTE_ROTATING,  /* struct rotating: while it is ACTIVE */
    NOTE_EXPIRING,  /* struct expiring: while it is ACTIVE and expires */
    NOTE_LOADING,   /* struct loading: while it is ACTIVE and being loaded */
    NOTE_SITES,     /* struct in_sites: while its document is there and names sites */
    NOTE_KINDS
};

/* What nodes have said about one filter that is being dropped or rebuilt, or whose replicas are
 * replaced. */
struct fencing {
    struct evidence evidence;
    uint64_t next_us; /* when to ask again */
    bool used;        /* a duty has gone by it in this turn */
};

/* What this coordinator has seen of one filter that may grow by itself. */
struct expanding {
    struct expansion_pace pace;
    uint64_t next_us;               /* when to look again whether it is due */
    char refused[NOTES_TEXT_BYTES]; /* due, and can't: why; "": no */
};

/* What this coordinator has heard of the newest slice of one filter with a window. */
struct rotating {
    uint64_t slice;
    bool fenced; /* F of every slot group have fenced an epoch that names it */
    struct node_counts counts;
    uint64_t asked_us; /* how long they have counted; 0: not yet */
    uint64_t tried_us; /* to write the next slice; 0: not yet */
    uint64_t next_us;  /* to ask, or to write, again */
};

/* What this coordinator has heard of the expiry of one filter. */
struct expiring {
    uint64_t number;
    struct node_counts counts;
    uint64_t asked_us;
    uint64_t heard_us; /* when that was asked which the counts answer */
    uint64_t tried_us; /* to write the drop, or what was counted; 0: not yet */
    uint64_t next_us;
};

/* For how long this coordinator has seen a load stand still. */
struct loading {
    uint64_t revision;
    uint64_t next_us; /* it is given up then, unless it moves on; ACTOR_NEVER: it is not */
};

struct note {
    uint64_t filter_id;
    void *about;  /* the struct of its kind */
    bool touched; /* its filter is to be looked at: may it stay? */
};

struct notes_of_kind {
    struct note *items; /* ascending ids */
    size_t count;
    size_t room;
    size_t ntouched;
};

struct notes {
    struct notes_of_kind kinds[NOTE_KINDS];
};

/* NULL: there is none. */
void *notes_find(const struct notes *self, enum note_kind kind, uint64_t filter_id);

/* Found, or begun, all zero. NULL: out of memory. */
void *notes_open(struct notes *self, enum note_kind kind, uint64_t filter_id);

/* There may be none. */
void notes_end(struct notes *self, enum note_kind kind, uint64_t filter_id);

/* All of one kind, by ascending ids, at 0 up to the count. */
size_t notes_count(const struct notes *self, enum note_kind kind);
const struct note *notes_at(const struct notes *self, enum note_kind kind, size_t at);

/* When the first of them is to be looked at, without any news; ACTOR_NEVER: none is. */
uint64_t notes_next_us(const struct notes *self, enum note_kind kind);

/* The filter's document has come, or is about to go: notes_forget() is to look at its notes. */
void notes_touch(struct notes *self, uint64_t filter_id);

/* ... of all filters: nobody told whose. */
void notes_touch_all(struct notes *self);

/* Forget those whose filters are gone, or are not what the notes are about any more. */
void notes_forget(struct notes *self, const struct document_cache *documents);

void notes_fini(struct notes *self);

#endif
