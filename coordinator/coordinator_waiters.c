#include "coordinator/coordinator_private.h"

void waiters_add(struct coordinator *self, const struct waiter *waiter)
{
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        if (!self->waiters[i].used) {
            self->waiters[i] = *waiter;
            self->waiters[i].used = true;
            return;
        }
    }
    coordinator_answer(self, &waiter->peer, waiter->correlation, STATUS_OVERLOADED, waiter->created,
                       "too many commands are waiting; the change goes on, retry to see its end");
}

void waiters_finish(struct coordinator *self, struct waiter *waiter, enum status status,
                    const char *message)
{
    coordinator_answer(self, &waiter->peer, waiter->correlation, status, waiter->created, message);
    waiter->used = false;
}
