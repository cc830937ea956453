/* tally.h - what has been counted, and what must end the torture: a lost key, a stuck cluster.
 *
 * Threads: any.
 */
#ifndef ORBLOOM_TESTS_TORTURE_TALLY_H
#define ORBLOOM_TESTS_TORTURE_TALLY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of a filter, when absent keys were asked for. */
enum tally_state {
    TALLY_STILL,   /* one generation */
    TALLY_GROWING, /* two */
    TALLY_VALVE,   /* two, and keys in the new one alone somewhere */
    TALLY_MOVING,  /* one, while replicas are moved */
    TALLY_STATES
};

/* Steps of the cluster key's replacement, each until all processes have it. */
enum tally_rotation {
    TALLY_NO_ROTATION,
    TALLY_ADD,     /* a key is added */
    TALLY_RENEW,   /* the torture's credential is renewed */
    TALLY_PROMOTE, /* the key is to sign and serve */
    TALLY_SIGN,    /* records are signed anew, and nodes get them */
    TALLY_RETIRE,  /* the former key goes */
    TALLY_ROTATION_STEPS
};

enum { TALLY_MAX_LOSSES = 32, TALLY_REASON_BYTES = 256, TALLY_FILTER_BYTES = 32 };

/* One answer "absent" about a key that was acknowledged. */
struct tally_loss {
    char filter[TALLY_FILTER_BYTES];
    uint64_t number;
    uint32_t slots; /* asked; 0: all */
    char router[64];
};

struct tally {
    _Atomic uint64_t unacknowledged; /* keys whose add was not answered */
    _Atomic uint64_t read_back;      /* answers "present" about acknowledged keys */
    _Atomic uint64_t unsure;         /* sets of replicas with one that could not answer */
    _Atomic uint64_t again;          /* keys asked again, as nobody could answer at first */
    struct {
        _Atomic uint64_t asked;   /* keys that were never added ... */
        _Atomic uint64_t present; /* ... and are called present */
    } never[TALLY_STATES];
    _Atomic uint64_t full;       /* keys refused by filters that were growing */
    _Atomic uint64_t expansions; /* that came to their end, back and forth */
    _Atomic uint64_t aborts;
    _Atomic uint64_t chains;     /* of them, of filters without a log of keys */
    _Atomic uint64_t slices;     /* of windows, that began */
    _Atomic uint64_t rebalances; /* that came to their end */
    _Atomic uint64_t expired;    /* answers "absent" that came when a window was over */
    _Atomic uint64_t drains;     /* after which a node had nothing left */
    _Atomic uint64_t replacements;
    _Atomic uint64_t rotations;                             /* of the cluster key, to their end, */
    _Atomic uint64_t rotation_faults[TALLY_ROTATION_STEPS]; /* ... faults begun in each step, */
    _Atomic uint64_t renewals;                              /* ... credentials written anew */
    _Atomic uint64_t lost;
    _Atomic uint64_t passes; /* read-backs completed */
    _Atomic bool failed;     /* end as soon as possible */

    pthread_mutex_t lock;
    struct tally_loss losses[TALLY_MAX_LOSSES];
    uint32_t nlosses;
    char reason[TALLY_REASON_BYTES]; /* the first one */
};

void tally_init(struct tally *self);

/* An acknowledged key was called absent. */
void tally_lose(struct tally *self, const struct tally_loss *loss);

/* Who has a good credential was taken for a stranger, or for somebody without the right to it. */
void tally_refused(struct tally *self, const char *what, const char *message);

/* Something else must end the torture. */
void tally_fail(struct tally *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
