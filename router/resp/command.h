/* command.h - the commands of the RESP front: their table, and what all of them have in common;
 * shared by the files of this folder only. */
#ifndef ORBLOOM_ROUTER_RESP_COMMAND_H
#define ORBLOOM_ROUTER_RESP_COMMAND_H

#include "router/resp/private.h"

/* ---- command.c ---- */

enum taken { TAKEN_DONE, TAKEN_WAIT };

/* One request, which has at least one argument. TAKEN_WAIT: again once earlier ones are answered.
 */
enum taken command_take(struct front *self, struct session *session, const struct span *arguments,
                        uint32_t count);

typedef enum taken (*command_fn)(struct front *self, struct session *session,
                                 const struct span *arguments, uint32_t count);

enum {
    COMMAND_WRITES = 1,
    COMMAND_READS = 2,
    COMMAND_FAST = 4,
    COMMAND_ADMIN = 8,
    COMMAND_WAITS = 16,       /* for answers of all earlier ones */
    COMMAND_UNQUEUED = 32,    /* after MULTI, too */
    COMMAND_STRANGERS = 64,   /* before the password was given, too */
    COMMAND_ITEMS = 128,      /* what is no filter's name the slow log hides, as it is the user's */
    COMMAND_SECRETS = 256,    /* ... and whatever is behind the command, always */
    COMMAND_SUBSCRIBED = 512, /* of a RESP 2 connection with subscriptions, too */
    COMMAND_ALONE = 1024,     /* never after MULTI */
    COMMAND_FEEDS = 2048, /* of one with items: they stand behind the word "feed", if it is there */
};

/* Which arguments are keys, as Redis counts: the command is 0, the last argument -1. */
struct command_keys {
    int8_t first; /* 0: none is */
    int8_t last;
    int8_t step;
};

/* What it takes to be allowed a command: rights to its filters (enum user_right), or one of these.
 */
enum {
    NEED_NOTHING = 0, /* whoever is in may say it */
    NEED_SIGHT = 16,  /* any right to the filter that is named, if one is */
    NEED_ALL = 32,    /* the rights beside it to all filters that there are and will be */
    NEED_ADMIN = 64,  /* everything */
};

struct command {
    const char *name; /* in lower case */
    int arity;        /* arguments with the name; negative: at least so many */
    unsigned flags;
    struct command_keys keys;
    uint8_t need; /* rights.c knows of subcommands that need something else */
    command_fn run;
    const char *group; /* as Redis groups them */
    const char *help;
};

/* ---- rights.c ---- */

/* Does it depend on who the user is, what is answered or done? Of what everybody is told, no. */
bool rights_matter(const struct command *command, const struct span *arguments, uint32_t count);

/* May the connection's user say this? NULL: it may. Else why not, in `room`; counted. */
const char *rights_refuse(struct front *self, const struct session *session,
                          const struct command *command, const struct span *arguments,
                          uint32_t count, char room[FRONT_MESSAGE_BYTES]);

/* The same for a subcommand, "acl|getuser", of which only admins may do what was asked. */
const char *rights_refuse_others(struct front *self, const struct session *session,
                                 const char *command, char room[FRONT_MESSAGE_BYTES]);

/* An add has found no filter, and may not make one: it is counted and noted. */
void rights_note_denied(struct front *self, const struct gather *gather);

/* ... for a filter that an add finds missing: whether it is made. */
void rights_limit_make(const struct session *session, struct gather_kind *kind);

/* ---- argument.c ---- */

/* "SET" is "set"; for options, too. */
bool command_word(struct span argument, const char *word);

/* A number in `text`; false: it is none, or not from `least` to `most`. */
bool argument_integer(struct span text, int64_t least, int64_t most, int64_t *value);
bool argument_double(struct span text, double *value);
bool argument_name(struct span text, char name[DOCUMENT_NAME_BYTES]);

/* ---- answer.c ---- */

/* Shorthands for answers that are known at once. */
enum taken answer_ok(struct front *self, struct session *session);
enum taken answer_simple(struct front *self, struct session *session, const char *text);
enum taken answer_text(struct front *self, struct session *session, const char *text);
enum taken answer_error(struct front *self, struct session *session, const char *text);
enum taken answer_integer(struct front *self, struct session *session, int64_t value);
enum taken answer_empty(struct front *self, struct session *session, bool map);
enum taken answer_arity(struct front *self, struct session *session, const char *name);

#define INTEGER_MESSAGE "ERR value is not an integer or out of range"
#define SYNTAX_MESSAGE  "ERR syntax error"

/* Does a command of this arity, as in struct command, take so many words? */
bool arity_fits(int arity, uint32_t count);

/* "config|get" of "config": by the word behind the command. HELP need not be in the table. */
struct subcommand {
    const char *name; /* in lower case */
    int arity;        /* with both words */
    command_fn run;
    const char *arguments; /* behind its name, as HELP shows them: " <name>" */
    const char *help;      /* without a full stop; NULL: HELP does not list it */
};

enum taken subcommand_run(struct front *self, struct session *session, const struct span *arguments,
                          uint32_t count, const struct subcommand *table, size_t size);

#define SUBCOMMAND_RUN(table) \
    subcommand_run(self, session, arguments, count, table, sizeof(table) / sizeof((table)[0]))

/* ---- command_table.c ---- */

const struct command *command_find(struct span name);

/* All of them, by name. */
const struct command *command_table(size_t *count);

/* Categories of commands, numbered from 0, as far as any command is in one; they follow from flags,
 * needs and groups. A name: NULL beyond the last one. category_find(): beyond it if there is none.
 */
const char *category_name(size_t category);
size_t category_find(struct span word);
bool category_has(size_t category, const struct command *command);

/* ---- command_keys.c ---- */

/* NULL: they may be sent. */
const char *items_error(const struct span *items, uint32_t count);

/* ---- command_keyspace.c ---- */

/* What is asked of a coordinator about one filter, or about all: "". */
struct frame status_frame(const char *name);

/* Is that an answer about filters, be it that there are none? */
bool status_is_answer(const struct admin_reply *reply);

/* Dropped ones are told, too, while they go. */
bool status_is_there(const struct filter_summary *filter);

/* NULL: there is none of that name. */
const struct filter_summary *status_find(const struct admin_reply *reply, const char *name);

/* ---- command_connection.c ---- */

/* Does it log in, and with what? False also where it is told what is wrong with its form. NULL: it
 * is no command. */
bool login_read(const struct command *command, const struct span *arguments, uint32_t count,
                struct login_words *words);

/* ---- command_kill.c ---- */

/* Where the client has reached this router, "127.0.0.1:6380"; ":0" by no TCP. */
void client_address(const struct front *self, const struct session *session, char *text,
                    size_t size);

/* ---- commands ---- */

#define COMMAND(name)                                                      \
    enum taken command_##name(struct front *self, struct session *session, \
                              const struct span *arguments, uint32_t count)

COMMAND(acl);
COMMAND(auth);
COMMAND(bf_add);
COMMAND(bf_card);
COMMAND(bf_debug);
COMMAND(bf_del);
COMMAND(bf_exists);
COMMAND(bf_expand);
COMMAND(bf_info);
COMMAND(bf_insert);
COMMAND(bf_loadchunk);
COMMAND(bf_madd);
COMMAND(bf_mexists);
COMMAND(bf_rebuild);
COMMAND(bf_reserve);
COMMAND(bf_scandump);
COMMAND(bf_status);
COMMAND(client);
COMMAND(client_kill);
COMMAND(cluster);
COMMAND(command);
COMMAND(config);
COMMAND(dbsize);
COMMAND(del);
COMMAND(discard);
COMMAND(echo);
COMMAND(exec);
COMMAND(exists);
COMMAND(expire);
COMMAND(expireat);
COMMAND(expiretime);
COMMAND(flush);
COMMAND(get);
COMMAND(hello);
COMMAND(info);
COMMAND(keys);
COMMAND(latency);
COMMAND(memory);
COMMAND(multi);
COMMAND(object);
COMMAND(ok);
COMMAND(persist);
COMMAND(pexpire);
COMMAND(pexpireat);
COMMAND(pexpiretime);
COMMAND(ping);
COMMAND(psubscribe);
COMMAND(pttl);
COMMAND(punsubscribe);
COMMAND(quit);
COMMAND(rename);
COMMAND(renamenx);
COMMAND(reset);
COMMAND(role);
COMMAND(scan);
COMMAND(select);
COMMAND(slowlog);
COMMAND(subscribe);
COMMAND(time);
COMMAND(ttl);
COMMAND(type);
COMMAND(unsubscribe);
COMMAND(wait);

#endif
