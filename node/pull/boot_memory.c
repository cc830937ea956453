/* Of each other node: how far its log is known to have come, boot by boot; and what follows from
 * that when a start of it asks. */
#include "node/pull/boot_memory.h"

#include "base/heap.h"

#include <stddef.h>
#include <string.h>

void boot_memory_fini(struct boot_memory *self)
{
    heap_free(self->items);
    *self = (struct boot_memory){0};
}

static struct boot_entry *find(const struct boot_memory *self, uint32_t node)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->items[i].node == node) {
            return &self->items[i];
        }
    }
    return NULL;
}

/* Of that very incarnation: what was known of another one is forgotten. */
static struct boot_entry *open_entry(struct boot_memory *self, const struct member *who)
{
    struct boot_entry *entry = find(self, who->node);

    if (entry == NULL) {
        if (!heap_grow(&self->items, &self->capacity, (size_t)self->count + 1,
                       sizeof *self->items)) {
            return NULL;
        }
        entry = &self->items[self->count++];
        *entry = (struct boot_entry){0};
    }
    if (entry->node != who->node || entry->incarnation != who->incarnation) {
        *entry = (struct boot_entry){.node = who->node, .incarnation = who->incarnation};
    }
    return entry;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static const struct boot_told *told_of(const struct boot_entry *entry, uint64_t boot)
{
    for (uint32_t i = 0; i < entry->ntold; i++) {
        if (entry->told[i].boot == boot) {
            return &entry->told[i];
        }
    }
    return NULL;
}

/* Returns its index. */
static uint32_t add_told(struct boot_entry *entry, uint64_t boot)
{
    if (entry->ntold == BOOT_MAX_TOLD) {
        entry->ntold--;
        memmove(entry->told, entry->told + 1, entry->ntold * sizeof entry->told[0]);
    }
    entry->told[entry->ntold] = (struct boot_told){.boot = boot};
    return entry->ntold++;
}

enum status boot_memory_note(struct boot_memory *self, const struct member *who, uint64_t boot,
                             uint64_t position, uint64_t floor)
{
    struct boot_entry *entry = open_entry(self, who);
    uint32_t at = 0;

    if (entry == NULL) {
        return STATUS_NOMEM;
    }
    while (at < entry->ntold && entry->told[at].boot != boot) {
        at++;
    }
    if (at == entry->ntold) {
        at = add_told(entry, boot);
        entry->floor = higher(entry->floor, floor);
    }
    entry->told[at].position = higher(entry->told[at].position, position);
    return STATUS_OK;
}

/* Is it that boot, or one that goes on from it? */
static bool follows(const struct boot_question *question, uint64_t boot)
{
    bool any = question->boot == boot;

    for (uint32_t i = 0; i < question->nbefore; i++) {
        any = any || question->before[i] == boot;
    }
    return any;
}

/* Where a boot ended. One that the question does not name is older than those that it does, or has
 * gone on in another copy. */
static uint64_t end_of(const struct boot_question *question, uint64_t boot)
{
    for (uint32_t i = 0; i < question->nbefore; i++) {
        if (question->before[i] == boot) {
            return question->ends[i];
        }
    }
    return question->nbefore > 0 ? question->ends[0] : question->position;
}

/* What other boots than this one were known to have, and the log does not; 0: nothing. */
static uint64_t lost_told(const struct boot_entry *entry, const struct boot_question *question)
{
    uint64_t lost = 0;

    for (uint32_t i = 0; i < entry->ntold && question->position != UINT64_MAX; i++) {
        const struct boot_told *told = &entry->told[i];

        if (told->boot != question->boot && told->position > end_of(question, told->boot)) {
            lost = higher(lost, told->position);
        }
    }
    return lost;
}

/* Higher than the log that was found, or 0. What a boot has written itself says nothing of that;
 * and nobody knows which boot a floor is of, once the node that has it was started again. */
static uint64_t lost_position(const struct boot_entry *entry, const struct boot_question *question,
                              uint64_t floor)
{
    uint64_t told = entry != NULL ? lost_told(entry, question) : 0;

    if (told > 0) {
        return told;
    }
    if (entry != NULL) {
        floor = higher(entry->floor, told_of(entry, question->boot) != NULL ? 0 : floor);
    }
    return floor > question->position && floor > question->reached ? floor : 0;
}

enum boot_answer boot_memory_judge(const struct boot_memory *self, const struct node_record *record,
                                   const struct boot_question *question, uint64_t floor,
                                   uint64_t *remembered)
{
    const struct boot_entry *entry = find(self, question->node);
    uint64_t lost;

    entry = entry != NULL && entry->incarnation == question->incarnation ? entry : NULL;
    lost = lost_position(entry, question, floor);
    if (lost > 0) {
        *remembered = lost;
        return BOOT_SUPERSEDED;
    }
    if (record == NULL || record->incarnation != question->incarnation) {
        return BOOT_UNKNOWN; /* One of the two has not heard the news; the store has. */
    }
    if (entry != NULL && entry->boot != 0) {
        if (follows(question, entry->boot)) {
            return BOOT_FITS;
        }
        if (follows(question, entry->base)) {
            return BOOT_SUPERSEDED; /* Somebody else has gone on from there, and was confirmed. */
        }
    }
    return follows(question, record->boot) ? BOOT_FITS : BOOT_UNKNOWN;
}

bool boot_memory_confirms(const struct boot_memory *self, const struct node_record *record,
                          const struct boot_question *question, struct boot_entry *out)
{
    const struct boot_entry *entry = find(self, question->node);
    bool known = record->boot == question->boot ||
                 (entry != NULL && entry->incarnation == question->incarnation &&
                  entry->boot == question->boot);

    *out = (struct boot_entry){.node = question->node,
                               .incarnation = question->incarnation,
                               .boot = question->boot,
                               .base = record->boot};
    return !known;
}

enum status boot_memory_keep(struct boot_memory *self, const struct boot_entry *confirmed)
{
    const struct member who = {.node = confirmed->node, .incarnation = confirmed->incarnation};
    struct boot_entry *entry = open_entry(self, &who);

    if (entry == NULL) {
        return STATUS_NOMEM;
    }
    entry->boot = confirmed->boot;
    entry->base = confirmed->base;
    return STATUS_OK;
}
