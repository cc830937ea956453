/* What clients ask and say of their connection. */
#include "router/resp/private.h"

#include <stdio.h>
#include <string.h>

COMMAND(ping)
{
    struct resp_writer writer;
    struct call *call;

    if (count > 2) {
        return answer_arity(self, session, "ping");
    }
    call = call_now(self, session, &writer);
    if (call == NULL) {
        return TAKEN_DONE;
    }
    if (count == 1) {
        resp_simple(&writer, "PONG");
    } else {
        resp_bulk(&writer, arguments[1]);
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

COMMAND(echo)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    (void)count;
    if (call != NULL) {
        resp_bulk(&writer, arguments[1]);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

COMMAND(auth)
{
    (void)arguments;
    if (count > 3) {
        return answer_error(self, session, "ERR syntax error");
    }
    return answer_error(self, session,
                        "ERR AUTH <password> called without any password configured for the "
                        "default user. Are you sure your configuration is correct?");
}

COMMAND(select)
{
    int64_t database;

    (void)count;
    if (!argument_integer(arguments[1], INT64_MIN, INT64_MAX, &database)) {
        return answer_error(self, session, "ERR value is not an integer or out of range");
    }
    if (database < 0 || database > 15) {
        return answer_error(self, session, "ERR DB index is out of range");
    }
    return answer_ok(self, session);
}

COMMAND(quit)
{
    (void)arguments;
    (void)count;
    (void)answer_ok(self, session);
    session_close(self, session);
    return TAKEN_DONE;
}

static void forget_queue(struct session *session)
{
    session->multi = false;
    session->multi_broken = false;
    session->nqueued = 0;
    buffer_fini(&session->queued); /* It may be large. */
}

COMMAND(reset)
{
    (void)arguments;
    (void)count;
    forget_queue(session);
    session->resp3 = false;
    session->label[0] = '\0';
    return answer_simple(self, session, "RESET");
}

/* ---- HELLO ---- */

/* A name that can stand in a line of CLIENT LIST. */
static bool take_label(struct span text, char label[FRONT_LABEL_BYTES])
{
    if (text.size >= FRONT_LABEL_BYTES) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] <= ' ' || text.data[i] >= 127) {
            return false;
        }
    }
    memcpy(label, text.data, text.size);
    label[text.size] = '\0';
    return true;
}

#define LABEL_MESSAGE                                                                              \
    "ERR Client names cannot contain spaces, newlines or special characters, and have at most 63 " \
    "bytes"

static enum taken say_hello(struct front *self, struct session *session)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call == NULL) {
        return TAKEN_DONE;
    }
    resp_map(&writer, 7);
    resp_text(&writer, "server");
    resp_text(&writer, "redis");
    resp_text(&writer, "version");
    resp_text(&writer, REDIS_VERSION);
    resp_text(&writer, "proto");
    resp_integer(&writer, session->resp3 ? 3 : 2);
    resp_text(&writer, "id");
    resp_integer(&writer, (int64_t)session->id);
    resp_text(&writer, "mode");
    resp_text(&writer, "standalone");
    resp_text(&writer, "role");
    resp_text(&writer, "master");
    resp_text(&writer, "modules");
    resp_array(&writer, 1);
    resp_map(&writer, 2);
    resp_text(&writer, "name");
    resp_text(&writer, "bf");
    resp_text(&writer, "ver");
    resp_integer(&writer, 20612);
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

COMMAND(hello)
{
    char label[FRONT_LABEL_BYTES] = "";
    bool named = false;
    int64_t version = session->resp3 ? 3 : 2;

    if (count > 1 && !argument_integer(arguments[1], INT64_MIN, INT64_MAX, &version)) {
        return answer_error(self, session,
                            "ERR Protocol version is not an integer or out of range");
    }
    if (version < 2 || version > 3) {
        return answer_error(self, session, "NOPROTO unsupported protocol version");
    }
    for (uint32_t i = 2; i < count; i++) {
        if (command_word(arguments[i], "setname") && i + 1 < count) {
            named = true;
            if (!take_label(arguments[++i], label)) {
                return answer_error(self, session, LABEL_MESSAGE);
            }
        } else if (command_word(arguments[i], "auth") && i + 2 < count) {
            return command_auth(self, session, arguments, 2);
        } else {
            return answer_error(self, session, "ERR Syntax error in HELLO");
        }
    }
    session->resp3 = version == 3;
    if (named) {
        (void)snprintf(session->label, sizeof session->label, "%s", label);
    }
    return say_hello(self, session);
}

/* ---- CLIENT ---- */

static void write_client(const struct front *self, const struct session *session, char *text,
                         size_t size)
{
    (void)snprintf(text, size,
                   "id=%llu addr=%s name=%s age=%llu idle=%llu db=0 multi=%d resp=%d lib-name=%s "
                   "lib-ver=%s\n",
                   (unsigned long long)session->id, session->peer, session->label,
                   (unsigned long long)((self->now_us - session->opened_us) / 1000000),
                   (unsigned long long)((self->now_us - session->active_us) / 1000000),
                   session->multi ? (int)session->nqueued : -1, session->resp3 ? 3 : 2,
                   session->library, session->version);
}

static enum taken list_clients(struct front *self, struct session *session, bool all)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);
    struct buffer text;
    const struct session *one;
    char line[6 * FRONT_LABEL_BYTES];

    if (call == NULL) {
        return TAKEN_DONE;
    }
    buffer_init(&text, FRONT_QUEUED_BYTES);
    TAILQ_FOREACH(one, &self->sessions, entry)
    {
        if (all || one == session) {
            write_client(self, one, line, sizeof line);
            if (buffer_append(&text, span_text(line)) != STATUS_OK) {
                break; /* As many as fit. */
            }
        }
    }
    resp_bulk(&writer, buffer_span(&text));
    buffer_fini(&text);
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static enum taken set_info(struct front *self, struct session *session,
                           const struct span *arguments)
{
    bool name = command_word(arguments[2], "lib-name");

    if (!name && !command_word(arguments[2], "lib-ver")) {
        return answer_error(self, session, "ERR Unrecognized option for CLIENT SETINFO");
    }
    return take_label(arguments[3], name ? session->library : session->version)
               ? answer_ok(self, session)
               : answer_error(self, session, LABEL_MESSAGE);
}

static enum taken get_name(struct front *self, struct session *session)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call == NULL) {
        return TAKEN_DONE;
    }
    if (session->label[0] != '\0') {
        resp_text(&writer, session->label);
    } else {
        resp_null(&writer);
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

COMMAND(client)
{
    struct span what = arguments[1];
    char text[FRONT_MESSAGE_BYTES];
    int size = what.size < 128 ? (int)what.size : 128;

    if (command_word(what, "setinfo") && count == 4) {
        return set_info(self, session, arguments);
    }
    if (command_word(what, "setname") && count == 3) {
        return take_label(arguments[2], session->label)
                   ? answer_ok(self, session)
                   : answer_error(self, session, LABEL_MESSAGE);
    }
    if (command_word(what, "getname") && count == 2) {
        return get_name(self, session);
    }
    if (command_word(what, "id") && count == 2) {
        return answer_integer(self, session, (int64_t)session->id);
    }
    if (command_word(what, "list") || command_word(what, "info")) {
        return list_clients(self, session, command_word(what, "list"));
    }
    if ((command_word(what, "no-evict") || command_word(what, "no-touch")) && count == 3) {
        return answer_ok(self, session);
    }
    (void)snprintf(text, sizeof text, "ERR unknown subcommand '%.*s'. Try CLIENT HELP.", size,
                   (const char *)what.data);
    return answer_error(self, session, text);
}

/* ---- about the server ---- */

static enum taken answer_nothing(struct front *self, struct session *session, bool map)
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

COMMAND(command)
{
    size_t commands;

    (void)command_table(&commands);
    if (count == 2 && command_word(arguments[1], "count")) {
        return answer_integer(self, session, (int64_t)commands);
    }
    return answer_nothing(self, session, count > 1 && command_word(arguments[1], "docs"));
}

COMMAND(config)
{
    if (count >= 3 && command_word(arguments[1], "get")) {
        return answer_nothing(self, session, true);
    }
    return answer_error(self, session,
                        "ERR options are set in the router's configuration file; see "
                        "docs/configuration.md");
}

/* ---- transactions ---- */

COMMAND(multi)
{
    (void)arguments;
    (void)count;
    if (session->multi) {
        bool broken = session->multi_broken;

        (void)answer_error(self, session, "ERR MULTI calls can not be nested");
        session->multi_broken = broken; /* Peers go on, too. */
        return TAKEN_DONE;
    }
    session->multi = true;
    return answer_ok(self, session);
}

COMMAND(discard)
{
    (void)arguments;
    (void)count;
    if (!session->multi) {
        return answer_error(self, session, "ERR DISCARD without MULTI");
    }
    forget_queue(session);
    return answer_ok(self, session);
}

/* What was queued goes before what has come since. */
static bool put_first(struct session *session)
{
    struct buffer joined;
    struct span rest = span_of(session->input.data + session->taken,
                               session->input.size - session->taken);

    buffer_init(&joined, session->input.max);
    if (buffer_append(&joined, buffer_span(&session->queued)) != STATUS_OK ||
        buffer_append(&joined, rest) != STATUS_OK) {
        buffer_fini(&joined);
        return false;
    }
    buffer_fini(&session->input);
    session->input = joined;
    session->taken = 0;
    return true;
}

COMMAND(exec)
{
    struct resp_writer writer;
    struct call *call;
    uint32_t nqueued = session->nqueued;

    (void)arguments;
    (void)count;
    if (!session->multi) {
        return answer_error(self, session, "ERR EXEC without MULTI");
    }
    session->multi = false;
    if (session->multi_broken || !put_first(session)) {
        forget_queue(session);
        return answer_error(self, session,
                            "EXECABORT Transaction discarded because of previous errors.");
    }
    forget_queue(session);
    call = call_now(self, session, &writer);
    if (call != NULL) {
        resp_array(&writer, nqueued);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}
