/* A list that a program feeds: the rebuild calls of the C library against a real cluster, and what
 * they answer when they are called at the wrong time. */
#include "client/orbloom.h"
#include "tests/support/playground.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Of 1,000 keys that are forgotten, at 1 %: the upper 99.9999 % limit. */
enum { LIMIT_S = 120, EACH = 1000, KEY_BYTES = 16, FORGOTTEN_MOST = 30 };

static struct playground playground;
static struct orbloom *cluster;
static char bytes[EACH * KEY_BYTES];
static uint32_t lengths[EACH];
static uint8_t answers[EACH];

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){0});
    cr_assert_eq(orbloom_connect(NULL, &cluster), ORBLOOM_OK);
    cr_assert_eq(
        orbloom_create(cluster,
                       &(struct orbloom_filter){.name = "seen", .capacity = 100000, .rate = 0.01},
                       NULL),
        ORBLOOM_OK, "%s", orbloom_error(cluster));
}

static void stop(void)
{
    orbloom_close(&cluster);
    playground_stop(&playground);
}

#define EXPECT_OK(call) cr_assert_eq(call, ORBLOOM_OK, "%s", orbloom_error(cluster))

#define EXPECT_ERROR(call, code, text)                                                          \
    do {                                                                                        \
        cr_assert_eq(call, code, "%s", orbloom_error(cluster));                                 \
        cr_assert_not_null(strstr(orbloom_error(cluster), text), "%s", orbloom_error(cluster)); \
    } while (0)

/* Keys "KIND-0" and so on; borrowed until the next call. */
static struct orbloom_keys keys_of(const char *kind)
{
    size_t used = 0;

    for (size_t i = 0; i < EACH; i++) {
        lengths[i] = (uint32_t)snprintf(bytes + used, KEY_BYTES, "%s-%zu", kind, i);
        used += lengths[i];
    }
    return (struct orbloom_keys){bytes, lengths, EACH};
}

static void add(const char *kind)
{
    struct orbloom_keys keys = keys_of(kind);

    EXPECT_OK(orbloom_add(cluster, "seen", &keys, answers));
}

static int feed(const char *kind, uint32_t list)
{
    struct orbloom_keys keys = keys_of(kind);

    return orbloom_feed(cluster, "seen", list, &keys, answers);
}

/* In batches that are all in flight at once. */
static void feed_pipelined(const char *kind, uint32_t list)
{
    enum { BATCH = 100 };
    struct orbloom_keys keys = keys_of(kind);
    struct orbloom_completion done;
    size_t used = 0;
    size_t fed = 0;

    for (size_t i = 0; i < EACH; i += BATCH) {
        struct orbloom_request request = {
            .filter = "seen",
            .operation = ORBLOOM_FEED,
            .keys = {(const char *)keys.bytes + used, keys.lengths + i, BATCH},
            .keyset = list,
        };

        EXPECT_OK(orbloom_submit(cluster, &request));
        for (size_t k = i; k < i + BATCH; k++) {
            used += lengths[k];
        }
    }
    while (orbloom_wait(cluster, LIMIT_S * 1000, &done) == 1) {
        cr_assert_eq(done.code, ORBLOOM_OK, "%s", done.message);
        fed += done.count;
    }
    cr_assert_eq(fed, EACH);
}

static size_t present(const char *kind)
{
    struct orbloom_keys keys = keys_of(kind);
    size_t count = 0;

    EXPECT_OK(orbloom_check(cluster, "seen", &keys, answers));
    for (size_t i = 0; i < EACH; i++) {
        cr_assert_neq(answers[i], ORBLOOM_UNKNOWN);
        count += answers[i] == ORBLOOM_PRESENT;
    }
    return count;
}

Test(rebuild_library, a_program_begins_feeds_and_commits, .timeout = LIMIT_S)
{
    uint32_t list = 0;
    uint32_t joined = 0;

    start();
    add("old");
    add("kept");
    EXPECT_OK(orbloom_rebuild_begin(cluster, "seen", &list));
    cr_assert_gt(list, 0);
    EXPECT_OK(orbloom_rebuild_begin(cluster, "seen", &joined));
    cr_assert_eq(joined, list, "it is open already");
    add("since");
    EXPECT_OK(feed("kept", list));
    feed_pipelined("fed", list);
    cr_assert_leq(present("fed"), FORGOTTEN_MOST, "no check sees them yet");
    EXPECT_ERROR(orbloom_rebuild_commit(cluster, "seen", list, 0), ORBLOOM_INVALID,
                 "no list has been fed");
    EXPECT_OK(orbloom_rebuild_fed(cluster, "seen", list, EACH + EACH));
    EXPECT_OK(orbloom_rebuild_commit(cluster, "seen", list, 0));
    cr_assert_eq(present("kept"), EACH);
    cr_assert_eq(present("fed"), EACH);
    cr_assert_eq(present("since"), EACH);
    cr_assert_leq(present("old"), FORGOTTEN_MOST);
    EXPECT_OK(orbloom_rebuild_commit(cluster, "seen", list, 0)); /* Asked again. */
    EXPECT_OK(orbloom_rebuild_commit(cluster, "seen", 0, 0));
    stop();
}

Test(rebuild_library, what_is_late_for_one_that_was_aborted_is_in_no_other, .timeout = LIMIT_S)
{
    uint32_t first = 0;
    uint32_t second = 0;

    start();
    add("old");
    EXPECT_OK(orbloom_rebuild_begin(cluster, "seen", &first));
    EXPECT_OK(feed("late", first));
    EXPECT_OK(orbloom_rebuild_abort(cluster, "seen", first));
    cr_assert_eq(present("old"), EACH);
    EXPECT_OK(orbloom_rebuild_begin(cluster, "seen", &second));
    cr_assert_gt(second, first);
    EXPECT_ERROR(feed("late", first), ORBLOOM_INVALID, "not the one that is meant");
    EXPECT_ERROR(orbloom_rebuild_fed(cluster, "seen", first, 1), ORBLOOM_CONFLICT,
                 "another one is open");
    EXPECT_ERROR(orbloom_rebuild_commit(cluster, "seen", first, 1), ORBLOOM_CONFLICT,
                 "another one is open");
    EXPECT_ERROR(orbloom_rebuild_abort(cluster, "seen", first), ORBLOOM_CONFLICT,
                 "another one is open");
    EXPECT_OK(orbloom_rebuild_commit(cluster, "seen", 0, 1)); /* Nothing of it is to stay. */
    cr_assert_leq(present("old"), FORGOTTEN_MOST);
    cr_assert_leq(present("late"), FORGOTTEN_MOST);
    stop();
}

Test(rebuild_library, nothing_without_begin, .timeout = LIMIT_S)
{
    uint32_t list = 7;

    start();
    EXPECT_ERROR(feed("early", 0), ORBLOOM_INVALID, "begin first");
    EXPECT_ERROR(orbloom_rebuild_fed(cluster, "seen", 0, 1), ORBLOOM_INVALID, "begin first");
    EXPECT_ERROR(orbloom_rebuild_commit(cluster, "seen", 0, 1), ORBLOOM_INVALID, "begin first");
    EXPECT_ERROR(orbloom_rebuild_abort(cluster, "seen", 0), ORBLOOM_INVALID, "begin first");
    EXPECT_ERROR(orbloom_rebuild_begin(cluster, "sean", &list), ORBLOOM_NOT_FOUND, "sean");
    cr_assert_eq(list, 0);
    stop();
}
