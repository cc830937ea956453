/* The table of faults and phases, and the choice of what was hit least. */
#include "tests/torture/coverage.h"

#include "tests/support/random.h"

#include <inttypes.h>

const struct coverage_row coverage_rows[COVERAGE_ROWS] = {
    {"kill-node", FAULT_KILL, DAEMON_NODE},
    {"kill-router", FAULT_KILL, DAEMON_ROUTER},
    {"kill-coordinator", FAULT_KILL, DAEMON_COORDINATOR},
    {"kill-all", FAULT_KILL_ALL, DAEMON_NODE},
    {"stop-node", FAULT_STOP, DAEMON_NODE},
    {"stop-router", FAULT_STOP, DAEMON_ROUTER},
    {"stop-coordinator", FAULT_STOP, DAEMON_COORDINATOR},
    {"cut-node", FAULT_CUT, DAEMON_NODE},
    {"cut-router", FAULT_CUT, DAEMON_ROUTER},
    {"cut-coordinator", FAULT_CUT, DAEMON_COORDINATOR},
    {"wipe-node", FAULT_WIPE, DAEMON_NODE},
    {"replace-node", FAULT_REPLACE, DAEMON_NODE},
    {"rollback-node", FAULT_ROLLBACK, DAEMON_NODE},
    {"rewind-node", FAULT_REWIND, DAEMON_NODE},
};

static const char *const phase_names[PHASES] = {
    [PHASE_CREATE] = "create", [PHASE_ADD] = "add",   [PHASE_CHECK] = "check",
    [PHASE_REPLAY] = "replay", [PHASE_SYNC] = "sync", [PHASE_MERGE] = "merge",
    [PHASE_DROP] = "drop",     [PHASE_GROW] = "grow", [PHASE_VALVE] = "valve",
    [PHASE_MOVE] = "move",
};

uint32_t coverage_row(enum fault fault, enum daemon_kind kind)
{
    uint32_t row = 0;

    while (row < COVERAGE_ROWS &&
           (coverage_rows[row].fault != fault || coverage_rows[row].kind != kind)) {
        row++;
    }
    return row;
}

const char *coverage_phase_name(enum phase phase)
{
    return phase_names[phase];
}

const char *coverage_show_phases(uint32_t phases, char text[64])
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < PHASES; i++) {
        if ((phases >> i & 1) != 0) {
            used += (size_t)snprintf(text + used, 64 - used, "%s%s", used > 0 ? "," : "",
                                     phase_names[i]);
        }
    }
    return text;
}

void coverage_count(struct coverage *self, uint32_t row, uint32_t phases)
{
    self->faults++;
    self->hits[row]++;
    for (uint32_t i = 0; i < PHASES; i++) {
        self->cells[row][i] += phases >> i & 1;
    }
}

/* The less often, the likelier: two are drawn, the rarer one wins, mostly. */
static bool replaces(uint64_t challenger, uint64_t champion, uint64_t *random)
{
    return challenger < champion || random_below(random, 4) == 0;
}

uint32_t coverage_choose_row(const struct coverage *self, uint32_t rows, uint64_t *random)
{
    uint32_t best = COVERAGE_ROWS;

    for (uint32_t i = 0, first = (uint32_t)random_below(random, COVERAGE_ROWS); i < COVERAGE_ROWS;
         i++) {
        uint32_t row = (first + i) % COVERAGE_ROWS;

        if ((rows >> row & 1) != 0 &&
            (best == COVERAGE_ROWS || replaces(self->hits[row], self->hits[best], random))) {
            best = row;
        }
    }
    return best;
}

enum phase coverage_choose_phase(const struct coverage *self, uint32_t row, uint64_t *random)
{
    uint32_t best = (uint32_t)random_below(random, PHASES);

    if (random_below(random, 2) == 0) {
        return (enum phase)best; /* One that seldom comes is not waited for each time. */
    }
    for (uint32_t i = 0; i < PHASES; i++) {
        if (self->cells[row][i] < self->cells[row][best]) {
            best = i;
        }
    }
    return (enum phase)best;
}

void coverage_print(const struct coverage *self, uint32_t rows, FILE *out)
{
    (void)fprintf(out, "%-18s", "fault");
    for (uint32_t i = 0; i < PHASES; i++) {
        (void)fprintf(out, "%8s", phase_names[i]);
    }
    (void)fprintf(out, "%8s\n", "all");
    for (uint32_t row = 0; row < COVERAGE_ROWS; row++) {
        if ((rows >> row & 1) == 0) {
            (void)fprintf(out, "%-18s left out\n", coverage_rows[row].name);
            continue;
        }
        (void)fprintf(out, "%-18s", coverage_rows[row].name);
        for (uint32_t i = 0; i < PHASES; i++) {
            (void)fprintf(out, "%8" PRIu64, self->cells[row][i]);
        }
        (void)fprintf(out, "%8" PRIu64 "\n", self->hits[row]);
    }
}
