/* Which digests a stretch of a copy is offered by, and which of its keys need not be sent. */
#include "link/sent/round.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "log/run_digest.h"

#include <assert.h>
#include <string.h>

_Static_assert((int)RUN_DIGEST_FANOUT == (int)PULL_PARTS, "a range has as many parts everywhere");

void round_clear(struct round *self)
{
    heap_free(self->keys);
    heap_free(self->prefixes);
    heap_free(self->digests);
    *self = (struct round){0};
}

void round_leave(struct round *self)
{
    self->state = ROUND_LEFT;
    self->nprefixes = 0;
}

/* ---- ranges ---- */

/* The top `bits` bits; two shifts, as it may be 0. */
static uint64_t prefix_of(uint64_t key, uint32_t bits)
{
    return (key >> 1) >> (63 - bits);
}

static uint64_t last_of(uint64_t prefix, uint32_t bits)
{
    return bits == 0 ? UINT64_MAX : prefix << (64 - bits) | (UINT64_MAX >> bits);
}

/* As long as parts of the next longer ones would have enough, too. */
uint32_t round_bits(uint64_t first, uint64_t last, size_t nkeys, uint32_t shard_bits,
                    uint32_t least)
{
    double whole = (double)nkeys / ((double)(last - first) + 1) * 0x1p64;
    uint32_t bits = 0;

    assert(first <= last && shard_bits <= PULL_MAX_PARENT_BITS);
    while (bits < PULL_MAX_PARENT_BITS &&
           (bits < shard_bits || whole >= 2.0 * PULL_PARTS * ROUND_PART_KEYS)) {
        bits++;
        whole /= 2;
    }
    return whole < (double)least ? ROUND_UNOFFERED : bits;
}

/* The first key behind the range that the one at `at` is in. */
static size_t end_of_range(const struct round *self, uint32_t bits, size_t at)
{
    uint64_t last = last_of(prefix_of(self->keys[at], bits), bits);
    size_t low = at;

    for (size_t high = self->nkeys; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (self->keys[middle] <= last) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- gathering ---- */

bool round_gather(struct round *self, const uint64_t *keys, size_t count)
{
    assert(self->state == ROUND_GATHERS);
    assert(count == 0 || self->nkeys == 0 || keys[0] > self->keys[self->nkeys - 1]);
    if (!heap_grow(&self->keys, &self->room, self->nkeys + count + 1, sizeof *self->keys)) {
        return false;
    }
    if (count > 0) {
        memcpy(self->keys + self->nkeys, keys, count * sizeof *keys);
        self->nkeys += count;
    }
    return true;
}

/* ---- offers ---- */

/* Of the keys from `from` to `end`, which are those of one range. */
static bool add_digests(struct round *self, size_t from, size_t end)
{
    struct run_digest_range parts[PULL_PARTS];
    struct run_digest *digest;
    uint64_t prefix = prefix_of(self->keys[from], self->bits);

    if (run_digest_create(self->bits, prefix, PULL_PART_BITS, &digest) != STATUS_OK) {
        return false;
    }
    run_digest_add(digest, self->keys + from, end - from);
    run_digest_finish(digest);
    (void)run_digest_children(digest, 0, 0, parts);
    for (size_t i = 0; i < PULL_PARTS; i++) {
        self->digests[self->nprefixes * PULL_PARTS + i] = run_digest_short(parts[i]);
    }
    self->prefixes[self->nprefixes++] = prefix;
    run_digest_destroy(&digest);
    return true;
}

static size_t count_ranges(const struct round *self, uint32_t bits)
{
    size_t count = 0;

    for (size_t at = 0; at < self->nkeys; at = end_of_range(self, bits, at)) {
        count++;
    }
    return count;
}

/* Unless memory is out, or they are too many for one offer. */
static void offer(struct round *self, uint32_t bits)
{
    size_t count = count_ranges(self, bits);
    bool done = count <= SITE_MAX_OFFERED &&
                heap_grow(&self->prefixes, &self->prefixes_room, count + 1,
                          sizeof *self->prefixes) &&
                heap_grow(&self->digests, &self->digests_room, count * PULL_PARTS + 1,
                          sizeof *self->digests);

    self->state = ROUND_OFFERED;
    self->bits = bits;
    self->nprefixes = 0;
    for (size_t at = 0, end; done && at < self->nkeys; at = end) {
        end = end_of_range(self, bits, at);
        done = add_digests(self, at, end);
    }
    if (!done) {
        round_leave(self);
    }
}

/* How many keys are in the first `most` ranges that end at `last` or before. */
static size_t count_whole(const struct round *self, uint32_t bits, uint32_t most, uint64_t last)
{
    size_t whole = 0;

    for (size_t count = 0; whole < self->nkeys && count < most &&
                           last_of(prefix_of(self->keys[whole], bits), bits) <= last;
         count++) {
        whole = end_of_range(self, bits, whole);
    }
    return whole;
}

bool round_close(struct round *self, uint32_t bits, uint32_t least, uint32_t most, uint64_t last,
                 struct round *rest)
{
    size_t whole = bits == ROUND_UNOFFERED ? 0 : count_whole(self, bits, most, last);

    assert(most > 0 && most <= SITE_MAX_OFFERED);
    assert(self->state == ROUND_GATHERS && rest->nkeys == 0 && rest->state == ROUND_GATHERS);
    if (whole == 0) {
        round_leave(self);
        return true;
    }
    if (!round_gather(rest, self->keys + whole, self->nkeys - whole)) {
        return false;
    }
    self->nkeys = self->total = whole;
    self->least = least;
    offer(self, bits);
    return true;
}

/* ---- answers ---- */

static bool is_held(const struct round *self, const uint64_t *held, size_t range, uint64_t key)
{
    uint64_t part = prefix_of(key, self->bits + PULL_PART_BITS) & (PULL_PARTS - 1);

    return (held[range] >> part & 1) != 0 || MUTANT(SITE_HELD_OR_NOT);
}

static void drop_held(struct round *self, const uint64_t *held)
{
    size_t kept = 0;
    size_t range = 0;

    for (size_t i = 0; i < self->nkeys; i++) {
        uint64_t prefix = prefix_of(self->keys[i], self->bits);

        range += prefix != self->prefixes[range];
        assert(range < self->nprefixes && prefix == self->prefixes[range]);
        if (!is_held(self, held, range, self->keys[i])) {
            self->keys[kept++] = self->keys[i];
        }
    }
    self->nkeys = kept;
}

/* Are the parts that differ to be offered in 64 parts each? They are the ranges then. */
static bool is_worth_more(const struct round *self)
{
    uint32_t bits = self->bits + PULL_PART_BITS;

    return self->nkeys > 0 && bits <= PULL_MAX_PARENT_BITS &&
           self->nkeys / count_ranges(self, bits) >= self->least;
}

void round_take(struct round *self, const uint64_t *held)
{
    assert(self->state == ROUND_OFFERED);
    drop_held(self, held);
    if (is_worth_more(self)) {
        offer(self, self->bits + PULL_PART_BITS);
    } else {
        round_leave(self);
    }
}
