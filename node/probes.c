/* Takes filters in turn to have absent keys of them looked up. */
#include "node/array/probe.h"
#include "node/private.h"

enum { PROBE_FILTERS = 64 /* that serve nothing here are passed over at once, at most */ };

/* A node that reads its log, or that nobody has confirmed, answers no checks either. */
static bool probes(const struct node *self)
{
    return self->config.probe_rate > 0 && self->life.confirmed && !self->life.recovering &&
           !self->life.failed;
}

static uint32_t at_once(const struct node *self)
{
    return self->config.probe_rate < PROBE_KEYS ? (uint32_t)self->config.probe_rate : PROBE_KEYS;
}

uint64_t node_probes_next_us(const struct node *self)
{
    return probes(self) ? self->probes.next_us : ACTOR_NEVER;
}

/* From the first one on again behind the last. */
static struct document_entry *next_entry(struct node *self)
{
    const struct document_cache *documents = &self->documents;
    size_t at = document_cache_from(documents, self->probes.next_id);
    struct document_entry *entry;

    if (documents->count == 0) {
        return NULL;
    }
    entry = documents->by_id[at < documents->count ? at : 0];
    self->probes.next_id = entry->document.id + 1;
    return entry;
}

static struct probe_count probe_next(struct node *self, uint64_t now_us)
{
    struct probe_count found = {0};

    for (uint32_t i = 0; i < PROBE_FILTERS && found.probes == 0; i++) {
        struct document_entry *entry = next_entry(self);

        if (entry == NULL) {
            break;
        }
        if (entry->attachment != NULL) {
            found = probe_filter(entry->attachment, &entry->document, now_us, at_once(self),
                                 &self->probes.random);
        }
    }
    return found;
}

void node_probes_turn(struct node *self, uint64_t now_us)
{
    struct probe_count found;

    if (now_us < node_probes_next_us(self)) {
        return;
    }
    if (self->probes.random == 0) {
        self->probes.random = self->effects.random(self->effects.context);
    }
    found = probe_next(self, now_us);
    self->counters[NODE_probes_total] += found.probes;
    self->counters[NODE_probe_hits_total] += found.hits;
    self->probes.next_us = now_us + at_once(self) * UINT64_C(1000000) / self->config.probe_rate;
}
