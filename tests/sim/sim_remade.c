/* Compares the arrays of FULL replicas, bit for bit, with what is on the node's disk. */
#include "tests/sim/sim_remade.h"

#include "node/private.h"
#include "node/store/private.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_log.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

enum { MOST_SHARD_BYTES = 1 << 20 };

/* One array of a shard that counts. */
struct look {
    struct sim *sim;
    const struct sim_process *process;
    const uint64_t *fingerprints; /* of all keys of the load */
    struct sim_log_set set;
    const struct layer *layer;
    uint32_t shard;
    bool durable;
    struct sim_reading *tail; /* records that were appended, and are not on the disk yet */
};

static bool has_key(const struct look *self, uint64_t fingerprint)
{
    return sim_log_has_key(self->process->disk, self->durable, &self->set, fingerprint) ||
           sim_reading_has_key(self->tail, &self->set, fingerprint);
}

static bool has_bit(const struct look *self, uint64_t bit)
{
    return sim_log_has_bit(self->process->disk, self->durable, &self->set, self->shard, bit) ||
           sim_reading_has_bit(self->tail, &self->set, self->shard, bit);
}

/* The bits of all keys that the disk has by their fingerprints. */
static void make_again(const struct look *self, uint8_t *array)
{
    const struct geometry *geometry = &self->layer->generation.geometry;
    uint8_t *shards[DOCUMENT_MAX_SHARDS] = {0};
    const struct lines_view view = {.geometry = *geometry, .shards = shards};

    shards[self->shard] = array;
    for (uint32_t key = 0; key < self->sim->load.nkeys; key++) {
        uint64_t fingerprint = self->fingerprints[key];
        uint64_t present;

        if (lines_shard_index(geometry->shard_bits, fingerprint) == self->shard &&
            has_key(self, fingerprint)) {
            lines_add(&view, &fingerprint, 1, &present);
        }
    }
}

static uint64_t count_lacking(const struct look *self, const uint8_t *made)
{
    const uint8_t *array = self->layer->shards[self->shard];
    uint64_t lacking = 0;

    for (uint64_t i = 0; i < self->layer->shard_bytes; i++) {
        for (unsigned bits = array[i] & ~made[i] & 0xffu; bits != 0; bits &= bits - 1) {
            lacking += !has_bit(self, i * 8 + (unsigned)__builtin_ctz(bits));
        }
    }
    return lacking;
}

static void check_array(const struct look *self, const char *name)
{
    static _Alignas(64) uint8_t made[MOST_SHARD_BYTES];
    uint64_t lacking;

    assert(self->layer->shard_bytes <= sizeof made);
    memset(made, 0, self->layer->shard_bytes);
    make_again(self, made);
    lacking = count_lacking(self, made);
    if (lacking > 0) {
        sim_fail(
            self->sim,
            "lost keys: %s is FULL and answers from %" PRIu64
            " bits of shard %u of %s, keyset %u, slice %" PRIu64 ", that its disk does not have",
            self->process->name, lacking, self->shard, name, self->set.keyset, self->set.slice);
    }
}

static void check_set(struct look *look, const struct filter_document *document,
                      const struct arrays *set)
{
    look->set = (struct sim_log_set){
        .filter_id = document->id, .keyset = set->keyset, .slice = set->slice};
    for (look->shard = 0; look->shard < set->nshards; look->shard++) {
        uint32_t group = document->content.group_of_shard[look->shard];

        for (uint32_t i = 0; i < set->nlayers; i++) {
            look->layer = set->layers[i];
            if (arrays_state(set, group) == REPLICA_FULL &&
                look->layer->shards[look->shard] != NULL) {
                check_array(look, document->content.name);
                look->sim->coverage->remade.arrays++;
            }
        }
    }
}

static void check_filter(struct look *look, const struct document_entry *entry)
{
    const struct hosted_filter *hosted = entry->attachment;

    for (const struct arrays *set = hosted != NULL ? hosted->set : NULL; set != NULL;
         set = set->next) {
        if (set->strays) {
            look->sim->coverage->remade.strays++;
        } else if (hosted_is_live(set)) {
            check_set(look, &entry->document, set);
        }
    }
}

static bool answers(const struct sim_process *process)
{
    return process->kind == SIM_NODE && process->disk != NULL && process->program == NULL &&
           sim_view_answers(process) && !node_failed(process->node);
}

void sim_remade_check(struct sim *sim, struct sim_process *process)
{
    struct sim_reading tail = {0};
    struct look look = {
        .sim = sim, .process = process, .durable = !sim->settings.unsynced, .tail = &tail};

    if (!answers(process)) {
        return;
    }
    sim_view_follow(sim);
    sim_log_read_appended(process->node->storage->writer, &tail);
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        const struct filter_document *document = sim_view_document(sim, name);
        const struct document_entry *entry =
            document != NULL ? document_cache_find(&process->node->documents, document->id) : NULL;

        if (entry != NULL && entry->document.content.state == FILTER_ACTIVE) {
            look.fingerprints = sim_invariant_fingerprints(sim, name, document);
            if (look.fingerprints != NULL) {
                check_filter(&look, entry);
            }
        }
    }
    sim_reading_fini(&tail);
}

void sim_remade_check_all(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        sim_remade_check(sim, sim->processes[i]);
    }
}
