/* What a filter is and holds; what this router has done. */
#include "map/window.h"
#include "proto/replica_sum.h"
#include "router/resp/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EXPANSION = 2, MOST_LINE = 160, MOST_TEXT = 64 << 10 };

/* ---- BF.INFO, BF.CARD ---- */

enum field { FIELD_CAPACITY, FIELD_SIZE, FIELD_FILTERS, FIELD_ITEMS, FIELD_EXPANSION, NFIELDS };

static const struct {
    const char *option;
    const char *name;
} fields[NFIELDS] = {
    [FIELD_CAPACITY] = {"capacity", "Capacity"},
    [FIELD_SIZE] = {"size", "Size"},
    [FIELD_FILTERS] = {"filters", "Number of filters"},
    [FIELD_ITEMS] = {"items", "Number of items inserted"},
    [FIELD_EXPANSION] = {"expansion", "Expansion rate"},
};

uint64_t info_size(const struct filter_summary *filter)
{
    return filter->shard_bytes * filter->nshards * window_sets(filter->nslices);
}

uint64_t info_items(const struct info_reply *reply)
{
    return report_summarize(reply->replicas, reply->nreplicas, 0).keys;
}

static void write_field(struct resp_writer *writer, enum field field,
                        const struct info_reply *reply)
{
    const struct filter_summary *filter = &reply->filter;

    switch (field) {
    case FIELD_CAPACITY:
        resp_integer(writer, (int64_t)filter->capacity);
        break;
    case FIELD_SIZE:
        resp_integer(writer, (int64_t)info_size(filter));
        break;
    case FIELD_FILTERS:
        resp_integer(writer, filter->nchain > 0 ? filter->nchain : 1);
        break;
    case FIELD_ITEMS:
        resp_integer(writer, (int64_t)info_items(reply));
        break;
    case FIELD_EXPANSION:
        if (filter->when_full == WHEN_FULL_EXPAND) {
            resp_integer(writer, EXPANSION);
        } else {
            resp_null(writer);
        }
        break;
    case NFIELDS:
        break;
    }
}

static void write_info(struct resp_writer *writer, uint64_t detail, const struct info_reply *reply)
{
    if (detail < NFIELDS && !writer->resp3) {
        resp_array(writer, 1);
        write_field(writer, (enum field)detail, reply);
        return;
    }
    resp_map(writer, detail < NFIELDS ? 1 : NFIELDS);
    for (enum field field = 0; field < NFIELDS; field++) {
        if (detail == NFIELDS || detail == field) {
            resp_simple(writer, fields[field].name);
            write_field(writer, field, reply);
        }
    }
}

/* What is there of it so far is nothing to go by. */
static bool refuse_loading(struct front *self, struct call *call, const struct info_reply *reply)
{
    bool loading = reply->has_filter &&
                   document_load_open(reply->filter.load_source, reply->filter.loaded);

    if (loading) {
        call_fail(self, call, "NOT_READY the filter is being loaded from a dump");
    }
    return loading;
}

static void told(struct front *self, struct call *call, const struct frame *frame)
{
    const struct info_reply *reply = &frame->body.info_reply;
    struct resp_writer writer;

    if (reply->status == STATUS_NOT_FOUND) {
        call_fail(self, call, "ERR not found");
    } else if (reply->status != STATUS_OK || !reply->has_filter) {
        call_fail_status(self, call, reply->status, reply->message);
    } else if (!refuse_loading(self, call, reply)) {
        writer = call_writer(call);
        write_info(&writer, call->detail, reply);
        call_end(self, call, &writer);
    }
}

static void carded(struct front *self, struct call *call, const struct frame *frame)
{
    const struct info_reply *reply = &frame->body.info_reply;
    struct resp_writer writer;

    if (reply->status != STATUS_OK && reply->status != STATUS_NOT_FOUND) {
        call_fail_status(self, call, reply->status, reply->message);
        return;
    }
    if (refuse_loading(self, call, reply)) {
        return;
    }
    writer = call_writer(call);
    resp_integer(&writer, reply->has_filter ? (int64_t)info_items(reply) : 0);
    call_end(self, call, &writer);
}

void info_ask(struct front *self, struct session *session, const char *name,
              void (*answer)(struct front *, struct call *, const struct frame *), uint64_t detail)
{
    struct frame frame = {
        .kind = FRAME_INFO_REQUEST,
        .body.info_request = {.filter = name,
                              .timeout_ms = (uint32_t)(self->config.timeout_us / 1000)},
    };

    question_for_call(self, session, &frame, name, true, answer, detail);
}

COMMAND(bf_info)
{
    char name[DOCUMENT_NAME_BYTES];
    uint64_t detail = count == 2 ? NFIELDS : 0;

    if (count > 3) {
        return answer_arity(self, session, "bf.info");
    }
    while (detail < NFIELDS && !command_word(arguments[2], fields[detail].option)) {
        detail++;
    }
    if (count == 3 && detail == NFIELDS) {
        return answer_error(self, session, "Invalid information value");
    }
    if (!argument_name(arguments[1], name)) {
        return answer_error(self, session, "ERR not found");
    }
    info_ask(self, session, name, told, detail);
    return TAKEN_DONE;
}

COMMAND(bf_card)
{
    char name[DOCUMENT_NAME_BYTES];

    (void)count;
    if (!argument_name(arguments[1], name)) {
        return answer_integer(self, session, 0);
    }
    info_ask(self, session, name, carded, 0);
    return TAKEN_DONE;
}

/* ---- INFO ---- */

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
