/* Threads start with signals blocked, so that only the loop's thread gets them. */
#include "runtime/hub_thread.h"

#include <signal.h>
#include <stddef.h>

/* Those that a defect raises stay where it is. */
static void block_signals(sigset_t *before)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t all;

    (void)sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        (void)sigdelset(&all, own[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &all, before);
}

int hub_thread_start(pthread_t *thread, const char *name, void *(*run)(void *context),
                     void *context)
{
    sigset_t before;
    int error;

    block_signals(&before);
    error = pthread_create(thread, NULL, run, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0) {
        (void)pthread_setname_np(*thread, name);
    }
    return error;
}
