/* Small pure parts of the client: endpoint lists, replica reports. */
#include "client/endpoint_list.h"
#include "proto/replica_report.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>

Test(endpoint_list, entries_are_split_and_trimmed)
{
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t count = 0;

    cr_assert_eq(endpoint_list_parse(" tcp://a:1 ,tcp://[::1]:65535", names, &count), STATUS_OK);
    cr_assert_eq(count, 2);
    cr_assert_str_eq(names[0], "tcp://a:1");
    cr_assert_str_eq(names[1], "tcp://[::1]:65535");
}

struct wrong {
    char text[40];
};

ParameterizedTestParameters(endpoint_list, what_is_no_endpoint_is_refused)
{
    static struct wrong wrongs[] = {
        {""},
        {","},
        {"tcp://a:1,"},
        {"a:1"},
        {"tcp://a"},
        {"tcp://a:"},
        {"tcp://a:0"},
        {"tcp://a:65536"},
        {"tcp://a:x"},
        {"tcp://:1"},
        {"ipc://a:1"},
        {"tcp://a:*"},
        {"tcp://a b:1"},
        {"tcp://a:1/x"},
        {"tcp://a:000001"},
        {"TCP://a:1"},
        {"tcp:/a:1"},
        {"tcp://a:-1"},
        {"tcp://::1:7401"},
        {"tcp://[1:2]:1"},
        {"tcp://[a]:1"},
        {"tcp://[::1:7401"},
        {"tcp://[]:1"},
    };

    return cr_make_param_array(struct wrong, wrongs, sizeof wrongs / sizeof wrongs[0]);
}

ParameterizedTest(struct wrong *wrong, endpoint_list, what_is_no_endpoint_is_refused)
{
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t count = 77;

    cr_assert_eq(endpoint_list_parse(wrong->text, names, &count), STATUS_INVALID, "%s",
                 wrong->text);
    cr_assert_eq(count, 77);
}

Test(endpoint_list, there_is_a_most)
{
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    char text[SESSION_MAX_ENDPOINTS * 16 + 400] = "tcp://a:1";
    uint32_t count = 0;

    for (int i = 1; i < SESSION_MAX_ENDPOINTS; i++) {
        (void)strcat(text, ",tcp://a:1");
    }
    cr_assert_eq(endpoint_list_parse(text, names, &count), STATUS_OK);
    cr_assert_eq(count, SESSION_MAX_ENDPOINTS);
    (void)strcat(text, ",tcp://a:1");
    cr_assert_eq(endpoint_list_parse(text, names, &count), STATUS_TOO_LARGE);
    memset(text, 'a', DOCUMENT_TEXT_BYTES);
    text[DOCUMENT_TEXT_BYTES] = '\0';
    cr_assert_eq(endpoint_list_parse(text, names, &count), STATUS_TOO_LARGE);
}

/* Each slot group is counted once, by its fullest replica; filters are kept apart. */
Test(report, groups_count_once)
{
    const struct replica_report reports[] = {
        {.filter_id = 1, .group = 0, .keys = 100, .state = REPLICA_FULL},
        {.filter_id = 1, .group = 0, .keys = 110, .state = REPLICA_FULL},
        {.filter_id = 1, .group = 0, .keys = 5, .state = REPLICA_JOINING},
        {.filter_id = 1, .group = 1, .keys = 7, .state = REPLICA_FULL},
        {.filter_id = 1, .group = 1, .keys = 7, .state = REPLICA_BUILDING},
        {.filter_id = 2, .group = 0, .keys = 999, .state = REPLICA_FULL},
    };
    struct report_sum sum = report_summarize(reports, 6, 1);

    cr_assert_eq(sum.keys, 117);
    cr_assert_eq(sum.full, 3);
    cr_assert_eq(sum.joining, 1);
    cr_assert_eq(sum.building, 1);
    cr_assert_eq(report_summarize(reports, 6, 2).keys, 999);
    cr_assert_eq(report_summarize(NULL, 0, 0).keys, 0);
}

/* Only what serves checks is measured by them. */
Test(report, probes_add_up_over_full_replicas)
{
    const struct replica_report reports[] = {
        {.filter_id = 1, .probes = 1000, .probe_hits = 9, .state = REPLICA_FULL},
        {.filter_id = 1, .probes = 500, .probe_hits = 6, .state = REPLICA_FULL},
        {.filter_id = 1, .probes = 100, .probe_hits = 99, .state = REPLICA_JOINING},
        {.filter_id = 2, .probes = 10, .probe_hits = 1, .state = REPLICA_FULL},
    };
    struct report_sum sum = report_summarize(reports, 4, 1);

    cr_assert_eq(sum.probes, 1500);
    cr_assert_eq(sum.probe_hits, 15);
}

/* Whatever nodes say, there are no more hits than probes. */
Test(report, probes_come_to_no_more_than_fits)
{
    const struct replica_report reports[] = {
        {.probes = UINT64_MAX, .probe_hits = 1000, .state = REPLICA_FULL},
        {.probes = 9, .probe_hits = 0, .state = REPLICA_FULL},
    };
    struct report_sum sum = report_summarize(reports, 2, 0);

    cr_assert_eq(sum.probes, UINT64_MAX);
    cr_assert_eq(sum.probe_hits, 1000);
}
