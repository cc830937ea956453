/* hosted.h - what a node keeps for one filter's document: its sets, and where it stands.
 *
 * A set is the keys of one (keyset, slice), with arrays of its own. The first one is the newest
 * of the serving keyset and nearly always the only one; while a list is rebuilt from, the new
 * keyset's follows it, and of a window the older slices do. A check looks into every set that is
 * read, an add goes into every one that is written: in all of them, or in none. Of a window the
 * arrays of the slice to come stand ready, the last of all.
 *
 * Invariant: the sets of one filter have the same shards and slot groups here, and the same state
 * of those; `complete` and `copied` of a group are those of the first set.
 *
 * Of a chain of generations each has a set, the newest first. What an older one has stays there for
 * good, and is read there: it does not go into the newest one again, or a chain would be filled
 * with the same keys over and over. Bits that no log has are no reason to leave a key out.
 *
 * Errors:  as said.
 * Owner:   hosted_filter_destroy().
 * Threads: none.
 */
#ifndef ORBLOOM_NODE_ARRAY_HOSTED_H
#define ORBLOOM_NODE_ARRAY_HOSTED_H

#include "node/array/replica.h"
#include "node/store/storage.h"

struct filter_pulls;

struct hosted_filter {
    struct fence fence;
    struct arrays *set;         /* the first; NULL: nothing hosted here, or no room */
    bool lacks_read;            /* there was no room for a set that checks read, */
    bool lacks_written;         /* ... or that adds go to, */
    bool lacks_ahead;           /* ... or that a chain is to be longer by */
    bool lacks_groups;          /* ... for some slot groups, in any of the sets */
    bool unbuilt;               /* some arrays are not made, or filled, yet */
    uint64_t hosting;           /* tells these sets from those before */
    bool refused;               /* no room: said once */
    uint64_t fence_end;         /* where the fence's record ends in the log */
    uint64_t logged_revision;   /* of the document that the log has */
    bool unlogged;              /* the document or fence is not in the log: nothing is answered */
    bool doubted;               /* not all that was accepted may be here: see sync/catch_up.c */
    uint64_t heard_us;          /* when it last caught up a little; 0: it has not begun to */
    uint64_t caught_up;         /* where the log ended when it had, after that; 0: it had not to */
    struct filter_pulls *pulls; /* what is taken over from other nodes; NULL: nothing */
    uint64_t loss_epoch;        /* of the last loss accepted in a group hosted here that was told */
    bool joined;                /* its replicas have been completed: compare them soon */
    uint64_t counted_slice;     /* of a window, and since when; 0: none */
    uint64_t counted_since_us;
    uint64_t expiry; /* that is counted, since when, and from what on; 0: none */
    uint64_t expiry_since_us;
    uint64_t expiry_base_us;
    uint32_t probed_group; /* the one after it is probed next: see probe.h */
};

/* NULL: not here. `self` may be NULL. */
struct arrays *hosted_find(const struct hosted_filter *self, uint32_t keyset, uint64_t slice);

/* The one that a storage set, or a scope, names. */
struct arrays *hosted_find_hosting(const struct hosted_filter *self, uint64_t hosting);
struct storage_set hosted_storage_set(const struct filter_document *document,
                                      const struct arrays *set);

/* One that the document names; else it stands ready for the next slice. */
static inline bool hosted_is_live(const struct arrays *set)
{
    return set->read || set->written;
}

/* Do checks look into it? */
bool hosted_is_looked_at(const struct arrays *set);

/* Is every set that the document names here, its arrays covering the log? */
bool hosted_ready(const struct hosted_filter *self);

/* Of a slot group, all sets together: it counts when all do. */
enum replica_state hosted_state(const struct hosted_filter *self, uint32_t group);

/* ... those that this subrequest is about. */
enum replica_state hosted_state_for(const struct hosted_filter *self,
                                    const struct subrequest *subrequest);

/* Execute a subrequest: as arrays_execute(), on every set that it is about. INVALID, too: the
 * document does not have its keyset. */
MUST_USE enum status hosted_execute(struct hosted_filter *self,
                                    const struct filter_document *document,
                                    const struct subrequest *subrequest,
                                    const uint64_t *fingerprints, uint64_t *present,
                                    uint64_t *absent, bool *at_capacity);

/* Does an add of that subrequest go into the set? */
bool hosted_is_target(const struct arrays *set, const struct subrequest *subrequest);

/* As arrays_fill(), but for what older generations of the set's chain have. */
void hosted_fill(struct arrays *set, const struct filter_document *document,
                 const uint64_t *fingerprints, size_t count);

/* As arrays_refill(), likewise. */
void hosted_refill(struct arrays *set, const struct filter_document *document,
                   const uint64_t *fingerprints, size_t count);

/* As arrays_fits(), likewise. */
bool hosted_fits(const struct arrays *set, uint32_t group, const uint64_t *fingerprints,
                 uint32_t count);

/* The report of a group, of all sets together: memory is added up, keys are those of the keyset
 * that has most, and the least advanced set tells the rest. Else as arrays_report(). */
void hosted_report(const struct hosted_filter *self, const struct filter_document *document,
                   uint32_t group, uint64_t sample_lines, struct replica_report *report);

#endif
