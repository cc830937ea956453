/* Which command it is, and whether it may be taken now. */
#include "router/resp/command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

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

/* Kept as it would have come: after EXEC it is taken from here. */
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

static bool is_queued(const struct session *session, const struct command *command)
{
    return session->multi && (command->flags & COMMAND_UNQUEUED) == 0;
}

/* What changes filters themselves is settled before anything else looks at one. */
static bool must_wait(const struct session *session, const struct command *command)
{
    bool looks = (command->flags & (COMMAND_READS | COMMAND_WRITES)) != 0;
    bool waits = (command->flags & COMMAND_WAITS) != 0 || (session->changing && looks);

    return waits && !is_queued(session, command) && session->first != NULL;
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

/* RESP 2 has nothing that would tell a message from an answer, so there are few answers then. */
static bool is_shut_out(const struct session *session, const struct command *command)
{
    return session_subscribes(session) && !session->resp3 &&
           (command->flags & COMMAND_SUBSCRIBED) == 0;
}

static enum taken refuse_shut_out(struct front *self, struct session *session,
                                  const struct command *command)
{
    char text[FRONT_MESSAGE_BYTES];

    (void)snprintf(text, sizeof text,
                   "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / "
                   "RESET are allowed in this context",
                   command->name);
    return answer_error(self, session, text);
}

/* Others are not even told which commands there are. */
static bool is_for_strangers(const struct command *command)
{
    return command != NULL && (command->flags & COMMAND_STRANGERS) != 0;
}

/* The call that is still to be answered, if the command has begun one behind `last`. */
static struct call *begun(const struct session *session, const struct call *last)
{
    struct call *call = session->last;

    return call != NULL && call != last && !call->done ? call : NULL;
}

static enum taken run(struct front *self, struct session *session, const struct command *command,
                      const struct span *arguments, uint32_t count)
{
    const struct call *last = session->last;
    struct call *call;

    if (command->run(self, session, arguments, count) == TAKEN_WAIT) {
        return TAKEN_WAIT;
    }
    session->changing = session->changing || changes_filters(command);
    call = begun(session, last);
    if (call != NULL) {
        call->command = command;
    }
    if (slowlog_is_on(self)) {
        slowlog_begin(self, session, call, command, arguments, count);
    }
    return TAKEN_DONE;
}

/* Refused, queued or carried out. */
static enum taken carry_out(struct front *self, struct session *session,
                            const struct command *command, const struct span *arguments,
                            uint32_t count)
{
    char room[FRONT_MESSAGE_BYTES];
    const char *error;

    if (!arity_fits(command->arity, count)) {
        return answer_arity(self, session, command->name);
    }
    error = rights_refuse(self, session, command, arguments, count, room);
    if (error != NULL) {
        return answer_error(self, session, error);
    }
    if (is_shut_out(session, command)) {
        return refuse_shut_out(self, session, command);
    }
    if (session->multi && (command->flags & COMMAND_ALONE) != 0) {
        return answer_error(self, session, "ERR Command not allowed inside a transaction");
    }
    if (is_queued(session, command)) {
        return queue(self, session, arguments, count);
    }
    if (is_late(self, command)) {
        return refuse_late(self, session);
    }
    return run(self, session, command, arguments, count);
}

/* A token may be right; the password is known without news of users. */
static bool is_login_unheard(struct front *self, struct session *session,
                             const struct command *command, const struct span *arguments,
                             uint32_t count)
{
    struct login_words words;

    return !self->users_heard && login_read(command, arguments, count, &words) &&
           !is_queued(session, command) && session_login_waits(self, session, &words);
}

/* For want of news of users it may be taken for nobody who shows a user's certificate, or have been
 * let in without being a user; what asks nothing of filters or of others goes on then. */
static bool must_hear(const struct front *self, const struct session *session,
                      const struct command *command, const struct span *arguments, uint32_t count)
{
    struct login_words words;

    if (self->users_heard || login_read(command, arguments, count, &words)) {
        return false;
    }
    if (session->stranger) {
        return session->subject != NULL &&
               (!is_for_strangers(command) || command->run == command_hello);
    }
    return command != NULL && users_unsure(self) && !is_queued(session, command) &&
           rights_matter(command, arguments, count);
}

static bool may_wait_for_users(const struct front *self, struct session *session)
{
    session->unsure_us = session->unsure_us != 0 ? session->unsure_us : self->now_us;
    return self->now_us - session->unsure_us < self->config.timeout_us;
}

static enum taken take(struct front *self, struct session *session, const struct command *command,
                       const struct span *arguments, uint32_t count)
{
    bool unheard = must_hear(self, session, command, arguments, count);

    if ((unheard || is_login_unheard(self, session, command, arguments, count)) &&
        may_wait_for_users(self, session)) {
        return TAKEN_WAIT;
    }
    if (unheard) {
        session->unsure_us = 0;
        return answer_error(self, session, UNHEARD_MESSAGE);
    }
    if (session->stranger && !is_for_strangers(command)) {
        return answer_error(self, session, "NOAUTH Authentication required.");
    }
    if (command == NULL) {
        return refuse_unknown(self, session, arguments, count);
    }
    if (must_wait(session, command)) {
        return TAKEN_WAIT;
    }
    session->unsure_us = 0;
    return carry_out(self, session, command, arguments, count);
}

enum taken command_take(struct front *self, struct session *session, const struct span *arguments,
                        uint32_t count)
{
    const struct command *command = command_find(arguments[0]);

    session->changing = session->changing && session->first != NULL;
    if (command == NULL && is_web(arguments[0])) {
        return refuse_web(self, session);
    }
    if (take(self, session, command, arguments, count) == TAKEN_WAIT) {
        return TAKEN_WAIT;
    }
    session->wrong_noted = false;
    front_count(self, FRONT_resp_commands_total);
    return TAKEN_DONE;
}
