/* While a list is rebuilt from, adds go to both keysets, the list into the new one, and checks
 * read the old one; then one of them is forgotten, for good. Whatever is killed when. */
#include "base/heap.h"
#include "tests/support/keyset_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

enum { BATCH = 1000, MANY = 12, SOME = 6 /* batches in one segment of the log */ };

/* Some keys each: added before the rebuild, while it was open, fed. */
enum part { BEFORE, DURING, FED, LATER, NPARTS };

static struct keyset_stage rebuild;
static struct node_answer answer;
static uint64_t keys[NPARTS][MANY * BATCH];

static void open_stage(void)
{
    keyset_stage_init(&rebuild);
    for (uint32_t part = 0; part < NPARTS; part++) {
        sample_fingerprints(&rebuild.document, 0, part + 1, MANY * BATCH, keys[part]);
    }
}

static void close_stage(void)
{
    keyset_stage_fini(&rebuild);
    cr_assert_eq(heap_live(), 0);
}

static void add_some(enum part part, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += BATCH) {
        cr_assert_eq(node_stage_add(&rebuild.stage, &rebuild.document, keys[part] + i, BATCH),
                     STATUS_OK);
    }
}

static void feed_some(enum part part, uint32_t count)
{
    for (uint32_t i = 0; i < count; i += BATCH) {
        cr_assert_eq(keyset_stage_feed(&rebuild, rebuild.last, keys[part] + i, BATCH), STATUS_OK);
    }
}

static uint32_t absent(enum part part)
{
    return node_stage_absent(&rebuild.stage, &rebuild.document, keys[part], BATCH);
}

static void begin(void)
{
    keyset_stage_begin(&rebuild);
    keyset_stage_hand(&rebuild);
}

static void commit(void)
{
    keyset_stage_commit(&rebuild);
    keyset_stage_hand(&rebuild);
}

static void give_up(void)
{
    keyset_stage_abort(&rebuild);
    keyset_stage_hand(&rebuild);
}

/* Each of the three as it is meant to be, but for a few by chance. */
static void expect(bool before, bool during, bool fed)
{
    const bool held[] = {before, during, fed};

    for (uint32_t part = 0; part <= FED; part++) {
        if (held[part]) {
            cr_assert_eq(absent((enum part)part), 0, "part %u", part);
        } else {
            cr_assert_gt(absent((enum part)part), BATCH / 2, "part %u", part);
        }
    }
}

static uint32_t nsets(void)
{
    uint32_t count = 0;

    for (const struct arrays *set = keyset_stage_hosted(&rebuild)->set; set != NULL;
         set = set->next) {
        count++;
    }
    return count;
}

/* ---- the way ---- */

Test(node_keysets, adds_go_to_both_a_list_to_the_new_one_and_checks_read_the_old)
{
    open_stage();
    add_some(BEFORE, BATCH);
    begin();
    add_some(DURING, BATCH);
    feed_some(FED, BATCH);
    expect(true, true, false);
    cr_assert_eq(nsets(), 2);
    commit();
    expect(false, true, true);
    cr_assert_eq(nsets(), 1);
    close_stage();
}

Test(node_keysets, after_an_abort_the_old_one_has_all_adds)
{
    open_stage();
    add_some(BEFORE, BATCH);
    begin();
    add_some(DURING, BATCH);
    feed_some(FED, BATCH);
    give_up();
    expect(true, true, false);
    begin();
    commit();
    expect(false, false, false);
    close_stage();
}

/* The verdict is about what the filter says: it was there. The new keyset gets it all the same. */
Test(node_keysets, a_key_that_is_added_again_is_kept)
{
    struct subrequest subrequest;

    open_stage();
    add_some(BEFORE, BATCH);
    begin();
    subrequest = node_stage_subrequest(&rebuild.document, OPERATION_ADD, BATCH);
    subrequest.op.sequence = ++rebuild.stage.batches;
    subrequest.batch.number = rebuild.stage.batches;
    cr_assert(node_stage_ask_disk(&rebuild.stage, &subrequest, keys[BEFORE], &answer));
    for (uint32_t i = 0; i < BATCH; i++) {
        cr_assert((answer.present[i / 64] >> (i % 64) & 1) != 0, "it was there");
    }
    commit();
    expect(true, false, false);
    close_stage();
}

/* ---- in any phase ---- */

static void restart_in_each_phase(enum stage_end how)
{
    open_stage();
    add_some(BEFORE, MANY * BATCH);
    begin();
    keyset_stage_restart(&rebuild, how);
    add_some(DURING, MANY * BATCH);
    feed_some(FED, BATCH);
    keyset_stage_restart(&rebuild, how);
    expect(true, true, false);
    cr_assert_eq(nsets(), 2);
    commit();
    keyset_stage_restart(&rebuild, how);
    expect(false, true, true);
    node_stage_settle_long(&rebuild.stage);
    keyset_stage_restart(&rebuild, how);
    expect(false, true, true);
    begin();
    feed_some(BEFORE, BATCH);
    keyset_stage_restart(&rebuild, how);
    give_up();
    keyset_stage_restart(&rebuild, how);
    expect(false, true, true);
    close_stage();
}

Test(node_keysets, nothing_is_lost_and_nothing_comes_back_when_it_ends_in_order)
{
    restart_in_each_phase(STAGE_END_CLEAN);
}

Test(node_keysets, nothing_is_lost_and_nothing_comes_back_when_it_is_killed)
{
    restart_in_each_phase(STAGE_END_KILL);
}

Test(node_keysets, nothing_is_lost_and_nothing_comes_back_when_power_is_lost)
{
    restart_in_each_phase(STAGE_END_POWER);
}

/* The log has all of it still. */
Test(node_keysets, what_was_forgotten_does_not_come_back_from_the_log)
{
    open_stage();
    add_some(BEFORE, BATCH);
    begin();
    add_some(DURING, BATCH);
    feed_some(FED, BATCH);
    commit();
    keyset_stage_restart(&rebuild, STAGE_END_KILL);
    expect(false, true, true);
    begin();
    feed_some(BEFORE, BATCH);
    give_up();
    keyset_stage_restart(&rebuild, STAGE_END_KILL);
    expect(false, true, true);
    close_stage();
}

/* ---- no gap ---- */

static void commit_log(void)
{
    node_stage_turn(&rebuild.stage);
    while (node_stage_run(&rebuild.stage, JOB_COMMIT)) {
        node_stage_turn(&rebuild.stage);
    }
}

/* Without any work in between. */
static void check_now(enum part part)
{
    struct subrequest subrequest = node_stage_subrequest(&rebuild.document, OPERATION_CHECK, BATCH);

    node_stage_ask(&rebuild.stage, &subrequest, 1, keys[part], &answer);
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    cr_assert_eq(answer.subrequest.state, REPLICA_FULL);
}

static void add_now(const uint64_t *fingerprints)
{
    struct subrequest subrequest = node_stage_subrequest(&rebuild.document, OPERATION_ADD, BATCH);
    uint64_t correlation;

    subrequest.op.sequence = subrequest.batch.number = ++rebuild.stage.batches;
    node_stage_send(&rebuild.stage, &subrequest, 1, fingerprints, 1);
    commit_log();
    cr_assert_eq(node_stage_take(&rebuild.stage, &answer, &correlation), 1);
    cr_assert_eq(answer.subrequest.status, STATUS_OK);
    cr_assert_eq(answer.subrequest.state, REPLICA_FULL);
}

/* The new arrays are empty, and not all of their pages are there: neither adds nor checks wait for
 * them, and pages that come later leave alone what was written before. */
Test(node_keysets, adds_and_checks_go_on_while_the_new_arrays_are_made)
{
    open_stage();
    add_some(BEFORE, BATCH);
    keyset_stage_begin(&rebuild);
    node_stage_hand(&rebuild.stage, &rebuild.document);
    commit_log();
    cr_assert_not(arrays_built(keyset_stage_hosted(&rebuild)->set->next));
    check_now(BEFORE);
    for (uint32_t i = 0; i < SOME; i++) {
        add_now(keys[DURING] + i * BATCH);
    }
    cr_assert_not(arrays_built(keyset_stage_hosted(&rebuild)->set->next));
    cr_assert_eq(hosted_state(keyset_stage_hosted(&rebuild), 0), REPLICA_FULL);
    node_stage_settle(&rebuild.stage);
    cr_assert(arrays_built(keyset_stage_hosted(&rebuild)->set->next));
    commit();
    expect(false, true, false);
    cr_assert_eq(node_stage_absent(&rebuild.stage, &rebuild.document, keys[DURING], SOME * BATCH),
                 0);
    close_stage();
}

/* The commit comes before the pages: what was added is looked for where it is. */
Test(node_keysets, a_commit_before_the_new_arrays_stand_loses_nothing)
{
    open_stage();
    add_some(BEFORE, BATCH);
    keyset_stage_begin(&rebuild);
    node_stage_hand(&rebuild.stage, &rebuild.document);
    commit_log();
    add_now(keys[DURING]);
    keyset_stage_commit(&rebuild);
    node_stage_hand(&rebuild.stage, &rebuild.document);
    commit_log();
    cr_assert_not(arrays_built(keyset_stage_hosted(&rebuild)->set));
    check_now(DURING);
    cr_assert_eq(answer.absent[0], 0);
    expect(false, true, false);
    close_stage();
}

Test(node_keysets, without_room_for_the_new_arrays_checks_go_on_and_adds_do_not)
{
    struct subrequest subrequest;

    open_stage();
    add_some(BEFORE, BATCH);
    rebuild.stage.node->config.memory_limit_bytes = rebuild.stage.node->memory_used_bytes;
    begin();
    cr_assert_eq(absent(BEFORE), 0);
    subrequest = node_stage_subrequest(&rebuild.document, OPERATION_ADD, BATCH);
    cr_assert(node_stage_ask_disk(&rebuild.stage, &subrequest, keys[DURING], &answer));
    cr_assert_eq(answer.subrequest.status, STATUS_NOT_READY);
    give_up();
    add_some(DURING, BATCH);
    expect(true, true, false);
    close_stage();
}

/* ---- what is refused ---- */

Test(node_keysets, a_list_for_a_keyset_that_is_not_there_is_refused)
{
    struct subrequest subrequest;

    open_stage();
    cr_assert_eq(keyset_stage_feed(&rebuild, 2, keys[FED], BATCH), STATUS_INVALID);
    begin();
    cr_assert_eq(keyset_stage_feed(&rebuild, 2, keys[FED], BATCH), STATUS_OK);
    cr_assert_eq(keyset_stage_feed(&rebuild, 3, keys[FED], BATCH), STATUS_INVALID);
    subrequest = node_stage_subrequest(&rebuild.document, OPERATION_CHECK, BATCH);
    subrequest.keyset = 2;
    cr_assert(node_stage_ask_disk(&rebuild.stage, &subrequest, keys[FED], &answer));
    cr_assert_eq(answer.subrequest.status, STATUS_INVALID, "checks read what serves");
    commit();
    cr_assert_eq(keyset_stage_feed(&rebuild, 1, keys[FED], BATCH), STATUS_INVALID);
    close_stage();
}

/* The new one has no room: then the old one takes none either, or an abort would tell apart what
 * was said. */
Test(node_keysets, an_add_for_which_one_keyset_has_no_room_is_in_none)
{
    struct arrays *made;
    struct subrequest subrequest;

    open_stage();
    begin();
    made = keyset_stage_hosted(&rebuild)->set->next;
    feed_some(FED, BATCH);
    made->groups[0].keys_capacity = made->groups[0].keys + BATCH / 2;
    subrequest = node_stage_subrequest(&rebuild.document, OPERATION_ADD, BATCH);
    subrequest.op.sequence = subrequest.batch.number = ++rebuild.stage.batches;
    cr_assert(node_stage_ask_disk(&rebuild.stage, &subrequest, keys[DURING], &answer));
    cr_assert(answer.subrequest.at_capacity);
    for (uint32_t i = 0; i < BATCH; i++) {
        bool accepted = (answer.absent[i / 64] >> (i % 64) & 1) != 0;

        cr_assert_eq(accepted, arrays_has(made, keys[DURING][i]), "%u", i);
        cr_assert_eq(accepted, arrays_has(keyset_stage_hosted(&rebuild)->set, keys[DURING][i]),
                     "%u", i);
    }
    cr_assert_eq(made->groups[0].keys, made->groups[0].keys_capacity);
    close_stage();
}

/* ---- what is given back ---- */

static uint64_t run_keys(void)
{
    return node_stage_counter(&rebuild.stage, "run_keys");
}

Test(node_keysets, memory_and_runs_of_a_keyset_that_is_no_more_are_given_back)
{
    uint64_t memory;

    open_stage();
    add_some(BEFORE, MANY * BATCH);
    node_stage_settle_long(&rebuild.stage);
    memory = rebuild.stage.node->memory_used_bytes;
    cr_assert_gt(run_keys(), 0);
    begin();
    cr_assert_eq(rebuild.stage.node->memory_used_bytes, 2 * memory);
    feed_some(FED, MANY * BATCH);
    node_stage_settle_long(&rebuild.stage);
    cr_assert_gt(run_keys(), MANY * BATCH);
    commit();
    cr_assert_eq(rebuild.stage.node->memory_used_bytes, memory);
    node_stage_settle_long(&rebuild.stage);
    node_stage_settle_long(&rebuild.stage);
    cr_assert_leq(run_keys(), MANY * BATCH, "those of the list are left");
    expect(false, false, true);
    close_stage();
}

/* A node that has freed something has fenced the document without it: it answers under no older
 * one, whatever happens. */
Test(node_keysets, nothing_is_freed_before_the_own_fence_is_durable)
{
    struct filter_document before;
    struct subrequest subrequest;
    uint64_t epoch;
    uint64_t hash;

    open_stage();
    add_some(BEFORE, MANY * BATCH);
    node_stage_settle_long(&rebuild.stage);
    begin();
    epoch = rebuild.document.epoch;
    hash = rebuild.document.epoch_hash;
    commit();
    node_stage_settle_long(&rebuild.stage);
    node_stage_settle_long(&rebuild.stage);
    keyset_stage_restart(&rebuild, STAGE_END_POWER);
    before = rebuild.document;
    before.epoch = epoch;
    before.epoch_hash = hash;
    subrequest = node_stage_subrequest(&before, OPERATION_CHECK, BATCH);
    cr_assert(node_stage_ask_disk(&rebuild.stage, &subrequest, keys[BEFORE], &answer));
    cr_assert_eq(answer.subrequest.status, STATUS_STALE);
    cr_assert_eq(answer.subrequest.epoch, rebuild.document.epoch);
    close_stage();
}
