/* Does comparing find all that lacks, in few messages, and refuse every answer that does not fit?
 * Sets in memory play both replicas.
 */
#include "node/pull/pull_repair.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { SHARD_BITS = 2, NSHARDS = 1 << SHARD_BITS, MOST_KEYS = 1 << 20 };

static const uint16_t groups[NSHARDS] = {0, 1, 0, 0}; /* shard 1 is somebody else's */
static const struct pull_scope scope = {.filter_id = 5, .epoch = 6, .epoch_hash = 7, .keyset = 1};
static const struct member source = {.node = 2, .incarnation = 22};

struct set {
    uint64_t *keys; /* ascending */
    size_t count;
};

static struct repair repair;
static struct set ours;
static struct set theirs;
static uint64_t *digests;
static uint64_t *counts;
static uint64_t *own;
static struct pull_request question;
static struct pull_reply reply;
static size_t taken; /* of their keys, sent and not ours */
static size_t sent;

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;

    return *x < *y ? -1 : *x > *y;
}

static size_t first_from(const struct set *set, uint64_t from)
{
    size_t low = 0;

    for (size_t high = set->count; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (set->keys[middle] < from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool has(const struct set *set, uint64_t key)
{
    size_t at = first_from(set, key);

    return at < set->count && set->keys[at] == key;
}

/* Of keys that share a prefix; any function of the set will do. */
static uint64_t digest(const struct set *set, uint32_t bits, uint64_t prefix, uint64_t *count)
{
    uint64_t first = prefix << (64 - bits);
    uint64_t last = first | UINT64_MAX >> bits;
    uint64_t sum = 0;

    *count = 0;
    for (size_t i = first_from(set, first); i < set->count && set->keys[i] <= last; i++) {
        sum += set->keys[i] * UINT64_C(0x9e3779b97f4a7c15);
        ++*count;
    }
    return sum ^ *count << 50;
}

static void open_sets(size_t count, size_t lacking, size_t extra)
{
    uint64_t random = 42;
    size_t used = 0;

    ours.keys = malloc((count + extra + 1) * sizeof(uint64_t));
    theirs.keys = malloc((count + lacking + 1) * sizeof(uint64_t));
    ours.count = theirs.count = 0;
    while (used < count + lacking + extra) {
        uint64_t key = random_next(&random);

        if (groups[key >> (64 - SHARD_BITS)] != 0) {
            continue;
        }
        if (used < count + extra) {
            ours.keys[ours.count++] = key;
        }
        if (used < count || used >= count + extra) {
            theirs.keys[theirs.count++] = key;
        }
        used++;
    }
    qsort(ours.keys, ours.count, sizeof(uint64_t), ascending);
    qsort(theirs.keys, theirs.count, sizeof(uint64_t), ascending);
    digests = malloc(PULL_MAX_DIGESTS * sizeof *digests);
    counts = malloc(PULL_MAX_DIGESTS * sizeof *counts);
    own = malloc(PULL_MAX_DIGESTS * sizeof *own);
    taken = sent = 0;
    cr_assert_eq(repair_init(&repair, &scope, &source, SHARD_BITS, groups), STATUS_OK);
}

static void close_sets(void)
{
    repair_fini(&repair);
    free(ours.keys);
    free(theirs.keys);
    free(digests);
    free(counts);
    free(own);
}

static void answer_ranges(void)
{
    static uint64_t keys[PULL_MAX_KEYS];

    reply.fingerprints = keys;
    reply.end = true;
    for (size_t i = 0; i < question.nprefixes; i++) {
        uint64_t first = question.prefixes[i] << (64 - question.prefix_bits);
        uint64_t last = first | UINT64_MAX >> question.prefix_bits;

        first = first > question.from ? first : question.from;
        for (size_t k = first_from(&theirs, first);
             k < theirs.count && theirs.keys[k] <= last && last >= question.from; k++) {
            if (reply.count == PULL_MAX_KEYS) {
                reply.end = false;
                reply.next = theirs.keys[k];
                return;
            }
            keys[reply.count++] = theirs.keys[k];
        }
    }
}

/* As an honest source does. */
static void answer(void)
{
    uint64_t none;

    repair_question(&repair, &question);
    cr_assert(pull_prefixes_good(&question));
    reply = (struct pull_reply){
        .kind = question.kind,
        .scope = scope,
        .source = source,
        .state = REPLICA_FULL,
        .from = question.from,
        .end = true,
        .durable = 900,
        .view = 77,
        .view_end = 800,
        .digests = digests,
        .counts = counts,
    };
    if (question.kind == PULL_RANGES) {
        answer_ranges();
    } else if (question.nprefixes == 0) {
        for (uint64_t i = 0; i < NSHARDS; i++) {
            if (groups[i] == 0) {
                digests[reply.ndigests] = digest(&theirs, SHARD_BITS, i, &counts[reply.ndigests]);
                reply.ndigests++;
            }
        }
        reply.ncounts = reply.ndigests;
    }
    for (size_t i = 0; question.kind == PULL_DIGESTS && i < question.nprefixes; i++) {
        for (uint64_t k = 0; k < PULL_PARTS; k++) {
            digests[reply.ndigests] = digest(&theirs, question.prefix_bits + PULL_PART_BITS,
                                             question.prefixes[i] << PULL_PART_BITS | k, &none);
            own[reply.ndigests++] = digest(&ours, question.prefix_bits + PULL_PART_BITS,
                                           question.prefixes[i] << PULL_PART_BITS | k, &none);
        }
    }
}

static void take(void)
{
    struct repair_root roots[NSHARDS];
    size_t nroots = 0;

    cr_assert_eq(repair_judge(&repair, &reply), STATUS_OK);
    if (repair.phase == REPAIR_ROOTS) {
        for (uint64_t i = 0; i < NSHARDS; i++) {
            if (groups[i] == 0) {
                roots[nroots].digest = digest(&ours, SHARD_BITS, i, &roots[nroots].count);
                nroots++;
            }
        }
        cr_assert_eq(repair_take_roots(&repair, &reply, roots), STATUS_OK);
    } else if (repair.phase == REPAIR_NODES) {
        cr_assert_eq(repair_take_digests(&repair, &reply, own), STATUS_OK);
    } else {
        for (size_t i = 0; i < reply.count; i++) {
            taken += !has(&ours, reply.fingerprints[i]);
        }
        sent += reply.count;
        repair_take_ranges(&repair, &reply);
    }
}

static void run(void)
{
    for (int i = 0; repair.phase != REPAIR_DONE; i++) {
        cr_assert_lt(i, 1000, "it never ends");
        answer();
        take();
    }
}

Test(pull_repair, equal_sets_are_done_with_in_one_round_trip)
{
    open_sets(10000, 0, 0);
    run();
    cr_assert_eq(repair.round_trips, 1);
    cr_assert_eq(repair.view_end, 800);
    close_sets();
}

Test(pull_repair, empty_sets_are_equal)
{
    open_sets(0, 0, 0);
    run();
    cr_assert_eq(repair.round_trips, 1);
    close_sets();
}

Test(pull_repair, all_that_lacks_is_sent)
{
    static const size_t sizes[][3] = {
        {1, 1, 0},      {0, 1, 0},       {0, 0, 5},      {10, 3, 2},        {300, 1, 1},
        {300, 300, 0},  {5000, 17, 400}, {5000, 0, 1},   {100000, 1000, 0}, {100000, 1, 1},
        {1000, 100, 5}, {0, 200000, 0},  {200000, 0, 9}, {100000, 90000, 3}};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        open_sets(sizes[i][0], sizes[i][1], sizes[i][2]);
        run();
        cr_assert_eq(taken, sizes[i][1], "%zu, %zu, %zu: %zu taken", sizes[i][0], sizes[i][1],
                     sizes[i][2], taken);
        close_sets();
    }
}

Test(pull_repair, few_keys_take_few_round_trips)
{
    open_sets(MOST_KEYS, 100, 0);
    run();
    cr_assert_eq(taken, 100);
    cr_assert_leq(repair.round_trips, 5);
    cr_assert_leq(sent, 100 * 2 * REPAIR_LEAF_KEYS);
    close_sets();
}

/* Not digest by digest, but whole. */
Test(pull_repair, a_shard_of_which_too_much_differs_is_sent_whole)
{
    open_sets(100000, 8000, 0); /* Equal enough in size, all leaves differ. */
    run();
    cr_assert_eq(taken, 8000);
    cr_assert_eq(sent, theirs.count);
    cr_assert_eq(repair.ranges, 3);
    cr_assert_leq(repair.round_trips, 2 + 1 + 2);
    close_sets();
    open_sets(1000, 100000, 0);
    run();
    cr_assert_eq(taken, 100000);
    cr_assert_leq(repair.round_trips, 1 + 1, "so far apart that no node is looked at");
    close_sets();
}

/* ---- answers that don't fit ---- */

#define REFUSED(status, change)                                                           \
    do {                                                                                  \
        struct pull_reply kept = reply;                                                   \
                                                                                          \
        cr_assert_eq(repair_judge(&repair, &reply), STATUS_OK);                           \
        change;                                                                           \
        cr_assert_eq(repair_judge(&repair, &reply), (status), "%s is accepted", #change); \
        reply = kept;                                                                     \
    } while (0)

static void refuse_what_is_about_something_else(void)
{
    REFUSED(STATUS_SHAPE, reply.scope.filter_id++);
    REFUSED(STATUS_SHAPE, reply.scope.keyset++);
    REFUSED(STATUS_SHAPE, reply.scope.slice++);
    REFUSED(STATUS_SHAPE, reply.scope.group++);
    REFUSED(STATUS_SHAPE, reply.scope.epoch++);
    REFUSED(STATUS_SHAPE, reply.scope.epoch_hash++);
    REFUSED(STATUS_SHAPE, reply.kind = PULL_RUNS);
    REFUSED(STATUS_SHAPE, reply.from++);
    REFUSED(STATUS_CONFLICT, reply.source.node++);
    REFUSED(STATUS_CONFLICT, reply.source.incarnation++);
    REFUSED(STATUS_NOT_READY, reply.state = REPLICA_JOINING);
    REFUSED(STATUS_STALE, reply.status = STATUS_STALE);
}

Test(pull_repair, roots_that_do_not_fit_are_refused)
{
    open_sets(10000, 5, 0);
    answer();
    refuse_what_is_about_something_else();
    REFUSED(STATUS_MALFORMED, reply.view = 0);
    REFUSED(STATUS_MALFORMED, reply.view_end = reply.durable + 1);
    REFUSED(STATUS_MALFORMED, reply.ndigests--);
    REFUSED(STATUS_MALFORMED, reply.ncounts = 0);
    close_sets();
}

Test(pull_repair, digests_that_do_not_fit_are_refused)
{
    open_sets(10000, 5, 0);
    answer();
    take();
    answer();
    cr_assert_eq(repair.phase, REPAIR_NODES);
    refuse_what_is_about_something_else();
    REFUSED(STATUS_SHAPE, reply.view++);
    REFUSED(STATUS_SHAPE, reply.view_end++);
    REFUSED(STATUS_MALFORMED, reply.ndigests--);
    REFUSED(STATUS_MALFORMED, reply.ncounts = reply.ndigests);
    close_sets();
}

static uint64_t bent[PULL_MAX_KEYS];

static void bend(size_t at, uint64_t key)
{
    memcpy(bent, reply.fingerprints, reply.count * sizeof *bent);
    bent[at] = key;
    reply.fingerprints = bent;
}

Test(pull_repair, ranges_that_do_not_fit_are_refused)
{
    open_sets(10000, 5, 0);
    while (repair.phase != REPAIR_RANGES) {
        answer();
        take();
    }
    answer();
    refuse_what_is_about_something_else();
    REFUSED(STATUS_SHAPE, reply.view++);
    REFUSED(STATUS_MALFORMED, bend(0, 0));
    REFUSED(STATUS_MALFORMED, bend(0, UINT64_C(1) << 62)); /* of shard 1 */
    REFUSED(STATUS_MALFORMED, bend(1, reply.fingerprints[0]));
    REFUSED(STATUS_MALFORMED, bend(reply.count - 1, UINT64_MAX));
    REFUSED(STATUS_MALFORMED, (reply.end = false, reply.next = 0));
    REFUSED(STATUS_MALFORMED, (reply.end = false, reply.count = 0, reply.next = 5));
    close_sets();
}
