/* log SEED COUNT: COUNT folders made from SEED, each a log that was bent in some way, through the
 * survey, the reader and the decoders of all records.
 *
 * Records and headers are bent before their checksums are made as well as after, so that what is
 * tried gets past the checksum. Most is found under AddressSanitizer: records are copied to their
 * exact size before they are decoded.
 *
 * An input is a byte of flags, then segments: a struct part each and the bytes at its beginning,
 * what follows being zeros. Or, by a flag, the bytes of one record.
 *
 * A folder passes when the survey ends with a judgement, its extents follow one another, and the
 * reader finds in them what the survey has seen. Prints "N passed, N failed".
 */
#include "log/log_reader.h"
#include "tests/support/fuzz_loop.h"
#include "tests/support/log_samples.h"
#include "tests/support/memory_disk.h"
#include "tests/support/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { SEGMENTS = 4, IMAGE_BYTES = 56 << 10, RECORDS = 12, FIRST = 8000 };
enum { FLAG_SEALED = 1, FLAG_RECORD = 2 };

/* A segment in an input. */
struct part {
    uint64_t number;
    uint32_t size; /* of the file */
    uint32_t used; /* bytes that follow */
};

struct fuzz {
    uint64_t random;
    uint64_t boot;
    uint64_t offset;
    struct memory_disk *disk;
    struct buffer *input; /* that is made */
    _Alignas(8) uint8_t image[IMAGE_BYTES];
    size_t used;
    uint64_t sum; /* of all that was decoded, so that it is read */
    uint64_t visited;
};

static uint64_t draw(struct fuzz *self, uint64_t below)
{
    return random_below(&self->random, below);
}

/* ---- folders ---- */

static uint64_t draw_value(struct fuzz *self)
{
    static const uint64_t edges[] = {0,  1,  2,   7,    8,     9,         39,         40,
                                     41, 48, 255, 4096, 65535, 4u << 20u, UINT32_MAX, UINT64_MAX};

    return draw(self, 4) == 0 ? random_next(&self->random)
                              : edges[draw(self, sizeof edges / sizeof edges[0])];
}

/* 1, 2, 4 or 8 bytes become a value at some edge. */
static void bend(struct fuzz *self, uint8_t *bytes, size_t size)
{
    uint64_t value = draw_value(self);
    size_t width = (size_t)1 << draw(self, 4);

    if (size >= width) {
        memcpy(bytes + draw(self, (size - width) / width + 1) * width, &value, width);
    }
}

/* Its size stays, so that sealing it stays within it. */
static void add_record(struct fuzz *self, uint64_t durable)
{
    enum record_type type = (enum record_type)(1 + draw(self, RECORD_LAST));
    uint8_t *record = self->image + self->used;
    uint32_t size = sample_record(record, type, self->offset, self->boot, durable);
    uint64_t boot = self->boot;

    if (type == RECORD_BATCH) { /* Any flags that there are. */
        record[RECORD_HEADER_BYTES + 44] = (uint8_t)draw(self, 2 * RECORD_BATCH_PARTIAL);
        record_seal(record, boot, durable);
    }
    if (draw(self, 12) == 0) {
        bend(self, record + 12, size - 12);
        boot = draw(self, 4) > 0 ? boot : draw_value(self);
        record_seal(record, boot, draw(self, 4) > 0 ? durable : draw_value(self));
    }
    self->used += size;
    self->offset += size;
}

static void add_header(struct fuzz *self, uint64_t number)
{
    struct segment_header header = {
        .cluster = SAMPLE_CLUSTER, .number = number, .first = self->offset, .boot = self->boot};

    if (draw(self, 20) == 0) {
        header.first = draw(self, 2) == 0 ? draw_value(self) : draw(self, FIRST * 2);
    }
    if (draw(self, 40) == 0) {
        bend(self, (uint8_t *)&header, sizeof header);
    }
    segment_header_put(self->image, &header);
    self->used = SEGMENT_HEADER_BYTES;
}

static void bend_image(struct fuzz *self)
{
    size_t at = (size_t)draw(self, IMAGE_BYTES / 8) * 8;
    size_t from = (size_t)draw(self, IMAGE_BYTES / 8) * 8;
    size_t size = (size_t)draw(self, 512);

    size = size < IMAGE_BYTES - at ? size : IMAGE_BYTES - at;
    size = size < IMAGE_BYTES - from ? size : IMAGE_BYTES - from;
    switch (draw(self, 4)) {
    case 0:
        memset(self->image + at, 0, size);
        break;
    case 1:
        memmove(self->image + at, self->image + from, size);
        break;
    default:
        bend(self, self->image, self->used);
        break;
    }
}

static void put_part(struct fuzz *self, uint64_t number, size_t size)
{
    struct part part = {.number = number, .size = (uint32_t)size, .used = (uint32_t)size};

    while (part.used > 0 && self->image[part.used - 1] == 0) {
        part.used--;
    }
    fuzz_put(self->input, &part, sizeof part);
    fuzz_put(self->input, self->image, part.used);
}

static void add_segment(struct fuzz *self, uint64_t number)
{
    size_t size = draw(self, 8) == 0 ? (size_t)draw(self, IMAGE_BYTES) : IMAGE_BYTES;
    uint64_t durable;

    memset(self->image, 0, sizeof self->image);
    self->boot += draw(self, 2);
    add_header(self, number);
    durable = self->offset;
    for (uint64_t n = draw(self, RECORDS); n > 0; n--) {
        add_record(self, durable);
        durable = draw(self, 2) == 0 ? self->offset : durable;
    }
    for (uint64_t n = draw(self, 8); n > 5; n--) {
        bend_image(self);
    }
    put_part(self, number, size);
}

/* ---- what must hold ---- */

static void decode_manifest(struct fuzz *self, struct span record)
{
    struct record_manifest manifest;

    if (record_manifest_get(record, &manifest) != STATUS_OK) {
        return;
    }
    for (uint32_t i = 0; i < manifest.nremoved; i++) {
        self->sum += record_manifest_removed(&manifest, i);
    }
    for (uint32_t i = 0; i < manifest.nadded; i++) {
        self->sum += record_manifest_added(&manifest, i).count;
    }
}

static void decode_batch(struct fuzz *self, struct span record)
{
    struct record_batch batch;

    if (record_batch_get(record, &batch) != STATUS_OK) {
        return;
    }
    for (uint32_t i = 0; i < batch.ntargets; i++) {
        self->sum += batch.targets[i].slice + batch.targets[i].keyset;
    }
    for (uint32_t i = 0; i < batch.count; i++) {
        self->sum += batch.fingerprints[i];
    }
}

static void decode_rest(struct fuzz *self, struct span record)
{
    struct record_identity identity;
    struct record_fence fence;
    struct record_cursor cursor;
    struct record_peer peer;
    struct record_site_cursor site;
    struct span document;

    if (record_site_cursor_get(record, &site) == STATUS_OK) {
        for (uint32_t i = 0; i < site.nsources; i++) {
            self->sum += site.sources[i].offset;
        }
    }
    if (record_identity_get(record, &identity) == STATUS_OK) {
        self->sum += identity.boot;
    }
    if (record_fence_get(record, &fence) == STATUS_OK) {
        self->sum += fence.epoch;
    }
    if (record_peer_get(record, &peer) == STATUS_OK) {
        self->sum += peer.boot;
    }
    if (record_cursor_get(record, &cursor) == STATUS_OK) {
        self->sum += cursor.offset;
    }
    if (record_document_get(record, &document) == STATUS_OK) {
        self->sum += XXH3_64bits(document.data, document.size);
    }
}

static enum status visit(void *context, const struct record_header *header, struct span record)
{
    struct fuzz *self = context;
    uint8_t *copy = fuzz_copy(record);

    if (header->size != record.size) {
        abort();
    }
    decode_batch(self, span_of(copy, record.size));
    decode_manifest(self, span_of(copy, record.size));
    decode_rest(self, span_of(copy, record.size));
    free(copy);
    self->visited++;
    return STATUS_OK;
}

static bool read_again(struct fuzz *self, const struct log_survey *survey)
{
    uint64_t from = survey->count > 0 ? survey->extents[0].first : 0;
    uint64_t to = survey->count > 0 ? survey->extents[survey->count - 1].end : 0;
    struct log_reader *reader = NULL;
    struct record_header header;
    struct span record;
    uint64_t count = 0;
    enum status status = log_reader_create(memory_disk_seam(self->disk), survey->extents,
                                           survey->count, from, to, &reader);

    while (status == STATUS_OK && count <= self->visited) {
        status = log_reader_next(reader, &header, &record);
        count += status == STATUS_OK;
    }
    log_reader_destroy(&reader);
    return status == STATUS_NOT_FOUND && count == self->visited;
}

static bool is_sound(const struct log_survey *survey)
{
    for (size_t i = 0; i < survey->count; i++) {
        if (survey->extents[i].first > survey->extents[i].end) {
            return false;
        }
        if (i > 0 && (survey->extents[i - 1].end != survey->extents[i].first ||
                      survey->extents[i - 1].number >= survey->extents[i].number)) {
            return false;
        }
    }
    return (survey->state == LOG_OK) == (survey->reason[0] == '\0') || survey->state == LOG_EMPTY;
}

static bool try_folder(struct fuzz *self)
{
    struct log_survey survey;
    bool pass;

    self->visited = 0;
    if (log_survey_make(memory_disk_seam(self->disk), SAMPLE_CLUSTER, visit, self, &survey) !=
        STATUS_OK) {
        return false;
    }
    pass = memory_disk_open_files(self->disk) == 0;
    if (survey.state <= LOG_CORRUPT) {
        pass = pass && is_sound(&survey) && read_again(self, &survey);
    }
    log_survey_fini(&survey);
    return pass;
}

/* Bytes that never were a record, or one by chance. */
static bool try_record(struct fuzz *self, struct span input)
{
    uint8_t *bytes = fuzz_copy(input);
    struct span span = span_of(bytes, input.size);
    struct record_header header;
    uint64_t sum = 0;
    bool pass = true;

    if (record_open(span, &header) == STATUS_OK) {
        memcpy(&sum, bytes, sizeof sum);
        pass = header.size <= span.size && sum == XXH3_64bits(bytes + 8, header.size - 8);
    }
    decode_batch(self, span);
    decode_manifest(self, span);
    decode_rest(self, span);
    free(bytes);
    return pass;
}

/* ---- inputs ---- */

static void make_garbage(struct fuzz *self)
{
    uint8_t bytes[512] = {0};
    size_t size = (size_t)draw(self, sizeof bytes);

    for (size_t i = 0; i < size; i++) {
        bytes[i] = draw(self, 2) == 0 ? 0 : (uint8_t)draw(self, 256);
    }
    bend(self, bytes, size);
    fuzz_put(self->input, bytes, size);
}

static void make(void *context, uint64_t seed, struct buffer *input)
{
    struct fuzz *self = context;
    uint64_t number;
    uint8_t flags;

    self->random = seed;
    self->input = input;
    number = draw(self, 4);
    flags = draw(self, 8) == 0 ? FLAG_RECORD : draw(self, 8) == 0 ? FLAG_SEALED : 0;
    fuzz_put(input, &flags, sizeof flags);
    if (flags == FLAG_RECORD) {
        make_garbage(self);
        return;
    }
    self->offset = FIRST;
    self->boot = 1;
    for (uint64_t n = 1 + draw(self, SEGMENTS); n > 0; n--) {
        number += draw(self, 8) == 0 ? draw_value(self) : 1;
        add_segment(self, number);
    }
}

/* As if it had been written so: headers and records with the checksums of what they say. */
static void seal(uint8_t *image, size_t size)
{
    size_t at = SEGMENT_HEADER_BYTES;
    struct record_header header;
    uint64_t sum;

    if (size < SEGMENT_HEADER_BYTES) {
        return;
    }
    sum = XXH3_64bits(image, SEGMENT_HEADER_BYTES - sizeof sum);
    memcpy(image + SEGMENT_HEADER_BYTES - sizeof sum, &sum, sizeof sum);
    while (record_peek(span_of(image + at, size - at), &header) == STATUS_OK &&
           header.size <= size - at) {
        record_seal(image + at, header.boot, header.durable);
        at += header.size;
    }
}

static void put_segment(struct fuzz *self, struct span *input, bool sealed)
{
    char name[DISK_NAME_BYTES];
    struct part part;
    size_t size;

    fuzz_take(input, &part, sizeof part);
    size = part.size < IMAGE_BYTES ? part.size : IMAGE_BYTES;
    memset(self->image, 0, sizeof self->image);
    fuzz_take(input, self->image, part.used < size ? part.used : size);
    if (sealed) {
        seal(self->image, size);
    }
    segment_name(part.number, name);
    memory_disk_put(self->disk, name, span_of(self->image, size));
}

static bool try_input(void *context, struct span input)
{
    struct fuzz *self = context;
    uint8_t flags;
    bool pass;

    fuzz_take(&input, &flags, sizeof flags);
    if ((flags & FLAG_RECORD) != 0) {
        return try_record(self, input);
    }
    self->disk = memory_disk_create();
    for (int i = 0; i < SEGMENTS && input.size > 0; i++) {
        put_segment(self, &input, (flags & FLAG_SEALED) != 0);
    }
    pass = try_folder(self);
    memory_disk_destroy(&self->disk);
    return pass;
}

int main(int argc, char **argv)
{
    static struct fuzz fuzz;
    const struct fuzz_target target = {
        .name = "log", .context = &fuzz, .make = make, .try_input = try_input};

    return fuzz_loop(&target, argc, argv);
}
