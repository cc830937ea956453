/* What is left of a dropped filter: its id in one record, which F nodes of each of its slot groups
 * must hold before the store forgets the rest. And: no more filters than may be. */
#include "coordinator/private.h"
#include "coordinator/records.h"
#include "proto/signed_document.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FIRST = 1, SECOND_US = 1000000, REVISION = 1, MANY = STORE_MAX_KEYS + 6 };

static struct memory_store store;
static struct coordinator_stage stage;

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static bool stored(const char *key)
{
    struct buffer value;
    uint64_t version;
    enum status status;

    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = store.store.get(store.store.self, key, &value, &version);
    buffer_fini(&value);
    cr_assert(status == STATUS_OK || status == STATUS_NOT_FOUND);
    return status == STATUS_OK;
}

static void drop_it(void)
{
    const struct admin_request drop = coordinator_stage_drop();

    coordinator_stage_command(&stage, 2, &drop);
    for (uint32_t n = 1; n <= 2; n++) {
        coordinator_stage_confirm(&stage, n, SAMPLE_INCARNATION + n, STATUS_OK);
        coordinator_stage_turn(&stage);
    }
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
}

/* The node tells which revision of the record it holds, of which only its coordinator knows more.
 */
static void hold_at(struct coordinator_stage *at, uint32_t n, uint64_t revision)
{
    const struct held_document held = {
        .filter_id = DROPPED_RECORD_ID,
        .revision = revision,
        .hash = at->coordinator->documents.dropped_hash,
    };
    struct sync_request request = coordinator_stage_node(n);

    request.held = &held;
    request.nheld = request.held_count = revision > 0;
    cr_assert_eq(coordinator_stage_sync(at, n, &request).status, STATUS_OK);
}

static void hold(uint32_t n, uint64_t revision)
{
    hold_at(&stage, n, revision);
}

static void record_first(void)
{
    cr_assert_eq(coordinator_stage_make_filter(&stage), FIRST);
    drop_it();
    cr_assert_not(stored(RECORDS_DROPPED_KEY), "tombstones wait for others");
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert(stored(RECORDS_DROPPED_KEY));
    cr_assert(document_cache_is_dropped(&stage.coordinator->documents, FIRST));
}

static void remove_first(void)
{
    record_first();
    hold(1, REVISION);
    hold(2, REVISION);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_not(stored("filter/1"));
}

Test(coordinator_dropped, no_less_than_f_nodes_hold_it_before_the_store_forgets)
{
    open_stage();
    record_first();
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert(stored("filter/1"), "nobody holds the record");
    hold(1, REVISION);
    hold(2, 0);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert(stored("filter/1"), "one of three does, and two must");
    cr_assert(stored("secret/1"));
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_forgotten_total"), 0);
    hold(2, REVISION);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_not(stored("filter/1"));
    cr_assert_not(stored("secret/1"));
    cr_assert_not(stored("name/urls"));
    cr_assert(stored(RECORDS_REMOVED_KEY));
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_forgotten_total"), 1);
    cr_assert_null(document_cache_find(&stage.coordinator->documents, FIRST));
    close_stage();
}

Test(coordinator_dropped, a_filter_whose_name_is_used_again_takes_only_its_own)
{
    const struct admin_request create = coordinator_stage_create();

    open_stage();
    record_first();
    coordinator_stage_command(&stage, 3, &create);
    coordinator_stage_report(&stage, 3, FIRST + 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    hold(1, REVISION);
    hold(2, REVISION);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_not(stored("filter/1"));
    cr_assert(stored("filter/2"));
    cr_assert(stored("secret/2"));
    cr_assert(stored("name/urls"), "it is the second one's");
    close_stage();
}

/* They hold an older record, without the second filter. */
Test(coordinator_dropped, an_older_record_does_not_count_for_a_later_filter)
{
    const struct admin_request create = coordinator_stage_create();

    open_stage();
    remove_first();
    coordinator_stage_command(&stage, 3, &create);
    coordinator_stage_report(&stage, 3, FIRST + 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    drop_it();
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    cr_assert(document_cache_is_dropped(&stage.coordinator->documents, FIRST + 1));
    hold(1, REVISION);
    hold(2, REVISION);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert(stored("filter/2"));
    hold(1, REVISION + 1);
    hold(2, REVISION + 1);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_not(stored("filter/2"));
    close_stage();
}

/* Made, dropped, and even its name's binding is gone from the store: as when it was looked at. */
Test(coordinator_dropped, a_late_create_does_not_take_a_removed_name_for_one_that_never_was)
{
    struct admin_request late = coordinator_stage_create();
    struct coordinator_told told;
    uint64_t change;

    open_stage();
    late = coordinator_stage_look(&stage, &late);
    remove_first();
    cr_assert_not(stored("name/urls"));
    change = store.change;
    coordinator_stage_ask(&stage, 7, &late);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_CONFLICT, "%s", status_code(told.status));
    cr_assert(told.moved);
    cr_assert_eq(store.change, change, "nothing is written");
    close_stage();
}

Test(coordinator_dropped, what_is_asked_for_after_the_removal_is_made)
{
    const struct admin_request create = coordinator_stage_create();

    open_stage();
    remove_first();
    coordinator_stage_command(&stage, 3, &create);
    coordinator_stage_report(&stage, 3, FIRST + 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK, "ids are not used again");
    cr_assert(stored("filter/2"));
    close_stage();
}

/* Another coordinator, that was away the whole time, takes what it finds. */
Test(coordinator_dropped, another_coordinator_goes_on_where_this_one_ended)
{
    open_stage();
    record_first();
    coordinator_stage_fini(&stage);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    cr_assert(document_cache_is_dropped(&stage.coordinator->documents, FIRST));
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert(stored("filter/1"));
    hold(1, REVISION);
    hold(3, REVISION);
    coordinator_stage_pass(&stage, SECOND_US);
    cr_assert_not(stored("filter/1"));
    close_stage();
}

static void make_and_drop(uint64_t id)
{
    const struct admin_request create = coordinator_stage_create();

    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, 3, id, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    stage.nfences = 0;
    drop_it();
}

/* It has nothing left to remove of more filters than one swap could have keys of. */
Test(coordinator_dropped, another_coordinator_that_was_first_may_have_removed_any_number)
{
    struct coordinator_stage other;

    open_stage();
    for (uint64_t id = FIRST; id <= MANY; id++) {
        make_and_drop(id);
    }
    coordinator_stage_pass(&stage, 2 * SECOND_US);
    coordinator_stage_init(&other, &store.store);
    coordinator_stage_report(&other, 3, 0, 0, REPLICA_NONE);
    cr_assert_eq(other.coordinator->documents.ngone, MANY);
    hold(1, REVISION);
    hold(2, REVISION);
    coordinator_stage_pass(&stage, 10 * SECOND_US);
    cr_assert_eq(coordinator_stage_counter(&stage, "filters_forgotten_total"), MANY);
    hold_at(&other, 1, REVISION);
    hold_at(&other, 2, REVISION);
    coordinator_stage_pass(&other, 10 * SECOND_US);
    cr_assert_eq(other.coordinator->documents.ngone, 0);
    cr_assert_eq(coordinator_stage_counter(&other, "filters_forgotten_total"), 0);
    coordinator_stage_fini(&other);
    close_stage();
}

Test(coordinator_dropped, a_filter_too_many_is_refused_before_it_is_written)
{
    struct admin_request create = coordinator_stage_create();
    struct coordinator_told told;
    uint64_t change;

    coordinator_stage_max_filters = 1;
    open_stage();
    cr_assert_eq(coordinator_stage_make_filter(&stage), FIRST);
    coordinator_stage_command(&stage, 3, &create);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK, "it is there");
    change = store.change;
    create.name = "more";
    coordinator_stage_command(&stage, 4, &create);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_TOO_LARGE, "%s", status_code(told.status));
    cr_assert_not_null(strstr(told.message, "drop some first"));
    cr_assert_eq(store.change, change, "nothing is written");
    drop_it();
    coordinator_stage_command(&stage, 5, &create);
    coordinator_stage_report(&stage, 3, FIRST + 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    close_stage();
    coordinator_stage_max_filters = 0;
}

static enum status tell_page(uint64_t first, uint64_t count, uint64_t after, uint64_t to)
{
    static struct held_document held[CODEC_MAX_HELD];
    struct sync_request request = coordinator_stage_node(1);

    for (uint64_t i = 0; i < count; i++) {
        held[i] = (struct held_document){.filter_id = first + i, .revision = 1};
    }
    request.held = held;
    request.nheld = count;
    request.held_count = 2 * CODEC_MAX_HELD;
    request.held_after = after;
    request.held_to = to;
    return coordinator_stage_sync(&stage, 1, &request).status;
}

/* More than one page takes: the coordinator knows what it has not been told. */
Test(coordinator_dropped, pages_of_what_a_node_holds_are_put_together)
{
    const struct claim *claim;
    uint64_t after;

    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    (void)tell_page(1, CODEC_MAX_HELD, 0, CODEC_MAX_HELD);
    claim = age_claim(stage.coordinator, "node-1");
    cr_assert_eq(claim->nheld, CODEC_MAX_HELD);
    cr_assert_not(age_told_all(claim, &after));
    cr_assert_eq(after, CODEC_MAX_HELD, "where it is to go on");
    (void)tell_page(CODEC_MAX_HELD + 1, 1000, CODEC_MAX_HELD, 0);
    claim = age_claim(stage.coordinator, "node-1");
    cr_assert_eq(claim->nheld, CODEC_MAX_HELD + 1000);
    cr_assert(age_told_all(claim, &after));
    for (size_t i = 0; i < claim->nheld; i++) {
        cr_assert_eq(claim->held[i].filter_id, i + 1);
    }
    (void)tell_page(10, 1, 0, CODEC_MAX_HELD);
    cr_assert_eq(age_claim(stage.coordinator, "node-1")->nheld, 1001, "a page is all of its part");
    close_stage();
}
