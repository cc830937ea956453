/* Asks coordinators by a channel of the client library, and waits for the one answer. */
#include "tests/torture/admin.h"

#include <stdio.h>

enum { ASK_US = 5000000, BEGINS_WITH = 4, SLICES = 5 };

bool admin_open(struct admin *self, struct torture *torture)
{
    struct channel_options options = {.routers = torture->routers,
                                      .coordinators = torture->coordinators,
                                      .attempt_us = ASK_US / 10};
    char reason[CHANNEL_REASON_BYTES];

    *self = (struct admin){.torture = torture};
    if (channel_open(&options, &self->channel, reason) != STATUS_OK) {
        tally_fail(&torture->tally, "no channel: %s", reason);
        return false;
    }
    return true;
}

void admin_close(struct admin *self)
{
    channel_close(&self->channel);
}

static void on_done(void *context, const struct session_result *result)
{
    struct admin *self = context;

    self->status = result->status;
    (void)snprintf(self->error, sizeof self->error, "%s: %s", status_code(result->status),
                   result->message);
}

enum status admin_ask(struct admin *self, const struct admin_request *request)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};

    frame.body.admin_request = *request;
    channel_ask(self->channel, ASK_US, &frame, on_done, self);
    if (self->status == STATUS_UNAUTHENTIC) {
        tally_refused(&self->torture->tally, "a command", self->error);
    }
    return self->status;
}

/* With some room, as W replicas may hold what was never acknowledged. */
uint64_t torture_room(uint64_t keys)
{
    return keys + keys / 50 + 1000;
}

enum status admin_create(struct admin *self, const char *name, uint64_t keys,
                         const struct admin_kind *kind)
{
    uint64_t room = torture_room(keys);
    struct admin_request request = {.action = ADMIN_CREATE, .name = name};
    enum durability kept = kind->sync ? DURABILITY_SYNC : DURABILITY_OS;

    request.create = (struct create_parameters){
        .capacity = kind->grows ? room / BEGINS_WITH : room,
        .rate = TORTURE_RATE,
        .rule = {.replicas = TORTURE_REPLICAS, .write = TORTURE_WRITE, .read = TORTURE_READ},
        .hash = HASH_SIPHASH24,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = kind->grows ? WHEN_FULL_EXPAND : WHEN_FULL_REFUSE,
        .keylog = kind->bits_only ? KEYLOG_OFF : KEYLOG_ON,
        .durability = self->torture->options.in_memory ? DURABILITY_MEMORY : kept,
        .window_us = kind->window_ms * 1000,
        .nslices = kind->window_ms != 0 ? SLICES : 0,
    };
    return admin_ask(self, &request);
}

enum status admin_expand(struct admin *self, const char *name, const struct expand_parameters *wish)
{
    struct admin_request request = {.action = ADMIN_EXPAND, .name = name, .expand = *wish};

    return admin_ask(self, &request);
}

enum status admin_drain(struct admin *self, const char *node, bool undo)
{
    struct admin_request request = {
        .action = ADMIN_NODE_DRAIN, .name = node, .successor = "", .undo = undo};

    return admin_ask(self, &request);
}

enum status admin_rebalance(struct admin *self, bool undo)
{
    struct admin_request request = {
        .action = ADMIN_REBALANCE, .name = "", .successor = "", .undo = undo};

    return admin_ask(self, &request);
}

enum status admin_replace(struct admin *self, const char *node, const char *successor)
{
    struct admin_request request = {
        .action = ADMIN_NODE_REPLACE, .name = node, .successor = successor};

    return admin_ask(self, &request);
}
