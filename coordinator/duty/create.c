/* The operator's `create`: a filter that is there already may be the one that is asked for; the
 * answer comes once all of its replicas are ready. */
#include "coordinator/make/create.h"

#include "coordinator/duty.h"
#include "coordinator/make/difference.h"

#include <stdio.h>

static enum status compare(struct coordinator *self, uint64_t now_us,
                           const struct document_entry *entry, struct create *create)
{
    char difference[DIFFERENCE_BYTES];

    (void)self;
    (void)now_us;
    if (document_is_loading(&entry->document)) {
        (void)snprintf(create->message, sizeof create->message,
                       "filter %s is being loaded from a dump; wait for it, or drop it first",
                       create->request->name);
        return STATUS_NAME_BUSY;
    }
    (void)difference_describe(&entry->document, &create->request->create, difference);
    if (difference[0] == '\0') {
        return STATUS_OK;
    }
    (void)snprintf(create->message, sizeof create->message,
                   "filter %s exists with other parameters (%s); use those, another name, or drop "
                   "it first",
                   create->request->name, difference);
    return STATUS_EXISTS;
}

static void on_create(struct coordinator *self, uint64_t now_us, const struct peer *from,
                      const struct frame *frame)
{
    struct create create = {.request = &frame->body.admin_request, .found = compare};

    create_begin(self, now_us, from, frame, &create);
}

/* ---- waiting until it serves ---- */

static bool reports_ready(const struct heard *heard, uint64_t filter_id, uint32_t group)
{
    const struct replica_report *report = heard_report(heard, filter_id, group);

    return report != NULL && (report->state == REPLICA_FULL || report->state == REPLICA_JOINING);
}

/* The name of a node that is not ready for the filter, or NULL. */
static const char *laggard(const struct coordinator *self, const struct filter_document *document)
{
    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t slot = 0; slot < document->content.rule.replicas; slot++) {
            uint32_t node = document->content.groups[group].slots[slot].current.node;
            const struct node_record *record = node_list_find(&self->documents.nodes, node);

            if (!reports_ready(coordinator_heard(self, node), document->id, group)) {
                return record != NULL ? record->name : "?";
            }
        }
    }
    return NULL;
}

static void wait(struct coordinator *self, uint64_t now_us, struct waiter *waiter)
{
    const struct document_entry *entry = waiters_entry(self, waiter);
    const char *late = laggard(self, &entry->document);
    char message[COORDINATOR_MESSAGE_BYTES];

    assert(waiter->kind == WAITER_CREATE);
    if (late == NULL) {
        waiters_finish(self, waiter, STATUS_OK, "");
    } else if (now_us >= waiter->deadline_us) {
        (void)snprintf(message, sizeof message,
                       "filter %s exists, but its replica on %s is not ready yet; see `orbloom "
                       "status` and that node's log",
                       entry->document.content.name, late);
        waiters_finish(self, waiter, STATUS_DEADLINE, message);
    }
}

const struct duty duty_create = {
    .action = ADMIN_CREATE,
    .command = on_create,
    .waiters = WAITER_CREATE,
    .wait = wait,
};
