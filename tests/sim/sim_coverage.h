/* sim_coverage.h - what the runs have reached: faults, by what was under way; counters; scenarios.
 *
 * A fault that never meets an operation proves nothing, so every fault is counted once for each
 * kind of operation in flight when it hits. After the full set of seeds nothing that matters
 * may be zero.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_COVERAGE_H
#define ORBLOOM_TESTS_SIM_COVERAGE_H

#include "node/base/steps.h"
#include "tests/sim/sim_process.h"
#include "tests/sim/sim_remade.h"

enum { SIM_MAX_COUNTERS = 96, SIM_MAX_SCENARIOS = 24 };

/* name, words */
#define SIM_FAULTS(X)                                       \
    X(LOSS, "message lost")                                 \
    X(REPEAT, "message repeated")                           \
    X(DELAY, "message late or overtaken")                   \
    X(MIXED_UP, "answer to another question")               \
    X(LATE_COMMAND, "operator's command late")              \
    X(RESET, "connections broken")                          \
    X(GIVEN_UP, "drop given up")                            \
    X(PARTITION, "partition")                               \
    X(PAUSE_NODE, "node paused")                            \
    X(PAUSE_ROUTER, "router paused")                        \
    X(PAUSE_COORDINATOR, "coordinator paused")              \
    X(KILL_NODE, "node killed and restarted")               \
    X(KILL_ROUTER, "router killed and restarted")           \
    X(KILL_COORDINATOR, "coordinator killed and restarted") \
    X(STORE, "store unreadable")                            \
    X(STORE_SLOW, "store slow")                             \
    X(MOVE, "epoch changed")                                \
    X(STOP_NODE, "node ended and restarted")                \
    X(POWER_NODE, "node loses power")                       \
    X(POWER_ALL, "all nodes lose power")                    \
    X(KILL_ALL, "all nodes killed")                         \
    X(WIPE, "node's disk wiped")                            \
    X(ROLL_BACK, "node's disk replaced by a copy")          \
    X(FLIP, "bit of node's disk flipped")                   \
    X(EIO, "disk operation fails")                          \
    X(CRASH, "crash in a disk operation")                   \
    X(NO_SPACE, "disk full")                                \
    X(STALL, "log of a node stalls")                        \
    X(TAKE_OVER, "node cut off, another takes its place")

enum sim_fault {
#define X(name, words) SIM_FAULT_##name,
    SIM_FAULTS(X)
#undef X
        SIM_NFAULTS
};

/* name, word: operations in flight, then what some node is in the midst of (sim_phase.h), then a
 * slot on its way from a node to another */
#define SIM_PHASES(X)       \
    X(ADD, "add")           \
    X(CHECK, "check")       \
    X(CREATE, "create")     \
    X(DROP, "drop")         \
    X(RECOVERY, "recovery") \
    X(SYNC, "sync")         \
    X(MERGE, "merge")       \
    X(ROLL, "roll")         \
    X(BOOT, "boot")         \
    X(GROW, "grow")         \
    X(VALVE, "valve")       \
    X(FEED, "feed")         \
    X(STEP, "step")         \
    X(REBUILD, "rebuild")   \
    X(MOVE, "move")

enum sim_phase {
#define X(name, word) SIM_PHASE_##name,
    SIM_PHASES(X)
#undef X
        SIM_NPHASES
};

struct sim_coverage {
    uint64_t runs;
    uint64_t lengthy_runs;
    uint64_t disk_runs; /* whose nodes have disks: without one the rest of the table is empty */
    uint64_t user_runs; /* with users: without one nobody is refused anything */
    uint64_t delivered;
    uint64_t answers;
    uint64_t held; /* times that a key was looked for in the replicas */
    uint64_t virtual_us;
    uint64_t events;          /* faults but those of single messages */
    uint64_t minority;        /* keys excused: see docs/simulator.md, known gaps */
    uint64_t least_delivered; /* in a run that passed */
    uint64_t least_events;
    uint64_t faults[SIM_NFAULTS];
    uint64_t hits[SIM_NFAULTS][SIM_NPHASES];
    uint64_t counters[SIM_NKINDS][SIM_MAX_COUNTERS];
    uint64_t scenarios[SIM_MAX_SCENARIOS];
    uint64_t steps[NODE_NSTEPS]; /* of nodes, that were not the last of their loop */
    struct sim_remade remade;
    uint32_t inflight[SIM_NPHASES]; /* of the present run */
};

void sim_coverage_fault(struct sim *sim, enum sim_fault fault);
void sim_coverage_begin(struct sim *sim, enum sim_phase phase);
void sim_coverage_end(struct sim *sim, enum sim_phase phase);
void sim_coverage_counters(struct sim_coverage *self, enum sim_kind kind, const uint64_t *values);

void sim_coverage_steps(struct sim_coverage *self, const struct steps *steps);

void sim_coverage_print(const struct sim_coverage *self);

/* Is anything that matters zero? Prints what. Returns how many. */
uint32_t sim_coverage_gaps(const struct sim_coverage *self);

#endif
