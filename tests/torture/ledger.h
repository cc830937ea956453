/* ledger.h - which keys have been acknowledged, of each filter that there is.
 *
 * Keys are numbered from 0 in each filter, and one bit a key says that its add was acknowledged.
 * Numbers are handed out in batches; a key that nobody acknowledged is not known to be there or
 * not, so nothing is said about it. Numbers with the highest bit set are never added.
 *
 * With a window numbers go on for ever, and only the newest are remembered, with when they were
 * sent last: for so long as the window they must be there, and then nothing is said about them.
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
    bool open;          /* there are threads at work on it */
    bool adding;        /* numbers are handed out */
    bool grows;         /* by itself: FULL may be answered for a while */
    uint64_t window_ms; /* 0: keys stay */
    uint32_t users;
    _Atomic uint64_t rests_ms;      /* nothing is handed out before this, as it was FULL */
    _Atomic uint64_t full_since_ms; /* no add was acknowledged since; 0: it is not full */
    _Atomic uint32_t state;         /* an enum tally_state, as last seen */
    uint64_t wanted;                /* generation on its way, as last seen; 0: none */
    uint64_t wanted_ms;             /* since when */
    uint64_t keys;                  /* numbers below this are handed out, then it is full; with a
                                       window: so many are remembered */
    _Atomic uint64_t limit;         /* for now below this */
    _Atomic bool repeats;           /* then those that were handed out before, again */
    _Atomic uint64_t next;          /* the next number */
    _Atomic uint64_t acked;
    _Atomic uint64_t *bits;    /* of every number: acknowledged */
    _Atomic uint64_t *sent_ms; /* with a window, of 64 numbers: all acknowledged ones since then */
};

/* A batch that was handed out. */
struct ledger_handout {
    uint64_t first;
    uint64_t sent_ms; /* not sent before */
    bool again;       /* it was handed out before */
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
                                  bool grows, uint64_t window_ms);

/* Nobody takes it from here on; true once nobody has it any more. */
bool ledger_shut(struct ledger *self, struct ledger_filter *filter);
void ledger_forget(struct ledger *self, struct ledger_filter *filter);

/* A batch to add. NULL: nothing is to be added. */
struct ledger_filter *ledger_take_batch(struct ledger *self, uint64_t *random,
                                        struct ledger_handout *out);

/* Some filter with acknowledged keys; NULL: there is none. */
struct ledger_filter *ledger_take(struct ledger *self, uint64_t *random);

/* Filter number `index` of those that are open; NULL: there are fewer. */
struct ledger_filter *ledger_take_nth(struct ledger *self, uint32_t index);

/* One more user of a filter that the caller has taken, or that nobody else will shut. */
void ledger_share(struct ledger *self, struct ledger_filter *filter);
void ledger_put(struct ledger *self, struct ledger_filter *filter);

/* These of the 64 keys from number first + 64 * word on are acknowledged. */
void ledger_acknowledge(struct ledger *self, struct ledger_filter *filter,
                        const struct ledger_handout *out, uint32_t word, uint64_t bits);

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

/* Until when all of these must be there; UINT64_MAX: for ever. */
uint64_t ledger_expiry_ms(const struct ledger_filter *filter, const uint64_t *numbers,
                          uint32_t count);

/* The key of a number: 16 hexadecimal digits. */
void ledger_key(uint64_t number, char key[LEDGER_KEY_BYTES]);

#endif
