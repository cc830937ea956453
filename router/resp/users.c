/* Who a connection is: what it has said, looked up in the record of users.
 *
 *   bytes of a certificate, AUTH -> what it has said (login, subject) -> settle -> who it is
 *
 * The front has a copy of the record. When there is a newer one all connections are settled anew,
 * so that whoever is not in it any more has lost its rights with the next command. While there are
 * no users at all, everything is as the password alone has it. */
#include "base/heap.h"
#include "router/resp/private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WRONG_MESSAGE "WRONGPASS invalid username-password pair or user is disabled."

uint64_t front_date_ms(const struct front *self)
{
    return self->streams.wall_us(self->streams.context) / 1000;
}

const struct user *users_find(const struct front *self, struct span called)
{
    char name[USER_NAME_BYTES];

    if (called.size >= sizeof name || memchr(called.data, '\0', called.size) != NULL) {
        return NULL;
    }
    memcpy(name, called.data, called.size);
    name[called.size] = '\0';
    return user_list_find(&self->users, name);
}

/* ---- the user `default` ---- */

/* One with a key or a certificate is a client that goes by that name, and no open door. */
bool front_lets_in(const struct front *self, const struct user *user)
{
    return strcmp(user->name, USER_DEFAULT) == 0 && user->ntokens == 0 && user->nkeys == 0 &&
           user->subject[0] == '\0' && !self->config.guarded;
}

static const struct user *open_default(const struct front *self)
{
    const struct user *user = user_list_find(&self->users, USER_DEFAULT);

    return user != NULL && front_lets_in(self, user) ? user : NULL;
}

bool front_asks_default(const struct front *self)
{
    const struct user *user = user_list_find(&self->users, USER_DEFAULT);

    return self->config.guarded || !self->users_heard || (user != NULL && user->ntokens > 0);
}

/* ---- who ---- */

static const struct user_token *find_token(const struct user *user, uint32_t id)
{
    for (size_t i = 0; i < user->ntokens; i++) {
        if (user->tokens[i].id == id) {
            return &user->tokens[i];
        }
    }
    return NULL;
}

/* The user may be another one of the same name by now, and the token gone, or good for another
 * time. */
static const struct user *by_token(const struct front *self, struct session *session)
{
    const struct user *user = user_list_find(&self->users, session->login_name);
    const struct user_token *token = user != NULL && user->id == session->login_id
                                         ? find_token(user, session->login_token)
                                         : NULL;

    if (token == NULL || (token->expires_ms != 0 && front_date_ms(self) >= token->expires_ms)) {
        return NULL;
    }
    session->expires_ms = token->expires_ms;
    return user;
}

/* Of who proves nothing by words. */
static const struct user *unproved(const struct front *self, const struct session *session)
{
    const struct user *user = session->subject != NULL
                                  ? user_list_find_subject(&self->users, session->subject)
                                  : NULL;

    return user != NULL ? user : open_default(self);
}

/* NULL: nobody, or who may do everything. */
static const struct user *find(const struct front *self, struct session *session)
{
    switch (session->login) {
    case LOGIN_TOKEN:
        return by_token(self, session);
    case LOGIN_PASSWORD:
        if (self->config.guarded) {
            return NULL;
        }
        break;
    case LOGIN_NONE:
        break;
    }
    return unproved(self, session);
}

/* May it do everything, being no user of the record? */
static bool is_trusted(const struct front *self, const struct session *session)
{
    switch (session->login) {
    case LOGIN_TOKEN:
        return false;
    case LOGIN_PASSWORD:
        return self->config.guarded || self->users.count == 0;
    case LOGIN_NONE:
        break;
    }
    return self->users.count == 0 && session->let_in && !self->config.users_only;
}

static uint32_t *connections_of(const struct front *self, const struct user *user)
{
    return &self->user_sessions[user - self->users.users];
}

void session_leave_user(struct front *self, struct session *session)
{
    if (session->who != NULL) {
        assert(*connections_of(self, session->who) > 0);
        (*connections_of(self, session->who))--;
        session->who = NULL;
    }
    session->user = 0;
}

/* One that waits for its turn waits among those of who it is now. */
static void enter_user(struct front *self, struct session *session, const struct user *user)
{
    if (fair_queue_waits(&session->turn) && session->user != (user != NULL ? user->id : 0)) {
        fair_queue_remove(&self->turns, &session->turn);
        session_stir(self, session);
    }
    session_leave_user(self, session);
    if (user != NULL) {
        session->who = user;
        session->user = user->id;
        (*connections_of(self, user))++;
    }
}

static void note_refused(struct front *self, const struct session *session, struct span user,
                         const char *outcome)
{
    const struct refusal refusal = {
        .action = "auth", .user = user, .command = "", .outcome = outcome};

    audit_refusal(self, session, &refusal);
}

/* Has the user as many connections as it may, without this one? NULL: no; else the error, in
 * `room`; it is counted and noted. */
static const char *refuse_if_crowded(struct front *self, const struct session *session,
                                     const struct user *user, char room[FRONT_MESSAGE_BYTES])
{
    if (user->id == session->user || user->limits.connections == 0 ||
        *connections_of(self, user) < user->limits.connections) {
        return NULL;
    }
    note_refused(self, session, span_text(user->name), "OVERLOADED");
    front_count(self, FRONT_resp_user_crowded_total);
    (void)snprintf(room, FRONT_MESSAGE_BYTES, "ERR max number of clients of user '%s' reached",
                   user->name);
    return room;
}

static void shut_out(struct front *self, struct session *session)
{
    session->expires_ms = 0; /* Nothing is left of it that could. */
    session_estrange(self, session);
}

void session_settle(struct front *self, struct session *session)
{
    const struct user *user = find(self, session);
    char room[FRONT_MESSAGE_BYTES];
    const char *crowded = user != NULL ? refuse_if_crowded(self, session, user, room) : NULL;

    enter_user(self, session, crowded == NULL ? user : NULL);
    if (crowded != NULL) {
        shut_out(self, session);
        if (!session->closing) {
            session_say_last(self, session, crowded);
        }
    } else if (user != NULL || is_trusted(self, session)) {
        session_welcome(self, session);
    } else {
        shut_out(self, session);
    }
}

void session_log_out(struct front *self, struct session *session)
{
    session->login = LOGIN_NONE;
    session->expires_ms = 0;
    session->let_in = !self->config.guarded && !self->config.users_only;
    session_settle(self, session);
}

const char *session_user(const struct session *session)
{
    return session->who != NULL ? session->who->name : USER_DEFAULT;
}

/* ---- the record ---- */

static void open_secret(struct front *self)
{
    struct span sealed = span_of(self->users.sealed, sizeof self->users.sealed);

    self->user_secret_open = self->users.count > 0 &&
                             seal_secret_open(&self->key, 0, sealed, &self->user_secret) ==
                                 STATUS_OK;
}

/* Is it the user that it was? */
static bool stays(const struct front *self, struct session *session)
{
    const struct user *user = find(self, session);

    return user != NULL && user->id == session->user;
}

/* Whoever is in stays; then whoever becomes a user by this record, as far as limits allow. */
static void settle_all(struct front *self)
{
    struct session *session;

    TAILQ_FOREACH(session, &self->sessions, entry)
    {
        if (stays(self, session)) {
            session_settle(self, session);
        }
    }
    TAILQ_FOREACH(session, &self->sessions, entry)
    {
        if (session->who == NULL) {
            session_settle(self, session);
        }
    }
}

/* Nobody may point into the former record any more; all are counted anew. */
static void replace(struct front *self, struct user_list *users, uint32_t *user_sessions)
{
    struct session *session;

    TAILQ_FOREACH(session, &self->sessions, entry)
    {
        session->who = NULL;
    }
    user_list_fini(&self->users);
    heap_free(self->user_sessions);
    self->users = *users;
    self->user_sessions = user_sessions;
    open_secret(self);
    settle_all(self);
}

/* False: memory is out, and all is as before. */
static bool take(struct front *self, const struct user_list *users)
{
    uint32_t *user_sessions = heap_zalloc(users->count + 1, sizeof *user_sessions);
    struct user_list copy;

    if (user_sessions == NULL || user_list_copy(users, &copy) != STATUS_OK) {
        heap_free(user_sessions);
        return false;
    }
    replace(self, &copy, user_sessions);
    return true;
}

static const struct user_list *newest(const struct front *self)
{
    return self->users_source.users != NULL ? self->users_source.users(self->users_source.context)
                                            : NULL;
}

/* Not by its revision alone: the ring may be another, and the secret sealed anew. */
static bool is_taken(const struct front *self, const struct user_list *users)
{
    return users->revision == self->users.revision &&
           memcmp(users->sealed, self->users.sealed, sizeof users->sealed) == 0;
}

/* An old record of nobody, from a kept file, says nothing of whether there are users by now. */
static bool has_heard(const struct front *self)
{
    return self->users.count > 0 || self->users_source.heard == NULL ||
           self->users_source.heard(self->users_source.context);
}

bool users_unsure(const struct front *self)
{
    return !self->users_heard && !self->config.guarded && !self->config.users_only;
}

void front_tell_health(const struct front *front, struct health *health)
{
    health_want(
        health, front->users_heard || front->config.guarded, "users",
        "no coordinator has told which users there are, and until then Redis clients have to "
        "wait; is one running, and is that what `coordinators` says?");
}

static void stir_all(struct front *self)
{
    struct session *session;

    TAILQ_FOREACH(session, &self->sessions, entry)
    {
        session_stir(self, session);
    }
}

void users_tick(struct front *self)
{
    struct session *session;

    TAILQ_FOREACH(session, &self->sessions, entry)
    {
        if (session->unsure_us != 0 &&
            self->now_us - session->unsure_us >= self->config.timeout_us) {
            session_stir(self, session);
        }
    }
}

void users_refresh(struct front *self)
{
    const struct user_list *users = newest(self);

    if (users != NULL && !is_taken(self, users) && !take(self, users)) {
        log_limited(&self->users_limit, self->now_us, LOG_ERROR,
                    "out of memory: RESP clients are judged by a record of users that is not the "
                    "newest one");
    }
    if (!self->users_heard && has_heard(self)) {
        self->users_heard = true;
        stir_all(self);
    }
}

void users_reopen(struct front *self)
{
    open_secret(self);
}

void users_forget(struct front *self)
{
    user_list_fini(&self->users);
    heap_free(self->user_sessions);
    self->user_sessions = NULL;
}

/* ---- AUTH ---- */

void session_note(struct front *self, struct session *session)
{
    const struct user_use use = {.user = session->login_id,
                                 .credential = session->login_token,
                                 .at_ms = front_date_ms(self)};

    session->noted_us = self->now_us;
    if (self->users_source.note != NULL) {
        self->users_source.note(self->users_source.context, &use);
    }
}

/* It has said who it is. */
static void log_in(struct front *self, struct session *session, enum login login)
{
    session->wrong_passwords = 0;
    session->expires_ms = 0;
    session->login = login;
    session->let_in = true;
    session_settle(self, session);
}

/* Once for each, whenever that is found. */
static void note_wrong(struct front *self, struct session *session, struct span user)
{
    if (session->wrong_noted) {
        return;
    }
    session->wrong_noted = true;
    note_refused(self, session, user, "WRONGPASS");
    front_count(self, FRONT_resp_wrong_passwords_total);
    log_limited(&self->stranger_limit, self->now_us, LOG_WARN,
                "RESP client %s gives a wrong user or password", session->peer);
    session_slow_down(self, session);
}

static const char *refuse_wrong(struct front *self, struct session *session, struct span user)
{
    note_wrong(self, session, user);
    return WRONG_MESSAGE;
}

static bool is_default(const struct login_words *words)
{
    return words->user.size == strlen(USER_DEFAULT) &&
           strncasecmp((const char *)words->user.data, USER_DEFAULT, words->user.size) == 0;
}

/* Is `default` whoever says so? */
static bool is_open(const struct front *self)
{
    return !self->config.guarded &&
           (open_default(self) != NULL ||
            (self->users_heard && self->users.count == 0 && !self->config.users_only));
}

static const char *go_in(struct front *self, struct session *session,
                         char room[FRONT_MESSAGE_BYTES])
{
    const struct user *user = unproved(self, session);
    const char *error = user != NULL ? refuse_if_crowded(self, session, user, room) : NULL;

    if (error == NULL) {
        log_in(self, session, LOGIN_NONE);
    }
    return error;
}

/* A name that nobody has takes as long as one that somebody has. */
static const char *give_token(struct front *self, struct session *session, struct span called,
                              struct span token, char room[FRONT_MESSAGE_BYTES])
{
    static const struct user nobody;
    const struct user *user = users_find(self, called);
    const struct user *known = user != NULL ? user : &nobody;
    const char *error;
    size_t at;

    at = user_find_token(known, &self->user_secret, token, front_date_ms(self));
    if (at == known->ntokens) {
        return refuse_wrong(self, session, called);
    }
    error = refuse_if_crowded(self, session, user, room);
    if (error != NULL) {
        return error;
    }
    (void)snprintf(session->login_name, sizeof session->login_name, "%s", user->name);
    session->login_id = user->id;
    session->login_token = user->tokens[at].id;
    log_in(self, session, LOGIN_TOKEN);
    session_note(self, session);
    return NULL;
}

/* NULL: tokens can be told. */
static const char *why_unsure(struct front *self)
{
    if (!self->users_heard) {
        return UNHEARD_MESSAGE;
    }
    if (self->users.count > 0 && !self->user_secret_open) {
        log_limited(&self->users_limit, self->now_us, LOG_ERROR,
                    "the tokens of users can't be told: what hides them is sealed with a cluster "
                    "key that this router does not have; give it the ring that coordinators have");
        return "UNAVAILABLE this router has no cluster key that opens the record of users";
    }
    return NULL;
}

/* Is it `default` with the password of resp_password_file, whatever users there are? */
static bool knows_password(const struct front *self, const struct login_words *words)
{
    return self->config.guarded && is_default(words) &&
           password_matches(&self->config.password, words->password);
}

bool session_login_waits(struct front *self, struct session *session,
                         const struct login_words *words)
{
    if (self->users_heard || knows_password(self, words)) {
        return false;
    }
    /* The password was looked at, whatever comes of it as a token: who tries many, each on a
     * connection of its own that does not wait for the answer, does not do so for nothing. */
    if (is_default(words) && self->config.guarded) {
        note_wrong(self, session, words->user);
    }
    return !session->closing;
}

const char *session_log_in(struct front *self, struct session *session,
                           const struct login_words *words, char room[FRONT_MESSAGE_BYTES])
{
    const char *unsure = why_unsure(self);

    if (knows_password(self, words)) {
        log_in(self, session, LOGIN_PASSWORD);
        return NULL;
    }
    if (is_default(words) && is_open(self)) {
        return go_in(self, session, room);
    }
    if (unsure == NULL) {
        return give_token(self, session, words->user, words->password, room);
    }
    return is_default(words) && self->config.guarded ? refuse_wrong(self, session, words->user)
                                                     : unsure;
}
