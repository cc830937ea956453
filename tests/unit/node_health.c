/* A node is fit for use once its start is confirmed and all that it holds counts. */
#include "tests/support/health.h"
#include "tests/support/node_stage.h"
#include "tests/support/sample_cluster.h"

enum { ROOM = 64 << 20, NO_ROOM = 1 << 20 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct node_stage stage;
static struct filter_document document;

static void expect(const char *what, const char *why)
{
    struct health health = {0};

    node_tell_health(stage.node, &health);
    expect_health(&health, what, why);
}

static void hand(void)
{
    node_stage_document(&stage, 5, "urls", &rule, 3, &document);
    node_stage_hand(&stage, &document);
}

Test(node_health, before_it_is_confirmed_it_is_not_ready)
{
    node_stage_init_disk(&stage);
    node_stage_start(&stage);
    node_stage_settle(&stage);
    expect("boot", "no coordinator has confirmed this start");
    node_stage_end(&stage, STAGE_END_KILL);
    cr_assert_eq(node_stage_open(&stage), 0);
    expect(NULL, NULL);
    node_stage_fini_disk(&stage);
}

Test(node_health, replicas_that_are_built_do_not_count_yet)
{
    node_stage_init(&stage, ROOM);
    node_stage_register(&stage);
    expect(NULL, NULL);
    hand();
    expect("replicas", "0 of 1 slot groups here are FULL");
    node_stage_build(&stage);
    expect(NULL, NULL);
    document_fini(&document);
    node_stage_fini(&stage);
}

Test(node_health, a_filter_without_room_is_missed)
{
    node_stage_init(&stage, NO_ROOM);
    node_stage_register(&stage);
    node_stage_document(&stage, 5, "urls", &rule, 3, &document);
    document.generations[0].geometry.lines *= 4096;
    node_stage_hand(&stage, &document);
    expect("filters", "1 filters can't be held");
    document_fini(&document);
    node_stage_fini(&stage);
}

/* It has failed: nothing else of it matters, and it is told all the same. */
Test(node_health, a_log_that_can_not_be_written_is_told_first)
{
    struct health health = {0};
    uint64_t keys[10];

    node_stage_init_disk(&stage);
    cr_assert_eq(node_stage_open(&stage), 0);
    node_stage_filter(&stage, 5, DURABILITY_SYNC, &document);
    memory_disk_fail_after(stage.disk, 0);
    sample_fingerprints(&document, 0, 1, 10, keys);
    cr_assert_neq(node_stage_add(&stage, &document, keys, 10), STATUS_OK);
    cr_assert(node_failed(stage.node));
    node_tell_health(stage.node, &health);
    cr_expect_geq(health.count, 1);
    cr_expect_str_eq(health.reasons[0].what, "log");
    document_fini(&document);
    memory_disk_fail_after(stage.disk, MEMORY_DISK_NEVER);
    node_stage_end(&stage, STAGE_END_KILL);
    node_stage_fini_disk(&stage);
}
