/* Which commands there are; and what COMMAND tells of them. */
#include "router/resp/command.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define ROW(name, arity, flags, keys, need, run, group, help) \
    {                                                         \
        name, arity, flags, {keys}, need, run, group, help    \
    }
#define NO_KEY     0, 0, 0
#define KEY        1, 1, 1
#define KEYS       1, -1, 1
#define RENAMED    1, 2, 1
#define SUB_KEY    2, 2, 1 /* behind the subcommand */
#define FREE       NEED_NOTHING
#define SIGHT      NEED_SIGHT
#define ADMIN      NEED_ADMIN
#define R          USER_READ
#define W          USER_WRITE
#define C          USER_CREATE
#define D          USER_DUMP
#define READS      COMMAND_READS
#define WRITES     COMMAND_WRITES
#define FAST       COMMAND_FAST
#define WAITS      COMMAND_WAITS
#define UNQUEUED   COMMAND_UNQUEUED
#define STRANGERS  COMMAND_STRANGERS
#define ITEMS      COMMAND_ITEMS
#define FEEDS      COMMAND_FEEDS
#define SECRETS    COMMAND_SECRETS
#define SUBSCRIBED COMMAND_SUBSCRIBED
#define ALONE      COMMAND_ALONE

/* By name. */
static const struct command table[] = {
    ROW("acl", -2, SECRETS, NO_KEY, FREE, command_acl, "server", "which users there are"),
    ROW("asking", 1, FAST, NO_KEY, FREE, command_ok, "cluster", "accepted; nothing ever moves"),
    ROW("auth", -2, FAST | STRANGERS | SECRETS, NO_KEY, FREE, command_auth, "connection",
        "give the password"),
    ROW("bf.add", 3, WRITES | ITEMS, KEY, W, command_bf_add, "bf", "add an item; 1: it is new"),
    ROW("bf.card", 2, READS | WAITS, KEY, R, command_bf_card, "bf",
        "about how many items a filter holds"),
    ROW("bf.debug", 2, READS | WAITS, KEY, R, command_bf_debug, "bf", "the layers of a filter"),
    ROW("bf.del", -2, WRITES | ITEMS, KEY, W, command_bf_del, "bf",
        "not possible: an error says so"),
    ROW("bf.exists", 3, READS | ITEMS, KEY, R, command_bf_exists, "bf",
        "0: the item was never added"),
    ROW("bf.expand", -2, WRITES | WAITS, KEY, C, command_bf_expand, "bf",
        "another CAPACITY or ERROR while it serves; ABORT takes it back"),
    ROW("bf.info", -2, READS | WAITS, KEY, R, command_bf_info, "bf",
        "capacity, size and items of a filter"),
    ROW("bf.insert", -4, WRITES | ITEMS, KEY, W, command_bf_insert, "bf",
        "add items, making the filter as asked"),
    ROW("bf.loadchunk", 4, WRITES | WAITS | SECRETS, KEY, C, command_bf_loadchunk, "bf",
        "one chunk of a dump into a filter that it makes"),
    ROW("bf.madd", -3, WRITES | ITEMS, KEY, W, command_bf_madd, "bf", "add items; 1: new"),
    ROW("bf.mexists", -3, READS | ITEMS, KEY, R, command_bf_mexists, "bf", "look items up"),
    ROW("bf.rebuild", -3, WRITES | WAITS | ITEMS | FEEDS, KEY, C, command_bf_rebuild, "bf",
        "BEGIN, FEED item..., COMMIT [YES], ABORT: replace its items by a list"),
    ROW("bf.reserve", -4, WRITES | WAITS, KEY, C, command_bf_reserve, "bf", "make a filter"),
    ROW("bf.scandump", 3, READS | WAITS, KEY, D, command_bf_scandump, "bf",
        "one chunk of a filter"),
    ROW("bf.status", -1, READS | WAITS, NO_KEY, SIGHT, command_bf_status, "bf",
        "how a filter is, or all of them and the nodes"),
    ROW("client", -2, 0, NO_KEY, FREE, command_client, "connection",
        "names and ids of connections"),
    ROW("cluster", -2, WAITS, NO_KEY, FREE, command_cluster, "cluster",
        "this router, as the one node that has all slots"),
    ROW("command", -1, 0, NO_KEY, FREE, command_command, "server", "what commands there are"),
    ROW("config", -2, COMMAND_ADMIN, NO_KEY, FREE, command_config, "server",
        "GET: the few that clients ask for"),
    ROW("dbsize", 1, READS | WAITS, NO_KEY, FREE, command_dbsize, "server",
        "how many filters there are"),
    ROW("del", -2, WRITES | WAITS, KEYS, C, command_del, "generic", "drop filters"),
    ROW("discard", 1, FAST | UNQUEUED, NO_KEY, FREE, command_discard, "transactions",
        "forget the queued commands"),
    ROW("echo", 2, FAST | ITEMS, NO_KEY, FREE, command_echo, "connection", "the text again"),
    ROW("exec", 1, UNQUEUED | WAITS, NO_KEY, FREE, command_exec, "transactions",
        "run the queued commands"),
    ROW("exists", -2, READS | WAITS, KEYS, R, command_exists, "generic",
        "how many of these filters there are"),
    ROW("expire", -3, WRITES | WAITS, KEY, C, command_expire, "generic",
        "drop a filter after so many seconds"),
    ROW("expireat", -3, WRITES | WAITS, KEY, C, command_expireat, "generic",
        "drop a filter at a time, in seconds"),
    ROW("expiretime", 2, READS | WAITS, KEY, R, command_expiretime, "generic",
        "when that is, in seconds"),
    ROW("flushall", -1, WRITES | WAITS, NO_KEY, C | NEED_ALL, command_flush, "server",
        "drop every filter, if resp_flush is on"),
    ROW("flushdb", -1, WRITES | WAITS, NO_KEY, C | NEED_ALL, command_flush, "server",
        "drop every filter, if resp_flush is on"),
    ROW("get", 2, READS | WAITS, KEY, R, command_get, "string",
        "null, as no key has a text; WRONGTYPE of a filter"),
    ROW("hello", -1, FAST | WAITS | STRANGERS | SECRETS, NO_KEY, FREE, command_hello, "connection",
        "choose version 2 or 3 of the protocol"),
    ROW("info", -1, 0, NO_KEY, FREE, command_info, "server", "this router and its counters"),
    ROW("keys", 2, READS | WAITS, NO_KEY, FREE, command_keys, "generic",
        "names of filters that match"),
    ROW("latency", -2, COMMAND_ADMIN, NO_KEY, ADMIN, command_latency, "server", "nothing is noted"),
    ROW("memory", -2, READS | WAITS, SUB_KEY, R, command_memory, "server",
        "USAGE: bytes of one replica of a filter"),
    ROW("multi", 1, FAST | UNQUEUED, NO_KEY, FREE, command_multi, "transactions",
        "queue what follows until EXEC"),
    ROW("object", -2, READS | WAITS, SUB_KEY, R, command_object, "generic",
        "ENCODING, REFCOUNT: what clients ask of any key"),
    ROW("persist", 2, WRITES | WAITS, KEY, C, command_persist, "generic",
        "no longer drop a filter by itself"),
    ROW("pexpire", -3, WRITES | WAITS, KEY, C, command_pexpire, "generic",
        "as EXPIRE, in milliseconds"),
    ROW("pexpireat", -3, WRITES | WAITS, KEY, C, command_pexpireat, "generic",
        "as EXPIREAT, in milliseconds"),
    ROW("pexpiretime", 2, READS | WAITS, KEY, R, command_pexpiretime, "generic",
        "as EXPIRETIME, in milliseconds"),
    ROW("ping", -1, FAST | ITEMS | SUBSCRIBED, NO_KEY, FREE, command_ping, "connection",
        "PONG, or the text again"),
    ROW("psubscribe", -2, SUBSCRIBED | ALONE, NO_KEY, FREE, command_psubscribe, "pubsub",
        "accepted; no message ever comes"),
    ROW("pttl", 2, READS | WAITS, KEY, R, command_pttl, "generic", "as TTL, in milliseconds"),
    ROW("punsubscribe", -1, SUBSCRIBED | ALONE, NO_KEY, FREE, command_punsubscribe, "pubsub",
        "from these patterns, or from all"),
    ROW("quit", -1, FAST | UNQUEUED | STRANGERS | SUBSCRIBED, NO_KEY, FREE, command_quit,
        "connection", "close the connection"),
    ROW("readonly", 1, FAST, NO_KEY, FREE, command_ok, "cluster",
        "accepted; this router serves all"),
    ROW("readwrite", 1, FAST, NO_KEY, FREE, command_ok, "cluster",
        "accepted; this router serves all"),
    ROW("rename", 3, WRITES | WAITS, RENAMED, C, command_rename, "generic",
        "another name, dropping the filter that has it"),
    ROW("renamenx", 3, WRITES | WAITS, RENAMED, C, command_renamenx, "generic",
        "another name, if no filter has it"),
    ROW("reset", 1, FAST | UNQUEUED | WAITS | STRANGERS | SUBSCRIBED, NO_KEY, FREE, command_reset,
        "connection", "the connection as it began"),
    ROW("role", 1, FAST, NO_KEY, FREE, command_role, "server",
        "master, without replicas of its own"),
    ROW("scan", -2, READS | WAITS, NO_KEY, FREE, command_scan, "generic",
        "names of filters, all in one page"),
    ROW("select", 2, FAST, NO_KEY, FREE, command_select, "connection",
        "accepted; there is one database"),
    ROW("slowlog", -2, COMMAND_ADMIN, NO_KEY, ADMIN, command_slowlog, "server",
        "commands that took too long"),
    ROW("subscribe", -2, SUBSCRIBED | ALONE, NO_KEY, FREE, command_subscribe, "pubsub",
        "accepted; no message ever comes"),
    ROW("time", 1, FAST, NO_KEY, FREE, command_time, "server",
        "seconds and microseconds since 1970"),
    ROW("ttl", 2, READS | WAITS, KEY, R, command_ttl, "generic",
        "how long a filter stays, in seconds"),
    ROW("type", 2, READS | WAITS, KEY, R, command_type, "generic", "MBbloom-- or none"),
    ROW("unlink", -2, WRITES | WAITS, KEYS, C, command_del, "generic", "drop filters"),
    ROW("unsubscribe", -1, SUBSCRIBED | ALONE, NO_KEY, FREE, command_unsubscribe, "pubsub",
        "from these channels, or from all"),
    ROW("wait", 3, WAITS, NO_KEY, FREE, command_wait, "generic",
        "on how many further replicas this connection's adds are"),
};

enum { COMMANDS = sizeof table / sizeof table[0] };

const struct command *command_table(size_t *count)
{
    *count = COMMANDS;
    return table;
}

const struct command *command_find(struct span name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (command_word(name, table[i].name)) {
            return &table[i];
        }
    }
    return NULL;
}

/* ---- categories ---- */

/* All commands with one of these flags, or needs, or of this group; `lacks`: with none of those. */
static const struct {
    const char *name;
    unsigned flags;
    unsigned lacks;
    uint8_t needs;
    const char *group; /* "": none */
} categories[] = {
    {"keyspace", 0, 0, 0, "generic"},
    {"read", COMMAND_READS, 0, 0, ""},
    {"write", COMMAND_WRITES, 0, 0, ""},
    {"string", 0, 0, 0, "string"},
    {"pubsub", 0, 0, 0, "pubsub"},
    {"admin", COMMAND_ADMIN, 0, 0, ""},
    {"fast", COMMAND_FAST, 0, 0, ""},
    {"slow", 0, COMMAND_FAST, 0, ""},
    {"dangerous", COMMAND_ADMIN, 0, NEED_ADMIN | NEED_ALL, ""},
    {"connection", 0, 0, 0, "connection"},
    {"transaction", 0, 0, 0, "transactions"},
    {"bloom", 0, 0, 0, "bf"},
};

enum { CATEGORIES = sizeof categories / sizeof categories[0] };

const char *category_name(size_t category)
{
    return category < CATEGORIES ? categories[category].name : NULL;
}

bool category_has(size_t category, const struct command *command)
{
    unsigned lacks = categories[category].lacks;

    return (command->flags & categories[category].flags) != 0 ||
           (lacks != 0 && (command->flags & lacks) == 0) ||
           (command->need & categories[category].needs) != 0 ||
           strcmp(command->group, categories[category].group) == 0;
}

size_t category_find(struct span word)
{
    size_t category = 0;

    while (category < CATEGORIES && !command_word(word, categories[category].name)) {
        category++;
    }
    return category;
}

/* ---- COMMAND ---- */

static const struct {
    unsigned flag;
    const char *name;
} flag_names[] = {
    {COMMAND_WRITES, "write"}, {COMMAND_READS, "readonly"},    {COMMAND_FAST, "fast"},
    {COMMAND_ADMIN, "admin"},  {COMMAND_STRANGERS, "no_auth"},
};

enum { FLAGS = sizeof flag_names / sizeof flag_names[0] };

static void write_flags(struct resp_writer *writer, unsigned flags)
{
    size_t count = 0;

    for (size_t i = 0; i < FLAGS; i++) {
        count += (flags & flag_names[i].flag) != 0;
    }
    resp_array(writer, count);
    for (size_t i = 0; i < FLAGS; i++) {
        if ((flags & flag_names[i].flag) != 0) {
            resp_simple(writer, flag_names[i].name);
        }
    }
}

static void write_categories(struct resp_writer *writer, const struct command *command)
{
    char name[FRONT_LABEL_BYTES];
    size_t count = 0;

    for (size_t i = 0; i < CATEGORIES; i++) {
        count += category_has(i, command);
    }
    resp_array(writer, count);
    for (size_t i = 0; i < CATEGORIES; i++) {
        if (category_has(i, command)) {
            (void)snprintf(name, sizeof name, "@%s", categories[i].name);
            resp_simple(writer, name);
        }
    }
}

/* As Redis 7 does it, without hints, further keys and subcommands. */
static void write_command(struct resp_writer *writer, const struct command *command)
{
    resp_array(writer, 10);
    resp_text(writer, command->name);
    resp_integer(writer, command->arity);
    write_flags(writer, command->flags);
    resp_integer(writer, command->keys.first);
    resp_integer(writer, command->keys.last);
    resp_integer(writer, command->keys.step);
    write_categories(writer, command);
    for (int i = 0; i < 3; i++) {
        resp_array(writer, 0);
    }
}

static void write_help(struct resp_writer *writer, const struct command *command)
{
    resp_text(writer, command->name);
    resp_map(writer, 3);
    resp_text(writer, "summary");
    resp_text(writer, command->help);
    resp_text(writer, "since");
    resp_text(writer, "1.0.0");
    resp_text(writer, "group");
    resp_text(writer, command->group);
}

static COMMAND(all_commands)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    (void)arguments;
    (void)count;
    if (call != NULL) {
        resp_array(&writer, COMMANDS);
        for (size_t i = 0; i < COMMANDS; i++) {
            write_command(&writer, &table[i]);
        }
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

static COMMAND(command_count)
{
    (void)arguments;
    (void)count;
    return answer_integer(self, session, COMMANDS);
}

static COMMAND(command_info)
{
    struct resp_writer writer;
    struct call *call;

    if (count == 2) {
        return command_all_commands(self, session, arguments, count);
    }
    call = call_now(self, session, &writer);
    if (call == NULL) {
        return TAKEN_DONE;
    }
    resp_array(&writer, count - 2);
    for (uint32_t i = 2; i < count; i++) {
        const struct command *command = command_find(arguments[i]);

        if (command != NULL) {
            write_command(&writer, command);
        } else {
            resp_null(&writer);
        }
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

/* Of those that are named, or of all. Names that are none are left out, as Redis does it. */
static COMMAND(command_docs)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);
    size_t known = 0;

    if (call == NULL) {
        return TAKEN_DONE;
    }
    for (uint32_t i = 2; i < count; i++) {
        known += command_find(arguments[i]) != NULL;
    }
    resp_map(&writer, count == 2 ? COMMANDS : known);
    for (size_t i = 0; count == 2 && i < COMMANDS; i++) {
        write_help(&writer, &table[i]);
    }
    for (uint32_t i = 2; i < count; i++) {
        const struct command *command = command_find(arguments[i]);

        if (command != NULL) {
            write_help(&writer, command);
        }
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

struct selection {
    enum { BY_PATTERN, BY_MODULE, BY_CATEGORY } by;
    char text[DOCUMENT_NAME_BYTES]; /* of a module or a pattern; longer ones match nothing */
    size_t category;
};

static bool is_selected(const struct selection *self, const struct command *command)
{
    switch (self->by) {
    case BY_PATTERN:
        return fnmatch(self->text, command->name, 0) == 0;
    case BY_MODULE:
        return strcmp(self->text, command->group) == 0;
    case BY_CATEGORY:
        break;
    }
    return category_name(self->category) != NULL && category_has(self->category, command);
}

/* FILTERBY MODULE name, or PATTERN pattern, or ACLCAT category. False: it is none of these. */
static bool read_selection(struct span by, struct span value, struct selection *selection)
{
    if (command_word(by, "module")) {
        selection->by = BY_MODULE;
    } else if (command_word(by, "aclcat")) {
        selection->by = BY_CATEGORY;
    } else if (!command_word(by, "pattern")) {
        return false;
    }
    (void)snprintf(selection->text, sizeof selection->text, "%.*s",
                   value.size < sizeof selection->text ? (int)value.size : 0,
                   (const char *)value.data);
    selection->category = category_find(value);
    return true;
}

static COMMAND(command_list)
{
    struct selection selection = {.text = "*"};
    struct resp_writer writer;
    struct call *call;
    size_t selected = 0;

    if (count != 2 && (count != 5 || !command_word(arguments[2], "filterby") ||
                       !read_selection(arguments[3], arguments[4], &selection))) {
        return answer_error(self, session, SYNTAX_MESSAGE);
    }
    call = call_now(self, session, &writer);
    if (call == NULL) {
        return TAKEN_DONE;
    }
    for (size_t i = 0; i < COMMANDS; i++) {
        selected += is_selected(&selection, &table[i]);
    }
    resp_array(&writer, selected);
    for (size_t i = 0; i < COMMANDS; i++) {
        if (is_selected(&selection, &table[i])) {
            resp_text(&writer, table[i].name);
        }
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

COMMAND(command)
{
    static const struct subcommand subcommands[] = {
        {"count", 2, command_command_count, "", "How many commands there are"},
        {"docs", -2, command_command_docs, " [<command-name> ...]",
         "What they do; all of them, or those named"},
        {"info", -2, command_command_info, " [<command-name> ...]",
         "Their arguments and keys; all of them, or those named"},
        {"list", -2, command_command_list,
         " [FILTERBY (MODULE <group>|ACLCAT <category>|PATTERN <pattern>)]", "Their names"},
    };

    return count == 1 ? command_all_commands(self, session, arguments, count)
                      : SUBCOMMAND_RUN(subcommands);
}
