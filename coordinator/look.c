/* What a change is to name, so that it changes nothing else: see proto/admin_message.h. */
#include "coordinator/records.h"

#include <inttypes.h>
#include <stdio.h>

/* When the name of no live filter was bound last. */
static enum status look_at_name(struct coordinator *self, const char *name, uint64_t *binding)
{
    char key[STORE_KEY_BYTES];
    uint64_t version;
    uint64_t bound;
    enum status status;

    *binding = 0;
    if (document_cache_find_name(&self->documents, name) != NULL ||
        !document_name_valid(span_text(name))) {
        return STATUS_OK;
    }
    (void)snprintf(key, sizeof key, "name/%s", name);
    status = records_read_number(self, key, &version, &bound);
    return status == STATUS_OK ? records_seen_binding(self, version, binding) : status;
}

/* The filter of that name; or one that is still on its way out of it, as a drop or rename that is
 * under way may be joined. */
static void look_at_source(const struct coordinator *self, const char *name,
                           struct admin_seen *seen)
{
    const struct document_entry *live = document_cache_find_name(&self->documents, name);
    const struct filter_document *found = live != NULL ? &live->document
                                                       : records_holder(self, name);

    seen->filter_id = found != NULL ? found->id : 0;
    seen->revision = found != NULL ? found->revision : 0;
}

static void look_at_target(const struct coordinator *self, const char *name,
                           struct admin_seen *seen)
{
    const struct document_entry *live = document_cache_find_name(&self->documents, name);

    seen->target_id = live != NULL ? live->document.id : 0;
    seen->target_revision = live != NULL ? live->document.revision : 0;
}

static uint32_t node_of(const struct coordinator *self, const char *name)
{
    const struct node_record *record = node_list_find_name(&self->documents.nodes, name);

    return record != NULL ? record->id : 0;
}

void coordinator_on_look(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame)
{
    const struct admin_request *request = &frame->body.admin_request;
    struct admin_seen seen = {
        .nodes_revision = self->documents.nodes.revision,
        .store_version = self->mark.version,
        .node = node_of(self, request->name),
        .successor = node_of(self, request->successor),
    };
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_ADMIN_REPLY};
    enum status status = look_at_name(self, request->name, &seen.binding);
    char message[COORDINATOR_MESSAGE_BYTES] = "";

    (void)now_us;
    look_at_source(self, request->name, &seen);
    if (status == STATUS_OK && request->rename.name != NULL) {
        status = look_at_name(self, request->rename.name, &seen.target_binding);
        look_at_target(self, request->rename.name, &seen);
    }
    if (status != STATUS_OK) {
        records_tell(self, status, "read", message, sizeof message);
    }
    answer.body.admin_reply = (struct admin_reply){
        .status = status, .message = message, .seen = seen};
    coordinator_reply(self, from, &answer);
}
