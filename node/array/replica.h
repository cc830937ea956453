/* replica.h - what a node holds of one filter: the arrays of its shards, and their state.
 *
 * A set of arrays is built from a document in slices: shard by shard the array is allocated and
 * faulted in, so that no request waits for the kernel's zeroing; then it is filled from the log.
 * Until its arrays cover the whole log a slot group is BUILDING. Groups that are added later are
 * made in the same way, while those that were there go on. Only where a filter that serves gets one
 * more set, which is empty, requests would rather wait for single pages than for all of them: such
 * a set is ready at once.
 *
 * Errors:  STATUS_NO_SPACE when the node's limit does not suffice; STATUS_NOMEM.
 * Owner:   arrays_create()'s caller calls arrays_destroy().
 * Threads: none; plain stores, one thread.
 */
#ifndef ORBLOOM_NODE_ARRAY_REPLICA_H
#define ORBLOOM_NODE_ARRAY_REPLICA_H

#include "map/document.h"
#include "node/array/expansion_plan.h"
#include "node/array/layer.h"
#include "node/array/probe_tally.h"
#include "node/base/fence.h"
#include "proto/codec.h"

#include <stdbool.h>

enum { REPLICA_LAYERS = 2 };

struct expansion_layers;

struct replica_group {
    bool hosted;
    bool full;              /* the slot names this very incarnation */
    bool stands;            /* its arrays cover the log, while those of other groups are made */
    uint32_t nshards;       /* of the group */
    uint64_t keys;          /* adds accepted that were new here */
    uint64_t keys_capacity; /* no more new keys than this */
    uint32_t fill_told;     /* how full it was when coordinators were told of that, in eighths */
    uint64_t complete;      /* JOINING: everything that a SYNC under this epoch asks for is in the
                               log, durably, and in the arrays; 0: of none */
    double copied;          /* JOINING: how much of it is here, 0 to 1 */
    struct probe_tally probed; /* of the filter's first set: by what checks meet here */
};

struct arrays {
    struct arrays *next; /* of the same filter: see hosted.h */
    uint32_t keyset;
    uint64_t slice;
    bool read;        /* by checks */
    bool written;     /* by adds that name no keyset */
    bool chained;     /* by a chain: what its older generations have stays there for good */
    uint64_t hosting; /* tells these arrays from those before */
    uint64_t expansion_refused; /* revision of the document under which arrays were built in vain */
    enum expansion_move expansion_said;   /* why nothing grows, as far as it was said */
    struct layer *layers[REPLICA_LAYERS]; /* the first serves alone, unless there are more */
    uint32_t nlayers;
    uint64_t mixed_keys; /* it takes no more while others may be in another generation:
                            map/history/expansion_mix.h; of all shards */
    struct expansion_layers
        *expansion; /* NULL unless there are two layers: see expansion_layers.h */
    uint64_t bytes; /* of all arrays that take memory, or will as soon as they are built */
    uint32_t nshards;
    struct replica_group *groups;
    uint32_t ngroups;
    uint32_t built_shards; /* shards below this one are ready */
    uint64_t built_bytes;  /* of the shard being built */
    bool uncounted;        /* they have pages of an imprint, and not yet the count of its keys */
    bool loaded;           /* the arrays cover the whole log */
    bool runs_read;        /* ... but for what it has at and above `runs_to`: that is read for all
                              filters at once */
    uint64_t runs_to;
    bool unawaited;     /* begun empty while the filter serves: it takes keys before its arrays
                           stand, page by page */
    bool strays;        /* bits may be set of adds that were refused after all, and not logged */
    bool doubted;       /* the log may lack what was accepted: FULL groups are BUILDING until it
                           has caught up with the others */
    double loaded_part; /* how much of it they cover, 0 to 1 */
};

/* Arrays of that generation. Nothing hosted here gives *out = NULL and STATUS_OK. `room_bytes`:
 * what the limit leaves. */
MUST_USE enum status arrays_create(const struct filter_document *document,
                                   const struct generation *generation, uint32_t node,
                                   uint64_t incarnation, uint64_t room_bytes, struct arrays **out);
void arrays_destroy(struct arrays **set);

/* The layer that serves, or is being left. */
static inline struct layer *arrays_base(const struct arrays *self)
{
    return self->layers[0];
}

/* How many keys `nshards` of its shards may hold in that layer, under the document as it is. */
static inline uint64_t arrays_room(const struct arrays *self, const struct layer *layer,
                                   uint32_t nshards)
{
    uint64_t capacity = layer->generation.capacity;

    return layer_share(capacity < self->mixed_keys ? capacity : self->mixed_keys, nshards,
                       self->nshards);
}

/* The bits of a fingerprint of a hosted shard are set, where checks look for them. */
bool arrays_has(const struct arrays *self, uint64_t fingerprint);

/* Which groups are FULL may change with the document, or the node's incarnation. Of groups that are
 * not hosted here any more the memory is given back; the others are not touched. False: no group is
 * left, or some come while the set grows or is to grow, or go while it grows: it must be made anew.
 */
MUST_USE bool arrays_follow(struct arrays *self, const struct filter_document *document,
                            uint32_t node, uint64_t incarnation);

/* Memory of the groups that the document gives to the node and that are not hosted here. */
uint64_t arrays_lacks_bytes(const struct arrays *self, const struct filter_document *document,
                            uint32_t node);

/* Host them, too, after arrays_follow(): their arrays are to be built and, unless `empty`,
 * filled from the log. Groups that were being made are begun anew with them, the others go on. On
 * an error nothing has changed. */
MUST_USE enum status arrays_gain(struct arrays *self, const struct filter_document *document,
                                 uint32_t node, bool empty);

/* Are they all of shards of that group? A wrong fingerprint would touch an array that is not
 * here. */
bool arrays_belongs(const struct arrays *self, const struct filter_document *document,
                    uint32_t group, const uint64_t *fingerprints, size_t count);

/* Set the bits of fingerprints that the log holds; those of groups not hosted here are left out.
 * Not bound by the capacity: what was accepted stays. */
void arrays_fill(struct arrays *self, const struct filter_document *document,
                 const uint64_t *fingerprints, size_t count);

/* The same while the log is read back: only those of groups that do not cover it yet, as the others
 * have them, and may be at another count by now. */
void arrays_refill(struct arrays *self, const struct filter_document *document,
                   const uint64_t *fingerprints, size_t count);

/* Set the bits that a page of a shard had elsewhere; the keys that it had, too, are estimated from
 * them. Nothing where the shard is not hosted here. `bytes`: lines_page_bytes() of them. */
void arrays_merge_page(struct arrays *self, const struct filter_document *document, uint32_t shard,
                       uint64_t page, const uint8_t *bytes);

/* The same, and nothing is counted: whoever has the pages has the count, too. */
void arrays_copy_page(struct arrays *self, uint32_t shard, uint64_t page, const uint8_t *bytes);

/* Are all these bits of a page set by what is in the log? */
bool arrays_has_page(const struct arrays *self, uint32_t shard, uint64_t page,
                     const uint8_t *bytes);

/* Is there room for those of a hosted group's fingerprints that are new here? */
bool arrays_fits(const struct arrays *self, uint32_t group, const uint64_t *fingerprints,
                 uint32_t count);

/* Build at most `slice_bytes` more; true while more is left. STATUS_NOMEM shows as no progress
 * and is tried again. */
bool arrays_build(struct arrays *self, const struct filter_document *document,
                  uint64_t slice_bytes);

bool arrays_hosts(const struct arrays *self, uint32_t group);

/* The arrays stand. */
static inline bool arrays_built(const struct arrays *self)
{
    return self->built_shards == self->nshards;
}

/* They stand, or are not waited for, and cover the log. */
static inline bool arrays_ready(const struct arrays *self)
{
    return self->loaded && (self->unawaited || arrays_built(self));
}

/* The group's arrays do, whatever those of others. */
bool arrays_covers(const struct arrays *self, uint32_t group);

/* Does any? */
bool arrays_covers_any(const struct arrays *self);

/* State of a slot group; `self` may be NULL: not hosted. */
enum replica_state arrays_state(const struct arrays *self, uint32_t group);

/* Does the slot name this incarnation, and do the arrays cover the log? A group in doubt does, and
 * does not count yet. */
bool arrays_holds(const struct arrays *self, uint32_t group);

/* What is there, wherever it is looked for. Plane: ceil(count / 64) words. */
void arrays_check(const struct arrays *self, const uint64_t *fingerprints, uint32_t count,
                  uint64_t *present);

/* Fingerprints of one hosted group: `present`: were there; `accepted`: were, or are now. True: some
 * were refused, as the replica is full. */
bool arrays_add(struct arrays *self, uint32_t group, const uint64_t *fingerprints, uint32_t count,
                uint64_t *present, uint64_t *accepted);

/* Will all of so many keys be accepted, whichever? */
bool arrays_has_room(const struct arrays *self, uint32_t group, uint32_t count);

/* Would this one be? */
bool arrays_takes(const struct arrays *self, uint32_t group, uint64_t fingerprint);

/* Turn "bits were set" and "was accepted" into the planes of a vote, in place. */
void replica_vote(uint32_t count, bool full, uint64_t *present, uint64_t *accepted);

/* Execute one subrequest's fingerprints. Planes: ceil(count / 64) words each, see quorum.h.
 * OK · NOT_READY · INVALID (a fingerprint of another slot group); nothing is written unless OK.
 * *at_capacity: some keys of an add were new and not accepted, as the replica is full. */
MUST_USE enum status arrays_execute(struct arrays *self, const struct filter_document *document,
                                    const struct subrequest *subrequest,
                                    const uint64_t *fingerprints, uint64_t *present,
                                    uint64_t *absent, bool *at_capacity);

/* What others had has taken the arrays being left past their capacity, so that they call nearly
 * everything present: until the wanted ones serve the replica is of no use to checks. */
bool arrays_await_expansion(const struct arrays *self, const struct filter_document *document,
                            uint32_t group);

/* Fill the report of a group. `sample_lines`: how many lines may be looked at for the
 * estimate of keys; of more than that the count of new adds is reported. */
void arrays_report(const struct arrays *self, const struct filter_document *document,
                   uint32_t group, uint64_t sample_lines, struct replica_report *report);

#endif
