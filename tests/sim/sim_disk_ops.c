/* The operations of base/disk.h on a simulated disk. */
#include "map/document.h"
#include "tests/sim/sim_disk.h"

#include <assert.h>

enum { CALL_US = 3, BYTES_PER_US = 500 };

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static bool name_is_valid(const char *name)
{
    size_t size = strnlen(name, DISK_NAME_BYTES);
    bool valid = size > 0 && size < DISK_NAME_BYTES;

    for (size_t i = 0; i < size && valid; i++) {
        valid = strchr("abcdefghijklmnopqrstuvwxyz0123456789.-", name[i]) != NULL;
    }
    return valid;
}

static uint64_t room_left(const struct sim_disk *self)
{
    uint64_t used = sim_disk_used(self);

    return used < self->size_bytes ? self->size_bytes - used : 0;
}

static uint32_t take_handle(struct sim_disk *self, uint32_t number, char kind)
{
    for (uint32_t i = 0; i < SIM_MAX_HANDLES; i++) {
        if (self->handles[i] == 0) {
            self->handles[i] = number;
            self->kinds[i] = kind;
            return i + 1;
        }
    }
    assert(!"more files are open than a process should need");
    return 0;
}

static struct sim_file *opened(struct sim_disk *self, uint32_t handle)
{
    assert(handle > 0 && handle <= SIM_MAX_HANDLES && self->handles[handle - 1] != 0);
    return sim_disk_file(self, self->handles[handle - 1]);
}

/* ---- time, faults and the digest of all that happens ---- */

/* How an operation goes. */
enum course { GOES_WELL, FAILS_HALFWAY, FAILS };

static void spend(struct sim_disk *self, uint64_t us)
{
    if (self->in_job) {
        self->spent_us += us;
        if (sim_random_chance(&self->random, self->pace.slow_permille)) {
            self->spent_us += sim_random_below(&self->random, self->pace.slow_us + 1);
        }
    }
}

static uint64_t due_us(const struct sim_disk *self)
{
    return *self->clock_us + (self->in_job ? self->spent_us : 0);
}

static void digest(struct sim_disk *self, uint64_t what)
{
    self->digest = (self->digest ^ what) * UINT64_C(0x9e3779b97f4a7c15);
    self->digest ^= self->digest >> 29;
}

static enum course enter(struct sim_disk *self, uint64_t what, const char *name)
{
    enum sim_disk_fault fault;

    assert(self->attached);
    self->operations++;
    digest(self, what << 56 ^ (name != NULL ? document_epoch_hash(span_text(name)) : 0));
    spend(self, CALL_US);
    if (self->crashed) {
        return FAILS;
    }
    if (self->fault == SIM_DISK_GOOD || self->operations != self->fault_at) {
        return GOES_WELL;
    }
    fault = self->fault;
    self->fault = SIM_DISK_GOOD;
    if (self->on_fault != NULL && fault != SIM_DISK_CUT &&
        !self->on_fault(self->fault_context, fault)) {
        return GOES_WELL;
    }
    self->crashed = fault != SIM_DISK_EIO;
    return FAILS_HALFWAY;
}

static bool half(struct sim_disk *self)
{
    return sim_random_chance(&self->random, 500);
}

/* ---- the operations ---- */

static enum status list(void *context, void (*visit)(void *argument, const char *name),
                        void *argument)
{
    struct sim_disk *self = context;
    const struct sim_names *names = &self->folder.seen;
    size_t first;

    if (enter(self, 1, NULL) != GOES_WELL) {
        return STATUS_IO;
    }
    first = names->count > 0 ? (size_t)sim_random_below(&self->random, names->count) : 0;
    for (size_t i = 0; i < names->count; i++) {
        visit(argument, names->entries[(first + i) % names->count].name);
    }
    return STATUS_OK;
}

static enum status create(void *context, const char *name, uint64_t size, uint32_t *file)
{
    struct sim_disk *self = context;
    enum course course = enter(self, 2, name);
    uint32_t number;

    assert(name_is_valid(name));
    if (course == FAILS || (course == FAILS_HALFWAY && half(self))) {
        return STATUS_IO;
    }
    if (sim_folder_find(&self->folder, name) != 0) {
        return STATUS_EXISTS;
    }
    if (size > room_left(self)) {
        return STATUS_NO_SPACE;
    }
    number = sim_disk_add_file(self, sim_file_create(size));
    sim_folder_edit(&self->folder, "", name, number);
    if (course != GOES_WELL) {
        return STATUS_IO;
    }
    *file = take_handle(self, number, begins(name, "run-") ? 'r' : begins(name, "log-") ? 'l' : 0);
    self->merging += self->kinds[*file - 1] == 'r';
    return STATUS_OK;
}

static enum status open_file(void *context, const char *name, uint32_t *file, uint64_t *size)
{
    struct sim_disk *self = context;
    uint32_t number = sim_folder_find(&self->folder, name);

    assert(name_is_valid(name));
    if (enter(self, 3, name) != GOES_WELL) {
        return STATUS_IO;
    }
    if (number == 0) {
        return STATUS_NOT_FOUND;
    }
    *file = take_handle(self, number, begins(name, "log-") ? 'l' : 0);
    *size = sim_disk_file(self, number)->seen.size;
    return STATUS_OK;
}

static void close_file(void *context, uint32_t file)
{
    struct sim_disk *self = context;

    (void)opened(self, file);
    self->handles[file - 1] = 0;
    self->rolling = self->rolling == file ? 0 : self->rolling;
    if (self->kinds[file - 1] == 'r') {
        self->merging--;
        self->merges_until_us = due_us(self);
    }
    sim_disk_collect(self);
}

static enum status read_file(void *context, uint32_t file, uint64_t offset, void *into, size_t size)
{
    struct sim_disk *self = context;
    const struct sim_image *image = &opened(self, file)->seen;
    enum course course = enter(self, 4, NULL);

    spend(self, size / BYTES_PER_US);
    if (course != GOES_WELL) {
        return STATUS_IO;
    }
    if (offset > image->size || size > image->size - offset) {
        return STATUS_MALFORMED;
    }
    if (size > 0) {
        memcpy(into, image->bytes + offset, size);
    }
    return STATUS_OK;
}

static enum status write_file(void *context, uint32_t file, uint64_t offset, struct span bytes)
{
    struct sim_disk *self = context;
    struct sim_file *target = opened(self, file);
    enum course course = enter(self, 5, NULL);
    uint64_t end = offset + bytes.size;

    digest(self, document_epoch_hash(bytes) ^ offset);
    spend(self, bytes.size / BYTES_PER_US);
    if (course == FAILS) {
        return STATUS_IO;
    }
    if (end > target->seen.size && end - target->seen.size > room_left(self)) {
        return STATUS_NO_SPACE;
    }
    if (course == FAILS_HALFWAY) {
        bytes.size = (size_t)sim_random_below(&self->random, bytes.size + 1);
    }
    sim_file_write(target, offset, bytes);
    self->rolling = offset == 0 && self->kinds[file - 1] == 'l' ? file : self->rolling;
    return course == GOES_WELL ? STATUS_OK : STATUS_IO;
}

static uint64_t draw_sync_us(struct sim_disk *self)
{
    return self->pace.sync_us / 2 + sim_random_below(&self->random, self->pace.sync_us + 1);
}

/* A crash in its midst leaves everything pending: a power loss decides what is kept. */
static enum status sync_file(void *context, uint32_t file)
{
    struct sim_disk *self = context;
    struct sim_file *target = opened(self, file);
    enum course course = enter(self, 6, NULL);

    spend(self, draw_sync_us(self));
    if (course == GOES_WELL) {
        sim_file_sync(target);
        if (self->rolling == file) {
            self->rolling = 0;
            self->rolls_until_us = due_us(self);
        }
        return STATUS_OK;
    }
    if (!self->crashed) {
        self->diverged = self->diverged || target->npending > 0;
        sim_file_fail_sync(target, &self->random);
    }
    return STATUS_IO;
}

static enum status rename_file(void *context, const char *from, const char *to)
{
    struct sim_disk *self = context;
    enum course course = enter(self, 7, from);
    uint32_t number = sim_folder_find(&self->folder, from);

    assert(name_is_valid(from) && name_is_valid(to) && strcmp(from, to) != 0);
    if (course == FAILS || (course == FAILS_HALFWAY && half(self))) {
        return STATUS_IO;
    }
    if (number == 0) {
        return STATUS_NOT_FOUND;
    }
    sim_folder_edit(&self->folder, from, to, number);
    self->set_aside += begins(to, "aside-") && sim_disk_file(self, number)->flipped;
    for (size_t i = 0; i < SIM_MAX_HANDLES; i++) {
        if (self->handles[i] == number) {
            self->kinds[i] = begins(to, "log-") ? 'l' : 0;
        }
    }
    return course == GOES_WELL ? STATUS_OK : STATUS_IO;
}

static enum status remove_file(void *context, const char *name)
{
    struct sim_disk *self = context;
    enum course course = enter(self, 8, name);
    uint32_t number = sim_folder_find(&self->folder, name);

    assert(name_is_valid(name));
    if (course == FAILS || (course == FAILS_HALFWAY && half(self))) {
        return STATUS_IO;
    }
    if (number == 0) {
        return STATUS_NOT_FOUND;
    }
    sim_folder_edit(&self->folder, name, "", number);
    return course == GOES_WELL ? STATUS_OK : STATUS_IO;
}

static enum status sync_folder(void *context)
{
    struct sim_disk *self = context;
    enum course course = enter(self, 9, NULL);

    spend(self, draw_sync_us(self));
    if (course == GOES_WELL) {
        sim_folder_sync(&self->folder);
        sim_disk_collect(self);
        return STATUS_OK;
    }
    if (!self->crashed) {
        self->diverged = self->diverged || self->folder.npending > 0;
        sim_folder_fail_sync(&self->folder, &self->random);
    }
    return STATUS_IO;
}

static enum status room(void *context, uint64_t *bytes)
{
    struct sim_disk *self = context;

    if (enter(self, 10, NULL) != GOES_WELL) {
        return STATUS_IO;
    }
    *bytes = room_left(self);
    return STATUS_OK;
}

struct disk sim_disk_operations(struct sim_disk *self)
{
    return (struct disk){
        .context = self,
        .list = list,
        .create = create,
        .open = open_file,
        .close = close_file,
        .read = read_file,
        .write = write_file,
        .sync = sync_file,
        .rename = rename_file,
        .remove = remove_file,
        .sync_folder = sync_folder,
        .room = room,
    };
}
