/* What a link tells of itself: its counters, with those of the router that it hosts, to whoever
 * asks; and to coordinators, with the router's questions for news, which sites it is connected to.
 */
#include "link/private.h"
#include "proto/answers.h"

#include <assert.h>
#include <string.h>

struct counter_table link_counters(void)
{
    static const struct counter_def defs[] = {
#define X(name, unit, help) {#name, unit, help},
        LINK_COUNTERS(X)
#undef X
    };

    return (struct counter_table){defs, sizeof defs / sizeof defs[0]};
}

/* ---- counters ---- */

void report_on_stats(struct link *self, const struct peer *from, const struct frame *frame)
{
    const struct counter_table own = link_counters();
    const struct counter_table core = router_counters();
    struct stat_value *values = heap_alloc(own.count + core.count, sizeof *values);
    struct frame answer;
    struct span bytes;

    if (values == NULL) {
        return; /* It is asked again. */
    }
    answer_stats(frame->correlation, "orbloom-link", self->config.name, core,
                 router_counts(self->router), values + own.count, &answer);
    answer_stats(frame->correlation, "orbloom-link", self->config.name, own, self->counters, values,
                 &answer);
    answer.body.stats_reply.nvalues = own.count + core.count;
    if (codec_encode_out(&answer, &self->inner, &self->out, &bytes) == STATUS_OK) {
        (void)self->inner.reply(self->inner.context, from, bytes);
    }
    heap_free(values);
}

/* ---- how it is ---- */

static bool hears(const struct link *self, uint32_t peer)
{
    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        if (self->channels[i].number != 0 && self->channels[i].peer == peer) {
            return true;
        }
    }
    return false;
}

void link_tell_health(const struct link *link, struct health *health)
{
    router_tell_health(link->router, health);
    for (uint32_t i = 0; i < link->config.npeers; i++) {
        health_want(health, hears(link, i), "site", "no link of site %s is heard of",
                    link->config.peers[i].name);
    }
}

/* ---- who takes it for a router ---- */

void report_refuse_client(struct link *self, const struct peer *from, const struct frame *frame)
{
    struct frame answer;
    struct span bytes;

    answer_refusal(frame->correlation, STATUS_INVALID, &answer);
    answer.body.error.message =
        "this is a link between sites, which serves no clients; name a router instead";
    if (codec_encode_out(&answer, &self->inner, &self->out, &bytes) == STATUS_OK) {
        (void)self->inner.reply(self->inner.context, from, bytes);
    }
}

/* ---- to coordinators ---- */

/* Of several channels to a site the fastest one counts. */
static void tell_channel(const struct channel *channel, struct link_peer *peer)
{
    peer->connected = true;
    if (channel->round_trip_us != 0 &&
        (peer->round_trip_us == 0 || channel->round_trip_us < peer->round_trip_us)) {
        peer->round_trip_us = channel->round_trip_us;
    }
}

static struct link_report report_of(const struct link *self)
{
    struct link_report report = {.id = self->config.id, .npeers = self->config.npeers};

    assert(self->config.npeers <= LINK_MAX_PEERS);
    for (uint32_t i = 0; i < self->config.npeers; i++) {
        report.peers[i].id = self->config.peers[i].id;
        memcpy(report.peers[i].name, self->config.peers[i].name, sizeof report.peers[i].name);
    }
    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        if (self->channels[i].number != 0) {
            tell_channel(&self->channels[i], &report.peers[self->channels[i].peer]);
        }
    }
    return report;
}

void report_tick(struct link *self)
{
    const struct link_report report = report_of(self);
    struct router_link told = {.curve = self->config.curve, .report = &report};

    if (self->config.endpoint[0] == '\0') {
        return;
    }
    memcpy(told.site, self->config.site, sizeof told.site);
    memcpy(told.endpoint, self->config.endpoint, sizeof told.endpoint);
    router_tell_link(self->router, &told);
}

/* ---- to whoever watches ---- */

static void tell_connections(const struct link_report *report, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_site_connected", METRICS_GAUGE,
                   "1: a link of that site is heard of");
    for (uint32_t i = 0; i < report->npeers; i++) {
        const struct metrics_label label = {"site", report->peers[i].name};

        metrics_count(metrics, &label, 1, report->peers[i].connected);
    }
    metrics_family(metrics, "orbloom_site_round_trip_seconds", METRICS_GAUGE,
                   "to a link of that site and back, the shortest");
    for (uint32_t i = 0; i < report->npeers; i++) {
        const struct metrics_label label = {"site", report->peers[i].name};

        if (report->peers[i].round_trip_us != 0) {
            metrics_seconds(metrics, &label, 1, report->peers[i].round_trip_us);
        }
    }
}

static void tell_lags(const struct link *self, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_site_lag_seconds", METRICS_GAUGE,
                   "how far that site is behind, at most; 0: by nothing");
    for (uint32_t i = 0; i < self->config.npeers; i++) {
        const struct metrics_label label = {"site", self->config.peers[i].name};

        metrics_seconds(metrics, &label, 1, self->behind[i].lag_us);
    }
    metrics_family(metrics, "orbloom_site_pending_keys", METRICS_GAUGE,
                   "keys that were read here and are not known to be there");
    for (uint32_t i = 0; i < self->config.npeers; i++) {
        const struct metrics_label label = {"site", self->config.peers[i].name};

        metrics_count(metrics, &label, 1, self->behind[i].pending_keys);
    }
}

void link_tell_metrics(const struct link *link, struct metrics *metrics)
{
    const struct link_report report = report_of(link);

    tell_connections(&report, metrics);
    tell_lags(link, metrics);
}
