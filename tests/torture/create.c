#include "tests/torture/create.h"

#include <stdio.h>

enum { ASK_US = 5000000 };

bool creator_open(struct creator *self, struct torture *torture)
{
    struct channel_options options = {.routers = torture->routers,
                                      .coordinators = torture->coordinators,
                                      .attempt_us = ASK_US / 10};
    char reason[CHANNEL_REASON_BYTES];

    *self = (struct creator){.torture = torture};
    if (channel_open(&options, &self->channel, reason) != STATUS_OK) {
        tally_fail(&torture->tally, "no channel: %s", reason);
        return false;
    }
    return true;
}

void creator_close(struct creator *self)
{
    channel_close(&self->channel);
}

static void on_done(void *context, const struct session_result *result)
{
    struct creator *self = context;

    self->status = result->status;
    (void)snprintf(self->error, sizeof self->error, "%s: %s", status_code(result->status),
                   result->message);
}

enum status creator_create(struct creator *self, const char *name, uint64_t keys,
                           enum durability durability)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;

    request->action = ADMIN_CREATE;
    request->name = name;
    request->create = (struct create_parameters){
        .capacity = keys,
        .rate = TORTURE_RATE,
        .rule = {.replicas = TORTURE_REPLICAS, .write = TORTURE_WRITE, .read = TORTURE_READ},
        .hash = HASH_SIPHASH24,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_REFUSE,
        .keylog = KEYLOG_ON,
        .durability = self->torture->options.in_memory ? DURABILITY_MEMORY : durability,
    };
    channel_ask(self->channel, ASK_US, &frame, on_done, self);
    return self->status;
}
