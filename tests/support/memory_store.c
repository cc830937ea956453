#include "tests/support/memory_store.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t find(const struct memory_store *self, const char *key)
{
    size_t i = 0;

    while (i < self->nrecords && strcmp(self->records[i].key, key) != 0) {
        i++;
    }
    return i;
}

static enum status get(void *context, const char *key, struct buffer *value, uint64_t *version)
{
    const struct memory_store *self = context;
    size_t at = find(self, key);

    if (self->broken) {
        return STATUS_IO;
    }
    if (at == self->nrecords) {
        return STATUS_NOT_FOUND;
    }
    *version = self->records[at].version;
    return buffer_append(value, span_of(self->records[at].value, self->records[at].size));
}

static void write_one(struct memory_store *self, const struct store_swap *swap)
{
    size_t at = find(self, swap->key);

    if (swap->remove) {
        free(self->records[at].value);
        self->nrecords--;
        memmove(&self->records[at], &self->records[at + 1],
                (self->nrecords - at) * sizeof self->records[0]);
        memset(&self->records[self->nrecords], 0, sizeof self->records[0]); /* Moved, not two. */
        return;
    }
    if (at == self->nrecords) {
        cr_assert_lt(self->nrecords, MEMORY_STORE_MAX);
        (void)snprintf(self->records[at].key, STORE_KEY_BYTES, "%s", swap->key);
        self->nrecords++;
    }
    free(self->records[at].value);
    self->records[at].value = malloc(swap->value.size + 1);
    cr_assert_not_null(self->records[at].value);
    memcpy(self->records[at].value, swap->value.data, swap->value.size);
    self->records[at].size = swap->value.size;
    self->records[at].version = self->change;
}

static enum status swap(void *context, const struct store_swap *swaps, size_t count,
                        uint64_t *change)
{
    struct memory_store *self = context;
    void (*hook)(void *) = self->before_swap;

    if (hook != NULL) {
        self->before_swap = NULL;
        hook(self->context);
    }
    if (self->broken || self->read_only) {
        return STATUS_IO;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = find(self, swaps[i].key);

        if ((at == self->nrecords ? 0 : self->records[at].version) != swaps[i].expected) {
            return STATUS_CONFLICT;
        }
    }
    self->change++;
    for (size_t i = 0; i < count; i++) {
        write_one(self, &swaps[i]);
    }
    *change = self->change;
    return STATUS_OK;
}

static enum status since(void *context, uint64_t since_change, store_visit_fn visit,
                         void *visit_context)
{
    const struct memory_store *self = context;

    for (uint64_t version = since_change + 1; version <= self->change; version++) {
        for (size_t i = 0; i < self->nrecords; i++) {
            if (self->records[i].version == version &&
                !visit(visit_context, self->records[i].key, version,
                       span_of(self->records[i].value, self->records[i].size))) {
                return STATUS_OK;
            }
        }
    }
    return self->broken ? STATUS_IO : STATUS_OK;
}

static enum status current_change(void *context, uint64_t *change)
{
    const struct memory_store *self = context;

    *change = self->change;
    return self->broken ? STATUS_IO : STATUS_OK;
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
        .change = current_change,
        .reason = tell_reason,
    };
}

void memory_store_fini(struct memory_store *self)
{
    for (size_t i = 0; i < self->nrecords; i++) {
        free(self->records[i].value);
    }
}
