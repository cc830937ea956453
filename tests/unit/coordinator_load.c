/* Filters made of a dump: how far they are is in the store, they serve once all is there, and a
 * load that stands still leaves nothing behind. */
#include "coordinator/private.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FILTER = 1, SOURCE = 77, OTHER_SOURCE = 78, SECOND_US = 1000000, TIMEOUT_US = 600000000 };

static struct memory_store store;
static struct coordinator_stage stage;
static uint8_t sealed[SEAL_SECRET_BYTES];
static const struct hash_secret secret = {{9, 8, 7}};

static struct admin_request load(enum load_step step, uint64_t source, uint64_t from, uint64_t to)
{
    struct admin_request request = coordinator_stage_create();
    uint8_t nonce[SEAL_NONCE_BYTES] = {1};

    seal_secret(sample_key(), source, &secret, nonce, sealed);
    request.action = ADMIN_LOAD;
    request.successor = "";
    request.create.durability = DURABILITY_SYNC;
    request.load = (struct load_parameters){
        .step = step,
        .source = source,
        .from = from,
        .to = to,
        .secret = span_of(sealed, step == LOAD_BEGIN ? sizeof sealed : 0),
    };
    return request;
}

static struct coordinator_told told(struct admin_request request)
{
    coordinator_stage_command(&stage, 5, &request);
    if (stage.ntold == 0) {
        coordinator_stage_report(&stage, 3, FILTER, 1, REPLICA_FULL);
    }
    return coordinator_stage_told(&stage);
}

static enum status step(enum load_step which, uint64_t from, uint64_t to)
{
    return told(load(which, SOURCE, from, to)).status;
}

static const struct filter_document *document(void)
{
    return &document_cache_find(&stage.coordinator->documents, FILTER)->document;
}

static void begin(void)
{
    struct coordinator_told answer;

    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    stage.coordinator->config.load_timeout_us = TIMEOUT_US;
    coordinator_stage_disks = true;
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    answer = told(load(LOAD_BEGIN, SOURCE, 0, 0));
    cr_assert_eq(answer.status, STATUS_OK, "%s", answer.message);
    cr_assert(answer.created);
    cr_assert(document_is_loading(document()));
}

static void end(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

/* Nodes go on reporting meanwhile, else nothing is changed. */
static void pass(uint64_t duration_us)
{
    for (uint64_t i = 0; i < duration_us; i += SECOND_US) {
        coordinator_stage_pass(&stage, SECOND_US);
        coordinator_stage_report(&stage, 3, FILTER, 1, REPLICA_FULL);
    }
}

Test(coordinator_load, moves_on_step_by_step_and_serves_at_the_end)
{
    uint64_t epoch;

    begin();
    epoch = document()->epoch;
    cr_assert_eq(step(LOAD_ASK, DOCUMENT_LOAD_FIRST, 100), STATUS_OK);
    cr_assert_eq(document()->loaded, DOCUMENT_LOAD_FIRST, "asking moves nothing");
    cr_assert_eq(step(LOAD_MOVE, DOCUMENT_LOAD_FIRST, 100), STATUS_OK);
    cr_assert_eq(document()->loaded, 100);
    cr_assert(document_is_loading(document()));
    cr_assert_eq(step(LOAD_MOVE, 100, DOCUMENT_LOAD_END), STATUS_OK);
    cr_assert_not(document_is_loading(document()));
    cr_assert_eq(document()->epoch, epoch, "quorums agree on nothing else");
    end();
}

/* It has the keys of the filter that was dumped, and is another one: neither knows what is added to
 * the other one. */
Test(coordinator_load, makes_a_filter_with_a_uid_of_its_own)
{
    struct admin_request again;
    struct filter_uid first;

    begin();
    first = document()->content.uid;
    cr_assert(first.high != 0 && first.low != 0);
    again = load(LOAD_BEGIN, SOURCE, 0, 0);
    again.name = "copy";
    coordinator_stage_command(&stage, 6, &again);
    cr_assert_not(filter_uid_equal(
        &document_cache_find_name(&stage.coordinator->documents, "copy")->document.content.uid,
        &first));
    end();
}

Test(coordinator_load, takes_a_chunk_again_and_no_gap)
{
    begin();
    cr_assert_eq(step(LOAD_ASK, 100, 200), STATUS_INVALID);
    cr_assert_eq(step(LOAD_MOVE, 100, 200), STATUS_INVALID);
    cr_assert_eq(step(LOAD_MOVE, DOCUMENT_LOAD_FIRST, 100), STATUS_OK);
    cr_assert_eq(step(LOAD_MOVE, 100, 200), STATUS_OK);
    cr_assert_eq(step(LOAD_MOVE, DOCUMENT_LOAD_FIRST, 100), STATUS_OK, "once more");
    cr_assert_eq(document()->loaded, 200, "which takes nothing back");
    cr_assert_eq(step(LOAD_MOVE, 200, 200), STATUS_INVALID);
    cr_assert_eq(step(LOAD_MOVE, 200, DOCUMENT_LOAD_END + 1), STATUS_INVALID);
    cr_assert_eq(step(LOAD_MOVE, 150, DOCUMENT_LOAD_END), STATUS_OK, "an overlap is no gap");
    cr_assert_eq(step(LOAD_MOVE, 150, DOCUMENT_LOAD_END), STATUS_OK, "the answer was lost");
    end();
}

Test(coordinator_load, begins_anew_with_the_first_chunk)
{
    struct coordinator_told answer;

    begin();
    cr_assert_eq(step(LOAD_MOVE, DOCUMENT_LOAD_FIRST, 100), STATUS_OK);
    answer = told(load(LOAD_BEGIN, SOURCE, 0, 0));
    cr_assert_eq(answer.status, STATUS_OK, "%s", answer.message);
    cr_assert_not(answer.created);
    cr_assert_eq(document()->loaded, DOCUMENT_LOAD_FIRST,
                 "a newer dump of the same filter may have more, below what was loaded");
    cr_assert_eq(step(LOAD_ASK, 100, 200), STATUS_INVALID);
    end();
}

Test(coordinator_load, a_name_belongs_to_one_dump)
{
    struct admin_request create = coordinator_stage_create();

    create.create.durability = DURABILITY_SYNC;
    begin();
    cr_assert_eq(told(load(LOAD_BEGIN, OTHER_SOURCE, 0, 0)).status, STATUS_EXISTS);
    cr_assert_eq(told(load(LOAD_ASK, OTHER_SOURCE, 1, 2)).status, STATUS_EXISTS);
    cr_assert_eq(told(create).status, STATUS_NAME_BUSY);
    cr_assert_eq(step(LOAD_MOVE, DOCUMENT_LOAD_FIRST, DOCUMENT_LOAD_END), STATUS_OK);
    cr_assert_eq(told(load(LOAD_BEGIN, SOURCE, 0, 0)).status, STATUS_EXISTS, "it serves");
    cr_assert_eq(told(create).status, STATUS_OK, "as any filter that is there");
    end();
}

Test(coordinator_load, is_of_a_filter_that_is_there_and_of_this_cluster)
{
    struct admin_request request = load(LOAD_ASK, SOURCE, 1, 2);

    begin();
    request.name = "other";
    cr_assert_eq(told(request).status, STATUS_NOT_FOUND);
    request = load(LOAD_ASK, SOURCE, 1, 2);
    request.filter_id = FILTER + 1;
    cr_assert_eq(told(request).status, STATUS_CONFLICT, "a later one of that name");
    request = load(LOAD_BEGIN, SOURCE, 0, 0);
    request.name = "other";
    sealed[SEAL_SECRET_BYTES - 1] ^= 1;
    cr_assert_eq(told(request).status, STATUS_UNAUTHENTIC);
    end();
}

/* Its next chunks come under the name that it has, and one that serves nobody replaces nobody. */
Test(coordinator_load, keeps_its_name)
{
    struct admin_request create = coordinator_stage_create();
    struct admin_request rename = {
        .action = ADMIN_RENAME,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .successor = "",
        .rename = {.replace = true},
    };

    begin();
    rename.name = create.name;
    rename.rename.name = "another";
    cr_assert_eq(told(rename).status, STATUS_NAME_BUSY);
    rename.name = "another";
    create.name = "another";
    create.create.durability = DURABILITY_SYNC;
    coordinator_stage_command(&stage, 5, &create);
    coordinator_stage_report(&stage, 3, FILTER + 1, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    rename.rename.name = coordinator_stage_create().name;
    cr_assert_eq(told(rename).status, STATUS_NAME_BUSY);
    end();
}

static enum status rebuild(enum rebuild_step which)
{
    const struct admin_request request = {
        .action = ADMIN_REBUILD,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = coordinator_stage_create().name,
        .successor = "",
        .rebuild = {.step = which, .empty = true},
    };

    coordinator_stage_command(&stage, 5, &request);
    for (int i = 0; i < 2 && stage.ntold == 0; i++) { /* Fences of the one epoch, then another. */
        coordinator_stage_confirm(&stage, 1, SAMPLE_INCARNATION + 1, STATUS_OK);
        coordinator_stage_confirm(&stage, 2, SAMPLE_INCARNATION + 2, STATUS_OK);
    }
    return coordinator_stage_told(&stage).status;
}

/* Its keys would be those of a list, and it would serve once the dump's last chunk has come. */
Test(coordinator_load, is_not_rebuilt)
{
    begin();
    cr_assert_eq(rebuild(REBUILD_BEGIN), STATUS_NAME_BUSY);
    cr_assert_eq(document()->content.nkeysets, 1);
    end();
}

/* Whoever restores it again is not told that all of it is there. */
Test(coordinator_load, is_forgotten_once_a_list_has_taken_its_place)
{
    begin();
    cr_assert_eq(step(LOAD_MOVE, DOCUMENT_LOAD_FIRST, DOCUMENT_LOAD_END), STATUS_OK);
    cr_assert_eq(rebuild(REBUILD_BEGIN), STATUS_OK);
    cr_assert_eq(step(LOAD_ASK, DOCUMENT_LOAD_FIRST, 100), STATUS_OK, "its keys serve yet");
    cr_assert_eq(rebuild(REBUILD_COMMIT), STATUS_OK);
    cr_assert_eq(step(LOAD_ASK, DOCUMENT_LOAD_FIRST, 100), STATUS_EXISTS);
    end();
}

static bool is_active(void)
{
    return document()->content.state == FILTER_ACTIVE;
}

Test(coordinator_load, that_stands_still_is_dropped)
{
    begin();
    pass(TIMEOUT_US - 2 * SECOND_US);
    cr_assert_eq(step(LOAD_MOVE, DOCUMENT_LOAD_FIRST, 100), STATUS_OK);
    pass(TIMEOUT_US - 2 * SECOND_US);
    cr_assert(is_active(), "it moved meanwhile");
    cr_assert_eq(coordinator_stage_counter(&stage, "loads_given_up_total"), 0);
    pass(4 * SECOND_US);
    cr_assert_eq(document()->content.state, FILTER_DROPPING);
    cr_assert_eq(coordinator_stage_counter(&stage, "loads_given_up_total"), 1);
    coordinator_stage_confirm(&stage, 1, SAMPLE_INCARNATION + 1, STATUS_OK);
    coordinator_stage_confirm(&stage, 2, SAMPLE_INCARNATION + 2, STATUS_OK);
    cr_assert_eq(document()->content.state, FILTER_DROPPED, "nothing is left of it");
    cr_assert_eq(step(LOAD_ASK, 100, 200), STATUS_NOT_FOUND);
    end();
}

Test(coordinator_load, that_is_done_stays)
{
    begin();
    cr_assert_eq(step(LOAD_MOVE, DOCUMENT_LOAD_FIRST, DOCUMENT_LOAD_END), STATUS_OK);
    pass(2 * UINT64_C(1) * TIMEOUT_US);
    cr_assert(is_active());
    end();
}

Test(coordinator_load, waits_for_ever_where_that_is_asked_for)
{
    begin();
    stage.coordinator->config.load_timeout_us = 0;
    pass(2 * UINT64_C(1) * TIMEOUT_US);
    cr_assert(is_active());
    end();
}
