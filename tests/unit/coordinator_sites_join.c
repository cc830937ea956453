/* Coordinators of several sites, which hear each other by links: how a filter comes to another
 * site, step by step, and at each step what it waits for. */
#include "tests/unit/coordinator_sites_join.h"

TestSuite(coordinator_join, .init = setup, .fini = site_stages_fini);

/* ---- joining ---- */

Test(coordinator_join, step_by_step)
{
    const struct filter_document *here;
    const struct filter_document *there = site_stages_document(EU, "urls");

    add(EU, "us");
    cr_assert_eq(set_of(EU)->count, 2);
    cr_assert(set_of(EU)->takes_adds && set_of(EU)->says_absent && set_of(EU)->settled);
    cr_assert_eq(site_stages_state(EU, EU), SITE_COUNTED);
    cr_assert_eq(site_stages_state(EU, US), SITE_JOINING);
    cr_assert_null(site_stages_document(US, "urls"));

    site_stages_run();
    here = site_stages_document(US, "urls");
    cr_assert_not_null(here, "it is made there");
    cr_assert(filter_uid_equal(&here->content.uid, &there->content.uid));
    cr_assert_eq(here->content.shard_bits, there->content.shard_bits);
    cr_assert_eq(here->hash, there->hash);
    cr_assert_eq(here->capacity, there->capacity);
    cr_assert_eq(there->max_staleness, 5000001);
    cr_assert_eq(here->max_staleness, 5000001);
    cr_assert_eq(there->acks, ACKS_EACH);
    cr_assert_eq(here->acks, ACKS_EACH);
    cr_assert_eq(here->content.keysets[0].id, there->content.keysets[0].id);
    cr_assert_eq(here->durability, DURABILITY_SYNC);
    cr_assert_eq(here->keylog, KEYLOG_ON);
    cr_assert_neq(here->generations[0].geometry.seed, there->generations[0].geometry.seed);
    cr_assert_eq(site_set_own(here->content.sites)->life.number, 2, "a life of its own");
    cr_assert(site_set_agrees(set_of(EU), set_of(US)));
    cr_assert(set_of(US)->takes_adds, "both know that it joins");
    cr_assert_not(set_of(US)->says_absent);
    expect_awaited(US, "all keys of site eu to be copied");

    site_stages_copy(US, EU);
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_COUNTED);
    cr_assert_eq(site_stages_state(EU, US), SITE_COUNTED);
    cr_assert_not(set_of(US)->says_absent);
    expect_awaited(US, "a mark of site eu");

    site_stages_mark(US, EU);
    site_stages_run();
    cr_assert(set_of(US)->says_absent && set_of(US)->settled);
    expect_awaited(US, "");
    cr_assert_str_eq(site_stages_awaited(US), "");
    cr_assert_str_eq(site_stages_awaited(EU), "");
}

/* A secret that others can open makes the same hashes. */
Test(coordinator_join, the_secret_is_the_same)
{
    uint8_t bytes[SEAL_SECRET_BYTES];
    const struct hash_secret expected = {{1, 2, 3}};
    struct hash_secret secret;
    struct buffer value;
    uint64_t version;

    add(EU, "us");
    site_stages_run();
    buffer_init(&value, 1024);
    cr_assert_eq(site_stages[US].store.store.get(site_stages[US].store.store.self, "secret/1",
                                                 &value, &version),
                 STATUS_OK);
    cr_assert_eq(value.size, sizeof bytes);
    cr_assert_eq(seal_secret_open(sample_key(), 1, buffer_span(&value), &secret), STATUS_OK);
    cr_assert_arr_eq(secret.bytes, expected.bytes, sizeof expected.bytes);
    buffer_fini(&value);
}

/* The newcomer is made only of what was fenced: else a router of eu may go by a set without it. */
Test(coordinator_join, nothing_is_made_before_the_others_have_fenced_it)
{
    add(EU, "us");
    for (int n = 0; n < 5; n++) {
        site_stages_sync(EU);
        site_stages_carry();
        site_stages_sync(US);
        coordinator_stage_pass(&site_stages[US].stage, 1100000);
    }
    cr_assert(site_stages[US].heard[EU].said);
    cr_assert_null(site_stages_document(US, "urls"));
    expect_awaited(EU, "");
    site_stages_confirm(EU);
    site_stages_run();
    cr_assert_not_null(site_stages_document(US, "urls"));
}

/* What was fenced before is not what the document has now. */
Test(coordinator_join, a_third_one_is_not_made_before_it_is_fenced_either)
{
    join(EU, US);
    add(EU, "ap");
    for (int n = 0; n < 5; n++) {
        site_stages_sync(EU);
        site_stages_carry();
        site_stages_sync(AP);
        coordinator_stage_report(&site_stages[AP].stage, 3, 0, 0, REPLICA_NONE);
        coordinator_stage_pass(&site_stages[AP].stage, 1100000);
    }
    cr_assert_eq(site_stages[AP].heard[EU].told.document.count, 3);
    cr_assert_eq(site_stages[AP].heard[EU].told.fenced.count, 2);
    cr_assert_null(site_stages_document(AP, "urls"));
}

Test(coordinator_join, it_takes_no_adds_before_its_own_nodes_have_fenced_it)
{
    add(EU, "us");
    site_stages_sync(EU);
    site_stages_confirm(EU);
    for (int n = 0; n < 5; n++) {
        site_stages_sync(EU);
        site_stages_carry();
        site_stages_sync(US);
        coordinator_stage_pass(&site_stages[US].stage, 1100000);
    }
    cr_assert_not_null(site_stages_document(US, "urls"));
    cr_assert_not(set_of(US)->takes_adds);
    expect_awaited(US, "this site's nodes to confirm");
    site_stages_run();
    cr_assert(set_of(US)->takes_adds);
}

/* What was copied before it took adds lacks what others acknowledged for being sent to it. */
Test(coordinator_join, a_copy_begun_before_it_took_adds_does_not_count)
{
    add(EU, "us");
    site_stages_run();
    site_stages_copy(US, EU);
    site_stages[US].evidence[EU].compared_here.takes_adds = false;
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_JOINING);
    site_stages_copy(US, EU);
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_COUNTED);
}

/* A mark begun before eu counted it lacks what eu acknowledged without it since the copy. */
Test(coordinator_join, a_mark_begun_before_it_counted_does_not_count)
{
    add(EU, "us");
    site_stages_run();
    site_stages_copy(US, EU);
    site_stages_mark(US, EU);
    site_stages_run();
    cr_assert_eq(site_stages_state(EU, US), SITE_COUNTED);
    cr_assert_not(set_of(US)->says_absent);
    site_stages_mark(US, EU);
    site_stages_run();
    cr_assert(set_of(US)->says_absent);
}

Test(coordinator_join, evidence_of_other_lives_does_not_count)
{
    struct site_evidence *evidence = &site_stages[US].evidence[EU];

    add(EU, "us");
    site_stages_run();
    site_stages_copy(US, EU);
    evidence->own_life.number++;
    evidence->compared_here.entries[evidence->compared_here.own].life.number++;
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_JOINING);
    site_stages_copy(US, EU);
    evidence->source_life.number++;
    evidence->compared.entries[evidence->compared.own].life.number++;
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_JOINING);
    site_stages_copy(US, EU);
    site_stages_run();
    cr_assert_eq(site_stages_state(US, US), SITE_COUNTED);
}

/* The evidence is the link's, and goes with it. */
Test(coordinator_join, evidence_of_a_link_that_is_gone_does_not_count)
{
    struct coordinator_stage *us = &site_stages[US].stage;

    add(EU, "us");
    site_stages_run();
    site_stages[EU].cut = true; /* us hears nothing that would make it count */
    site_stages_copy(US, EU);
    site_stages_sync(US);
    cr_assert_eq(site_stages_state(US, US), SITE_COUNTED);
    site_stages_confirm(US);
    site_stages_sync(US);
    site_stages[EU].cut = false;
    site_stages_carry();
    site_stages_sync(EU);
    site_stages_confirm(EU);
    site_stages_sync(EU);
    site_stages_carry();
    site_stages_mark(US, EU);
    coordinator_stage_pass(us, 100 * us->coordinator->config.node_timeout_us);
    expect_awaited(US, "site eu");
    cr_assert_not(set_of(US)->says_absent);
}

/* Each would miss the other, did it go on by what the one has said that named it. */
Test(coordinator_join, two_at_once_from_two_ends)
{
    join(EU, US);
    site_stages[EU].cut = true;
    add(US, "ap");
    site_stages_run();
    cr_assert_not_null(site_stages_document(AP, "urls"));
    cr_assert_not(set_of(AP)->takes_adds);
    expect_awaited(AP, "site eu to know the same sites, and its nodes to confirm it; no link of "
                       "this site is connected to it");
    site_stages[EU].cut = false;
    site_stages_run();
    cr_assert(set_of(AP)->takes_adds);
    finish_join(AP);
    cr_assert(set_of(AP)->says_absent);
    cr_assert(site_set_agrees(set_of(EU), set_of(US)));
    cr_assert(site_set_agrees(set_of(EU), set_of(AP)));
}

Test(coordinator_join, one_named_from_two_ends_has_one_life)
{
    join(EU, US);
    add(EU, "ap");
    add(US, "ap");
    site_stages_run();
    cr_assert(set_of(AP)->takes_adds);
    finish_join(AP);
    cr_assert(set_of(AP)->says_absent);
    cr_assert(site_set_agrees(set_of(EU), set_of(AP)));
}

/* What was written stays; what was heard is heard again. */
Test(coordinator_join, coordinators_restart_in_each_step)
{
    add(EU, "us");
    for (int step = 0; step < 4; step++) {
        site_stages_restart(EU);
        site_stages_restart(US);
        site_stages_run();
        if (step == 0) {
            cr_assert(set_of(US)->takes_adds);
            site_stages_copy(US, EU);
        } else if (step == 1) {
            cr_assert_eq(site_stages_state(EU, US), SITE_COUNTED);
            site_stages_mark(US, EU);
        }
    }
    cr_assert(set_of(US)->says_absent);
    cr_assert_str_eq(site_stages_awaited(EU), "");
    cr_assert_eq(site_stages[US].words.told.revision, site_stages_document(US, "urls")->revision);
    cr_assert(site_stages[US].words.told.is_fenced, "a settled set is fenced after a restart, too");
}

Test(coordinator_join, a_site_that_is_cut_off_is_waited_for)
{
    join(EU, US);
    site_stages[US].cut = true;
    add(EU, "ap");
    site_stages_run();
    cr_assert_not(set_of(AP)->takes_adds);
    expect_awaited(AP, "site us to know the same sites");
    expect_awaited(AP, "no link of this site is connected to it");
    site_stages[US].cut = false;
    site_stages_run();
    cr_assert(set_of(AP)->takes_adds);
}

/* ---- what can't be written ---- */

/* us could count, and its store takes nothing. */
static void fail_to_count(void)
{
    add(EU, "us");
    site_stages_run();
    site_stages_copy(US, EU);
    site_stages[US].store.read_only = true;
    site_stages_sync(US);
    site_stages[US].store.read_only = false;
    cr_assert_eq(site_stages_state(US, US), SITE_JOINING);
}

static void expect_rest(struct coordinator_stage *stage)
{
    for (int n = 0; n < 3; n++) {
        stage->now_us += 10000000;
        coordinator_stage_turn(stage);
        cr_assert_gt(stage->actor.next_us(stage->actor.self), stage->now_us);
    }
}

Test(coordinator_join, what_was_dropped_meanwhile_is_not_written_for_ever)
{
    struct admin_request drop = coordinator_stage_drop();

    fail_to_count();
    drop.scope = DROP_HERE;
    coordinator_stage_command(&site_stages[US].stage, 2, &drop);
    expect_rest(&site_stages[US].stage);
    site_stages[US].stage.ntold = 0;
}

Test(coordinator_join, a_conflict_is_not_written_for_ever)
{
    uint64_t id;

    fail_to_count();
    id = site_stages_document(US, "urls")->id;
    document_cache_find(&site_stages[US].stage.coordinator->documents, id)->conflict = true;
    expect_rest(&site_stages[US].stage);
}

Test(coordinator_join, it_is_written_once_it_can_be)
{
    fail_to_count();
    coordinator_stage_pass(&site_stages[US].stage, 10000000);
    cr_assert_eq(site_stages_state(US, US), SITE_COUNTED);
}

/* ---- what can't be made ---- */

static const struct admin_reply *list(uint32_t i, struct fake_sent *sent)
{
    struct coordinator_stage *stage = &site_stages[i].stage;
    const struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_SITE,
                               .timeout_ms = 1000,
                               .name = "",
                               .successor = "",
                               .site = {.step = SITE_STEP_LIST, .site = ""}}};

    fake_request(&stage->actor, stage->now_us, 900, &frame);
    do {
        cr_assert(fake_take(&stage->fake, sent));
    } while (sent->frame.kind != FRAME_ADMIN_REPLY);
    return &sent->frame.body.admin_reply;
}

static void expect_refusal(uint32_t i, const char *words)
{
    struct fake_sent sent;
    const struct admin_reply *reply = list(i, &sent);

    cr_assert_eq(reply->sites.nrefusals, 1);
    cr_assert_str_eq(reply->sites.refusals[0].name, "urls");
    cr_assert_str_eq(reply->sites.refusals[0].site, "eu");
    cr_assert_not_null(strstr(reply->sites.refusals[0].reason, words), "%s",
                       reply->sites.refusals[0].reason);
}

/* us has a filter of that name already. */
static void take_name(void)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_stage *us = &site_stages[US].stage;

    create.create.durability = DURABILITY_SYNC;
    coordinator_stage_command(us, 1, &create);
    coordinator_stage_report(us, 3, 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(us).status, STATUS_OK);
}

/* ... and gives it away. */
static void free_name(void)
{
    struct admin_request drop = coordinator_stage_drop();

    coordinator_stage_command(&site_stages[US].stage, 2, &drop);
    site_stages_run();
    site_stages[US].stage.ntold = 0;
}

Test(coordinator_join, a_name_that_is_taken_is_told_and_waited_for)
{
    take_name();
    add(EU, "us");
    site_stages_run();
    cr_assert_not(document_has_sites(site_stages_document(US, "urls")));
    expect_refusal(US, "there is another filter urls here: rename that one here");
    expect_refused(site_stages_change(EU, SITE_STEP_LEAVE, "us"), STATUS_INVALID,
                   "us joins: where it can't make the filter, `orbloom site` there says why");
    expect_awaited(EU, "");
    free_name();
    cr_assert(document_has_sites(site_stages_document(US, "urls")), "the name was free at once");
    cr_assert(set_of(US)->takes_adds);
}

static void drop_everywhere(uint32_t i)
{
    struct admin_request drop = coordinator_stage_drop();

    drop.scope = DROP_EVERYWHERE;
    coordinator_stage_command(&site_stages[i].stage, 2, &drop);
    site_stages_run();
    site_stages[i].stage.ntold = 0;
}

/* ap, which has not heard of the drop, goes on telling of the filter. */
Test(coordinator_join, what_was_dropped_everywhere_is_not_made_once_it_could_be)
{
    struct fake_sent sent;

    join(EU, AP);
    take_name();
    add(EU, "us");
    site_stages_run();
    cr_assert_eq(list(US, &sent)->sites.nrefusals, 1);
    site_stages[AP].cut = true;
    drop_everywhere(EU);
    cr_assert(site_stages[US].heard[EU].told.dropped);
    cr_assert(site_stages[US].heard[AP].told.is_fenced);
    cr_assert_eq(list(US, &sent)->sites.nrefusals, 0);
    free_name();
    cr_assert_null(site_stages_document(US, "urls"));
}

Test(coordinator_join, the_drop_of_one_that_was_removed_keeps_no_newcomer_away)
{
    join(EU, AP);
    site_stages[AP].cut = true;
    cr_assert_eq(site_stages_change(EU, SITE_STEP_REMOVE, "ap").status, STATUS_OK);
    drop_everywhere(AP);
    site_stages[AP].cut = false;
    site_stages_run();
    cr_assert(site_stages[US].heard[AP].told.dropped);
    add(EU, "us");
    site_stages_run();
    cr_assert_not_null(site_stages_document(US, "urls"));
}

/* Links that are started anew with another key are of a site that nobody has named. */
Test(coordinator_join, one_that_waits_is_forgotten_under_another_key)
{
    struct fake_sent sent;

    take_name();
    add(EU, "us");
    site_stages_run();
    expect_refusal(US, "there is another filter urls here");
    site_stages[US].key = (struct site_id){0x06, 1};
    site_stages_run();
    cr_assert_eq(list(US, &sent)->sites.nrefusals, 0);
    free_name();
    cr_assert_null(site_stages_document(US, "urls"));
}

Test(coordinator_join, without_enough_nodes_nothing_is_made)
{
    struct coordinator_stage *us = &site_stages[US].stage;

    coordinator_stage_pass(us, 2 * us->coordinator->config.node_timeout_us);
    add(EU, "us");
    site_stages_sync(EU);
    site_stages_confirm(EU);
    site_stages_sync(EU);
    site_stages_carry();
    site_stages_sync(US);
    coordinator_stage_turn(us);
    cr_assert_null(site_stages_document(US, "urls"));
    expect_refusal(US, "3 replicas need as many nodes");
    coordinator_stage_report(us, 3, 0, 0, REPLICA_NONE);
    site_stages_run();
    cr_assert_not_null(site_stages_document(US, "urls"));
}

/* Up to where us is told of it, and no further. */
static void tell_us(void)
{
    site_stages_sync(EU);
    site_stages_confirm(EU);
    site_stages_sync(EU);
    site_stages_carry();
}

static struct coordinator_told finalize(uint32_t i)
{
    const struct admin_request request = {.action = ADMIN_UPGRADE_FINALIZE, .name = ""};

    site_stages[i].stage.ntold = 0;
    coordinator_stage_command(&site_stages[i].stage, 2, &request);
    return coordinator_stage_told(&site_stages[i].stage);
}

/* Sites are upgraded weeks apart. */
Test(coordinator_join, a_site_that_does_not_use_sites_yet_makes_it_once_it_does)
{
    struct coordinator_stage *us = &site_stages[US].stage;

    us->coordinator->features.record.in_use = feature_bit(FEATURE_BASE);
    add(EU, "us");
    site_stages_run();
    cr_assert_null(site_stages_document(US, "urls"));
    expect_refusal(US, "this cluster does not use sites yet, though every process knows it: say "
                       "`orbloom upgrade finalize`");
    coordinator_stage_report(us, 3, 0, 0, REPLICA_NONE);
    cr_assert_eq(finalize(US).status, STATUS_OK, "%s", coordinator_stage_told(us).message);
    site_stages_run();
    cr_assert_not_null(site_stages_document(US, "urls"));
}

Test(coordinator_join, what_needs_a_later_version_is_not_made)
{
    add(EU, "us");
    tell_us();
    site_stages[US].heard[EU].told.needs = UINT64_C(1) << 40;
    site_stages_sync(US);
    coordinator_stage_turn(&site_stages[US].stage);
    cr_assert_null(site_stages_document(US, "urls"));
    expect_refusal(US, "does not know feature 40; upgrade it");
    site_stages_run(); /* eu has taken it back */
    cr_assert_not_null(site_stages_document(US, "urls"));
}

/* ... and of one that is here what is said by then does not count. */
Test(coordinator_join, what_a_later_version_says_is_not_gone_by)
{
    struct coordinator_stage *us = &site_stages[US].stage;
    struct site_filter *told = &site_stages[US].heard[EU].told;
    uint64_t refused;

    add(EU, "us");
    site_stages_run();
    cr_assert_eq(told->needs, feature_bit(FEATURE_SITES), "so it is told");
    refused = coordinator_stage_counter(us, "site_states_refused_total");
    told->needs |= UINT64_C(1) << 40;
    told->revision++;
    told->document.entries[1].state = told->fenced.entries[1].state = SITE_COUNTED;
    site_stages_sync(US);
    cr_assert_eq(coordinator_stage_counter(us, "site_states_refused_total"), refused + 1);
    cr_assert_eq(site_stages_state(US, US), SITE_JOINING);
}

/* Its link, too, begins with nothing. */
static void lose_all(uint32_t i)
{
    memory_store_fini(&site_stages[i].store);
    memory_store_init(&site_stages[i].store);
    memset(&site_stages[i].words, 0, sizeof site_stages[i].words);
    memset(site_stages[i].heard, 0, sizeof site_stages[i].heard);
    site_stages_restart(i);
}

/* With its old life it would be taken for one that has all keys. */
Test(coordinator_join, one_that_has_lost_the_filter_makes_it_and_joins_anew)
{
    join(EU, US);
    lose_all(US);
    site_stages_run();
    cr_assert(set_of(US)->joins_anew && set_of(US)->takes_adds && !set_of(US)->says_absent);
    cr_assert_eq(site_stages_state(EU, US), SITE_JOINING);
    finish_join(US);
    cr_assert(set_of(US)->says_absent && !set_of(US)->joins_anew);
}

/* Nobody has all keys then, and a newcomer that takes adds is not taken for one that does. */
Test(coordinator_join, what_all_that_counted_have_lost_is_not_brought_back_by_a_newcomer)
{
    join(EU, US);
    add(EU, "ap");
    site_stages_run();
    cr_assert(set_of(AP)->takes_adds);
    lose_all(EU);
    lose_all(US);
    site_stages_run();
    cr_assert_null(site_stages_document(EU, "urls"));
    cr_assert_null(site_stages_document(US, "urls"));
    cr_assert_eq(site_stages_state(AP, AP), SITE_JOINING);
    cr_assert_not(set_of(AP)->says_absent);
    expect_awaited(AP, "to be copied");
}

/* Its links have found that others remember more of its nodes than these have. */
Test(coordinator_join, one_that_was_put_back_joins_anew)
{
    struct site_evidence *evidence = &site_stages[US].evidence[EU];
    struct site_life before;

    join(EU, US);
    before = site_set_own(set_of(US))->life;
    *evidence = (struct site_evidence){.uid = site_stages_document(US, "urls")->content.uid,
                                       .site = site_stages_id(EU),
                                       .source_life = site_set_own(set_of(EU))->life,
                                       .own_life = before,
                                       .put_back = true};
    site_stages_run();
    cr_assert_gt(site_set_own(set_of(US))->life.number, before.number);
    cr_assert(set_of(US)->joins_anew && set_of(US)->takes_adds && !set_of(US)->says_absent);
    cr_assert_eq(site_stages_state(EU, US), SITE_JOINING);
    expect_refused(site_stages_change(US, SITE_STEP_LEAVE, "us"), STATUS_NOT_READY,
                   "lacks keys that it has acknowledged");
    *evidence = (struct site_evidence){0};
    finish_join(US);
    cr_assert(set_of(US)->says_absent && !set_of(US)->joins_anew);
    cr_assert_eq(site_stages_state(EU, US), SITE_COUNTED);
}

static void take_record(uint32_t i, struct buffer *value, uint64_t *version)
{
    struct store *store = &site_stages[i].store.store;

    buffer_init(value, 1 << 20);
    cr_assert_eq(store->get(store->self, "filter/1", value, version), STATUS_OK);
}

/* The store of eu is what it was before the filter was in sites. Nobody else is to be told that the
 * filter is eu's alone, nor may it be in two sets. */
Test(coordinator_join, one_that_was_put_back_to_before_sites_joins_anew)
{
    struct store *store = &site_stages[EU].store.store;
    struct store_swap swap = {.key = "filter/1"};
    struct buffer before;
    struct buffer after;
    uint64_t change;

    take_record(EU, &before, &change);
    join(EU, US);
    take_record(EU, &after, &swap.expected);
    swap.value = buffer_span(&before);
    cr_assert_eq(store->swap(store->self, &swap, 1, &change), STATUS_OK);
    buffer_fini(&before);
    buffer_fini(&after);
    site_stages_restart(EU);
    cr_assert_not(document_has_sites(site_stages_document(EU, "urls")));
    site_stages_run();
    cr_assert(set_of(EU)->joins_anew && !set_of(EU)->says_absent);
    cr_assert_gt(site_set_own(set_of(EU))->life.number, SITE_FIRST_LIFE);
    finish_join(EU);
    cr_assert(set_of(EU)->says_absent && set_of(US)->says_absent);
}

/* ---- refusals ---- */

Test(coordinator_join, sites_that_can_t_be_added)
{
    expect_refused(site_stages_change(EU, SITE_STEP_ADD, "eu"), STATUS_INVALID, "eu is this site");
    expect_refused(site_stages_change(EU, SITE_STEP_ADD, "br"), STATUS_NOT_FOUND,
                   "no link of this site knows a site br");
    expect_refused(site_stages_change(EU, SITE_STEP_ADD, "US"), STATUS_INVALID,
                   "a site's name takes");
    site_stages[US].cut = true;
    site_stages_sync(EU);
    expect_refused(site_stages_change(EU, SITE_STEP_ADD, "us"), STATUS_UNAVAILABLE,
                   "no link of this site is connected to us");
    cr_assert_not(document_has_sites(site_stages_document(EU, "urls")));
    site_stages[US].cut = false;
    site_stages_sync(EU);
    add(EU, "us");
    cr_assert_not(site_stages_change(EU, SITE_STEP_ADD, "us").created, "it is on its way");
    site_stages_run();
    expect_refused(site_stages_change(US, SITE_STEP_ADD, "ap"), STATUS_NOT_READY,
                   "this site is joining itself");
    finish_join(US);
    expect_refused(site_stages_change(EU, SITE_STEP_ADD, "us"), STATUS_EXISTS,
                   "filter urls is in site us already, which is counted");
    coordinator_stage_pass(&site_stages[EU].stage, 100000000);
    expect_refused(site_stages_change(EU, SITE_STEP_ADD, "ap"), STATUS_UNAVAILABLE,
                   "no link of this site has asked this coordinator lately");
}

static void expect_kind_refused(const struct create_parameters *parameters, const char *words)
{
    struct admin_request create = coordinator_stage_create();
    struct admin_request drop = coordinator_stage_drop();
    struct coordinator_stage *eu = &site_stages[EU].stage;

    coordinator_stage_command(eu, 2, &drop);
    site_stages_confirm(EU);
    coordinator_stage_turn(eu);
    eu->ntold = 0;
    create.create = *parameters;
    coordinator_stage_command(eu, 1, &create);
    eu->ntold = 0;
    cr_assert_not_null(site_stages_document(EU, "urls"));
    expect_refused(site_stages_change(EU, SITE_STEP_ADD, "us"), STATUS_INVALID, words);
    eu->ntold = 0;
}

Test(coordinator_join, filters_that_can_t_be_in_several_sites)
{
    struct create_parameters parameters = coordinator_stage_create().create;

    parameters.durability = DURABILITY_SYNC;
    expect_kind_refused(&parameters, "refuses keys when it is full");
    parameters.when_full = WHEN_FULL_EXPAND;
    parameters.keylog = KEYLOG_OFF;
    expect_kind_refused(&parameters, "has no log of keys");
    parameters.keylog = KEYLOG_ON;
    parameters.window_us = 3600000000u;
    parameters.nslices = 4;
    expect_kind_refused(&parameters, "has a window");
}

/* ---- what makes no sense ---- */

Test(coordinator_join, garbage_is_counted_and_changes_nothing)
{
    struct coordinator_stage *us = &site_stages[US].stage;
    struct site_filter *told = &site_stages[US].heard[EU].told;
    struct site_filter before;
    uint64_t refused = coordinator_stage_counter(us, "site_states_refused_total");

    add(EU, "us");
    site_stages_run();
    before = *told;
    told->fenced.own = told->document.own = 1 - told->document.own; /* another site's set */
    site_stages_sync(US);
    *told = before;
    told->document.entries[0].life.number = 0;
    site_stages_sync(US);
    *told = before;
    told->site = site_stages_id(US); /* from abroad it is told how it is itself */
    site_stages_sync(US);
    cr_assert_gt(coordinator_stage_counter(us, "site_states_refused_total"), refused + 1);
    *told = before;
    cr_assert(set_of(US)->takes_adds);
    finish_join(US);
    cr_assert(set_of(US)->says_absent);
}

/* By one of them this site is another one: which of them tells of others can't be known. */
Test(coordinator_join, links_of_different_sites_bring_nothing)
{
    struct coordinator_stage *us = &site_stages[US].stage;
    struct link_heard *links = us->coordinator->links;
    uint64_t refused;

    add(EU, "us");
    site_stages_run();
    expect_awaited(US, "all keys of site eu to be copied");
    refused = coordinator_stage_counter(us, "site_states_refused_total");
    links[1] = links[0];
    links[1].report.id.high++;
    links[1].last_us = us->now_us;
    (void)snprintf(links[1].name, sizeof links[1].name, "link-2");
    site_stages_sync(US);
    cr_assert_eq(coordinator_stage_counter(us, "site_states_refused_total"), refused + 1);
    expect_awaited(US, "this site's links, which say that they are of different sites");
    links[1] = (struct link_heard){0};
    site_stages_sync(US);
    cr_assert_eq(coordinator_stage_counter(us, "site_states_refused_total"), refused + 1);
    expect_awaited(US, "all keys of site eu to be copied");
}

/* What is older than what was heard says nothing. */
Test(coordinator_join, old_words_replace_no_new_ones)
{
    struct site_words old;

    add(EU, "us");
    site_stages_run();
    old = site_stages[US].heard[EU];
    site_stages_copy(US, EU);
    site_stages_run();
    site_stages_mark(US, EU);
    site_stages[US].cut = true;
    site_stages[US].heard[EU] = old;
    site_stages_run();
    cr_assert(set_of(US)->says_absent, "that eu counts it was heard before");
}
