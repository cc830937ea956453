/* An array in the order of writes: what is written moves to its end. */
#include "tests/support/memory_store.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t position(const struct memory_store *self, const char *key)
{
    size_t at = 0;

    while (at < self->nrecords && strcmp(self->records[at].key, key) != 0) {
        at++;
    }
    return at;
}

const struct memory_store_record *memory_store_find(const struct memory_store *self,
                                                    const char *key)
{
    size_t at = position(self, key);

    return at < self->nrecords ? &self->records[at] : NULL;
}

static enum status get(void *context, const char *key, struct buffer *value, uint64_t *version)
{
    const struct memory_store *self = context;
    const struct memory_store_record *record = memory_store_find(self, key);

    if (self->broken) {
        return STATUS_IO;
    }
    if (record == NULL) {
        return STATUS_NOT_FOUND;
    }
    *version = record->version;
    return buffer_append(value, span_of(record->value, record->size));
}

static void take_out(struct memory_store *self, const char *key)
{
    size_t at = position(self, key);

    if (at < self->nrecords) {
        free(self->records[at].value);
        self->nrecords--;
        memmove(&self->records[at], &self->records[at + 1],
                (self->nrecords - at) * sizeof self->records[0]);
    }
}

static void append(struct memory_store *self, const char *key, uint64_t version, struct span value)
{
    struct memory_store_record *record = &self->records[self->nrecords++];

    assert(self->nrecords <= MEMORY_STORE_MAX);
    *record = (struct memory_store_record){
        .version = version, .value = malloc(value.size + 1), .size = value.size};
    if (record->value == NULL) {
        abort();
    }
    (void)snprintf(record->key, sizeof record->key, "%s", key);
    memcpy(record->value, value.data, value.size);
}

static void put_in(struct memory_store *self, const struct store_swap *swap)
{
    append(self, swap->key, self->change, swap->value);
    if (self->written != NULL) {
        self->written(self->written_context, swap->key, swap->value);
    }
}

static bool is_as_expected(const struct memory_store *self, const struct store_swap *swap)
{
    const struct memory_store_record *record = memory_store_find(self, swap->key);

    return swap->expected == (record != NULL ? record->version : 0);
}

static enum status swap(void *context, const struct store_swap *swaps, size_t count,
                        uint64_t *change)
{
    struct memory_store *self = context;
    void (*hook)(void *) = self->before_swap;

    assert(count > 0 && count <= STORE_MAX_KEYS && !swaps[0].remove);
    if (hook != NULL) {
        self->before_swap = NULL;
        hook(self->context);
    }
    if (self->broken || self->read_only) {
        return STATUS_IO;
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_as_expected(self, &swaps[i])) {
            return STATUS_CONFLICT;
        }
    }
    self->change++;
    for (size_t i = 0; i < count; i++) {
        take_out(self, swaps[i].key);
        if (!swaps[i].remove) {
            put_in(self, &swaps[i]);
        }
    }
    *change = self->change;
    return STATUS_OK;
}

static enum status since(void *context, uint64_t change, store_visit_fn visit, void *visitor)
{
    const struct memory_store *self = context;
    bool more = true;

    if (self->broken) {
        return STATUS_IO;
    }
    for (size_t i = 0; i < self->nrecords && more; i++) {
        const struct memory_store_record *record = &self->records[i];

        more = record->version <= change ||
               visit(visitor, record->key, record->version, span_of(record->value, record->size));
    }
    return STATUS_OK;
}

static enum status change_number(void *context, uint64_t *change)
{
    const struct memory_store *self = context;

    if (self->broken) {
        return STATUS_IO;
    }
    *change = self->change;
    return STATUS_OK;
}

static const char *tell_reason(void *context)
{
    (void)context;
    return "the disk is full; make room";
}

void memory_store_init(struct memory_store *self)
{
    *self = (struct memory_store){0};
    self->store = (struct store){
        .self = self,
        .get = get,
        .swap = swap,
        .since = since,
        .change = change_number,
        .reason = tell_reason,
    };
}

void memory_store_fini(struct memory_store *self)
{
    for (size_t i = 0; i < self->nrecords; i++) {
        free(self->records[i].value);
    }
    self->nrecords = 0;
}

void memory_store_restore(struct memory_store *self, const struct memory_store *copy)
{
    memory_store_fini(self);
    for (size_t i = 0; i < copy->nrecords; i++) {
        const struct memory_store_record *record = &copy->records[i];

        append(self, record->key, record->version, span_of(record->value, record->size));
    }
    self->change = copy->change;
}
