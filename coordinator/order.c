/* Two questions before each write of an operator's change: has its time passed, and is what it
 * was asked about still as it was seen? */
#include "coordinator/order.h"

#include "base/mutant.h"
#include "coordinator/private.h"
#include "proto/admin_message.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- for how long ---- */

bool order_is_wanted(const struct order *self, const struct effects *effects, uint64_t now_us)
{
    uint64_t clock_us = effects->clock_us != NULL ? effects->clock_us(effects->context) : 0;

    clock_us = clock_us > now_us ? clock_us : now_us;
    return !self->on || clock_us < self->until_us || MUTANT(LATE_ADMIN);
}

enum status order_may_write(const struct coordinator *self)
{
    return order_is_wanted(&self->order, &self->effects, self->now_us) ? STATUS_OK
                                                                       : STATUS_DEADLINE;
}

/* ---- what was seen ---- */

static enum status moved(struct coordinator *self)
{
    self->order.moved = true;
    return STATUS_CONFLICT;
}

enum status order_may_edit(struct coordinator *self, const struct document_entry *entry)
{
    const struct order *order = &self->order;
    bool target = entry->document.id != order->filter_id;

    if (!order->on || order->progress) {
        return STATUS_OK;
    }
    if (target && entry->document.id != order->seen.target_id) {
        return moved(self);
    }
    return entry->document.revision == (target ? order->seen.target_revision : order->seen.revision)
               ? STATUS_OK
               : moved(self);
}

enum status order_may_bind(struct coordinator *self, uint64_t binding)
{
    const struct order *order = &self->order;
    uint64_t seen = order->action == ADMIN_RENAME ? order->seen.target_binding
                                                  : order->seen.binding;

    return !order->on || binding == seen ? STATUS_OK : moved(self);
}

enum status order_may_replace(struct coordinator *self, const struct document_entry *holder)
{
    uint64_t id = holder != NULL ? holder->document.id : 0;

    return !self->order.on || id == self->order.seen.target_id ? STATUS_OK : moved(self);
}

static bool changes_nodes(enum admin_action action)
{
    return (action >= ADMIN_NODE_DRAIN && action <= ADMIN_NODE_REMOVE) || action == ADMIN_REBALANCE;
}

enum status order_may_list(struct coordinator *self)
{
    const struct order *order = &self->order;

    return !order->on || !changes_nodes(order->action) ||
                   order->seen.nodes_revision == self->documents.nodes.revision
               ? STATUS_OK
               : moved(self);
}

enum status order_may_mark(struct coordinator *self, uint64_t version)
{
    return !self->order.on || self->order.seen.store_version == version ? STATUS_OK : moved(self);
}

/* ---- which filter ---- */

static bool has_name(const struct document_entry *entry, const char *name)
{
    return strcmp(entry->document.content.name, name) == 0;
}

/* A command that was carried out already is not refused: nothing is left to be done for it. */
static bool is_done(const struct admin_request *request, const struct document_entry *entry)
{
    return (request->action == ADMIN_DROP && has_name(entry, request->name)) ||
           (request->action == ADMIN_RENAME && has_name(entry, request->rename.name));
}

static bool is_other(const struct coordinator *self, const struct admin_request *request)
{
    const struct document_entry *entry = document_cache_find(&self->documents, request->filter_id);
    const struct document_entry *holder = document_cache_find_name(&self->documents, request->name);

    if (MUTANT(DROP_BY_NAME) || request->filter_id == 0 ||
        (entry != NULL && is_done(request, entry))) {
        return false;
    }
    if (holder != NULL) {
        return holder->document.id != request->filter_id;
    }
    return entry != NULL && entry->document.content.state == FILTER_ACTIVE &&
           !has_name(entry, request->name);
}

/* ---- its course ---- */

bool order_is_progress(const struct admin_request *request)
{
    return (request->action == ADMIN_REBUILD && request->rebuild.step == REBUILD_FED) ||
           (request->action == ADMIN_LOAD && request->load.step != LOAD_BEGIN);
}

static enum status refuse_moved(struct coordinator *self, const char *why, char *message)
{
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES, "%s", why);
    return moved(self);
}

static enum status refuse_late(char *message)
{
    (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                   "the command came too late: whoever gave it waits no longer, or this "
                   "coordinator was stopped meanwhile; nothing was changed");
    return STATUS_DEADLINE;
}

enum status order_resume(struct coordinator *self, const struct order *order)
{
    assert(!self->order.on);
    self->order = *order;
    return order_may_write(self);
}

static uint64_t meant(const struct coordinator *self, const struct admin_request *request)
{
    const struct document_entry *holder =
        MUTANT(DROP_BY_NAME) ? document_cache_find_name(&self->documents, request->name) : NULL;

    return holder != NULL ? holder->document.id : request->filter_id;
}

enum status order_begin(struct coordinator *self, uint64_t now_us,
                        const struct admin_request *request, char *message)
{
    uint64_t waited = work_waited_us(self);
    uint64_t wanted_us = (uint64_t)request->timeout_ms * 1000;

    assert(!self->order.on); /* One command at a time. */
    wanted_us = wanted_us < self->config.max_timeout_us ? wanted_us : self->config.max_timeout_us;
    self->order = (struct order){
        .on = admin_is_change(request->action),
        .progress = order_is_progress(request),
        .action = request->action,
        .filter_id = meant(self, request),
        .until_us = waited < now_us ? now_us - waited + wanted_us : wanted_us,
        .seen = request->seen,
    };
    if (order_may_write(self) != STATUS_OK) {
        coordinator_count(self, COORDINATOR_late_commands_total);
        return refuse_late(message);
    }
    if (self->order.on && is_other(self, request)) {
        return refuse_moved(self,
                            "the filter that is meant has another name by now, or the name another "
                            "filter; see `orbloom info`",
                            message);
    }
    if (self->order.on && admin_vouches(request) &&
        request->seen.nodes_revision != self->documents.nodes.revision) {
        return refuse_moved(self,
                            "nodes have started or registered since they were vouched for; see "
                            "`orbloom status`, and repeat the command if it still holds",
                            message);
    }
    return STATUS_OK;
}

void order_end(struct coordinator *self)
{
    if (self->order.moved) {
        coordinator_count(self, COORDINATOR_moved_commands_total);
    }
    self->order = (struct order){0};
}
