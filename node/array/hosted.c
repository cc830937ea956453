/* The sets of one filter as one: in which state each slot group stands, what a subrequest does in
 * all of them, and what is told of them. */
#include "node/array/hosted.h"

#include "base/bits.h"
#include "base/mutant.h"
#include "map/history/rebuild.h"
#include "node/pull/live_sets.h"

#include <string.h>

/* On the stack, a few arrays of so many. */
enum { CHUNK_KEYS = 4096, CHUNK_WORDS = CHUNK_KEYS / 64 };

/* ---- which there are ---- */

struct arrays *hosted_find(const struct hosted_filter *self, uint32_t keyset, uint64_t slice)
{
    struct arrays *set = self != NULL ? self->set : NULL;

    while (set != NULL && (set->keyset != keyset || set->slice != slice)) {
        set = set->next;
    }
    return set;
}

struct arrays *hosted_find_hosting(const struct hosted_filter *self, uint64_t hosting)
{
    struct arrays *set = self != NULL ? self->set : NULL;

    while (set != NULL && set->hosting != hosting) {
        set = set->next;
    }
    return set;
}

struct storage_set hosted_storage_set(const struct filter_document *document,
                                      const struct arrays *set)
{
    return (struct storage_set){
        .filter_id = document->id, .slice = set->slice, .keyset = set->keyset};
}

/* ---- in which state ---- */

bool hosted_ready(const struct hosted_filter *self)
{
    bool ready = self->set != NULL && !self->lacks_read && !self->lacks_written;

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        ready = ready && (!hosted_is_live(set) || arrays_ready(set));
    }
    return ready;
}

static enum replica_state least(enum replica_state a, enum replica_state b)
{
    return a < b ? a : b;
}

enum replica_state hosted_state(const struct hosted_filter *self, uint32_t group)
{
    enum replica_state state = arrays_state(self->set, group);

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        state = hosted_is_live(set) ? least(state, arrays_state(set, group)) : state;
    }
    return self->lacks_read || self->lacks_written ? least(state, REPLICA_BUILDING) : state;
}

bool hosted_is_target(const struct arrays *set, const struct subrequest *subrequest)
{
    return set->written && (subrequest->keyset == 0 || subrequest->keyset == set->keyset);
}

/* What takes no keys yet, and has nothing to be read back into it, is empty: no check needs it. */
bool hosted_is_looked_at(const struct arrays *set)
{
    if (MUTANT(SET_PASSED_OVER)) {
        return set->read && arrays_ready(set);
    }
    return set->read && (arrays_ready(set) || !set->loaded || arrays_covers_any(set));
}

/* The vote of an add rests on what checks look into, too. */
static bool is_about(const struct arrays *set, const struct subrequest *subrequest)
{
    bool checks = (subrequest->keyset == 0 || subrequest->operation == OPERATION_CHECK) &&
                  hosted_is_looked_at(set);

    if (MUTANT(CHAIN_VOTES_EARLY) && subrequest->operation != OPERATION_CHECK) {
        checks = false;
    }
    return checks || (subrequest->operation == OPERATION_ADD && hosted_is_target(set, subrequest));
}

enum replica_state hosted_state_for(const struct hosted_filter *self,
                                    const struct subrequest *subrequest)
{
    bool lacks = subrequest->operation == OPERATION_ADD ? self->lacks_written : self->lacks_read;
    enum replica_state state = REPLICA_FULL;
    bool any = false;

    if (self->set == NULL) {
        return REPLICA_NONE;
    }
    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        if (is_about(set, subrequest)) {
            state = least(state, arrays_state(set, subrequest->group));
            any = true;
        }
    }
    return lacks || !any ? least(arrays_state(self->set, subrequest->group), REPLICA_BUILDING)
                         : state;
}

/* ---- a chain of generations: what goes into the newest one ---- */

/* Does a restart find all bits that are set in it? Those of adds that were refused after all are in
 * no log. */
static bool is_kept(const struct arrays *set)
{
    return set->read && (MUTANT(CHAIN_TRUSTS_STRAYS) || (arrays_ready(set) && !set->strays));
}

/* `seen`: keys that an older generation has. `kept`: those of them that it would still have after a
 * restart. */
static void look_at_older(const struct arrays *set, const uint64_t *fingerprints, uint32_t count,
                          uint64_t *seen, uint64_t *kept)
{
    uint64_t found[CHUNK_WORDS];
    size_t nwords = bits_words(count);

    bits_zero(seen, count);
    bits_zero(kept, count);
    for (const struct arrays *older = set->next; older != NULL; older = older->next) {
        if (!hosted_is_looked_at(older)) {
            continue;
        }
        arrays_check(older, fingerprints, count, found);
        for (size_t i = 0; i < nwords; i++) {
            seen[i] |= found[i];
            kept[i] |= is_kept(older) ? found[i] : 0;
        }
    }
}

/* An add to a chain of several generations, at most CHUNK_KEYS; true: some were refused. */
static bool add_to_chain(struct hosted_filter *self, const struct subrequest *subrequest,
                         const uint64_t *fingerprints, uint32_t count, uint64_t *present,
                         uint64_t *accepted)
{
    uint64_t fresh[CHUNK_KEYS];
    uint64_t seen[CHUNK_WORDS];
    uint64_t kept[CHUNK_WORDS];
    uint64_t found[CHUNK_WORDS];
    uint64_t taken[CHUNK_WORDS];
    uint32_t nfresh = 0;
    bool at_capacity;

    look_at_older(self->set, fingerprints, count, seen, kept);
    for (uint32_t i = 0; i < count; i++) {
        fresh[nfresh] = fingerprints[i];
        nfresh += !bits_has(kept, i);
    }
    at_capacity = arrays_add(self->set, subrequest->group, fresh, nfresh, found, taken);
    memcpy(present, seen, bits_words(count) * sizeof *present);
    memcpy(accepted, kept, bits_words(count) * sizeof *accepted);
    nfresh = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!bits_has(kept, i)) {
            bits_or(present, i, bits_has(found, nfresh));
            bits_or(accepted, i, bits_has(taken, nfresh));
            nfresh++;
        }
    }
    return at_capacity;
}

/* ---- ... of what the log has, or another node had ---- */

/* Those of shards hosted here that no older generation has; returns how many. */
static uint32_t lacking(const struct arrays *set, const uint64_t *fingerprints, uint32_t count,
                        uint64_t *out)
{
    const struct layer *layer = arrays_base(set);
    uint64_t seen[CHUNK_WORDS];
    uint64_t kept[CHUNK_WORDS];
    uint32_t hosted = 0;
    uint32_t left = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t bits = layer->generation.geometry.shard_bits;

        out[hosted] = fingerprints[i];
        hosted += layer->shards[lines_shard_index(bits, fingerprints[i])] != NULL;
    }
    look_at_older(set, out, hosted, seen, kept);
    for (uint32_t i = 0; i < hosted; i++) {
        out[left] = out[i];
        left += !bits_has(kept, i);
    }
    return left;
}

bool hosted_fits(const struct arrays *set, uint32_t group, const uint64_t *fingerprints,
                 uint32_t count)
{
    const struct replica_group *one = &set->groups[group];
    uint64_t some[CHUNK_KEYS];
    uint64_t found[CHUNK_WORDS];
    uint64_t fresh = 0;

    if (!set->chained) {
        return arrays_fits(set, group, fingerprints, count);
    }
    for (uint32_t i = 0; i < count; i += CHUNK_KEYS) {
        uint32_t step = count - i < CHUNK_KEYS ? count - i : CHUNK_KEYS;
        uint32_t left = lacking(set, fingerprints + i, step, some);

        fresh += left;
        arrays_check(set, some, left, found);
        for (uint32_t k = 0; k < left; k++) {
            fresh -= bits_has(found, k);
        }
    }
    return one->keys + fresh <= one->keys_capacity;
}

typedef void (*fill_fn)(struct arrays *set, const struct filter_document *document,
                        const uint64_t *fingerprints, size_t count);

static void fill_with(fill_fn fill, struct arrays *set, const struct filter_document *document,
                      const uint64_t *fingerprints, size_t count)
{
    uint64_t fresh[CHUNK_KEYS];

    if (!set->chained) {
        fill(set, document, fingerprints, count);
        return;
    }
    for (size_t i = 0; i < count; i += CHUNK_KEYS) {
        size_t step = count - i < CHUNK_KEYS ? count - i : CHUNK_KEYS;
        uint32_t left = lacking(set, fingerprints + i, (uint32_t)step, fresh);

        fill(set, document, fresh, left);
    }
}

void hosted_fill(struct arrays *set, const struct filter_document *document,
                 const uint64_t *fingerprints, size_t count)
{
    fill_with(arrays_fill, set, document, fingerprints, count);
}

void hosted_refill(struct arrays *set, const struct filter_document *document,
                   const uint64_t *fingerprints, size_t count)
{
    fill_with(arrays_refill, set, document, fingerprints, count);
}

/* ---- subrequests ---- */

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
        return add_to_chain(self, subrequest, fingerprints, count, present, accepted);
    }
    /* Before any set gets them, or the keys of this very add would be found. */
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
    /* Nearly always: one set, which fills the caller's planes itself. */
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

/* ---- one report of a slot group, of all sets ---- */

/* A key counts in each slice that has it. */
static uint64_t keyset_keys(const struct hosted_filter *self, uint32_t keyset, uint32_t group)
{
    uint64_t sum = 0;

    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        sum += set->keyset == keyset ? set->groups[group].keys : 0;
    }
    return sum;
}

/* A set that is not there yet, or still being filled, tells more than one that serves. */
static void show_behind(const struct replica_report *one, struct replica_report *report)
{
    bool behind = one->state < report->state ||
                  (one->state == report->state && one->phase != PHASE_NONE &&
                   (report->phase == PHASE_NONE || one->progress < report->progress));

    if (behind) {
        report->state = one->state;
        report->phase = one->phase;
        report->progress = one->progress;
    }
    if (one->shards_grown < report->shards_grown) {
        report->shards_grown = one->shards_grown;
        report->generation = one->generation;
    }
}

static void show_lacking(const struct hosted_filter *self, struct replica_report *report)
{
    if ((self->lacks_read || self->lacks_written) && report->state > REPLICA_BUILDING) {
        report->state = REPLICA_BUILDING;
        report->complete = 0;
    }
}

/* Of a chain all are served together, each in its place: a group is grown when the wanted
 * generation's arrays stand. */
static void report_chain(const struct hosted_filter *self, const struct filter_document *document,
                         uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    uint32_t wanted = document_generation(document)->id;

    report->keys_next = report->keys;
    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        struct replica_report one = {0};

        if (set != self->set) {
            arrays_report(set, document, group, hosted_is_live(set) ? sample_lines : 0, &one);
            report->bytes += one.bytes;
            report->bits_set += one.bits_set;
            report->bits_seen += one.bits_seen;
            report->keys += one.keys;
        }
        if (set != self->set && hosted_is_live(set)) {
            show_behind(&one, report);
        }
    }
    report->keys_kept = report->keys;
    report->generation = arrays_base(self->set)->generation.id;
    report->shards_grown = 0;
    for (const struct arrays *set = self->set; set != NULL; set = set->next) {
        if (arrays_base(set)->generation.id == wanted && arrays_built(set)) {
            report->generation = wanted;
            report->shards_grown = set->groups[group].nshards;
        }
    }
}

void hosted_report(const struct hosted_filter *self, const struct filter_document *document,
                   uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    arrays_report(self->set, document, group, sample_lines, report);
    if (document_is_chain(document)) {
        report_chain(self, document, group, sample_lines, report);
        show_lacking(self, report);
        return;
    }
    report->keys_kept = keyset_keys(self, rebuild_serving(document), group);
    report->keys_next = keyset_keys(self, rebuild_keyset(document), group);
    for (const struct arrays *set = self->set->next; set != NULL; set = set->next) {
        struct replica_report one = {0};

        arrays_report(set, document, group, 0, &one);
        report->bytes += one.bytes;
        report->overflow_keys += one.overflow_keys;
        if (hosted_is_live(set)) {
            show_behind(&one, report);
            report->complete = arrays_await_expansion(set, document, group) ? 0 : report->complete;
        }
        report->keys = one.keys > report->keys ? one.keys : report->keys;
    }
    show_lacking(self, report);
}
