/* What libconfig would let pass is refused before it scans: it would read other files where a line
 * begins with @include, and take a NUL byte for the end. */
#include "runtime/file.h"
#include "runtime/options/private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static enum status refuse_includes(const char *path, const char *text,
                                   char reason[OPTION_REASON_BYTES])
{
    static const char word[] = "@include";
    unsigned line = 1;

    while (text != NULL && *text != '\0') {
        const char *start = text + strspn(text, " \t");

        if (strncmp(start, word, sizeof word - 1) == 0) {
            (void)snprintf(reason, OPTION_REASON_BYTES,
                           "%.300s:%u: @include is not supported; write all of it here", path,
                           line);
            return STATUS_INVALID;
        }
        text = strchr(text, '\n');
        text = text != NULL ? text + 1 : NULL;
        line++;
    }
    return STATUS_OK;
}

enum status config_text_read(const char *path, struct buffer *out, char reason[OPTION_REASON_BYTES])
{
    enum status status = file_read(path, out);

    if (status == STATUS_OK) {
        status = buffer_append(out, span_of("", 1));
    }
    if (status == STATUS_IO) {
        (void)snprintf(reason, OPTION_REASON_BYTES, "%.300s: %s", path, strerror(errno));
    } else if (status == STATUS_TOO_LARGE) {
        (void)snprintf(reason, OPTION_REASON_BYTES,
                       "%.300s: longer than %zu bytes; is it a configuration file?", path,
                       out->max - 1);
    } else if (status != STATUS_OK) {
        (void)snprintf(reason, OPTION_REASON_BYTES, "%.300s: %s", path, status_meaning(status));
    }
    if (status != STATUS_OK) {
        return status;
    }
    if (memchr(out->data, '\0', out->size - 1) != NULL) {
        (void)snprintf(reason, OPTION_REASON_BYTES,
                       "%.300s: holds a NUL byte; is it a configuration file?", path);
        return STATUS_INVALID;
    }
    return refuse_includes(path, (const char *)out->data, reason);
}
