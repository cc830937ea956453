/* An operator accepts a loss: what is refused, what is told, and that it goes on by itself. */
#include "coordinator/records.h"
#include "tests/unit/coordinator_moves.h"

enum { NEW_LIFE = 7000, KEYS = 1234 };

static void report(uint32_t n, uint64_t incarnation, uint64_t complete)
{
    struct sync_request request = coordinator_stage_node(n);
    const struct replica_report reports[1] = {
        {.filter_id = FILTER,
         .state = incarnation == request.incarnation ? REPLICA_FULL : REPLICA_JOINING,
         .keys = incarnation == request.incarnation ? KEYS : 0,
         .complete = complete}};

    if (incarnation != request.incarnation) {
        request.incarnation = incarnation;
        request.boot = incarnation;
    }
    request.replicas = reports;
    request.nreplicas = 1;
    cr_assert_eq(coordinator_stage_sync(&stage, n, &request).status, STATUS_OK);
}

static void lose(uint32_t n, uint64_t complete)
{
    report(n, NEW_LIFE + n, complete);
}

static struct coordinator_told accept_loss(bool all, uint32_t shard, bool dry_run,
                                           uint32_t confirmed_off)
{
    const struct vouched_life off = {{confirmed_off, SAMPLE_INCARNATION + confirmed_off}, false};
    struct admin_request request = {
        .action = ADMIN_ACCEPT_LOSS, .name = "urls", .successor = "", .dry_run = dry_run};

    request.loss = (struct loss_parameters){.all = all, .shard = shard};
    request.confirmed_off = &off;
    request.nconfirmed_off = confirmed_off != 0;
    coordinator_stage_command(&stage, 9, &request);
    return coordinator_stage_told(&stage);
}

/* Three nodes that this coordinator has known for long enough. */
static void open_old_stage(enum durability durability)
{
    open_stage(2, 2, durability);
    coordinator_stage_pass(&stage, SILENCE_US);
    for (uint32_t n = 1; n <= 3; n++) {
        report(n, SAMPLE_INCARNATION + n, 0);
    }
}

Test(coordinator_loss, it_is_refused_while_it_is_not_needed)
{
    struct coordinator_told told;

    open_stage(2, 2, DURABILITY_SYNC);
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_UNAVAILABLE, "has just started");
    coordinator_stage_pass(&stage, SILENCE_US);
    for (uint32_t n = 1; n <= 3; n++) {
        report(n, SAMPLE_INCARNATION + n, 0);
    }
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_INVALID, "not needed: of slot group 0 3 FULL replicas are left");
    told = accept_loss(false, 16, false, 0);
    expect(&told, STATUS_INVALID, "shards 0 to 15");
    told = accept_loss(true, 0, false, 2);
    expect(&told, STATUS_INVALID, "node node-2 is alive");
    expect_slot(&stage, 1, SLOT_SINGLE, 2, 0);
    close_stage();
}

Test(coordinator_loss, it_is_told_and_then_goes_on_to_its_end)
{
    struct coordinator_told told;

    open_old_stage(DURABILITY_SYNC);
    lose(1, 0);
    lose(2, 0);
    told = accept_loss(false, 3, true, 0);
    expect(&told, STATUS_OK,
           "shards 0-15 (1 of 1 groups of shards on the same nodes); gone with "
           "node-1, node-2; about 1,234 keys were known there; those that no "
           "other replica has are lost");
    cr_assert_eq(document_at(&stage)->content.groups[0].loss_epoch, 0, "only told");
    cr_assert_eq(document_at(&stage)->epoch, 2, "node 1 is a pair");
    told = accept_loss(false, 3, false, 0);
    expect(&told, STATUS_OK, "accepted in epoch 3");
    cr_assert_eq(document_at(&stage)->content.groups[0].loss_epoch, 3);
    cr_assert_eq(coordinator_stage_counter(&stage, "losses_accepted_total"), 1);
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_EXISTS, "accepted in epoch 3 already");
    expect_slot(&stage, 3, SLOT_PAIR, 1, 1);
    lose(1, 3);
    expect_slot(&stage, 6, SLOT_SINGLE, 1, 0); /* And node 2 follows. */
    close_stage();
}

/* ---- in sites ---- */

/* In two sites; it is in the document of the first one, with that state. */
static struct site_set set_of_two(enum site_state other)
{
    struct filter_document document = {0};
    struct site_set sites;

    sample_sites(0, &document);
    sites = *document_sites(&document);
    document_fini(&document);
    sites.entries[1 - sites.own].state = other;
    return sites;
}

static void put_in_sites(struct filter_document *document, const void *sites)
{
    document->when_full = WHEN_FULL_EXPAND;
    cr_assert_eq(document_put_sites(document, sites), STATUS_OK);
    document_epoch_advance(document);
}

/* Two of three replicas are lost. */
static void lose_in_sites(const struct site_set *sites)
{
    const struct document_entry *entry;

    open_old_stage(DURABILITY_SYNC);
    entry = document_cache_find(&stage.coordinator->documents, FILTER);
    cr_assert_eq(records_edit_filter(stage.coordinator, stage.now_us, entry, put_in_sites, sites),
                 STATUS_OK);
    lose(1, 0);
    lose(2, 0);
}

static const struct site_entry *own_site(void)
{
    return site_set_own(document_sites(document_at(&stage)));
}

Test(coordinator_loss, what_may_be_with_other_sites_is_no_absent_in_the_same_epoch)
{
    struct site_set sites = set_of_two(SITE_COUNTED);
    const struct site_set *after;
    struct coordinator_told told;
    uint64_t epoch;

    lose_in_sites(&sites);
    epoch = document_at(&stage)->epoch;
    told = accept_loss(true, 0, true, 0);
    expect(&told, STATUS_OK, "the filter joins its other sites anew here");
    cr_assert_eq(own_site()->life.number, SITE_FIRST_LIFE, "only told");
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_OK, "accepted in epoch");
    after = document_sites(document_at(&stage));
    cr_assert_eq(document_at(&stage)->content.groups[0].loss_epoch, epoch + 1);
    cr_assert_eq(own_site()->life.number, SITE_FIRST_LIFE + 1);
    cr_assert_eq(own_site()->state, SITE_JOINING);
    cr_assert(!after->says_absent && !after->takes_adds && after->joins_anew);
    close_stage();
}

/* Nobody is left that could tell what is lost here. */
Test(coordinator_loss, a_site_that_is_alone_begins_no_life)
{
    struct site_set sites = set_of_two(SITE_GONE);
    struct coordinator_told told;

    sites.settled = sites.says_absent = false;
    lose_in_sites(&sites);
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_OK, "accepted in epoch");
    cr_assert_null(strstr(told.message, "anew"), "%s", told.message);
    cr_assert_eq(own_site()->life.number, SITE_FIRST_LIFE);
    cr_assert_eq(own_site()->state, SITE_COUNTED);
    close_stage();
}

/* Who leaves says no "absent", and takes nothing any more. */
Test(coordinator_loss, a_site_that_leaves_goes_on_leaving)
{
    struct site_set sites = set_of_two(SITE_COUNTED);
    struct coordinator_told told;

    sites.entries[sites.own].state = SITE_LEAVING;
    sites.says_absent = sites.takes_adds = false;
    lose_in_sites(&sites);
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_OK, "accepted in epoch");
    cr_assert_eq(own_site()->state, SITE_LEAVING);
    close_stage();
}

/* Then nobody would ever count. */
Test(coordinator_loss, who_alone_counts_does_not_join_anew_before_all_is_made_up_for)
{
    struct site_set sites = set_of_two(SITE_JOINING);
    struct coordinator_told told;

    sites.settled = sites.says_absent = false;
    lose_in_sites(&sites);
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_UNAVAILABLE, "this site alone counts");
    cr_assert_eq(document_at(&stage)->content.groups[0].loss_epoch, 0);
    close_stage();
}

Test(coordinator_loss, what_is_silent_is_to_be_started_or_vouched_for)
{
    struct coordinator_told told;

    open_old_stage(DURABILITY_SYNC);
    coordinator_stage_pass(&stage, SILENCE_US);
    lose(1, 0);
    report(3, SAMPLE_INCARNATION + 3, 0);
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_INVALID, "node node-2 is silent and could come back with its data");
    told = accept_loss(true, 0, false, 2);
    expect(&told, STATUS_OK, "gone with node-1, node-2");
    close_stage();
}

/* node-1 came back without its data while its operator looked at what was there before. */
Test(coordinator_loss, a_word_about_another_life_is_a_conflict)
{
    struct coordinator_told told;

    open_old_stage(DURABILITY_SYNC);
    coordinator_stage_pass(&stage, SILENCE_US);
    lose(1, 0);
    told = accept_loss(true, 0, false, 1);
    expect(&told, STATUS_CONFLICT, "node node-1 has another life by now");
    cr_assert_eq(document_at(&stage)->content.groups[0].loss_epoch, 0);
    close_stage();
}

Test(coordinator_loss, what_is_being_dropped_is_ended_otherwise)
{
    struct admin_request drop = coordinator_stage_drop();
    struct coordinator_told told;

    open_old_stage(DURABILITY_SYNC);
    coordinator_stage_command(&stage, 8, &drop);
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_INVALID, "orbloom drop urls --confirmed-off");
    close_stage();
}

/* What was given up never answers, so it does not hold up a drop either. */
Test(coordinator_loss, what_was_given_up_is_not_awaited_by_a_drop)
{
    struct admin_request drop = coordinator_stage_drop();
    struct coordinator_told told;

    open_old_stage(DURABILITY_SYNC);
    coordinator_stage_pass(&stage, SILENCE_US);
    report(3, SAMPLE_INCARNATION + 3, 0);
    lose(1, 0);
    told = accept_loss(true, 0, false, 2);
    expect(&told, STATUS_OK, "gone with node-1, node-2");
    coordinator_stage_command(&stage, 8, &drop);
    coordinator_stage_turn(&stage);
    told = coordinator_stage_told(&stage);
    expect(&told, STATUS_OK, "");
    close_stage();
}

Test(coordinator_loss, what_is_in_memory_only_is_not_copied)
{
    struct coordinator_told told;

    open_old_stage(DURABILITY_MEMORY);
    told = accept_loss(true, 0, false, 0);
    expect(&told, STATUS_INVALID, "kept in memory only");
    close_stage();
}
