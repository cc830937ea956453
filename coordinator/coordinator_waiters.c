#include "coordinator/coordinator_private.h"

uint64_t waiters_deadline(const struct coordinator *self, uint64_t now_us, uint32_t timeout_ms)
{
    uint64_t timeout_us = (uint64_t)timeout_ms * 1000;
    uint64_t longest_us = self->config.max_timeout_us;

    return now_us + (timeout_us < longest_us ? timeout_us : longest_us);
}

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
