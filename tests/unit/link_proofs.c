/* What streams have brought, as links prove it to their coordinators: marks and copies, of which
 * lives, and what is no proof. */
#include "tests/unit/link_tellers.h"

static uint64_t nmarks; /* that US has asked for */
static bool lose_batches;
static bool lose_marked;

static bool watch_marks(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    nmarks += frame->kind == FRAME_SITE_MARK && to == EU;
    if (to == US && frame->kind == FRAME_SITE_BATCH && frame->body.site_batch.batch.size > 0) {
        return !lose_batches;
    }
    return !(to == US && frame->kind == FRAME_SITE_MARKED && lose_marked);
}

static void make_keys(uint64_t seed, uint64_t *keys)
{
    uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

    for (uint32_t i = 0; i < BATCH; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        keys[i] = state ^ state >> 29;
    }
}

static int replicas_with(const uint64_t *keys)
{
    int found = 0;

    for (uint32_t node = 1; node <= 3; node++) {
        found += circle_node(&pair->sides[US].circle, node) != NULL &&
                 site_pair_count(pair, US, node, keys, BATCH) == BATCH;
    }
    return found;
}

/* US joins, and takes adds or does not yet; EU has fenced that it joins. */
static void say_joining(bool takes_adds)
{
    struct site_filter eu = state_of(EU);
    struct site_filter us = state_of(US);

    set_state(&eu, US, SITE_JOINING);
    set_state(&us, US, SITE_JOINING);
    set_takes_adds(&us, takes_adds);
    us.document.settled = us.fenced.settled = false;
    us.revision += takes_adds;
    say(EU, &eu);
    say(US, &us);
}

/* Before it takes adds nothing is copied: what it would prove is not awaited. */
Test(link_proofs, who_joins_is_copied_once_it_takes_adds)
{
    uint64_t keys[BATCH];
    const struct site_evidence *evidence = &tellers[US].evidence;

    begin();
    pair->spy = watch_marks;
    make_keys(1, keys);
    site_pair_add(pair, EU, ALL, keys, BATCH);
    say_joining(false);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert(evidence->compared_here.takes_adds);
    cr_assert_eq(evidence->compared.own, EU);
    cr_assert_eq(entry_of((struct site_set *)&evidence->compared, US)->state, SITE_JOINING);
    cr_assert_eq(evidence->marked.own, EU);
    cr_assert(site_life_compare(&evidence->own_life, &(struct site_life){1, 11}) == 0);
    cr_assert_eq(replicas_with(keys), 3);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 3);
    end();
}

/* It takes adds in a set that EU was not in, and has not fenced yet that EU was named since: that
 * it took adds then is no proof of EU. */
Test(link_proofs, nothing_is_copied_before_it_is_fenced_that_there_is_such_a_site)
{
    struct site_filter us;

    begin();
    say_joining(true);
    us = tellers[US].states[0];
    us.fenced.entries[0] = us.fenced.entries[US];
    us.fenced.count = 1;
    us.fenced.own = 0;
    say(US, &us);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    us.fenced = us.document;
    us.revision++;
    say(US, &us);
    site_pair_run(pair, 5 * SECOND);
    cr_assert(tellers[US].evidence.compared_here.takes_adds);
    cr_assert_eq(tellers[US].evidence.compared_here.count, 2);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 3);
    end();
}

Test(link_proofs, each_coordinator_is_given_the_evidence)
{
    begin_with_two();
    say_joining(true);
    seconds[EU] = tellers[EU];
    seconds[US] = tellers[US];
    seconds[EU].of++;
    seconds[US].of++;
    site_pair_run(pair, 30 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_gt(seconds[US].nevidence, 0);
    cr_assert_lt(tellers[US].nevidence + seconds[US].nevidence, 20);
    end();
}

/* A copy and a mark that are not applied prove nothing. */
Test(link_proofs, nothing_is_proved_before_it_is_applied)
{
    uint64_t keys[BATCH];

    begin();
    pair->spy = watch_marks;
    lose_batches = true;
    make_keys(1, keys);
    site_pair_add(pair, EU, ALL, keys, BATCH);
    say_joining(true);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_gt(nmarks, 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    cr_assert_eq(replicas_with(keys), 0);
    lose_batches = false;
    nmarks = 0;
    site_pair_run(pair, 20 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_gt(nmarks, 0, "that of a stream that broke was not asked for again");
    cr_assert_eq(replicas_with(keys), 3);
    end();
}

/* The batches are here, and have not found W of the receiver's nodes. */
Test(link_proofs, nothing_is_proved_without_a_write_quorum)
{
    uint64_t keys[BATCH];
    struct circle *us;

    begin();
    make_keys(1, keys);
    us = &pair->sides[US].circle;
    circle_stop(us, 2);
    circle_stop(us, 3);
    site_pair_add(pair, EU, ALL, keys, BATCH);
    say_joining(true);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(tellers[US].nevidence, 0);
    circle_start(us, 2);
    site_pair_run(pair, 30 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_geq(replicas_with(keys), 2);
    end();
}

Test(link_proofs, nothing_is_proved_without_an_answer)
{
    begin();
    pair->spy = watch_marks;
    lose_marked = true;
    say_joining(true);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_gt(nmarks, 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    end();
}

/* What was heard before it was asked for, and not what came while it was under way. */
Test(link_proofs, a_mark_proves_what_was_fenced_when_it_began)
{
    struct site_filter eu;

    begin();
    pair->spy = watch_marks;
    pair->delay_us = 2 * SECOND;
    say_joining(true);
    for (int steps = 0; nmarks == 0; steps++) {
        cr_assert_lt(steps, 2000);
        site_pair_run(pair, 10000);
    }
    eu = state_of(EU); /* by now US counts there */
    eu.revision += 5;
    say(EU, &eu);
    for (int steps = 0; tellers[US].nevidence == 0; steps++) {
        cr_assert_lt(steps, 2000);
        site_pair_run(pair, 10000);
    }
    cr_assert_eq(heard(US, filter())->revision, eu.revision);
    cr_assert_eq(entry_of(&tellers[US].evidence.marked, US)->state, SITE_JOINING);
    site_pair_run(pair, 20 * SECOND);
    cr_assert_eq(entry_of(&tellers[US].evidence.marked, US)->state, SITE_COUNTED);
    cr_assert_eq(entry_of(&tellers[US].evidence.compared, US)->state, SITE_JOINING);
    end();
}

/* Once what is fenced there is proved, nothing is asked for, until more is fenced. */
Test(link_proofs, no_more_marks_than_there_is_to_prove)
{
    struct site_filter eu;
    uint64_t before;

    begin();
    pair->spy = watch_marks;
    say_joining(true);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(entry_of(&tellers[US].evidence.marked, US)->state, SITE_JOINING);
    before = nmarks;
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(nmarks, before);
    eu = state_of(EU);
    eu.revision += 5;
    say(EU, &eu);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_gt(nmarks, before);
    cr_assert_eq(entry_of(&tellers[US].evidence.marked, US)->state, SITE_COUNTED);
    before = nmarks;
    site_pair_run(pair, 20 * SECOND);
    cr_assert_eq(nmarks, before);
    end();
}

/* What the fenced set of another life says is none of this stream's. */
Test(link_proofs, nothing_is_proved_of_another_life)
{
    struct site_filter eu;

    begin();
    pair->spy = watch_marks;
    say_joining(true);
    eu = state_of(EU);
    set_state(&eu, US, SITE_JOINING);
    entry_of(&eu.document, EU)->life = (struct site_life){2, 99};
    eu.fenced = eu.document;
    say(EU, &eu);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(nmarks, 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    end();
}

static void rise_life(uint32_t site, uint32_t of)
{
    struct filter_document *document = &pair->sides[site].document;

    entry_of(document->content.sites, of)->life = (struct site_life){7, 70};
    document_epoch_advance(document);
    site_pair_hand(pair, site);
}

/* The stream of the new life has proved nothing yet. */
Test(link_proofs, evidence_goes_with_the_life_that_it_is_of)
{
    begin();
    pair->spy = watch_marks;
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    rise_life(EU, US);
    rise_life(US, US);
    site_pair_run(pair, 3 * SECOND); /* the document goes round */
    lose_marked = true;
    restart_teller(US);
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(tellers[US].nevidence, 0);
    lose_marked = false;
    site_pair_run(pair, 40 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_eq(tellers[US].evidence.own_life.number, 7);
    end();
}

/* What was here when it was proved may be lost with the boot that has told it. */
Test(link_proofs, evidence_goes_with_the_boots_of_nodes_here)
{
    begin();
    pair->spy = watch_marks;
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    lose_marked = true;
    circle_stop(&pair->sides[US].circle, 2);
    circle_start(&pair->sides[US].circle, 2);
    site_pair_run(pair, 5 * SECOND);
    restart_teller(US);
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(tellers[US].nevidence, 0);
    lose_marked = false;
    site_pair_run(pair, 40 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert(tellers[US].evidence.compared_here.takes_adds);
    end();
}

/* A coordinator that has just started does not say yet what is fenced; a copy that begins anew just
 * then is as good as any. */
Test(link_proofs, what_was_fenced_stays_so_while_nobody_says_it)
{
    struct site_filter eu;
    struct site_filter us;

    begin();
    pair->spy = watch_marks;
    lose_marked = true;
    say_joining(true);
    us = tellers[US].states[0]; /* nobody is gone */
    us.document.settled = us.fenced.settled = true;
    us.revision++;
    say(US, &us);
    site_pair_run(pair, 5 * SECOND);
    eu = state_of(EU);
    set_state(&eu, US, SITE_JOINING);
    eu.revision++;
    eu.is_fenced = false;
    memset(&eu.fenced, 0, sizeof eu.fenced);
    say(EU, &eu);
    site_pair_run(pair, 2 * SECOND);
    circle_stop(&pair->sides[US].circle, 2);
    circle_start(&pair->sides[US].circle, 2);
    site_pair_run(pair, 5 * SECOND);
    eu.is_fenced = true;
    eu.fenced = eu.document;
    say(EU, &eu);
    cr_assert_eq(tellers[US].nevidence, 0);
    lose_marked = false;
    site_pair_run(pair, 40 * SECOND);
    cr_assert_eq(tellers[US].evidence.compared.count, 2);
    cr_assert(tellers[US].evidence.compared_here.takes_adds);
    end();
}

/* Fewer than R of the source's nodes promise nothing, and W of them had it. */
Test(link_proofs, nothing_is_proved_without_a_read_quorum_of_the_source)
{
    begin();
    circle_stop(&pair->sides[EU].circle, 2);
    circle_stop(&pair->sides[EU].circle, 3);
    say_joining(true);
    site_pair_run(pair, 10 * SECOND);
    cr_assert_eq(tellers[US].nevidence, 0);
    end();
}

static uint64_t loss_state;

/* A quarter of all that goes between the sites, once they have greeted. */
static bool lose_a_quarter(struct site_pair *self, uint32_t to, const struct frame *frame)
{
    (void)self;
    (void)to;
    loss_state = loss_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return frame->kind == FRAME_SITE_HELLO || loss_state >> 62 != 0;
}

/* In small steps: what was proved has to be so at that very moment. */
static void run_until_marked(enum site_state state)
{
    const struct site_evidence *evidence = &tellers[US].evidence;

    for (int steps = 0; evidence->marked.count == 0 ||
                        entry_of((struct site_set *)&evidence->marked, US)->state != state;
         steps++) {
        cr_assert_lt(steps, 20000, "nothing is proved");
        site_pair_run(pair, 10000);
    }
}

Test(link_proofs, what_is_proved_is_so_whatever_was_lost)
{
    static const unsigned nodes[] = {6, 12, 10, 14}; /* two of EU's, or all */
    uint64_t before[BATCH];
    uint64_t later[BATCH];

    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct site_filter eu;

        begin();
        memset(tellers[US].heard, 0, sizeof tellers[US].heard);
        loss_state = seed * UINT64_C(0x9e3779b97f4a7c15);
        pair->spy = lose_a_quarter;
        make_keys(seed, before);
        make_keys(seed + 100, later);
        site_pair_add(pair, EU, nodes[seed % 4], before, BATCH);
        say_joining(true);
        run_until_marked(SITE_JOINING);
        cr_assert_geq(replicas_with(before), 2);
        site_pair_run(pair, 20 * SECOND);
        cr_assert(tellers[US].evidence.compared_here.takes_adds);
        site_pair_add(pair, EU, nodes[(seed + 1) % 4], later, BATCH);
        eu = state_of(EU);
        eu.revision += 5;
        say(EU, &eu);
        run_until_marked(SITE_COUNTED);
        cr_assert_geq(replicas_with(later), 2);
        end();
    }
}

/* To one that was restarted, and to others that hear of it for the first time. */
Test(link_proofs, evidence_is_told_to_a_coordinator_that_counts_anew)
{
    begin();
    say_joining(true);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    restart_teller(US);
    site_pair_run(pair, 3 * SECOND);
    cr_assert_gt(tellers[US].nevidence, 0);
    cr_assert_eq(tellers[US].evidence.compared.count, 2);
    end();
}

/* A third site is gone without having left: all that remain are compared once more, and not before
 * both have fenced that. */
Test(link_proofs, who_remains_is_copied_anew_after_a_removal)
{
    const struct site_entry gone = {
        .id = {900, 900}, .name = "asia", .life = {1, 1}, .state = SITE_GONE};
    struct site_filter eu;
    struct site_filter us;
    uint64_t copies;

    begin();
    site_pair_run(pair, 4 * SECOND);
    copies = site_pair_counter(pair, EU, "site_copies_total");
    eu = state_of(EU);
    us = state_of(US);
    cr_assert_eq(site_set_add(&us.document, &gone), STATUS_OK);
    us.document.settled = false;
    us.fenced = us.document;
    say(EU, &eu);
    say(US, &us);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), copies);
    cr_assert_eq(tellers[US].evidence.compared.count, 0);
    eu.document = us.document;
    eu.document.own = EU;
    eu.fenced = eu.document;
    eu.revision++;
    say(EU, &eu);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(site_pair_counter(pair, EU, "site_copies_total"), 2 * copies);
    cr_assert_eq(tellers[US].evidence.compared.count, 3);
    cr_assert_eq(tellers[US].evidence.compared_here.count, 3);
    end();
}

/* The other site has fenced that first, and a mark of that is proved already: the copy takes one of
 * its own. */
Test(link_proofs, a_copy_is_proved_though_marks_were)
{
    const struct site_entry gone = {
        .id = {900, 900}, .name = "asia", .life = {1, 1}, .state = SITE_GONE};
    struct site_filter eu;
    struct site_filter us;

    begin();
    eu = state_of(EU);
    us = state_of(US);
    cr_assert_eq(site_set_add(&eu.document, &gone), STATUS_OK);
    eu.fenced = eu.document;
    us.document.says_absent = us.fenced.says_absent = false;
    say(EU, &eu);
    say(US, &us);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(tellers[US].evidence.marked.count, 3);
    us.document = eu.document;
    us.document.own = US;
    us.document.settled = us.document.says_absent = false;
    us.fenced = us.document;
    us.revision++;
    say(US, &us);
    site_pair_run(pair, 8 * SECOND);
    cr_assert_eq(tellers[US].evidence.compared_here.count, 3);
    end();
}

/* Where nothing is awaited nothing is proved. */
Test(link_proofs, settled_filters_have_no_evidence)
{
    struct site_filter states[2];

    begin();
    pair->spy = watch_marks;
    states[0] = state_of(EU);
    states[1] = state_of(US);
    say(EU, &states[0]);
    say(US, &states[1]);
    site_pair_run(pair, 5 * SECOND);
    cr_assert_eq(nmarks, 0);
    cr_assert_eq(tellers[US].nevidence, 0);
    end();
}
