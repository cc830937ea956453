/* What becomes of a filter whose drop is confirmed, so that the store does not grow for ever:
 *
 *   1  its document says DROPPED: a tombstone, see duty/drop.c
 *   2  compare-and-swap of the record of dropped filters: its id is in it, with those of others
 *   3  F nodes of each of its slot groups hold that record durably
 *   4  compare-and-swap: its document, its secret and what is left of its name's binding go
 *
 * A node keeps its own fence until the record is in its own log. So at any moment F of each group
 * hold the one or the other, and an old document can't bring the filter back. The third step
 * makes sure that what the store forgets is also known without the store: if that is lost, a
 * restore finds it with any nodes that suffice for one.
 *
 * Each step may be repeated by any coordinator; the store tells where it stands. */

#include "base/heap.h"
#include "base/mutant.h"
#include "coordinator/duty.h"
#include "coordinator/records.h"
#include "coordinator/sites.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DROPPED_BATCH = 256,       /* tombstones that are worth an edit of the record at once */
    DROPPED_WAIT_US = 1000000, /* that one may wait for others */
    DROPPED_LOOK_US = 250000,  /* between looks at what nodes hold */
    DROPPED_PACE_US = 50000,   /* between removals: each makes a create look once more */
    KEYS_OF_FILTER = 4,        /* document, secret, name, former name */
};

/* ---- into the record ---- */

static bool is_tombstone(const struct document_entry *entry)
{
    return entry->document.content.state == FILTER_DROPPED && !entry->gone && !entry->conflict &&
           !sites_dropped_everywhere(&entry->document);
}

static size_t count_tombstones(const struct coordinator *self)
{
    size_t count = 0;

    for (size_t i = 0; i < self->documents.count; i++) {
        count += is_tombstone(self->documents.by_id[i]);
    }
    return count;
}

/* Those that the record has no room for stay what they are. STATUS_NOT_FOUND: that is all. */
static enum status add_tombstones(const struct coordinator *self, struct id_set *ids)
{
    bool added = false;

    for (size_t i = 0; i < self->documents.count; i++) {
        const struct document_entry *entry = self->documents.by_id[i];
        enum status status = is_tombstone(entry) ? id_set_add(ids, entry->document.id)
                                                 : STATUS_TOO_LARGE;

        if (status == STATUS_NOMEM) {
            return status;
        }
        added = added || status == STATUS_OK;
    }
    return added ? STATUS_OK : STATUS_NOT_FOUND;
}

static enum status write_record(struct coordinator *self)
{
    struct dropped_record record = {.revision = self->documents.dropped.revision + 1};
    struct buffer value;
    enum status status = id_set_copy(&self->documents.dropped.ids, &record.ids);

    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = status == STATUS_OK ? add_tombstones(self, &record.ids) : status;
    status = status == STATUS_OK ? codec_dropped_sign(&record, &self->config.key, &value) : status;
    if (status == STATUS_OK) {
        const struct store_swap swap = {.key = RECORDS_DROPPED_KEY,
                                        .expected = self->dropped_version,
                                        .value = buffer_span(&value)};

        status = records_swap(self, &swap, 1);
    }
    buffer_fini(&value);
    dropped_record_fini(&record);
    return status;
}

static void record_tombstones(struct coordinator *self, uint64_t now_us)
{
    size_t waiting = count_tombstones(self);
    enum status status;

    if (waiting == 0) {
        self->tombstones_us = 0;
        return;
    }
    self->tombstones_us = self->tombstones_us == 0 ? now_us : self->tombstones_us;
    if (waiting < DROPPED_BATCH && now_us - self->tombstones_us < DROPPED_WAIT_US) {
        return;
    }
    self->tombstones_us = now_us; /* Also if it fails: not at every event. */
    status = write_record(self);
    if (status == STATUS_OK) {
        coordinator_hint(self, now_us);
    } else if (status == STATUS_NOT_FOUND || status == STATUS_TOO_LARGE) {
        log_limited(&self->dropped_limit, now_us, LOG_WARN,
                    "the record of dropped filters is full: %zu more stay in the store as "
                    "tombstones, one each",
                    waiting);
    }
}

/* ---- out of the store ---- */

/* Does the node hold the record as of that revision, or is it no node of this cluster any more? */
static bool holds(const struct coordinator *self, uint32_t node, uint64_t revision)
{
    const struct node_record *record = node_list_find(&self->documents.nodes, node);
    const struct claim *claim = record != NULL ? age_claim(self, record->name) : NULL;

    return record == NULL || (claim != NULL && claim->dropped_revision >= revision);
}

static bool enough_hold(const struct coordinator *self, const struct filter_document *document,
                        uint64_t revision)
{
    const struct epoch_content *content = &document->content;

    if (MUTANT(DROPPED_FORGOTTEN_EARLY)) {
        return true;
    }
    for (uint32_t group = 0; group < content->ngroups; group++) {
        uint32_t count = 0;

        for (uint32_t slot = 0; slot < content->rule.replicas; slot++) {
            count += holds(self, slot_reader(&content->groups[group].slots[slot])->node, revision);
        }
        if (count < quorum_fences(&content->rule)) {
            return false;
        }
    }
    return true;
}

/* One swap of the store, while it is put together. Filters of which another coordinator has removed
 * all have no key in it, and count all the same. */
struct removal {
    struct store_swap swaps[STORE_MAX_KEYS];
    char keys[STORE_MAX_KEYS][STORE_KEY_BYTES];
    size_t nkeys;
    uint8_t count_bytes[8];
    uint64_t ids[STORE_MAX_KEYS]; /* filters that are out of the store with it */
    size_t nids;
};

static bool has_room(const struct removal *removal)
{
    return removal->nkeys + KEYS_OF_FILTER <= STORE_MAX_KEYS && removal->nids < STORE_MAX_KEYS;
}

static bool has_key(const struct removal *removal, const char *key)
{
    for (size_t i = 0; i < removal->nkeys; i++) {
        if (strcmp(removal->keys[i], key) == 0) {
            return true;
        }
    }
    return false;
}

static void add_key(struct removal *removal, const char *key, uint64_t version)
{
    size_t at = removal->nkeys++;

    assert(at < STORE_MAX_KEYS && version != 0);
    (void)snprintf(removal->keys[at], STORE_KEY_BYTES, "%s", key);
    removal->swaps[at] = (struct store_swap){
        .key = removal->keys[at], .expected = version, .remove = true};
}

static enum status remove_key(struct coordinator *self, struct removal *removal, const char *kind,
                              uint64_t id)
{
    char key[STORE_KEY_BYTES];
    uint64_t version;
    uint64_t value;
    enum status status;

    (void)snprintf(key, sizeof key, "%s/%" PRIu64, kind, id);
    status = records_read_number(self, key, &version, &value);
    if (status == STATUS_OK && version != 0) {
        add_key(removal, key, version);
    }
    return status;
}

/* The name may be another filter's by now. */
static enum status remove_name(struct coordinator *self, struct removal *removal, const char *name,
                               uint64_t id)
{
    char key[STORE_KEY_BYTES];
    uint64_t version;
    uint64_t bound;
    enum status status;

    (void)snprintf(key, sizeof key, "name/%s", name);
    status = records_read_number(self, key, &version, &bound);
    if (status == STATUS_OK && version != 0 && (bound == 0 || bound == id) &&
        !has_key(removal, key)) {
        add_key(removal, key, version);
    }
    return status;
}

static enum status remove_filter(struct coordinator *self, struct removal *removal,
                                 const struct filter_document *document)
{
    enum status status;

    assert(has_room(removal));
    status = remove_key(self, removal, "filter", document->id);
    status = status == STATUS_OK ? remove_key(self, removal, "secret", document->id) : status;
    status = status == STATUS_OK ? remove_name(self, removal, document->content.name, document->id)
                                 : status;
    if (status == STATUS_OK && rename_is_open(document)) {
        status = remove_name(self, removal, document->former_name, document->id);
    }
    removal->ids[removal->nids++] = document->id;
    return status;
}

/* What the swap writes: how many filters have gone this way. */
static enum status begin_removal(struct coordinator *self, struct removal *removal)
{
    uint64_t version;
    uint64_t count;
    enum status status = records_read_number(self, RECORDS_REMOVED_KEY, &version, &count);

    removal->nids = 0;
    removal->nkeys = 1;
    (void)snprintf(removal->keys[0], STORE_KEY_BYTES, "%s", RECORDS_REMOVED_KEY);
    records_put_number(count, removal->count_bytes);
    removal->swaps[0] = (struct store_swap){
        .key = removal->keys[0], .expected = version, .value = span_of(removal->count_bytes, 8)};
    return status;
}

static bool is_removed(const struct removal *removal, uint64_t id)
{
    for (size_t i = 0; i < removal->nids; i++) {
        if (removal->ids[i] == id) {
            return true;
        }
    }
    return false;
}

/* Operators that wait for its drop look at it once more. */
static bool is_awaited(const struct coordinator *self, uint64_t id)
{
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        if (self->waiters[i].used && self->waiters[i].filter_id == id) {
            return true;
        }
    }
    return false;
}

struct release {
    struct coordinator *coordinator;
    const struct removal *removal;
};

static bool release(void *context, struct document_entry *entry)
{
    const struct release *self = context;
    bool done = is_removed(self->removal, entry->document.id);

    if (done) {
        records_forget(self->coordinator, entry);
    }
    return done;
}

/* STATUS_CONFLICT: another coordinator was first; what it has left is seen when it is looked again.
 */
static enum status end_removal(struct coordinator *self, struct removal *removal)
{
    struct release context = {.coordinator = self, .removal = removal};
    enum status status = STATUS_OK;
    uint64_t before = 0;

    if (removal->nkeys > 1) { /* Else another coordinator has removed all of it. */
        for (size_t i = 0; i < 8; i++) {
            before |= (uint64_t)removal->count_bytes[i] << (8 * i);
        }
        records_put_number(before + removal->nids, removal->count_bytes);
        status = records_swap(self, removal->swaps, removal->nkeys);
        self->counters[COORDINATOR_filters_forgotten_total] += status == STATUS_OK ? removal->nids
                                                                                   : 0;
    }
    if (status == STATUS_OK) {
        document_cache_sweep(&self->documents, release, &context);
    }
    return status;
}

/* As many as one swap takes. True: there may be more. */
static bool remove_some(struct coordinator *self)
{
    struct removal removal;
    enum status status = begin_removal(self, &removal);
    bool more = false;

    for (size_t i = 0; status == STATUS_OK && i < self->documents.count && !more; i++) {
        const struct document_entry *entry = self->documents.by_id[i];

        if (!entry->gone || is_awaited(self, entry->document.id) ||
            !enough_hold(self, &entry->document, records_gone_revision(self, entry))) {
            continue;
        }
        status = remove_filter(self, &removal, &entry->document);
        more = !has_room(&removal);
    }
    if (status == STATUS_OK && removal.nids > 0) {
        status = end_removal(self, &removal);
    }
    return more && status == STATUS_OK;
}

/* Tombstones move on, as far as that can be done now; all of them at once. */
static enum duty_round round_of_dropped(struct coordinator *self, uint64_t now_us)
{
    if (self->dropped_seen != self->change ||
        (self->tombstones_us != 0 && now_us >= self->tombstones_us + DROPPED_WAIT_US)) {
        self->dropped_seen = self->change;
        record_tombstones(self, now_us);
    }
    if (self->documents.ngone > 0 && now_us >= self->forget_us) {
        self->forget_us = now_us + (remove_some(self) ? DROPPED_PACE_US : DROPPED_LOOK_US);
    }
    return ROUND_NONE;
}

static uint64_t due_us(const struct coordinator *self)
{
    uint64_t next = self->documents.ngone > 0 ? self->forget_us : ACTOR_NEVER;

    return self->tombstones_us != 0 && self->tombstones_us + DROPPED_WAIT_US < next
               ? self->tombstones_us + DROPPED_WAIT_US
               : next;
}

const struct duty duty_dropped = {
    .round = round_of_dropped,
    .due_us = due_us,
};
