/* Of each direction the link that is further says how far it is. */
#include "proto/site/lag.h"

static void join_in(struct site_lag *self, const struct site_lag *other)
{
    if (other->waits == SITE_WAIT_NOTHING) {
        self->waits = SITE_WAIT_NOTHING;
    }
    if (other->marked && (!self->marked || other->age_us < self->age_us)) {
        self->age_us = other->age_us;
    }
    self->marked |= other->marked;
    if (other->resync > self->resync) {
        self->copied = false;
        self->resync = other->resync;
    }
    self->copied |= other->copied && other->resync == self->resync;
    self->in_keys = other->in_keys > self->in_keys ? other->in_keys : self->in_keys;
    self->in_per_s += other->in_per_s;
}

static void join_out(struct site_lag *self, const struct site_lag *other)
{
    if (other->sends && (!self->sends || other->pending_keys < self->pending_keys)) {
        self->holds = other->holds;
        self->pending_keys = other->pending_keys;
        self->pending_us = other->pending_us;
        self->copies = other->copies;
    }
    self->sends |= other->sends;
    self->out_per_s += other->out_per_s;
}

void site_lag_join(struct site_lag *self, const struct site_lag *other)
{
    self->paused_here |= other->paused_here;
    self->paused_there |= other->paused_there;
    join_in(self, other);
    join_out(self, other);
}

static const struct {
    const char *name; /* for programs */
    const char *words;
} waits[] = {
    [SITE_WAIT_NOTHING] = {"", ""},
    [SITE_WAIT_PAUSED] = {"paused", "paused"},
    [SITE_WAIT_CONNECTION] = {"connection", "not connected"},
    [SITE_WAIT_PLACES] = {"places", "this site's nodes are asked how far it is here"},
    [SITE_WAIT_JOIN] = {"join", "waits until this site takes adds"},
    [SITE_WAIT_OPEN] = {"open", "waits for the other site to begin"},
    [SITE_WAIT_COPY] = {"copy", "replicas are copied"},
    [SITE_WAIT_APPLY] = {"apply", "this site's nodes do not take it now; see the link's log"},
    [SITE_WAIT_TAKEN] = {"taken", "waits for the other site to apply it"},
    [SITE_WAIT_RATE] = {"rate", "waits for site_rate"},
};

enum { NWAITS = sizeof waits / sizeof waits[0] };

const char *site_lag_words_of(uint32_t wait)
{
    return wait < NWAITS ? waits[wait].words : "waits for something that a newer link knows";
}

static const char *name_of(uint32_t wait)
{
    return wait < NWAITS ? waits[wait].name : "other";
}

void site_lag_json(struct json *json, const struct site_lag *self)
{
    json_begin(json, "lag", '{');
    json_bool(json, "paused_here", self->paused_here);
    json_bool(json, "paused_there", self->paused_there);
    json_text(json, "in_waits_for", name_of(self->waits));
    if (self->marked) {
        json_count(json, "in_age_us", self->age_us);
    } else {
        json_none(json, "in_age_us");
    }
    json_count(json, "in_keys", self->in_keys);
    json_count(json, "in_bytes_per_s", self->in_per_s);
    json_bool(json, "sends", self->sends);
    json_text(json, "out_waits_for", name_of(self->holds));
    json_count(json, "out_pending_keys", self->pending_keys);
    json_count(json, "out_behind_us", self->pending_us);
    json_count(json, "out_bytes_per_s", self->out_per_s);
    json_count(json, "out_copies", self->copies);
    json_end(json, '}');
}
