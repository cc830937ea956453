/* Three pages, made anew for each who asks, and those that the process has of its own. */
#include "runtime/http/pages.h"

#include "base/heap.h"
#include "base/telemetry/metrics.h"
#include "runtime/http/own_usage.h"
#include "runtime/movement.h"
#include "runtime/version.h"

#include <assert.h>
#include <string.h>

#define JSON_TYPE "application/json"

enum { NCOMMON = 3 };

struct pages {
    struct hub *hub;
    struct pages_source source;
    struct http_page all[NCOMMON + PAGES_MAX_OWN];
    struct http *http;
};

/* ---- health ---- */

static enum status show(const struct health *health, struct buffer *body, unsigned *code)
{
    *code = health_is_well(health) ? HTTP_OK : HTTP_UNAVAILABLE;
    return health_show(health, body);
}

static enum status fill_healthz(void *context, const struct http_query *query, struct buffer *body,
                                unsigned *code)
{
    const struct pages *self = context;
    struct health health = {0};

    (void)query;
    movement_look(self->hub, self->source.logs, &health);
    return show(&health, body, code);
}

static enum status fill_readyz(void *context, const struct http_query *query, struct buffer *body,
                               unsigned *code)
{
    const struct pages *self = context;
    struct health health = {0};

    (void)query;
    self->source.judge(&health);
    return show(&health, body, code);
}

/* ---- metrics ---- */

static void put_build(const struct pages *self, struct metrics *metrics)
{
    const struct metrics_label labels[] = {
        {"program", self->source.program},
        {"version", ORBLOOM_VERSION},
        {"name", self->source.name},
    };

    metrics_family(metrics, "orbloom_build_info", METRICS_GAUGE, "which program this is; always 1");
    metrics_count(metrics, labels, sizeof labels / sizeof labels[0], 1);
}

static void put_count(struct metrics *metrics, const char *name, const char *help, uint64_t value)
{
    metrics_family(metrics, name, METRICS_GAUGE, help);
    metrics_count(metrics, NULL, 0, value);
}

static void put_loop(const struct pages *self, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_loop_turn_seconds", METRICS_HISTOGRAM,
                   "how long a turn of the loop kept what comes next waiting");
    metrics_histogram(metrics, NULL, 0, hub_turns(self->hub));
}

/* By the names that Prometheus' own libraries have for them. */
static void put_process(struct metrics *metrics)
{
    struct own_usage usage;

    own_usage_read(&usage);
    metrics_family(metrics, "process_cpu_seconds_total", METRICS_COUNTER,
                   "CPU time of all threads, user and system");
    metrics_seconds(metrics, NULL, 0, usage.cpu_us);
    metrics_family(metrics, "process_start_time_seconds", METRICS_GAUGE,
                   "start of the process, in seconds since 1970");
    metrics_seconds(metrics, NULL, 0, usage.started_us);
    put_count(metrics, "process_resident_memory_bytes", "memory in RAM", usage.resident_bytes);
    put_count(metrics, "process_virtual_memory_bytes", "addresses in use", usage.virtual_bytes);
    put_count(metrics, "process_threads", "threads", usage.threads);
    put_count(metrics, "process_open_fds", "open descriptors", usage.descriptors);
    put_count(metrics, "process_max_fds", "descriptors that may be open", usage.max_descriptors);
}

/* Its own one is the first. */
static size_t list_certificates(const struct pages *self,
                                struct pages_certificate out[1 + PAGES_MAX_CERTIFICATES])
{
    size_t count = 0;

    if (self->source.certificate != NULL) {
        out[count++] = (struct pages_certificate){"http_cert_file",
                                                  self->source.certificate->ends_s};
    }
    return count + (self->source.certificates != NULL ? self->source.certificates(out + count) : 0);
}

static void put_certificates(const struct pages *self, struct metrics *metrics)
{
    struct pages_certificate certificates[1 + PAGES_MAX_CERTIFICATES];
    size_t count = list_certificates(self, certificates);

    if (count > 0) {
        metrics_family(metrics, "orbloom_certificate_end_timestamp_seconds", METRICS_GAUGE,
                       "when the certificate of that option expires, in seconds since 1970");
    }
    for (size_t i = 0; i < count; i++) {
        const struct metrics_label label = {"file", certificates[i].option};

        metrics_count(metrics, &label, 1, (uint64_t)certificates[i].ends_s);
    }
}

static enum status fill_metrics(void *context, const struct http_query *query, struct buffer *body,
                                unsigned *code)
{
    const struct pages *self = context;
    const struct counter_table own = http_counters();
    struct counter_set sets[PAGES_MAX_SETS];
    struct metrics metrics = metrics_to(body);
    size_t nsets = self->source.count(sets);

    (void)query;
    (void)code;
    assert(nsets <= PAGES_MAX_SETS);
    put_build(self, &metrics);
    for (size_t i = 0; i < nsets; i++) {
        metrics_counters(&metrics, sets[i].prefix, &sets[i].table, sets[i].values);
    }
    if (self->source.tell != NULL) {
        self->source.tell(&metrics);
    }
    put_certificates(self, &metrics);
    metrics_counters(&metrics, "orbloom_", &own, http_counts(self->http));
    put_loop(self, &metrics);
    put_process(&metrics);
    return metrics.status;
}

/* ---- their life ---- */

/* Common ones and its own; returns how many. */
static size_t list_pages(struct pages *self)
{
    static const struct http_page common[NCOMMON] = {
        {"/healthz", JSON_TYPE, fill_healthz},
        {"/readyz", JSON_TYPE, fill_readyz},
        {"/metrics", METRICS_TYPE, fill_metrics},
    };

    memcpy(self->all, common, sizeof common);
    for (size_t i = 0; i < self->source.npages; i++) {
        self->all[NCOMMON + i] = self->source.pages[i];
    }
    return NCOMMON + self->source.npages;
}

enum status pages_open(struct hub *hub, const char *endpoint, const struct pages_source *source,
                       struct pages **out)
{
    struct pages *self = heap_zalloc(1, sizeof *self);
    struct http_options options = {
        .endpoint = endpoint,
        .token = source->token,
        .certificate = source->certificate,
        .context = self,
    };
    enum status status = self != NULL ? STATUS_OK : STATUS_NOMEM;

    assert(*out == NULL && source->judge != NULL && source->count != NULL);
    assert(source->npages <= PAGES_MAX_OWN);
    if (status == STATUS_OK) {
        self->hub = hub;
        self->source = *source;
        options.pages = self->all;
        options.npages = list_pages(self);
        status = http_open(hub, &options, &self->http);
    }
    if (status != STATUS_OK) {
        pages_close(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

enum status pages_certify(struct pages *pages, const struct http_certificate *certificate)
{
    return http_certify(pages->http, certificate);
}

void pages_close(struct pages **pages)
{
    struct pages *self = *pages;

    *pages = NULL;
    if (self != NULL) {
        http_close(&self->http);
        heap_free(self);
    }
}

const char *pages_endpoint(const struct pages *pages)
{
    return http_endpoint(pages->http);
}
