/* Appending to the log, from the segments' files up to what the actor calls. */
#include "base/heap.h"
#include "log/log_writer_private.h"
#include "log/segment_file.h"

#include <assert.h>
#include <string.h>

static void log_writer_break(struct log_writer *self, enum status status, const char *what)
{
    if (!self->broken) {
        self->broken = true;
        self->config.failed(self->config.context, status, what);
    }
}

/* Those kept for what is urgent at once; the one besides some groups before the present segment is
 * full, and before the longest record does not fit. None before the first one has got its room. */
static bool is_time(const struct log_writer *self)
{
    uint64_t size = self->config.segment_bytes;
    uint64_t kept = RECORD_MAX_BYTES + LOG_RESERVE_MAX_BYTES;

    if (self->written == self->config.first || self->ahead > self->config.kept) {
        return false;
    }
    return self->ahead < self->config.kept || self->place >= size / 2 || self->place + kept >= size;
}

static struct log_file *log_writer_file(struct log_writer *self, uint64_t number)
{
    struct log_file *file = &self->files[number % LOG_FILES];

    assert(!file->made || file->number == number);
    file->number = number;
    return file;
}

/* Create it; on a lane. */
static enum status log_file_make(struct log_file *self, const struct log_writer_config *config,
                                 bool spare)
{
    uint32_t file;
    enum status status = segment_file_make(config->disk, self->number, config->segment_bytes, spare,
                                           &file);

    if (status == STATUS_OK) {
        self->file = file;
        self->made = true;
    }
    return status;
}

/* Asking for the room first is cheaper than having a file refused. */
static enum status make(struct log_making *self)
{
    const struct log_writer_config *config = &self->writer->config;
    uint64_t room = config->segment_bytes;
    enum status status = self->spare ? STATUS_OK : config->disk->room(config->disk->context, &room);

    if (status != STATUS_OK) {
        return status;
    }
    return room < config->segment_bytes ? STATUS_NO_SPACE
                                        : log_file_make(self->into, config, self->spare);
}

static void make_job(struct job *job)
{
    struct log_making *self = (struct log_making *)job;

    self->status = make(self);
    self->ran = true;
}

static void done_making(struct job *job, uint64_t now_us)
{
    struct log_writer *self = ((struct log_making *)job)->writer;
    enum status status = self->making.status;

    (void)now_us;
    self->making.busy = false;
    self->no_room = status != STATUS_OK;
    if (status == STATUS_OK) {
        self->ahead++;
        self->patience = 0;
        return;
    }
    self->waited = 0;
    self->patience = self->patience * 2 + 1;
    self->patience = self->patience < LOG_MAX_PATIENCE ? self->patience : LOG_MAX_PATIENCE;
    if (status != STATUS_NO_SPACE && status != STATUS_NOMEM) {
        log_writer_break(self, status, "making a log segment");
    }
}

/* Without a clock, turns are counted: they come when somebody wants something. A spare is room. */
static bool may_try(struct log_writer *self)
{
    if (self->no_room && !self->spare && self->waited < self->patience) {
        self->waited++;
        return false;
    }
    return true;
}

/* Have the next file made if it is time. */
static void log_writer_make_ahead(struct log_writer *self)
{
    if (self->making.busy || !is_time(self) || !may_try(self)) {
        return;
    }
    self->making.job = (struct job){.run = make_job, .done = done_making};
    self->making.into = log_writer_file(self, self->present->number + self->ahead + 1);
    self->making.spare = self->spare;
    self->making.busy = true;
    self->making.ran = false;
    self->spare = false;
    self->config.effects->submit(self->config.effects->context, JOB_BACKGROUND, &self->making.job);
}

void log_writer_give_spare(struct log_writer *self)
{
    self->spare = true;
}

bool log_writer_take_spare(struct log_writer *self)
{
    bool spare = self->spare;

    self->spare = false;
    return spare;
}

bool log_writer_has_spare(const struct log_writer *self)
{
    return self->spare;
}

uint32_t log_writer_ahead(const struct log_writer *self)
{
    return self->ahead + self->spare;
}

static void discard(struct log_writer *self, struct log_file *file)
{
    const struct disk *disk = self->config.disk;
    char name[DISK_NAME_BYTES];

    if (!file->made) {
        return;
    }
    disk->close(disk->context, file->file);
    file->made = false;
    segment_name(file->number, name);
    (void)disk->remove(disk->context, name); /* If it stays, it does no harm. */
}

/* The lanes are stopped: what was made and isn't needed goes. */
static void log_writer_discard_ahead(struct log_writer *self)
{
    const struct disk *disk = self->config.disk;

    if (log_writer_take_spare(self)) {
        (void)disk->remove(disk->context, SEGMENT_SPARE);
    }
    if (self->making.busy && self->making.ran) {
        discard(self, self->making.into);
    }
    while (self->ahead > 0) {
        discard(self, log_writer_file(self, self->present->number + self->ahead--));
    }
}

/* Group commit: what has gathered is sealed, written and synced by the commit lane. */

enum { KEPT_BYTES = 4 << 20 };

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

static void commit_job(struct job *job)
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

    assert(group->busy && group->ran && group->what.npieces > 0);
    group->busy = false;
    if (group->status == STATUS_OK && !self->broken) {
        self->written = group->what.pieces[group->what.npieces - 1].end;
        self->synced = group->durable;
    }
    /* Durable is a part of written, written of appended: answers go out by these three. */
    assert(self->synced <= self->written && self->written <= self->end);
    group->what.npieces = 0;
    forget_bytes(&group->what.bytes);
}

static void done_group(struct job *job, uint64_t now_us)
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

    assert(!self->group.busy && self->group.what.npieces == 0);
    self->gathering = self->group.what;
    self->group.what = gathered;
    if (self->group.what.npieces == 0) { /* A sync of what is written. */
        self->group.what.npieces = 1;
        self->group.what.pieces[0] = (struct log_piece){
            .into = self->present, .place = self->place, .offset = self->end, .end = self->end};
    }
    self->group.job = (struct job){.run = commit_job, .done = done_group};
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
        commit_job(&self->group.job);
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

/* What the actor calls: appending, and what it may know. */

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

    assert(gathering->npieces < LOG_PIECES);
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
    assert(piece->into == self->present && self->place <= self->config.segment_bytes);
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
