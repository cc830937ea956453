/* Counts, prints the tables, and says which cells that matter are zero. */
#include "tests/sim/sim_coverage.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_start.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const char *const fault_words[SIM_NFAULTS] = {
#define X(name, words) words,
    SIM_FAULTS(X)
#undef X
};

static const char *const phase_words[SIM_NPHASES] = {
#define X(name, word) word,
    SIM_PHASES(X)
#undef X
};

/* Counters of the cores that a run of all seeds must have moved. */
static const struct {
    enum sim_kind kind;
    const char *name;
    bool lengthy; /* only by lengthy runs, that is */
} wanted[] = {
    {SIM_NODE, "stale_total", false},
    {SIM_NODE, "need_doc_total", false},
    {SIM_NODE, "not_ready_total", false},
    {SIM_NODE, "remembered_total", false},
    {SIM_NODE, "repeated_total", false},
    {SIM_NODE, "fences_total", false},
    {SIM_NODE, "replies_dropped_total", false},
    {SIM_NODE, "held_total", false},
    {SIM_NODE, "no_space_total", true},
    {SIM_NODE, "log_bare_total", false},
    {SIM_NODE, "replayed_keys_total", false},
    {SIM_NODE, "amnesia_total", false},
    {SIM_NODE, "run_keys", false},
    {SIM_NODE, "snapshots_total", false},
    {SIM_NODE, "imprints_total", false},
    {SIM_NODE, "imprints_read_total", false},
    {SIM_NODE, "imprints_refused_total", false},
    {SIM_NODE, "pages_copied_total", false},
    {SIM_NODE, "pulls_total", false},
    {SIM_NODE, "sync_keys_total", false},
    {SIM_NODE, "gossip_keys_missed_total", false},
    {SIM_NODE, "repairs_ended_total", false},
    {SIM_NODE, "repair_failures_total", false},
    {SIM_NODE, "repair_keys_total", false},
    {SIM_NODE, "full_total", false},
    {SIM_NODE, "report_pages_total", false},
    {SIM_NODE, "growth_keys_total", false},
    {SIM_NODE, "growth_shards_total", false},
    {SIM_NODE, "growth_restarts_total", true},
    {SIM_ROUTER, "hedges_total", false},
    {SIM_ROUTER, "disagreements_total", false},
    {SIM_ROUTER, "retries_total", false},
    {SIM_ROUTER, "restarts_total", false},
    {SIM_ROUTER, "stale_total", false},
    {SIM_ROUTER, "held_total", false},
    {SIM_ROUTER, "need_doc_total", false},
    {SIM_ROUTER, "not_ready_total", false},
    {SIM_ROUTER, "votes_void_total", false},
    {SIM_ROUTER, "late_total", false},
    {SIM_ROUTER, "suspects_total", false},
    {SIM_ROUTER, "deadlines_total", false},
    {SIM_ROUTER, "unknown_filters_total", false},
    {SIM_ROUTER, "keys_maybe_total", false},
    {SIM_ROUTER, "keys_maybe_new_total", false},
    {SIM_ROUTER, "keys_undecided_total", false},
    {SIM_ROUTER, "not_permitted_total", false},
    {SIM_ROUTER, "user_rate_total", false},
    {SIM_COORDINATOR, "hints_total", false},
    {SIM_COORDINATOR, "swap_conflicts_total", false},
    {SIM_COORDINATOR, "store_errors_total", false},
    {SIM_COORDINATOR, "filters_dropped_total", false},
    {SIM_COORDINATOR, "filters_forgotten_total", false},
    {SIM_COORDINATOR, "fences_confirmed_total", false},
    {SIM_COORDINATOR, "fences_void_total", false},
    {SIM_COORDINATOR, "report_rounds_total", false},
    {SIM_COORDINATOR, "growth_written_total", false},
    {SIM_COORDINATOR, "rebuilds_written_total", false},
    {SIM_COORDINATOR, "not_permitted_total", false},
    {SIM_CLIENT, "retries_total", false},
    {SIM_CLIENT, "failovers_total", false},
    {SIM_CLIENT, "deadlines_total", false},
    {SIM_CLIENT, "late_answers_total", false},
};

/* Of memory nodes nothing is told: a restarted one is JOINING for good. */
static uint32_t phases_of_nodes(const struct sim *sim)
{
    uint32_t phases = 0;

    for (uint32_t i = 0; sim->settings.disks && i < sim->nprocesses; i++) {
        phases |= sim->processes[i]->phases;
    }
    return phases | (sim_view_moves(sim) ? UINT32_C(1) << SIM_PHASE_MOVE : 0) |
           (sim_rebuild_is_open(sim) ? UINT32_C(1) << SIM_PHASE_REBUILD : 0);
}

void sim_coverage_fault(struct sim *sim, enum sim_fault fault)
{
    struct sim_coverage *self = sim->coverage;
    uint32_t phases = phases_of_nodes(sim);

    self->faults[fault]++;
    if (fault > SIM_FAULT_LATE_COMMAND) {
        sim->faults++;
        sim->invariant.due = true;
    }
    for (uint32_t i = 0; i < SIM_NPHASES; i++) {
        self->hits[fault][i] += self->inflight[i] > 0 || (phases >> i & 1) != 0;
    }
}

void sim_coverage_begin(struct sim *sim, enum sim_phase phase)
{
    sim->coverage->inflight[phase]++;
}

void sim_coverage_end(struct sim *sim, enum sim_phase phase)
{
    assert(sim->coverage->inflight[phase] > 0);
    sim->coverage->inflight[phase]--;
}

void sim_coverage_counters(struct sim_coverage *self, enum sim_kind kind, const uint64_t *values)
{
    for (uint32_t i = 0; i < SIM_MAX_COUNTERS; i++) {
        self->counters[kind][i] += values[i];
    }
}

void sim_coverage_steps(struct sim_coverage *self, const struct steps *steps)
{
    for (uint32_t i = 0; i < NODE_NSTEPS; i++) {
        self->steps[i] += steps->again[i];
    }
}

static uint64_t counter(const struct sim_coverage *self, enum sim_kind kind, const char *name)
{
    struct counter_table table = sim_start_counters(kind);

    for (size_t i = 0; i < table.count; i++) {
        if (strcmp(table.defs[i].name, name) == 0) {
            return self->counters[kind][i];
        }
    }
    return 0; /* A renamed counter shows as a gap. */
}

static void print_faults(const struct sim_coverage *self)
{
    (void)printf("\n%-34s %9s   while:", "fault", "times");
    for (uint32_t i = 0; i < SIM_NPHASES; i++) {
        (void)printf(" %8s", phase_words[i]);
    }
    for (uint32_t i = 0; i < SIM_NFAULTS; i++) {
        (void)printf("\n%-34s %9" PRIu64 "         ", fault_words[i], self->faults[i]);
        for (uint32_t k = 0; k < SIM_NPHASES; k++) {
            (void)printf(" %8" PRIu64, self->hits[i][k]);
        }
    }
    (void)printf("\n");
}

void sim_coverage_print(const struct sim_coverage *self)
{
    print_faults(self);
    (void)printf("\n%-34s %10s\n", "scenario", "seeds");
    for (uint32_t i = 0; i < SIM_NSCENARIOS; i++) {
        (void)printf("%-34s %10" PRIu64 "\n", sim_scenario_words(i), self->scenarios[i]);
    }
    (void)printf("\n%-34s %10s\n", "step that was not the last", "times");
    for (uint32_t i = 0; i < NODE_NSTEPS; i++) {
        (void)printf("%-34s %10" PRIu64 "\n", steps_name((enum step)i), self->steps[i]);
    }
    (void)printf("\n%" PRIu64 " arrays were made again, %" PRIu64 " with strays were not\n",
                 self->remade.arrays, self->remade.strays);
    (void)printf("\n%-34s %10" PRIu64 "\n", "\"present\" of a minority, excused", self->minority);
    (void)printf("\n%-34s %10" PRIu64 "\n", "seeds with users", self->user_runs);
    (void)printf("\n%-34s %10s\n", "counter", "sum");
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        (void)printf("%-11s %-22s %10" PRIu64 "\n", sim_kind_name(wanted[i].kind), wanted[i].name,
                     counter(self, wanted[i].kind, wanted[i].name));
    }
    (void)printf("\n");
}

static uint32_t gap(const char *what, const char *which)
{
    (void)printf("never reached: %s %s\n", what, which);
    return 1;
}

/* An epoch of nodes with disks changes, and a node's place is taken, when the course of its
 * scenario says so: no storm can make that meet what takes so little time. */
static bool is_aimed(uint32_t fault, uint32_t phase)
{
    if (fault == SIM_FAULT_GIVEN_UP) { /* In RENAME alone. */
        return phase <= SIM_PHASE_DROP;
    }
    if (fault == SIM_FAULT_TAKE_OVER) {
        return phase != SIM_PHASE_MERGE && phase != SIM_PHASE_FEED && phase != SIM_PHASE_STEP &&
               phase != SIM_PHASE_MOVE && phase != SIM_PHASE_VALVE && phase != SIM_PHASE_SYNC;
    }
    if (fault == SIM_FAULT_ROLL_BACK) { /* Few seeds have a valve open then. */
        return phase != SIM_PHASE_VALVE;
    }
    return fault != SIM_FAULT_MOVE || (phase != SIM_PHASE_MERGE && phase != SIM_PHASE_ROLL);
}

/* Of a step: runs of one set are merged when eight have come together, which takes long. */
uint32_t sim_coverage_gaps(const struct sim_coverage *self)
{
    uint32_t nfaults = self->disk_runs > 0 ? SIM_NFAULTS : SIM_FAULT_STOP_NODE;
    uint32_t nphases = self->disk_runs > 0 ? SIM_NPHASES : SIM_PHASE_RECOVERY;
    uint32_t gaps = 0;

    for (uint32_t i = 0; i < nfaults; i++) {
        for (uint32_t k = 0; k < nphases; k++) {
            gaps += self->hits[i][k] == 0 && is_aimed(i, k) ? gap(fault_words[i], phase_words[k])
                                                            : 0;
        }
    }
    for (uint32_t i = 0; self->disk_runs > 0 && i < NODE_NSTEPS; i++) {
        gaps += self->steps[i] == 0 ? gap("a second step of", steps_name((enum step)i)) : 0;
    }
    for (uint32_t i = 0; i < SIM_NSCENARIOS; i++) {
        gaps += self->scenarios[i] == 0 ? gap("scenario", sim_scenario_words(i)) : 0;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        gaps += counter(self, wanted[i].kind, wanted[i].name) == 0 &&
                        (self->lengthy_runs > 0 || !wanted[i].lengthy)
                    ? gap(sim_kind_name(wanted[i].kind), wanted[i].name)
                    : 0;
    }
    return gaps;
}
