/* health.h - is a process fit for use, and why not?
 *
 * Whoever judges says what must hold; what does not is a reason. Without a reason all is well.
 *
 * Bounds:  HEALTH_MAX reasons; those beyond are counted, and one says how many there are.
 * Errors:  health_show: STATUS_NOMEM, STATUS_TOO_LARGE.
 * Threads: none.
 */
#ifndef ORBLOOM_BASE_TELEMETRY_HEALTH_H
#define ORBLOOM_BASE_TELEMETRY_HEALTH_H

#include "base/buffer.h"
#include "base/json.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { HEALTH_MAX = 16, HEALTH_WHY_BYTES = 512 };

struct health_reason {
    const char *what; /* for programs: "boot" */
    char why[HEALTH_WHY_BYTES];
};

/* Begins as zeros. */
struct health {
    struct health_reason reasons[HEALTH_MAX];
    size_t count;
    size_t left_out;
};

/* `what` must hold; the text says why it does not. `what` is borrowed for good. */
void health_want(struct health *self, bool holds, const char *what, const char *format, ...)
    PRINTF_LIKE(4, 5);

static inline bool health_is_well(const struct health *self)
{
    return self->count == 0;
}

/* As an object of JSON: a member, or all there is where `name` is NULL. */
void health_json(const struct health *self, struct json *json, const char *name);

/* ... as a line. */
MUST_USE enum status health_show(const struct health *self, struct buffer *out);

#endif
