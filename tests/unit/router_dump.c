/* Pages of a dump: the union of what N - W + 1 FULL replicas have, under one epoch, or nothing. And
 * filters that are made of one: closed to clients until all of it is there. */
#include "router_dump.h"

enum { SOURCE = 77, CLIENT = 1 };

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

static void ask_of(uint64_t iterator, uint64_t series)
{
    page.count = 0;
    router_dump(stage.router, stage.now_us,
                &(struct router_dump){.name = "urls",
                                      .iterator = iterator,
                                      .series = series,
                                      .deadline_us = stage.now_us + TIMEOUT_US,
                                      .done = take_page});
    collect();
}

static void ask(uint64_t iterator)
{
    ask_of(iterator, 0);
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

/* The end of its page: a source tells no more than its first step. */
static void tell_one_step(void)
{
    struct question question = take_question();
    struct pull_reply reply = reply_to(&question, NULL, 0);

    reply.end = false;
    reply.next = question.request.from + STEP;
    reply.view = question.request.view != 0 ? question.request.view : 500 + question.link;
    answer(&question, &reply);
}

static void expect_views(uint64_t first, uint64_t second)
{
    cr_assert_eq(nquestions, 2);
    cr_assert_eq(questions[0].request.view, first);
    cr_assert_eq(questions[1].request.view, second);
}

Test(router_dump, pages_of_a_series_are_of_the_views_that_it_began_with)
{
    uint32_t links[2];

    begin(3);
    ask_of(DUMP_FIRST, 9);
    expect_views(0, 0);
    links[0] = questions[0].link;
    links[1] = questions[1].link;
    tell_one_step();
    tell_one_step();
    cr_assert_eq(page.next, DUMP_FIRST + 1);
    stage.router->rotation++;
    ask_of(page.next, 9);
    cr_assert_eq(nquestions, 2);
    for (size_t i = 0; i < 2; i++) {
        cr_assert(questions[i].link == links[0] || questions[i].link == links[1]);
        cr_assert_eq(questions[i].request.view, 500 + questions[i].link, "who has a view is asked");
    }
    tell_one_step();
    tell_one_step();
    ask_of(page.next, 10);
    expect_views(0, 0); /* What was acknowledged since the other one began is to be in this. */
    tell_one_step();
    tell_one_step();
    ask(page.next);
    expect_views(0, 0);
    end();
}

Test(router_dump, a_view_that_is_gone_is_made_anew)
{
    struct question question;
    struct pull_reply reply;

    begin(3);
    ask_of(DUMP_FIRST, 9);
    tell_one_step();
    tell_one_step();
    ask_of(page.next, 9);
    question = take_question();
    reply = reply_to(&question, NULL, 0);
    reply.status = STATUS_NOT_FOUND;
    reply.view = 0;
    answer(&question, &reply);
    tell_one_step();
    cr_assert_eq(page.count, 0);
    pass(20000);
    cr_assert_eq(nquestions, 1);
    cr_assert_eq(questions[0].request.view, 0);
    tell_one_step();
    cr_assert_eq(page.count, 1);
    cr_assert_eq(page.status, STATUS_OK);
    end();
}

Test(router_dump, under_another_epoch_nobody_is_asked_of_an_older_view)
{
    begin(3);
    ask_of(DUMP_FIRST, 9);
    tell_one_step();
    tell_one_step();
    document_epoch_advance(&stage.document);
    sync_document();
    collect();
    ask_of(page.next, 9);
    expect_views(0, 0);
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
