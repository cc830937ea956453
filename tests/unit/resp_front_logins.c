/* Users of RESP clients: what a login changes for what stands behind it, in its turn and in a
 * transaction. */
#include "router/resp/private.h"
#include "tests/support/random.h"
#include "tests/unit/resp_front_users.h"

/* ---- turns ---- */

/* So many items to look up in one command; more than many turns. */
static void type_large(size_t stream)
{
    enum { ITEMS = 20000, MOST = 16 * ITEMS };
    static char text[MOST];
    size_t size = (size_t)snprintf(text, sizeof text,
                                   "*%d\r\n$10\r\nBF.MEXISTS\r\n$8\r\nshared:a\r\n", ITEMS + 2);

    for (int i = 0; i < ITEMS; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "$5\r\n%05d\r\n", i);
    }
    front_stage_bytes(&stage, stream, span_of(text, size));
}

static void type_flood(size_t stream)
{
    for (int i = 0; i < 1000; i++) {
        front_stage_type(&stage, stream, "BF.EXISTS shared:a x\r\n");
    }
}

/* Those who log in are one user together until they have: what comes behind a login is not theirs
 * to pay for. */
Test(resp_logins, what_follows_a_login_is_charged_to_who_has_logged_in)
{
    start();
    for (size_t i = 2; i < 4; i++) {
        front_stage_open(&stage, i);
    }
    front_stage_answers(&stage, 1, "AUTH crawler alpha\r\n", "+OK\r\n");
    front_stage_type(&stage, 0, "AUTH crawler alpha\r\n");
    type_large(0);
    front_stage_turn(&stage);
    type_flood(1);
    front_stage_type(&stage, 2, "AUTH maker mtoken\r\nACL WHOAMI\r\n");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 2, "+OK\r\n$5\r\nmaker\r\n");
    front_stage_turn(&stage);
    front_stage_answers(&stage, 2, "RESET\r\nAUTH boss bosstoken\r\n", "+RESET\r\n+OK\r\n");
    finish();
}

/* It waits as the one, and becomes another by a newer record. */
Test(resp_logins, who_becomes_another_one_waits_among_those)
{
    start();
    stage.subject = "CN=crawler";
    front_stage_open(&stage, 2);
    front_stage_answers(&stage, 1, "AUTH boss bosstoken\r\n", "+OK\r\n");
    type_flood(2);
    front_stage_turn(&stage);
    cr_assert_gt(stage.front->turns.count, 0);
    named("crawler")->subject[0] = '\0';
    (void)snprintf(named("maker")->subject, USER_SUBJECT_BYTES, "CN=crawler");
    seal_record(&stage.users);
    type_flood(1);
    users_refresh(stage.front);
    cr_assert_eq(stage.front->turns.count, 0, "it is to wait anew");
    front_stage_turn(&stage);
    cr_assert_eq(stage.front->turns.count, 2);
    finish();
}

/* ---- transactions ---- */

#define HELLO3                                                                                     \
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.4.0\r\n$5\r\nproto\r\n:3\r\n$2" \
    "\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$"           \
    "7\r\nmodules"                                                                                 \
    "\r\n*1\r\n%2\r\n$4\r\nname\r\n$2\r\nbf\r\n$3\r\nver\r\n:20612\r\n"

#define QUEUED "+QUEUED\r\n"

/* As Redis has it: they are part of the transaction. */
Test(resp_logins, logins_in_a_transaction_wait_for_exec)
{
    start_as("crawler", "alpha");
    expect("MULTI\r\nAUTH maker mtoken\r\nACL WHOAMI\r\nHELLO 3 AUTH boss bosstoken\r\n"
           "ACL WHOAMI\r\nAUTH boss wrong\r\n",
           "+OK\r\n" QUEUED QUEUED QUEUED QUEUED QUEUED);
    cr_assert_eq(front_stage_counter(&stage, "resp_wrong_passwords_total"), 0);
    expect("EXEC\r\nACL WHOAMI\r\n",
           "*5\r\n+OK\r\n$5\r\nmaker\r\n" HELLO3 "$4\r\nboss\r\n" WRONG "$4\r\nboss\r\n");
    expect("MULTI\r\nAUTH maker mtoken\r\nDISCARD\r\nACL WHOAMI\r\n",
           "+OK\r\n" QUEUED "+OK\r\n$4\r\nboss\r\n");
    finish();
}

/* Who it is after RESET is a stranger, and the login that was queued has not been. */
Test(resp_logins, a_reset_forgets_a_login_that_was_queued)
{
    start_as("crawler", "alpha");
    expect("MULTI\r\nAUTH boss bosstoken\r\nPING\r\nRESET\r\nACL WHOAMI\r\nEXEC\r\n",
           "+OK\r\n" QUEUED QUEUED "+RESET\r\n" NOAUTH NOAUTH);
    expect("AUTH crawler alpha\r\nEXEC\r\nACL WHOAMI\r\n",
           "+OK\r\n-ERR EXEC without MULTI\r\n$7\r\ncrawler\r\n");
    finish();
}

/* Rights are those of who it is when a command is carried out. */
Test(resp_logins, a_transaction_that_logs_in_has_the_rights_of_each)
{
    start_as("boss", "bosstoken");
    expect("MULTI\r\nAUTH crawler alpha\r\nBF.EXISTS other x\r\nCLIENT KILL ID 2\r\nEXEC\r\n",
           "+OK\r\n" QUEUED QUEUED QUEUED "*3\r\n+OK\r\n" NO_KEY
           "-NOPERM User crawler has no permissions to run the 'client|kill' command\r\n");
    finish();
}

/* ---- whatever comes, and however ---- */

enum { SEEDS = 100, LINES = 120, MOST_SAID = LINES * 48, PIECE = 37 };

/* More than a turn's worth, all of it answered at once. */
static void draw_lines(uint64_t seed, char said[MOST_SAID])
{
    static const char *const lines[] = {
        "MULTI\r\n",
        "MULTI\r\n",
        "EXEC\r\n",
        "EXEC\r\n",
        "DISCARD\r\n",
        "RESET\r\n",
        "AUTH crawler alpha\r\n",
        "AUTH boss bosstoken\r\n",
        "AUTH maker mtoken\r\n",
        "AUTH crawler alpha\r\n",
        "ACL WHOAMI\r\n",
        "ACL WHOAMI\r\n",
        "ACL USERS\r\n",
        "ECHO abc\r\n",
        "BF.EXISTS\r\n",
        "NOSUCH\r\n",
        "SLOWLOG LEN\r\n",
        "*2\r\n$4\r\nECHO\r\n$5\r\na\r\nbc\r\n",
        "CLIENT KILL ID 99\r\n",
    };
    size_t size = 0;

    for (int i = 0; i < LINES; i++) {
        size += (size_t)snprintf(said + size, MOST_SAID - size, "%s",
                                 lines[random_below(&seed, sizeof lines / sizeof lines[0])]);
    }
}

static void take_all_turns(void)
{
    for (int i = 0; i < LINES && stage.actor.work(stage.actor.self, stage.now_us); i++) {
        front_stage_turn(&stage);
    }
    cr_assert_eq(stage.front->turns.count, 0);
}

/* All that is answered; free() it. `piece`: so many bytes come at a time. */
static char *answers_to(const char *said, size_t piece)
{
    size_t size = strlen(said);
    char *answers;

    start();
    for (size_t at = 0; at < size; at += piece) {
        front_stage_bytes(&stage, 0, span_of(said + at, size - at < piece ? size - at : piece));
        front_stage_turn(&stage);
    }
    take_all_turns();
    cr_assert_not_null(stage.streams[0].text);
    answers = strdup(stage.streams[0].text);
    front_stage_expect(&stage, 0, answers);
    finish();
    return answers;
}

Test(resp_logins, answers_are_the_same_however_it_comes)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static char said[MOST_SAID];
        char *whole;
        char *pieces;

        draw_lines(seed, said);
        whole = answers_to(said, MOST_SAID);
        pieces = answers_to(said, PIECE);
        cr_assert_str_eq(whole, pieces, "seed %d: %s", (int)seed, said);
        free(whole);
        free(pieces);
    }
}
