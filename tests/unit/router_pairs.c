/* While a replica is replaced its slot is a pair: an add counts there with both halves, its verdict
 * is the reader's, checks ask the reader only.
 *
 * One slot group on nodes 1, 2 and 3. Slot 1, of node 2, is the pair: with node 4, or with node 2's
 * next incarnation. */
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CLIENT = 1, KEYS = 3, ALL = (1 << KEYS) - 1, SOON_US = 1000000, LATE_US = 5100000 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

enum who { NODE_4, ITSELF };

static void hand_in_document(void)
{
    router_stage_pass(&stage, SOON_US);
    router_stage_sync(&stage, stage.sync, true);
}

static void make_pair(enum who who, bool reads_incoming)
{
    struct slot *slot = &stage.document.content.groups[0].slots[1];

    slot->incoming = who == NODE_4 ? (struct member){4, SAMPLE_INCARNATION + 4}
                                   : (struct member){2, SAMPLE_INCARNATION + 2 + 1};
    slot->reads_incoming = reads_incoming;
    document_epoch_advance(&stage.document);
}

static void open_single(void)
{
    router_stage_init(&stage, &rule, 4, WHEN_UNAVAILABLE_ERROR);
    stage.document.content.ngroups = 1;
    for (uint32_t shard = 0; shard < 1U << SAMPLE_SHARD_BITS; shard++) {
        stage.document.content.group_of_shard[shard] = 0;
    }
    document_epoch_advance(&stage.document);
    hand_in_document();
}

static void open_pair(enum who who, bool reads_incoming)
{
    open_single();
    make_pair(who, reads_incoming);
    hand_in_document();
}

static void request(enum operation operation)
{
    struct client_request one = router_stage_request(operation, 1, KEYS);

    router_stage_send(&stage, CLIENT, &one);
}

/* Each node votes as its letter says, '-' is silence. */
static void vote(const char *letters)
{
    for (uint32_t node = 1; letters[node - 1] != '\0'; node++) {
        if (letters[node - 1] != '-') {
            router_stage_vote(&stage, node, letters[node - 1]);
        }
    }
}

struct combination {
    bool reads_incoming;
    enum who who;
    const char *letters; /* of nodes 1 to 4 */
    enum status status;
    uint64_t present;
    uint64_t absent;
};

#define ACKED_NEW     STATUS_OK, 0, ALL
#define ACKED_PRESENT STATUS_OK, ALL, 0
#define ACKED_MAYBE   STATUS_OK, ALL, ALL
#define NOT_ACKED     STATUS_UNAVAILABLE, 0, 0

/* Node 1 is silent or unsure, so that the pair decides. */
static const struct combination adds[] = {
    /* v2: node 2 is read, node 4 must have it too */
    {false, NODE_4, "-aaj", ACKED_NEW},
    {false, NODE_4, "-ppj", ACKED_PRESENT},
    {false, NODE_4, "-apj", ACKED_MAYBE},
    {false, NODE_4, "-paj", ACKED_MAYBE},
    {false, NODE_4, "aaa-", ACKED_NEW},
    {false, NODE_4, "a-aj", ACKED_NEW},
    {false, NODE_4, "-aa-", NOT_ACKED},
    {false, NODE_4, "--aj", NOT_ACKED},
    {false, NODE_4, "-aaR", NOT_ACKED},
    {false, NODE_4, "-aaC", NOT_ACKED},
    {false, NODE_4, "-aa0", NOT_ACKED},
    {false, NODE_4, "-aaJ", NOT_ACKED}, /* another life of node 4 */
    {false, NODE_4, "-aaa", NOT_ACKED}, /* not what node 4 is by this document */
    {false, NODE_4, "-aae", NOT_ACKED},
    {false, NODE_4, "-jaj", NOT_ACKED}, /* nobody to read */
    {false, NODE_4, "-iaj", NOT_ACKED},
    {false, NODE_4, "j-aj", NOT_ACKED},
    /* v3: node 4 is read, node 2 must have it still */
    {true, NODE_4, "-jaa", ACKED_NEW},
    {true, NODE_4, "-jpp", ACKED_PRESENT},
    {true, NODE_4, "-jpa", ACKED_MAYBE},
    {true, NODE_4, "a-aa", ACKED_NEW},
    {true, NODE_4, "--aa", NOT_ACKED},
    {true, NODE_4, "-ja-", NOT_ACKED},
    {true, NODE_4, "-Jaa", NOT_ACKED}, /* node 2 has lost what it was left for */
    {true, NODE_4, "-aaa", NOT_ACKED},
    {true, NODE_4, "-jaj", NOT_ACKED},
    /* v2 and v3 of a node that takes its own place: one half can never answer */
    {false, ITSELF, "aJa", ACKED_NEW},
    {false, ITSELF, "pJp", ACKED_PRESENT},
    {false, ITSELF, "-Ja", NOT_ACKED},
    {false, ITSELF, "-aa", NOT_ACKED}, /* the old life, cut off till now */
    {true, ITSELF, "aia", ACKED_NEW},
    {true, ITSELF, "-ia", NOT_ACKED},
    {true, ITSELF, "-ja", NOT_ACKED},
};

Test(router_pairs, adds_count_with_both_halves)
{
    for (size_t i = 0; i < sizeof adds / sizeof adds[0]; i++) {
        const struct combination *one = &adds[i];
        struct router_told told;

        open_pair(one->who, one->reads_incoming);
        request(OPERATION_ADD);
        cr_assert_eq(router_stage_open(&stage), one->who == NODE_4 ? 4 : 3, "%s", one->letters);
        vote(one->letters);
        router_stage_pass(&stage, LATE_US);
        told = router_stage_told(&stage);
        cr_assert_eq(told.status, one->status, "v%d %s: %s %s", 2 + one->reads_incoming,
                     one->letters, status_code(told.status), told.message);
        cr_assert_eq(told.present, one->present, "v%d %s", 2 + one->reads_incoming, one->letters);
        cr_assert_eq(told.absent, one->absent, "v%d %s", 2 + one->reads_incoming, one->letters);
        router_stage_fini(&stage);
    }
}

/* In whichever order the halves answer. */
Test(router_pairs, keys_that_one_half_has_not_accepted_do_not_count)
{
    static const uint32_t orders[2][2] = {{2, 4}, {4, 2}};
    struct router_told told;

    for (int i = 0; i < 2; i++) {
        open_pair(NODE_4, false);
        request(OPERATION_ADD);
        router_stage_vote(&stage, 3, 'a');
        for (int k = 0; k < 2; k++) {
            router_stage_vote(&stage, orders[i][k], orders[i][k] == 2 ? 'a' : '1');
        }
        router_stage_pass(&stage, LATE_US);
        told = router_stage_told(&stage);
        cr_assert_eq(told.status, STATUS_FULL);
        cr_assert_eq(told.absent, 1, "the first key");
        cr_assert_eq(told.present, 0);
        router_stage_fini(&stage);
    }
}

/* When too few slots can ever count that is said at once. */
Test(router_pairs, a_half_that_cannot_accept_ends_hope)
{
    struct router_told told;

    open_pair(NODE_4, false);
    request(OPERATION_ADD);
    vote("Fa-f");
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_FULL, "%s", told.message);
    router_stage_fini(&stage);

    open_pair(ITSELF, false);
    request(OPERATION_ADD);
    vote("jJ");
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_UNAVAILABLE);
    cr_assert_not_null(strstr(told.message, "node-2 is being replaced"), "%s", told.message);
    router_stage_fini(&stage);

    open_pair(ITSELF, true); /* Its new life has accepted, which is not enough. */
    request(OPERATION_ADD);
    vote("ji");
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAVAILABLE);
    router_stage_fini(&stage);
}

/* What one half has not accepted is cut out of the other's vote for good: asking it again would be
 * in vain. */
Test(router_pairs, no_half_of_a_pair_is_held)
{
    open_pair(NODE_4, false);
    request(OPERATION_ADD);
    vote("Fa-g");
    cr_assert_eq(router_stage_told(&stage).status, STATUS_UNAVAILABLE, "at once");
    cr_assert_eq(router_stage_counter(&stage, "held_total"), 0);
    router_stage_fini(&stage);
}

Test(router_pairs, the_half_that_is_missing_is_named)
{
    struct router_told told;

    open_pair(NODE_4, false);
    request(OPERATION_ADD);
    vote("aa--");
    router_stage_pass(&stage, LATE_US);
    told = router_stage_told(&stage);
    cr_assert_not_null(strstr(told.message, "node-3 does not answer"), "%s", told.message);
    cr_assert_not_null(strstr(told.message, "node-4 does not answer"), "%s", told.message);
    cr_assert_null(strstr(told.message, "node-2"), "%s", told.message);
    router_stage_fini(&stage);
}

/* ---- checks ---- */

static bool was_asked(uint32_t node)
{
    for (size_t i = 0; i < stage.nasked; i++) {
        if (stage.asked[i].node == node) {
            return true;
        }
    }
    return false;
}

static void check(bool reads_incoming, const char *letters, uint64_t present, uint64_t absent)
{
    struct router_told told;

    open_pair(NODE_4, reads_incoming);
    for (int round = 0; round < 3; round++) { /* Another two are asked first each time. */
        request(OPERATION_CHECK);
        router_stage_pass(&stage, 2 * ROUTER_STAGE_HEDGE_US);
        for (uint32_t node = 1; node <= 4; node++) {
            if (letters[node - 1] != '-' && router_stage_asked(&stage, node) != NULL) {
                router_stage_vote(&stage, node, letters[node - 1]);
            }
        }
        router_stage_pass(&stage, LATE_US);
        told = router_stage_told(&stage);
        cr_assert_eq(told.present, present, "%s", letters);
        cr_assert_eq(told.absent, absent, "%s", letters);
        for (size_t i = 0; i < stage.nasked; i++) {
            stage.asked[i].answered = true;
        }
    }
    cr_assert_eq(was_asked(reads_incoming ? 4 : 2), true);
    cr_assert_eq(was_asked(reads_incoming ? 2 : 4), false, "only the reader is asked");
    router_stage_fini(&stage);
}

Test(router_pairs, checks_ask_the_reader_only)
{
    check(false, "-aa-", 0, ALL);
    check(false, "-pp-", ALL, 0);
    check(true, "--aa", 0, ALL);
    check(true, "--pp", ALL, 0);
}

/* The old life is gone: it is asked only when nobody else is left. */
Test(router_pairs, a_reader_that_is_gone_is_asked_last)
{
    open_pair(ITSELF, false);
    for (int round = 0; round < 3; round++) {
        request(OPERATION_CHECK);
        cr_assert_eq(router_stage_open(&stage), 2);
        cr_assert_null(router_stage_asked(&stage, 2));
        vote("a-a");
        cr_assert_eq(router_stage_told(&stage).absent, ALL);
    }
    router_stage_fini(&stage);
    open_pair(ITSELF, true);
    for (int round = 0; round < 3; round++) {
        request(OPERATION_CHECK);
        if (router_stage_asked(&stage, 2) != NULL) {
            router_stage_vote(&stage, 2, 'i');
        }
        if (router_stage_asked(&stage, 1) != NULL) {
            router_stage_vote(&stage, 1, 'a');
        }
        if (router_stage_asked(&stage, 3) != NULL) {
            router_stage_vote(&stage, 3, 'a');
        }
        cr_assert_eq(router_stage_told(&stage).absent, ALL);
    }
    cr_assert(was_asked(2), "its new life is read");
    router_stage_fini(&stage);
}

/* ---- on the way ---- */

Test(router_pairs, a_partner_is_asked_again_like_anybody)
{
    open_pair(NODE_4, false);
    request(OPERATION_ADD);
    vote("-aa");
    router_stage_asked(&stage, 4)->answered = true; /* lost */
    cr_assert_null(router_stage_asked(&stage, 4));
    router_stage_pass(&stage, 2 * ROUTER_STAGE_RETRY_US);
    cr_assert_not_null(router_stage_asked(&stage, 4));
    cr_assert_gt(router_stage_asked(&stage, 4)->subrequests[0].attempt, 0,
                 "it may have come before");
    router_stage_vote(&stage, 4, 'j');
    cr_assert_eq(router_stage_told(&stage).absent, ALL);
    router_stage_fini(&stage);
}

Test(router_pairs, a_partner_that_lacks_the_document_is_given_it)
{
    open_pair(NODE_4, false);
    request(OPERATION_ADD);
    vote("-aaN");
    cr_assert_eq(stage.nhanded, 1);
    cr_assert_eq(stage.handed[0], 4);
    router_stage_vote(&stage, 4, 'j');
    cr_assert_eq(router_stage_told(&stage).absent, ALL);
    router_stage_fini(&stage);
}

/* Each stage begins while an add is under way: what counted before is void, the newcomer is asked
 * from its epoch on. */
Test(router_pairs, adds_go_over_from_stage_to_stage)
{
    open_single();
    request(OPERATION_ADD);
    cr_assert_eq(router_stage_open(&stage), 3);
    vote("a");
    make_pair(NODE_4, false);
    router_stage_vote(&stage, 2, 'S');
    cr_assert_not_null(router_stage_asked(&stage, 4));
    vote("-aa");
    make_pair(NODE_4, true);
    router_stage_vote(&stage, 1, 'S');
    vote("-jaa");
    cr_assert_eq(router_stage_told(&stage).absent, ALL);
    cr_assert_eq(router_stage_counter(&stage, "restarts_total"), 2);
    router_stage_fini(&stage);
}

/* Parts of several groups share one stretch of memory. */
Test(router_pairs, each_group_has_pairs_of_its_own)
{
    struct router_told told;
    struct client_request many = router_stage_request(OPERATION_ADD, 1, 26);

    router_stage_init(&stage, &rule, 4, WHEN_UNAVAILABLE_ERROR); /* group g: g + 1, g + 2, g + 3 */
    for (uint32_t group = 0; group < 4; group++) {
        uint32_t other = (group + 3) % 4 + 1;

        stage.document.content.groups[group].slots[1].incoming = (struct member){
            other, SAMPLE_INCARNATION + other};
    }
    document_epoch_advance(&stage.document);
    hand_in_document();
    router_stage_send(&stage, CLIENT, &many);
    for (uint32_t node = 1; node <= 4; node++) {
        struct router_asked *asked = router_stage_asked(&stage, node);

        cr_assert_not_null(asked);
        cr_assert_eq(asked->nsubrequests, 4, "in three slots, and one half of a fourth");
    }
    /* 'a' is void where the node is no reader: there the slot does not count, and two are left. */
    vote("aaaa");
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert_eq(told.absent, (UINT64_C(1) << 26) - 1);
    cr_assert_gt(router_stage_counter(&stage, "votes_void_total"), 0);
    router_stage_fini(&stage);
}
