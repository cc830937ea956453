/* How filters and nodes are, as operators see them: BF.STATUS; and as RedisBloom's developers do:
 * BF.DEBUG. */
#include "filter/lines.h"
#include "map/window.h"
#include "proto/replica_sum.h"
#include "router/resp/command.h"

#include <inttypes.h>
#include <stdio.h>

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
    put_count(writer, "copy_bytes", info_size(filter));
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
    put_count(writer, "rebuild", filter->rebuild_lineage);
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

static void put_all(struct resp_writer *writer, const struct admin_reply *reply)
{
    resp_map(writer, 3);
    put_text(writer, "attention", reply->message);
    resp_text(writer, "nodes");
    resp_array(writer, reply->nnodes);
    for (size_t i = 0; i < reply->nnodes; i++) {
        put_node(writer, &reply->nodes[i]);
    }
    resp_text(writer, "filters");
    resp_array(writer, reply->nfilters);
    for (size_t i = 0; i < reply->nfilters; i++) {
        put_filter(writer, reply, &reply->filters[i]);
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
            put_all(&writer, reply);
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
        (void)snprintf(text, sizeof text, "size:%" PRIu64, info_items(reply));
        resp_text(&writer, text);
        put_layers(&writer, &reply->filter, info_items(reply));
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
    info_ask(self, session, name, told_layers, 0);
    return TAKEN_DONE;
}
