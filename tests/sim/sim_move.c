/* Plays an operator who moves a replica by hand: fences, merges, writes the next epoch. */
#include "tests/sim/sim_move.h"

#include "node/private.h"
#include "proto/signed_document.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A move while it is made. */
struct move {
    struct filter_document document; /* of the epoch to come */
    struct buffer bytes;             /* signed */
    struct node *sources[QUORUM_MAX_REPLICAS];
    uint32_t nsources;
    struct node *target;
    uint32_t slot;
};

static struct hosted_filter *hosted_of(const struct node *node, uint64_t filter_id)
{
    const struct document_entry *entry = document_cache_find(&node->documents, filter_id);

    return entry != NULL && !entry->conflict ? entry->attachment : NULL;
}

static bool holds_full(const struct node *node, uint64_t filter_id)
{
    const struct hosted_filter *hosted = hosted_of(node, filter_id);

    return hosted != NULL && hosted_state(hosted, 0) == REPLICA_FULL;
}

/* Holds nothing of the filter, or what it held as a FULL member before it left. */
static bool can_join(const struct node *node, uint64_t filter_id)
{
    const struct hosted_filter *hosted = hosted_of(node, filter_id);

    return node->life.id != 0 &&
           (hosted == NULL || hosted->set == NULL || holds_full(node, filter_id));
}

/* The FULL replicas that run. */
static void find_sources(const struct sim *sim, struct move *move)
{
    for (uint32_t i = 0; i < move->document.content.rule.replicas; i++) {
        const struct member *member = &move->document.content.groups[0].slots[i].current;
        struct sim_process *process = sim_view_node(sim, member->node);

        if (sim_view_is_full(sim, member) && sim_process_runs(process) &&
            holds_full(process->node, move->document.id)) {
            move->sources[move->nsources++] = process->node;
        }
    }
}

static void find_target(const struct sim *sim, struct move *move)
{
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        struct sim_process *process = sim->processes[i];

        if (process->kind == SIM_NODE && sim_process_runs(process) &&
            can_join(process->node, move->document.id) &&
            document_slot_of(&move->document, 0, process->node->life.id, 0) < 0) {
            move->target = process->node;
        }
    }
}

static void give(struct sim *sim, struct node *node, const struct move *move)
{
    node_take_document(node, sim->now_us, buffer_span(&move->bytes));
    while (node_build(node, UINT64_MAX)) {
    }
}

/* What the sources hold now is all that was ever acknowledged under the former epoch. */
static void merge(const struct move *move)
{
    const struct arrays *target = hosted_of(move->target, move->document.id)->set;

    for (uint32_t i = 0; i < move->nsources; i++) {
        const struct arrays *source = hosted_of(move->sources[i], move->document.id)->set;
        const struct layer *from = arrays_base(source);
        const struct layer *to = arrays_base(target);

        for (uint32_t shard = 0; shard < target->nshards; shard++) {
            lines_merge(to->shards[shard], from->shards[shard], to->shard_bytes);
        }
    }
}

static bool write_store(struct sim *sim, const struct move *move)
{
    char key[STORE_KEY_BYTES];
    const struct memory_store_record *record;
    struct store_swap swap = {.key = key, .value = buffer_span(&move->bytes)};
    uint64_t change;

    (void)snprintf(key, sizeof key, "filter/%" PRIu64, move->document.id);
    record = memory_store_find(&sim->store, key);
    swap.expected = record->version;
    return sim->store.store.swap(&sim->store, &swap, 1, &change) == STATUS_OK;
}

static void apply(struct sim *sim, struct move *move)
{
    if (!write_store(sim, move)) {
        return;
    }
    give(sim, move->target, move);
    if (!holds_full(move->target, move->document.id)) {
        sim_fail(sim, "a moved replica is not FULL");
        return;
    }
    /* All at one instant, so the order does not matter; who leaves frees its arrays. */
    merge(move);
    for (uint32_t i = 0; i < move->nsources; i++) {
        give(sim, move->sources[i], move); /* From here on it fences the former epoch. */
    }
    sim->scenario.moves++;
    sim_trace_line(&sim->trace, sim->now_us,
                   "slot %u of filter %" PRIu64 " moves to node %u, epoch %" PRIu64, move->slot,
                   move->document.id, move->target->life.id, move->document.epoch);
    sim_view_follow(sim);
}

/* Most often the replica that leaves goes on under the former epoch until it hears of the new. */
static void leave_out(struct sim *sim, struct move *move, uint32_t node)
{
    if (move->nsources <= quorum_fences(&move->document.content.rule) ||
        sim_random_chance(&sim->random, 200)) {
        return;
    }
    for (uint32_t i = 0; i < move->nsources; i++) {
        if (move->sources[i]->life.id == node) {
            move->sources[i] = move->sources[--move->nsources];
        }
    }
}

static bool prepare(struct sim *sim, struct move *move)
{
    const struct quorum_rule *rule = &move->document.content.rule;
    struct slot *slot;

    find_sources(sim, move);
    find_target(sim, move);
    if (move->document.content.state != FILTER_ACTIVE || move->document.content.ngroups != 1 ||
        move->nsources < quorum_fences(rule) || move->target == NULL) {
        return false;
    }
    move->slot = (uint32_t)sim_random_below(&sim->random, rule->replicas);
    slot = &move->document.content.groups[0].slots[move->slot];
    leave_out(sim, move, slot->current.node);
    slot->current = (struct member){.node = move->target->life.id,
                                    .incarnation = move->target->life.incarnation};
    slot->read_since = move->document.epoch + 1;
    document_epoch_advance(&move->document);
    return codec_filter_document_sign(&move->document, &sim->key, &move->bytes) == STATUS_OK;
}

bool sim_move(struct sim *sim, uint32_t name)
{
    const struct filter_document *held = sim_view_document(sim, name);
    struct move move = {0};
    char key[STORE_KEY_BYTES];
    const struct memory_store_record *record;
    bool moved = false;

    if (held == NULL || sim->store.broken || sim->settings.disks) {
        return false;
    }
    (void)snprintf(key, sizeof key, "filter/%" PRIu64, held->id);
    record = memory_store_find(&sim->store, key);
    buffer_init(&move.bytes, STORE_MAX_VALUE_BYTES);
    if (codec_filter_document_open(span_of(record->value, record->size), &sim->key,
                                   &move.document) == STATUS_OK &&
        prepare(sim, &move)) {
        apply(sim, &move);
        moved = true;
    }
    buffer_fini(&move.bytes);
    document_fini(&move.document);
    return moved;
}
