/* Which command it is, whether it may be taken now, and what all of them have in common. */
#include "router/resp/command.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    errno = 0;
    *value = strtoll(copy, &end, 10);
    return errno == 0 && end == copy + text.size && *value >= least && *value <= most;
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

enum taken answer_text(struct front *self, struct session *session, const char *text)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_text(&writer, text);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

enum taken answer_empty(struct front *self, struct session *session, bool map)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        if (map) {
            resp_map(&writer, 0);
        } else {
            resp_array(&writer, 0);
        }
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

/* ---- by a second word ---- */

static bool arity_fits(int arity, uint32_t count)
{
    return arity >= 0 ? count == (uint32_t)arity : count >= (uint32_t)-arity;
}

void command_upper(const char *name, char upper[FRONT_LABEL_BYTES])
{
    size_t size = 0;

    for (; name[size] != '\0' && size + 1 < FRONT_LABEL_BYTES; size++) {
        bool lower = name[size] >= 'a' && name[size] <= 'z';

        upper[size] = (char)(lower ? name[size] - 0x20 : name[size]);
    }
    upper[size] = '\0';
}

static enum taken refuse_subcommand(struct front *self, struct session *session, struct span name,
                                    const char *command)
{
    char text[FRONT_MESSAGE_BYTES];
    char upper[FRONT_LABEL_BYTES];

    command_upper(command, upper);
    (void)snprintf(text, sizeof text, "ERR unknown subcommand '%.*s'. Try %s HELP.",
                   name.size < 128 ? (int)name.size : 128, (const char *)name.data, upper);
    return answer_error(self, session, text);
}

enum taken subcommand_run(struct front *self, struct session *session, const struct span *arguments,
                          uint32_t count, const struct subcommand *table, size_t size)
{
    const char *command = command_find(arguments[0])->name;
    char name[FRONT_LABEL_BYTES];

    for (size_t i = 0; i < size; i++) {
        if (!command_word(arguments[1], table[i].name)) {
            continue;
        }
        if (arity_fits(table[i].arity, count)) {
            return table[i].run(self, session, arguments, count);
        }
        (void)snprintf(name, sizeof name, "%s|%s", command, table[i].name);
        return answer_arity(self, session, name);
    }
    if (command_word(arguments[1], "help")) {
        (void)snprintf(name, sizeof name, "%s|help", command);
        return count == 2 ? answer_help(self, session, command, table, size)
                          : answer_arity(self, session, name);
    }
    return refuse_subcommand(self, session, arguments[1], command);
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

/* A web page may have a browser send what it likes to a port of this machine, behind a head of
 * HTTP. Redis ends such a connection at the same words. */
static bool is_web(struct span name)
{
    return command_word(name, "post") || command_word(name, "host:");
}

static enum taken refuse_web(struct front *self, struct session *session)
{
    front_count(self, FRONT_resp_broken_total);
    log_limited(&self->broken_limit, self->now_us, LOG_WARN,
                "closes the connection of %s: it speaks HTTP", session->peer);
    session_close(self, session);
    return answer_error(self, session, "ERR this is no HTTP server");
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

/* What changes filters themselves is settled before anything else looks at one. */
static bool must_wait(const struct session *session, const struct command *command)
{
    bool queued = session->multi && (command->flags & COMMAND_UNQUEUED) == 0;
    bool looks = (command->flags & (COMMAND_READS | COMMAND_WRITES)) != 0;
    bool waits = (command->flags & COMMAND_WAITS) != 0 || (session->changing && looks);

    return waits && !queued && session->first != NULL;
}

static bool changes_filters(const struct command *command)
{
    return (command->flags & COMMAND_WRITES) != 0 && (command->flags & COMMAND_WAITS) != 0;
}

/* A Redis command does not say for how long it is wanted. If the router was stopped for longer than
 * it serves any command, the client may have given this one up and done it elsewhere since. */
static bool is_late(const struct front *self, const struct command *command)
{
    return (command->flags & COMMAND_WRITES) != 0 && self->waited_us >= self->config.timeout_us;
}

static enum taken refuse_late(struct front *self, struct session *session)
{
    return answer_error(self, session,
                        "DEADLINE this router was stopped while the command waited; nothing was "
                        "changed, send it again if it is still meant");
}

/* Others are not even told which commands there are. */
static bool is_for_strangers(const struct command *command)
{
    return command != NULL && (command->flags & COMMAND_STRANGERS) != 0;
}

enum taken command_take(struct front *self, struct session *session, const struct span *arguments,
                        uint32_t count)
{
    const struct command *command = command_find(arguments[0]);

    session->changing = session->changing && session->first != NULL;
    if (command == NULL && is_web(arguments[0])) {
        return refuse_web(self, session);
    }
    if (session->stranger && !is_for_strangers(command)) {
        front_count(self, FRONT_resp_commands_total);
        return answer_error(self, session, "NOAUTH Authentication required.");
    }
    if (command != NULL && must_wait(session, command)) {
        return TAKEN_WAIT;
    }
    if (command == NULL) {
        front_count(self, FRONT_resp_commands_total);
        return refuse_unknown(self, session, arguments, count);
    }
    if (!arity_fits(command->arity, count)) {
        front_count(self, FRONT_resp_commands_total);
        return answer_arity(self, session, command->name);
    }
    if (session->multi && (command->flags & COMMAND_UNQUEUED) == 0) {
        front_count(self, FRONT_resp_commands_total);
        return queue(self, session, arguments, count);
    }
    if (is_late(self, command)) {
        front_count(self, FRONT_resp_commands_total);
        return refuse_late(self, session);
    }
    if (command->run(self, session, arguments, count) == TAKEN_WAIT) {
        return TAKEN_WAIT;
    }
    session->changing = session->changing || changes_filters(command);
    front_count(self, FRONT_resp_commands_total);
    return TAKEN_DONE;
}
