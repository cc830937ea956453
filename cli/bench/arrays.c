/* Asks a coordinator for the nodes, then each live one for its counter memory_used_bytes. */
#include "cli/bench/arrays.h"

#include "client/shell_channel.h"

#include <stdio.h>
#include <string.h>

static const uint64_t patience_us = 1000000;

/* One question to one process or list of coordinators. */
static void ask(const struct channel_options *options, const struct frame *frame,
                session_done_fn done, void *context)
{
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];

    if (channel_open(options, &channel, reason) == STATUS_OK) {
        channel_ask(channel, patience_us, frame, done, context);
        channel_close(&channel);
    }
}

static void take_nodes(void *context, const struct session_result *result)
{
    struct arrays *self = context;

    if (result->status != STATUS_OK || result->frame == NULL) {
        return;
    }
    for (size_t i = 0; i < result->frame->body.admin_reply.nnodes; i++) {
        const struct node_summary *node = &result->frame->body.admin_reply.nodes[i];
        struct arrays_node *own = &self->nodes[self->count];

        if (node->alive && self->count < CPU_MAX_PROCESSES) {
            *own = (struct arrays_node){0};
            (void)snprintf(own->name, sizeof own->name, "%s", node->name);
            (void)snprintf(own->endpoint, sizeof own->endpoint, "%s", node->endpoint);
            self->count++;
        }
    }
}

static void take_counter(void *context, const struct session_result *result)
{
    struct arrays_node *node = context;

    if (result->status != STATUS_OK || result->frame == NULL) {
        return;
    }
    for (size_t i = 0; i < result->frame->body.stats_reply.nvalues; i++) {
        if (strcmp(result->frame->body.stats_reply.values[i].name, "memory_used_bytes") == 0) {
            node->bytes = result->frame->body.stats_reply.values[i].value;
            node->answered = true;
        }
    }
}

void arrays_ask(struct arrays *self, const struct flags_common *common)
{
    const struct channel_options options = flags_channel(common);
    struct frame nodes = {.kind = FRAME_ADMIN_REQUEST};
    const struct frame stats = {.kind = FRAME_STATS_REQUEST};

    self->count = 0;
    nodes.body.admin_request = (struct admin_request){.action = ADMIN_STATUS, .name = ""};
    ask(&options, &nodes, take_nodes, self);
    for (size_t i = 0; i < self->count; i++) {
        const struct channel_options node = {.routers = self->nodes[i].endpoint,
                                             .credential = common->credential};

        ask(&node, &stats, take_counter, &self->nodes[i]);
    }
}
