/* SipHash in lanes with AVX-512, for its rotations and its 32 registers. The vectors stay at
 * 256 bits: wider ones were slower on Zen 4, which splits them. */
#include "filter/siphash.h"

#if defined(__x86_64__) && defined(__GNUC__)

#define LANES_TARGET  __attribute__((target("avx512f,avx512vl")))
#define LANES_VECTORS 4
#include "filter/siphash_lanes.h"

const struct siphash_kernel *siphash_kernel_avx512(void)
{
    static const struct siphash_kernel avx512 = {
        .name = "avx512", .lanes = LANES, .hash = lanes_hash};

    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") ? &avx512 : NULL;
}

#else

const struct siphash_kernel *siphash_kernel_avx512(void)
{
    return NULL;
}

#endif
