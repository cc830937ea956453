/* Reads as much as records take. */
#include "cli/backup/input.h"

#include "cli/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 20 };

enum status input_open(struct input *self, const char *path)
{
    enum status status;

    *self = (struct input){.path = path, .descriptor = -1, .reason = ""};
    status = backup_reader_init(&self->reader);
    if (status != STATUS_OK) {
        (void)cmd_fail(status, "%s", status_meaning(status));
        return status;
    }
    self->descriptor = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (self->descriptor < 0) {
        (void)cmd_fail(STATUS_IO, "%s: %s; name a backup made by `orbloom backup`", path,
                       strerror(errno));
        return STATUS_IO;
    }
    return STATUS_OK;
}

void input_close(struct input *self)
{
    if (self->descriptor > STDIN_FILENO) {
        (void)close(self->descriptor);
    }
    self->descriptor = -1;
    backup_reader_fini(&self->reader);
}

static ssize_t read_some(const struct input *self, uint8_t *room)
{
    struct pollfd ready = {.fd = self->descriptor, .events = POLLIN};
    ssize_t size;

    if (self->idle != NULL && poll(&ready, 1, 0) == 0) {
        self->idle(self->context);
    }
    do {
        size = read(self->descriptor, room, READ_BYTES);
    } while (size < 0 && errno == EINTR);
    return size;
}

/* More bytes; NOT_FOUND: there are none. */
static enum status fetch(struct input *self)
{
    uint8_t *room;
    ssize_t size;
    enum status status = backup_reader_room(&self->reader, READ_BYTES, &room);

    if (status != STATUS_OK) {
        self->reason = status_meaning(status);
        return status;
    }
    size = read_some(self, room);
    if (size < 0) {
        self->reason = strerror(errno);
        return STATUS_IO;
    }
    backup_reader_put(&self->reader, (size_t)size);
    self->bytes += (uint64_t)size;
    return size > 0 ? STATUS_OK : STATUS_NOT_FOUND;
}

enum status input_next(struct input *self, struct backup_record *out)
{
    enum status status;

    for (;;) {
        status = backup_reader_next(&self->reader, out);
        if (status != STATUS_NOT_FOUND) {
            break;
        }
        status = fetch(self);
        if (status == STATUS_NOT_FOUND) {
            status = backup_reader_close(&self->reader);
            status = status == STATUS_OK ? STATUS_NOT_FOUND : status;
            break;
        }
        if (status != STATUS_OK) {
            return status;
        }
    }
    self->reason = self->reader.reason;
    return status;
}

uint64_t input_told(const struct input *self)
{
    return self->bytes - (self->reader.bytes.size - self->reader.used);
}
