/* sim_scenario.h - what a seed is about: the cluster, the load, what goes wrong and when.
 *
 *   start - filters are created - faults under load - calm - the final questions - end
 *
 * Most seeds add weather and a storm of random faults to their scenario's own.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SCENARIO_H
#define ORBLOOM_TESTS_SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

struct sim;

/* name, words */
#define SIM_SCENARIOS(X)                                           \
    X(STORM, "random faults")                                      \
    X(STALE_ROUTER, "stale router, name dropped and created anew") \
    X(CUT_REPLICAS, "replicas and a router cut off, name reused")  \
    X(PAUSED, "too few replicas run")                              \
    X(RESTART, "node killed and restarted")                        \
    X(LOST, "two replicas lost")                                   \
    X(COORDINATORS, "all coordinators dead")                       \
    X(REPEATS, "storm of repeated messages")                       \
    X(MOVE, "replica moves under load")                            \
    X(MIX, "moves, drops and random faults")                       \
    X(FORGETFUL, "adds overtaken by their retries and forgotten")  \
    X(LAG, "a log lags while another replica is replaced")         \
    X(TWO_JOIN, "two replicas are replaced at once")               \
    X(OLD_LIFE, "a life that was replaced runs on, cut off")       \
    X(DRAIN, "nodes are drained one after the other")              \
    X(REPLACE, "dead nodes are replaced by a spare")               \
    X(GROW, "filters grow under load")                             \
    X(REBUILD, "filters are rebuilt from lists")                   \
    X(WINDOW, "filters keep keys for a time")                      \
    X(RENAME, "names are dropped and created anew")                \
    X(REBALANCE, "slot groups move to nodes that came later")      \
    X(ACCEPT, "too many replicas lost, and that is accepted")

enum { SIM_LENGTHY_TIMES = 10 /* as long */ };

enum sim_scenario_kind {
#define X(name, words) SIM_SCENARIO_##name,
    SIM_SCENARIOS(X)
#undef X
        SIM_NSCENARIOS
};

struct sim_scenario {
    enum sim_scenario_kind kind;
    bool calm;           /* faults are over */
    bool stormy;         /* random faults come */
    uint32_t node_kills; /* that storms may still do */
    uint32_t moves;      /* done so far */
    uint64_t unrest_us;  /* after the calm: when something was last under way */
};

const char *sim_scenario_words(uint32_t kind);

/* The kind plus one of the scenario of that name, in capitals; 0: there is none. */
uint32_t sim_scenario_named(const char *name);

/* Draw scenario, settings and weather; before the processes are made. */
void sim_scenario_draw(struct sim *sim);

/* Start processes and plan the rest. */
void sim_scenario_begin(struct sim *sim);

#endif
