/* sim_disk.h - the disk of one machine of the simulator: a disk in memory that takes time, fails
 * and decays as its seed says.
 *
 * It outlives the processes that use it, one after the other. After a power loss the machine's next
 * boot has another kernel_boot.
 *
 * Time:    an operation takes effect at once. Inside a job it also takes a while, drawn from the
 *          seed: mostly fast, now and then slow as a busy disk; whoever waits for the job hears
 *          of it after that.
 * Faults:  see below; each holds until it has struck, or is taken back.
 * Owner:   sim_disk_fini() frees all.
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_DISK_H
#define ORBLOOM_TESTS_SIM_DISK_H

#include "tests/support/memory_disk.h"

enum sim_disk_fault {
    SIM_DISK_GOOD = 0,
    SIM_DISK_EIO,   /* the n-th operation fails, with some of its effect */
    SIM_DISK_CRASH, /* so does it, and every later one: on_fault() must end the process now */
    SIM_DISK_CUT,   /* the same by who ends the process: on_fault() is not called */
};

/* How long things take, in microseconds. */
struct sim_disk_pace {
    uint64_t sync_us;       /* about */
    uint32_t slow_permille; /* of the operations */
    uint64_t slow_us;       /* at most, then */
};

/* A folder put aside. */
struct sim_disk_copy {
    struct memory_disk *folder; /* NULL: none was taken */
    uint32_t generation;        /* of the process that was using it, as its owner counts */
    uint64_t log_end;           /* nothing beyond it was appended to that one's log */
};

struct sim_disk {
    struct memory_disk memory;
    const uint64_t *clock_us; /* virtual time */
    struct sim_disk_pace pace;
    uint64_t kernel_boot;
    struct sim_disk_copy copy;

    bool attached; /* a process uses it */
    bool in_job;
    uint64_t spent_us; /* by the job under way */
    uint64_t digest;   /* of every operation so far */
    uint64_t operations;

    enum sim_disk_fault fault;
    uint64_t fault_at; /* at this operation */
    bool crashed;
    bool (*on_fault)(void *context, enum sim_disk_fault fault); /* it strikes, unless false */
    void *fault_context;

    uint64_t set_aside; /* files with flipped bits, so far */

    /* What can be seen from outside of what its process does; since it was attached. */
    char kinds[MEMORY_DISK_HANDLES]; /* of what was opened: 'l' a segment, 'r' a new run, 0 else */
    uint32_t rolling;                /* the segment whose header was written and not synced; or 0 */
    uint64_t rolls_until_us;
    uint32_t merging; /* runs being written */
    uint64_t merges_until_us;
};

void sim_disk_init(struct sim_disk *self, uint64_t seed, uint64_t stream, const uint64_t *clock_us);
void sim_disk_fini(struct sim_disk *self);

/* A process begins to use it; it is killed: what its memory's destruction still asks for fails
 * without effect; it is gone: its handles close, its faults are forgotten. */
void sim_disk_attach(struct sim_disk *self);
void sim_disk_freeze(struct sim_disk *self);
void sim_disk_detach(struct sim_disk *self);

/* A job runs between the two; returns how long it took. */
void sim_disk_job_begins(struct sim_disk *self);
uint64_t sim_disk_job_ends(struct sim_disk *self);

/* ---- faults of a disk in use ---- */

/* The n-th operation from now, 1 the next. */
void sim_disk_fail(struct sim_disk *self, enum sim_disk_fault fault, uint64_t n);

/* Put a copy of the folder aside, as a backup does: what is seen now. */
void sim_disk_take_copy(struct sim_disk *self, uint32_t generation, uint64_t log_end);

/* ---- faults of a disk that no process uses ---- */

void sim_disk_lose_power(struct sim_disk *self);
void sim_disk_wipe(struct sim_disk *self);

/* The copy takes the folder's place; false when none was taken. */
bool sim_disk_roll_back(struct sim_disk *self);
void sim_disk_forget_copy(struct sim_disk *self);

/* Flip a bit of some file that was durable, in a place where a reader can notice: not in what the
 * newest sync of the newest segment wrote, which looks like a torn tail then, nor in that
 * segment's header. False when there is no such place. */
bool sim_disk_flip(struct sim_disk *self);

/* ---- looking at it ---- */

/* Is a flipped bit left in some file that is in use? */
bool sim_disk_is_flipped(const struct sim_disk *self);

bool sim_disk_empty(const struct sim_disk *self);

/* ---- for sim_disk_*.c ---- */

/* The watch of base/disk.h's operations that keeps time, strikes and looks on. */
struct memory_watch sim_disk_watch(struct sim_disk *self);

#endif
