/* What operators ask of a filter: how it is, another capacity, its items anew from a list. */
#include "base/heap.h"
#include "router/resp/private.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { ID = 7, OPEN = 5, SECOND = 1000000 };

static struct front_stage stage;

static void expect(const char *said, const char *answer)
{
    front_stage_answers(&stage, 0, said, answer);
}

/* The coordinator answers the newest question with filter f, of rebuild `open`; it is returned. */
static struct admin_request answer_filter(enum admin_action wanted, uint32_t open)
{
    struct frame question = front_stage_question(&stage);
    struct filter_summary filter = front_stage_filter("f");
    const struct admin_reply reply = {.message = "", .filters = &filter, .nfilters = 1};

    cr_assert_eq(question.body.admin_request.action, wanted);
    cr_assert_str_eq(question.body.admin_request.name, "f");
    filter.rebuild_keyset = open;
    front_stage_answer_with(&stage, &question, &reply);
    return question.body.admin_request;
}

static void refuse(enum admin_action wanted, enum status status)
{
    struct frame question = front_stage_question(&stage);

    cr_assert_eq(question.body.admin_request.action, wanted);
    front_stage_answer(&stage, &question, status, false);
}

/* ---- rebuild ---- */

Test(resp_rebuild, begin_means_the_filter_that_was_seen)
{
    struct admin_request request;

    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "BF.REBUILD f BEGIN\r\n");
    (void)answer_filter(ADMIN_STATUS, 0);
    front_stage_expect(&stage, 0, "");
    request = answer_filter(ADMIN_REBUILD, OPEN);
    cr_assert_eq(request.filter_id, ID);
    cr_assert_eq(request.rebuild.step, REBUILD_BEGIN);
    cr_assert_eq(request.rebuild.keyset, 0);
    front_stage_expect(&stage, 0, ":5\r\n");
    front_stage_fini(&stage);
}

Test(resp_rebuild, commit_and_abort_name_the_one_that_is_open)
{
    static const struct {
        const char *said;
        enum rebuild_step step;
        uint32_t open;
        uint32_t meant;
        bool empty;
    } cases[] = {
        {"BF.REBUILD f COMMIT\r\n", REBUILD_COMMIT, OPEN, OPEN, false},
        {"bf.rebuild f commit yes\r\n", REBUILD_COMMIT, OPEN, OPEN, true},
        {"BF.REBUILD f COMMIT\r\n", REBUILD_COMMIT, 0, 1, false}, /* the one that serves */
        {"BF.REBUILD f ABORT\r\n", REBUILD_ABORT, OPEN, OPEN, false},
    };

    front_stage_start(&stage, 2);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct admin_request request;

        front_stage_say(&stage, 0, cases[i].said);
        (void)answer_filter(ADMIN_STATUS, cases[i].open);
        request = answer_filter(ADMIN_REBUILD, 0);
        cr_assert_eq(request.rebuild.step, cases[i].step);
        cr_assert_eq(request.rebuild.keyset, cases[i].meant);
        cr_assert_eq(request.rebuild.empty, cases[i].empty);
        front_stage_expect(&stage, 0, "+OK\r\n");
    }
    front_stage_fini(&stage);
}

Test(resp_rebuild, what_follows_sees_what_came_of_it)
{
    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "BF.REBUILD f COMMIT\r\nPING\r\nBF.EXISTS f a\r\nBF.ADD g a\r\n");
    (void)answer_filter(ADMIN_STATUS, OPEN);
    cr_assert_eq(stage.nasked, 0);
    (void)answer_filter(ADMIN_REBUILD, 0);
    cr_assert_eq(stage.nasked, 2, "and these two need not wait for one another");
    front_stage_fini(&stage);
}

Test(resp_rebuild, a_step_that_fails_says_why)
{
    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "BF.REBUILD f BEGIN\r\n");
    refuse(ADMIN_STATUS, STATUS_NOT_FOUND);
    front_stage_expect(&stage, 0, "-ERR not found\r\n");
    front_stage_say(&stage, 0, "BF.REBUILD f BEGIN\r\n");
    (void)answer_filter(ADMIN_STATUS, 0);
    refuse(ADMIN_REBUILD, STATUS_CONFLICT);
    front_stage_expect(&stage, 0, "-CONFLICT said so\r\n");
    front_stage_say(&stage, 0, "BF.REBUILD f ABORT\r\n");
    front_stage_pass(&stage, 6 * SECOND);
    front_stage_expect(&stage, 0,
                       "-UNAVAILABLE no coordinator answers in time; is it running?\r\n");
    expect("BF.REBUILD bad/name BEGIN\r\n", "-ERR not found\r\n");
    expect("BF.REBUILD f\r\n", "-ERR wrong number of arguments for 'bf.rebuild' command\r\n");
    for (size_t i = 0; i < 4; i++) {
        static const char *const wrong[] = {"FEED", "BEGIN x", "COMMIT no", "UNDO"};

        front_stage_type(&stage, 0, "BF.REBUILD f ");
        front_stage_type(&stage, 0, wrong[i]);
        expect(
            "\r\n",
            "-ERR syntax error: BF.REBUILD name BEGIN | FEED item... | COMMIT [YES] | ABORT\r\n");
    }
    front_stage_fini(&stage);
}

/* ---- feed ---- */

Test(resp_feed, items_go_into_the_rebuild_that_was_seen_and_are_told_of)
{
    struct admin_request request;

    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "BF.REBUILD f FEED a b c\r\nPING\r\n");
    cr_assert_eq(stage.nasked, 0);
    (void)answer_filter(ADMIN_STATUS, OPEN);
    cr_assert_eq(stage.nasked, 1);
    cr_assert_eq(stage.asked[0].operation, OPERATION_FEED);
    cr_assert_eq(stage.asked[0].filter_id, ID);
    cr_assert_eq(stage.asked[0].keyset, OPEN);
    cr_assert_str_eq(stage.asked[0].keys, "a b c");
    front_stage_reply(&stage, 0, STATUS_UNAVAILABLE, "apu");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "");
    request = answer_filter(ADMIN_REBUILD, OPEN);
    cr_assert_eq(request.rebuild.step, REBUILD_FED);
    cr_assert_eq(request.filter_id, ID);
    cr_assert_eq(request.rebuild.keyset, OPEN);
    cr_assert_eq(request.rebuild.fed_keys, 2);
    front_stage_expect(&stage, 0, "*3\r\n:1\r\n:0\r\n-UNAVAILABLE said so\r\n+PONG\r\n");
    front_stage_fini(&stage);
}

Test(resp_feed, what_the_coordinator_does_not_know_is_an_error)
{
    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "BF.REBUILD f FEED a\r\n");
    (void)answer_filter(ADMIN_STATUS, OPEN);
    front_stage_reply(&stage, 0, STATUS_OK, "a");
    front_stage_turn(&stage);
    refuse(ADMIN_REBUILD, STATUS_IO);
    front_stage_expect(&stage, 0,
                       "-IO the items are fed, but the coordinator does not know, so COMMIT would "
                       "ask for a list; feed them again: said so\r\n");
    front_stage_fini(&stage);
}

Test(resp_feed, what_was_not_fed_is_not_told_of)
{
    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "BF.REBUILD f FEED a\r\n");
    (void)answer_filter(ADMIN_STATUS, OPEN);
    front_stage_reply(&stage, 0, STATUS_UNAVAILABLE, "u");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "*1\r\n-UNAVAILABLE said so\r\n");
    front_stage_say(&stage, 0, "BF.REBUILD f FEED a\r\n");
    (void)answer_filter(ADMIN_STATUS, OPEN);
    front_stage_reply(&stage, 1, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "-ERR not found\r\n");
    front_stage_fini(&stage);
}

Test(resp_feed, without_a_rebuild_nothing_is_fed)
{
    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "BF.REBUILD f FEED a\r\n");
    (void)answer_filter(ADMIN_STATUS, 0);
    front_stage_expect(&stage, 0, "-ERR INVALID no rebuild of f is open: BEGIN first\r\n");
    front_stage_say(&stage, 0, "BF.REBUILD f FEED a\r\n");
    refuse(ADMIN_STATUS, STATUS_NOT_FOUND);
    front_stage_expect(&stage, 0, "-ERR not found\r\n");
    expect("BF.REBUILD f FEED a \"\"\r\n", "-ERR an item has 1 to 65536 bytes\r\n");
    cr_assert_eq(stage.nasked, 0);
    front_stage_fini(&stage);
}

/* Each is told of by itself, also where both may leave in one turn. */
Test(resp_feed, two_connections_share_nothing)
{
    struct filter_summary filter = front_stage_filter("f");
    const struct admin_reply reply = {.message = "", .filters = &filter, .nfilters = 1};
    struct frame questions[2];

    front_stage_start(&stage, 2);
    filter.rebuild_keyset = OPEN;
    for (size_t i = 0; i < 2; i++) {
        front_stage_say(&stage, i, "BF.REBUILD f FEED a\r\n");
        questions[i] = front_stage_question(&stage);
    }
    front_stage_hear(&stage, &questions[0], &reply);
    front_stage_hear(&stage, &questions[1], &reply);
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 2);
    cr_assert_eq(stage.asked[0].count, 1);
    front_stage_fini(&stage);
}

/* Leaks and uses of what is freed are for front_stage_fini() and sanitizers to find. */
Test(resp_feed, a_connection_goes_at_any_moment)
{
    for (int moment = 0; moment < 3; moment++) {
        struct frame question;

        front_stage_start(&stage, 2);
        front_stage_say(&stage, 0, "BF.REBUILD f FEED a\r\n");
        if (moment > 0) {
            (void)answer_filter(ADMIN_STATUS, OPEN);
        }
        if (moment > 1) {
            front_stage_reply(&stage, 0, STATUS_OK, "a");
            front_stage_turn(&stage);
        }
        front_stage_gone(&stage, 0);
        if (moment == 1) {
            front_stage_reply(&stage, 0, STATUS_OK, "a");
            front_stage_turn(&stage);
        }
        question = front_stage_question(&stage);
        cr_assert_eq(question.body.admin_request.action,
                     moment == 0 ? ADMIN_STATUS : ADMIN_REBUILD);
        front_stage_answer(&stage, &question, STATUS_OK, false);
        front_stage_fini(&stage);
    }
    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "BF.REBUILD f FEED a\r\n");
    front_stage_fini(&stage);
}

Test(resp_feed, memory_that_fails_is_an_error_or_the_end)
{
    for (unsigned n = 0; n < 12; n++) {
        front_stage_start(&stage, 2);
        heap_fault_after(n);
        front_stage_say(&stage, 0, "BF.REBUILD f FEED a\r\n");
        heap_fault_clear();
        front_stage_pass(&stage, 7 * SECOND);
        cr_assert(stage.streams[0].closed || stage.streams[0].text != NULL, "after %u", n);
        cr_assert(stage.streams[0].text == NULL || stage.streams[0].text[0] == '-');
        front_stage_fini(&stage);
    }
}

/* ---- expand ---- */

Test(resp_expand, it_asks_for_what_was_said)
{
    struct admin_request request;

    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "BF.EXPAND f ERROR 0.001 CAPACITY 4000000\r\n");
    request = answer_filter(ADMIN_EXPAND, 0);
    cr_assert_eq(request.expand.capacity, 4000000);
    cr_assert_eq(request.expand.rate, 0.001);
    cr_assert_not(request.expand.abort);
    front_stage_expect(&stage, 0, "+OK\r\n");
    front_stage_say(&stage, 0, "BF.EXPAND f abort\r\n");
    cr_assert(answer_filter(ADMIN_EXPAND, 0).expand.abort);
    front_stage_expect(&stage, 0, "+OK\r\n");
    front_stage_say(&stage, 0, "BF.EXPAND f\r\n");
    refuse(ADMIN_EXPAND, STATUS_INVALID);
    front_stage_expect(&stage, 0, "-ERR INVALID said so\r\n");
    front_stage_fini(&stage);
}

Test(resp_expand, what_makes_no_sense_is_not_asked)
{
    front_stage_start(&stage, 2);
    expect("BF.EXPAND f CAPACITY\r\n", "-ERR syntax error\r\n");
    expect("BF.EXPAND f CAPACITY 1e6\r\n", "-ERR bad capacity\r\n");
    expect("BF.EXPAND f CAPACITY 0\r\n",
           "-ERR capacity must be in the range [1, 1000000000000]\r\n");
    expect("BF.EXPAND f CAPACITY 99999999999999999999\r\n", "-ERR bad capacity\r\n");
    expect("BF.EXPAND f ERROR nan\r\n", "-ERR bad error rate\r\n");
    expect("BF.EXPAND f ERROR 1\r\n", "-ERR error rate must be in the range [1e-9, 0.5]\r\n");
    expect("BF.EXPAND f ABORT CAPACITY 5\r\n",
           "-ERR ABORT takes back what is under way; it takes no CAPACITY and no ERROR\r\n");
    expect("BF.EXPAND bad/name\r\n", "-ERR not found\r\n");
    front_stage_fini(&stage);
}

/* ---- status ---- */

/* Behind one value of RESP 3. */
static const char *skip(const char *at)
{
    long size = strtol(at + 1, NULL, 10);
    char sign = *at;

    cr_assert_not_null(strchr("+-:,#_$*%", sign), "%s", at);
    at = strstr(at, "\r\n") + 2;
    if (sign == '$') {
        return at + size + 2;
    }
    for (long i = 0; i < size * (sign == '%' ? 2 : 1) && (sign == '*' || sign == '%'); i++) {
        at = skip(at);
    }
    return at;
}

static void expect_one_value(const char *holding)
{
    const char *text = stage.streams[0].text;

    cr_assert_not_null(text);
    cr_assert_not_null(strstr(text, holding), "%s", text);
    cr_assert_str_eq(skip(text), "", "maps and arrays have as many as they say");
    front_stage_expect(&stage, 0, text);
}

Test(resp_status, of_one_and_of_all)
{
    const struct node_summary node = {.name = "node-1",
                                      .host = "h",
                                      .zone = "z",
                                      .endpoint = "e",
                                      .replaced_by = "",
                                      .awaited = ""};
    struct filter_summary filters[] = {front_stage_filter("f"), front_stage_filter("g")};
    struct frame question;

    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "HELLO 3\r\n");
    front_stage_expect(&stage, 0, stage.streams[0].text);
    front_stage_say(&stage, 0, "BF.STATUS f\r\n");
    (void)answer_filter(ADMIN_STATUS, OPEN);
    expect_one_value("$7\r\nrebuild\r\n:5\r\n");
    front_stage_say(&stage, 0, "BF.STATUS\r\n");
    question = front_stage_question(&stage);
    cr_assert_str_eq(question.body.admin_request.name, "");
    front_stage_answer_with(
        &stage, &question,
        &(struct admin_reply){
            .message = "look", .nodes = &node, .nnodes = 1, .filters = filters, .nfilters = 2});
    expect_one_value("%3\r\n$9\r\nattention\r\n$4\r\nlook\r\n$5\r\nnodes\r\n*1\r\n");
    front_stage_say(&stage, 0, "BF.STATUS f\r\n");
    refuse(ADMIN_STATUS, STATUS_NOT_FOUND);
    front_stage_expect(&stage, 0, "-ERR not found\r\n");
    expect("BF.STATUS bad/name\r\n", "-ERR not found\r\n");
    expect("BF.STATUS a b\r\n", "-ERR wrong number of arguments for 'bf.status' command\r\n");
    front_stage_fini(&stage);
}

Test(resp_status, layers_are_the_generations_that_are_read)
{
    struct info_reply reply = {
        .message = "", .has_filter = true, .filter = front_stage_filter("f")};

    front_stage_start(&stage, 2);
    reply.filter.generations[1] = (struct generation_summary){2, 4000, 0.001, 128, 2};
    reply.filter.ngenerations = 2;
    front_stage_say(&stage, 0, "BF.DEBUG f\r\n");
    front_stage_info(&stage, 0, &reply);
    front_stage_expect(&stage, 0,
                       "*2\r\n$6\r\nsize:0\r\n$77\r\nbytes:65536 bits:524288 hashes:8 "
                       "hashwidth:64 capacity:1000 size:0 ratio:0.01\r\n");
    reply.filter.nchain = 2;
    front_stage_say(&stage, 0, "BF.DEBUG f\r\n");
    front_stage_info(&stage, 1, &reply);
    cr_assert_not_null(strstr(stage.streams[0].text, "*3\r\n"));
    cr_assert_not_null(strstr(stage.streams[0].text, "bytes:131072 bits:1048576 hashes:16 "
                                                     "hashwidth:64 capacity:4000"));
    front_stage_expect(&stage, 0, stage.streams[0].text);
    expect("BF.DEBUG bad/name\r\n", "-ERR not found\r\n");
    front_stage_fini(&stage);
}
