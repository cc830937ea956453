/* Lines on stderr, each written whole; what one call site repeats within a second is counted
 * instead of written. */
#include "base/log.h"

#include "base/json.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    LINE_MAX_BYTES = 1024,
    LINE_JSON_BYTES = 6 * LINE_MAX_BYTES + 256, /* a byte that is escaped takes six */
    SITE_INTERVAL_US = 1000000,
};

/* Process-wide by nature: there is one stderr. Level and format may change while other threads log.
 */
static const char *log_program = "orbloom";
static atomic_uint log_threshold = LOG_WARN;
static atomic_uint log_shape = LOG_TEXT;

static const char *const level_names[] = {
    [LOG_ERROR] = "error",
    [LOG_WARN] = "warn",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

void log_setup(const char *program, enum log_level level)
{
    log_program = program;
    log_set_level(level);
}

void log_set_level(enum log_level level)
{
    log_threshold = (unsigned)level;
}

void log_set_format(enum log_format format)
{
    log_shape = (unsigned)format;
}

bool log_level_parse(const char *text, enum log_level *level)
{
    for (unsigned i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

const char *log_date(uint64_t date_ms, char text[LOG_DATE_BYTES])
{
    const time_t seconds = (time_t)(date_ms / 1000);
    struct tm utc = {0};
    size_t size;

    (void)gmtime_r(&seconds, &utc); /* So many milliseconds are no year that it does not know. */
    size = strftime(text, LOG_DATE_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(text + size, LOG_DATE_BYTES - size, ".%03uZ", (unsigned)(date_ms % 1000));
    return text;
}

static void write_text(const char *date, enum log_level level, const char *text, uint64_t skipped)
{
    if (skipped > 0) {
        (void)fprintf(stderr, "%s %s %s: %s (%llu alike not shown)\n", date, level_names[level],
                      log_program, text, (unsigned long long)skipped);
    } else {
        (void)fprintf(stderr, "%s %s %s: %s\n", date, level_names[level], log_program, text);
    }
}

struct line {
    size_t size;
    char bytes[LINE_JSON_BYTES];
};

/* json_put_fn */
static enum status put(void *context, struct span bytes)
{
    struct line *line = context;

    if (bytes.size > sizeof line->bytes - line->size) {
        return STATUS_TOO_LARGE;
    }
    memcpy(line->bytes + line->size, bytes.data, bytes.size);
    line->size += bytes.size;
    return STATUS_OK;
}

/* Without a heap, which may be what is amiss. */
static void write_json(const char *date, enum log_level level, const char *text, uint64_t skipped)
{
    struct line line = {0};
    struct json json = {.put = put, .context = &line, .style = JSON_DENSE};

    json_begin(&json, NULL, '{');
    json_text(&json, "time", date);
    json_text(&json, "level", level_names[level]);
    json_text(&json, "program", log_program);
    json_text(&json, "message", text);
    if (skipped > 0) {
        json_count(&json, "skipped", skipped);
    }
    json_end(&json, '}');
    assert(json.status == STATUS_OK);
    (void)fwrite(line.bytes, 1, line.size, stderr);
}

static void write_line(enum log_level level, const char *text, uint64_t skipped)
{
    struct timespec now;
    char date[LOG_DATE_BYTES];

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)log_date((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000, date);
    if (log_shape == LOG_JSON) {
        write_json(date, level, text, skipped);
    } else {
        write_text(date, level, text, skipped);
    }
}

void log_line(enum log_level level, const char *format, ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;

    if ((unsigned)level > log_threshold) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    write_line(level, text, 0);
}

void log_limited(struct log_limit *site, uint64_t now_us, enum log_level level, const char *format,
                 ...)
{
    char text[LINE_MAX_BYTES];
    va_list args;

    if ((unsigned)level > log_threshold) {
        return;
    }
    if (now_us < site->next_us) {
        site->skipped++;
        return;
    }
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    write_line(level, text, site->skipped);
    site->next_us = now_us + SITE_INTERVAL_US;
    site->skipped = 0;
}

enum log_level log_level_lasting(uint64_t *since_us, uint64_t now_us, uint64_t patience_us)
{
    if (*since_us == 0) {
        *since_us = now_us > 0 ? now_us : 1;
    }
    return now_us >= *since_us + patience_us ? LOG_ERROR : LOG_INFO;
}
