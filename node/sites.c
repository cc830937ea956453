/* How far other sites' logs have been applied: links put it into the logs of W replicas, behind the
 * keys that it covers, and read it from R. Kept as an add is: judged by its epoch, durable before
 * it is answered, found again at a start, gone with the filter and with what an incarnation had. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/private.h"
#include "site/cursor.h"

static void put_found(struct node *self, const struct record_site_cursor *cursor)
{
    if (site_cursors_put(&self->site_cursors, cursor) != STATUS_OK) {
        log_line(LOG_WARN, "a cursor of another site can't be kept: more than it needs is "
                           "compared with that site");
    }
}

void node_site_cursor_found(struct node *self, struct span record)
{
    struct record_site_cursor cursor;

    if (record_site_cursor_get(record, &cursor) == STATUS_OK) {
        put_found(self, &cursor);
    }
}

void node_site_cursors_forget(struct node *self)
{
    if (!MUTANT(SITE_CURSOR_OUTLIVES)) {
        site_cursors_fini(&self->site_cursors);
    }
}

enum status node_site_cursors_checkpoint(const struct node *self)
{
    enum status status = STATUS_OK;
    uint64_t end;

    for (size_t i = 0; i < self->site_cursors.count && status == STATUS_OK; i++) {
        const struct record_site_cursor *cursor = self->site_cursors.items[i];

        if (!document_cache_is_dropped(&self->documents, cursor->filter_id)) {
            status = storage_put_site_cursor(self->storage, cursor, &end);
        }
    }
    return status;
}

/* Logged first: what is kept and not in the log would never get there. */
static enum status put(struct node *self, const struct site_cursor_request *request,
                       const struct record_site_cursor *told, struct log_need *need)
{
    struct record_site_cursor cursor = *told;
    uint64_t end = storage_end(self->storage); /* What is known may be under way there. */
    enum status status;
    bool changed;

    cursor.filter_id = request->filter_id;
    cursor.group = request->group;
    status = site_cursors_room(&self->site_cursors, &cursor);
    cursor = site_cursors_joined(&self->site_cursors, &cursor, &changed);
    if (status == STATUS_OK && changed) {
        status = storage_put_site_cursor(self->storage, &cursor, &end);
    }
    if (status == STATUS_OK && changed) {
        status = site_cursors_put(&self->site_cursors, &cursor);
    }
    need->synced = end > need->synced && !MUTANT(SITE_CURSOR_BEFORE_SYNC) ? end : need->synced;
    return status;
}

static enum status put_all(struct node *self, const struct site_cursor_request *request,
                           struct log_need *need)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < request->ncursors; i++) {
        if (!site_cursor_valid(&request->cursors[i])) {
            return STATUS_INVALID;
        }
    }
    for (size_t i = 0; i < request->ncursors && status == STATUS_OK; i++) {
        status = put(self, request, &request->cursors[i], need);
    }
    storage_want_sync(self->storage); /* Also where adds don't wait for that. */
    self->counters[NODE_no_space_total] += status == STATUS_NO_SPACE;
    return status;
}

/* STATUS_TOO_LARGE: they would not fit into one answer. */
static enum status get(const struct node *self, const struct site_cursor_request *request,
                       struct record_site_cursor **list, size_t *count)
{
    size_t first = site_cursors_find(&self->site_cursors, request->filter_id, request->group,
                                     count);

    if (*count > CODEC_MAX_SITE_CURSORS) {
        return STATUS_TOO_LARGE;
    }
    *list = heap_alloc(*count + 1, sizeof **list);
    for (size_t i = 0; *list != NULL && i < *count; i++) {
        (*list)[i] = *self->site_cursors.items[first + i];
    }
    return *list != NULL ? STATUS_OK : STATUS_NOMEM;
}

/* As a check is judged; a replica that joins takes what is put, too, and says that it does. */
static enum status judge(const struct node *self, const struct document_entry *entry,
                         const struct site_cursor_request *request, enum replica_state *state)
{
    const struct subrequest check = {.operation = OPERATION_CHECK,
                                     .filter_id = request->filter_id,
                                     .epoch = request->epoch,
                                     .epoch_hash = request->epoch_hash,
                                     .group = request->group};
    enum status status = node_judge(self, entry, &check);

    if (status != STATUS_OK) {
        return status;
    }
    if (self->storage == NULL || !document_logs_keys(&entry->document)) {
        return STATUS_INVALID;
    }
    if (request->put && request->boot != 0 && request->boot != self->life.identity.boot) {
        return STATUS_CONFLICT; /* What they cover may be lost here since it was told. */
    }
    *state = hosted_state_for(entry->attachment, &check);
    return *state == REPLICA_FULL || (*state == REPLICA_JOINING && request->put) ? STATUS_OK
                                                                                 : STATUS_NOT_READY;
}

/* Who hears of an epoch may count on it, so the fence below it is durable first. */
static void tell_epoch(const struct document_entry *entry, struct site_cursor_reply *reply,
                       struct log_need *need)
{
    const struct hosted_filter *hosted = entry->attachment;

    reply->epoch = entry->document.epoch;
    reply->epoch_hash = entry->document.epoch_hash;
    if (hosted != NULL && hosted->fence_end > need->synced) {
        need->synced = hosted->fence_end;
    }
    if (reply->status == STATUS_STALE) {
        reply->document = span_of(entry->signed_bytes, entry->signed_size);
    }
}

void node_on_site_cursor_request(struct node *self, const struct peer *from,
                                 const struct frame *frame)
{
    const struct site_cursor_request *request = &frame->body.site_cursor_request;
    const struct document_entry *entry = document_cache_find(&self->documents, request->filter_id);
    struct frame answer = {.correlation = frame->correlation, .kind = FRAME_SITE_CURSOR_REPLY};
    struct site_cursor_reply *reply = &answer.body.site_cursor_reply;
    struct record_site_cursor *list = NULL;
    struct log_need need = {0};

    *reply = (struct site_cursor_reply){.filter_id = request->filter_id,
                                        .group = request->group,
                                        .node_id = self->life.id,
                                        .incarnation = self->life.incarnation};
    reply->status = judge(self, entry, request, &reply->state);
    if (reply->status == STATUS_OK && request->put) {
        reply->status = put_all(self, request, &need);
    } else if (reply->status == STATUS_OK) {
        reply->status = get(self, request, &list, &reply->ncursors);
        reply->cursors = list;
    }
    reply->ncursors = reply->status == STATUS_OK ? reply->ncursors : 0;
    if (entry != NULL && !entry->gone) {
        tell_epoch(entry, reply, &need);
    }
    node_reply_when(self, from, &answer, need);
    heap_free(list);
}
