/* Draws other capacities and rates for filters, and asks coordinators for them. */
#include "tests/torture/grow.h"

#include "tests/support/random.h"
#include "tests/torture/admin.h"
#include "tests/torture/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PAUSE_MS = 1500, MOST_TIMES = 4, TENTHS = 10 };

/* Six times of ten more room, twice just enough, once a lower rate, once back. */
static struct expand_parameters draw_wish(uint64_t *random, uint64_t room)
{
    uint64_t draw = random_below(random, TENTHS);
    uint64_t times = 1 + random_below(random, MOST_TIMES);

    if (draw < 6) {
        return (struct expand_parameters){.capacity = room * times, .rate = TORTURE_RATE};
    }
    if (draw < 8) {
        return (struct expand_parameters){.capacity = room};
    }
    if (draw == 8) {
        return (struct expand_parameters){.capacity = room, .rate = TORTURE_RATE / (double)times};
    }
    return (struct expand_parameters){.abort = true};
}

/* A filter that was taken back does not grow by itself: when it is full it is helped, also while
 * nothing else is asked of the cluster. */
static void act(struct admin *admin, struct ledger_filter *filter, uint64_t *random)
{
    uint64_t room = torture_room(filter->keys);
    struct expand_parameters wish = draw_wish(random, room);
    bool full = atomic_load(&filter->full_since_ms) != 0;
    enum status status;

    if (!full && atomic_load(&admin->torture->eased)) {
        return;
    }
    if (full) {
        wish = (struct expand_parameters){.capacity = room};
    }
    status = admin_expand(admin, filter->name, &wish);
    if (status == STATUS_OK && wish.abort) {
        atomic_fetch_add(&admin->torture->tally.aborts, 1);
    }
    journal_say("expand %s%s, capacity %" PRIu64 ", rate %g: %s", filter->name,
                wish.abort ? ", abort" : "", wish.capacity, wish.rate, admin->error);
}

static bool must_stop(const struct torture *torture)
{
    return atomic_load(&torture->ending) || atomic_load(&torture->tally.failed);
}

void *grow_thread(void *context)
{
    struct grow_thread *self = context;
    struct torture *torture = self->torture;
    struct admin admin;

    if (!admin_open(&admin, torture)) {
        return NULL;
    }
    while (!must_stop(torture)) {
        struct ledger_filter *filter = ledger_take(&torture->ledger, &self->random);

        if (filter != NULL) {
            if (filter->adding) {
                act(&admin, filter, &self->random);
            }
            ledger_put(&torture->ledger, filter);
        }
        journal_pause_ms(random_below(&self->random, PAUSE_MS));
    }
    admin_close(&admin);
    return NULL;
}
