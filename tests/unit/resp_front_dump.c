/* BF.SCANDUMP and BF.LOADCHUNK at the front: what is asked of whom, and how refusals read. */
#include "base/heap.h"
#include "map/access/seal.h"
#include "map/dump.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SOURCE = 77, FILTER = 9, SECOND_US = 1000000 };

static struct front_stage stage;
static struct router *router; /* that has heard of nothing */
static struct buffer bytes;

static void begin(void)
{
    const struct front_config config = front_stage_config();
    const struct router_config core = {.name = "router-1", .max_inflight_bytes = 1 << 20};

    buffer_init(&bytes, DUMP_MAX_BYTES);
    front_stage_init(&stage, &config);
    cr_assert_eq(router_create(&core, front_effects(stage.front), &router), STATUS_OK);
    front_attach_core(stage.front, router);
    front_stage_open(&stage, 0);
}

static void end(void)
{
    front_stage_gone(&stage, 0);
    router_destroy(&router);
    buffer_fini(&bytes);
    front_stage_fini(&stage);
}

static void write_header(void)
{
    const struct dump_header header = {
        .source = SOURCE,
        .capacity = 1000,
        .rate = 0.002,
        .max_capacity = 5000,
        .rule = {5, 3, 4},
        .hash = HASH_XXH3,
        .when_unavailable = WHEN_UNAVAILABLE_MAYBE,
        .when_full = WHEN_FULL_EXPAND,
        .secret = {{1, 2, 3}},
    };

    buffer_clear(&bytes);
    cr_assert_eq(dump_header_write(&header, &bytes), STATUS_OK);
}

static void write_chunk(size_t count)
{
    const uint64_t keys[] = {0x30000, 0x30001};

    buffer_clear(&bytes);
    cr_assert_eq(dump_chunk_write(SOURCE, 4, 9, keys, count, &bytes), STATUS_OK);
}

/* What is in `bytes`, as it came with this iterator. */
static void load_by(size_t stream, int iterator)
{
    char text[128];

    (void)snprintf(text, sizeof text,
                   "*4\r\n$12\r\nBF.LOADCHUNK\r\n$2\r\nto\r\n$1\r\n%d\r\n$%zu\r\n", iterator,
                   bytes.size);
    front_stage_type(&stage, stream, text);
    front_stage_bytes(&stage, stream, buffer_span(&bytes));
    front_stage_type(&stage, stream, "\r\n");
    front_stage_turn(&stage);
}

static void load(int iterator)
{
    load_by(0, iterator);
}

static void say(const struct frame *question, enum status status)
{
    front_stage_answer(&stage, question, status, false);
    front_stage_turn(&stage);
}

/* The coordinator says yes, and which filter it is. */
static void allow(const struct frame *question)
{
    static const struct filter_summary filter = {.id = FILTER,
                                                 .name = "to",
                                                 .state = FILTER_ACTIVE,
                                                 .hash = HASH_XXH3,
                                                 .when_unavailable = WHEN_UNAVAILABLE_ERROR,
                                                 .when_full = WHEN_FULL_REFUSE,
                                                 .keylog = KEYLOG_ON,
                                                 .durability = DURABILITY_SYNC};
    struct frame frame = {
        .kind = FRAME_ADMIN_REPLY,
        .correlation = question->correlation,
        .body.admin_reply = {.message = "", .filters = &filter, .nfilters = 1},
    };

    fake_answer(&stage.actor, stage.now_us, fake_link(&stage.fake, "tcp://coordinator:7400"),
                &frame);
    front_stage_turn(&stage);
}

Test(resp_front_dump, a_header_makes_the_filter_that_it_tells_of)
{
    const struct cluster_key key = {.count = 1};
    struct frame question;
    const struct admin_request *request = &question.body.admin_request;
    struct hash_secret secret;

    begin();
    write_header();
    load(1);
    question = front_stage_question(&stage);
    cr_assert_eq(request->action, ADMIN_LOAD);
    cr_assert_str_eq(request->name, "to");
    cr_assert_eq(request->load.step, LOAD_BEGIN);
    cr_assert_eq(request->load.source, SOURCE);
    cr_assert_eq(seal_secret_open(&key, SOURCE, request->load.secret, &secret), STATUS_OK);
    cr_assert_eq(secret.bytes[2], 3);
    cr_assert_eq(request->create.capacity, 1000);
    cr_assert_eq(request->create.rate, 0.002);
    cr_assert_eq(request->create.max_capacity, 5000);
    cr_assert_eq(request->create.rule.write, 3);
    cr_assert_eq(request->create.hash, HASH_XXH3);
    cr_assert_eq(request->create.when_unavailable, WHEN_UNAVAILABLE_MAYBE);
    cr_assert_eq(request->create.when_full, WHEN_FULL_EXPAND);
    cr_assert_eq(request->create.keylog, KEYLOG_ON);
    say(&question, STATUS_OK);
    front_stage_expect(&stage, 0, "+OK\r\n");
    end();
}

static void expect_refusal(int iterator, enum status status, const char *text)
{
    struct frame question;

    load(iterator);
    question = front_stage_question(&stage);
    say(&question, status);
    front_stage_expect(&stage, 0, text);
}

Test(resp_front_dump, refusals_read_as_those_of_peers)
{
    begin();
    write_header();
    expect_refusal(1, STATUS_EXISTS, "-ERR item exists\r\n");
    expect_refusal(1, STATUS_NO_SPACE, "-ERR Insufficient memory to create filter\r\n");
    expect_refusal(1, STATUS_UNAVAILABLE, "-UNAVAILABLE said so\r\n");
    write_chunk(2);
    expect_refusal(9, STATUS_NOT_FOUND, "-ERR not found\r\n");
    expect_refusal(9, STATUS_INVALID, "-ERR invalid offset - no link found\r\n");
    expect_refusal(9, STATUS_EXISTS, "-ERR received bad data\r\n");
    expect_refusal(9, STATUS_CONFLICT, "-CONFLICT said so\r\n");
    load(8);
    front_stage_expect(&stage, 0, "-ERR invalid offset - no link found\r\n");
    bytes.data[30] ^= 1;
    load(9);
    front_stage_expect(&stage, 0, "-ERR received bad data\r\n");
    load(1);
    front_stage_expect(&stage, 0, "-ERR received bad data\r\n");
    end();
}

Test(resp_front_dump, a_chunk_without_keys_only_moves_the_load_on)
{
    struct frame question;

    begin();
    write_chunk(0);
    load(9);
    question = front_stage_question(&stage);
    cr_assert_eq(question.body.admin_request.load.step, LOAD_ASK);
    cr_assert_eq(question.body.admin_request.load.from, 4);
    cr_assert_eq(question.body.admin_request.load.to, 9);
    cr_assert_eq(question.body.admin_request.filter_id, FRONT_STAGE_FILTER, "what has the name");
    allow(&question);
    question = front_stage_question(&stage);
    cr_assert_eq(question.body.admin_request.load.step, LOAD_MOVE);
    cr_assert_eq(question.body.admin_request.filter_id, FILTER, "that one and no later one");
    front_stage_expect(&stage, 0, "");
    allow(&question);
    front_stage_expect(&stage, 0, "+OK\r\n");
    end();
}

/* It was made by way of another router a moment ago. */
Test(resp_front_dump, a_filter_that_the_router_has_not_heard_of_is_waited_for)
{
    struct frame question;

    begin();
    write_chunk(2);
    load(9);
    question = front_stage_question(&stage);
    allow(&question);
    front_stage_pass(&stage, 4 * SECOND_US);
    front_stage_expect(&stage, 0, "");
    front_stage_pass(&stage, 2 * SECOND_US);
    front_stage_expect(&stage, 0,
                       "-UNAVAILABLE not acknowledged in time, send it again: this router has "
                       "not heard of the filter yet\r\n");
    end();
}

Test(resp_front_dump, a_client_that_goes_leaves_its_load_to_end)
{
    struct frame question;

    begin();
    write_chunk(2);
    load(9);
    question = front_stage_question(&stage);
    front_stage_gone(&stage, 0);
    allow(&question);
    front_stage_pass(&stage, 10 * SECOND_US);
    front_stage_open(&stage, 0);
    end(); /* It finds what was leaked. */
}

Test(resp_front_dump, what_is_under_way_ends_with_the_router)
{
    begin();
    write_chunk(2);
    load(9);
    front_stage_say(&stage, 0, "");
    end();
}

Test(resp_front_dump, numbers_are_numbers)
{
    begin();
    front_stage_say(&stage, 0, "BF.SCANDUMP from x\r\n");
    front_stage_expect(&stage, 0, "-Second argument must be numeric\r\n");
    front_stage_say(&stage, 0, "BF.SCANDUMP from -1\r\n");
    front_stage_expect(&stage, 0, "-Second argument must be numeric\r\n");
    front_stage_say(&stage, 0, "BF.SCANDUMP no/name 0\r\n");
    front_stage_expect(&stage, 0, "-ERR not found\r\n");
    front_stage_say(&stage, 0, "BF.LOADCHUNK to x y\r\n");
    front_stage_expect(&stage, 0, "-ERR Second argument must be numeric\r\n");
    front_stage_say(&stage, 0, "BF.SCANDUMP from\r\n");
    front_stage_expect(&stage, 0, "-ERR wrong number of arguments for 'bf.scandump' command\r\n");
    end();
}

/* ---- of users ---- */

/* Two admins, known by their certificates. */
static void learn_users(void)
{
    static const char *const names[] = {"calm", "greedy"};

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
    front_stage_turn(&stage);
}

#define CROWDED "-OVERLOADED too many chunks are under way; retry\r\n"

/* Of 64 places, each on a connection of its own. */
Test(resp_front_dump, who_loads_a_lot_leaves_places_for_others)
{
    enum { CALM = 40, HALF = 32 };

    begin();
    learn_users();
    write_chunk(2);
    stage.subject = "CN=greedy";
    for (size_t i = 1; i <= HALF + 1; i++) {
        front_stage_open(&stage, i);
        load_by(i, 9);
        front_stage_expect(&stage, i, i <= HALF ? "" : CROWDED);
    }
    stage.subject = "CN=calm";
    front_stage_open(&stage, CALM);
    load_by(CALM, 9);
    front_stage_expect(&stage, CALM, "");
    (void)front_stage_question(&stage);
    user_list_fini(&stage.users);
    end();
}

/* Its fingerprints are keys under way, of which there are so many bytes at most. */
Test(resp_front_dump, a_chunk_that_there_is_no_memory_for_is_refused)
{
    struct front_config config = front_stage_config();

    begin();
    config.max_memory = 4 * 15;
    front_configure(stage.front, &config);
    write_chunk(2);
    load(9);
    front_stage_expect(&stage, 0, CROWDED);
    end();
}
