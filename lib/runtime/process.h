/* process.h - what every daemon does once: allocator and signals at start, "ready" when it serves.
 *
 * Threads: before any other thread is started.
 */
#ifndef ORBLOOM_RUNTIME_PROCESS_H
#define ORBLOOM_RUNTIME_PROCESS_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Exit codes that scripts rely on. */
enum { PROCESS_EXIT_OK = 0, PROCESS_EXIT_FAILURE = 1, PROCESS_EXIT_USAGE = 2 };

/* Allocator thresholds for frames of megabytes; a write to a closed pipe, or past
 * the limit on the size of files, is an error, not death;
 * standard descriptors that were closed lead to /dev/null, so that no socket takes their place. */
void process_prepare(void);

/* The line "ready ENDPOINT" on stdout, at once: whoever started us waits for it. */
void process_announce(const char *endpoint);

/* Which boot of the kernel this is: another number after each start of the machine. 0: the kernel
 * does not tell. */
uint64_t process_kernel_boot(void);

/* This machine's name, other bytes than [A-Za-z0-9._:-] as '-'; "localhost" when it has none. */
void process_host(char *name, size_t size);

#endif
