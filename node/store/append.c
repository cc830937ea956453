/* The log as all parts of the store write to it, and how far it is. */
#include "node/store/private.h"

void storage_fail(struct storage *self, enum status status, const char *what)
{
    self->failed = true;
    self->config.failed(self->config.context, status, what);
}

enum status storage_append_flagged(struct storage *self, enum record_type type, uint16_t flags,
                                   bool urgent, size_t body_size, uint8_t **body, uint64_t *end)
{
    enum status status = STATUS_NOT_READY;

    if (self->failed) {
        return STATUS_IO;
    }
    if (self->writer == NULL) {
        return STATUS_NOT_READY;
    }
    *body = log_writer_append(self->writer, type, flags, body_size, urgent, end, &status);
    if (self->failed) { /* By a checkpoint that came first. */
        return STATUS_IO;
    }
    return *body != NULL ? STATUS_OK : status;
}

enum status storage_append(struct storage *self, enum record_type type, bool urgent,
                           size_t body_size, uint8_t **body, uint64_t *end)
{
    return storage_append_flagged(self, type, 0, urgent, body_size, body, end);
}

void storage_turn(struct storage *self)
{
    if (self->writer != NULL && !self->failed) {
        log_writer_turn(self->writer);
    }
}

void storage_want_sync(struct storage *self)
{
    if (self->writer != NULL) {
        log_writer_want_sync(self->writer);
    }
}

void storage_set_sync(struct storage *self, bool sync)
{
    if (self->writer != NULL) {
        log_writer_set_sync(self->writer, sync);
    }
}

uint64_t storage_end(const struct storage *self)
{
    return self->writer != NULL ? log_writer_end(self->writer) : self->begin_first;
}

uint64_t storage_written(const struct storage *self)
{
    return self->writer != NULL ? log_writer_written(self->writer) : self->begin_first;
}

uint64_t storage_synced(const struct storage *self)
{
    return self->writer != NULL ? log_writer_synced(self->writer) : self->begin_first;
}
