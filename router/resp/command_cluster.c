/* CLUSTER: to clients that speak to a Redis Cluster this router is its one node, which has all
 * slots. The address is the one that the connection reached it by. */
#include "resp/slot.h"
#include "router/resp/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NODE_BYTES = 256, INFO_BYTES = 512 };

static struct stream_address address_of(const struct front *self, const struct session *session)
{
    struct stream_address address = {.host = ""};

    self->streams.local(self->streams.context, session->stream, &address);
    return address;
}

/* ---- what it looks like ---- */

static COMMAND(cluster_info)
{
    char text[INFO_BYTES];

    (void)arguments;
    (void)count;
    (void)snprintf(text, sizeof text,
                   "cluster_enabled:1\r\ncluster_state:ok\r\ncluster_slots_assigned:%d\r\n"
                   "cluster_slots_ok:%d\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\n"
                   "cluster_known_nodes:1\r\ncluster_size:1\r\ncluster_current_epoch:1\r\n"
                   "cluster_my_epoch:1\r\ncluster_stats_messages_sent:0\r\n"
                   "cluster_stats_messages_received:0\r\n",
                   RESP_SLOTS, RESP_SLOTS);
    return answer_text(self, session, text);
}

static COMMAND(cluster_myid)
{
    (void)arguments;
    (void)count;
    return answer_text(self, session, self->node_id);
}

static COMMAND(cluster_nodes)
{
    struct stream_address address = address_of(self, session);
    char text[NODE_BYTES];

    (void)arguments;
    (void)count;
    (void)snprintf(text, sizeof text, "%s %s:%" PRIu32 "@0 myself,master - 0 0 1 connected 0-%d\n",
                   self->node_id, address.host, address.port, RESP_SLOTS - 1);
    return answer_text(self, session, text);
}

static COMMAND(cluster_slots)
{
    struct stream_address address = address_of(self, session);
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    (void)arguments;
    (void)count;
    if (call == NULL) {
        return TAKEN_DONE;
    }
    resp_array(&writer, 1);
    resp_array(&writer, 3);
    resp_integer(&writer, 0);
    resp_integer(&writer, RESP_SLOTS - 1);
    resp_array(&writer, 4);
    resp_text(&writer, address.host);
    resp_integer(&writer, address.port);
    resp_text(&writer, self->node_id);
    resp_array(&writer, 0);
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static void write_node(struct resp_writer *writer, const char *id,
                       const struct stream_address *address)
{
    resp_map(writer, 7);
    resp_text(writer, "id");
    resp_text(writer, id);
    resp_text(writer, "port");
    resp_integer(writer, address->port);
    resp_text(writer, "ip");
    resp_text(writer, address->host);
    resp_text(writer, "endpoint");
    resp_text(writer, address->host);
    resp_text(writer, "role");
    resp_text(writer, "master");
    resp_text(writer, "replication-offset");
    resp_integer(writer, 0);
    resp_text(writer, "health");
    resp_text(writer, "online");
}

static COMMAND(cluster_shards)
{
    struct stream_address address = address_of(self, session);
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    (void)arguments;
    (void)count;
    if (call == NULL) {
        return TAKEN_DONE;
    }
    resp_array(&writer, 1);
    resp_map(&writer, 2);
    resp_text(&writer, "slots");
    resp_array(&writer, 2);
    resp_integer(&writer, 0);
    resp_integer(&writer, RESP_SLOTS - 1);
    resp_text(&writer, "nodes");
    resp_array(&writer, 1);
    write_node(&writer, self->node_id, &address);
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

/* No copy of it is a Redis replica. */
static COMMAND(cluster_replicas)
{
    char text[FRONT_MESSAGE_BYTES];

    (void)count;
    if (command_word(arguments[2], self->node_id)) {
        return answer_empty(self, session, false);
    }
    (void)snprintf(text, sizeof text, "ERR Unknown node %.*s",
                   arguments[2].size < 128 ? (int)arguments[2].size : 128,
                   (const char *)arguments[2].data);
    return answer_error(self, session, text);
}

static COMMAND(cluster_links)
{
    (void)arguments;
    (void)count;
    return answer_empty(self, session, false);
}

/* ---- slots ---- */

static COMMAND(cluster_keyslot)
{
    (void)count;
    return answer_integer(self, session, resp_slot(arguments[2]));
}

/* What is asked about a slot, in call->detail: the slot, whether only how many names it has, and
 * how many at most. */
enum { COUNT_ONLY = 1 << 14, MOST_SHIFT = 16 };

static bool is_in_slot(const struct call *call, const struct filter_summary *filter)
{
    return status_is_there(filter) && call_sees(call, filter->name) &&
           resp_slot(span_text(filter->name)) == call->detail % RESP_SLOTS;
}

static void told_slot(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    uint64_t most = call->detail >> MOST_SHIFT;
    bool names = (call->detail & COUNT_ONLY) == 0;
    struct resp_writer writer;
    uint64_t found = 0;

    if (!status_is_answer(reply)) {
        call_fail_status(self, call, reply->status, reply->message);
        return;
    }
    for (size_t i = 0; i < reply->nfilters; i++) {
        found += is_in_slot(call, &reply->filters[i]);
    }
    found = found < most ? found : most;
    writer = call_writer(call);
    if (names) {
        resp_array(&writer, found);
    } else {
        resp_integer(&writer, (int64_t)found);
    }
    for (size_t i = 0; names && found > 0; i++) {
        if (is_in_slot(call, &reply->filters[i])) {
            resp_text(&writer, reply->filters[i].name);
            found--;
        }
    }
    call_end(self, call, &writer);
}

static enum taken ask_slot(struct front *self, struct session *session, int64_t slot, int64_t most,
                           bool names)
{
    struct frame frame = status_frame("");
    uint64_t most_names = most < UINT32_MAX ? (uint64_t)most : UINT32_MAX;

    question_for_call(self, session, &frame, "", false, told_slot,
                      (uint64_t)slot | most_names << MOST_SHIFT | (names ? 0 : COUNT_ONLY));
    return TAKEN_DONE;
}

static COMMAND(cluster_countkeysinslot)
{
    int64_t slot;

    (void)count;
    if (!argument_integer(arguments[2], INT64_MIN, INT64_MAX, &slot)) {
        return answer_error(self, session, INTEGER_MESSAGE);
    }
    return slot >= 0 && slot < RESP_SLOTS ? ask_slot(self, session, slot, INT64_MAX, false)
                                          : answer_error(self, session, "ERR Invalid slot");
}

static COMMAND(cluster_getkeysinslot)
{
    int64_t slot;
    int64_t most;

    (void)count;
    if (!argument_integer(arguments[2], INT64_MIN, INT64_MAX, &slot) ||
        !argument_integer(arguments[3], INT64_MIN, INT64_MAX, &most)) {
        return answer_error(self, session, INTEGER_MESSAGE);
    }
    return slot >= 0 && slot < RESP_SLOTS && most >= 0
               ? ask_slot(self, session, slot, most, true)
               : answer_error(self, session, "ERR Invalid slot or number of keys");
}

COMMAND(cluster)
{
    static const struct subcommand subcommands[] = {
        {"countkeysinslot", 3, command_cluster_countkeysinslot, " <slot>",
         "How many filters have names of this slot"},
        {"getkeysinslot", 4, command_cluster_getkeysinslot, " <slot> <count>",
         "Names of filters of this slot"},
        {"info", 2, command_cluster_info, "", "The state of a cluster of this one router"},
        {"keyslot", 3, command_cluster_keyslot, " <key>", "The slot of a name"},
        {"links", 2, command_cluster_links, "", "Nothing: there is no other node"},
        {"myid", 2, command_cluster_myid, "", "The id of this router, another after each start"},
        {"myshardid", 2, command_cluster_myid, "", "The same"},
        {"nodes", 2, command_cluster_nodes, "", "This router, on one line"},
        {"replicas", 3, command_cluster_replicas, " <node-id>",
         "Nothing: copies are on nodes, which no client talks to"},
        {"shards", 2, command_cluster_shards, "", "This router, with all slots"},
        {"slaves", 3, command_cluster_replicas, "", NULL},
        {"slots", 2, command_cluster_slots, "", "This router, with all slots"},
    };

    return SUBCOMMAND_RUN(subcommands);
}
