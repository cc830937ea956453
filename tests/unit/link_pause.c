/* What operators have paused: two sites of real nodes with their links, and the word of one of
 * them. */
#include "link/states.h"
#include "tests/unit/link_questions.h"

TestSuite(link_pause, .timeout = 120);

enum { KEYS = 50, BOTH = 1U << 1 | 1U << 2 };

static uint64_t nopens;
static uint64_t nbatches; /* also those that only say that the stream goes on */

static bool watch(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    (void)to;
    nopens += frame->kind == FRAME_SITE_OPEN;
    nbatches += frame->kind == FRAME_SITE_BATCH;
    return true;
}

static void begin(void)
{
    begin_with(watch);
}

static struct inflow *inflow_at(uint32_t site)
{
    struct inflow *one = inflow_find(pair->sides[site].link, SITE_PAIR_FILTER, 0);

    cr_assert_not_null(one);
    return one;
}

/* As an operator of that site orders it, of the one filter. */
static void pause(uint32_t site, bool is_paused)
{
    struct filter_document *document = &pair->sides[site].document;
    struct site_set *sites = document->content.sites;
    const struct site_id other = sample_site_id(1 - site);
    size_t at = (size_t)(site_set_find(sites, &other) - sites->entries);

    sites->entries[at].paused = is_paused;
    document_epoch_advance(document);
    site_pair_hand(pair, site);
}

/* ... of all filters. */
static void pause_all(uint32_t site, bool is_paused)
{
    struct node_list *nodes =
        (struct node_list *)&router_documents(pair->sides[site].router)->nodes;

    nodes->npaused = is_paused;
    nodes->paused[0] = (struct paused_site){.id = sample_site_id(1 - site), .name = "x"};
}

static void make_keys(uint64_t seed, uint64_t *keys)
{
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = (seed * KEYS + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    }
}

static void add(uint32_t site, uint64_t seed)
{
    uint64_t keys[KEYS];

    make_keys(seed, keys);
    site_pair_add(pair, site, BOTH, keys, KEYS);
}

static bool has(uint32_t site, uint64_t seed)
{
    uint64_t keys[KEYS];
    uint32_t most = 0;

    make_keys(seed, keys);
    for (uint32_t node = 1; node <= 3; node++) {
        most += site_pair_count(pair, site, node, keys, KEYS) == KEYS;
    }
    return most >= 2;
}

static void expect_nothing_passes(uint64_t seed)
{
    nopens = nbatches = 0;
    add(EU, seed);
    add(US, seed + 1);
    site_pair_run(pair, 20 * SECOND);
    cr_assert_not(has(US, seed));
    cr_assert_not(has(EU, seed + 1));
    cr_assert_eq(nbatches, 0, "not even a sign of life");
}

static void expect_all_pass(uint64_t seed)
{
    site_pair_run(pair, 3 * SECOND);
    cr_assert(has(US, seed));
    cr_assert(has(EU, seed + 1));
}

Test(link_pause, nothing_of_the_filter_passes_either_way_until_it_is_resumed)
{
    uint64_t copies;

    begin();
    copies = site_pair_counter(pair, EU, "site_copies_total");
    add(EU, 1);
    add(US, 2);
    expect_all_pass(1);
    pause(EU, true);
    site_pair_run(pair, 2 * SECOND);
    cr_assert(inflow_at(EU)->paused_here);
    cr_assert(pair->sides[EU].link->pauses[0]);
    expect_nothing_passes(3);
    cr_assert_eq(inflow_at(US)->stream, 0);
    cr_assert_leq(nopens, 6, "us has not heard of it here, and asks more and more seldom");
    pause(EU, false);
    site_pair_run(pair, 20 * SECOND);
    cr_assert_not(pair->sides[EU].link->pauses[0]);
    expect_all_pass(3);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), copies, "logs are gone on from");
    end();
}

/* What is paused in the store is so for a link that starts. */
Test(link_pause, it_outlives_links)
{
    begin();
    pause(EU, true);
    site_pair_link_stop(pair, EU);
    site_pair_run(pair, SECOND);
    site_pair_link_start(pair, EU);
    site_pair_run(pair, 8 * SECOND);
    expect_nothing_passes(5);
    pause(EU, false);
    site_pair_run(pair, 20 * SECOND);
    expect_all_pass(5);
    end();
}

/* The other site hears of it by greetings, and does not even ask. */
Test(link_pause, all_filters)
{
    begin();
    pause_all(EU, true);
    site_pair_run(pair, 3 * SECOND);
    cr_assert(inflow_at(EU)->paused_here);
    cr_assert(inflow_at(US)->paused_there);
    expect_nothing_passes(7);
    cr_assert_eq(nopens, 0);
    pause_all(US, true);
    pause_all(EU, false);
    site_pair_run(pair, 3 * SECOND);
    cr_assert(inflow_at(US)->paused_here);
    cr_assert_not(inflow_at(US)->paused_there);
    expect_nothing_passes(9);
    pause_all(US, false);
    site_pair_run(pair, 3 * SECOND);
    expect_all_pass(7);
    expect_all_pass(9);
    end();
}

/* What the other site says of the filter. */
Test(link_pause, of_one_filter_the_other_site_says_so)
{
    struct site_filter state = {.filter = "urls", .revision = 9, .keyset = 1};
    struct site_filters message = {.states = &state, .nstates = 1};
    const struct site_id own = sample_site_id(US);
    size_t at;

    begin();
    state.uid = pair->sides[EU].document.content.uid;
    state.site = sample_site_id(EU);
    state.document = *document_sites(&pair->sides[EU].document);
    state.hash = pair->sides[EU].document.hash;
    state.shard_bits = pair->sides[EU].document.content.shard_bits;
    state.rule = pair->sides[EU].document.content.rule;
    state.rate = pair->sides[EU].document.rate;
    state.capacity = pair->sides[EU].document.capacity;
    state.max_capacity = pair->sides[EU].document.max_capacity;
    state.durability = DURABILITY_SYNC;
    state.when_unavailable = pair->sides[EU].document.when_unavailable;
    at = (size_t)(site_set_find(&state.document, &own) - state.document.entries);
    state.document.entries[at].paused = true;
    states_on_filters(us(), now(), &us()->channels[0], &message);
    cr_assert_eq(site_pair_counter(pair, US, "site_states_refused_total"), 0);
    site_pair_run(pair, 2 * SECOND);
    cr_assert(inflow_at(US)->paused_there);
    cr_assert_eq(inflow_at(US)->stream, 0);
    nopens = 0;
    site_pair_run(pair, 20 * SECOND);
    cr_assert_eq(nopens, 0, "nobody asks for what would be refused");
    state.document.entries[at].paused = false;
    state.revision++;
    states_on_filters(us(), now(), &us()->channels[0], &message);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_neq(inflow_at(US)->stream, 0);
    end();
}

/* As in a cut: what was marked before grows old, and who asks is told why. */
Test(link_pause, marks_grow_old_and_routers_are_told_why)
{
    uint64_t question;

    begin();
    question = ask_for(&(struct site_age_request){.filter_id = SITE_PAIR_FILTER, .wait_ms = 5000});
    run_until_answered(question, 5 * SECOND);
    cr_assert(heard[question].sites[0].known);
    cr_assert_not(heard[question].sites[0].paused);
    pause(US, true);
    site_pair_run(pair, 10 * SECOND);
    question = ask_for(&(struct site_age_request){.filter_id = SITE_PAIR_FILTER, .wait_ms = 1000});
    run_until_answered(question, 2 * SECOND);
    cr_assert(heard[question].sites[0].known);
    cr_assert_geq(heard[question].sites[0].age_us, 10 * SECOND);
    cr_assert_not(heard[question].sites[0].after);
    cr_assert(heard[question].sites[0].paused);
    question = ask_for(&(struct site_age_request){
        .filter_id = SITE_PAIR_FILTER, .wait_ms = 1000, .confirms = true});
    run_until_answered(question, 2 * SECOND);
    cr_assert_not(heard[question].sites[0].known);
    cr_assert(heard[question].sites[0].paused);
    cr_assert_geq(site_pair_counter(pair, US, "site_lag_us"), 10 * SECOND);
    end();
}

/* Other filters of that site go on; but their streams say nothing of what the paused one needs. */
Test(link_pause, nodes_keep_what_a_paused_filter_needs)
{
    struct follow follow = {.source = {.node = 2}, .taken = 800};
    struct outflow other = {.follows = &follow, .nfollows = 1};
    struct link *link = calloc(1, sizeof *link);
    struct site_taken taken[LINK_MAX_SITES];

    cr_assert_not_null(link);
    link->config.npeers = 2;
    TAILQ_INIT(&link->outflows);
    TAILQ_INSERT_TAIL(&link->outflows, &other, link);
    cr_assert_eq(readers_taken(link, 2, taken), 1);
    cr_assert_eq(taken[0].offset, 800);
    link->pauses[1] = true;
    cr_assert_eq(readers_taken(link, 2, taken), 1, "that is another site");
    link->pauses[0] = true;
    cr_assert_eq(readers_taken(link, 2, taken), 0);
    free(link);
}
