/* Users of RESP clients in turn: who sends much waits for itself, others are served meanwhile, and
 * answers are as ever. */
#include "base/heap.h"
#include "map/access/users.h"
#include "router/resp/private.h"
#include "tests/support/front_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOOD, CALM, OTHER, COMMANDS = 3000, TURNS = 100, MOST_TURNS = 1000, WORDS_BYTES = 64 };

static struct front_stage stage;
static char typed[COMMANDS * WORDS_BYTES];
static char expected[COMMANDS * 5];

/* Two admins, known by their certificates. */
static void fill_record(void)
{
    static const char *const names[] = {"calm", "flood"};

    stage.users.users = heap_zalloc(2, sizeof *stage.users.users);
    cr_assert_not_null(stage.users.users);
    for (uint32_t i = 0; i < 2; i++) {
        struct user *user = &stage.users.users[stage.users.count++];

        user->id = ++stage.users.last_id;
        user->role = USER_ADMIN;
        (void)snprintf(user->name, sizeof user->name, "%s", names[i]);
        (void)snprintf(user->subject, sizeof user->subject, "CN=%s", names[i]);
    }
    stage.users.revision = 1;
}

static void open_as(size_t stream, const char *subject)
{
    stage.subject = subject;
    front_stage_open(&stage, stream);
}

static void start(bool users)
{
    struct front_config config = front_stage_config();

    front_stage_init(&stage, &config);
    front_rekey(stage.front, sample_key());
    if (users) {
        fill_record();
    }
    front_stage_turn(&stage);
    open_as(FLOOD, "CN=flood");
    open_as(CALM, "CN=calm");
    open_as(OTHER, "CN=flood");
}

static void finish(void)
{
    user_list_fini(&stage.users);
    front_stage_fini(&stage);
}

/* So many checks, one behind the other, without a turn of the loop. */
static void type_many(size_t stream, const char *filter, unsigned count)
{
    size_t size = 0;

    for (unsigned i = 0; i < count; i++) {
        size += (size_t)snprintf(typed + size, sizeof typed - size, "BF.EXISTS %s %u\r\n", filter,
                                 i);
    }
    front_stage_bytes(&stage, stream, span_of(typed, size));
}

/* Keys that the router was asked for, of a filter. */
static size_t asked(const char *filter)
{
    size_t count = 0;

    for (size_t i = 0; i < stage.nasked; i++) {
        count += strcmp(stage.asked[i].filter, filter) == 0 ? stage.asked[i].count : 0;
    }
    return count;
}

static bool more(void)
{
    return stage.actor.work(stage.actor.self, stage.now_us);
}

static void reply_all(void)
{
    static char letters[COMMANDS + 1];

    for (size_t i = 0; i < stage.nasked; i++) {
        memset(letters, 'p', stage.asked[i].count);
        letters[stage.asked[i].count] = '\0';
        front_stage_reply(&stage, i, STATUS_OK, letters);
    }
    stage.nasked = 0;
}

Test(resp_front_turns, who_comes_after_a_flood_is_asked_for_in_the_first_turn)
{
    size_t all;

    start(true);
    type_many(FLOOD, "many", COMMANDS);
    type_many(OTHER, "many", COMMANDS);
    type_many(CALM, "few", 1);
    front_stage_turn(&stage);
    cr_assert_eq(asked("few"), 1);
    cr_assert_lt(asked("many"), COMMANDS / 2);
    cr_assert(more(), "the rest is to come at once");
    all = asked("many");
    for (int i = 0; i < TURNS && more(); i++) {
        reply_all();
        front_stage_turn(&stage);
        all += asked("many");
    }
    cr_assert_eq(all, 2 * COMMANDS);
    reply_all();
    front_stage_turn(&stage);
    for (size_t i = 0; i < COMMANDS; i++) {
        memcpy(expected + 4 * i, ":1\r\n", 5);
    }
    front_stage_expect(&stage, FLOOD, expected);
    front_stage_expect(&stage, OTHER, expected);
    front_stage_expect(&stage, CALM, ":1\r\n");
    cr_assert_not(more());
    finish();
}

Test(resp_front_turns, a_request_to_the_router_is_one_users)
{
    start(true);
    type_many(FLOOD, "same", 2);
    type_many(CALM, "same", 3);
    type_many(OTHER, "same", 4);
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 2);
    cr_assert_eq(stage.asked[0].count, 6);
    cr_assert_eq(stage.asked[1].count, 3);
    finish();
}

Test(resp_front_turns, who_has_sent_enough_for_its_turns_is_not_read_from)
{
    start(true);
    for (int i = 0; i < 3; i++) {
        type_many(FLOOD, "many", COMMANDS);
    }
    type_many(CALM, "few", 1);
    front_stage_turn(&stage);
    cr_assert_not(stage.streams[FLOOD].reading);
    cr_assert(stage.streams[CALM].reading);
    for (int i = 0; i < TURNS && more(); i++) {
        reply_all();
        front_stage_turn(&stage);
    }
    reply_all();
    front_stage_turn(&stage);
    cr_assert(stage.streams[FLOOD].reading);
    finish();
}

static void append(char *text, size_t size, const char *more, unsigned times)
{
    size_t used = strlen(text);

    for (unsigned i = 0; i < times; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s", more);
        cr_assert_lt(used, size);
    }
}

static void take_all_turns(void)
{
    for (int i = 0; i < MOST_TURNS && (more() || stage.nasked > 0); i++) {
        reply_all();
        front_stage_turn(&stage);
    }
    cr_assert_not(more());
    cr_assert_eq(stage.nasked, 0);
}

/* What EXEC lets go is taken from where it was queued. */
Test(resp_front_turns, a_transaction_in_the_midst_costs_what_was_sent)
{
    start(true);
    typed[0] = expected[0] = '\0';
    append(typed, sizeof typed, "PING\r\n", 88);
    append(typed, sizeof typed, "MULTI\r\nPING\r\nEXEC\r\n", 1);
    append(typed, sizeof typed, "PING\r\n", 200);
    front_stage_say(&stage, FLOOD, typed);
    cr_assert(more(), "it is more than a turn");
    take_all_turns();
    append(expected, sizeof expected, "+PONG\r\n", 88);
    append(expected, sizeof expected, "+OK\r\n+QUEUED\r\n*1\r\n", 1);
    append(expected, sizeof expected, "+PONG\r\n", 201);
    front_stage_expect(&stage, FLOOD, expected);
    finish();
}

Test(resp_front_turns, small_transactions_one_behind_the_other)
{
    enum { MANY = 150 };

    start(true);
    typed[0] = expected[0] = '\0';
    append(typed, sizeof typed,
           "MULTI\r\nBF.ADD many a\r\nBF.ADD many b\r\nBF.EXISTS many a\r\nEXEC\r\n", MANY);
    front_stage_say(&stage, FLOOD, typed);
    front_stage_say(&stage, CALM, "BF.EXISTS few a\r\n");
    cr_assert_eq(asked("few"), 1);
    take_all_turns();
    /* The fake router says of all that they were there. */
    append(expected, sizeof expected,
           "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n:0\r\n:0\r\n:1\r\n", MANY);
    front_stage_expect(&stage, FLOOD, expected);
    front_stage_expect(&stage, CALM, ":1\r\n");
    finish();
}

/* What stands behind a transaction is not moved for it: each of them would move all the others. */
Test(resp_front_turns, transactions_move_nothing_of_what_stands_behind_them)
{
    enum { MANY = 10000 };
    const struct session *session;
    size_t size;

    start(true);
    typed[0] = '\0';
    append(typed, sizeof typed, "MULTI\r\nPING\r\nEXEC\r\n", MANY);
    size = strlen(typed);
    front_stage_say(&stage, FLOOD, typed);
    session = stage.streams[FLOOD].session;
    cr_assert_gt(session->taken, 1000, "some were carried out");
    cr_assert_eq(session->input.size, size, "and the rest is where it was");
    take_all_turns();
    cr_assert_eq(stage.streams[FLOOD].size,
                 (size_t)MANY * strlen("+OK\r\n+QUEUED\r\n*1\r\n+PONG\r\n"));
    finish();
}

/* Also one that waits for its turn. */
Test(resp_front_turns, who_goes_waits_no_more)
{
    start(true);
    type_many(FLOOD, "many", COMMANDS);
    front_stage_turn(&stage);
    cr_assert(more());
    front_stage_gone(&stage, FLOOD);
    cr_assert_not(more());
    finish();
}

Test(resp_front_turns, without_memory_nobody_waits)
{
    start(true);
    type_many(FLOOD, "many", 1);
    heap_fault_after(0);
    front_stage_turn(&stage);
    heap_fault_clear();
    cr_assert_not(more());
    finish();
}

Test(resp_front_turns, without_users_all_is_taken_at_once)
{
    start(false);
    type_many(FLOOD, "many", COMMANDS);
    front_stage_turn(&stage);
    cr_assert_eq(asked("many"), COMMANDS);
    cr_assert_not(more());
    finish();
}
