/* Kept are sums from the shard's beginning to each leaf's, modulo 2^64: those of any range
 * are one subtraction, and no level above the leaves needs memory. */
#include "log/run_digest.h"

#include "base/heap.h"

#include <assert.h>
#include <xxhash.h>

struct run_digest {
    uint32_t shard_bits;
    uint32_t leaf_bits;
    uint64_t shard;
    bool finished;
    uint64_t leaf; /* under way: before[] is known up to it */
    uint64_t last; /* added last; any if sum.count is 0 */
    struct run_digest_range sum;
    struct run_digest_range before[]; /* all leaves below; 2^leaf_bits + 1 */
};

uint32_t run_digest_leaf_bits(uint64_t expected)
{
    uint32_t bits = 0;

    while (bits < RUN_DIGEST_LEAF_BITS && expected >> bits > RUN_DIGEST_LEAF_KEYS) {
        bits++;
    }
    return bits;
}

enum status run_digest_create(uint32_t shard_bits, uint64_t shard, uint32_t leaf_bits,
                              struct run_digest **out)
{
    struct run_digest *self;

    if (shard_bits > RUN_DIGEST_SHARD_BITS || leaf_bits > RUN_DIGEST_LEAF_BITS ||
        shard >> shard_bits != 0) {
        return STATUS_INVALID;
    }
    self = heap_zalloc(1, sizeof *self +
                              ((UINT64_C(1) << leaf_bits) + 1) * sizeof(struct run_digest_range));
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->shard_bits = shard_bits;
    self->shard = shard;
    self->leaf_bits = leaf_bits;
    *out = self;
    return STATUS_OK;
}

void run_digest_destroy(struct run_digest **digest)
{
    heap_free(*digest);
    *digest = NULL;
}

/* The top `bits` bits; two shifts, as it may be 0. */
static uint64_t top(uint64_t fingerprint, uint32_t bits)
{
    return (fingerprint >> 1) >> (63 - bits);
}

static void close_leaves(struct run_digest *self, uint64_t end)
{
    while (self->leaf < end) {
        self->before[++self->leaf] = self->sum;
    }
}

void run_digest_add(struct run_digest *self, const uint64_t *fingerprints, size_t count)
{
    uint64_t first_leaf = self->shard << self->leaf_bits;

    assert(!self->finished);
    for (size_t i = 0; i < count; i++) {
        uint64_t fingerprint = fingerprints[i];

        assert(top(fingerprint, self->shard_bits) == self->shard);
        assert(self->sum.count == 0 || fingerprint > self->last);
        close_leaves(self, top(fingerprint, self->shard_bits + self->leaf_bits) - first_leaf);
        self->sum.count++;
        self->sum.sum += XXH3_64bits_withSeed(&fingerprint, sizeof fingerprint, RUN_DIGEST_SEED);
        self->last = fingerprint;
    }
}

void run_digest_finish(struct run_digest *self)
{
    close_leaves(self, UINT64_C(1) << self->leaf_bits);
    self->finished = true;
}

uint32_t run_digest_levels(const struct run_digest *self)
{
    return (self->leaf_bits + RUN_DIGEST_LEVEL_BITS - 1) / RUN_DIGEST_LEVEL_BITS;
}

/* Bits that name a node of that level within the shard. */
static uint32_t bits_of(const struct run_digest *self, uint32_t level)
{
    uint32_t bits = level * RUN_DIGEST_LEVEL_BITS;

    return bits < self->leaf_bits ? bits : self->leaf_bits;
}

static bool exists(const struct run_digest *self, uint32_t level, uint64_t index)
{
    return level <= run_digest_levels(self) && index >> bits_of(self, level) == 0;
}

bool run_digest_bounds(const struct run_digest *self, uint32_t level, uint64_t index,
                       uint64_t *first, uint64_t *last)
{
    uint32_t bits;

    if (!exists(self, level, index)) {
        return false;
    }
    bits = bits_of(self, level);
    *first = bits + self->shard_bits == 0
                 ? 0
                 : (self->shard << bits | index) << (64 - bits - self->shard_bits);
    *last = *first + (UINT64_MAX >> 1 >> (bits + self->shard_bits)) * 2 + 1;
    return true;
}

static struct run_digest_range range(const struct run_digest *self, uint32_t bits, uint64_t index)
{
    uint32_t below = self->leaf_bits - bits;
    const struct run_digest_range *begin = &self->before[index << below];
    const struct run_digest_range *end = &self->before[(index + 1) << below];

    return (struct run_digest_range){.count = end->count - begin->count,
                                     .sum = end->sum - begin->sum};
}

bool run_digest_node(const struct run_digest *self, uint32_t level, uint64_t index,
                     struct run_digest_range *out)
{
    assert(self->finished);
    if (!exists(self, level, index)) {
        return false;
    }
    *out = range(self, bits_of(self, level), index);
    return true;
}

size_t run_digest_children(const struct run_digest *self, uint32_t level, uint64_t index,
                           struct run_digest_range out[RUN_DIGEST_FANOUT])
{
    uint32_t bits;
    uint32_t more;

    assert(self->finished);
    if (level >= run_digest_levels(self) || !exists(self, level, index)) {
        return 0;
    }
    bits = bits_of(self, level + 1);
    more = bits - bits_of(self, level);
    for (uint64_t i = 0; i < UINT64_C(1) << more; i++) {
        out[i] = range(self, bits, index << more | i);
    }
    return (size_t)1 << more;
}

uint64_t run_digest_short(struct run_digest_range range)
{
    const uint64_t words[] = {range.count, range.sum};

    return XXH3_64bits_withSeed(words, sizeof words, RUN_DIGEST_SEED);
}

uint64_t run_digest_differing(const struct run_digest_range *a, const struct run_digest_range *b,
                              size_t count)
{
    uint64_t bits = 0;

    assert(count <= RUN_DIGEST_FANOUT);
    for (size_t i = 0; i < count; i++) {
        bits |= (uint64_t)!run_digest_equal(a[i], b[i]) << i;
    }
    return bits;
}
