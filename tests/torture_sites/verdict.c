/* Keeps the first failure, from whichever thread. */
#include "tests/torture_sites/verdict.h"

#include "tests/torture/journal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool failed;
static _Atomic bool interrupted;
static char reason[512]; /* not written any more once `failed` */

void verdict_fail(const char *format, ...)
{
    va_list args;

    (void)pthread_mutex_lock(&lock);
    if (!atomic_load(&failed)) {
        va_start(args, format);
        (void)vsnprintf(reason, sizeof reason, format, args);
        va_end(args);
        atomic_store(&failed, true);
        journal_say("FAILED: %s", reason);
    }
    (void)pthread_mutex_unlock(&lock);
}

void verdict_interrupt(void)
{
    atomic_store(&interrupted, true);
}

bool verdict_interrupted(void)
{
    return atomic_load(&interrupted);
}

bool verdict_failed(void)
{
    return atomic_load(&failed) || atomic_load(&interrupted);
}

const char *verdict_reason(void)
{
    if (atomic_load(&interrupted)) {
        return "interrupted";
    }
    return atomic_load(&failed) ? reason : "";
}
