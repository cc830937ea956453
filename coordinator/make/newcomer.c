/* A filter in several sites has the quorums that it has where it comes from, grows when it is full,
 * and logs its keys: of what is not logged nothing can be told to other sites. */
#include "coordinator/make/newcomer.h"

#include "coordinator/features.h"
#include "coordinator/make/create.h"
#include "coordinator/records.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- may it be made? ---- */

static enum status check_name(const struct coordinator *self, const struct site_filter *told,
                              char *reason)
{
    const struct document_entry *entry = document_cache_find_name(&self->documents, told->filter);
    const struct filter_document *holder = entry != NULL ? &entry->document
                                                         : records_holder(self, told->filter);

    if (holder == NULL) {
        return STATUS_OK;
    }
    (void)snprintf(reason, COORDINATOR_MESSAGE_BYTES,
                   holder->content.state == FILTER_ACTIVE
                       ? "there is another filter %.128s here: rename that one here (`orbloom "
                         "rename`), and this one is made by itself; or drop that one"
                       : "a filter %.128s is still being dropped here: its nodes have not all "
                         "confirmed; see `orbloom status`",
                   told->filter);
    return STATUS_NAME_BUSY;
}

static enum status open_secret(const struct coordinator *self, const struct site_filter *told,
                               struct hash_secret *secret, char *reason)
{
    enum status status = told->sealed_secret.size == SEAL_SECRET_BYTES
                             ? seal_secret_open(&self->config.key, site_secret_name(&told->uid),
                                                told->sealed_secret, secret)
                             : STATUS_NOT_READY;

    if (status == STATUS_NOT_READY) {
        (void)snprintf(reason, COORDINATOR_MESSAGE_BYTES,
                       "its hash secret has not come yet; if this stays, look at the logs of the "
                       "links of both sites");
    } else if (status != STATUS_OK) {
        (void)snprintf(reason, COORDINATOR_MESSAGE_BYTES,
                       "its hash secret can't be opened: the link that has brought it has another "
                       "cluster key; give it this cluster's");
    }
    return status;
}

static enum status plan(const struct site_filter *told, struct create *create)
{
    const struct sizing_request sizing = {.capacity = told->capacity, .rate = told->rate};

    if (sizing_plan_generation(&sizing, told->shard_bits, &create->plan) == STATUS_OK) {
        return STATUS_OK;
    }
    (void)snprintf(create->message, sizeof create->message,
                   "its capacity or rate is beyond what this version makes; upgrade this site");
    return STATUS_TOO_LARGE;
}

/* ---- making it ---- */

/* With a life of its own: what an earlier filter of that uid had here, if there was one, is no
 * longer what others go by. They merge it as they merge all that is later. There was one if it
 * counts, or has a life that it has taken itself: all that it had here is lost. */
static enum status fill_sites(struct coordinator *self, const struct site_filter *told,
                              const struct site_id *own, struct filter_document *document)
{
    struct site_set sites = told->fenced;
    struct site_entry *entry;

    sites.own = (uint32_t)(site_set_find(&told->fenced, own) - told->fenced.entries);
    sites.takes_adds = sites.says_absent = sites.settled = false;
    site_set_forget_orders(&sites);
    entry = &sites.entries[sites.own];
    if (site_life_next(entry->life.number) == 0) {
        return STATUS_TOO_LARGE;
    }
    sites.joins_anew = entry->life.number > SITE_FIRST_LIFE || entry->state == SITE_COUNTED;
    entry->state = SITE_JOINING;
    entry->life.number = site_life_next(entry->life.number);
    entry->life.tag = self->effects.random(self->effects.context);
    return document_put_sites(document, &sites);
}

static void fill(struct coordinator *self, const struct create *create,
                 const struct site_filter *told, struct filter_document *document)
{
    struct epoch_content *content = &document->content;
    const struct sizing_plan *plan = &create->plan;

    *document = (struct filter_document){
        .revision = 1,
        .epoch = 1,
        .capacity = told->capacity,
        .rate = told->rate,
        .max_capacity = told->max_capacity,
        .hash = told->hash,
        .when_unavailable = told->when_unavailable,
        .max_staleness = told->max_staleness,
        .acks = told->acks,
        .when_full = WHEN_FULL_EXPAND,
        .keylog = KEYLOG_ON,
        .durability = create->durability,
        .ngenerations = 1,
        .generations = {{.id = 1,
                         .capacity = told->capacity,
                         .rate = told->rate,
                         .geometry = {.seed = self->effects.random(self->effects.context),
                                      .lines = plan->lines,
                                      .z = plan->z,
                                      .shard_bits = told->shard_bits}}},
    };
    (void)snprintf(content->name, sizeof content->name, "%s", told->filter);
    content->uid = told->uid;
    content->state = FILTER_ACTIVE;
    content->rule = told->rule;
    content->shard_bits = told->shard_bits;
    content->nkeysets = 1;
    content->keysets[0] = (struct keyset){.id = told->keyset, .serving = true};
    content->last_keyset = told->keyset;
}

static enum status check(const struct coordinator *self, const struct site_filter *told,
                         struct create *create, struct hash_secret *secret)
{
    enum status status = features_allow(self, told->needs | feature_bit(FEATURE_SITES),
                                        create->message);

    status = status == STATUS_OK ? check_name(self, told, create->message) : status;
    status = status == STATUS_OK ? create_check_count(self, create) : status;
    status = status == STATUS_OK ? open_secret(self, told, secret, create->message) : status;
    return status == STATUS_OK ? plan(told, create) : status;
}

enum status newcomer_make(struct coordinator *self, uint64_t now_us, const struct site_filter *told,
                          const struct site_id *own, char *reason)
{
    const struct admin_request request = {.name = told->filter, .create = {.rule = told->rule}};
    struct create create = {.request = &request,
                            .durability = told->durability == DURABILITY_SYNC ? DURABILITY_SYNC
                                                                              : DURABILITY_OS};
    struct filter_document document = {0};
    struct hash_secret secret = {{0}};
    enum status status = check(self, told, &create, &secret);

    if (status == STATUS_OK) {
        fill(self, &create, told, &document);
        status = fill_sites(self, told, own, &document);
    }
    if (status == STATUS_OK) {
        status = create_place(self, now_us, &create, &document);
    }
    if (status == STATUS_OK) {
        status = records_create_filter(self, &document, &secret);
    }
    if (status == STATUS_OK) {
        coordinator_count(self, COORDINATOR_filters_created_total);
    } else if (create.message[0] == '\0') {
        records_tell(self, status, "written", create.message, sizeof create.message);
    }
    (void)snprintf(reason, COORDINATOR_MESSAGE_BYTES, "%s", create.message);
    secret = (struct hash_secret){{0}};
    document_fini(&document);
    return status;
}
