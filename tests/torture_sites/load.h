/* load.h - a client of one site: it adds numbered keys, notes which were acknowledged, and asks for
 * some of those, and for some that were never added, all the time.
 *
 * Beside that it adds keys that each site is to have: what is acknowledged of these the next site
 * must know at once. And it asks for what the next site has acknowledged by fresh checks, which
 * must know of it, or say that they do not.
 *
 * Threads: load_start() starts two; numbers may be read by any, the ledger too (ledger.h).
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_LOAD_H
#define ORBLOOM_TESTS_TORTURE_SITES_LOAD_H

#include "tests/torture/ledger.h"
#include "tests/torture_sites/sites.h"

struct orbloom;

struct load {
    const struct sites *sites;
    uint32_t site;           /* from 0 */
    const struct load *next; /* of the next site; NULL: there is one site only */
    uint64_t random;
    pthread_t thread;          /* adds and checks here */
    pthread_t promises_thread; /* ... and what takes other sites */
    bool runs;
    bool promises;
    struct ledger ledger;
    struct ledger_filter *filter; /* the ledger's only one */
    _Atomic bool ending;
    _Atomic uint64_t unacknowledged; /* keys whose add was not answered */
    _Atomic uint64_t errors;  /* of an upgrade: ... or check, but for what waits for other sites, or
                                 for growth */
    _Atomic uint64_t checked; /* answers "present" about acknowledged keys */
    _Atomic uint64_t by_each; /* keys that each site was to have, and were acknowledged */
    _Atomic uint64_t fresh;   /* answers "present" of fresh checks about the next site's */
    struct {
        _Atomic uint64_t asked;   /* keys that were never added ... */
        _Atomic uint64_t present; /* ... and are called present */
    } never;
};

/* Of site 0 and on: all are opened before one is started. */
bool load_open(struct load *self, const struct sites *sites, uint32_t site,
               const struct load *next);
bool load_start(struct load *self);

/* Adds and checks come to their end. Of one thread. */
void load_stop(struct load *self);

void load_free(struct load *self);

/* A handle of a client of that site; NULL: said by verdict_fail(). orbloom_close() it. */
struct orbloom *load_connect(const struct sites *sites, uint32_t site);

/* The key that has that number at that site. */
void load_key(uint32_t site, uint64_t number, char key[LEDGER_KEY_BYTES]);

#endif
