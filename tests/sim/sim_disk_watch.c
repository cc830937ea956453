/* How the operations of a machine's disk go: time, faults, and what can be seen of them. */
#include "map/document.h"
#include "tests/sim/sim_disk.h"
#include "tests/support/random.h"

#include <assert.h>
#include <string.h>

enum { CALL_US = 3, BYTES_PER_US = 500 };

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* ---- time and the digest of all that happens ---- */

static void spend(struct sim_disk *self, uint64_t us)
{
    if (self->in_job) {
        self->spent_us += us;
        if (random_chance(&self->memory.random, self->pace.slow_permille)) {
            self->spent_us += random_below(&self->memory.random, self->pace.slow_us + 1);
        }
    }
}

static uint64_t due_us(const struct sim_disk *self)
{
    return *self->clock_us + (self->in_job ? self->spent_us : 0);
}

static uint64_t draw_sync_us(struct sim_disk *self)
{
    return self->pace.sync_us / 2 + random_below(&self->memory.random, self->pace.sync_us + 1);
}

static void digest(struct sim_disk *self, uint64_t what)
{
    self->digest = (self->digest ^ what) * UINT64_C(0x9e3779b97f4a7c15);
    self->digest ^= self->digest >> 29;
}

/* ---- before ---- */

static enum memory_course strike(struct sim_disk *self)
{
    enum sim_disk_fault fault = self->fault;

    if (self->crashed) {
        return MEMORY_FAILS;
    }
    if (fault == SIM_DISK_GOOD || self->operations != self->fault_at) {
        return MEMORY_GOES_WELL;
    }
    self->fault = SIM_DISK_GOOD;
    if (self->on_fault != NULL && fault != SIM_DISK_CUT &&
        !self->on_fault(self->fault_context, fault)) {
        return MEMORY_GOES_WELL;
    }
    self->crashed = fault != SIM_DISK_EIO;
    return MEMORY_FAILS_HALFWAY;
}

static enum memory_course before(void *context, const struct memory_call *call)
{
    struct sim_disk *self = context;
    const char *name = call->name;
    enum memory_course course;

    assert(self->attached);
    self->operations++;
    digest(self,
           (uint64_t)call->op << 56 ^ (name != NULL ? document_epoch_hash(span_text(name)) : 0));
    spend(self, CALL_US);
    course = strike(self);
    if (call->op == MEMORY_WRITE) {
        digest(self, document_epoch_hash(call->bytes) ^ call->offset);
    }
    if (call->op == MEMORY_WRITE || call->op == MEMORY_READ) {
        spend(self, call->size / BYTES_PER_US);
    }
    if (call->op == MEMORY_SYNC || call->op == MEMORY_SYNC_FOLDER) {
        spend(self, draw_sync_us(self));
        /* A crash in its midst leaves everything pending: a power loss decides what is kept. */
        course = course != MEMORY_GOES_WELL && self->crashed ? MEMORY_FAILS : course;
    }
    return course;
}

/* ---- done ---- */

static void is_opened(struct sim_disk *self, const struct memory_call *call)
{
    bool run = call->op == MEMORY_CREATE && begins(call->name, "run-");

    self->kinds[call->file - 1] = run ? 'r' : begins(call->name, "log-") ? 'l' : 0;
    self->merging += run;
}

static void is_closed(struct sim_disk *self, uint32_t file)
{
    self->rolling = self->rolling == file ? 0 : self->rolling;
    if (self->kinds[file - 1] == 'r') {
        self->merging--;
        self->merges_until_us = due_us(self);
    }
}

static void is_synced(struct sim_disk *self, uint32_t file)
{
    if (self->rolling == file) {
        self->rolling = 0;
        self->rolls_until_us = due_us(self);
    }
}

static void is_renamed(struct sim_disk *self, const char *to)
{
    uint32_t number = memory_folder_find(&self->memory.folder, to);

    self->set_aside += begins(to, "aside-") && memory_disk_file(&self->memory, number)->flipped;
    for (size_t i = 0; i < MEMORY_DISK_HANDLES; i++) {
        if (self->memory.handles[i] == number) {
            self->kinds[i] = begins(to, "log-") ? 'l' : 0;
        }
    }
}

static void done(void *context, const struct memory_call *call)
{
    struct sim_disk *self = context;

    if (call->op == MEMORY_CREATE || call->op == MEMORY_OPEN) {
        is_opened(self, call);
    } else if (call->op == MEMORY_CLOSE) {
        is_closed(self, call->file);
    } else if (call->op == MEMORY_WRITE) {
        bool header = call->offset == 0 && self->kinds[call->file - 1] == 'l';

        self->rolling = header ? call->file : self->rolling;
    } else if (call->op == MEMORY_SYNC) {
        is_synced(self, call->file);
    } else if (call->op == MEMORY_RENAME) {
        is_renamed(self, call->to);
    }
}

struct memory_watch sim_disk_watch(struct sim_disk *self)
{
    return (struct memory_watch){.context = self, .before = before, .done = done};
}
