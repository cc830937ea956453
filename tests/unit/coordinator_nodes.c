/* Registration of nodes, what is handed to whom, and what strangers send. */
#include "base/heap.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { STRANGER = 800, ROUTER_PEER = 801 };

static struct memory_store store;
static struct coordinator_stage stage;
static struct coordinator_stage other;

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

/* Whoever can't sign with the cluster key would get replicas that it can never hold. */
Test(coordinator_nodes, without_the_cluster_key_nobody_registers)
{
    struct frame frame = {.kind = FRAME_SYNC_REQUEST};

    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    frame.body.sync_request = coordinator_stage_node(1);
    frame.body.sync_request.mac[0] ^= 1;
    fake_request(&stage.actor, stage.now_us, 1, &frame);
    fake_forget(&stage.fake);
    cr_assert_eq(coordinator_stage_counter(&stage, "registrations_total"), 0);
    cr_assert_eq(coordinator_stage_counter(&stage, "registrations_refused_total"), 1);
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

Test(coordinator_nodes, ids_are_given_once_and_kept)
{
    open_stage();
    for (uint32_t n = 1; n <= 3; n++) {
        struct sync_request request = coordinator_stage_node(n);

        cr_assert_eq(coordinator_stage_sync(&stage, n, &request).node_id, n);
        cr_assert_eq(coordinator_stage_sync(&stage, n, &request).node_id, n);
        request.incarnation += 1000;
        cr_assert_eq(coordinator_stage_sync(&stage, n, &request).node_id, n, "restarted");
    }
    cr_assert_eq(coordinator_stage_counter(&stage, "registrations_total"), 6);
    close_stage();
}

/* Two living processes under one name: the one heard first keeps it. */
Test(coordinator_nodes, a_name_in_use_is_refused)
{
    struct sync_request first = coordinator_stage_node(1);
    struct sync_request second = coordinator_stage_node(2);
    struct coordinator_synced synced;

    open_stage();
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &first).status, STATUS_OK);
    second.name = first.name;
    synced = coordinator_stage_sync(&stage, 2, &second);
    cr_assert_eq(synced.status, STATUS_EXISTS);
    cr_assert_not_null(strstr(synced.message, first.endpoint), "%s", synced.message);
    cr_assert_eq(coordinator_stage_counter(&stage, "registrations_refused_total"), 0,
                 "it may have moved");
    stage.now_us += 1000000;
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &first).status, STATUS_OK);
    cr_assert_eq(coordinator_stage_sync(&stage, 2, &second).status, STATUS_EXISTS);
    cr_assert_eq(coordinator_stage_counter(&stage, "registrations_refused_total"), 1);
    stage.now_us += 20000000;
    cr_assert_eq(coordinator_stage_sync(&stage, 2, &second).status, STATUS_OK,
                 "the first one is gone");
    close_stage();
}

/* Each time it is refused until its former place has not been heard of for the time-out. */
Test(coordinator_nodes, a_node_that_moves_is_not_counted_as_refused)
{
    struct sync_request request = coordinator_stage_node(1);
    const char *const places[] = {request.endpoint, coordinator_stage_node(2).endpoint};

    open_stage();
    for (uint32_t i = 0; i < 4; i++) {
        request.endpoint = places[i % 2];
        request.incarnation++;
        if (i > 0) {
            cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_EXISTS);
            stage.now_us += 20000000;
        }
        cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_OK);
        stage.now_us += 1000000;
        cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_OK);
    }
    cr_assert_eq(coordinator_stage_counter(&stage, "registrations_refused_total"), 0);
    close_stage();
}

/* Nothing is wrong with the node. */
Test(coordinator_nodes, a_store_that_fails_is_not_counted_as_a_refusal)
{
    struct sync_request request = coordinator_stage_node(1);
    struct sync_request stranger = coordinator_stage_node(2);

    open_stage();
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_OK);
    store.broken = true;
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_IO);
    cr_assert_eq(coordinator_stage_sync(&stage, 2, &stranger).status, STATUS_IO);
    cr_assert_eq(coordinator_stage_counter(&stage, "registrations_refused_total"), 0);
    store.broken = false;
    close_stage();
}

Test(coordinator_nodes, malformed_labels_are_refused)
{
    struct sync_request request = coordinator_stage_node(1);

    open_stage();
    request.name = "no blanks";
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_INVALID);
    request = coordinator_stage_node(1);
    request.host = "";
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_INVALID);
    request = coordinator_stage_node(1);
    request.endpoint = "ipc:///tmp/x";
    cr_assert_eq(coordinator_stage_sync(&stage, 1, &request).status, STATUS_INVALID);
    close_stage();
}

static void register_at_other(void *context)
{
    struct sync_request request = coordinator_stage_node(2);

    (void)context;
    cr_assert_eq(coordinator_stage_sync(&other, 2, &request).status, STATUS_OK);
}

/* A lost compare-and-swap is tried again on what the winner wrote: nobody is lost. */
Test(coordinator_nodes, two_coordinators_register_two_nodes_at_once)
{
    struct sync_request request = coordinator_stage_node(1);
    struct coordinator_synced synced;

    open_stage();
    coordinator_stage_init(&other, &store.store);
    store.before_swap = register_at_other;
    synced = coordinator_stage_sync(&stage, 1, &request);
    cr_assert_eq(synced.status, STATUS_OK);
    cr_assert_eq(coordinator_stage_counter(&stage, "swap_conflicts_total"), 1);
    cr_assert_neq(synced.node_id, other.synced.node_id);
    coordinator_stage_fini(&other);
    close_stage();
}

/* Hash secrets go to routers, never to nodes. */
Test(coordinator_nodes, secrets_are_for_routers_only)
{
    struct sync_request node = coordinator_stage_node(1);
    struct sync_request router = {
        .role = SYNC_ROUTER, .name = "router-1", .endpoint = "", .host = "", .zone = ""};
    struct coordinator_synced synced;

    open_stage();
    coordinator_stage_make_filter(&stage);
    synced = coordinator_stage_sync(&stage, 1, &node);
    cr_assert_eq(synced.ndocuments, 2, "filter and node list");
    cr_assert_eq(synced.nsecrets, 0);
    synced = coordinator_stage_sync(&stage, ROUTER_PEER, &router);
    cr_assert_eq(synced.ndocuments, 2);
    cr_assert_eq(synced.nsecrets, 1);
    router.since = synced.change;
    synced = coordinator_stage_sync(&stage, ROUTER_PEER, &router);
    cr_assert_eq(synced.ndocuments + synced.nsecrets, 0, "nothing new");
    router.since = UINT64_MAX;
    synced = coordinator_stage_sync(&stage, ROUTER_PEER, &router);
    cr_assert_eq(synced.ndocuments, 2, "a number of another store: everything");
    close_stage();
}

/* A document may have changed long after its secret, and a router that has only now been started,
 * or has lost its memory of the secret, can't serve the one without the other. */
Test(coordinator_nodes, a_changed_document_goes_to_routers_with_its_secret)
{
    struct sync_request router = {
        .role = SYNC_ROUTER, .name = "router-1", .endpoint = "", .host = "", .zone = ""};
    struct admin_request drop = coordinator_stage_drop();
    struct coordinator_synced synced;

    open_stage();
    coordinator_stage_make_filter(&stage);
    router.since = coordinator_stage_sync(&stage, ROUTER_PEER, &router).change;
    coordinator_stage_command(&stage, 1, &drop); /* "dropping": the document alone changes */
    synced = coordinator_stage_sync(&stage, ROUTER_PEER, &router);
    cr_assert_eq(synced.ndocuments, 1);
    cr_assert_eq(synced.nsecrets, 1);
    close_stage();
}

Test(coordinator_nodes, status_lists_what_there_is)
{
    struct admin_request status = {.action = ADMIN_STATUS, .name = "", .timeout_ms = 1000};
    struct coordinator_told told;

    open_stage();
    coordinator_stage_make_filter(&stage);
    coordinator_stage_command(&stage, 5, &status);
    told = coordinator_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OK);
    cr_assert_eq(told.nnodes, 3);
    cr_assert_eq(told.nfilters, 1);
    status.name = "nobody";
    coordinator_stage_command(&stage, 6, &status);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_NOT_FOUND);
    close_stage();
}

/* A store signed with another key is not ours to serve. */
Test(coordinator_nodes, a_store_of_another_cluster_is_refused)
{
    struct coordinator_config config = {.name = "c", .key = *sample_foreign_key()};
    struct coordinator *stranger = NULL;
    struct fake_effects fake;

    open_stage();
    coordinator_stage_make_filter(&stage);
    fake_init(&fake);
    cr_assert_eq(coordinator_create(&config, &fake.effects, &store.store, &stranger),
                 STATUS_UNAUTHENTIC);
    cr_assert_null(stranger);
    fake_fini(&fake);
    close_stage();
}

Test(coordinator_nodes, refuses_and_counts_garbage_and_answers_no_bad_answers)
{
    uint64_t state = 1;
    uint8_t bytes[200];

    open_stage();
    for (int round = 0; round < 200; round++) {
        size_t size = random_below(&state, sizeof bytes);

        for (size_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t)random_next(&state);
        }
        fake_request_bytes(&stage.actor, stage.now_us, STRANGER, span_of(bytes, size));
    }
    fake_request(&stage.actor, stage.now_us, STRANGER,
                 &(struct frame){.kind = FRAME_FENCE_REPLY, .body.fence_reply = {.node_id = 1}});
    fake_forget(&stage.fake);
    fake_answer(&stage.actor, stage.now_us, 1, &(struct frame){.kind = FRAME_STATS_REQUEST});
    cr_assert_eq(stage.fake.ntaken, stage.fake.nframes, "an answer is not answered");
    cr_assert_eq(coordinator_stage_counter(&stage, "malformed_total") +
                     coordinator_stage_counter(&stage, "version_total"),
                 202);
    close_stage();
}

/* A fence reply that nobody asked for proves nothing. */
Test(coordinator_nodes, an_unasked_fence_reply_is_void)
{
    open_stage();
    coordinator_stage_make_filter(&stage);
    fake_answer(&stage.actor, stage.now_us, 1,
                &(struct frame){.kind = FRAME_FENCE_REPLY,
                                .body.fence_reply = {.status = STATUS_OK,
                                                     .filter_id = 1,
                                                     .epoch = 9,
                                                     .node_id = 1,
                                                     .incarnation = SAMPLE_INCARNATION + 1}});
    fake_answer(&stage.actor, stage.now_us, 1,
                &(struct frame){.kind = FRAME_FENCE_REPLY,
                                .body.fence_reply = {.status = STATUS_OK, .filter_id = 99}});
    cr_assert_eq(coordinator_stage_counter(&stage, "fences_void_total"), 2);
    close_stage();
}

Test(coordinator_nodes, creation_survives_the_failure_of_every_allocation)
{
    enum status status = STATUS_NOMEM;
    struct coordinator_config config = {.name = "c", .key = *sample_key()};
    struct fake_effects fake;

    open_stage();
    coordinator_stage_make_filter(&stage);
    fake_init(&fake);
    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        struct coordinator *coordinator = NULL;
        size_t before = heap_live();

        heap_fault_after(n);
        status = coordinator_create(&config, &fake.effects, &store.store, &coordinator);
        heap_fault_clear();
        cr_assert_eq(coordinator == NULL, status != STATUS_OK);
        coordinator_destroy(&coordinator);
        cr_assert_eq(heap_live(), before);
    }
    cr_assert_eq(status, STATUS_OK);
    fake_fini(&fake);
    close_stage();
}
