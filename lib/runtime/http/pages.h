/* pages.h - what is told of a process by HTTP.
 *
 *   /healthz  200 while its loop and its commits move, else 503: for whoever would restart it
 *   /readyz   200 while it is fit for use, else 503: for whoever would send others to it
 *   /metrics  what it counts, for Prometheus
 *
 * and what pages it has of its own. The first two say in JSON what is amiss.
 *
 * Errors:  as http_open().
 * Owner:   pages_open()'s caller calls pages_close() before hub_destroy(), and before what `source`
 *          tells of is gone.
 * Threads: the loop's.
 */
#ifndef ORBLOOM_RUNTIME_HTTP_PAGES_H
#define ORBLOOM_RUNTIME_HTTP_PAGES_H

#include "base/password.h"
#include "base/telemetry/counter.h"
#include "base/telemetry/health.h"
#include "base/telemetry/metrics.h"
#include "runtime/http/http.h"
#include "runtime/hub.h"

enum { PAGES_MAX_SETS = 4, PAGES_MAX_OWN = 16, PAGES_MAX_CERTIFICATES = 4 };

/* One that is shown to others. */
struct pages_certificate {
    const char *option; /* that names its file: "tls_cert_file" */
    int64_t ends_s;     /* when it expires, since 1970 */
};

struct pages_source {
    const char *program; /* "orbloom-node" */
    const char *name;
    const struct password *token;               /* NULL: none is asked for; it may change */
    const struct http_certificate *certificate; /* NULL: plain HTTP */

    /* Whatever keeps it from being used. */
    void (*judge)(struct health *health);

    bool logs; /* its commits are those of a log: one that takes long is amiss */

    /* What it counts, as of now: how many sets of up to PAGES_MAX_SETS. */
    size_t (*count)(struct counter_set sets[PAGES_MAX_SETS]);

    /* Pages of its own, beside those three; what their context is they are not to ask. */
    const struct http_page *pages;
    size_t npages; /* at most PAGES_MAX_OWN */

    /* Families of its own, with labels; NULL: none. */
    void (*tell)(struct metrics *metrics);

    /* Certificates beside that of these pages: how many. NULL: none. */
    size_t (*certificates)(struct pages_certificate out[PAGES_MAX_CERTIFICATES]);
};

struct pages;

/* All is borrowed but the endpoint. */
MUST_USE enum status pages_open(struct hub *hub, const char *endpoint,
                                const struct pages_source *source, struct pages **out);
void pages_close(struct pages **pages);

/* http_certify(), likewise. */
MUST_USE enum status pages_certify(struct pages *pages, const struct http_certificate *certificate);

/* Where they really are. */
const char *pages_endpoint(const struct pages *pages);

#endif
