/* Lines gather in one buffer while those of the other one are being written. */
#include "base/telemetry/audit_log.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { BURST_US = 1000000 };

/* ---- writing ---- */

/* On the lane's thread. */
static void run(struct job *job)
{
    struct audit_log *self = (struct audit_log *)job;

    while (self->written < self->writing.size) {
        const uint8_t *line = self->writing.data + self->written;
        const uint8_t *end = memchr(line, '\n', self->writing.size - self->written);
        size_t size;

        assert(end != NULL);
        size = (size_t)(end - line) + 1;
        self->failed += self->sink->write(self->sink->context, span_of(line, size)) != STATUS_OK;
        self->written += size;
    }
}

static void end_writing(struct audit_log *self)
{
    *self->lost += self->failed;
    self->failed = 0;
    self->written = 0;
    self->under_way = false;
    buffer_clear(&self->writing);
}

static void swap_buffers(struct audit_log *self)
{
    struct buffer filled = self->waiting;

    self->waiting = self->writing;
    self->writing = filled;
}

static void done(struct job *job, uint64_t now_us);

static void write_waiting(struct audit_log *self)
{
    if (self->under_way || self->waiting.size == 0) {
        return;
    }
    swap_buffers(self);
    self->under_way = true;
    self->job = (struct job){.run = run, .done = done};
    if (self->effects.submit != NULL) {
        self->effects.submit(self->effects.context, JOB_BACKGROUND, &self->job);
    } else {
        run(&self->job);
        end_writing(self);
    }
}

static void done(struct job *job, uint64_t now_us)
{
    struct audit_log *self = (struct audit_log *)job;

    (void)now_us;
    end_writing(self);
    write_waiting(self);
}

static bool append(struct buffer *to, const char *head, struct span members)
{
    static const char end[] = "}\n";
    size_t size = strlen(head);
    uint8_t *at;

    if (buffer_extend(to, size + members.size + strlen(end), &at) != STATUS_OK) {
        return false;
    }
    memcpy(at, head, size);
    memcpy(at + size, members.data, members.size);
    memcpy(at + size + members.size, end, strlen(end));
    return true;
}

void audit_log_lose(struct audit_log *self, uint64_t now_us)
{
    ++*self->lost;
    log_limited(&self->limit, now_us, LOG_ERROR,
                "a line of audit_log is lost: %zu KiB of others wait to be written, or memory "
                "does not suffice",
                self->waiting.size >> 10);
}

void audit_log_write(struct audit_log *self, uint64_t now_us, struct span members)
{
    uint64_t date_ms = self->effects.date_ms != NULL ? self->effects.date_ms(self->effects.context)
                                                     : 0;
    char head[LOG_DATE_BYTES + 16];
    char date[LOG_DATE_BYTES];

    assert(self->sink != NULL && members.size > 0);
    (void)snprintf(head, sizeof head, "{\"time\":\"%s\"", log_date(date_ms, date));
    if (!append(&self->waiting, head, members)) {
        audit_log_lose(self, now_us);
    }
    write_waiting(self);
}

bool audit_limit_take(struct audit_limit *self, uint64_t now_us)
{
    if (token_bucket_ready_us(&self->bucket, now_us) > now_us + BURST_US) {
        self->left_out++;
        return false;
    }
    token_bucket_take(&self->bucket, now_us, 1, AUDIT_REFUSALS);
    return true;
}

/* ---- JSON ---- */

enum status audit_quote(struct buffer *out, struct span text)
{
    enum status status = buffer_append(out, span_text("\""));

    for (size_t i = 0; i < text.size && status == STATUS_OK; i++) {
        uint8_t byte = text.data[i];
        char shown[8];
        bool plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';

        (void)snprintf(shown, sizeof shown, plain ? "%c" : "\\u%04x", byte);
        status = buffer_append(out, span_text(shown));
    }
    return status == STATUS_OK ? buffer_append(out, span_text("\"")) : status;
}

/* ---- its life ---- */

void audit_log_init(struct audit_log *self, const struct audit_sink *sink,
                    const struct effects *effects, uint64_t *lost)
{
    *self = (struct audit_log){.sink = sink, .effects = *effects, .lost = lost};
    buffer_init(&self->waiting, AUDIT_WAITING_BYTES);
    buffer_init(&self->writing, AUDIT_WAITING_BYTES);
}

void audit_log_leave_lanes(struct audit_log *self)
{
    self->effects.submit = NULL;
    if (self->under_way) { /* Where its job has run, nothing is left of it. */
        run(&self->job);
        end_writing(self);
    }
    write_waiting(self);
}

void audit_log_fini(struct audit_log *self)
{
    buffer_fini(&self->waiting);
    buffer_fini(&self->writing);
}
