/* How far other sites are is asked of the links that live, while somebody looks, and told as all of
 * them together know it. */
#include "coordinator/web/lags.h"
#include "coordinator/web/web.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { LINK_PEER = 700, SECOND_US = 1000000, FILTER = 5 };

static const struct site_id us = {0x05, 1};

static struct memory_store store;
static struct coordinator_stage stage;

static void setup(void)
{
    memory_store_init(&store);
    coordinator_stage_survey = true;
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
}

static void teardown(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

TestSuite(coordinator_lags, .init = setup, .fini = teardown);

static void link_reports(unsigned n)
{
    char name[16];
    char endpoint[32];
    const struct frame frame = {
        .kind = FRAME_SYNC_REQUEST,
        .body.sync_request = {.role = SYNC_ROUTER,
                              .name = name,
                              .endpoint = endpoint,
                              .host = "",
                              .zone = "",
                              .site = "eu",
                              .features = features_known(),
                              .link = {.id = {0xe0, 1},
                                       .peers = {{"us", us, true, 80000}},
                                       .npeers = 1}},
    };

    (void)snprintf(name, sizeof name, "link-%u", n);
    (void)snprintf(endpoint, sizeof endpoint, "tcp://10.0.0.%u:7420", n);
    fake_request(&stage.actor, stage.now_us, LINK_PEER + n, &frame);
    fake_forget(&stage.fake);
}

/* The line to it; 0: there is none. */
static uint32_t line_to(unsigned n)
{
    char endpoint[32];

    (void)snprintf(endpoint, sizeof endpoint, "tcp://10.0.0.%u:7420", n);
    return fake_link(&stage.fake, endpoint);
}

/* Has it been asked since the last look? */
static bool is_asked(unsigned n)
{
    struct fake_sent sent;
    bool asked = false;

    while (fake_take(&stage.fake, &sent)) {
        asked = asked || (sent.frame.kind == FRAME_SITE_LAG_REQUEST && sent.link == line_to(n) &&
                          sent.frame.body.site_lag_request.filter_id == 0);
    }
    return asked;
}

static void turn(uint64_t after_us)
{
    stage.now_us += after_us;
    stage.actor.time(stage.actor.self, stage.now_us);
}

static void answer(unsigned n, const struct site_lag *lags, size_t count)
{
    const struct frame frame = {.kind = FRAME_SITE_LAG_REPLY,
                                .body.site_lag_reply = {.lags = lags, .nlags = count}};

    fake_answer(&stage.actor, stage.now_us, line_to(n), &frame);
}

/* What is told of us. */
static void expect(long long behind_us, long long keys)
{
    const struct web_question question = {0};
    struct buffer body;
    json_t *all;
    json_t *site;

    buffer_init(&body, 1 << 20);
    cr_assert_eq(web_tell_sites(stage.coordinator, stage.now_us, &question, &body), STATUS_OK);
    all = json_loadb((const char *)body.data, body.size, 0, NULL);
    cr_assert_not_null(all);
    site = json_array_get(json_object_get(all, "sites"), 1);
    cr_assert_str_eq(json_string_value(json_object_get(site, "name")), "us");
    if (behind_us < 0) {
        cr_assert(json_is_null(json_object_get(site, "out_behind_us")));
        cr_assert(json_is_null(json_object_get(site, "out_pending_keys")));
    } else {
        cr_assert_eq(json_integer_value(json_object_get(site, "out_behind_us")), behind_us);
        cr_assert_eq(json_integer_value(json_object_get(site, "out_pending_keys")), keys);
    }
    json_decref(all);
    buffer_fini(&body);
}

Test(coordinator_lags, links_are_asked_while_somebody_looks)
{
    link_reports(1);
    turn(1);
    cr_assert_not(is_asked(1));
    cr_assert_eq(line_to(1), 0, "nobody looks");
    expect(-1, 0);
    turn(1);
    cr_assert(is_asked(1));
    turn(LAGS_EACH_US - 1);
    cr_assert_not(is_asked(1));
    turn(1);
    cr_assert(is_asked(1));
    link_reports(1);
    turn(LAGS_WANTED_US);
    cr_assert_not(is_asked(1));
    cr_assert_eq(line_to(1), 0, "nobody looks any more");
}

Test(coordinator_lags, what_they_say_is_told_in_sum)
{
    const struct site_lag lags[] = {
        {.filter_id = 9, .id = us, .sends = true, .pending_keys = 10, .pending_us = 700},
        {.filter_id = FILTER, .id = us, .sends = true, .pending_keys = 100, .pending_us = 3000},
        {.filter_id = FILTER, .id = {7, 7}, .sends = true, .pending_keys = 5, .pending_us = 9000},
    };

    link_reports(1);
    expect(-1, 0);
    turn(1);
    answer(1, lags, 3);
    expect(3000, 110);
    link_reports(1);
    turn(LAGS_KNOWN_US);
    expect(-1, 0);
}

/* What one of them has brought there is there. */
Test(coordinator_lags, several_links_are_not_counted_twice)
{
    struct site_lag lag = {
        .filter_id = FILTER, .id = us, .sends = true, .pending_keys = 100, .pending_us = 3000};

    link_reports(1);
    link_reports(2);
    expect(-1, 0);
    turn(1);
    answer(1, &lag, 1);
    lag.pending_keys = 40;
    lag.pending_us = 900;
    answer(2, &lag, 1);
    expect(900, 40);
}

/* Then nobody knows what is missing there, and "nothing" would be wrong. */
Test(coordinator_lags, a_filter_that_is_not_sent_makes_it_unknown)
{
    struct site_lag lags[] = {
        {.filter_id = FILTER, .id = us, .sends = true},
        {.filter_id = FILTER + 1, .id = us, .sends = false},
    };

    link_reports(1);
    expect(-1, 0);
    turn(1);
    answer(1, lags, 2);
    expect(-1, 0);
    lags[1].sends = true;
    answer(1, lags, 2);
    expect(0, 0);
    answer(1, NULL, 0);
    expect(-1, 0);
}

Test(coordinator_lags, an_answer_that_nobody_asked_for_is_refused)
{
    const struct site_lag lag = {.filter_id = FILTER, .id = us, .sends = true};
    const struct frame frame = {.kind = FRAME_SITE_LAG_REPLY,
                                .body.site_lag_reply = {.lags = &lag, .nlags = 1}};
    uint64_t before = coordinator_stage_counter(&stage, "malformed_total");

    link_reports(1);
    expect(-1, 0);
    turn(1);
    fake_forget(&stage.fake);
    fake_answer(&stage.actor, stage.now_us, line_to(1) + 1, &frame);
    fake_forget(&stage.fake);
    cr_assert_eq(coordinator_stage_counter(&stage, "malformed_total"), before + 1);
    expect(-1, 0);
}
