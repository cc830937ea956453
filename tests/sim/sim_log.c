/* Reads segments and runs from a disk in memory, and goes on where a file was only appended to. */
#include "tests/sim/sim_log.h"

#include "base/heap.h"
#include "log/log_writer_private.h"
#include "log/record.h"
#include "log/run_format.h"
#include "log/segment.h"
#include "log/snapshot_format.h"
#include "node/pull/live_sets.h"
#include "tests/sim/sim_memory.h"

#include <assert.h>
#include <string.h>

static uint64_t mix(uint64_t filter_id, uint64_t fingerprint)
{
    uint64_t key = fingerprint ^ filter_id * UINT64_C(0x9e3779b97f4a7c15);

    return key != 0 ? key : 1;
}

/* Of one keyset and slice. */
static uint64_t mix_key(uint64_t filter_id, uint64_t keyset, uint64_t slice, uint64_t fingerprint)
{
    return mix(filter_id, fingerprint ^ keyset * UINT64_C(0xbf58476d1ce4e5b9) ^
                              slice * UINT64_C(0x94d049bb133111eb));
}

static void read_batch(struct sim_reading *reading, struct span record)
{
    struct record_batch batch = {0};

    if (record_batch_get(record, &batch) != STATUS_OK) {
        return;
    }
    for (uint32_t target = 0; target < batch.ntargets; target++) {
        for (uint32_t i = 0; i < batch.count; i++) {
            sim_keys_add(&reading->keys,
                         mix_key(batch.filter_id, batch.targets[target].keyset,
                                 batch.targets[target].slice, batch.fingerprints[i]));
        }
    }
}

/* ---- bits ---- */

enum {
    PAGE_BITS = 8 * SNAPSHOT_PAGE_BYTES,
    MAX_BITS = 64,         /* that a key has */
    MAX_SHARD_PAGES = 256, /* of an array */
};

/* A page of a filter's arrays: of slice, shard and page of that. */
static uint64_t page_of(uint64_t slice, uint64_t shard, uint64_t page)
{
    return (slice * DOCUMENT_MAX_SHARDS + shard) * MAX_SHARD_PAGES + page;
}

/* `place`: of all pages of the keyset, one after the other. */
static uint64_t mix_bit(uint64_t filter_id, uint64_t keyset, uint64_t place)
{
    return mix(filter_id,
               (place + 1) * UINT64_C(0xd6e8feb86659fd93) ^ keyset * UINT64_C(0xbf58476d1ce4e5b9));
}

static void read_page(struct sim_reading *reading, uint64_t filter_id, uint64_t keyset,
                      uint64_t page, const uint8_t *bytes, uint64_t page_bytes)
{
    for (uint64_t i = 0; i < page_bytes; i++) {
        for (unsigned bits = bytes[i]; bits != 0; bits &= bits - 1) {
            uint64_t place = page * PAGE_BITS + i * 8 + (unsigned)__builtin_ctz(bits);

            sim_keys_add(&reading->keys, mix_bit(filter_id, keyset, place));
        }
    }
}

static void read_lines(struct sim_reading *reading, struct span record)
{
    uint8_t page[RECORD_PAGE_BYTES];
    struct record_lines lines;

    if (record_lines_get(record, &lines) == STATUS_OK) {
        record_lines_page(&lines, page);
        read_page(reading, lines.filter_id, lines.keyset,
                  page_of(lines.slice, lines.shard, lines.page), page, sizeof page);
    }
}

/* Which bits a fingerprint has in a slice's array; all are in one line. */
static unsigned bits_of(const struct live_set *live, uint64_t fingerprint,
                        uint64_t places[MAX_BITS])
{
    static _Alignas(64) uint8_t array[MAX_SHARD_PAGES * SNAPSHOT_PAGE_BYTES];
    uint8_t *shards[DOCUMENT_MAX_SHARDS] = {0};
    const struct geometry *geometry = &live->generation->geometry;
    const struct lines_view view = {.geometry = *geometry, .shards = shards};
    uint64_t shard = lines_shard_index(geometry->shard_bits, fingerprint);
    uint64_t line = lines_line_index(geometry, fingerprint);
    uint64_t page = line / LINES_PER_PAGE;
    uint8_t *bytes = array + line * LINE_BYTES;
    uint64_t first = page_of(live->slice, shard, page) * PAGE_BITS +
                     line % LINES_PER_PAGE * LINE_BITS;
    uint64_t present;
    unsigned count = 0;

    assert(lines_shard_bytes(geometry) <= sizeof array);
    memset(bytes, 0, LINE_BYTES);
    shards[shard] = array;
    lines_add(&view, &fingerprint, 1, &present);
    for (uint64_t i = 0; i < LINE_BITS; i++) {
        if ((bytes[i / 8] >> i % 8 & 1) != 0) {
            places[count++] = first + i;
        }
    }
    return count;
}

/* Of this segment, and not left there by another that the file was before? */
static bool belongs(const struct segment_header *segment, const struct record_header *header,
                    uint64_t place)
{
    return header->boot == segment->boot &&
           header->offset == segment->first + (place - SEGMENT_HEADER_BYTES);
}

static void read_record(struct sim_reading *reading, const struct record_header *header,
                        struct span record)
{
    if (header->type == RECORD_BATCH) {
        read_batch(reading, record);
    } else if (header->type == RECORD_LINES) {
        read_lines(reading, record);
    }
}

/* As far as it is readable; from there on next time. */
static void read_segment(struct sim_reading *reading, const struct memory_image *image)
{
    struct segment_header segment;
    struct record_header header;

    if (image->size < SEGMENT_HEADER_BYTES ||
        segment_header_get(image->bytes, &segment) != STATUS_OK) {
        return;
    }
    reading->read_to = reading->read_to > 0 ? reading->read_to : SEGMENT_HEADER_BYTES;
    while (record_open(span_of(image->bytes + reading->read_to, image->size - reading->read_to),
                       &header) == STATUS_OK &&
           belongs(&segment, &header, reading->read_to)) {
        read_record(reading, &header, span_of(image->bytes + reading->read_to, header.size));
        reading->read_to += header.size;
    }
}

static uint64_t number_at(const struct memory_image *image, size_t offset)
{
    uint64_t number;

    memcpy(&number, image->bytes + offset, sizeof number);
    return number;
}

/* Once it is whole. Places of the header: see log/run.h. */
static void read_run(struct sim_reading *reading, const struct memory_image *image)
{
    uint64_t filter_id;
    uint64_t slice;
    uint64_t keyset;
    uint64_t count;

    if (reading->read_to > 0 || image->size < RUN_HEADER_BYTES) {
        return;
    }
    filter_id = number_at(image, 24);
    slice = number_at(image, 32);
    keyset = number_at(image, 40); /* and 32 zero bits */
    count = number_at(image, 48);
    if (count == 0 || count > image->size / 8 || image->size < run_bytes(count)) {
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        sim_keys_add(&reading->keys,
                     mix_key(filter_id, keyset, slice, number_at(image, RUN_HEADER_BYTES + 8 * i)));
    }
    reading->read_to = image->size;
}

/* Once it is whole: its header is written last. Places: see log/snapshot.h. */
static void read_snapshot(struct sim_reading *reading, const struct memory_image *image)
{
    uint64_t npages;
    uint64_t a_shard;
    uint64_t page_bytes;
    uint32_t nshards;

    if (reading->read_to > 0 || image->size < SNAPSHOT_HEADER_BYTES || number_at(image, 120) == 0) {
        return;
    }
    memcpy(&nshards, image->bytes + 88, sizeof nshards);
    a_shard = lines_shard_pages(number_at(image, 56));
    page_bytes = lines_page_bytes(number_at(image, 56));
    npages = a_shard * nshards;
    for (uint64_t i = 0; i < npages; i++) {
        uint32_t shard;
        uint32_t keyset;
        const uint8_t *tables = image->bytes + SNAPSHOT_HEADER_BYTES + npages * page_bytes +
                                npages * 8;

        memcpy(&shard, tables + i / a_shard * sizeof shard, sizeof shard);
        memcpy(&keyset, image->bytes + 40, sizeof keyset);
        read_page(reading, number_at(image, 24), keyset,
                  page_of(number_at(image, 32), shard, i % a_shard),
                  image->bytes + SNAPSHOT_HEADER_BYTES + i * page_bytes, page_bytes);
    }
    reading->read_to = image->size;
}

/* ---- what was read of a file ---- */

void sim_reading_fini(struct sim_reading *self)
{
    sim_keys_fini(&self->keys);
    self->read_to = 0;
}

/* It becomes another segment. */
static void on_change(struct memory_reader *reader, uint64_t from)
{
    struct sim_reading *self = (struct sim_reading *)reader;

    if (from < self->read_to) {
        sim_reading_fini(self);
    }
}

static void on_release(struct memory_reader *reader)
{
    struct sim_reading *self = (struct sim_reading *)reader;

    sim_reading_fini(self);
    heap_free(self);
}

static struct sim_reading *reading_of(struct memory_file *file)
{
    if (file->reader == NULL) {
        struct sim_reading *reading = sim_memory_alloc(1, sizeof *reading);

        reading->reader = (struct memory_reader){.changed = on_change, .release = on_release};
        file->reader = &reading->reader;
    }
    return (struct sim_reading *)file->reader;
}

static bool file_has(struct memory_file *file, const char *name, bool durable, uint64_t key)
{
    const struct memory_image *image = durable ? &file->durable : &file->seen;
    struct sim_reading *reading = reading_of(file);

    if (strncmp(name, "log-", 4) == 0) {
        read_segment(reading, image);
    } else if (strncmp(name, "run-", 4) == 0) {
        read_run(reading, image);
    } else if (strncmp(name, "snap-", 5) == 0) {
        read_snapshot(reading, image);
    } else {
        return false; /* What it was before counts no more. */
    }
    return sim_keys_has(&reading->keys, key);
}

static bool any_has(const struct sim_disk *disk, bool durable, uint64_t key)
{
    const struct memory_names *names = durable ? &disk->memory.folder.durable
                                               : &disk->memory.folder.seen;
    bool found = false;

    for (size_t i = 0; i < names->count && !found; i++) {
        found = file_has(memory_disk_file(&disk->memory, names->entries[i].file),
                         names->entries[i].name, durable, key);
    }
    return found;
}

/* A page is told as a whole, so all of them are in one page, or in a batch. */
static bool bits_are_set(const struct sim_disk *disk, bool durable,
                         const struct filter_document *document, const struct live_set *live,
                         uint64_t fingerprint)
{
    uint64_t places[MAX_BITS];
    unsigned count = bits_of(live, fingerprint, places);
    bool all = true;

    for (unsigned i = 0; i < count && all; i++) {
        all = any_has(disk, durable, mix_bit(document->id, live->keyset, places[i]));
    }
    return all;
}

bool sim_log_has(const struct sim_disk *disk, bool durable, const struct filter_document *document,
                 uint32_t keyset, uint64_t fingerprint)
{
    bool has = false;

    for (uint32_t i = 0; i < live_sets_count(document) && !has; i++) {
        const struct live_set live = live_sets_at(document, i);

        has = live.keyset == keyset &&
              any_has(disk, durable, mix_key(document->id, live.keyset, live.slice, fingerprint));
        has = has || (document->keylog == KEYLOG_OFF &&
                      bits_are_set(disk, durable, document, &live, fingerprint));
    }
    return has;
}

/* ---- sets ---- */

static uint64_t key_of(const struct sim_log_set *set, uint64_t fingerprint)
{
    return mix_key(set->filter_id, set->keyset, set->slice, fingerprint);
}

static uint64_t bit_of(const struct sim_log_set *set, uint64_t shard, uint64_t bit)
{
    return mix_bit(set->filter_id, set->keyset,
                   page_of(set->slice, shard, bit / PAGE_BITS) * PAGE_BITS + bit % PAGE_BITS);
}

bool sim_log_has_key(const struct sim_disk *disk, bool durable, const struct sim_log_set *set,
                     uint64_t fingerprint)
{
    return any_has(disk, durable, key_of(set, fingerprint));
}

bool sim_log_has_bit(const struct sim_disk *disk, bool durable, const struct sim_log_set *set,
                     uint64_t shard, uint64_t bit)
{
    return any_has(disk, durable, bit_of(set, shard, bit));
}

bool sim_reading_has_key(const struct sim_reading *reading, const struct sim_log_set *set,
                         uint64_t fingerprint)
{
    return sim_keys_has(&reading->keys, key_of(set, fingerprint));
}

bool sim_reading_has_bit(const struct sim_reading *reading, const struct sim_log_set *set,
                         uint64_t shard, uint64_t bit)
{
    return sim_keys_has(&reading->keys, bit_of(set, shard, bit));
}

/* Not sealed yet, or so: no checksum says whether they are whole, and all of them are. */
static void read_gathered(const struct log_gathering *what, struct sim_reading *reading)
{
    for (size_t i = 0; i < what->npieces; i++) {
        const struct log_piece *piece = &what->pieces[i];
        size_t at = piece->start + (piece->begins ? SEGMENT_HEADER_BYTES : 0);
        size_t end = piece->start + piece->size;
        struct record_header header;

        while (at < end &&
               record_peek(span_of(what->bytes.data + at, end - at), &header) == STATUS_OK) {
            read_record(reading, &header, span_of(what->bytes.data + at, header.size));
            at += header.size;
        }
    }
}

void sim_log_read_appended(const struct log_writer *writer, struct sim_reading *reading)
{
    read_gathered(&writer->gathering, reading);
    if (writer->group.busy) {
        read_gathered(&writer->group.what, reading);
    }
}
