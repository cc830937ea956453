/* Checks shapes and picks the kernel; the bits are set and read in lines_portable.c and
 * lines_avx2.c. */
#include "filter/lines.h"

#include "filter/lines_kernel.h"

#include <assert.h>

/* Asked anew each call: it costs a load and a branch a batch, and needs no global state. */
static const struct lines_kernel *kernel(void)
{
    const struct lines_kernel *avx2 = lines_kernel_avx2();

    return avx2 != NULL ? avx2 : lines_kernel_portable();
}

static void assert_geometry(const struct geometry *geometry)
{
    assert(lines_shape_holds(geometry->lines, geometry->z));
    assert(geometry->shard_bits <= 32);
}

static void assert_lines(const uint8_t *lines, size_t size_bytes)
{
    assert((uintptr_t)lines % LINE_BYTES == 0);
    assert(size_bytes % LINE_BYTES == 0);
}

void lines_check(const struct lines_view *view, const uint64_t *fingerprints, size_t count,
                 uint64_t *present)
{
    assert_geometry(&view->geometry);
    kernel()->check(view, fingerprints, count, present);
}

void lines_add(const struct lines_view *view, const uint64_t *fingerprints, size_t count,
               uint64_t *present)
{
    assert_geometry(&view->geometry);
    kernel()->add(view, fingerprints, count, present);
}

void lines_merge(uint8_t *target, const uint8_t *source, size_t size_bytes)
{
    assert_lines(target, size_bytes);
    assert_lines(source, size_bytes);
    kernel()->merge(target, source, size_bytes);
}

uint64_t lines_popcount(const uint8_t *lines, size_t size_bytes)
{
    assert_lines(lines, size_bytes);
    return kernel()->popcount(lines, size_bytes);
}

uint64_t lines_shard_bytes(const struct geometry *geometry)
{
    assert_geometry(geometry);
    return geometry->lines * LINE_BYTES;
}

const char *lines_implementation_name(void)
{
    return kernel()->name;
}
