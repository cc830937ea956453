/* What the first touch of memory costs: pages that a new array takes, huge ones where the kernel
 * gives them.
 *
 * Prints the mean of 64 pages of 2 MiB in microseconds. Much more than what clearing one takes,
 * about 200 us, tells of a virtual machine whose host looks for memory only then.
 */
#include "base/heap.h"
#include "runtime/hub.h"

#include <stdio.h>

enum { HUGE_BYTES = 2 << 20, PAGES = 64 };

int main(void)
{
    volatile uint8_t *pages = heap_pages_alloc((size_t)PAGES * HUGE_BYTES, true);
    uint64_t start_us;

    if (pages == NULL) {
        (void)fprintf(stderr, "touch: no memory\n");
        return 1;
    }
    start_us = hub_now_us();
    for (size_t i = 0; i < PAGES; i++) {
        pages[i * HUGE_BYTES] = 1;
    }
    (void)printf("%.0f\n", (double)(hub_now_us() - start_us) / PAGES);
    heap_pages_free((void *)(uintptr_t)pages, (size_t)PAGES * HUGE_BYTES);
    return 0;
}
