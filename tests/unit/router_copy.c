/* Copies of single replicas: what each of them has, and where its log ended then. */
#include "router_dump.h"

enum { ALL_SLOTS = 7, BOOT = 40, END = 9000 };

static struct {
    int count;
    struct router_copied told;
    uint64_t keys[16];
    char message[256];
} copied;

static void take_copied(void *owner, const struct router_copied *told)
{
    (void)owner;
    copied.count++;
    copied.told = *told;
    cr_assert_leq(told->nkeys, 16);
    if (told->nkeys > 0) {
        memcpy(copied.keys, told->keys, told->nkeys * sizeof copied.keys[0]);
    }
    (void)snprintf(copied.message, sizeof copied.message, "%s", told->message);
}

static void copy(uint64_t from, uint32_t slots)
{
    copied.count = 0;
    router_copy(stage.router, stage.now_us,
                &(struct router_copy){.filter_id = stage.document.id,
                                      .from = from,
                                      .slots = slots,
                                      .deadline_us = stage.now_us + TIMEOUT_US,
                                      .done = take_copied});
    collect();
}

/* By a replica whose log was that of boot BOOT + its node, and had so much then. */
static void tell_copy(const uint64_t *keys, size_t count)
{
    struct question question = take_question();
    struct pull_reply reply = reply_to(&question, keys, count);

    reply.boot = BOOT + question.request.source.node;
    reply.view_end = END + question.request.source.node;
    answer(&question, &reply);
}

Test(router_copy, a_copy_tells_what_each_of_the_replicas_has_and_where_its_log_ends)
{
    const uint64_t one[] = {5, 7};
    const uint64_t other[] = {6, 7};
    const uint64_t third[] = {9};
    const uint64_t all[] = {5, 6, 7, 9};

    begin(3);
    copy(0, ALL_SLOTS);
    cr_assert_eq(nquestions, 3);
    tell_copy(one, 2);
    tell_copy(other, 2);
    cr_assert_eq(copied.count, 0, "what the third one has is wanted, too");
    tell_copy(third, 1);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.status, STATUS_OK, "%s", copied.message);
    cr_assert_eq(copied.told.epoch, stage.document.epoch);
    cr_assert_eq(copied.told.last, UINT64_MAX);
    cr_assert_eq(copied.told.nkeys, 4);
    cr_assert_eq(memcmp(copied.keys, all, sizeof all), 0);
    cr_assert_eq(copied.told.nsources, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct router_copy_source *source = &copied.told.sources[i];

        cr_assert_eq(source->boot, BOOT + source->member.node);
        cr_assert_eq(source->end, END + source->member.node);
    }
    end();
}

Test(router_copy, a_copy_is_of_the_slots_that_are_wanted)
{
    const uint64_t one[] = {5};

    begin(3);
    copy(0, 1U << 1);
    cr_assert_eq(nquestions, 1);
    tell_copy(one, 1);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.nsources, 1);
    cr_assert(member_equal(&copied.told.sources[0].member,
                           slot_reader(&stage.document.content.groups[0].slots[1])));
    end();
}

/* Who says nothing, or no, is no source: its log is not to be gone on from. */
Test(router_copy, a_copy_does_not_wait_for_replicas_that_can_not_tell)
{
    const uint64_t one[] = {5};
    struct question question;
    struct pull_reply refusal;

    begin(3);
    copy(0, ALL_SLOTS);
    tell_copy(one, 1);
    question = take_question();
    refusal = reply_to(&question, NULL, 0);
    refusal.status = STATUS_NOT_READY;
    refusal.view = 0;
    answer(&question, &refusal);
    cr_assert_eq(copied.count, 0);
    pass(2000000);
    cr_assert_eq(copied.count, 1, "the silent one is not waited for until the deadline");
    cr_assert_eq(copied.told.status, STATUS_OK, "%s", copied.message);
    cr_assert_eq(copied.told.nsources, 1);
    end();
}

Test(router_copy, a_copy_of_nobody_fails_in_time)
{
    begin(3);
    copy(0, ALL_SLOTS);
    pass(TIMEOUT_US - 2000);
    cr_assert_eq(copied.count, 0);
    pass(4000);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.status, STATUS_DEADLINE);
    end();
}

/* What is told under two epochs is of no slot group. */
Test(router_copy, a_copy_ends_where_another_epoch_begins)
{
    const uint64_t one[] = {5};

    begin(3);
    copy(0, ALL_SLOTS);
    tell_copy(one, 1);
    document_epoch_advance(&stage.document);
    sync_document();
    pass(10000);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.status, STATUS_STALE);
    end();
}

/* A range that one replica can't tell at once ends where that one's does. */
Test(router_copy, a_range_of_a_copy_ends_where_the_first_source_does)
{
    const uint64_t one[] = {5, STEP};
    const uint64_t other[] = {6};
    const uint64_t first[] = {5, 6};
    struct question question;
    struct pull_reply reply;

    begin(3);
    copy(0, 3);
    tell_copy(one, 2);
    question = take_question();
    reply = reply_to(&question, other, 1);
    reply.end = false;
    reply.next = STEP;
    answer(&question, &reply);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.last, STEP - 1);
    cr_assert_eq(copied.told.nkeys, 2);
    cr_assert_eq(memcmp(copied.keys, first, sizeof first), 0);
    copy(STEP, 3);
    cr_assert_eq(questions[0].request.from, STEP);
    end();
}

static enum status page_status;

static void take_page(void *owner, const struct router_page *page)
{
    (*(int *)owner)++;
    page_status = page->status;
}

/* They are carried out one by one, and a dump's page goes on beside them. */
Test(router_copy, copies_wait_for_each_other_and_not_for_dumps)
{
    const uint64_t one[] = {5};
    int pages = 0;

    begin(3);
    router_dump(stage.router, stage.now_us,
                &(struct router_dump){.name = "urls",
                                      .iterator = DUMP_FIRST,
                                      .deadline_us = stage.now_us + TIMEOUT_US,
                                      .done = take_page,
                                      .owner = &pages});
    collect();
    cr_assert_eq(nquestions, 2);
    copy(0, 1);
    copy(0, 2);
    cr_assert_eq(nquestions, 3, "the second copy waits");
    tell_copy(one, 1);
    tell_copy(one, 1);
    cr_assert_eq(pages, 1);
    cr_assert_eq(page_status, STATUS_OK);
    cr_assert_eq(copied.count, 0);
    tell_copy(one, 1);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(nquestions, 1, "now it is the second one's turn");
    tell_copy(one, 1);
    cr_assert_eq(copied.count, 2);
    end();
}

Test(router_copy, copies_end_with_the_router)
{
    begin(3);
    copy(0, 1);
    copy(0, 2);
    end();
    cr_assert_eq(copied.count, 2);
    cr_assert_eq(copied.told.status, STATUS_UNAVAILABLE);
}
