/* What clients ask and say of their connection: who they are, and which commands belong together.
 */
#include "router/resp/command.h"

#include <stdio.h>
#include <string.h>

/* ---- who it is ---- */

static bool read_auth(const struct span *arguments, uint32_t count, struct login_words *words)
{
    if (count > 3) {
        return false;
    }
    words->user = count == 3 ? arguments[1] : span_text(USER_DEFAULT);
    words->password = arguments[count - 1];
    return true;
}

COMMAND(auth)
{
    char room[FRONT_MESSAGE_BYTES];
    struct login_words words;
    const char *error;

    if (!read_auth(arguments, count, &words)) {
        return answer_error(self, session, SYNTAX_MESSAGE);
    }
    if (count == 2 && !front_asks_default(self)) {
        return answer_error(self, session,
                            "ERR AUTH <password> called without any password configured for the "
                            "default user. Are you sure your configuration is correct?");
    }
    error = session_log_in(self, session, &words, room);
    return error == NULL ? answer_ok(self, session) : answer_error(self, session, error);
}

/* ---- the connection itself ---- */

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
    if (session_subscribes(session) && !session->resp3) {
        resp_array(&writer, 2); /* It must look like a message then. */
        resp_text(&writer, "pong");
        resp_bulk(&writer, count == 1 ? span_text("") : arguments[1]);
    } else if (count == 1) {
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

COMMAND(reset)
{
    (void)arguments;
    (void)count;
    session_forget_queue(session);
    session_unsubscribe(session);
    session_log_out(self, session);
    session->resp3 = false;
    session->label[0] = '\0';
    /* Who it is without a login may have no room: that has been said. */
    return session->closing ? TAKEN_DONE : answer_simple(self, session, "RESET");
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

struct greeting {
    bool named;
    char label[FRONT_LABEL_BYTES];
    bool logs_in;
    struct login_words words;
};

static const char *read_greeting(const struct span *arguments, uint32_t count,
                                 struct greeting *greeting)
{
    for (uint32_t i = 2; i < count; i++) {
        if (command_word(arguments[i], "setname") && i + 1 < count) {
            greeting->named = true;
            if (!take_label(arguments[++i], greeting->label)) {
                return LABEL_MESSAGE;
            }
        } else if (command_word(arguments[i], "auth") && i + 2 < count) {
            greeting->logs_in = true;
            greeting->words.user = arguments[++i];
            greeting->words.password = arguments[++i];
        } else {
            return "ERR Syntax error in HELLO";
        }
    }
    return NULL;
}

/* NULL: it may be greeted. */
static const char *let_in(struct front *self, struct session *session,
                          const struct greeting *greeting, char room[FRONT_MESSAGE_BYTES])
{
    const char *error = NULL;

    if (greeting->logs_in) {
        error = session_log_in(self, session, &greeting->words, room);
    }
    if (error == NULL && session->stranger) {
        error = "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
                "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client "
                "and select the RESP protocol version at the same time";
    }
    return error;
}

COMMAND(hello)
{
    struct greeting greeting = {.named = false};
    int64_t version = session->resp3 ? 3 : 2;
    char room[FRONT_MESSAGE_BYTES];
    const char *error;

    if (count > 1 && !argument_integer(arguments[1], INT64_MIN, INT64_MAX, &version)) {
        return answer_error(self, session,
                            "ERR Protocol version is not an integer or out of range");
    }
    if (version < 2 || version > 3) {
        return answer_error(self, session, "NOPROTO unsupported protocol version");
    }
    error = read_greeting(arguments, count, &greeting);
    error = error != NULL ? error : let_in(self, session, &greeting, room);
    if (error != NULL) {
        return answer_error(self, session, error);
    }
    session->resp3 = version == 3;
    if (greeting.named) {
        (void)snprintf(session->label, sizeof session->label, "%s", greeting.label);
    }
    return say_hello(self, session);
}

bool login_read(const struct command *command, const struct span *arguments, uint32_t count,
                struct login_words *words)
{
    struct greeting greeting = {.named = false};

    if (command == NULL || !arity_fits(command->arity, count)) {
        return false;
    }
    if (command->run == command_auth) {
        return read_auth(arguments, count, words);
    }
    if (command->run != command_hello || read_greeting(arguments, count, &greeting) != NULL) {
        return false;
    }
    *words = greeting.words;
    return greeting.logs_in;
}

/* ---- CLIENT ---- */

static void write_client(const struct front *self, const struct session *session, char *text,
                         size_t size)
{
    char address[2 * FRONT_LABEL_BYTES];

    client_address(self, session, address, sizeof address);
    (void)snprintf(text, size,
                   "id=%llu addr=%s laddr=%s name=%s age=%llu idle=%llu db=0 multi=%d user=%s "
                   "resp=%d lib-name=%s lib-ver=%s\n",
                   (unsigned long long)session->id, session->peer, address, session->label,
                   (unsigned long long)((self->now_us - session->opened_us) / 1000000),
                   (unsigned long long)((self->now_us - session->active_us) / 1000000),
                   session->multi ? (int)session->nqueued : -1, session_user(session),
                   session->resp3 ? 3 : 2, session->library, session->version);
}

static enum taken show_clients(struct front *self, struct session *session, bool all)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);
    struct buffer text;
    const struct session *one;
    char line[10 * FRONT_LABEL_BYTES];

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

static COMMAND(client_list)
{
    (void)arguments;
    (void)count;
    return show_clients(self, session, true);
}

static COMMAND(client_info)
{
    (void)arguments;
    (void)count;
    return show_clients(self, session, false);
}

static COMMAND(client_setinfo)
{
    bool name = command_word(arguments[2], "lib-name");

    (void)count;
    if (!name && !command_word(arguments[2], "lib-ver")) {
        return answer_error(self, session, "ERR Unrecognized option for CLIENT SETINFO");
    }
    return take_label(arguments[3], name ? session->library : session->version)
               ? answer_ok(self, session)
               : answer_error(self, session, LABEL_MESSAGE);
}

static COMMAND(client_setname)
{
    (void)count;
    return take_label(arguments[2], session->label) ? answer_ok(self, session)
                                                    : answer_error(self, session, LABEL_MESSAGE);
}

static COMMAND(client_getname)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    (void)arguments;
    (void)count;
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

static COMMAND(client_id)
{
    (void)arguments;
    (void)count;
    return answer_integer(self, session, (int64_t)session->id);
}

COMMAND(client)
{
    static const struct subcommand subcommands[] = {
        {"getname", 2, command_client_getname, "", "The name of this connection"},
        {"id", 2, command_client_id, "", "The number of this connection"},
        {"info", 2, command_client_info, "", "This connection, on one line"},
        {"kill", -3, command_client_kill, " (<ip:port>|<option> <value> [<option> <value> ...])",
         "Close connections: ID, ADDR, LADDR, TYPE, USER, MAXAGE seconds, SKIPME yes or no"},
        {"list", -2, command_client_list, "", "All connections of this router, a line each"},
        {"no-evict", 3, command_ok, " (ON|OFF)", "Accepted: no connection is ever evicted"},
        {"no-touch", 3, command_ok, " (ON|OFF)",
         "Accepted: when a filter was last used is not tracked"},
        {"setinfo", 4, command_client_setinfo, " (LIB-NAME|LIB-VER) <text>",
         "Say which library this connection is of"},
        {"setname", 3, command_client_setname, " <name>", "Give this connection a name"},
    };

    return SUBCOMMAND_RUN(subcommands);
}

/* ---- transactions: commands are kept as they came, and run one after another at EXEC ---- */

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
    session_forget_queue(session);
    return answer_ok(self, session);
}

COMMAND(exec)
{
    struct resp_writer writer;
    struct call *call;

    (void)arguments;
    (void)count;
    if (!session->multi) {
        return answer_error(self, session, "ERR EXEC without MULTI");
    }
    session->multi = false;
    if (session->multi_broken) {
        session_forget_queue(session);
        return answer_error(self, session,
                            "EXECABORT Transaction discarded because of previous errors.");
    }
    call = call_now(self, session, &writer);
    if (call != NULL) {
        resp_array(&writer, session->nqueued);
        call_end(self, call, &writer);
    }
    session->executes = session->nqueued > 0; /* They are what is taken next. */
    return TAKEN_DONE;
}
