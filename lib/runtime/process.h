/* process.h - what every program does before all else, and the codes that it ends with.
 *
 * Threads: before any other thread is started.
 */
#ifndef ORBLOOM_RUNTIME_PROCESS_H
#define ORBLOOM_RUNTIME_PROCESS_H

/* Exit codes that scripts rely on. */
enum { PROCESS_EXIT_OK = 0, PROCESS_EXIT_FAILURE = 1, PROCESS_EXIT_USAGE = 2 };

/* Allocator thresholds for frames of megabytes; a write to a closed pipe, or past
 * the limit on the size of files, is an error, not death;
 * standard descriptors that were closed lead to /dev/null, so that no socket takes their place. */
void process_prepare(void);

#endif
