/* FLUSHALL: not by default, and then everything. */
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 100, BATCH = 64 };

static struct front_stage stage;
static struct filter_summary filters[MANY];
static char names[MANY][8];

static void start(bool flush)
{
    struct front_config config = front_stage_config();

    config.flush = flush;
    front_stage_init(&stage, &config);
    front_stage_open(&stage, 0);
    for (size_t i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%zu", i);
        filters[i] = front_stage_filter(names[i]);
        filters[i].id = 1000 + i;
    }
}

static void answer_list(size_t from, size_t count)
{
    struct frame question = front_stage_question(&stage);
    const struct admin_reply reply = {.message = "", .filters = filters + from, .nfilters = count};

    cr_assert_eq(question.body.admin_request.action, ADMIN_STATUS);
    cr_assert_str_eq(question.body.admin_request.name, "");
    front_stage_answer_with(&stage, &question, &reply);
}

/* So many drops by ids from `first` on; the last one is answered so. */
static void answer_drops(uint64_t first, size_t count, enum status last)
{
    static struct frame questions[MANY];
    struct fake_sent sent;
    size_t nquestions = 0;

    while (front_stage_take(&stage, &sent)) {
        cr_assert_eq(sent.frame.body.admin_request.action, ADMIN_DROP);
        cr_assert_eq(sent.frame.body.admin_request.filter_id, first + nquestions);
        cr_assert_eq(sent.frame.body.admin_request.scope, 0, "what is in several sites stays");
        questions[nquestions++] = sent.frame;
    }
    cr_assert_eq(nquestions, count);
    for (size_t i = 0; i < count; i++) {
        front_stage_expect(&stage, 0, "");
        front_stage_answer(&stage, &questions[i], i + 1 < count ? STATUS_OK : last, false);
    }
}

Test(resp_flush, it_takes_an_option)
{
    struct fake_sent sent;

    start(false);
    front_stage_say(&stage, 0, "FLUSHALL\r\nFLUSHDB ASYNC\r\n");
    cr_assert_not_null(strstr(stage.streams[0].text, "it takes resp_flush = \"on\" in the router"));
    cr_assert_not(fake_take(&stage.fake, &sent));
    front_stage_fini(&stage);
}

/* The coordinator says of which, and what to do: tests/unit/coordinator_sites.c. */
Test(resp_flush, filters_in_several_sites_are_refused_in_words)
{
    start(true);
    front_stage_say(&stage, 0, "FLUSHALL\r\nDEL f0\r\n");
    answer_list(0, 2);
    answer_drops(1000, 2, STATUS_INVALID);
    front_stage_expect(&stage, 0, "-INVALID said so\r\n");
    front_stage_fini(&stage);
}

Test(resp_flush, then_all_go_that_are_there)
{
    start(true);
    filters[2].state = FILTER_DROPPING;
    front_stage_say(&stage, 0, "FLUSHALL\r\nPING\r\n");
    answer_list(0, 3);
    answer_drops(1000, 2, STATUS_NOT_FOUND);
    front_stage_expect(&stage, 0, "+OK\r\n+PONG\r\n");
    front_stage_say(&stage, 0, "FLUSHDB SYNC\r\n");
    answer_list(0, 0);
    front_stage_expect(&stage, 0, "+OK\r\n");
    front_stage_fini(&stage);
}

Test(resp_flush, many_go_in_turns)
{
    start(true);
    front_stage_say(&stage, 0, "FLUSHALL\r\n");
    answer_list(0, MANY);
    answer_drops(1000, BATCH, STATUS_OK);
    answer_list(BATCH, MANY - BATCH);
    answer_drops(1000 + BATCH, MANY - BATCH, STATUS_OK);
    front_stage_expect(&stage, 0, "+OK\r\n");
    front_stage_fini(&stage);
}

Test(resp_flush, one_that_stays_is_an_error)
{
    start(true);
    front_stage_say(&stage, 0, "FLUSHALL\r\n");
    answer_list(0, MANY);
    answer_drops(1000, BATCH, STATUS_DEADLINE);
    front_stage_expect(&stage, 0, "-DEADLINE said so\r\n");
    front_stage_say(&stage, 0, "FLUSHALL now\r\n");
    front_stage_expect(&stage, 0, "-ERR syntax error\r\n");
    front_stage_say(&stage, 0, "FLUSHALL\r\n");
    front_stage_gone(&stage, 0);
    answer_list(0, 2);
    front_stage_fini(&stage);
}
