/* Which ranges are here as another site has them: with W replicas, of one epoch, and of no fewer.
 */
#include "log/run_digest.h"
#include "router/dump.h"
#include "router_dump.h"

enum { BOOT = 40, KEYSET = 1, BITS = 8, MOST = 4 };

static struct {
    int count;
    enum status status;
    bool unsure;
    uint64_t equal[MOST];
    struct router_boot boots[16];
    size_t nboots;
} compared;

static uint64_t prefixes[MOST];
static uint64_t offered[MOST * PULL_PARTS];
static struct router_compare question;

static void take_compared(void *owner, const struct router_compared *told)
{
    (void)owner;
    compared.count++;
    compared.status = told->status;
    compared.unsure = told->unsure;
    compared.nboots = told->nboots;
    cr_assert_leq(told->nboots, 16);
    cr_assert_not_null(told->message);
    if (told->status == STATUS_OK) {
        memcpy(compared.equal, told->equal, question.nprefixes * sizeof compared.equal[0]);
    }
    for (size_t i = 0; i < told->nboots; i++) {
        compared.boots[i] = told->boots[i];
    }
}

/* Each part has a digest of its own. */
static void make_offer(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        prefixes[i] = 3 * i + 1;
    }
    for (size_t i = 0; i < count * PULL_PARTS; i++) {
        offered[i] = 1000 + i;
    }
    question = (struct router_compare){.filter_id = stage.document.id,
                                       .keyset = stage.document.content.keysets[0].id,
                                       .bits = BITS,
                                       .prefixes = prefixes,
                                       .nprefixes = count,
                                       .digests = offered,
                                       .deadline_us = stage.now_us + TIMEOUT_US,
                                       .done = take_compared};
}

static void compare(void)
{
    compared.count = 0;
    router_compare(stage.router, stage.now_us, &question);
    collect();
}

/* Of the ranges that the replica was asked for; `but`: it has something else in that part of each;
 * PULL_PARTS: in none. */
static void tell_digests(size_t but)
{
    struct question asked = take_question();
    struct pull_reply reply = reply_to(&asked, NULL, 0);
    uint64_t digests[MOST * PULL_PARTS];

    cr_assert_eq(asked.request.kind, PULL_DIGESTS);
    cr_assert(asked.request.sync, "only who is FULL may tell");
    cr_assert_eq(asked.request.view, 0);
    cr_assert_eq(asked.request.prefix_bits, BITS);
    for (size_t i = 0; i < asked.request.nprefixes; i++) {
        size_t at = (size_t)(asked.request.prefixes[i] - 1) / 3;

        memcpy(digests + i * PULL_PARTS, offered + at * PULL_PARTS, PULL_PARTS * sizeof digests[0]);
        if (but < PULL_PARTS) {
            digests[i * PULL_PARTS + but] = 7;
        }
    }
    reply.kind = PULL_DIGESTS;
    reply.boot = BOOT + asked.request.source.node;
    reply.digests = digests;
    reply.ndigests = asked.request.nprefixes * PULL_PARTS;
    answer(&asked, &reply);
}

Test(router_compare, what_w_replicas_have_is_equal_and_the_others_are_not_waited_for)
{
    begin(3);
    make_offer(2);
    compare();
    cr_assert_eq(nquestions, 3, "all are asked at once");
    tell_digests(PULL_PARTS);
    cr_assert_eq(compared.count, 0, "one replica is not enough");
    tell_digests(PULL_PARTS);
    cr_assert_eq(compared.count, 1);
    cr_assert_eq(compared.status, STATUS_OK);
    cr_assert_eq(compared.equal[0], UINT64_MAX);
    cr_assert_eq(compared.equal[1], UINT64_MAX);
    cr_assert_not(compared.unsure);
    cr_assert_eq(compared.nboots, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(compared.boots[i].boot, BOOT + compared.boots[i].member.node);
    }
    end();
}

/* Each part has its own votes: two of three for most of them, here. */
Test(router_compare, a_part_is_equal_where_w_replicas_say_so)
{
    begin(3);
    make_offer(2);
    compare();
    tell_digests(5);
    tell_digests(9);
    cr_assert_eq(compared.count, 0, "the third one may have both");
    tell_digests(5);
    cr_assert_eq(compared.count, 1);
    cr_assert_eq(compared.equal[0], ~(UINT64_C(1) << 5));
    cr_assert_eq(compared.equal[1], ~(UINT64_C(1) << 5));
    cr_assert_not(compared.unsure, "all have told");
    cr_assert_eq(compared.nboots, 3);
    end();
}

Test(router_compare, one_replica_is_never_enough)
{
    begin(3);
    make_offer(1);
    compare();
    tell_digests(PULL_PARTS);
    pass(2000000);
    cr_assert_eq(compared.count, 0, "who is slow may agree");
    pass(TIMEOUT_US);
    cr_assert_eq(compared.count, 1);
    cr_assert_eq(compared.status, STATUS_OK);
    cr_assert_eq(compared.equal[0], 0);
    cr_assert(compared.unsure, "it may be there");
    end();
}

/* The others say that they can't tell: there is nobody to wait for, and it may be there. */
Test(router_compare, what_too_few_can_tell_of_is_unsure)
{
    begin(3);
    make_offer(1);
    compare();
    tell_digests(3);
    for (int i = 0; i < 2; i++) {
        struct question asked = take_question();
        const struct pull_reply reply = {.kind = PULL_DIGESTS,
                                         .scope = asked.request.scope,
                                         .source = asked.request.source,
                                         .status = STATUS_NOT_READY};

        answer(&asked, &reply);
    }
    cr_assert_eq(compared.count, 1);
    cr_assert_eq(compared.status, STATUS_OK);
    cr_assert_eq(compared.equal[0], 0);
    cr_assert(compared.unsure);
    end();
}

/* An add would have to be with both members of it. */
Test(router_compare, a_slot_with_two_members_has_no_vote)
{
    struct slot *slot;

    begin(4);
    slot = &stage.document.content.groups[stage.document.content.group_of_shard[0]].slots[0];
    slot->incoming = (struct member){.node = 99, .incarnation = 1};
    document_epoch_advance(&stage.document);
    sync_document();
    make_offer(1);
    prefixes[0] = 0;
    compare();
    cr_assert_eq(nquestions, 2);
    for (size_t i = 0; i < nquestions; i++) {
        cr_assert_not(member_equal(&questions[i].request.source, slot_reader(slot)));
    }
    end();
    cr_assert_eq(compared.status, STATUS_UNAVAILABLE, "the router has stopped");
}

static void expect_void(void (*bend)(struct pull_reply *reply))
{
    begin(3);
    make_offer(1);
    compare();
    for (int i = 0; i < 3; i++) {
        struct question asked = take_question();
        struct pull_reply reply = reply_to(&asked, NULL, 0);

        reply.kind = PULL_DIGESTS;
        reply.digests = offered;
        reply.ndigests = PULL_PARTS;
        bend(&reply);
        answer(&asked, &reply);
        nquestions = nquestions > 2 - (size_t)i ? 2 - (size_t)i : nquestions; /* Not again. */
    }
    pass(TIMEOUT_US + 1000000);
    cr_assert_eq(compared.count, 1);
    cr_assert(compared.status != STATUS_OK || compared.equal[0] == 0);
    nquestions = 0;
    end();
}

static void joining(struct pull_reply *reply)
{
    reply->state = REPLICA_JOINING;
}

static void other_epoch(struct pull_reply *reply)
{
    reply->scope.epoch++;
}

static void other_hash(struct pull_reply *reply)
{
    reply->scope.epoch_hash++;
}

static void other_life(struct pull_reply *reply)
{
    reply->source.incarnation++;
}

static void too_few(struct pull_reply *reply)
{
    reply->ndigests--;
}

static void other_kind(struct pull_reply *reply)
{
    reply->kind = PULL_RANGES;
    reply->fingerprints = reply->digests;
    reply->count = 1;
    reply->ndigests = 0;
}

static void behind(struct pull_reply *reply)
{
    reply->status = STATUS_NOT_READY;
    reply->view = reply->ndigests = 0;
}

Test(router_compare, who_is_not_full_or_tells_something_else_has_no_vote)
{
    expect_void(joining);
    expect_void(other_epoch);
    expect_void(other_hash);
    expect_void(other_life);
    expect_void(too_few);
    expect_void(other_kind);
    expect_void(behind);
}

/* What is told under two epochs is of no quorum. */
Test(router_compare, a_comparison_ends_where_another_epoch_begins)
{
    begin(3);
    make_offer(1);
    compare();
    tell_digests(PULL_PARTS);
    document_epoch_advance(&stage.document);
    sync_document();
    pass(10000);
    cr_assert_eq(compared.count, 1);
    cr_assert_eq(compared.status, STATUS_STALE);
    cr_assert_eq(compared.nboots, 0);
    end();
}

/* The other site has slot groups of its own. */
Test(router_compare, ranges_of_all_slot_groups_are_asked_for_group_by_group)
{
    uint64_t met = 0;

    begin(5);
    make_offer(MOST);
    for (uint64_t i = 0; i < MOST; i++) {
        prefixes[i] = (i << BITS) / MOST;
    }
    compare();
    while (compared.count == 0) {
        struct question asked = questions[nquestions - 1]; /* What it names is the newest's. */
        struct pull_reply reply = reply_to(&asked, NULL, 0);
        uint64_t digests[MOST * PULL_PARTS];

        for (size_t i = 0; i < asked.request.nprefixes; i++) {
            uint64_t prefix = asked.request.prefixes[i];

            cr_assert_eq(stage.document.content
                             .group_of_shard[prefix >> (BITS - stage.document.content.shard_bits)],
                         asked.request.scope.group);
            for (size_t at = 0; at < MOST; at++) {
                if (prefixes[at] == prefix) {
                    memcpy(digests + i * PULL_PARTS, offered + at * PULL_PARTS,
                           PULL_PARTS * sizeof digests[0]);
                }
            }
            met++;
        }
        nquestions--;
        reply.kind = PULL_DIGESTS;
        reply.digests = digests;
        reply.ndigests = asked.request.nprefixes * PULL_PARTS;
        answer(&asked, &reply);
    }
    cr_assert_eq(compared.status, STATUS_OK);
    for (size_t i = 0; i < MOST; i++) {
        cr_assert_eq(compared.equal[i], UINT64_MAX, "range %zu", i);
    }
    cr_assert_geq(met, MOST * 2);
    end();
}

static void expect_invalid(void)
{
    compare();
    cr_assert_eq(compared.count, 1);
    cr_assert_eq(compared.status, STATUS_INVALID);
    cr_assert_eq(nquestions, 0, "nobody is asked");
}

Test(router_compare, what_is_of_no_filter_like_this_is_not_compared)
{
    begin(3);
    make_offer(2);
    question.bits = stage.document.content.shard_bits - 1;
    prefixes[0] = 0;
    prefixes[1] = 1;
    expect_invalid();
    make_offer(2);
    question.bits = PULL_MAX_PARENT_BITS + 1;
    expect_invalid();
    make_offer(2);
    question.keyset++;
    expect_invalid();
    make_offer(2);
    prefixes[1] = prefixes[0];
    expect_invalid();
    make_offer(2);
    prefixes[1] = UINT64_C(1) << BITS;
    expect_invalid();
    make_offer(2);
    question.nprefixes = PULL_MAX_PARENTS + 1;
    expect_invalid();
    make_offer(1);
    question.filter_id++;
    compare();
    cr_assert_eq(compared.status, STATUS_NOT_FOUND);
    end();
}

Test(router_compare, more_than_can_wait_are_refused_at_once)
{
    begin(3);
    make_offer(1);
    compare();
    for (uint32_t i = 0; i < VIEWS_MAX; i++) {
        router_compare(stage.router, stage.now_us, &question);
    }
    cr_assert_eq(compared.count, 0);
    router_compare(stage.router, stage.now_us, &question);
    cr_assert_eq(compared.count, 1);
    cr_assert_eq(compared.status, STATUS_OVERLOADED);
    end();
    cr_assert_eq(compared.count, 2 + VIEWS_MAX, "all are answered");
}
