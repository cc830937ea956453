/* Three coordinators that hear each other by links, in any order, with losses, repeats and
 * restarts: none takes a step without what it rests on, and once all arrives all sets are equal.
 *
 * The steps themselves are tried in coordinator_sites.c; here it is what comes to them: fences that
 * nodes confirm late, words that are old, evidence that is begun at one time and told at another.
 */
#include "coordinator/private.h"
#include "map/acks.h"
#include "tests/support/random.h"
#include "tests/support/site_stages.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

enum { SEEDS = 24, STEPS = 220, QUIET_ROUNDS = 8, MAX_FENCED = 64 };

/* What the test knows of a site for sure. */
struct truth {
    struct site_set fenced[MAX_FENCED]; /* all that its nodes have confirmed, in order */
    uint32_t nfenced;
    bool copied[SITE_STAGES]; /* a copy of that one was told, begun when this one took adds */
    bool marked[SITE_STAGES]; /* a mark, begun when that one counted this one */
    struct site_set before;   /* its set at the last look */
};

static struct truth truths[SITE_STAGES];
static struct site_evidence flights[SITE_STAGES][SITE_STAGES]; /* begun, not told yet */
static uint64_t seed;
static uint64_t state;

static const struct site_set *set_of(uint32_t i)
{
    const struct filter_document *document = site_stages_document(i, "urls");

    return document != NULL && document_has_sites(document) ? document_sites(document) : NULL;
}

/* ---- what must hold ---- */

static bool ever_agreed(uint32_t k, const struct site_set *set)
{
    for (uint32_t n = 0; n < truths[k].nfenced; n++) {
        if (site_set_agrees(&truths[k].fenced[n], set)) {
            return true;
        }
    }
    return false;
}

static bool is_other(uint32_t i, uint32_t k, const struct site_set *set)
{
    struct site_id id = site_stages_id(k);
    const struct site_entry *entry = site_set_find(set, &id);

    return i != k && entry != NULL && entry->state != SITE_GONE;
}

static void judge(uint32_t i)
{
    const struct site_set *now = set_of(i);
    struct site_set *before = &truths[i].before;
    bool counts = now != NULL && site_set_own(now)->state == SITE_COUNTED;
    bool counted = before->count > 0 && site_set_own(before)->state == SITE_COUNTED;

    if (now == NULL) {
        return;
    }
    cr_assert(before->count == 0 || site_set_covers(now, before), "seed %" PRIu64, seed);
    for (uint32_t k = 0; k < SITE_STAGES; k++) {
        if (i == EU || !is_other(i, k, now)) {
            continue;
        }
        cr_assert(!now->takes_adds || before->takes_adds || counts || ever_agreed(k, now),
                  "seed %" PRIu64 ": %s takes adds, and %s does not know", seed,
                  site_stages_name(i), site_stages_name(k));
        cr_assert(!counts || counted || truths[i].copied[k],
                  "seed %" PRIu64 ": %s counts without a copy of %s", seed, site_stages_name(i),
                  site_stages_name(k));
        cr_assert(!now->says_absent || before->says_absent || truths[i].marked[k],
                  "seed %" PRIu64 ": %s says absent without a mark of %s", seed,
                  site_stages_name(i), site_stages_name(k));
    }
    *before = *now;
}

/* ---- what happens ---- */

static bool has_heard(uint32_t i, uint32_t k)
{
    const struct site_words *there = &site_stages[i].heard[k];
    const struct site_words *here = &site_stages[i].words;

    return there->said && here->said && !there->told.dropped && !here->told.dropped &&
           there->told.is_fenced && here->told.is_fenced;
}

static void begin_flight(uint32_t i, uint32_t k, bool copy)
{
    struct site_evidence held = site_stages[i].evidence[k];

    if (i == k || !has_heard(i, k)) {
        return;
    }
    if (copy) {
        site_stages_copy(i, k);
    } else {
        site_stages_mark(i, k);
    }
    flights[i][k] = site_stages[i].evidence[k];
    site_stages[i].evidence[k] = held;
}

static void note_truth(uint32_t i, uint32_t k, const struct site_evidence *told)
{
    struct site_id own = site_stages_id(i);
    const struct site_entry *entry = site_set_find(&told->marked, &own);

    truths[i].copied[k] = truths[i].copied[k] ||
                          (told->compared_here.count > 0 && told->compared_here.takes_adds);
    truths[i].marked[k] = truths[i].marked[k] || (entry != NULL && entry->state == SITE_COUNTED);
}

static void land(uint32_t i, uint32_t k)
{
    if (flights[i][k].uid.high != 0) {
        site_stages[i].evidence[k] = flights[i][k];
        note_truth(i, k, &flights[i][k]);
    }
}

static void confirm(uint32_t i)
{
    struct truth *truth = &truths[i];
    const struct site_set *set = set_of(i);

    if (site_stages[i].stage.nfences == 0) {
        return;
    }
    if (set != NULL && truth->nfenced < MAX_FENCED) {
        truth->fenced[truth->nfenced++] = *set;
    }
    site_stages_confirm(i);
}

static void ask(uint32_t i)
{
    coordinator_stage_report(&site_stages[i].stage, 3, 0, 0, REPLICA_NONE);
    site_stages_sync(i);
    coordinator_stage_pass(&site_stages[i].stage, 600000);
}

static void operate(uint32_t i, uint32_t k)
{
    if (set_of(i) == NULL && i != EU) {
        return;
    }
    if (i != k) { /* What is refused changes nothing. */
        (void)site_stages_change(i, SITE_STEP_ADD, site_stages_name(k));
    }
}

static void step(void)
{
    uint32_t i = (uint32_t)random_below(&state, SITE_STAGES);
    uint32_t k = (uint32_t)random_below(&state, SITE_STAGES);

    switch (random_below(&state, 12)) {
    case 0:
        operate(i, k);
        break;
    case 1:
    case 2:
        confirm(i);
        break;
    case 3:
        begin_flight(i, k, true);
        break;
    case 4:
        begin_flight(i, k, false);
        break;
    case 5:
    case 6:
        land(i, k);
        break;
    case 7:
        if (random_chance(&state, 150)) {
            site_stages_restart(i);
        }
        break;
    case 8:
    case 9:
        if (i != k && site_stages[k].words.said) {
            site_stages[i].heard[k] = site_stages[k].words;
        }
        break;
    default:
        ask(i);
        break;
    }
    judge(i);
    site_stages[i].stage.ntold = 0;
}

static void begin(void)
{
    memset(truths, 0, sizeof truths);
    memset(flights, 0, sizeof flights);
    site_stages_init(SITE_STAGES);
    site_stages_make(ACKS_EACH);
}

/* Everything arrives. */
static void round_of_all(void)
{
    for (uint32_t i = 0; i < SITE_STAGES; i++) {
        ask(i);
        confirm(i);
        ask(i);
        for (uint32_t k = 0; k < SITE_STAGES; k++) {
            begin_flight(i, k, true);
            land(i, k);
            begin_flight(i, k, false);
            land(i, k);
        }
        ask(i);
        judge(i);
    }
    site_stages_carry();
}

Test(sites_told, no_step_rests_on_what_was_not_told)
{
    uint32_t through = 0;

    for (seed = 1; seed <= SEEDS; seed++) {
        const struct site_set *all;

        state = seed;
        begin();
        for (int n = 0; n < STEPS; n++) {
            step();
        }
        for (int n = 0; n < QUIET_ROUNDS; n++) {
            round_of_all();
        }
        all = set_of(EU);
        for (uint32_t i = 0; all != NULL && i < SITE_STAGES; i++) {
            if (site_stages_state(EU, i) != 0) {
                cr_assert_not_null(set_of(i), "seed %" PRIu64, seed);
                cr_assert(site_set_agrees(set_of(i), all), "seed %" PRIu64, seed);
                cr_assert(set_of(i)->says_absent && set_of(i)->settled, "seed %" PRIu64 ": %s: %s",
                          seed, site_stages_name(i), site_stages_awaited(i));
                through += i != EU;
            }
        }
        site_stages_fini();
    }
    cr_assert(through > SEEDS, "%" PRIu32 " have joined", through);
}
