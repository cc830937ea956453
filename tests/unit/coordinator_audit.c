/* What operators change is noted: a line each, with what became of it, once; and what can't be
 * written is counted, and holds nothing up. */
#include "base/heap.h"
#include "coordinator/audit.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { FIRST = 1, MAX_LINES = 64, TEXT_BYTES = 1024, MANY = 10000 };

/* Keeps lines; or refuses them. */
static struct {
    char lines[MAX_LINES][TEXT_BYTES];
    size_t count;
    bool refuses;
    bool wraps; /* the newest lines are kept, whatever their count */
} log_file;

static struct memory_store store;
static struct coordinator_stage stage;
static struct job_lanes lanes;

static enum status keep(void *context, struct span line)
{
    cr_assert_eq(context, &log_file);
    if (log_file.refuses) {
        return STATUS_IO;
    }
    cr_assert(log_file.wraps || log_file.count < MAX_LINES);
    cr_assert_lt(line.size, (size_t)TEXT_BYTES);
    cr_assert_eq(line.data[line.size - 1], '\n');
    cr_assert_null(memchr(line.data, '\n', line.size - 1), "one line at a time");
    (void)snprintf(log_file.lines[log_file.count++ % MAX_LINES], TEXT_BYTES, "%.*s",
                   (int)line.size - 1, (const char *)line.data);
    return STATUS_OK;
}

static const struct audit_sink sink = {.context = &log_file, .write = keep};

static void open_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_audit = &sink;
    coordinator_stage_init(&stage, &store.store);
    stage.fake.date_ms = UINT64_C(1900000000123);
}

static void close_stage(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
    cr_assert_eq(heap_live(), 0);
}

/* The line that was written last says all of these, up to NULL. */
static void expect_line(size_t count, const char *const *parts)
{
    const char *line;

    cr_assert_eq(log_file.count, count, "%zu lines, the last one: %s", log_file.count,
                 log_file.count > 0 ? log_file.lines[log_file.count - 1] : "none");
    line = log_file.lines[count - 1];
    for (size_t i = 0; parts[i] != NULL; i++) {
        cr_assert_not_null(strstr(line, parts[i]), "%s is not in: %s", parts[i], line);
    }
}

#define EXPECT_LINE(count, ...) expect_line(count, (const char *const[]){__VA_ARGS__, NULL})

static void command(const struct admin_request *request)
{
    coordinator_stage_command(&stage, 2, request);
}

Test(coordinator_audit, a_create_is_noted_when_its_end_is_known)
{
    const struct admin_request create = coordinator_stage_create();

    open_stage();
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    command(&create);
    cr_assert_eq(log_file.count, 0, "it waits");
    coordinator_stage_report(&stage, 3, FIRST, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(log_file.count, 1);
    cr_assert_str_eq(log_file.lines[0],
                     "{\"time\":\"2030-03-17T17:46:40.123Z\",\"coordinator\":\"coordinator-1\","
                     "\"action\":\"create\",\"filter\":\"urls\",\"capacity\":10000,\"rate\":0.01,"
                     "\"max_capacity\":0,\"replicas\":3,\"write\":2,\"read\":2,"
                     "\"peer\":\"84030000\",\"filter_id\":1,\"outcome\":\"OK\"}");
    close_stage();
}

Test(coordinator_audit, a_refused_command_is_noted_with_its_code)
{
    const struct admin_request create = coordinator_stage_create();
    const struct admin_request drop = coordinator_stage_drop();

    open_stage();
    command(&create); /* No node is there. */
    EXPECT_LINE(1, "\"action\":\"create\"", "\"outcome\":\"UNAVAILABLE\"");
    stage.ntold = 0;
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    command(&drop);
    EXPECT_LINE(2, "\"action\":\"drop\",\"filter\":\"urls\"", "\"outcome\":\"NOT_FOUND\"");
    cr_assert_null(strstr(log_file.lines[1], "scope"));
    close_stage();
}

Test(coordinator_audit, where_a_filter_in_several_sites_is_dropped_is_noted)
{
    struct admin_request drop = coordinator_stage_drop();

    open_stage();
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    drop.scope = DROP_HERE;
    command(&drop);
    EXPECT_LINE(1, "\"action\":\"drop\",\"filter\":\"urls\",\"scope\":\"here\"");
    drop.scope = DROP_EVERYWHERE;
    command(&drop);
    EXPECT_LINE(2, "\"scope\":\"everywhere\"");
    close_stage();
}

Test(coordinator_audit, questions_are_not_noted)
{
    const struct admin_request status = {.action = ADMIN_STATUS, .name = "", .successor = ""};
    const struct admin_request upgrade = {
        .action = ADMIN_UPGRADE_STATUS, .name = "", .successor = ""};
    const struct admin_request rebalance = {
        .action = ADMIN_REBALANCE, .name = "", .successor = "", .dry_run = true};

    open_stage();
    (void)coordinator_stage_make_filter(&stage);
    cr_assert_eq(log_file.count, 1);
    coordinator_stage_ask(&stage, 3, &status);
    coordinator_stage_ask(&stage, 4, &upgrade);
    command(&rebalance);
    cr_assert_eq(stage.ntold, 3);
    cr_assert_eq(log_file.count, 1);
    close_stage();
}

/* A peer of this role, and user, asks. */
static void ask_as(enum peer_role role, uint32_t user, const struct admin_request *request)
{
    const struct peer peer = {.size = 1, .id = {7}, .role = (uint8_t)role, .user = user};
    const struct frame frame = {.kind = FRAME_ADMIN_REQUEST, .body.admin_request = *request};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    stage.actor.on_request(stage.actor.self, stage.now_us, &peer, buffer_span(&bytes));
    coordinator_stage_collect(&stage);
    buffer_fini(&bytes);
}

Test(coordinator_audit, questions_that_are_refused_are_noted)
{
    struct admin_request request = {.action = ADMIN_USER_LIST, .name = "", .successor = ""};

    open_stage();
    ask_as(PEER_MONITOR, 9, &request);
    EXPECT_LINE(1, "\"action\":\"user list\"", "\"peer\":\"07\"", "\"outcome\":\"UNAUTHENTIC\"");
    request.action = ADMIN_PROCESS_KEYS;
    ask_as(PEER_ROUTER, 0, &request);
    EXPECT_LINE(2, "\"action\":\"process keys\"", "\"outcome\":\"UNAUTHENTIC\"");
    request.action = ADMIN_DROP;
    ask_as(PEER_MONITOR, 9, &request);
    EXPECT_LINE(3, "\"action\":\"drop\"", "\"outcome\":\"UNAUTHENTIC\"");
    close_stage();
}

/* Who may do nothing must not be able to fill a disk; what others do is noted all the same. */
Test(coordinator_audit, refusals_are_left_out_beyond_so_many_a_second)
{
    enum { TRIES = 1000 };
    struct admin_request request = {.action = ADMIN_USER_LIST, .name = "", .successor = ""};
    char left_out[64];
    size_t noted;

    open_stage();
    log_file.wraps = true;
    for (int i = 0; i < TRIES; i++) {
        request.action = i % 2 == 0 ? ADMIN_USER_LIST : ADMIN_DROP;
        ask_as(PEER_MONITOR, 9, &request);
        cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_UNAUTHENTIC, "each is told");
    }
    noted = log_file.count;
    cr_assert_geq(noted, AUDIT_REFUSALS);
    cr_assert_leq(noted, 2 * AUDIT_REFUSALS);
    cr_assert_eq(coordinator_stage_counter(&stage, "audit_left_out_total"), TRIES - noted);
    request = (struct admin_request){.action = ADMIN_MAP_BACKUP, .name = "", .successor = ""};
    command(&request);
    cr_assert_eq(log_file.count, noted + 1);
    (void)snprintf(left_out, sizeof left_out, "\"outcome\":\"OK\",\"left_out\":%zu}",
                   TRIES - noted);
    cr_assert_not_null(strstr(log_file.lines[noted % MAX_LINES], left_out), "%s is not in: %s",
                       left_out, log_file.lines[noted % MAX_LINES]);
    stage.now_us += 1000000;
    request = (struct admin_request){.action = ADMIN_DROP, .name = "", .successor = ""};
    ask_as(PEER_MONITOR, 9, &request);
    cr_assert_eq(log_file.count, noted + 2, "time brings more");
    cr_assert_null(strstr(log_file.lines[(noted + 1) % MAX_LINES], "left_out"), "told once");
    close_stage();
}

Test(coordinator_audit, parameters_that_matter_are_told)
{
    struct admin_request request = {.action = ADMIN_EXPIRE,
                                    .name = "urls",
                                    .successor = "",
                                    .expire = {.after_us = 3600000000}};

    open_stage();
    (void)coordinator_stage_make_filter(&stage);
    command(&request);
    EXPECT_LINE(2, "\"action\":\"expire\"", "\"after_us\":3600000000", "\"filter_id\":1");
    request = (struct admin_request){
        .action = ADMIN_RENAME, .name = "urls", .successor = "", .rename = {.name = "pages"}};
    command(&request);
    coordinator_stage_pass(&stage, 10000000);
    EXPECT_LINE(3, "\"action\":\"rename\"", "\"to\":\"pages\"");
    request = (struct admin_request){.action = ADMIN_NODE_DRAIN, .name = "node-2", .successor = ""};
    command(&request);
    EXPECT_LINE(4, "\"action\":\"node drain\",\"node\":\"node-2\"");
    request.undo = true;
    command(&request);
    EXPECT_LINE(5, "\"undo\":true");
    request = (struct admin_request){.action = ADMIN_MAP_BACKUP, .name = "", .successor = ""};
    command(&request);
    EXPECT_LINE(6, "\"action\":\"map backup\",\"since\":0", "\"outcome\":\"OK\"");
    close_stage();
}

Test(coordinator_audit, who_becomes_an_admin_is_told)
{
    struct user puts[3] = {{.name = "app", .role = USER_CLIENT},
                           {.name = "root", .role = USER_ADMIN},
                           {.id = 7, .name = "second", .role = USER_ADMIN}};
    struct admin_request request = {.action = ADMIN_USER_CHANGE,
                                    .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
                                    .name = "",
                                    .successor = "",
                                    .users = {.puts = puts, .nputs = 2}};

    open_stage();
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    coordinator_stage_ask(&stage, 3, &request);
    EXPECT_LINE(1, "\"created\":[\"app\",\"root\"],\"admins\":[\"root\"]", "\"outcome\":\"OK\"");
    request.users.nputs = 3;
    coordinator_stage_ask(&stage, 3, &request);
    EXPECT_LINE(2, "\"changed\":[\"second\"],\"admins\":[\"root\",\"second\"]");
    close_stage();
}

/* Names are plain by rule; whoever speaks to the port need not keep to it. */
Test(coordinator_audit, a_name_can_not_make_a_second_line)
{
    const struct peer peer = {.size = 2, .id = {0x00, 0xab}};
    const struct admin_request request = {.action = ADMIN_DROP, .name = "a\"\n{\\\xff"};
    uint64_t lost = 0;
    struct audit audit;

    audit_init(&audit, &sink, &(struct effects){0}, "c", &lost);
    audit_begin(&audit, &peer, NULL, &request);
    audit_end(&audit, 0, &(struct admin_reply){.status = STATUS_INVALID});
    audit_fini(&audit);
    EXPECT_LINE(1, "\"filter\":\"a\\u0022\\u000a{\\u005c\\u00ff\",\"peer\":\"00ab\"",
                "\"outcome\":\"INVALID\"}");
    cr_assert_eq(lost, 0);
}

Test(coordinator_audit, a_line_that_can_not_be_written_is_counted)
{
    open_stage();
    log_file.refuses = true;
    cr_assert_eq(coordinator_stage_make_filter(&stage), FIRST);
    cr_assert_eq(coordinator_stage_counter(&stage, "audit_lost_total"), 1);
    log_file.refuses = false;
    {
        const struct admin_request drop = coordinator_stage_drop();

        command(&drop);
        coordinator_stage_pass(&stage, 6000000);
    }
    EXPECT_LINE(1, "\"action\":\"drop\"", "\"outcome\":\"DEADLINE\"");
    cr_assert_eq(coordinator_stage_counter(&stage, "audit_lost_total"), 1);
    close_stage();
}

/* Wherever memory is out: the whole line, or none. */
Test(coordinator_audit, a_line_without_memory_is_lost_and_counted)
{
    const struct effects effects = {0};
    const struct peer from = {.size = 1};
    const struct admin_request create = coordinator_stage_create();
    const struct admin_reply reply = {.status = STATUS_OK, .message = ""};
    struct audit audit;
    uint64_t lost = 0;
    unsigned allowed = 0;

    audit_init(&audit, &sink, &effects, "c1", &lost);
    while (log_file.count == 0) {
        uint64_t before = lost;

        heap_fault_after(allowed++);
        audit_begin(&audit, &from, NULL, &create);
        audit_end(&audit, 1, &reply);
        heap_fault_clear();
        cr_assert_eq(lost - before + log_file.count, 1);
    }
    cr_assert_gt(lost, 1);
    EXPECT_LINE(1, "\"coordinator\":\"c1\"", "\"outcome\":\"OK\"}");
    audit_fini(&audit);
    cr_assert_eq(heap_live(), 0);
}

Test(coordinator_audit, what_an_operator_waits_for_at_the_end_is_noted)
{
    const struct admin_request create = coordinator_stage_create();

    open_stage();
    coordinator_stage_report(&stage, 3, 0, 0, REPLICA_NONE);
    command(&create);
    close_stage();
    EXPECT_LINE(1, "\"action\":\"create\"", "\"filter_id\":1", "\"outcome\":\"DEADLINE\"");
}

/* ---- with a store that takes its time ---- */

/* With filter 1, and all nodes heard of. */
static void open_slow_stage(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    cr_assert_eq(coordinator_stage_make_filter(&stage), FIRST);
    coordinator_stage_fini(&stage);
    job_lanes_init(&lanes);
    coordinator_stage_lanes = &lanes;
    coordinator_stage_audit = &sink;
    coordinator_stage_init(&stage, &store.store);
    for (uint32_t n = 1; n <= 3; n++) {
        struct sync_request request = coordinator_stage_node(n);

        (void)coordinator_stage_sync(&stage, n, &request);
        job_lanes_drain(&lanes, stage.now_us);
        coordinator_stage_collect(&stage);
    }
}

static void ask_to_drop(void)
{
    struct admin_request request = coordinator_stage_drop();

    request.successor = "";
    request.filter_id = FIRST;
    coordinator_stage_ask(&stage, 8, &request);
}

Test(coordinator_audit, what_is_refused_as_the_store_is_silent_is_noted_once)
{
    open_slow_stage();
    ask_to_drop();
    stage.now_us += COORDINATOR_STAGE_TIMEOUT_MS * UINT64_C(1000);
    stage.actor.time(stage.actor.self, stage.now_us);
    coordinator_stage_collect(&stage);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_UNAVAILABLE);
    cr_assert(job_lanes_run(&lanes, JOB_BACKGROUND));
    EXPECT_LINE(1, "\"action\":\"drop\"", "\"filter_id\":1", "\"outcome\":\"UNAVAILABLE\"");
    job_lanes_drain(&lanes, stage.now_us);
    cr_assert_eq(log_file.count, 1);
    close_stage();
}

Test(coordinator_audit, what_stands_still_at_the_end_is_noted_once)
{
    open_slow_stage();
    ask_to_drop();
    cr_assert(job_lanes_run(&lanes, JOB_COMMIT));
    cr_assert(job_lanes_finish(&lanes, JOB_COMMIT, stage.now_us)); /* It writes by now. */
    cr_assert_eq(log_file.count, 0);
    job_lanes_stop(&lanes);
    close_stage();
    EXPECT_LINE(1, "\"action\":\"drop\"", "\"filter_id\":1", "\"outcome\":\"");
    cr_assert_null(strstr(log_file.lines[0], "\"OK\""), "%s", log_file.lines[0]);
}

/* ---- on a lane ---- */

static void note(struct audit *audit, const char *name)
{
    const struct peer peer = {.size = 1};
    const struct admin_request request = {.action = ADMIN_DROP, .name = name};

    audit_begin(audit, &peer, NULL, &request);
    audit_end(audit, 0, &(struct admin_reply){.status = STATUS_OK});
}

Test(coordinator_audit, lines_wait_for_the_lane_in_order)
{
    uint64_t lost = 0;
    struct audit audit;

    job_lanes_init(&lanes);
    audit_init(&audit, &sink, &lanes.effects, "c", &lost);
    note(&audit, "a");
    note(&audit, "b");
    note(&audit, "c");
    cr_assert_eq(log_file.count, 0);
    cr_assert_eq(lanes.submitted, 1, "one job at a time");
    cr_assert(job_lanes_run(&lanes, JOB_BACKGROUND));
    EXPECT_LINE(1, "\"filter\":\"a\"");
    cr_assert(job_lanes_finish(&lanes, JOB_BACKGROUND, 0));
    cr_assert(job_lanes_run(&lanes, JOB_BACKGROUND));
    EXPECT_LINE(3, "\"filter\":\"c\"");
    log_file.refuses = true;
    cr_assert(job_lanes_finish(&lanes, JOB_BACKGROUND, 0));
    note(&audit, "d");
    cr_assert(job_lanes_run(&lanes, JOB_BACKGROUND));
    cr_assert_eq(lost, 0, "counted by the actor's thread");
    cr_assert(job_lanes_finish(&lanes, JOB_BACKGROUND, 0));
    cr_assert_eq(lost, 1);
    audit_leave_lanes(&audit);
    audit_fini(&audit);
}

/* Written, or not yet begun: each line is there once. */
Test(coordinator_audit, at_the_end_lines_do_not_wait_for_the_lane)
{
    uint64_t lost = 0;
    struct audit audit;

    job_lanes_init(&lanes);
    audit_init(&audit, &sink, &lanes.effects, "c", &lost);
    note(&audit, "a");
    cr_assert(job_lanes_run(&lanes, JOB_BACKGROUND)); /* Nobody hears of it any more. */
    note(&audit, "b");
    job_lanes_stop(&lanes);
    audit_leave_lanes(&audit);
    EXPECT_LINE(2, "\"filter\":\"b\"");
    note(&audit, "c");
    EXPECT_LINE(3, "\"filter\":\"c\"");
    audit_fini(&audit);

    audit_init(&audit, &sink, &lanes.effects, "c", &lost);
    note(&audit, "d");
    job_lanes_stop(&lanes);
    audit_leave_lanes(&audit);
    EXPECT_LINE(4, "\"filter\":\"d\"");
    audit_fini(&audit);
    cr_assert_eq(lost, 0);
}

Test(coordinator_audit, of_lines_that_wait_there_is_a_bound)
{
    uint64_t lost = 0;
    struct audit audit;

    job_lanes_init(&lanes);
    audit_init(&audit, &sink, &lanes.effects, "c", &lost);
    for (size_t i = 0; i < MANY; i++) {
        note(&audit, "a-name-that-takes-its-share-of-what-there-is-room-for-in-a-line-of-the-log");
    }
    cr_assert_gt(lost, 0);
    cr_assert_lt(lost, (uint64_t)MANY);
    cr_assert_leq(audit.log.waiting.size, (size_t)AUDIT_WAITING_BYTES);
    job_lanes_stop(&lanes);
    log_file.refuses = true;
    audit_leave_lanes(&audit);
    cr_assert_eq(lost, (uint64_t)MANY);
    audit_fini(&audit);
}

Test(coordinator_audit, users_are_named_and_what_they_may_not_ask_is_noted)
{
    static const struct user_grant grant = {USER_READ, "urls"};
    struct user crawler = {.name = "crawler",
                           .role = USER_CLIENT,
                           .grants = (struct user_grant *)&grant,
                           .ngrants = 1};
    const struct user_wish wish = {.user = "crawler", .token = span_text("0123456789abcdef")};
    struct admin_request request = {
        .action = ADMIN_USER_CHANGE,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "",
        .successor = "",
        .users = {.puts = &crawler, .nputs = 1, .adds = &wish, .nadds = 1},
    };

    open_stage();
    cr_assert_eq(coordinator_stage_make_filter(&stage), FIRST);
    coordinator_stage_ask(&stage, 2, &request);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    EXPECT_LINE(2, "\"action\":\"user change\"",
                "\"created\":[\"crawler\"],\"credentials_added\":[\"crawler\"]",
                "\"outcome\":\"OK\"}");
    cr_assert_null(strstr(log_file.lines[1], "0123456789abcdef"), "tokens are not told");
    request = coordinator_stage_drop();
    request.timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS;
    request.user = "crawler";
    coordinator_stage_ask(&stage, 3, &request);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_UNAUTHENTIC);
    EXPECT_LINE(3, "\"action\":\"drop\",\"filter\":\"urls\",\"user\":\"crawler\"",
                "\"outcome\":\"UNAUTHENTIC\"}");
    request = (struct admin_request){.action = ADMIN_STATUS, .name = "", .user = "nobody"};
    coordinator_stage_ask(&stage, 4, &request);
    EXPECT_LINE(4, "\"action\":\"status\",\"user\":\"nobody\"", "\"outcome\":\"UNAUTHENTIC\"}");
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_UNAUTHENTIC);
    request.user = "crawler";
    coordinator_stage_ask(&stage, 5, &request);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    cr_assert_eq(log_file.count, 4, "a question is none");
    close_stage();
}
