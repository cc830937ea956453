/* The exact rate of lines under a Poisson load, and a search for the fewest lines that meet the
 * one asked for. Beside it the textbook's formulas, to compare with. */
#include "filter/sizing.h"

#include "filter/lines.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* Of the asked rate; the rest is for what the model leaves out. */
static const double rate_share = 0.9;
/* Of the rate of a single filter, over all ways to place its keys. */
static const double deviations = 4.0;
/* The same for the sum of two, which checks meet for a while, with a replica down. */
static const double mix_share = 0.94;
static const double mix_deviations = 2.0;
/* Above it a filter is all ones to within 1 in 5000, and e^-lambda comes near to 0. */
static const double lambda_high = 600.0;

/* How often a line lets an absent key pass: mean over lines, and mean of the square. */
struct passing {
    double mean;
    double square;
};

static double power_of_8(double x)
{
    x *= x;
    x *= x;
    return x * x;
}

/* The square needs the joint chance of two bits of one lane, as bits compete for keys:
 * E fill^2 = P(set) / 64 + P(both of two set) 63 / 64. */
static struct passing passing_of(double lambda)
{
    struct passing sum = {0.0, 0.0};
    double chance = exp(-lambda);
    double one_clear = 1.0; /* (63/64)^j: a given bit of a lane is clear. */
    double two_clear = 1.0; /* (62/64)^j: two given bits are. */
    double last = lambda + 40.0 * sqrt(lambda) + 40.0;

    if (lambda > lambda_high) {
        sum.mean = power_of_8(1.0 - exp(-lambda / 64.0));
        sum.square = sum.mean * sum.mean;
        return sum;
    }
    for (uint64_t j = 0; (double)j <= last; j++) {
        double set = 1.0 - one_clear;
        double both = 1.0 - 2.0 * one_clear + two_clear;

        sum.mean += chance * power_of_8(set);
        sum.square += chance * power_of_8(set / 64.0 + both * 63.0 / 64.0);
        chance *= lambda / (double)(j + 1);
        one_clear *= 63.0 / 64.0;
        two_clear *= 62.0 / 64.0;
    }
    return sum;
}

static double rate_of(double keys, double lines, uint32_t z)
{
    double mean = passing_of(z * keys / lines).mean;

    return z == 1 ? mean : mean * mean;
}

/* The deviation of a mean over `lines` lines; a square doubles a relative error. */
static double deviation_of(double keys, double lines, uint32_t z)
{
    struct passing passing = passing_of(z * keys / lines);
    double variance = fmax(passing.square - passing.mean * passing.mean, 0.0);
    double one = sqrt(variance / lines);

    return z == 1 ? one : 2.0 * passing.mean * one;
}

static bool suffices(double keys, double lines, uint32_t z, double rate)
{
    double expected = rate_of(keys, lines, z);

    return expected <= rate_share * rate &&
           expected + deviations * deviation_of(keys, lines, z) <= rate;
}

/* ---- two arrays ---- */

/* What an array gives to the sum. */
struct part {
    double rate;
    double deviation;
};

static struct part part_of(const struct sizing_array *array, uint64_t keys)
{
    double held = (double)(keys < array->capacity ? keys : array->capacity);
    double lines = (double)array->lines;

    return (struct part){.rate = rate_of(held, lines, array->z),
                         .deviation = deviation_of(held, lines, array->z)};
}

static bool adds_up(const struct part *a, const struct part *b, double rate)
{
    double sum = a->rate + b->rate;

    return sum <= mix_share * rate &&
           sum + mix_deviations * hypot(a->deviation, b->deviation) <= rate;
}

bool sizing_mixes(const struct sizing_array *a, const struct sizing_array *b, uint64_t keys,
                  double rate)
{
    struct part one = part_of(a, keys);
    struct part other = part_of(b, keys);

    return adds_up(&one, &other, rate);
}

uint64_t sizing_mix_keys(const struct sizing_array *a, const struct sizing_array *b, uint64_t most,
                         double rate)
{
    uint64_t low = 0;
    uint64_t high = most;

    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;

        if (sizing_mixes(a, b, middle, rate)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* A filter to be planned, and what it is read beside; NULL: nothing. */
struct wish {
    uint64_t keys;
    double rate;
    const struct sizing_mix *mix;
    struct part other; /* of the mix */
};

static bool is_met(const struct wish *wish, double lines, uint32_t z)
{
    const struct sizing_mix *mix = wish->mix;
    double held;
    struct part part;

    if (!suffices((double)wish->keys, lines, z, wish->rate)) {
        return false;
    }
    if (mix == NULL) {
        return true;
    }
    held = (double)(mix->keys < wish->keys ? mix->keys : wish->keys);
    part = (struct part){.rate = rate_of(held, lines, z),
                         .deviation = deviation_of(held, lines, z)};
    return adds_up(&wish->other, &part, mix->rate) ||
           part.rate <= (mix_share - rate_share) * mix->rate;
}

/* The fewest of what has so many lines, for each shard. */
static uint64_t fewest(const struct wish *wish, uint32_t z, double lines)
{
    uint64_t enough = 1;
    uint64_t short_of = 0;

    while (!is_met(wish, (double)enough * lines, z)) {
        short_of = enough;
        enough *= 2;
    }
    while (enough - short_of > 1) {
        uint64_t middle = short_of + (enough - short_of) / 2;

        if (is_met(wish, (double)middle * lines, z)) {
            enough = middle;
        } else {
            short_of = middle;
        }
    }
    return enough;
}

/* A shard may take three deviations more than its share of the keys, and one key: as a slot group
 * of its own, or while it grows. Of many keys that is next to nothing; where a shard has but few
 * lines it could be half as many keys again. */
static double most_keys(uint64_t keys, double shards)
{
    return (double)keys + 3.0 * sqrt((double)keys * (shards - 1.0)) + shards;
}

static uint64_t lines_for(const struct wish *wish, uint32_t z, double shards)
{
    uint64_t pages = fewest(wish, z, LINES_PER_PAGE * shards);
    struct wish full = *wish;
    uint64_t lines = LINES_PER_PAGE;

    full.keys = (uint64_t)ceil(most_keys(wish->keys, shards));
    if (z == 1 && pages == 1 && is_met(&full, LINES_PER_PAGE * shards, z)) {
        lines = fewest(&full, z, shards);
    }
    return pages * lines;
}

/* Equal sizes go to z = 1: one cache miss less. */
static void plan_wish(const struct wish *wish, uint32_t shard_bits, struct sizing_plan *plan)
{
    uint64_t shards = UINT64_C(1) << shard_bits;
    uint64_t single = lines_for(wish, 1, (double)shards);
    uint64_t paired = lines_for(wish, 2, (double)shards);

    plan->shard_bits = shard_bits;
    plan->z = paired < single ? 2 : 1;
    plan->lines = paired < single ? paired : single;
    plan->shard_bytes = plan->lines * LINE_BYTES;
    plan->total_bytes = plan->shard_bytes * shards;
    plan->bits_per_key = (double)plan->total_bytes * 8.0 / (double)wish->keys;
    plan->expected_rate = rate_of((double)wish->keys, (double)(plan->lines * shards), plan->z);
}

static void plan_fill(uint64_t keys, double rate, uint32_t shard_bits, struct sizing_plan *plan)
{
    const struct wish wish = {.keys = keys, .rate = rate};

    plan_wish(&wish, shard_bits, plan);
}

/* The fewest shards that keep one under the goal, within the limits. */
static uint32_t shard_bits_for(uint64_t max_capacity, double rate)
{
    struct sizing_plan whole;
    uint32_t shard_bits = SIZING_SHARD_BITS_MIN;

    plan_fill(max_capacity, rate, 0, &whole);
    while (shard_bits < SIZING_SHARD_BITS_MAX &&
           whole.total_bytes >> shard_bits > SIZING_SHARD_BYTES_GOAL) {
        shard_bits++;
    }
    return shard_bits;
}

/* Written so that a rate which is not a number fails. */
static bool in_range(uint64_t capacity, double rate)
{
    return capacity >= 1 && capacity <= SIZING_CAPACITY_MAX && rate >= SIZING_RATE_MIN &&
           rate <= SIZING_RATE_MAX;
}

enum status sizing_plan_make(const struct sizing_request *request, struct sizing_plan *plan)
{
    uint64_t max_capacity = request->max_capacity;

    if (!in_range(request->capacity, request->rate)) {
        return STATUS_INVALID;
    }
    if (max_capacity == 0) {
        max_capacity = request->capacity * SIZING_CAPACITY_GROWTH;
    }
    if (max_capacity < request->capacity ||
        max_capacity > SIZING_CAPACITY_MAX * SIZING_CAPACITY_GROWTH) {
        return STATUS_INVALID;
    }
    plan_fill(request->capacity, request->rate, shard_bits_for(max_capacity, request->rate), plan);
    return STATUS_OK;
}

enum status sizing_plan_generation(const struct sizing_request *request, uint32_t shard_bits,
                                   struct sizing_plan *plan)
{
    if (!in_range(request->capacity, request->rate) || shard_bits > SIZING_SHARD_BITS_MAX) {
        return STATUS_INVALID;
    }
    plan_fill(request->capacity, request->rate, shard_bits, plan);
    return STATUS_OK;
}

enum status sizing_plan_beside(const struct sizing_request *request, uint32_t shard_bits,
                               const struct sizing_mix *mix, struct sizing_plan *plan)
{
    struct wish wish = {.keys = request->capacity, .rate = request->rate, .mix = mix};

    if (!in_range(request->capacity, request->rate) || shard_bits > SIZING_SHARD_BITS_MAX) {
        return STATUS_INVALID;
    }
    wish.other = part_of(&mix->other, mix->keys);
    plan_wish(&wish, shard_bits, plan);
    return STATUS_OK;
}

double sizing_rate(uint64_t keys, uint64_t lines_total, uint32_t z)
{
    assert(lines_total > 0);
    assert(z == 1 || z == 2);
    return rate_of((double)keys, (double)lines_total, z);
}

uint64_t sizing_estimate_keys(uint64_t bits_set, uint64_t bits_total, uint32_t z)
{
    double lines = (double)(bits_total / LINE_BITS);
    double clear = (double)(bits_total - bits_set);

    assert(bits_total > 0 && bits_total % LINE_BITS == 0);
    assert(bits_set <= bits_total);
    assert(z == 1 || z == 2);

    /* A full array has no finite estimate: answer as if half a bit were clear. */
    clear = fmax(clear, 0.5);
    return (uint64_t)(-64.0 * log(clear / (double)bits_total) * lines / z + 0.5);
}

enum status sizing_classic_make(uint64_t capacity, double rate, struct sizing_classic *classic)
{
    const double ln2 = 0.69314718055994530942;
    double bits;

    if (!in_range(capacity, rate)) {
        return STATUS_INVALID;
    }
    bits = ceil(-(double)capacity * log(rate) / (ln2 * ln2));
    classic->bits = (uint64_t)bits;
    classic->bits_per_key = bits / (double)capacity;
    classic->hashes = (uint32_t)fmax(1.0, round(classic->bits_per_key * ln2));
    classic->rate = sizing_classic_rate(classic->bits_per_key, classic->hashes);
    return STATUS_OK;
}

double sizing_classic_rate(double bits_per_key, uint32_t hashes)
{
    assert(bits_per_key > 0.0 && hashes > 0);
    return pow(1.0 - exp(-(double)hashes / bits_per_key), hashes);
}
