/* Reasons are gathered, and shown. */
#include "base/telemetry/health.h"

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

void health_json(const struct health *self, struct json *json, const char *name)
{
    assert(self->count > 0 || self->left_out == 0);
    json_begin(json, name, '{');
    json_bool(json, "ok", health_is_well(self));
    json_begin(json, "reasons", '[');
    for (size_t i = 0; i < self->count; i++) {
        json_begin(json, NULL, '{');
        json_text(json, "what", self->reasons[i].what);
        json_text(json, "why", self->reasons[i].why);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_count(json, "left_out", self->left_out);
    json_end(json, '}');
}

enum status health_show(const struct health *self, struct buffer *out)
{
    struct json json = json_to(out);

    health_json(self, &json, NULL);
    return json.status;
}
