/* The request is taken apart as a router takes it; names are looked up in one table. */
#include "cli/shadow/command.h"

#include <stdlib.h>
#include <strings.h>

enum { MOST_ARGUMENTS = 1 << 20 };

struct known {
    const char *name;
    enum shadow_kind kind;
    uint32_t first_key; /* among the arguments; 0: none */
    const char *word;   /* only with this as its first argument */
};

static const struct known table[] = {
    {"BF.ADD", SHADOW_ADD, 2, NULL},         {"BF.MADD", SHADOW_ADD, 2, NULL},
    {"BF.INSERT", SHADOW_ADD, 0, NULL},      {"BF.EXISTS", SHADOW_CHECK, 2, NULL},
    {"BF.MEXISTS", SHADOW_CHECK, 2, NULL},   {"BF.RESERVE", SHADOW_MAKE, 0, NULL},
    {"EXEC", SHADOW_EXEC, 0, NULL},          {"DISCARD", SHADOW_DISCARD, 0, NULL},
    {"SELECT", SHADOW_SELECT, 0, NULL},      {"RESET", SHADOW_RESET, 0, NULL},
    {"SUBSCRIBE", SHADOW_BLIND, 0, NULL},    {"PSUBSCRIBE", SHADOW_BLIND, 0, NULL},
    {"SSUBSCRIBE", SHADOW_BLIND, 0, NULL},   {"UNSUBSCRIBE", SHADOW_BLIND, 0, NULL},
    {"PUNSUBSCRIBE", SHADOW_BLIND, 0, NULL}, {"SUNSUBSCRIBE", SHADOW_BLIND, 0, NULL},
    {"MONITOR", SHADOW_BLIND, 0, NULL},      {"SYNC", SHADOW_BLIND, 0, NULL},
    {"PSYNC", SHADOW_BLIND, 0, NULL},        {"CLIENT", SHADOW_BLIND, 0, "REPLY"},
};

static bool is(struct span text, const char *word)
{
    return text.size == strlen(word) && strncasecmp((const char *)text.data, word, text.size) == 0;
}

static const struct known *look_up(const struct resp_request *request)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (is(request->arguments[0], table[i].name) &&
            (table[i].word == NULL ||
             (request->count > 1 && is(request->arguments[1], table[i].word)))) {
            return &table[i];
        }
    }
    return NULL;
}

/* The first item of BF.INSERT, whose options the server knows by their first letter. 0: none. */
static uint32_t first_item(const struct resp_request *request)
{
    uint32_t i = 2;

    while (i < request->count && request->arguments[i].size > 0) {
        switch (request->arguments[i].data[0] | 0x20) {
        case 'i':
            return i + 1;
        case 'n':
            i++;
            break;
        default:
            i += 2;
            break;
        }
    }
    return 0;
}

static uint32_t read_database(struct span text)
{
    char digits[12] = "";

    memcpy(digits, text.data, text.size < sizeof digits ? text.size : sizeof digits - 1);
    return (uint32_t)strtoul(digits, NULL, 10);
}

struct shadow_command shadow_command_read(struct resp_request *parser, struct span request)
{
    const struct resp_limits limits = {.max_arguments = MOST_ARGUMENTS,
                                       .max_bulk = SHADOW_REQUEST_BYTES,
                                       .max_request = SHADOW_REQUEST_BYTES,
                                       .max_line = SHADOW_REQUEST_BYTES};
    struct shadow_command command = {.kind = SHADOW_PLAIN};
    const struct known *known;
    enum resp_progress progress = resp_request_read(parser, &limits, request);
    uint32_t first;

    if (progress != RESP_REQUEST) {
        resp_request_fini(parser);
        resp_request_init(parser); /* The next one begins anew. */
        command.unread = progress == RESP_NOMEM;
        return command;
    }
    if (parser->count == 0) {
        return command;
    }
    known = look_up(parser);
    if (known == NULL) {
        return command;
    }
    if (known->kind == SHADOW_SELECT && parser->count > 1) {
        command.database = read_database(parser->arguments[1]);
    }
    if (known->kind == SHADOW_ADD || known->kind == SHADOW_CHECK) {
        first = known->first_key != 0 ? known->first_key : first_item(parser);
        if (first == 0 || first >= parser->count) {
            return command; /* Whatever the old server says of it. */
        }
        command.keys = parser->arguments + first;
        command.nkeys = parser->count - first;
    }
    if (parser->count > 1) {
        command.filter = parser->arguments[1];
    }
    command.kind = known->kind;
    return command;
}

/* The first argument, as far as it has come: behind "*3\r\n$6\r\n". */
static struct span name_of(struct span begin)
{
    struct span line;

    if (begin.size == 0 || begin.data[0] != '*') {
        return span_trim(begin);
    }
    if (!span_take_line(&begin, &line) || !span_take_line(&begin, &line)) {
        return span_of(NULL, 0);
    }
    return begin;
}

bool shadow_command_may_matter(struct span begin)
{
    struct span name = name_of(begin);
    size_t size = name.size < 3 ? name.size : 3;

    return size == 0 || strncasecmp((const char *)name.data, "BF.", size) == 0;
}
