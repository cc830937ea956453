/* Two lists of names, as seen and as durable, and the edits between them. */
#include "tests/support/memory_folder.h"

#include "tests/support/plain_memory.h"
#include "tests/support/random.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

static int position(const struct memory_names *self, const char *name)
{
    for (size_t i = 0; i < self->count; i++) {
        if (strcmp(self->entries[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void set(struct memory_names *self, const char *name, uint32_t file)
{
    int at = position(self, name);

    if (at < 0) {
        self->entries = plain_reserve(self->entries, &self->capacity, self->count + 1,
                                      sizeof *self->entries);
        at = (int)self->count++;
        (void)snprintf(self->entries[at].name, DISK_NAME_BYTES, "%s", name);
    }
    self->entries[at].file = file;
}

/* Unless the name leads elsewhere by now. */
static void unset(struct memory_names *self, const char *name, uint32_t file)
{
    int at = position(self, name);

    if (at >= 0 && self->entries[at].file == file) {
        self->entries[at] = self->entries[--self->count];
    }
}

static void apply(struct memory_names *self, const struct memory_edit *edit)
{
    if (edit->from[0] != '\0') {
        unset(self, edit->from, edit->file);
    }
    if (edit->to[0] != '\0') {
        set(self, edit->to, edit->file);
    }
}

static void copy(struct memory_names *to, const struct memory_names *from)
{
    to->entries = plain_reserve(to->entries, &to->capacity, from->count, sizeof *to->entries);
    to->count = from->count;
    if (from->count > 0) {
        memcpy(to->entries, from->entries, from->count * sizeof *to->entries);
    }
}

static bool holds(const struct memory_names *self, uint32_t file)
{
    bool found = false;

    for (size_t i = 0; i < self->count; i++) {
        found = found || self->entries[i].file == file;
    }
    return found;
}

/* ---- the folder ---- */

void memory_folder_fini(struct memory_folder *self)
{
    free(self->seen.entries);
    free(self->durable.entries);
    free(self->pending);
    *self = (struct memory_folder){0};
}

uint32_t memory_folder_find(const struct memory_folder *self, const char *name)
{
    int at = position(&self->seen, name);

    return at >= 0 ? self->seen.entries[at].file : 0;
}

bool memory_folder_refers(const struct memory_folder *self, uint32_t file)
{
    bool pending = false;

    for (size_t i = 0; i < self->npending; i++) {
        pending = pending || self->pending[i].file == file;
    }
    return pending || holds(&self->seen, file) || holds(&self->durable, file);
}

void memory_folder_edit(struct memory_folder *self, const char *from, const char *to, uint32_t file)
{
    struct memory_edit *edit;

    self->pending = plain_reserve(self->pending, &self->capacity, self->npending + 1,
                                  sizeof *self->pending);
    edit = &self->pending[self->npending++];
    *edit = (struct memory_edit){.file = file};
    (void)snprintf(edit->from, DISK_NAME_BYTES, "%s", from);
    (void)snprintf(edit->to, DISK_NAME_BYTES, "%s", to);
    apply(&self->seen, edit);
}

void memory_folder_sync(struct memory_folder *self)
{
    for (size_t i = 0; i < self->npending; i++) {
        apply(&self->durable, &self->pending[i]);
    }
    self->npending = 0;
}

/* Half of the time a prefix, else any subset. */
static void keep_some(struct memory_folder *self, uint64_t *random)
{
    size_t prefix = (size_t)random_below(random, self->npending + 1);
    bool journal = random_chance(random, 500);

    for (size_t i = 0; i < self->npending; i++) {
        if (journal ? i < prefix : random_chance(random, 500)) {
            apply(&self->durable, &self->pending[i]);
        }
    }
    self->npending = 0;
}

void memory_folder_fail_sync(struct memory_folder *self, uint64_t *random)
{
    keep_some(self, random);
}

void memory_folder_lose(struct memory_folder *self, uint64_t *random)
{
    memory_folder_fail_sync(self, random);
    copy(&self->seen, &self->durable);
}

void memory_folder_put(struct memory_folder *self, const char *name, uint32_t file)
{
    set(&self->seen, name, file);
    set(&self->durable, name, file);
}
