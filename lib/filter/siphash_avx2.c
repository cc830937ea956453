/* SipHash in lanes with AVX2: two vectors are what 16 registers hold. */
#include "filter/siphash.h"

#if defined(__x86_64__) && defined(__GNUC__)

#define LANES_TARGET  __attribute__((target("avx2")))
#define LANES_VECTORS 2
#include "filter/siphash_lanes.h"

const struct siphash_kernel *siphash_kernel_avx2(void)
{
    static const struct siphash_kernel avx2 = {.name = "avx2", .lanes = LANES, .hash = lanes_hash};

    return __builtin_cpu_supports("avx2") ? &avx2 : NULL;
}

#else

const struct siphash_kernel *siphash_kernel_avx2(void)
{
    return NULL;
}

#endif
