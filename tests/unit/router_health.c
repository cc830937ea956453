/* A router is fit for use once it knows which filters there are, until it drains. */
#include "tests/support/health.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

static void expect(const struct router *router, const char *what, const char *why)
{
    struct health health = {0};

    router_tell_health(router, &health);
    expect_health(&health, what, why);
}

Test(router_health, before_a_coordinator_has_told_it_is_not_ready)
{
    struct router_config config = {.name = "router-1", .key = *sample_key()};
    struct fake_effects fake;
    struct router *router = NULL;

    fake_init(&fake);
    config.sync_interval_us = config.retry_us = config.max_timeout_us = 1000000;
    config.max_inflight_bytes = 1 << 20;
    cr_assert_eq(router_create(&config, &fake.effects, &router), STATUS_OK);
    expect(router, "documents", "no coordinator has told yet which filters there are");
    router_destroy(&router);
    fake_fini(&fake);
}

Test(router_health, it_is_ready_until_it_drains)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    expect(stage.router, NULL, NULL);
    router_drain(stage.router);
    expect(stage.router, "draining", "takes no more requests");
    router_stage_fini(&stage);
}
