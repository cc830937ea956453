/* Sets of a chain of generations: what goes into the newest one. */
#include "base/bits.h"
#include "base/mutant.h"
#include "node/array/hosted.h"

#include <string.h>

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
    uint64_t found[HOSTED_CHUNK_WORDS];
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

bool hosted_chain_add(struct hosted_filter *self, const struct subrequest *subrequest,
                      const uint64_t *fingerprints, uint32_t count, uint64_t *present,
                      uint64_t *accepted)
{
    uint64_t fresh[HOSTED_CHUNK_KEYS];
    uint64_t seen[HOSTED_CHUNK_WORDS];
    uint64_t kept[HOSTED_CHUNK_WORDS];
    uint64_t found[HOSTED_CHUNK_WORDS];
    uint64_t taken[HOSTED_CHUNK_WORDS];
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

/* ---- what the log has, or another node had ---- */

/* Those of shards hosted here that no older generation has; returns how many. */
static uint32_t lacking(const struct arrays *set, const uint64_t *fingerprints, uint32_t count,
                        uint64_t *out)
{
    const struct layer *layer = arrays_base(set);
    uint64_t seen[HOSTED_CHUNK_WORDS];
    uint64_t kept[HOSTED_CHUNK_WORDS];
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
    uint64_t some[HOSTED_CHUNK_KEYS];
    uint64_t found[HOSTED_CHUNK_WORDS];
    uint64_t fresh = 0;

    if (!set->chained) {
        return arrays_fits(set, group, fingerprints, count);
    }
    for (uint32_t i = 0; i < count; i += HOSTED_CHUNK_KEYS) {
        uint32_t step = count - i < HOSTED_CHUNK_KEYS ? count - i : HOSTED_CHUNK_KEYS;
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
    uint64_t fresh[HOSTED_CHUNK_KEYS];

    if (!set->chained) {
        fill(set, document, fingerprints, count);
        return;
    }
    for (size_t i = 0; i < count; i += HOSTED_CHUNK_KEYS) {
        size_t step = count - i < HOSTED_CHUNK_KEYS ? count - i : HOSTED_CHUNK_KEYS;
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
