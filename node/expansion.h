/* expansion.h - private to node/: a node's part of an expansion, from its own log while it serves.
 *
 *   expansion.c        which set does what next (array/expansion_plan.h decides)
 *   expansion_span.c   a span of shards: stands, is filled from the log, checked, weighed, serves;
 *                      it knows nothing of the former
 *
 * Pages of new arrays come from a thread of their own (JOB_MEMORY), as the first touch of one may
 * take milliseconds. One span at a time a node, in slices of less than a millisecond between
 * requests, at most growth_rate keys a second, less what requests take
 * (array/expansion_throttle.h).
 *
 * Why no key is lost: from `cut` on, a position of the log, every add of the span's shards goes to
 * both arrays; what the log has below `cut` is read back, which waits until it is written, so that
 * adds still on their way are among it. Then all of it is looked up in the new arrays, and only
 * then do they serve.
 *
 * Threads: the actor's.
 */
#ifndef ORBLOOM_NODE_EXPANSION_H
#define ORBLOOM_NODE_EXPANSION_H

#include "map/document_cache.h"
#include "node/array/expansion_plan.h"
#include "node/array/expansion_throttle.h"
#include "node/store/storage.h"

struct document_entry;
struct node;
struct arrays;

/* Fingerprints that were read, and are to be worked on. */
struct expansion_stretch {
    uint64_t *keys;
    size_t count;
    size_t capacity;
};

#define EXPANSION_ANY_GROUP UINT32_MAX

/* Pages of a new array that are had aside, so that requests do not wait for them. */
struct expansion_pages {
    struct job job;
    struct node *node;
    void *pages; /* perhaps given back by the time that it runs: then nothing comes of it */
    uint64_t bytes;
    bool coming;
};

struct node_expansion {
    bool due;           /* something may be left to do */
    uint64_t resume_us; /* nothing before; 0: at once */
    struct expansion_throttle throttle;

    enum expansion_phase phase; /* of the span under way: */
    uint64_t filter_id;
    uint64_t hosting;
    uint32_t first; /* its shards: from .. to before `end`, those hosted and not served yet */
    uint32_t end;
    uint32_t at;     /* the next one to be weighed, or to serve */
    unsigned wrongs; /* how often it was found wrong */
    struct expansion_pages pages;
    uint64_t cut;
    uint64_t merged; /* the lowest that a stretch of the runs told */

    struct storage_read read;
    bool reading;
    uint64_t pass;      /* of reading, each has a number, */
    uint64_t read_pass; /* ... and answers to an earlier one are of no use */
    uint64_t from;      /* where it goes on to be read */
    bool read_all;
    struct expansion_stretch current;
    size_t taken; /* of it, worked on already */
    struct expansion_stretch coming;
};

/* expansion.c: work for one turn; true: more is left that can be done now. */
bool node_grow(struct node *self, uint64_t now_us);
uint64_t node_expansion_next_us(const struct node *self);

/* Something that decides what is to be done has changed. */
void node_expansion_stir(struct node *self);

/* The group has nearly as many keys as what serves it is for, and the wanted generation is for
 * more: arrays of that are to stand before they are needed, whoever's turn it is. */
bool node_expansion_presses(const struct arrays *set, const struct filter_document *document,
                            uint32_t number);

/* expansion_span.c: frees what was read; it may go on after that. */
void node_expansion_fini(struct node *self);

/* Memory that the limit leaves. */
uint64_t node_expansion_room(const struct node *self);

/* The entry's set whose span is under way; NULL: another filter's, or it has gone. */
struct arrays *node_expansion_set(const struct node *self, const struct document_entry *entry);

enum { NODE_SLICE_BYTES = 32 };

/* ", slice 7": which of a window's sets, for a log line; "" of a filter without one. */
const char *node_expansion_slice(const struct arrays *set, char text[NODE_SLICE_BYTES]);

/* Keep the account of memory: `before` was set->bytes. */
void node_expansion_account(struct node *self, const struct arrays *set, uint64_t before);

/* A span of one of the entry's sets, which has two layers, begins, and goes on; true: more can be
 * done at once. */
void node_span_begin(struct node *self, struct document_entry *entry, const struct arrays *set);
bool node_span_step(struct node *self, uint64_t now_us, struct document_entry *entry);

/* Nothing comes of it. Its new arrays go unless a valve is open; `set` NULL: they have gone. */
void node_span_end(struct node *self, struct arrays *set);

/* Bytes of new arrays that the next span takes at least. */
uint64_t node_span_bytes(const struct arrays *set);

/* Touch a slice of the array of the first shard of `first` to before `end` that has no new one,
 * in one group or in all (EXPANSION_ANY_GROUP). STAND_LATER: its pages are coming. */
enum expansion_stand { STAND_ALL, STAND_SOME, STAND_LATER, STAND_NO_ROOM };

enum expansion_stand node_span_stand(struct node *self, const struct filter_document *document,
                                     struct arrays *set, uint32_t first, uint32_t end,
                                     uint32_t group);

#endif
