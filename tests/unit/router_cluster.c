/* A router keeps to the cluster whose filters it knows. */
#include "proto/signed_document.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

/* A coordinator of that cluster tells a newer node list; was it taken? */
static bool takes_list(const struct cluster_id *cluster, uint64_t revision)
{
    uint64_t taken = router_stage_counter(&stage, "documents_taken_total");
    struct frame frame = {.kind = FRAME_SYNC_REPLY, .correlation = stage.sync};
    struct buffer record;
    struct buffer nodes;
    struct span item;

    buffer_init(&record, 1024);
    cr_assert_eq(codec_cluster_sign(cluster, sample_key(), &record), STATUS_OK);
    sample_node_list(3, revision, sample_key(), &nodes);
    item = buffer_span(&nodes);
    frame.body.sync_reply = (struct sync_reply){.message = "",
                                                .change = revision,
                                                .documents = &item,
                                                .ndocuments = 1,
                                                .cluster = buffer_span(&record)};
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &frame);
    buffer_fini(&nodes);
    buffer_fini(&record);
    return router_stage_counter(&stage, "documents_taken_total") != taken;
}

/* The same ids are other filters there, under other secrets. */
Test(router_cluster, what_another_cluster_has_is_not_taken)
{
    const struct cluster_id another = cluster_id_make(1, 2);

    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    cr_assert(takes_list(sample_cluster(), 10));
    cr_assert_not(takes_list(&another, 11));
    cr_assert(takes_list(sample_cluster(), 12));
    router_stage_fini(&stage);
}
