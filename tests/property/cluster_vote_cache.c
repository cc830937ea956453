/* Against a list that never forgets: what is found is what was kept; an add is forgotten only
 * once it has aged, or when it, all that came after it, and one more of the largest of them may
 * not fit together (a record is never broken at the end of the memory, and leaves a gap there);
 * and adds never take more than the bytes allowed. */
#include "node/vote_cache.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>

enum { SEEDS = 300, STEPS = 1500, MOST_KEYS = 1200, MOST_WORDS = (MOST_KEYS + 63) / 64 };

struct kept {
    struct vote_cache_add add;
    uint64_t at_us;
    size_t bytes;
    bool voted;
    bool unsure;
};

static struct kept model[STEPS];
static size_t nmodel;
static uint64_t planes[2][MOST_WORDS];

/* Everything of an add follows from its place in the list. */
static struct vote_cache_add draw_name(uint64_t *state, size_t place)
{
    return (struct vote_cache_add){
        .session = {place / 5, 9},
        .sequence = place % 5,
        .filter_id = place % 3,
        .epoch = 1,
        .list = place * 11,
        .group = (uint32_t)place % 2,
        .count = (uint32_t)random_below(state, random_below(state, 8) == 0 ? MOST_KEYS : 130),
    };
}

static uint64_t plane_word(size_t place, size_t word)
{
    uint64_t state = place << 16 ^ word;

    return random_next(&state);
}

/* What a record of this add takes, by a memory of its own. */
static size_t measure(const struct kept *kept)
{
    static size_t header;

    if (header == 0) {
        struct vote_cache *adds = NULL;

        cr_assert_eq(vote_cache_create(4096, 1, 7, &adds), STATUS_OK);
        vote_cache_keep(adds, 0, &kept->add, NULL);
        header = vote_cache_bytes(adds);
        vote_cache_destroy(&adds);
    }
    return header + (kept->voted ? ((size_t)kept->add.count + 63) / 64 * 16 : 0);
}

static void keep(struct vote_cache *adds, uint64_t *state, uint64_t now_us)
{
    struct kept *kept = &model[nmodel];
    struct cached_vote vote = {.present = planes[0], .absent = planes[1], .batch = {nmodel, 1}};

    *kept = (struct kept){.add = draw_name(state, nmodel), .at_us = now_us};
    kept->voted = random_below(state, 10) != 0;
    kept->unsure = random_below(state, 3) == 0;
    vote.unsure = kept->unsure;
    for (size_t i = 0; i < MOST_WORDS; i++) {
        planes[0][i] = plane_word(nmodel, 2 * i);
        planes[1][i] = plane_word(nmodel, 2 * i + 1);
    }
    vote_cache_keep(adds, now_us, &kept->add, kept->voted ? &vote : NULL);
    kept->bytes = measure(kept);
    nmodel++;
}

/* Asks for number `place`, which `must` be found unless it has aged. */
static void ask(struct vote_cache *adds, size_t place, uint64_t now_us, uint64_t max_age_us,
                bool must, uint64_t seed)
{
    const struct kept *kept = &model[place];
    struct cached_vote vote;
    enum vote_cache_match match = vote_cache_find(adds, now_us, &kept->add, &vote);

    if (now_us - kept->at_us >= max_age_us) {
        cr_assert_eq(match, VOTE_CACHE_NONE, "seed %" PRIu64 ": has aged", seed);
        return;
    }
    if (match == VOTE_CACHE_NONE) {
        cr_assert_not(must, "seed %" PRIu64 ": number %zu of %zu is forgotten", seed, place,
                      nmodel);
        return;
    }
    cr_assert_eq(match, kept->voted ? VOTE_CACHE_VOTE : VOTE_CACHE_OTHER, "seed %" PRIu64, seed);
    if (match == VOTE_CACHE_VOTE) {
        cr_assert_eq(vote.unsure, kept->unsure);
        cr_assert_eq(vote.batch[0], place);
        for (size_t i = 0; i < ((size_t)kept->add.count + 63) / 64; i++) {
            cr_assert_eq(vote.present[i], plane_word(place, 2 * i), "seed %" PRIu64, seed);
            cr_assert_eq(vote.absent[i], plane_word(place, 2 * i + 1), "seed %" PRIu64, seed);
        }
    }
}

/* Asks for all, the newest first. Returns how many had to be found. */
static size_t ask_all(struct vote_cache *adds, size_t max_bytes, uint64_t now_us,
                      uint64_t max_age_us, uint64_t seed)
{
    size_t total = 0;
    size_t largest = 0;
    size_t nmust = 0;

    for (size_t place = nmodel; place-- > 0;) {
        size_t bytes = model[place].bytes;
        bool must;

        total += bytes <= max_bytes ? bytes : 0;
        must = bytes <= max_bytes && total + largest <= max_bytes;
        if (bytes <= max_bytes && bytes > largest) {
            largest = bytes;
        }
        ask(adds, place, now_us, max_age_us, must, seed);
        nmust += must;
    }
    return nmust;
}

static size_t run(uint64_t seed)
{
    uint64_t state = seed;
    size_t max_bytes = random_below(&state, random_below(&state, 2) == 0 ? 1000 : 20000);
    uint64_t max_age_us = random_below(&state, 3) == 0 ? 500 : UINT64_MAX;
    struct vote_cache *adds = NULL;
    uint64_t now_us = 0;
    size_t nmust = 0;

    nmodel = 0;
    cr_assert_eq(vote_cache_create(max_bytes, max_age_us, 7, &adds), STATUS_OK);
    for (int step = 0; step < STEPS; step++) {
        now_us += random_below(&state, 10);
        if (nmodel == 0 || random_below(&state, 2) == 0) {
            keep(adds, &state, now_us);
        } else {
            size_t back = random_below(&state, nmodel < 40 ? nmodel : 40);

            ask(adds, nmodel - 1 - back, now_us, max_age_us, false, seed);
        }
        cr_assert_leq(vote_cache_bytes(adds), max_bytes, "seed %" PRIu64, seed);
        if (step % 50 == 0) {
            nmust += ask_all(adds, max_bytes, now_us, max_age_us, seed);
        }
    }
    vote_cache_destroy(&adds);
    return nmust;
}

Test(vote_cache_law, finds_what_was_kept_and_forgets_only_what_has_aged_or_has_no_room)
{
    size_t nmust = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        nmust += run(seed);
    }
    cr_assert_gt(nmust, 10000, "%zu had to be found", nmust);
}
