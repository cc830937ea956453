/* adds.h - threads that add keys and note which adds were acknowledged.
 *
 * Threads: started and stopped by the main thread.
 */
#ifndef ORBLOOM_TESTS_TORTURE_ADDS_H
#define ORBLOOM_TESTS_TORTURE_ADDS_H

#include "tests/torture/torture.h"

enum { ADDS_THREADS = 2 };

/* The body of a thread: until torture.ending. `context` is a struct adds_thread. */
void *adds_thread(void *context);

struct adds_thread {
    struct torture *torture;
    uint64_t random;
};

#endif
