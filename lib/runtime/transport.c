/* Which keys a process of the cluster has, knows and expects. */
#include "runtime/transport.h"

#include "runtime/options/options.h"

#include <assert.h>
#include <string.h>

bool transport_is_curve(const char *transport, const char *endpoint)
{
    return strcmp(transport, "curve") == 0 ||
           (strcmp(transport, "auto") == 0 && !options_endpoint_is_loopback(endpoint));
}

static bool is_coordinator(const struct transport *self, const char *endpoint)
{
    for (uint32_t i = 0; self->ncoordinators != NULL && i < *self->ncoordinators; i++) {
        if (strcmp(self->coordinators + i * self->coordinator_bytes, endpoint) == 0) {
            return true;
        }
    }
    return false;
}

/* hub_curve.dial */
static size_t dial(void *context, const char *endpoint, bool *plain,
                   struct hub_dial dials[HUB_MAX_DIALS])
{
    const struct transport *self = context;
    bool coordinator = is_coordinator(self, endpoint);
    enum curve_kind kind = coordinator ? CURVE_COORDINATOR : CURVE_NODE;

    *plain = coordinator ? !transport_is_curve(self->mode, endpoint)
                         : strncmp(endpoint, "tcp://", 6) == 0;
    for (size_t i = 0; i < self->npairs; i++) {
        dials[i].own = self->pairs[self->kind][i];
        memcpy(dials[i].server, self->pairs[kind][i].public, CURVE_KEY_BYTES);
    }
    return self->npairs;
}

/* hub_curve.who */
static bool who(void *context, const uint8_t key[CURVE_KEY_BYTES], struct peer *peer)
{
    static const uint8_t roles[CURVE_NKINDS] = {
        [CURVE_ROUTER] = PEER_ROUTER,
        [CURVE_NODE] = PEER_NODE,
        [CURVE_COORDINATOR] = PEER_COORDINATOR,
    };
    const struct transport *self = context;

    for (size_t kind = 0; kind < CURVE_NKINDS; kind++) {
        for (size_t i = 0; i < self->npairs; i++) {
            if (memcmp(self->pairs[kind][i].public, key, CURVE_KEY_BYTES) == 0) {
                peer->role = roles[kind];
                peer->user = 0;
                return true;
            }
        }
    }
    return self->who != NULL && self->who(key, peer);
}

/* hub_curve.admits */
static bool admits(void *context, const struct peer *from, bool known, struct span frame,
                   struct buffer *refusal)
{
    const struct transport *self = context;

    return self->admits != NULL ? self->admits(from, known, frame, refusal) : known;
}

static bool has_pair(const struct transport *self, const struct curve_pair *pair)
{
    for (size_t i = 0; i < self->npairs; i++) {
        if (memcmp(&self->pairs[self->kind][i], pair, sizeof *pair) == 0) {
            return true;
        }
    }
    return false;
}

bool transport_shares_key(const struct transport *self, const void *key)
{
    struct curve_pair pairs[TRANSPORT_MAX_KEYS];
    size_t count = self->make_pairs(key, self->kind, pairs);
    bool shares = false;

    for (size_t i = 0; i < count && !shares; i++) {
        shares = has_pair(self, &pairs[i]);
    }
    explicit_bzero(pairs, sizeof pairs);
    return shares;
}

/* A ring that has shrunk leaves no secret behind. */
void transport_rekey(struct transport *self, const void *key)
{
    explicit_bzero(self->pairs, sizeof self->pairs);
    for (size_t kind = 0; kind < CURVE_NKINDS; kind++) {
        self->npairs = self->make_pairs(key, (enum curve_kind)kind, self->pairs[kind]);
        assert(self->npairs > 0 && self->npairs <= TRANSPORT_MAX_KEYS);
    }
    self->curve.own = self->pairs[self->kind][0];
}

void transport_init(struct transport *self, const void *key)
{
    assert(self->make_pairs != NULL);
    self->curve.context = self;
    self->curve.dial = dial;
    self->curve.who = who;
    self->curve.admits = admits;
    transport_rekey(self, key);
}

void transport_fini(struct transport *self)
{
    explicit_bzero(self, sizeof *self);
}
