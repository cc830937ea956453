/* Which command it is, whether it may be taken now, and what all of them have in common. */
#include "router/resp/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW(name, arity, flags, run, help) \
    {                                      \
        name, arity, flags, run, help      \
    }

static const struct command table[] = {
    ROW("auth", -2, COMMAND_UNQUEUED, command_auth, "no password is set: an error"),
    ROW("bf.add", 3, COMMAND_KEYS, command_bf_add, "add an item; 1: it is new"),
    ROW("bf.card", 2, COMMAND_WAITS, command_bf_card, "about how many items a filter holds"),
    ROW("bf.del", -2, 0, command_bf_del, "not possible: an error says so"),
    ROW("bf.exists", 3, COMMAND_KEYS, command_bf_exists, "0: the item was never added"),
    ROW("bf.info", -2, COMMAND_WAITS, command_bf_info, "capacity, size and items of a filter"),
    ROW("bf.insert", -4, COMMAND_KEYS, command_bf_insert, "add items, making the filter as asked"),
    ROW("bf.loadchunk", 4, COMMAND_WAITS, command_bf_loadchunk, "a chunk of a dump, into a copy"),
    ROW("bf.madd", -3, COMMAND_KEYS, command_bf_madd, "add items; 1: new"),
    ROW("bf.mexists", -3, COMMAND_KEYS, command_bf_mexists, "look items up"),
    ROW("bf.reserve", -4, COMMAND_WAITS, command_bf_reserve, "make a filter"),
    ROW("bf.scandump", 3, COMMAND_WAITS, command_bf_scandump, "a filter's dump, chunk by chunk"),
    ROW("client", -2, 0, command_client, "names and ids of connections"),
    ROW("command", -1, 0, command_command, "COUNT; anything else: an empty list"),
    ROW("config", -2, 0, command_config, "GET: an empty list"),
    ROW("dbsize", 1, COMMAND_WAITS, command_dbsize, "how many filters there are"),
    ROW("del", -2, COMMAND_WAITS, command_del, "drop filters"),
    ROW("discard", 1, COMMAND_UNQUEUED, command_discard, "forget the queued commands"),
    ROW("echo", 2, 0, command_echo, "the text again"),
    ROW("exec", 1, COMMAND_UNQUEUED | COMMAND_WAITS, command_exec, "run the queued commands"),
    ROW("exists", -2, COMMAND_WAITS, command_exists, "how many of these filters there are"),
    ROW("hello", -1, COMMAND_UNQUEUED | COMMAND_WAITS, command_hello,
        "choose version 2 or 3 of the protocol"),
    ROW("info", -1, 0, command_info, "this router and its counters"),
    ROW("keys", 2, COMMAND_WAITS, command_keys, "names of filters that match"),
    ROW("multi", 1, COMMAND_UNQUEUED, command_multi, "queue what follows until EXEC"),
    ROW("ping", -1, 0, command_ping, "PONG, or the text again"),
    ROW("quit", -1, COMMAND_UNQUEUED, command_quit, "close the connection"),
    ROW("reset", 1, COMMAND_UNQUEUED | COMMAND_WAITS, command_reset, "the connection as it began"),
    ROW("scan", -2, COMMAND_WAITS, command_scan, "names of filters, all in one page"),
    ROW("select", 2, 0, command_select, "accepted; there is one database"),
    ROW("type", 2, COMMAND_WAITS, command_type, "MBbloom-- or none"),
    ROW("unlink", -2, COMMAND_WAITS, command_del, "drop filters"),
};

const struct command *command_table(size_t *count)
{
    *count = sizeof table / sizeof table[0];
    return table;
}

bool command_word(struct span argument, const char *word)
{
    size_t size = strlen(word);

    if (argument.size != size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = argument.data[i];

        byte = byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte | 0x20) : byte;
        if (byte != (uint8_t)word[i]) {
            return false;
        }
    }
    return true;
}

const struct command *command_find(struct span name)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (command_word(name, table[i].name)) {
            return &table[i];
        }
    }
    return NULL;
}

/* ---- arguments ---- */

bool argument_integer(struct span text, int64_t least, int64_t most, int64_t *value)
{
    char copy[24];
    char *end;

    if (text.size == 0 || text.size >= sizeof copy ||
        !(text.data[0] == '-' || (text.data[0] >= '0' && text.data[0] <= '9'))) {
        return false;
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *value = strtoll(copy, &end, 10);
    return end == copy + text.size && *value >= least && *value <= most;
}

bool argument_double(struct span text, double *value)
{
    char copy[64];
    char *end;

    if (text.size == 0 || text.size >= sizeof copy || text.data[0] <= ' ') {
        return false;
    }
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    *value = strtod(copy, &end);
    return end == copy + text.size && isfinite(*value);
}

bool argument_name(struct span text, char name[DOCUMENT_NAME_BYTES])
{
    if (text.size >= DOCUMENT_NAME_BYTES || !document_name_valid(text)) {
        return false;
    }
    memcpy(name, text.data, text.size);
    name[text.size] = '\0';
    return true;
}

/* ---- answers that are known at once ---- */

enum taken answer_simple(struct front *self, struct session *session, const char *text)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_simple(&writer, text);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

enum taken answer_ok(struct front *self, struct session *session)
{
    return answer_simple(self, session, "OK");
}

enum taken answer_error(struct front *self, struct session *session, const char *text)
{
    struct call *call = call_begin(self, session);

    session->multi_broken = session->multi_broken || session->multi;
    if (call != NULL) {
        call_fail(self, call, text);
    }
    return TAKEN_DONE;
}

enum taken answer_integer(struct front *self, struct session *session, int64_t value)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_integer(&writer, value);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

enum taken answer_arity(struct front *self, struct session *session, const char *name)
{
    char text[FRONT_MESSAGE_BYTES];

    (void)snprintf(text, sizeof text, "ERR wrong number of arguments for '%s' command", name);
    return answer_error(self, session, text);
}

/* ---- taking one ---- */

/* "'a' 'b' ", as far as it fits: peers show that much, too. */
static void show_arguments(const struct span *arguments, uint32_t count, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < count && used + 3 < size && used < 128; i++) {
        size_t left = size - used;
        int shown = arguments[i].size < 64 ? (int)arguments[i].size : 64;
        int put = snprintf(text + used, left, "'%.*s' ", shown, (const char *)arguments[i].data);

        used += put > 0 && (size_t)put < left ? (size_t)put : left - 1;
    }
}

static enum taken refuse_unknown(struct front *self, struct session *session,
                                 const struct span *arguments, uint32_t count)
{
    char shown[FRONT_MESSAGE_BYTES / 2];
    char text[FRONT_MESSAGE_BYTES];
    int size = arguments[0].size < 128 ? (int)arguments[0].size : 128;

    show_arguments(arguments + 1, count - 1, shown, sizeof shown);
    (void)snprintf(text, sizeof text, "ERR unknown command '%.*s', with args beginning with: %s",
                   size, (const char *)arguments[0].data, shown);
    return answer_error(self, session, text);
}

/* Kept as it would have come: EXEC puts it before what comes then. */
static enum taken queue(struct front *self, struct session *session, const struct span *arguments,
                        uint32_t count)
{
    struct resp_writer writer = {.out = &session->queued};

    if (session->multi_broken) { /* Nothing of it will run. */
        buffer_fini(&session->queued);
        return answer_simple(self, session, "QUEUED");
    }
    resp_array(&writer, count);
    for (uint32_t i = 0; i < count; i++) {
        resp_bulk(&writer, arguments[i]);
    }
    if (writer.failed) {
        return answer_error(self, session, "ERR the transaction is too large");
    }
    session->nqueued++;
    return answer_simple(self, session, "QUEUED");
}

static bool must_wait(const struct session *session, const struct command *command)
{
    bool queued = session->multi && (command->flags & COMMAND_UNQUEUED) == 0;

    return (command->flags & COMMAND_WAITS) != 0 && !queued && session->first != NULL;
}

enum taken command_take(struct front *self, struct session *session, const struct span *arguments,
                        uint32_t count)
{
    const struct command *command = command_find(arguments[0]);

    if (command != NULL && must_wait(session, command)) {
        return TAKEN_WAIT;
    }
    if (command == NULL) {
        front_count(self, FRONT_resp_commands_total);
        return refuse_unknown(self, session, arguments, count);
    }
    if (command->arity >= 0 ? count != (uint32_t)command->arity
                            : count < (uint32_t)-command->arity) {
        front_count(self, FRONT_resp_commands_total);
        return answer_arity(self, session, command->name);
    }
    if (session->multi && (command->flags & COMMAND_UNQUEUED) == 0) {
        front_count(self, FRONT_resp_commands_total);
        return queue(self, session, arguments, count);
    }
    if (command->run(self, session, arguments, count) == TAKEN_WAIT) {
        return TAKEN_WAIT;
    }
    front_count(self, FRONT_resp_commands_total);
    return TAKEN_DONE;
}
