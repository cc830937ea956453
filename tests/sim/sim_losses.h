/* sim_losses.h - which lives of data are gone: what the budget of destructions is counted by.
 *
 * A member of a document (node, incarnation) is lost once its data was destroyed: memory by a
 * kill, a folder by a wipe, a rollback or a flipped bit. It is healed when documents name
 * another member in its place, or, where it was open whether anything was destroyed, when it
 * comes back as FULL.
 *
 * Of a shard at most W - 1 replicas may be lost at once: then one is left of any W that
 * acknowledged a key. What goes beyond is drawn only where nothing is promised any more.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_LOSSES_H
#define ORBLOOM_TESTS_SIM_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

enum { SIM_MAX_LOSSES = 256 };

struct sim;
struct sim_process;
struct member;

enum sim_loss_kind {
    SIM_LOSS_SURE,
    SIM_LOSS_LATENT, /* some of it, perhaps: may be noticed when it is read, whenever that is */
    SIM_LOSS_OPEN,   /* perhaps: is noticed by the next life, or has not happened */
};

struct sim_loss {
    uint64_t incarnation; /* no two are equal */
    enum sim_loss_kind kind;
};

struct sim_losses {
    struct sim_loss items[SIM_MAX_LOSSES]; /* the oldest are forgotten */
    uint64_t count;
    const struct sim_process *rewound; /* to its own last life; coordinators remember its end */
};

/* The data of the node's last life is destroyed, or may be. */
void sim_losses_note(struct sim *sim, const struct sim_process *process, enum sim_loss_kind kind);

/* It serves as FULL member: what was open has not happened. */
void sim_losses_serves(struct sim *sim, const struct sim_process *process);

/* Has it been, of the last life whose incarnation is known? */
bool sim_losses_noted(const struct sim *sim, const struct sim_process *process);

bool sim_losses_has(const struct sim *sim, const struct member *member);

/* May the node lose its data now? */
bool sim_losses_allow(const struct sim *sim, const struct sim_process *process);

#endif
