/* Counts kills by process and phase, and prints what is still missing. */
#include "tests/torture/kills.h"

#include <inttypes.h>

bool kills_possible(enum change change, enum stage stage, enum kills_who who)
{
    bool builds = stage >= STAGE_STAND && stage <= STAGE_SERVE;

    if ((stages_of(change) >> stage & 1) == 0) {
        return false;
    }
    if (change == CHANGE_EXPAND) {
        return who == KILLS_ACTOR ? builds || stage == STAGE_VALVE : who != KILLS_JOINING;
    }
    if (who == KILLS_JOINING) {
        return stage != STAGE_V1; /* It is nobody yet. */
    }
    return !(change == CHANGE_REPLACE && who == KILLS_ACTOR && stage == STAGE_V1); /* It is dead. */
}

uint64_t kills_fewest(const struct kills *self, uint32_t stages, enum kills_who who)
{
    uint64_t fewest = UINT64_MAX;

    for (enum stage stage = 0; stage < STAGES; stage++) {
        uint64_t count = self->cells[stage][who];

        if ((stages >> stage & 1) != 0 && kills_possible(self->change, stage, who) &&
            count < self->wanted && count < fewest) {
            fewest = count;
        }
    }
    return fewest;
}

void kills_count(struct kills *self, uint32_t stages, enum kills_who who)
{
    bool any = false;

    self->all[who]++;
    for (enum stage stage = 0; stage < STAGES; stage++) {
        if ((stages >> stage & 1) != 0 && kills_possible(self->change, stage, who)) {
            self->cells[stage][who]++;
            any = true;
        }
    }
    self->missed += !any;
}

uint64_t kills_sum(const struct kills *self)
{
    uint64_t sum = 0;

    for (enum kills_who who = 0; who < KILLS_NWHO; who++) {
        sum += self->all[who];
    }
    return sum;
}

bool kills_done(const struct kills *self)
{
    for (enum kills_who who = 0; who < KILLS_NWHO; who++) {
        if (kills_fewest(self, stages_of(self->change), who) != UINT64_MAX) {
            return false;
        }
    }
    return true;
}

/* ---- the table ---- */

static const char *who_name(enum change change, enum kills_who who)
{
    static const char *const names[KILLS_NWHO] = {
        [KILLS_JOINING] = "joining node",    [KILLS_OTHER] = "other node",
        [KILLS_NODES] = "all nodes",         [KILLS_ROUTER] = "router",
        [KILLS_COORDINATOR] = "coordinator",
    };

    if (who == KILLS_ACTOR) {
        return change == CHANGE_EXPAND ? "building node" : "leaving node";
    }
    return names[who];
}

static bool has_column(enum change change, enum kills_who who)
{
    return who != KILLS_JOINING || change != CHANGE_EXPAND;
}

static uint32_t print_row(const struct kills *self, enum stage stage, FILE *out)
{
    uint32_t empty = 0;

    (void)fprintf(out, "%-14s", stage_name(stage));
    for (enum kills_who who = 0; who < KILLS_NWHO; who++) {
        if (!has_column(self->change, who)) {
            continue;
        }
        if (!kills_possible(self->change, stage, who)) {
            (void)fprintf(out, "%15s", "-");
            continue;
        }
        (void)fprintf(out, "%15" PRIu64, self->cells[stage][who]);
        empty += self->cells[stage][who] == 0;
    }
    (void)fprintf(out, "\n");
    return empty;
}

static void print_empty(const struct kills *self, FILE *out)
{
    (void)fprintf(out, "never hit:");
    for (enum stage stage = 0; stage < STAGES; stage++) {
        for (enum kills_who who = 0; who < KILLS_NWHO; who++) {
            if (kills_possible(self->change, stage, who) && self->cells[stage][who] == 0) {
                (void)fprintf(out, " [%s, %s]", stage_name(stage), who_name(self->change, who));
            }
        }
    }
    (void)fprintf(out, "\n");
}

uint32_t kills_print(const struct kills *self, FILE *out)
{
    uint32_t empty = 0;

    (void)fprintf(out, "%-14s", "kill -9 of");
    for (enum kills_who who = 0; who < KILLS_NWHO; who++) {
        if (has_column(self->change, who)) {
            (void)fprintf(out, "%15s", who_name(self->change, who));
        }
    }
    (void)fprintf(out, "\n");
    for (enum stage stage = 0; stage < STAGES; stage++) {
        empty += (stages_of(self->change) >> stage & 1) != 0 ? print_row(self, stage, out) : 0;
    }
    (void)fprintf(out, "%-14s", "all");
    for (enum kills_who who = 0; who < KILLS_NWHO; who++) {
        if (has_column(self->change, who)) {
            (void)fprintf(out, "%15" PRIu64, self->all[who]);
        }
    }
    (void)fprintf(out, "\n");
    if (empty > 0) {
        print_empty(self, out);
    }
    return empty;
}
