/* The place of an operation, its memory, and its keys sorted into parts.
 *
 * One block holds everything that lives as long as the operation, so that a request costs one
 * allocation, or none: small blocks stay with their place for the next operation.
 */
#include "base/heap.h"
#include "router/private.h"

#include <assert.h>
#include <string.h>

enum {
    KEPT_BYTES = 4096,  /* a block no larger than this stays ... */
    KEPT_PLACES = 4096, /* ... with one of the first places, which are used most */
    ALIGNMENT = 8,
    PARKED_PART = 4,
};

/* ---- places ---- */

struct op *op_take(struct router *self)
{
    uint32_t place;

    if (self->nfree > 0) {
        place = self->free_ops[--self->nfree];
    } else if (self->nops < ROUTER_MAX_OPS) {
        place = self->nops++;
    } else {
        return NULL;
    }
    self->nused++;
    assert(!self->ops[place].used && self->nused + self->nfree == self->nops);
    self->ops[place] = (struct op){.used = true, .memory = self->ops[place].memory};
    return &self->ops[place];
}

struct op_memory op_memory_keep(struct op_memory memory, uint32_t place)
{
    if (memory.bytes <= KEPT_BYTES && place < KEPT_PLACES) {
        return memory;
    }
    heap_free(memory.block);
    return (struct op_memory){0};
}

bool op_may_park(const struct router *self, const struct op *op)
{
    return self->nparked < ROUTER_MAX_OPS / PARKED_PART &&
           self->parked_bytes + op->bytes <= self->config.max_inflight_bytes / PARKED_PART;
}

void op_park(struct router *self, struct op *op)
{
    assert(!op->parked && op->nopen == 0);
    op->parked = true;
    self->nparked++;
    self->parked_bytes += op->bytes;
    self->counters[ROUTER_adds_awaiting_sites] += op->operation == OPERATION_ADD ? op->count : 0;
}

void op_unpark(struct router *self, struct op *op)
{
    if (op->parked) {
        self->nparked--;
        self->parked_bytes -= op->bytes;
        self->counters[ROUTER_adds_awaiting_sites] -= op->operation == OPERATION_ADD ? op->count
                                                                                     : 0;
    }
    op->parked = false;
}

void op_end(struct router *self, struct op *op)
{
    uint32_t place = (uint32_t)(op - self->ops);

    assert(op->used && self->nused > 0 && self->inflight_bytes >= op->bytes);
    self->inflight_bytes -= op->bytes;
    limits_end(self, op->client.user, op->bytes);
    router_show_inflight(self);
    op_unpark(self, op);
    *op = (struct op){.memory = op_memory_keep(op->memory, place)};
    self->free_ops[self->nfree++] = place;
    self->nused--;
    assert(self->nused + self->nfree == self->nops);
}

void ops_fini(struct router *self)
{
    for (uint32_t i = 0; i < self->nops; i++) {
        heap_free(self->ops[i].memory.block);
    }
    heap_free(self->ops);
    heap_free(self->free_ops);
}

/* ---- memory ---- */

/* Where each array begins in the block; the fingerprints are first. */
struct layout {
    size_t sorted;
    size_t planes;
    size_t answer;
    size_t parts;
    size_t counts;
    size_t positions;
    size_t partners;
    size_t accepted;
    size_t ends;
    size_t bytes;
};

static size_t append(struct layout *self, size_t count, size_t size)
{
    size_t at = self->bytes;

    self->bytes += (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

/* With one group keys stay as they are: nothing to sort, and the part's verdict is the answer. */
static struct layout layout_of(uint32_t count, const struct epoch_content *content, bool pairs,
                               bool ends)
{
    bool sorts = content->ngroups > 1;
    size_t most = content->ngroups < count || ends ? content->ngroups : count;
    size_t nparts = most > 0 ? most : 1;            /* An empty batch is answered too. */
    size_t part_words = bits_words(count) + nparts; /* each part rounds up */
    struct layout layout = {0};

    (void)append(&layout, count, sizeof(uint64_t));
    layout.sorted = append(&layout, sorts ? count : 0, sizeof(uint64_t));
    layout.planes = append(&layout, part_words * (2 * (size_t)content->rule.replicas + 2),
                           sizeof(uint64_t));
    layout.answer = append(&layout, sorts ? 2 * bits_words(count) : 0, sizeof(uint64_t));
    layout.parts = append(&layout, nparts, sizeof(struct part));
    layout.counts = append(&layout, sorts ? content->ngroups : 0, sizeof(uint32_t));
    layout.positions = append(&layout, sorts ? count : 0, sizeof(uint32_t));
    layout.partners = append(&layout, pairs ? nparts * content->rule.replicas : 0,
                             sizeof(struct slot_ask));
    layout.accepted = append(&layout, pairs ? part_words * content->rule.replicas : 0,
                             sizeof(uint64_t));
    layout.ends = append(&layout, ends ? nparts * QUORUM_MAX_REPLICAS : 0,
                         sizeof(struct router_end));
    return layout;
}

enum status op_reserve(struct op *op, struct document_entry *entry)
{
    bool ends = op->operation == OPERATION_ENDS;
    bool pairs = !ends && pairs_in(entry);
    struct layout layout = layout_of(op->count, &entry->document.content, pairs, ends);
    struct op_memory *memory = &op->memory;

    if (layout.bytes > memory->bytes) {
        uint8_t *block = heap_alloc(layout.bytes, 1);

        if (block == NULL) {
            return STATUS_NOMEM;
        }
        /* Begun anew: the client's bytes are gone, what they were hashed to is all there is. */
        if (op->fingerprints != NULL) {
            memcpy(block, op->fingerprints, op->count * sizeof *op->fingerprints);
        }
        heap_free(memory->block);
        *memory = (struct op_memory){.block = block, .bytes = layout.bytes};
    }
    op->fingerprints = (uint64_t *)memory->block;
    op->sorted = (uint64_t *)(memory->block + layout.sorted);
    op->planes = (uint64_t *)(memory->block + layout.planes);
    op->answer = (uint64_t *)(memory->block + layout.answer);
    op->parts = (struct part *)(memory->block + layout.parts);
    op->counts = (uint32_t *)(memory->block + layout.counts);
    op->positions = (uint32_t *)(memory->block + layout.positions);
    op->partners = pairs ? (struct slot_ask *)(memory->block + layout.partners) : NULL;
    op->accepted = pairs ? (uint64_t *)(memory->block + layout.accepted) : NULL;
    op->ends = ends ? (struct router_end *)(memory->block + layout.ends) : NULL;
    return STATUS_OK;
}

/* ---- parts ---- */

/* Count keys by slot group, in op->counts. */
static void count_groups(struct op *op, const struct epoch_content *content)
{
    memset(op->counts, 0, content->ngroups * sizeof *op->counts);
    for (uint32_t i = 0; i < op->count; i++) {
        uint64_t shard = lines_shard_index(content->shard_bits, op->fingerprints[i]);

        op->counts[content->group_of_shard[shard]]++;
    }
}

/* Make a part of each group that has keys; the counts become the places of each group's next. */
static void make_parts(struct op *op, const struct epoch_content *content)
{
    uint32_t offset = 0;

    op->nparts = 0;
    for (uint32_t group = 0; group < content->ngroups; group++) {
        uint32_t count = op->counts[group];

        op->counts[group] = offset;
        if (count > 0) {
            op->parts[op->nparts++] = (struct part){
                .group = group,
                .count = count,
                .fingerprints = op->sorted + offset,
                .positions = op->positions + offset,
            };
            offset += count;
        }
    }
}

/* Stably: keys of a part stay in the client's order. */
static void sort_by_group(struct op *op, const struct epoch_content *content)
{
    for (uint32_t i = 0; i < op->count; i++) {
        uint64_t shard = lines_shard_index(content->shard_bits, op->fingerprints[i]);
        uint32_t at = op->counts[content->group_of_shard[shard]]++;

        op->sorted[at] = op->fingerprints[i];
        op->positions[at] = i;
    }
}

/* Planes of all slots and of the verdict, for every part. */
static void share_planes(struct op *op, uint32_t replicas)
{
    uint64_t *words = op->planes;

    for (uint32_t i = 0; i < op->nparts; i++) {
        struct part *part = &op->parts[i];
        size_t nwords = bits_words(part->count);

        part->planes = words;
        part->present = words + 2 * (size_t)replicas * nwords;
        part->absent = part->present + nwords;
        words = part->absent + nwords;
    }
}

/* The other halves of pairs, for every part. */
static void share_partners(struct op *op, uint32_t replicas)
{
    uint64_t *words = op->accepted;

    memset(op->partners, 0, (size_t)op->nparts * replicas * sizeof *op->partners);
    for (uint32_t i = 0; i < op->nparts; i++) {
        op->parts[i].partners = op->partners + (size_t)i * replicas;
        op->parts[i].accepted = words;
        words += replicas * bits_words(op->parts[i].count);
    }
}

/* Of every slot group, without a key. */
static void make_empty_parts(struct op *op, const struct epoch_content *content)
{
    op->nparts = content->ngroups;
    for (uint32_t group = 0; group < content->ngroups; group++) {
        op->parts[group] = (struct part){.group = group, .fingerprints = op->fingerprints};
    }
}

static uint64_t keys_in_parts(const struct op *op)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < op->nparts; i++) {
        count += op->parts[i].count;
    }
    return count;
}

void op_split(struct op *op, const struct epoch_content *content)
{
    if (op->operation == OPERATION_ENDS) {
        make_empty_parts(op, content);
    } else if (content->ngroups > 1) {
        count_groups(op, content);
        make_parts(op, content);
        sort_by_group(op, content);
    } else {
        op->nparts = 1; /* Of an empty batch, too. */
        op->parts[0] = (struct part){.count = op->count, .fingerprints = op->fingerprints};
    }
    assert(keys_in_parts(op) == op->count);
    share_planes(op, content->rule.replicas);
    if (op->partners != NULL) {
        share_partners(op, content->rule.replicas);
    }
}
