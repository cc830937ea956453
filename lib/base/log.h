/* log.h - one line an event, for operators: "2026-01-31T12:00:00.123Z warn router: text", or for
 * programs, as an object of JSON: {"time":"2026-01-31T12:00:00.123Z","level":"warn",
 * "program":"router","message":"text"}, with "skipped" where alike ones were not shown.
 *
 * Log once, where the cause is known. What a stranger can provoke at will (garbage on a
 * port) goes through log_limited(), at most one line a second for each call site.
 *
 * Threads: any; lines are written whole.
 */
#ifndef ORBLOOM_BASE_LOG_H
#define ORBLOOM_BASE_LOG_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

enum log_format { LOG_TEXT, LOG_JSON };

enum { LOG_DATE_BYTES = 32 };

/* State of one rate-limited call site: a zeroed static or field. */
struct log_limit {
    uint64_t next_us;
    uint64_t skipped;
};

/* `program` is borrowed for good. Before this call, level is warn and program "orbloom". Before
 * other threads are started. */
void log_setup(const char *program, enum log_level level);

/* At any time, from any thread. */
void log_set_level(enum log_level level);

/* Before this call it is text. At any time, from any thread. */
void log_set_format(enum log_format format);

/* "error", "warn", "info" or "debug"; false when it is none of them. */
bool log_level_parse(const char *text, enum log_level *level);

/* Milliseconds since 1970 as lines begin with them: "2026-01-31T12:00:00.123Z". Returns `text`. */
const char *log_date(uint64_t date_ms, char text[LOG_DATE_BYTES]);

void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

/* As log_line, at most once a second of `now_us` for this site; tells how many were skipped. */
void log_limited(struct log_limit *site, uint64_t now_us, enum log_level level, const char *format,
                 ...) PRINTF_LIKE(4, 5);

/* How grave is what usually passes by itself? LOG_INFO until it has lasted for `patience_us`, from
 * then on LOG_ERROR. *since_us: when it began; the caller sets it to 0 when it is over. */
enum log_level log_level_lasting(uint64_t *since_us, uint64_t now_us, uint64_t patience_us);

#endif
