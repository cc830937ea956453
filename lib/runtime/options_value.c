/* From text to a field of the settings, type by type; and comparing, copying and clearing such
 * fields for a reload. */
#include "base/number.h"
#include "base/span.h"
#include "runtime/options_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_MAX = 65535, OPTION_LINE_BYTES = 4096 };

#define NAME_CHARACTERS     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"
#define NAME_MAX_CHARACTERS 128

#define REFUSE(reason, ...) ((void)snprintf(reason, OPTION_REASON_BYTES, __VA_ARGS__), STATUS_USAGE)

static void *field(const struct option *option, void *settings)
{
    return (char *)settings + option->offset;
}

static uint32_t *list_count(const struct option *option, void *settings)
{
    return (uint32_t *)(void *)((char *)settings + option->count_offset);
}

static bool port_valid(const char *port, bool link)
{
    unsigned long number = strtoul(port, NULL, 10);

    if (strcmp(port, "*") == 0) {
        return !link;
    }
    return port[0] != '\0' && strlen(port) <= 5 && strspn(port, "0123456789") == strlen(port) &&
           number <= PORT_MAX && (number > 0 || !link);
}

static bool host_valid(const char *host, size_t size, bool link)
{
    if (size == 1 && host[0] == '*') {
        return !link;
    }
    if (size > 2 && host[0] == '[' && host[size - 1] == ']') {
        return strspn(host + 1, "0123456789abcdefABCDEF:.%") == size - 2;
    }
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)host[i]) && strchr("._-", host[i]) == NULL) {
            return false;
        }
    }
    return size > 0;
}

bool option_endpoint_valid(const char *text, bool link)
{
    static const char scheme[] = "tcp://";
    const char *host = text + sizeof scheme - 1;
    const char *colon = strrchr(text, ':');

    return strncmp(text, scheme, sizeof scheme - 1) == 0 && colon > host &&
           host_valid(host, (size_t)(colon - host), link) && port_valid(colon + 1, link);
}

bool options_endpoint_is_any_host(const char *endpoint)
{
    static const char *const hosts[] = {"tcp://*:", "tcp://0.0.0.0:", "tcp://[::]:"};

    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        if (strncmp(endpoint, hosts[i], strlen(hosts[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool options_endpoint_is_wildcard(const char *endpoint)
{
    return options_endpoint_is_any_host(endpoint) || !option_endpoint_valid(endpoint, true);
}

static bool url_valid(const char *text)
{
    static const char *const schemes[] = {"http://", "https://"};
    const char *colon = strrchr(text, ':');

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const char *host = text + strlen(schemes[i]);

        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0) {
            return colon > host && host_valid(host, (size_t)(colon - host), true) &&
                   port_valid(colon + 1, true);
        }
    }
    return false;
}

static bool choice_valid(const char *range, const char *text)
{
    static const char separator[] = " | ";
    size_t size = strlen(text);

    for (const char *at = range; at != NULL; at = strstr(at, separator)) {
        at += at == range ? 0 : sizeof separator - 1;
        if (strncmp(at, text, size) == 0 && (at[size] == '\0' || at[size] == ' ')) {
            return size > 0;
        }
    }
    return false;
}

static bool printable(const char *text)
{
    for (; *text != '\0'; text++) {
        if (iscntrl((unsigned char)*text)) {
            return false;
        }
    }
    return true;
}

static enum status check_text(const struct option *option, const char *text, char *reason)
{
    bool link = option->kind == OPTION_LIST;

    if (!printable(text)) {
        return REFUSE(reason, "%s holds a control character", option->name);
    }
    switch (option->kind) {
    case OPTION_NAME:
        if (text[0] == '\0' || strlen(text) > NAME_MAX_CHARACTERS ||
            strspn(text, NAME_CHARACTERS) != strlen(text)) {
            return REFUSE(reason,
                          "'%.200s' is not a name; %s must be 1 to %d letters, digits, "
                          "'.', '_', ':' or '-'",
                          text, option->name, NAME_MAX_CHARACTERS);
        }
        return STATUS_OK;
    case OPTION_ENDPOINT:
    case OPTION_LIST:
        if (!option_endpoint_valid(text, link)) {
            return REFUSE(reason, "'%.200s' is not an endpoint; %s must be %s", text, option->name,
                          link ? "tcp://HOST:PORT, with a real host and port" : "tcp://HOST:PORT");
        }
        return STATUS_OK;
    case OPTION_URLS:
        if (!url_valid(text)) {
            return REFUSE(reason,
                          "'%.200s' is not an endpoint; %s must be http://HOST:PORT or "
                          "https://HOST:PORT",
                          text, option->name);
        }
        return STATUS_OK;
    case OPTION_CHOICE:
        if (!choice_valid(option->range, text)) {
            return REFUSE(reason, "'%.200s' is none of the choices; %s must be one of: %s", text,
                          option->name, option->range);
        }
        return STATUS_OK;
    case OPTION_TEXT:
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_DURATION:
    case OPTION_FACTOR:
        return STATUS_OK;
    }
    return STATUS_INTERNAL;
}

static enum status set_text(const struct option *option, const char *text, char *out, char *reason)
{
    enum status status = STATUS_OK;

    if (strlen(text) >= option->size) {
        return REFUSE(reason, "%s is longer than %zu bytes", option->name, option->size - 1);
    }
    status = check_text(option, text, reason);
    if (status == STATUS_OK) {
        memcpy(out, text, strlen(text) + 1);
    }
    return status;
}

static enum status parse_number(const struct option *option, const char *text, uint64_t *number)
{
    if (option->kind == OPTION_DURATION) {
        return number_parse_duration(text, number);
    }
    return number_parse_count(text, number);
}

static const char *example(enum option_kind kind)
{
    return kind == OPTION_DURATION ? "20ms" : kind == OPTION_BYTES ? "8GiB" : "10M";
}

static bool automatic(const struct option *option, const char *text)
{
    static const char word[] = "auto";

    return (option->kind == OPTION_BYTES || option->kind == OPTION_DURATION) &&
           option->value != NULL && strcmp(option->value, word) == 0 && strcmp(text, word) == 0;
}

static enum status set_number(const struct option *option, const char *text, uint64_t *out,
                              char *reason)
{
    uint64_t number = 0;

    if (automatic(option, text)) {
        *out = 0;
        return STATUS_OK;
    }
    if (parse_number(option, text, &number) != STATUS_OK) {
        return REFUSE(reason, "'%.200s' is not a %s; write %s such as \"%s\"", text,
                      option->kind == OPTION_DURATION ? "duration" : "number", option->name,
                      example(option->kind));
    }
    if (number < option->min || number > option->max) {
        return REFUSE(reason, "'%.200s' is out of range; %s must be %s", text, option->name,
                      option->range);
    }
    *out = number;
    return STATUS_OK;
}

static enum status set_factor(const struct option *option, const char *text, double *out,
                              char *reason)
{
    double factor;

    if (number_parse_rate(text, &factor) != STATUS_OK || strchr(text, '%') != NULL) {
        return REFUSE(reason, "'%.200s' is not a factor; write %s such as \"1.5\"", text,
                      option->name);
    }
    if (factor * OPTION_FACTOR_ONE < (double)option->min ||
        factor * OPTION_FACTOR_ONE > (double)option->max) {
        return REFUSE(reason, "'%.200s' is out of range; %s must be %s", text, option->name,
                      option->range);
    }
    *out = factor;
    return STATUS_OK;
}

void option_list_clear(const struct option *option, void *settings)
{
    *list_count(option, settings) = 0;
}

enum status option_list_append(const struct option *option, const char *text, void *settings,
                               char reason[OPTION_REASON_BYTES])
{
    uint32_t *count = list_count(option, settings);
    char *place = (char *)field(option, settings) + *count * option->size;
    enum status status;

    if (*count == option->max_count) {
        return REFUSE(reason, "%s has more than %u elements", option->name, option->max_count);
    }
    status = set_text(option, text, place, reason);
    if (status == STATUS_OK) {
        (*count)++;
    }
    return status;
}

static enum status set_list(const struct option *option, const char *text, void *settings,
                            char *reason)
{
    char line[OPTION_LINE_BYTES];
    char *rest = line;
    enum status status = STATUS_OK;

    if (strlen(text) >= sizeof line) {
        return REFUSE(reason, "%s is longer than %zu bytes", option->name, sizeof line - 1);
    }
    memcpy(line, text, strlen(text) + 1);
    option_list_clear(option, settings);
    while (status == STATUS_OK && rest != NULL) {
        status = option_list_append(option, strsep(&rest, ","), settings, reason);
    }
    return status;
}

enum status option_set(const struct option *option, const char *text, void *settings,
                       char reason[OPTION_REASON_BYTES])
{
    switch (option->kind) {
    case OPTION_LIST:
    case OPTION_URLS:
        return set_list(option, text, settings, reason);
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_DURATION:
        return set_number(option, text, field(option, settings), reason);
    case OPTION_FACTOR:
        return set_factor(option, text, field(option, settings), reason);
    case OPTION_TEXT:
    case OPTION_NAME:
    case OPTION_ENDPOINT:
    case OPTION_CHOICE:
        return set_text(option, text, field(option, settings), reason);
    }
    return STATUS_INTERNAL;
}

bool option_is_list(const struct option *option)
{
    return option->kind == OPTION_LIST || option->kind == OPTION_URLS;
}

static bool is_number(enum option_kind kind)
{
    return kind == OPTION_COUNT || kind == OPTION_BYTES || kind == OPTION_DURATION ||
           kind == OPTION_FACTOR;
}

/* Bytes of its field. */
static size_t field_size(const struct option *option)
{
    switch (option->kind) {
    case OPTION_LIST:
    case OPTION_URLS:
        return option->size * option->max_count;
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_DURATION:
        return sizeof(uint64_t);
    case OPTION_FACTOR:
        return sizeof(double);
    case OPTION_TEXT:
    case OPTION_NAME:
    case OPTION_ENDPOINT:
    case OPTION_CHOICE:
        break;
    }
    return option->size;
}

static bool texts_differ(const struct option *option, const char *a, const char *b, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(a + i * option->size, b + i * option->size) != 0) {
            return true;
        }
    }
    return false;
}

bool options_differ(const struct option *option, const void *a, const void *b)
{
    const char *first = (const char *)a + option->offset;
    const char *second = (const char *)b + option->offset;
    uint32_t counts[2] = {1, 1};

    if (is_number(option->kind)) {
        return memcmp(first, second, field_size(option)) != 0;
    }
    if (option_is_list(option)) {
        memcpy(&counts[0], (const char *)a + option->count_offset, sizeof counts[0]);
        memcpy(&counts[1], (const char *)b + option->count_offset, sizeof counts[1]);
    }
    return counts[0] != counts[1] || texts_differ(option, first, second, counts[0]);
}

void options_copy(const struct option *option, const void *from, void *to)
{
    memcpy((char *)to + option->offset, (const char *)from + option->offset, field_size(option));
    if (option_is_list(option)) {
        memcpy((char *)to + option->count_offset, (const char *)from + option->count_offset,
               sizeof(uint32_t));
    }
}

bool option_missing(const struct option *option, const void *settings)
{
    const char *text = (const char *)settings + option->offset;

    if (is_number(option->kind) || option->min == 0) {
        return false;
    }
    if (option_is_list(option)) {
        return *(const uint32_t *)(const void *)((const char *)settings + option->count_offset) ==
               0;
    }
    return text[0] == '\0';
}
