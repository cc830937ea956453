/* Bits of a replica set: filled from the log, taken over by the page, checked and added to. */
#include "base/bits.h"
#include "filter/lines.h"
#include "filter/sizing.h"
#include "node/array/growth_layers.h"

#include <string.h>

enum { FILL_KEYS = 4096 /* at once, from the log */ };

/* Fingerprints of one hosted group. */
static void fill_group(struct replica_set *self, uint32_t group, const uint64_t *fingerprints,
                       uint32_t count)
{
    const struct lines_view view = layer_view(replica_set_base(self));
    uint64_t present[FILL_KEYS / 64] = {0};

    if (self->growth != NULL) {
        growth_bits_fill(self, group, fingerprints, count);
        return;
    }
    lines_add(&view, fingerprints, count, present);
    self->groups[group].keys += count - bits_count(present, count);
}

void replica_set_check(const struct replica_set *self, const uint64_t *fingerprints, uint32_t count,
                       uint64_t *present)
{
    const struct lines_view view = layer_view(replica_set_base(self));

    if (self->growth != NULL) {
        growth_bits_check(self, fingerprints, count, present);
    } else {
        lines_check(&view, fingerprints, count, present);
    }
}

bool replica_set_has(const struct replica_set *self, uint64_t fingerprint)
{
    uint64_t present;

    replica_set_check(self, &fingerprint, 1, &present);
    return present != 0;
}

static void fill_groups(struct replica_set *self, const struct filter_document *document,
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
        if (self->groups[group].hosted && !(refills && replica_set_covers(self, group))) {
            fill_group(self, group, fingerprints + done, same);
        }
        done += same;
    }
}

void replica_set_fill(struct replica_set *self, const struct filter_document *document,
                      const uint64_t *fingerprints, size_t count)
{
    fill_groups(self, document, fingerprints, count, false);
}

void replica_set_refill(struct replica_set *self, const struct filter_document *document,
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

void replica_set_merge_page(struct replica_set *self, const struct filter_document *document,
                            uint32_t shard, uint64_t page, const uint8_t *bytes)
{
    const struct layer *layer = replica_set_base(self);
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

bool replica_set_has_page(const struct replica_set *self, uint32_t shard, uint64_t page,
                          const uint8_t *bytes)
{
    const struct layer *layer = replica_set_base(self);
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

bool replica_set_fits(const struct replica_set *self, uint32_t group, const uint64_t *fingerprints,
                      uint32_t count)
{
    const struct replica_group *one = &self->groups[group];
    uint64_t fresh = count;

    for (uint32_t i = 0; i < count && one->keys + fresh > one->keys_capacity; i += FILL_KEYS) {
        uint64_t present[FILL_KEYS / 64] = {0};
        uint32_t step = count - i < FILL_KEYS ? count - i : FILL_KEYS;

        replica_set_check(self, fingerprints + i, step, present);
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

bool replica_set_add(struct replica_set *self, uint32_t number, const uint64_t *fingerprints,
                     uint32_t count, uint64_t *present, uint64_t *accepted)
{
    const struct lines_view view = layer_view(replica_set_base(self));
    struct replica_group *group = &self->groups[number];

    if (self->growth != NULL) {
        return growth_bits_add(self, number, fingerprints, count, present, accepted);
    }
    if (group->keys + count > group->keys_capacity) {
        return add_within(group, &view, fingerprints, count, present, accepted);
    }
    lines_add(&view, fingerprints, count, present);
    group->keys += count - bits_count(present, count);
    bits_fill(accepted, count);
    return false;
}

bool replica_set_has_room(const struct replica_set *self, uint32_t group, uint32_t count)
{
    return self->groups[group].keys + count <= self->groups[group].keys_capacity &&
           (self->growth == NULL || self->growth->nopen == 0);
}

bool replica_set_takes(const struct replica_set *self, uint32_t group, uint64_t fingerprint)
{
    if (replica_set_has_room(self, group, 1) || replica_set_has(self, fingerprint)) {
        return true;
    }
    return self->growth != NULL && growth_bits_has_room(self, group, fingerprint);
}

enum status replica_set_execute(struct replica_set *self, const struct filter_document *document,
                                const struct segment *segment, const uint64_t *fingerprints,
                                uint64_t *present, uint64_t *absent, bool *at_capacity)
{
    enum replica_state state = replica_set_state(self, segment->group);
    uint32_t count = segment->count;

    *at_capacity = false;
    if (state == REPLICA_NONE || state == REPLICA_BUILDING ||
        (state == REPLICA_JOINING && segment->operation == OPERATION_CHECK)) {
        return STATUS_NOT_READY;
    }
    if (!replica_set_belongs(self, document, segment->group, fingerprints, segment->count)) {
        return STATUS_INVALID;
    }
    if (segment->operation == OPERATION_CHECK) {
        replica_set_check(self, fingerprints, count, present);
        bits_fill(absent, count);
    } else {
        *at_capacity = replica_set_add(self, segment->group, fingerprints, count, present, absent);
    }
    replica_vote(count, state == REPLICA_FULL, present, absent);
    return STATUS_OK;
}
