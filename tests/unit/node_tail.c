/* What a node tells links: all that was added here and nothing else, once it is durable, in order;
 * at once, or when there is something. */
#include "tests/unit/node_tail.h"

#include "node/store/private.h"

TestSuite(node_tail, .init = open_tail, .fini = close_circle);

Test(node_tail, an_answer_says_who_and_what)
{
    uint64_t from = log_end();
    struct frame frame;
    const struct site_tail_reply *reply;

    add(0);
    add(1);
    frame = tail_question(from);
    reply = ask_tail(&frame);
    cr_assert_eq(reply->status, STATUS_OK, "%s", reply->message);
    cr_assert_eq(reply->source.node, 1);
    cr_assert_eq(reply->source.incarnation, asked()->life.incarnation);
    cr_assert_eq(reply->boot, asked()->life.identity.boot);
    cr_assert_eq(reply->from, from);
    cr_assert_eq(reply->next, log_end());
    cr_assert_eq(reply->durable, log_end());
    cr_assert_eq(reply->nrefusals, 0);
    cr_assert_eq(reply->nrecords, 2);
    for (uint32_t i = 0; i < 2; i++) {
        const struct site_tail_record *record = &reply->records[i];

        cr_assert_eq(record->filter_id, 5);
        cr_assert_eq(record->epoch, document.epoch);
        cr_assert_eq(record->producer_id, CIRCLE_ROUTER);
        cr_assert_eq(record->number, i + 1);
        cr_assert_eq(record->group, 0);
        cr_assert_eq(record->flags, 0);
        cr_assert_eq(record->count, BATCH);
        cr_assert_eq(record->digest, site_tail_digest(keys[i], BATCH));
        cr_assert_eq(record->targets->count, 1);
        cr_assert_eq(record->targets->items[0].keyset, 1);
        expect_keys(reply, (size_t)i * BATCH, i);
    }
    cr_assert_geq(reply->records[0].offset, from);
    cr_assert_gt(reply->records[1].offset, reply->records[0].offset);
    cr_assert_eq(circle_counter(circle, 1, NODE_site_tails_total), 1);
    cr_assert_eq(circle_counter(circle, 1, NODE_site_tail_records_total), 2);
    cr_assert_gt(circle_counter(circle, 1, NODE_site_tail_bytes_total), 2 * BATCH * 8);
}

/* ---- which records ---- */

static uint64_t put(struct record_batch batch)
{
    uint64_t end;

    batch.filter_id = batch.filter_id != 0 ? batch.filter_id : 5;
    batch.epoch = document.epoch;
    batch.ntargets = batch.ntargets > 0 ? batch.ntargets : 1;
    batch.targets[0].keyset = 1;
    batch.count = BATCH;
    batch.fingerprints = keys[9];
    cr_assert_eq(storage_add(asked()->storage, &batch, &end), STATUS_OK);
    circle_run(circle, 10000);
    return end;
}

Test(node_tail, what_came_from_elsewhere_is_not_told)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);

    (void)put((struct record_batch){.batch_producer = 3, .batch_number = 1, .repaired = true});
    (void)put((struct record_batch){.batch_producer = 3, .batch_number = 2, .relayed = true});
    (void)put((struct record_batch){.repaired = true, .relayed = true});
    (void)put((struct record_batch){.filter_id = 6, .batch_producer = 3, .batch_number = 4});
    cr_assert_eq(ask_tail(&frame)->nrecords, 0);
    cr_assert_eq(tail_answer()->next, log_end(), "it was looked at");
    add(0);
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
    cr_assert_eq(tail_answer()->records[0].producer_id, CIRCLE_ROUTER);
}

/* The same where it is read back rather than remembered. */
Test(node_tail, what_is_old_is_told_as_what_is_young)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);

    (void)put((struct record_batch){.repaired = true});
    (void)put((struct record_batch){.relayed = true});
    add(0);
    batch_ring_fini(&asked()->storage->batch_ring);
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
    cr_assert_eq(tail_answer()->records[0].producer_id, CIRCLE_ROUTER);
    cr_assert_eq(tail_answer()->next, log_end());
}

Test(node_tail, flags_targets_and_batches_without_numbers_are_told)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);
    const struct site_tail_reply *reply;

    (void)put((struct record_batch){.fed = true, .batch_producer = 3, .batch_number = 9});
    (void)put((struct record_batch){.partial = true, .batch_producer = 3, .batch_number = 8});
    (void)put((struct record_batch){.group = 2});
    (void)put((struct record_batch){.ntargets = 2, .targets = {{0}, {.slice = 4, .keyset = 3}}});
    reply = ask_tail(&frame);
    cr_assert_eq(reply->nrecords, 4);
    cr_assert_eq(reply->records[0].flags, PULL_BATCH_FED);
    cr_assert_eq(reply->records[1].flags, PULL_BATCH_PARTIAL);
    cr_assert_eq(reply->records[1].number, 8);
    cr_assert_eq(reply->records[2].producer_id, 0);
    cr_assert_eq(reply->records[2].number, 0);
    cr_assert_eq(reply->records[2].group, 2);
    cr_assert_eq(reply->records[3].targets->count, 2);
    cr_assert_eq(reply->records[3].targets->items[1].slice, 4);
    cr_assert_eq(reply->records[3].targets->items[1].keyset, 3);
}

/* ---- durable, and in order ---- */

Test(node_tail, what_is_not_durable_is_not_told)
{
    const struct record_batch batch = {.filter_id = 5,
                                       .epoch = document.epoch,
                                       .ntargets = 1,
                                       .targets = {{.keyset = 1}},
                                       .count = BATCH,
                                       .fingerprints = keys[1]};
    struct frame frame = tail_question(log_end());
    uint64_t end;

    circle->nodes[0].frozen = true;
    cr_assert_eq(storage_add(asked()->storage, &batch, &end), STATUS_OK);
    circle_run(circle, SECOND);
    cr_assert_gt(storage_end(asked()->storage), log_end());
    cr_assert_eq(ask_tail(&frame)->nrecords, 0);
    cr_assert_eq(tail_answer()->next, log_end());
    circle->nodes[0].frozen = false;
    circle_run(circle, SECOND);
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
}

/* Of durability os what is written will do: so it is acknowledged. */
Test(node_tail, of_durability_os_what_is_written_is_told)
{
    struct frame frame;
    uint64_t from;

    document.durability = DURABILITY_OS;
    document.revision++;
    circle_hand(circle, &document, 1);
    circle_run(circle, SECOND);
    from = storage_written(asked()->storage);
    add(0);
    cr_assert_gt(storage_written(asked()->storage), storage_synced(asked()->storage));
    frame = tail_question(from);
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
    cr_assert_eq(tail_answer()->durable, storage_written(asked()->storage));
}

Test(node_tail, answers_follow_each_other_without_a_gap)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);
    uint32_t told = 0;

    for (uint32_t i = 0; i < NBATCHES; i++) {
        add(i);
    }
    frame.body.site_tail_request.max_bytes = 3 * BATCH * 8;
    while (told < NBATCHES) {
        const struct site_tail_reply *reply = ask_tail(&frame);

        cr_assert_eq(reply->status, STATUS_OK);
        cr_assert(reply->nrecords >= 1 && reply->nrecords <= 3, "%zu", reply->nrecords);
        for (size_t i = 0; i < reply->nrecords; i++, told++) {
            cr_assert_eq(reply->records[i].number, told + 1);
            expect_keys(reply, i * BATCH, told);
        }
        frame.body.site_tail_request.from = reply->next;
    }
    cr_assert_eq(frame.body.site_tail_request.from, log_end());
}

Test(node_tail, one_record_fits_any_answer)
{
    struct frame frame = tail_question(log_end());

    add(0);
    add(1);
    frame.body.site_tail_request.max_bytes = 0;
    cr_assert_eq(ask_tail(&frame)->nrecords, 1);
    cr_assert_eq(tail_answer()->count, BATCH);
}

/* ---- headers, and what was wanted ---- */

Test(node_tail, headers_come_without_fingerprints)
{
    struct frame frame = tail_question(log_end());
    const struct site_tail_reply *reply;

    add(0);
    add(1);
    frame.body.site_tail_request.headers_only = true;
    frame.body.site_tail_request.max_bytes = 0;
    reply = ask_tail(&frame);
    cr_assert(reply->headers_only);
    cr_assert_eq(reply->nrecords, 2);
    cr_assert_eq(reply->count, 0);
    cr_assert_eq(reply->records[1].count, BATCH);
    cr_assert_eq(reply->records[1].digest, site_tail_digest(keys[1], BATCH));
}

/* Where the batches of keys[0] and so on are. */
static void find_offsets(uint64_t from, uint32_t count, uint64_t *offsets)
{
    struct frame frame = tail_question(from);
    const struct site_tail_reply *reply;

    for (uint32_t i = 0; i < count; i++) {
        add(i);
    }
    frame.body.site_tail_request.headers_only = true;
    reply = ask_tail(&frame);
    cr_assert_eq(reply->nrecords, count);
    for (uint32_t i = 0; i < count; i++) {
        offsets[i] = reply->records[i].offset;
    }
}

Test(node_tail, wanted_records_are_told_and_no_others)
{
    uint64_t from = log_end();
    uint64_t offsets[NBATCHES];
    uint64_t wanted[3];
    struct frame frame;
    const struct site_tail_reply *reply;

    find_offsets(from, NBATCHES, offsets);
    wanted[0] = offsets[2];
    wanted[1] = offsets[3];
    wanted[2] = offsets[30];
    frame = tail_question(from);
    frame.body.site_tail_request.wanted = wanted;
    frame.body.site_tail_request.nwanted = 3;
    reply = ask_tail(&frame);
    cr_assert_eq(reply->status, STATUS_OK);
    cr_assert_eq(reply->nrecords, 3);
    cr_assert_eq(reply->next, UINT64_MAX, "all were told");
    expect_keys(reply, 0, 2);
    expect_keys(reply, BATCH, 3);
    expect_keys(reply, 2 * BATCH, 30);
    frame.body.site_tail_request.max_bytes = 2 * BATCH * 8;
    reply = ask_tail(&frame);
    cr_assert_eq(reply->nrecords, 2);
    cr_assert_eq(reply->next, offsets[30], "the first that is not");
}

static void expect_status(const struct frame *frame, enum status status)
{
    struct frame copy = *frame;
    uint64_t refused = circle_counter(circle, 1, NODE_site_tails_refused_total);
    const struct site_tail_reply *reply = ask_tail(&copy);

    cr_assert_eq(reply->status, status, "%s: %s", status_code(reply->status), reply->message);
    cr_assert_eq(circle_counter(circle, 1, NODE_site_tails_refused_total),
                 refused + (status != STATUS_OK));
    cr_assert((status == STATUS_OK) == (strlen(reply->message) == 0));
    cr_assert_eq(reply->nrecords, 0);
    cr_assert(status == STATUS_OK || reply->next == reply->from);
}

Test(node_tail, wanted_places_where_no_record_of_the_list_begins_are_refused)
{
    uint64_t from = log_end();
    uint64_t offsets[4];
    uint64_t wanted[2];
    struct frame frame;
    uint64_t relayed;

    find_offsets(from, 4, offsets);
    relayed = log_end();
    (void)put((struct record_batch){.relayed = true});
    frame = tail_question(from);
    frame.body.site_tail_request.wanted = wanted;
    frame.body.site_tail_request.nwanted = 2;
    wanted[0] = offsets[1];
    wanted[1] = offsets[1] + 8; /* in the middle of one */
    expect_status(&frame, STATUS_INVALID);
    wanted[1] = offsets[1] + 3;
    expect_status(&frame, STATUS_INVALID);
    wanted[0] = offsets[1] + 88;
    wanted[1] = offsets[2];
    expect_status(&frame, STATUS_INVALID);
    wanted[0] = offsets[1];
    wanted[1] = relayed;
    expect_status(&frame, STATUS_INVALID);
    wanted[1] = log_end();
    expect_status(&frame, STATUS_INVALID);
    wanted[0] = UINT64_MAX - 8;
    frame.body.site_tail_request.nwanted = 1;
    expect_status(&frame, STATUS_INVALID);
}

/* ---- places ---- */

Test(node_tail, a_place_in_the_middle_of_a_record_is_refused)
{
    uint64_t from = log_end();
    struct frame frame;

    add(0);
    add(1);
    for (uint64_t bent = 1; bent <= 104; bent += bent < 9 ? 1 : 8) {
        frame = tail_question(from + bent);
        expect_status(&frame, STATUS_STALE);
    }
}

Test(node_tail, huge_and_foreign_places_are_refused)
{
    struct frame frame;

    add(0);
    frame = tail_question(log_end() + 8);
    expect_status(&frame, STATUS_CONFLICT);
    frame = tail_question(UINT64_MAX);
    expect_status(&frame, STATUS_CONFLICT);
    frame = tail_question(UINT64_MAX - 7);
    expect_status(&frame, STATUS_CONFLICT);
    frame = tail_question(log_end());
    frame.body.site_tail_request.source.incarnation++;
    expect_status(&frame, STATUS_STALE);
    frame = tail_question(log_end());
    frame.body.site_tail_request.boot++;
    expect_status(&frame, STATUS_CONFLICT);
    frame = tail_question(log_end());
    frame.body.site_tail_request.boot = 0;
    expect_status(&frame, STATUS_CONFLICT);
    frame = tail_question(log_end());
    frame.body.site_tail_request.source.node = 2;
    expect_status(&frame, STATUS_NOT_READY);
    frame = tail_question(log_end());
    frame.body.site_tail_request.max_bytes = UINT32_MAX;
    expect_status(&frame, STATUS_OK);
}

/* ---- waiting ---- */

Test(node_tail, a_question_waits_until_something_is_durable)
{
    struct frame frame = tail_question(log_end());

    frame.body.site_tail_request.wait_ms = 5000;
    send_tail(&frame, 0);
    circle_run(circle, 2 * SECOND);
    cr_assert_not(circle->answered);
    (void)put((struct record_batch){.relayed = true});
    circle_run(circle, SECOND);
    cr_assert_not(circle->answered, "that is not for links");
    (void)put((struct record_batch){.batch_producer = 3, .batch_number = 1});
    cr_assert(circle->answered);
    cr_assert_eq(tail_answer()->nrecords, 1);
    cr_assert_eq(tail_answer()->records[0].number, 1);
}

Test(node_tail, when_the_time_is_over_there_is_nothing)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);

    frame.body.site_tail_request.wait_ms = 300;
    send_tail(&frame, 0);
    circle_run(circle, 299000);
    cr_assert_not(circle->answered);
    circle_run(circle, 2000);
    cr_assert(circle->answered);
    cr_assert_eq(tail_answer()->status, STATUS_OK);
    cr_assert_eq(tail_answer()->nrecords, 0);
    cr_assert_eq(tail_answer()->next, log_end());
}

Test(node_tail, no_question_waits_without_end)
{
    struct frame frame = tail_question(log_end());

    frame.body.site_tail_request.wait_ms = UINT32_MAX;
    send_tail(&frame, 0);
    circle_run(circle, SITE_TAIL_MAX_WAIT_MS * 1000 - 1000);
    cr_assert_not(circle->answered);
    circle_run(circle, 2000);
    cr_assert(circle->answered);
}

/* A link has one question; the next one ends the wait of the one before. */
Test(node_tail, a_link_that_asks_again_waits_no_longer)
{
    struct frame frame = tail_question(log_end());

    frame.body.site_tail_request.wait_ms = 5000;
    send_tail(&frame, 0);
    circle_run(circle, 1000);
    cr_assert_not(circle->answered);
    send_tail(&frame, 0);
    circle_run(circle, 1);
    cr_assert(circle->answered);
    cr_assert_eq(tail_answer()->status, STATUS_OK);
    circle->answered = false;
    (void)put((struct record_batch){.batch_producer = 3, .batch_number = 1});
    cr_assert(circle->answered);
    cr_assert_eq(tail_answer()->nrecords, 1);
}

Test(node_tail, as_many_links_as_there_is_room_for)
{
    struct frame frame = tail_question(log_end());

    frame.body.site_tail_request.wait_ms = 5000;
    for (uint8_t link = 0; link < 16; link++) {
        send_tail(&frame, link);
        circle_run(circle, 1);
        cr_assert_not(circle->answered);
    }
    send_tail(&frame, 16);
    circle_run(circle, 1);
    cr_assert_eq(tail_answer()->status, STATUS_OVERLOADED);
    circle_run(circle, 6 * SECOND);
    send_tail(&frame, 16);
    circle_run(circle, 1);
    cr_assert_not(circle->answered, "there is room again");
}

/* What a link is told counts for its rate, as what replicas are. */
Test(node_tail, the_rate_is_bounded_for_each_link)
{
    struct frame frame = tail_question(log_end());
    uint64_t start_us;

    for (uint32_t i = 0; i < NBATCHES; i++) { /* 64 KB */
        add(i);
    }
    circle_node(circle, 1)->exchange->config.gossip_rate = 64 << 10;
    start_us = circle->now_us;
    for (int i = 0; i < 3; i++) {
        send_tail(&frame, 0);
        cr_assert_eq(await_tail(10 * SECOND)->nrecords, NBATCHES);
    }
    cr_assert_gt(circle->now_us - start_us, SECOND);
    send_tail(&frame, 1);
    start_us = circle->now_us;
    cr_assert_eq(await_tail(SECOND)->nrecords, NBATCHES);
    cr_assert_lt(circle->now_us - start_us, SECOND / 10, "another one need not wait");
}

/* A node that goes while links wait, and while it reads for one. */
Test(node_tail, an_end_in_the_middle_leaves_nothing_behind)
{
    uint64_t from = log_end();
    struct frame frame = tail_question(from);

    frame.body.site_tail_request.wait_ms = 5000;
    send_tail(&frame, 1);
    add(0);
    send_tail(&frame, 2);
    frame.body.site_tail_request.from = log_end();
    send_tail(&frame, 3);
    circle_stop(circle, 1);
}
