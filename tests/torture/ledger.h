/* ledger.h - which keys have been acknowledged, of each filter that there is.
 *
 * Keys are numbered from 0 in each filter, and one bit a key says that its add was acknowledged.
 * Numbers are handed out in batches; a key that nobody acknowledged is not known to be there or
 * not, so nothing is said about it. Numbers with the highest bit set are never added.
 *
 * Owner:   a filter that was taken must be put back; it stays as it is until then.
 * Threads: any.
 */
#ifndef ORBLOOM_TESTS_TORTURE_LEDGER_H
#define ORBLOOM_TESTS_TORTURE_LEDGER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    LEDGER_MAX_FILTERS = 8,
    LEDGER_NAME_BYTES = 32,
    LEDGER_BATCH = 1024, /* keys handed out at a time */
    LEDGER_KEY_BYTES = 16,
};

#define LEDGER_NEVER (UINT64_C(1) << 63) /* numbers of keys that are never added */

struct ledger_filter {
    char name[LEDGER_NAME_BYTES];
    bool used;
    bool open;   /* there are threads at work on it */
    bool adding; /* numbers are handed out */
    bool grows;  /* by itself: FULL may be answered for a while */
    uint32_t users;
    _Atomic uint64_t rests_ms;      /* nothing is handed out before this, as it was FULL */
    _Atomic uint64_t full_since_ms; /* no add was acknowledged since; 0: it is not full */
    _Atomic uint32_t state;         /* an enum tally_state, as last seen */
    uint64_t wanted;                /* generation on its way, as last seen; 0: none */
    uint64_t wanted_ms;             /* since when */
    uint64_t keys;                  /* numbers below this are handed out, then it is full */
    _Atomic uint64_t next;          /* the next number */
    _Atomic uint64_t acked;
    _Atomic uint64_t *bits; /* of every number: acknowledged */
};

struct ledger {
    pthread_mutex_t lock;
    struct ledger_filter filters[LEDGER_MAX_FILTERS];
    _Atomic uint64_t acked; /* of all filters, those dropped included */
};

void ledger_init(struct ledger *self);
void ledger_fini(struct ledger *self);

/* A filter that exists now and has no keys; NULL: no memory, or too many. */
struct ledger_filter *ledger_open(struct ledger *self, const char *name, uint64_t keys, bool adding,
                                  bool grows);

/* Nobody takes it from here on; true once nobody has it any more. */
bool ledger_shut(struct ledger *self, struct ledger_filter *filter);
void ledger_forget(struct ledger *self, struct ledger_filter *filter);

/* A batch to add: *first is its first number. NULL: nothing is to be added. */
struct ledger_filter *ledger_take_batch(struct ledger *self, uint64_t *random, uint64_t *first);

/* Some filter with acknowledged keys; NULL: there is none. */
struct ledger_filter *ledger_take(struct ledger *self, uint64_t *random);

/* Filter number `index` of those that are open; NULL: there are fewer. */
struct ledger_filter *ledger_take_nth(struct ledger *self, uint32_t index);

/* One more user of a filter that the caller has taken, or that nobody else will shut. */
void ledger_share(struct ledger *self, struct ledger_filter *filter);
void ledger_put(struct ledger *self, struct ledger_filter *filter);

/* These of the 64 keys from number 64 * word on are acknowledged. */
void ledger_acknowledge(struct ledger *self, struct ledger_filter *filter, uint64_t word,
                        uint64_t bits);

/* An add was refused as FULL. */
void ledger_rest(struct ledger_filter *filter, uint64_t now_ms);

/* A filter's wanted generation (0: there is one only) and state, as seen now. How long it has been
 * on its way to that one; *done: it came to its end. */
uint64_t ledger_see(struct ledger *self, const char *name, uint64_t wanted, uint32_t state,
                    bool *done);

/* Put up to `room` acknowledged numbers into `out`: those of a word at random; those at or
 * behind *from, which moves on; those below *from, which moves back. */
uint32_t ledger_random(const struct ledger_filter *filter, uint64_t *random, uint64_t *out,
                       uint32_t room);
uint32_t ledger_ascend(const struct ledger_filter *filter, uint64_t *from, uint64_t *out,
                       uint32_t room);
uint32_t ledger_descend(const struct ledger_filter *filter, uint64_t *from, uint64_t *out,
                        uint32_t room);

/* The key of a number: 16 hexadecimal digits. */
void ledger_key(uint64_t number, char key[LEDGER_KEY_BYTES]);

#endif
