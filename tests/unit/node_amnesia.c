/* Data that can't be all that was acknowledged: the node begins a new incarnation, which counts
 * for nothing under the old documents and keeps what can be read as extra. And data that can be:
 * then it goes on as the same. */
#include "base/heap.h"
#include "log/record.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { COUNT = 1000 };

static struct node_stage stage;
static struct filter_document document;
static struct node_answer answer;
static uint64_t keys[3 * COUNT];
static uint64_t incarnation; /* the first one */

static void open_with(enum durability durability)
{
    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    incarnation = stage.incarnation;
    node_stage_filter(&stage, 5, durability, &document);
    sample_fingerprints(&document, 0, 1, 3 * COUNT, keys);
    cr_assert_eq(node_stage_add(&stage, &document, keys, COUNT), STATUS_OK);
}

static void close_stage(void)
{
    document_fini(&document);
    node_stage_fini_disk(&stage);
    cr_assert_eq(heap_live(), 0);
}

static void expect_same(void)
{
    cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_SAME);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), 0);
    cr_assert_eq(node_stage_counter(&stage, "amnesia_total"), 0);
}

static void expect_not_full(void)
{
    struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_CHECK, COUNT);

    cr_assert(node_stage_ask_disk(&stage, &subrequest, keys, &answer));
    cr_assert_eq(answer.subrequest.status, STATUS_NOT_READY);
    cr_assert_neq(answer.subrequest.state, REPLICA_FULL);
}

/* A new incarnation, which takes writes; and `extra` keys are known to it. */
static void expect_another(uint32_t extra)
{
    struct subrequest subrequest = node_stage_subrequest(&document, OPERATION_ADD, COUNT);

    cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_ANOTHER);
    node_stage_hand(&stage, &document); /* As a coordinator would: it may be gone. */
    node_stage_settle(&stage);
    expect_not_full();
    subrequest.batch.number = 1000;
    cr_assert(node_stage_ask_disk(&stage, &subrequest, keys + 2 * COUNT, &answer));
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    cr_assert_eq(answer.subrequest.state, REPLICA_JOINING);
    node_stage_adopt(&stage, &document);
    cr_assert_eq(node_stage_absent(&stage, &document, keys + 2 * COUNT, COUNT), 0);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, extra), 0);
}

/* The incarnation that began stays what it is. */
static void expect_it_lasts(void)
{
    incarnation = stage.incarnation;
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_SAME);
    cr_assert_eq(node_stage_absent(&stage, &document, keys + 2 * COUNT, COUNT), 0);
}

/* ---- the folder is gone, or an older one ---- */

Test(node_amnesia, a_wiped_folder_is_another_incarnation)
{
    open_with(DURABILITY_SYNC);
    node_stage_end(&stage, STAGE_END_CLEAN);
    node_stage_use_disk(&stage, memory_disk_create());
    expect_another(0);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), COUNT);
    expect_it_lasts();
    close_stage();
}

Test(node_amnesia, an_older_copy_of_the_folder_is_another_incarnation)
{
    struct memory_disk *copy;

    open_with(DURABILITY_SYNC);
    node_stage_end(&stage, STAGE_END_CLEAN);
    copy = node_stage_copy_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_add(&stage, &document, keys + COUNT, COUNT), STATUS_OK);
    node_stage_end(&stage, STAGE_END_CLEAN);
    node_stage_use_disk(&stage, copy);
    expect_another(COUNT);
    cr_assert_geq(node_stage_absent(&stage, &document, keys + COUNT, COUNT), COUNT - 10);
    cr_assert_eq(node_stage_counter(&stage, "amnesia_total"), 1);
    expect_it_lasts();
    close_stage();
}

/* ... even where nothing was added since: nobody can know. */
Test(node_amnesia, a_copy_that_was_started_twice_is_another_incarnation)
{
    struct memory_disk *copy;

    open_with(DURABILITY_SYNC);
    node_stage_end(&stage, STAGE_END_CLEAN);
    copy = node_stage_copy_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_end(&stage, STAGE_END_KILL);
    node_stage_use_disk(&stage, copy);
    cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_ANOTHER);
    expect_not_full();
    close_stage();
}

/* The other one, which has the store's word, goes on; this one must not answer any more. */
Test(node_amnesia, a_process_that_another_has_replaced_ends)
{
    open_with(DURABILITY_SYNC);
    stage.record.boot ^= 1;
    stage.now_us += 1000000;
    (void)node_stage_meet(&stage);
    cr_assert(node_failed(stage.node));
    close_stage();
}

/* ... also in the first boot of its data, which nothing comes before: it had its place. */
Test(node_amnesia, a_first_boot_that_another_life_has_replaced_ends)
{
    open_with(DURABILITY_SYNC);
    stage.record.incarnation ^= 2;
    stage.record.boot ^= 1;
    stage.now_us += 1000000;
    (void)node_stage_meet(&stage);
    cr_assert(node_failed(stage.node));
    close_stage();
}

static struct fake_sent ask(void)
{
    struct fake_sent sent;

    node_stage_settle(&stage);
    stage.actor.time(stage.actor.self, stage.now_us);
    cr_assert(fake_take(&stage.fake, &sent));
    cr_assert_eq(sent.frame.kind, FRAME_SYNC_REQUEST);
    return sent;
}

/* A wiped disk knows nothing: it is told, and what was told first may have changed by then. What
 * answers the claim before comes late, and says nothing of the present one. */
Test(node_amnesia, what_begins_names_what_it_was_told_last)
{
    struct frame late;
    struct frame told;
    struct fake_sent sent;

    open_with(DURABILITY_SYNC);
    node_stage_end(&stage, STAGE_END_KILL);
    memory_disk_destroy(&stage.disk);
    stage.disk = memory_disk_create();
    stage.config.disk = memory_disk_seam(stage.disk);
    node_stage_start(&stage);
    sent = ask();
    cr_assert_eq(sent.frame.body.sync_request.replaces.incarnation, 0);
    late = node_stage_judge(&stage, &sent.frame.body.sync_request, sent.frame.correlation);
    cr_assert_eq(late.body.sync_reply.status, STATUS_STALE);
    for (int round = 0; round < 2; round++) {
        fake_answer(&stage.actor, stage.now_us, STAGE_COORDINATOR, &late);
        sent = ask();
        cr_assert_eq(sent.frame.body.sync_request.replaces.incarnation, stage.record.incarnation);
        cr_assert_eq(sent.frame.body.sync_request.replaces.boot, stage.record.boot);
        stage.record.boot += round == 0; /* Somebody else was faster. */
        told = node_stage_judge(&stage, &sent.frame.body.sync_request, sent.frame.correlation);
        cr_assert_eq(told.body.sync_reply.status, round == 0 ? STATUS_STALE : STATUS_OK);
        late = round == 0 ? told : late;
    }
    late.correlation = told.correlation - 1;
    fake_answer(&stage.actor, stage.now_us, STAGE_COORDINATOR, &late);
    fake_answer(&stage.actor, stage.now_us, STAGE_COORDINATOR, &told);
    cr_assert(node_registered(stage.node));
    cr_assert_eq(stage.record.incarnation, sent.frame.body.sync_request.incarnation);
    close_stage();
}

/* Starts that the store heard of and that died before they heard its answer. */
static void start_and_lose_the_answer(bool heard)
{
    struct fake_sent sent;

    node_stage_start(&stage);
    node_stage_settle(&stage);
    stage.now_us += 1000000;
    stage.actor.time(stage.actor.self, stage.now_us);
    cr_assert(fake_take(&stage.fake, &sent));
    cr_assert_eq(sent.frame.kind, FRAME_SYNC_REQUEST);
    if (heard) {
        const struct sync_request *request = &sent.frame.body.sync_request;

        cr_assert_eq(request->incarnation, incarnation);
        cr_assert_eq(request->boot_before, stage.record.boot);
        stage.record.boot = request->boot;
    }
    node_stage_end(&stage, STAGE_END_KILL);
}

/* They make the log longer; of one that was put back nobody would see that it fell back. */
Test(node_amnesia, starts_that_nobody_heard_of_do_not_move_the_place_that_is_told)
{
    uint64_t place = 0;

    open_with(DURABILITY_SYNC);
    node_stage_end(&stage, STAGE_END_KILL);
    for (int i = 0; i < 5; i++) {
        const struct sync_request *request;
        struct fake_sent sent;

        node_stage_start(&stage);
        sent = ask();
        request = &sent.frame.body.sync_request;
        cr_assert_eq(request->boot_before, stage.record.boot);
        cr_assert_gt(request->position, 0);
        place = i == 0 ? request->position : place;
        cr_assert_eq(request->position, place, "start %d", i);
        node_stage_end(&stage, STAGE_END_KILL);
    }
    expect_same();
    close_stage();
}

/* Whichever of some unanswered starts it was that the store heard of; 6: none of them. */
Test(node_amnesia, each_boot_that_the_store_may_name_is_tried)
{
    for (int heard = 0; heard <= 6; heard++) {
        open_with(DURABILITY_SYNC);
        node_stage_end(&stage, STAGE_END_KILL);
        for (int i = 0; i < 6; i++) {
            start_and_lose_the_answer(i == heard);
        }
        expect_same();
        node_stage_end(&stage, STAGE_END_KILL);
        expect_same();
        close_stage();
    }
}

Test(node_amnesia, many_starts_without_a_coordinator_are_no_older_copy)
{
    open_with(DURABILITY_SYNC);
    node_stage_end(&stage, STAGE_END_KILL);
    for (int i = 0; i < 3 * RECORD_MAX_BOOTS; i++) {
        start_and_lose_the_answer(false);
    }
    expect_same();
    close_stage();
}

/* ---- the machine went down ---- */

Test(node_amnesia, power_loss_with_durability_os_is_another_incarnation)
{
    open_with(DURABILITY_OS);
    node_stage_end(&stage, STAGE_END_POWER);
    expect_another(0);
    cr_assert_eq(node_stage_counter(&stage, "amnesia_total"), 1);
    expect_it_lasts();
    close_stage();
}

Test(node_amnesia, another_kernel_after_a_kill_with_durability_os_is_another_incarnation)
{
    open_with(DURABILITY_OS);
    node_stage_end(&stage, STAGE_END_KILL);
    stage.config.kernel_boot++;
    expect_another(COUNT);
    close_stage();
}

Test(node_amnesia, the_same_kernel_after_a_kill_with_durability_os_is_the_same)
{
    open_with(DURABILITY_OS);
    node_stage_end(&stage, STAGE_END_KILL);
    expect_same();
    close_stage();
}

Test(node_amnesia, another_kernel_after_a_clean_end_with_durability_os_is_the_same)
{
    open_with(DURABILITY_OS);
    node_stage_end(&stage, STAGE_END_CLEAN);
    stage.config.kernel_boot++;
    expect_same();
    close_stage();
}

Test(node_amnesia, power_loss_after_a_clean_end_is_the_same)
{
    open_with(DURABILITY_OS);
    cr_assert_eq(node_finish(stage.node), STATUS_OK);
    node_stage_end(&stage, STAGE_END_POWER);
    expect_same();
    close_stage();
}

Test(node_amnesia, power_loss_with_durability_sync_is_the_same)
{
    open_with(DURABILITY_SYNC);
    node_stage_end(&stage, STAGE_END_POWER);
    expect_same();
    close_stage();
}

/* Killed and started under one kernel, what the killed one wrote is relied upon: then the power
 * goes, before anything more was acknowledged. */
Test(node_amnesia, what_a_killed_process_wrote_is_synced_by_the_next_one)
{
    open_with(DURABILITY_OS);
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    cr_assert_eq(node_stage_absent(&stage, &document, keys, COUNT), 0);
    node_stage_end(&stage, STAGE_END_CLEAN);
    memory_disk_crash(stage.disk, &stage.random);
    stage.config.kernel_boot++;
    expect_same();
    close_stage();
}

/* The word that acknowledgements are not synced is in the log before the first of them. */
Test(node_amnesia, an_os_filter_that_came_later_is_told_in_the_log_first)
{
    for (uint64_t random = 1; random < 16; random++) {
        struct filter_document other;

        open_with(DURABILITY_SYNC);
        node_stage_filter(&stage, 6, DURABILITY_OS, &other);
        cr_assert_eq(node_stage_add(&stage, &other, keys, COUNT), STATUS_OK);
        stage.random = random;
        node_stage_end(&stage, STAGE_END_POWER);
        cr_assert_eq(node_stage_outcome(&stage, incarnation), STAGE_ANOTHER);
        document_fini(&other);
        close_stage();
    }
}

/* A copy of a first boot that nobody had confirmed yet, when its incarnation has long been
 * replaced: that no boot came before only the first one may say, or it would come back. */
Test(node_amnesia, a_copy_of_an_unconfirmed_first_boot_does_not_come_back)
{
    node_stage_init_disk(&stage);
    node_stage_start(&stage);
    node_stage_settle(&stage);
    incarnation = node_stage_counter(&stage, "incarnation");
    cr_assert_neq(incarnation, 0);
    node_stage_end(&stage, STAGE_END_KILL);
    stage.record = (struct node_record){.name = "node-1", .incarnation = 4242, .boot = 9};
    cr_assert_gt(node_stage_open(&stage), 0, "another one has its place");
    cr_assert_neq(stage.incarnation, incarnation);
    node_stage_fini_disk(&stage);
}
