/* What a filter is and holds: BF.INFO and BF.CARD, as operators see it BF.STATUS, as RedisBloom's
 * developers do BF.DEBUG, and what clients ask of any key, MEMORY USAGE and OBJECT. */
#include "filter/lines.h"
#include "map/history/window.h"
#include "proto/replica_report.h"
#include "router/resp/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { EXPANSION = 2 };

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

static uint64_t size_of(const struct filter_summary *filter)
{
    return filter->shard_bytes * filter->nshards * window_sets(filter->nslices);
}

static uint64_t items_of(const struct info_reply *reply)
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
        resp_integer(writer, (int64_t)size_of(filter));
        break;
    case FIELD_FILTERS:
        resp_integer(writer, filter->nchain > 0 ? filter->nchain : 1);
        break;
    case FIELD_ITEMS:
        resp_integer(writer, (int64_t)items_of(reply));
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
    resp_integer(&writer, reply->has_filter ? (int64_t)items_of(reply) : 0);
    call_end(self, call, &writer);
}

/* Ask the router about a filter. */
static void ask_router(struct front *self, struct session *session, const char *name,
                       void (*answer)(struct front *, struct call *, const struct frame *),
                       uint64_t detail)
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
    ask_router(self, session, name, told, detail);
    return TAKEN_DONE;
}

COMMAND(bf_card)
{
    char name[DOCUMENT_NAME_BYTES];

    (void)count;
    if (!argument_name(arguments[1], name)) {
        return answer_integer(self, session, 0);
    }
    ask_router(self, session, name, carded, 0);
    return TAKEN_DONE;
}

/* ---- BF.STATUS: names as `orbloom status --json` has them ---- */

enum { FILTER_FIELDS = 30, NODE_FIELDS = 15 };

static void put_text(struct resp_writer *writer, const char *name, const char *text)
{
    resp_text(writer, name);
    resp_text(writer, text);
}

static void put_count(struct resp_writer *writer, const char *name, uint64_t count)
{
    resp_text(writer, name);
    resp_integer(writer, count < INT64_MAX ? (int64_t)count : INT64_MAX);
}

static void put_number(struct resp_writer *writer, const char *name, double number)
{
    resp_text(writer, name);
    resp_double(writer, number);
}

static void put_bool(struct resp_writer *writer, const char *name, bool value)
{
    resp_text(writer, name);
    resp_boolean(writer, value);
}

static void put_parameters(struct resp_writer *writer, const struct filter_summary *filter)
{
    put_text(writer, "name", filter->name);
    put_count(writer, "id", filter->id);
    put_text(writer, "state", filter_state_name(filter->state));
    put_count(writer, "epoch", filter->epoch);
    put_count(writer, "capacity", filter->capacity);
    put_count(writer, "max_capacity", filter->max_capacity);
    put_number(writer, "rate", filter->rate);
    put_count(writer, "replicas", filter->rule.replicas);
    put_count(writer, "write_quorum", filter->rule.write);
    put_count(writer, "read_quorum", filter->rule.read);
    put_text(writer, "when_full", when_full_name(filter->when_full));
    put_text(writer, "keylog", keylog_name(filter->keylog));
    put_text(writer, "durability", durability_name(filter->durability));
    put_count(writer, "shards", filter->nshards);
    put_count(writer, "copy_bytes", size_of(filter));
}

static void put_state(struct resp_writer *writer, const struct filter_summary *filter,
                      const struct report_sum *sum)
{
    put_count(writer, "keys_estimate", filter->nslices > 0 ? sum->keys_kept : sum->keys);
    put_count(writer, "replicas_full", sum->full);
    put_count(writer, "replicas_joining", sum->joining);
    put_count(writer, "replicas_building", sum->building);
    put_count(writer, "shards_lacking", filter->shards_lacking);
    put_text(writer, "lacking", filter->lacking);
    put_text(writer, "lacking_remedy", filter->lacking_remedy);
    put_count(writer, "shards_grown", filter->shards_grown);
    put_count(writer, "shards_growing", filter->shards_growing);
    put_text(writer, "growth_awaited", filter->growth_awaited);
    put_text(writer, "growth_refused", filter->growth_refused);
    put_bool(writer, "growth_held", filter->growth_held);
    put_count(writer, "rebuild", filter->rebuild_keyset);
    put_count(writer, "fed_keys", filter->fed_keys);
    put_text(writer, "rebuild_awaited", filter->rebuild_awaited);
}

static void put_filter(struct resp_writer *writer, const struct admin_reply *reply,
                       const struct filter_summary *filter)
{
    struct report_sum sum = report_summarize(reply->replicas, reply->nreplicas, filter->id);

    resp_map(writer, FILTER_FIELDS);
    put_parameters(writer, filter);
    put_state(writer, filter, &sum);
}

static void put_node(struct resp_writer *writer, const struct node_summary *node)
{
    resp_map(writer, NODE_FIELDS);
    put_text(writer, "name", node->name);
    put_count(writer, "id", node->id);
    put_text(writer, "host", node->host);
    put_text(writer, "zone", node->zone);
    put_text(writer, "endpoint", node->endpoint);
    put_bool(writer, "alive", node->alive);
    put_count(writer, "seen_ago_ms", node->seen_ago_ms);
    put_count(writer, "memory_limit_bytes", node->memory_limit_bytes);
    put_count(writer, "memory_used_bytes", node->memory_used_bytes);
    put_bool(writer, "durable", node->durable);
    put_count(writer, "disk_used_bytes", node->disk_used_bytes);
    put_bool(writer, "draining", node->draining);
    put_text(writer, "replaced_by", node->replaced_by);
    put_count(writer, "slots", node->slots);
    put_text(writer, "awaited", node->awaited);
}

/* What wants attention may name any filter. */
static void put_all(struct resp_writer *writer, const struct call *call,
                    const struct admin_reply *reply)
{
    bool all = call->session != NULL && session_sees_all(call->session);
    size_t seen = 0;

    resp_map(writer, 3);
    put_text(writer, "attention", all ? reply->message : "");
    resp_text(writer, "nodes");
    resp_array(writer, reply->nnodes);
    for (size_t i = 0; i < reply->nnodes; i++) {
        put_node(writer, &reply->nodes[i]);
    }
    resp_text(writer, "filters");
    for (size_t i = 0; i < reply->nfilters; i++) {
        seen += call_sees(call, reply->filters[i].name);
    }
    resp_array(writer, seen);
    for (size_t i = 0; i < reply->nfilters; i++) {
        if (call_sees(call, reply->filters[i].name)) {
            put_filter(writer, reply, &reply->filters[i]);
        }
    }
}

/* Of one filter, also of one that goes: that it does is told. */
static void told_status(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    bool one = call->text[0] != '\0';
    struct resp_writer writer;

    if (reply->status == STATUS_NOT_FOUND || (one && reply->nfilters == 0)) {
        call_fail(self, call, "ERR not found");
    } else if (reply->status != STATUS_OK) {
        call_fail_status(self, call, reply->status, reply->message);
    } else {
        writer = call_writer(call);
        if (one) {
            put_filter(&writer, reply, &reply->filters[0]);
        } else {
            put_all(&writer, call, reply);
        }
        call_end(self, call, &writer);
    }
}

COMMAND(bf_status)
{
    char name[DOCUMENT_NAME_BYTES] = "";
    struct frame frame = status_frame(name);

    if (count > 2) {
        return answer_arity(self, session, "bf.status");
    }
    if (count == 2 && !argument_name(arguments[1], name)) {
        return answer_error(self, session, "ERR not found");
    }
    question_for_call(self, session, &frame, name, false, told_status, 0);
    return TAKEN_DONE;
}

/* ---- BF.DEBUG ---- */

/* Older layers are taken for as full as they may be. */
static void put_layers(struct resp_writer *writer, const struct filter_summary *filter,
                       uint64_t keys)
{
    uint32_t nlayers = filter->nchain > 0 ? filter->nchain : 1;
    char text[FRONT_MESSAGE_BYTES];

    for (uint32_t i = 0; i < nlayers; i++) {
        const struct generation_summary *layer = &filter->generations[i];
        uint64_t lines = layer->lines * filter->nshards * window_sets(filter->nslices);
        uint64_t held = i + 1 == nlayers || keys < layer->capacity ? keys : layer->capacity;

        (void)snprintf(text, sizeof text,
                       "bytes:%" PRIu64 " bits:%" PRIu64 " hashes:%" PRIu32
                       " hashwidth:64 capacity:%" PRIu64 " size:%" PRIu64 " ratio:%g",
                       lines * LINE_BYTES, lines * LINE_BITS, 8 * layer->z, layer->capacity, held,
                       layer->rate);
        resp_text(writer, text);
        keys -= held;
    }
}

static void told_layers(struct front *self, struct call *call, const struct frame *frame)
{
    const struct info_reply *reply = &frame->body.info_reply;
    struct resp_writer writer;
    char text[FRONT_LABEL_BYTES];

    if (reply->status == STATUS_NOT_FOUND) {
        call_fail(self, call, "ERR not found");
    } else if (reply->status != STATUS_OK || !reply->has_filter) {
        call_fail_status(self, call, reply->status, reply->message);
    } else {
        writer = call_writer(call);
        resp_array(&writer, 1 + (reply->filter.nchain > 0 ? reply->filter.nchain : 1));
        (void)snprintf(text, sizeof text, "size:%" PRIu64, items_of(reply));
        resp_text(&writer, text);
        put_layers(&writer, &reply->filter, items_of(reply));
        call_end(self, call, &writer);
    }
}

COMMAND(bf_debug)
{
    char name[DOCUMENT_NAME_BYTES];

    (void)count;
    if (!argument_name(arguments[1], name)) {
        return answer_error(self, session, "ERR not found");
    }
    ask_router(self, session, name, told_layers, 0);
    return TAKEN_DONE;
}

static enum taken answer_null(struct front *self, struct session *session)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_null(&writer);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

/* ---- MEMORY ---- */

static void weighed(struct front *self, struct call *call, const struct frame *frame)
{
    const struct info_reply *reply = &frame->body.info_reply;
    struct resp_writer writer;

    if (reply->status != STATUS_OK && reply->status != STATUS_NOT_FOUND) {
        call_fail_status(self, call, reply->status, reply->message);
        return;
    }
    writer = call_writer(call);
    if (reply->has_filter) {
        resp_integer(&writer, (int64_t)size_of(&reply->filter));
    } else {
        resp_null(&writer);
    }
    call_end(self, call, &writer);
}

/* SAMPLES are for values of many parts; it is taken as well. */
static COMMAND(memory_usage)
{
    char name[DOCUMENT_NAME_BYTES];
    int64_t samples;

    if (count > 3) {
        if (count != 5 || !command_word(arguments[3], "samples")) {
            return answer_error(self, session, SYNTAX_MESSAGE);
        }
        if (!argument_integer(arguments[4], INT64_MIN, INT64_MAX, &samples)) {
            return answer_error(self, session, INTEGER_MESSAGE);
        }
        if (samples < 0) {
            return answer_error(self, session, SYNTAX_MESSAGE);
        }
    }
    if (!argument_name(arguments[2], name)) {
        return answer_null(self, session);
    }
    ask_router(self, session, name, weighed, 0);
    return TAKEN_DONE;
}

COMMAND(memory)
{
    static const struct subcommand subcommands[] = {
        {"usage", -3, command_memory_usage, " <key> [SAMPLES <count>]",
         "Bytes of one replica of a filter"},
    };

    return SUBCOMMAND_RUN(subcommands);
}

/* ---- OBJECT ---- */

enum aspect { ASPECT_ENCODING, ASPECT_REFCOUNT, ASPECT_IDLETIME, ASPECT_FREQ };

static void answer_aspect(struct front *self, struct call *call)
{
    struct resp_writer writer;

    switch ((enum aspect)call->detail) {
    case ASPECT_ENCODING: /* what Redis says of values that a module keeps */
        writer = call_writer(call);
        resp_text(&writer, "raw");
        call_end(self, call, &writer);
        break;
    case ASPECT_REFCOUNT:
        writer = call_writer(call);
        resp_integer(&writer, 1);
        call_end(self, call, &writer);
        break;
    case ASPECT_IDLETIME:
        call_fail(self, call, "ERR when a filter was last used is not tracked");
        break;
    case ASPECT_FREQ:
        call_fail(self, call, "ERR how often a filter is used is not tracked");
        break;
    }
}

static void looked(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (!status_is_answer(reply)) {
        call_fail_status(self, call, reply->status, reply->message);
    } else if (status_find(reply, call->text) != NULL) {
        answer_aspect(self, call);
    } else {
        writer = call_writer(call);
        resp_null(&writer);
        call_end(self, call, &writer);
    }
}

static enum taken look(struct front *self, struct session *session, const struct span *arguments,
                       enum aspect aspect)
{
    char name[DOCUMENT_NAME_BYTES] = "";
    struct frame frame = status_frame(name);

    if (!argument_name(arguments[2], name)) {
        return answer_null(self, session);
    }
    question_for_call(self, session, &frame, name, false, looked, aspect);
    return TAKEN_DONE;
}

static COMMAND(object_encoding)
{
    (void)count;
    return look(self, session, arguments, ASPECT_ENCODING);
}

static COMMAND(object_refcount)
{
    (void)count;
    return look(self, session, arguments, ASPECT_REFCOUNT);
}

static COMMAND(object_idletime)
{
    (void)count;
    return look(self, session, arguments, ASPECT_IDLETIME);
}

static COMMAND(object_freq)
{
    (void)count;
    return look(self, session, arguments, ASPECT_FREQ);
}

COMMAND(object)
{
    static const struct subcommand subcommands[] = {
        {"encoding", 3, command_object_encoding, " <key>",
         "raw, as of any value that a module keeps"},
        {"freq", 3, command_object_freq, "", NULL},
        {"idletime", 3, command_object_idletime, "", NULL},
        {"refcount", 3, command_object_refcount, " <key>", "1"},
    };

    return SUBCOMMAND_RUN(subcommands);
}
