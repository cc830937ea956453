/* Finds records in one segment's file: in order while they are whole, and by a search for
 * headers behind damage. */
#include "log/log_segment.h"

#include <string.h>

enum { WORD_BYTES = 8 };

void log_segment_init(struct log_segment *self, const struct disk *disk)
{
    *self = (struct log_segment){0};
    log_window_init(&self->window, disk);
}

void log_segment_fini(struct log_segment *self)
{
    log_window_fini(&self->window);
}

enum status log_segment_open(struct log_segment *self, uint64_t number)
{
    struct segment_header header;
    char name[DISK_NAME_BYTES];
    struct span bytes;
    enum status status;

    self->header = (struct segment_header){0};
    self->has_header = false;
    segment_name(number, name);
    status = log_window_open(&self->window, name);
    if (status == STATUS_OK) {
        status = log_window_at(&self->window, 0, SEGMENT_HEADER_BYTES, &bytes);
    }
    if (status != STATUS_OK) {
        return status;
    }
    status = bytes.size < SEGMENT_HEADER_BYTES ? STATUS_MALFORMED
                                               : segment_header_get(bytes.data, &header);
    if (status == STATUS_OK && header.number != number) {
        status = STATUS_MALFORMED; /* A copy under another name says nothing about this one. */
    }
    if (status == STATUS_OK) {
        self->header = header;
        self->has_header = true;
    }
    return status;
}

/* Where the file's bytes from `place` on lie in the log, if a record there says `offset`. */
static uint64_t first_of(uint64_t offset, uint64_t place)
{
    return offset - (place - SEGMENT_HEADER_BYTES);
}

/* Could it be a record of this segment at that place? */
static bool plausible(const struct log_segment *self, const struct record_header *header,
                      uint64_t place)
{
    if (header->offset < place - SEGMENT_HEADER_BYTES || header->durable > header->offset ||
        header->type == 0 || header->size > self->window.size - place) {
        return false;
    }
    return !self->has_header || (header->boot == self->header.boot &&
                                 first_of(header->offset, place) == self->header.first);
}

/* The record at `place`, which is within the file. */
static enum status read_at(struct log_segment *self, uint64_t place, struct record_header *header,
                           struct span *record)
{
    struct span bytes;
    enum status status = log_window_at(&self->window, place, RECORD_HEADER_BYTES, &bytes);

    if (status != STATUS_OK) {
        return status;
    }
    if (record_peek(bytes, header) != STATUS_OK || !plausible(self, header, place)) {
        return STATUS_MALFORMED;
    }
    status = log_window_at(&self->window, place, header->size, &bytes);
    if (status == STATUS_OK && record_open(bytes, header) != STATUS_OK) {
        status = STATUS_MALFORMED;
    }
    if (status == STATUS_OK) {
        *record = span_of(bytes.data, header->size);
    }
    return status;
}

enum status log_segment_read(struct log_segment *self, uint64_t offset, uint64_t limit,
                             struct record_header *header, struct span *record)
{
    struct record_header found;
    struct span bytes;
    uint64_t place = SEGMENT_HEADER_BYTES + (offset - self->header.first);
    enum status status;

    if (!self->has_header || offset < self->header.first || place >= self->window.size) {
        return STATUS_MALFORMED;
    }
    status = read_at(self, place, &found, &bytes);
    if (status != STATUS_OK) {
        return status;
    }
    if (found.size > limit - offset) {
        return STATUS_MALFORMED;
    }
    *header = found;
    *record = bytes;
    return STATUS_OK;
}

/* ---- searching ---- */

static uint64_t word(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

/* A cheap look that nearly nothing passes but headers: 40 bytes at `at`. */
static bool worth_reading(const struct log_segment *self, const uint8_t *at, uint64_t place,
                          const struct log_former *former)
{
    struct record_header header;
    uint64_t first = first_of(word(at + 24), place);

    if (self->has_header && first != self->header.first) {
        return false;
    }
    return record_peek(span_of(at, RECORD_HEADER_BYTES), &header) == STATUS_OK &&
           header.type <= UINT8_MAX && header.flags <= UINT8_MAX &&
           plausible(self, &header, place) &&
           (former->was == NULL || !former->was(former->context, first));
}

/* The next place worth reading within `bytes`, which begin at `place`; their last 32 bytes are
 * left for the next stretch. */
static uint64_t skip(const struct log_segment *self, struct span bytes, uint64_t place,
                     const struct log_former *former)
{
    size_t at = 0;

    while (at + RECORD_HEADER_BYTES <= bytes.size &&
           !worth_reading(self, bytes.data + at, place + at, former)) {
        at += WORD_BYTES;
    }
    return place + at;
}

static void note(struct log_traces *traces, const struct record_header *header, uint64_t place)
{
    traces->readable++;
    traces->durable = header->durable > traces->durable ? header->durable : traces->durable;
    traces->lowest = header->offset < traces->lowest ? header->offset : traces->lowest;
    traces->begun = traces->begun || header->durable > first_of(header->offset, place);
}

/* Headers that are real never overlap, so reading them costs the file once. What has been made
 * to look like records could cost its square. */
static enum status try_at(struct log_segment *self, uint64_t *place, uint64_t *budget,
                          struct log_traces *traces)
{
    struct record_header header = {0};
    struct span record;
    enum status status = read_at(self, *place, &header, &record);

    if (status != STATUS_OK && status != STATUS_MALFORMED) {
        return status;
    }
    traces->doubtful = header.size > *budget;
    if (traces->doubtful) {
        return STATUS_OK;
    }
    *budget -= header.size;
    traces->written = *place + header.size > traces->written ? *place + header.size
                                                             : traces->written;
    if (status == STATUS_OK) {
        note(traces, &header, *place);
    }
    *place += status == STATUS_OK ? header.size : WORD_BYTES;
    return STATUS_OK;
}

enum status log_segment_search(struct log_segment *self, uint64_t place,
                               const struct log_former *former, struct log_traces *traces)
{
    uint64_t budget = 2 * self->window.size;
    struct span bytes;
    enum status status = STATUS_OK;

    *traces = (struct log_traces){.written = place, .lowest = UINT64_MAX};
    while (status == STATUS_OK && !traces->doubtful &&
           place + RECORD_HEADER_BYTES <= self->window.size) {
        status = log_window_at(&self->window, place, RECORD_HEADER_BYTES, &bytes);
        if (status == STATUS_OK) {
            uint64_t next = skip(self, bytes, place, former);
            bool found = next + RECORD_HEADER_BYTES <= place + bytes.size;

            place = next;
            status = found ? try_at(self, &place, &budget, traces) : STATUS_OK;
        }
    }
    return status;
}
