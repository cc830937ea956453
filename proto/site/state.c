/* What a state has to be before anything is done by it, and which of two says more. A site can tell
 * only of itself: its set has it as the own entry, by which a state has its life. */
#include "proto/site/state.h"

#include "base/mutant.h"
#include "filter/fingerprint.h"
#include "filter/sizing.h"
#include "map/access/seal.h"
#include "map/acks.h"
#include "map/staleness.h"

#include <math.h>
#include <string.h>

static bool is_id(const struct site_id *id)
{
    return id->high != 0 || id->low != 0;
}

static bool is_uid(const struct filter_uid *uid)
{
    return uid->high != 0 || uid->low != 0;
}

/* ---- states ---- */

/* A set that is told as the site's own. */
static const char *set_fault(const struct site_set *set, const struct site_id *site)
{
    const char *fault = sites_fault(set);
    const struct site_entry *own = fault == NULL ? site_set_own(set) : NULL;

    if (fault != NULL) {
        return fault;
    }
    return own != NULL && site_id_equal(&own->id, site)
               ? NULL
               : "the set is not that of the site which says it";
}

/* What another life of the site has fenced its nodes may have lost. */
static const char *lives_fault(const struct site_filter *self)
{
    return site_life_compare(&site_set_own(&self->document)->life,
                             &site_set_own(&self->fenced)->life) == 0
               ? NULL
               : "what was fenced is of another life of the site than its document";
}

static const char *sets_fault(const struct site_filter *self)
{
    const char *fault = set_fault(&self->document, &self->site);

    if (fault == NULL && self->is_fenced) {
        fault = set_fault(&self->fenced, &self->site);
        fault = fault == NULL ? lives_fault(self) : fault;
    }
    if (self->ndone > SITE_SET_MAX_LIVE) {
        return "there are too many leavers";
    }
    for (uint32_t i = 0; i < self->ndone && fault == NULL; i++) {
        fault = site_set_find(&self->document, &self->done[i]) != NULL
                    ? NULL
                    : "it is done with a site that is not in its set";
    }
    return fault;
}

static const char *kind_fault(const struct site_filter *self)
{
    if (self->hash < HASH_SIPHASH24 || self->hash > HASH_XXH3) {
        return "the hash is not known";
    }
    if (self->durability < DURABILITY_MEMORY || self->durability > DURABILITY_SYNC) {
        return "the durability is not known";
    }
    return self->when_unavailable < WHEN_UNAVAILABLE_ERROR ||
                   self->when_unavailable > WHEN_UNAVAILABLE_MAYBE
               ? "what it says when unavailable is not known"
               : NULL;
}

/* Whether such a filter can be made is for the one to say that makes it. */
static const char *wishes_fault(const struct site_filter *self)
{
    const char *fault = kind_fault(self);

    if (fault != NULL) {
        return fault;
    }
    if (self->shard_bits > SIZING_SHARD_BITS_MAX || self->keyset == 0) {
        return "shard bits or keyset are out of range";
    }
    if (quorum_rule_check(&self->rule) != STATUS_OK) {
        return "by its quorums nobody can be certain";
    }
    if (!isfinite(self->rate) || self->rate <= 0 || self->rate >= 1 || self->capacity == 0 ||
        self->max_capacity < self->capacity) {
        return "rate or capacity are out of range";
    }
    if (!staleness_valid(self->max_staleness)) {
        return "the bound of checks is out of range";
    }
    if (!acks_valid(self->acks) || self->acks != acks_stored(self->acks)) {
        return "adds are acknowledged by so many sites as there can't be";
    }
    return self->sealed_secret.size == 0 || self->sealed_secret.size == SEAL_SECRET_BYTES ||
                   self->sealed_secret.size == sizeof(struct hash_secret)
               ? NULL
               : "the secret has a wrong size";
}

bool site_drop_counts(const struct site_entry *entry, uint64_t last_return)
{
    return MUTANT(SITE_DROP_BY_GONE) ||
           (entry->state != SITE_GONE && site_life_return(entry->life.number) <= last_return);
}

const char *site_filter_fault(const struct site_filter *self)
{
    const char *fault;

    if (!is_uid(&self->uid) || !is_id(&self->site)) {
        return "it names no filter or no site";
    }
    if (self->dropped) {
        return self->document.count == 0 && !self->is_fenced && self->ndone == 0 &&
                       self->sealed_secret.size == 0
                   ? NULL
                   : "a tombstone tells more than that the filter is dropped";
    }
    if (!document_name_valid(span_text(self->filter)) || self->revision == 0) {
        return "the filter's name or revision is none";
    }
    fault = sets_fault(self);
    return fault == NULL ? wishes_fault(self) : fault;
}

struct site_life site_filter_life(const struct site_filter *self)
{
    const struct site_entry *own = self->dropped ? NULL : site_set_own(&self->document);

    return own != NULL ? own->life : (struct site_life){0};
}

/* What is fenced is of the document's life: see lives_fault(). */
static int compare_lives(const struct site_filter *a, const struct site_filter *b, int order)
{
    const struct site_filter *newer = order > 0 ? a : b;
    const struct site_filter *older = order > 0 ? b : a;

    return older->is_fenced && !newer->is_fenced && !MUTANT(SITE_LOST_LIFE_STANDS) ? 0 : order;
}

/* Within a revision what is fenced only grows; a coordinator that has just started does not know it
 * yet. */
static int compare_fenced(const struct site_filter *a, const struct site_filter *b)
{
    if (!a->is_fenced || !b->is_fenced) {
        return (int)a->is_fenced - (int)b->is_fenced;
    }
    return (int)site_set_covers(&a->fenced, &b->fenced) -
           (int)site_set_covers(&b->fenced, &a->fenced);
}

int site_filter_compare(const struct site_filter *a, const struct site_filter *b)
{
    const struct site_life lives[] = {site_filter_life(a), site_filter_life(b)};
    int order = site_life_compare(&lives[0], &lives[1]);

    if (a->dropped || b->dropped) {
        return (int)a->dropped - (int)b->dropped;
    }
    if (order != 0) {
        return compare_lives(a, b, order);
    }
    if (a->revision != b->revision) {
        return a->revision < b->revision ? -1 : 1;
    }
    return compare_fenced(a, b);
}

/* Random, as filters' ids are, and of the same size. */
uint64_t site_secret_name(const struct filter_uid *uid)
{
    return uid->high ^ uid->low;
}

/* ---- evidence ---- */

static bool is_life(const struct site_life *life)
{
    return life->number != 0;
}

/* None, or one that has both sites in the lives that it is of. */
static const char *fenced_fault(const struct site_evidence *self, const struct site_set *set,
                                bool theirs)
{
    const struct site_entry *other = site_set_find(set, &self->site);
    const struct site_entry *own = site_set_own(set);

    if (set->count == 0) {
        return NULL;
    }
    if (sites_fault(set) != NULL || own == NULL) {
        return "a set is none";
    }
    if (site_id_equal(&own->id, &self->site) != theirs) {
        return "a set is that of another site";
    }
    if (theirs && site_life_compare(&own->life, &self->source_life) != 0) {
        return "a set is of another life";
    }
    return !theirs && (other == NULL || site_life_compare(&own->life, &self->own_life) != 0)
               ? "a set does not have both sites, in their lives"
               : NULL;
}

const char *site_evidence_fault(const struct site_evidence *self)
{
    const char *fault = NULL;

    if (!is_uid(&self->uid) || !is_id(&self->site) || !is_life(&self->source_life) ||
        !is_life(&self->own_life)) {
        return "it names no filter, no site or no life";
    }
    if (self->put_back && (self->marked.count > 0 || self->compared.count > 0)) {
        return "of a site that was put back nothing is proved";
    }
    if ((self->compared.count == 0) != (self->compared_here.count == 0)) {
        return "a comparison tells of one of both sites only";
    }
    fault = fenced_fault(self, &self->marked, true);
    fault = fault == NULL ? fenced_fault(self, &self->compared, true) : fault;
    return fault == NULL ? fenced_fault(self, &self->compared_here, false) : fault;
}
