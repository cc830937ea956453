/* The table of an expansion's steps, as verdicts on what a set of arrays has and what is wanted:
 * it touches no array and reads no log. */
#include "node/array/expansion_plan.h"

#include "base/mutant.h"

#include <assert.h>

#define NEAR_SHARE 0.95

static enum expansion_move decide_new(const struct expansion_sight *sight)
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
static enum expansion_move decide_further(const struct expansion_sight *sight)
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

enum expansion_move expansion_decide(const struct expansion_sight *sight)
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

#define REST      EXPANSION_REST
#define STANDING  EXPANSION_STANDING
#define FILL      EXPANSION_FILL_RUNS
#define FILL_LOG  EXPANSION_FILL_LOG
#define CHECK     EXPANSION_CHECK_RUNS
#define CHECK_LOG EXPANSION_CHECK_LOG
#define WEIGHING  EXPANSION_WEIGHING
#define SERVING   EXPANSION_SERVING
#define FILLED    (MUTANT(GROW_SERVE_EARLY) ? EXPANSION_SERVING : EXPANSION_FILL_LOG)

/* Filling again after STALE keeps what is there: bits are only ever gained. WRONG begins with empty
 * arrays, where that is possible. */
static const enum expansion_phase next_phases[EXPANSION_NPHASES][EXPANSION_NEVENTS] = {
    /*                        BEGUN     DONE             STALE      WRONG     GONE */
    [EXPANSION_REST] = {STANDING, REST, REST, REST, REST},
    [EXPANSION_STANDING] = {STANDING, EXPANSION_AWAITING, STANDING, STANDING, REST},
    [EXPANSION_AWAITING] = {EXPANSION_AWAITING, FILL, EXPANSION_AWAITING, EXPANSION_AWAITING, REST},
    [EXPANSION_FILL_RUNS] = {FILL, FILLED, FILL, FILL, REST},
    [EXPANSION_FILL_LOG] = {FILL_LOG, CHECK, FILL, FILL_LOG, REST},
    [EXPANSION_CHECK_RUNS] = {CHECK, CHECK_LOG, CHECK, STANDING, REST},
    [EXPANSION_CHECK_LOG] = {CHECK_LOG, WEIGHING, CHECK, STANDING, REST},
    [EXPANSION_WEIGHING] = {WEIGHING, SERVING, WEIGHING, STANDING, REST},
    [EXPANSION_SERVING] = {SERVING, REST, SERVING, SERVING, REST},
};

enum expansion_phase expansion_next(enum expansion_phase phase, enum expansion_event event)
{
    assert(phase < EXPANSION_NPHASES && event < EXPANSION_NEVENTS);
    return next_phases[phase][event];
}

const char *expansion_phase_name(enum expansion_phase phase)
{
    static const char *const names[EXPANSION_NPHASES] = {
        [EXPANSION_REST] = "rest",
        [EXPANSION_STANDING] = "stand",
        [EXPANSION_AWAITING] = "await",
        [EXPANSION_FILL_RUNS] = "fill",
        [EXPANSION_FILL_LOG] = "fill from the log",
        [EXPANSION_CHECK_RUNS] = "check",
        [EXPANSION_CHECK_LOG] = "check with the log",
        [EXPANSION_WEIGHING] = "weigh",
        [EXPANSION_SERVING] = "serve",
    };

    return names[phase];
}

bool expansion_reads(enum expansion_phase phase)
{
    return phase >= EXPANSION_FILL_RUNS && phase <= EXPANSION_CHECK_LOG;
}

bool expansion_reads_log(enum expansion_phase phase)
{
    return phase == EXPANSION_FILL_LOG || phase == EXPANSION_CHECK_LOG;
}

bool expansion_checks(enum expansion_phase phase)
{
    return phase == EXPANSION_CHECK_RUNS || phase == EXPANSION_CHECK_LOG;
}

bool expansion_goes_first(const struct expansion_urgency *a, const struct expansion_urgency *b)
{
    return a->pressing != b->pressing ? a->pressing : a->bytes < b->bytes;
}

bool expansion_is_near(uint64_t keys, uint64_t capacity)
{
    return (double)keys >= NEAR_SHARE * (double)capacity;
}
