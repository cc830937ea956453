/* The line kernel beside what bounds it and what it replaces, in interleaved rounds over all
 * sizes, since memory is shared with other tenants and only the same minute compares:
 *   limit    one random line a key
 *   classic  k = 7 double-hashed bits in one array of the same size
 *   line     lines_check and lines_add in batches, z = 1 and z = 2
 * and batches between sites, which are encoded and read, of five sizes.
 * Then, with --rates, bits a key and rates measured at capacity in the first size.
 * --json prints a line for each row and round, as bench/rows.h reads them, and no table.
 */
#include "base/number.h"
#include "bench/kernel_array.h"
#include "bench/kernel_batch.h"
#include "bench/median.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 99, SIZES_MAX = 8, KINDS = 7 };

struct settings {
    uint64_t sizes[SIZES_MAX];
    size_t nsizes;
    uint64_t rounds;
    bool json;
    bool rates;
};

static const struct {
    const char *name;
    const char *method;
    const char *op;
    uint32_t z;
} kinds[KINDS] = {
    {"one random line (the limit)", "limit", "check", 1},
    {"... prefetched to L1, not L2", "limit-l1", "check", 1},
    {"lookups", "line", "check", 1},
    {"classic k=7 lookups", "classic", "check", 1},
    {"adds", "line", "add", 1},
    {"lookups, z=2", "line", "check", 2},
    {"adds, z=2", "line", "add", 2},
};

enum { KIND_LIMIT = 0, KIND_CLASSIC = 3 };

static double rates[SIZES_MAX][KINDS][ROUNDS_MAX]; /* Keys a second. */

static struct kernel_batches batches[KERNEL_BATCH_SIZES];
static double encoded[KERNEL_BATCH_SIZES][ROUNDS_MAX]; /* Keys a second. */
static double decoded[KERNEL_BATCH_SIZES][ROUNDS_MAX];

/* z = 2 lookups run over lines that were filled for z = 1: to speed it is all the same,
 * as no branch looks at a bit. */
static double run_kind(struct kernel_array *array, size_t kind)
{
    switch (kind) {
    case KIND_LIMIT:
        return kernel_run_limit(array, 2);
    case KIND_LIMIT + 1:
        return kernel_run_limit(array, 3);
    case KIND_CLASSIC:
        return kernel_run_classic(array);
    default:
        return strcmp(kinds[kind].op, "add") == 0 ? kernel_run_add(array, kinds[kind].z)
                                                  : kernel_run_check(array, kinds[kind].z);
    }
}

static void print_json(const struct kernel_array *array, size_t kind, uint64_t round, double rate)
{
    printf("{\"round\": %" PRIu64 ", \"target\": \"kernel\", \"method\": \"%s\", \"op\": \"%s\", "
           "\"z\": %" PRIu32 ", \"batch\": %d, \"in_flight\": 1, \"size\": %" PRIu64
           ", \"keys\": %d, \"keys_per_s\": %.9g}\n",
           round, kinds[kind].method, kinds[kind].op, kinds[kind].z, KERNEL_BATCH,
           array->asked_bytes, KERNEL_QUERIES, rate);
    (void)fflush(stdout);
}

static void print_batch_json(const struct kernel_batches *batch, const char *op, uint64_t round,
                             double rate)
{
    printf("{\"round\": %" PRIu64 ", \"target\": \"kernel\", \"method\": \"site batch\", "
           "\"op\": \"%s\", \"batch\": %zu, \"in_flight\": 1, \"size\": 0, "
           "\"keys\": %zu, \"keys_per_s\": %.9g, \"bits_per_key\": %.9g, \"value\": %.9g, "
           "\"unit\": \"B\"}\n",
           round, op, batch->list_keys, batch->nlists * batch->list_keys, rate,
           8 * batch->code_bytes, batch->batch_bytes);
    (void)fflush(stdout);
}

static void run_batches(uint64_t round, bool json)
{
    for (size_t i = 0; i < KERNEL_BATCH_SIZES; i++) {
        encoded[i][round] = kernel_batches_encode(&batches[i]);
        decoded[i][round] = kernel_batches_decode(&batches[i]);
        if (json) {
            print_batch_json(&batches[i], "encode", round + 1, encoded[i][round]);
            print_batch_json(&batches[i], "decode", round + 1, decoded[i][round]);
        }
    }
}

static void run_rounds(struct kernel_array *arrays, const struct settings *settings)
{
    for (uint64_t round = 0; round < settings->rounds; round++) {
        for (size_t s = 0; s < settings->nsizes; s++) {
            for (size_t kind = 0; kind < KINDS; kind++) {
                double rate = run_kind(&arrays[s], kind);

                rates[s][kind][round] = rate;
                if (settings->json) {
                    print_json(&arrays[s], kind, round + 1, rate);
                }
            }
        }
        run_batches(round, settings->json);
    }
}

static void print_table(const struct kernel_array *array, double values[KINDS][ROUNDS_MAX],
                        uint64_t nrounds)
{
    double limit = spread_of(values[KIND_LIMIT], nrounds).median;
    double classic = spread_of(values[KIND_CLASSIC], nrounds).median;

    printf("%s, %" PRIu64 " bytes, %" PRIu64 " keys, batch %d, median of %" PRIu64 "\n\n",
           lines_implementation_name(), array->size_bytes, array->nkeys, KERNEL_BATCH, nrounds);
    printf("%-30s %9s %9s %9s\n", "", "M keys/s", "of limit", "x classic");
    for (size_t kind = 0; kind < KINDS; kind++) {
        double rate = spread_of(values[kind], nrounds).median;

        printf("%-30s %9.1f %7.0f %% %9.2f\n", kinds[kind].name, rate / 1e6, 100 * rate / limit,
               rate / classic);
    }
    printf("\n");
}

static void print_batches(uint64_t nrounds)
{
    printf("%-30s %9s %9s %9s %9s\n", "site batch, keys", "code, B", "all, B", "encode", "decode");
    for (size_t i = 0; i < KERNEL_BATCH_SIZES; i++) {
        printf("%-30zu %9.3f %9.3f %9.1f %9.1f\n", batches[i].list_keys, batches[i].code_bytes,
               batches[i].batch_bytes, spread_of(encoded[i], nrounds).median / 1e6,
               spread_of(decoded[i], nrounds).median / 1e6);
    }
    printf("\n");
}

static enum status print_rates(struct kernel_array *array, bool json)
{
    if (!json) {
        printf("%-8s %3s %12s %11s %11s %11s\n", "asked", "z", "bits a key", "classic", "model",
               "measured");
    }
    for (unsigned i = 0; i < KERNEL_ERROR_RATES; i++) {
        struct kernel_error_rate rate;
        enum status status = kernel_error_rate(array, i, &rate);

        if (status != STATUS_OK) {
            return status;
        }
        if (json) {
            printf("{\"round\": 1, \"target\": \"kernel\", \"op\": \"rate\", \"size\": %" PRIu64
                   ", \"z\": %" PRIu32 ", \"asked_rate\": %.9g, \"bits_per_key\": %.9g, "
                   "\"classic_bits_per_key\": %.9g, \"model_rate\": %.9g, "
                   "\"measured_rate\": %.9g}\n",
                   array->asked_bytes, rate.z, rate.asked, rate.bits_per_key,
                   rate.classic_bits_per_key, rate.model, rate.measured);
        } else {
            printf("%6g %% %3" PRIu32 " %12.2f %11.2f %9.5f %% %9.5f %%\n", rate.asked * 100,
                   rate.z, rate.bits_per_key, rate.classic_bits_per_key, 100 * rate.model,
                   100 * rate.measured);
        }
    }
    return STATUS_OK;
}

static int usage(void)
{
    (void)fprintf(stderr,
                  "usage: kernel [--size-bytes 120M[,1M...] (1 .. %d sizes)] "
                  "[--rounds 5 (1 .. %d)] [--rates] [--json]\n",
                  SIZES_MAX, ROUNDS_MAX);
    return 2;
}

/* "120M,1M" */
static bool parse_sizes(char *text, struct settings *settings)
{
    settings->nsizes = 0;
    for (char *word = strtok(text, ","); word != NULL; word = strtok(NULL, ",")) {
        if (settings->nsizes == SIZES_MAX ||
            number_parse_count(word, &settings->sizes[settings->nsizes]) != STATUS_OK ||
            settings->sizes[settings->nsizes] < 1) {
            return false;
        }
        settings->nsizes++;
    }
    return settings->nsizes > 0;
}

static bool parse(int argc, char **argv, struct settings *settings)
{
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        bool good = true;

        if (strcmp(argv[i], "--json") == 0) {
            settings->json = true;
        } else if (strcmp(argv[i], "--rates") == 0) {
            settings->rates = true;
        } else if (strcmp(argv[i], "--size-bytes") == 0 && has_value) {
            good = parse_sizes(argv[++i], settings);
        } else if (strcmp(argv[i], "--rounds") == 0 && has_value) {
            good = number_parse_count(argv[++i], &settings->rounds) == STATUS_OK;
        } else {
            good = false;
        }
        if (!good) {
            return false;
        }
    }
    return settings->rounds >= 1 && settings->rounds <= ROUNDS_MAX;
}

int main(int argc, char **argv)
{
    struct settings settings = {.sizes = {120000000}, .nsizes = 1, .rounds = 5};
    struct kernel_array arrays[SIZES_MAX] = {0};
    enum status status = STATUS_OK;

    if (!parse(argc, argv, &settings)) {
        return usage();
    }
    for (size_t s = 0; s < settings.nsizes && status == STATUS_OK; s++) {
        status = kernel_array_init(&arrays[s], settings.sizes[s]);
    }
    for (size_t i = 0; i < KERNEL_BATCH_SIZES && status == STATUS_OK; i++) {
        status = kernel_batches_init(&batches[i], i);
    }
    if (status == STATUS_OK) {
        run_rounds(arrays, &settings);
        for (size_t s = 0; s < settings.nsizes && !settings.json; s++) {
            print_table(&arrays[s], rates[s], settings.rounds);
        }
        if (!settings.json) {
            print_batches(settings.rounds);
        }
        if (settings.rates) {
            status = print_rates(&arrays[0], settings.json);
        }
    }
    for (size_t s = 0; s < settings.nsizes; s++) {
        kernel_array_fini(&arrays[s]);
    }
    for (size_t i = 0; i < KERNEL_BATCH_SIZES; i++) {
        kernel_batches_fini(&batches[i]);
    }
    if (status != STATUS_OK) {
        (void)fprintf(stderr, "kernel: %s; two arrays of each size must fit into memory\n",
                      status_meaning(status));
    }
    return status == STATUS_OK ? 0 : 1;
}
