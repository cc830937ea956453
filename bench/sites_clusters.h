/* sites_clusters.h - the two linked sites of a playground that this program runs in, and the way
 * between them.
 *
 * The second one's link dials the first one's. Both are started anew here, so that they speak by a
 * wan where there is one, and are ours from then on; they die with us.
 *
 * Errors:  false, said on stderr.
 * Owner:   whoever called sites_clusters_open() calls sites_clusters_close(), also after an error.
 * Threads: the main thread, but for the endpoints, which are for any.
 */
#ifndef ORBLOOM_BENCH_SITES_CLUSTERS_H
#define ORBLOOM_BENCH_SITES_CLUSTERS_H

#include "bench/wan/wan.h"

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
    char bin[PATH_MAX];          /* where the programs are */
    struct wan *wan;             /* NULL: the way is loopback */
    struct line_kind line;       /* of both directions */
    const char *congestion;      /* how links' TCP reacts to loss; NULL: as the kernel has it */
    pid_t links[SITES_CLUSTERS]; /* 0: not started */
};

/* Of the playground in $ORBLOOM_DIR, whose folder of the first site that is. With `by_wan` all are
 * in a network of our own (wan/space.h). Returns when both sites are connected, by a line that does
 * nothing yet. */
bool sites_clusters_open(struct sites_clusters *self, const char *bin, bool by_wan);
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
void sites_clusters_stop_link(const struct sites_clusters *self, bool stop);

/* ---- of a wan ---- */

void sites_clusters_set_line(struct sites_clusters *self, const struct line_kind *line);
void sites_clusters_cut(const struct sites_clusters *self, bool cut);

/* Links are started anew, and have such connections. */
bool sites_clusters_set_congestion(struct sites_clusters *self, const char *name);

#endif
