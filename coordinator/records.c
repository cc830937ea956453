/* The store's keys:
 *
 *   filter/ID     the signed filter document
 *   name/NAME     the id that the name is bound to, 8 bytes little-endian; 0: free again
 *   secret/ID     the filter's hash secret, sealed with the cluster key
 *   nodes         the signed node list
 *   next/filter   the last filter id given out, 8 bytes little-endian
 *   cluster       which cluster this is, signed; written before anything else, never changed
 *   cluster_features  which features it uses, signed: see lib/map/feature.h
 *   dropped       the signed record of filters that are dropped for good: see duty/dropped.c
 *   removed       how many filters of that record have no other key here any more, 8 bytes
 *                 little-endian
 *   users         the signed record of who may use the cluster: see lib/map/access/users.h
 *   uses          when tokens and keys of users were last used: see users/uses.c
 *   store         what the store says of itself: its name (8 bytes), how many restores it has
 *                 been through (8), whether one is under way (1); first written together with
 *                 the first node list
 */
#include "coordinator/records.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "coordinator/cluster.h"
#include "coordinator/features.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/rounds.h"
#include "coordinator/stored.h"
#include "coordinator/users/users.h"
#include "proto/intake.h"
#include "proto/signed_document.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CHANGE_ATTEMPTS = 5 };

/* The attachment of a cached document. */
struct record {
    uint64_t version;
    uint64_t gone_revision; /* of the record of dropped filters, once it was looked at; else 0 */
};

uint64_t records_version(const struct document_entry *entry)
{
    const struct record *record = entry->attachment;

    return record != NULL ? record->version : 0;
}

uint64_t records_gone_revision(const struct coordinator *self, const struct document_entry *entry)
{
    struct record *record = entry->attachment;

    if (record == NULL) {
        return self->documents.dropped.revision;
    }
    if (record->gone_revision == 0) {
        record->gone_revision = self->documents.dropped.revision;
    }
    return record->gone_revision;
}

static uint64_t read_u64(struct span bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < 8 && i < bytes.size; i++) {
        value |= (uint64_t)bytes.data[i] << (8 * i);
    }
    return value;
}

void records_put_number(uint64_t value, uint8_t bytes[8])
{
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

void records_put_mark(const struct store_mark *mark, uint8_t bytes[RECORDS_MARK_BYTES])
{
    records_put_number(mark->name, bytes);
    records_put_number(mark->restores, bytes + 8);
    bytes[16] = mark->restoring;
}

void records_take_mark(struct coordinator *self, uint64_t version, struct span value)
{
    uint64_t before = self->mark.restores;

    if (value.size < RECORDS_MARK_BYTES) {
        return;
    }
    self->mark = (struct store_mark){
        .name = read_u64(value),
        .restores = read_u64(span_of(value.data + 8, 8)),
        .restoring = value.data[16] != 0,
        .version = version,
    };
    if (self->mark.restores > before) {
        self->went_back = false;
        self->fence_ahead = (struct held_document){0};
    }
}

void records_tell(const struct coordinator *self, enum status status, const char *done, char *text,
                  size_t size)
{
    const char *reason = self->store->reason != NULL ? self->store->reason(self->store->self) : "";

    if (status == STATUS_CONFLICT) {
        (void)snprintf(text, size, "somebody else has changed it meanwhile; look, and retry");
        return;
    }
    if (status != STATUS_IO && status != STATUS_UNAUTHENTIC) {
        (void)snprintf(text, size, "%s", status_meaning(status));
        return;
    }
    (void)snprintf(text, size, "the store can't be %s: %.400s", done,
                   reason[0] != '\0' ? reason : "see the coordinator's log");
}

void records_forget(struct coordinator *self, struct document_entry *entry)
{
    rounds_forget(self, entry);
    notes_touch(&self->notes, entry->document.id);
    heap_free(entry->attachment);
    entry->attachment = NULL;
}

/* Take one record of the store into the cache, with the version that guards its next edit. */
static enum status take(struct coordinator *self, uint64_t version, struct span value)
{
    struct intake intake;
    enum status status = intake_take(&self->documents, &self->config.key, value, &intake);
    bool fresh = status == STATUS_OK && intake.entry != NULL && intake.entry->attachment == NULL;

    self->documents_taken++;
    if (status != STATUS_OK) {
        notes_touch_all(&self->notes); /* The filter may have conflicting documents now. */
        return status;
    }
    if (intake.kind != DOCUMENT_FILTER) {
        rounds_want_all(self);
    }
    if (intake.kind == DOCUMENT_NODE_LIST) {
        self->nodes_version = version;
        return STATUS_OK;
    }
    if (intake.kind == DOCUMENT_DROPPED) {
        self->dropped_version = version;
        notes_touch_all(&self->notes);
        return STATUS_OK;
    }
    if (intake.kind == DOCUMENT_USERS) {
        self->users_version = version;
        return STATUS_OK;
    }
    if (intake.entry == NULL) {
        return STATUS_OK; /* It is in the record, and was put back with a backup. */
    }
    if (intake.entry->attachment == NULL) {
        intake.entry->attachment = heap_zalloc(1, sizeof(struct record));
    }
    if (intake.entry->attachment == NULL) {
        return STATUS_NOMEM;
    }
    ((struct record *)intake.entry->attachment)->version = version;
    if (fresh && intake.changed) {
        usage_add(self, &intake.entry->document);
    }
    notes_touch(&self->notes, intake.entry->document.id);
    return rounds_note(self, intake.entry);
}

static enum status take_cluster(struct coordinator *self, uint64_t version, struct span value)
{
    struct cluster_id id;
    enum status status = codec_cluster_open(value, &self->config.key, &id);

    if (status != STATUS_OK) {
        return status;
    }
    if (value.size > sizeof self->cluster.bytes) {
        return STATUS_TOO_LARGE;
    }
    memcpy(self->cluster.bytes, value.data, value.size);
    self->cluster.size = value.size;
    self->cluster.id = id;
    self->cluster.version = version;
    return STATUS_OK;
}

static enum status take_features(struct coordinator *self, uint64_t version, struct span value)
{
    struct cluster_features record;
    enum status status = codec_features_open(value, &self->config.key, &record);

    if (status == STATUS_OK) {
        self->features.record = record;
        self->features.version = version;
        if (features_lacking(self) != NULL) {
            log_line(LOG_ERROR, "%s", features_lacking(self));
        }
    }
    return status;
}

/* Context of one refresh. */
struct refresh {
    struct coordinator *self;
    uint64_t change;
    enum status status;
    bool all; /* of the store is read, not only what is new */
};

/* An older copy was put in place of the store while this process was running: all of it is read.
 * What is newer here is kept: nodes may have it. */
static void look_back(struct coordinator *self, uint64_t change)
{
    if (change < self->change) {
        self->went_back = true;
        log_line(LOG_ERROR,
                 "the store's change number has gone back from %" PRIu64 " to %" PRIu64
                 ": it was put back from an older copy",
                 self->change, change);
        self->change = 0;
    }
}

static bool visit(void *context, const char *key, uint64_t version, struct span value)
{
    struct refresh *refresh = context;
    enum status status = STATUS_OK;

    look_back(refresh->self, refresh->change); /* Its record about itself may settle that. */
    if (strncmp(key, "filter/", 7) == 0 || strcmp(key, "nodes") == 0 ||
        strcmp(key, RECORDS_DROPPED_KEY) == 0 || strcmp(key, RECORDS_USERS_KEY) == 0) {
        status = take(refresh->self, version, value);
    } else if (strcmp(key, CLUSTER_KEY) == 0) {
        status = take_cluster(refresh->self, version, value);
    } else if (strcmp(key, FEATURES_KEY) == 0) {
        status = take_features(refresh->self, version, value);
    } else if (strcmp(key, USERS_USES_KEY) == 0) {
        users_take_uses(refresh->self, version, value);
    } else if (strcmp(key, "store") == 0) {
        records_take_mark(refresh->self, version, value);
    }
    status = status == STATUS_OK ? signatures_note(refresh->self, key, value, !refresh->all)
                                 : status;
    if (status != STATUS_OK) {
        log_limited(&refresh->self->store_limit, refresh->self->now_us, LOG_ERROR,
                    "the store's record %s is not usable: %s%s", key, status_meaning(status),
                    codec_document_remedy(status));
        refresh->status = status;
        return false;
    }
    return true;
}

enum status records_refresh(struct coordinator *self)
{
    bool all = self->change == 0 || signatures_unread(self);
    struct refresh refresh = {.self = self, .status = STATUS_OK, .all = all};
    uint64_t number = self->work.arrivals;
    uint64_t ring = self->signatures.ring;
    enum status status;

    if (all) {
        signatures_begin(self);
    }
    status = stored_news(self, all ? 0 : self->change, &refresh.change, visit, &refresh);

    if (status == STATUS_OK) {
        look_back(self, refresh.change);
        status = refresh.status;
    }
    if (status == STATUS_OK) {
        self->change = refresh.change;
        self->signatures.read = all ? ring : self->signatures.read;
    } else {
        coordinator_count(self, COORDINATOR_store_errors_total);
    }
    self->read = (struct store_read){.number = number, .status = status};
    return status;
}

enum status records_fresh(struct coordinator *self)
{
    if (self->read.number >= work_number(self) ||
        (MUTANT(READ_BEFORE_ASKED) && self->read.number > 0)) {
        return self->read.status;
    }
    return records_refresh(self);
}

enum status records_swap(struct coordinator *self, const struct store_swap *swaps, size_t count)
{
    enum status status = stored_swap(self, swaps, count);

    if (status == STATUS_CONFLICT) {
        coordinator_count(self, COORDINATOR_swap_conflicts_total);
        status = records_refresh(self) == STATUS_OK ? STATUS_CONFLICT : STATUS_IO;
    } else if (status == STATUS_DEADLINE) {
        coordinator_count(self, COORDINATOR_late_commands_total);
    } else if (status != STATUS_OK) {
        coordinator_count(self, COORDINATOR_store_errors_total);
        records_tell(self, status, "written", self->unwritten, sizeof self->unwritten);
    } else {
        self->unwritten[0] = '\0';
        coordinator_count(self, COORDINATOR_documents_written_total);
        status = records_refresh(self);
    }
    return status;
}

enum status records_change(struct coordinator *self, uint64_t now_us, records_attempt_fn attempt,
                           void *context)
{
    enum status status = STATUS_CONFLICT;

    /* What has moved since it was seen stays so: whoever asks has to look. */
    for (int i = 0; status == STATUS_CONFLICT && !self->order.moved && i < CHANGE_ATTEMPTS; i++) {
        status = attempt(self, now_us, context);
    }
    return status;
}

enum status records_read_number(struct coordinator *self, const char *key, uint64_t *version,
                                uint64_t *number)
{
    enum status status;

    *version = 0;
    *number = 0;
    buffer_clear(&self->scratch);
    status = stored_get(self, key, &self->scratch, version);
    if (status == STATUS_NOT_FOUND) {
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        *number = read_u64(buffer_span(&self->scratch));
    }
    return status;
}

enum status records_seen_binding(struct coordinator *self, uint64_t name_version, uint64_t *binding)
{
    uint64_t count;

    *binding = name_version;
    return name_version != 0 ? STATUS_OK
                             : records_read_number(self, RECORDS_REMOVED_KEY, binding, &count);
}

struct document_entry *records_find(const struct coordinator *self, const char *name,
                                    uint64_t filter_id)
{
    struct document_entry *found = document_cache_find_name(&self->documents, name);

    if (MUTANT(DROP_BY_NAME)) {
        return filter_id != 0 ? found : NULL;
    }
    return found != NULL && found->document.id == filter_id ? found : NULL;
}

const struct filter_document *records_holder(const struct coordinator *self, const char *name)
{
    for (size_t i = 0; i < self->rounds.count; i++) {
        const struct filter_document *document = &self->rounds.items[i].entry->document;
        enum filter_state state = document->content.state;

        if ((state == FILTER_DROPPING && strcmp(document->content.name, name) == 0) ||
            (state != FILTER_DROPPED && rename_is_open(document) &&
             strcmp(document->former_name, name) == 0)) {
            return document;
        }
    }
    return NULL;
}
