/* What may happen to a simulated disk besides being used. */
#include "log/segment_file.h"
#include "tests/sim/sim_disk.h"
#include "tests/support/random.h"

#include <assert.h>
#include <string.h>

enum { BYTE_BITS = 8, SNAPSHOT_PERMILLE = 750 };

void sim_disk_fail(struct sim_disk *self, enum sim_disk_fault fault, uint64_t n)
{
    self->fault = fault;
    self->fault_at = self->operations + n;
}

/* ---- copies ---- */

void sim_disk_forget_copy(struct sim_disk *self)
{
    memory_disk_destroy(&self->copy.folder);
}

void sim_disk_take_copy(struct sim_disk *self, uint32_t generation, uint64_t log_end)
{
    sim_disk_forget_copy(self);
    self->copy = (struct sim_disk_copy){
        .folder = memory_disk_copy(&self->memory), .generation = generation, .log_end = log_end};
}

void sim_disk_wipe(struct sim_disk *self)
{
    assert(!self->attached);
    memory_disk_wipe(&self->memory);
}

bool sim_disk_roll_back(struct sim_disk *self)
{
    assert(!self->attached);
    if (self->copy.folder != NULL) {
        memory_disk_restore(&self->memory, self->copy.folder);
    }
    return self->copy.folder != NULL;
}

/* ---- power loss ---- */

void sim_disk_lose_power(struct sim_disk *self)
{
    assert(!self->attached);
    memory_disk_crash(&self->memory, &self->memory.random);
    self->kernel_boot = random_next(&self->memory.random);
}

/* ---- decay ---- */

static bool is_segment(const char *name)
{
    return strncmp(name, "log-", 4) == 0;
}

static bool header_of(const struct sim_disk *self, const struct memory_name_entry *entry,
                      struct segment_header *header)
{
    const struct memory_image *image = &memory_disk_file(&self->memory, entry->file)->durable;

    return is_segment(entry->name) && image->size >= SEGMENT_HEADER_BYTES &&
           segment_header_get(image->bytes, header) == STATUS_OK;
}

/* The newest segment that was synced; "" when there is none. */
static const char *newest_segment(const struct sim_disk *self)
{
    const struct memory_names *names = &self->memory.folder.seen;
    const char *newest = ""; /* Not one that was made ahead. */

    for (size_t i = 0; i < names->count; i++) {
        const char *name = names->entries[i].name;

        const struct memory_file *file = memory_disk_file(&self->memory, names->entries[i].file);

        if (is_segment(name) && file->synced && file->durable.size > 0 &&
            file->durable.bytes[0] != 0 && strcmp(name, newest) > 0) {
            newest = name;
        }
    }
    return newest;
}

/* Where a segment's records end, as the next one tells; what follows may be what the file held
 * before. `most` if there is none. */
static uint64_t segment_end(const struct sim_disk *self, const struct memory_name_entry *entry,
                            uint64_t most)
{
    const struct memory_names *names = &self->memory.folder.seen;
    const char *next = NULL;
    struct segment_header header;
    struct segment_header other;
    uint64_t end = most;

    if (!header_of(self, entry, &header)) {
        return most;
    }
    for (size_t i = 0; i < names->count; i++) {
        const struct memory_name_entry *one = &names->entries[i];

        if (strcmp(one->name, entry->name) > 0 && (next == NULL || strcmp(one->name, next) < 0) &&
            header_of(self, one, &other) && other.first >= header.first) {
            next = one->name;
            end = SEGMENT_HEADER_BYTES + (other.first - header.first);
        }
    }
    return end < most ? end : most;
}

/* From where to where a flip in the file can be noticed. */
static void noticeable(const struct sim_disk *self, const struct memory_name_entry *entry,
                       const char *newest, uint64_t *from, uint64_t *to)
{
    const struct memory_file *file = memory_disk_file(&self->memory, entry->file);
    bool fresh = is_segment(entry->name) && strcmp(entry->name, newest) >= 0;
    bool newer = is_segment(entry->name) && strcmp(entry->name, newest) > 0;

    *from = fresh ? SEGMENT_HEADER_BYTES : 0;
    *to = fresh ? file->settled : file->durable.size;
    *to = *to < file->durable.size ? *to : file->durable.size;
    *to = segment_end(self, entry, *to);
    if (newer || strcmp(entry->name, SEGMENT_SPARE) == 0 || file->npending > 0 || !file->synced) {
        *to = 0;
    }
}

/* Zeros behind the data don't matter to anybody. */
static uint64_t data_end(const struct memory_image *image, uint64_t to)
{
    while (to > 0 && image->bytes[to - 1] == 0) {
        to--;
    }
    return to;
}

static bool flip_in(struct sim_disk *self, const struct memory_name_entry *entry)
{
    struct memory_file *file = memory_disk_file(&self->memory, entry->file);
    uint64_t from;
    uint64_t to;

    noticeable(self, entry, newest_segment(self), &from, &to);
    to = data_end(&file->durable, to);
    if (from >= to) {
        return false;
    }
    memory_file_flip(file, from + random_below(&self->memory.random, to - from),
                     (unsigned)random_below(&self->memory.random, BYTE_BITS));
    return true;
}

/* A snapshot or an imprint. Few seeds have one, and it is one file among many segments. */
static size_t find_snapshot(const struct memory_names *names)
{
    size_t at = 0;

    while (at < names->count && strncmp(names->entries[at].name, "snap-", 5) != 0 &&
           strncmp(names->entries[at].name, "imprint-", 8) != 0) {
        at++;
    }
    return at;
}

bool sim_disk_flip(struct sim_disk *self)
{
    const struct memory_names *names = &self->memory.folder.seen;
    size_t first = names->count > 0 ? (size_t)random_below(&self->memory.random, names->count) : 0;
    size_t snapshot = find_snapshot(names);
    bool flipped = false;

    assert(!self->attached);
    if (snapshot < names->count && random_chance(&self->memory.random, SNAPSHOT_PERMILLE)) {
        first = snapshot;
    }
    for (size_t i = 0; i < names->count && !flipped; i++) {
        flipped = flip_in(self, &names->entries[(first + i) % names->count]);
    }
    return flipped;
}

/* ---- looking at it ---- */

bool sim_disk_is_flipped(const struct sim_disk *self)
{
    const struct memory_names *names = &self->memory.folder.seen;
    bool flipped = false;

    for (size_t i = 0; i < names->count; i++) {
        bool aside = strncmp(names->entries[i].name, "aside-", 6) == 0;

        flipped = flipped ||
                  (!aside && memory_disk_file(&self->memory, names->entries[i].file)->flipped);
    }
    return flipped;
}

bool sim_disk_empty(const struct sim_disk *self)
{
    return self->memory.folder.seen.count == 0;
}
