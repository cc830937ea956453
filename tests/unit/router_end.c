/* A router that is about to end: what came before is answered, what comes then is refused. */
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { KEYS = 3, EARLY = 1, LATE = 2, PATIENCE_US = 5000000 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

static void open_stage(void)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
}

static void expect_late_is_refused(const struct frame *question)
{
    struct router_told told;

    router_stage_send_frame(&stage, LATE, question);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_NOT_READY);
    cr_assert_not_null(strstr(told.message, "about to end"));
}

Test(router_end, an_add_that_came_before_is_answered)
{
    struct client_request early = router_stage_request(OPERATION_ADD, 1, KEYS);
    struct frame late = {.kind = FRAME_CLIENT_REQUEST,
                         .body.client_request = router_stage_request(OPERATION_CHECK, 2, KEYS)};

    open_stage();
    router_stage_send(&stage, EARLY, &early);
    router_drain(stage.router);
    cr_assert(router_busy(stage.router));
    expect_late_is_refused(&late);
    router_stage_vote(&stage, 1, 'a');
    cr_assert(router_busy(stage.router));
    router_stage_vote(&stage, 2, 'a');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    cr_assert_not(router_busy(stage.router));
    router_stage_fini(&stage);
}

Test(router_end, a_request_that_waits_for_the_coordinator_is_answered)
{
    struct client_request early = router_stage_request(OPERATION_CHECK, 1, KEYS);

    open_stage();
    early.filter = "nobody";
    router_stage_send(&stage, EARLY, &early);
    router_drain(stage.router);
    cr_assert(router_busy(stage.router));
    router_stage_pass(&stage, 1000);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_NOT_FOUND);
    cr_assert_not(router_busy(stage.router));
    router_stage_fini(&stage);
}

Test(router_end, a_question_about_a_filter_is_answered)
{
    struct frame question = {.kind = FRAME_INFO_REQUEST};

    open_stage();
    question.body.info_request = (struct info_request){.filter = stage.document.content.name,
                                                       .timeout_ms = PATIENCE_US / 1000};
    router_stage_send_frame(&stage, EARLY, &question);
    router_drain(stage.router);
    cr_assert(router_busy(stage.router), "nodes are asked");
    expect_late_is_refused(&question);
    router_stage_pass(&stage, PATIENCE_US);
    cr_assert_eq(stage.ntold, 1, "with what is known by then");
    cr_assert_eq(stage.told[0].kind, FRAME_INFO_REPLY);
    cr_assert_not(router_busy(stage.router));
    router_stage_fini(&stage);
}
