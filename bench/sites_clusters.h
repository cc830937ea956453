/* sites_clusters.h - the two linked sites of a playground that this program runs in, and the way
 * between them.
 *
 * The second one's link dials the first one's. It is started anew here, by a relay, and is ours
 * from then on; it dies with us.
 *
 * Errors:  false, said on stderr.
 * Owner:   whoever called sites_clusters_open() calls sites_clusters_close(), also after an error.
 * Threads: the main thread, but for the endpoints, which are for any.
 */
#ifndef ORBLOOM_BENCH_SITES_CLUSTERS_H
#define ORBLOOM_BENCH_SITES_CLUSTERS_H

#include "bench/sites_relay.h"

#include <limits.h>
#include <sys/types.h>

enum { SITES_CLUSTERS = 2, SITES_ENDPOINT_BYTES = 96 };

struct sites_cluster {
    char dir[PATH_MAX];
    char router[SITES_ENDPOINT_BYTES];
    char coordinator[SITES_ENDPOINT_BYTES];
    char link[SITES_ENDPOINT_BYTES];
};

struct sites_clusters {
    struct sites_cluster sites[SITES_CLUSTERS];
    char bin[PATH_MAX]; /* where the programs are */
    struct sites_relay relay;
    pid_t link; /* of the second site; 0: not started */
};

/* Of the playground in $ORBLOOM_DIR, whose folder of the first site that is. Returns when both
 * sites are connected through the relay, which does not delay yet. */
bool sites_clusters_open(struct sites_clusters *self, const char *bin);
void sites_clusters_close(struct sites_clusters *self);

/* `orbloom WORDS` at a site, number 0 or 1. */
bool sites_clusters_command(const struct sites_clusters *self, int site, const char *words);

/* `orbloom create WORDS` at the first site, so often: NUMBER in it is which. */
bool sites_clusters_create_many(const struct sites_clusters *self, int filters, const char *words);

/* Wait until so many filters are in both sites, and each says "absent". */
bool sites_clusters_wait_filters(const struct sites_clusters *self, int filters);

/* A counter of a site's link. */
bool sites_clusters_counter(const struct sites_clusters *self, int site, const char *name,
                            uint64_t *value);

/* Stop the second site's link, or let it go on. */
void sites_clusters_cut(const struct sites_clusters *self, bool cut);

#endif
