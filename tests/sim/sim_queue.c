/* A binary heap of events, by time and by the order in which they were pushed. */
#include "tests/sim/sim_queue.h"

#include "base/heap.h"
#include "tests/sim/sim_memory.h"

static bool before(const struct sim_event *a, const struct sim_event *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void swap(struct sim_event *a, struct sim_event *b)
{
    struct sim_event kept = *a;

    *a = *b;
    *b = kept;
}

void sim_queue_fini(struct sim_queue *self)
{
    heap_free(self->heap);
    *self = (struct sim_queue){0};
}

void sim_queue_push(struct sim_queue *self, uint64_t at_us, sim_event_fn run, void *data,
                    uint64_t number)
{
    size_t at = self->count++;

    self->heap = sim_memory_reserve(self->heap, &self->capacity, self->count, sizeof *self->heap);
    self->heap[at] = (struct sim_event){
        .at_us = at_us, .order = self->order++, .run = run, .data = data, .number = number};
    while (at > 0 && before(&self->heap[at], &self->heap[(at - 1) / 2])) {
        swap(&self->heap[at], &self->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
}

static void sink(struct sim_queue *self)
{
    size_t at = 0;

    for (;;) {
        size_t least = at;

        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < self->count; child++) {
            least = before(&self->heap[child], &self->heap[least]) ? child : least;
        }
        if (least == at) {
            return;
        }
        swap(&self->heap[at], &self->heap[least]);
        at = least;
    }
}

uint64_t sim_queue_next_us(const struct sim_queue *self)
{
    return self->count > 0 ? self->heap[0].at_us : UINT64_MAX;
}

bool sim_queue_pop(struct sim_queue *self, struct sim_event *out)
{
    if (self->count == 0) {
        return false;
    }
    *out = self->heap[0];
    self->heap[0] = self->heap[--self->count];
    sink(self);
    return true;
}
