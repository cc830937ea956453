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

#include "tests/sim/sim_process.h"

enum { SIM_MAX_COUNTERS = 40, SIM_MAX_SCENARIOS = 12 };

/* name, words */
#define SIM_FAULTS(X)                                       \
    X(LOSS, "message lost")                                 \
    X(REPEAT, "message repeated")                           \
    X(DELAY, "message late or overtaken")                   \
    X(RESET, "connections broken")                          \
    X(PARTITION, "partition")                               \
    X(PAUSE_NODE, "node paused")                            \
    X(PAUSE_ROUTER, "router paused")                        \
    X(PAUSE_COORDINATOR, "coordinator paused")              \
    X(KILL_NODE, "node killed and restarted")               \
    X(KILL_ROUTER, "router killed and restarted")           \
    X(KILL_COORDINATOR, "coordinator killed and restarted") \
    X(STORE, "store unreadable")                            \
    X(MOVE, "epoch changed: a replica moved")

enum sim_fault {
#define X(name, words) SIM_FAULT_##name,
    SIM_FAULTS(X)
#undef X
        SIM_NFAULTS
};

enum sim_phase { SIM_PHASE_ADD, SIM_PHASE_CHECK, SIM_PHASE_CREATE, SIM_PHASE_DROP, SIM_NPHASES };

struct sim_coverage {
    uint64_t runs;
    uint64_t delivered;
    uint64_t answers;
    uint64_t virtual_us;
    uint64_t faults[SIM_NFAULTS];
    uint64_t hits[SIM_NFAULTS][SIM_NPHASES];
    uint64_t counters[SIM_NKINDS][SIM_MAX_COUNTERS];
    uint64_t scenarios[SIM_MAX_SCENARIOS];
    uint32_t inflight[SIM_NPHASES]; /* of the present run */
};

void sim_coverage_fault(struct sim *sim, enum sim_fault fault);
void sim_coverage_begin(struct sim *sim, enum sim_phase phase);
void sim_coverage_end(struct sim *sim, enum sim_phase phase);
void sim_coverage_counters(struct sim_coverage *self, enum sim_kind kind, const uint64_t *values);

void sim_coverage_print(const struct sim_coverage *self);

/* Is anything that matters zero? Prints what. Returns how many. */
uint32_t sim_coverage_gaps(const struct sim_coverage *self);

#endif
