/* What users may ask this router for: keys a second, of which it allows its share, and bytes under
 * way. While the record has no users nobody is held to anything. */
#include "router/private.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

void limits_fini(struct router *self)
{
    usages_fini(&self->usages);
}

/* Of the record as it is now; what memory does not suffice for is not limited, and tried again. */
static struct usage *usage_of(struct router *self, uint32_t user)
{
    const struct user_list *users = &self->documents.users;

    if (user == 0) {
        return NULL;
    }
    if (self->usages.revision != users->revision &&
        usages_learn(&self->usages, users) != STATUS_OK) {
        return NULL;
    }
    return usages_find(&self->usages, user);
}

/* ---- bytes under way ---- */

/* Of users whose ids differ by USER_MAX, together. Nobody is one, too. */
static uint64_t *under_way(struct router *self, uint32_t user)
{
    return &self->under_way[user % USER_MAX];
}

const char *limits_begin(struct router *self, uint32_t user, uint64_t bytes)
{
    uint64_t *own = under_way(self, user);
    uint64_t room = self->config.max_inflight_bytes - self->inflight_bytes;
    struct usage *usage = usage_of(self, user);

    assert(bytes <= room);
    /* So whoever asks for all that it can get leaves room for others, and so do many of those. */
    if (self->documents.users.count > 0 && *own > 0 && *own + bytes > room) {
        return "the user has as much of the router's max_inflight as is free; await answers, retry";
    }
    if (usage != NULL && !usage_begin(usage, bytes)) {
        router_count(self, ROUTER_user_in_flight_total);
        return "the user has as many bytes of requests under way at this router as its limit "
               "in_flight allows; await answers, retry";
    }
    *own += bytes;
    return NULL;
}

void limits_end(struct router *self, uint32_t user, uint64_t bytes)
{
    uint64_t *own = under_way(self, user);

    assert(*own >= bytes);
    *own -= bytes;
    if (user != 0) {
        usages_end(&self->usages, user, bytes);
    }
}

/* ---- keys a second ---- */

bool limits_take_keys(struct router *self, uint64_t now_us, uint32_t user, size_t count,
                      char message[ROUTER_MESSAGE_BYTES])
{
    struct usage *usage = usage_of(self, user);
    uint64_t retry_us = 0;

    if (usage == NULL || usage_take_keys(usage, now_us, count, self->routers, &retry_us)) {
        return true;
    }
    router_count(self, ROUTER_user_rate_total);
    (void)snprintf(message, ROUTER_MESSAGE_BYTES,
                   "user %s asks for more than its keys_per_s (%" PRIu64 ", of which %" PRIu64
                   " at this router); retry in %" PRIu64 " ms",
                   usage->name, usage->limits.keys_per_s,
                   usage_share(usage->limits.keys_per_s, self->routers), retry_us / 1000 + 1);
    return false;
}

void limits_owe_keys(struct router *self, uint64_t now_us, uint32_t user, size_t count)
{
    struct usage *usage = usage_of(self, user);

    if (usage != NULL) {
        usage_owe_keys(usage, now_us, count, self->routers);
    }
}
