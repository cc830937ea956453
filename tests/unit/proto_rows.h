/* proto_rows.h - samples of messages and their comparison, made from the tables of proto/: a field
 * that is added as a row is filled and compared here without another line.
 *
 * rows_fill()   every row's field gets a value that its row allows, of its own as far as there are
 *               so many: numbers rise from row to row, so that what a check wants in order is.
 * rows_same()   compares what is said: parts and bytes that the first says, other fields always.
 * Both leave rows BY_HAND alone: see proto_samples.h and proto_compare.h.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_ROWS_H
#define ORBLOOM_TESTS_UNIT_PROTO_ROWS_H

#include "map/access/seal.h"
#include "proto/codec_body.h"
#include "tests/unit/proto_sample_values.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROWS_POOL_BYTES = 16 << 20, ROWS_FULL = 2, ROWS_LARGE = 1000, ROWS_TEXT_BYTES = 24 };

/* Fills one struct, from a pool that lives on: static data that are made as they are needed. */
struct rows_filler {
    enum sample_size size;
    uint64_t last; /* the number that was given last */
    uint8_t *pool;
    size_t used;
};

static inline void *rows_at(const void *object, size_t offset)
{
    return (uint8_t *)(uintptr_t)object + offset;
}

static inline size_t rows_count(const struct binding *row, const void *ours)
{
    const void *count = rows_at(ours, row->our_count);

    return row->count_bytes == sizeof(uint32_t) ? *(const uint32_t *)count : *(const size_t *)count;
}

static inline void rows_set_count(const struct binding *row, size_t count, void *ours)
{
    if (row->count_bytes == sizeof(uint32_t)) {
        *(uint32_t *)rows_at(ours, row->our_count) = (uint32_t)count;
    } else {
        *(size_t *)rows_at(ours, row->our_count) = count;
    }
}

/* As the schema has it. */
static inline const ProtobufCFieldDescriptor *rows_field(const struct binding_table *table,
                                                         const struct binding *row)
{
    for (unsigned i = 0; i < table->descriptor->n_fields; i++) {
        if (table->descriptor->fields[i].offset == row->wire) {
            return &table->descriptor->fields[i];
        }
    }
    return NULL;
}

/* Of a list of numbers. */
static inline size_t rows_number_bytes(const struct binding_table *table, const struct binding *row)
{
    return rows_field(table, row)->type == PROTOBUF_C_TYPE_UINT32 ? sizeof(uint32_t)
                                                                  : sizeof(uint64_t);
}

/* ---- filling ---- */

static inline void *rows_take(struct rows_filler *self, size_t count, size_t size)
{
    void *piece = self->pool + self->used;

    self->used += (count * size + 15) / 16 * 16;
    if (self->used > ROWS_POOL_BYTES) {
        abort();
    }
    memset(piece, 0, count * size);
    return piece;
}

/* Not 0; both halves of a word are in use. */
static inline uint64_t rows_number(struct rows_filler *self)
{
    return ++self->last * 0x100000001u;
}

static inline size_t rows_many(const struct rows_filler *self, size_t most)
{
    size_t count = sample_count(self->size, ROWS_FULL, ROWS_LARGE);

    return count < most ? count : most;
}

static inline const char *rows_text(struct rows_filler *self, size_t room)
{
    size_t size = self->size == SAMPLE_LARGE ? CODEC_MAX_TEXT_BYTES + 1 : ROWS_TEXT_BYTES;
    char *text;

    if (self->size == SAMPLE_EMPTY) {
        return "";
    }
    size = size < room ? size : room;
    text = rows_take(self, 1, size);
    memset(text, 'x', size - 1);
    if (size >= ROWS_TEXT_BYTES) {
        int used = snprintf(text, ROWS_TEXT_BYTES, "caf\xc3\xa9.%llu",
                            (unsigned long long)++self->last);

        if (size > ROWS_TEXT_BYTES) {
            text[used] = 'x'; /* as long as may be */
        }
    }
    return text;
}

static inline void rows_bytes(struct rows_filler *self, uint8_t *out, size_t size)
{
    uint64_t seed = ++self->last;

    for (size_t i = 0; i < size && self->size != SAMPLE_EMPTY; i++) {
        out[i] = (uint8_t)(sample_random(&seed) | 1);
    }
}

static inline struct span rows_span(struct rows_filler *self, size_t size)
{
    uint8_t *bytes = rows_take(self, 1, size);

    rows_bytes(self, bytes, size < 64 ? size : 64);
    return span_of(bytes, self->size == SAMPLE_EMPTY ? 0 : size);
}

/* Some are empty; the largest samples have a largest one. */
static inline void rows_documents(struct rows_filler *self, const struct binding *row, void *ours)
{
    size_t count = sample_count(self->size, ROWS_FULL, row->most);
    struct span *items = rows_take(self, count, sizeof *items);

    for (size_t i = 0; i < count; i++) {
        bool largest = self->size == SAMPLE_LARGE && i == 1;

        items[i] = rows_span(self, largest ? DOCUMENT_MAX_BYTES : (i + 3) % 50);
    }
    *(const struct span **)rows_at(ours, row->ours) = items;
    rows_set_count(row, count, ours);
}

static inline void rows_numbers(struct rows_filler *self, const struct binding_table *table,
                                const struct binding *row, void *ours)
{
    size_t size = rows_number_bytes(table, row);
    size_t count = rows_many(self, row->most);
    void *to = rows_at(ours, row->ours);

    if (row->kind == BINDING_NUMBERS) {
        void *items = rows_take(self, count, size);

        memcpy(to, &items, sizeof items);
        to = items;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t number = rows_number(self);

        memcpy(rows_at(to, i * size), &number, size); /* The low half, of one that is shorter. */
    }
    rows_set_count(row, count, ours);
}

static inline void rows_plane(struct rows_filler *self, const struct binding *row, void *ours)
{
    size_t count = rows_count(row, ours);
    uint64_t *words = rows_take(self, (count + 63) / 64, sizeof *words);

    sample_plane(words, count, ++self->last);
    *(const uint64_t **)rows_at(ours, row->ours) = words;
}

static inline void rows_number_of_enum(struct rows_filler *self, const struct binding *row,
                                       int *out)
{
    bool judged = row->first != INT_MIN;
    int first = judged ? row->first : 0;
    int last = judged ? row->last : 1;

    *out = self->size == SAMPLE_EMPTY ? first
                                      : last - (int)(self->last++ % (unsigned)(last - first + 1));
    if (*out == 0 && self->size != SAMPLE_EMPTY) {
        *out = last;
    }
}

static inline enum status rows_status(struct rows_filler *self)
{
    unsigned number = (unsigned)(self->last++ % 16) + 1;

    while (status_from_wire(number) != (enum status)number) {
        number++;
    }
    return self->size == SAMPLE_EMPTY ? STATUS_OK : (enum status)number;
}

static inline void rows_fill(struct rows_filler *self, const struct binding_table *table,
                             void *ours);

/* Items are as full as they are in any sample that is not empty. */
static inline void rows_items(struct rows_filler *self, const struct binding *row, void *ours)
{
    const struct binding_table *table = row->table();
    size_t count = rows_many(self, row->most);
    enum sample_size size = self->size;
    void *items = rows_at(ours, row->ours);

    if (row->kind != BINDING_ARRAY) {
        void *list = rows_take(self, count, table->our_bytes);

        memcpy(items, &list, sizeof list);
        items = list;
    }
    self->size = SAMPLE_FULL;
    for (size_t i = 0; i < count; i++) {
        rows_fill(self, table, rows_at(items, i * table->our_bytes));
    }
    self->size = size;
    rows_set_count(row, count, ours);
}

static inline void rows_fill_row(struct rows_filler *self, const struct binding_table *table,
                                 const struct binding *row, void *ours)
{
    void *to = rows_at(ours, row->ours);
    bool empty = self->size == SAMPLE_EMPTY;

    switch (row->kind) {
    case BINDING_UINT64:
        *(uint64_t *)to = empty ? 0 : rows_number(self);
        break;
    case BINDING_UINT32:
        *(uint32_t *)to = empty ? 0 : (uint32_t)rows_number(self);
        break;
    case BINDING_BOOL:
        *(bool *)to = !empty;
        break;
    case BINDING_COUNT:
        rows_set_count(row, sample_count(self->size, 77, row->most), ours);
        break;
    case BINDING_DOUBLE:
    case BINDING_UNJUDGED:
        *(double *)to = empty ? 0 : 0.25 + (double)++self->last;
        break;
    case BINDING_FRACTION:
        *(double *)to = empty ? 0 : 1.0 / (double)++self->last;
        break;
    case BINDING_STATUS:
        *(enum status *)to = rows_status(self);
        break;
    case BINDING_ENUM:
        rows_number_of_enum(self, row, to);
        break;
    case BINDING_TEXT:
    case BINDING_MESSAGE:
        *(const char **)to = rows_text(self, SIZE_MAX);
        break;
    case BINDING_CHARS:
        (void)snprintf(to, row->bytes, "%s", rows_text(self, row->bytes));
        break;
    case BINDING_SPAN: /* Where a size is fixed it is a secret's. */
        *(struct span *)to = rows_span(self, SEAL_SECRET_BYTES);
        break;
    case BINDING_DOCUMENT:
        *(struct span *)to = rows_span(self, self->size == SAMPLE_LARGE ? DOCUMENT_MAX_BYTES : 3);
        break;
    case BINDING_BYTES:
    case BINDING_CLUSTER:
        rows_bytes(self, to, row->bytes);
        break;
    case BINDING_PLANE:
        rows_plane(self, row, ours);
        break;
    case BINDING_DOCUMENTS:
        rows_documents(self, row, ours);
        break;
    case BINDING_NUMBERS:
    case BINDING_ROOM:
        rows_numbers(self, table, row, ours);
        break;
    case BINDING_LIST:
    case BINDING_ARRAY:
    case BINDING_OWNED:
        rows_items(self, row, ours);
        break;
    case BINDING_PART:
        rows_fill(self, row->table(), to);
        break;
    case BINDING_NEEDS:
    case BINDING_BY_HAND:
        break;
    }
}

static inline void rows_fill(struct rows_filler *self, const struct binding_table *table,
                             void *ours)
{
    for (size_t i = 0; i < table->count; i++) {
        rows_fill_row(self, table, &table->rows[i], ours);
    }
}

/* ---- comparing ---- */

/* NULL: the same; else the name of a field that is not. */
static inline const char *rows_difference(const struct binding_table *table, const void *a,
                                          const void *b);

static inline bool rows_same_text(const char *a, const char *b)
{
    return b != NULL && strcmp(a != NULL ? a : "", b) == 0;
}

static inline bool rows_same_span(struct span a, struct span b)
{
    return b.data != NULL && span_equal(a, b);
}

static inline bool rows_same_spans(const struct span *a, const struct span *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!rows_same_span(a[i], b[i])) {
            return false;
        }
    }
    return true;
}

/* NULL: zeros. Of what was decoded words are read, so they must lie as such. */
static inline bool rows_same_plane(const uint64_t *a, const uint64_t *b, size_t count)
{
    if (b == NULL || (uintptr_t)b % sizeof *b != 0) {
        return false;
    }
    for (size_t i = 0; i < (count + 63) / 64; i++) {
        if ((a != NULL ? a[i] : 0) != b[i]) {
            return false;
        }
    }
    return true;
}

/* What is not said reads as zeros. */
static inline bool rows_same_bytes(const struct binding *row, const void *ours, const void *other)
{
    const uint8_t *a = rows_at(ours, row->ours);
    const uint8_t *b = rows_at(other, row->ours);
    bool said = row->sends == NULL || row->sends(ours);

    for (size_t i = 0; i < row->bytes; i++) {
        if (b[i] != (said ? a[i] : 0)) {
            return false;
        }
    }
    return true;
}

static inline bool rows_same_list(const struct binding_table *table, const struct binding *row,
                                  const void *ours, const void *other)
{
    const void *a = rows_at(ours, row->ours);
    const void *b = rows_at(other, row->ours);
    size_t count = rows_count(row, ours);
    bool numbers = row->kind == BINDING_NUMBERS || row->kind == BINDING_ROOM;
    size_t size = numbers ? rows_number_bytes(table, row) : row->table()->our_bytes;

    if (count != rows_count(row, other)) {
        return false;
    }
    if (row->kind != BINDING_ROOM && row->kind != BINDING_ARRAY) {
        a = *(const void *const *)a;
        b = *(const void *const *)b;
    }
    if (numbers) {
        return count == 0 || memcmp(a, b, count * size) == 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (rows_difference(row->table(), rows_at(a, i * size), rows_at(b, i * size)) != NULL) {
            return false;
        }
    }
    return true;
}

static inline bool rows_same_row(const struct binding_table *table, const struct binding *row,
                                 const void *ours, const void *other)
{
    const void *a = rows_at(ours, row->ours);
    const void *b = rows_at(other, row->ours);

    switch (row->kind) {
    case BINDING_UINT64:
    case BINDING_UINT32:
    case BINDING_BOOL:
    case BINDING_DOUBLE:
    case BINDING_FRACTION:
    case BINDING_UNJUDGED:
    case BINDING_STATUS:
    case BINDING_ENUM:
    case BINDING_CLUSTER:
        return memcmp(a, b, row->bytes) == 0;
    case BINDING_COUNT:
        return rows_count(row, ours) == rows_count(row, other);
    case BINDING_TEXT:
    case BINDING_MESSAGE:
        return rows_same_text(*(const char *const *)a, *(const char *const *)b);
    case BINDING_CHARS:
        return strcmp(a, b) == 0;
    case BINDING_SPAN:
    case BINDING_DOCUMENT:
        return rows_same_span(*(const struct span *)a, *(const struct span *)b);
    case BINDING_BYTES:
        return rows_same_bytes(row, ours, other);
    case BINDING_PLANE:
        return rows_same_plane(*(const uint64_t *const *)a, *(const uint64_t *const *)b,
                               rows_count(row, ours));
    case BINDING_DOCUMENTS:
        return rows_count(row, ours) == rows_count(row, other) &&
               rows_same_spans(*(const struct span *const *)a, *(const struct span *const *)b,
                               rows_count(row, ours));
    case BINDING_NUMBERS:
    case BINDING_ROOM:
    case BINDING_LIST:
    case BINDING_ARRAY:
    case BINDING_OWNED:
        return rows_same_list(table, row, ours, other);
    case BINDING_PART:
        return (row->sends != NULL && !row->sends(ours)) ||
               rows_difference(row->table(), a, b) == NULL;
    case BINDING_NEEDS:
    case BINDING_BY_HAND:
        return true;
    }
    return false;
}

static inline const char *rows_difference(const struct binding_table *table, const void *a,
                                          const void *b)
{
    for (size_t i = 0; i < table->count; i++) {
        if (!rows_same_row(table, &table->rows[i], a, b)) {
            return rows_field(table, &table->rows[i])->name;
        }
    }
    return NULL;
}

/* ---- which table a frame's body has ---- */

/* NULL: none, it is written by hand. */
static inline const struct binding_table *rows_table(enum frame_kind kind)
{
    static binding_table_fn *const tables[] = {
        [FRAME_CLIENT_REPLY] = binding_client_reply,
        [FRAME_NODE_REPLY] = binding_node_reply,
        [FRAME_DOCUMENTS] = binding_documents,
        [FRAME_SYNC_REQUEST] = binding_sync_request,
        [FRAME_SYNC_REPLY] = binding_sync_reply,
        [FRAME_HINT] = binding_hint,
        [FRAME_FENCE_REQUEST] = binding_fence_request,
        [FRAME_FENCE_REPLY] = binding_fence_reply,
        [FRAME_BOOT_REQUEST] = binding_boot_request,
        [FRAME_BOOT_REPLY] = binding_boot_reply,
        [FRAME_ADMIN_REQUEST] = binding_admin_request,
        [FRAME_ADMIN_REPLY] = binding_admin_reply,
        [FRAME_INFO_REQUEST] = binding_info_request,
        [FRAME_INFO_REPLY] = binding_info_reply,
        [FRAME_STATS_REQUEST] = binding_stats_request,
        [FRAME_STATS_REPLY] = binding_stats_reply,
        [FRAME_DUMP_REQUEST] = binding_dump_request,
        [FRAME_DUMP_REPLY] = binding_dump_reply,
        [FRAME_LOAD_REQUEST] = binding_load_request,
        [FRAME_PULL_REQUEST] = binding_pull_request,
        [FRAME_PULL_REPLY] = binding_pull_reply,
        [FRAME_SITE_HELLO] = binding_site_hello,
        [FRAME_SITE_OPEN] = binding_site_open,
        [FRAME_SITE_BATCH] = binding_site_batch_message,
        [FRAME_SITE_APPLIED] = binding_site_applied,
        [FRAME_SITE_MARK] = binding_site_mark,
        [FRAME_SITE_MARKED] = binding_site_marked,
        [FRAME_SITE_CLOSE] = binding_site_close,
        [FRAME_SITE_FILTERS] = binding_site_filters,
        [FRAME_SITE_CONFIRM] = binding_site_confirm,
        [FRAME_SITE_CONFIRMED] = binding_site_confirmed,
        [FRAME_SITE_OFFER] = binding_site_offer,
        [FRAME_SITE_HELD] = binding_site_held,
        [FRAME_SITE_TAIL_REQUEST] = binding_site_tail_request,
        [FRAME_SITE_TAIL_REPLY] = binding_site_tail_reply,
        [FRAME_SITE_CURSOR_REQUEST] = binding_site_cursor_request,
        [FRAME_SITE_CURSOR_REPLY] = binding_site_cursor_reply,
        [FRAME_SITE_AGE_REQUEST] = binding_site_age_request,
        [FRAME_SITE_AGE_REPLY] = binding_site_age_reply,
        [FRAME_SITE_LAG_REQUEST] = binding_site_lag_request,
        [FRAME_SITE_LAG_REPLY] = binding_site_lag_reply,
        [FRAME_ERROR] = binding_error_reply,
    };

    return tables[kind] != NULL ? tables[kind]() : NULL;
}

#endif
