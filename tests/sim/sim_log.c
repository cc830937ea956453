#include "tests/sim/sim_log.h"

#include "storage/record.h"
#include "storage/run_format.h"
#include "storage/segment.h"

#include <assert.h>

static uint64_t mix(uint64_t filter_id, uint64_t fingerprint)
{
    uint64_t key = fingerprint ^ filter_id * UINT64_C(0x9e3779b97f4a7c15);

    return key != 0 ? key : 1;
}

static void read_batch(struct sim_file *file, struct span record)
{
    struct record_batch batch;

    if (record_batch_get(record, &batch) == STATUS_OK) {
        for (uint32_t i = 0; i < batch.count; i++) {
            sim_keys_add(&file->keys, mix(batch.filter_id, batch.fingerprints[i]));
        }
    }
}

/* Of this segment, and not left there by another that the file was before? */
static bool belongs(const struct segment_header *segment, const struct record_header *header,
                    uint64_t place)
{
    return header->boot == segment->boot &&
           header->offset == segment->first + (place - SEGMENT_HEADER_BYTES);
}

/* As far as it is readable; from there on next time. */
static void read_segment(struct sim_file *file, const struct sim_image *image)
{
    struct segment_header segment;
    struct record_header header;

    if (image->size < SEGMENT_HEADER_BYTES ||
        segment_header_get(image->bytes, &segment) != STATUS_OK) {
        return;
    }
    file->read_to = file->read_to > 0 ? file->read_to : SEGMENT_HEADER_BYTES;
    while (record_open(span_of(image->bytes + file->read_to, image->size - file->read_to),
                       &header) == STATUS_OK &&
           belongs(&segment, &header, file->read_to)) {
        if (header.type == RECORD_BATCH) {
            read_batch(file, span_of(image->bytes + file->read_to, header.size));
        }
        file->read_to += header.size;
    }
}

static uint64_t number_at(const struct sim_image *image, size_t offset)
{
    uint64_t number;

    memcpy(&number, image->bytes + offset, sizeof number);
    return number;
}

/* Once it is whole. Places of the header: see storage/run.h. */
static void read_run(struct sim_file *file, const struct sim_image *image)
{
    uint64_t filter_id;
    uint64_t count;

    if (file->read_to > 0 || image->size < RUN_HEADER_BYTES) {
        return;
    }
    filter_id = number_at(image, 24);
    count = number_at(image, 48);
    if (count == 0 || count > image->size / 8 || image->size < run_bytes(count)) {
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        sim_keys_add(&file->keys, mix(filter_id, number_at(image, RUN_HEADER_BYTES + 8 * i)));
    }
    file->read_to = image->size;
}

static bool file_has(struct sim_file *file, const char *name, bool durable, uint64_t key)
{
    const struct sim_image *image = durable ? &file->durable : &file->seen;

    if (strncmp(name, "log-", 4) == 0) {
        read_segment(file, image);
    } else if (strncmp(name, "run-", 4) == 0) {
        read_run(file, image);
    } else {
        return false; /* What it was before counts no more. */
    }
    return sim_keys_has(&file->keys, key);
}

bool sim_log_has(const struct sim_disk *disk, bool durable, uint64_t filter_id,
                 uint64_t fingerprint)
{
    const struct sim_names *names = durable ? &disk->folder.durable : &disk->folder.seen;
    bool found = false;

    for (size_t i = 0; i < names->count && !found; i++) {
        found = file_has(sim_disk_file(disk, names->entries[i].file), names->entries[i].name,
                         durable, mix(filter_id, fingerprint));
    }
    return found;
}
