/* What runs cost on this machine: sorting, writing, reading, merging, an array built from a run, a
 * digest. Rounds are interleaved and their medians printed, as speeds of shared machines change.
 *
 *   runs DIR [--keys 4M] [--runs 8] [--rounds 5]
 *
 * Files are made in DIR/bench-runs, on whatever disk that is, and removed. Reading finds them in
 * the page cache.
 */
#include "base/heap.h"
#include "base/number.h"
#include "bench/median.h"
#include "filter/lines.h"
#include "log/run_digest.h"
#include "log/run_merge.h"
#include "runtime/disk_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS_MAX = 99,
    SHARD_BITS = 4,
    BITS_A_KEY = 10,
    CLUSTER = 1,
    BATCH = 4096,
    PIECE = 1 << 17
};

struct bench {
    struct disk *disk;
    uint64_t nkeys;
    uint64_t nruns;
    uint64_t nrounds;
    uint64_t *hashes; /* of nkeys keys, as they come */
    uint64_t *keys;   /* what is sorted; then sorted */
    uint64_t *spare;
    uint8_t *array;
    struct lines_view view;
    uint8_t *shards[1 << SHARD_BITS];
    struct record_run runs[RUN_MERGE_MAX];
    size_t nkept; /* of `keys` */
};

static double now_s(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t hash(uint64_t n)
{
    uint64_t value = (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static void need(enum status status, const char *what)
{
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "runs: %s: %s\n", what, status_meaning(status));
        exit(1);
    }
}

/* ---- what is measured; each returns keys a second ---- */

static double sort(struct bench *self)
{
    double start;

    memcpy(self->keys, self->hashes, self->nkeys * sizeof *self->keys);
    start = now_s();
    self->nkept = run_sort(self->keys, self->spare, self->nkeys);
    return (double)self->nkeys / (now_s() - start);
}

/* As a segment's are. */
static double sort_pieces(struct bench *self)
{
    double start;

    memcpy(self->keys, self->hashes, self->nkeys * sizeof *self->keys);
    start = now_s();
    for (uint64_t i = 0; i < self->nkeys; i += PIECE) {
        (void)run_sort(self->keys + i, self->spare,
                       self->nkeys - i < PIECE ? self->nkeys - i : PIECE);
    }
    return (double)self->nkeys / (now_s() - start);
}

static double sort_one_shard(struct bench *self)
{
    double start;

    for (uint64_t i = 0; i < self->nkeys; i++) {
        self->keys[i] = self->hashes[i] >> SHARD_BITS | UINT64_C(11) << (64 - SHARD_BITS);
    }
    start = now_s();
    (void)run_sort(self->keys, self->spare, self->nkeys);
    return (double)self->nkeys / (now_s() - start);
}

static void write_run(struct bench *self, struct record_run *run, const uint64_t *keys,
                      size_t count)
{
    struct run_writer *writer = NULL;

    need(run_writer_create(self->disk, CLUSTER, run, count, &writer), "a run can't be made");
    need(run_writer_add(writer, keys, count), "a run can't be written");
    need(run_writer_finish(writer, run), "a run can't be synced");
    run_writer_destroy(&writer);
}

static void drop(struct bench *self, uint64_t number)
{
    char name[DISK_NAME_BYTES];

    run_name(number, name);
    (void)self->disk->remove(self->disk->context, name);
}

/* After sort(): keys are the whole set, in order. */
static double write_one(struct bench *self)
{
    struct record_run run = {.number = RUN_MERGE_MAX};
    double start = now_s();
    double took;

    write_run(self, &run, self->keys, self->nkept);
    took = now_s() - start;
    drop(self, run.number);
    return (double)self->nkept / took;
}

/* Everything of all runs through a merge, into a run if `into` is not NULL. */
static double merge_runs(struct bench *self, size_t nruns, struct record_run *into)
{
    struct run_reader *readers[RUN_MERGE_MAX];
    struct run_merge *merge = NULL;
    struct run_writer *writer = NULL;
    uint64_t total = 0;
    size_t count = 1;
    double start = now_s();

    for (size_t i = 0; i < nruns; i++) {
        need(run_reader_create(self->disk, CLUSTER, &self->runs[i], &readers[i]), "open");
    }
    need(run_merge_create(readers, nruns, NULL, 0, &merge), "merge");
    if (into != NULL) {
        need(run_writer_create(self->disk, CLUSTER, into, self->runs[0].count, &writer), "create");
    }
    for (; count > 0; total += count) {
        need(run_merge_next(merge, self->spare, BATCH, &count), "a run can't be read");
        if (into != NULL) {
            need(run_writer_add(writer, self->spare, count), "a run can't be written");
        }
    }
    if (into != NULL) {
        need(run_writer_finish(writer, into), "a run can't be synced");
    }
    run_writer_destroy(&writer);
    run_merge_destroy(&merge);
    for (size_t i = 0; i < nruns; i++) {
        run_reader_destroy(&readers[i]);
    }
    return (double)total / (now_s() - start);
}

static double read_one(struct bench *self)
{
    return merge_runs(self, 1, NULL);
}

static double merge_all(struct bench *self)
{
    return merge_runs(self, self->nruns, NULL);
}

static double merge_and_write(struct bench *self)
{
    struct record_run run = {.number = RUN_MERGE_MAX};
    double rate = merge_runs(self, self->nruns, &run);

    drop(self, run.number);
    return rate;
}

static double build(struct bench *self, const uint64_t *keys, size_t count)
{
    uint64_t present[BATCH / 64];
    double start = now_s();

    for (size_t i = 0; i < count; i += BATCH) {
        lines_add(&self->view, keys + i, count - i < BATCH ? count - i : BATCH, present);
    }
    return (double)count / (now_s() - start);
}

static double build_sorted(struct bench *self)
{
    return build(self, self->keys, self->nkept);
}

static double build_unsorted(struct bench *self)
{
    return build(self, self->hashes, self->nkeys);
}

static double digest(struct bench *self)
{
    struct run_digest *made = NULL;
    double start = now_s();

    need(run_digest_create(0, 0, run_digest_leaf_bits(self->nkept), &made), "digest");
    run_digest_add(made, self->keys, self->nkept);
    run_digest_finish(made);
    run_digest_destroy(&made);
    return (double)self->nkept / (now_s() - start);
}

static const struct {
    const char *name;
    double (*run)(struct bench *self);
} rows[] = {
    {"sort, one shard of 16", sort_one_shard},
    {"sort, in pieces of 131,072", sort_pieces},
    {"sort, all shards", sort},
    {"write a run, synced", write_one},
    {"read a run, checked", read_one},
    {"merge runs", merge_all},
    {"merge runs into one, synced", merge_and_write},
    {"array from sorted fingerprints", build_sorted},
    {"array from unsorted ones", build_unsorted},
    {"digest", digest},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- around it ---- */

static void prepare(struct bench *self)
{
    uint64_t pages = self->nkeys * BITS_A_KEY / 8 / LINES_PAGE_BYTES / (1 << SHARD_BITS) + 1;
    uint64_t shard_bytes = pages * LINES_PAGE_BYTES;
    uint64_t each = self->nkeys / self->nruns;

    self->hashes = heap_pages_alloc(self->nkeys * sizeof *self->hashes, false);
    self->keys = heap_pages_alloc(self->nkeys * sizeof *self->keys, false);
    self->spare = heap_pages_alloc(self->nkeys * sizeof *self->spare, false);
    self->array = heap_pages_alloc(shard_bytes << SHARD_BITS, true);
    if (self->hashes == NULL || self->keys == NULL || self->spare == NULL || self->array == NULL) {
        need(STATUS_NOMEM, "fewer keys need less memory");
    }
    memset(self->spare, 1, self->nkeys * sizeof *self->spare);
    memset(self->array, 0, shard_bytes << SHARD_BITS);
    self->view = (struct lines_view){
        .geometry = {.seed = 1, .lines = pages * LINES_PER_PAGE, .z = 1, .shard_bits = SHARD_BITS},
        .shards = self->shards};
    for (size_t i = 0; i < 1 << SHARD_BITS; i++) {
        self->shards[i] = self->array + i * shard_bytes;
    }
    for (uint64_t i = 0; i < self->nkeys; i++) {
        self->hashes[i] = hash(i);
    }
    memcpy(self->keys, self->hashes, self->nkeys * sizeof *self->keys);
    for (uint64_t i = 0; i < self->nruns; i++) {
        uint64_t *keys = self->keys + i * each;

        self->runs[i] = (struct record_run){.number = i};
        write_run(self, &self->runs[i], keys, run_sort(keys, self->spare, each));
    }
}

static void measure(struct bench *self)
{
    static double rates[ROWS][ROUNDS_MAX];

    for (uint64_t round = 0; round < self->nrounds; round++) {
        for (size_t row = 0; row < ROWS; row++) {
            rates[row][round] = rows[row].run(self);
        }
    }
    printf("%" PRIu64 " fingerprints, %" PRIu64 " runs, median of %" PRIu64 " rounds\n\n",
           self->nkeys, self->nruns, self->nrounds);
    printf("%-32s %9s\n", "", "M keys/s");
    for (size_t row = 0; row < ROWS; row++) {
        printf("%-32s %9.1f\n", rows[row].name, spread_of(rates[row], self->nrounds).median / 1e6);
    }
}

static bool parse(int argc, char **argv, struct bench *self)
{
    for (int i = 2; i + 1 < argc; i += 2) {
        uint64_t *value = strcmp(argv[i], "--keys") == 0     ? &self->nkeys
                          : strcmp(argv[i], "--runs") == 0   ? &self->nruns
                          : strcmp(argv[i], "--rounds") == 0 ? &self->nrounds
                                                             : NULL;

        if (value == NULL || number_parse_count(argv[i + 1], value) != STATUS_OK) {
            return false;
        }
    }
    return argc >= 2 && argc % 2 == 0 && self->nruns >= 1 && self->nruns <= RUN_MERGE_MAX &&
           self->nrounds >= 1 && self->nrounds <= ROUNDS_MAX && self->nkeys >= BATCH &&
           self->nkeys <= UINT32_MAX;
}

int main(int argc, char **argv)
{
    static struct bench bench = {.nkeys = 4000000, .nruns = 8, .nrounds = 5};
    struct disk_files *files = NULL;
    char path[4096];
    char lock[sizeof path + sizeof "/lock"];

    if (!parse(argc, argv, &bench)) {
        (void)fprintf(stderr,
                      "usage: runs DIR [--keys 4M (4096 ..)] [--runs 8 (1 .. %d)] "
                      "[--rounds 5 (1 .. %d)]\n",
                      RUN_MERGE_MAX, ROUNDS_MAX);
        return 2;
    }
    (void)snprintf(path, sizeof path, "%s/bench-runs", argv[1]);
    need(disk_files_open(path, &files), path);
    bench.disk = disk_files_disk(files);
    prepare(&bench);
    measure(&bench);
    for (uint64_t i = 0; i < bench.nruns; i++) {
        drop(&bench, i);
    }
    disk_files_close(&files);
    (void)snprintf(lock, sizeof lock, "%s/lock", path);
    (void)unlink(lock);
    (void)rmdir(path);
    return 0;
}
