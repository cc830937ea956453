/* Counts replicas that hold each acknowledged key, in arrays, on disks and among what is lost. */
#include "tests/sim/sim_invariant.h"

#include "coordinator/plan/expansion.h"
#include "coordinator/plan/rebuild.h"
#include "node/private.h"
#include "node/pull/live_sets.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_forgotten.h"
#include "tests/sim/sim_remade.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHOW_BYTES = 256 };

/* ---- fingerprints ---- */

static bool read_secret(const struct sim *sim, uint64_t filter_id, struct hash_secret *secret)
{
    char key[STORE_KEY_BYTES];
    const struct memory_store_record *record;

    (void)snprintf(key, sizeof key, "secret/%" PRIu64, filter_id);
    record = memory_store_find(&sim->store, key);
    return record != NULL &&
           seal_secret_open(&sim->key, filter_id, span_of(record->value, record->size), secret) ==
               STATUS_OK;
}

const uint64_t *sim_invariant_fingerprints(struct sim *sim, uint32_t name,
                                           const struct filter_document *document)
{
    struct sim_invariant *self = &sim->invariant;
    struct hash_secret secret;

    if (self->names[name].filter_id == document->id) {
        return self->names[name].fingerprints;
    }
    if (!read_secret(sim, document->id, &secret)) {
        return NULL;
    }
    self->names[name].filter_id = document->id;
    for (uint32_t key = 0; key < sim->load.nkeys; key++) {
        char text[SIM_KEY_BYTES];
        uint32_t length = sim_load_key(key, text);

        fingerprint_batch(document->hash, &secret, (const uint8_t *)text, &length, 1,
                          &self->names[name].fingerprints[key]);
    }
    return self->names[name].fingerprints;
}

/* ---- one replica ---- */

static const struct hosted_filter *hosted_of(const struct node *node, uint64_t filter_id)
{
    const struct document_entry *entry = document_cache_find(&node->documents, filter_id);

    return entry != NULL ? entry->attachment : NULL;
}

/* NULL unless the process serves as that member. */
static const struct hosted_filter *serving(const struct sim_process *process,
                                           const struct member *member, uint64_t filter_id,
                                           uint32_t group)
{
    const struct hosted_filter *hosted;

    if (!sim_view_answers(process) || process->node->life.incarnation != member->incarnation) {
        return NULL;
    }
    hosted = hosted_of(process->node, filter_id);
    return hosted != NULL && hosted_state(hosted, group) == REPLICA_FULL ? hosted : NULL;
}

/* Where checks look once they read that keyset. */
static bool has(const struct hosted_filter *hosted, uint32_t keyset, uint64_t fingerprint)
{
    bool any = false;

    for (const struct arrays *set = hosted->set; set != NULL && !any; set = set->next) {
        any = hosted_is_live(set) && set->keyset == keyset && arrays_has(set, fingerprint);
    }
    return any;
}

enum holding { LACKS, UNLOGGED, HOLDS, LOST };

static enum holding look(const struct sim *sim, const struct member *member,
                         const struct filter_document *document, uint32_t group, uint32_t keyset,
                         uint64_t fingerprint)
{
    struct sim_process *process = sim_view_member(sim, member);
    const struct hosted_filter *hosted;

    if (process == NULL) {
        return LACKS;
    }
    hosted = serving(process, member, document->id, group);
    if (hosted == NULL && sim_losses_has(sim, member)) {
        return LOST; /* Whether it held the key can't be told any more. */
    }
    if (hosted != NULL && !has(hosted, keyset, fingerprint)) {
        return LACKS;
    }
    if (process->disk == NULL) {
        return hosted != NULL ? HOLDS : LACKS;
    }
    return sim_view_log_has(process, document, keyset, fingerprint) ? HOLDS
           : hosted != NULL                                         ? UNLOGGED
                                                                    : LACKS;
}

/* ---- all of them ---- */

static void show(const struct sim *sim, const struct slot_group *group, const enum holding *held,
                 uint32_t count, char *text, size_t size)
{
    static const char *const words[] = {
        [LACKS] = "lacks", [UNLOGGED] = "has not logged", [HOLDS] = "holds", [LOST] = "lost"};
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < count && used < size; i++) {
        const struct sim_process *process = sim_view_member(sim, slot_reader(&group->slots[i]));

        used += (size_t)snprintf(text + used, size - used, "%s%s %s%s", i > 0 ? ", " : "",
                                 process != NULL ? process->name : "nobody", words[held[i]],
                                 process == NULL || !process->alive ? " (dead)" : "");
    }
}

static void check_key(struct sim *sim, uint32_t name, const struct filter_document *document,
                      uint32_t keyset, uint32_t key, uint64_t fingerprint)
{
    const struct quorum_rule *rule = &document->content.rule;
    uint64_t shard = lines_shard_index(document->content.shard_bits, fingerprint);
    uint32_t number = document->content.group_of_shard[shard];
    const struct slot_group *group = &document->content.groups[number];
    enum holding held[QUORUM_MAX_REPLICAS];
    uint32_t have = 0;

    sim->invariant.checks++;
    for (uint32_t i = 0; i < rule->replicas; i++) {
        held[i] = look(sim, slot_reader(&group->slots[i]), document, number, keyset, fingerprint);
        have += held[i] == HOLDS || held[i] == LOST;
    }
    if (have < rule->write) {
        char text[SHOW_BYTES];

        show(sim, group, held, rule->replicas, text, sizeof text);
        sim_fail(sim,
                 "lost key: key %u of %s, keyset %u, group %u in epoch %" PRIu64
                 ", acknowledged, which takes %u replicas: %s",
                 key, sim_name(name), keyset, number, document->epoch, rule->write, text);
    }
}

bool sim_invariant_is_left(struct sim *sim, uint32_t name, uint32_t keyset, uint32_t key,
                           uint32_t count)
{
    const struct filter_document *document = sim_view_document(sim, name);
    const uint64_t *fingerprints = sim_invariant_fingerprints(sim, name, document);
    const struct slot_group *group;
    uint32_t number;
    uint32_t have = 0;

    if (fingerprints == NULL) {
        return false;
    }
    keyset = keyset == 0 ? rebuild_serving(document) : keyset;
    number = document->content.group_of_shard[lines_shard_index(document->content.shard_bits,
                                                                fingerprints[key])];
    group = &document->content.groups[number];
    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct member *reader = slot_reader(&group->slots[i]);

        have += !slot_group_gave_up(group, reader) &&
                look(sim, reader, document, number, keyset, fingerprints[key]) == HOLDS;
    }
    return have >= count;
}

/* NULL when nothing is promised of the name now. */
static const struct filter_document *promised(struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);
    const struct sim_binding *binding = sim_oracle_newest(sim, name);
    bool live = document != NULL && binding != NULL && binding->filter_id == document->id &&
                binding->drop_us == SIM_OPEN && document->content.state == FILTER_ACTIVE;

    return live ? document : NULL;
}

void sim_invariant_check(struct sim *sim, uint32_t name, const uint32_t *keys, uint32_t count)
{
    const struct filter_document *document = promised(sim, name);
    const uint64_t *fingerprints = document != NULL
                                       ? sim_invariant_fingerprints(sim, name, document)
                                       : NULL;

    for (uint32_t i = 0; fingerprints != NULL && i < count; i++) {
        for (uint32_t k = 0; k < document->content.nkeysets; k++) {
            uint32_t keyset = document->content.keysets[k].id;

            if (sim_oracle_acked(sim, name, keyset, keys[i])) {
                check_key(sim, name, document, keyset, keys[i], fingerprints[keys[i]]);
            }
        }
    }
}

void sim_invariant_check_all(struct sim *sim)
{
    if (!sim->invariant.due) {
        return;
    }
    sim->invariant.due = false;
    sim_view_follow(sim);
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        for (uint32_t key = 0; key < SIM_MAX_KEYS; key++) {
            sim_invariant_check(sim, name, &key, 1);
        }
        sim_forgotten_check(sim, name);
    }
    sim_remade_check_all(sim);
}

/* ---- in the end ---- */

static uint64_t digest_set(const struct arrays *set, const struct filter_document *document,
                           uint32_t group, uint64_t sum)
{
    const struct layer *layer = arrays_base(set);

    for (uint32_t shard = 0; shard < set->nshards; shard++) {
        if (document->content.group_of_shard[shard] == group) {
            sum = sum * UINT64_C(0x9e3779b97f4a7c15) ^
                  document_epoch_hash(span_of(layer->shards[shard], layer->shard_bytes));
        }
    }
    return sum;
}

static uint64_t digest(const struct hosted_filter *hosted, const struct filter_document *document,
                       uint32_t group)
{
    uint64_t sum = 0;

    for (const struct arrays *set = hosted->set; set != NULL; set = set->next) {
        sum = hosted_is_live(set) ? digest_set(set, document, group, sum) : sum;
    }
    return sum;
}

/* Which key of the load makes two arrays differ? An acknowledged one is said rather than another.
 */
static void compare(struct sim *sim, uint32_t name, const struct filter_document *document,
                    const struct sim_process *a, const struct sim_process *b,
                    char text[SIM_UNREST_BYTES])
{
    const uint64_t *fingerprints = sim_invariant_fingerprints(sim, name, document);
    uint32_t serving = rebuild_serving(document);
    const struct hosted_filter *both[] = {hosted_of(a->node, document->id),
                                          hosted_of(b->node, document->id)};

    (void)snprintf(text, SIM_UNREST_BYTES, "%s and %s differ in %s", a->name, b->name,
                   sim_name(name));
    for (uint32_t key = 0; fingerprints != NULL && key < SIM_MAX_KEYS; key++) {
        uint32_t shard = (uint32_t)lines_shard_index(document->content.shard_bits,
                                                     fingerprints[key]);
        bool hosted = arrays_base(both[0]->set)->shards[shard] != NULL &&
                      arrays_base(both[1]->set)->shards[shard] != NULL;

        if (hosted &&
            has(both[0], serving, fingerprints[key]) != has(both[1], serving, fingerprints[key])) {
            (void)snprintf(text, SIM_UNREST_BYTES, "%s and %s differ in key %u of %s", a->name,
                           b->name, key, sim_name(name));
            if (sim_oracle_acked(sim, name, 0, key)) {
                return;
            }
        }
    }
}

/* Of a chain each generation takes over what it has room for, by pages: estimates of keys. */
static bool some_is_full(struct sim *sim, const struct filter_document *document, uint32_t group)
{
    bool full = false;

    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct member *member = slot_reader(&document->content.groups[group].slots[i]);
        const struct sim_process *process = sim_view_member(sim, member);
        const struct hosted_filter *hosted = process != NULL
                                                 ? serving(process, member, document->id, group)
                                                 : NULL;

        for (const struct arrays *set = hosted != NULL ? hosted->set : NULL; set != NULL;
             set = set->next) {
            full = full || set->groups[group].keys >= set->groups[group].keys_capacity;
        }
    }
    return full;
}

/* A FULL replica without room takes nothing over from others: so what its group has in all must be
 * more than what it may hold. */
static bool is_beyond(struct sim *sim, uint32_t name, const struct filter_document *document,
                      uint32_t group)
{
    const uint64_t *fingerprints = sim_invariant_fingerprints(sim, name, document);
    uint64_t room = UINT64_MAX;
    uint64_t held = 0;

    if (document_is_chain(document)) {
        return some_is_full(sim, document, group);
    }

    for (uint32_t key = 0; fingerprints != NULL && key < sim->load.nkeys; key++) {
        uint32_t shard = (uint32_t)lines_shard_index(document->content.shard_bits,
                                                     fingerprints[key]);
        bool has = false;

        for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
            const struct member *member = slot_reader(&document->content.groups[group].slots[i]);
            const struct sim_process *process = sim_view_member(sim, member);
            const struct hosted_filter *hosted = process != NULL
                                                     ? serving(process, member, document->id, group)
                                                     : NULL;
            const struct arrays *set = hosted != NULL ? hosted->set : NULL;

            has = has || (set != NULL && document->content.group_of_shard[shard] == group &&
                          arrays_has(set, fingerprints[key]));
            if (set != NULL && set->groups[group].keys_capacity < room) {
                room = set->groups[group].keys_capacity;
            }
        }
        held += has;
    }
    return held > room;
}

/* All of it from the only generation? While there are several, see sim_grown_unrest(). */
static bool is_grown(const struct hosted_filter *hosted, const struct filter_document *document)
{
    bool all = true;

    for (const struct arrays *set = hosted->set; set != NULL; set = set->next) {
        const struct generation *wanted = live_sets_generation(document, set->slice);

        all = all && set->expansion == NULL && wanted != NULL &&
              arrays_base(set)->generation.id == wanted->id;
    }
    return all;
}

static enum sim_agreement agree(struct sim *sim, uint32_t name,
                                const struct filter_document *document, uint32_t group,
                                char text[SIM_UNREST_BYTES])
{
    const struct sim_process *first = NULL;
    uint64_t expected = 0;

    for (uint32_t i = 0; i < document->content.rule.replicas; i++) {
        const struct member *member = slot_reader(&document->content.groups[group].slots[i]);
        const struct sim_process *process = sim_view_member(sim, member);
        const struct hosted_filter *hosted = process != NULL
                                                 ? serving(process, member, document->id, group)
                                                 : NULL;

        if (hosted != NULL && !is_grown(hosted, document)) {
            (void)snprintf(text, SIM_UNREST_BYTES, "%s serves %s from another generation than %u",
                           process->name, sim_name(name), document_generation(document)->id);
            return SIM_DIFFER;
        }
        if (hosted != NULL && first == NULL) {
            first = process;
            expected = digest(hosted, document, group);
        } else if (hosted != NULL && digest(hosted, document, group) != expected &&
                   !is_beyond(sim, name, document, group)) {
            compare(sim, name, document, first, process, text);
            return SIM_DIFFER;
        }
    }
    return SIM_EQUAL;
}

enum sim_agreement sim_invariant_agreement(struct sim *sim, char text[SIM_UNREST_BYTES])
{
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        const struct filter_document *document = promised(sim, name);

        bool compared = document != NULL && !expansion_running(document);

        for (uint32_t group = 0; compared && group < document->content.ngroups; group++) {
            if (agree(sim, name, document, group, text) == SIM_DIFFER) {
                return SIM_DIFFER;
            }
        }
    }
    return SIM_EQUAL;
}
