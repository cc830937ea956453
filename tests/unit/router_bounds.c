/* Coalescing, bounds, strangers, and what only shows after a long time or with many nodes. */
#include "base/heap.h"
#include "proto/signed_document.h"
#include "router/private.h"
#include "tests/support/random.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { KEYS = 3, ALL = (1 << KEYS) - 1, MANY = 192, STRANGER = 9 };

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

static void open_stage(void)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
}

/* Hand in a request without a turn: what is ready in one turn leaves together. Memory runs out
 * after `allocations`. */
static void receive_failing(uint32_t peer, const struct client_request *request,
                            unsigned allocations)
{
    struct frame frame = {.kind = FRAME_CLIENT_REQUEST, .body.client_request = *request};
    struct peer from = fake_peer(peer);
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    heap_fault_after(allocations);
    stage.actor.on_request(stage.actor.self, stage.now_us, &from, buffer_span(&bytes));
    heap_fault_clear();
    buffer_fini(&bytes);
}

static void receive(uint32_t peer, const struct client_request *request)
{
    receive_failing(peer, request, UINT32_MAX);
}

Test(router_bounds, two_requests_of_one_turn_leave_in_one_message_a_node)
{
    struct client_request one = router_stage_request(OPERATION_ADD, 1, KEYS);
    struct client_request two = router_stage_request(OPERATION_ADD, 2, KEYS);

    open_stage();
    receive(1, &one);
    receive(2, &two);
    cr_assert_eq(stage.fake.nframes, stage.fake.ntaken, "nothing leaves before the turn");
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 0);
    router_stage_pass(&stage, 10000);
    cr_assert_eq(router_stage_open(&stage), 3, "one message a node");
    cr_assert_eq(stage.asked[0].nsubrequests, 2);
    cr_assert_eq(router_stage_counter(&stage, "node_requests_total"), 3);
    cr_assert_eq(router_stage_counter(&stage, "segments_total"), 6);
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    cr_assert_eq(stage.ntold, 2, "both clients are answered");
    cr_assert_neq(memcmp(&stage.told[0].peer, &stage.told[1].peer, sizeof(struct peer)), 0);
    router_stage_fini(&stage);
}

Test(router_bounds, an_empty_key_is_refused)
{
    uint32_t lengths[KEYS] = {1, 0, 2};
    struct client_request request = router_stage_request(OPERATION_ADD, 1, KEYS);
    struct router_told told;

    open_stage();
    request.lengths = lengths;
    router_stage_send(&stage, 1, &request);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_INVALID);
    cr_assert_not_null(strstr(told.message, "empty"));
    cr_assert_eq(router_stage_open(&stage), 0);
    router_stage_fini(&stage);
}

/* Nothing asked is answered with nothing, over one slot group as over many. */
Test(router_bounds, an_empty_batch_is_answered)
{
    for (uint32_t nnodes = 3; nnodes <= 4; nnodes++) {
        for (enum operation operation = OPERATION_CHECK; operation <= OPERATION_ADD; operation++) {
            struct client_request request = router_stage_request(operation, 1, 0);
            struct router_told told;

            router_stage_init(&stage, &rule, nnodes, WHEN_UNAVAILABLE_ERROR);
            router_stage_send(&stage, 1, &request);
            told = router_stage_told(&stage);
            cr_assert_eq(told.status, STATUS_OK, "%u nodes", nnodes);
            cr_assert_eq(told.count, 0);
            router_stage_fini(&stage);
        }
    }
}

/* A bound on bytes in flight, given back with the answers. */
Test(router_bounds, too_much_in_flight_is_overloaded)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, 50);
    size_t refused_at = 0;

    open_stage();
    for (uint64_t sequence = 1; refused_at == 0; sequence++) {
        cr_assert_lt(sequence, 2000, "no bound");
        request.op.sequence = sequence;
        stage.nasked = 0;
        router_stage_send(&stage, 1, &request);
        refused_at = stage.ntold > 0 ? sequence : 0;
    }
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OVERLOADED);
    cr_assert_eq(router_stage_counter(&stage, "overloaded_total"), 1);
    cr_assert_gt(router_stage_counter(&stage, "inflight_bytes"), ROUTER_STAGE_MAX_INFLIGHT / 2);
    stage.fake.deaf = true;
    stage.actor.time(stage.actor.self, stage.now_us + 60000000);
    stage.fake.deaf = false;
    cr_assert_eq(router_stage_counter(&stage, "inflight_bytes"), 0, "all at their deadlines");
    router_stage_fini(&stage);
}

/* Requests that wait for the coordinator count as in flight, too, and questions are refused like
 * adds and checks. */
Test(router_bounds, too_much_that_waits_is_overloaded)
{
    static uint8_t key[60000];
    const uint32_t length = sizeof key;
    struct client_request request = router_stage_request(OPERATION_ADD, 1, 1);
    struct frame question = {.kind = FRAME_INFO_REQUEST,
                             .body.info_request = {.filter = "nobody", .timeout_ms = 5000}};
    uint64_t sent = 0;

    open_stage();
    request.filter = "nobody";
    request.keys = span_of(key, sizeof key);
    request.lengths = &length;
    while (stage.ntold == 0) {
        cr_assert_lt(++sent, 100, "no bound");
        request.op.sequence = sent;
        router_stage_send(&stage, 1, &request);
    }
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OVERLOADED);
    cr_assert_gt(sent, ROUTER_STAGE_MAX_INFLIGHT / sizeof key / 2);
    for (int i = 0; i <= ROUTER_MAX_WAITING && stage.ntold == 0; i++) {
        router_stage_send_frame(&stage, 2, &question);
    }
    cr_assert_eq(stage.ntold, 1, "there is a place for each");
    cr_assert_eq(stage.told[0].kind, FRAME_INFO_REPLY, "a question is refused, not forgotten");
    cr_assert_eq(stage.told[0].status, STATUS_OVERLOADED);
    router_stage_pass(&stage, 5100000);
    cr_assert_eq(router_stage_counter(&stage, "inflight_bytes"), 0, "given back");
    router_stage_fini(&stage);
}

Test(router_bounds, refuses_and_counts_garbage_and_answers_no_bad_answers)
{
    uint64_t state = 1;
    uint8_t bytes[200];
    uint64_t refused;

    open_stage();
    for (int round = 0; round < 200; round++) {
        size_t size = random_below(&state, sizeof bytes);

        for (size_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t)random_next(&state);
        }
        fake_request_bytes(&stage.actor, stage.now_us, STRANGER, span_of(bytes, size));
    }
    fake_forget(&stage.fake);
    refused = router_stage_counter(&stage, "malformed_total") +
              router_stage_counter(&stage, "version_total");
    cr_assert_eq(refused, 200);
    fake_request(&stage.actor, stage.now_us, STRANGER,
                 &(struct frame){.kind = FRAME_HINT, .body.hint = {.change = 1}});
    fake_request(&stage.actor, stage.now_us, STRANGER,
                 &(struct frame){.kind = FRAME_STATS_REQUEST, .version = 99});
    stage.fake.ntaken = stage.fake.nframes;
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link,
                &(struct frame){.kind = FRAME_STATS_REQUEST});
    cr_assert_eq(stage.fake.ntaken, stage.fake.nframes, "an answer is not answered");
    cr_assert_eq(router_stage_counter(&stage, "malformed_total") +
                     router_stage_counter(&stage, "version_total"),
                 203);
    router_stage_fini(&stage);
}

/* Node replies that answer nothing that was asked. */
Test(router_bounds, invented_tags_are_late_and_change_nothing)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, KEYS);
    uint64_t state = 3;

    open_stage();
    router_stage_send(&stage, 1, &request);
    for (int round = 0; round < 1000; round++) {
        uint64_t plane = ALL;
        struct subrequest_reply reply = {.tag = random_next(&state) >> random_below(&state, 64),
                                         .epoch = 1,
                                         .epoch_hash = stage.document.epoch_hash,
                                         .state = REPLICA_FULL,
                                         .count = KEYS,
                                         .present = &plane,
                                         .absent = &plane};
        struct frame frame = {.kind = FRAME_NODE_REPLY};

        if (reply.tag == router_stage_asked(&stage, 1)->subrequests[0].tag) {
            continue;
        }
        frame.body.node_reply = (struct node_reply){
            .node_id = 9, .subrequests = &reply, .nsubrequests = 1};
        fake_answer(&stage.actor, stage.now_us, router_stage_asked(&stage, 1)->link, &frame);
    }
    router_stage_pass(&stage, 0);
    cr_assert_eq(stage.ntold, 0);
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    router_stage_fini(&stage);
}

/* Of a true tag another seat, which the filter's three replicas do not have: nobody sits there. */
Test(router_bounds, a_seat_that_is_not_there_has_no_vote)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, KEYS);
    uint32_t lengths[MANY];
    char keys[MANY];
    const uint64_t plane[MANY / 64] = {1, 1, 1};
    const struct router_asked *asked;

    memset(keys, 'k', sizeof keys);
    for (uint32_t i = 0; i < MANY; i++) {
        lengths[i] = 1;
    }
    request.keys = span_of(keys, MANY);
    request.lengths = lengths;
    request.count = MANY;
    open_stage();
    router_stage_send(&stage, 1, &request);
    asked = router_stage_asked(&stage, 1);
    for (uint64_t seat = rule.replicas; seat < 16; seat++) {
        struct subrequest_reply reply = {.tag = (asked->subrequests[0].tag & ~UINT64_C(15)) | seat,
                                         .epoch = stage.document.epoch,
                                         .epoch_hash = stage.document.epoch_hash,
                                         .state = REPLICA_FULL,
                                         .count = MANY,
                                         .present = plane,
                                         .absent = plane};
        struct frame frame = {.kind = FRAME_NODE_REPLY};

        frame.body.node_reply = (struct node_reply){.subrequests = &reply, .nsubrequests = 1};
        fake_answer(&stage.actor, stage.now_us, asked->link, &frame);
    }
    cr_assert_eq(stage.fake.nframes, stage.fake.ntaken, "and nothing is decided");
    cr_assert_eq(router_stage_counter(&stage, "late_total"), 16 - rule.replicas);
    router_stage_fini(&stage);
}

/* Node 1 lives, and answers what is asked while it does. */
static void live(uint32_t link, unsigned intervals)
{
    const struct frame alive = {.kind = FRAME_INFO_REPLY, .body.info_reply = {.message = ""}};

    for (unsigned i = 0; i < intervals; i++) {
        router_stage_pass(&stage, ROUTER_STAGE_RETRY_US);
        fake_answer(&stage.actor, stage.now_us, link, &alive);
    }
}

/* It restarts now and then, so quickly that its link stays, and what was under way to it is lost.
 */
Test(router_bounds, what_was_lost_is_not_in_flight_for_ever)
{
    uint64_t suspects;
    uint32_t link;

    open_stage();
    stage.router->config.max_inflight_bytes = 16 << 10;
    backend_of(stage.router, 1)->flight = flight_begin(16 << 10);
    link = backend_of(stage.router, 1)->link;
    for (uint64_t sequence = 1; sequence <= 100; sequence++) {
        struct client_request request = router_stage_request(OPERATION_ADD, sequence, 50);

        router_stage_send(&stage, 1, &request);
        router_stage_vote(&stage, 2, 'a');
        router_stage_vote(&stage, 3, 'a');
        cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
        live(link, sequence % 10 == 0 ? 30 : 1);
    }
    cr_assert_eq(router_stage_counter(&stage, "backend_overloaded_total"), 0);
    live(link, 60);
    suspects = router_stage_counter(&stage, "suspects_total");
    live(link, 60);
    cr_assert_eq(router_stage_counter(&stage, "suspects_total"), suspects,
                 "nothing is asked of it");
    router_stage_fini(&stage);
}

static struct flight *flight_to(uint32_t node)
{
    return &backend_of(stage.router, node)->flight;
}

static void answer_late(const struct router_asked *asked)
{
    const struct frame frame = {.kind = FRAME_NODE_REPLY,
                                .correlation = asked->correlation,
                                .body.node_reply = {.node_id = asked->node}};

    fake_answer(&stage.actor, stage.now_us, asked->link, &frame);
}

/* The answer comes after its message was given up, and more than once: what was sent since is as
 * much in flight as before. */
Test(router_bounds, a_late_answer_gives_back_nothing_of_others)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, 50);
    struct router_asked first;
    uint64_t bytes;

    open_stage();
    request.timeout_ms = 100;
    router_stage_send(&stage, 1, &request);
    router_stage_pass(&stage, 1);
    first = *router_stage_asked(&stage, 1);
    bytes = flight_to(1)->bytes;
    cr_assert_gt(bytes, 0);
    live(first.link, 60);
    cr_assert_eq(flight_to(1)->bytes, 0, "it was given up");
    request.op.sequence = 2;
    request.timeout_ms = 5000;
    router_stage_send(&stage, 1, &request);
    router_stage_pass(&stage, 1);
    cr_assert_eq(flight_to(1)->bytes, bytes);
    answer_late(&first);
    cr_assert_eq(flight_to(1)->bytes, bytes, "the second one's");
    first = *router_stage_asked(&stage, 1);
    answer_late(&first);
    cr_assert_eq(flight_to(1)->bytes, 0);
    answer_late(&first);
    cr_assert_eq(flight_to(1)->bytes, 0, "once");
    router_stage_fini(&stage);
}

/* Of a node that has no room: as soon as it may have some, and then less and less often. */
Test(router_bounds, what_finds_no_room_is_tried_again_soon)
{
    static const uint64_t first_us = 10000;
    struct client_request request = router_stage_request(OPERATION_ADD, 1, 50);
    uint64_t refused;
    uint64_t tried;

    open_stage();
    *flight_to(1) = flight_begin(600);
    router_stage_send(&stage, 1, &request);
    router_stage_pass(&stage, 1);
    cr_assert_not_null(router_stage_asked(&stage, 1));
    request.op.sequence = 2;
    router_stage_send(&stage, 2, &request);
    refused = router_stage_counter(&stage, "backend_overloaded_total");
    cr_assert_eq(refused, 1, "the second one has no room");
    router_stage_pass(&stage, first_us / 2);
    cr_assert_eq(router_stage_counter(&stage, "backend_overloaded_total"), refused, "not at once");
    router_stage_pass(&stage, first_us);
    cr_assert_eq(router_stage_counter(&stage, "backend_overloaded_total"), refused + 1);
    router_stage_pass(&stage, ROUTER_STAGE_RETRY_US - 2 * first_us);
    tried = router_stage_counter(&stage, "backend_overloaded_total") - refused;
    cr_assert_geq(tried, 3, "%zu", (size_t)tried);
    cr_assert_leq(tried, 4, "less and less often: %zu", (size_t)tried);
    router_stage_fini(&stage);
}

/* ... and it is asked in that moment, not after the time that a silent node has. */
Test(router_bounds, what_found_no_room_is_asked_once_there_is_some)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, 50);

    open_stage();
    *flight_to(1) = flight_begin(600);
    router_stage_send(&stage, 1, &request);
    router_stage_pass(&stage, 1);
    request.op.sequence = 2;
    router_stage_send(&stage, 2, &request);
    router_stage_pass(&stage, 1);
    router_stage_vote(&stage, 1, 'a');
    cr_assert_null(router_stage_asked(&stage, 1));
    router_stage_pass(&stage, ROUTER_STAGE_RETRY_US / 4);
    cr_assert_not_null(router_stage_asked(&stage, 1));
    router_stage_fini(&stage);
}

/* Tags hold the low bits of a counter of operations: it wraps, the router must not. */
Test(router_bounds, goes_on_after_billions_of_operations)
{
    open_stage();
    stage.router->round = (UINT64_C(1) << 33) - 3;
    for (uint64_t sequence = 1; sequence <= 6; sequence++) {
        struct client_request request = router_stage_request(OPERATION_ADD, sequence, KEYS);

        router_stage_send(&stage, 1, &request);
        router_stage_vote(&stage, 1, 'a');
        router_stage_vote(&stage, 2, 'a');
        cr_assert_eq(router_stage_told(&stage).status, STATUS_OK, "operation %d", (int)sequence);
        router_stage_vote(&stage, 3, 'a');
    }
    router_stage_fini(&stage);
}

/* One reply, two subrequests: the first starts its operation over on nodes never asked before, the
 * second needs the document. The place that describes the replying node must not move. */
Test(router_bounds, a_reply_outlives_new_links_made_while_it_is_read)
{
    struct subrequest_reply replies[2];
    struct frame frame = {.kind = FRAME_NODE_REPLY};
    struct router_asked *asked;
    struct buffer bytes;
    struct span item;
    struct client_request one = router_stage_request(OPERATION_ADD, 1, KEYS);
    struct client_request two = router_stage_request(OPERATION_ADD, 2, KEYS);

    router_stage_init(&stage, &rule, 16, WHEN_UNAVAILABLE_ERROR);
    receive(1, &one);
    receive(1, &two);
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 6000);
    asked = &stage.asked[0];
    cr_assert_geq(asked->nsubrequests, 2);
    for (uint32_t group = 0; group < stage.document.content.ngroups; group++) {
        for (uint32_t slot = 0; slot < 3; slot++) {
            struct member *member = &stage.document.content.groups[group].slots[slot].current;

            member->node = 17 - member->node;
            member->incarnation = SAMPLE_INCARNATION + member->node;
        }
    }
    document_epoch_advance(&stage.document);
    sample_sign(&stage.document, sample_key(), &bytes);
    item = buffer_span(&bytes);
    for (size_t i = 0; i < 2; i++) {
        replies[i] = (struct subrequest_reply){.tag = asked->subrequests[i].tag,
                                               .status = STATUS_NEED_DOC};
    }
    frame.body.node_reply = (struct node_reply){.node_id = asked->node,
                                                .subrequests = replies,
                                                .nsubrequests = 2,
                                                .documents = &item,
                                                .ndocuments = 1};
    fake_answer(&stage.actor, stage.now_us, asked->link, &frame);
    buffer_fini(&bytes);
    router_stage_fini(&stage);
}

Test(router_bounds, creation_survives_the_failure_of_every_allocation)
{
    enum status status = STATUS_NOMEM;
    struct router_config config = {.name = "r", .key = *sample_key()};
    struct fake_effects fake;

    fake_init(&fake);
    for (unsigned n = 0; status == STATUS_NOMEM; n++) {
        struct router *router = NULL;
        size_t before = heap_live();

        heap_fault_after(n);
        status = router_create(&config, &fake.effects, &router);
        heap_fault_clear();
        cr_assert_eq(router == NULL, status != STATUS_OK);
        router_destroy(&router);
        cr_assert_eq(heap_live(), before);
    }
    cr_assert_eq(status, STATUS_OK);
    fake_fini(&fake);
}

/* At whatever allocation an operation fails: the client is told, nothing leaks, the next works. */
Test(router_bounds, an_operation_survives_the_failure_of_every_allocation)
{
    for (unsigned n = 0; n < 25; n++) {
        struct client_request request = router_stage_request(OPERATION_ADD, 1, 40);

        router_stage_init(&stage, &rule, 4, WHEN_UNAVAILABLE_ERROR);
        receive_failing(1, &request, n);
        stage.actor.turn(stage.actor.self, stage.now_us);
        router_stage_pass(&stage, 5100000);
        cr_assert_leq(stage.ntold, 1, "allocation %u", n);
        stage.ntold = 0;
        stage.nasked = 0;
        request.op.sequence = 2;
        router_stage_send(&stage, 1, &request);
        for (uint32_t node = 1; node <= 4 && stage.ntold == 0; node++) {
            router_stage_vote(&stage, node, 'a');
        }
        cr_assert_eq(router_stage_told(&stage).status, STATUS_OK, "allocation %u", n);
        router_stage_fini(&stage);
        cr_assert_eq(heap_live(), 0, "allocation %u leaks", n);
    }
}

/* With more under way others need the core: see router.c. */
Test(router_bounds, answers_are_awaited_on_the_core_while_few_are_under_way)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    cr_assert_not(stage.actor.awaits(stage.actor.self), "nothing is under way");
    for (uint64_t sequence = 1; sequence <= 3; sequence++) {
        struct client_request request = router_stage_request(OPERATION_CHECK, sequence, 1);

        router_stage_send(&stage, 1, &request);
        cr_assert_eq(stage.actor.awaits(stage.actor.self), sequence <= 2, "%d under way",
                     (int)sequence);
    }
    router_stage_fini(&stage);
}

/* Only little is kept from one operation to the next, however many there were at once. */
Test(router_bounds, a_place_keeps_little_memory)
{
    static const struct {
        size_t bytes;
        uint32_t place;
        bool kept;
    } cases[] = {{4096, 0, true}, {4097, 0, false}, {64, 4095, true}, {64, 4096, false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct op_memory memory = {.block = heap_alloc(cases[i].bytes, 1), .bytes = cases[i].bytes};

        memory = op_memory_keep(memory, cases[i].place);
        cr_assert_eq(memory.block != NULL, cases[i].kept, "case %zu", i);
        cr_assert_eq(memory.bytes, cases[i].kept ? cases[i].bytes : 0);
        heap_free(memory.block);
    }
    cr_assert_eq(heap_live(), 0);
}

/* As a coordinator tells it: node 2 has moved. */
static void move_node(void)
{
    struct node_list list;
    struct frame frame = {.kind = FRAME_SYNC_REPLY, .correlation = stage.sync};
    struct buffer bytes;
    struct span item;

    cr_assert_eq(node_list_copy(&stage.router->documents.nodes, &list), STATUS_OK);
    list.revision++;
    (void)snprintf(list.nodes[1].endpoint, sizeof list.nodes[1].endpoint, "tcp://node-2:7001");
    buffer_init(&bytes, DOCUMENT_MAX_BYTES);
    cr_assert_eq(codec_node_list_sign(&list, sample_key(), &bytes), STATUS_OK);
    item = buffer_span(&bytes);
    frame.body.sync_reply = (struct sync_reply){
        .message = "", .change = 2, .documents = &item, .ndocuments = 1};
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &frame);
    buffer_fini(&bytes);
    node_list_fini(&list);
}

/* Not for every part of every request: only a newer list of nodes can change it. */
Test(router_bounds, where_a_node_is_is_worked_out_once_a_list)
{
    struct client_request request = router_stage_request(OPERATION_ADD, 1, KEYS);
    char *endpoint;
    uint32_t nlinks;

    open_stage();
    nlinks = stage.fake.nlinks;
    endpoint = stage.router->documents.nodes.nodes[1].endpoint;
    endpoint[strlen(endpoint) - 1] = '9'; /* Not so in life: it shows whether somebody looks. */
    router_stage_send(&stage, 1, &request);
    stage.actor.turn(stage.actor.self, stage.now_us);
    cr_assert_eq(stage.fake.nlinks, nlinks);
    endpoint[strlen(endpoint) - 1] = '0';
    move_node();
    cr_assert_eq(stage.fake.nlinks, nlinks + 1);
    cr_assert_str_eq(stage.fake.endpoints[nlinks], "tcp://node-2:7001");
    router_stage_send(&stage, 2, &request);
    stage.actor.turn(stage.actor.self, stage.now_us);
    cr_assert_eq(stage.fake.nlinks, nlinks + 1);
    router_stage_fini(&stage);
}
