/* Is the store older than what nodes hold? What they claim to be and to hold, and what follows from
 * it: nothing is changed any more, as numbers would be given away a second time. */
#include "base/heap.h"
#include "coordinator/coordinator_private.h"
#include "proto/intake.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    }
    heap_free(self->claims);
    document_cache_fini(&self->found);
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
           now_us - claim->last_us <= self->config.node_timeout_us;
}

static bool keep_held(struct claim *claim, const struct sync_request *request)
{
    struct held_document *held = heap_alloc(request->nheld, sizeof *held);

    if (held == NULL) {
        return false;
    }
    if (request->nheld > 0) {
        memcpy(held, request->held, request->nheld * sizeof *held);
    }
    heap_free(claim->held);
    claim->held = held;
    claim->nheld = request->nheld;
    claim->held_count = request->held_count;
    return true;
}

static void judge(struct coordinator *self, struct claim *claim)
{
    const struct held_document *first = NULL;

    claim->age = store_age_judge_all(&self->documents, claim->held, claim->nheld, &first);
    if (first != NULL) {
        claim->first = *first;
    }
}

static void take_found(struct coordinator *self, const struct sync_request *request)
{
    for (size_t i = 0; i < request->ndocuments; i++) {
        struct intake intake;

        /* Refused ones are wanted again; what differs under one number is marked there. */
        if (intake_take(&self->found, &self->config.key, request->documents[i], &intake) !=
            STATUS_OK) {
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
    registration_fill(&claim->record, request);
    claim->life = (struct boot_claim){
        .incarnation = request->incarnation,
        .boot = request->boot,
        .boot_before = request->boot_before,
        .replaces = request->replaces,
    };
    claim->number = request->number;
    claim->last_us = now_us;
    take_found(self, request);
    judge(self, claim);
    if (before == STORE_CURRENT && claim->age != STORE_CURRENT) {
        log_line(LOG_ERROR, "%s", age_reason(self));
    }
}

static bool is_found(const struct coordinator *self, const struct held_document *held)
{
    const struct document_entry *entry = document_cache_find(&self->found, held->filter_id);

    if (held->filter_id == 0) {
        return self->found.nodes.revision >= held->revision;
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

        if (store_age_judge(&self->documents, held) != STORE_CURRENT && !is_found(self, held)) {
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

    if (claim->first.filter_id != 0) {
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
           (entry == NULL || entry->document.epoch < self->fence_ahead.fence);
}

const char *age_reason(struct coordinator *self)
{
#ifdef ORBLOOM_MUTANT_ANY_STORE
    return NULL;
#endif
    if (self->mark.restoring) {
        return explain_short(self, "the store is being restored from a backup");
    }
    for (size_t i = 0; i < self->nclaims; i++) {
        if (self->claims[i].age != STORE_CURRENT) {
            judge(self, &self->claims[i]); /* It may have been restored since. */
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

bool age_settled(struct coordinator *self, uint64_t now_us)
{
    const struct node_list *nodes = &self->documents.nodes;
    bool all = true;

    if (self->started_us == 0) {
        self->started_us = now_us;
    }
    for (uint32_t i = 0; !self->settled && all && i < nodes->count; i++) {
        all = age_claim(self, nodes->nodes[i].name) != NULL;
    }
    self->settled = self->settled || all ||
                    now_us - self->started_us >= self->config.node_timeout_us;
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
