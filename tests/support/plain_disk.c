#include "tests/support/plain_disk.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fails(struct plain_disk *self)
{
    if (self->fail_after == PLAIN_DISK_NEVER) {
        return false;
    }
    return self->fail_after-- == 0;
}

struct plain_file *plain_disk_find(struct plain_disk *self, const char *name)
{
    for (size_t i = 0; i < PLAIN_DISK_FILES; i++) {
        if (strcmp(self->files[i].name, name) == 0) {
            return &self->files[i];
        }
    }
    return NULL;
}

void plain_disk_resize(struct plain_file *file, uint64_t size)
{
    uint8_t *bytes = realloc(file->bytes, size + 1);

    assert(bytes != NULL);
    if (size > file->size) {
        memset(bytes + file->size, 0, size - file->size);
    }
    file->bytes = bytes;
    file->size = size;
}

static enum status grow(struct plain_disk *self, struct plain_file *file, uint64_t size)
{
    if (size - file->size > self->room) {
        return STATUS_NO_SPACE;
    }
    self->room -= size - file->size;
    plain_disk_resize(file, size);
    return STATUS_OK;
}

static enum status list(void *context, void (*visit)(void *argument, const char *name),
                        void *argument)
{
    struct plain_disk *self = context;

    for (size_t i = 0; i < PLAIN_DISK_FILES; i++) {
        if (self->files[i].name[0] != '\0') {
            visit(argument, self->files[i].name);
        }
    }
    return STATUS_OK;
}

static enum status create(void *context, const char *name, uint64_t size, uint32_t *file)
{
    struct plain_disk *self = context;
    struct plain_file *made = plain_disk_find(self, "");

    if (fails(self)) {
        return self->fail_status;
    }
    if (plain_disk_find(self, name) != NULL) {
        return STATUS_EXISTS;
    }
    if (made == NULL || grow(self, made, size) != STATUS_OK) {
        return STATUS_NO_SPACE;
    }
    (void)snprintf(made->name, sizeof made->name, "%s", name);
    made->opened = 1;
    self->unsynced_names++;
    *file = (uint32_t)(made - self->files);
    return STATUS_OK;
}

static enum status open_file(void *context, const char *name, uint32_t *file, uint64_t *size)
{
    struct plain_disk *self = context;
    struct plain_file *found = plain_disk_find(self, name);

    if (fails(self)) {
        return self->fail_status;
    }
    if (found == NULL) {
        return STATUS_NOT_FOUND;
    }
    found->opened++;
    *file = (uint32_t)(found - self->files);
    *size = found->size;
    return STATUS_OK;
}

static void close_file(void *context, uint32_t file)
{
    struct plain_disk *self = context;

    assert(self->files[file].opened > 0);
    self->files[file].opened--;
}

static enum status read_file(void *context, uint32_t file, uint64_t offset, void *into, size_t size)
{
    struct plain_disk *self = context;
    const struct plain_file *from = &self->files[file];

    assert(from->opened > 0);
    if (fails(self)) {
        return self->fail_status;
    }
    if (offset > from->size || size > from->size - offset) {
        return STATUS_MALFORMED;
    }
    memcpy(into, from->bytes + offset, size);
    return STATUS_OK;
}

static enum status write_file(void *context, uint32_t file, uint64_t offset, struct span bytes)
{
    struct plain_disk *self = context;
    struct plain_file *to = &self->files[file];
    uint64_t end = offset + bytes.size;

    assert(to->opened > 0);
    if (fails(self)) {
        return self->fail_status;
    }
    if (end > to->size && grow(self, to, end) != STATUS_OK) {
        return STATUS_NO_SPACE;
    }
    memcpy(to->bytes + offset, bytes.data, bytes.size);
    to->unsynced++;
    return STATUS_OK;
}

static enum status sync_file(void *context, uint32_t file)
{
    struct plain_disk *self = context;

    if (fails(self)) {
        return self->fail_status;
    }
    self->files[file].unsynced = 0;
    return STATUS_OK;
}

static void forget(struct plain_disk *self, struct plain_file *file)
{
    assert(file->opened == 0);
    self->room += file->size;
    free(file->bytes);
    *file = (struct plain_file){0};
}

static enum status remove_file(void *context, const char *name)
{
    struct plain_disk *self = context;
    struct plain_file *file = plain_disk_find(self, name);

    if (fails(self)) {
        return self->fail_status;
    }
    if (file == NULL) {
        return STATUS_NOT_FOUND;
    }
    forget(self, file);
    self->unsynced_names++;
    return STATUS_OK;
}

static enum status rename_file(void *context, const char *from, const char *to)
{
    struct plain_disk *self = context;
    struct plain_file *file = plain_disk_find(self, from);
    struct plain_file *replaced = plain_disk_find(self, to);

    if (fails(self)) {
        return self->fail_status;
    }
    if (file == NULL) {
        return STATUS_NOT_FOUND;
    }
    if (replaced != NULL && replaced != file) {
        forget(self, replaced);
    }
    (void)snprintf(file->name, sizeof file->name, "%s", to);
    self->unsynced_names++;
    return STATUS_OK;
}

static enum status sync_folder(void *context)
{
    struct plain_disk *self = context;

    if (fails(self)) {
        return self->fail_status;
    }
    self->unsynced_names = 0;
    return STATUS_OK;
}

static enum status room(void *context, uint64_t *bytes)
{
    *bytes = ((struct plain_disk *)context)->room;
    return STATUS_OK;
}

void plain_disk_init(struct plain_disk *self)
{
    *self = (struct plain_disk){.room = UINT64_C(1) << 40, .fail_after = PLAIN_DISK_NEVER};
    self->disk = (struct disk){
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

void plain_disk_fini(struct plain_disk *self)
{
    for (size_t i = 0; i < PLAIN_DISK_FILES; i++) {
        free(self->files[i].bytes);
    }
}

size_t plain_disk_nfiles(const struct plain_disk *self)
{
    size_t count = 0;

    for (size_t i = 0; i < PLAIN_DISK_FILES; i++) {
        count += self->files[i].name[0] != '\0';
    }
    return count;
}

size_t plain_disk_nopen(const struct plain_disk *self)
{
    size_t count = 0;

    for (size_t i = 0; i < PLAIN_DISK_FILES; i++) {
        count += self->files[i].opened;
    }
    return count;
}
