/* expansion.h - when and how a filter gets another geometry while it serves, or, without a key log,
 * one more generation.
 *
 * With a key log the document names the wanted generation last, those being left before it. Nodes
 * build the wanted one by themselves, from their own logs, when they have a turn; what is decided
 * here is what to want, who has a turn, and when the change is over:
 *
 *   one generation -- expansion_request, expansion_begin --> [left, wanted], turns
 *   [left, wanted] -- expansion_done, expansion_finish --> one generation
 *   [left, wanted] -- expansion_back --> [wanted, left], turns, which ends in the same way
 *
 * This edits the document's revision only, never its epoch: a replica answers for its own
 * set of keys whatever the geometry of its arrays, so quorums meet in every phase, and no router
 * takes part.
 *
 * Nor is the end a matter of safety. A node that is told "only this generation" and still serves
 * another one goes on serving it and builds the wanted one, without a turn; it loses nothing. So a
 * node that is dead does not hold up the end: it builds the wanted generation when it returns. What
 * the turns are for is that few nodes at a time are busy, and never two replicas of one shard.
 *
 * Without a key log nothing can be built anew. So what is full stays as it is, adds go to a new
 * generation, and checks read all of them, which are the filter's chain and part of the epoch:
 *
 *   [1], 1 -- expansion_request, expansion_begin --> [1] 5, 1
 *          -- all that live have room -- expansion_finish --> [1, 5]
 *
 * First the document lists the generation and nodes make its arrays, while the epoch is what it
 * was. Once those stand the chain gets longer, by an edit of the epoch: so no add waits for memory.
 * What was acknowledged before is in older generations, which are read in every later epoch; W
 * replicas have it under one epoch, as ever, and each looks into all that it has.
 *
 * Evidence: what a node says counts for turns and for the end only if it was said with the present
 * revision in hand. An older report may name the same generation and mean another change: after
 * an abort the former geometry is wanted again, and a report of the time before the change
 * would read as "done".
 *
 * Shape:   groups, slots and members as in the document; nodes in any order, one entry a node.
 * Units:   keys, bytes, seconds; rates are probabilities.
 * Errors:  none: verdicts say why not.
 * Owner:   a view borrows everything.
 * Threads: none; pure, time is an argument.
 */
#ifndef ORBLOOM_COORDINATOR_PLAN_EXPANSION_H
#define ORBLOOM_COORDINATOR_PLAN_EXPANSION_H

#include "map/document.h"
#include "map/history/expansion.h"

#include <stddef.h>

/* A node, and the life of it that speaks. */
struct expansion_node {
    uint32_t id;
    uint64_t incarnation;
    const char *host;
    uint64_t limit_bytes; /* of memory */
    uint64_t used_bytes;  /* with all that it is to hold already */
    bool alive;           /* heard of lately, or not yet and may be any moment */
    bool current;         /* its reports were made with this revision of the document in hand */
    bool told;            /* it has answered how many keys it has, asked when the request came */
};

/* What a node says of its replica of one slot group. */
struct expansion_report {
    uint32_t node;
    uint32_t group;
    uint32_t generation;    /* that all its shards are served from, or one of two */
    uint32_t shards_grown;  /* served from the wanted one */
    bool expanding;         /* it has arrays of both */
    bool asked;             /* it was said when asked, not by itself before */
    uint64_t keys;          /* estimate, overflow included */
    uint64_t newest_keys;   /* of a chain: of them, in the generation that adds go to */
    uint64_t overflow_keys; /* of them, beyond what the generation being left may hold */
};

struct expansion_view {
    const struct filter_document *document;
    const struct expansion_node *nodes;
    uint32_t nnodes;
    const struct expansion_report *reports;
    size_t nreports;
};

/* Back to a generation that was left before? Ids rise, so its id is the lower one. */
bool expansion_goes_back(const struct filter_document *document);

/* Distinct keys: of each slot group the most that a replica reports. *known is false when no
 * replica of some group has reported. */
uint64_t expansion_keys(const struct expansion_view *view, bool *known);

/* Those that count when expansion_due() is asked: of a chain, what its last generation has. */
uint64_t expansion_pressing_keys(const struct expansion_view *view);

/* ---- what to want ---- */

/* What may bring the next expansion soon. */
struct expansion_coming {
    double keys_per_s; /* that arrive */
    double duration_s; /* of an expansion: expansion_duration_s() */
};

struct expansion_wish {
    uint64_t capacity;                     /* 0: as it is */
    double rate;                           /* 0: as it is */
    const struct expansion_coming *coming; /* the capacity is to stay with that; NULL: whatever
                                           comes, as when it grows by itself */
};

enum expansion_verdict {
    EXPANSION_VERDICT_BEGIN,   /* `next` is to be wanted; it may be what is being taken back */
    EXPANSION_VERDICT_JOINS,   /* just that is under way */
    EXPANSION_VERDICT_IS_SO,   /* it has that capacity and rate already, nothing is under way */
    EXPANSION_VERDICT_NOTHING, /* neither number is given, and nothing is under way */
    EXPANSION_VERDICT_OUT_OF_RANGE, /* numbers that no filter can have */
    EXPANSION_VERDICT_NOT_ACTIVE,   /* being dropped */
    EXPANSION_VERDICT_NO_KEYLOG,
    EXPANSION_VERDICT_IN_MEMORY,
    EXPANSION_VERDICT_REBUILDS,     /* a rebuild from a list is open */
    EXPANSION_VERDICT_OTHER_RUNS,   /* another change than this one is under way */
    EXPANSION_VERDICT_ABOVE_MAX,    /* more than max_capacity */
    EXPANSION_VERDICT_KEYS_OLD,     /* it would shrink, and `node` has not told how many it has now:
                                    ask it, and then this again */
    EXPANSION_VERDICT_KEYS_UNKNOWN, /* it would shrink, and no replica of a slot group can tell */
    EXPANSION_VERDICT_BELOW_KEYS,   /* it holds more keys than that */
    EXPANSION_VERDICT_GROWS_ON,     /* it would at once grow by itself from there: see `least` */
    EXPANSION_VERDICT_NO_ROOM,      /* see `node` */
    /* of a chain: */
    EXPANSION_VERDICT_CHAIN_SHRINKS, /* less than it is for */
    EXPANSION_VERDICT_CHAIN_RATE,    /* another rate */
    EXPANSION_VERDICT_CHAIN_BACK,    /* taken back */
    EXPANSION_VERDICT_CHAIN_LONG, /* it has as many generations as there may be, or the next one's
                                  rate would be below what arrays are made for */
    EXPANSION_VERDICT_REPLICAS,   /* replicas are being replaced: that goes first */
};

struct expansion_answer {
    enum expansion_verdict verdict;
    struct generation next;
    uint64_t capacity; /* asked for, or as it is */
    double rate;
    uint64_t keys;          /* estimate */
    uint64_t least;         /* GROWS_ON: the smallest capacity that stays */
    uint32_t node;          /* NO_ROOM: which lacks most; KEYS_OLD: one that has not told */
    uint64_t needed_bytes;  /* NO_ROOM: there, at the peak, with all else that it holds */
    uint64_t missing_bytes; /* NO_ROOM: there */
};

/* May the filter be built anew at these numbers, and as what? `seed` is random. The id is the
 * revision that the edit will have: no edit makes two, so none is used again, not even after an
 * abort.
 *
 * Memory: a node builds a shard, serves from it, frees the old one, and so on. With S shards of
 * `new` instead of `old` bytes its peak is above what it holds now by
 *     S max(new - old, 0) + new
 * at most: all shards but the last one are bigger already, and one is there twice. */
struct expansion_answer expansion_request(const struct expansion_view *view,
                                          const struct expansion_wish *wish, uint64_t seed);

/* What expansion_request() said is written into the document: the revision goes up. */
void expansion_begin(struct filter_document *document, const struct expansion_answer *answer);

/* May what is under way be taken back? BEGIN: yes; JOINS: it is being taken back; NOTHING: nothing
 * is under way; BELOW_KEYS: the former capacity is the smaller one, and more keys than that are
 * there already, or some have found no room in the former arrays, see `keys` and `capacity`;
 * KEYS_OLD, KEYS_UNKNOWN: as with a request. */
struct expansion_answer expansion_abort(const struct expansion_view *view);

/* The generation being left is wanted again, and the filter does not grow by itself any more, or it
 * would begin anew at once. Asking for expansion ends that. */
void expansion_back(struct filter_document *document);

/* ---- a chain ---- */

/* The first generation is in the document, made for expansion_chain_next_rate(). */
void expansion_chain_start(struct filter_document *document);

/* Some slot is a pair: the epoch must not be edited for anything else. */
bool expansion_chain_waits(const struct filter_document *document);

/* ---- who builds ---- */

enum { EXPANSION_MAX_HOSTS = 64 };

/* Who may build now: nodes of at most `max_hosts` hosts, and never two that hold replicas of one
 * shard. Whoever has a turn keeps it until it is done, dead or no member; then those whose old
 * arrays are full come first, then the lower ids. With `hold` nobody gets one. Returns how many. */
uint32_t expansion_turns(const struct expansion_view *view, uint32_t max_hosts, bool hold,
                         uint32_t turns[DOCUMENT_MAX_TURNS]);

/* Are these the document's turns, in any order? */
bool expansion_turns_same(const struct filter_document *document, const uint32_t *turns,
                          uint32_t nturns);
void expansion_give_turns(struct filter_document *document, const uint32_t *turns, uint32_t nturns);

/* Do all members that live serve the wanted generation, and at least one of each slot group? */
bool expansion_done(const struct expansion_view *view);

/* Only the wanted generation is left; or the chain has one more. */
void expansion_finish(struct filter_document *document);

/* Do more than half of the nodes that hold it live, as far as is known here? One coordinator of
 * several may hear of few nodes only, and would take those that report to another one for dead. */
bool expansion_sees_most(const struct expansion_view *view);

struct expansion_progress {
    uint64_t grown;    /* shards of replicas, served from the wanted generation ... */
    uint64_t shards;   /* ... of so many */
    uint64_t overflow; /* keys, the most of any node */
};

/* For people: what was said before the change began is known by what it does not say. */
struct expansion_progress expansion_progress(const struct expansion_view *view);

/* ---- by itself ---- */

/* How fast distinct keys arrive, from what is reported from time to time. Zeroed: unknown. */
struct expansion_pace {
    uint64_t at_us; /* of `keys`; 0: none yet */
    uint64_t keys;
    double keys_per_s;  /* smoothed over some ten seconds */
    double burst_per_s; /* ... over a quarter of one */
};

void expansion_pace_note(struct expansion_pace *self, uint64_t now_us, uint64_t keys);

/* Keys a second, were that noted now; nothing is. */
double expansion_pace_with(const struct expansion_pace *self, uint64_t now_us, uint64_t keys);

/* How long to another geometry, all hosts in turn: an estimate on the safe side. */
double expansion_duration_s(const struct expansion_view *view, uint64_t keys, uint32_t max_hosts);

/* Is it time? `keys`: expansion_pressing_keys(). keys + arrival x (duration + margin) >= capacity,
 * but not below half of it, as a filter that is merely loaded fast may stay below its capacity; at
 * 85 % in any case. */
bool expansion_due(const struct filter_document *document, uint64_t keys, double keys_per_s,
                   double duration_s);

/* The smallest capacity from which it would not at once grow by itself: for a little more keys than
 * these and twice that pace, as both are estimates, in three figures; at most max_capacity, where
 * it stays whatever comes. Of a filter with key log that does grow by itself. */
uint64_t expansion_least(const struct filter_document *document, uint64_t keys,
                         const struct expansion_coming *coming);

/* The capacity to grow to by itself: `factor` times what it is, or what it holds if that is more;
 * at most max_capacity. Not above what it is: it can't grow. */
uint64_t expansion_goal(const struct filter_document *document, uint64_t keys, double factor);

/* The same for keys that arrive in a burst, so that no filter grows many times in a row: room for
 * some seconds of them, and as much as arrays of that size hold anyway. */
uint64_t expansion_burst_goal(const struct filter_document *document, uint64_t keys, double factor,
                              double burst_per_s);

#endif
