/* Notes what each site has acknowledged and when, and judges every answer by that. */
#include "tests/sim_sites/sites_oracle.h"

#include "map/acks.h"
#include "node/private.h"
#include "tests/sim_sites/sites.h"

#include <assert.h>
#include <inttypes.h>

enum { DEADLINE_SLACK_US = 2000 };

/* ---- who has what ---- */

static bool before(uint64_t at_us, uint64_t us)
{
    return at_us != 0 && at_us < us;
}

static struct sites_record *record_of(struct sites *sites, uint32_t filter)
{
    return &sites->oracle.records[filter];
}

/* Whoever has been asked for it then, or been filled, need not know what it has. */
static bool was_out_of_sight(const struct site *site, uint64_t at_us)
{
    return site->outcast_us != 0 && (site->back_us == 0 || at_us < site->back_us);
}

/* ... and it is not with nobody any more, by what was in sight at that time. */
static bool was_acked(const struct sites *sites, uint32_t filter, uint32_t key, uint64_t before_us,
                      uint64_t at_us)
{
    const struct sites_record *self = &sites->oracle.records[filter];
    bool any = false;

    for (uint32_t i = 0; i < sites->count; i++) {
        any = any ||
              (before(self->acked_us[i][key], before_us) &&
               !was_out_of_sight(&sites->items[i], at_us)) ||
              before(self->held_us[i][key], before_us) ||
              before(self->either_us[i][key], before_us);
    }
    return any;
}

static bool is_promised(const struct sites *sites, uint32_t filter, uint32_t key)
{
    const struct sites_record *self = &sites->oracle.records[filter];
    bool any = false;

    for (uint32_t i = 0; i < sites->count; i++) {
        any = any || self->acked_us[i][key] != 0 || self->held_us[i][key] != 0 ||
              self->either_us[i][key] != 0;
    }
    return any;
}

bool sites_oracle_promised(const struct sites *sites, uint32_t key)
{
    return is_promised(sites, sites->oracle.newest, key);
}

bool sites_oracle_forgotten(const struct sites *sites, uint32_t key)
{
    const struct sites_oracle *self = &sites->oracle;

    return self->newest > 0 && self->records[self->newest - 1].tried[key] > 0 &&
           self->records[self->newest].tried[key] == 0;
}

static void note(uint64_t *at_us, const struct sites *sites)
{
    *at_us = *at_us == 0 ? sites->now_us : *at_us;
}

static void note_held(struct sites *sites, const struct site *site, uint32_t key)
{
    struct sites_record *self = record_of(sites, site->filter);

    note(&self->held_us[site->number][key], sites);
    self->has[key] |= (uint8_t)(1U << site->number);
}

/* It has all that was acknowledged before it counted: whatever becomes of the others. */
static void note_filled(struct sites *sites, const struct site *site)
{
    for (uint32_t key = 0; key < SITES_KEYS; key++) {
        uint64_t counted_us = site->standing.counted_us;

        if (was_acked(sites, site->filter, key, counted_us, counted_us)) {
            note_held(sites, site, key);
        }
    }
}

/* ---- the documents ---- */

static bool is_active(const struct filter_document *document)
{
    return document != NULL && document->content.state == FILTER_ACTIVE;
}

static uint32_t number_of(struct sites_oracle *self, const struct filter_uid *uid)
{
    static const struct filter_uid none;
    uint32_t number = 0;

    while (!filter_uid_equal(&self->records[number].uid, uid) &&
           !filter_uid_equal(&self->records[number].uid, &none)) {
        number++;
        assert(number < SITES_FILTERS);
    }
    self->records[number].uid = *uid;
    self->newest = number > self->newest ? number : self->newest;
    return number;
}

/* What is under way may enter either. */
static void note_adds(struct sites *sites, const struct site *site)
{
    for (uint32_t i = 0; i < SITES_MAX_OPS; i++) {
        const struct sites_op *op = &sites->load.ops[i];
        bool adds = op->used && op->site == site && op->operation == OPERATION_ADD;

        for (uint32_t k = 0; adds && k < op->count; k++) {
            record_of(sites, site->filter)->tried[op->keys[k]]++;
        }
    }
}

/* The cluster's own record of what it must hold begins with the filter. */
static void note_filter(struct site *site, const struct filter_document *document)
{
    struct sim *sim = site->sim;
    const struct sim_binding *newest = sim_oracle_newest(sim, 0);
    uint32_t number = number_of(&site->all->oracle, &document->content.uid);
    uint64_t filter_id = document->id;

    if (newest == NULL || newest->filter_id != 0) { /* It was not created here. */
        sim_oracle_create_begins(sim, 0);
    }
    sim_oracle_newest(sim, 0)->filter_id = filter_id;
    if (number > site->filter) {
        site->former_id = site->standing.filter_id;
        site->filter = number;
        note_adds(site->all, site);
    }
    site->standing = (struct sites_standing){.filter_id = filter_id, .barred_us = 1};
}

/* ... by the set of another one, in the return in which it is by its own. */
static bool is_gone_by(const struct site *site, const struct site *other)
{
    const struct site_entry *own = site_set_own(site_sites(site));

    return own != NULL && other->filter == site->filter && is_active(site_document(other)) &&
           site_set_state_of(site_sites(other), own) == SITE_GONE;
}

static bool is_gone(const struct sites *sites, const struct site *site)
{
    bool gone = false;

    for (uint32_t i = 0; i < sites->count; i++) {
        gone = gone || (!sites->items[i].off && is_gone_by(site, &sites->items[i]));
    }
    return gone;
}

/* Who has left in order has said so itself before. Who was removed answers until it hears that. */
static void note_gone(struct sites *sites, struct site *site)
{
    if (site->standing.gone_us != 0 || !is_gone(sites, site)) {
        return;
    }
    if (site->number != sites->settings.outcast) {
        site->standing.gone_us = sites->now_us;
    } else if (site->outcast_us == 0) {
        site->outcast_us = sites->now_us;
    }
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
        site->back_us = site->outcast_us != 0 ? sites->now_us : 0;
    }
}

/* ... the filter that it has, or had. */
static bool nobody_drops(const struct sites *sites, const struct site *site)
{
    return site->filter > 0 || (sites->settings.orphan && site->standing.filter_id != 0 &&
                                site->number != sites->settings.outcast);
}

static void look(struct sites *sites, struct site *site)
{
    const struct filter_document *document = site_document(site);
    const struct site_set *set = site_sites(site);
    const struct site_entry *own = site_set_own(set);
    struct sites_standing *standing = &site->standing;

    if (!is_active(document)) {
        if (nobody_drops(sites, site)) {
            sites_fail(sites, "lost keys: the filter is dropped at %s, and nobody asked for that",
                       site->name);
        }
        return;
    }
    if (standing->filter_id != document->id) {
        note_filter(site, document);
    }
    if (own != NULL) {
        note_life(sites, site, own);
    }
    if (standing->counted_us == 0 && (own == NULL || own->state == SITE_COUNTED)) {
        standing->counted_us = sites->now_us;
    }
    if (standing->absent_us == 0 && (own == NULL || set->says_absent)) {
        standing->absent_us = sites->now_us;
        note_filled(sites, site);
    }
    note_gone(sites, site);
}

void sites_oracle_look(struct sites *sites)
{
    for (uint32_t i = 0; i < sites->count; i++) {
        look(sites, &sites->items[i]);
    }
}

/* ---- what is promised ---- */

/* NULL, or the promise that "absent" would break. */
static const char *broken_by_absent(const struct sites *sites, const struct sites_op *op,
                                    uint32_t key)
{
    const struct sites_record *self = &sites->oracle.records[op->filter];
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
    if (before(self->held_us[op->site->number][key], op->begun_us)) {
        return "it is here, as several sites had acknowledged it, or since this one was filled";
    }
    if (was_acked(sites, op->filter, key, from_us, op->begun_us)) {
        return "another site had acknowledged it, within the bound of the check";
    }
    if (was_acked(sites, op->filter, key, standing->counted_us, standing->counted_us)) {
        return "another site had acknowledged it before this one counted";
    }
    return NULL;
}

/* What is of that time or later is gone there. */
static void cut_at(uint64_t *at_us, uint64_t from_us)
{
    *at_us = *at_us < from_us ? *at_us : 0;
}

/* `each` was for all that counted: those that did not have been filled since, as long as anybody is
 * left who has it. */
static void lose(const struct sites *sites, struct sites_record *self, uint32_t site, uint32_t key,
                 uint64_t from_us)
{
    cut_at(&self->acked_us[site][key], from_us);
    cut_at(&self->each_us[site][key], from_us);
    cut_at(&self->held_us[site][key], from_us);
    if (self->acked_us[site][key] == 0 && self->each_us[site][key] == 0 &&
        self->held_us[site][key] == 0) {
        self->has[key] &= (uint8_t) ~(1U << site);
    }
    for (uint32_t i = 0; i < sites->count; i++) {
        if (i != site) { /* It may have been the one that has it. */
            cut_at(&self->either_us[i][key], from_us);
        }
        if (self->has[key] == 0) {
            self->each_us[i][key] = 0;
        }
    }
}

static void lose_all(struct sites *sites, const struct site *site, uint64_t from_us)
{
    for (uint32_t key = 0; key < SITES_KEYS; key++) {
        bool was = is_promised(sites, site->filter, key);

        lose(sites, record_of(sites, site->filter), site->number, key, from_us);
        sites->oracle.let_off += was && !is_promised(sites, site->filter, key);
    }
}

void sites_oracle_burnt(struct sites *sites, const struct site *site)
{
    lose_all(sites, site, 0);
}

/* The cluster's own record, too. */
void sites_oracle_put_back(struct sites *sites, struct site *site, uint64_t copied_us)
{
    struct sim_binding *binding = sim_oracle_newest(site->sim, 0);
    struct sim_keyset *keyset = binding != NULL ? sim_keysets_serving(binding->keysets) : NULL;
    uint64_t from_us = copied_us == 0 ? 0 : copied_us + 1;

    site->put_back_us = sites->now_us;
    if (copied_us == 0) {
        site->standing = (struct sites_standing){0};
    }
    lose_all(sites, site, from_us);
    for (uint32_t key = 0; keyset != NULL && key < SIM_MAX_KEYS; key++) {
        cut_at(&keyset->acked_us[key], from_us);
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

/* Of its nodes one may have the former filter under the name, whose keys it finds. */
static bool lags_behind(const struct site *site)
{
    bool lags = false;

    for (uint32_t i = 0; site->former_id != 0 && i < site->sim->nprocesses; i++) {
        const struct sim_process *process = site->sim->processes[i];
        const struct document_entry *entry = process->kind == SIM_NODE && process->alive
                                                 ? document_cache_find_name(
                                                       &process->node->documents, sim_name(0))
                                                 : NULL;

        lags = lags || (process->kind == SIM_NODE &&
                        (entry == NULL || entry->document.id == site->former_id));
    }
    return lags;
}

static void judge_present(struct sites *sites, const struct sites_op *op, uint32_t key)
{
    const struct sites_record *self = record_of(sites, op->filter);
    bool lags = op->filter > 0 && (op->lags || lags_behind(op->site)) &&
                record_of(sites, op->filter - 1)->tried[key] > 0;

    if (!lags && self->tried[key] < (op->operation == OPERATION_ADD ? 2U : 1U)) {
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

    return other != op->site && other->filter == op->filter && !other->off && here != NULL &&
           here->state == SITE_COUNTED && own != NULL && own->state == SITE_COUNTED &&
           !is_of_before(op, other) && before(other->standing.absent_us, op->begun_us);
}

/* May it have confirmed the add, as one of several? */
static bool may_have_confirmed(const struct sites_op *op, const struct site *other)
{
    const struct site_entry *entry = site_entry_of(op->site, other);

    return other != op->site && (is_of_before(op, other) || site_document(op->site) == NULL ||
                                 (entry != NULL && (entry->state >= SITE_COUNTED ||
                                                    site_life_return(entry->life.number) > 0)));
}

/* Two sites have it: this one and one of those that may have confirmed it. */
static void note_several(struct sites *sites, const struct sites_op *op, uint32_t key)
{
    const struct site *only = NULL;
    uint32_t count = 0;
    bool sure = true;

    for (uint32_t i = 0; i < sites->count; i++) {
        const struct site *other = &sites->items[i];

        if (may_have_confirmed(op, other)) {
            count++;
            only = other;
            sure = sure && !is_of_before(op, other) && other->filter == op->filter;
        }
    }
    if (sure && count == 1) {
        note_held(sites, only, key);
    } else if (sure && count > 1) {
        note(&record_of(sites, op->filter)->either_us[op->site->number][key], sites);
    }
}

/* Is it the other one's, too? Who is removed while only it counted may take that along. */
static bool is_of_each(const struct sites *sites, const struct sites_op *op,
                       const struct site *other)
{
    return !is_of_before(op, other) && !is_gone_by(other, op->site) &&
           !is_gone_by(op->site, other) && /* which it may not have heard */
           (op->site->number != sites->settings.outcast || counts(op, other));
}

static void note_each(struct sites *sites, const struct sites_op *op, uint32_t key)
{
    struct sites_record *self = record_of(sites, op->filter);

    for (uint32_t i = 0; i < sites->count; i++) {
        if (counts(op, &sites->items[i])) {
            sites->coverage->each_acks++;
            note_held(sites, &sites->items[i], key);
            record(&sites->items[i], op, key);
        }
    }
    for (uint32_t i = 0; i < sites->count && self->has[key] != 0; i++) {
        if (is_of_each(sites, op, &sites->items[i])) {
            note(&self->each_us[i][key], sites);
        }
    }
}

static void promise(struct sites *sites, const struct sites_op *op, uint32_t key)
{
    struct sites_record *self = record_of(sites, op->filter);

    if (!is_of_before(op, op->site)) {
        if (op->site->outcast_us != 0 && op->site->back_us == 0 &&
            !sites_oracle_promised(sites, key)) {
            sites_coverage_fault(sites, SITES_FAULT_UNHEARD);
        }
        note(&self->acked_us[op->site->number][key], sites);
        self->has[key] |= (uint8_t)(1U << op->site->number);
        record(op->site, op, key);
    }
    if (op->acks == ACKS_EACH) {
        note_each(sites, op, key);
    } else if (op->acks > ACKS_LOCAL) {
        sites->coverage->several_acks++;
        note_several(sites, op, key);
    }
}

static void judge_add(struct sites *sites, const struct sites_op *op, uint32_t key, bool present,
                      bool absent)
{
    uint64_t acked_us = record_of(sites, op->filter)->acked_us[op->site->number][key];

    if (absent && !present && before(acked_us, op->begun_us)) {
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
        sites->coverage->foreign_presents +=
            record_of(sites, op->filter)->acked_us[op->site->number][key] == 0;
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

void sites_oracle_op_begins(struct sites *sites, struct sites_op *op)
{
    op->filter = op->site->filter;
    op->lags = lags_behind(op->site);
    for (uint32_t i = 0; op->operation == OPERATION_ADD && i < op->count; i++) {
        record_of(sites, op->filter)->tried[op->keys[i]]++;
    }
}

void sites_oracle_op_ends(struct sites *sites, const struct sites_op *op,
                          const struct session_result *result)
{
    sites->oracle.answers++;
    sites->coverage->behind += result->status == STATUS_BEHIND;
    judge_end(sites, op, result);
    for (uint32_t i = 0; op->filter == op->site->filter && i < op->count; i++) {
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
