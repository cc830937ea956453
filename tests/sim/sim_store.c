#include "tests/sim/sim_store.h"

#include "base/heap.h"
#include "tests/sim/sim_memory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static int position(const struct sim_store *self, const char *key)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (strcmp(self->records[i].key, key) == 0) {
            return (int)i;
        }
    }
    return -1;
}

const struct sim_store_record *sim_store_find(const struct sim_store *self, const char *key)
{
    int at = position(self, key);

    return at >= 0 ? &self->records[at] : NULL;
}

static enum status get(void *context, const char *key, struct buffer *value, uint64_t *version)
{
    const struct sim_store *self = context;
    const struct sim_store_record *record = sim_store_find(self, key);

    if (self->broken) {
        return STATUS_IO;
    }
    if (record == NULL) {
        return STATUS_NOT_FOUND;
    }
    *version = record->version;
    return buffer_append(value, span_of(record->value, record->size));
}

/* The written record moves to the end: its version is the highest now. */
static void write_record(struct sim_store *self, const struct store_swap *one)
{
    int at = position(self, one->key);
    struct sim_store_record record = {.version = self->change, .size = one->value.size};

    if (at >= 0) {
        heap_free(self->records[at].value);
        self->count--;
        memmove(&self->records[at], &self->records[at + 1],
                (self->count - (uint32_t)at) * sizeof record);
    }
    if (one->remove) {
        return;
    }
    assert(self->count < SIM_STORE_RECORDS);
    (void)snprintf(record.key, sizeof record.key, "%s", one->key);
    record.value = sim_memory_alloc(one->value.size, 1);
    memcpy(record.value, one->value.data, one->value.size);
    self->records[self->count++] = record;
}

static enum status swap(void *context, const struct store_swap *swaps, size_t count,
                        uint64_t *change)
{
    struct sim_store *self = context;

    assert(count <= STORE_MAX_KEYS && !swaps[0].remove);
    if (self->broken) {
        return STATUS_IO;
    }
    for (size_t i = 0; i < count; i++) {
        const struct sim_store_record *record = sim_store_find(self, swaps[i].key);

        if ((record != NULL ? record->version : 0) != swaps[i].expected) {
            return STATUS_CONFLICT;
        }
    }
    self->change++;
    for (size_t i = 0; i < count; i++) {
        write_record(self, &swaps[i]);
        if (self->written != NULL && !swaps[i].remove) {
            self->written(self->written_context, swaps[i].key, swaps[i].value);
        }
    }
    *change = self->change;
    return STATUS_OK;
}

static enum status since(void *context, uint64_t change, store_visit_fn visit, void *visitor)
{
    const struct sim_store *self = context;

    if (self->broken) {
        return STATUS_IO;
    }
    for (uint32_t i = 0; i < self->count; i++) {
        const struct sim_store_record *record = &self->records[i];

        if (record->version > change &&
            !visit(visitor, record->key, record->version, span_of(record->value, record->size))) {
            break;
        }
    }
    return STATUS_OK;
}

static enum status change_number(void *context, uint64_t *change)
{
    const struct sim_store *self = context;

    if (self->broken) {
        return STATUS_IO;
    }
    *change = self->change;
    return STATUS_OK;
}

void sim_store_init(struct sim_store *self)
{
    *self = (struct sim_store){.interface = {
                                   .self = self,
                                   .get = get,
                                   .swap = swap,
                                   .since = since,
                                   .change = change_number,
                               }};
}

void sim_store_fini(struct sim_store *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        heap_free(self->records[i].value);
    }
    self->count = 0;
}
