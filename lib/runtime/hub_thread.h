/* hub_thread.h - starts the threads of a hub beside its loop's.
 *
 * Signals are for the loop's thread: a thread that is started here gets none but those that a
 * defect of its own raises.
 */
#ifndef ORBLOOM_RUNTIME_HUB_THREAD_H
#define ORBLOOM_RUNTIME_HUB_THREAD_H

#include <pthread.h>

/* `name`: at most 15 bytes. 0, or the error: an errno. */
int hub_thread_start(pthread_t *thread, const char *name, void *(*run)(void *context),
                     void *context);

#endif
