/* What a state and evidence have to be before anything is done by them, and which state says more.
 */
#include "map/access/seal.h"
#include "map/acks.h"
#include "map/staleness.h"
#include "proto/site/state.h"
#include "proto/site/state_bytes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct site_filter state;
static struct site_evidence evidence;

static struct site_entry entry(uint64_t id, const char *name, uint64_t life)
{
    struct site_entry out = {.id = {id, id}, .life = {life, 10 * life}, .state = SITE_COUNTED};

    strcpy(out.name, name);
    return out;
}

/* Of sites 1, whose it is, and 2. */
static struct site_set set_of(uint64_t own)
{
    struct site_set set = {0};
    const struct site_entry first = entry(own, own == 1 ? "eu" : "us", own);
    const struct site_entry second = entry(3 - own, own == 1 ? "us" : "eu", 3 - own);

    cr_assert_eq(site_set_add(&set, &first), STATUS_OK);
    cr_assert_eq(site_set_add(&set, &second), STATUS_OK);
    set.takes_adds = set.says_absent = set.settled = true;
    return set;
}

static void begin(void)
{
    state = (struct site_filter){
        .uid = {7, 8},
        .filter = "urls",
        .site = {1, 1},
        .revision = 5,
        .document = set_of(1),
        .is_fenced = true,
        .fenced = set_of(1),
        .ndone = 1,
        .done = {{2, 2}},
        .hash = HASH_SIPHASH24,
        .shard_bits = 4,
        .keyset = 1,
        .rate = 0.01,
        .capacity = 1000,
        .max_capacity = 2000,
        .rule = {3, 2, 2},
        .durability = DURABILITY_SYNC,
        .when_unavailable = WHEN_UNAVAILABLE_MAYBE,
        .sealed_secret = {(const uint8_t *)"0123456789abcdef", sizeof(struct hash_secret)},
    };
    evidence = (struct site_evidence){
        .uid = {7, 8},
        .site = {1, 1},
        .source_life = {1, 10},
        .own_life = {2, 20},
        .marked = set_of(1),
        .compared = set_of(1),
        .compared_here = set_of(2),
    };
}

TestSuite(site_state, .init = begin);

/* ---- states ---- */

static void wrong(const char *what)
{
    const char *fault = site_filter_fault(&state);

    cr_assert_not_null(fault, "%s", what);
    begin();
    cr_assert_null(site_filter_fault(&state), "%s", site_filter_fault(&state));
}

#define WRONG(edit)   \
    do {              \
        edit;         \
        wrong(#edit); \
    } while (0)

Test(site_state, each_fault_is_found)
{
    cr_assert_null(site_filter_fault(&state), "%s", site_filter_fault(&state));
    WRONG(state.uid = (struct filter_uid){0});
    WRONG(state.site = (struct site_id){0});
    WRONG(state.site = ((struct site_id){2, 2}));
    WRONG(state.filter = "");
    WRONG(state.filter = "two words");
    WRONG(state.revision = 0);
    WRONG(state.document.count = 0);
    WRONG(state.document.own = 1);
    WRONG(state.document.own = 2);
    WRONG(state.document.entries[1].name[0] = '\0');
    WRONG(state.fenced.own = 1);
    WRONG(state.fenced.count = 0);
    WRONG(state.fenced.entries[0].life.number++);
    WRONG(state.document.entries[0].life.tag++);
    WRONG(state.done[0] = ((struct site_id){3, 3}));
    WRONG(state.hash = (enum hash_kind)0);
    WRONG(state.hash = (enum hash_kind)9);
    WRONG(state.durability = (enum durability)0);
    WRONG(state.when_unavailable = (enum when_unavailable)9);
    WRONG(state.shard_bits = 13);
    WRONG(state.keyset = 0);
    WRONG(state.rate = 0);
    WRONG(state.rate = 1);
    WRONG(state.rate = NAN);
    WRONG(state.capacity = 0);
    WRONG(state.max_capacity = 999);
    WRONG(state.rule.read = 1);
    WRONG(state.max_staleness = STALENESS_MAX_US + 2);
    WRONG(state.acks = ACKS_LOCAL);
    WRONG(state.acks = ACKS_MAX + 1);
    WRONG(state.sealed_secret.size = 15);
}

Test(site_state, what_may_be_missing)
{
    state.is_fenced = false;
    state.fenced.count = 0;
    state.ndone = 0;
    state.sealed_secret = span_text("");
    state.max_staleness = STALENESS_MAX_US + 1;
    state.acks = ACKS_EACH;
    cr_assert_null(site_filter_fault(&state));
}

Test(site_state, a_tombstone_tells_nothing_else)
{
    const struct site_filter tombstone = {
        .uid = {7, 8}, .filter = "", .site = {1, 1}, .dropped = true};

    state.dropped = true;
    wrong("all of it");
    state = tombstone;
    cr_assert_null(site_filter_fault(&state));
    state.ndone = 1;
    cr_assert_not_null(site_filter_fault(&state));
    state = tombstone;
    state.is_fenced = true;
    cr_assert_not_null(site_filter_fault(&state));
}

/* ---- which says more ---- */

static void expect_order(const struct site_filter *less, const struct site_filter *more)
{
    cr_assert_lt(site_filter_compare(less, more), 0);
    cr_assert_gt(site_filter_compare(more, less), 0);
    cr_assert_eq(site_filter_compare(more, more), 0);
}

Test(site_state, lives_come_before_revisions)
{
    struct site_filter other = state;

    other.revision = 6;
    expect_order(&state, &other);
    other.document.entries[0].life = (struct site_life){2, 1};
    other.revision = 1;
    expect_order(&state, &other);
    state.document.entries[1].life.number = 100; /* of the other site: nothing to this one */
    expect_order(&state, &other);
}

/* The newer life may be one that its site has lost, before anybody but who was told had it. */
Test(site_state, an_older_life_that_is_fenced_replaces_one_that_is_not)
{
    struct site_filter newer = state;

    newer.document.entries[0].life.tag++;
    newer.is_fenced = false;
    newer.fenced.count = 0;
    cr_assert_eq(site_filter_compare(&state, &newer), 0);
    cr_assert_eq(site_filter_compare(&newer, &state), 0);
    state.is_fenced = false;
    state.fenced.count = 0;
    expect_order(&state, &newer);
}

Test(site_state, what_is_fenced_only_grows)
{
    struct site_filter other = state;

    other.is_fenced = false;
    expect_order(&other, &state);
    other = state;
    other.fenced.entries[1].state = SITE_LEAVING;
    expect_order(&state, &other);
    other.keys = 99;
    other.fenced = state.fenced;
    cr_assert_eq(site_filter_compare(&state, &other), 0, "either may replace the other");
}

Test(site_state, a_tombstone_says_most)
{
    const struct site_filter tombstone = {
        .uid = {7, 8}, .filter = "", .site = {1, 1}, .dropped = true};

    state.revision = UINT64_MAX;
    expect_order(&state, &tombstone);
}

/* ---- evidence ---- */

static void wrong_evidence(const char *what)
{
    const char *fault = site_evidence_fault(&evidence);

    cr_assert_not_null(fault, "%s", what);
    begin();
    cr_assert_null(site_evidence_fault(&evidence), "%s", site_evidence_fault(&evidence));
}

#undef WRONG
#define WRONG(edit)            \
    do {                       \
        edit;                  \
        wrong_evidence(#edit); \
    } while (0)

Test(site_state, each_fault_of_evidence_is_found)
{
    cr_assert_null(site_evidence_fault(&evidence), "%s", site_evidence_fault(&evidence));
    WRONG(evidence.uid = (struct filter_uid){0});
    WRONG(evidence.site = (struct site_id){0});
    WRONG(evidence.source_life.number = 0);
    WRONG(evidence.own_life.number = 0);
    WRONG(evidence.marked.own = 1);
    WRONG(evidence.marked.own = 7);
    WRONG(evidence.marked.entries[0].life.tag = 3);
    WRONG(evidence.compared = set_of(2));
    WRONG(evidence.compared.count = 0);
    WRONG(evidence.compared_here.count = 0);
    WRONG(evidence.compared_here = set_of(1));
    WRONG(evidence.compared_here.entries[1].life.number = 3);
    WRONG(evidence.site = ((struct site_id){4, 4}));
}

Test(site_state, evidence_may_be_of_marks_alone)
{
    evidence.compared.count = evidence.compared_here.count = 0;
    cr_assert_null(site_evidence_fault(&evidence));
    evidence.marked.count = 0;
    cr_assert_null(site_evidence_fault(&evidence));
}

/* ---- bytes ---- */

Test(site_state, bytes_come_back)
{
    struct codec_arena *arena;
    struct site_filter back[2];
    struct buffer bytes;
    struct span spans[2];

    buffer_init(&bytes, 4096);
    cr_assert_eq(codec_arena_create(1 << 20, &arena), STATUS_OK);
    cr_assert_eq(site_state_bytes_put(&state, &bytes), STATUS_OK);
    cr_assert_lt(buffer_span(&bytes).size, 400, "a page of them is small");
    spans[0] = spans[1] = buffer_span(&bytes);
    cr_assert_eq(site_state_bytes_get(arena, spans, 2, back), STATUS_OK);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_null(site_filter_fault(&back[i]));
        cr_assert_eq(site_filter_compare(&back[i], &state), 0);
        cr_assert_str_eq(back[i].filter, "urls");
        cr_assert(span_equal(back[i].sealed_secret, state.sealed_secret));
    }
    spans[1].size--;
    cr_assert_neq(site_state_bytes_get(arena, spans, 2, back), STATUS_OK);
    codec_arena_destroy(&arena);
    buffer_fini(&bytes);
}

/* Of whoever is GONE here only another's word counts, whatever it came back to elsewhere. */
Test(site_state, a_tombstone_counts_for_the_returns_up_to_its_own)
{
    struct site_entry entry = {.state = SITE_COUNTED, .life = {.number = 5}};

    cr_assert(site_drop_counts(&entry, 0));
    cr_assert(site_drop_counts(&entry, 1));
    entry.life.number += UINT64_C(1) << SITE_RETURN_SHIFT;
    cr_assert_not(site_drop_counts(&entry, 0), "it came back since");
    cr_assert(site_drop_counts(&entry, 1));
    entry = (struct site_entry){.state = SITE_GONE, .life = {.number = 5}};
    cr_assert_not(site_drop_counts(&entry, 0));
    cr_assert_not(site_drop_counts(&entry, 1), "nobody here has heard of its return");
}
