/* Pages of a dump: the union of what N - W + 1 FULL replicas have, under one epoch, or nothing. And
 * filters that are made of one: closed to clients until all of it is there. */
#include "map/dump.h"
#include "router/private.h"
#include "tests/support/router_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_QUESTIONS = 64, TIMEOUT_US = 5000000, SOURCE = 77, CLIENT = 1 };

#define STEP (UINT64_C(1) << DUMP_STEP_BITS)

static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
static struct router_stage stage;

/* What replicas were asked, and not answered yet. */
static struct question {
    uint32_t link;
    uint64_t correlation;
    struct pull_request request;
} questions[MAX_QUESTIONS];
static size_t nquestions;
static size_t nhanded;

/* The page that was told. */
static struct {
    int count;
    enum status status;
    char message[512];
    uint64_t next;
    size_t size;
    uint8_t bytes[DUMP_MAX_BYTES];
} page;

static void take_page(void *owner, const struct router_page *told)
{
    (void)owner;
    page.count++;
    page.status = told->status;
    page.next = told->next;
    page.size = told->bytes.size;
    (void)snprintf(page.message, sizeof page.message, "%s", told->message ? told->message : "");
    if (told->bytes.size > 0) {
        memcpy(page.bytes, told->bytes.data, told->bytes.size);
    }
}

static void collect(void)
{
    struct fake_sent sent;

    while (fake_take(&stage.fake, &sent)) {
        if (sent.frame.kind == FRAME_PULL_REQUEST) {
            cr_assert_lt(nquestions, MAX_QUESTIONS);
            questions[nquestions++] = (struct question){sent.link, sent.frame.correlation,
                                                        sent.frame.body.pull_request};
        } else if (sent.frame.kind == FRAME_SYNC_REQUEST) {
            stage.sync = sent.frame.correlation;
            stage.nsyncs++;
        } else if (sent.frame.kind == FRAME_DOCUMENTS) {
            nhanded++;
        }
    }
}

/* The document as it is now, from the coordinator. */
static void sync_document(void)
{
    struct frame frame = {.kind = FRAME_SYNC_REPLY, .correlation = stage.sync};
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct sealed_secret secret = {.filter_id = stage.document.id,
                                   .sealed = span_of(sealed, sizeof sealed)};
    struct buffer bytes;
    struct span item;

    sample_sealed_secret(stage.document.id, sealed);
    sample_sign(&stage.document, sample_key(), &bytes);
    item = buffer_span(&bytes);
    frame.body.sync_reply = (struct sync_reply){.message = "",
                                                .change = 1 + stage.document.revision,
                                                .documents = &item,
                                                .ndocuments = 1,
                                                .secrets = &secret,
                                                .nsecrets = 1};
    fake_answer(&stage.actor, stage.now_us, stage.coordinator_link, &frame);
    buffer_fini(&bytes);
}

static void begin(uint32_t nnodes)
{
    router_stage_init(&stage, &rule, nnodes, WHEN_UNAVAILABLE_ERROR);
    stage.document.durability = DURABILITY_SYNC;
    stage.document.revision++;
    sync_document();
    nquestions = 0;
    nhanded = 0;
}

static void end(void)
{
    router_stage_fini(&stage);
}

static void ask(uint64_t iterator)
{
    page.count = 0;
    router_dump(stage.router, stage.now_us,
                &(struct router_dump){.name = "urls",
                                      .iterator = iterator,
                                      .deadline_us = stage.now_us + TIMEOUT_US,
                                      .done = take_page});
    collect();
}

/* Time in which the test sees all that is sent. */
static void pass(uint64_t duration_us)
{
    for (uint64_t end_us = stage.now_us + duration_us; stage.now_us < end_us;) {
        stage.now_us += 1000;
        stage.actor.time(stage.actor.self, stage.now_us);
        collect();
    }
}

static struct question take_question(void)
{
    struct question question = questions[0];

    cr_assert_gt(nquestions, 0, "nobody is asked");
    memmove(questions, questions + 1, --nquestions * sizeof questions[0]);
    return question;
}

/* What the replica that was asked would say of these keys. */
static struct pull_reply reply_to(const struct question *question, const uint64_t *keys,
                                  size_t count)
{
    return (struct pull_reply){
        .kind = PULL_RANGES,
        .scope = question->request.scope,
        .source = question->request.source,
        .boot = 1,
        .state = REPLICA_FULL,
        .fence_epoch = stage.document.epoch,
        .from = question->request.from,
        .end = true,
        .view = 5,
        .fingerprints = keys,
        .count = count,
    };
}

static void answer(const struct question *question, const struct pull_reply *reply)
{
    struct frame frame = {
        .kind = FRAME_PULL_REPLY, .correlation = question->correlation, .body.pull_reply = *reply};

    fake_answer(&stage.actor, stage.now_us, question->link, &frame);
    collect();
}

static void tell(const uint64_t *keys, size_t count)
{
    struct question question = take_question();
    struct pull_reply reply = reply_to(&question, keys, count);

    answer(&question, &reply);
}

static void expect_chunk(uint64_t from, uint64_t to, const uint64_t *keys, size_t count)
{
    struct dump_chunk chunk;
    uint64_t *got = malloc((count + 1) * sizeof *got);

    cr_assert_eq(page.count, 1, "%d answers", page.count);
    cr_assert_eq(page.status, STATUS_OK, "%s", page.message);
    cr_assert_eq(dump_chunk_read(span_of(page.bytes, page.size), &chunk), STATUS_OK);
    cr_assert_eq(page.next, to);
    cr_assert_eq(chunk.from, from);
    cr_assert_eq(chunk.to, to);
    cr_assert_eq(chunk.count, count, "%zu keys", chunk.count);
    dump_chunk_unpack(&chunk, got);
    cr_assert_eq(memcmp(got, keys, count * sizeof *got), 0);
    free(got);
}

Test(router_dump, begins_with_what_the_filter_is)
{
    struct dump_header header;
    struct hash_secret secret;

    begin(3);
    ask(0);
    cr_assert_eq(page.status, STATUS_OK, "%s", page.message);
    cr_assert_eq(page.next, DUMP_FIRST);
    cr_assert_eq(dump_header_read(span_of(page.bytes, page.size), &header), STATUS_OK);
    sample_secret(&secret);
    cr_assert_eq(memcmp(&header.secret, &secret, sizeof secret), 0);
    cr_assert_eq(header.source, dump_source(&stage.document, &secret));
    cr_assert_eq(header.capacity, 10000);
    cr_assert_eq(header.max_capacity, 640000);
    cr_assert_eq(header.rule.write, 2);
    cr_assert_eq(nquestions, 0);
    ask(DUMP_END);
    cr_assert_eq(page.status, STATUS_OK);
    cr_assert_eq(page.next, 0, "the dump has ended");
    cr_assert_eq(page.size, 0);
    ask(DUMP_END + 1);
    cr_assert_eq(page.status, STATUS_INVALID);
    end();
}

Test(router_dump, a_page_is_the_union_of_enough_full_replicas)
{
    const uint64_t one[] = {5, 7, UINT64_MAX};
    const uint64_t other[] = {6, 7, 9 * STEP};
    const uint64_t all[] = {5, 6, 7, 9 * STEP, UINT64_MAX};

    begin(3);
    ask(DUMP_FIRST);
    cr_assert_eq(nquestions, 2, "N - W + 1");
    cr_assert_neq(questions[0].link, questions[1].link);
    cr_assert(questions[0].request.sync, "only who is sure of being FULL answers that");
    cr_assert_eq(questions[0].request.scope.epoch, stage.document.epoch);
    tell(one, 3);
    cr_assert_eq(page.count, 0, "one alone may lack what was acknowledged");
    tell(other, 3);
    expect_chunk(DUMP_FIRST, DUMP_END, all, 5);
    end();
}

Test(router_dump, a_source_that_has_more_is_gone_on_with)
{
    const uint64_t one[] = {5, STEP + 5, STEP + 8};
    const uint64_t other[] = {6, 3 * STEP};
    const uint64_t first[] = {5, 6};
    struct question question;
    struct pull_reply reply;

    begin(3);
    ask(DUMP_FIRST);
    question = take_question();
    reply = reply_to(&question, one, 3);
    reply.end = false;
    reply.next = STEP + 9;
    answer(&question, &reply);
    tell(other, 2);
    expect_chunk(DUMP_FIRST, DUMP_FIRST + 1, first, 2);
    ask(page.next);
    cr_assert_eq(questions[0].request.from, STEP, "where the page ended, not where a source did");
    end();
}

Test(router_dump, a_page_holds_so_many_and_no_step_in_part)
{
    uint64_t *keys = malloc((DUMP_MAX_KEYS + 2) * sizeof *keys);
    const uint64_t few[] = {STEP + 1};

    begin(3);
    for (uint64_t i = 0; i < DUMP_MAX_KEYS; i++) {
        keys[i] = i < 10 ? i : 2 * STEP + i; /* The last ones are in step 3. */
    }
    ask(DUMP_FIRST);
    tell(keys, DUMP_MAX_KEYS);
    tell(few, 1);
    memmove(keys + 11, keys + 10, (DUMP_MAX_KEYS - 10) * sizeof *keys);
    keys[10] = STEP + 1;
    expect_chunk(DUMP_FIRST, DUMP_FIRST + 2, keys, 11);
    free(keys);
    end();
}

/* Each bends one thing of an answer that would count. */
static void bend(int how, struct pull_reply *reply, uint64_t *keys)
{
    switch (how) {
    case 0:
        reply->state = REPLICA_JOINING;
        break;
    case 1:
        reply->scope.epoch++;
        break;
    case 2:
        reply->scope.epoch_hash++;
        break;
    case 3:
        reply->source.incarnation++;
        break;
    case 4:
        reply->scope.keyset++;
        break;
    case 5:
        reply->from++;
        break;
    case 6:
        keys[0] = keys[1];
        break;
    case 7:
        reply->end = false;
        reply->next = keys[1];
        break;
    case 8:
        reply->kind = PULL_RUNS;
        reply->view = 0;
        break;
    default:
        reply->status = STATUS_NOT_READY;
        reply->view = 0;
        reply->count = 0;
    }
}

enum { NBENT = 10 };

Test(router_dump, answers_that_do_not_count_are_in_no_page)
{
    for (int how = 0; how < NBENT; how++) {
        uint64_t keys[] = {5, 7};
        const uint64_t good[] = {6};
        struct question question;
        struct pull_reply reply;

        begin(3);
        ask(DUMP_FIRST);
        question = take_question();
        reply = reply_to(&question, keys, 2);
        bend(how, &reply, keys);
        answer(&question, &reply);
        tell(good, 1);
        cr_assert_eq(page.count, 0, "bent %d", how);
        cr_assert_eq(nquestions, 1, "the third one is asked");
        tell(good, 1);
        expect_chunk(DUMP_FIRST, DUMP_END, good, 1);
        end();
    }
}

Test(router_dump, too_few_tell_nothing)
{
    const uint64_t keys[] = {6};

    begin(3);
    ask(DUMP_FIRST);
    tell(keys, 1);
    nquestions = 0;
    pass(TIMEOUT_US + 1000000);
    cr_assert_eq(page.count, 1);
    cr_assert_eq(page.status, STATUS_UNAVAILABLE);
    cr_assert_eq(page.size, 0);
    cr_assert_not_null(strstr(page.message, "1 of 2"), "%s", page.message);
    end();
}

Test(router_dump, who_is_slow_is_not_waited_for)
{
    const uint64_t keys[] = {6};
    struct question slow;

    begin(3);
    ask(DUMP_FIRST);
    slow = take_question();
    tell(keys, 1);
    pass(1500000);
    cr_assert_eq(nquestions, 1);
    cr_assert_neq(questions[0].link, slow.link);
    tell(keys, 1);
    expect_chunk(DUMP_FIRST, DUMP_END, keys, 1);
    pass(10000);
    ask(DUMP_FIRST);
    cr_assert(questions[0].link != slow.link && questions[1].link != slow.link,
              "nor for the next page");
    end();
}

Test(router_dump, a_node_that_lacks_the_document_is_handed_it)
{
    struct question question;
    struct pull_reply reply;

    begin(3);
    ask(DUMP_FIRST);
    question = take_question();
    reply = reply_to(&question, NULL, 0);
    reply.status = STATUS_NEED_DOC;
    reply.view = 0;
    answer(&question, &reply);
    cr_assert_eq(nhanded, 1);
    end();
}

/* Votes of two epochs do not add up: replicas may have changed between them. */
Test(router_dump, a_newer_epoch_begins_anew)
{
    const uint64_t keys[] = {6};
    const uint64_t newer[] = {8};
    struct question late;
    struct pull_reply reply;

    begin(3);
    ask(DUMP_FIRST);
    tell(keys, 1);
    late = take_question();
    document_epoch_advance(&stage.document);
    sync_document();
    pass(10000);
    cr_assert_eq(nquestions, 2);
    cr_assert_eq(questions[0].request.scope.epoch, stage.document.epoch);
    reply = reply_to(&late, keys, 1);
    answer(&late, &reply);
    cr_assert_eq(page.count, 0);
    tell(newer, 1);
    tell(newer, 1);
    expect_chunk(DUMP_FIRST, DUMP_END, newer, 1);
    end();
}

/* On five nodes each shard is in another group than the next one. */
Test(router_dump, a_page_goes_on_through_slot_groups)
{
    uint64_t all[16];

    begin(5);
    ask(DUMP_FIRST);
    for (uint64_t shard = 0; shard < 16; shard++) {
        uint64_t key = (shard << 60) + 3;

        cr_assert_eq(nquestions, 2);
        cr_assert_eq(questions[0].request.scope.group, shard % 5);
        cr_assert_eq(questions[0].request.from, shard << 60);
        cr_assert_eq(questions[0].request.nprefixes, 1);
        cr_assert_eq(questions[0].request.prefix_bits, 4);
        tell(&key, 1);
        tell(NULL, 0);
        all[shard] = key;
    }
    expect_chunk(DUMP_FIRST, DUMP_END, all, 16);
    end();
}

Test(router_dump, what_has_no_key_log_is_not_dumped)
{
    router_stage_init(&stage, &rule, 3, WHEN_UNAVAILABLE_ERROR);
    ask(0);
    cr_assert_eq(page.status, STATUS_INVALID);
    cr_assert_not_null(strstr(page.message, "key log"), "%s", page.message);
    end();
}

Test(router_dump, an_unknown_filter_is_unknown_after_a_fresh_read)
{
    begin(3);
    stage.nsyncs = 0;
    page.count = 0;
    router_dump(stage.router, stage.now_us,
                &(struct router_dump){
                    .name = "other", .deadline_us = stage.now_us + TIMEOUT_US, .done = take_page});
    cr_assert_eq(page.count, 0);
    pass(1000);
    cr_assert_gt(stage.nsyncs, 0);
    router_stage_sync(&stage, stage.sync, false);
    cr_assert_eq(page.count, 1);
    cr_assert_eq(page.status, STATUS_NOT_FOUND);
    end();
}

Test(router_dump, who_waits_when_the_router_ends_is_told)
{
    begin(3);
    ask(DUMP_FIRST);
    cr_assert_eq(page.count, 0);
    end();
    cr_assert_eq(page.count, 1);
    cr_assert_eq(page.status, STATUS_UNAVAILABLE);
}

/* ---- pages of users ---- */

enum { GREEDY = 1, CALM, PAGES = 64 };

/* Whose pages were told, in that order. */
static char told_to[PAGES + 1];
static enum status told_status;
static char told_message[512];

static void note_page(void *owner, const struct router_page *told)
{
    size_t count = strlen(told_to);

    told_to[count] = *(const char *)owner;
    told_to[count + 1] = '\0';
    told_status = told->status;
    (void)snprintf(told_message, sizeof told_message, "%s", told->message ? told->message : "");
}

static void ask_as(uint32_t user)
{
    static char names[] = "?gc";

    router_dump(stage.router, stage.now_us,
                &(struct router_dump){.user = user,
                                      .name = "urls",
                                      .iterator = DUMP_FIRST,
                                      .deadline_us = stage.now_us + TIMEOUT_US,
                                      .done = note_page,
                                      .owner = &names[user]});
    collect();
}

static void begin_with_users(const struct user_limits *limits)
{
    struct user users[] = {{.id = GREEDY, .name = "greedy", .limits = *limits},
                           {.id = CALM, .name = "calm"}};
    const struct user_list list = {.revision = 1, .last_id = CALM, .users = users, .count = 2};

    begin(3);
    user_list_fini(&stage.router->documents.users);
    cr_assert_eq(user_list_copy(&list, &stage.router->documents.users), STATUS_OK);
    told_to[0] = '\0';
}

/* What is under way is told, of many keys. */
static void tell_many(void)
{
    static uint64_t keys[DUMP_MAX_KEYS];

    for (uint64_t i = 0; i < DUMP_MAX_KEYS; i++) {
        keys[i] = i;
    }
    tell(keys, DUMP_MAX_KEYS);
    tell(keys, DUMP_MAX_KEYS);
}

Test(router_dump, pages_of_users_come_in_turn)
{
    begin_with_users(&(struct user_limits){0});
    for (int i = 0; i < 6; i++) {
        ask_as(GREEDY);
    }
    ask_as(CALM);
    for (int i = 0; i < 7; i++) {
        tell_many();
    }
    cr_assert_str_eq(told_to, "gcggggg");
    cr_assert_eq(told_status, STATUS_OK);
    end();
}

Test(router_dump, nobody_gets_all_places)
{
    begin_with_users(&(struct user_limits){0});
    for (int i = 0; i < PAGES && told_to[0] == '\0'; i++) {
        ask_as(GREEDY);
    }
    cr_assert_str_eq(told_to, "g");
    cr_assert_eq(told_status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told_message, "as many pages"), "%s", told_message);
    ask_as(CALM);
    cr_assert_str_eq(told_to, "g", "it has a place");
    end();
}

static uint64_t held_by_greedy(void)
{
    return usages_find(&stage.router->usages, GREEDY)->in_flight;
}

Test(router_dump, a_page_counts_as_bytes_under_way)
{
    begin_with_users(&(struct user_limits){.in_flight = 1000});
    ask_as(GREEDY);
    cr_assert_eq(held_by_greedy(), DUMP_MAX_BYTES);
    cr_assert_eq(stage.router->inflight_bytes, DUMP_MAX_BYTES);
    /* The document moves on: the page begins anew, and is counted once. */
    stage.document.epoch++;
    stage.document.revision++;
    sync_document();
    pass(1000);
    cr_assert_eq(held_by_greedy(), DUMP_MAX_BYTES);
    nquestions = 0;
    pass(TIMEOUT_US);
    cr_assert_str_eq(told_to, "g");
    cr_assert_eq(held_by_greedy(), 0);
    cr_assert_eq(stage.router->inflight_bytes, 0);
    cr_assert_null(limits_begin(stage.router, GREEDY, 900));
    ask_as(GREEDY);
    cr_assert_str_eq(told_to, "gg");
    cr_assert_eq(told_status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told_message, "its limit in_flight"), "%s", told_message);
    limits_end(stage.router, GREEDY, 900);
    end();
}

Test(router_dump, the_keys_of_a_page_are_paid_for_before_the_next_one)
{
    begin_with_users(&(struct user_limits){.keys_per_s = 10000});
    ask_as(GREEDY);
    tell_many();
    cr_assert_eq(told_status, STATUS_OK);
    ask_as(GREEDY);
    cr_assert_eq(told_status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told_message, "user greedy asks for more"), "%s", told_message);
    cr_assert_eq(held_by_greedy(), 0, "what is refused is not under way");
    ask_as(CALM);
    tell_many();
    cr_assert_eq(told_status, STATUS_OK);
    pass(7000000);
    ask_as(GREEDY);
    tell_many();
    cr_assert_eq(told_status, STATUS_OK);
    cr_assert_str_eq(told_to, "ggcg");
    end();
}

/* ---- filters that are being loaded ---- */

static void begin_loading(void)
{
    begin(3);
    stage.document.load_source = SOURCE;
    stage.document.loaded = DUMP_FIRST;
    stage.document.revision++;
    sync_document();
}

Test(router_load, clients_wait_for_a_fresh_read_and_are_refused)
{
    const enum operation operations[] = {OPERATION_CHECK, OPERATION_ADD};

    for (size_t i = 0; i < 2; i++) {
        struct client_request request = router_stage_request(operations[i], 1, 1);
        struct router_told told;

        begin_loading();
        router_stage_send(&stage, CLIENT, &request);
        cr_assert_eq(stage.ntold, 0);
        router_stage_pass(&stage, 10000);
        router_stage_sync(&stage, stage.sync, false);
        told = router_stage_told(&stage);
        cr_assert_eq(told.status, STATUS_NOT_READY);
        cr_assert_not_null(strstr(told.message, "being loaded"), "%s", told.message);
        cr_assert_null(router_stage_asked(&stage, 1), "no node is asked");
        end();
    }
}

/* The last chunk was taken by way of another router a moment ago. */
Test(router_load, clients_are_served_once_the_store_says_so)
{
    struct client_request request = router_stage_request(OPERATION_CHECK, 1, 1);

    begin_loading();
    router_stage_send(&stage, CLIENT, &request);
    router_stage_pass(&stage, 10000);
    stage.document.loaded = DUMP_END;
    stage.document.revision++;
    router_stage_sync(&stage, stage.sync, true);
    cr_assert_not_null(router_stage_asked(&stage, 1));
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    end();
}

static void load_as(uint32_t user, uint64_t filter_id, uint64_t source)
{
    static const uint64_t fingerprints[] = {123, UINT64_MAX};

    router_load(stage.router, stage.now_us,
                &(struct router_load){.user = user,
                                      .filter_id = filter_id,
                                      .source = source,
                                      .correlation = 9,
                                      .timeout_ms = 5000,
                                      .fingerprints = fingerprints,
                                      .count = 2});
    router_stage_pass(&stage, 0);
    stage.actor.turn(stage.actor.self, stage.now_us);
    router_stage_pass(&stage, 10000);
}

static void load(uint64_t filter_id, uint64_t source)
{
    load_as(0, filter_id, source);
}

Test(router_load, fingerprints_of_the_dump_are_added_by_a_write_quorum)
{
    begin_loading();
    load(ROUTER_STAGE_FILTER, SOURCE);
    cr_assert_eq(router_stage_asked(&stage, 1)->fingerprint, 123);
    cr_assert_eq(router_stage_asked(&stage, 1)->subrequests[0].operation, OPERATION_ADD);
    router_stage_vote(&stage, 1, 'a');
    cr_assert_eq(stage.ntold, 0);
    router_stage_vote(&stage, 2, 'a');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    end();
}

/* Keys a second, and bytes under way; nodes are told whose they are. */
Test(router_load, limits_of_its_user_hold)
{
    struct user user = {.id = 7, .name = "loader", .limits = {.keys_per_s = 1}};
    const struct user_list list = {.revision = 1, .last_id = 7, .users = &user, .count = 1};
    struct router_told told;

    begin_loading();
    cr_assert_eq(user_list_copy(&list, &stage.router->documents.users), STATUS_OK);
    load_as(7, ROUTER_STAGE_FILTER, SOURCE);
    cr_assert_eq(router_stage_asked(&stage, 1)->subrequests[0].user, 7);
    cr_assert_gt(usages_find(&stage.router->usages, 7)->in_flight, 0);
    router_stage_vote(&stage, 1, 'a');
    router_stage_vote(&stage, 2, 'a');
    cr_assert_eq(router_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(usages_find(&stage.router->usages, 7)->in_flight, 0);
    load_as(7, ROUTER_STAGE_FILTER, SOURCE);
    told = router_stage_told(&stage);
    cr_assert_eq(told.status, STATUS_OVERLOADED);
    cr_assert_not_null(strstr(told.message, "user loader asks for more"), "%s", told.message);
    end();
}

Test(router_load, another_filter_takes_none)
{
    begin_loading();
    load(ROUTER_STAGE_FILTER, SOURCE + 1);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_NOT_READY);
    load(ROUTER_STAGE_FILTER + 1, SOURCE);
    cr_assert_eq(router_stage_told(&stage).status, STATUS_NOT_READY);
    cr_assert_null(router_stage_asked(&stage, 1));
    end();
}

/* ---- copies of single replicas ---- */

enum { ALL_SLOTS = 7, BOOT = 40, END = 9000 };

static struct {
    int count;
    struct router_copied told;
    uint64_t keys[16];
    char message[256];
} copied;

static void take_copied(void *owner, const struct router_copied *told)
{
    (void)owner;
    copied.count++;
    copied.told = *told;
    cr_assert_leq(told->nkeys, 16);
    if (told->nkeys > 0) {
        memcpy(copied.keys, told->keys, told->nkeys * sizeof copied.keys[0]);
    }
    (void)snprintf(copied.message, sizeof copied.message, "%s", told->message);
}

static void copy(uint64_t from, uint32_t slots)
{
    copied.count = 0;
    router_copy(stage.router, stage.now_us,
                &(struct router_copy){.filter_id = stage.document.id,
                                      .from = from,
                                      .slots = slots,
                                      .deadline_us = stage.now_us + TIMEOUT_US,
                                      .done = take_copied});
    collect();
}

/* By a replica whose log was that of boot BOOT + its node, and had so much then. */
static void tell_copy(const uint64_t *keys, size_t count)
{
    struct question question = take_question();
    struct pull_reply reply = reply_to(&question, keys, count);

    reply.boot = BOOT + question.request.source.node;
    reply.view_end = END + question.request.source.node;
    answer(&question, &reply);
}

Test(router_dump, a_copy_tells_what_each_of_the_replicas_has_and_where_its_log_ends)
{
    const uint64_t one[] = {5, 7};
    const uint64_t other[] = {6, 7};
    const uint64_t third[] = {9};
    const uint64_t all[] = {5, 6, 7, 9};

    begin(3);
    copy(0, ALL_SLOTS);
    cr_assert_eq(nquestions, 3);
    tell_copy(one, 2);
    tell_copy(other, 2);
    cr_assert_eq(copied.count, 0, "what the third one has is wanted, too");
    tell_copy(third, 1);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.status, STATUS_OK, "%s", copied.message);
    cr_assert_eq(copied.told.epoch, stage.document.epoch);
    cr_assert_eq(copied.told.last, UINT64_MAX);
    cr_assert_eq(copied.told.nkeys, 4);
    cr_assert_eq(memcmp(copied.keys, all, sizeof all), 0);
    cr_assert_eq(copied.told.nsources, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct router_copy_source *source = &copied.told.sources[i];

        cr_assert_eq(source->boot, BOOT + source->member.node);
        cr_assert_eq(source->end, END + source->member.node);
    }
    end();
}

Test(router_dump, a_copy_is_of_the_slots_that_are_wanted)
{
    const uint64_t one[] = {5};

    begin(3);
    copy(0, 1U << 1);
    cr_assert_eq(nquestions, 1);
    tell_copy(one, 1);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.nsources, 1);
    cr_assert(member_equal(&copied.told.sources[0].member,
                           slot_reader(&stage.document.content.groups[0].slots[1])));
    end();
}

/* Who says nothing, or no, is no source: its log is not to be gone on from. */
Test(router_dump, a_copy_does_not_wait_for_replicas_that_can_not_tell)
{
    const uint64_t one[] = {5};
    struct question question;
    struct pull_reply refusal;

    begin(3);
    copy(0, ALL_SLOTS);
    tell_copy(one, 1);
    question = take_question();
    refusal = reply_to(&question, NULL, 0);
    refusal.status = STATUS_NOT_READY;
    refusal.view = 0;
    answer(&question, &refusal);
    cr_assert_eq(copied.count, 0);
    pass(2000000);
    cr_assert_eq(copied.count, 1, "the silent one is not waited for until the deadline");
    cr_assert_eq(copied.told.status, STATUS_OK, "%s", copied.message);
    cr_assert_eq(copied.told.nsources, 1);
    end();
}

Test(router_dump, a_copy_of_nobody_fails_in_time)
{
    begin(3);
    copy(0, ALL_SLOTS);
    pass(TIMEOUT_US - 2000);
    cr_assert_eq(copied.count, 0);
    pass(4000);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.status, STATUS_DEADLINE);
    end();
}

/* What is told under two epochs is of no slot group. */
Test(router_dump, a_copy_ends_where_another_epoch_begins)
{
    const uint64_t one[] = {5};

    begin(3);
    copy(0, ALL_SLOTS);
    tell_copy(one, 1);
    document_epoch_advance(&stage.document);
    sync_document();
    pass(10000);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.status, STATUS_STALE);
    end();
}

/* A range that one replica can't tell at once ends where that one's does. */
Test(router_dump, a_range_of_a_copy_ends_where_the_first_source_does)
{
    const uint64_t one[] = {5, STEP};
    const uint64_t other[] = {6};
    const uint64_t first[] = {5, 6};
    struct question question;
    struct pull_reply reply;

    begin(3);
    copy(0, 3);
    tell_copy(one, 2);
    question = take_question();
    reply = reply_to(&question, other, 1);
    reply.end = false;
    reply.next = STEP;
    answer(&question, &reply);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(copied.told.last, STEP - 1);
    cr_assert_eq(copied.told.nkeys, 2);
    cr_assert_eq(memcmp(copied.keys, first, sizeof first), 0);
    copy(STEP, 3);
    cr_assert_eq(questions[0].request.from, STEP);
    end();
}

/* They are carried out one by one, and a dump's page goes on beside them. */
Test(router_dump, copies_wait_for_each_other_and_not_for_dumps)
{
    const uint64_t one[] = {5};

    begin(3);
    ask(DUMP_FIRST);
    cr_assert_eq(nquestions, 2);
    copy(0, 1);
    copy(0, 2);
    cr_assert_eq(nquestions, 3, "the second copy waits");
    tell(one, 1);
    tell(one, 1);
    expect_chunk(DUMP_FIRST, DUMP_END, one, 1);
    tell_copy(one, 1);
    cr_assert_eq(copied.count, 1);
    cr_assert_eq(nquestions, 1, "now it is the second one's turn");
    tell_copy(one, 1);
    cr_assert_eq(copied.count, 2);
    end();
}

Test(router_dump, copies_end_with_the_router)
{
    begin(3);
    copy(0, 1);
    copy(0, 2);
    end();
    cr_assert_eq(copied.count, 2);
    cr_assert_eq(copied.told.status, STATUS_UNAVAILABLE);
}
