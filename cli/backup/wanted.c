/* A router is asked for one, a coordinator for all. */
#include "cli/backup/wanted.h"

#include "base/heap.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "runtime/date.h"

#include <stdio.h>
#include <string.h>

enum { MS_PER_MIN = 60000 };

/* Is the name one of those that are separated by commas? */
static bool is_listed(const char *names, const char *name)
{
    size_t size = strlen(name);

    while (names != NULL && *names != '\0') {
        size_t one = strcspn(names, ",");

        if (one == size && strncmp(names, name, size) == 0) {
            return true;
        }
        names += one + (names[one] == ',');
    }
    return false;
}

/* Rounded up: later than it was to be, and never earlier. */
static uint32_t expires_min(const struct filter_summary *filter)
{
    uint64_t at_ms = filter->expires_at_ms != 0 ? filter->expires_at_ms
                                                : date_now_ms() + filter->expires_left_us / 1000;
    uint64_t minutes = at_ms / MS_PER_MIN + 1;

    return filter->expiry == 0 ? 0 : minutes < UINT32_MAX ? (uint32_t)minutes : UINT32_MAX;
}

static int put(struct wanted *self, const struct filter_summary *filter)
{
    struct save_filter *one;

    if (!heap_grow(&self->items, &self->room, self->count + 1, sizeof *self->items)) {
        return cmd_fail(STATUS_NOMEM, "%s", status_meaning(STATUS_NOMEM));
    }
    one = &self->items[self->count++];
    *one = (struct save_filter){.uid = filter->uid,
                                .max_staleness = filter->max_staleness,
                                .acks = filter->acks,
                                .durability = filter->durability,
                                .expires_min = expires_min(filter)};
    (void)snprintf(one->name, sizeof one->name, "%s", filter->name);
    return CMD_OK;
}

static int take_one(void *context, const struct frame *frame)
{
    return put(context, &frame->body.info_reply.filter);
}

void wanted_leave_out(struct wanted *self, const char *name, const char *why)
{
    (void)fprintf(stderr, "left out %s: %s\n", name, why);
    self->left_out += !is_listed(self->except, name);
}

static int take_all(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct wanted *self = context;
    int code = CMD_OK;

    if (reply->message[0] != '\0') { /* Filters that are newer than what it knows would lack. */
        return cmd_fail(STATUS_UNAVAILABLE, "which filters there are is not known: %s",
                        reply->message);
    }
    for (size_t i = 0; i < reply->nfilters && code == CMD_OK; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (filter->state != FILTER_ACTIVE || is_listed(self->except, filter->name)) {
            continue;
        }
        if (document_load_open(filter->load_source, filter->loaded)) {
            wanted_leave_out(self, filter->name, "it is being made of a dump or a backup itself");
        } else {
            code = put(self, filter);
        }
    }
    return code;
}

int wanted_list(struct wanted *self, const struct flags_common *common, const char *name)
{
    struct frame frame = {.kind = FRAME_INFO_REQUEST, .body.info_request = {.filter = name}};

    if (!self->all) {
        return cmd_ask(common, &frame, take_one, self);
    }
    frame = (struct frame){.kind = FRAME_ADMIN_REQUEST,
                           .body.admin_request = {.action = ADMIN_STATUS, .name = ""}};
    return cmd_ask(common, &frame, take_all, self);
}

/* ---- names that were given away ---- */

struct search {
    struct save_filter *filter;
    bool found;
};

static int search(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct search *self = context;

    if (reply->message[0] != '\0') {
        return cmd_fail(STATUS_UNAVAILABLE, "which filters there are is not known: %s",
                        reply->message);
    }
    for (size_t i = 0; i < reply->nfilters && !self->found; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        self->found = filter->state == FILTER_ACTIVE &&
                      filter_uid_equal(&filter->uid, &self->filter->uid);
        if (self->found) {
            (void)snprintf(self->filter->name, sizeof self->filter->name, "%s", filter->name);
        }
    }
    return CMD_OK;
}

enum status wanted_name_again(const struct flags_common *common, struct save_filter *filter)
{
    const struct frame frame = {.kind = FRAME_ADMIN_REQUEST,
                                .body.admin_request = {.action = ADMIN_STATUS, .name = ""}};
    struct search of = {.filter = filter};

    if (cmd_ask(common, &frame, search, &of) != CMD_OK) {
        return STATUS_UNAVAILABLE;
    }
    return of.found ? STATUS_OK : STATUS_NOT_FOUND;
}

void wanted_fini(struct wanted *self)
{
    heap_free(self->items);
    self->items = NULL;
}
