/* sim_show.h - frames in words, for the trace of a failing seed.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SHOW_H
#define ORBLOOM_TESTS_SIM_SHOW_H

#include "proto/codec.h"

struct sim;
struct sim_message;

struct sim_show {
    struct codec_arena *arena;
};

void sim_show_init(struct sim_show *self);
void sim_show_fini(struct sim_show *self);

/* A trace line for a frame that is sent; `fate` says what becomes of it. */
void sim_show_frame(struct sim *sim, const struct sim_message *message, struct span bytes,
                    const char *fate);

/* A trace line for a message that is served. */
void sim_show_arrival(struct sim *sim, const struct sim_message *message);

#endif
