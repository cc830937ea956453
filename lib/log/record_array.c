/* What records say of bit arrays, for filters without key log. */
#include "log/record_private.h"

#include <string.h>

/* None of these has padding of the compiler's: copied as they are. */
struct snapshot_layout {
    uint64_t number;
    uint64_t filter_id;
    uint64_t slice;
    uint32_t lineage;
    uint32_t generation;
    uint64_t from;
    uint64_t end;
};

struct lines_layout {
    uint64_t filter_id;
    uint64_t slice;
    uint32_t lineage;
    uint32_t generation;
    uint32_t shard;
    uint32_t zero;
    uint64_t page;
};

_Static_assert(sizeof(struct snapshot_layout) == RECORD_SNAPSHOT_BYTES, "as record.h says");
_Static_assert(sizeof(struct lines_layout) + RECORD_PAGE_BYTES == RECORD_LINES_BYTES,
               "as record.h says");

void record_snapshot_put(uint8_t *record, const struct record_snapshot *snapshot)
{
    const struct snapshot_layout fixed = {.number = snapshot->number,
                                          .filter_id = snapshot->filter_id,
                                          .slice = snapshot->slice,
                                          .lineage = snapshot->lineage,
                                          .generation = snapshot->generation,
                                          .from = snapshot->from,
                                          .end = snapshot->end};

    memcpy(record + RECORD_HEADER_BYTES, &fixed, sizeof fixed);
}

enum status record_snapshot_get(struct span record, struct record_snapshot *snapshot)
{
    struct snapshot_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_SNAPSHOT, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != sizeof fixed) {
        return STATUS_MALFORMED;
    }
    *snapshot = (struct record_snapshot){.number = fixed.number,
                                         .filter_id = fixed.filter_id,
                                         .slice = fixed.slice,
                                         .lineage = fixed.lineage,
                                         .generation = fixed.generation,
                                         .from = fixed.from,
                                         .end = fixed.end};
    return STATUS_OK;
}

/* Also in place. */
static void invert(uint8_t *into, const uint8_t *from)
{
    for (size_t i = 0; i < RECORD_PAGE_BYTES; i++) {
        into[i] = (uint8_t)~from[i];
    }
}

void record_lines_page(const struct record_lines *read, uint8_t page[RECORD_PAGE_BYTES])
{
    invert(page, read->bytes);
}

void record_lines_put(uint8_t *record, const struct record_lines *lines)
{
    uint8_t *at = record + RECORD_HEADER_BYTES;
    const struct lines_layout fixed = {.filter_id = lines->filter_id,
                                       .slice = lines->slice,
                                       .lineage = lines->lineage,
                                       .generation = lines->generation,
                                       .shard = lines->shard,
                                       .page = lines->page};

    memcpy(at, &fixed, sizeof fixed);
    invert(at + sizeof fixed, lines->bytes);
}

enum status record_lines_get(struct span record, struct record_lines *lines)
{
    struct lines_layout fixed;
    struct span body;
    enum status status = record_body_of(record, RECORD_LINES, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || body.size != RECORD_LINES_BYTES || fixed.zero != 0) {
        return STATUS_MALFORMED;
    }
    *lines = (struct record_lines){.filter_id = fixed.filter_id,
                                   .slice = fixed.slice,
                                   .lineage = fixed.lineage,
                                   .generation = fixed.generation,
                                   .shard = fixed.shard,
                                   .page = fixed.page,
                                   .bytes = body.data + sizeof fixed};
    return STATUS_OK;
}
