/* Makes lists of sorted keys and the cursors beside them, and times their encoding and reading. */
#include "bench/kernel_batch.h"

#include "base/heap.h"
#include "log/run_merge.h"
#include "site/batch.h"

#include <string.h>
#include <time.h>

enum { LEAST_KEYS = 1000000, NODES = 3, GROUPS = 8, CURSORS = NODES * GROUPS };

static const size_t list_sizes[KERNEL_BATCH_SIZES] = {100, 1000, 10000, 65536, 1000000};

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static size_t batches_a_list(const struct kernel_batches *self)
{
    return (self->list_keys + SITE_BATCH_MAX_KEYS - 1) / SITE_BATCH_MAX_KEYS;
}

/* Batch `index` of all; its first key. */
static const uint64_t *keys_of(const struct kernel_batches *self, size_t index, uint32_t *count)
{
    size_t list = index / batches_a_list(self);
    size_t begin = index % batches_a_list(self) * SITE_BATCH_MAX_KEYS;
    size_t left = self->list_keys - begin;

    *count = (uint32_t)(left < SITE_BATCH_MAX_KEYS ? left : SITE_BATCH_MAX_KEYS);
    return self->keys + list * self->list_keys + begin;
}

static void make_cursors(struct site_batch_cursor cursors[CURSORS])
{
    for (uint32_t i = 0; i < CURSORS; i++) {
        cursors[i] = (struct site_batch_cursor){.node = 1 + i / GROUPS,
                                                .group = i % GROUPS,
                                                .incarnation = 1 + i / GROUPS,
                                                .boot = 1,
                                                .offset = 8 * (1 + i / GROUPS)};
    }
}

/* Drawn anew where two are the same: then lists would be shorter. */
static void make_keys(struct kernel_batches *self, uint64_t *spare)
{
    uint64_t random = self->list_keys;

    for (size_t list = 0; list < self->nlists; list++) {
        uint64_t *keys = self->keys + list * self->list_keys;

        do {
            for (size_t i = 0; i < self->list_keys; i++) {
                uint64_t value = random += UINT64_C(0x9e3779b97f4a7c15);

                value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
                value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
                keys[i] = value ^ value >> 31;
            }
        } while (run_sort(keys, spare, self->list_keys) < self->list_keys);
    }
}

/* Are all batches what they were made of? And how long are they? */
static enum status prove(struct kernel_batches *self)
{
    size_t nkeys = self->nlists * self->list_keys;
    size_t size = 0;
    size_t beside = 0; /* what is no code: the front but the first fingerprint, and cursors */

    (void)kernel_batches_encode(self);
    for (size_t i = 0; i < self->nbatches; i++) {
        struct span bytes = span_of(self->bytes + i * self->room, self->sizes[i]);
        struct site_batch batch;
        uint32_t count;
        const uint64_t *keys = keys_of(self, i, &count);

        if (site_batch_open(bytes, &batch) != STATUS_OK || batch.nkeys != count ||
            site_batch_keys(bytes, self->read) != STATUS_OK ||
            memcmp(self->read, keys, count * sizeof *keys) != 0) {
            return STATUS_INTERNAL;
        }
        size += bytes.size;
        beside += SITE_BATCH_FRONT_BYTES - sizeof *keys + NODES * SITE_BATCH_SOURCE_BYTES +
                  CURSORS * sizeof(uint32_t);
    }
    self->batch_bytes = (double)size / (double)nkeys;
    self->code_bytes = (double)(size - beside) / (double)nkeys;
    return STATUS_OK;
}

enum status kernel_batches_init(struct kernel_batches *self, size_t size)
{
    const size_t list_keys = list_sizes[size];
    const struct site_batch largest = {
        .nkeys = (uint32_t)(list_keys < SITE_BATCH_MAX_KEYS ? list_keys : SITE_BATCH_MAX_KEYS),
        .ncursors = CURSORS};
    uint64_t *spare = heap_alloc(list_keys, sizeof *spare);
    enum status status = STATUS_NOMEM;

    *self = (struct kernel_batches){.list_keys = list_keys,
                                    .nlists = (LEAST_KEYS + list_keys - 1) / list_keys,
                                    .room = site_batch_room(&largest)};
    self->nbatches = self->nlists * batches_a_list(self);
    self->keys = heap_alloc(self->nlists * list_keys, sizeof *self->keys);
    self->bytes = heap_zalloc(self->nbatches, self->room);
    self->sizes = heap_zalloc(self->nbatches, sizeof *self->sizes);
    self->read = heap_alloc(SITE_BATCH_MAX_KEYS, sizeof *self->read);
    if (spare != NULL && self->keys != NULL && self->bytes != NULL && self->sizes != NULL &&
        self->read != NULL) {
        make_keys(self, spare);
        status = prove(self);
    }
    heap_free(spare);
    return status;
}

void kernel_batches_fini(struct kernel_batches *self)
{
    heap_free(self->keys);
    heap_free(self->bytes);
    heap_free(self->sizes);
    heap_free(self->read);
    *self = (struct kernel_batches){0};
}

static double rate_since(const struct kernel_batches *self, double begin_s)
{
    return (double)(self->nlists * self->list_keys) / (now_s() - begin_s);
}

double kernel_batches_encode(struct kernel_batches *self)
{
    struct site_batch_cursor cursors[CURSORS];
    struct site_batch batch = {.nkeysets = 1, .keysets = {1}, .ncursors = CURSORS};
    double begin_s = now_s();

    make_cursors(cursors);
    for (size_t i = 0; i < self->nbatches; i++) {
        const uint64_t *keys = keys_of(self, i, &batch.nkeys);

        self->sizes[i] = site_batch_encode(&batch, keys, cursors, self->bytes + i * self->room);
    }
    return rate_since(self, begin_s);
}

double kernel_batches_decode(struct kernel_batches *self)
{
    struct site_batch_cursor cursors[CURSORS];
    double begin_s = now_s();

    for (size_t i = 0; i < self->nbatches; i++) {
        struct span bytes = span_of(self->bytes + i * self->room, self->sizes[i]);
        struct site_batch batch;

        if (site_batch_open(bytes, &batch) != STATUS_OK ||
            site_batch_keys(bytes, self->read) != STATUS_OK ||
            site_batch_cursors(bytes, cursors) != STATUS_OK) {
            return 0; /* prove() has seen that it is none of these */
        }
    }
    return rate_since(self, begin_s);
}
