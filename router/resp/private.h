/* private.h - the parts of the RESP front; shared by the files of this folder only. */
#ifndef ORBLOOM_ROUTER_RESP_PRIVATE_H
#define ORBLOOM_ROUTER_RESP_PRIVATE_H

#include "base/fair_queue.h"
#include "base/link_ring.h"
#include "base/log.h"
#include "base/telemetry/audit_log.h"
#include "map/access/users.h"
#include "proto/codec.h"
#include "resp/reply.h"
#include "resp/request.h"
#include "router/resp/front.h"

#include <stdbool.h>
#include <sys/queue.h>

#define FRONT_COUNTERS(X)                                                                      \
    X(resp_connections_total, "connections", "of RESP clients, accepted")                      \
    X(resp_connections, "connections", "of RESP clients, open now")                            \
    X(resp_commands_total, "commands", "of RESP clients")                                      \
    X(resp_errors_total, "commands", "answered with an error")                                 \
    X(resp_requests_total, "requests", "to the router that keys of commands were gathered in") \
    X(resp_filters_created_total, "filters", "that an add or BF.INSERT created")               \
    X(resp_broken_total, "connections", "closed as what came was not RESP")                    \
    X(resp_unread_total, "connections", "closed as their answers were not read")               \
    X(resp_idle_total, "connections", "closed as nothing came for too long")                   \
    X(resp_unfinished_total, "connections", "closed as a request was begun and not finished")  \
    X(resp_memory_total, "connections",                                                        \
      "closed as all held more than resp_memory, and this one the most")                       \
    X(resp_memory_bytes, "bytes", "of requests and answers of all clients, held (a gauge)")    \
    X(resp_wrong_passwords_total, "commands", "AUTH and HELLO with a wrong user or password")  \
    X(resp_strangers_total, "connections", "closed as they did not give the password in time") \
    X(resp_tls_connections_total, "connections", "by TLS, whose handshake was finished")       \
    X(resp_tls_plain_total, "connections", "to resp_tls_listen that did not speak TLS")        \
    X(resp_tls_version_total, "connections", "that know no version of TLS in common with us")  \
    X(resp_tls_certificate_total, "connections",                                               \
      "without the certificate that tls_clients asks for")                                     \
    X(resp_tls_broken_total, "connections", "by TLS, that broke it otherwise")                 \
    X(resp_tls_late_total, "connections", "that did not finish the handshake in time")         \
    X(resp_tls_crowded_total, "connections", "that gave way to others in the midst of it")     \
    X(resp_guessers_total, "connections", "closed as they gave too many wrong passwords")      \
    X(resp_forbidden_total, "commands", "refused as the user has no right to them (NOPERM)")   \
    X(resp_user_crowded_total, "connections",                                                  \
      "or logins, refused as the user has as many as its limit allows")                        \
    X(audit_lost_total, "lines", "of the audit log that could not be written")                 \
    X(audit_left_out_total, "lines", "of the audit log, beyond so many a second")              \
    X(resp_slow_total, "commands", "that took slowlog_slower_than or longer")

enum front_counter {
#define X(name, unit, help) FRONT_##name,
    FRONT_COUNTERS(X)
#undef X
        FRONT_NCOUNTERS
};

enum {
    FRONT_MAX_ARGUMENTS = CODEC_MAX_KEYS + 32,
    FRONT_MAX_BULK = 16 << 20,
    FRONT_MAX_REQUEST = 32 << 20,
    FRONT_MAX_LINE = 64 << 10,
    FRONT_STRANGER_ARGUMENTS = 10, /* of who has not given the password */
    FRONT_STRANGER_BULK = 16 << 10,
    FRONT_STRANGER_REQUEST = 32 << 10,
    FRONT_STRANGER_UNREAD = 64 << 10,
    FRONT_GATHER_BYTES = 4 << 20, /* of keys in one request */
    FRONT_MAX_CALLS = 8192,       /* of a connection, not answered */
    FRONT_SLOT_BITS = 12,
    FRONT_MAX_GATHERS = 1 << FRONT_SLOT_BITS, /* under way */
    FRONT_MAX_QUESTIONS = 4096,               /* ... */
    FRONT_BUCKETS = 1024,
    FRONT_MEMORY_CLASSES = 64,
    FRONT_ADDS = 4,               /* requests with adds that a connection may await */
    FRONT_OUT_BYTES = 512 << 20,  /* answers of one turn */
    FRONT_QUEUED_BYTES = 8 << 20, /* of commands in one transaction */
    FRONT_MESSAGE_BYTES = 640,
    FRONT_LABEL_BYTES = 64,
    FRONT_NODE_ID_BYTES = 41, /* 40 hexadecimal digits */
    FRONT_NOTE_US = 60000000, /* how often a token that is in use is told of */
    FRONT_SLOW_ENTRIES = 128, /* as many as Redis keeps by default */

    /* Once there are users: what commands cost, in bytes, of one user before others have their
     * turn, and of all of them before answers leave and more is read: some hundred keys, and some
     * tenths of a millisecond. */
    FRONT_COMMAND_COST = 64,  /* beside its bytes ... */
    FRONT_ARGUMENT_COST = 24, /* ... and for each argument */
    FRONT_TURN_COST = 8 << 10,
    FRONT_TURNS_COST = 24 << 10,
    FRONT_AHEAD_BYTES = 64 << 10, /* that are read from one that waits for its turn */
};

/* Clients take it for a Redis that knows the commands which they send at first. */
#define REDIS_VERSION "7.4.0"

#define UNHEARD_MESSAGE                                                                         \
    "UNAVAILABLE this router has just started and has not heard whether there are users; is a " \
    "coordinator running, and is that what its `coordinators` option says?"

struct call;
struct command;
struct gather;
struct slow_entry;
struct subscriptions;

/* ---- requests to the router ---- */

/* May a filter be made for an add? MAKE_DENIED: the user has no right to; MAKE_OFF: it has, but not
 * by adding, as its `create` is off. */
enum make { MAKE_NEVER, MAKE_DENIED, MAKE_OFF, MAKE_DEFAULT, MAKE_ASKED };

struct gather_kind {
    char name[DOCUMENT_NAME_BYTES];
    enum operation operation;
    enum make make;
    struct create_parameters create; /* MAKE_ASKED: then it is shared by no other command */
    uint64_t filter_id;              /* feed: of this one ... */
    uint32_t keyset;                 /* ... into this keyset; shared by no other command either */
    uint64_t deadline_us;            /* feed */

    /* Feed: so many were, call->reply is the answer, and who is told here lets it leave. */
    void (*fed)(struct front *self, const struct gather *gather, struct call *call, uint32_t count);
};

TAILQ_HEAD(gather_list, gather);

struct gather {
    TAILQ_ENTRY(gather) entry;
    struct gather_list *list;  /* that it is in */
    struct gather *next_alike; /* open, and in the same bucket */
    struct gather_kind kind;
    uint32_t user; /* whose all of it is: limits and turns are by user; 0: nobody's in particular */
    uint32_t slot;
    uint64_t number; /* names the request that is under way; 0: none is */
    uint32_t attempts;
    uint64_t deadline_us;
    struct buffer keys;
    uint32_t *lengths;
    uint32_t count;
    uint32_t room;
    size_t counted; /* bytes of it in front.gathered */
    struct call *first;
    struct call *last;
    uint32_t ncalls;
};

/* ---- questions to a coordinator or the router ---- */

/* `frame` is of the kind that was asked for; NULL: no answer came, `status` and `reason` say so. */
typedef void (*question_done)(struct front *self, void *owner, const struct frame *frame,
                              enum status status, const char *reason);

struct question {
    TAILQ_ENTRY(question) entry;
    uint64_t number;
    enum frame_kind wanted;
    bool sent;
    bool looking;         /* for what the change is to name: see proto/admin_message.h */
    bool looked;          /* ... before, too */
    struct buffer change; /* its frame, with what was seen; empty: this is no change */
    char *refusal;        /* of the change, as that has moved; NULL: none */
    struct buffer bytes;  /* the frame that is under way */
    uint64_t deadline_us;
    question_done done;
    void *owner;
};

TAILQ_HEAD(question_list, question);

TAILQ_HEAD(load_list, load); /* chunks of dumps under way: command_dump.c */

/* ---- connections ---- */

/* A command that was taken and is not answered yet, or not in its turn. */
struct call {
    struct call *next;        /* of the session */
    struct call *next_shared; /* of the gather */
    struct session *session;  /* NULL: gone */
    bool done;
    bool many;      /* an array, else the one answer */
    bool unknown;   /* it fails, and there was no memory to say why */
    bool gathered;  /* the gather has its words, for the slow log */
    uint32_t owed;  /* bytes of `reply`; before it is done, about as many as are to be expected */
    uint32_t first; /* its keys in the gather */
    uint32_t count;
    uint32_t keys_at;              /* ... and where their bytes begin there */
    uint32_t user;                 /* of its session, when it came */
    const struct command *command; /* that it answers; NULL: one that was answered at once, or
                                    * none: the last word to a connection */
    uint64_t begun_us;             /* 0: it is not timed */
    struct slow_entry *slow;       /* its words, for the slow log; NULL: none are kept yet */
    void (*answer)(struct front *self, struct call *call, const struct frame *frame);
    uint64_t detail;     /* for `answer` */
    char *text;          /* ... too: a name, or why it fails; NULL: none */
    struct buffer reply; /* once done, before its turn */
};

/* Which rebuild a FEED is for, as a coordinator is asked before its items are read. */
struct feed_look {
    struct session *session; /* NULL: gone */
    uint32_t user;
    bool done;
    uint64_t deadline_us;
    uint64_t filter_id;
    uint32_t keyset;
    char name[DOCUMENT_NAME_BYTES];
    char error[FRONT_MESSAGE_BYTES]; /* "": none */
};

/* How a connection has said who it is. */
enum login {
    LOGIN_NONE,     /* not at all: the user of its certificate, or else `default` */
    LOGIN_PASSWORD, /* by that of resp_password_file */
    LOGIN_TOKEN,    /* by one of its user's */
};

struct session {
    TAILQ_ENTRY(session) entry;
    TAILQ_ENTRY(session) due_entry;
    TAILQ_ENTRY(session) holder_entry;
    size_t held;            /* bytes, when it was weighed last: memory.c */
    uint32_t class;         /* ... and the list of holders that it is in; 0: none */
    bool due;               /* in the list of those that may go on, or have something to send */
    struct fair_entry turn; /* while it waits for its user's turn to take commands */
    bool given_up;          /* it was told that it is closed for what it holds, or did not finish */
    void *stream;
    uint64_t id;
    uint64_t opened_us;
    uint64_t active_us;
    uint64_t begun_us; /* since when the rest of a request is awaited; 0: of none */
    bool resp3;
    bool stranger; /* nobody knows who it is, and it must say so */
    uint64_t stranger_since_us;
    enum login login;
    bool let_in;                      /* gave the password, or needed none when it came */
    const struct user *who;           /* in the front's record; NULL: none of it: a stranger may
                                       * do nothing, and anybody else everything */
    uint32_t user;                    /* the id of that; 0: none */
    char login_name[USER_NAME_BYTES]; /* LOGIN_TOKEN: its user ... */
    uint32_t login_id;                /* ... the id of that ... */
    uint32_t login_token;             /* ... and of the token */
    uint64_t noted_us;                /* when it was told last that this is in use */
    uint64_t expires_ms;              /* the token does then; 0: never */
    char *subject;                    /* of its certificate; NULL: it has shown none */
    uint64_t unsure_us;               /* since when it waits to hear of users; 0: it does not */
    uint32_t wrong_passwords;         /* since the right one */
    bool wrong_noted;                 /* ... also that of the command under way */
    TAILQ_ENTRY(session) slowed_entry;
    uint64_t slowed_until_us; /* nothing is taken before; 0: it is not slowed down */
    bool closing;             /* nothing more is read; closed once all is answered */
    bool cut;                 /* an answer is lost, so that none may follow: closed at once */
    bool closed;              /* stream.close() was called */
    bool dropped;             /* stream.drop() was called */
    uint64_t closed_us;
    bool paused;
    bool stalled; /* the next request waits for earlier ones */
    struct buffer input;
    size_t taken; /* of the input */
    struct resp_request request;
    struct buffer out;
    struct call *first;
    struct call *last;
    uint32_t ncalls;
    size_t owed; /* bytes of answers of these calls */
    struct gather *adds[FRONT_ADDS];
    uint32_t nadds;
    uint32_t copies; /* the fewest that any add since `waited` has; 0: not known of one of them */
    bool changing;   /* a change of filters themselves is under way */
    bool waited;     /* WAIT was answered, or nothing has been added yet */
    struct feed_look *look; /* of a FEED that waits in the input; NULL: none */
    bool multi;             /* commands are queued */
    bool multi_broken;      /* one of them was refused */
    uint32_t nqueued;
    struct buffer queued;
    bool executes;   /* EXEC was said: these are taken, and what has come since afterwards */
    size_t executed; /* of the queued bytes */
    bool killed;     /* by itself in a transaction: closed at its end */
    struct subscriptions *subscriptions; /* NULL: none */
    char label[FRONT_LABEL_BYTES];       /* CLIENT SETNAME */
    char library[FRONT_LABEL_BYTES];
    char version[FRONT_LABEL_BYTES];
    char peer[FRONT_LABEL_BYTES];
};

TAILQ_HEAD(session_list, session);

struct front {
    struct front_config config;
    char router_name[DOCUMENT_NAME_BYTES];
    char node_id[FRONT_NODE_ID_BYTES]; /* of this router, as the node of a Redis Cluster */
    struct effects outer;
    struct effects inner; /* the router's */
    struct stream_effects streams;
    struct actor router;
    struct link_ring coordinators;
    char endpoints[LINK_RING_MAX][DOCUMENT_TEXT_BYTES];
    struct codec_arena *arena;
    struct buffer frame; /* to be handed to the router or sent */
    struct op_id op;
    uint64_t number;    /* of requests and questions */
    uint64_t now_us;    /* of the event under way */
    uint64_t waited_us; /* what has come may have waited for so long, as the router was stopped */
    uint64_t started_us;
    struct gather_list open;
    struct gather_list sent;
    struct gather_list again; /* to be sent once more, at the end of the turn */
    uint32_t ngathers;
    struct gather *alike[FRONT_BUCKETS]; /* open ones, by kind */
    struct gather *slots[FRONT_MAX_GATHERS];
    uint16_t free_slots[FRONT_MAX_GATHERS];
    struct question_list questions;
    uint32_t nquestions;
    struct router *core; /* NULL: not attached */
    struct front_users_source users_source;
    struct user_list users;         /* a copy, so that connections may point into it */
    uint32_t *user_sessions;        /* connections of each of them */
    bool users_heard;               /* it is known whether there are any */
    bool user_secret_open;          /* the ring has a key that opens it */
    struct hash_secret user_secret; /* of the tokens' hashes */
    struct cluster_key key;         /* hash secrets of dumps are sealed with it */
    struct load_list loads;
    uint32_t nloads;
    struct session_list sessions;
    struct session_list due;
    struct fair_queue turns;    /* sessions that wait for them, by user, once there are users */
    uint64_t turns_cost;        /* of commands taken in this turn of the loop */
    struct session_list slowed; /* by wrong passwords */
    struct slow_entry *slow[FRONT_SLOW_ENTRIES];
    uint64_t nslow; /* noted ever, each with its number */
    uint32_t nsessions;
    uint32_t nclosed;                                  /* of these, not gone yet */
    uint32_t nstrangers;                               /* ... */
    uint32_t nbegun;                                   /* that have sent a part of a request */
    struct session_list holders[FRONT_MEMORY_CLASSES]; /* by powers of two: memory.c */
    size_t held;                                       /* bytes, by sessions */
    size_t gathered;                                   /* ... and by gathers and loads */
    size_t freed, most; /* held and gathered, since memory went back to the system: memory.c */
    uint64_t next_sweep_us;
    uint64_t next_id;
    uint64_t next_tick_us;
    bool draining;
    uint64_t drained_us; /* ... at the latest */
    struct log_limit broken_limit;
    struct log_limit stranger_limit;
    struct log_limit users_limit;
    struct audit_log audit;
    struct audit_limit audit_limit;
    struct log_limit memory_limit;
    uint64_t counters[FRONT_NCOUNTERS];
};

static inline void front_count(struct front *self, enum front_counter counter)
{
    self->counters[counter]++;
}

/* A command that is taken now is answered by then. */
static inline uint64_t front_deadline_us(const struct front *self)
{
    uint64_t timeout_us = self->config.timeout_us;

    return self->now_us + (self->waited_us < timeout_us ? timeout_us - self->waited_us : 0);
}

/* The first word of an error. What a user may not do is told as Redis tells it. */
static inline const char *front_code(uint32_t user, enum status status)
{
    return user != 0 && status == STATUS_UNAUTHENTIC ? "NOPERM" : status_code(status);
}

/* ---- slowlog.c ---- */

static inline bool slowlog_is_on(const struct front *self)
{
    return self->config.slow_us < FRONT_SLOW_NEVER_US;
}

/* It took too long; known once it is answered. */
static inline bool slowlog_wants(const struct front *self, const struct call *call)
{
    return call->begun_us != 0 && slowlog_is_on(self) &&
           self->now_us - call->begun_us >= self->config.slow_us;
}

/* The command was carried out: `call` is its answer to come, NULL: it was answered at once. */
void slowlog_begin(struct front *self, const struct session *session, struct call *call,
                   const struct command *command, const struct span *arguments, uint32_t count);

/* The words of a slow one whose items are in `gather`, where so many calls follow it. */
void slowlog_keep_keys(struct front *self, const struct gather *gather, struct call *call,
                       uint32_t following);

/* It is answered. */
void slowlog_end(struct front *self, struct call *call);

void slowlog_forget(struct slow_entry *entry); /* or NULL */
void slowlog_reset(struct front *self);

struct slow_entry {
    uint64_t id;
    uint64_t wall_us;
    uint64_t duration_us;
    uint32_t nwords;
    struct buffer words; /* bulks */
    char peer[FRONT_LABEL_BYTES];
    char label[FRONT_LABEL_BYTES];
};

/* The one with this number; NULL: it has gone, or there was no memory for it. They count up from
 * the oldest that may be there to `nslow`. */
const struct slow_entry *slowlog_find(const struct front *self, uint64_t id);
uint64_t slowlog_oldest(const struct front *self);

/* ---- command_subscribe.c ---- */

bool session_subscribes(const struct session *session);
size_t subscriptions_bytes(const struct session *session);
void session_unsubscribe(struct session *session); /* from all, saying nothing */

/* ---- session.c: whether a connection goes on ---- */

/* It may go on, or has something to send; done at the end of the turn. */
void session_stir(struct front *self, struct session *session);

/* Nothing more is taken; closed once all is answered. */
void session_close(struct front *self, struct session *session);

/* Nothing more is sent, either. */
void session_cut(struct front *self, struct session *session);

/* It is somebody, or is to say who it is. */
void session_welcome(struct front *self, struct session *session);
void session_estrange(struct front *self, struct session *session);

/* It has given a wrong one: what it sends next waits, longer each time; then the end. */
void session_slow_down(struct front *self, struct session *session);
void sessions_let_go_on(struct front *self); /* those that have waited */

/* The rest of a request is awaited, or nothing that was begun is. */
void session_await(struct front *self, struct session *session, bool awaited);

/* What was queued after MULTI is forgotten, that it was, and what EXEC has not come to yet. */
void session_forget_queue(struct session *session);

/* The FEED that waited for it has gone, or goes on. */
void session_forget_look(struct session *session);

/* An error in its turn, behind all answers; then the end. */
void session_say_last(struct front *self, struct session *session, const char *text);

/* Close it with this error, and let go of what it holds at once: what came and was not taken, and
 * if it does not read its answers, or was told before, these too. */
void session_give_up(struct front *self, struct session *session, const char *text);

/* Close it now, whatever has not left. Once. */
void session_drop(struct front *self, struct session *session);

/* ---- session.c: its calls ---- */

/* The next command's answer; NULL: no memory. It is answered in its turn. */
struct call *call_begin(struct front *self, struct session *session);

/* So many bytes of answer are to be expected of it. */
void call_expect(struct call *call, size_t size);

/* Where to write the answer; then call_end(). Where the writer has failed the connection is cut
 * off: what was to be answered next must not be taken for this answer. */
struct resp_writer call_writer(struct call *call);
void call_end(struct front *self, struct call *call, const struct resp_writer *writer);

/* The whole answer is an error: its code and text. */
void call_fail(struct front *self, struct call *call, const char *text);
void call_fail_status(struct front *self, struct call *call, enum status status,
                      const char *message);

/* An answer that is known at once: begin() gives the writer, end() ends it. NULL: no memory, and
 * the connection is being closed. */
struct call *call_now(struct front *self, struct session *session, struct resp_writer *writer);

/* The connection has gone; what is under way has nobody to be told. */
void calls_orphan(struct session *session);

/* ---- users.c: who a connection is ---- */

/* Has the record changed, take it over: who is not in it any more has no rights from here on. */
void users_refresh(struct front *self);

/* The ring is another one: what hides the tokens is opened anew. */
void users_reopen(struct front *self);

/* A router that has just started may let somebody in who needs to be a user: there may be some, and
 * it has not heard. Until it has, those who ask for what needs a right wait. */
bool users_unsure(const struct front *self);
void users_tick(struct front *self); /* some have waited for long enough */
void users_forget(struct front *self);

/* NULL: none is called so, whatever bytes these are. */
const struct user *users_find(const struct front *self, struct span called);

/* Milliseconds since 1970. */
uint64_t front_date_ms(const struct front *self);

/* It has not logged in, or not any more; settled. */
void session_log_out(struct front *self, struct session *session);

/* Who it is by now. Becomes it a user that has as many connections as it may, it is told so and
 * closed. */
void session_settle(struct front *self, struct session *session);

/* Coordinators get to know that its token is in use. */
void session_note(struct front *self, struct session *session);

/* Before a command: its token may have expired meanwhile; that it is used is told again. */
static inline void session_recheck(struct front *self, struct session *session)
{
    if (session->expires_ms != 0 && front_date_ms(self) >= session->expires_ms) {
        session_settle(self, session);
    }
    if (session->login == LOGIN_TOKEN && session->who != NULL &&
        self->now_us - session->noted_us >= FRONT_NOTE_US) {
        session_note(self, session);
    }
}

/* What it logs in with: a user's name and token, or `default` and the password. */
struct login_words {
    struct span user;
    struct span password;
};

/* It may be right for all that is known before there is news of users: a token. A wrong password is
 * counted at once, and not once more when it is answered. */
bool session_login_waits(struct front *self, struct session *session,
                         const struct login_words *words);

/* NULL: it is in; else the error to be answered, perhaps in `room`. */
const char *session_log_in(struct front *self, struct session *session,
                           const struct login_words *words, char room[FRONT_MESSAGE_BYTES]);

/* Is it whoever says nothing: `default` without anything to prove, where there is no password? */
bool front_lets_in(const struct front *self, const struct user *user);

/* Must `default` give a password, as far as is known? Else any does. */
bool front_asks_default(const struct front *self);

/* "default" of who has said nothing. */
const char *session_user(const struct session *session);

/* It is gone: nobody's. */
void session_leave_user(struct front *self, struct session *session);

/* May it know that this filter is there? And whatever else there is? */
static inline bool session_sees(const struct session *session, const char *filter)
{
    return session->who != NULL ? user_sees(session->who, filter) : !session->stranger;
}

static inline bool session_sees_all(const struct session *session)
{
    return session->who != NULL ? session->who->role != USER_CLIENT : !session->stranger;
}

/* ... whoever waits for the answer; nobody does if it has gone. Lists come from a coordinator,
 * which has left out what the user does not see by its own record of users; but who that is, and
 * what it sees, may have changed while they were under way. */
static inline bool call_sees(const struct call *call, const char *filter)
{
    return call->session != NULL && session_sees(call->session, filter);
}

/* ---- audit.c ---- */

/* "auth" or "command"; what is empty is not known. */
struct refusal {
    const char *action;
    struct span user; /* as it called itself, or as it is known */
    const char *command;
    struct span filter;
    const char *outcome; /* the code that it was answered with */
};

/* Noted, if there is an audit log. */
void audit_refusal(struct front *self, const struct session *session,
                   const struct refusal *refusal);

/* ---- connection.c ---- */

/* Take requests and send answers of all that were stirred. */
void sessions_run(struct front *self);
void sessions_tick(struct front *self);

/* The connection has gone. */
void session_forget(struct front *self, struct session *session);

/* ---- memory.c ---- */

void memory_init(struct front *self);

/* It holds more or less than before; or nothing any more. */
void memory_weigh(struct front *self, struct session *session);
void memory_forget(struct front *self, struct session *session);

/* Close who holds the most until all hold no more than they may. Not while a request is taken. */
void memory_enforce(struct front *self);
bool memory_is_loose(const struct front *self); /* Much less is held than was. */
void memory_settle(struct front *self);

/* Its keys take more room than before. What is under way is bounded by itself, as closing whoever
 * has sent it would not end it. */
void memory_count_gather(struct front *self, struct gather *gather);
bool memory_takes_keys(const struct front *self, size_t bytes);

/* ---- gather.c ---- */

/* Add `count` keys for a command, in one request with others of its kind. False: the command must
 * wait until earlier adds of its connection are settled. */
bool gather_keys(struct front *self, struct session *session, const struct gather_kind *kind,
                 const struct span *keys, uint32_t count, bool many);

void gathers_init(struct front *self);
void gathers_send(struct front *self);
void gathers_fini(struct front *self);

/* Of all of them together. */
size_t gather_key_bytes(const struct span *keys, uint32_t count);

/* Answers of the router. */
void gather_on_reply(struct front *self, const struct frame *frame);
void gather_on_error(struct front *self, const struct frame *frame);
void gathers_tick(struct front *self);

/* ---- question.c ---- */

/* An admin request, of a coordinator, in the name of a user (by id; 0: of the router itself), who
 * is judged there, too. Before a change what it is to name is looked at, and again when that has
 * moved. */
void question_ask(struct front *self, uint32_t user, struct frame *frame, uint64_t deadline_us,
                  question_done done, void *owner);

/* Ask, and let `answer` answer the command. */
void question_for_call(struct front *self, struct session *session, struct frame *frame,
                       const char *name, bool of_router,
                       void (*answer)(struct front *, struct call *, const struct frame *),
                       uint64_t detail);
/* False: it answers none. */
bool questions_on_frame(struct front *self, const struct frame *frame);
void questions_tick(struct front *self);
void questions_fini(struct front *self);

/* ---- command_server.c ---- */

/* What the front counts, as INFO tells it. */

/* ---- command_dump.c ---- */

/* An answer of the router to the fingerprints of a chunk; false: to none of them. */
bool loads_on_reply(struct front *self, const struct frame *frame);
void loads_tick(struct front *self);
void loads_fini(struct front *self);

#endif
