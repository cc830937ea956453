/* sim_client.h - the load: clients that add and check a few keys, over and over.
 *
 * The keys in use slide through a window, so that there are always some that nobody has added,
 * some that several clients add at once, and many that were acknowledged.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_CLIENT_H
#define ORBLOOM_TESTS_SIM_CLIENT_H

#include "tests/sim/sim_oracle.h"

enum { SIM_MAX_OPS = 96, SIM_MAX_CLIENT_INFLIGHT = 12, SIM_LOAD_BATCH = 6, SIM_KEY_BYTES = 16 };

struct sim_load {
    bool running;
    enum sim_expectation expect; /* of what is begun now */
    uint32_t nkeys;              /* that are in use at some time */
    uint32_t nnames;             /* in use, beside the weak one if it came to be */
    uint64_t pause_us;           /* mean time between two operations of a client */
    uint64_t timeout_us;
    uint32_t add_permille;
    uint32_t window;   /* keys in use */
    uint64_t slide_us; /* after which it moves on by a key */
    uint64_t serial;
    struct sim_op ops[SIM_MAX_OPS];
    uint32_t nopen;
};

/* "f1": what the simulator calls its filters. */
const char *sim_name(uint32_t name);

/* Clients begin, and stop beginning, operations. */
void sim_load_start(struct sim *sim);
void sim_load_stop(struct sim *sim);

/* Begin one operation now; false when there is no room for it. */
bool sim_load_submit(struct sim *sim, struct sim_process *client, enum operation operation,
                     uint32_t name, const uint32_t *keys, uint32_t count, uint64_t timeout_us);

/* The same of a list that goes into a rebuild; `keyset`: which is meant, 0: the open one. */
bool sim_load_feed(struct sim *sim, struct sim_process *client, uint32_t name, uint32_t keyset,
                   const uint32_t *keys, uint32_t count, uint64_t timeout_us);

/* Some add of the name was begun less than `within_us` ago and is not answered. */
bool sim_load_add_is_fresh(const struct sim *sim, uint32_t name, uint64_t within_us);

/* The key's text; returns its length. */
uint32_t sim_load_key(uint32_t key, char text[SIM_KEY_BYTES]);

/* A key that no load has used. */
uint32_t sim_load_fresh_key(const struct sim *sim);

#endif
