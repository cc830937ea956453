/* The order of questions to one source, which answers are of use, and when a cursor is due. */
#include "tests/unit/cluster_pull.h"

#include "base/heap.h"
#include "node/pull/pull_intervals.h"
#include "node/pull/pull_plan.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(pull, .fini = teardown);

Test(pull, a_copy_reads_runs_then_the_log_from_the_lowest_merged_to_the_fence)
{
    begin(PULL_SYNC, NULL);
    ask(PULL_RUNS, 0, UINT64_MAX);
    cr_assert(question.sync);
    take(1000, false, 300, 10);
    ask(PULL_RUNS, 1000, UINT64_MAX);
    reply.fence_position = 700; /* Only the first one's counts: it was there when runs were read. */
    take(2000, false, 200, 20);
    ask(PULL_RUNS, 2000, UINT64_MAX);
    take(2000, true, 400, 20);
    ask(PULL_LOG, 200, 600);
    take(500, false, 0, 30);
    cr_assert_lt(pull_progress(&pull), 1);
    ask(PULL_LOG, 500, 600);
    reply.durable = 600;
    take(600, true, 0, 40);
    cr_assert_eq(pull.phase, PULL_PHASE_SETTLE);
    cr_assert_eq(pull_due_us(&pull), UINT64_MAX);
    cr_assert_not(pull_cursor_due(&pull, 39), "not before what it covers");
    cr_assert(pull_cursor_due(&pull, 40));
    cr_assert_eq(pull.cursor, 600);
    pull_cursor_recorded(&pull);
    cr_assert_eq(pull.phase, PULL_PHASE_COMPLETE);
    cr_assert_not(pull_cursor_due(&pull, 40));
}

Test(pull, a_log_that_is_all_merged_is_not_read)
{
    begin(PULL_SYNC, NULL);
    ask(PULL_RUNS, 0, UINT64_MAX);
    take(0, true, 600, 10);
    cr_assert_eq(pull.phase, PULL_PHASE_SETTLE);
}

Test(pull, a_page_that_brings_nothing_new_is_asked_for_later)
{
    begin(PULL_SYNC, NULL);
    ask(PULL_RUNS, 0, UINT64_MAX);
    take(0, true, 300, 10);
    ask(PULL_LOG, 300, 600);
    take(300, false, 0, 10);
    cr_assert_gt(pull_due_us(&pull), NOW);
    cr_assert_lt(pull_due_us(&pull), NOW + DELAY);
}

Test(pull, a_recorded_cursor_is_enough)
{
    const uint64_t cursor = 600;

    begin(PULL_SYNC, &cursor);
    cr_assert_eq(pull.phase, PULL_PHASE_COMPLETE);
    cr_assert_eq(pull_due_us(&pull), UINT64_MAX);
    cr_assert_eq(pull_progress(&pull), 1);
}

/* A log that is gone in the middle of a copy: over again, with bounds of its own. */
Test(pull, a_copy_starts_over_when_the_log_is_gone)
{
    begin(PULL_SYNC, NULL);
    ask(PULL_RUNS, 0, UINT64_MAX);
    take(0, true, 300, 10);
    ask(PULL_LOG, 300, 600);
    pull_failed(&pull, NOW, STATUS_NOT_FOUND);
    cr_assert_gt(pull_due_us(&pull), NOW);
    pull.due_us = NOW;
    ask(PULL_RUNS, 0, UINT64_MAX);
    reply.fence_position = 900;
    take(0, true, 800, 10);
    ask(PULL_LOG, 800, 900);
}

static enum status judged(void)
{
    return pull_judge(&pull, &reply);
}

Test(pull, answers_about_something_else_are_refused)
{
    struct pull_reply good;

    begin(PULL_SYNC, NULL);
    ask(PULL_RUNS, 0, UINT64_MAX);
    reply.next = 9;
    good = reply;
    cr_assert_eq(judged(), STATUS_OK);
    for (int field = 0; field < 7; field++) {
        reply = good;
        reply.scope.filter_id += field == 0;
        reply.scope.epoch += field == 1;
        reply.scope.epoch_hash += field == 2;
        reply.scope.slice += field == 3;
        reply.scope.keyset += field == 4;
        reply.scope.group += field == 5;
        reply.from += field == 6;
        cr_assert_eq(judged(), STATUS_SHAPE, "field %d", field);
    }
    reply = good;
    reply.kind = PULL_LOG;
    cr_assert_eq(judged(), STATUS_SHAPE);
    reply = good;
    reply.source.incarnation++;
    cr_assert_eq(judged(), STATUS_CONFLICT);
    reply = good;
    reply.source.node++;
    cr_assert_eq(judged(), STATUS_CONFLICT);
    reply = good;
    reply.status = STATUS_STALE;
    cr_assert_eq(judged(), STATUS_STALE);
}

Test(pull, sources_that_do_not_count_are_refused)
{
    begin(PULL_SYNC, NULL);
    ask(PULL_RUNS, 0, UINT64_MAX);
    reply.next = 9;
    for (int state = REPLICA_NONE; state <= REPLICA_FULL; state++) {
        reply.state = (enum replica_state)state;
        cr_assert_eq(judged() == STATUS_OK, state == REPLICA_FULL);
    }
    reply.fence_epoch = 2;
    cr_assert_eq(judged(), STATUS_NOT_READY, "it has not fenced");
    reply.fence_epoch = 4;
    cr_assert_eq(judged(), STATUS_OK, "past it is as good");
}

Test(pull, numbers_that_make_no_sense_are_refused)
{
    const uint64_t cursor = 100;

    begin(PULL_SYNC, NULL);
    ask(PULL_RUNS, 0, UINT64_MAX);
    cr_assert_eq(judged(), STATUS_MALFORMED, "neither further nor at the end");
    reply.end = true;
    cr_assert_eq(judged(), STATUS_OK);
    pull_init(&pull, PULL_DELTA, &scope, &source, &cursor, DELAY);
    ask(PULL_HEADERS, 100, 0);
    reply.next = 99;
    cr_assert_eq(judged(), STATUS_MALFORMED, "back");
    reply.next = 501;
    cr_assert_eq(judged(), STATUS_MALFORMED, "past what is durable");
    reply.next = 500;
    cr_assert_eq(judged(), STATUS_OK);
}

static struct pull_interval interval(uint64_t first, uint64_t count, uint64_t offset)
{
    return (struct pull_interval){
        .producer_id = 9, .epoch = 3, .first = first, .count = count, .offset = offset};
}

static void note(uint64_t first, uint64_t last)
{
    const struct batch_series_key key = {
        .producer_id = 9, .filter_id = 5, .epoch = 3, .keyset = 1, .group = 2};

    for (uint64_t n = first; n <= last; n++) {
        batch_set_add(have, &key, n);
    }
}

static void take_headers(const struct pull_interval *intervals, size_t count, uint64_t next)
{
    reply.intervals = intervals;
    reply.nintervals = count;
    reply.next = next;
    reply.end = true;
    cr_assert_eq(judged(), STATUS_OK);
    cr_assert_eq(pull_take_headers(&pull, NOW, &reply, have), STATUS_OK);
}

Test(pull, only_what_is_lacking_is_fetched)
{
    const uint64_t cursor = 100;
    const struct pull_interval told[] = {interval(1, 10, 120), interval(20, 5, 300)};

    begin(PULL_DELTA, &cursor);
    note(1, 10);
    note(22, 22);
    ask(PULL_HEADERS, 100, 0);
    take_headers(told, 2, 400);
    cr_assert_not(pull_cursor_due(&pull, UINT64_MAX), "not before the bodies");
    ask(PULL_BODIES, 300, 400);
    cr_assert_eq(question.nwanted, 2);
    cr_assert(question.wanted[0].first == 20 && question.wanted[0].count == 2);
    cr_assert(question.wanted[1].first == 23 && question.wanted[1].count == 2);
    cr_assert(pull_wants(question.wanted, 2, 9, 3, 21));
    cr_assert_not(pull_wants(question.wanted, 2, 9, 3, 22));
    cr_assert_not(pull_wants(question.wanted, 2, 8, 3, 21));
    cr_assert_not(pull_wants(question.wanted, 2, 9, 4, 21));
    take(350, false, 0, 70);
    ask(PULL_BODIES, 350, 400);
    take(400, true, 0, 80);
    cr_assert_not(pull_cursor_due(&pull, 79));
    cr_assert(pull_cursor_due(&pull, 80));
    cr_assert_eq(pull.cursor, 400);
    pull_cursor_recorded(&pull);
    ask(PULL_HEADERS, 400, 0);
}

Test(pull, nothing_lacking_means_nothing_fetched)
{
    const uint64_t cursor = 100;
    const struct pull_interval told[] = {interval(1, 10, 120)};

    begin(PULL_DELTA, &cursor);
    note(1, 10);
    ask(PULL_HEADERS, 100, 0);
    take_headers(told, 1, 400);
    cr_assert_eq(pull.phase, PULL_PHASE_FOLLOW);
    cr_assert_eq(pull_due_us(&pull), NOW + DELAY);
    cr_assert(pull_cursor_due(&pull, 0), "batches were met");
}

/* What concerns others moves the source's log too: no record for each step of that, or the records
 * would keep each other going. */
Test(pull, an_idle_source_costs_less_and_less)
{
    const uint64_t cursor = 100;
    uint64_t pause_us = DELAY;

    begin(PULL_DELTA, &cursor);
    for (int i = 0; i < 6; i++) {
        ask(PULL_HEADERS, 100 + (uint64_t)i * 10, 0);
        take_headers(NULL, 0, 110 + (uint64_t)i * 10);
        cr_assert_not(pull_cursor_due(&pull, UINT64_MAX));
        pause_us = pause_us < 8 * DELAY ? 2 * pause_us : pause_us;
        cr_assert_eq(pull_due_us(&pull), NOW + pause_us);
        pull.due_us = NOW;
    }
    ask(PULL_HEADERS, 160, 0);
    reply.durable = 4 << 20;
    take_headers(NULL, 0, 2 << 20);
    cr_assert(pull_cursor_due(&pull, UINT64_MAX), "but for a long way");
    pull.stride = UINT64_C(1) << 40; /* as many cursors as move a log so far */
    cr_assert_not(pull_cursor_due(&pull, UINT64_MAX));
}

/* More holes than can be named: the whole page, which always ends. */
Test(pull, what_is_too_scattered_is_fetched_whole)
{
    enum { MANY = PULL_MAX_WANTED + 1 };
    static struct pull_interval told[MANY];
    const uint64_t cursor = 100;

    begin(PULL_DELTA, &cursor);
    for (uint64_t i = 0; i < MANY; i++) {
        told[i] = interval(2 * i, 1, 120 + i);
    }
    ask(PULL_HEADERS, 100, 0);
    take_headers(told, MANY, 400);
    ask(PULL_BODIES, 100, 400);
    cr_assert_eq(question.nwanted, 0);
    cr_assert(pull_wants(question.wanted, 0, 1, 2, 3), "all");
    take(400, true, 0, 80);
    cr_assert_eq(pull.phase, PULL_PHASE_FOLLOW);
}

/* Another source has brought it meanwhile. */
Test(pull, what_came_meanwhile_is_not_fetched)
{
    const uint64_t cursor = 100;
    const struct pull_interval told[] = {interval(1, 3, 120), interval(20, 5, 300)};

    begin(PULL_DELTA, &cursor);
    ask(PULL_HEADERS, 100, 0);
    take_headers(told, 2, 400);
    note(1, 3);
    pull_trim(&pull, have);
    ask(PULL_BODIES, 300, 400);
    cr_assert_eq(question.nwanted, 1);
    pull_failed(&pull, NOW, STATUS_DEADLINE);
    note(20, 24);
    pull_trim(&pull, have);
    cr_assert_eq(pull.phase, PULL_PHASE_FOLLOW);
    cr_assert_eq(pull.cursor, 400);
    cr_assert(pull_cursor_due(&pull, 0));
}

/* Nothing is asked until the replicas have been compared; then from the view on. */
Test(pull, a_log_that_is_not_kept_is_repaired_and_then_followed)
{
    const uint64_t cursor = 100;

    begin(PULL_DELTA, &cursor);
    ask(PULL_HEADERS, 100, 0);
    pull_failed(&pull, NOW, STATUS_NOT_FOUND);
    cr_assert_eq(pull.phase, PULL_PHASE_REPAIR);
    cr_assert_eq(pull_due_us(&pull), UINT64_MAX);
    cr_assert_not(pull_cursor_due(&pull, UINT64_MAX));
    pull_repaired(&pull, NOW, 800, 20);
    cr_assert_not(pull_cursor_due(&pull, 19), "not before its data");
    cr_assert(pull_cursor_due(&pull, 20));
    cr_assert_eq(pull.cursor, 800);
    ask(PULL_HEADERS, 800, 0);
    cr_assert_eq(pull.copies, 0);
}

Test(pull, who_can_not_compare_is_copied_and_then_followed)
{
    const uint64_t cursor = 100;

    begin(PULL_DELTA, &cursor);
    ask(PULL_HEADERS, 100, 0);
    pull_failed(&pull, NOW, STATUS_NOT_FOUND);
    pull_copy(&pull, NOW);
    cr_assert_eq(pull.copies, 1);
    ask(PULL_RUNS, 0, UINT64_MAX);
    cr_assert_not(question.sync);
    reply.durable = 800;
    take(0, true, 300, 10);
    cr_assert_not(pull_cursor_due(&pull, UINT64_MAX));
    ask(PULL_LOG, 300, 800);
    reply.durable = 800;
    take(800, true, 0, 20);
    cr_assert(pull_cursor_due(&pull, 20));
    cr_assert_eq(pull.cursor, 800);
    ask(PULL_HEADERS, 800, 0);
}

Test(pull, failures_cost_more_and_more_patience)
{
    uint64_t last_us = 0;

    begin(PULL_SYNC, NULL);
    for (int i = 0; i < 40; i++) {
        uint64_t pause_us;

        pull_asked(&pull);
        pull_failed(&pull, NOW, STATUS_UNAVAILABLE);
        pause_us = pull_due_us(&pull) - NOW;
        cr_assert_geq(pause_us, last_us);
        cr_assert_leq(pause_us, 6400000);
        last_us = pause_us;
    }
    cr_assert_eq(last_us, 6400000);
    pull.due_us = NOW;
    ask(PULL_RUNS, 0, UINT64_MAX);
    take(5, false, 1, 1);
    cr_assert_eq(pull.failures, 0);
    cr_assert_eq(pull_due_us(&pull), NOW);
}

/* Without memory nothing is forgotten: the same page is asked for again. */
Test(pull, headers_survive_the_lack_of_memory)
{
    const uint64_t cursor = 100;
    const struct pull_interval told[] = {interval(1, 10, 120)};

    begin(PULL_DELTA, &cursor);
    ask(PULL_HEADERS, 100, 0);
    reply.intervals = told;
    reply.nintervals = 1;
    reply.next = 400;
    heap_fault_after(0);
    cr_assert_eq(pull_take_headers(&pull, NOW, &reply, have), STATUS_NOMEM);
    heap_fault_clear();
    pull_failed(&pull, NOW, STATUS_NOMEM);
    pull.due_us = NOW;
    ask(PULL_HEADERS, 100, 0);
    take_headers(told, 1, 400);
    cr_assert_eq(pull.phase, PULL_PHASE_FETCH);
}

Test(pull, enough_sources_meet_every_write_quorum)
{
    for (uint32_t n = 1; n <= QUORUM_MAX_REPLICAS; n++) {
        for (uint32_t w = n / 2 + 1; w <= n; w++) {
            const struct quorum_rule rule = {.replicas = n, .write = w, .read = n - w + 1};

            cr_assert_eq(pull_sources_needed(&rule) + w, n + 1);
        }
    }
}

Test(pull, batches_become_intervals)
{
    struct pull_batch batches[] = {
        {.producer_id = 9, .number = 3, .epoch = 1, .offset = 50},
        {.producer_id = 8, .number = 4, .epoch = 1, .offset = 60},
        {.producer_id = 9, .number = 1, .epoch = 1, .offset = 70},
        {.producer_id = 9, .number = 2, .epoch = 1, .offset = 40},
        {.producer_id = 9, .number = 2, .epoch = 1, .offset = 90},
        {.producer_id = 9, .number = 4, .epoch = 2, .offset = 80},
        {.producer_id = 9, .number = 7, .epoch = 1, .offset = 95},
        {.producer_id = 9, .number = UINT64_MAX, .epoch = 1, .offset = 96},
    };
    const struct pull_interval expected[] = {
        {8, 1, 4, 1, 60},          {9, 1, 1, 3, 40}, {9, 1, 7, 1, 95},
        {9, 1, UINT64_MAX, 1, 96}, {9, 2, 4, 1, 80},
    };
    struct pull_interval made[8];

    cr_assert_eq(pull_intervals_make(batches, 8, made), 5);
    cr_assert_eq(memcmp(made, expected, sizeof expected), 0);
    cr_assert_eq(pull_intervals_make(batches, 0, made), 0);
}

/* Headers leave out what is young, and what has no number. */
Test(pull, catching_up_reads_the_log_from_the_cursor_to_its_end)
{
    const uint64_t cursor = 100;

    begin(PULL_DELTA, &cursor);
    pull_catch_up(&pull);
    cr_assert(pull.catching_up);
    ask(PULL_LOG, 100, 0);
    reply.durable = 900;
    take(700, false, 0, 10);
    cr_assert(pull.catching_up);
    ask(PULL_LOG, 700, 900);
    reply.durable = 5000; /* What came later is left to routers, and to the delta. */
    take(900, true, 0, 20);
    cr_assert_not(pull.catching_up);
    ask(PULL_HEADERS, 900, 0);
}

Test(pull, catching_up_without_a_cursor_reads_all_and_copies_what_is_not_kept)
{
    begin(PULL_DELTA, NULL);
    pull_catch_up(&pull);
    ask(PULL_LOG, 0, 0);
    pull_failed(&pull, NOW, STATUS_NOT_FOUND);
    cr_assert(pull.catching_up);
    pull.due_us = NOW;
    ask(PULL_RUNS, 0, UINT64_MAX);
    reply.fence_position = 0;
    take(0, true, 400, 10);
    cr_assert(pull.catching_up, "the log behind the runs is to be read too");
    ask(PULL_LOG, 400, 500);
    take(500, true, 0, 20);
    cr_assert_not(pull.catching_up);
}

/* It joins, and may have lost what routers brought it under this epoch. */
Test(pull, a_completed_source_is_read_on_from_where_it_was_completed)
{
    const uint64_t cursor = 300;

    begin(PULL_SYNC, &cursor);
    cr_assert_eq(pull.phase, PULL_PHASE_COMPLETE);
    pull_catch_up(&pull);
    cr_assert_lt(pull_progress(&pull), 1);
    ask(PULL_LOG, 300, 0);
    reply.fence_position = 200;
    take(500, true, 0, 10);
    cr_assert_eq(pull.phase, PULL_PHASE_SETTLE);
    cr_assert_not(pull_cursor_due(&pull, 9));
    cr_assert(pull_cursor_due(&pull, 10));
}
