/* Errors as "orbloom: CODE: cause", and JSON written field by field without a tree in memory. */
#include "cli/output.h"

#include "cli/cmd.h"
#include "map/document.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

int cmd_fail(enum status status, const char *format, ...)
{
    va_list args;

    (void)fflush(stdout);
    (void)fprintf(stderr, "orbloom: %s: ", status_code(status));
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    (void)fputc('\n', stderr);
    return status == STATUS_USAGE || status == STATUS_INVALID ? CMD_USAGE : CMD_PARTIAL;
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

void json_open(struct json *self, FILE *out)
{
    *self = (struct json){.out = out};
}

void json_open_line(struct json *self, FILE *out)
{
    *self = (struct json){.out = out, .one_line = true};
}

static void break_line(struct json *self)
{
    if (!self->one_line) {
        (void)fprintf(self->out, "\n%*s", 2 * self->depth, "");
    }
}

static void separate(struct json *self, const char *name)
{
    if (self->depth > 0) {
        (void)fputs(!self->filled ? "" : self->one_line ? ", " : ",", self->out);
        break_line(self);
    }
    self->filled = true;
    if (name != NULL) {
        (void)fprintf(self->out, "\"%s\": ", name);
    }
}

void json_begin(struct json *self, const char *name, char bracket)
{
    separate(self, name);
    (void)fputc(bracket, self->out);
    self->depth++;
    self->filled = false;
}

void json_end(struct json *self, char bracket)
{
    self->depth--;
    if (self->filled) {
        break_line(self);
    }
    (void)fputc(bracket, self->out);
    self->filled = true;
    if (self->depth == 0) {
        (void)fputc('\n', self->out);
    }
}

void json_text(struct json *self, const char *name, const char *text)
{
    separate(self, name);
    (void)fputc('"', self->out);
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte == '"' || byte == '\\') {
            (void)fprintf(self->out, "\\%c", byte);
        } else if (byte < ' ') {
            (void)fprintf(self->out, "\\u%04x", byte);
        } else {
            (void)fputc(byte, self->out);
        }
    }
    (void)fputc('"', self->out);
}

void json_count(struct json *self, const char *name, uint64_t value)
{
    separate(self, name);
    (void)fprintf(self->out, "%" PRIu64, value);
}

void json_number(struct json *self, const char *name, double value)
{
    separate(self, name);
    (void)fprintf(self->out, "%.9g", value);
}

void json_bool(struct json *self, const char *name, bool value)
{
    separate(self, name);
    (void)fputs(value ? "true" : "false", self->out);
}

void json_null(struct json *self, const char *name)
{
    separate(self, name);
    (void)fputs("null", self->out);
}
