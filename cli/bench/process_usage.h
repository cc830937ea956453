/* process_usage.h - what a process of this machine has used, from the kernel's accounting.
 *
 * CPU time of another process is exact to the switch of its threads, not to the clock tick,
 * where the kernel lets us read its clock; else it comes from /proc in ticks.
 *
 * Errors:  false, the output untouched, when there is no such process or it may not be seen.
 * Threads: any; no state.
 */
#ifndef ORBLOOM_CLI_BENCH_PROCESS_USAGE_H
#define ORBLOOM_CLI_BENCH_PROCESS_USAGE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* User and system time of all its threads, ended ones too. */
MUST_USE bool process_cpu_ns(long pid, uint64_t *used_ns);

/* Memory in RAM now. */
MUST_USE bool process_resident_bytes(long pid, uint64_t *bytes);

/* The name that it was started by, cut to 15 bytes by the kernel. */
MUST_USE bool process_name(long pid, char *name, size_t size);

#endif
