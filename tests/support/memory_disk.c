/* The operations of a disk by its seam, on files and names in memory, with faults at will. */
#include "tests/support/memory_disk.h"

#include "tests/support/plain_memory.h"
#include "tests/support/random.h"

#include <assert.h>
#include <string.h>

/* ---- the table of files ---- */

struct memory_file *memory_disk_file(const struct memory_disk *self, uint32_t number)
{
    assert(number > 0 && number <= self->nfiles && self->files[number - 1] != NULL);
    return self->files[number - 1];
}

struct memory_file *memory_disk_find(const struct memory_disk *self, const char *name)
{
    uint32_t number = memory_folder_find(&self->folder, name);

    return number != 0 ? memory_disk_file(self, number) : NULL;
}

static uint32_t add_file(struct memory_disk *self, struct memory_file *file)
{
    size_t at = 0;

    while (at < self->nfiles && self->files[at] != NULL) {
        at++;
    }
    if (at == self->nfiles) {
        self->files = plain_reserve(self->files, &self->capacity, ++self->nfiles,
                                    sizeof *self->files);
    }
    self->files[at] = file;
    return (uint32_t)at + 1;
}

static bool is_open(const struct memory_disk *self, uint32_t number)
{
    bool open = false;

    for (size_t i = 0; i < MEMORY_DISK_HANDLES; i++) {
        open = open || self->handles[i] == number;
    }
    return open;
}

/* Files without names and handles go. */
static void collect(struct memory_disk *self)
{
    for (uint32_t number = 1; number <= self->nfiles; number++) {
        if (self->files[number - 1] != NULL && !is_open(self, number) &&
            !memory_folder_refers(&self->folder, number)) {
            memory_file_free(&self->files[number - 1]);
        }
    }
}

static uint64_t used_bytes(const struct memory_disk *self)
{
    uint64_t used = 0;

    for (size_t i = 0; i < self->nfiles; i++) {
        used += self->files[i] != NULL ? self->files[i]->seen.size : 0;
    }
    return used;
}

static uint64_t room_left(const struct memory_disk *self)
{
    uint64_t used = used_bytes(self);

    return used < self->size_bytes ? self->size_bytes - used : 0;
}

static uint32_t take_handle(struct memory_disk *self, uint32_t number)
{
    for (uint32_t i = 0; i < MEMORY_DISK_HANDLES; i++) {
        if (self->handles[i] == 0) {
            self->handles[i] = number;
            return i + 1;
        }
    }
    assert(!"more files are open than a process should need");
    return 0;
}

static struct memory_file *opened(const struct memory_disk *self, uint32_t handle)
{
    assert(handle > 0 && handle <= MEMORY_DISK_HANDLES && self->handles[handle - 1] != 0);
    return memory_disk_file(self, self->handles[handle - 1]);
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

/* ---- how an operation goes ---- */

static bool changes_something(enum memory_op op)
{
    return op != MEMORY_LIST && op != MEMORY_OPEN && op != MEMORY_READ && op != MEMORY_ROOM;
}

/* As memory_disk_fail_*() have asked for it. */
static enum memory_course as_planned(struct memory_disk *self, const struct memory_call *call)
{
    bool sync = call->op == MEMORY_SYNC || call->op == MEMORY_SYNC_FOLDER;

    if (!changes_something(call->op)) {
        return MEMORY_GOES_WELL;
    }
    if (self->left != 0) {
        self->left -= self->left > 0;
        self->operations++;
        return MEMORY_GOES_WELL;
    }
    self->left = self->once ? MEMORY_DISK_NEVER : 0;
    return self->failure == STATUS_IO && (call->op == MEMORY_WRITE || (sync && self->once))
               ? MEMORY_FAILS_HALFWAY
               : MEMORY_FAILS;
}

static enum memory_course begin(struct memory_disk *self, const struct memory_call *call)
{
    return self->watch.before != NULL ? self->watch.before(self->watch.context, call)
                                      : as_planned(self, call);
}

static void done(struct memory_disk *self, const struct memory_call *call)
{
    self->syncs += call->op == MEMORY_SYNC;
    self->reads += call->op == MEMORY_READ ? call->size : 0;
    if (self->watch.done != NULL) {
        self->watch.done(self->watch.context, call);
    }
}

/* Of a change of names, which is done or not. */
static bool has_effect(struct memory_disk *self, enum memory_course course)
{
    return course == MEMORY_GOES_WELL ||
           (course == MEMORY_FAILS_HALFWAY && !random_chance(&self->random, 500));
}

static enum status outcome(const struct memory_disk *self, enum memory_course course)
{
    return course == MEMORY_GOES_WELL ? STATUS_OK : self->failure;
}

/* ---- the operations ---- */

static enum status list(void *context, void (*visit)(void *argument, const char *name),
                        void *argument)
{
    struct memory_disk *self = context;
    const struct memory_names *names = &self->folder.seen;
    const struct memory_call call = {.op = MEMORY_LIST};
    size_t first;

    if (begin(self, &call) != MEMORY_GOES_WELL) {
        return self->failure;
    }
    first = names->count > 0 ? (size_t)random_below(&self->random, names->count) : 0;
    for (size_t i = 0; i < names->count; i++) {
        visit(argument, names->entries[(first + i) % names->count].name);
    }
    return STATUS_OK;
}

static enum status create(void *context, const char *name, uint64_t size, uint32_t *file)
{
    struct memory_disk *self = context;
    struct memory_call call = {.op = MEMORY_CREATE, .name = name};
    enum memory_course course = begin(self, &call);
    uint32_t number;

    assert(name_is_valid(name));
    if (!has_effect(self, course)) {
        return self->failure;
    }
    if (memory_folder_find(&self->folder, name) != 0) {
        return STATUS_EXISTS;
    }
    if (size > room_left(self)) {
        return STATUS_NO_SPACE;
    }
    number = add_file(self, memory_file_create(size));
    memory_folder_edit(&self->folder, "", name, number);
    if (course != MEMORY_GOES_WELL) {
        return self->failure;
    }
    *file = take_handle(self, number);
    call.file = *file;
    done(self, &call);
    return STATUS_OK;
}

static enum status open_file(void *context, const char *name, uint32_t *file, uint64_t *size)
{
    struct memory_disk *self = context;
    struct memory_call call = {.op = MEMORY_OPEN, .name = name};
    uint32_t number = memory_folder_find(&self->folder, name);

    assert(name_is_valid(name));
    if (begin(self, &call) != MEMORY_GOES_WELL) {
        return self->failure;
    }
    if (number == 0) {
        return STATUS_NOT_FOUND;
    }
    *file = take_handle(self, number);
    *size = memory_disk_file(self, number)->seen.size;
    call.file = *file;
    done(self, &call);
    return STATUS_OK;
}

static void close_file(void *context, uint32_t file)
{
    struct memory_disk *self = context;
    const struct memory_call call = {.op = MEMORY_CLOSE, .file = file};

    (void)opened(self, file);
    self->handles[file - 1] = 0;
    done(self, &call);
    collect(self);
}

static enum status read_file(void *context, uint32_t file, uint64_t offset, void *into, size_t size)
{
    struct memory_disk *self = context;
    const struct memory_image *image = &opened(self, file)->seen;
    const struct memory_call call = {
        .op = MEMORY_READ, .file = file, .offset = offset, .size = size};

    if (begin(self, &call) != MEMORY_GOES_WELL) {
        return self->failure;
    }
    if (offset > image->size || size > image->size - offset) {
        return STATUS_MALFORMED;
    }
    if (size > 0) {
        memcpy(into, image->bytes + offset, size);
    }
    done(self, &call);
    return STATUS_OK;
}

static enum status write_file(void *context, uint32_t file, uint64_t offset, struct span bytes)
{
    struct memory_disk *self = context;
    struct memory_file *target = opened(self, file);
    const struct memory_call call = {
        .op = MEMORY_WRITE, .file = file, .offset = offset, .size = bytes.size, .bytes = bytes};
    enum memory_course course = begin(self, &call);
    uint64_t end = offset + bytes.size;

    if (course == MEMORY_FAILS) {
        return self->failure;
    }
    if (end > target->seen.size && end - target->seen.size > room_left(self)) {
        return STATUS_NO_SPACE;
    }
    if (course == MEMORY_FAILS_HALFWAY) {
        bytes.size = (size_t)random_below(&self->random, bytes.size + 1);
    }
    memory_file_write(target, offset, bytes);
    done(self, &call);
    return outcome(self, course);
}

static enum status sync_file(void *context, uint32_t file)
{
    struct memory_disk *self = context;
    struct memory_file *target = opened(self, file);
    const struct memory_call call = {.op = MEMORY_SYNC, .file = file};
    enum memory_course course = begin(self, &call);

    if (course == MEMORY_GOES_WELL) {
        memory_file_sync(target);
        done(self, &call);
    } else if (course == MEMORY_FAILS_HALFWAY) {
        self->diverged = self->diverged || target->npending > 0;
        memory_file_fail_sync(target, &self->random);
    }
    return outcome(self, course);
}

static enum status rename_file(void *context, const char *from, const char *to)
{
    struct memory_disk *self = context;
    const struct memory_call call = {.op = MEMORY_RENAME, .name = from, .to = to};
    enum memory_course course = begin(self, &call);
    uint32_t number = memory_folder_find(&self->folder, from);

    assert(name_is_valid(from) && name_is_valid(to) && strcmp(from, to) != 0);
    if (!has_effect(self, course)) {
        return self->failure;
    }
    if (number == 0) {
        return STATUS_NOT_FOUND;
    }
    memory_folder_edit(&self->folder, from, to, number);
    done(self, &call);
    return outcome(self, course);
}

static enum status remove_file(void *context, const char *name)
{
    struct memory_disk *self = context;
    const struct memory_call call = {.op = MEMORY_REMOVE, .name = name};
    enum memory_course course = begin(self, &call);
    uint32_t number = memory_folder_find(&self->folder, name);

    assert(name_is_valid(name));
    if (!has_effect(self, course)) {
        return self->failure;
    }
    if (number == 0) {
        return STATUS_NOT_FOUND;
    }
    memory_folder_edit(&self->folder, name, "", number);
    done(self, &call);
    return outcome(self, course);
}

static enum status sync_folder(void *context)
{
    struct memory_disk *self = context;
    const struct memory_call call = {.op = MEMORY_SYNC_FOLDER};
    enum memory_course course = begin(self, &call);

    if (course == MEMORY_GOES_WELL) {
        memory_folder_sync(&self->folder);
        collect(self);
        done(self, &call);
    } else if (course == MEMORY_FAILS_HALFWAY) {
        self->diverged = self->diverged || self->folder.npending > 0;
        memory_folder_fail_sync(&self->folder, &self->random);
    }
    return outcome(self, course);
}

static enum status room(void *context, uint64_t *bytes)
{
    struct memory_disk *self = context;
    const struct memory_call call = {.op = MEMORY_ROOM};

    if (begin(self, &call) != MEMORY_GOES_WELL) {
        return self->failure;
    }
    *bytes = room_left(self);
    return STATUS_OK;
}

/* ---- its life ---- */

void memory_disk_init(struct memory_disk *self)
{
    *self = (struct memory_disk){
        .seam = {.context = self,
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
                 .room = room},
        .size_bytes = UINT64_MAX,
        .left = MEMORY_DISK_NEVER,
        .failure = STATUS_IO,
    };
}

void memory_disk_fini(struct memory_disk *self)
{
    for (size_t i = 0; i < self->nfiles; i++) {
        memory_file_free(&self->files[i]);
    }
    free(self->files);
    memory_folder_fini(&self->folder);
}

struct memory_disk *memory_disk_create(void)
{
    struct memory_disk *self = plain_alloc(1, sizeof *self);

    memory_disk_init(self);
    return self;
}

void memory_disk_destroy(struct memory_disk **disk)
{
    if (*disk != NULL) {
        memory_disk_fini(*disk);
    }
    free(*disk);
    *disk = NULL;
}

struct disk *memory_disk_seam(struct memory_disk *self)
{
    return &self->seam;
}

/* ---- what happens to it ---- */

void memory_disk_kill(struct memory_disk *self)
{
    memset(self->handles, 0, sizeof self->handles);
    collect(self);
    memory_disk_fail_after(self, MEMORY_DISK_NEVER);
}

void memory_disk_crash(struct memory_disk *self, uint64_t *random)
{
    memory_folder_lose(&self->folder, random);
    for (size_t i = 0; i < self->nfiles; i++) {
        if (self->files[i] != NULL) {
            memory_file_lose(self->files[i], random);
        }
    }
    self->diverged = false;
    memory_disk_kill(self);
}

void memory_disk_lose_unsynced(struct memory_disk *self)
{
    for (size_t i = 0; i < self->nfiles; i++) {
        if (self->files[i] != NULL) {
            self->diverged = self->diverged || self->files[i]->npending > 0;
            memory_file_forget(self->files[i]);
        }
    }
}

void memory_disk_wipe(struct memory_disk *self)
{
    memory_folder_fini(&self->folder);
    collect(self);
    self->diverged = false;
}

void memory_disk_fail_after(struct memory_disk *self, int64_t count)
{
    self->left = count;
    self->once = false;
    self->failure = STATUS_IO;
}

void memory_disk_fail_once(struct memory_disk *self, int64_t count, enum status status)
{
    self->left = count;
    self->once = true;
    self->failure = status;
}

void memory_disk_limit(struct memory_disk *self, uint64_t room)
{
    self->size_bytes = room == UINT64_MAX ? room : used_bytes(self) + room;
}

void memory_disk_flip(struct memory_disk *self, const char *name, uint64_t bit)
{
    memory_file_flip(memory_disk_find(self, name), bit / 8, (unsigned)(bit % 8));
}

void memory_disk_put(struct memory_disk *self, const char *name, struct span bytes)
{
    struct memory_file *file = memory_file_create(bytes.size);

    memory_file_write(file, 0, bytes);
    memory_file_sync(file);
    memory_folder_put(&self->folder, name, add_file(self, file));
    collect(self);
}

struct memory_disk *memory_disk_copy(const struct memory_disk *self)
{
    struct memory_disk *copy = memory_disk_create();

    memory_disk_restore(copy, self);
    return copy;
}

void memory_disk_restore(struct memory_disk *self, const struct memory_disk *copy)
{
    memory_disk_wipe(self);
    for (size_t i = 0; i < copy->folder.seen.count; i++) {
        const struct memory_name_entry *entry = &copy->folder.seen.entries[i];

        memory_folder_put(&self->folder, entry->name,
                          add_file(self, memory_file_copy(memory_disk_file(copy, entry->file))));
    }
}

/* ---- looking at it ---- */

uint64_t memory_disk_operations(const struct memory_disk *self)
{
    return self->operations;
}

uint64_t memory_disk_syncs(const struct memory_disk *self)
{
    return self->syncs;
}

uint64_t memory_disk_reads(const struct memory_disk *self)
{
    return self->reads;
}

unsigned memory_disk_open_files(const struct memory_disk *self)
{
    unsigned count = 0;

    for (size_t i = 0; i < MEMORY_DISK_HANDLES; i++) {
        count += self->handles[i] != 0;
    }
    return count;
}

struct span memory_disk_bytes(const struct memory_disk *self, const char *name)
{
    const struct memory_file *file = memory_disk_find(self, name);

    return file == NULL ? span_of(NULL, 0) : span_of(file->seen.bytes, file->seen.size);
}
