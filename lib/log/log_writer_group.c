/* Group commit: what has gathered is sealed, written and synced by the commit lane. */
#include "log/log_writer_private.h"

#include <string.h>

enum { KEPT_BYTES = 4 << 20 };

void log_writer_break(struct log_writer *self, enum status status, const char *what)
{
    if (!self->broken) {
        self->broken = true;
        self->config.failed(self->config.context, status, what);
    }
}

/* ---- on the commit lane ---- */

static void seal(const struct log_group *self, const struct log_piece *piece)
{
    uint8_t *at = self->what.bytes.data + piece->start + (piece->begins ? SEGMENT_HEADER_BYTES : 0);
    uint8_t *end = self->what.bytes.data + piece->start + piece->size;

    while (at < end) {
        uint32_t size;

        memcpy(&size, at + 8, sizeof size);
        record_seal(at, self->writer->config.boot, self->durable);
        at += size;
    }
}

static enum status write_piece(struct log_group *self, const struct log_piece *piece)
{
    const struct log_writer_config *config = &self->writer->config;
    const struct disk *disk = config->disk;
    struct span bytes = span_of(self->what.bytes.data + piece->start, piece->size);
    enum status status = STATUS_OK;

    if (!piece->into->made) {
        self->failed = "making a log segment";
        status = log_file_make(piece->into, config, false);
    }
    if (status == STATUS_OK && piece->size > 0) {
        self->failed = "writing the log";
        seal(self, piece);
        status = disk->write(disk->context, piece->into->file, piece->place, bytes);
    }
    return status;
}

static enum status sync_piece(struct log_group *self, const struct log_piece *piece)
{
    const struct disk *disk = self->writer->config.disk;
    enum status status = STATUS_OK;

    if (piece->end > self->durable) {
        self->failed = "syncing the log";
        status = disk->sync(disk->context, piece->into->file);
        self->durable = status == STATUS_OK ? piece->end : self->durable;
    }
    return status;
}

/* A segment is durable to its end before another one says where that end is. */
static enum status commit(struct log_group *self)
{
    const struct disk *disk = self->writer->config.disk;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < self->what.npieces && status == STATUS_OK; i++) {
        struct log_piece *piece = &self->what.pieces[i];
        bool last = i + 1 == self->what.npieces;

        status = write_piece(self, piece);
        if (status == STATUS_OK && (!last || self->sync)) {
            status = sync_piece(self, piece);
        }
        if (status == STATUS_OK && !last) {
            disk->close(disk->context, piece->into->file);
            piece->into->made = false;
        }
    }
    return status;
}

static void run(struct job *job)
{
    struct log_group *self = (struct log_group *)job;

    self->status = commit(self);
    self->ran = true;
}

/* ---- with the actor ---- */

/* What a burst took is given back when it is over. */
static void forget_bytes(struct buffer *bytes)
{
    if (bytes->capacity > KEPT_BYTES && bytes->size < KEPT_BYTES / 4) {
        buffer_fini(bytes);
    } else {
        buffer_clear(bytes);
    }
}

static void take_over(struct log_writer *self)
{
    struct log_group *group = &self->group;

    group->busy = false;
    if (group->status == STATUS_OK && !self->broken) {
        self->written = group->what.pieces[group->what.npieces - 1].end;
        self->synced = group->durable;
    }
    group->what.npieces = 0;
    forget_bytes(&group->what.bytes);
}

static void done(struct job *job, uint64_t now_us)
{
    struct log_writer *self = ((struct log_group *)job)->writer;

    take_over(self);
    if (self->group.status != STATUS_OK) {
        log_writer_break(self, self->group.status, self->group.failed);
    } else if (!self->broken) {
        self->config.moved(self->config.context, now_us);
    }
}

static bool has_work(const struct log_writer *self)
{
    return self->end > self->written || self->synced < self->wanted;
}

/* The gathering becomes the group, and the group's memory the next gathering's. */
static void begin_group(struct log_writer *self)
{
    struct log_gathering gathered = self->gathering;

    self->gathering = self->group.what;
    self->group.what = gathered;
    if (self->group.what.npieces == 0) { /* A sync of what is written. */
        self->group.what.npieces = 1;
        self->group.what.pieces[0] = (struct log_piece){
            .into = self->present, .place = self->place, .offset = self->end, .end = self->end};
    }
    self->group.job = (struct job){.run = run, .done = done};
    self->group.durable = self->synced;
    self->group.sync = self->sync || self->synced < self->wanted;
    self->group.ran = false;
    self->group.busy = true;
}

void log_writer_turn(struct log_writer *self)
{
    if (self->broken) {
        return;
    }
    log_writer_make_ahead(self);
    if (!self->group.busy && has_work(self)) {
        begin_group(self);
        self->config.effects->submit(self->config.effects->context, JOB_COMMIT, &self->group.job);
    }
}

/* A group that a lane had when it was stopped either ran or never will. */
static enum status finish_group(struct log_writer *self)
{
    if (!self->group.ran) {
        run(&self->group.job);
    }
    take_over(self);
    self->broken = self->broken || self->group.status != STATUS_OK;
    return self->group.status;
}

enum status log_writer_finish(struct log_writer *self)
{
    enum status status = self->broken ? STATUS_IO : STATUS_OK;

    log_writer_want_sync(self);
    if (status == STATUS_OK && self->group.busy) {
        status = finish_group(self);
    }
    if (status == STATUS_OK && has_work(self)) {
        begin_group(self);
        status = finish_group(self);
    }
    if (status == STATUS_OK) {
        log_writer_discard_ahead(self);
    }
    return status;
}
