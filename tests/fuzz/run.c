/* run SEED COUNT: COUNT files of sorted runs made from SEED, each bent in some way, through
 * run_reader and run_merge.
 *
 * Bits are flipped, stretches lost, repeated or exchanged as a disk would do it; half of the files
 * get right checksums again, so that what is tried gets past them.
 *
 * An input is a struct input, then the file.
 *
 * An input passes when reading ends with a status that is documented, or gives as
 * many fingerprints as the manifest says, ascending; without checksums put right, what was
 * written. Prints
 * "N passed, N failed".
 */
#include "log/run_format.h"
#include "log/run_merge.h"
#include "tests/support/fuzz_loop.h"
#include "tests/support/memory_disk.h"
#include "tests/support/random.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

enum { MOST_KEYS = 3 * RUN_BLOCK_KEYS, SECTOR_BYTES = 512, CLUSTER = 9 };

/* What is bent, then put on the disk. */
struct file {
    uint8_t bytes[RUN_HEADER_BYTES + MOST_KEYS * 8 + 1024];
    uint64_t size;
};

enum { FLAG_SEALED = 1, FLAG_FIRSTS = 2 };

/* What comes before the file. */
struct input {
    uint64_t flags;
    uint64_t number;    /* of the run, so of the file */
    uint64_t filter_id; /* ... as the manifest says */
    uint64_t count;     /* ... */
    uint64_t from;      /* where to look first */
};

struct fuzz {
    uint64_t random;
    struct memory_disk *memory;
    struct file file;
    struct record_run run;
    bool known;      /* it was made here, and no checksum was put right */
    size_t nwritten; /* of these */
    uint64_t written[MOST_KEYS];
    uint64_t read[MOST_KEYS];
};

static uint64_t draw(struct fuzz *self, uint64_t below)
{
    return random_below(&self->random, below);
}

static void write_run(struct fuzz *self)
{
    size_t count = 1 + (size_t)draw(self, draw(self, 20) == 0 ? MOST_KEYS : 200);
    struct run_writer *writer = NULL;
    uint64_t value = draw(self, 1000);
    enum status status;

    self->run = (struct record_run){.number = draw(self, 5), .filter_id = 1 + draw(self, 5)};
    for (size_t i = 0; i < count; i++) {
        self->written[i] = value;
        value += 1 + draw(self, 1000);
    }
    status = run_writer_create(memory_disk_seam(self->memory), CLUSTER, &self->run, count, &writer);
    assert(status == STATUS_OK);
    status = run_writer_add(writer, self->written, count);
    assert(status == STATUS_OK);
    status = run_writer_finish(writer, &self->run);
    assert(status == STATUS_OK && self->run.count == count);
    run_writer_destroy(&writer);
}

/* ---- bending ---- */

static uint64_t draw_number(struct fuzz *self)
{
    static const uint64_t telling[] = {
        0, 1, RUN_BLOCK_KEYS, UINT64_C(1) << 32, UINT64_C(1) << 61, UINT64_MAX};

    return draw(self, 2) == 0 ? telling[draw(self, 6)] : random_next(&self->random);
}

static void bend(struct fuzz *self, struct file *file)
{
    uint64_t at = draw(self, file->size);
    uint64_t other = draw(self, file->size);
    uint64_t most = file->size - (at > other ? at : other);
    uint64_t size = draw(self, most < SECTOR_BYTES ? most : SECTOR_BYTES) + 1;
    uint64_t number = draw_number(self);

    switch (draw(self, 6)) {
    case 0:
        file->bytes[at] ^= (uint8_t)(1 << draw(self, 8));
        break;
    case 1:
        memset(file->bytes + at, draw(self, 2) == 0 ? 0 : 0xff, size);
        break;
    case 2:
        memmove(file->bytes + at, file->bytes + other, size);
        break;
    case 3: /* a number, where numbers are */
        at = at / sizeof number * sizeof number;
        memcpy(file->bytes + at, &number,
               file->size - at < sizeof number ? file->size - at : sizeof number);
        break;
    case 4:
        file->size = at + 1;
        break;
    default: /* what the manifest says */
        self->run.count = draw(self, 2) == 0 ? number : draw(self, 2 * self->run.count + 1);
        break;
    }
}

static void put_checksum(struct file *file, uint64_t begin, uint64_t end, uint64_t to)
{
    uint64_t checksum;

    if (end <= file->size && to + sizeof checksum <= file->size) {
        checksum = XXH3_64bits(file->bytes + begin, end - begin);
        memcpy(file->bytes + to, &checksum, sizeof checksum);
    }
}

/* As if it had been written so: the header as the manifest has it, the index as the blocks are,
 * or left as bent. */
static void seal(struct fuzz *self, struct file *file, bool firsts)
{
    uint64_t count = self->run.count;
    uint64_t index = run_index_offset(count);

    if (count > file->size / sizeof(uint64_t) || run_bytes(count) > file->size) {
        return;
    }
    for (uint64_t i = 0; i < run_nblocks(count); i++) {
        uint64_t begin = run_index_offset(i * RUN_BLOCK_KEYS);
        uint64_t end = begin + RUN_BLOCK_BYTES < index ? begin + RUN_BLOCK_BYTES : index;
        uint64_t entry = index + i * sizeof(struct run_block);

        if (firsts) {
            memcpy(file->bytes + entry, file->bytes + begin, sizeof(uint64_t));
        }
        put_checksum(file, begin, end, entry + sizeof(uint64_t));
    }
    put_checksum(file, index, run_bytes(count) - sizeof(uint64_t),
                 run_bytes(count) - sizeof(uint64_t));
    run_header_put(file->bytes, CLUSTER, &self->run);
}

/* ---- reading ---- */

static bool documented(enum status status)
{
    return status == STATUS_MALFORMED || status == STATUS_VERSION;
}

static bool good(const struct fuzz *self, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (self->read[i] <= self->read[i - 1]) {
            return false;
        }
    }
    return count == self->run.count &&
           (!self->known || (count == self->nwritten &&
                             memcmp(self->read, self->written, count * sizeof *self->read) == 0));
}

/* All of it through a merge, which relies on what readers promise. */
static bool read_all(struct fuzz *self, struct run_reader *reader)
{
    struct run_merge *merge = NULL;
    enum status status = run_merge_create(&reader, 1, NULL, 0, &merge);
    size_t total = 0;
    size_t count = 1;

    assert(status == STATUS_OK);
    while (status == STATUS_OK && count > 0) {
        size_t room = MOST_KEYS - total;

        status = run_merge_next(merge, self->read + total, room > 0 ? room : 1, &count);
        total += status == STATUS_OK ? count : 0;
        if (total == MOST_KEYS) {
            break; /* a bent file is no longer than what was written */
        }
    }
    run_merge_destroy(&merge);
    return status == STATUS_OK ? good(self, total) : documented(status);
}

/* Anywhere in it, what comes is not below. */
static bool read_some(struct run_reader *reader, uint64_t from)
{
    const uint64_t *stretch = NULL;
    size_t count = 0;
    enum status status;

    run_reader_seek(reader, from);
    status = run_reader_next(reader, &stretch, &count);
    return status == STATUS_OK ? count == 0 || stretch[0] >= from : documented(status);
}

/* ---- inputs ---- */

static void make(void *context, uint64_t seed, struct buffer *input)
{
    struct fuzz *self = context;
    struct input front = {0};
    char name[DISK_NAME_BYTES];
    struct span written;

    self->random = seed;
    self->memory = memory_disk_create();
    write_run(self);
    run_name(self->run.number, name);
    written = memory_disk_bytes(self->memory, name);
    assert(written.size <= sizeof self->file.bytes);
    memcpy(self->file.bytes, written.data, written.size);
    self->file.size = written.size;
    memory_disk_destroy(&self->memory);
    self->nwritten = (size_t)self->run.count;
    for (uint64_t bends = draw(self, 4); bends > 0; bends--) {
        bend(self, &self->file);
    }
    front.flags = draw(self, 2) == 0 ? FLAG_SEALED | draw(self, 2) * FLAG_FIRSTS : 0;
    front.number = self->run.number;
    front.filter_id = self->run.filter_id;
    front.count = self->run.count;
    front.from = draw(self, self->written[self->nwritten - 1] + 2);
    self->known = front.flags == 0;
    fuzz_put(input, &front, sizeof front);
    fuzz_put(input, self->file.bytes, self->file.size);
}

static bool try_input(void *context, struct span input)
{
    struct fuzz *self = context;
    struct run_reader *reader = NULL;
    struct input front;
    char name[DISK_NAME_BYTES];
    enum status status;
    bool passed;

    fuzz_take(&input, &front, sizeof front);
    self->run = (struct record_run){
        .number = front.number, .filter_id = front.filter_id, .count = front.count};
    self->file.size = input.size < sizeof self->file.bytes ? input.size : sizeof self->file.bytes;
    fuzz_take(&input, self->file.bytes, self->file.size);
    if (self->run.count > MOST_KEYS && run_bytes(MOST_KEYS) < self->file.size) {
        return true; /* more than there is room for here */
    }
    if ((front.flags & FLAG_SEALED) != 0) {
        seal(self, &self->file, (front.flags & FLAG_FIRSTS) != 0);
    }
    self->memory = memory_disk_create();
    run_name(self->run.number, name);
    memory_disk_put(self->memory, name, span_of(self->file.bytes, self->file.size));
    status = run_reader_create(memory_disk_seam(self->memory), CLUSTER, &self->run, &reader);
    passed = status == STATUS_OK ? read_some(reader, front.from) : documented(status);
    if (status == STATUS_OK) {
        run_reader_seek(reader, 0);
        passed = read_all(self, reader) && passed;
    }
    run_reader_destroy(&reader);
    passed = passed && memory_disk_open_files(self->memory) == 0;
    memory_disk_destroy(&self->memory);
    return passed;
}

int main(int argc, char **argv)
{
    static struct fuzz fuzz;
    const struct fuzz_target target = {
        .name = "run", .context = &fuzz, .make = make, .try_input = try_input};

    return fuzz_loop(&target, argc, argv);
}
