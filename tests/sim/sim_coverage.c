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

/* Counters of the cores that a run of all seeds must have moved. */
static const struct {
    enum sim_kind kind;
    const char *name;
} wanted[] = {
    {SIM_NODE, "stale_total"},
    {SIM_NODE, "need_doc_total"},
    {SIM_NODE, "not_ready_total"},
    {SIM_NODE, "remembered_total"},
    {SIM_NODE, "repeated_total"},
    {SIM_NODE, "fences_total"},
    {SIM_NODE, "replies_dropped_total"},
    {SIM_ROUTER, "hedges_total"},
    {SIM_ROUTER, "disagreements_total"},
    {SIM_ROUTER, "retries_total"},
    {SIM_ROUTER, "restarts_total"},
    {SIM_ROUTER, "stale_total"},
    {SIM_ROUTER, "need_doc_total"},
    {SIM_ROUTER, "not_ready_total"},
    {SIM_ROUTER, "votes_void_total"},
    {SIM_ROUTER, "late_total"},
    {SIM_ROUTER, "suspects_total"},
    {SIM_ROUTER, "deadlines_total"},
    {SIM_ROUTER, "unknown_filters_total"},
    {SIM_ROUTER, "keys_maybe_total"},
    {SIM_ROUTER, "keys_maybe_new_total"},
    {SIM_ROUTER, "keys_undecided_total"},
    {SIM_COORDINATOR, "hints_total"},
    {SIM_COORDINATOR, "swap_conflicts_total"},
    {SIM_COORDINATOR, "store_errors_total"},
    {SIM_COORDINATOR, "filters_dropped_total"},
    {SIM_COORDINATOR, "fences_confirmed_total"},
    {SIM_COORDINATOR, "fences_void_total"},
    {SIM_CLIENT, "retries_total"},
    {SIM_CLIENT, "failovers_total"},
    {SIM_CLIENT, "deadlines_total"},
    {SIM_CLIENT, "late_answers_total"},
};

void sim_coverage_fault(struct sim *sim, enum sim_fault fault)
{
    struct sim_coverage *self = sim->coverage;

    self->faults[fault]++;
    for (uint32_t i = 0; i < SIM_NPHASES; i++) {
        self->hits[fault][i] += self->inflight[i] > 0;
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

void sim_coverage_print(const struct sim_coverage *self)
{
    (void)printf("\n%-34s %10s   in flight when it hit: %8s %9s %9s %9s\n", "fault", "times", "add",
                 "check", "create", "drop");
    for (uint32_t i = 0; i < SIM_NFAULTS; i++) {
        (void)printf("%-34s %10" PRIu64 " %31" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64 "\n",
                     fault_words[i], self->faults[i], self->hits[i][SIM_PHASE_ADD],
                     self->hits[i][SIM_PHASE_CHECK], self->hits[i][SIM_PHASE_CREATE],
                     self->hits[i][SIM_PHASE_DROP]);
    }
    (void)printf("\n%-34s %10s\n", "scenario", "seeds");
    for (uint32_t i = 0; i < SIM_NSCENARIOS; i++) {
        (void)printf("%-34s %10" PRIu64 "\n", sim_scenario_words(i), self->scenarios[i]);
    }
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

uint32_t sim_coverage_gaps(const struct sim_coverage *self)
{
    static const char *const phases[SIM_NPHASES] = {"add", "check", "create", "drop"};
    uint32_t gaps = 0;

    for (uint32_t i = 0; i < SIM_NFAULTS; i++) {
        for (uint32_t k = 0; k < SIM_NPHASES; k++) {
            gaps += self->hits[i][k] == 0 ? gap(fault_words[i], phases[k]) : 0;
        }
    }
    for (uint32_t i = 0; i < SIM_NSCENARIOS; i++) {
        gaps += self->scenarios[i] == 0 ? gap("scenario", sim_scenario_words(i)) : 0;
    }
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        gaps += counter(self, wanted[i].kind, wanted[i].name) == 0
                    ? gap(sim_kind_name(wanted[i].kind), wanted[i].name)
                    : 0;
    }
    return gaps;
}
