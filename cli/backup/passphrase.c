/* The file is judged as any other secret is. */
#include "cli/backup/passphrase.h"

#include "cli/cmd.h"
#include "cli/secret_file.h"

#include <string.h>

static const struct file_secret about = {
    .what = "the passphrase file",
    .form = "it must hold one line of 12 to 512 bytes",
    .remedy = "write one into a file of mode 600, and keep a copy of it elsewhere",
};

static enum status parse(void *context, struct span content, char *reason, size_t size)
{
    struct passphrase *out = context;
    size_t end = content.size;

    (void)reason;
    (void)size;
    if (end > 0 && content.data[end - 1] == '\n') {
        end--;
    }
    if (end < PASSPHRASE_MIN_BYTES || end > PASSPHRASE_MAX_BYTES ||
        memchr(content.data, '\n', end) != NULL || memchr(content.data, '\0', end) != NULL) {
        return STATUS_MALFORMED;
    }
    memcpy(out->bytes, content.data, end);
    out->size = end;
    return STATUS_OK;
}

enum status passphrase_read(const char *path, struct passphrase *out)
{
    return secret_file_read(&about, path, parse, out);
}

void passphrase_wipe(struct passphrase *self)
{
    explicit_bzero(self, sizeof *self);
}

enum status passphrase_key(const struct passphrase *self, const struct backup_head *head,
                           struct backup_key *key)
{
    enum status status = backup_key_derive(span_of(self->bytes, self->size), head, key);

    if (status == STATUS_INVALID) {
        (void)cmd_fail(status, "the backup asks for more work than any version of orbloom does; "
                               "it is not what it seems");
    } else if (status != STATUS_OK) {
        (void)cmd_fail(status, "making a key of the passphrase takes %u MiB of memory",
                       head->memory_kib >> 10);
    }
    return status;
}
