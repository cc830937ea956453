#include "tests/support/memory_disk_private.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* ---- names ---- */

static struct name *find(struct folder *folder, const char *name)
{
    for (size_t i = 0; i < folder->count; i++) {
        if (strcmp(folder->names[i].text, name) == 0) {
            return &folder->names[i];
        }
    }
    return NULL;
}

static int lookup(struct folder *folder, const char *name)
{
    const struct name *found = find(folder, name);

    return found != NULL ? found->file : -1;
}

static void bind(struct folder *folder, const char *name, int file)
{
    struct name *found = find(folder, name);

    if (found == NULL && file >= 0) {
        assert(folder->count < MAX_FILES && strlen(name) < DISK_NAME_BYTES);
        found = &folder->names[folder->count++];
        (void)snprintf(found->text, sizeof found->text, "%s", name);
    }
    if (found != NULL && file >= 0) {
        found->file = file;
    } else if (found != NULL) {
        *found = folder->names[--folder->count];
    }
}

void memory_disk_apply(struct folder *folder, const struct folder_op *op)
{
    switch (op->kind) {
    case OP_CREATE:
        bind(folder, op->to, op->file);
        break;
    case OP_RENAME:
        if (lookup(folder, op->from) == op->file) {
            bind(folder, op->to, op->file);
            bind(folder, op->from, -1);
        }
        break;
    case OP_REMOVE:
        bind(folder, op->from, -1);
        break;
    }
}

static void change_folder(struct memory_disk *self, enum folder_op_kind kind, const char *from,
                          const char *to, int file)
{
    struct folder_op op = {.kind = kind, .file = file};

    (void)snprintf(op.from, sizeof op.from, "%s", from);
    (void)snprintf(op.to, sizeof op.to, "%s", to);
    assert(self->nops < MAX_FOLDER_OPS);
    self->ops[self->nops++] = op;
    memory_disk_apply(&self->now, &op);
}

/* ---- files ---- */

void memory_disk_forget_writes(struct file *file)
{
    while (file->writes != NULL) {
        struct write *write = file->writes;

        file->writes = write->next;
        free(write);
    }
    file->tail = &file->writes;
}

static void free_file(struct file *file)
{
    if (file != NULL) {
        memory_disk_forget_writes(file);
        free(file->bytes);
        free(file->synced);
        free(file);
    }
}

void memory_disk_resize(uint8_t **bytes, size_t *size, size_t wanted)
{
    *bytes = must(realloc(*bytes, wanted + 1));
    if (wanted > *size) {
        memset(*bytes + *size, 0, wanted - *size);
    }
    *size = wanted;
}

void memory_disk_put_bytes(uint8_t **bytes, size_t *size, uint64_t offset, const uint8_t *from,
                           size_t count)
{
    if (offset + count > *size) {
        memory_disk_resize(bytes, size, (size_t)(offset + count));
    }
    memcpy(*bytes + offset, from, count);
}

static int new_file(struct memory_disk *self, size_t size)
{
    struct file *file = must(calloc(1, sizeof *file));

    assert(self->nfiles < 4 * MAX_FILES);
    file->tail = &file->writes;
    memory_disk_resize(&file->bytes, &file->size, size);
    memory_disk_resize(&file->synced, &file->synced_size, 0);
    self->files[self->nfiles] = file;
    return self->nfiles++;
}

/* What the list has: what was lost is in neither. */
static void sync_bytes(struct file *file)
{
    memory_disk_resize(&file->synced, &file->synced_size, file->size);
    for (const struct write *write = file->writes; write != NULL; write = write->next) {
        if (!write->failed) {
            memory_disk_put_bytes(&file->synced, &file->synced_size, write->offset, write->bytes,
                                  write->size);
        }
    }
    memory_disk_forget_writes(file);
}

static bool is_named(struct memory_disk *self, int file)
{
    for (size_t i = 0; i < self->now.count; i++) {
        if (self->now.names[i].file == file) {
            return true;
        }
    }
    for (size_t i = 0; i < self->durable.count; i++) {
        if (self->durable.names[i].file == file) {
            return true;
        }
    }
    for (size_t i = 0; i < MAX_HANDLES; i++) {
        if (self->handles[i] == file) {
            return true;
        }
    }
    for (size_t i = 0; i < self->nops; i++) {
        if (self->ops[i].file == file) {
            return true;
        }
    }
    return false;
}

void memory_disk_collect(struct memory_disk *self)
{
    for (int i = 0; i < self->nfiles; i++) {
        if (self->files[i] != NULL && !is_named(self, i)) {
            free_file(self->files[i]);
            self->files[i] = NULL;
        }
    }
}

/* ---- the seam ---- */

/* Is this operation one that fails? */
static enum status next_operation(struct memory_disk *self)
{
    if (self->left == 0) {
        self->left = self->once ? MEMORY_DISK_NEVER : 0;
        return self->failure;
    }
    self->left -= self->left > 0;
    self->operations++;
    return STATUS_OK;
}

static enum status list(void *context, void (*visit)(void *argument, const char *name),
                        void *argument)
{
    const struct memory_disk *self = context;

    for (size_t i = self->now.count; i > 0; i--) {
        visit(argument, self->now.names[i - 1].text);
    }
    return STATUS_OK;
}

static enum status open_handle(struct memory_disk *self, int file, uint32_t *handle)
{
    for (uint32_t i = 0; i < MAX_HANDLES; i++) {
        if (self->handles[i] < 0) {
            self->handles[i] = file;
            *handle = i;
            return STATUS_OK;
        }
    }
    return STATUS_IO;
}

static struct file *of_handle(struct memory_disk *self, uint32_t handle)
{
    assert(handle < MAX_HANDLES && self->handles[handle] >= 0);
    return self->files[self->handles[handle]];
}

static enum status create(void *context, const char *name, uint64_t size, uint32_t *handle)
{
    struct memory_disk *self = context;
    enum status status = next_operation(self);
    int file;

    if (status != STATUS_OK) {
        return status;
    }
    if (lookup(&self->now, name) >= 0) {
        return STATUS_EXISTS;
    }
    if (size > self->room) {
        return STATUS_NO_SPACE;
    }
    self->room -= self->room == UINT64_MAX ? 0 : size;
    file = new_file(self, (size_t)size);
    change_folder(self, OP_CREATE, "", name, file);
    return open_handle(self, file, handle);
}

static enum status open_file(void *context, const char *name, uint32_t *handle, uint64_t *size)
{
    struct memory_disk *self = context;
    int file = lookup(&self->now, name);

    if (file < 0) {
        return STATUS_NOT_FOUND;
    }
    *size = self->files[file]->size;
    return open_handle(self, file, handle);
}

static void close_file(void *context, uint32_t handle)
{
    struct memory_disk *self = context;

    (void)of_handle(self, handle);
    self->handles[handle] = -1;
    memory_disk_collect(self);
}

static enum status read_file(void *context, uint32_t handle, uint64_t offset, void *into,
                             size_t size)
{
    struct memory_disk *self = context;
    const struct file *file = of_handle(self, handle);

    if (offset > file->size || size > file->size - offset) {
        return STATUS_MALFORMED;
    }
    memcpy(into, file->bytes + offset, size);
    self->reads += size;
    return STATUS_OK;
}

static enum status write_file(void *context, uint32_t handle, uint64_t offset, struct span bytes)
{
    struct memory_disk *self = context;
    struct file *file = of_handle(self, handle);
    enum status status = next_operation(self);
    struct write *write = must(malloc(sizeof *write + bytes.size));

    *write = (struct write){.offset = offset, .size = bytes.size, .failed = status != STATUS_OK};
    memcpy(write->bytes, bytes.data, bytes.size);
    *file->tail = write;
    file->tail = &write->next;
    if (status == STATUS_OK) {
        memory_disk_put_bytes(&file->bytes, &file->size, offset, bytes.data, bytes.size);
    }
    return status;
}

static enum status sync_file(void *context, uint32_t handle)
{
    struct memory_disk *self = context;
    struct file *file = of_handle(self, handle);
    enum status status = next_operation(self);

    if (status == STATUS_OK) {
        sync_bytes(file);
        self->syncs++;
    }
    return status;
}

static enum status rename_file(void *context, const char *from, const char *to)
{
    struct memory_disk *self = context;
    int file = lookup(&self->now, from);
    enum status status = next_operation(self);

    if (status == STATUS_OK && file < 0) {
        return STATUS_NOT_FOUND;
    }
    if (status == STATUS_OK) {
        change_folder(self, OP_RENAME, from, to, file);
    }
    return status;
}

static enum status remove_file(void *context, const char *name)
{
    struct memory_disk *self = context;
    int file = lookup(&self->now, name);
    enum status status = next_operation(self);

    if (status == STATUS_OK && file < 0) {
        return STATUS_NOT_FOUND;
    }
    if (status == STATUS_OK) {
        self->room += self->room == UINT64_MAX ? 0 : self->files[file]->size;
        change_folder(self, OP_REMOVE, name, "", file);
    }
    return status;
}

static enum status sync_folder(void *context)
{
    struct memory_disk *self = context;
    enum status status = next_operation(self);

    if (status == STATUS_OK) {
        self->durable = self->now;
        self->nops = 0;
        memory_disk_collect(self);
    }
    return status;
}

static enum status room_left(void *context, uint64_t *bytes)
{
    const struct memory_disk *self = context;

    *bytes = self->room;
    return STATUS_OK;
}

/* ---- tests ---- */

struct memory_disk *memory_disk_create(void)
{
    struct memory_disk *self = must(calloc(1, sizeof *self));

    self->seam = (struct disk){.context = self,
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
                               .room = room_left};
    self->room = UINT64_MAX;
    self->left = MEMORY_DISK_NEVER;
    self->failure = STATUS_IO;
    memset(self->handles, -1, sizeof self->handles);
    return self;
}

void memory_disk_destroy(struct memory_disk **disk)
{
    struct memory_disk *self = *disk;

    *disk = NULL;
    if (self != NULL) {
        for (int i = 0; i < self->nfiles; i++) {
            free_file(self->files[i]);
        }
        free(self);
    }
}

struct disk *memory_disk_seam(struct memory_disk *self)
{
    return &self->seam;
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
    self->room = room;
}

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

    for (size_t i = 0; i < MAX_HANDLES; i++) {
        count += self->handles[i] >= 0;
    }
    return count;
}

struct span memory_disk_bytes(struct memory_disk *self, const char *name)
{
    int file = lookup(&self->now, name);

    return file < 0 ? span_of(NULL, 0) : span_of(self->files[file]->bytes, self->files[file]->size);
}

void memory_disk_flip(struct memory_disk *self, const char *name, uint64_t bit)
{
    struct file *file = self->files[lookup(&self->now, name)];

    assert(bit / 8 < file->size);
    file->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    if (bit / 8 < file->synced_size) {
        file->synced[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

void memory_disk_put(struct memory_disk *self, const char *name, struct span bytes)
{
    int file = new_file(self, bytes.size);

    if (bytes.size > 0) {
        memcpy(self->files[file]->bytes, bytes.data, bytes.size);
    }
    memory_disk_put_bytes(&self->files[file]->synced, &self->files[file]->synced_size, 0,
                          self->files[file]->bytes, bytes.size);
    bind(&self->now, name, file);
    bind(&self->durable, name, file);
    memory_disk_collect(self);
}

struct memory_disk *memory_disk_copy(struct memory_disk *self)
{
    struct memory_disk *copy = memory_disk_create();

    for (size_t i = 0; i < self->now.count; i++) {
        if (self->now.names[i].file >= 0) {
            const char *name = self->now.names[i].text;

            memory_disk_put(copy, name, memory_disk_bytes(self, name));
        }
    }
    return copy;
}
