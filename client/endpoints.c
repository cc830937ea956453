/* Which process is asked next: of those that did not fail lately the one with the fewest bytes
 * in flight, or always the same one to keep order. */
#include "client/endpoints.h"

#include <assert.h>
#include <stdio.h>

enum {
    PAUSE_FIRST_US = 1000,
    PAUSE_LONGEST_US = 100000,
    SPARE_US = 100000,
    AVOID_FIRST_US = 2000000,
    AVOID_LONGEST_US = 60000000,
};

void endpoints_init(struct endpoints *self, const char *role,
                    const char names[][DOCUMENT_TEXT_BYTES], uint32_t count)
{
    assert(count <= SESSION_MAX_ENDPOINTS);

    memset(self, 0, sizeof *self);
    self->role = role;
    self->count = count;
    self->pause_us = PAUSE_FIRST_US;
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(self->names[i], sizeof self->names[i], "%s", names[i]);
    }
}

void endpoints_fini(struct endpoints *self, const struct effects *effects)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->links[i] != 0) {
            effects->link_close(effects->context, self->links[i]);
            self->links[i] = 0;
        }
    }
}

static enum status send_to(struct endpoints *self, const struct effects *effects, uint32_t index,
                           struct span frame)
{
    if (self->links[index] == 0) {
        self->links[index] = effects->link_open(effects->context, self->names[index]);
    }
    if (self->links[index] == 0) {
        return STATUS_UNAVAILABLE;
    }
    return effects->send(effects->context, self->links[index], frame);
}

static void back_off(struct endpoints *self, uint64_t now_us)
{
    self->paused_until = now_us + self->pause_us;
    self->pause_us *= 2;
    if (self->pause_us > PAUSE_LONGEST_US) {
        self->pause_us = PAUSE_LONGEST_US;
    }
}

static bool is_avoided(const struct endpoints *self, uint64_t now_us, uint32_t index)
{
    return now_us < self->loads[index].avoided_until;
}

/* ---- sites ---- */

bool endpoints_is_of_site(const struct endpoints *self, uint32_t index)
{
    return self->loads[index].site[0] != '\0' &&
           site_id_equal(&self->loads[index].site_id, &self->site_id);
}

/* Whoever has not told may be of it. */
static bool may_be_of_site(const struct endpoints *self, uint32_t index)
{
    return self->loads[index].site[0] == '\0' || endpoints_is_of_site(self, index);
}

/* Who refuses answers. */
static bool is_silent(const struct endpoints *self, uint64_t now_us, uint32_t index)
{
    return self->loads[index].avoid_us > 0 && is_avoided(self, now_us, index);
}

static bool site_answers(const struct endpoints *self, uint64_t now_us)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (may_be_of_site(self, i) && !is_silent(self, now_us, i)) {
            return true;
        }
    }
    return false;
}

static bool is_another(const struct endpoints *self, uint64_t now_us, uint32_t index)
{
    return !may_be_of_site(self, index) && !(self->fail_over && !site_answers(self, now_us));
}

static bool all_are_others(const struct endpoints *self, uint64_t now_us)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (!is_another(self, now_us, i)) {
            return false;
        }
    }
    return true;
}

static bool is_shut(const struct endpoints *self, uint64_t now_us, uint32_t index)
{
    return is_another(self, now_us, index) && !all_are_others(self, now_us);
}

bool endpoints_take_site(struct endpoints *self, uint64_t now_us, uint32_t index, const char *name,
                         const struct site_id *id)
{
    struct endpoint_load *load = &self->loads[index];

    (void)snprintf(load->site, sizeof load->site, "%s", name);
    load->site_id = *id;
    if (self->site[0] == '\0' || !is_another(self, now_us, index)) {
        (void)snprintf(self->site, sizeof self->site, "%s", name);
        self->site_id = *id;
    }
    return endpoints_is_of_site(self, index);
}

const char *endpoints_shut(const struct endpoints *self, uint64_t now_us, const char **site)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (is_another(self, now_us, i)) {
            *site = self->loads[i].site;
            return self->names[i];
        }
    }
    return NULL;
}

/* ---- which one ---- */

/* Whose site is asked the first answer says: so before there is one the first of the list is. */
uint32_t endpoints_choose(const struct endpoints *self, uint64_t now_us, bool in_order)
{
    uint32_t chosen = self->current;

    if (in_order && !is_shut(self, now_us, chosen)) {
        return chosen;
    }
    if (is_avoided(self, now_us, chosen) || is_shut(self, now_us, chosen)) {
        chosen = endpoints_after(self, now_us, chosen);
    }
    for (uint32_t i = 0; i < self->count && self->answered; i++) {
        if (!is_avoided(self, now_us, i) && !is_shut(self, now_us, i) &&
            self->loads[i].inflight_bytes < self->loads[chosen].inflight_bytes) {
            chosen = i;
        }
    }
    return chosen;
}

enum status endpoints_send(struct endpoints *self, const struct effects *effects, uint64_t now_us,
                           struct span frame, uint32_t *index)
{
    assert(self->count > 0 && *index < self->count);

    if (now_us < self->paused_until) {
        return STATUS_UNAVAILABLE;
    }
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t next = (*index + i) % self->count;

        if (is_shut(self, now_us, next)) {
            continue;
        }
        if (send_to(self, effects, next, frame) == STATUS_OK) {
            if (self->current == *index) {
                self->current = next;
            }
            *index = next;
            self->loads[next].inflight_bytes += frame.size;
            self->loads[next].refused = false;
            self->paused_until = 0;
            self->pause_us = PAUSE_FIRST_US;
            return STATUS_OK;
        }
    }
    back_off(self, now_us);
    return STATUS_UNAVAILABLE;
}

uint32_t endpoints_after(const struct endpoints *self, uint64_t now_us, uint32_t index)
{
    for (uint32_t i = 1; i < self->count; i++) {
        uint32_t next = (index + i) % self->count;

        if (!is_avoided(self, now_us, next) && !is_shut(self, now_us, next)) {
            return next;
        }
    }
    for (uint32_t i = 1; i < self->count; i++) {
        uint32_t next = (index + i) % self->count;

        if (!is_shut(self, now_us, next)) {
            return next;
        }
    }
    return index;
}

void endpoints_settle(struct endpoints *self, uint32_t index, uint64_t bytes)
{
    assert(self->loads[index].inflight_bytes >= bytes);
    self->loads[index].inflight_bytes -= bytes;
}

void endpoints_trust(struct endpoints *self, uint32_t index)
{
    self->answered = true;
    self->loads[index].avoided_until = 0;
    self->loads[index].avoid_us = 0;
}

void endpoints_spare(struct endpoints *self, uint64_t now_us, uint32_t index)
{
    struct endpoint_load *load = &self->loads[index];

    load->avoid_us = 0; /* It answers. */
    if (load->avoided_until < now_us + SPARE_US) {
        load->avoided_until = now_us + SPARE_US;
    }
}

void endpoints_suspect(struct endpoints *self, uint64_t now_us, uint32_t index)
{
    struct endpoint_load *load = &self->loads[index];

    if (now_us >= load->avoided_until) { /* Many may wait in vain: that counts once. */
        load->avoid_us = load->avoid_us == 0 ? AVOID_FIRST_US : 2 * load->avoid_us;
        load->avoid_us = load->avoid_us < AVOID_LONGEST_US ? load->avoid_us : AVOID_LONGEST_US;
        load->avoided_until = now_us + load->avoid_us;
    }
    if (self->current == index) {
        self->current = endpoints_after(self, now_us, index);
    }
}

void endpoints_refused(struct endpoints *self, uint64_t now_us, uint32_t index, const char *cause)
{
    (void)snprintf(self->refusal, sizeof self->refusal, "%s", cause);
    self->loads[index].refused = true;
    endpoints_suspect(self, now_us, index);
}

bool endpoints_any_refuses(const struct endpoints *self)
{
    bool any = false;

    for (uint32_t i = 0; i < self->count; i++) {
        any |= self->loads[i].refused;
    }
    return any;
}

bool endpoints_all_refuse(const struct endpoints *self)
{
    bool all = self->count > 0;

    for (uint32_t i = 0; i < self->count; i++) {
        all &= self->loads[i].refused;
    }
    return all;
}

bool endpoints_find(const struct endpoints *self, uint32_t link, uint32_t *index)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (link != 0 && self->links[i] == link) {
            *index = i;
            return true;
        }
    }
    return false;
}

const char *endpoints_show(const struct endpoints *self, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < self->count && used + 1 < size; i++) {
        int written = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", self->names[i]);

        used += written > 0 ? (size_t)written : 0;
    }
    return text;
}
