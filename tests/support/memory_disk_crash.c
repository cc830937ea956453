#include "tests/support/memory_disk_private.h"
#include "tests/support/random.h"

#include <stdlib.h>
#include <string.h>

static void forget_failed(struct file *file)
{
    struct write **at = &file->writes;

    while (*at != NULL) {
        struct write *write = *at;

        if (write->failed) {
            *at = write->next;
            free(write);
        } else {
            at = &write->next;
        }
    }
    file->tail = at;
}

void memory_disk_kill(struct memory_disk *self)
{
    for (int i = 0; i < self->nfiles; i++) {
        if (self->files[i] != NULL) {
            forget_failed(self->files[i]);
        }
    }
    memset(self->handles, -1, sizeof self->handles);
    memory_disk_collect(self);
    memory_disk_fail_after(self, MEMORY_DISK_NEVER);
}

/* Any of its sectors, at most as often as `parts` of 8. */
static void keep_some(struct file *file, const struct write *write, uint64_t parts,
                      uint64_t *random)
{
    uint64_t at = write->offset;
    uint64_t end = write->offset + write->size;

    while (at < end) {
        uint64_t next = (at / MEMORY_DISK_SECTOR_BYTES + 1) * MEMORY_DISK_SECTOR_BYTES;

        next = next < end ? next : end;
        if (random_below(random, 8) < parts) {
            memory_disk_put_bytes(&file->synced, &file->synced_size, at,
                                  write->bytes + (at - write->offset), (size_t)(next - at));
        }
        at = next;
    }
}

static void crash_file(struct file *file, uint64_t parts, uint64_t *random)
{
    if (random_below(random, 4) > 0 && file->size > file->synced_size) {
        memory_disk_resize(&file->synced, &file->synced_size,
                           file->size); /* Only its length was kept. */
    }
    for (const struct write *write = file->writes; write != NULL; write = write->next) {
        keep_some(file, write, parts, random);
    }
    memory_disk_forget_writes(file);
    memory_disk_resize(&file->bytes, &file->size, file->synced_size);
    memcpy(file->bytes, file->synced, file->size);
}

void memory_disk_crash(struct memory_disk *self, uint64_t *random)
{
    static const uint64_t parts[] = {0, 1, 4, 4, 7, 8};
    size_t chosen = (size_t)random_below(random, sizeof parts / sizeof parts[0]);

    for (size_t i = 0; i < self->nops; i++) {
        if (random_below(random, 2) == 0) {
            memory_disk_apply(&self->durable, &self->ops[i]);
        }
    }
    self->nops = 0;
    self->now = self->durable;
    for (int i = 0; i < self->nfiles; i++) {
        if (self->files[i] != NULL) {
            crash_file(self->files[i], parts[chosen], random);
        }
    }
    memory_disk_kill(self);
}

void memory_disk_lose_unsynced(struct memory_disk *self)
{
    for (int i = 0; i < self->nfiles; i++) {
        if (self->files[i] != NULL) {
            memory_disk_forget_writes(self->files[i]);
        }
    }
}
