/* Who vouches for a node's log: a site that has told its boot, or is sent the log; and what is done
 * where marks are not vouched for. */
#include "base/heap.h"
#include "link/private.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SECOND = 1000000, EU = 0, FILTER = 5, NODE = 3, INCARNATION = 4, BOOT = 9 };

static struct link *link;
static struct inflow inflow;
static struct outflow outflow;
static struct follow follow;

static const struct router_end end_of_log = {
    .node = NODE, .incarnation = INCARNATION, .boot = BOOT};
static const struct router_ends_told told = {.ends = &end_of_log, .count = 1};
static struct site_boot boots[] = {{NODE, INCARNATION, BOOT}};

static void begin(void)
{
    link = heap_zalloc(1, sizeof *link);
    cr_assert_not_null(link);
    TAILQ_INIT(&link->outflows);
    link->config.npeers = 1;
    inflow = (struct inflow){
        .self = link, .filter_id = FILTER, .peer = EU, .own_life = {1, 2}, .source_life = {1, 3}};
}

static void end(void)
{
    vouched_fini(&inflow);
    heap_free(inflow.own.boots);
    heap_free(link);
}

TestSuite(link_vouched, .init = begin, .fini = end);

static void tell_boots(size_t count, bool all)
{
    const struct site_marked message = {.boots = boots, .nboots = count, .boots_all = all};

    vouched_take(&inflow, &message);
}

/* For as long as it looks its places up it tells none. */
Test(link_vouched, a_boot_that_was_told_once_is_known)
{
    cr_assert_not(vouched_has_all(&inflow, &told));
    tell_boots(1, false);
    cr_assert(vouched_has_all(&inflow, &told));
    tell_boots(0, false);
    cr_assert(vouched_has_all(&inflow, &told));
    vouched_void(&inflow);
    cr_assert_not(vouched_has_all(&inflow, &told));
}

/* Of a node that has started since it may know more by now. */
Test(link_vouched, who_knows_no_log_has_said_so_of_the_boots_of_that_time)
{
    tell_boots(0, true);
    cr_assert(vouched_has_all(&inflow, &told));
    inflow.own.suspect = true;
    cr_assert_not(vouched_has_all(&inflow, &told));
    inflow.own.suspect = false;
    inflow.own.boots = heap_zalloc(1, sizeof *inflow.own.boots);
    inflow.own.count = 1;
    *inflow.own.boots = (struct router_boot){{NODE, INCARNATION}, BOOT - 1};
    cr_assert_not(vouched_has_all(&inflow, &told));
    inflow.own.boots->boot = BOOT;
    cr_assert(vouched_has_all(&inflow, &told));
}

static void send_to(struct site_life own_life, bool fills)
{
    follow = (struct follow){.source = {.node = NODE, .incarnation = INCARNATION, .boot = BOOT},
                             .fills = fills};
    outflow = (struct outflow){.filter_id = FILTER,
                               .peer = EU,
                               .own_life = own_life,
                               .peer_life = inflow.source_life,
                               .follows = &follow,
                               .nfollows = 1};
    TAILQ_INSERT_TAIL(&link->outflows, &outflow, link);
}

/* It has applied nothing since that node has started again, as where it is full. */
Test(link_vouched, who_is_sent_the_log_has_had_its_place_judged)
{
    static struct reader reader;
    struct reading judge = {.member = {NODE, INCARNATION}, .reader = &reader};

    send_to(inflow.own_life, false);
    cr_assert(vouched_has_all(&inflow, &told));
    follow.source.boot = BOOT - 1;
    cr_assert_not(vouched_has_all(&inflow, &told), "it is not read on yet");
    follow.source.boot = BOOT;
    follow.fills = true;
    cr_assert_not(vouched_has_all(&inflow, &told), "it is copied");
    follow.fills = false;
    outflow.judges = &judge;
    outflow.njudges = 1;
    cr_assert_not(vouched_has_all(&inflow, &told), "of a place of it no answer has come");
    judge.reader = NULL;
    cr_assert(vouched_has_all(&inflow, &told));
    outflow.over = true;
    cr_assert_not(vouched_has_all(&inflow, &told), "it has ended");
}

Test(link_vouched, what_was_sent_in_another_life_says_nothing)
{
    send_to((struct site_life){1, 77}, false);
    cr_assert_not(vouched_has_all(&inflow, &told));
}

/* ---- another link of the other site ---- */

static void connect_to(uint32_t at)
{
    link->channels[at] = (struct channel){.number = at + 1, .peer = EU, .boot = 100 + at};
}

static bool tries_at(uint64_t now_us)
{
    return marked_tries_another(link, now_us, &inflow);
}

Test(link_vouched, another_link_is_tried_once_in_ever_longer_times)
{
    connect_to(0);
    connect_to(1);
    inflow.marked.wanted_until_us = UINT64_MAX;
    cr_assert_not(tries_at(100 * SECOND), "all that came was vouched for");
    inflow.marked.unvouched_us = 100 * SECOND;
    cr_assert_not(tries_at(109 * SECOND));
    cr_assert(tries_at(110 * SECOND));
    cr_assert_not(tries_at(200 * SECOND), "nothing came by the other one yet");
    inflow.marked.unvouched_us = 200 * SECOND;
    cr_assert_not(tries_at(219 * SECOND));
    cr_assert(tries_at(220 * SECOND));
}

Test(link_vouched, where_there_is_no_other_link_or_nobody_asks_the_stream_stays)
{
    connect_to(0);
    inflow.marked.wanted_until_us = UINT64_MAX;
    inflow.marked.unvouched_us = 100 * SECOND;
    cr_assert_not(tries_at(200 * SECOND));
    connect_to(1);
    inflow.marked.wanted_until_us = 0;
    inflow.marked.unvouched_us = 100 * SECOND;
    cr_assert_not(tries_at(200 * SECOND));
}
