/* One function for each kind of value; where one is wrong, what the flag takes is said. */
#include "cli/flags_value.h"

#include "base/number.h"
#include "cli/cmd.h"
#include "client/endpoint_list.h"
#include "filter/sizing.h"

#include <string.h>

#define COUNT_HINT " (a whole number; k, M, G and T stand for powers of 1000: 10M)"
#define RATE_HINT  " (a rate such as 1% or 0.01)"

enum { ITEM_BYTES = 128 };

static bool choice_has(const char *range, const char *text)
{
    size_t size = strlen(text);

    for (const char *at = range; size > 0 && (at = strstr(at, text)) != NULL; at += size) {
        bool starts = at == range || at[-1] == ' ';
        bool ends = at[size] == '\0' || at[size] == ' ';

        if (starts && ends && strchr(text, '|') == NULL && strchr(text, ' ') == NULL) {
            return true;
        }
    }
    return false;
}

static enum status parse_number(const struct flag *flag, const char *text, uint64_t *out)
{
    uint64_t value;
    enum status status = flag->kind == FLAG_DURATION ? number_parse_duration(text, &value)
                                                     : number_parse_count(text, &value);

    if (status != STATUS_OK || value < flag->min || value > flag->max) {
        return STATUS_INVALID;
    }
    *out = value;
    return STATUS_OK;
}

static enum status parse_rate(const char *text, double *out)
{
    double rate;

    if (number_parse_rate(text, &rate) != STATUS_OK || rate < SIZING_RATE_MIN ||
        rate > SIZING_RATE_MAX) {
        return STATUS_INVALID;
    }
    *out = rate;
    return STATUS_OK;
}

static enum status parse_endpoints(const char *text, const char **out)
{
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t count;

    *out = text;
    return endpoint_list_parse(text, names, &count);
}

static enum status set_one(const struct flag *flag, const char *text, void *field)
{
    switch (flag->kind) {
    case FLAG_SWITCH:
        *(bool *)field = true;
        return STATUS_OK;
    case FLAG_TEXT:
        *(const char **)field = text;
        return text[0] != '\0' ? STATUS_OK : STATUS_INVALID;
    case FLAG_ENDPOINTS:
        return parse_endpoints(text, field);
    case FLAG_CHOICE:
        *(const char **)field = text;
        return choice_has(flag->range, text) ? STATUS_OK : STATUS_INVALID;
    case FLAG_COUNT:
    case FLAG_BYTES:
    case FLAG_DURATION:
        return parse_number(flag, text, field);
    case FLAG_RATE:
        return parse_rate(text, field);
    case FLAG_COUNTS:
    case FLAG_RATES:
        break;
    }
    return STATUS_INTERNAL;
}

static const char *kind_hint(enum flag_kind kind)
{
    static const char *const hints[] = {
        [FLAG_COUNT] = COUNT_HINT,
        [FLAG_COUNTS] = COUNT_HINT,
        [FLAG_BYTES] = " (a size such as 512MiB or 8GiB)",
        [FLAG_DURATION] = " (a time with its unit: 250ms, 5s, 2m)",
        [FLAG_RATE] = RATE_HINT,
        [FLAG_RATES] = RATE_HINT,
        [FLAG_ENDPOINTS] = "",
    };
    const char *hint = (size_t)kind < sizeof hints / sizeof hints[0] ? hints[kind] : NULL;

    return hint != NULL ? hint : "";
}

static enum status refuse(const struct flag *flag, const char *text)
{
    (void)cmd_fail(STATUS_INVALID, "--%s cannot be \"%.100s\"; give %s%s", flag->name, text,
                   flag->range != NULL ? flag->range : "a text", kind_hint(flag->kind));
    return STATUS_INVALID;
}

/* ---- lists ---- */

static enum status refuse_item(const struct flag *flag, size_t index, const char *text)
{
    (void)cmd_fail(STATUS_INVALID, "--%s cannot have \"%.100s\" as item %zu; give %s%s", flag->name,
                   text, index + 1, flag->range, kind_hint(flag->kind));
    return STATUS_INVALID;
}

static enum status refuse_length(const struct flag *flag)
{
    (void)cmd_fail(STATUS_INVALID, "--%s takes at most %d items; split the list", flag->name,
                   FLAG_LIST_MAX);
    return STATUS_INVALID;
}

static enum status set_item(const struct flag *flag, const char *text, size_t index, void *field)
{
    struct flag_counts *counts = field;
    struct flag_rates *rates = field;

    if (flag->kind == FLAG_COUNTS) {
        counts->count = index + 1;
        return parse_number(flag, text, &counts->items[index]);
    }
    rates->count = index + 1;
    return parse_rate(text, &rates->items[index]);
}

static enum status set_list(const struct flag *flag, const char *text, void *field)
{
    bool alone = strchr(text, ',') == NULL;

    for (size_t index = 0; index < FLAG_LIST_MAX; index++) {
        size_t size = strcspn(text, ",");
        char item[ITEM_BYTES];

        (void)snprintf(item, sizeof item, "%.*s", (int)size, text);
        if (size >= sizeof item || set_item(flag, item, index, field) != STATUS_OK) {
            return alone ? refuse(flag, text) : refuse_item(flag, index, item);
        }
        if (text[size] == '\0') {
            return STATUS_OK;
        }
        text += size + 1;
    }
    return refuse_length(flag);
}

enum status flag_value_set(const struct flag *flag, const char *text, void *settings)
{
    void *field = (char *)settings + flag->offset;

    if (flag->kind == FLAG_COUNTS || flag->kind == FLAG_RATES) {
        return set_list(flag, text, field);
    }
    return set_one(flag, text, field) == STATUS_OK ? STATUS_OK : refuse(flag, text);
}
