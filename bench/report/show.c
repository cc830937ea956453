/* Writes figures with three digits and the unit that fits. */
#include "bench/report/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Three figures, never more decimals than they need. */
static const char *three(double value, const char *unit, char text[SHOW_BYTES])
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;

    (void)snprintf(text, SHOW_BYTES, "%.*f%s", decimals, value, unit);
    return text;
}

static const char *none(char text[SHOW_BYTES])
{
    (void)snprintf(text, SHOW_BYTES, "-");
    return text;
}

const char *show_rate(double per_s, char text[SHOW_BYTES])
{
    if (isnan(per_s)) {
        return none(text);
    }
    if (per_s < 999.5) {
        (void)snprintf(text, SHOW_BYTES, "%.0f", per_s);
        return text;
    }
    return per_s < 999500 ? three(per_s / 1e3, " k", text) : three(per_s / 1e6, " M", text);
}

const char *show_time(double time_us, char text[SHOW_BYTES])
{
    if (isnan(time_us)) {
        return none(text);
    }
    return time_us < 999.5 ? three(time_us, " us", text) : three(time_us / 1e3, " ms", text);
}

const char *show_cpu(double time_ns, char text[SHOW_BYTES])
{
    if (isnan(time_ns)) {
        return none(text);
    }
    return time_ns < 999.5 ? three(time_ns, " ns", text) : three(time_ns / 1e3, " us", text);
}

const char *show_bytes(double size_bytes, char text[SHOW_BYTES])
{
    if (isnan(size_bytes)) {
        return none(text);
    }
    return three(size_bytes / (1024 * 1024), " MiB", text);
}

const char *show_value(double value, const char *unit, char text[SHOW_BYTES])
{
    char tail[SHOW_BYTES / 2];

    if (isnan(value)) {
        return none(text);
    }
    if (strcmp(unit, "us") == 0) {
        return show_time(value, text);
    }
    if (strcmp(unit, "bytes") == 0) {
        return show_bytes(value, text);
    }
    if (strcmp(unit, "/s") == 0) {
        return show_rate(value, text);
    }
    if (strcmp(unit, "B/s") == 0) {
        return three(value / 1e6, " MB/s", text);
    }
    (void)snprintf(tail, sizeof tail, "%s%s", unit[0] == '\0' ? "" : " ", unit);
    return three(value, tail, text);
}

const char *show_ratio(double ratio, char text[SHOW_BYTES])
{
    return isnan(ratio) ? none(text) : three(ratio, " x", text);
}
