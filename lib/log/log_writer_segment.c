/* Segments' files: the first is made by the first group, the others ahead. */
#include "log/log_writer_private.h"
#include "log/segment_file.h"

#include <assert.h>

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

struct log_file *log_writer_file(struct log_writer *self, uint64_t number)
{
    struct log_file *file = &self->files[number % LOG_FILES];

    assert(!file->made || file->number == number);
    file->number = number;
    return file;
}

enum status log_file_make(struct log_file *self, const struct log_writer_config *config, bool spare)
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

static void run(struct job *job)
{
    struct log_making *self = (struct log_making *)job;

    self->status = make(self);
    self->ran = true;
}

static void done(struct job *job, uint64_t now_us)
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

void log_writer_make_ahead(struct log_writer *self)
{
    if (self->making.busy || !is_time(self) || !may_try(self)) {
        return;
    }
    self->making.job = (struct job){.run = run, .done = done};
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

void log_writer_discard_ahead(struct log_writer *self)
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
