#include "node/replica.h"

#include "base/heap.h"
#include "filter/sizing.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { PAGE_BYTES = 4096, FILL_KEYS = 4096 /* at once, from the log */ };

/* Lookups are random: with small pages nearly each of them misses the TLB as well. Measured, three
 * nodes of 6 MB on two cores: a tenth more keys a second by huge ones. */
#define HUGE_FROM_BYTES (UINT64_C(2) << 20)

/* Shards fill binomially around their share; the sum over a group is closer to its mean, and
 * three standard deviations more than the mean change the rate of a full filter by less
 * than the tenth that sizing keeps back. */
static uint64_t group_capacity(uint64_t capacity, uint32_t nshards, uint32_t nshards_all)
{
    double share = (double)capacity * nshards / nshards_all;
    double deviation = sqrt(share * (1 - (double)nshards / nshards_all));

    return (uint64_t)ceil(share + 3 * deviation);
}

static bool hosts_shard(const struct replica_set *self, const struct filter_document *document,
                        uint32_t shard)
{
    return self->groups[document->content.group_of_shard[shard]].hosted;
}

/* Returns how many shards are hosted here. */
static uint32_t fill_groups(struct replica_set *self, const struct filter_document *document,
                            uint32_t node, uint64_t incarnation)
{
    uint32_t hosted = 0;

    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        self->groups[document->content.group_of_shard[shard]].nshards++;
    }
    for (uint32_t i = 0; i < self->ngroups; i++) {
        struct replica_group *group = &self->groups[i];

        group->hosted = document_slot_of(document, i, node, 0) >= 0;
        group->full = member_role(document, i, node, incarnation) == MEMBER_FULL;
        group->keys_capacity = group_capacity(document_generation(document)->capacity,
                                              group->nshards, self->nshards);
        hosted += group->hosted ? group->nshards : 0;
    }
    return hosted;
}

/* One after the other in one stretch of pages, as most are smaller than a huge page. */
static bool map_shards(struct replica_set *self, const struct filter_document *document)
{
    uint8_t *next = heap_pages_alloc(self->bytes, self->bytes >= HUGE_FROM_BYTES);

    self->pages = next;
    for (uint32_t shard = 0; next != NULL && shard < self->nshards; shard++) {
        if (hosts_shard(self, document, shard)) {
            self->shards[shard] = next;
            next += self->shard_bytes;
        }
    }
    return self->pages != NULL;
}

enum status replica_set_create(const struct filter_document *document, uint32_t node,
                               uint64_t incarnation, uint64_t room_bytes, struct replica_set **out)
{
    struct replica_set *self = heap_zalloc(1, sizeof *self);
    enum status status = STATUS_NOMEM;
    uint32_t hosted;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->geometry = document_generation(document)->geometry;
    self->shard_bytes = document_shard_bytes(document);
    self->nshards = document_nshards(document);
    self->ngroups = document->content.ngroups;
    self->shards = heap_zalloc(self->nshards, sizeof *self->shards);
    self->groups = heap_zalloc(self->ngroups, sizeof *self->groups);
    if (self->shards == NULL || self->groups == NULL) {
        goto fail;
    }
    hosted = fill_groups(self, document, node, incarnation);
    self->bytes = hosted * self->shard_bytes;
    if (self->bytes > room_bytes) {
        status = STATUS_NO_SPACE;
        goto fail;
    }
    if (hosted == 0) {
        replica_set_destroy(&self);
    } else if (!map_shards(self, document)) {
        goto fail;
    }
    *out = self;
    return STATUS_OK;

fail:
    replica_set_destroy(&self);
    return status;
}

void replica_set_destroy(struct replica_set **set)
{
    struct replica_set *self = *set;

    *set = NULL;
    if (self == NULL) {
        return;
    }
    heap_pages_free(self->pages, self->bytes);
    heap_free(self->shards);
    heap_free(self->groups);
    heap_free(self);
}

bool replica_set_follow(struct replica_set *self, const struct filter_document *document,
                        uint32_t node, uint64_t incarnation)
{
    for (uint32_t i = 0; i < self->ngroups; i++) {
        struct replica_group *group = &self->groups[i];

        if (group->hosted != (document_slot_of(document, i, node, 0) >= 0)) {
            return false;
        }
        group->full = member_role(document, i, node, incarnation) == MEMBER_FULL;
    }
    return true;
}

bool replica_set_built(const struct replica_set *self)
{
    return self->built_shards == self->nshards;
}

bool replica_set_ready(const struct replica_set *self)
{
#ifdef ORBLOOM_MUTANT_ANSWER_WHILE_REPLAYING
    return replica_set_built(self);
#endif
    return self->loaded && replica_set_built(self);
}

bool replica_set_build(struct replica_set *self, uint64_t slice_bytes)
{
    while (!replica_set_built(self) && slice_bytes > 0) {
        uint8_t *array = self->shards[self->built_shards];
        uint64_t left = array != NULL ? self->shard_bytes - self->built_bytes : 0;
        uint64_t step = left < slice_bytes ? left : slice_bytes;

        for (uint64_t at = 0; at < step; at += PAGE_BYTES) {
            /* A store makes the kernel give the page now; the array stays zero. */
            *(volatile uint8_t *)(array + self->built_bytes + at) = 0;
        }
        self->built_bytes += step;
        slice_bytes -= step;
        if (left == step) {
            self->built_shards++;
            self->built_bytes = 0;
        }
    }
    return !replica_set_built(self);
}

static uint64_t count_set(const uint64_t *words, uint32_t nwords)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < nwords; i++) {
        sum += (uint64_t)__builtin_popcountll(words[i]);
    }
    return sum;
}

/* Fingerprints of one hosted group. */
static void fill_group(struct replica_set *self, uint32_t group, const uint64_t *fingerprints,
                       uint32_t count)
{
    const struct lines_view view = {.geometry = self->geometry, .shards = self->shards};
    uint64_t present[FILL_KEYS / 64] = {0};

    lines_add(&view, fingerprints, count, present);
    self->groups[group].keys += count - count_set(present, (count + 63) / 64);
}

void replica_set_fill(struct replica_set *self, const struct filter_document *document,
                      const uint64_t *fingerprints, size_t count)
{
    const uint16_t *group_of_shard = document->content.group_of_shard;
    size_t done = 0;

    while (done < count) {
        uint64_t shard = lines_shard_index(self->geometry.shard_bits, fingerprints[done]);
        uint32_t group = group_of_shard[shard];
        uint32_t same = 1;

        while (done + same < count && same < FILL_KEYS &&
               group_of_shard[lines_shard_index(self->geometry.shard_bits,
                                                fingerprints[done + same])] == group) {
            same++;
        }
        if (self->groups[group].hosted) {
            fill_group(self, group, fingerprints + done, same);
        }
        done += same;
    }
}

bool replica_set_fits(const struct replica_set *self, uint32_t group, const uint64_t *fingerprints,
                      uint32_t count)
{
    const struct lines_view view = {.geometry = self->geometry, .shards = self->shards};
    const struct replica_group *one = &self->groups[group];
    uint64_t fresh = count;

    for (uint32_t i = 0; i < count && one->keys + fresh > one->keys_capacity; i += FILL_KEYS) {
        uint64_t present[FILL_KEYS / 64] = {0};
        uint32_t step = count - i < FILL_KEYS ? count - i : FILL_KEYS;

        lines_check(&view, fingerprints + i, step, present);
        fresh -= count_set(present, (step + 63) / 64);
    }
    return one->keys + fresh <= one->keys_capacity;
}

enum replica_state replica_set_state(const struct replica_set *self, uint32_t group)
{
    if (self == NULL || group >= self->ngroups || !self->groups[group].hosted) {
        return REPLICA_NONE;
    }
    if (!replica_set_ready(self)) {
        return REPLICA_BUILDING;
    }
#ifdef ORBLOOM_MUTANT_COUNT_JOINING
    return REPLICA_FULL;
#else
    return self->groups[group].full ? REPLICA_FULL : REPLICA_JOINING;
#endif
}

bool replica_set_belongs(const struct replica_set *self, const struct filter_document *document,
                         uint32_t group, const uint64_t *fingerprints, size_t count)
{
    const uint16_t *group_of_shard = document->content.group_of_shard;
    bool all = group < self->ngroups && self->groups[group].hosted;

    for (size_t i = 0; i < count; i++) {
        uint64_t shard = lines_shard_index(self->geometry.shard_bits, fingerprints[i]);

        all &= group_of_shard[shard] == group;
    }
    return all;
}

static uint64_t word_mask(uint32_t count, uint32_t word)
{
    uint32_t left = count - word * 64;

    return left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
}

static void fill(uint64_t *words, uint32_t nwords)
{
    for (uint32_t i = 0; i < nwords; i++) {
        words[i] = UINT64_MAX;
    }
}

/* Turn "bits were set" and "was accepted" into the planes of a vote, in place. */
static void vote(uint32_t count, bool full, uint64_t *present, uint64_t *accepted)
{
    for (uint32_t i = 0; i * 64 < count; i++) {
        uint64_t taken = accepted[i] & word_mask(count, i);

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

    for (uint32_t i = 0; i * 64 < count; i++) {
        uint32_t step = count - i * 64 < 64 ? count - i * 64 : 64;

        add_singly(group, view, fingerprints + (size_t)i * 64, step, &present[i], &accepted[i]);
        at_capacity |= accepted[i] != word_mask(count, i);
    }
    return at_capacity;
}

static bool add(struct replica_group *group, const struct lines_view *view,
                const uint64_t *fingerprints, uint32_t count, uint64_t *present, uint64_t *accepted)
{
    uint32_t nwords = (count + 63) / 64;

    if (group->keys + count > group->keys_capacity) {
        return add_within(group, view, fingerprints, count, present, accepted);
    }
    lines_add(view, fingerprints, count, present);
    group->keys += count - count_set(present, nwords);
    fill(accepted, nwords);
    return false;
}

enum status replica_set_execute(struct replica_set *self, const struct filter_document *document,
                                const struct segment *segment, const uint64_t *fingerprints,
                                uint64_t *present, uint64_t *absent, bool *at_capacity)
{
    enum replica_state state = replica_set_state(self, segment->group);
    const struct lines_view view = {.geometry = self->geometry, .shards = self->shards};
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
        lines_check(&view, fingerprints, count, present);
        fill(absent, (count + 63) / 64);
    } else {
        *at_capacity = add(&self->groups[segment->group], &view, fingerprints, count, present,
                           absent);
    }
    vote(count, state == REPLICA_FULL, present, absent);
    return STATUS_OK;
}

/* Popcount evenly spaced pages of the group's shards, or all when they are few. */
static void sample(const struct replica_set *self, const struct filter_document *document,
                   uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    uint64_t pages = self->shard_bytes / PAGE_BYTES;
    uint64_t wanted = sample_lines / LINES_PER_PAGE /
                      (self->groups[group].nshards > 0 ? self->groups[group].nshards : 1);
    uint64_t take = wanted < 1 ? 1 : (wanted < pages ? wanted : pages);

    for (uint32_t shard = 0; shard < self->nshards; shard++) {
        if (document->content.group_of_shard[shard] != group) {
            continue;
        }
        for (uint64_t i = 0; i < take; i++) {
            const uint8_t *page = self->shards[shard] + i * pages / take * PAGE_BYTES;

            report->bits_set += lines_popcount(page, PAGE_BYTES);
            report->bits_seen += (uint64_t)PAGE_BYTES * 8;
        }
    }
}

static void show_progress(const struct replica_set *self, const struct replica_group *group,
                          struct replica_report *report)
{
    report->progress = 1.0;
    if (!replica_set_built(self)) {
        report->progress = (double)self->built_shards / (double)self->nshards;
    } else if (!self->loaded) {
        report->phase = PHASE_REPLAYING;
        report->progress = self->loaded_part;
    } else if (report->state == REPLICA_JOINING) {
        report->phase = PHASE_SYNCING;
        report->progress = group->copied;
        report->complete = group->complete;
    }
}

void replica_set_report(const struct replica_set *self, const struct filter_document *document,
                        uint32_t group, uint64_t sample_lines, struct replica_report *report)
{
    uint64_t bytes = self->groups[group].nshards * self->shard_bytes;

    report->filter_id = document->id;
    report->group = group;
    report->state = replica_set_state(self, group);
    report->bytes = bytes;
    report->keys = self->groups[group].keys;
    show_progress(self, &self->groups[group], report);
    if (sample_lines > 0 && replica_set_ready(self)) {
        double keys;

        sample(self, document, group, sample_lines, report);
        keys = (double)sizing_estimate_keys(report->bits_set, report->bits_seen, self->geometry.z);
        report->keys = (uint64_t)llround(keys * (double)bytes * 8 / (double)report->bits_seen);
    }
}
