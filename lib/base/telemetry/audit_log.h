/* audit_log.h - lines of JSON about who did what, on their way to a file.
 *
 * What lines go to may be slow. So they are written on a lane's thread, in order; where there are
 * no lanes, at once. A line that can't be written, or for which there is no room, is lost: counted,
 * and said in the log.
 *
 * Bounds:  AUDIT_LINE_BYTES a line, AUDIT_WAITING_BYTES of lines that wait for the lane.
 * Errors:  none: whatever is told of goes on without its line.
 * Owner:   audit_log_init()'s caller calls audit_log_fini(); the sink is borrowed.
 * Threads: the actor's, but for the sink's write().
 */
#ifndef ORBLOOM_BASE_TELEMETRY_AUDIT_LOG_H
#define ORBLOOM_BASE_TELEMETRY_AUDIT_LOG_H

#include "base/actor.h"
#include "base/buffer.h"
#include "base/log.h"
#include "base/token_bucket.h"

enum { AUDIT_LINE_BYTES = 64 << 10, AUDIT_WAITING_BYTES = 1 << 20 };

/* Where the lines go. */
struct audit_sink {
    void *context;

    /* One line, a newline at its end. May take long: it is called on a lane's thread where there is
     * one. Not OK, after saying why: it is not there, or not all of it. */
    enum status (*write)(void *context, struct span line);
};

struct audit_log {
    struct job job;                /* first: run() and done() get it */
    const struct audit_sink *sink; /* NULL: nothing is noted */
    struct effects effects;
    uint64_t *lost;        /* counts lines */
    struct buffer waiting; /* lines for the next job */
    struct buffer writing; /* ... of the one under way, on the lane's thread: */
    size_t written;        /* of it, in bytes */
    uint64_t failed;       /* of it, in lines */
    bool under_way;
    struct log_limit limit;
};

/* `lost` is borrowed. */
void audit_log_init(struct audit_log *self, const struct audit_sink *sink,
                    const struct effects *effects, uint64_t *lost);

static inline bool audit_log_is_on(const struct audit_log *self)
{
    return self->sink != NULL;
}

/* A line, which begins with the time; then `members` of the object, each after a comma. */
void audit_log_write(struct audit_log *self, uint64_t now_us, struct span members);

/* ... for whose members there was no memory. */
void audit_log_lose(struct audit_log *self, uint64_t now_us);

/* There are no lanes any more; what waits for them is written here and now. */
void audit_log_leave_lanes(struct audit_log *self);
void audit_log_fini(struct audit_log *self);

/* Whoever is refused can have that noted as often as it likes, and so fill a disk. So there are
 * AUDIT_REFUSALS of such lines a second, and a second's more at once; of the others it is told how
 * many they were, in the next line. Zeroed: nothing was left out. */
enum { AUDIT_REFUSALS = 100 };

struct audit_limit {
    struct token_bucket bucket;
    uint64_t left_out; /* since it was last told */
};

/* One more; false: it is left out. */
bool audit_limit_take(struct audit_limit *self, uint64_t now_us);

/* Any bytes as a string of JSON: what is not plain is shown byte by byte. STATUS_NOMEM. */
MUST_USE enum status audit_quote(struct buffer *out, struct span text);

#endif
