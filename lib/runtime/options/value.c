/* From text to a field of the settings, kind by kind; and comparing and copying such fields for a
 * reload. */
#include "base/number.h"
#include "base/span.h"
#include "runtime/options/private.h"

#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT_MAX = 65535, OPTION_LINE_BYTES = 4096, NUMBER_MAX_CHARACTERS = 127 };

#define NAME_CHARACTERS     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"
#define NAME_MAX_CHARACTERS 128
#define SCOPE_CHARACTERS    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
#define SITE_CHARACTERS     "abcdefghijklmnopqrstuvwxyz0123456789-"
#define SITE_MAX_CHARACTERS 32

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

/* Between brackets, and maybe with the interface of a link-local one: "fe80::1%eth0". */
static bool ipv6_valid(const char *text, size_t size)
{
    const char *scope = memchr(text, '%', size);
    size_t length = scope != NULL ? (size_t)(scope - text) : size;
    char address[INET6_ADDRSTRLEN];
    struct in6_addr parsed;

    if (length >= sizeof address) {
        return false;
    }
    memcpy(address, text, length);
    address[length] = '\0';
    return inet_pton(AF_INET6, address, &parsed) == 1 &&
           (scope == NULL ||
            (size - length > 1 && strspn(scope + 1, SCOPE_CHARACTERS) >= size - length - 1));
}

static bool host_valid(const char *host, size_t size, bool link)
{
    if (size == 1 && host[0] == '*') {
        return !link;
    }
    if (size > 2 && host[0] == '[' && host[size - 1] == ']') {
        return ipv6_valid(host + 1, size - 2);
    }
    for (size_t i = 0; i < size; i++) {
        if (!isalnum((unsigned char)host[i]) && strchr("._-", host[i]) == NULL) {
            return false;
        }
    }
    return size > 0;
}

/* tcp://HOST:PORT; a link needs a real host and port, a server may have "*" for both. */
static bool endpoint_valid(const char *text, bool link)
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

bool options_endpoints_clash(const char *a, const char *b)
{
    const char *port_a = strrchr(a, ':');
    const char *port_b = strrchr(b, ':');
    bool any = options_endpoint_is_any_host(a) || options_endpoint_is_any_host(b);
    bool one = port_a != NULL && port_b != NULL && port_valid(port_a + 1, true) &&
               port_valid(port_b + 1, true) &&
               strtoul(port_a + 1, NULL, 10) == strtoul(port_b + 1, NULL, 10);

    return one && (any || (port_a - a == port_b - b && memcmp(a, b, (size_t)(port_a - a)) == 0));
}

bool options_endpoint_is_loopback(const char *endpoint)
{
    const char *host = strstr(endpoint, "://") + 3; /* The option's kind has it. */
    const char *colon = strrchr(host, ':');
    char text[INET6_ADDRSTRLEN];
    struct in_addr address;

    if (colon == NULL || (size_t)(colon - host) >= sizeof text) {
        return false;
    }
    memcpy(text, host, (size_t)(colon - host));
    text[colon - host] = '\0';
    return strcmp(text, "localhost") == 0 || strcmp(text, "[::1]") == 0 ||
           (inet_pton(AF_INET, text, &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

bool options_endpoint_is_wildcard(const char *endpoint)
{
    return options_endpoint_is_any_host(endpoint) || !endpoint_valid(endpoint, true);
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

    for (const char *at = range; size > 0 && at != NULL;) {
        const char *end = strstr(at, separator);

        if (size == (end != NULL ? (size_t)(end - at) : strlen(at)) &&
            memcmp(at, text, size) == 0) {
            return true;
        }
        at = end != NULL ? end + sizeof separator - 1 : NULL;
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

/* Always STATUS_INVALID. */
static enum status refuse(struct option_wrong *wrong, enum option_fault fault, const char *text)
{
    wrong->fault = fault;
    (void)snprintf(wrong->text, sizeof wrong->text, "%.*s", (int)sizeof wrong->text - 1, text);
    return STATUS_INVALID;
}

static enum status refuse_long(struct option_wrong *wrong, size_t limit, const char *text)
{
    wrong->limit = limit;
    return refuse(wrong, OPTION_LONG, text);
}

/* ---- texts ---- */

static bool name_valid(const char *text)
{
    return text[0] != '\0' && strlen(text) <= NAME_MAX_CHARACTERS &&
           strspn(text, NAME_CHARACTERS) == strlen(text);
}

static bool site_valid(const char *text)
{
    return text[0] != '\0' && strlen(text) <= SITE_MAX_CHARACTERS &&
           strspn(text, SITE_CHARACTERS) == strlen(text);
}

static bool text_valid(const struct option *option, const char *text)
{
    switch (option->kind) {
    case OPTION_NAME:
        return name_valid(text);
    case OPTION_SITE:
        return site_valid(text);
    case OPTION_ENDPOINT:
        return endpoint_valid(text, false);
    case OPTION_LIST:
        return endpoint_valid(text, true);
    case OPTION_URLS:
        return url_valid(text);
    case OPTION_CHOICE:
        return choice_valid(option->range, text);
    case OPTION_TEXT:
    case OPTION_TEXTS:
        return true;
    case OPTION_SWITCH:
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_DURATION:
    case OPTION_FACTOR:
    case OPTION_RATE:
    case OPTION_COUNTS:
    case OPTION_RATES:
        break;
    }
    return false;
}

static enum status copy_text(const struct option *option, const char *text, char *out,
                             struct option_wrong *wrong)
{
    if (strlen(text) >= option->size) {
        return refuse_long(wrong, option->size - 1, text);
    }
    if (!printable(text)) {
        return refuse(wrong, OPTION_CONTROL, text);
    }
    if (!text_valid(option, text)) {
        return refuse(wrong, OPTION_MALFORMED, text);
    }
    memcpy(out, text, strlen(text) + 1);
    return STATUS_OK;
}

/* A word of the command line may hold any byte, as a key or a file's name does. */
static enum status borrow_text(const struct option *option, const char *text, const char **out,
                               struct option_wrong *wrong)
{
    bool accepted = option->accepts == NULL || option->accepts(text);

    *out = text;
    if (text[0] == '\0' || !accepted || !text_valid(option, text)) {
        return refuse(wrong, OPTION_MALFORMED, text);
    }
    return STATUS_OK;
}

static enum status set_text(const struct option *option, const char *text, void *place,
                            struct option_wrong *wrong)
{
    return option->size > 0 ? copy_text(option, text, place, wrong)
                            : borrow_text(option, text, place, wrong);
}

/* ---- numbers ---- */

static bool automatic(const struct option *option, const char *text)
{
    static const char word[] = "auto";

    return (option->kind == OPTION_BYTES || option->kind == OPTION_DURATION) &&
           option->value != NULL && strcmp(option->value, word) == 0 && strcmp(text, word) == 0;
}

static enum status set_number(const struct option *option, const char *text, uint64_t *out,
                              struct option_wrong *wrong)
{
    bool is_duration = option->kind == OPTION_DURATION;
    uint64_t number = 0;

    if (automatic(option, text)) {
        *out = 0;
        return STATUS_OK;
    }
    if ((is_duration ? number_parse_duration(text, &number) : number_parse_count(text, &number)) !=
        STATUS_OK) {
        return refuse(wrong, OPTION_MALFORMED, text);
    }
    if (number < option->min || number > option->max) {
        return refuse(wrong, OPTION_OUTSIDE, text);
    }
    *out = number;
    return STATUS_OK;
}

static enum status set_fraction(const struct option *option, const char *text, double *out,
                                struct option_wrong *wrong)
{
    bool is_factor = option->kind == OPTION_FACTOR;
    double one = is_factor ? OPTION_FACTOR_ONE : OPTION_RATE_ONE;
    double number;

    if (number_parse_rate(text, &number) != STATUS_OK || (is_factor && strchr(text, '%') != NULL)) {
        return refuse(wrong, OPTION_MALFORMED, text);
    }
    /* Divided, a bound is the very number that its text is read as. */
    if (number < (double)option->min / one || number > (double)option->max / one) {
        return refuse(wrong, OPTION_OUTSIDE, text);
    }
    *out = number;
    return STATUS_OK;
}

/* ---- lists ---- */

/* Bytes of an element, or of the field that is no list. */
static size_t element_size(const struct option *option)
{
    switch (option->kind) {
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_DURATION:
    case OPTION_COUNTS:
        return sizeof(uint64_t);
    case OPTION_FACTOR:
    case OPTION_RATE:
    case OPTION_RATES:
        return sizeof(double);
    case OPTION_SWITCH:
        return sizeof(bool);
    case OPTION_TEXT:
    case OPTION_TEXTS:
    case OPTION_NAME:
    case OPTION_SITE:
    case OPTION_ENDPOINT:
    case OPTION_LIST:
    case OPTION_URLS:
    case OPTION_CHOICE:
        break;
    }
    return option->size > 0 ? option->size : sizeof(const char *);
}

/* An element, or the field of what is no list. */
static enum status set_element(const struct option *option, const char *text, void *place,
                               struct option_wrong *wrong)
{
    switch (option->kind) {
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_DURATION:
    case OPTION_COUNTS:
        return set_number(option, text, place, wrong);
    case OPTION_FACTOR:
    case OPTION_RATE:
    case OPTION_RATES:
        return set_fraction(option, text, place, wrong);
    case OPTION_TEXT:
    case OPTION_TEXTS:
    case OPTION_NAME:
    case OPTION_SITE:
    case OPTION_ENDPOINT:
    case OPTION_LIST:
    case OPTION_URLS:
    case OPTION_CHOICE:
        return set_text(option, text, place, wrong);
    case OPTION_SWITCH:
        break;
    }
    return STATUS_INTERNAL;
}

void option_list_clear(const struct option *option, void *settings)
{
    *list_count(option, settings) = 0;
}

enum status option_list_append(const struct option *option, const char *text, void *settings,
                               struct option_wrong *wrong)
{
    uint32_t *count = list_count(option, settings);
    char *place = (char *)field(option, settings) + *count * element_size(option);
    enum status status;

    assert(option_is_list(option) && *count <= option->max_count);
    if (*count == option->max_count) {
        return refuse(wrong, OPTION_MANY, text);
    }
    status = set_element(option, text, place, wrong);
    if (status == STATUS_OK) {
        (*count)++;
    }
    return status;
}

/* Bytes that a whole list of texts, or one number of a list, may have. */
static size_t line_limit(const struct option *option)
{
    return option_is_text(option) ? OPTION_LINE_BYTES - 1 : NUMBER_MAX_CHARACTERS;
}

/* Appends the item at the start of `text`, which is `size` bytes long. */
static enum status append_item(const struct option *option, const char *text, size_t size,
                               void *settings, struct option_wrong *wrong)
{
    char item[OPTION_LINE_BYTES];

    (void)snprintf(item, sizeof item, "%.*s", (int)size, text);
    if (size > line_limit(option)) {
        return refuse(wrong, OPTION_MALFORMED, item);
    }
    return option_list_append(option, item, settings, wrong);
}

static enum status set_list(const struct option *option, const char *text, void *settings,
                            struct option_wrong *wrong)
{
    enum status status = STATUS_OK;

    if (option_is_text(option) && strlen(text) > line_limit(option)) {
        return refuse_long(wrong, line_limit(option), text);
    }
    wrong->alone = strchr(text, ',') == NULL;
    option_list_clear(option, settings);
    for (const char *at = text; status == STATUS_OK && at != NULL;) {
        size_t size = strcspn(at, ",");

        wrong->item = *list_count(option, settings);
        status = append_item(option, at, size, settings, wrong);
        at = at[size] == ',' ? at + size + 1 : NULL;
    }
    return status;
}

enum status option_set(const struct option *option, const char *text, void *settings,
                       struct option_wrong *wrong)
{
    wrong->item = 0;
    wrong->alone = true;
    if (option->kind == OPTION_TEXTS) {
        return option_list_append(option, text, settings, wrong); /* It may have commas. */
    }
    return option_is_list(option) ? set_list(option, text, settings, wrong)
                                  : set_element(option, text, field(option, settings), wrong);
}

bool option_is_list(const struct option *option)
{
    return option->kind == OPTION_LIST || option->kind == OPTION_URLS ||
           option->kind == OPTION_COUNTS || option->kind == OPTION_RATES ||
           option->kind == OPTION_TEXTS;
}

bool option_is_text(const struct option *option)
{
    switch (option->kind) {
    case OPTION_TEXT:
    case OPTION_TEXTS:
    case OPTION_NAME:
    case OPTION_SITE:
    case OPTION_ENDPOINT:
    case OPTION_LIST:
    case OPTION_URLS:
    case OPTION_CHOICE:
        return true;
    case OPTION_SWITCH:
    case OPTION_COUNT:
    case OPTION_BYTES:
    case OPTION_DURATION:
    case OPTION_FACTOR:
    case OPTION_RATE:
    case OPTION_COUNTS:
    case OPTION_RATES:
        break;
    }
    return false;
}

/* ---- two settings ---- */

static size_t field_size(const struct option *option)
{
    return element_size(option) * (option_is_list(option) ? option->max_count : 1);
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

    if (option_is_list(option)) {
        memcpy(&counts[0], (const char *)a + option->count_offset, sizeof counts[0]);
        memcpy(&counts[1], (const char *)b + option->count_offset, sizeof counts[1]);
    }
    if (counts[0] != counts[1]) {
        return true;
    }
    if (option_is_text(
            option)) { /* Behind a text's end its field may hold what was there before. */
        return texts_differ(option, first, second, counts[0]);
    }
    return memcmp(first, second, counts[0] * element_size(option)) != 0;
}

void options_copy(const struct option *option, const void *from, void *to)
{
    memcpy((char *)to + option->offset, (const char *)from + option->offset, field_size(option));
    if (option_is_list(option)) {
        memcpy((char *)to + option->count_offset, (const char *)from + option->count_offset,
               sizeof(uint32_t));
    }
}

bool option_empty(const struct option *option, const void *settings)
{
    const char *place = (const char *)settings + option->offset;

    if (option_is_list(option)) {
        return *(const uint32_t *)(const void *)((const char *)settings + option->count_offset) ==
               0;
    }
    if (!option_is_text(option)) {
        return false;
    }
    return option->size > 0 ? place[0] == '\0' : *(const char *const *)(const void *)place == NULL;
}
