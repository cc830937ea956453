/* From segment to segment: which one holds the next record, and whether a gap between two is one
 * that nobody needs. The records of one segment are log_segment.c's. */
#include "log/log_reader.h"

#include "base/heap.h"
#include "log/log_segment.h"

#include <assert.h>
#include <string.h>

struct log_reader {
    struct log_segment segment;
    struct log_extent *extents;
    size_t count;
    size_t at;   /* the extent being read */
    bool opened; /* it */
    uint64_t offset;
    uint64_t to;
};

bool log_extent_is_bare(const struct log_extent *self, const struct log_extent *next)
{
    return self->first + next->bare >= next->first;
}

enum status log_reader_create(struct disk *disk, const struct log_extent *extents, size_t count,
                              uint64_t from, uint64_t to, struct log_reader **out)
{
    struct log_reader *self = heap_zalloc(1, sizeof *self);

    assert(*out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    log_segment_init(&self->segment, disk);
    self->extents = heap_alloc(count, sizeof *extents);
    if (self->extents == NULL) {
        log_reader_destroy(&self);
        return STATUS_NOMEM;
    }
    if (count > 0) {
        memcpy(self->extents, extents, count * sizeof *extents);
    }
    self->count = count;
    self->offset = from;
    self->to = to;
    *out = self;
    return STATUS_OK;
}

void log_reader_destroy(struct log_reader **reader)
{
    struct log_reader *self = *reader;

    *reader = NULL;
    if (self != NULL) {
        log_segment_fini(&self->segment);
        heap_free(self->extents);
        heap_free(self);
    }
}

uint64_t log_reader_offset(const struct log_reader *self)
{
    return self->offset;
}

/* Which extent holds the next record? Over a hole in front of one, if nothing that was there is
 * needed. */
static enum status choose_extent(struct log_reader *self)
{
    while (self->at < self->count) {
        const struct log_extent *extent = &self->extents[self->at];

        if (self->offset < extent->first) {
            if (self->offset + extent->bare < extent->first) {
                return STATUS_MALFORMED;
            }
            self->offset = extent->first;
        }
        if (self->offset < extent->end) {
            return STATUS_OK;
        }
        self->at++;
        self->opened = false;
    }
    return STATUS_NOT_FOUND;
}

/* Be in it. */
static enum status find_extent(struct log_reader *self)
{
    const struct log_extent *extent;
    enum status status = self->offset < self->to ? choose_extent(self) : STATUS_NOT_FOUND;

    if (status != STATUS_OK || self->offset >= self->to) {
        return status != STATUS_OK ? status : STATUS_NOT_FOUND;
    }
    if (self->opened) {
        return STATUS_OK;
    }
    extent = &self->extents[self->at];
    status = log_segment_open(&self->segment, extent->number);
    if (status == STATUS_OK && self->segment.header.first != extent->first) {
        status = STATUS_MALFORMED;
    }
    self->opened = status == STATUS_OK;
    return status == STATUS_OK || status == STATUS_NOMEM || status == STATUS_IO ? status
                                                                                : STATUS_MALFORMED;
}

enum status log_reader_next(struct log_reader *self, struct record_header *header,
                            struct span *record)
{
    uint64_t limit;
    enum status status = find_extent(self);

    if (status != STATUS_OK) {
        return status;
    }
    limit = self->extents[self->at].end < self->to ? self->extents[self->at].end : self->to;
    status = log_segment_read(&self->segment, self->offset, limit, header, record);
    if (status == STATUS_OK) {
        self->offset += header->size;
    }
    return status;
}
