/* Findings in an array that grows; of one kind no more than people read. */
#include "cli/doctor/findings.h"

#include "base/heap.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_crowded(const struct findings *self, const char *what, enum severity severity)
{
    size_t same = 0;

    for (size_t i = 0; i < self->count; i++) {
        same += self->items[i].severity == severity && strcmp(self->items[i].what, what) == 0;
    }
    return same >= FINDINGS_OF_A_KIND;
}

void findings_tell(struct findings *self, enum severity severity, const char *what,
                   const char *where, const char *format, ...)
{
    struct finding *one;
    va_list args;

    assert(severity < NSEVERITIES);
    self->of[severity]++;
    self->taken = !is_crowded(self, what, severity) &&
                  heap_grow(&self->items, &self->room, self->count + 1, sizeof *self->items);
    if (!self->taken) {
        self->left_out++;
        return;
    }
    one = &self->items[self->count++];
    one->severity = severity;
    one->what = what;
    one->remedy[0] = '\0';
    (void)snprintf(one->where, sizeof one->where, "%s", where);
    va_start(args, format);
    (void)vsnprintf(one->text, sizeof one->text, format, args);
    va_end(args);
}

void findings_mend(struct findings *self, const char *format, ...)
{
    va_list args;

    if (self->taken) {
        va_start(args, format);
        (void)vsnprintf(self->items[self->count - 1].remedy, FINDING_TEXT_BYTES, format, args);
        va_end(args);
    }
}

void findings_omit(struct findings *self, const char *what, const char *format, ...)
{
    struct omission *one;
    va_list args;

    if (!heap_grow(&self->omissions, &self->omissions_room, self->nomissions + 1,
                   sizeof *self->omissions)) {
        return;
    }
    one = &self->omissions[self->nomissions++];
    one->what = what;
    va_start(args, format);
    (void)vsnprintf(one->why, sizeof one->why, format, args);
    va_end(args);
}

/* By insertion, which keeps the order of equals: there are few. */
void findings_sort(struct findings *self)
{
    self->taken = false;
    for (size_t i = 1; i < self->count; i++) {
        const struct finding one = self->items[i];
        size_t at = i;

        while (at > 0 && self->items[at - 1].severity < one.severity) {
            self->items[at] = self->items[at - 1];
            at--;
        }
        self->items[at] = one;
    }
}

enum severity findings_worst(const struct findings *self)
{
    return self->of[SEVERITY_ERROR] > 0     ? SEVERITY_ERROR
           : self->of[SEVERITY_WARNING] > 0 ? SEVERITY_WARNING
                                            : SEVERITY_INFO;
}

const char *severity_name(enum severity severity)
{
    static const char *const names[NSEVERITIES] = {"info", "warning", "error"};

    assert(severity < NSEVERITIES);
    return names[severity];
}

void findings_fini(struct findings *self)
{
    heap_free(self->items);
    heap_free(self->omissions);
    *self = (struct findings){0};
}
