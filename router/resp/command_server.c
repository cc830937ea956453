/* What clients ask of any server, answered for this router; and what it has done. */
#include "router/resp/command.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

COMMAND(ok)
{
    (void)arguments;
    (void)count;
    return answer_ok(self, session);
}

COMMAND(time)
{
    uint64_t wall_us = self->streams.wall_us(self->streams.context);
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);
    char text[24];

    (void)arguments;
    (void)count;
    if (call == NULL) {
        return TAKEN_DONE;
    }
    resp_array(&writer, 2);
    (void)snprintf(text, sizeof text, "%" PRIu64, wall_us / 1000000);
    resp_text(&writer, text);
    (void)snprintf(text, sizeof text, "%" PRIu64, wall_us % 1000000);
    resp_text(&writer, text);
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

/* There is nothing that follows it: copies are on nodes, which no client talks to. */
COMMAND(role)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    (void)arguments;
    (void)count;
    if (call != NULL) {
        resp_array(&writer, 3);
        resp_text(&writer, "master");
        resp_integer(&writer, 0);
        resp_array(&writer, 0);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

/* Whatever was acknowledged is on a write quorum by then, so that there is nothing to wait for but
 * the connection's own adds. The first copy is what Redis calls the master. */
COMMAND(wait)
{
    int64_t replicas;
    int64_t timeout_ms;

    (void)count;
    if (!argument_integer(arguments[1], INT64_MIN, INT64_MAX, &replicas)) {
        return answer_error(self, session, INTEGER_MESSAGE);
    }
    if (!argument_integer(arguments[2], INT64_MIN, INT64_MAX, &timeout_ms)) {
        return answer_error(self, session, "ERR timeout is not an integer or out of range");
    }
    if (timeout_ms < 0) {
        return answer_error(self, session, "ERR timeout is negative");
    }
    session->waited = true;
    return answer_integer(self, session, session->copies > 0 ? session->copies - 1 : 0);
}

/* ---- LATENCY: nothing is noted ---- */

static COMMAND(none)
{
    (void)arguments;
    (void)count;
    return answer_empty(self, session, false);
}

static COMMAND(zero)
{
    (void)arguments;
    (void)count;
    return answer_integer(self, session, 0);
}

COMMAND(latency)
{
    static const struct subcommand subcommands[] = {
        {"history", 3, command_none, " <event>", "Nothing: no event is noted"},
        {"latest", 2, command_none, "", "Nothing: no event is noted"},
        {"reset", -2, command_zero, " [<event> ...]", "0, as nothing is noted"},
    };

    return SUBCOMMAND_RUN(subcommands);
}

/* ---- CONFIG ---- */

/* What clients and redis-benchmark look at before they begin. Nothing is saved here: filters are
 * kept by nodes. */
static const struct {
    const char *name;
    const char *value; /* NULL: seconds of silence until a connection is closed */
} parameters[] = {
    {"appendonly", "no"},
    {"databases", "16"},
    {"save", ""},
    {"timeout", NULL},
};

enum { PARAMETERS = sizeof parameters / sizeof parameters[0] };

static bool any_matches(const struct span *patterns, uint32_t count, const char *name)
{
    char text[FRONT_LABEL_BYTES];

    for (uint32_t i = 0; i < count; i++) {
        if (patterns[i].size < sizeof text) {
            memcpy(text, patterns[i].data, patterns[i].size);
            text[patterns[i].size] = '\0';
            if (fnmatch(text, name, FNM_CASEFOLD) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void write_parameter(const struct front *self, struct resp_writer *writer, size_t at)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, self->config.idle_us / 1000000);
    resp_text(writer, parameters[at].name);
    resp_text(writer, parameters[at].value != NULL ? parameters[at].value : text);
}

static COMMAND(config_get)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);
    bool wanted[PARAMETERS];
    size_t pairs = 0;

    if (call == NULL) {
        return TAKEN_DONE;
    }
    for (size_t i = 0; i < PARAMETERS; i++) {
        wanted[i] = any_matches(arguments + 2, count - 2, parameters[i].name);
        pairs += wanted[i];
    }
    resp_map(&writer, pairs);
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (wanted[i]) {
            write_parameter(self, &writer, i);
        }
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static COMMAND(config_other)
{
    (void)arguments;
    (void)count;
    return answer_error(self, session,
                        "ERR options are set in the router's configuration file; see "
                        "docs/configuration.md");
}

COMMAND(config)
{
    static const struct subcommand subcommands[] = {
        {"get", -3, command_config_get, " <pattern> [<pattern> ...]",
         "The parameters that clients look at before they begin"},
        {"resetstat", 2, command_config_other, "", NULL}, /* errors, which say why */
        {"rewrite", 2, command_config_other, "", NULL},
        {"set", -4, command_config_other, "", NULL},
    };

    return SUBCOMMAND_RUN(subcommands);
}

/* ---- INFO ---- */

enum { MOST_LINE = 160, MOST_TEXT = 64 << 10 };

static const struct counter_def counter_defs[] = {
#define X(name, unit, help) {#name, unit, help},
    FRONT_COUNTERS(X)
#undef X
};

struct counter_table front_counters(void)
{
    return (struct counter_table){.defs = counter_defs, .count = FRONT_NCOUNTERS};
}

const uint64_t *front_counts(const struct front *front)
{
    return front->counters;
}

/* What does not fit is left out. */
static void put(struct buffer *text, const char *piece)
{
    if (buffer_append(text, span_text(piece)) != STATUS_OK) {
        return;
    }
}

static void put_line(struct buffer *text, const char *name, uint64_t value)
{
    char line[MOST_LINE];

    (void)snprintf(line, sizeof line, "%s:%" PRIu64 "\r\n", name, value);
    put(text, line);
}

static void describe(const struct front *self, const struct stats_reply *stats, struct buffer *text)
{
    char line[2 * MOST_LINE];

    (void)snprintf(line, sizeof line,
                   "# Server\r\nredis_version:" REDIS_VERSION "\r\nredis_mode:standalone\r\n"
                   "orbloom_router:%s\r\nuptime_in_seconds:%" PRIu64 "\r\n\r\n# Clients\r\n",
                   self->router_name, (self->now_us - self->started_us) / 1000000);
    put(text, line);
    put_line(text, "connected_clients", self->nsessions);
    put(text, "\r\n# Persistence\r\nloading:0\r\n\r\n# Stats\r\n");
    put_line(text, "total_connections_received", self->counters[FRONT_resp_connections_total]);
    put_line(text, "total_commands_processed", self->counters[FRONT_resp_commands_total]);
    put(text, "\r\n# Replication\r\nrole:master\r\n\r\n# Orbloom\r\n");
    for (size_t i = 0; i < stats->nvalues; i++) {
        put_line(text, stats->values[i].name, stats->values[i].value);
    }
    for (size_t i = 0; i < FRONT_NCOUNTERS; i++) {
        put_line(text, front_counters().defs[i].name, self->counters[i]);
    }
}

static void informed(struct front *self, struct call *call, const struct frame *frame)
{
    struct resp_writer writer = call_writer(call);
    struct buffer text;

    buffer_init(&text, MOST_TEXT);
    describe(self, &frame->body.stats_reply, &text);
    resp_bulk(&writer, buffer_span(&text));
    buffer_fini(&text);
    call_end(self, call, &writer);
}

COMMAND(info)
{
    struct frame frame = {.kind = FRAME_STATS_REQUEST};

    (void)arguments;
    (void)count;
    question_for_call(self, session, &frame, "", true, informed, 0);
    return TAKEN_DONE;
}
