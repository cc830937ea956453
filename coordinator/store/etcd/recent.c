/* A list in order of version: what is written again moves to its end, what is removed leaves. */
#include "coordinator/store/etcd/recent.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>

struct recent_record {
    TAILQ_ENTRY(recent_record) entry;
    uint64_t version;
    size_t size;
    char key[STORE_KEY_BYTES];
    uint8_t value[];
};

void recent_init(struct recent *self)
{
    *self = (struct recent){0};
    TAILQ_INIT(&self->records);
}

static size_t bytes_of(const struct recent_record *record)
{
    return sizeof *record + record->size;
}

static void drop(struct recent *self, struct recent_record *record)
{
    TAILQ_REMOVE(&self->records, record, entry);
    self->bytes -= bytes_of(record);
    heap_free(record);
}

void recent_forget(struct recent *self)
{
    while (!TAILQ_EMPTY(&self->records)) {
        drop(self, TAILQ_FIRST(&self->records));
    }
    self->from = self->upto = 0;
}

void recent_fini(struct recent *self)
{
    recent_forget(self);
}

static void drop_key(struct recent *self, const char *key)
{
    struct recent_record *record;

    TAILQ_FOREACH_REVERSE(record, &self->records, recent_records, entry)
    {
        if (strcmp(record->key, key) == 0) {
            drop(self, record);
            return;
        }
    }
}

static bool append(struct recent *self, const struct store_swap *swap, uint64_t version)
{
    struct recent_record *record = heap_alloc(1, sizeof *record + swap->value.size);

    if (record == NULL) {
        return false;
    }
    assert(strlen(swap->key) < STORE_KEY_BYTES);
    record->version = version;
    record->size = swap->value.size;
    (void)strcpy(record->key, swap->key);
    if (record->size > 0) {
        memcpy(record->value, swap->value.data, record->size);
    }
    TAILQ_INSERT_TAIL(&self->records, record, entry);
    self->bytes += bytes_of(record);
    return true;
}

/* Records of one version go together, as it is known of a version as a whole. */
static void make_room(struct recent *self)
{
    struct recent_record *first;

    while (self->bytes > RECENT_BYTES) {
        self->from = TAILQ_FIRST(&self->records)->version;
        while ((first = TAILQ_FIRST(&self->records)) != NULL && first->version == self->from) {
            drop(self, first);
        }
    }
}

void recent_note(struct recent *self, uint64_t before, uint64_t change,
                 const struct store_swap *swaps, size_t count)
{
    assert(before > 0 && before < change);

    if (before != self->upto) {
        recent_forget(self);
        self->from = before;
    }
    self->upto = change;
    for (size_t i = 0; i < count; i++) {
        drop_key(self, swaps[i].key);
        if (!swaps[i].remove && !append(self, &swaps[i], change)) {
            recent_forget(self);
            return;
        }
    }
    make_room(self);
}

bool recent_knows(const struct recent *self, uint64_t since, uint64_t change)
{
    return self->upto != 0 && self->upto == change && since != 0 && since >= self->from;
}

void recent_visit(const struct recent *self, uint64_t since, store_visit_fn visit, void *context)
{
    const struct recent_record *record;

    TAILQ_FOREACH(record, &self->records, entry)
    {
        if (record->version > since &&
            !visit(context, record->key, record->version, span_of(record->value, record->size))) {
            return;
        }
    }
}
