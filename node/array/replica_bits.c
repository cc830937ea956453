/* Bits of a set of arrays: filled from the log, taken over by the page, checked and added to. */
#include "base/bits.h"
#include "filter/lines.h"
#include "filter/sizing.h"
#include "node/array/expansion_layers.h"

#include <string.h>

enum { FILL_KEYS = 4096 /* at once, from the log */ };

/* Fingerprints of one hosted group. */
static void fill_group(struct arrays *self, uint32_t group, const uint64_t *fingerprints,
                       uint32_t count)
{
    const struct lines_view view = layer_view(arrays_base(self));
    uint64_t present[FILL_KEYS / 64] = {0};

    if (self->expansion != NULL) {
        expansion_bits_fill(self, group, fingerprints, count);
        return;
    }
    lines_add(&view, fingerprints, count, present);
    self->groups[group].keys += count - bits_count(present, count);
}

void arrays_check(const struct arrays *self, const uint64_t *fingerprints, uint32_t count,
                  uint64_t *present)
{
    const struct lines_view view = layer_view(arrays_base(self));

    if (self->expansion != NULL) {
        expansion_bits_check(self, fingerprints, count, present);
    } else {
        lines_check(&view, fingerprints, count, present);
    }
}

bool arrays_has(const struct arrays *self, uint64_t fingerprint)
{
    uint64_t present;

    arrays_check(self, &fingerprint, 1, &present);
    return present != 0;
}

static void fill_groups(struct arrays *self, const struct filter_document *document,
                        const uint64_t *fingerprints, size_t count, bool refills)
{
    const uint16_t *group_of_shard = document->content.group_of_shard;
    size_t done = 0;

    while (done < count) {
        uint64_t shard = lines_shard_index(document->content.shard_bits, fingerprints[done]);
        uint32_t group = group_of_shard[shard];
        uint32_t same = 1;

        while (done + same < count && same < FILL_KEYS &&
               group_of_shard[lines_shard_index(document->content.shard_bits,
                                                fingerprints[done + same])] == group) {
            same++;
        }
        if (self->groups[group].hosted && !(refills && arrays_covers(self, group))) {
            fill_group(self, group, fingerprints + done, same);
        }
        done += same;
    }
}

void arrays_fill(struct arrays *self, const struct filter_document *document,
                 const uint64_t *fingerprints, size_t count)
{
    fill_groups(self, document, fingerprints, count, false);
}

void arrays_refill(struct arrays *self, const struct filter_document *document,
                   const uint64_t *fingerprints, size_t count)
{
    fill_groups(self, document, fingerprints, count, true);
}

/* Returns how many bits are set now. */
static uint64_t merge_words(uint64_t *target, const uint8_t *source, size_t size_bytes,
                            uint64_t *before)
{
    uint64_t after = 0;

    *before = 0;
    for (size_t i = 0; i < size_bytes / sizeof *target; i++) {
        uint64_t word;

        memcpy(&word, source + i * sizeof word, sizeof word);
        *before += bits_count_word(target[i]);
        target[i] |= word;
        after += bits_count_word(target[i]);
    }
    return after;
}

void arrays_merge_page(struct arrays *self, const struct filter_document *document, uint32_t shard,
                       uint64_t page, const uint8_t *bytes)
{
    const struct layer *layer = arrays_base(self);
    uint8_t *array = shard < self->nshards ? layer->shards[shard] : NULL;
    uint64_t lines = layer->generation.geometry.lines;
    size_t size_bytes = lines_page_bytes(lines);
    uint64_t bits = 8 * size_bytes;
    uint64_t before;
    uint64_t after;

    if (array == NULL || page >= lines_shard_pages(lines)) {
        return;
    }
    after = merge_words((uint64_t *)(void *)(array + page * size_bytes), bytes, size_bytes,
                        &before);
    if (after > before) {
        self->groups[document->content.group_of_shard[shard]].keys +=
            sizing_estimate_keys(after, bits, layer->generation.geometry.z) -
            sizing_estimate_keys(before, bits, layer->generation.geometry.z);
    }
}

void arrays_copy_page(struct arrays *self, uint32_t shard, uint64_t page, const uint8_t *bytes)
{
    const struct layer *layer = arrays_base(self);
    size_t size_bytes = lines_page_bytes(layer->generation.geometry.lines);
    uint64_t *into = (uint64_t *)(void *)(layer->shards[shard] + page * size_bytes);

    for (size_t i = 0; i < size_bytes / sizeof *into; i++) {
        uint64_t word;

        memcpy(&word, bytes + i * sizeof word, sizeof word);
        into[i] |= word;
    }
}

bool arrays_has_page(const struct arrays *self, uint32_t shard, uint64_t page, const uint8_t *bytes)
{
    const struct layer *layer = arrays_base(self);
    size_t size_bytes = lines_page_bytes(layer->generation.geometry.lines);
    const uint8_t *array = layer->shards[shard] + page * size_bytes;
    uint64_t lacking = 0;

    for (size_t i = 0; i < size_bytes; i += sizeof lacking) {
        uint64_t here;
        uint64_t there;

        memcpy(&here, array + i, sizeof here);
        memcpy(&there, bytes + i, sizeof there);
        lacking |= there & ~here;
    }
    return lacking == 0 && !self->strays;
}

bool arrays_fits(const struct arrays *self, uint32_t group, const uint64_t *fingerprints,
                 uint32_t count)
{
    const struct replica_group *one = &self->groups[group];
    uint64_t fresh = count;

    for (uint32_t i = 0; i < count && one->keys + fresh > one->keys_capacity; i += FILL_KEYS) {
        uint64_t present[FILL_KEYS / 64] = {0};
        uint32_t step = count - i < FILL_KEYS ? count - i : FILL_KEYS;

        arrays_check(self, fingerprints + i, step, present);
        fresh -= bits_count(present, step);
    }
    return one->keys + fresh <= one->keys_capacity;
}

void replica_vote(uint32_t count, bool full, uint64_t *present, uint64_t *accepted)
{
    for (uint32_t i = 0; i < bits_words(count); i++) {
        uint64_t taken = accepted[i] & bits_mask(count, i);

        accepted[i] = full ? taken & ~present[i] : taken;
        present[i] = full ? taken & present[i] : taken;
    }
}

/* One word of a batch, key by key: a key whose bits are all set changes nothing and is always
 * taken, a new one while there is room. */
static void add_singly(struct replica_group *group, const struct lines_view *view,
                       const uint64_t *fingerprints, uint32_t count, uint64_t *present,
                       uint64_t *accepted)
{
    *present = 0;
    *accepted = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t known;
        bool room = group->keys < group->keys_capacity;

        lines_check(view, &fingerprints[i], 1, &known);
        if (known == 0 && room) {
            lines_add(view, &fingerprints[i], 1, &known);
            group->keys++;
        }
        *present |= known << i;
        *accepted |= (uint64_t)(known != 0 || room) << i;
    }
}

/* Near its capacity a replica looks before it adds, so that no batch takes it past that. */
static bool add_within(struct replica_group *group, const struct lines_view *view,
                       const uint64_t *fingerprints, uint32_t count, uint64_t *present,
                       uint64_t *accepted)
{
    bool at_capacity = false;

    for (uint32_t i = 0; i < bits_words(count); i++) {
        uint32_t step = count - i * 64 < 64 ? count - i * 64 : 64;

        add_singly(group, view, fingerprints + (size_t)i * 64, step, &present[i], &accepted[i]);
        at_capacity |= accepted[i] != bits_mask(count, i);
    }
    return at_capacity;
}

bool arrays_add(struct arrays *self, uint32_t number, const uint64_t *fingerprints, uint32_t count,
                uint64_t *present, uint64_t *accepted)
{
    const struct lines_view view = layer_view(arrays_base(self));
    struct replica_group *group = &self->groups[number];

    if (self->expansion != NULL) {
        return expansion_bits_add(self, number, fingerprints, count, present, accepted);
    }
    if (group->keys + count > group->keys_capacity) {
        return add_within(group, &view, fingerprints, count, present, accepted);
    }
    lines_add(&view, fingerprints, count, present);
    group->keys += count - bits_count(present, count);
    bits_fill(accepted, count);
    return false;
}

bool arrays_has_room(const struct arrays *self, uint32_t group, uint32_t count)
{
    return self->groups[group].keys + count <= self->groups[group].keys_capacity &&
           (self->expansion == NULL || self->expansion->nopen == 0);
}

bool arrays_takes(const struct arrays *self, uint32_t group, uint64_t fingerprint)
{
    if (arrays_has_room(self, group, 1) || arrays_has(self, fingerprint)) {
        return true;
    }
    return self->expansion != NULL && expansion_bits_has_room(self, group, fingerprint);
}

enum status arrays_execute(struct arrays *self, const struct filter_document *document,
                           const struct subrequest *subrequest, const uint64_t *fingerprints,
                           uint64_t *present, uint64_t *absent, bool *at_capacity)
{
    enum replica_state state = arrays_state(self, subrequest->group);
    uint32_t count = subrequest->count;

    *at_capacity = false;
    if (state == REPLICA_NONE || state == REPLICA_BUILDING ||
        (state == REPLICA_JOINING && subrequest->operation == OPERATION_CHECK)) {
        return STATUS_NOT_READY;
    }
    if (!arrays_belongs(self, document, subrequest->group, fingerprints, subrequest->count)) {
        return STATUS_INVALID;
    }
    if (subrequest->operation == OPERATION_CHECK) {
        arrays_check(self, fingerprints, count, present);
        bits_fill(absent, count);
    } else {
        *at_capacity = arrays_add(self, subrequest->group, fingerprints, count, present, absent);
    }
    replica_vote(count, state == REPLICA_FULL, present, absent);
    return STATUS_OK;
}
