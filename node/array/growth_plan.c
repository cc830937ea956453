/* The table of an expansion's steps, as verdicts on what a replica set has and what is wanted:
 * it touches no array and reads no log. */
#include "node/array/growth_plan.h"

#include "base/mutant.h"

#define NEAR_SHARE 0.95

static enum growth_move decide_new(const struct growth_sight *sight)
{
    if (sight->from == sight->wanted || (!sight->has_turn && !sight->pressing) || sight->refused) {
        return MOVE_STAY;
    }
    if (!sight->fits_wanted) {
        return MOVE_STAY_SMALL;
    }
    return sight->has_room ? MOVE_BEGIN : MOVE_STAY_ROOM;
}

/* Whoever has begun a span ends it; whoever has opened a valve ends all, as only the new arrays
 * have what came through it. */
static enum growth_move decide_further(const struct growth_sight *sight)
{
    if (sight->in_span) {
        return MOVE_GO_ON;
    }
    if (sight->refused || (!sight->has_turn && !sight->pressing && !sight->open)) {
        return MOVE_STAY;
    }
    if (!sight->fits_to && !sight->open) {
        return MOVE_STAY_SMALL;
    }
    return sight->has_room ? MOVE_GO_ON : MOVE_STAY_ROOM;
}

enum growth_move growth_decide(const struct growth_sight *sight)
{
    if (!sight->ready) {
        return MOVE_STAY;
    }
    if (sight->to == 0) {
        return decide_new(sight);
    }
    if (sight->all_served) {
        return MOVE_FINISH;
    }
    if (sight->to == sight->wanted || sight->open) {
        return decide_further(sight);
    }
    if (!sight->served) {
        return MOVE_DROP;
    }
    /* A third one: shards can't be in three layers, so the nearer end comes first. */
    return sight->from == sight->wanted ? MOVE_TURN : decide_further(sight);
}

/* ---- a span ---- */

#define REST      GROWTH_REST
#define STANDING  GROWTH_STANDING
#define FILL      GROWTH_FILL_RUNS
#define FILL_LOG  GROWTH_FILL_LOG
#define CHECK     GROWTH_CHECK_RUNS
#define CHECK_LOG GROWTH_CHECK_LOG
#define WEIGHING  GROWTH_WEIGHING
#define SERVING   GROWTH_SERVING
#define FILLED    (MUTANT(GROW_SERVE_EARLY) ? GROWTH_SERVING : GROWTH_FILL_LOG)

/* Filling again after STALE keeps what is there: bits are only ever gained. WRONG begins with empty
 * arrays, where that is possible. */
static const enum growth_phase next_phases[GROWTH_NPHASES][GROWTH_NEVENTS] = {
    /*                        BEGUN     DONE             STALE      WRONG     GONE */
    [GROWTH_REST] = {STANDING, REST, REST, REST, REST},
    [GROWTH_STANDING] = {STANDING, GROWTH_AWAITING, STANDING, STANDING, REST},
    [GROWTH_AWAITING] = {GROWTH_AWAITING, FILL, GROWTH_AWAITING, GROWTH_AWAITING, REST},
    [GROWTH_FILL_RUNS] = {FILL, FILLED, FILL, FILL, REST},
    [GROWTH_FILL_LOG] = {FILL_LOG, CHECK, FILL, FILL_LOG, REST},
    [GROWTH_CHECK_RUNS] = {CHECK, CHECK_LOG, CHECK, STANDING, REST},
    [GROWTH_CHECK_LOG] = {CHECK_LOG, WEIGHING, CHECK, STANDING, REST},
    [GROWTH_WEIGHING] = {WEIGHING, SERVING, WEIGHING, STANDING, REST},
    [GROWTH_SERVING] = {SERVING, REST, SERVING, SERVING, REST},
};

enum growth_phase growth_next(enum growth_phase phase, enum growth_event event)
{
    return next_phases[phase][event];
}

const char *growth_phase_name(enum growth_phase phase)
{
    static const char *const names[GROWTH_NPHASES] = {
        [GROWTH_REST] = "rest",
        [GROWTH_STANDING] = "stand",
        [GROWTH_AWAITING] = "await",
        [GROWTH_FILL_RUNS] = "fill",
        [GROWTH_FILL_LOG] = "fill from the log",
        [GROWTH_CHECK_RUNS] = "check",
        [GROWTH_CHECK_LOG] = "check with the log",
        [GROWTH_WEIGHING] = "weigh",
        [GROWTH_SERVING] = "serve",
    };

    return names[phase];
}

bool growth_reads(enum growth_phase phase)
{
    return phase >= GROWTH_FILL_RUNS && phase <= GROWTH_CHECK_LOG;
}

bool growth_reads_log(enum growth_phase phase)
{
    return phase == GROWTH_FILL_LOG || phase == GROWTH_CHECK_LOG;
}

bool growth_checks(enum growth_phase phase)
{
    return phase == GROWTH_CHECK_RUNS || phase == GROWTH_CHECK_LOG;
}

bool growth_goes_first(const struct growth_urgency *a, const struct growth_urgency *b)
{
    return a->pressing != b->pressing ? a->pressing : a->bytes < b->bytes;
}

bool growth_is_near(uint64_t keys, uint64_t capacity)
{
    return (double)keys >= NEAR_SHARE * (double)capacity;
}
