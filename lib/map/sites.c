/* Entries are kept by rising ids, so that equal sets have equal bytes. Merging takes the greater of
 * two entries in an order of its own for each part, so neither order nor repetition matters: the
 * later return; of one return GONE if either is; the newer life; and of what belongs to that life
 * alone, the later state and, should two names be told for it, the one that sorts last. */
#include "map/sites.h"

#include "base/mutant.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *site_state_name(enum site_state state)
{
    switch (state) {
    case SITE_JOINING:
        return "joining";
    case SITE_COUNTED:
        return "counted";
    case SITE_LEAVING:
        return "leaving";
    case SITE_GONE:
        return "gone";
    }
    return "?";
}

bool site_state_may(enum site_state from, enum site_state to)
{
    static const uint8_t may[] = {
        [SITE_JOINING] = 1 << SITE_COUNTED | 1 << SITE_LEAVING | 1 << SITE_GONE,
        [SITE_COUNTED] = 1 << SITE_LEAVING | 1 << SITE_GONE,
        [SITE_LEAVING] = 1 << SITE_GONE,
        [SITE_GONE] = 0,
    };

    assert(from >= SITE_JOINING && from <= SITE_GONE && to >= SITE_JOINING && to <= SITE_GONE);
    return (may[from] >> to & 1) != 0;
}

bool site_name_valid(struct span name)
{
    if (name.size == 0 || name.size >= SITE_NAME_BYTES) {
        return false;
    }
    for (size_t i = 0; i < name.size; i++) {
        uint8_t byte = name.data[i];

        if (!(byte >= 'a' && byte <= 'z') && !(byte >= '0' && byte <= '9') && byte != '-') {
            return false;
        }
    }
    return true;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int id_compare(const struct site_id *a, const struct site_id *b)
{
    return a->high != b->high ? compare(a->high, b->high) : compare(a->low, b->low);
}

bool site_id_equal(const struct site_id *a, const struct site_id *b)
{
    return id_compare(a, b) == 0;
}

const char *site_id_show(const struct site_id *id, char text[SITE_ID_TEXT_BYTES])
{
    (void)snprintf(text, SITE_ID_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, id->high, id->low);
    return text;
}

int site_life_compare(const struct site_life *a, const struct site_life *b)
{
    return a->number != b->number       ? compare(a->number, b->number)
           : MUTANT(SITE_LIFE_UNTAGGED) ? 0
                                        : compare(a->tag, b->tag);
}

uint64_t site_life_return(uint64_t number)
{
    return number >> SITE_RETURN_SHIFT;
}

uint64_t site_life_next(uint64_t number)
{
    bool is_last = number >= SITE_LAST_LIFE ||
                   site_life_return(number + 1) != site_life_return(number);

    return is_last ? 0 : number + 1;
}

uint64_t site_life_first_of_next_return(uint64_t number)
{
    uint64_t next = (site_life_return(number) + 1) << SITE_RETURN_SHIFT | SITE_FIRST_LIFE;

    return next <= SITE_LAST_LIFE ? next : 0;
}

/* The first entry whose id is not below. */
static uint32_t position_of(const struct site_set *self, const struct site_id *id)
{
    uint32_t at = 0;

    while (at < self->count && id_compare(&self->entries[at].id, id) < 0) {
        at++;
    }
    return at;
}

const struct site_entry *site_set_find(const struct site_set *self, const struct site_id *id)
{
    uint32_t at = position_of(self, id);

    return at < self->count && site_id_equal(&self->entries[at].id, id) ? &self->entries[at] : NULL;
}

const struct site_entry *site_set_own(const struct site_set *self)
{
    return self->count > 0 ? &self->entries[self->own] : NULL;
}

uint32_t site_set_live(const struct site_set *self)
{
    uint32_t live = 0;

    for (uint32_t i = 0; i < self->count; i++) {
        live += self->entries[i].state != SITE_GONE;
    }
    return live;
}

bool site_entry_has_own_life(const struct site_entry *entry)
{
    return entry->state > SITE_JOINING ||
           (entry->life.number & ((UINT64_C(1) << SITE_RETURN_SHIFT) - 1)) > SITE_FIRST_LIFE;
}

uint64_t site_entry_gone(const struct site_entry *entry)
{
    return site_life_return(entry->life.number) + (entry->state == SITE_GONE);
}

uint32_t site_set_state_of(const struct site_set *self, const struct site_entry *entry)
{
    const struct site_entry *held = site_set_find(self, &entry->id);

    if (held != NULL && site_entry_gone(held) > site_life_return(entry->life.number)) {
        return SITE_GONE;
    }
    return held != NULL && site_life_compare(&held->life, &entry->life) == 0 ? (uint32_t)held->state
                                                                             : 0;
}

bool site_set_knows_gone(const struct site_set *self, const struct site_set *other)
{
    for (uint32_t i = 0; i < other->count; i++) {
        const struct site_entry *held = site_set_find(self, &other->entries[i].id);
        uint64_t gone = held != NULL ? site_entry_gone(held) : 0;

        if (gone < site_entry_gone(&other->entries[i])) {
            return false;
        }
    }
    return true;
}

/* Each of the rules below returns NULL, or what is wrong. */

static const char *entry_fault(const struct site_entry *entry)
{
    if (entry->id.high == 0 && entry->id.low == 0) {
        return "a site has no id";
    }
    if (!site_name_valid(span_of(entry->name, strnlen(entry->name, SITE_NAME_BYTES)))) {
        return "the name of a site is not one: 1 to 32 of a-z, 0-9 and -";
    }
    if (entry->life.number == 0 || entry->life.number > SITE_LAST_LIFE) {
        return "a site has no life";
    }
    return entry->state >= SITE_JOINING && entry->state <= SITE_GONE
               ? NULL
               : "the state of a site is unknown";
}

static const char *count_fault(const struct site_set *self)
{
    if (self->count > SITE_SET_MAX) { /* before anybody looks at them */
        return "there are more than 32 sites, with those that are gone";
    }
    return site_set_live(self) > SITE_SET_MAX_LIVE ? "there are more than 8 sites" : NULL;
}

static void insert(struct site_set *self, uint32_t at, const struct site_entry *entry)
{
    assert(self->count < SITE_SET_MAX);
    memmove(&self->entries[at + 1], &self->entries[at],
            (self->count - at) * sizeof self->entries[0]);
    self->entries[at] = *entry;
    self->own += self->count > 0 && at <= self->own;
    self->count++;
}

enum status site_set_add(struct site_set *self, const struct site_entry *entry)
{
    bool live = entry->state != SITE_GONE;

    if (entry_fault(entry) != NULL) {
        return STATUS_INVALID;
    }
    if (site_set_find(self, &entry->id) != NULL) {
        return STATUS_EXISTS;
    }
    if (self->count == SITE_SET_MAX || (live && site_set_live(self) == SITE_SET_MAX_LIVE)) {
        return STATUS_TOO_LARGE;
    }
    insert(self, position_of(self, &entry->id), entry);
    return STATUS_OK;
}

static struct site_entry without_orders(const struct site_entry *entry)
{
    struct site_entry plain = *entry;

    plain.paused = false;
    plain.resync = 0;
    return plain;
}

void site_set_forget_orders(struct site_set *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        self->entries[i] = without_orders(&self->entries[i]);
    }
}

static bool same_return(const struct site_entry *a, const struct site_entry *b)
{
    return site_life_return(a->life.number) == site_life_return(b->life.number);
}

/* What is known of a site when both are: see the head. The orders are those of the first. */
static struct site_entry later(const struct site_entry *a, const struct site_entry *b)
{
    int order = site_life_compare(&a->life, &b->life);
    struct site_entry entry = order >= 0 ? *a : *b;

    entry.paused = a->paused;
    entry.resync = a->resync;

    assert(site_id_equal(&a->id, &b->id));
    if (order == 0) {
        entry.state = a->state > b->state ? a->state : b->state;
        if (strncmp(b->name, a->name, SITE_NAME_BYTES) > 0) {
            memcpy(entry.name, b->name, SITE_NAME_BYTES);
        }
    }
    if (same_return(a, b) && (a->state == SITE_GONE || b->state == SITE_GONE)) {
        entry.state = MUTANT(SITE_GONE_FORGOTTEN) && a->state == SITE_GONE ? b->state : SITE_GONE;
    }
    return entry;
}

static bool entry_equal(const struct site_entry *a, const struct site_entry *b)
{
    return site_id_equal(&a->id, &b->id) && site_life_compare(&a->life, &b->life) == 0 &&
           a->state == b->state && strncmp(a->name, b->name, SITE_NAME_BYTES) == 0;
}

/* Is one GONE that was not, perhaps back since? Who was never heard of otherwise never took an add:
 * for that it would have had to be in this set. */
static bool loses_one(const struct site_set *before, const struct site_set *after)
{
    for (uint32_t i = 0; i < before->count; i++) {
        if (before->entries[i].state != SITE_GONE && site_entry_has_own_life(&before->entries[i]) &&
            site_set_state_of(after, &before->entries[i]) == SITE_GONE) {
            return true;
        }
    }
    return false;
}

/* A new life has all steps of joining before it. */
static void restrain(struct site_set *self, const struct site_set *before)
{
    const struct site_entry *own = site_set_own(self);
    bool same = site_life_compare(&own->life, &site_set_own(before)->life) == 0;

    self->says_absent = self->says_absent && same && own->state == SITE_COUNTED;
    self->takes_adds = self->takes_adds && same && own->state <= SITE_COUNTED;
    self->settled = self->settled && same && !loses_one(before, self);
}

void site_set_begin_life(struct site_set *self, const struct site_life *life)
{
    struct site_entry *own = &self->entries[self->own];

    assert(self->count > 0 && life->number > own->life.number);
    assert(own->state <= SITE_COUNTED ||
           site_life_return(life->number) > site_life_return(own->life.number));
    own->life = *life;
    own->state = SITE_JOINING;
    self->takes_adds = self->says_absent = false;
    self->joins_anew = true;
}

bool site_set_heals(const struct site_set *self)
{
    return self->joins_anew && site_set_own(self)->state == SITE_JOINING;
}

/* Into a copy: its places suffice for all that may come, as each set has no more than so many. */
enum status site_set_merge(struct site_set *self, const struct site_set *other)
{
    struct site_set merged = *self;

    assert(self->count > 0 && self->count <= SITE_SET_MAX && other->count <= SITE_SET_MAX);
    for (uint32_t i = 0; i < other->count; i++) {
        const struct site_entry *entry = &other->entries[i];
        uint32_t at = position_of(&merged, &entry->id);

        if (at < merged.count && site_id_equal(&merged.entries[at].id, &entry->id)) {
            merged.entries[at] = later(&merged.entries[at], entry);
        } else if (merged.count < SITE_SET_MAX) {
            const struct site_entry plain = without_orders(entry);

            insert(&merged, at, &plain);
        } else {
            return STATUS_TOO_LARGE;
        }
    }
    if (count_fault(&merged) != NULL) {
        return STATUS_TOO_LARGE;
    }
    restrain(&merged, self);
    *self = merged;
    return STATUS_OK;
}

bool site_set_covers(const struct site_set *self, const struct site_set *other)
{
    for (uint32_t i = 0; i < other->count; i++) {
        const struct site_entry *held = site_set_find(self, &other->entries[i].id);
        struct site_entry both;

        if (held == NULL) {
            return false;
        }
        both = later(held, &other->entries[i]);
        if (!entry_equal(&both, held)) {
            return false;
        }
    }
    return true;
}

bool site_set_agrees(const struct site_set *self, const struct site_set *other)
{
    return site_set_covers(self, other) && site_set_covers(other, self);
}

/* Those that are gone may have had any name. */
static const char *names_fault(const struct site_set *self, uint32_t at)
{
    const struct site_entry *entry = &self->entries[at];

    for (uint32_t i = 0; i < at; i++) {
        if (entry->state != SITE_GONE && self->entries[i].state != SITE_GONE &&
            strncmp(entry->name, self->entries[i].name, SITE_NAME_BYTES) == 0) {
            return "two sites have one name";
        }
    }
    return NULL;
}

static const char *own_fault(const struct site_set *self)
{
    const struct site_entry *own;

    if (self->own >= self->count) {
        return "the set of sites lacks the one that it is of";
    }
    own = site_set_own(self);
    if (self->takes_adds && own->state > SITE_COUNTED) {
        return "a site that leaves takes adds";
    }
    if (self->says_absent && (own->state != SITE_COUNTED || !self->takes_adds)) {
        return "a site that does not count, or takes no adds, says absent";
    }
    if (self->joins_anew && self->says_absent) {
        return "a site that joins anew says absent";
    }
    return NULL;
}

const char *sites_fault(const struct site_set *self)
{
    bool any = self->own != 0 || self->takes_adds || self->says_absent || self->settled ||
               self->joins_anew;
    const char *fault = NULL;

    if (self->count == 0) {
        return any ? "without sites there is what one may do" : NULL;
    }
    if (self->count > SITE_SET_MAX) {
        return count_fault(self);
    }
    for (uint32_t i = 0; i < self->count && fault == NULL; i++) {
        fault = entry_fault(&self->entries[i]);
        if (fault == NULL && i > 0 &&
            id_compare(&self->entries[i - 1].id, &self->entries[i].id) >= 0) {
            fault = "the sites are not in the order of their ids, each once";
        }
        fault = fault == NULL ? names_fault(self, i) : fault;
    }
    fault = fault == NULL ? count_fault(self) : fault;
    return fault == NULL ? own_fault(self) : fault;
}
