/* Subrequests on filters of several sets. */
#include "base/bits.h"
#include "base/mutant.h"
#include "node/array/hosted.h"
#include "node/pull/live_sets.h"

enum { CHUNK_KEYS = HOSTED_CHUNK_KEYS, CHUNK_WORDS = HOSTED_CHUNK_WORDS };

/* In any of the sets that are read, or in the one that a list goes to. */
static void look(const struct hosted_filter *self, const struct subrequest *subrequest,
                 const uint64_t *fingerprints, uint32_t count, uint64_t *present)
{
    uint64_t found[CHUNK_WORDS];

    bits_zero(present, count);
    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        bool wanted = subrequest->keyset == 0 ? hosted_is_looked_at(set)
                                              : hosted_is_target(set, subrequest);

        if (wanted) {
            arrays_check(set, fingerprints, count, found);
            for (uint32_t i = 0; i < bits_words(count); i++) {
                present[i] |= found[i];
            }
        }
    }
}

static bool all_have_room(const struct hosted_filter *self, const struct subrequest *subrequest,
                          uint32_t count)
{
    bool room = true;

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        room = room && (!hosted_is_target(set, subrequest) ||
                        arrays_has_room(set, subrequest->group, count));
    }
    return room;
}

/* What one set had is not new to the filter, and yet goes into every other one: each has bits of
 * its own. */
static void put(struct hosted_filter *self, const struct subrequest *subrequest,
                const uint64_t *fingerprints, uint32_t count)
{
    uint64_t present[CHUNK_WORDS];
    uint64_t accepted[CHUNK_WORDS];

    for (struct arrays *set = self->set; set != NULL; set = set->next) {
        if (hosted_is_target(set, subrequest)) {
            (void)arrays_add(set, subrequest->group, fingerprints, count, present, accepted);
        }
    }
}

static bool all_take(const struct hosted_filter *self, const struct subrequest *subrequest,
                     uint64_t fingerprint)
{
    bool take = true;

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        take = take && (!hosted_is_target(set, subrequest) ||
                        arrays_takes(set, subrequest->group, fingerprint));
    }
    return take;
}

/* Near the capacity of one of them, key by key: into all, or into none. */
static bool put_singly(struct hosted_filter *self, const struct subrequest *subrequest,
                       const uint64_t *fingerprints, uint32_t count, uint64_t *accepted)
{
    bool at_capacity = false;

    bits_zero(accepted, count);
    for (uint32_t i = 0; i < count; i++) {
        bool taken = all_take(self, subrequest, fingerprints[i]);

        if (taken) {
            put(self, subrequest, &fingerprints[i], 1);
            bits_set(accepted, i);
        }
        at_capacity |= !taken;
    }
    return at_capacity;
}

/* At most CHUNK_KEYS; true: some were refused. */
static bool add(struct hosted_filter *self, const struct subrequest *subrequest,
                const uint64_t *fingerprints, uint32_t count, uint64_t *present, uint64_t *accepted)
{
    if (self->set->chained) {
        return hosted_chain_add(self, subrequest, fingerprints, count, present, accepted);
    }
    look(self, subrequest, fingerprints, count, present);
    if (!all_have_room(self, subrequest, count)) {
        return put_singly(self, subrequest, fingerprints, count, accepted);
    }
    for (uint32_t i = 0; MUTANT(SLICE_DUPLICATE_DROPPED) && i < count; i++) {
        if (!bits_has(present, i)) {
            put(self, subrequest, &fingerprints[i], 1);
        }
    }
    if (!MUTANT(SLICE_DUPLICATE_DROPPED)) {
        put(self, subrequest, fingerprints, count);
    }
    bits_fill(accepted, count);
    return false;
}

static bool execute(struct hosted_filter *self, const struct subrequest *subrequest,
                    const uint64_t *fingerprints, uint64_t *present, uint64_t *accepted)
{
    bool at_capacity = false;

    for (uint32_t i = 0; i < subrequest->count; i += CHUNK_KEYS) {
        uint32_t left = subrequest->count - i;
        uint32_t step = left < CHUNK_KEYS ? left : CHUNK_KEYS;
        uint32_t word = i / BITS_A_WORD;

        if (subrequest->operation == OPERATION_CHECK) {
            look(self, subrequest, fingerprints + i, step, present + word);
            bits_fill(accepted + word, step);
        } else {
            at_capacity |= add(self, subrequest, fingerprints + i, step, present + word,
                               accepted + word);
        }
    }
    return at_capacity;
}

enum status hosted_execute(struct hosted_filter *self, const struct filter_document *document,
                           const struct subrequest *subrequest, const uint64_t *fingerprints,
                           uint64_t *present, uint64_t *absent, bool *at_capacity)
{
    enum replica_state state;

    *at_capacity = false;
    if (subrequest->keyset != 0 && (subrequest->operation != OPERATION_ADD ||
                                    !live_sets_have_keyset(document, subrequest->keyset))) {
        return STATUS_INVALID;
    }
    if (self->set->next == NULL && !self->lacks_read && !self->lacks_written) {
        return arrays_execute(self->set, document, subrequest, fingerprints, present, absent,
                              at_capacity);
    }
    state = hosted_state_for(self, subrequest);
    if (state == REPLICA_NONE || state == REPLICA_BUILDING ||
        (state == REPLICA_JOINING && subrequest->operation == OPERATION_CHECK)) {
        return STATUS_NOT_READY;
    }
    if (!arrays_belongs(self->set, document, subrequest->group, fingerprints, subrequest->count)) {
        return STATUS_INVALID;
    }
    *at_capacity = execute(self, subrequest, fingerprints, present, absent);
    replica_vote(subrequest->count, state == REPLICA_FULL, present, absent);
    return STATUS_OK;
}
