/* own_usage.h - what this process takes of its machine, as the kernel counts it.
 *
 * Errors:  what can't be read is 0.
 * Threads: any.
 */
#ifndef ORBLOOM_RUNTIME_HTTP_OWN_USAGE_H
#define ORBLOOM_RUNTIME_HTTP_OWN_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct own_usage {
    uint64_t cpu_us;     /* of all threads, for itself and in the kernel */
    uint64_t started_us; /* since 1970 */
    uint64_t resident_bytes;
    uint64_t virtual_bytes;
    uint64_t threads;
    uint64_t descriptors;
    uint64_t max_descriptors; /* UINT64_MAX: any number */
};

/* How the kernel counts. */
struct own_usage_units {
    uint64_t ticks_per_s;
    uint64_t page_bytes;
    uint64_t booted_us; /* since 1970 */
};

/* What /proc/self/stat tells. Pure. False: it is not in that form; nothing has changed. */
bool own_usage_parse(const char *stat, const struct own_usage_units *units, struct own_usage *out);

void own_usage_read(struct own_usage *out);

#endif
