/* What is asked for is checked, planned and written as a document (place.c gives it its nodes);
 * its asker waits until it serves. */
#include "coordinator/make/create.h"

#include "coordinator/plan/expansion.h"
#include "coordinator/records.h"
#include "coordinator/users/quota.h"
#include "coordinator/users/users.h"
#include "filter/sizing.h"
#include "map/acks.h"
#include "map/history/keyset.h"
#include "map/history/window.h"
#include "map/staleness.h"

#include <stdio.h>
#include <string.h>

/* ---- what is asked for ---- */

/* So many sites are never there where a filter can be in one only; each is, by itself. */
static const char *acks_reason(const struct create_parameters *wanted)
{
    bool several = acks_more(wanted->acks, ACKS_LOCAL) && wanted->acks != ACKS_EACH;

    if (!acks_valid(wanted->acks)) {
        return "acks, by how many sites an add is acknowledged, is local, 2 to 8, or each";
    }
    return several && (wanted->keylog == KEYLOG_OFF || wanted->durability == DURABILITY_MEMORY ||
                       wanted->window_us != 0 || wanted->when_full == WHEN_FULL_REFUSE)
               ? "acks of so many takes several sites, and only filters with keylog on, durability "
                 "sync or os, when-full expand and without a window can be in several"
               : NULL;
}

static enum status check_served(struct create *self)
{
    const struct create_parameters *wanted = &self->request->create;
    const char *reason = window_fault(wanted->window_us, wanted->nslices);
    bool bare = wanted->keylog == KEYLOG_OFF || wanted->durability == DURABILITY_MEMORY;

    if (reason == NULL && wanted->window_us != 0 && bare) {
        reason = "a window takes a key log on disk, as only that tells which slice a key is of; "
                 "create with keylog on, and durability sync or os";
    } else if (reason != NULL) {
        /* Said above. */
    } else if (!staleness_valid(wanted->max_staleness)) {
        reason = "max-staleness, the bound of checks in several sites, is 0 to 30 days";
    } else if (acks_reason(wanted) != NULL) {
        reason = acks_reason(wanted);
    } else if (wanted->keylog == KEYLOG_OFF && wanted->durability == DURABILITY_MEMORY) {
        reason = "keylog off and durability memory exclude each other: what is kept in memory only "
                 "has no log that could do without keys; leave keylog on, or create with "
                 "durability sync or os";
    }
    if (reason == NULL) {
        return STATUS_OK;
    }
    (void)snprintf(self->message, sizeof self->message, "%s", reason);
    return STATUS_INVALID;
}

static enum status check_parameters(struct create *self)
{
    const struct create_parameters *wanted = &self->request->create;
    struct sizing_request sizing = {
        .capacity = window_set_capacity(wanted->nslices, wanted->capacity),
        .rate = window_set_rate(wanted->nslices, wanted->rate),
        .max_capacity = window_set_capacity(wanted->nslices, wanted->max_capacity),
    };

    if (!document_name_valid(span_text(self->request->name))) {
        (void)snprintf(self->message, sizeof self->message,
                       "a filter's name takes 1 to 128 of [A-Za-z0-9._:-]");
        return STATUS_INVALID;
    }
    if (quorum_rule_check(&wanted->rule) != STATUS_OK) {
        (void)snprintf(self->message, sizeof self->message,
                       "replicas %u, write quorum %u, read quorum %u cannot be certain: it takes "
                       "W + R > N, 2 W > N, and N from 1 to %d",
                       wanted->rule.replicas, wanted->rule.write, wanted->rule.read,
                       QUORUM_MAX_REPLICAS);
        return STATUS_INVALID;
    }
    if (sizing_plan_make(&sizing, &self->plan) != STATUS_OK) {
        (void)snprintf(self->message, sizeof self->message,
                       "capacity takes 1 to 1e12 keys (max-capacity not less), the rate %g to %g",
                       SIZING_RATE_MIN, SIZING_RATE_MAX);
        return STATUS_INVALID;
    }
    return check_served(self);
}

/* ---- writing it ---- */

uint64_t create_max_capacity(const struct create_parameters *wanted)
{
    return wanted->max_capacity != 0 ? wanted->max_capacity
                                     : wanted->capacity * SIZING_CAPACITY_GROWTH;
}

/* What is asked for; else it grows, unless it is in memory, where what it costs is not expected. */
static void choose_when_full(struct create *self)
{
    self->when_full = self->request->create.when_full;
    if (self->when_full == 0) {
        self->when_full = self->durability == DURABILITY_MEMORY ? WHEN_FULL_REFUSE
                                                                : WHEN_FULL_EXPAND;
    }
}

/* What is to grow without a log of keys is the first generation of a chain. */
static bool is_chain(const struct create *self)
{
    return self->when_full == WHEN_FULL_EXPAND &&
           (self->request->create.keylog == KEYLOG_OFF || self->durability == DURABILITY_MEMORY);
}

/* Half of the rate is left for generations to come. */
static enum status plan_chain(struct create *self, struct filter_document *document)
{
    const struct create_parameters *wanted = &self->request->create;
    struct generation *first = &document->generations[0];
    struct sizing_request request = {.capacity = wanted->capacity};

    document->ngenerations = 0;
    request.rate = expansion_chain_next_rate(document);
    document->ngenerations = 1;
    if (sizing_plan_generation(&request, document->content.shard_bits, &self->plan) != STATUS_OK) {
        (void)snprintf(self->message, sizeof self->message,
                       "to grow without a log of keys takes half of the rate for each next "
                       "generation, and %g is too little to be divided; ask for more, or create "
                       "with --when-full refuse",
                       wanted->rate);
        return STATUS_INVALID;
    }
    first->rate = request.rate;
    first->geometry.lines = self->plan.lines;
    first->geometry.z = self->plan.z;
    expansion_chain_start(document);
    return STATUS_OK;
}

static struct filter_uid draw_uid(struct coordinator *self)
{
    struct filter_uid uid = {.high = self->effects.random(self->effects.context)};

    uid.low = self->effects.random(self->effects.context);
    return uid;
}

static void fill_document(struct coordinator *self, const struct create *create,
                          struct filter_document *document)
{
    const struct create_parameters *wanted = &create->request->create;
    uint32_t nslices = wanted->nslices;
    uint64_t set_capacity = window_set_capacity(nslices, wanted->capacity);
    uint64_t set_most = window_set_capacity(nslices, create_max_capacity(wanted));

    *document = (struct filter_document){
        .revision = 1,
        .epoch = 1,
        .capacity = window_capacity(nslices, set_capacity),
        .rate = wanted->rate,
        .max_capacity = window_capacity(nslices, set_most),
        .window_us = wanted->window_us,
        .nslices = nslices,
        .max_staleness = wanted->max_staleness,
        .acks = acks_stored(wanted->acks),
        .hash = wanted->hash,
        .when_unavailable = wanted->when_unavailable,
        .when_full = create->when_full,
        .keylog = wanted->keylog,
        .durability = create->durability,
        .ngenerations = 1,
        .owner = create->owner,
    };
    (void)snprintf(document->content.name, sizeof document->content.name, "%s",
                   create->request->name);
    document->content.uid = draw_uid(self);
    document->content.state = FILTER_ACTIVE;
    document->content.rule = wanted->rule;
    document->content.shard_bits = create->plan.shard_bits;
    document->content.newest_slice = nslices > 0 ? 1 : 0;
    keyset_first(&document->content);
    document->generations[0] = (struct generation){
        .id = 1,
        .capacity = set_capacity,
        .rate = wanted->rate,
        .geometry =
            {
                .seed = self->effects.random(self->effects.context),
                .lines = create->plan.lines,
                .z = create->plan.z,
                .shard_bits = create->plan.shard_bits,
            },
    };
}

static struct hash_secret choose_secret(struct coordinator *self, const struct create *create)
{
    struct hash_secret secret;

    if (create->secret != NULL) {
        return *create->secret;
    }
    for (size_t i = 0; i < sizeof secret.bytes; i += 8) {
        uint64_t random = self->effects.random(self->effects.context);

        memcpy(&secret.bytes[i], &random, 8);
    }
    return secret;
}

static enum status write_new(struct coordinator *self, uint64_t now_us, struct create *create)
{
    struct filter_document document;
    struct hash_secret secret;
    enum status status;

    create_choose_durability(self, now_us, create);
    choose_when_full(create);
    fill_document(self, create, &document);
    document.load_source = create->load_source;
    document.loaded = create->load_source != 0 ? DOCUMENT_LOAD_FIRST : 0;
    status = is_chain(create) ? plan_chain(create, &document) : STATUS_OK;
    status = status == STATUS_OK ? quota_allow_filter(self, &document, create->message) : status;
    if (status == STATUS_OK) {
        status = create_place(self, now_us, create, &document);
    }
    if (status == STATUS_OK) {
        secret = choose_secret(self, create);
        status = records_create_filter(self, &document, &secret);
        create->filter_id = document.id;
    }
    if (status == STATUS_OK) {
        coordinator_count(self, COORDINATOR_filters_created_total);
        log_line(LOG_INFO, "created filter %s, id %llu", create->request->name,
                 (unsigned long long)document.id);
    }
    document_fini(&document);
    return status;
}

/* Tombstones count until they are in the
 * record of dropped filters, and what is in it until it is out of the store: others hold it, too.
 */
enum status create_check_count(const struct coordinator *self, struct create *create)
{
    uint64_t most = self->config.max_filters > 0 ? self->config.max_filters : DOCUMENT_MAX_LIVING;
    size_t living = 0;

    if (self->documents.count < most) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < self->documents.count; i++) {
        living += self->documents.by_id[i]->document.content.state != FILTER_DROPPED;
    }
    if (living < most && self->documents.count < DOCUMENT_CACHE_MAX) {
        return STATUS_OK;
    }
    (void)snprintf(create->message, sizeof create->message,
                   living >= most
                       ? "there are %zu filters, and no more than %llu may be; drop some first"
                       : "%zu filters live, and too many that were dropped are still in the store "
                         "(of %llu that may live); start the nodes that are down, then retry",
                   living, (unsigned long long)most);
    return STATUS_TOO_LARGE;
}

/* STATUS_OK: the filter exists now, created here or before. */
static enum status try_create(struct coordinator *self, uint64_t now_us, void *context)
{
    struct create *create = context;
    const char *name = create->request->name;
    const struct document_entry *entry = document_cache_find_name(&self->documents, name);
    enum status status;

    if (entry != NULL) {
        create->filter_id = entry->document.id;
        return create->found(self, now_us, entry, create);
    }
    if (records_holder(self, name) != NULL) {
        (void)snprintf(create->message, sizeof create->message,
                       "filter %s is still being dropped or renamed: its nodes have not all "
                       "confirmed; retry, and see `orbloom status`",
                       name);
        return STATUS_NAME_BUSY;
    }
    status = create_check_count(self, create);
    status = status == STATUS_OK ? write_new(self, now_us, create) : status;
    create->created = status == STATUS_OK;
    return status;
}

void create_begin(struct coordinator *self, uint64_t now_us, const struct peer *from,
                  const struct frame *frame, struct create *create)
{
    struct users_asker asker = users_asker(self, from, &frame->body.admin_request);
    enum status status = check_parameters(create);

    create->owner = asker.user != NULL ? asker.user->id : 0;
    if (status == STATUS_OK) {
        status = records_change(self, now_us, try_create, create);
    }
    if (status != STATUS_OK && create->message[0] == '\0') {
        records_tell(self, status, "written", create->message, sizeof create->message);
    }
    if (status != STATUS_OK) {
        coordinator_answer(self, from, frame->correlation, status, false, create->message);
        return;
    }
    if (create->created) {
        coordinator_hint(self, now_us);
    }
    if (document_cache_find(&self->documents, create->filter_id) == NULL) {
        /* Before what was written could be read back. */
        coordinator_answer(self, from, frame->correlation, STATUS_DROPPED, create->created,
                           "the filter was dropped meanwhile");
        return;
    }
    waiters_await(self, from, frame, WAITER_CREATE, create->filter_id, create->created);
}
