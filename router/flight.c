/* By steps of half, up and down: one slow answer, or a node that stood still for a moment, is no
 * reason to send it little for long. */
#include "router/flight.h"

#include "base/heap.h"
#include "map/access/users.h"

#include <assert.h>

static uint64_t clamp(uint64_t bytes, uint64_t most_bytes)
{
    bytes = bytes > FLIGHT_LEAST_BYTES ? bytes : FLIGHT_LEAST_BYTES;
    return bytes < most_bytes ? bytes : most_bytes;
}

static void measure(struct flight *self, uint64_t now_us)
{
    self->since_us = now_us;
    self->answered_bytes = 0;
    self->peak_bytes = self->bytes;
}

struct flight flight_begin(uint64_t most_bytes)
{
    return (struct flight){.limit_bytes = clamp(FLIGHT_FIRST_BYTES, most_bytes)};
}

void flight_fini(struct flight *self)
{
    heap_free(self->users);
    *self = (struct flight){.bytes = 0};
}

/* ---- users ---- */

/* Users whose ids differ by USER_MAX are one here. */
static uint64_t *own(const struct flight *self, uint32_t user)
{
    return &self->users[user % USER_MAX];
}

static uint64_t bytes_of(const struct flight *self, uint32_t user)
{
    if (user == 0) {
        return self->bytes - self->users_bytes;
    }
    return self->users != NULL ? *own(self, user) : 0;
}

/* Who has something under way, and `user`. */
static uint32_t count_sharing(const struct flight *self, uint32_t user)
{
    return self->users_active + (bytes_of(self, 0) > 0) + (bytes_of(self, user) == 0);
}

static void count_more(struct flight *self, uint32_t user, uint64_t bytes)
{
    if (user != 0 && self->users == NULL) {
        self->users = heap_zalloc(USER_MAX, sizeof *self->users);
    }
    if (user != 0 && self->users != NULL) {
        self->users_active += *own(self, user) == 0;
        *own(self, user) += bytes;
        self->users_bytes += bytes;
    }
}

/* What was sent while there was no memory is nobody's. */
static void count_less(struct flight *self, uint32_t user, uint64_t bytes)
{
    uint64_t counted = user != 0 ? bytes_of(self, user) : 0;

    counted = counted < bytes ? counted : bytes;
    if (counted > 0) {
        *own(self, user) -= counted;
        self->users_bytes -= counted;
        self->users_active -= *own(self, user) == 0;
    }
    assert(self->users_bytes <= self->bytes);
}

bool flight_has_room(const struct flight *self, uint32_t user, uint64_t bytes)
{
    if (self->bytes + bytes <= self->limit_bytes || bytes_of(self, user) == 0) {
        return true;
    }
    return bytes_of(self, user) + bytes <= self->limit_bytes / count_sharing(self, user);
}

/* ---- bytes ---- */

void flight_sent(struct flight *self, uint64_t now_us, uint32_t user, uint64_t bytes)
{
    if (self->bytes == 0) {
        measure(self, now_us);
    }
    self->bytes += bytes;
    self->peak_bytes = self->bytes > self->peak_bytes ? self->bytes : self->peak_bytes;
    count_more(self, user, bytes);
}

/* Only where much of what may be under way was: who keeps up with little may not with much. */
static void allow_more(struct flight *self, uint64_t most_bytes)
{
    if (self->peak_bytes > self->limit_bytes / 2) {
        self->limit_bytes = clamp(self->limit_bytes + self->limit_bytes / 2, most_bytes);
    }
}

/* It had something to answer all the time, so this is what it can do. Where less is wanted of it
 * than that, what is under way is young. */
static void judge(struct flight *self, uint64_t took_us, uint64_t most_bytes)
{
    uint64_t able = (uint64_t)((double)self->answered_bytes * FLIGHT_AGE_US / (double)took_us);
    uint64_t half = self->limit_bytes / 2;

    if (self->bytes > able) {
        self->limit_bytes = clamp(able > half ? able : half, most_bytes);
    } else {
        allow_more(self, most_bytes);
    }
}

void flight_lost(struct flight *self, uint32_t user, uint64_t bytes)
{
    assert(bytes <= self->bytes);
    self->bytes -= bytes;
    count_less(self, user, bytes);
}

void flight_answered(struct flight *self, uint64_t now_us, uint32_t user, uint64_t bytes,
                     uint64_t most_bytes)
{
    flight_lost(self, user, bytes); /* It is awaited no more. */
    self->answered_bytes += bytes;
    assert(now_us >= self->since_us);
    if (now_us - self->since_us >= FLIGHT_LOOK_US) {
        judge(self, now_us - self->since_us, most_bytes);
        measure(self, now_us);
    } else if (self->bytes == 0) {
        allow_more(self, most_bytes); /* It keeps up. */
    }
}

void flight_slow(struct flight *self, uint64_t most_bytes)
{
    self->limit_bytes = clamp(self->limit_bytes / 2, most_bytes);
}
