/* Routers of several sites in one list: what one site has acknowledged another may not have yet, so
 * one of them alone is asked, and another only by who is to fail over, once nobody else answers. */
#include "tests/unit/client_fake.h"

static struct fake *start(uint32_t nrouters, bool fail_over)
{
    struct fake *fake = fake_new();
    struct session_config config;

    fake_config(&config, nrouters);
    config.fail_over = fail_over;
    cr_assert_eq(session_create(&config, &fake->effects, &fake->session), STATUS_OK);
    fake->actor = session_actor(fake->session);
    return fake;
}

static const char *asked(const struct fake *fake, size_t index)
{
    cr_assert_lt(index, fake->nsent);
    return fake->endpoints[fake->sent[index].link - 1];
}

static uint64_t counted(const struct fake *fake, const char *name)
{
    struct counter_table table = session_counters();

    for (size_t i = 0; i < table.count; i++) {
        if (strcmp(table.defs[i].name, name) == 0) {
            return session_values(fake->session)[i];
        }
    }
    cr_assert(false, "no counter %s", name);
    return 0;
}

/* r1 is of eu and has answered; r2 is of us, which nobody knows yet. */
static struct fake *start_at_eu(bool fail_over, struct fake_outcome *outcome)
{
    struct fake *fake = start(2, fail_over);

    cr_assert_str_eq(session_site(fake->session), "");
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, outcome), STATUS_OK);
    fake_answer_of(fake, 0, "eu", STATUS_OK, 1, 0);
    cr_assert_eq(outcome->calls, 1);
    cr_assert_str_eq(session_site(fake->session), "eu");
    return fake;
}

Test(client_sites, an_answer_of_another_site_is_not_taken)
{
    struct fake_outcome outcomes[3] = {{0}};
    struct fake *fake = start_at_eu(false, &outcomes[0]);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[1]), STATUS_OK);
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[2]), STATUS_OK);
    cr_assert_str_eq(asked(fake, 2), "tcp://r2:1");
    fake_answer_of(fake, 2, "us", STATUS_OK, 0, 1);
    cr_assert_eq(outcomes[2].calls, 0, "it would be absent");
    cr_assert_str_eq(asked(fake, 3), "tcp://r1:1");
    fake_answer_of(fake, 3, "eu", STATUS_OK, 1, 0);
    cr_assert_eq(outcomes[2].present, 1);
    cr_assert_eq(outcomes[2].absent, 0);
    cr_assert_eq(counted(fake, "other_sites_total"), 1);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[0]), STATUS_OK);
        cr_assert_str_eq(asked(fake, fake->nsent - 1), "tcp://r1:1", "none is tried there again");
    }
    fake_end(fake);
}

/* Another filter of that name is what it would get into. */
Test(client_sites, nor_does_it_say_which_filter_has_the_name)
{
    struct fake_outcome outcomes[2] = {{0}};
    struct fake *fake = start_at_eu(false, &outcomes[0]);
    struct frame frame = {.kind = FRAME_CLIENT_REPLY};

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[0]), STATUS_OK);
    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcomes[1]), STATUS_OK);
    cr_assert_str_eq(asked(fake, 2), "tcp://r2:1");
    frame.correlation = fake->sent[2].correlation;
    frame.body.client_reply = (struct client_reply){.op = fake->sent[2].op,
                                                    .status = STATUS_STALE,
                                                    .message = "name it",
                                                    .filter_id = 77,
                                                    .site = "us",
                                                    .site_id = {.low = 'u'}};
    fake_answer_frame(fake, fake->sent[2].link, &frame);
    cr_assert_str_eq(asked(fake, 3), "tcp://r1:1");
    cr_assert_eq(fake->sent[3].filter_id, 0);
    fake_end(fake);
}

Test(client_sites, without_fail_over_nobody_else_is_asked)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = start_at_eu(false, &outcome);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    cr_assert_str_eq(asked(fake, 2), "tcp://r2:1", "it may be of eu");
    fake_answer_of(fake, 2, "us", STATUS_OK, 0, 1);
    cr_assert_eq(outcome.calls, 1);
    fake_pass(fake, TIMEOUT_US);
    cr_assert_eq(outcome.calls, 2);
    cr_assert_eq(outcome.status, STATUS_DEADLINE);
    cr_assert_eq(outcome.absent, 0);
    cr_assert_not_null(strstr(outcome.message, "tcp://r2:1 is of site us"), "%s", outcome.message);
    for (size_t i = 3; i < fake->nsent; i++) {
        cr_assert_str_eq(asked(fake, i), "tcp://r1:1");
    }
    fake_end(fake);
}

/* And stays there: sites that take turns would be mixed again. */
Test(client_sites, who_is_to_fail_over_does_so_once_nobody_answers)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = start_at_eu(true, &outcome);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    fake_answer_of(fake, 2, "us", STATUS_OK, 1, 0);
    cr_assert_eq(outcome.calls, 2);
    cr_assert_str_eq(session_site(fake->session), "us");
    cr_assert_eq(counted(fake, "site_changes_total"), 1);
    fake_pass(fake, 100 * (uint64_t)SECOND);
    for (int i = 0; i < 4; i++) {
        cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
        cr_assert_str_eq(asked(fake, fake->nsent - 1), "tcp://r2:1");
    }
    fake_end(fake);
}

Test(client_sites, while_its_own_site_answers_nobody_fails_over)
{
    struct fake_outcome outcomes[3] = {{0}};
    struct fake *fake = start_at_eu(true, &outcomes[0]);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[1]), STATUS_OK);
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[2]), STATUS_OK);
    fake_answer_of(fake, 2, "us", STATUS_OK, 0, 1);
    cr_assert_eq(outcomes[2].calls, 0);
    cr_assert_str_eq(session_site(fake->session), "eu");
    cr_assert_str_eq(asked(fake, 3), "tcp://r1:1");
    fake_end(fake);
}

/* A filter in one site. */
Test(client_sites, who_does_not_tell_a_site_is_taken)
{
    struct fake_outcome outcomes[2] = {{0}};
    struct fake *fake = start(2, false);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[0]), STATUS_OK);
    fake_answer_of(fake, 0, "", STATUS_OK, 0, 1);
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[0]), STATUS_OK);
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[1]), STATUS_OK);
    cr_assert_str_eq(asked(fake, 2), "tcp://r2:1");
    fake_answer_of(fake, 2, "", STATUS_OK, 0, 1);
    cr_assert_eq(outcomes[1].calls, 1);
    cr_assert_eq(outcomes[1].absent, 1);
    fake_end(fake);
}

/* ... but not of a filter that is in several: there it may be another one of that name. */
Test(client_sites, who_does_not_tell_one_of_a_filter_in_sites_is_not_taken)
{
    struct fake_outcome outcomes[2] = {{0}};
    struct fake *fake = start_at_eu(false, &outcomes[0]);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[0]), STATUS_OK);
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[1]), STATUS_OK);
    cr_assert_str_eq(asked(fake, 2), "tcp://r2:1");
    fake_answer_of(fake, 2, "", STATUS_OK, 0, 1);
    cr_assert_eq(outcomes[1].calls, 0);
    cr_assert_str_eq(asked(fake, 3), "tcp://r1:1");
    fake_end(fake);
}

/* Who is full, or has just started, answers. */
Test(client_sites, a_refusal_is_no_reason_to_fail_over)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = start_at_eu(true, &outcome);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake_answer_of(fake, 1, "eu", STATUS_UNAVAILABLE, 0, 0);
    fake_pass(fake, 10 * MS);
    cr_assert_str_eq(asked(fake, 2), "tcp://r2:1", "it may be of eu");
    fake_answer_of(fake, 2, "us", STATUS_OK, 0, 1);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_str_eq(session_site(fake->session), "eu");
    cr_assert_str_eq(asked(fake, 3), "tcp://r1:1");
    fake_end(fake);
}

/* An address with several behind it, of which one has answered once. */
Test(client_sites, who_is_the_only_one_is_asked_on)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = start(1, false);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake_answer_of(fake, 0, "eu", STATUS_OK, 1, 0);
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake_answer_of(fake, 1, "us", STATUS_OK, 0, 1);
    cr_assert_eq(outcome.calls, 1);
    cr_assert_eq(fake->nsent, 2, "after a pause");
    fake_pass(fake, 10 * MS);
    cr_assert_eq(fake->nsent, 3);
    fake_answer_of(fake, 2, "eu", STATUS_OK, 1, 0);
    cr_assert_eq(outcome.calls, 2);
    cr_assert_eq(outcome.present, 1);
    fake_end(fake);
}

/* Its first attempt may have got to the other site. */
Test(client_sites, after_a_change_an_add_that_was_repeated_is_not_sure)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = start_at_eu(true, &outcome);

    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcome), STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    cr_assert_str_eq(asked(fake, 2), "tcp://r2:1");
    fake_answer_of(fake, 2, "us", STATUS_OK, 1, 0);
    cr_assert_eq(outcome.calls, 2);
    cr_assert_eq(outcome.present & outcome.absent, 1, "MAYBE_NEW");
    fake_end(fake);
}

/* It looks like an answer of a router about a filter, and nobody has asked for one. */
Test(client_sites, an_answer_to_another_kind_of_question_is_none)
{
    const struct frame questions[] = {
        {.kind = FRAME_STATS_REQUEST},
        {.kind = FRAME_SITE_AGE_REQUEST},
        {.kind = FRAME_SITE_LAG_REQUEST},
        {.kind = FRAME_INFO_REQUEST, .body.info_request = (struct info_request){.filter = "seen"}},
        {.kind = FRAME_ADMIN_REQUEST,
         .body.admin_request = (struct admin_request){.action = ADMIN_DROP, .name = "seen"}},
    };

    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        struct fake_outcome outcome = {0};
        struct fake *fake = start(2, false);
        struct frame frame = {.kind = FRAME_CLIENT_REPLY};

        cr_assert_eq(session_ask(fake->session, fake->now_us, TIMEOUT_US, &questions[i], fake_done,
                                 &outcome),
                     STATUS_OK);
        frame.correlation = fake->sent[0].correlation;
        frame.body.client_reply = (struct client_reply){.op = fake->sent[0].op,
                                                        .status = STATUS_NOT_FOUND,
                                                        .message = "none",
                                                        .site = "us",
                                                        .site_id = {.low = 'u'}};
        fake_answer_frame(fake, fake->sent[0].link, &frame);
        cr_assert_eq(outcome.calls, 0, "%zu", i);
        fake_end(fake);
    }
}

/* r1 is of eu, and gone; the others have no filter of that name, and say no site. */
Test(client_sites, nobody_is_asked_again_and_again_without_a_pause)
{
    struct fake_outcome outcome = {0};
    struct fake *fake = start(3, false);
    size_t before;

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake_answer_of(fake, 0, "eu", STATUS_OK, 1, 0);
    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcome), STATUS_OK);
    fake_pass(fake, ATTEMPT_US);
    before = fake->nsent;
    for (size_t i = before - 1; i < fake->nsent && fake->nsent < before + 8; i++) {
        fake_answer_of(fake, i, "", STATUS_NOT_FOUND, 0, 0);
    }
    cr_assert_leq(fake->nsent, before + 2, "%zu questions at once", fake->nsent - before);
    fake_end(fake);
}

/* us has taken the add, and has told eu of it by the time that eu is asked. */
Test(client_sites, an_add_that_another_site_has_done_may_be_new)
{
    struct fake_outcome outcomes[3] = {{0}};
    struct fake *fake = start_at_eu(false, &outcomes[0]);

    cr_assert_eq(fake_submit(fake, OPERATION_CHECK, 1, &outcomes[1]), STATUS_OK);
    cr_assert_eq(fake_submit(fake, OPERATION_ADD, 1, &outcomes[2]), STATUS_OK);
    cr_assert_str_eq(asked(fake, 2), "tcp://r2:1");
    fake_answer_of(fake, 2, "us", STATUS_OK, 0, 1);
    cr_assert_str_eq(asked(fake, 3), "tcp://r1:1");
    fake_answer_of(fake, 3, "eu", STATUS_OK, 1, 0);
    cr_assert_eq(outcomes[2].calls, 1);
    cr_assert_eq(outcomes[2].present & outcomes[2].absent, 1, "MAYBE_NEW");
    fake_end(fake);
}
