/* Is the store older than what nodes hold? What they claim to be and to hold, and what follows from
 * it: nothing is changed any more, as numbers would be given away a second time. */
#include "base/heap.h"
#include "base/mutant.h"
#include "coordinator/cluster.h"
#include "coordinator/features.h"
#include "proto/intake.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void age_fill_record(struct node_record *record, const struct sync_request *request)
{
    (void)snprintf(record->name, sizeof record->name, "%s", request->name);
    (void)snprintf(record->host, sizeof record->host, "%s", request->host);
    (void)snprintf(record->zone, sizeof record->zone, "%s", request->zone);
    (void)snprintf(record->endpoint, sizeof record->endpoint, "%s", request->endpoint);
    record->incarnation = request->incarnation;
    record->memory_limit_bytes = request->memory_limit_bytes;
    record->boot = request->boot;
    record->durable = request->durable;
    record->curve = request->curve;
}

struct claim *age_claim(const struct coordinator *self, const char *name)
{
    for (size_t i = 0; i < self->nclaims; i++) {
        if (strcmp(self->claims[i].record.name, name) == 0) {
            return &self->claims[i];
        }
    }
    return NULL;
}

static struct claim *add_claim(struct coordinator *self)
{
    struct claim *grown;

    if (self->nclaims >= DOCUMENT_MAX_NODES) {
        return NULL;
    }
    grown = heap_realloc(self->claims, self->nclaims + 1, sizeof *grown);
    if (grown == NULL) {
        return NULL;
    }
    self->claims = grown;
    grown[self->nclaims] = (struct claim){0};
    return &grown[self->nclaims++];
}

void age_fini(struct coordinator *self)
{
    for (size_t i = 0; i < self->nclaims; i++) {
        heap_free(self->claims[i].held);
        id_set_fini(&self->claims[i].told);
    }
    heap_free(self->claims);
    document_cache_fini(&self->found);
    dropped_record_fini(&self->found_dropped);
}

static bool overtaken(const struct claim *claim, const struct sync_request *request)
{
    return claim->record.incarnation == request->incarnation &&
           claim->record.boot == request->boot && request->number <= claim->number;
}

/* Two processes that live at once and go by one name: neither is believed in a restore. */
static bool is_rival(const struct coordinator *self, uint64_t now_us, const struct claim *claim,
                     const struct sync_request *request)
{
    return claim->record.name[0] != '\0' &&
           strcmp(claim->record.endpoint, request->endpoint) != 0 &&
           coordinator_lately(self, now_us, claim->last_us);
}

/* ---- what it holds ---- */

/* Ids of filters; those of the records frame them. */
static struct id_interval page_of(const struct sync_request *request)
{
    return (struct id_interval){
        .first = request->held_after + 1,
        .last = request->held_to != 0 ? request->held_to : DROPPED_RECORD_ID - 1,
    };
}

static bool is_filter(const struct held_document *held)
{
    return !store_age_is_record(held->filter_id);
}

static size_t add_filters(const struct held_document *from, size_t count, uint64_t first,
                          uint64_t last, struct held_document *out)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_filter(&from[i]) && from[i].filter_id >= first && from[i].filter_id <= last) {
            out[n++] = from[i];
        }
    }
    return n;
}

/* The records, then filters in order: what earlier pages told of ids below, the page, what they
 * told of ids above. */
static size_t merge_page(const struct claim *claim, const struct sync_request *request,
                         struct held_document *out)
{
    const struct id_interval page = page_of(request);
    size_t count = 0;

    for (size_t i = 0; i < request->nheld; i++) {
        if (!is_filter(&request->held[i])) {
            out[count++] = request->held[i];
        }
    }
    count += add_filters(claim->held, claim->nheld, 1, page.first - 1, out + count);
    count += add_filters(request->held, request->nheld, page.first, page.last, out + count);
    return count + add_filters(claim->held, claim->nheld, page.last + 1, UINT64_MAX, out + count);
}

static void forget_held(struct claim *claim)
{
    heap_free(claim->held);
    claim->held = NULL;
    claim->nheld = 0;
    id_set_fini(&claim->told);
}

void age_forget(struct coordinator *self, uint64_t now_us, const char *name)
{
    struct claim *claim = age_claim(self, name);

    if (claim != NULL && !coordinator_lately(self, now_us, claim->last_us)) {
        forget_held(claim);
        claim->age = STORE_CURRENT;
        claim->dropped_revision = 0;
    }
}

static void note_record(struct claim *claim, const struct sync_request *request)
{
    claim->dropped_revision = 0;
    for (size_t i = 0; i < request->nheld; i++) {
        if (request->held[i].filter_id == DROPPED_RECORD_ID) {
            claim->dropped_revision = request->held[i].revision;
        }
    }
}

static bool keep_held(struct claim *claim, const struct sync_request *request)
{
    struct held_document *held;

    if (claim->record.incarnation != request->incarnation || claim->record.boot != request->boot) {
        forget_held(claim); /* Another life holds something else. */
    }
    held = heap_alloc(claim->nheld + request->nheld, sizeof *held);
    if (held == NULL || id_set_add_interval(&claim->told, page_of(request)) != STATUS_OK) {
        heap_free(held);
        return false;
    }
    claim->nheld = merge_page(claim, request, held);
    heap_free(claim->held);
    claim->held = held;
    note_record(claim, request);
    return true;
}

uint64_t age_fence(const struct claim *claim, uint64_t filter_id)
{
    size_t low = 0;
    size_t high = claim->nheld;

    while (low < claim->nheld && !is_filter(&claim->held[low])) {
        low++;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (claim->held[middle].filter_id < filter_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < claim->nheld && claim->held[low].filter_id == filter_id ? claim->held[low].fence
                                                                         : 0;
}

bool age_told_all(const struct claim *claim, uint64_t *after)
{
    uint64_t gap = id_set_next_gap(&claim->told, 1);

    *after = gap - 1;
    return gap == DROPPED_RECORD_ID;
}

/* By the page that has come; all of it only to find out whether what was wrong still is. */
static void judge(struct coordinator *self, struct claim *claim, const struct sync_request *request)
{
    const struct held_document *first = NULL;
    enum store_age age = request != NULL ? store_age_judge_all(&self->documents, request->held,
                                                               request->nheld, &first)
                                         : STORE_CURRENT;

    if (age == STORE_CURRENT && (request == NULL || claim->age != STORE_CURRENT)) {
        age = store_age_judge_all(&self->documents, claim->held, claim->nheld, &first);
    }
    claim->age = age;
    if (first != NULL) {
        claim->first = *first;
    }
}

/* Records of two histories may not fit each other: what any of them names is dropped. */
static enum status join_record(struct coordinator *self, struct claim *claim, struct span bytes)
{
    struct dropped_record record = {0};
    enum status status = codec_dropped_open(bytes, &self->config.key, &record);

    if (status == STATUS_OK) {
        status = id_set_join(&self->found_dropped.ids, &record.ids);
    }
    if (status == STATUS_OK) {
        claim->dropped_found = document_epoch_hash(bytes);
        if (record.revision > self->found_dropped.revision) {
            self->found_dropped.revision = record.revision;
        }
    }
    dropped_record_fini(&record);
    return status;
}

static enum status take_one(struct coordinator *self, struct claim *claim, struct span bytes)
{
    struct intake intake;
    enum document_kind kind = 0;
    enum status status = codec_document_kind(bytes, &kind);

    if (status != STATUS_OK) {
        return status;
    }
    return kind == DOCUMENT_DROPPED ? join_record(self, claim, bytes)
                                    : intake_take(&self->found, &self->config.key, bytes, &intake);
}

static void take_found(struct coordinator *self, struct claim *claim,
                       const struct sync_request *request)
{
    for (size_t i = 0; i < request->ndocuments; i++) {
        /* Refused ones are wanted again; what differs under one number is marked there. */
        if (take_one(self, claim, request->documents[i]) != STATUS_OK) {
            coordinator_count(self, COORDINATOR_malformed_total);
        }
    }
}

void age_note(struct coordinator *self, uint64_t now_us, const struct sync_request *request)
{
    struct claim *claim = age_claim(self, request->name);
    enum store_age before = claim != NULL ? claim->age : STORE_CURRENT;

    if (claim != NULL && overtaken(claim, request)) {
        return;
    }
    claim = claim != NULL ? claim : add_claim(self);
    if (claim == NULL || !keep_held(claim, request)) {
        return; /* It claims again. */
    }
    if (is_rival(self, now_us, claim, request)) {
        claim->rival_us = now_us;
    }
    age_fill_record(&claim->record, request);
    claim->life = (struct boot_claim){
        .incarnation = request->incarnation,
        .boot = request->boot,
        .boot_before = request->boot_before,
        .replaces = request->replaces,
    };
    claim->cluster = request->cluster;
    claim->number = request->number;
    claim->last_us = now_us > claim->last_us ? now_us : claim->last_us;
    take_found(self, claim, request);
    judge(self, claim, request);
    if (before == STORE_CURRENT && claim->age != STORE_CURRENT) {
        log_line(LOG_ERROR, "%s", age_reason(self));
    }
}

void age_note_alive(struct coordinator *self, uint64_t now_us, const struct sync_request *request)
{
    struct claim *claim = age_claim(self, request->name);

    if (claim != NULL && claim->life.incarnation == request->incarnation &&
        claim->life.boot == request->boot) {
        claim->last_us = now_us;
    }
}

static bool is_found(const struct coordinator *self, const struct claim *claim,
                     const struct held_document *held)
{
    const struct document_entry *entry = document_cache_find(&self->found, held->filter_id);

    if (held->filter_id == DROPPED_RECORD_ID) {
        return claim->dropped_found == held->hash;
    }
    if (held->filter_id == 0) {
        return self->found.nodes.revision >= held->revision;
    }
    if (held->filter_id == USER_LIST_ID) {
        return self->found.users.revision >= held->revision;
    }
    /* Another content under the same number is to be seen as well. */
    return entry != NULL &&
           (entry->document.revision > held->revision || entry->conflict ||
            (entry->document.revision == held->revision && entry->signed_hash == held->hash));
}

size_t age_wanted(struct coordinator *self, const struct claim *claim, uint64_t *out, size_t max)
{
    size_t count = 0;

    for (size_t i = 0; claim != NULL && i < claim->nheld && count < max; i++) {
        const struct held_document *held = &claim->held[i];

        if (store_age_judge(&self->documents, held) != STORE_CURRENT &&
            !is_found(self, claim, held)) {
            out[count++] = held->filter_id;
        }
    }
    return count;
}

/* ---- what follows ---- */

static const char remedy[] = "nothing is changed until `orbloom map restore FILE` has brought the "
                             "store past what the nodes hold; see docs/store.md";

static const char *explain(struct coordinator *self, const struct claim *claim)
{
    static const char *const kinds[] = {
        [STORE_CURRENT] = "",
        [STORE_LACKS] = "which the store does not know",
        [STORE_BEHIND] = "which is newer than the store's",
        [STORE_DIFFERS] = "and the store has another content under that number",
    };
    char what[64] = "the node list";

    if (claim->first.filter_id == DROPPED_RECORD_ID) {
        (void)snprintf(what, sizeof what, "the record of dropped filters");
    } else if (claim->first.filter_id == USER_LIST_ID) {
        (void)snprintf(what, sizeof what, "the record of users");
    } else if (claim->first.filter_id != 0) {
        (void)snprintf(what, sizeof what, "filter %" PRIu64, claim->first.filter_id);
    }
    (void)snprintf(self->age_text, sizeof self->age_text,
                   "the store was lost, or put back from an older copy: node %s holds %s at "
                   "revision %" PRIu64 ", %s; %s. A node of another cluster: end it, delete its "
                   "folder, and restart the coordinators",
                   claim->record.name, what, claim->first.revision, kinds[claim->age], remedy);
    return self->age_text;
}

static const char *explain_short(struct coordinator *self, const char *cause)
{
    (void)snprintf(self->age_text, sizeof self->age_text, "%s; %s", cause, remedy);
    return self->age_text;
}

static bool fence_is_ahead(const struct coordinator *self)
{
    const struct document_entry *entry = document_cache_find(&self->documents,
                                                             self->fence_ahead.filter_id);

    return self->fence_ahead.filter_id != 0 &&
           !document_cache_is_dropped(&self->documents, self->fence_ahead.filter_id) &&
           (entry == NULL || entry->document.epoch < self->fence_ahead.fence);
}

const char *age_reason(struct coordinator *self)
{
    if (MUTANT(ANY_STORE)) {
        return NULL;
    }
    if (cluster_lacking(self) != NULL) {
        return cluster_lacking(self);
    }
    if (features_lacking(self) != NULL) {
        return features_lacking(self);
    }
    if (self->mark.restoring) {
        return explain_short(self, "the store is being restored from a backup");
    }
    for (size_t i = 0; i < self->nclaims; i++) {
        if (self->claims[i].age != STORE_CURRENT) {
            judge(self, &self->claims[i], NULL); /* It may have been restored since. */
        }
        if (self->claims[i].age != STORE_CURRENT) {
            return explain(self, &self->claims[i]);
        }
    }
    if (self->went_back) {
        return explain_short(self, "the store was put back from an older copy: its change number "
                                   "has gone back");
    }
    if (fence_is_ahead(self)) {
        return explain_short(self, "the store was put back from an older copy: a node has fenced "
                                   "an epoch that the store does not know");
    }
    return NULL;
}

/* A node that has begun to tell what it holds, and has many documents, may take longer. */
bool age_settled(struct coordinator *self, uint64_t now_us)
{
    const struct node_list *nodes = &self->documents.nodes;
    bool late;
    bool all = true;

    if (self->started_us == 0) {
        self->started_us = now_us;
    }
    late = now_us - self->started_us >= self->config.node_timeout_us;
    for (uint32_t i = 0; !self->settled && all && i < nodes->count; i++) {
        const struct claim *claim = age_claim(self, nodes->nodes[i].name);
        uint64_t after;

        all = claim != NULL ? age_told_all(claim, &after) ||
                                  !coordinator_lately(self, now_us + 1, claim->last_us)
                            : late;
    }
    self->settled = self->settled || all;
    return self->settled;
}

bool age_could_tell(struct coordinator *self, uint64_t now_us)
{
    return age_settled(self, now_us) &&
           (self->nclaims > 0 || now_us - self->started_us >= self->config.node_timeout_us);
}

bool age_differs(const struct coordinator *self)
{
    for (size_t i = 0; i < self->nclaims; i++) {
        if (self->claims[i].age == STORE_DIFFERS) {
            return true;
        }
    }
    return false;
}
