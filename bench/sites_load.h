/* sites_load.h - a load of adds or checks at one site, on a thread of its own, so that several run
 * at once: what `orbloom bench` does.
 *
 * Keys are numbered (cli/bench/keys.h); who adds at several sites gives each numbers of its own.
 *
 * Errors:  false, said on stderr: also where a key was lost, or got no answer.
 * Owner:   the struct is the caller's, in place from start to join; each start needs its join.
 */
#ifndef ORBLOOM_BENCH_SITES_LOAD_H
#define ORBLOOM_BENCH_SITES_LOAD_H

#include "bench/sites_clusters.h"
#include "cli/bench/orbloom.h"

#include <pthread.h>

struct sites_load {
    const struct sites_cluster *site;
    const char *filter;
    enum load_kind kind;
    struct key_choice choice;
    uint64_t pace; /* keys a second; 0: as fast as they come */
    uint64_t for_us;
    uint32_t batch;
    uint32_t in_flight;
    struct load_result result;
    /* its own */
    struct bench_set set;
    struct bench_orbloom *target;
    bool good;
    pthread_t thread;
};

bool sites_load_start(struct sites_load *self);
bool sites_load_join(struct sites_load *self);

/* Both, of several at once. */
bool sites_load_run(struct sites_load *loads, int count);

#endif
