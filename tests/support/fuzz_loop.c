/* Runs a fuzz program's inputs one after the other, or lets libFuzzer choose them. */
#include "tests/support/fuzz_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_seeds(const struct fuzz_target *target, uint64_t seed, unsigned long count)
{
    unsigned long failed = 0;
    struct buffer input;

    buffer_init(&input, FUZZ_INPUT_BYTES);
    for (unsigned long i = 0; i < count; i++) {
        buffer_clear(&input);
        target->make(target->context, seed + i, &input);
        if (!target->try_input(target->context, buffer_span(&input))) {
            (void)printf("failed: %s %" PRIu64 " 1\n", target->name, seed + i);
            failed++;
        }
    }
    buffer_fini(&input);
    (void)printf("%lu passed, %lu failed\n", count - failed, failed);
    return failed == 0 && count > 0 ? 0 : 1;
}

static bool write_input(const char *folder, unsigned long number, struct span input)
{
    char path[4096];
    FILE *file;
    bool written;

    (void)snprintf(path, sizeof path, "%s/made-%lu", folder, number);
    file = fopen(path, "wb");
    written = file != NULL && fwrite(input.data, 1, input.size, file) == input.size;
    return file != NULL && fclose(file) == 0 && written;
}

static int write_corpus(const struct fuzz_target *target, const char *folder, unsigned long count)
{
    bool good = true;
    struct buffer input;

    buffer_init(&input, FUZZ_INPUT_BYTES);
    for (unsigned long i = 1; good && i <= count; i++) {
        buffer_clear(&input);
        target->make(target->context, i, &input);
        good = write_input(folder, i, buffer_span(&input));
    }
    buffer_fini(&input);
    if (!good) {
        perror(folder);
    }
    return good ? 0 : 1;
}

#ifdef ORBLOOM_GUIDED
/* Of libFuzzer, which has no header for C; it calls the last one. */
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*try_bytes)(const uint8_t *, size_t));
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed);

static const struct fuzz_target *guided;

static int try_bytes(const uint8_t *bytes, size_t size)
{
    if (!guided->try_input(guided->context, span_of(bytes, size))) {
        (void)fprintf(stderr, "%s: a promise is broken\n", guided->name);
        abort();
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed)
{
    return guided->bend == NULL || seed % 2 == 0
               ? LLVMFuzzerMutate(bytes, size, most)
               : guided->bend(guided->context, seed, bytes, size, most);
}

static int search(const struct fuzz_target *target, int argc, char **argv)
{
    guided = target;
    return LLVMFuzzerRunDriver(&argc, &argv, try_bytes);
}
#else
static int search(const struct fuzz_target *target, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)fprintf(stderr, "%s: built without libFuzzer; see `make fuzz-short`\n", target->name);
    return 2;
}
#endif

int fuzz_loop(const struct fuzz_target *target, int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "--guided") == 0) {
        argv[1] = argv[0];
        return search(target, argc - 1, argv + 1);
    }
    if (argc == 4 && strcmp(argv[1], "--corpus") == 0) {
        return write_corpus(target, argv[2], strtoul(argv[3], NULL, 0));
    }
    if (argc != 3) {
        (void)fprintf(stderr, "usage: %s SEED COUNT | --corpus FOLDER COUNT | --guided ...\n",
                      target->name);
        return 2;
    }
    return run_seeds(target, strtoull(argv[1], NULL, 0), strtoul(argv[2], NULL, 0));
}
