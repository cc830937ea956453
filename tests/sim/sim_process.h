/* sim_process.h - one process: an actor with its effects, its clock and its ways to fail.
 *
 * What arrives gathers in an inbox and is served in turns, as lib/runtime's hub does. A paused
 * process (SIGSTOP) neither reads nor keeps time; everything queues up until it goes on. A
 * killed one loses its memory; started again it is created anew, with new random numbers and a
 * clock of another origin. A node's disk outlives it.
 *
 * Owner:   sim_process_kill() destroys what runs in it, sim_process_free() the rest.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_PROCESS_H
#define ORBLOOM_TESTS_SIM_PROCESS_H

#include "base/actor.h"
#include "base/pulse.h"
#include "base/telemetry/counter.h"
#include "map/document.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_jobs.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_random.h"
#include "tests/sim/sim_view.h"

enum sim_kind { SIM_CLIENT, SIM_ROUTER, SIM_NODE, SIM_COORDINATOR, SIM_LINK, SIM_NKINDS };

struct sim_process;

/* What a test runs in a process instead of the daemon of its kind. */
struct sim_program {
    void *context;
    bool (*start)(void *context, struct sim_process *process, struct actor *actor);
    void (*finish)(void *context); /* in order, the lanes being stopped */
    void (*destroy)(void *context);

    /* May be NULL. Who has sent a request, as its transport would prove: sets role and user. */
    void (*identify)(void *context, const struct sim_process *from, struct peer *peer);
};

struct sim_process {
    struct sim *sim;
    uint32_t index;
    enum sim_kind kind;
    char name[16];
    char endpoint[DOCUMENT_TEXT_BYTES];

    char alias[16]; /* a node's name: its own, or that of the one whose place it takes */
    bool standby;   /* a machine without a process until it takes another one's place */

    bool alive;
    bool paused;
    uint64_t paused_us; /* when it was last paused, killed */
    uint64_t killed_us;
    struct pulse pulse;    /* as the hub's */
    uint32_t generation;   /* counts starts */
    uint64_t clock_offset; /* its clock is virtual time plus this */
    struct sim_random random;
    struct effects effects;
    struct actor actor;
    struct node *node;
    struct router *router;
    struct coordinator *coordinator;
    struct session *session;
    const struct sim_program *program; /* NULL: the daemon */

    struct sim_disk *disk; /* of its machine; NULL: none */
    struct sim_jobs jobs;
    uint64_t incarnation;            /* a node's, of its last life so far; 0: it has never run */
    bool confirmed;                  /* ... of which the store has taken note */
    uint64_t set_aside;              /* files with flipped bits, when that life began */
    uint32_t served;                 /* the newest generation that had a FULL replica */
    uint32_t phases;                 /* a bit each: see sim_phase.h */
    bool takes_imprint;              /* an array is being copied, where imprints are taken */
    uint64_t bound[SIM_MAX_NAMES];   /* a node's, by name: the filter that it takes for live, */
    uint64_t epochs[SIM_MAX_NAMES];  /* ... under this epoch, */
    uint32_t keysets[SIM_MAX_NAMES]; /* ... and the keyset of it that checks read */
    struct sim_link links[SIM_MAX_LINKS];
    uint32_t last_link;
    uint32_t *inbox;
    size_t ninbox;
    size_t inbox_capacity;
    bool serving;       /* a turn is planned */
    uint64_t timer_at;  /* the earliest planned wake-up */
    uint64_t *counters; /* filled while counters are read; else NULL */
    size_t ncounters;
};

/* Add a process; it does not run yet. */
struct sim_process *sim_process_add(struct sim *sim, enum sim_kind kind, uint32_t number);
void sim_process_free(struct sim_process **process); /* a dead one */

void sim_process_start(struct sim_process *self);
void sim_process_kill(struct sim_process *self);
void sim_process_stop(struct sim_process *self); /* SIGTERM: in order */
void sim_process_pause(struct sim_process *self);
void sim_process_resume(struct sim_process *self);
bool sim_process_runs(const struct sim_process *self); /* alive and not paused */

/* Its clock jumps ahead. */
void sim_process_skip(struct sim_process *self, uint64_t by_us);

/* Its own clock. */
uint64_t sim_process_now(const struct sim_process *self);

/* Something arrived, or was done to it from outside: plan a turn, or a wake-up. */
void sim_process_wake(struct sim_process *self);
void sim_process_arm(struct sim_process *self);
void sim_process_push(struct sim_process *self, uint32_t message);

/* Its counters, asked as `orbloom stats` does, added to the run's. */
void sim_process_count(struct sim_process *self);

const char *sim_kind_name(enum sim_kind kind);

#endif
