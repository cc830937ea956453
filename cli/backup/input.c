/* Reads as much as records take. */
#include "cli/backup/input.h"

#include "cli/cmd.h"

#include <errno.h>
#include <string.h>

enum { READ_BYTES = 1 << 20 };

enum status input_open(struct input *self, const char *path)
{
    enum status status;

    *self = (struct input){.path = path, .reason = ""};
    status = backup_reader_init(&self->reader);
    if (status != STATUS_OK) {
        (void)cmd_fail(status, "%s", status_meaning(status));
        return status;
    }
    self->file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    if (self->file == NULL) {
        (void)cmd_fail(STATUS_IO, "%s: %s; name a backup made by `orbloom backup`", path,
                       strerror(errno));
        return STATUS_IO;
    }
    return STATUS_OK;
}

void input_close(struct input *self)
{
    if (self->file != NULL && self->file != stdin) {
        (void)fclose(self->file);
    }
    self->file = NULL;
    backup_reader_fini(&self->reader);
}

/* More bytes; NOT_FOUND: there are none. */
static enum status fetch(struct input *self)
{
    uint8_t *room;
    size_t size;
    enum status status = backup_reader_room(&self->reader, READ_BYTES, &room);

    if (status != STATUS_OK) {
        self->reason = status_meaning(status);
        return status;
    }
    size = fread(room, 1, READ_BYTES, self->file);
    if (ferror(self->file) != 0) {
        self->reason = strerror(errno);
        return STATUS_IO;
    }
    backup_reader_put(&self->reader, size);
    self->bytes += size;
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
