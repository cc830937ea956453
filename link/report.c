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

void report_tick(struct link *self)
{
    struct link_report report = {.id = self->config.id, .npeers = self->config.npeers};
    struct router_link told = {.curve = self->config.curve, .report = &report};

    assert(self->config.npeers <= LINK_MAX_PEERS);
    if (self->config.endpoint[0] == '\0') {
        return;
    }
    memcpy(told.site, self->config.site, sizeof told.site);
    memcpy(told.endpoint, self->config.endpoint, sizeof told.endpoint);
    for (uint32_t i = 0; i < self->config.npeers; i++) {
        report.peers[i].id = self->config.peers[i].id;
        memcpy(report.peers[i].name, self->config.peers[i].name, sizeof report.peers[i].name);
    }
    for (size_t i = 0; i < LINK_MAX_CHANNELS; i++) {
        if (self->channels[i].number != 0) {
            tell_channel(&self->channels[i], &report.peers[self->channels[i].peer]);
        }
    }
    router_tell_link(self->router, &told);
}
