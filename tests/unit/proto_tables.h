/* proto_tables.h - all tables of proto/, each with those that its rows name, and the stage on which
 * they are tried.
 *
 * visit_all(each): each table, once for each place that names it.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_TABLES_H
#define ORBLOOM_TESTS_UNIT_PROTO_TABLES_H

#include "base/heap.h"
#include "proto/codec_signed.h"
#include "tests/unit/proto_samples.h"

#include <criterion/criterion.h>

enum { TABLES_ARENA_BYTES = 64 << 20 };

static struct codec_arena *arena;
static struct codec_scratch scratch;

static binding_table_fn *const documents[] = {
    binding_filter_document, binding_epoch_content,    binding_node_list, binding_dropped_record,
    binding_cluster_id,      binding_cluster_features, binding_user_list,
};

enum { NTABLES = FRAME_ERROR + 1 + sizeof documents / sizeof documents[0] };

/* Of frames, then of documents; NULL: of a frame that is written by hand. */
static inline const struct binding_table *table_at(size_t i)
{
    return i <= FRAME_ERROR ? rows_table((enum frame_kind)i) : documents[i - FRAME_ERROR - 1]();
}

typedef void visit_fn(const struct binding_table *table);

/* A table, and those that its rows name. */
static inline size_t visit(const struct binding_table *table, visit_fn *each)
{
    size_t visited = 1;

    each(table);
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].table != NULL) {
            visited += visit(table->rows[i].table(), each);
        }
    }
    return visited;
}

static inline void visit_all(visit_fn *each)
{
    size_t visited = 0;

    for (size_t i = 0; i < NTABLES; i++) {
        visited += table_at(i) != NULL ? visit(table_at(i), each) : 0;
    }
    cr_assert_gt(visited, 50);
}

static inline void *sample_of(const struct binding_table *table, enum sample_size size)
{
    struct rows_filler filler = sample_filler(FRAME_NONE, size);
    void *ours = rows_take(&filler, 1, table->our_bytes);

    rows_fill(&filler, table, ours);
    return ours;
}

/* What only heap memory holds. */
static inline void release(const struct binding_table *table, void *ours)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct binding *row = &table->rows[i];

        if (row->kind == BINDING_OWNED) {
            void *items = *(void **)rows_at(ours, row->ours);

            for (size_t k = 0; k < rows_count(row, ours); k++) {
                release(row->table(), rows_at(items, k * row->table()->our_bytes));
            }
            heap_free(items);
        }
    }
}

static inline void open_stage(void)
{
    cr_assert_eq(codec_arena_create(TABLES_ARENA_BYTES, &arena), STATUS_OK);
    codec_scratch_init(&scratch);
}

static inline void close_stage(void)
{
    codec_scratch_fini(&scratch);
    codec_arena_destroy(&arena);
}

#endif
