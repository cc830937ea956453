/* Which counts of lookups go, and when: other arrays, more keys, time. */
#include "node/array/probe_tally.h"

#include <criterion/criterion.h>

enum { CAPACITY = 64000, PART = CAPACITY / PROBE_KEYS_SHARE };

static struct probe_tally tally;
static struct probed_arrays arrays;

static void set_up(void)
{
    tally = (struct probe_tally){0};
    arrays = (struct probed_arrays){.mark = 7, .keys = 5000, .keys_capacity = CAPACITY};
}

TestSuite(node_probe_tally, .init = set_up);

/* At that time, of the arrays as they are. */
static void look_up(uint64_t now_us, uint64_t probes, uint64_t hits)
{
    probe_tally_follow(&tally, now_us, &arrays);
    probe_tally_add(&tally, (struct probe_count){.probes = probes, .hits = hits});
}

static void expect(uint64_t probes, uint64_t hits)
{
    cr_expect_eq(probe_tally_sum(&tally).probes, probes, "%llu",
                 (unsigned long long)probe_tally_sum(&tally).probes);
    cr_expect_eq(probe_tally_sum(&tally).hits, hits);
}

Test(node_probe_tally, adds_up)
{
    expect(0, 0);
    look_up(1, 100, 3);
    look_up(2, 50, 1);
    expect(150, 4);
}

Test(node_probe_tally, with_other_arrays_it_begins_anew)
{
    look_up(1, 100, 3);
    look_up(1 + PROBE_WINDOW_US, 100, 3);
    arrays.mark++;
    probe_tally_follow(&tally, 2 + PROBE_WINDOW_US, &arrays);
    expect(0, 0);
}

Test(node_probe_tally, tells_the_last_whole_window_and_the_one_under_way)
{
    look_up(1, 100, 1);
    look_up(PROBE_WINDOW_US, 10, 0);
    expect(110, 1);
    look_up(1 + PROBE_WINDOW_US, 1000, 20);
    expect(1110, 21);
    look_up(2 * PROBE_WINDOW_US, 1, 0);
    expect(1111, 21);
    look_up(1 + 2 * PROBE_WINDOW_US, 5, 5);
    expect(1006, 25);
}

Test(node_probe_tally, a_few_keys_more_change_nothing)
{
    look_up(1, 100, 1);
    arrays.keys += PART;
    look_up(2, 100, 1);
    expect(200, 2);
}

/* However fast keys come: the rate is not that of fewer. */
Test(node_probe_tally, counts_of_fewer_keys_go)
{
    look_up(1, 100, 1);
    arrays.keys += PART + 1;
    look_up(2, 10, 2);
    expect(10, 2);
}

Test(node_probe_tally, and_only_those)
{
    look_up(1, 100, 1);
    arrays.keys += PART;
    look_up(1 + PROBE_WINDOW_US, 10, 2);
    arrays.keys++;
    look_up(2 + PROBE_WINDOW_US, 1, 0);
    expect(11, 2);
    arrays.keys += PART;
    look_up(3 + PROBE_WINDOW_US, 3, 3);
    expect(4, 3);
}
