/* The store's records for a backup, page by page, in order of the changes that wrote them. A record
 * that is written while pages are fetched comes again with a later one. */
#include "base/heap.h"
#include "coordinator/records.h"
#include "coordinator/stored.h"

#include <stdio.h>
#include <string.h>

enum {
    MAP_GOAL_BYTES = 1 << 20,
    MAP_GOAL_RECORDS = CODEC_MAX_RECORDS - STORE_MAX_SWAPS, /* one swap is not torn apart */
};

struct paging {
    struct map_record records[CODEC_MAX_RECORDS];
    char keys[CODEC_MAX_RECORDS][STORE_KEY_BYTES];
    struct {
        size_t at;
        size_t size;
    } values[CODEC_MAX_RECORDS];
    size_t count;
    struct buffer bytes;
    uint64_t last;
    bool more;
    enum status status;
};

static bool gather(void *context, const char *key, uint64_t version, struct span value)
{
    struct paging *self = context;

    if (version != self->last &&
        (self->bytes.size >= MAP_GOAL_BYTES || self->count >= MAP_GOAL_RECORDS)) {
        self->more = true;
        return false;
    }
    self->last = version;
    (void)snprintf(self->keys[self->count], STORE_KEY_BYTES, "%s", key);
    self->values[self->count].at = self->bytes.size;
    self->values[self->count].size = value.size;
    self->status = buffer_append(&self->bytes, value);
    self->count += self->status == STATUS_OK;
    return self->status == STATUS_OK;
}

static void send_page(struct coordinator *self, const struct peer *to, uint64_t correlation,
                      struct paging *paging)
{
    struct frame answer = {.correlation = correlation, .kind = FRAME_ADMIN_REPLY};

    for (size_t i = 0; i < paging->count; i++) {
        paging->records[i] = (struct map_record){
            .key = paging->keys[i],
            .value = span_of(paging->bytes.data + paging->values[i].at, paging->values[i].size)};
    }
    answer.body.admin_reply = (struct admin_reply){
        .status = STATUS_OK,
        .message = "",
        .map =
            {
                .key = cluster_key_tag(&self->config.key),
                .cluster = self->cluster.id,
                .store = self->mark.name,
                .change = paging->more ? paging->last : self->change,
                .more = paging->more,
                .records = paging->records,
                .nrecords = paging->count,
            },
    };
    coordinator_reply(self, to, &answer);
}

void coordinator_on_map_backup(struct coordinator *self, uint64_t now_us, const struct peer *from,
                               const struct frame *frame)
{
    uint64_t since = frame->body.admin_request.map.since;
    const char *reason = age_reason(self);
    struct paging *paging;
    enum status status;

    if (reason != NULL) { /* A good backup is not to be replaced by one of such a store. */
        coordinator_answer(self, from, frame->correlation, STATUS_CONFLICT, false, reason);
        return;
    }
    paging = heap_zalloc(1, sizeof *paging);
    if (paging == NULL) {
        coordinator_answer(self, from, frame->correlation, STATUS_NOMEM, false, "retry");
        return;
    }
    paging->last = since;
    buffer_init(&paging->bytes, CODEC_MAX_FRAME_BYTES / 2);
    status = since < self->change ? stored_since(self, since, gather, paging) : STATUS_OK;
    status = status == STATUS_OK ? paging->status : status;
    if (status == STATUS_OK) {
        send_page(self, from, frame->correlation, paging);
        self->backup_us = paging->more ? self->backup_us : now_us;
    } else {
        char message[COORDINATOR_MESSAGE_BYTES];

        records_tell(self, status, "read", message, sizeof message);
        coordinator_answer(self, from, frame->correlation, status, false, message);
    }
    buffer_fini(&paging->bytes);
    heap_free(paging);
}
