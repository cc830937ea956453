/* sim_queue.h - what is going to happen, in order of virtual time.
 *
 * Events of one instant happen in the order in which they were pushed, so a run depends on
 * nothing but what pushed them.
 *
 * Owner:   sim_queue_fini() frees the queue; `data` is borrowed until the event has run.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_QUEUE_H
#define ORBLOOM_TESTS_SIM_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim;

typedef void (*sim_event_fn)(struct sim *sim, void *data, uint64_t number);

struct sim_event {
    uint64_t at_us;
    uint64_t order;
    sim_event_fn run;
    void *data;
    uint64_t number;
};

/* A zeroed queue is ready. */
struct sim_queue {
    struct sim_event *heap; /* binary, the earliest first */
    size_t count;
    size_t capacity;
    uint64_t order;
};

void sim_queue_fini(struct sim_queue *self);
void sim_queue_push(struct sim_queue *self, uint64_t at_us, sim_event_fn run, void *data,
                    uint64_t number);

/* When the next one is due; UINT64_MAX: there is none. */
uint64_t sim_queue_next_us(const struct sim_queue *self);

/* False when there is nothing left. */
bool sim_queue_pop(struct sim_queue *self, struct sim_event *out);

#endif
