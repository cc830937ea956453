/* Submits batches by the C library, notes which were acknowledged, and asks for these again. */
#include "tests/support/flood.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { KEY_BYTES = 20, WAIT_MS = 20000 };

/* A batch of consecutive keys in the form of the library. */
struct batch {
    char bytes[FLOOD_BATCH * KEY_BYTES];
    uint32_t lengths[FLOOD_BATCH];
    struct orbloom_keys keys;
};

static void fill(struct batch *batch, uint32_t first)
{
    size_t used = 0;

    for (uint32_t i = 0; i < FLOOD_BATCH; i++) {
        int length = snprintf(batch->bytes + used, KEY_BYTES, "flood-%u", first + i);

        batch->lengths[i] = (uint32_t)length;
        used += (size_t)length;
    }
    batch->keys = (struct orbloom_keys){
        .bytes = batch->bytes, .lengths = batch->lengths, .count = FLOOD_BATCH};
}

void flood_open(struct flood *self, const char *filter)
{
    memset(self, 0, sizeof *self);
    self->filter = filter;
    cr_assert_eq(orbloom_connect(NULL, &self->handle), ORBLOOM_OK);
}

void flood_close(struct flood *self)
{
    orbloom_close(&self->handle);
}

void flood_reconnect(struct flood *self)
{
    flood_close(self);
    cr_assert_eq(orbloom_connect(NULL, &self->handle), ORBLOOM_OK);
}

static void collect(struct flood *self)
{
    struct orbloom_completion done;
    uintptr_t first;

    cr_assert_eq(orbloom_wait(self->handle, WAIT_MS, &done), 1, "no completion");
    first = (uintptr_t)done.user;
    self->most_attempts = done.attempts > self->most_attempts ? done.attempts : self->most_attempts;
    if (done.code != ORBLOOM_OK && self->nfailed++ == 0) {
        (void)snprintf(self->first_error, sizeof self->first_error, "%s: %s",
                       orbloom_code_name(done.code), done.message);
    }
    for (size_t i = 0; i < done.count; i++) {
        if (done.answers[i] != ORBLOOM_UNKNOWN) {
            self->acked[first + i] = true;
            self->nacked++;
        }
    }
}

static void submit(struct flood *self)
{
    struct batch batch;
    struct orbloom_request request = {
        .filter = self->filter,
        .operation = ORBLOOM_ADD,
        .user = (void *)(uintptr_t)self->next,
    };

    cr_assert_leq(self->next + FLOOD_BATCH, FLOOD_MAX_KEYS);
    fill(&batch, self->next);
    request.keys = batch.keys;
    cr_assert_eq(orbloom_submit(self->handle, &request), ORBLOOM_OK, "%s",
                 orbloom_error(self->handle));
    self->next += FLOOD_BATCH;
}

void flood_add(struct flood *self, uint32_t nbatches, void (*hook)(void))
{
    for (uint32_t i = 0; i < nbatches; i++) {
        submit(self);
        if (hook != NULL && i == nbatches / 2) {
            hook();
        }
        while (orbloom_in_flight(self->handle) >= FLOOD_IN_FLIGHT) {
            collect(self);
        }
    }
    while (orbloom_in_flight(self->handle) > 0) {
        collect(self);
    }
}

uint32_t flood_count_lost(struct flood *self)
{
    uint8_t answers[FLOOD_BATCH];
    uint32_t lost = 0;

    for (uint32_t first = 0; first < self->next; first += FLOOD_BATCH) {
        struct batch batch;
        int code;

        fill(&batch, first);
        code = orbloom_check(self->handle, self->filter, &batch.keys, answers);
        cr_assert_eq(code, ORBLOOM_OK, "check fails: %s", orbloom_error(self->handle));
        for (uint32_t i = 0; i < FLOOD_BATCH; i++) {
            lost += self->acked[first + i] && answers[i] != ORBLOOM_PRESENT;
        }
    }
    return lost;
}

void flood_expect_present(struct flood *self)
{
    uint32_t lost = flood_count_lost(self);

    cr_assert_eq(lost, 0, "%u of %u acknowledged keys are not reported present", lost,
                 self->nacked);
}
