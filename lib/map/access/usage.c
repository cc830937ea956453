/* A table by id, of users with limits. Whoever loses its limits, or goes, keeps its place until
 * another record comes and nothing of it is under way: that is still to be taken off. */
#include "map/access/usage.h"

#include "base/heap.h"

#include <assert.h>
#include <stdio.h>

static struct usage *next_of(const struct usages *self, const struct usage *usage)
{
    return (struct usage *)number_table_next(&self->users, usage != NULL ? &usage->user : NULL);
}

static void forget(struct usages *self, struct usage *usage)
{
    number_table_remove(&self->users, &usage->user);
    heap_free(usage);
}

void usages_fini(struct usages *self)
{
    struct usage *usage;

    while ((usage = next_of(self, NULL)) != NULL) {
        forget(self, usage);
    }
    self->revision = 0;
}

struct usage *usages_find(const struct usages *self, uint32_t user)
{
    return (struct usage *)number_table_find(&self->users, user);
}

static struct usage *add(struct usages *self, uint32_t user)
{
    struct usage *usage = heap_zalloc(1, sizeof *usage);

    if (usage != NULL) {
        number_table_put(&self->users, &usage->user, user);
    }
    return usage;
}

static bool has_limits(const struct user_limits *limits)
{
    return limits->keys_per_s != 0 || limits->in_flight != 0;
}

static void forget_limits(struct usages *self)
{
    for (struct usage *usage = next_of(self, NULL); usage != NULL; usage = next_of(self, usage)) {
        usage->limits = (struct user_limits){0};
    }
}

static void forget_idle(struct usages *self)
{
    struct usage *usage = next_of(self, NULL);

    while (usage != NULL) {
        struct usage *next = next_of(self, usage);

        if (!has_limits(&usage->limits) && usage->in_flight == 0) {
            forget(self, usage);
        }
        usage = next;
    }
}

enum status usages_learn(struct usages *self, const struct user_list *users)
{
    forget_limits(self);
    self->revision = 0;
    for (size_t i = 0; i < users->count; i++) {
        const struct user *user = &users->users[i];
        struct usage *usage = usages_find(self, user->id);

        if (usage == NULL && !has_limits(&user->limits)) {
            continue;
        }
        usage = usage != NULL ? usage : add(self, user->id);
        if (usage == NULL) {
            return STATUS_NOMEM;
        }
        usage->limits = user->limits;
        (void)snprintf(usage->name, sizeof usage->name, "%s", user->name);
    }
    forget_idle(self);
    self->revision = users->revision;
    return STATUS_OK;
}

uint64_t usage_share(uint64_t keys_per_s, uint32_t routers)
{
    uint64_t share = routers > 1 ? keys_per_s / routers : keys_per_s;

    return keys_per_s > 0 && share == 0 ? 1 : share;
}

/* What is owed is kept as time at the rate that it was taken at; at a higher one less is to wait. A
 * lower one changes nothing until it is paid. */
static void speed_up(struct usage *self, uint64_t now_us, uint64_t rate)
{
    uint64_t *free_us = &self->keys.free_us;

    if (rate > self->rate && *free_us > now_us) {
        *free_us = now_us + (*free_us - now_us) * self->rate / rate;
        self->rate = rate;
    }
}

bool usage_take_keys(struct usage *self, uint64_t now_us, uint64_t keys, uint32_t routers,
                     uint64_t *retry_us)
{
    uint64_t rate = usage_share(self->limits.keys_per_s, routers);
    uint64_t ready_us;

    if (rate == 0) {
        return true;
    }
    speed_up(self, now_us, rate);
    ready_us = token_bucket_ready_us(&self->keys, now_us);
    if (ready_us > now_us) {
        *retry_us = ready_us - now_us;
        return false;
    }
    usage_owe_keys(self, now_us, keys, routers);
    return true;
}

void usage_owe_keys(struct usage *self, uint64_t now_us, uint64_t keys, uint32_t routers)
{
    uint64_t rate = usage_share(self->limits.keys_per_s, routers);

    if (rate > 0) {
        speed_up(self, now_us, rate);
        token_bucket_take(&self->keys, now_us, keys, rate);
        self->rate = rate;
        self->had += keys;
    }
}

bool usage_begin(struct usage *self, uint64_t bytes)
{
    uint64_t most = self->limits.in_flight;

    if (most != 0 && self->in_flight > 0 && (bytes > most || self->in_flight > most - bytes)) {
        return false;
    }
    self->in_flight += bytes;
    return true;
}

void usages_end(struct usages *self, uint32_t user, uint64_t bytes)
{
    struct usage *usage = usages_find(self, user);

    /* What was begun before it had any limit was not counted. */
    if (usage != NULL) {
        usage->in_flight -= bytes < usage->in_flight ? bytes : usage->in_flight;
    }
}
