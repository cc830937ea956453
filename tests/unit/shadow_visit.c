/* A client, an old and a new server, all of them texts: what goes to whom, and what is counted. */
#include "base/heap.h"
#include "cli/shadow/compare.h"
#include "cli/shadow/visit.h"

#include <criterion/criterion.h>

enum { MOST = 1 << 20, PATIENCE_US = 100 };

static struct stage {
    struct buffer client;
    struct buffer old_server;
    struct buffer new_server;
    struct mirror mirror;
    struct tally tally;
    struct visit_port port;
    struct visit *visit;
    uint64_t now_us;
} stage;

static void append(struct buffer *out, struct span bytes)
{
    cr_assert_eq(buffer_append(out, bytes), STATUS_OK);
}

static void to_client(void *owner, struct span bytes)
{
    append(&((struct stage *)owner)->client, bytes);
}

static void to_old(void *owner, struct span bytes)
{
    append(&((struct stage *)owner)->old_server, bytes);
}

static void to_new(void *context, struct span bytes)
{
    append(&((struct stage *)context)->new_server, bytes);
}

static void answered(void *context, struct mirror_item *item, struct span reply)
{
    shadow_compare(&((struct stage *)context)->tally, item, reply);
    visit_new_answered(item, reply);
}

static void put_off(void *context, struct mirror_item *item)
{
    (void)context;
    visit_new_answered(item, span_of(NULL, 0)); /* For whoever waits it is none. */
}

static void open_stage(bool answers_new, size_t queue_bytes)
{
    const struct mirror_port port = {
        .context = &stage, .send = to_new, .answered = answered, .put_off = put_off};

    buffer_init(&stage.client, MOST);
    buffer_init(&stage.old_server, MOST);
    buffer_init(&stage.new_server, MOST);
    mirror_init(&stage.mirror, &port, queue_bytes, PATIENCE_US, span_of(NULL, 0));
    stage.port = (struct visit_port){.to_client = to_client,
                                     .to_old = to_old,
                                     .mirror = &stage.mirror,
                                     .tally = &stage.tally,
                                     .answers_new = answers_new};
    stage.visit = visit_create(&stage.port, &stage);
    stage.now_us = 1000;
    mirror_connected(&stage.mirror);
}

static void close_stage(void)
{
    visit_destroy(&stage.visit);
    mirror_fini(&stage.mirror);
    buffer_fini(&stage.client);
    buffer_fini(&stage.old_server);
    buffer_fini(&stage.new_server);
    cr_assert_eq(heap_live(), 0);
}

static void start(void)
{
    open_stage(false, MOST);
}

static void start_answers_new(void)
{
    open_stage(true, MOST);
}

static void client(const char *text)
{
    visit_client_bytes(stage.visit, span_text(text));
}

static void old_server(const char *text)
{
    visit_old_bytes(stage.visit, ++stage.now_us, span_text(text));
}

static void new_server(const char *text)
{
    cr_assert(mirror_bytes(&stage.mirror, stage.now_us, span_text(text)));
}

static void expect(struct buffer *bytes, const char *text)
{
    cr_assert(span_equal(buffer_span(bytes), span_text(text)), "\"%.*s\", not \"%s\"",
              (int)bytes->size, (const char *)bytes->data, text);
    buffer_clear(bytes);
}

static void expect_count(enum tally_count what, uint64_t count)
{
    cr_assert_eq(stage.tally.counts[what], count, "%d: %lu, not %lu", (int)what,
                 (unsigned long)stage.tally.counts[what], (unsigned long)count);
}

/* ---- answers of the old server ---- */

TestSuite(visit, .init = start, .fini = close_stage);

Test(visit, an_add_goes_to_the_new_one_once_the_old_one_has_it)
{
    client("BF.ADD f a\r\n");
    expect(&stage.old_server, "BF.ADD f a\r\n");
    expect(&stage.new_server, "");
    old_server(":1\r\n");
    expect(&stage.client, ":1\r\n");
    expect(&stage.new_server, "BF.ADD f a\r\n");
    new_server(":1\r\n");
    expect_count(TALLY_ADDED, 1);
    expect_count(TALLY_NEITHER, 1);
}

Test(visit, what_the_old_one_refuses_is_not_for_the_new_one)
{
    client("BF.ADD f a\r\nBF.EXISTS f a\r\n");
    old_server("-NOAUTH Authentication required.\r\n-WRONGTYPE x\r\n");
    expect(&stage.client, "-NOAUTH Authentication required.\r\n-WRONGTYPE x\r\n");
    expect(&stage.new_server, "");
}

Test(visit, all_else_passes_whatever_it_is_and_however_it_is_cut)
{
    static const char asked[] =
        "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$6\r\nBF.ADD\r\n"
        "*3\r\n$7\r\nbf.madd\r\n$1\r\nf\r\n$2\r\n\r\n\r\n\r\nPING\r\n*0\r\n";
    static const char told[] = "+OK\r\n*1\r\n:1\r\n+PONG\r\n";

    for (size_t i = 0; i < sizeof asked - 1; i++) {
        visit_client_bytes(stage.visit, span_of(asked + i, 1));
    }
    expect(&stage.old_server, asked);
    for (size_t i = 0; i < sizeof told - 1; i++) {
        visit_old_bytes(stage.visit, 1, span_of(told + i, 1));
    }
    expect(&stage.client, told);
    expect(&stage.new_server, "*3\r\n$7\r\nbf.madd\r\n$1\r\nf\r\n$2\r\n\r\n\r\n");
    cr_assert(visit_is_settled(stage.visit));
    expect_count(TALLY_BLIND, 0);
}

Test(visit, keys_are_compared_one_by_one)
{
    client("BF.MEXISTS f a b c d e\r\nBF.INSERT f CAPACITY 9 NOCREATE ITEMS a b\r\n");
    old_server("*5\r\n:1\r\n:1\r\n:0\r\n:0\r\n:1\r\n*2\r\n#f\r\n#t\r\n");
    new_server("*5\r\n:1\r\n:0\r\n:1\r\n:0\r\n-UNAVAILABLE x\r\n*2\r\n:1\r\n:1\r\n");
    expect_count(TALLY_CHECKED, 5);
    expect_count(TALLY_ADDED, 2);
    expect_count(TALLY_BOTH, 1);
    expect_count(TALLY_ONLY_OLD, 2); /* What an add calls new was not there. */
    expect_count(TALLY_ONLY_NEW, 1);
    expect_count(TALLY_NEITHER, 2);
    expect_count(TALLY_UNCOMPARED, 1);
    expect_count(TALLY_MISSED_REFUSED, 0);
}

Test(visit, adds_that_are_refused_are_missed_and_a_filter_that_exists_is_fine)
{
    client("BF.MADD f a b\r\nBF.ADD f c\r\nBF.RESERVE f 0.1 10\r\nBF.RESERVE g 0.1 10\r\n");
    old_server("*2\r\n:1\r\n:1\r\n:1\r\n+OK\r\n+OK\r\n");
    new_server("*2\r\n:1\r\n-ERR full\r\n-ERR not 'secret'\r\n-ERR item exists\r\n-ERR bad\r\n");
    expect_count(TALLY_MISSED_REFUSED, 2);
    expect_count(TALLY_NOT_MADE, 1);
    cr_assert_eq(tally_missed(&stage.tally), 2);
    cr_assert_str_eq(stage.tally.refusal, "ERR bad");
}

Test(visit, a_transaction_goes_to_the_new_one_with_exec)
{
    client("MULTI\r\nBF.ADD f a\r\nPING\r\nBF.EXISTS f b\r\nEXEC\r\n");
    old_server("+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n");
    expect(&stage.new_server, "");
    old_server("*3\r\n:1\r\n+PONG\r\n:1\r\n");
    expect(&stage.new_server, "BF.ADD f a\r\nBF.EXISTS f b\r\n");
    new_server(":0\r\n:0\r\n");
    expect_count(TALLY_ONLY_NEW, 1);
    expect_count(TALLY_ONLY_OLD, 1);
}

Test(visit, a_transaction_that_is_not_done_does_not)
{
    client("MULTI\r\nBF.ADD f a\r\nDISCARD\r\nMULTI\r\nBF.ADD f b\r\nEXEC\r\n"
           "MULTI\r\nBF.ADD f c\r\nEXEC\r\nBF.ADD f d\r\n");
    old_server("+OK\r\n+QUEUED\r\n+OK\r\n+OK\r\n+QUEUED\r\n*-1\r\n"
               "+OK\r\n+QUEUED\r\n-EXECABORT x\r\n:1\r\n");
    expect(&stage.new_server, "BF.ADD f d\r\n");
}

Test(visit, a_transaction_that_is_too_large_is_missed_and_the_next_one_is_not)
{
    enum { MANY = 300000 };

    client("MULTI\r\nBF.ADD f a\r\n");
    old_server("+OK\r\n+QUEUED\r\n");
    for (int i = 0; i < MANY; i++) {
        client("PING\r\n");
        old_server("+QUEUED\r\n");
        buffer_clear(&stage.client);
        buffer_clear(&stage.old_server);
    }
    client("BF.ADD f b\r\nEXEC\r\nMULTI\r\nBF.ADD f c\r\nEXEC\r\n");
    old_server("+QUEUED\r\n*1\r\n:1\r\n+OK\r\n+QUEUED\r\n*1\r\n:1\r\n");
    expect(&stage.new_server, "BF.ADD f c\r\n");
    expect_count(TALLY_MISSED_FULL, 2);
}

Test(visit, filters_of_other_databases_are_others)
{
    client("SELECT 3\r\nBF.ADD f a\r\nSELECT 99\r\nSELECT 0\r\nBF.ADD f b\r\n");
    old_server("+OK\r\n:1\r\n-ERR DB index is out of range\r\n+OK\r\n:1\r\n");
    expect(&stage.new_server, "BF.ADD f b\r\n");
    expect_count(TALLY_OTHER_DATABASE, 1);
}

Test(visit, from_subscribe_on_all_passes_unseen)
{
    client("BF.ADD f a\r\nSUBSCRIBE x y\r\nBF.ADD f b\r\n");
    old_server(":1\r\n*3\r\n+subscribe\r\n+x\r\n:1\r\n*3\r\n+subscribe\r\n+y\r\n:2\r\n+what");
    expect(&stage.client,
           ":1\r\n*3\r\n+subscribe\r\n+x\r\n:1\r\n*3\r\n+subscribe\r\n+y\r\n:2\r\n+what");
    expect(&stage.new_server, "BF.ADD f a\r\n");
    expect_count(TALLY_BLIND, 1);
    expect_count(TALLY_MISSED_UNSURE, 1);
    client("CLIENT REPLY ON\r\nPING\r\nBF.EXISTS f a\r\n*3\r\n$7\r\nBF.MADD\r\n$1\r\nf\r\n$1");
    expect_count(TALLY_MISSED_UNSURE, 1);
    client("\r\nc\r\n*1\r\n:1\r\nBF.ADD f d\r\n");
    expect_count(TALLY_BLIND, 1);
    expect_count(TALLY_MISSED_UNSURE, 2);
}

/* Whose EXEC nobody will see. */
Test(visit, a_transaction_that_goes_on_unseen_is_missed)
{
    client("MULTI\r\nBF.MADD f a b\r\nSUBSCRIBE x\r\nEXEC\r\n");
    old_server("+OK\r\n+QUEUED\r\n");
    expect_count(TALLY_MISSED_UNSURE, 0);
    old_server("+QUEUED\r\n*2\r\n");
    expect_count(TALLY_MISSED_UNSURE, 2);
    expect(&stage.client, "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n");
}

/* What is reserved is there: only what the shadow itself keeps finds no memory. */
static void reserve(struct buffer *buffer)
{
    char room[256] = "";

    append(buffer, span_of(room, sizeof room));
    buffer_clear(buffer);
}

/* Each allocation fails once: what the client was told of reaches the new one, or counts. */
Test(visit, an_add_for_which_there_is_no_memory_is_missed)
{
    reserve(&stage.client);
    reserve(&stage.old_server);
    reserve(&stage.new_server);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t missed = tally_missed(&stage.tally);

        visit_destroy(&stage.visit);
        stage.visit = visit_create(&stage.port, &stage);
        heap_fault_after(i);
        client("BF.ADD f a\r\nSUBSCRIBE x\r\nBF.ADD f b\r\n");
        old_server(":1");
        old_server("\r\n+what");
        heap_fault_clear();
        missed = tally_missed(&stage.tally) - missed;
        cr_expect_geq(missed, stage.new_server.size > 0 ? 1 : 2, "%u: %lu", i,
                      (unsigned long)missed);
        buffer_clear(&stage.client);
        buffer_clear(&stage.old_server);
        if (stage.new_server.size > 0) {
            expect(&stage.new_server, "BF.ADD f a\r\n");
            new_server(":1\r\n");
        }
    }
}

Test(visit, pushes_are_answers_to_nothing)
{
    client("BF.ADD f a\r\n");
    old_server(">2\r\n+invalidate\r\n*0\r\n:1\r\n>1\r\n+x\r\n");
    expect(&stage.client, ">2\r\n+invalidate\r\n*0\r\n:1\r\n>1\r\n+x\r\n");
    expect(&stage.new_server, "BF.ADD f a\r\n");
}

Test(visit, garbage_passes_both_ways)
{
    client("BF.ADD f a\r\n*1\r\n:1\r\nGET / HTTP/1.1\r\n");
    expect(&stage.old_server, "BF.ADD f a\r\n*1\r\n:1\r\nGET / HTTP/1.1\r\n");
    old_server(":1\r\n-ERR Protocol error\r\n");
    expect(&stage.client, ":1\r\n-ERR Protocol error\r\n");
    expect(&stage.new_server, "BF.ADD f a\r\n");
    expect_count(TALLY_BLIND, 1);
}

Test(visit, adds_whose_answer_can_t_be_told_are_missed)
{
    client("BF.ADD f a\r\nMULTI\r\nBF.MADD f b c\r\n");
    old_server("HTTP/1.1 400\r\n\r\n");
    expect(&stage.client, "HTTP/1.1 400\r\n\r\n");
    expect_count(TALLY_MISSED_UNSURE, 3);
    cr_assert(visit_is_settled(stage.visit));
}

/* ---- on the way to the new one ---- */

Test(visit, what_is_not_answered_is_sent_again_on_a_new_connection)
{
    client("BF.ADD f a\r\nBF.ADD f b\r\n");
    old_server(":1\r\n:1\r\n");
    new_server(":1\r\n");
    buffer_clear(&stage.new_server);
    mirror_disconnected(&stage.mirror);
    client("BF.ADD f c\r\n");
    old_server(":1\r\n");
    expect(&stage.new_server, "");
    mirror_connected(&stage.mirror);
    expect(&stage.new_server, "BF.ADD f b\r\nBF.ADD f c\r\n");
    new_server(":1\r\n:1\r\n");
    cr_assert_eq(stage.mirror.count, 0);
    cr_assert_eq(tally_missed(&stage.tally), 0);
}

Test(visit, a_command_that_ends_three_connections_is_given_up)
{
    client("BF.ADD f a\r\nBF.ADD f b\r\n");
    old_server(":1\r\n:1\r\n");
    for (int i = 0; i < 3; i++) {
        expect(&stage.new_server, "BF.ADD f a\r\nBF.ADD f b\r\n");
        mirror_disconnected(&stage.mirror);
        mirror_disconnected(&stage.mirror); /* Nobody was there. */
        mirror_connected(&stage.mirror);
    }
    expect(&stage.new_server, "BF.ADD f b\r\n");
    expect_count(TALLY_MISSED_UNSURE, 1);
}

Test(visit, an_add_that_can_t_be_done_now_is_sent_later)
{
    client("BF.MADD f a b\r\nBF.ADD f c\r\n");
    old_server("*2\r\n:1\r\n:1\r\n:1\r\n");
    buffer_clear(&stage.new_server);
    new_server("*2\r\n:1\r\n-UNAVAILABLE too few replicas\r\n:1\r\n");
    cr_assert_eq(stage.mirror.count, 1);
    mirror_again(&stage.mirror);
    expect(&stage.new_server, "BF.MADD f a b\r\n");
    new_server("*2\r\n:0\r\n:1\r\n");
    cr_assert_eq(stage.mirror.count, 0);
    cr_assert_eq(tally_missed(&stage.tally), 0);
}

/* A server that never says whether it lets us in owes that. */
Test(visit, the_new_one_is_idle_once_it_owes_nothing)
{
    mirror_disconnected(&stage.mirror);
    stage.mirror.greeting = span_text("AUTH x\r\n");
    cr_assert_not(mirror_is_idle(&stage.mirror));
    mirror_connected(&stage.mirror);
    expect(&stage.new_server, "AUTH x\r\n");
    cr_assert_not(mirror_is_idle(&stage.mirror));
    new_server("+OK\r\n");
    cr_assert(mirror_is_idle(&stage.mirror));
    client("BF.ADD f a\r\n");
    old_server(":1\r\n");
    cr_assert_not(mirror_is_idle(&stage.mirror));
    new_server(":1\r\n");
    cr_assert(mirror_is_idle(&stage.mirror));
}

Test(visit_bounds, what_finds_no_room_is_missed, .fini = close_stage)
{
    open_stage(false, 1000);
    mirror_disconnected(&stage.mirror);
    for (int i = 0; i < 100; i++) {
        client("BF.ADD f a\r\nBF.EXISTS f a\r\n");
        old_server(":1\r\n:1\r\n");
    }
    cr_assert_gt(stage.tally.counts[TALLY_MISSED_FULL], 90);
    cr_assert_gt(stage.tally.counts[TALLY_UNCOMPARED], 90);
    expect_count(TALLY_ADDED, 100);
}

static void add_much(struct visit *visit)
{
    static const char head[] = "*3\r\n$6\r\nBF.ADD\r\n$1\r\nf\r\n$6000\r\n";
    static char key[6000];

    memset(key, 'x', sizeof key);
    visit_client_bytes(visit, span_of(head, sizeof head - 1));
    visit_client_bytes(visit, span_of(key, sizeof key));
}

/* What has not come as a whole, and what the old server has not done, count as what waits does. */
Test(visit_bounds, all_that_is_noted_has_one_bound, .fini = close_stage)
{
    struct visit *other;

    open_stage(false, 10000);
    other = visit_create(&stage.port, &stage);
    visit_client_bytes(other, span_text("MULTI\r\nBF.ADD f a\r\n"));
    visit_old_bytes(other, 1, span_text("+OK\r\n+QUEUED\r\n"));
    add_much(stage.visit);
    add_much(other); /* No room for as much once more. */
    client("\r\n");
    visit_client_bytes(other, span_text("\r\nEXEC\r\n"));
    visit_old_bytes(other, 2, span_text("+QUEUED\r\n*2\r\n:1\r\n:1\r\n"));
    expect(&stage.new_server, "BF.ADD f a\r\n");
    expect_count(TALLY_MISSED_FULL, 1);
    old_server(":1\r\n");
    cr_assert_gt(stage.new_server.size, 6000);
    expect_count(TALLY_ADDED, 3);
    expect_count(TALLY_MISSED_FULL, 1);
    visit_destroy(&other);
}

Test(visit_bounds, a_client_that_asks_without_end_is_not_read, .fini = close_stage)
{
    open_stage(false, MOST);
    for (int i = 0; i < 4096; i++) {
        cr_assert(visit_reads_client(stage.visit));
        client("PING\r\n");
    }
    cr_assert_not(visit_reads_client(stage.visit));
    old_server("+PONG\r\n");
    cr_assert(visit_reads_client(stage.visit));
}

/* ---- answers of the new server ---- */

TestSuite(visit_new, .init = start_answers_new, .fini = close_stage);

Test(visit_new, the_new_one_answers_in_the_old_one_s_place_and_order)
{
    client("BF.EXISTS f a\r\nPING\r\nBF.MEXISTS f a b\r\nPING\r\n");
    old_server(":1\r\n+PONG\r\n*2\r\n:1\r\n:1\r\n+PONG\r\n");
    expect(&stage.client, "");
    new_server(":0\r\n");
    expect(&stage.client, ":0\r\n+PONG\r\n");
    new_server("*2\r\n:0\r\n:1\r\n");
    expect(&stage.client, "*2\r\n:0\r\n:1\r\n+PONG\r\n");
}

Test(visit_new, a_client_of_resp_3_gets_booleans)
{
    client("HELLO 3\r\nBF.EXISTS f a\r\nBF.MADD f a b\r\n");
    old_server("%1\r\n+proto\r\n:3\r\n#t\r\n*2\r\n#t\r\n#f\r\n");
    new_server(":0\r\n*2\r\n:0\r\n:1\r\n");
    expect(&stage.client, "%1\r\n+proto\r\n:3\r\n#f\r\n*2\r\n#f\r\n#t\r\n");
}

Test(visit_new, the_old_one_s_answer_is_taken_where_the_new_one_has_none)
{
    client("BF.EXISTS f a\r\nBF.EXISTS f b\r\n");
    old_server(":1\r\n:1\r\n");
    new_server("-UNAVAILABLE x\r\n");
    expect(&stage.client, ":1\r\n");
    visit_give_up(stage.visit, stage.now_us);
    expect(&stage.client, "");
    visit_give_up(stage.visit, stage.now_us + 1);
    expect(&stage.client, ":1\r\n");
    new_server(":0\r\n"); /* Too late. */
    expect(&stage.client, "");
    mirror_disconnected(&stage.mirror);
    client("BF.EXISTS f c\r\n");
    old_server(":0\r\n");
    expect(&stage.client, ":0\r\n");
    expect_count(TALLY_IN_PLACE, 3);
}

/* "Not sure" is not "absent", and no word of the new server's states is for the client. */
Test(visit_new, of_keys_that_the_new_one_is_not_sure_of_the_old_one_s_answer_is_taken)
{
    client("BF.MEXISTS f a b c\r\nBF.MADD f a b\r\nBF.MEXISTS f a b\r\nBF.EXISTS f a\r\n");
    old_server("*3\r\n:1\r\n:1\r\n:0\r\n*2\r\n#t\r\n-ERR x\r\n*2\r\n:1\r\n:1\r\n:1\r\n");
    new_server("*3\r\n:0\r\n-UNAVAILABLE x\r\n:1\r\n*2\r\n-FULL x\r\n:1\r\n");
    expect(&stage.client, "*3\r\n:0\r\n:1\r\n:1\r\n*2\r\n#t\r\n-ERR x\r\n");
    expect_count(TALLY_IN_PLACE, 2);
    new_server("*1\r\n:0\r\n$1\r\n0\r\n");
    expect(&stage.client, "*2\r\n:1\r\n:1\r\n:1\r\n");
    expect_count(TALLY_IN_PLACE, 4);
}

Test(visit_new, what_is_told_by_the_way_keeps_its_place)
{
    client("BF.EXISTS f a\r\nBF.EXISTS f b\r\n");
    old_server(":1\r\n>1\r\n+x\r\n:1\r\n>1\r\n+y\r\n");
    expect(&stage.client, "");
    new_server(":0\r\n:0\r\n");
    expect(&stage.client, ":0\r\n>1\r\n+x\r\n:0\r\n>1\r\n+y\r\n");
}

static void ask_in_vain(void)
{
    client("BF.EXISTS f a\r\n");
    old_server(":1\r\n");
    stage.now_us += 2 * (uint64_t)PATIENCE_US;
    visit_give_up(stage.visit, stage.now_us - PATIENCE_US);
    expect(&stage.client, ":1\r\n");
}

Test(visit_new, one_that_is_always_late_is_not_waited_for_until_it_is_in_time)
{
    for (int i = 0; i < 3; i++) {
        cr_assert_not(mirror_is_late(&stage.mirror));
        ask_in_vain();
    }
    client("BF.EXISTS f a\r\n");
    old_server(":1\r\n");
    expect(&stage.client, ":1\r\n");
    new_server(":0\r\n:0\r\n:0\r\n");
    cr_assert(mirror_is_late(&stage.mirror)); /* Those came too late. */
    new_server(":0\r\n");
    client("BF.EXISTS f a\r\n");
    old_server(":1\r\n");
    expect(&stage.client, "");
    new_server(":0\r\n");
    expect(&stage.client, ":0\r\n");
    expect_count(TALLY_IN_PLACE, 4);
}

Test(visit_new, an_add_that_is_put_off_is_answered_by_the_old_one)
{
    client("BF.ADD f a\r\n");
    old_server(":1\r\n");
    buffer_clear(&stage.new_server);
    new_server("-UNAVAILABLE x\r\n");
    expect(&stage.client, ":1\r\n");
    mirror_again(&stage.mirror);
    expect(&stage.new_server, "BF.ADD f a\r\n");
    new_server(":1\r\n");
    expect(&stage.client, "");
    expect_count(TALLY_IN_PLACE, 1);
}

/* The client was told that it is added: a lookup that passes it by must not say "absent". */
Test(visit_new, behind_an_add_that_is_put_off_the_old_one_s_answers_are_taken)
{
    client("BF.ADD f a\r\nBF.EXISTS f a\r\n");
    old_server(":1\r\n:1\r\n");
    new_server("-UNAVAILABLE x\r\n:0\r\n");
    expect(&stage.client, ":1\r\n:1\r\n");
    client("BF.EXISTS f a\r\n");
    old_server(":1\r\n");
    expect(&stage.client, ":1\r\n");
    mirror_again(&stage.mirror);
    new_server(":0\r\n-UNAVAILABLE x\r\n");
    mirror_again(&stage.mirror);
    new_server(":1\r\n");
    expect_count(TALLY_IN_PLACE, 3);
    client("BF.EXISTS f b\r\n");
    old_server(":1\r\n");
    expect(&stage.client, "");
    new_server(":0\r\n");
    expect(&stage.client, ":0\r\n");
}

Test(visit_new, once_an_add_is_missed_the_old_one_s_answers_are_taken)
{
    client("BF.ADD f a\r\nBF.EXISTS f a\r\n");
    old_server(":1\r\n:1\r\n");
    new_server("-NOPERM x\r\n:0\r\n");
    expect(&stage.client, ":1\r\n:1\r\n");
    client("BF.EXISTS f a\r\n");
    old_server(":1\r\n");
    expect(&stage.client, ":1\r\n");
    expect_count(TALLY_MISSED_REFUSED, 1);
    expect_count(TALLY_IN_PLACE, 3);
}

Test(visit_new, once_a_connection_adds_unseen_the_old_one_s_answers_are_taken)
{
    struct visit *other = visit_create(&stage.port, &stage);

    visit_client_bytes(other, span_text("SUBSCRIBE x\r\nBF.ADD f a\r\n"));
    visit_old_bytes(other, 1, span_text(">3\r\n+subscribe\r\n+x\r\n:1\r\n:1\r\n"));
    buffer_clear(&stage.client);
    client("BF.EXISTS f a\r\n");
    old_server(":1\r\n");
    expect(&stage.client, ":1\r\n");
    visit_destroy(&other);
}

Test(visit_new, an_answer_that_is_larger_than_all_that_is_held_is_read_to_its_end)
{
    enum { KEYS = 5 };
    static char error[MOST];
    char head[] = "*5\r\n";

    memset(error, 'x', sizeof error);
    memcpy(error, "-ERR", 4);
    memcpy(error + sizeof error - 2, "\r\n", 2);
    stage.client.max = (KEYS + 1) * (size_t)MOST;
    client("BF.MEXISTS f a b c d e\r\n");
    old_server(head);
    for (int i = 0; i < KEYS; i++) {
        cr_assert(visit_reads_old(stage.visit), "%d", i);
        visit_old_bytes(stage.visit, ++stage.now_us, span_of(error, sizeof error));
    }
    new_server("*5\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n");
    cr_assert_eq(stage.client.size, sizeof head - 1 + KEYS * sizeof error);
    cr_assert(visit_reads_old(stage.visit));
}

Test(visit_new, a_refusal_of_the_old_one_stands)
{
    client("BF.ADD f a\r\nPING\r\n");
    old_server("-WRONGTYPE x\r\n+PONG\r\n");
    expect(&stage.client, "-WRONGTYPE x\r\n+PONG\r\n");
}

Test(visit_new, a_client_that_goes_is_forgotten_by_what_it_waited_for)
{
    client("BF.EXISTS f a\r\nBF.EXISTS f b\r\n");
    old_server(":1\r\n:1\r\n");
    visit_destroy(&stage.visit);
    new_server(":1\r\n");
    expect(&stage.client, "");
}
