/* What the actor calls: appending, and what it may know. */
#include "base/heap.h"
#include "log/log_writer_private.h"

#include <assert.h>
#include <string.h>

enum { LEAST_SEGMENT_BYTES = 64 << 10 };

enum status log_writer_create(const struct log_writer_config *config, struct log_writer **out)
{
    struct log_writer *self = heap_zalloc(1, sizeof *self);

    assert(*out == NULL);
    assert(config->segment_bytes >= LEAST_SEGMENT_BYTES && config->first % 8 == 0);
    assert(config->bare <= config->first && config->kept <= LOG_MAX_KEPT);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->config = *config;
    self->group.writer = self;
    self->making.writer = self;
    self->end = config->first;
    self->written = config->first;
    self->synced = config->first;
    self->wanted = config->first;
    self->adds_end = config->first - config->bare;
    self->sync = config->sync;
    self->fresh = SEGMENT_HEADER_BYTES;
    buffer_init(&self->gathering.bytes, LOG_GATHER_MAX_BYTES);
    buffer_init(&self->group.what.bytes, LOG_GATHER_MAX_BYTES);
    *out = self;
    return STATUS_OK;
}

void log_writer_destroy(struct log_writer **writer)
{
    struct log_writer *self = *writer;

    *writer = NULL;
    if (self == NULL) {
        return;
    }
    for (size_t i = 0; i < LOG_FILES; i++) {
        if (self->files[i].made) {
            self->config.disk->close(self->config.disk->context, self->files[i].file);
        }
    }
    buffer_fini(&self->gathering.bytes);
    buffer_fini(&self->group.what.bytes);
    heap_free(self);
}

/* ---- where a record goes ---- */

static uint64_t reserve(const struct log_writer *self)
{
    uint64_t part = self->config.segment_bytes / LOG_RESERVE_PART;

    return part < LOG_RESERVE_MAX_BYTES ? part : LOG_RESERVE_MAX_BYTES;
}

/* Does it fit behind `place`? */
static bool fits(const struct log_writer *self, uint64_t place, size_t size, bool urgent)
{
    uint64_t kept = urgent ? 0 : reserve(self);

    return place + size + kept <= self->config.segment_bytes;
}

/* Are so many files ready? */
static enum status have_ahead(const struct log_writer *self, uint32_t files)
{
    if (self->ahead >= files) {
        return STATUS_OK;
    }
    return self->no_room ? STATUS_NO_SPACE : STATUS_OVERLOADED;
}

/* May a segment begin? */
static enum status next_status(const struct log_writer *self, bool urgent)
{
    enum status status = have_ahead(self, urgent ? 1 : 1 + self->config.kept);

    return status == STATUS_OK && self->gathering.npieces == LOG_PIECES ? STATUS_OVERLOADED
                                                                        : status;
}

/* Into the present segment, or, with *begin, into the next. What would not fit behind the present
 * one's checkpoint will not fit behind another one, so it must not use segments up. */
static enum status admit(const struct log_writer *self, size_t size, bool urgent, bool *begin)
{
    *begin = false;
    urgent = urgent || self->checkpointing; /* Whatever is in it: it must be whole. */
    if (self->broken) {
        return STATUS_IO;
    }
    if (size > RECORD_MAX_BYTES || !fits(self, self->fresh, size, urgent)) {
        return STATUS_TOO_LARGE;
    }
    if (!urgent && self->gathering.bytes.size >= LOG_GATHER_BYTES) {
        return STATUS_OVERLOADED;
    }
    if (self->present == NULL) {
        *begin = true; /* The first group makes it. */
        return STATUS_OK;
    }
    if (fits(self, self->place, size, urgent)) {
        return urgent ? STATUS_OK : have_ahead(self, self->config.kept);
    }
    if (self->checkpointing) {
        return STATUS_NO_SPACE; /* The checkpoint is larger than a segment. */
    }
    *begin = true;
    return next_status(self, urgent);
}

enum status log_writer_room(const struct log_writer *self, size_t body_size)
{
    bool begin;

    return admit(self, record_size(body_size), false, &begin);
}

/* ---- appending ---- */

static void begin_piece(struct log_writer *self, uint64_t place, bool begins)
{
    struct log_gathering *gathering = &self->gathering;

    gathering->pieces[gathering->npieces++] = (struct log_piece){
        .into = self->present,
        .place = place,
        .start = gathering->bytes.size,
        .offset = self->end,
        .end = self->end,
        .begins = begins,
    };
}

/* The last piece, which belongs to the present segment. */
static struct log_piece *present_piece(struct log_writer *self)
{
    if (self->gathering.npieces == 0) {
        begin_piece(self, self->place, false);
    }
    return &self->gathering.pieces[self->gathering.npieces - 1];
}

static void put_header(const struct log_writer *self, uint8_t *at)
{
    const struct segment_header header = {.cluster = self->config.cluster,
                                          .number = self->present->number,
                                          .first = self->end,
                                          .boot = self->config.boot,
                                          .incarnation = self->config.incarnation,
                                          .bare = log_writer_bare(self)};

    segment_header_put(at, &header);
}

/* Go to the next segment and write a checkpoint there. */
static enum status begin_segment(struct log_writer *self)
{
    uint64_t number = self->present != NULL ? self->present->number + 1 : self->config.number;
    uint8_t *at = NULL;
    enum status status;

    assert(self->present == NULL || self->ahead > 0);
    if (self->present != NULL) {
        (void)present_piece(self); /* It is to be finished, if only by a sync. */
    }
    status = buffer_extend(&self->gathering.bytes, SEGMENT_HEADER_BYTES, &at);
    if (status != STATUS_OK) {
        return STATUS_NOMEM;
    }
    self->ahead -= self->present != NULL;
    self->present = log_writer_file(self, number);
    self->gathering.bytes.size -= SEGMENT_HEADER_BYTES;
    begin_piece(self, 0, true);
    self->gathering.bytes.size += SEGMENT_HEADER_BYTES;
    put_header(self, at);
    present_piece(self)->size = SEGMENT_HEADER_BYTES;
    self->place = SEGMENT_HEADER_BYTES;
    self->fresh = SEGMENT_HEADER_BYTES;
    if (self->config.checkpoint != NULL) {
        self->checkpointing = true;
        self->config.checkpoint(self->config.context);
        self->checkpointing = false;
        self->fresh = self->place;
    }
    return STATUS_OK;
}

static uint8_t *put_record(struct log_writer *self, struct record_header header)
{
    struct log_piece *piece = present_piece(self);
    uint8_t *at = NULL;

    if (buffer_extend(&self->gathering.bytes, header.size, &at) != STATUS_OK) {
        return NULL;
    }
    memset(at + header.size - 8, 0, 8); /* The padding is in there. */
    header.offset = self->end;
    record_begin(at, &header);
    self->end += header.size;
    self->place += header.size;
    piece->size += header.size;
    piece->end = self->end;
    return at + RECORD_HEADER_BYTES;
}

uint8_t *log_writer_append(struct log_writer *self, enum record_type type, uint16_t flags,
                           size_t body_size, bool urgent, uint64_t *end, enum status *status)
{
    size_t size = record_size(body_size);
    uint8_t *body;
    bool begin;

    *status = admit(self, size, urgent, &begin);
    if (*status == STATUS_OK && begin) {
        *status = begin_segment(self);
        if (*status == STATUS_OK && !fits(self, self->place, size, urgent)) {
            *status = STATUS_TOO_LARGE;
        }
    }
    if (*status != STATUS_OK) {
        return NULL;
    }
    body = put_record(self, (struct record_header){
                                .size = (uint32_t)size, .type = (uint16_t)type, .flags = flags});
    if (body == NULL) {
        *status = STATUS_NOMEM;
        return NULL;
    }
    if (!record_is_state((uint16_t)type)) {
        self->adds_end = self->end;
    }
    *end = self->end;
    return body;
}

/* ---- what is known ---- */

void log_writer_want_sync(struct log_writer *self)
{
    self->wanted = self->end;
}

void log_writer_set_sync(struct log_writer *self, bool sync)
{
    self->sync = sync;
    if (sync) {
        log_writer_want_sync(self);
    }
}

void log_writer_set_incarnation(struct log_writer *self, uint64_t incarnation)
{
    self->config.incarnation = incarnation;
}

uint64_t log_writer_end(const struct log_writer *self)
{
    return self->end;
}

uint64_t log_writer_bare(const struct log_writer *self)
{
    return self->end - self->adds_end;
}

uint64_t log_writer_written(const struct log_writer *self)
{
    return self->written;
}

uint64_t log_writer_synced(const struct log_writer *self)
{
    return self->synced;
}

uint64_t log_writer_segment(const struct log_writer *self)
{
    return self->present != NULL ? self->present->number : self->config.number;
}

bool log_writer_idle(const struct log_writer *self)
{
    return self->synced == self->end && !self->group.busy;
}
