/* Fills one array, by the line kernel and as a classic Bloom filter, and times loops over both. */
#include "bench/kernel_array.h"

#include "base/heap.h"
#include "filter/sizing.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { DISTANCE = 64, CLASSIC_HASHES = 7 };

/* A bijection: key n is the number n, so keys of other numbers are absent. */
static uint64_t fingerprint_of(uint64_t n)
{
    uint64_t value = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct lines_view view_of(struct kernel_array *self, uint32_t z)
{
    return (struct lines_view){
        .geometry = {.seed = 1, .lines = self->lines, .z = z, .shard_bits = KERNEL_SHARD_BITS},
        .shards = self->shards};
}

/* The most keys that a plan of this size would take: 0.9 of the asked rate. */
static uint64_t capacity_of(const struct kernel_array *self, double rate, uint32_t z)
{
    uint64_t low = 0;
    uint64_t high = self->size_bytes * 8;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (sizing_rate(middle, self->lines * KERNEL_SHARDS, z) <= 0.9 * rate) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void fill(struct kernel_array *self, uint32_t z, uint64_t nkeys)
{
    struct lines_view view = view_of(self, z);
    uint64_t fingerprints[KERNEL_BATCH];
    uint64_t present[KERNEL_BATCH / 64];

    memset(self->array, 0, self->size_bytes);
    for (uint64_t done = 0; done < nkeys; done += KERNEL_BATCH) {
        size_t count = nkeys - done < KERNEL_BATCH ? (size_t)(nkeys - done) : KERNEL_BATCH;

        for (size_t i = 0; i < count; i++) {
            fingerprints[i] = fingerprint_of(done + i);
        }
        lines_add(&view, fingerprints, count, present);
    }
    self->next_key = nkeys;
}

/* Members at random places of the order of adding, each with an absent neighbour. Returns
 * whether query `i` is a member. */
static bool query_of(const struct kernel_array *self, uint64_t i, uint64_t *query)
{
    uint64_t random = fingerprint_of(~i);
    uint64_t member = random % self->nkeys;
    bool is_member = random >> 63;

    *query = fingerprint_of(is_member ? member : member + (UINT64_C(1) << 40));
    return is_member;
}

/* Kirsch and Mitzenmacher: two hashes make k. */
static uint64_t classic_bit(const struct kernel_array *self, uint64_t hash)
{
    __extension__ typedef unsigned __int128 uint128;

    return (uint64_t)(((uint128)hash * (self->size_bytes * 8)) >> 64);
}

static void classic_add(struct kernel_array *self, uint64_t hash)
{
    uint64_t step = fingerprint_of(hash) | 1;

    for (uint64_t i = 0; i < CLASSIC_HASHES; i++, hash += step) {
        uint64_t bit = classic_bit(self, hash);

        self->classic[bit / 8] |= (uint8_t)(1u << bit % 8);
    }
}

/* A word whose bits are set with a chance of share / 256: the share's digits from the lowest
 * on, each an AND or an OR with random bits. */
static uint64_t random_bits(unsigned share, uint64_t *state)
{
    uint64_t word = 0;

    for (unsigned digit = 0; digit < 8; digit++) {
        uint64_t random = fingerprint_of((*state)++);

        word = share >> digit & 1 ? word | random : word & random;
    }
    return word;
}

/* Adding a billion keys one by one takes minutes. In a big array bits as dense as all those
 * keys would leave them stand for the keys that nobody asks for. */
static void classic_fill(struct kernel_array *self)
{
    double background = (double)self->nkeys - KERNEL_QUERIES / 2;
    double clear = exp(-CLASSIC_HASHES * background / ((double)self->size_bytes * 8));
    uint64_t state = 0;
    uint64_t query;

    if (self->nkeys <= KERNEL_QUERIES) {
        for (uint64_t n = 0; n < self->nkeys; n++) {
            classic_add(self, fingerprint_of(n));
        }
        return;
    }
    for (uint64_t at = 0; at + 8 <= self->size_bytes; at += 8) {
        uint64_t word = random_bits((unsigned)(256 * (1 - clear)), &state);

        memcpy(self->classic + at, &word, sizeof word);
    }
    for (uint64_t i = 0; i < KERNEL_QUERIES; i++) {
        if (query_of(self, i, &query)) {
            classic_add(self, query);
        }
    }
}

static void prepare_newcomers(struct kernel_array *self)
{
    for (uint64_t i = 0; i < KERNEL_QUERIES; i++) {
        self->newcomers[i] = fingerprint_of(self->next_key++);
    }
}

/* The hint is the compiler's constant. */
__attribute__((always_inline)) static inline double run_limit(struct kernel_array *self,
                                                              const int hint)
{
    struct lines_view view = view_of(self, 1);
    const uint8_t *ring[DISTANCE] = {NULL};
    volatile uint64_t sink;
    uint64_t gathered = 0;
    double start = now_s();

    for (size_t i = 0; i < KERNEL_QUERIES + DISTANCE; i++) {
        const uint8_t **place = &ring[i % DISTANCE];
        uint64_t word;

        if (i >= DISTANCE) {
            memcpy(&word, *place, sizeof word);
            gathered |= word;
        }
        if (i < KERNEL_QUERIES) {
            uint64_t fingerprint = self->queries[i];

            *place = view.shards[lines_shard_index(KERNEL_SHARD_BITS, fingerprint)] +
                     lines_line_index(&view.geometry, fingerprint) * LINE_BYTES;
            if (hint == 2) {
                __builtin_prefetch(*place, 0, 2);
            } else {
                __builtin_prefetch(*place, 0, 3);
            }
        }
    }
    sink = gathered;
    (void)sink;
    return KERNEL_QUERIES / (now_s() - start);
}

double kernel_run_limit(struct kernel_array *self, int hint)
{
    return hint == 2 ? run_limit(self, 2) : run_limit(self, 3);
}

double kernel_run_classic(struct kernel_array *self)
{
    double start = now_s();

    for (size_t n = 0; n < KERNEL_QUERIES; n++) {
        uint64_t hash = self->queries[n];
        uint64_t step = fingerprint_of(hash) | 1;
        uint64_t all = 1;

        for (uint64_t i = 0; i < CLASSIC_HASHES && all; i++, hash += step) {
            uint64_t bit = classic_bit(self, hash);

            all = self->classic[bit / 8] >> bit % 8 & 1;
        }
        self->present[n / 64] |= all << n % 64;
    }
    return KERNEL_QUERIES / (now_s() - start);
}

double kernel_run_check(struct kernel_array *self, uint32_t z)
{
    struct lines_view view = view_of(self, z);
    double start = now_s();

    for (size_t n = 0; n < KERNEL_QUERIES; n += KERNEL_BATCH) {
        lines_check(&view, self->queries + n, KERNEL_BATCH, self->present + n / 64);
    }
    return KERNEL_QUERIES / (now_s() - start);
}

double kernel_run_add(struct kernel_array *self, uint32_t z)
{
    struct lines_view view = view_of(self, z);
    double start;

    prepare_newcomers(self);
    start = now_s();
    for (size_t n = 0; n < KERNEL_QUERIES; n += KERNEL_BATCH) {
        lines_add(&view, self->newcomers + n, KERNEL_BATCH, self->present + n / 64);
    }
    return KERNEL_QUERIES / (now_s() - start);
}

static double measure_rate(struct kernel_array *self, uint32_t z, uint64_t nprobes)
{
    struct lines_view view = view_of(self, z);
    uint64_t fingerprints[KERNEL_BATCH];
    uint64_t present[KERNEL_BATCH / 64];
    uint64_t hits = 0;

    nprobes = nprobes / KERNEL_BATCH * KERNEL_BATCH;
    for (uint64_t done = 0; done < nprobes; done += KERNEL_BATCH) {
        for (size_t i = 0; i < KERNEL_BATCH; i++) {
            fingerprints[i] = fingerprint_of(self->next_key + done + i);
        }
        lines_check(&view, fingerprints, KERNEL_BATCH, present);
        for (size_t i = 0; i < KERNEL_BATCH / 64; i++) {
            hits += (uint64_t)__builtin_popcountll(present[i]);
        }
    }
    return (double)hits / (double)nprobes;
}

enum status kernel_error_rate(struct kernel_array *self, unsigned index,
                              struct kernel_error_rate *out)
{
    static const struct {
        double rate;
        uint32_t z;
    } cases[KERNEL_ERROR_RATES] = {{0.01, 1}, {0.001, 1}, {0.001, 2}, {0.0001, 2}};
    double rate = cases[index].rate;
    uint32_t z = cases[index].z;
    uint64_t nkeys = capacity_of(self, rate, z);
    double nprobes = 5500 / rate > 1e7 ? 5500 / rate : 1e7;
    struct sizing_classic classic = {0};
    enum status status = sizing_classic_make(nkeys, rate, &classic);

    if (status != STATUS_OK) {
        return status;
    }
    fill(self, z, nkeys);
    *out = (struct kernel_error_rate){.asked = rate,
                                      .z = z,
                                      .bits_per_key = (double)self->size_bytes * 8 / (double)nkeys,
                                      .classic_bits_per_key = classic.bits_per_key,
                                      .model = sizing_rate(nkeys, self->lines * KERNEL_SHARDS, z),
                                      .measured = measure_rate(self, z, (uint64_t)nprobes)};
    return STATUS_OK;
}

void kernel_array_fini(struct kernel_array *self)
{
    heap_pages_free(self->array, self->size_bytes);
    heap_pages_free(self->classic, self->size_bytes);
    heap_free(self->queries);
    heap_free(self->newcomers);
    heap_free(self->present);
    *self = (struct kernel_array){0};
}

static bool allocate(struct kernel_array *self)
{
    self->array = heap_pages_alloc(self->size_bytes, true);
    self->classic = heap_pages_alloc(self->size_bytes, true);
    self->queries = heap_alloc(KERNEL_QUERIES, sizeof *self->queries);
    self->newcomers = heap_alloc(KERNEL_QUERIES, sizeof *self->newcomers);
    self->present = heap_zalloc(KERNEL_QUERIES / 64, sizeof *self->present);
    return self->array != NULL && self->classic != NULL && self->queries != NULL &&
           self->newcomers != NULL && self->present != NULL;
}

enum status kernel_array_init(struct kernel_array *self, uint64_t size_bytes)
{
    uint64_t pages = size_bytes / LINES_PAGE_BYTES / KERNEL_SHARDS;

    *self = (struct kernel_array){.asked_bytes = size_bytes};
    self->lines = (pages > 0 ? pages : 1) * LINES_PER_PAGE;
    self->size_bytes = self->lines * LINE_BYTES * KERNEL_SHARDS;
    if (!allocate(self)) {
        kernel_array_fini(self);
        return STATUS_NOMEM;
    }
    for (uint64_t i = 0; i < KERNEL_SHARDS; i++) {
        self->shards[i] = self->array + i * self->lines * LINE_BYTES;
    }
    self->nkeys = capacity_of(self, 0.01, 1);
    fill(self, 1, self->nkeys);
    for (uint64_t i = 0; i < KERNEL_QUERIES; i++) {
        (void)query_of(self, i, &self->queries[i]);
    }
    classic_fill(self);
    return STATUS_OK;
}
