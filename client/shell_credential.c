/* Reads and writes whole files, and wipes what it has read them into. */
#include "client/shell_credential.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FILE_MODE = 0600 };

static const struct file_secret file_credential = {
    .what = "the credential file",
    .form = "it must be one that orbloom user create has written",
    .remedy = "an admin makes one with: orbloom user create NAME --credential FILE",
};

enum status credential_file_read(const char *path, struct credential *out,
                                 char why[FILE_REASON_BYTES])
{
    return file_read_secret_quietly(&file_credential, path, credential_read, out, why);
}

static enum status refuse(const char *path, enum status status, char why[FILE_REASON_BYTES])
{
    const char *reason = status == STATUS_IO ? strerror(errno) : status_meaning(status);

    (void)snprintf(
        why, FILE_REASON_BYTES, "cannot write the credential file %.200s: %s; %s", path, reason,
        status == STATUS_IO && errno == EEXIST ? "one is never overwritten: choose another file"
                                               : "choose a folder that you may write to");
    return status;
}

enum status credential_file_write(const char *path, bool fresh, const struct credential *credential,
                                  char why[FILE_REASON_BYTES])
{
    struct buffer text;
    uint8_t *room;
    enum status status;

    why[0] = '\0';
    buffer_init(&text, CREDENTIAL_TEXT_BYTES);
    /* At once, so that it does not move and leave a secret where it was. */
    status = buffer_extend(&text, CREDENTIAL_TEXT_BYTES, &room);
    buffer_clear(&text);
    status = status == STATUS_OK ? credential_write(credential, &text) : status;
    if (status == STATUS_OK) {
        status = (fresh ? file_make : file_write)(path, FILE_MODE, buffer_span(&text));
    }
    if (status != STATUS_OK) {
        (void)refuse(path, status, why);
    }
    if (text.data != NULL) {
        explicit_bzero(text.data, text.capacity);
    }
    buffer_fini(&text);
    return status;
}
