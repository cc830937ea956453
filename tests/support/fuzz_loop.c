#include "tests/support/fuzz_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int fuzz_loop(const char *name, int argc, char **argv, fuzz_try_fn *try_one, void *context)
{
    unsigned long failed = 0;
    unsigned long count;
    uint64_t seed;

    if (argc != 3) {
        (void)fprintf(stderr, "usage: %s SEED COUNT\n", name);
        return 2;
    }
    seed = strtoull(argv[1], NULL, 0);
    count = strtoul(argv[2], NULL, 0);
    for (unsigned long i = 0; i < count; i++) {
        if (!try_one(context, seed + i)) {
            (void)printf("failed: %s %" PRIu64 " 1\n", name, seed + i);
            failed++;
        }
    }
    (void)printf("%lu passed, %lu failed\n", count - failed, failed);
    return failed == 0 && count > 0 ? 0 : 1;
}
