#include "tests/sim_sites/sites_oracle.h"

#include "map/acks.h"
#include "tests/sim_sites/sites.h"

#include <inttypes.h>

enum { DEADLINE_SLACK_US = 2000 };

/* ---- the documents ---- */

/* The cluster's own record of what it must hold begins with the filter. */
static void note_filter(struct site *site, uint64_t filter_id)
{
    struct sim *sim = site->sim;

    if (sim_oracle_newest(sim, 0) == NULL) { /* It was not created here. */
        sim_oracle_create_begins(sim, 0);
    }
    sim_oracle_newest(sim, 0)->filter_id = filter_id;
    site->standing = (struct sites_standing){.filter_id = filter_id, .barred_us = 1};
}

static bool is_gone(const struct sites *sites, const struct site *site)
{
    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site_entry *entry = site_entry_of(&sites->items[i], site);

        if (entry != NULL && entry->state == SITE_GONE && !sites->items[i].off) {
            return true;
        }
    }
    return false;
}

/* It joins anew. Routers and nodes that have not heard of that go by the former epoch until enough
 * have fenced the new one, as they have when it takes adds. */
static void note_life(struct sites *sites, struct site *site, const struct site_entry *own)
{
    struct sites_standing *standing = &site->standing;

    if (standing->life.number != 0 && site_life_compare(&standing->life, &own->life) != 0) {
        sites_coverage_fault(sites, SITES_FAULT_ANEW);
        *standing = (struct sites_standing){.filter_id = standing->filter_id};
    }
    standing->life = own->life;
    if (standing->barred_us == 0 && site_sites(site)->takes_adds) {
        standing->barred_us = sites->now_us;
    }
}

static void look(struct sites *sites, struct site *site)
{
    const struct filter_document *document = site_document(site);
    const struct site_set *set = site_sites(site);
    const struct site_entry *own = site_set_own(set);
    struct sites_standing *standing = &site->standing;

    if (document == NULL || document->content.state != FILTER_ACTIVE) {
        return;
    }
    if (standing->filter_id != document->id) {
        note_filter(site, document->id);
    }
    if (own != NULL) {
        note_life(sites, site, own);
    }
    if (standing->counted_us == 0 && (own == NULL || own->state == SITE_COUNTED)) {
        standing->counted_us = sites->now_us;
    }
    if (standing->absent_us == 0 && (own == NULL || set->says_absent)) {
        standing->absent_us = sites->now_us;
    }
    if (standing->gone_us == 0 && is_gone(sites, site)) {
        standing->gone_us = sites->now_us;
    }
}

void sites_oracle_look(struct sites *sites)
{
    for (uint32_t i = 0; i < sites->count; i++) {
        look(sites, &sites->items[i]);
    }
}

/* ---- what is promised ---- */

static bool before(uint64_t at_us, uint64_t us)
{
    return at_us != 0 && at_us < us;
}

/* ... by a site that has not burnt, or by several. */
static bool was_acked(const struct sites *sites, uint32_t key, uint64_t before_us)
{
    bool any = before(sites->oracle.several_us[key], before_us);

    for (uint32_t i = 0; i < sites->count; i++) {
        any = any || before(sites->oracle.acked_us[i][key], before_us);
    }
    return any;
}

bool sites_oracle_promised(const struct sites *sites, uint32_t key)
{
    return was_acked(sites, key, UINT64_MAX);
}

/* NULL, or the promise that "absent" would break. */
static const char *broken_by_absent(const struct sites *sites, const struct sites_op *op,
                                    uint32_t key)
{
    const struct sites_oracle *self = &sites->oracle;
    const struct sites_standing *standing = &op->site->standing;
    uint64_t from_us = op->bound_us != SITES_UNBOUND && op->bound_us < op->begun_us
                           ? op->begun_us - op->bound_us
                           : 0;

    if (before(self->acked_us[op->site->number][key], op->begun_us)) {
        return "it was acknowledged here before";
    }
    if (before(self->each_us[op->site->number][key], op->begun_us)) {
        return "each site had acknowledged it before";
    }
    if (was_acked(sites, key, from_us)) {
        return "another site had acknowledged it, within the bound of the check";
    }
    if (was_acked(sites, key, standing->counted_us)) {
        return "another site had acknowledged it before this one counted";
    }
    return NULL;
}

void sites_oracle_burnt(struct sites *sites, const struct site *site)
{
    struct sites_oracle *self = &sites->oracle;

    for (uint32_t key = 0; key < SITES_KEYS; key++) {
        bool only = self->acked_us[site->number][key] != 0;

        self->acked_us[site->number][key] = 0;
        for (uint32_t i = 0; i < sites->count && self->several_us[key] == 0; i++) {
            self->each_us[i][key] = 0; /* Of those that counted it may have been the only one. */
        }
        self->let_off += only && !sites_oracle_promised(sites, key);
    }
}

static void keep_until(uint64_t *at_us, uint64_t copied_us)
{
    *at_us = *at_us <= copied_us ? *at_us : 0;
}

void sites_oracle_put_back(struct sites *sites, struct site *site, uint64_t copied_us)
{
    struct sites_oracle *self = &sites->oracle;
    struct sim_binding *binding = sim_oracle_newest(site->sim, 0);
    struct sim_keyset *keyset = binding != NULL ? sim_keysets_serving(binding->keysets) : NULL;

    site->put_back_us = sites->now_us;
    if (copied_us == 0) {
        site->standing = (struct sites_standing){0};
    }
    for (uint32_t key = 0; key < SITES_KEYS; key++) {
        bool was = sites_oracle_promised(sites, key);

        keep_until(&self->acked_us[site->number][key], copied_us);
        keep_until(&self->each_us[site->number][key], copied_us);
        if (keyset != NULL && key < SIM_MAX_KEYS) {
            keep_until(&keyset->acked_us[key], copied_us);
        }
        self->let_off += was && !sites_oracle_promised(sites, key);
    }
}

/* What it was asked then may have been answered by what it has no more. */
static bool is_of_before(const struct sites_op *op, const struct site *site)
{
    return op->begun_us <= site->put_back_us;
}

/* ---- answers ---- */

static const char *word_of(const struct sites_op *op)
{
    return op->operation == OPERATION_ADD ? "add" : "check";
}

static void judge_absent(struct sites *sites, const struct sites_op *op, uint32_t key)
{
    const char *broken = broken_by_absent(sites, op, key);
    const struct sites_standing *standing = &op->site->standing;

    if (broken != NULL) {
        sites_fail(sites,
                   "lost key: check %" PRIu64 " at %s, begun at %" PRIu64
                   " us, says key %u is absent; %s",
                   op->serial, op->site->name, op->begun_us, key, broken);
    } else if (!is_of_before(op, op->site) &&
               ((standing->absent_us == 0 && before(standing->barred_us, op->begun_us)) ||
                before(standing->gone_us, op->begun_us))) {
        sites_fail(sites,
                   "lost key: check %" PRIu64 " at %s says key %u is absent, which this site may "
                   "not say %s",
                   op->serial, op->site->name, key, standing->absent_us == 0 ? "yet" : "any more");
    }
    sites->coverage->absents++;
    sites->coverage->bounded_absents += op->bound_us != SITES_UNBOUND && op->bound_us > 0;
    sites->coverage->fresh_absents += op->bound_us == 0;
}

static void judge_present(struct sites *sites, const struct sites_op *op, uint32_t key)
{
    if (sites->oracle.tried[key] < (op->operation == OPERATION_ADD ? 2U : 1U)) {
        sites_fail(sites,
                   "wrong present: %s %" PRIu64 " at %s finds key %u, which nobody %shas added",
                   word_of(op), op->serial, op->site->name, key,
                   op->operation == OPERATION_ADD ? "else " : "");
    }
}

/* ---- acknowledgements ---- */

/* In the record of the cluster that has it: which then looks for W replicas that hold it. */
static void record(struct site *site, const struct sites_op *op, uint32_t key)
{
    const struct filter_document *document = site_document(site);
    struct sim_binding *binding = sim_oracle_newest(site->sim, 0);
    struct sim_keyset *keyset = binding != NULL && key < SIM_MAX_KEYS
                                    ? sim_keysets_serving(binding->keysets)
                                    : NULL;

    if (keyset == NULL || document == NULL || document->id != site->standing.filter_id) {
        return;
    }
    if (keyset->acked_us[key] == 0) {
        keyset->acked_us[key] = op->site->all->now_us;
        keyset->sent_us[key] = op->begun_us;
    }
    sim_invariant_check(site->sim, 0, &key, 1);
}

/* Who says "absent" counts: no router goes by an epoch without it any more. */
static bool counts(const struct sites_op *op, const struct site *other)
{
    const struct site_entry *here = site_entry_of(op->site, other);
    const struct site_entry *own = site_set_own(site_sites(other));

    return other != op->site && !other->off && here != NULL && here->state == SITE_COUNTED &&
           own != NULL && own->state == SITE_COUNTED && !is_of_before(op, other) &&
           before(other->standing.absent_us, op->begun_us);
}

static void note_several(struct sites *sites, uint32_t key)
{
    uint64_t *several_us = &sites->oracle.several_us[key];

    *several_us = *several_us == 0 ? sites->now_us : *several_us;
}

static void note_each(struct sites *sites, const struct sites_op *op, uint32_t key)
{
    for (uint32_t i = 0; i < sites->count; i++) {
        uint64_t *each_us = &sites->oracle.each_us[i][key];

        if (*each_us == 0 && !is_of_before(op, &sites->items[i])) {
            *each_us = sites->now_us;
        }
        if (counts(op, &sites->items[i])) {
            sites->coverage->each_acks++;
            note_several(sites, key);
            record(&sites->items[i], op, key);
        }
    }
}

static void promise(struct sites *sites, const struct sites_op *op, uint32_t key)
{
    struct sites_oracle *self = &sites->oracle;
    uint64_t *acked_us = &self->acked_us[op->site->number][key];

    if (!is_of_before(op, op->site)) {
        *acked_us = *acked_us == 0 ? sites->now_us : *acked_us;
        record(op->site, op, key);
    }
    if (op->acks == ACKS_EACH) {
        note_each(sites, op, key);
    } else if (op->acks > ACKS_LOCAL) {
        sites->coverage->several_acks++;
        note_several(sites, key);
    }
}

static void judge_add(struct sites *sites, const struct sites_op *op, uint32_t key, bool present,
                      bool absent)
{
    if (absent && !present && before(sites->oracle.acked_us[op->site->number][key], op->begun_us)) {
        sites_fail(sites,
                   "lost key: add %" PRIu64 " at %s says key %u is NEW; it was acknowledged here",
                   op->serial, op->site->name, key);
    }
    if (present && !absent) {
        judge_present(sites, op, key);
    }
    promise(sites, op, key);
}

static void judge_check(struct sites *sites, const struct sites_op *op, uint32_t key, bool present,
                        bool absent)
{
    if (absent && !present) {
        judge_absent(sites, op, key);
    }
    if (present && !absent) {
        judge_present(sites, op, key);
        sites->coverage->foreign_presents += sites->oracle.acked_us[op->site->number][key] == 0;
    }
    if (op->must_succeed && !present && !sites->course.again && sites_oracle_promised(sites, key)) {
        sites_fail(sites,
                   "lost key: nothing is wrong any more, yet check %" PRIu64
                   " at %s does not find key %u",
                   op->serial, op->site->name, key);
    }
}

/* ---- ends ---- */

static bool is_expected(enum status status)
{
    return status == STATUS_OK || status == STATUS_UNAVAILABLE || status == STATUS_DEADLINE ||
           status == STATUS_NOT_READY || status == STATUS_STALE || status == STATUS_OVERLOADED ||
           status == STATUS_NOT_FOUND || status == STATUS_FULL || status == STATUS_BEHIND ||
           status == STATUS_DROPPED;
}

static void judge_end(struct sites *sites, const struct sites_op *op,
                      const struct session_result *result)
{
    if (sites->now_us > op->deadline_us + DEADLINE_SLACK_US) {
        sites_fail(sites, "operation %" PRIu64 " at %s ended %" PRIu64 " us after its deadline",
                   op->serial, op->site->name, sites->now_us - op->deadline_us);
    } else if (!is_expected(result->status)) {
        sites_fail(sites, "operation %" PRIu64 " at %s ended with %s: %s", op->serial,
                   op->site->name, status_code(result->status), result->message);
    } else if (op->must_succeed && result->status != STATUS_OK && sites->course.tries > 0) {
        sites->course.again = true;
    } else if (op->must_succeed && result->status != STATUS_OK) {
        sites_fail(sites, "nothing is wrong any more, yet %s %" PRIu64 " at %s ended with %s: %s",
                   word_of(op), op->serial, op->site->name, status_code(result->status),
                   result->message);
    }
}

void sites_oracle_op_begins(struct sites *sites, const struct sites_op *op)
{
    for (uint32_t i = 0; op->operation == OPERATION_ADD && i < op->count; i++) {
        sites->oracle.tried[op->keys[i]]++;
    }
}

void sites_oracle_op_ends(struct sites *sites, const struct sites_op *op,
                          const struct session_result *result)
{
    sites->oracle.answers++;
    sites->coverage->behind += result->status == STATUS_BEHIND;
    judge_end(sites, op, result);
    for (uint32_t i = 0; i < op->count; i++) {
        bool present = (result->present[i / 64] >> (i % 64) & 1) != 0;
        bool absent = (result->absent[i / 64] >> (i % 64) & 1) != 0;

        if (!present && !absent) {
            if (result->status == STATUS_OK) {
                sites_fail(sites, "operation %" PRIu64 " at %s is OK with undecided keys",
                           op->serial, op->site->name);
            }
        } else if (op->operation == OPERATION_ADD) {
            judge_add(sites, op, op->keys[i], present, absent);
        } else {
            judge_check(sites, op, op->keys[i], present, absent);
        }
    }
}
