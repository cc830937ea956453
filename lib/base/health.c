/* Reasons are gathered, and shown. */
#include "base/health.h"

#include "base/audit_log.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void health_want(struct health *self, bool holds, const char *what, const char *format, ...)
{
    struct health_reason *reason = &self->reasons[self->count];
    va_list args;

    if (holds) {
        return;
    }
    if (self->count == HEALTH_MAX) {
        self->left_out++;
        return;
    }
    self->count++;
    reason->what = what;
    va_start(args, format);
    (void)vsnprintf(reason->why, sizeof reason->why, format, args);
    va_end(args);
}

static enum status show_reason(const struct health_reason *reason, bool first, struct buffer *out)
{
    enum status status = buffer_append(out, span_text(first ? "{\"what\":" : ",{\"what\":"));

    status = status == STATUS_OK ? audit_quote(out, span_text(reason->what)) : status;
    status = status == STATUS_OK ? buffer_append(out, span_text(",\"why\":")) : status;
    status = status == STATUS_OK ? audit_quote(out, span_text(reason->why)) : status;
    return status == STATUS_OK ? buffer_append(out, span_text("}")) : status;
}

enum status health_show(const struct health *self, struct buffer *out)
{
    char end[64];
    enum status status = buffer_append(
        out, span_text(health_is_well(self) ? "{\"ok\":true" : "{\"ok\":false"));

    assert(self->count > 0 || self->left_out == 0);
    status = status == STATUS_OK ? buffer_append(out, span_text(",\"reasons\":[")) : status;
    for (size_t i = 0; i < self->count && status == STATUS_OK; i++) {
        status = show_reason(&self->reasons[i], i == 0, out);
    }
    (void)snprintf(end, sizeof end, "],\"left_out\":%zu}\n", self->left_out);
    return status == STATUS_OK ? buffer_append(out, span_text(end)) : status;
}
