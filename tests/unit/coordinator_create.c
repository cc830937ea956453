/* Creating filters: who may be told what, and that two coordinators never disagree. */
#include "coordinator/private.h"
#include "filter/sizing.h"
#include "map/acks.h"
#include "map/staleness.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

static struct memory_store store;
static struct coordinator_stage stage;
static struct coordinator_stage other;

static void open_stage(uint32_t nnodes)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, nnodes, 0, 0, REPLICA_NONE);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static struct coordinator_told command(const struct admin_request *request)
{
    coordinator_stage_command(&stage, 1, request);
    return coordinator_stage_told(&stage);
}

/* It is created only when every replica stands, so that the first add finds it. */
Test(coordinator_create, answers_when_every_replica_is_ready)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(3);
    coordinator_stage_command(&stage, 77, &create);
    cr_assert_eq(stage.ntold, 0);
    cr_assert_geq(stage.nhints, 3, "the nodes are hinted");
    coordinator_stage_report(&stage, 3, 1, 1, REPLICA_BUILDING);
    cr_assert_eq(stage.ntold, 0);
    coordinator_stage_report(&stage, 2, 1, 1, REPLICA_FULL);
    cr_assert_eq(stage.ntold, 0, "one is missing");
    coordinator_stage_report(&stage, 3, 1, 1, REPLICA_FULL);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert(told.created);
    cr_assert_eq(told.correlation, 77);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_created_total"), 1);
    close_stage();
}

static const struct filter_document *made(const char *name)
{
    struct admin_request create = coordinator_stage_create();

    create.name = name;
    coordinator_stage_command(&stage, 1, &create);
    return &document_cache_find_name(&stage.coordinator->documents, name)->document;
}

/* What is the same wherever the filter is kept, and what counts from here on. */
Test(coordinator_create, each_filter_has_a_uid_and_begins_its_counters)
{
    const struct filter_document *one;
    const struct filter_document *second;

    open_stage(3);
    one = made("urls");
    second = made("others");
    cr_assert_neq(one->content.uid.high, second->content.uid.high);
    cr_assert_neq(one->content.uid.low, second->content.uid.low);
    cr_assert_neq(one->content.uid.high, one->content.uid.low);
    cr_assert_eq(one->content.keysets[0].id, 1);
    cr_assert_eq(one->content.last_keyset, 1);
    for (uint32_t i = 0; i < one->content.rule.replicas; i++) {
        cr_assert_eq(one->content.groups[0].slots[i].read_since, 1);
    }
    close_stage();
}

Test(coordinator_create, at_the_deadline_it_names_who_is_not_ready)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(3);
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, 2, 1, 1, REPLICA_FULL);
    coordinator_stage_pass(&stage, 5100000);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_DEADLINE);
    cr_assert_not_null(strstr(told.message, "node-3"), "%s", told.message);
    close_stage();
}

Test(coordinator_create, the_same_again_is_fine_other_parameters_are_not)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_make_filter(&stage);
    told = command(&create);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_not(told.created);
    create.create.capacity = 20000;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_EXISTS);
    cr_assert_str_eq(told.message,
                     "filter urls exists with other parameters (capacity 10,000, not 20,000); use "
                     "those, another name, or drop it first");
    create = coordinator_stage_create();
    create.create.rule.read = 3;
    cr_assert_eq(command(&create).status, STATUS_EXISTS);
    create = coordinator_stage_create();
    create.create.hash = HASH_XXH3;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_EXISTS);
    cr_assert_not_null(strstr(told.message, "(hash siphash, not xxh3)"), "%s", told.message);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_created_total"), 1);
    close_stage();
}

/* It says nothing before the filter is in another site; sites that join take it over. */
Test(coordinator_create, the_bound_of_checks_is_one_of_the_parameters)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(3);
    create.create.max_staleness = STALENESS_MAX_US + 2;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_INVALID);
    cr_assert_not_null(strstr(told.message, "0 to 30 days"), "%s", told.message);
    create.create.max_staleness = STALENESS_MAX_US + 1;
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, 3, 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(stage.coordinator->documents.by_id[0]->document.max_staleness,
                 STALENESS_MAX_US + 1);
    cr_assert_eq(command(&create).status, STATUS_OK);
    create.create.max_staleness = 1;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_EXISTS);
    cr_assert_not_null(strstr(told.message, "(max-staleness 30d, not 0)"), "%s", told.message);
    create.create.max_staleness = 0;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_EXISTS);
    cr_assert_not_null(strstr(told.message, "(max-staleness 30d, not none)"), "%s", told.message);
    close_stage();
}

Test(coordinator_create, so_are_the_sites_that_acknowledge)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(3);
    create.create.acks = ACKS_MAX + 1;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_INVALID);
    cr_assert_not_null(strstr(told.message, "local, 2 to 8, or each"), "%s", told.message);
    create.create.acks = 2;
    create.create.durability = (enum durability)0;
    create.create.when_full = (enum when_full)0;
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, 3, 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(stage.coordinator->documents.by_id[0]->document.acks, 2);
    cr_assert_eq(command(&create).status, STATUS_OK);
    create.create.acks = ACKS_EACH;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_EXISTS);
    cr_assert_not_null(strstr(told.message, "(acks 2, not each)"), "%s", told.message);
    create.create.acks = ACKS_LOCAL;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_EXISTS);
    cr_assert_not_null(strstr(told.message, "(acks 2, not local)"), "%s", told.message);
    close_stage();
}

/* No add of such a filter would ever be acknowledged. */
Test(coordinator_create, acks_of_several_sites_take_what_these_take)
{
    static const char why[] = "takes several sites";
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(3);
    create.create.acks = 2;
    create.create.durability = (enum durability)0;
    create.create.when_full = (enum when_full)0;
    create.create.keylog = KEYLOG_OFF;
    told = command(&create);
    cr_assert(told.status == STATUS_INVALID && strstr(told.message, why) != NULL, "%s",
              told.message);
    create.create.keylog = KEYLOG_ON;
    create.create.durability = DURABILITY_MEMORY;
    told = command(&create);
    cr_assert(told.status == STATUS_INVALID && strstr(told.message, why) != NULL, "%s",
              told.message);
    create.create.durability = (enum durability)0;
    create.create.when_full = WHEN_FULL_REFUSE;
    told = command(&create);
    cr_assert(told.status == STATUS_INVALID && strstr(told.message, why) != NULL, "%s",
              told.message);
    create.create.acks = ACKS_EACH;
    coordinator_stage_command(&stage, 1, &create);
    cr_assert_eq(stage.ntold, 0, "of each there are always enough");
    close_stage();
}

Test(coordinator_create, one_site_that_acknowledges_is_the_usual)
{
    struct admin_request create = coordinator_stage_create();

    open_stage(3);
    create.create.acks = ACKS_LOCAL;
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, 3, 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(stage.coordinator->documents.by_id[0]->document.acks, 0);
    cr_assert_eq(command(&create).status, STATUS_OK);
    create.create.acks = 0;
    cr_assert_eq(command(&create).status, STATUS_OK);
    close_stage();
}

Test(coordinator_create, refuses_what_cannot_be_certain_or_served)
{
    struct admin_request create;
    struct coordinator_told told;

    open_stage(3);
    create = coordinator_stage_create();
    create.create.rule = (struct quorum_rule){.replicas = 3, .write = 1, .read = 2};
    told = command(&create);
    cr_assert_eq(told.status, STATUS_INVALID);
    cr_assert_not_null(strstr(told.message, "W + R > N"), "%s", told.message);
    create = coordinator_stage_create();
    create.name = "no blanks";
    cr_assert_eq(command(&create).status, STATUS_INVALID);
    create = coordinator_stage_create();
    create.create.capacity = 0;
    cr_assert_eq(command(&create).status, STATUS_INVALID);
    create = coordinator_stage_create();
    create.create.capacity = UINT64_MAX;
    cr_assert_eq(command(&create).status, STATUS_INVALID);
    create = coordinator_stage_create();
    create.create.rate = 1;
    cr_assert_eq(command(&create).status, STATUS_INVALID);
    create = coordinator_stage_create();
    create.create.when_full = WHEN_FULL_EXPAND;
    create.create.rate = 1.5 * SIZING_RATE_MIN;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_INVALID, "half of it is too little: %s", told.message);
    cr_assert_not_null(strstr(told.message, "--when-full refuse"), "%s", told.message);
    create = coordinator_stage_create();
    create.create.keylog = KEYLOG_OFF;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_INVALID);
    cr_assert_not_null(strstr(told.message, "exclude each other"), "%s", told.message);
    close_stage();
}

Test(coordinator_create, more_replicas_than_nodes_are_unavailable)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(2);
    told = command(&create);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(told.message, "3 replicas"), "%s", told.message);
    close_stage();
}

/* Nodes not heard of for a while, or under another incarnation, take no new replicas. */
Test(coordinator_create, silent_nodes_take_no_replicas)
{
    struct admin_request create = coordinator_stage_create();

    open_stage(4);
    coordinator_stage_pass(&stage, 9000000);
    coordinator_stage_report(&stage, 2, 0, 0, REPLICA_NONE);
    coordinator_stage_pass(&stage, 2000000);
    cr_assert_eq(command(&create).status, STATUS_UNAVAILABLE);
    close_stage();
}

Test(coordinator_create, too_little_memory_is_refused_with_what_is_missing)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(3);
    create.create.capacity = 10000000000;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_NO_SPACE);
    cr_assert_not_null(strstr(told.message, "lacks"), "%s", told.message);
    cr_assert_not_null(strstr(told.message, "GiB"), "%s", told.message);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_created_total"), 0);
    close_stage();
}

/* More than a node can tell of in time: refused before anything is written. */
Test(coordinator_create, nodes_take_no_more_slot_groups_than_they_may_hold)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;
    uint64_t change;

    open_stage(3);
    stage.coordinator->config.node_groups = 1;
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, 3, 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    change = stage.coordinator->change;
    create.name = "another";
    told = command(&create);
    cr_assert_eq(told.status, STATUS_NO_SPACE);
    cr_assert_not_null(strstr(told.message, "node_groups"), "%s", told.message);
    cr_assert_eq(stage.coordinator->change, change, "nothing was written");
    close_stage();
}

Test(coordinator_create, without_key_log_it_takes_nodes_with_a_disk)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(3); /* They keep memory only. */
    create.create.keylog = KEYLOG_OFF;
    create.create.durability = DURABILITY_MEMORY;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_INVALID);
    cr_assert_not_null(strstr(told.message, "durability sync or os"), "%s", told.message);
    create.create.durability = 0;
    told = command(&create);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE, "%s", told.message);
    cr_assert_not_null(strstr(told.message, "--keylog on"), "%s", told.message);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_created_total"), 0);
    close_stage();
}

static void create_at_other(void *context)
{
    const struct admin_request *create = context;

    coordinator_stage_command(&other, 2, create);
}

/* Two coordinators, one name, at the same time: one filter comes about, and who was second is
 * told what the first one made. */
Test(coordinator_create, two_coordinators_never_make_two_filters_of_one_name)
{
    struct admin_request mine = coordinator_stage_create();
    struct admin_request theirs = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(3);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, 3, 0, 0, REPLICA_NONE);
    theirs.create.capacity = 20000;
    store.before_swap = create_at_other;
    store.context = &theirs;
    coordinator_stage_command(&stage, 1, &mine);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_EXISTS, "%s", told.message);
    cr_assert_eq(coordinator_stage_counter(&stage, "swap_conflicts_total"), 1);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_created_total"), 0);
    cr_assert_eq(coordinator_stage_counter(&other, "filters_created_total"), 1);
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_create, two_coordinators_agree_when_they_are_asked_the_same)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;

    open_stage(3);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, 3, 0, 0, REPLICA_NONE);
    store.before_swap = create_at_other;
    store.context = &create;
    coordinator_stage_command(&stage, 1, &create);
    cr_assert_eq(stage.ntold, 0, "it waits for the other one's filter");
    coordinator_stage_report(&stage, 3, 1, 1, REPLICA_FULL);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_not(told.created, "the other one made it");
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_create, a_store_that_fails_is_an_error_and_changes_nothing)
{
    struct admin_request create = coordinator_stage_create();

    open_stage(3);
    store.broken = true;
    cr_assert_eq(command(&create).status, STATUS_IO);
    cr_assert_gt(coordinator_stage_counter(&stage, "store_errors_total"), 0);
    store.broken = false;
    coordinator_stage_make_filter(&stage);
    close_stage();
}

/* Node 1 to `with_disk` have one, those up to `all` keep memory only. */
static void open_mixed(uint32_t with_disk, uint32_t all)
{
    open_stage(0);
    for (uint32_t n = 1; n <= all; n++) {
        struct sync_request request;

        coordinator_stage_disks = n <= with_disk;
        request = coordinator_stage_node(n);
        cr_assert_eq(coordinator_stage_sync(&stage, n, &request).status, STATUS_OK);
    }
}

static struct coordinator_told create_with(enum durability durability)
{
    struct admin_request create = coordinator_stage_create();

    create.create.durability = durability;
    coordinator_stage_command(&stage, 1, &create);
    if (stage.ntold == 0) {
        coordinator_stage_pass(&stage, 5100000); /* Nobody reports it ready. */
    }
    return coordinator_stage_told(&stage);
}

Test(coordinator_create, filters_are_logged_where_nodes_have_disks)
{
    struct coordinator_told told;

    open_mixed(3, 3);
    told = create_with((enum durability)0);
    cr_assert_eq(told.nfilters, 1, "the answer tells what was made");
    cr_assert_eq(told.durability, DURABILITY_SYNC);
    told = create_with((enum durability)0);
    cr_assert_not(told.created, "the same again");
    cr_assert_eq(create_with(DURABILITY_SYNC).status, STATUS_DEADLINE, "and again");
    told = create_with(DURABILITY_OS);
    cr_assert_eq(told.status, STATUS_EXISTS);
    cr_assert_not_null(strstr(told.message, "durability sync, not os"), "%s", told.message);
    close_stage();
}

Test(coordinator_create, filters_are_kept_in_memory_where_nodes_have_no_disks)
{
    open_mixed(0, 3);
    cr_assert_eq(create_with((enum durability)0).durability, DURABILITY_MEMORY);
    close_stage();
    open_mixed(2, 5);
    cr_assert_eq(create_with((enum durability)0).durability, DURABILITY_MEMORY);
    close_stage();
}

Test(coordinator_create, durable_filters_take_durable_nodes)
{
    static const enum durability logged[] = {DURABILITY_SYNC, DURABILITY_OS, (enum durability)0};
    struct coordinator_told told;

    for (size_t i = 0; i < 3; i++) {
        open_mixed(2, 4);
        told = create_with(logged[i]);
        cr_assert_eq(told.status, STATUS_UNAVAILABLE);
        cr_assert_not_null(strstr(told.message, "takes 3 nodes with a disk and 2 are alive; "
                                                "node-3, node-4 keep memory only"),
                           "%s", told.message);
        cr_assert_not_null(strstr(told.message, "--durability memory"), "%s", told.message);
        close_stage();
    }
    open_mixed(3, 4);
    told = create_with(DURABILITY_OS);
    cr_assert_eq(told.status, STATUS_DEADLINE, "%s", told.message);
    cr_assert_eq(told.durability, DURABILITY_OS);
    close_stage();
}

Test(coordinator_create, nodes_with_a_disk_refuse_filters_in_memory)
{
    struct coordinator_told told;

    open_mixed(3, 5);
    told = create_with(DURABILITY_MEMORY);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(told.message, "takes 3 nodes without a disk and 2 are alive; "
                                            "node-1, node-2, node-3 have one"),
                       "%s", told.message);
    cr_assert_not_null(strstr(told.message, "--durability sync"), "%s", told.message);
    close_stage();
}

Test(coordinator_create, long_lists_of_nodes_are_cut)
{
    struct coordinator_told told;

    open_mixed(0, 7);
    told = create_with(DURABILITY_SYNC);
    cr_assert_not_null(strstr(told.message, "node-4 and 3 more keep memory only"), "%s",
                       told.message);
    close_stage();
    open_mixed(0, 1);
    told = create_with(DURABILITY_SYNC);
    cr_assert_not_null(strstr(told.message, "node-1 keeps memory only"), "%s", told.message);
    close_stage();
}

static enum when_full made_with(enum durability durability, enum keylog keylog)
{
    struct admin_request create = coordinator_stage_create();

    create.create.durability = durability;
    create.create.keylog = keylog;
    create.create.when_full = (enum when_full)0;
    coordinator_stage_command(&stage, 1, &create);
    return document_cache_find_name(&stage.coordinator->documents, "urls")->document.when_full;
}

Test(coordinator_create, filters_grow_where_they_can_unless_told_otherwise)
{
    open_mixed(3, 3);
    cr_assert_eq(made_with(DURABILITY_OS, KEYLOG_ON), WHEN_FULL_EXPAND);
    close_stage();
    open_mixed(3, 3);
    cr_assert_eq(made_with((enum durability)0, KEYLOG_ON), WHEN_FULL_EXPAND);
    close_stage();
    open_mixed(3, 3);
    cr_assert_eq(made_with(DURABILITY_SYNC, KEYLOG_OFF), WHEN_FULL_EXPAND);
    close_stage();
    open_mixed(0, 3);
    cr_assert_eq(made_with((enum durability)0, KEYLOG_ON), WHEN_FULL_REFUSE);
    close_stage();
}
