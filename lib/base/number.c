/* Strict where strtod is lenient: what people type is checked first, and shown in the same
 * units. */
#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct suffix {
    const char *text;
    double factor;
};

static const struct suffix count_suffixes[] = {
    {"", 1},
    {"B", 1},
    {"k", 1e3},
    {"K", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
    {"kB", 1e3},
    {"KB", 1e3},
    {"MB", 1e6},
    {"GB", 1e9},
    {"TB", 1e12},
    {"Ki", 1024.0},
    {"Mi", 1048576.0},
    {"Gi", 1073741824.0},
    {"Ti", 1099511627776.0},
    {"KiB", 1024.0},
    {"MiB", 1048576.0},
    {"GiB", 1073741824.0},
    {"TiB", 1099511627776.0},
    {NULL, 0},
};

static const struct suffix rate_suffixes[] = {{"", 1}, {"%", 0.01}, {" %", 0.01}, {NULL, 0}};

static const struct suffix duration_suffixes[] = {
    {"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"m", 60e6}, {"h", 3600e6}, {"d", 86400e6}, {NULL, 0},
};

/* strtod is lenient (blanks, signs, inf, hex); only plain decimals are let through to it. */
static enum status parse(const char *text, const struct suffix *suffixes, double *value)
{
    char *end = NULL;
    double number;

    if (!isdigit((unsigned char)text[0]) || text[1] == 'x' || text[1] == 'X') {
        return STATUS_INVALID;
    }
    number = strtod(text, &end);
    if (!isfinite(number)) {
        return STATUS_INVALID;
    }
    for (; suffixes->text != NULL; suffixes++) {
        if (strcmp(end, suffixes->text) == 0) {
            *value = number * suffixes->factor;
            return STATUS_OK;
        }
    }
    return STATUS_INVALID;
}

/* Digits alone keep all 64 bits; a double would round above 2^53. */
static enum status parse_digits(const char *text, uint64_t *value)
{
    uint64_t sum = 0;

    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text) || __builtin_mul_overflow(sum, 10u, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(*text - '0'), &sum)) {
            return STATUS_INVALID;
        }
    }
    *value = sum;
    return STATUS_OK;
}

enum status number_parse_count(const char *text, uint64_t *value)
{
    double number;
    double whole;

    if (text[0] != '\0' && strspn(text, "0123456789") == strlen(text)) {
        return parse_digits(text, value);
    }
    if (parse(text, count_suffixes, &number) != STATUS_OK || number >= 0x1p63) {
        return STATUS_INVALID;
    }
    whole = round(number); /* "1.001M" is a rounding error away from 1001000. */
    if (fabs(number - whole) > whole * 0x1p-52) {
        return STATUS_INVALID;
    }
    *value = (uint64_t)whole;
    return STATUS_OK;
}

enum status number_parse_rate(const char *text, double *rate)
{
    return parse(text, rate_suffixes, rate);
}

enum status number_parse_duration(const char *text, uint64_t *duration_us)
{
    double number;

    if (parse(text, duration_suffixes, &number) != STATUS_OK || number >= 0x1p63) {
        return STATUS_INVALID;
    }
    *duration_us = (uint64_t)number;
    return STATUS_OK;
}

const char *number_show_bytes(uint64_t value_bytes, char text[NUMBER_TEXT_BYTES])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)value_bytes;
    unsigned unit = 0;

    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    (void)snprintf(text, NUMBER_TEXT_BYTES, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
    return text;
}

const char *number_show_count(uint64_t value, char text[NUMBER_TEXT_BYTES])
{
    char digits[NUMBER_TEXT_BYTES];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *out = text;

    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0) {
            *out++ = ',';
        }
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

const char *number_show_rate(double rate, char text[NUMBER_TEXT_BYTES])
{
    (void)snprintf(text, NUMBER_TEXT_BYTES, "%.4g %%", rate * 100);
    return text;
}

const char *number_show_duration(uint64_t duration_us, char text[NUMBER_TEXT_BYTES])
{
    const struct suffix *unit = duration_suffixes;

    while (unit[1].text != NULL && (double)duration_us >= unit[1].factor) {
        unit++;
    }
    (void)snprintf(text, NUMBER_TEXT_BYTES, "%.4g%s", (double)duration_us / unit->factor,
                   unit->text);
    return text;
}
