/* When a packet gets out of a line, by arithmetic; which ones get lost is drawn. */
#include "bench/wan/line.h"

/* SplitMix64. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* A line that is cut draws as well, so that a seed says which packets get lost. */
static bool loses(struct line *self)
{
    bool chance = next_random(&self->random) % LINE_ALL < self->kind.loss;

    return chance || self->kind.cut;
}

/* False: there is no room for it. */
static bool enqueue(struct line *self, size_t size, uint64_t now_us)
{
    uint64_t begin_us = self->free_us > now_us ? self->free_us : now_us;

    if (self->kind.rate == 0) {
        self->free_us = now_us;
        return true;
    }
    if (begin_us - now_us > LINE_QUEUE_US) {
        return false;
    }
    self->free_us = begin_us + size * 1000000 / self->kind.rate;
    return true;
}

uint64_t line_carry(struct line *self, size_t size, uint64_t now_us)
{
    uint64_t due_us;

    self->packets++;
    self->bytes += size;
    if (loses(self)) {
        self->lost++;
        return LINE_LOST;
    }
    if (!enqueue(self, size, now_us)) {
        self->dropped++;
        return LINE_LOST;
    }
    self->carried += size;
    due_us = self->free_us + self->kind.delay_us;
    self->due_us = due_us > self->due_us ? due_us : self->due_us;
    return self->due_us;
}
