/* Bits of a set with two layers: a batch is parted by where its shards are read and written. Bits
 * of the planes stay in the order of the batch. */
#include "base/bits.h"
#include "base/mutant.h"
#include "node/array/expansion_layers.h"

enum { PART_KEYS = 4096 };

/* Those of a batch that have to do with one layer. */
struct part {
    uint64_t fingerprints[PART_KEYS];
    uint64_t plane[PART_KEYS / 64]; /* what the kernel says of them */
    uint16_t places[PART_KEYS];     /* in the batch */
    uint32_t count;
};

static uint32_t shard_of(const struct arrays *set, uint64_t fingerprint)
{
    return (uint32_t)lines_shard_index(arrays_base(set)->generation.geometry.shard_bits,
                                       fingerprint);
}

/* What is done with a layer for a shard. */
enum use {
    USE_NOTHING,
    USE_LOOK,       /* only read */
    USE_ADD,        /* read and written */
    USE_ADD_BEHIND, /* only written: nobody reads it yet */
};

static enum use use_of(const struct shard_route *route, uint8_t layer, bool writing)
{
    bool reads = (route->reads & layer) != 0;
    bool writes = writing && (route->writes & layer) != 0;

    if (writes) {
        return reads ? USE_ADD : USE_ADD_BEHIND;
    }
    return reads ? USE_LOOK : USE_NOTHING;
}

static void gather(const struct arrays *set, uint8_t layer, enum use use, bool writing,
                   const uint64_t *fingerprints, uint32_t count, struct part *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct shard_route *route = &set->expansion->routes[shard_of(set, fingerprints[i])];

        if (use_of(route, layer, writing) == use) {
            out->fingerprints[out->count] = fingerprints[i];
            out->places[out->count++] = (uint16_t)i;
        }
    }
}

static void scatter(const struct part *part, uint64_t *present)
{
    for (uint32_t i = 0; i < part->count; i++) {
        uint32_t place = part->places[i];

        bits_or(present, place, bits_has(part->plane, i));
    }
}

static void count_keys(const struct arrays *set, struct layer *layer, const struct part *part)
{
    for (uint32_t i = 0; i < part->count; i++) {
        layer->keys[shard_of(set, part->fingerprints[i])] += !bits_has(part->plane, i);
    }
}

static void look(const struct arrays *set, unsigned layer, bool writing,
                 const uint64_t *fingerprints, uint32_t count, uint64_t *present)
{
    const struct lines_view view = layer_view(set->layers[layer]);
    struct part part;

    gather(set, (uint8_t)(1u << layer), USE_LOOK, writing, fingerprints, count, &part);
    lines_check(&view, part.fingerprints, part.count, part.plane);
    scatter(&part, present);
}

static void leave_out_present(struct part *part, const uint64_t *present)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < part->count; i++) {
        part->fingerprints[kept] = part->fingerprints[i];
        part->places[kept] = part->places[i];
        kept += !bits_has(present, part->places[i]);
    }
    part->count = kept;
}

static void add_to(struct arrays *set, unsigned layer, enum use use, const uint64_t *fingerprints,
                   uint32_t count, uint64_t *present)
{
    const struct lines_view view = layer_view(set->layers[layer]);
    struct part part;

    gather(set, (uint8_t)(1u << layer), use, true, fingerprints, count, &part);
    if (MUTANT(GROW_SKIP_PRESENT) && use == USE_ADD_BEHIND) {
        leave_out_present(&part, present);
    }
    lines_add(&view, part.fingerprints, part.count, part.plane);
    count_keys(set, set->layers[layer], &part);
    if (use == USE_ADD) {
        scatter(&part, present);
    }
}

/* ---- at most PART_KEYS ---- */

static void check_some(const struct arrays *set, const uint64_t *fingerprints, uint32_t count,
                       uint64_t *present)
{
    bits_zero(present, count);
    for (unsigned layer = 0; layer < set->nlayers; layer++) {
        look(set, layer, false, fingerprints, count, present);
    }
}

/* Everywhere it has to go, whatever is there already. */
static void add_some(struct arrays *set, const uint64_t *fingerprints, uint32_t count,
                     uint64_t *present)
{
    bits_zero(present, count);
    for (unsigned layer = 0; layer < set->nlayers; layer++) {
        look(set, layer, true, fingerprints, count, present);
        add_to(set, layer, USE_ADD, fingerprints, count, present);
    }
    for (unsigned layer = 0; layer < set->nlayers; layer++) {
        add_to(set, layer, USE_ADD_BEHIND, fingerprints, count, present);
    }
}

/* ---- batches ---- */

void expansion_bits_check(const struct arrays *set, const uint64_t *fingerprints, uint32_t count,
                          uint64_t *present)
{
    for (uint32_t i = 0; i < count; i += PART_KEYS) {
        uint32_t step = count - i < PART_KEYS ? count - i : PART_KEYS;

        check_some(set, fingerprints + i, step, present + i / 64);
    }
}

static void add_all(struct arrays *set, uint32_t group, const uint64_t *fingerprints,
                    uint32_t count, uint64_t *present)
{
    for (uint32_t i = 0; i < count; i += PART_KEYS) {
        uint32_t step = count - i < PART_KEYS ? count - i : PART_KEYS;

        add_some(set, fingerprints + i, step, present + i / 64);
        set->groups[group].keys += step - bits_count(present + i / 64, step);
    }
}

void expansion_bits_fill(struct arrays *set, uint32_t group, const uint64_t *fingerprints,
                         uint32_t count)
{
    for (uint32_t i = 0; i < count; i += PART_KEYS) {
        uint32_t step = count - i < PART_KEYS ? count - i : PART_KEYS;
        uint64_t present[PART_KEYS / 64];

        add_all(set, group, fingerprints + i, step, present);
    }
}

/* May a new key of that shard come although its group is at the capacity that counts? */
static bool has_excess(const struct arrays *set, uint32_t group, uint32_t shard)
{
    const struct expansion_layers *expansion = set->expansion;
    const struct expansion_group *one = &expansion->groups[group];

    if (set->groups[group].keys >= one->full_keys) {
        return false;
    }
    if (expansion_layers_serves(set, shard)) {
        return expansion->excess[shard] < expansion->shard_excess;
    }
    return expansion_layers_stands(set, shard) &&
           expansion->excess[shard] < expansion->shard_valve && one->overflow < one->valve_keys;
}

static bool has_place(const struct arrays *set, uint32_t group, uint32_t shard)
{
    return set->groups[group].keys < set->groups[group].keys_capacity &&
           !expansion_layers_is_open(set, shard);
}

bool expansion_bits_has_room(const struct arrays *set, uint32_t group, uint64_t fingerprint)
{
    uint32_t shard = shard_of(set, fingerprint);

    return has_place(set, group, shard) || has_excess(set, group, shard);
}

static void take_excess(struct arrays *set, uint32_t group, uint32_t shard)
{
    struct expansion_layers *expansion = set->expansion;

    expansion->excess[shard]++;
    if (expansion_layers_serves(set, shard)) {
        return;
    }
    if (!expansion_layers_is_open(set, shard)) {
        expansion->routes[shard] = (struct shard_route){
            .reads = MUTANT(GROW_VALVE_OLD_ONLY) ? EXPANSION_OLD : EXPANSION_OLD | EXPANSION_NEW,
            .writes = EXPANSION_NEW};
        expansion->nopen++;
        expansion->groups[group].overflow += expansion->excess[shard] - 1;
    }
    expansion->groups[group].overflow++;
}

/* True: it was accepted. */
static bool add_one(struct arrays *set, uint32_t group, uint64_t fingerprint, bool *known)
{
    uint32_t shard = shard_of(set, fingerprint);
    bool room = has_place(set, group, shard);
    uint64_t present;

    check_some(set, &fingerprint, 1, &present);
    *known = present != 0;
    if (!*known && !room) {
        if (!has_excess(set, group, shard)) {
            return false;
        }
        take_excess(set, group, shard);
    }
    add_all(set, group, &fingerprint, 1, &present);
    return true;
}

bool expansion_bits_add(struct arrays *set, uint32_t group, const uint64_t *fingerprints,
                        uint32_t count, uint64_t *present, uint64_t *accepted)
{
    const struct replica_group *one = &set->groups[group];
    bool at_capacity = false;

    /* All fit, and no shard takes new keys in one array only: none needs to be looked at first. */
    if (set->expansion->nopen == 0 && one->keys + count <= one->keys_capacity) {
        add_all(set, group, fingerprints, count, present);
        bits_fill(accepted, count);
        return false;
    }
    bits_zero(present, count);
    bits_zero(accepted, count);
    for (uint32_t i = 0; i < count; i++) {
        bool known;
        bool taken = add_one(set, group, fingerprints[i], &known);

        bits_or(present, i, known);
        bits_or(accepted, i, taken);
        at_capacity |= !taken;
    }
    return at_capacity;
}

/* ---- from the log ---- */

static void gather_standing(const struct arrays *set, const uint64_t *fingerprints, uint32_t count,
                            struct part *out)
{
    out->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (expansion_layers_stands(set, shard_of(set, fingerprints[i]))) {
            out->fingerprints[out->count++] = fingerprints[i];
        }
    }
}

void expansion_bits_backfill(struct arrays *set, const uint64_t *fingerprints, uint32_t count)
{
    const struct lines_view view = layer_view(set->layers[1]);
    struct part part;

    for (uint32_t i = 0; i < count; i += PART_KEYS) {
        uint32_t step = count - i < PART_KEYS ? count - i : PART_KEYS;

        gather_standing(set, fingerprints + i, step, &part);
        lines_add(&view, part.fingerprints, part.count, part.plane);
        count_keys(set, set->layers[1], &part);
    }
}

uint64_t expansion_bits_missing(const struct arrays *set, const uint64_t *fingerprints,
                                uint32_t count)
{
    const struct lines_view view = layer_view(set->layers[1]);
    uint64_t missing = 0;
    struct part part;

    for (uint32_t i = 0; i < count; i += PART_KEYS) {
        uint32_t step = count - i < PART_KEYS ? count - i : PART_KEYS;

        gather_standing(set, fingerprints + i, step, &part);
        lines_check(&view, part.fingerprints, part.count, part.plane);
        missing += part.count - bits_count(part.plane, part.count);
    }
    return missing;
}

bool expansion_bits_plausible(const struct arrays *set, uint32_t shard)
{
    const struct layer *layer = set->layers[1];
    uint64_t bits = lines_popcount(layer->shards[shard], layer->shard_bytes);
    uint64_t keys = layer->keys[shard];

    return bits >= keys && bits <= keys * 8 * layer->generation.geometry.z;
}
