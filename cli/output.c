/* Errors as "orbloom: CODE: cause", and JSON to a stream. */
#include "cli/output.h"

#include "cli/cmd.h"
#include "map/document.h"

#include <errno.h>
#include <stdarg.h>

int cmd_code(enum status status)
{
    return status == STATUS_OK                                  ? CMD_OK
           : status == STATUS_USAGE || status == STATUS_INVALID ? CMD_USAGE
                                                                : CMD_PARTIAL;
}

int cmd_fail(enum status status, const char *format, ...)
{
    va_list args;

    (void)fflush(stdout);
    (void)fprintf(stderr, "orbloom: %s: ", status_code(status));
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return cmd_code(status);
}

int cmd_close_output(int code)
{
    bool failed = fflush(stdout) != 0 || ferror(stdout) != 0;

    if (failed && errno != EPIPE) { /* A reader that has gone, as in "| head", needs no word. */
        (void)cmd_fail(STATUS_IO, "cannot write to standard output: %s", strerror(errno));
    }
    return failed && code == CMD_OK ? CMD_PARTIAL : code;
}

bool cmd_check_filter_name(const char *name)
{
    if (document_name_valid(span_text(name))) {
        return true;
    }
    (void)cmd_fail(STATUS_INVALID,
                   "\"%.40s%s\" is not a filter's name; use 1 to 128 of A-Z a-z 0-9 . _ : -", name,
                   strlen(name) > 40 ? "..." : "");
    return false;
}

static enum status put(void *out, struct span bytes)
{
    (void)fwrite(bytes.data, 1, bytes.size, out);
    return STATUS_OK;
}

void json_open(struct json *self, FILE *out)
{
    *self = (struct json){.put = put, .context = out, .style = JSON_TREE};
}

void json_open_line(struct json *self, FILE *out)
{
    *self = (struct json){.put = put, .context = out, .style = JSON_LINE};
}
