/* What tells a filter from the one asked for: every parameter that differs is named, as it is
 * and as it is wanted, and nothing else. */
#include "coordinator/make/difference.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};

/* What makes a filter as sample_document() does. */
static const struct create_parameters same = {
    .capacity = 10000,
    .rate = 0.01,
    .rule = {.replicas = 3, .write = 2, .read = 2},
    .hash = HASH_SIPHASH24,
    .when_unavailable = WHEN_UNAVAILABLE_ERROR,
    .when_full = WHEN_FULL_REFUSE,
    .keylog = KEYLOG_ON,
    .durability = DURABILITY_MEMORY,
};

static void expect(const struct create_parameters *wanted, const char *expected)
{
    struct filter_document document;
    char text[DIFFERENCE_BYTES];

    sample_document(1, "urls", &rule, 3, &document);
    cr_assert_str_eq(difference_describe(&document, wanted, text), expected);
    document_fini(&document);
}

#define EXPECT(field, value, expected)          \
    do {                                        \
        struct create_parameters wanted = same; \
        wanted.field = (value);                 \
        expect(&wanted, expected);              \
    } while (0)

Test(difference, none_is_an_empty_text)
{
    expect(&same, "");
    EXPECT(max_capacity, 640000, "");
}

Test(difference, every_parameter_is_compared)
{
    EXPECT(capacity, 20000, "capacity 10,000, not 20,000");
    EXPECT(rate, 0.001, "rate 0.01, not 0.001");
    EXPECT(max_capacity, 20000, "max-capacity 640,000, not 20,000");
    EXPECT(rule.replicas, 2, "replicas 3, not 2");
    EXPECT(rule.write, 3, "write-quorum 2, not 3");
    EXPECT(rule.read, 3, "read-quorum 2, not 3");
    EXPECT(hash, HASH_XXH3, "hash siphash, not xxh3");
    EXPECT(when_unavailable, WHEN_UNAVAILABLE_MAYBE, "when-unavailable error, not maybe");
    EXPECT(when_full, WHEN_FULL_EXPAND, "when-full refuse, not expand");
    EXPECT(keylog, KEYLOG_OFF, "keylog on, not off");
    EXPECT(durability, DURABILITY_SYNC, "durability memory, not sync");
    EXPECT(window_us, 86400000000, "window none, not 1d");
    EXPECT(max_staleness, 5000001, "max-staleness none, not 5s");
    EXPECT(max_staleness, 1, "max-staleness none, not 0");
    EXPECT(acks, 2, "acks local, not 2");
    EXPECT(acks, 255, "acks local, not each");
}

/* A window's capacity is rounded up to whole slices when it is created. */
Test(difference, of_a_window_whole_slices_are_compared)
{
    struct create_parameters wanted = same;
    struct filter_document document;
    char text[DIFFERENCE_BYTES];

    sample_document(1, "urls", &rule, 3, &document);
    document.window_us = wanted.window_us = 86400000000;
    document.nslices = wanted.nslices = 7;
    document.capacity = 7 * 1429;
    document.max_capacity = 7 * 91429;
    cr_assert_str_eq(difference_describe(&document, &wanted, text), "");
    wanted.nslices = 8;
    wanted.capacity = document.capacity;
    (void)difference_describe(&document, &wanted, text);
    cr_assert_not_null(strstr(text, "slices 7, not 8"), "%s", text);
    document_fini(&document);
}

Test(difference, rates_that_differ_a_little_do_not_look_alike)
{
    EXPECT(rate, 0.010000001, "rate 0.01, not 0.010000001");
}

Test(difference, several_are_told_and_the_last_left_out_where_there_is_no_room)
{
    struct filter_document document;
    struct create_parameters wanted = {
        .capacity = 123456789012,
        .rate = 0.012345,
        .max_capacity = 63999999999999,
        .rule = {.replicas = 7, .write = 6, .read = 5},
        .hash = HASH_XXH3,
        .when_unavailable = WHEN_UNAVAILABLE_MAYBE,
        .when_full = WHEN_FULL_EXPAND,
        .keylog = KEYLOG_OFF,
        .durability = DURABILITY_SYNC,
    };
    char text[DIFFERENCE_BYTES];

    sample_document(1, "urls", &rule, 3, &document);
    (void)difference_describe(&document, &wanted, text);
    cr_assert_eq(
        strncmp(text, "capacity 10,000, not 123,456,789,012; rate 0.01, not 0.012345; ", 63), 0,
        "%s", text);
    cr_assert_null(strstr(text, "durability"), "%s", text);
    cr_assert_lt(strlen(text), sizeof text);
    document_fini(&document);
}

/* A start script that creates what it needs goes on working after the filter has grown. */
static void expect_changed(uint64_t capacity, double rate, uint64_t max_capacity,
                           const char *expected)
{
    struct create_parameters wanted = same;
    struct filter_document document;
    char text[DIFFERENCE_BYTES];

    sample_document(1, "urls", &rule, 3, &document);
    document.generations[0].id = 7; /* not its first one */
    document.capacity = 40000;
    document.rate = 0.005;
    wanted.capacity = capacity;
    wanted.rate = rate;
    wanted.max_capacity = max_capacity;
    cr_assert_str_eq(difference_describe(&document, &wanted, text), expected);
    document_fini(&document);
}

Test(difference, of_a_filter_that_has_changed_size_at_least_is_enough)
{
    expect_changed(10000, 0.01, 0, "");
    expect_changed(40000, 0.005, 0, "");
    expect_changed(10000, 0.01, 640000, "");
    expect_changed(40001, 0.01, 0, "capacity 40,000, not 40,001");
    expect_changed(10000, 0.001, 0, "rate 0.005, not 0.001");
    expect_changed(10000, 0.01, 20000, "max-capacity 640,000, not 20,000");
}

Test(difference, what_was_left_open_is_none)
{
    EXPECT(when_full, (enum when_full)0, "");
    EXPECT(durability, (enum durability)0, "");
}
