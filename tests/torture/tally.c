/* Counts under a lock, and keeps the first reason to end. */
#include "tests/torture/tally.h"

#include "tests/torture/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tally_init(struct tally *self)
{
    memset(self, 0, sizeof *self);
    (void)pthread_mutex_init(&self->lock, NULL);
}

void tally_lose(struct tally *self, const struct tally_loss *loss)
{
    (void)pthread_mutex_lock(&self->lock);
    if (self->nlosses < TALLY_MAX_LOSSES) {
        self->losses[self->nlosses++] = *loss;
        journal_say("LOST KEY %016llx of %s: absent, says %s, replica slots %#x",
                    (unsigned long long)loss->number, loss->filter, loss->router, loss->slots);
    }
    (void)pthread_mutex_unlock(&self->lock);
    atomic_fetch_add(&self->lost, 1);
    tally_fail(self, "LOST: %016llx of %s was acknowledged and is called absent by %s, slots %#x",
               (unsigned long long)loss->number, loss->filter, loss->router, loss->slots);
}

void tally_refused(struct tally *self, const char *what, const char *message)
{
    tally_fail(self, "REFUSED: %s, with a good credential: %s", what, message);
}

void tally_fail(struct tally *self, const char *format, ...)
{
    va_list args;

    (void)pthread_mutex_lock(&self->lock);
    if (self->reason[0] == '\0') {
        va_start(args, format);
        (void)vsnprintf(self->reason, sizeof self->reason, format, args);
        va_end(args);
        journal_tell("%s", self->reason);
    }
    (void)pthread_mutex_unlock(&self->lock);
    atomic_store(&self->failed, true);
}
