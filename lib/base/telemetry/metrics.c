/* Lines of the text format, and what rows of counter tables are called there. */
#include "base/telemetry/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOTAL "_total"
#define GAUGE " (a gauge)" /* what help says where nobody tells the type */

enum { NUMBER_BYTES = 32, MICRO = 1000000 };

/* ---- bytes ---- */

static void put(struct metrics *self, struct span bytes)
{
    if (self->status == STATUS_OK) {
        self->status = buffer_append(self->out, bytes);
    }
}

static void put_text(struct metrics *self, const char *text)
{
    put(self, span_text(text));
}

/* What stands for a byte; NULL: the byte itself. */
static const char *escape_of(uint8_t byte, bool quoted)
{
    switch (byte) {
    case '\n':
        return "\\n";
    case '\\':
        return "\\\\";
    case '"':
        return quoted ? "\\\"" : NULL;
    default:
        return NULL;
    }
}

/* Backslashes and ends of lines, and within quotes these, have a backslash before them. */
static void put_escaped(struct metrics *self, struct span text, bool quoted)
{
    size_t from = 0;

    for (size_t i = 0; i < text.size; i++) {
        const char *escape = escape_of(text.data[i], quoted);

        if (escape != NULL) {
            put(self, span_of(text.data + from, i - from));
            put_text(self, escape);
            from = i + 1;
        }
    }
    put(self, span_of(text.data + from, text.size - from));
}

/* ---- families and samples ---- */

static void begin_family(struct metrics *self, const char *name)
{
    self->family = name;
    put_text(self, "# HELP ");
    put_text(self, name);
    put_text(self, " ");
}

static void end_family(struct metrics *self, enum metrics_kind kind)
{
    static const char *const types[] = {
        [METRICS_COUNTER] = " counter\n",
        [METRICS_GAUGE] = " gauge\n",
        [METRICS_HISTOGRAM] = " histogram\n",
    };

    put_text(self, "\n# TYPE ");
    put_text(self, self->family);
    put_text(self, types[kind]);
}

void metrics_family(struct metrics *self, const char *name, enum metrics_kind kind,
                    const char *help)
{
    begin_family(self, name);
    put_escaped(self, span_text(help), false);
    end_family(self, kind);
}

static void put_label(struct metrics *self, bool first, const char *name, const char *value)
{
    put_text(self, first ? "{" : ",");
    put_text(self, name);
    put_text(self, "=\"");
    put_escaped(self, span_text(value), true);
    put_text(self, "\"");
}

/* `end` follows the family's name ("_sum"); `bound`: NULL, or the value of a last label, "le". */
static void put_sample_of(struct metrics *self, const char *end, const struct metrics_label *labels,
                          size_t nlabels, const char *bound, const char *value)
{
    assert(self->family != NULL);
    put_text(self, self->family);
    put_text(self, end);
    for (size_t i = 0; i < nlabels; i++) {
        put_label(self, i == 0, labels[i].name, labels[i].value);
    }
    if (bound != NULL) {
        put_label(self, nlabels == 0, "le", bound);
    }
    put_text(self, nlabels > 0 || bound != NULL ? "} " : " ");
    put_text(self, value);
    put_text(self, "\n");
}

static void count_text(char text[NUMBER_BYTES], uint64_t value)
{
    (void)snprintf(text, NUMBER_BYTES, "%" PRIu64, value);
}

static void seconds_text(char text[NUMBER_BYTES], uint64_t value_us)
{
    (void)snprintf(text, NUMBER_BYTES, "%" PRIu64 ".%06" PRIu64, value_us / MICRO,
                   value_us % MICRO);
}

void metrics_count(struct metrics *self, const struct metrics_label *labels, size_t nlabels,
                   uint64_t value)
{
    char text[NUMBER_BYTES];

    count_text(text, value);
    put_sample_of(self, "", labels, nlabels, NULL, text);
}

void metrics_seconds(struct metrics *self, const struct metrics_label *labels, size_t nlabels,
                     uint64_t value_us)
{
    char text[NUMBER_BYTES];

    seconds_text(text, value_us);
    put_sample_of(self, "", labels, nlabels, NULL, text);
}

void metrics_ratio(struct metrics *self, const struct metrics_label *labels, size_t nlabels,
                   double value)
{
    char text[NUMBER_BYTES];

    assert(isfinite(value));
    (void)snprintf(text, sizeof text, "%.9g", value);
    put_sample_of(self, "", labels, nlabels, NULL, text);
}

void metrics_histogram(struct metrics *self, const struct metrics_label *labels, size_t nlabels,
                       const struct histogram *histogram)
{
    char bound[NUMBER_BYTES];
    char text[NUMBER_BYTES];
    uint64_t count = 0;

    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += histogram->counts[i];
        (void)snprintf(bound, sizeof bound, "%g", (double)histogram_bound_us(i) / MICRO);
        count_text(text, count);
        put_sample_of(self, "_bucket", labels, nlabels, bound, text);
    }
    count_text(text, count + histogram->counts[HISTOGRAM_BUCKETS]);
    put_sample_of(self, "_bucket", labels, nlabels, "+Inf", text);
    put_sample_of(self, "_count", labels, nlabels, NULL, text);
    seconds_text(text, histogram->sum_us);
    put_sample_of(self, "_sum", labels, nlabels, NULL, text);
}

/* ---- rows of counter tables ---- */

static bool ends_in(struct span text, const char *end)
{
    size_t size = strlen(end);

    return text.size >= size && memcmp(text.data + text.size - size, end, size) == 0;
}

static struct span without_end(struct span text, const char *end)
{
    return ends_in(text, end) ? span_of(text.data, text.size - strlen(end)) : text;
}

bool metrics_name(const char *prefix, const struct counter_def *def, char name[METRICS_NAME_BYTES])
{
    struct span whole = span_text(def->name);
    struct span stem = without_end(whole, TOTAL);
    bool timed = strcmp(def->unit, "us") == 0;
    bool sized = strcmp(def->unit, "bytes") == 0 && strstr(def->name, "bytes") == NULL;
    int size;

    stem = timed ? without_end(stem, "_us") : stem;
    size = snprintf(name, METRICS_NAME_BYTES, "%s%.*s%s%s", prefix, (int)stem.size,
                    (const char *)stem.data,
                    timed   ? "_seconds"
                    : sized ? "_bytes"
                            : "",
                    ends_in(whole, TOTAL) ? TOTAL : "");
    assert(size > 0 && size < METRICS_NAME_BYTES);
    return timed;
}

/* Help goes on from the unit, unless it begins with it. */
static void put_help(struct metrics *self, const struct counter_def *def, const char *unit)
{
    if (unit[0] != '\0' && strncmp(def->help, unit, strlen(unit)) != 0) {
        put_text(self, unit);
        put_text(self, ": ");
    }
    put_escaped(self, without_end(span_text(def->help), GAUGE), false);
}

void metrics_counters(struct metrics *self, const char *prefix, const struct counter_table *table,
                      const uint64_t *values)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct counter_def *def = &table->defs[i];
        char name[METRICS_NAME_BYTES];
        bool timed = metrics_name(prefix, def, name);

        begin_family(self, name);
        put_help(self, def, timed ? "seconds" : def->unit);
        end_family(self, ends_in(span_text(def->name), TOTAL) ? METRICS_COUNTER : METRICS_GAUGE);
        if (timed) {
            metrics_seconds(self, NULL, 0, values[i]);
        } else {
            metrics_count(self, NULL, 0, values[i]);
        }
        self->family = NULL; /* Its name is gone. */
    }
}
