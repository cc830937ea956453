/* sim_oracle.h - what must hold of every answer, whatever happened to the cluster.
 *
 * It is told what clients and the operator began and what they were answered, and nothing else
 * of the run but how many FULL replicas there were: it knows the promises, not the code.
 *
 * A name has bindings one after the other, from the start of a create to the confirmed end of a
 * drop. An operation may have been served by every binding that existed while it ran; most often
 * that is one. Promises, each answered key:
 *
 *   P1        a check does not say "absent" of a key that was promised, before it began, in every
 *             binding and keyset that can have answered (sim_keyset.h): acknowledged, that is
 *   P3        "absent" takes R FULL replicas that run; no answer comes from no binding
 *   inherit   "present" takes an add of that key, in a binding that can have answered
 *   NEW       at most one add of a key is NEW, and none after an acknowledged one
 *   PRESENT   takes another add of the key; never the add's own first attempt
 *   FULL      takes as many keys as the filter was ever asked to have room for
 *   end       every operation ends once, by its deadline; OK means every key is decided
 *
 * The smallest array has a page a shard, which is large for few keys whatever the filter's
 * capacity, so false positives do not occur.
 *
 * Owner:   sim_oracle_fini() frees the history.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_ORACLE_H
#define ORBLOOM_TESTS_SIM_ORACLE_H

#include "client/session.h"
#include "tests/sim/sim_keyset.h"
#include "tests/sim/sim_view.h"

enum { SIM_MAX_BINDINGS = 24, SIM_MAX_BATCH = 64 };

struct sim_process;

/* What the state of the cluster demands of an operation's end, beside the promises. */
enum sim_expectation {
    SIM_EXPECT_NOTHING = 0,
    SIM_EXPECT_SUCCESS,      /* enough FULL replicas, and no fault touches it */
    SIM_EXPECT_NO_CERTAINTY, /* too few FULL replicas: no key absent, none acknowledged */
};

/* One operation of a client, from its start to its answer. */
struct sim_op {
    bool used;
    struct sim_process *client;
    uint64_t serial;
    enum operation operation;
    uint32_t name;
    uint32_t keyset; /* of a feed; 0: whichever does not serve yet */
    bool minority;   /* a replica answers from what is gone: see sim_keysets_minority() */
    uint32_t count;
    uint32_t keys[SIM_MAX_BATCH];
    uint32_t adds[SIM_MAX_BATCH]; /* the history's record of each key's add */
    uint64_t begun_us;
    uint64_t deadline_us;
    enum sim_expectation expect;
};

struct sim_binding {
    uint64_t filter_id; /* 0: not seen yet */
    uint64_t create_us; /* the create was begun */
    uint64_t live_us;   /* it was confirmed; SIM_OPEN: not yet */
    uint64_t drop_us;   /* the drop was begun; SIM_OPEN: not yet */
    uint64_t gone_us;   /* it was confirmed; SIM_OPEN: not yet */
    bool left;          /* its filter has another name by now, and goes on under that */
    bool renamed;       /* it had another name before, where its keysets are owned */
    bool replaces;      /* ... and took this one from the binding before: no time between */
    struct sim_keysets *keysets;
};

/* An add of one key, for the questions "who else?"; or a feed. */
struct sim_add {
    uint32_t next; /* of the same name and key; 0: none */
    uint64_t serial;
    uint64_t begun_us;
    uint64_t ended_us; /* nothing of it is carried out any more, in the filter that it names */
    uint64_t over_us;  /* nothing of it is wanted any more: no later filter is meant */
    uint32_t lagging; /* bindings, a bit each, that a router and a node took for live after they had
                         gone: when it began */
    bool fed;
    uint32_t keyset; /* ... into this one; 0: whichever did not serve */
};

struct sim_name_history {
    uint32_t nbindings;
    struct sim_binding bindings[SIM_MAX_BINDINGS];
    uint32_t first_add[SIM_MAX_KEYS];
    uint32_t ntried; /* keys that somebody began to add */
};

struct sim_oracle {
    struct sim_name_history names[SIM_MAX_NAMES];
    struct sim_add *adds; /* [0] is unused */
    size_t nadds;
    size_t capacity;
    uint64_t answers;
};

void sim_oracle_init(struct sim_oracle *self);
void sim_oracle_fini(struct sim_oracle *self);

void sim_oracle_create_begins(struct sim *sim, uint32_t name);
void sim_oracle_create_ends(struct sim *sim, uint32_t name);
void sim_oracle_drop_begins(struct sim *sim, uint32_t name);
void sim_oracle_drop_ends(struct sim *sim, uint32_t name);
void sim_oracle_drop_given_up(struct sim *sim, uint32_t name); /* nothing of it was done */

/* The filter that is called `from` gets the name `to`. What has that one is dropped, if it lives.
 * From begin to end either name may still mean what it meant before. */
void sim_oracle_rename_begins(struct sim *sim, uint32_t from, uint32_t to);
void sim_oracle_rename_ends(struct sim *sim, uint32_t from, uint32_t to);

/* The bindings, a bit each, of the filter that has those keysets: several after renames. */
uint32_t sim_oracle_bindings_of(const struct sim_name_history *history,
                                const struct sim_keysets *keysets);

/* The newest binding; NULL before the first. */
struct sim_binding *sim_oracle_newest(struct sim *sim, uint32_t name);

/* The bindings, a bit each, that can have served what ran from `begun_us` to `ended_us`. */
uint32_t sim_oracle_candidates(const struct sim_name_history *history, uint64_t begun_us,
                               uint64_t ended_us);

/* ... and those whose filters what was added may be in: none that was bound after the operation had
 * ended. By a router that has not heard of a rename an add still comes to the nodes that have not
 * either: too few to acknowledge it. */
uint32_t sim_oracle_entered(const struct sim_name_history *history, const struct sim_add *add);

void sim_oracle_op_begins(struct sim *sim, struct sim_op *op);
void sim_oracle_op_ends(struct sim *sim, const struct sim_op *op,
                        const struct session_result *result);

/* Keys of the name that somebody began to add. */
uint32_t sim_oracle_tried(const struct sim *sim, uint32_t name);

/* Is the key promised in that keyset of the newest binding? 0: in the one that serves. */
bool sim_oracle_acked(struct sim *sim, uint32_t name, uint32_t keyset, uint32_t key);

/* May anybody have put the key into it? */
bool sim_oracle_may_have(struct sim *sim, uint32_t name, uint32_t keyset, uint32_t key);

#endif
