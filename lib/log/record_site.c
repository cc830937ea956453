/* What records say of other sites; and which records only a newer version can read. */
#include "log/record_private.h"

#include <assert.h>
#include <string.h>

enum { CURSOR_FIXED_BYTES = 80, SOURCE_BYTES = 40 };

/* None of these has padding of the compiler's: copied as they are. */
struct site_cursor_layout {
    uint64_t filter_id;
    uint32_t group;
    uint32_t lineage;
    uint64_t site[2];
    uint64_t site_life[2];
    uint64_t own_life[2];
    uint64_t loss;
    uint32_t site_group;
    uint32_t nsources;
};

struct source_layout {
    uint64_t incarnation;
    uint64_t boot;
    uint64_t offset;
    uint64_t epoch;
    uint32_t node;
    uint32_t zero;
};

_Static_assert(sizeof(struct site_cursor_layout) == CURSOR_FIXED_BYTES, "as record.h says");
_Static_assert(sizeof(struct source_layout) == SOURCE_BYTES, "as record.h says");

static size_t cursor_bytes(uint32_t nsources)
{
    return CURSOR_FIXED_BYTES + (size_t)nsources * SOURCE_BYTES;
}

size_t record_site_cursor_size(const struct record_site_cursor *cursor)
{
    return cursor_bytes(cursor->nsources);
}

void record_site_cursor_put(uint8_t *record, const struct record_site_cursor *cursor)
{
    uint8_t *at = record + RECORD_HEADER_BYTES;
    const struct site_cursor_layout fixed = {
        .filter_id = cursor->filter_id,
        .group = cursor->group,
        .lineage = cursor->lineage,
        .site = {cursor->site[0], cursor->site[1]},
        .site_life = {cursor->site_life.number, cursor->site_life.tag},
        .own_life = {cursor->own_life.number, cursor->own_life.tag},
        .loss = cursor->loss,
        .site_group = cursor->site_group,
        .nsources = cursor->nsources,
    };

    assert(cursor->nsources > 0 && cursor->nsources <= RECORD_MAX_SOURCES);
    memcpy(at, &fixed, sizeof fixed);
    at += sizeof fixed;
    for (uint32_t i = 0; i < cursor->nsources; i++) {
        const struct source_layout source = {.incarnation = cursor->sources[i].incarnation,
                                             .boot = cursor->sources[i].boot,
                                             .offset = cursor->sources[i].offset,
                                             .epoch = cursor->sources[i].epoch,
                                             .node = cursor->sources[i].node};

        memcpy(at, &source, sizeof source);
        at += sizeof source;
    }
}

/* An offset is where a record begins or ends; nodes, incarnations and boots are never 0; `before`
 * is the node of the one before. */
static enum status take_source(const struct source_layout *source, uint32_t before,
                               struct record_site_source *out)
{
    if (source->zero != 0) {
        return STATUS_VERSION;
    }
    if (source->node <= before || source->incarnation == 0 || source->boot == 0 ||
        source->offset % 8 != 0 || source->offset > INT64_MAX) {
        return STATUS_MALFORMED;
    }
    *out = (struct record_site_source){.incarnation = source->incarnation,
                                       .boot = source->boot,
                                       .offset = source->offset,
                                       .epoch = source->epoch,
                                       .node = source->node};
    return STATUS_OK;
}

enum status record_site_cursor_get(struct span record, struct record_site_cursor *cursor)
{
    struct site_cursor_layout fixed;
    struct record_site_cursor read;
    struct span body;
    enum status status = record_body_of(record, RECORD_SITE_CURSOR, &fixed, sizeof fixed, &body);

    if (status != STATUS_OK || fixed.nsources == 0 || fixed.nsources > RECORD_MAX_SOURCES ||
        body.size != cursor_bytes(fixed.nsources)) {
        return STATUS_MALFORMED;
    }
    read = (struct record_site_cursor){
        .filter_id = fixed.filter_id,
        .group = fixed.group,
        .lineage = fixed.lineage,
        .site = {fixed.site[0], fixed.site[1]},
        .site_life = {.number = fixed.site_life[0], .tag = fixed.site_life[1]},
        .own_life = {.number = fixed.own_life[0], .tag = fixed.own_life[1]},
        .loss = fixed.loss,
        .site_group = fixed.site_group,
        .nsources = fixed.nsources,
    };
    for (uint32_t i = 0; i < fixed.nsources && status == STATUS_OK; i++) {
        struct source_layout source;

        memcpy(&source, body.data + cursor_bytes(i), sizeof source);
        status = take_source(&source, i > 0 ? read.sources[i - 1].node : 0, &read.sources[i]);
    }
    if (status == STATUS_OK) {
        *cursor = read;
    }
    return status;
}

bool record_is_newer(const struct record_header *header, struct span record)
{
    struct record_batch batch;
    struct record_identity identity;
    struct record_site_cursor cursor;

    if (header->type > RECORD_LAST ||
        (header->flags & ~(unsigned)(RECORD_CHECKPOINT | RECORD_CHECKPOINTED)) != 0) {
        return true;
    }
    if (header->type == RECORD_BATCH) {
        return record_batch_get(record, &batch) == STATUS_VERSION;
    }
    if (header->type == RECORD_IDENTITY) {
        return record_identity_get(record, &identity) == STATUS_VERSION;
    }
    return header->type == RECORD_SITE_CURSOR &&
           record_site_cursor_get(record, &cursor) == STATUS_VERSION;
}
