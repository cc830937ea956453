/* The line kernel beside what bounds it and what it replaces, in interleaved rounds, since
 * memory is shared with other tenants and only the same minute compares:
 *   limit    one random line a key, fetched as the kernel does, one word of it read
 *   classic  k = 7 double-hashed bits in one array of the same size, key by key, stopping
 *            at the first clear bit
 *   kernel   lines_check and lines_add in batches, z = 1 and z = 2
 * Half of the keys looked up are present. Then bits a key, and rates measured at capacity.
 */
#include "base/heap.h"
#include "base/number.h"
#include "filter/lines.h"
#include "filter/sizing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 1024, QUERIES = 1 << 22, DISTANCE = 64, SHARD_BITS = 2, SHARDS = 4 };
enum { CLASSIC_HASHES = 7, ROUNDS_MAX = 99 };

/* Filters, of which one at a time uses the array, and the classic filter beside them. */
struct bench {
    uint64_t lines; /* Per shard. */
    uint64_t size_bytes;
    uint8_t *array;
    uint8_t *classic;
    uint8_t *shards[SHARDS];
    uint64_t *queries;   /* Every second one present. */
    uint64_t *newcomers; /* All absent, other ones in each round. */
    uint64_t *present;
    uint64_t next_key;
};

struct row {
    const char *name;
    double rates[ROUNDS_MAX]; /* Keys a second. */
};

enum row_id {
    ROW_LIMIT,
    ROW_LIMIT_L1,
    ROW_CLASSIC,
    ROW_CHECK,
    ROW_ADD,
    ROW_CHECK_2,
    ROW_ADD_2,
    NROWS
};

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

static struct lines_view view_of(struct bench *bench, uint32_t z)
{
    return (struct lines_view){
        .geometry = {.seed = 1, .lines = bench->lines, .z = z, .shard_bits = SHARD_BITS},
        .shards = bench->shards};
}

/* The most keys that a plan of this size would take: 0.9 of the asked rate. */
static uint64_t capacity_of(const struct bench *bench, double rate, uint32_t z)
{
    uint64_t low = 0;
    uint64_t high = bench->size_bytes * 8;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (sizing_rate(middle, bench->lines * SHARDS, z) <= 0.9 * rate) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static void fill(struct bench *bench, uint32_t z, uint64_t nkeys)
{
    struct lines_view view = view_of(bench, z);
    uint64_t fingerprints[BATCH];
    uint64_t present[BATCH / 64];

    memset(bench->array, 0, bench->size_bytes);
    for (uint64_t done = 0; done < nkeys; done += BATCH) {
        size_t count = nkeys - done < BATCH ? (size_t)(nkeys - done) : BATCH;

        for (size_t i = 0; i < count; i++) {
            fingerprints[i] = fingerprint_of(done + i);
        }
        lines_add(&view, fingerprints, count, present);
    }
    bench->next_key = nkeys;
}

static double measure_rate(struct bench *bench, uint32_t z, uint64_t nprobes)
{
    struct lines_view view = view_of(bench, z);
    uint64_t fingerprints[BATCH];
    uint64_t present[BATCH / 64];
    uint64_t hits = 0;

    nprobes = nprobes / BATCH * BATCH;
    for (uint64_t done = 0; done < nprobes; done += BATCH) {
        for (size_t i = 0; i < BATCH; i++) {
            fingerprints[i] = fingerprint_of(bench->next_key + done + i);
        }
        lines_check(&view, fingerprints, BATCH, present);
        for (size_t i = 0; i < BATCH / 64; i++) {
            hits += (uint64_t)__builtin_popcountll(present[i]);
        }
    }
    return (double)hits / (double)nprobes;
}

/* Members at random places of the order of adding, each with an absent neighbour. */
static void prepare_queries(struct bench *bench)
{
    for (uint64_t i = 0; i < QUERIES; i++) {
        uint64_t random = fingerprint_of(~i);
        uint64_t member = random % bench->next_key;

        bench->queries[i] = fingerprint_of(random >> 63 ? member : member + (UINT64_C(1) << 40));
    }
}

static void prepare_newcomers(struct bench *bench)
{
    for (uint64_t i = 0; i < QUERIES; i++) {
        bench->newcomers[i] = fingerprint_of(bench->next_key++);
    }
}

/* What the machine can do: no bits are derived, one word of the line is read. The hint is
 * the compiler's constant: 2 fetches into the second-level cache, 3 into the first. */
__attribute__((always_inline)) static inline double run_limit(struct bench *bench, const int hint)
{
    struct lines_view view = view_of(bench, 1);
    const uint8_t *ring[DISTANCE] = {NULL};
    volatile uint64_t sink;
    uint64_t gathered = 0;
    double start = now_s();

    for (size_t i = 0; i < QUERIES + DISTANCE; i++) {
        const uint8_t **place = &ring[i % DISTANCE];
        uint64_t word;

        if (i >= DISTANCE) {
            memcpy(&word, *place, sizeof word);
            gathered |= word;
        }
        if (i < QUERIES) {
            uint64_t fingerprint = bench->queries[i];

            *place = view.shards[lines_shard_index(SHARD_BITS, fingerprint)] +
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
    return QUERIES / (now_s() - start);
}

/* Kirsch and Mitzenmacher: two hashes make k. */
static uint64_t classic_bit(const struct bench *bench, uint64_t hash)
{
    __extension__ typedef unsigned __int128 uint128;

    return (uint64_t)(((uint128)hash * (bench->size_bytes * 8)) >> 64);
}

static void classic_fill(struct bench *bench, uint64_t nkeys)
{
    memset(bench->classic, 0, bench->size_bytes);
    for (uint64_t n = 0; n < nkeys; n++) {
        uint64_t hash = fingerprint_of(n);
        uint64_t step = fingerprint_of(hash) | 1;

        for (uint64_t i = 0; i < CLASSIC_HASHES; i++, hash += step) {
            uint64_t bit = classic_bit(bench, hash);

            bench->classic[bit / 8] |= (uint8_t)(1u << bit % 8);
        }
    }
}

static double run_classic(struct bench *bench)
{
    double start = now_s();

    for (size_t n = 0; n < QUERIES; n++) {
        uint64_t hash = bench->queries[n];
        uint64_t step = fingerprint_of(hash) | 1;
        uint64_t all = 1;

        for (uint64_t i = 0; i < CLASSIC_HASHES && all; i++, hash += step) {
            uint64_t bit = classic_bit(bench, hash);

            all = bench->classic[bit / 8] >> bit % 8 & 1;
        }
        bench->present[n / 64] |= all << n % 64;
    }
    return QUERIES / (now_s() - start);
}

static double run_check(struct bench *bench, uint32_t z)
{
    struct lines_view view = view_of(bench, z);
    double start = now_s();

    for (size_t n = 0; n < QUERIES; n += BATCH) {
        lines_check(&view, bench->queries + n, BATCH, bench->present + n / 64);
    }
    return QUERIES / (now_s() - start);
}

static double run_add(struct bench *bench, uint32_t z)
{
    struct lines_view view = view_of(bench, z);
    double start;

    prepare_newcomers(bench);
    start = now_s();
    for (size_t n = 0; n < QUERIES; n += BATCH) {
        lines_add(&view, bench->newcomers + n, BATCH, bench->present + n / 64);
    }
    return QUERIES / (now_s() - start);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, unsigned count)
{
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

/* z = 2 lookups run over lines that were filled for z = 1: to speed it is all the same,
 * as no branch looks at a bit. */
static void run_rounds(struct bench *bench, unsigned nrounds)
{
    static struct row rows[NROWS] = {{.name = "one random line (the limit)"},
                                     {.name = "... prefetched to L1, not L2"},
                                     {.name = "classic k=7 lookups"},
                                     {.name = "lookups"},
                                     {.name = "adds"},
                                     {.name = "lookups, z=2"},
                                     {.name = "adds, z=2"}};
    double limit;
    double classic;

    for (unsigned round = 0; round < nrounds; round++) {
        rows[ROW_LIMIT].rates[round] = run_limit(bench, 2);
        rows[ROW_LIMIT_L1].rates[round] = run_limit(bench, 3);
        rows[ROW_CHECK].rates[round] = run_check(bench, 1);
        rows[ROW_CLASSIC].rates[round] = run_classic(bench);
        rows[ROW_ADD].rates[round] = run_add(bench, 1);
        rows[ROW_CHECK_2].rates[round] = run_check(bench, 2);
        rows[ROW_ADD_2].rates[round] = run_add(bench, 2);
    }
    limit = median(rows[ROW_LIMIT].rates, nrounds);
    classic = median(rows[ROW_CLASSIC].rates, nrounds);
    printf("%-30s %9s %9s %9s\n", "", "M keys/s", "of limit", "x classic");
    for (unsigned i = 0; i < NROWS; i++) {
        double rate = median(rows[i].rates, nrounds);

        printf("%-30s %9.1f %7.0f %% %9.2f\n", rows[i].name, rate / 1e6, 100 * rate / limit,
               rate / classic);
    }
}

static void print_rates(struct bench *bench)
{
    static const struct {
        double rate;
        uint32_t z;
    } cases[] = {{0.01, 1}, {0.001, 1}, {0.001, 2}, {0.0001, 2}};

    printf("\n%-8s %3s %12s %11s %11s %11s\n", "asked", "z", "bits a key", "classic", "model",
           "measured");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double rate = cases[i].rate;
        uint64_t nkeys = capacity_of(bench, rate, cases[i].z);
        double nprobes = 5500 / rate > 1e7 ? 5500 / rate : 1e7;
        struct sizing_classic classic = {0};

        if (sizing_classic_make(nkeys, rate, &classic) != STATUS_OK) {
            continue;
        }
        fill(bench, cases[i].z, nkeys);
        printf("%6g %% %3u %12.2f %11.2f %9.5f %% %9.5f %%\n", rate * 100, cases[i].z,
               (double)bench->size_bytes * 8 / (double)nkeys, classic.bits_per_key,
               100 * sizing_rate(nkeys, bench->lines * SHARDS, cases[i].z),
               100 * measure_rate(bench, cases[i].z, (uint64_t)nprobes));
    }
}

static void bench_fini(struct bench *bench)
{
    heap_pages_free(bench->array, bench->size_bytes);
    heap_pages_free(bench->classic, bench->size_bytes);
    heap_free(bench->queries);
    heap_free(bench->newcomers);
    heap_free(bench->present);
}

static enum status bench_init(struct bench *bench, uint64_t size_bytes)
{
    uint64_t pages = size_bytes / LINES_PAGE_BYTES / SHARDS;

    memset(bench, 0, sizeof *bench);
    bench->lines = (pages > 0 ? pages : 1) * LINES_PER_PAGE;
    bench->size_bytes = bench->lines * LINE_BYTES * SHARDS;
    bench->array = heap_pages_alloc(bench->size_bytes, true);
    bench->classic = heap_pages_alloc(bench->size_bytes, true);
    bench->queries = heap_alloc(QUERIES, sizeof *bench->queries);
    bench->newcomers = heap_alloc(QUERIES, sizeof *bench->newcomers);
    bench->present = heap_zalloc(QUERIES / 64, sizeof *bench->present);
    if (bench->array == NULL || bench->classic == NULL || bench->queries == NULL ||
        bench->newcomers == NULL || bench->present == NULL) {
        bench_fini(bench);
        return STATUS_NOMEM;
    }
    for (uint64_t i = 0; i < SHARDS; i++) {
        bench->shards[i] = bench->array + i * bench->lines * LINE_BYTES;
    }
    return STATUS_OK;
}

static int usage(void)
{
    fprintf(stderr, "usage: kernel [--size-bytes 120M] [--rounds 5 (1 .. %d)]\n", ROUNDS_MAX);
    return 2;
}

int main(int argc, char **argv)
{
    struct bench bench;
    uint64_t size_bytes = 120000000;
    uint64_t nrounds = 5;
    uint64_t nkeys;

    for (int i = 1; i < argc; i += 2) {
        uint64_t *value = strcmp(argv[i], "--size-bytes") == 0 ? &size_bytes
                          : strcmp(argv[i], "--rounds") == 0   ? &nrounds
                                                               : NULL;

        if (value == NULL || i + 1 == argc || number_parse_count(argv[i + 1], value) != STATUS_OK) {
            return usage();
        }
    }
    if (nrounds < 1 || nrounds > ROUNDS_MAX || size_bytes < 1) {
        return usage();
    }
    if (bench_init(&bench, size_bytes) != STATUS_OK) {
        fprintf(stderr, "kernel: no memory for two arrays of %lu bytes\n", size_bytes);
        return 1;
    }
    nkeys = capacity_of(&bench, 0.01, 1);
    printf("%s, %lu bytes, %lu keys, batch %d, median of %lu\n\n", lines_implementation_name(),
           bench.size_bytes, nkeys, BATCH, nrounds);
    fill(&bench, 1, nkeys);
    classic_fill(&bench, nkeys);
    prepare_queries(&bench);
    run_rounds(&bench, (unsigned)nrounds);
    print_rates(&bench);
    bench_fini(&bench);
    return 0;
}
