/* Clients that must give a password, before and after they have. */
#include "router/resp/command.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000 };

#define NOAUTH "-NOAUTH Authentication required.\r\n"
#define WRONG  "-WRONGPASS invalid username-password pair or user is disabled.\r\n"

static struct front_stage stage;

static void start(bool guarded)
{
    struct front_config config = front_stage_config();

    config.guarded = guarded;
    config.auth_us = 10 * SECOND;
    cr_assert_eq(password_read(&config.password, span_text("open sesame\n")), STATUS_OK);
    front_stage_init(&stage, &config);
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
}

static void expect(const char *said, const char *answer)
{
    front_stage_answers(&stage, 0, said, answer);
}

static const char *answer_to_strangers(const char *name)
{
    return strcmp(name, "auth") == 0    ? WRONG
           : strcmp(name, "hello") == 0 ? "-NOAUTH HELLO must be called with the client already"
           : strcmp(name, "quit") == 0  ? "+OK\r\n"
           : strcmp(name, "reset") == 0 ? "+RESET\r\n"
                                        : NOAUTH;
}

/* Every command of the table, with so many arguments that it would be taken. */
Test(resp_auth, a_stranger_is_told_nothing)
{
    size_t count;
    const struct command *table = command_table(&count);

    for (size_t i = 0; i < count; i++) {
        int arguments = table[i].arity < 0 ? -table[i].arity : table[i].arity;
        const char *answer = answer_to_strangers(table[i].name);

        start(true);
        front_stage_type(&stage, 0, table[i].name);
        for (int j = 1; j < arguments && strcmp(table[i].name, "hello") != 0; j++) {
            front_stage_type(&stage, 0, " 1");
        }
        front_stage_say(&stage, 0, "\r\n");
        cr_assert_eq(strncmp(stage.streams[0].text, answer, strlen(answer)), 0, "%s: %s",
                     table[i].name, stage.streams[0].text);
        cr_assert_eq(stage.nasked, 0);
        cr_assert(stage.streams[0].closed == (answer[1] == 'O'), "only QUIT closes");
        front_stage_fini(&stage);
    }
}

Test(resp_auth, not_even_whether_a_command_exists)
{
    start(true);
    expect("NOSUCH a\r\nBF.ADD\r\nPING a b c\r\n", NOAUTH NOAUTH NOAUTH);
    front_stage_fini(&stage);
}

Test(resp_auth, the_password_opens_it)
{
    start(true);
    expect("AUTH \"open sesame\"\r\nPING\r\n", "+OK\r\n+PONG\r\n");
    front_stage_say(&stage, 1, "AUTH default \"open sesame\"\r\nPING\r\n");
    front_stage_expect(&stage, 1, "+OK\r\n+PONG\r\n");
    expect("AUTH wrong\r\nPING\r\n", WRONG "+PONG\r\n");
    front_stage_fini(&stage);
}

Test(resp_auth, nothing_else_does)
{
    start(true);
    expect("AUTH wrong\r\nAUTH \"open sesam\"\r\nAUTH \"\"\r\nAUTH \"open sesame\\x00\"\r\n",
           WRONG WRONG);
    front_stage_pass(&stage, SECOND);
    front_stage_expect(&stage, 0, WRONG WRONG);
    front_stage_pass(&stage, SECOND);
    expect("AUTH root \"open sesame\"\r\nAUTH \"\" \"open sesame\"\r\n", WRONG);
    front_stage_pass(&stage, SECOND);
    front_stage_expect(&stage, 0, WRONG);
    front_stage_pass(&stage, 2 * SECOND);
    expect("AUTH\r\n", "-ERR wrong number of arguments for 'auth' command\r\n");
    expect("AUTH default \"open sesame\" x\r\n", "-ERR syntax error\r\n");
    expect("PING\r\n", NOAUTH);
    cr_assert_eq(front_stage_counter(&stage, "resp_wrong_passwords_total"), 6);
    front_stage_fini(&stage);
}

/* How long after the last of `wrong` further wrong passwords another command is answered, in
 * steps of 50 ms. */
static uint64_t wait_after_wrong(void)
{
    uint64_t begin_us = stage.now_us;

    front_stage_say(&stage, 0, "AUTH wrong\r\nPING\r\n");
    while (stage.streams[0].size == strlen(WRONG)) {
        front_stage_pass(&stage, SECOND / 20);
        cr_assert_lt(stage.now_us - begin_us, 5 * SECOND);
    }
    front_stage_expect(&stage, 0, WRONG NOAUTH);
    return stage.now_us - begin_us;
}

/* ... and neither do others wait meanwhile, nor is anything read of it. */
Test(resp_auth, who_guesses_waits_longer_each_time_until_the_end)
{
    static const uint64_t least_ms[] = {0, 100, 200, 400, 800, 1600, 1600, 1600, 1600};

    start(true);
    front_stage_say(&stage, 1, "AUTH \"open sesame\"\r\n");
    front_stage_expect(&stage, 1, "+OK\r\n");
    for (size_t i = 0; i < sizeof least_ms / sizeof least_ms[0]; i++) {
        uint64_t waited_ms = wait_after_wrong() / 1000;

        cr_assert(waited_ms >= least_ms[i] && waited_ms <= least_ms[i] + 100, "%zu: %lu", i,
                  (unsigned long)waited_ms);
        front_stage_say(&stage, 1, "PING\r\n");
        front_stage_expect(&stage, 1, "+PONG\r\n");
    }
    expect("AUTH wrong\r\nPING\r\n", WRONG);
    cr_assert(stage.streams[0].closed);
    cr_assert_not(stage.streams[1].closed);
    cr_assert_eq(front_stage_counter(&stage, "resp_guessers_total"), 1);
    cr_assert_eq(front_stage_counter(&stage, "resp_wrong_passwords_total"), 10);
    front_stage_fini(&stage);
}

Test(resp_auth, who_waits_is_not_read_from_and_may_go)
{
    start(true);
    expect("AUTH wrong\r\nAUTH wrong\r\nAUTH \"open sesame\"\r\n", WRONG WRONG);
    cr_assert_not(stage.streams[0].reading);
    front_stage_pass(&stage, SECOND / 5);
    front_stage_expect(&stage, 0, "+OK\r\n");
    cr_assert(stage.streams[0].reading);
    expect("AUTH wrong\r\nPING\r\n", WRONG "+PONG\r\n"); /* The right one forgot the others. */
    expect("AUTH wrong\r\nPING\r\n", WRONG);
    front_stage_gone(&stage, 0);
    front_stage_gone(&stage, 1);
    front_stage_pass(&stage, 2 * SECOND);
    cr_assert_eq(stage.actor.next_us(stage.actor.self), ACTOR_NEVER, "no timer without need");
    front_stage_fini(&stage);
}

/* An end does not wait for it. */
Test(resp_auth, an_end_closes_who_waits)
{
    start(true);
    expect("AUTH wrong\r\nAUTH wrong\r\nPING\r\n", WRONG WRONG);
    front_drain(stage.front, stage.now_us, 5 * SECOND);
    front_stage_turn(&stage);
    cr_assert(stage.streams[0].closed);
    front_stage_fini(&stage);
}

Test(resp_auth, acl_tells_of_the_one_user_and_not_of_its_password)
{
    start(true);
    expect("AUTH \"open sesame\"\r\n", "+OK\r\n");
    expect("ACL LIST\r\nACL USERS\r\n",
           "*1\r\n$52\r\nuser default on #hidden sanitize-payload ~* &* +@all\r\n"
           "*1\r\n$7\r\ndefault\r\n");
    expect("ACL GETUSER default\r\n",
           "*12\r\n$5\r\nflags\r\n*2\r\n$2\r\non\r\n$16\r\nsanitize-payload\r\n"
           "$9\r\npasswords\r\n*1\r\n$6\r\nhidden\r\n$8\r\ncommands\r\n$5\r\n+@all\r\n"
           "$4\r\nkeys\r\n$2\r\n~*\r\n$8\r\nchannels\r\n$2\r\n&*\r\n$9\r\nselectors\r\n*0\r\n");
    front_stage_fini(&stage);
    start(false);
    expect("ACL LIST\r\n", "*1\r\n$51\r\nuser default on nopass sanitize-payload ~* &* +@all\r\n");
    front_stage_say(&stage, 0, "HELLO 3\r\n");
    front_stage_expect(&stage, 0, stage.streams[0].text);
    expect("ACL GETUSER default\r\nACL GETUSER root\r\n",
           "%6\r\n$5\r\nflags\r\n~3\r\n$2\r\non\r\n$6\r\nnopass\r\n$16\r\nsanitize-payload\r\n"
           "$9\r\npasswords\r\n*0\r\n$8\r\ncommands\r\n$5\r\n+@all\r\n$4\r\nkeys\r\n$2\r\n~*\r\n"
           "$8\r\nchannels\r\n$2\r\n&*\r\n$9\r\nselectors\r\n*0\r\n_\r\n");
    front_stage_say(&stage, 0, "ACL SETUSER default >x\r\n");
    cr_assert_not_null(strstr(stage.streams[0].text, "resp_password_file"));
    front_stage_fini(&stage);
}

Test(resp_auth, hello_takes_it_too)
{
    start(true);
    expect("HELLO 9 AUTH default \"open sesame\"\r\n", "-NOPROTO unsupported protocol version\r\n");
    expect("HELLO 3 AUTH default wrong SETNAME x\r\nPING\r\n", WRONG NOAUTH);
    expect("HELLO 3 AUTH default\r\n", "-ERR Syntax error in HELLO\r\n");
    front_stage_say(&stage, 0, "HELLO 3 AUTH default \"open sesame\" SETNAME me\r\n");
    cr_assert_eq(strncmp(stage.streams[0].text, "%7\r\n", 4), 0);
    front_stage_expect(&stage, 0, stage.streams[0].text);
    expect("CLIENT GETNAME\r\n", "$2\r\nme\r\n");
    front_stage_fini(&stage);
}

Test(resp_auth, reset_forgets_it)
{
    start(true);
    expect("AUTH \"open sesame\"\r\nMULTI\r\nPING\r\nRESET\r\nPING\r\nEXEC\r\n",
           "+OK\r\n+OK\r\n+QUEUED\r\n+RESET\r\n" NOAUTH NOAUTH);
    front_stage_pass(&stage, 9 * SECOND);
    cr_assert_not(stage.streams[0].closed);
    expect("AUTH \"open sesame\"\r\nPING\r\n", "+OK\r\n+PONG\r\n");
    front_stage_pass(&stage, 9 * SECOND);
    cr_assert_not(stage.streams[0].closed);
    front_stage_fini(&stage);
}

Test(resp_auth, who_does_not_give_it_in_time_is_closed)
{
    start(true);
    expect("AUTH \"open sesame\"\r\n", "+OK\r\n");
    for (int i = 0; i < 8; i++) { /* Talking does not help. */
        front_stage_say(&stage, 1, "PING\r\n");
        front_stage_pass(&stage, SECOND);
    }
    cr_assert_not(stage.streams[1].closed);
    front_stage_pass(&stage, 4 * SECOND);
    cr_assert(stage.streams[1].closed);
    cr_assert_not(stage.streams[0].closed);
    cr_assert_eq(front_stage_counter(&stage, "resp_strangers_total"), 1);
    front_stage_gone(&stage, 1);
    front_stage_pass(&stage, SECOND);
    cr_assert_eq(stage.actor.next_us(stage.actor.self), ACTOR_NEVER, "no timer without need");
    front_stage_fini(&stage);
}

Test(resp_auth, a_stranger_may_send_little)
{
    static const char *const large[][2] = {
        {"*11\r\n", "-ERR Protocol error: unauthenticated multibulk length\r\n"},
        {"*2\r\n$4\r\nAUTH\r\n$16385\r\n", "-ERR Protocol error: unauthenticated bulk length\r\n"},
    };

    for (size_t i = 0; i < 2; i++) {
        start(true);
        expect(large[i][0], large[i][1]);
        cr_assert(stage.streams[0].closed);
        front_stage_fini(&stage);
    }
    start(true);
    expect("AUTH \"open sesame\"\r\n*11\r\n$4\r\nPING\r\n", "+OK\r\n");
    cr_assert_not(stage.streams[0].closed);
    front_stage_fini(&stage);
}

/* ... and is not read from while it does not read. */
Test(resp_auth, a_stranger_may_leave_little_unread)
{
    start(true);
    stage.streams[0].unsent = FRONT_STRANGER_UNREAD + 1;
    expect("PING\r\n", "");
    cr_assert_not(stage.streams[0].reading);
    front_stage_drained(&stage, 0);
    front_stage_expect(&stage, 0, NOAUTH);
    cr_assert(stage.streams[0].reading);
    front_stage_fini(&stage);
}

/* ---- the configuration is read again ---- */

static void configure(bool guarded, const char *password)
{
    struct front_config config = front_stage_config();

    config.guarded = guarded;
    config.auth_us = 5 * SECOND;
    cr_assert_eq(password_read(&config.password, span_text(password)), STATUS_OK);
    front_configure(stage.front, &config);
}

Test(resp_auth, another_password_counts_from_then_on)
{
    start(true);
    expect("AUTH \"open sesame\"\r\n", "+OK\r\n");
    configure(true, "abracadabra");
    expect("PING\r\n", "+PONG\r\n");
    front_stage_say(&stage, 1, "AUTH \"open sesame\"\r\nPING\r\nAUTH abracadabra\r\nPING\r\n");
    front_stage_expect(&stage, 1, WRONG NOAUTH "+OK\r\n+PONG\r\n");
    expect("RESET\r\nAUTH \"open sesame\"\r\nPING\r\n", "+RESET\r\n" WRONG NOAUTH);
    front_stage_fini(&stage);
}

Test(resp_auth, a_password_that_is_new_is_asked_of_who_comes_then)
{
    start(false);
    configure(true, "abracadabra");
    expect("PING\r\n", "+PONG\r\n");
    front_stage_open(&stage, 2);
    front_stage_say(&stage, 2, "PING\r\n");
    front_stage_expect(&stage, 2, NOAUTH);
    front_stage_pass(&stage, 7 * SECOND);
    cr_assert(stage.streams[2].closed, "the time for it counts, too");
    cr_assert_not(stage.streams[0].closed);
    front_stage_fini(&stage);
}

Test(resp_auth, where_none_is_needed_any_more_nobody_is_a_stranger)
{
    start(true);
    expect("PING\r\n", NOAUTH);
    configure(false, "unused");
    expect("PING\r\n", "+PONG\r\n");
    front_stage_pass(&stage, 20 * SECOND);
    cr_assert_not(stage.streams[0].closed);
    cr_assert_not(stage.streams[1].closed);
    front_stage_gone(&stage, 0);
    front_stage_gone(&stage, 1);
    front_stage_pass(&stage, SECOND);
    cr_assert_eq(stage.actor.next_us(stage.actor.self), ACTOR_NEVER, "no timer without need");
    front_stage_fini(&stage);
}

Test(resp_auth, without_a_password_nobody_is_a_stranger)
{
    start(false);
    expect("PING\r\n", "+PONG\r\n");
    front_stage_say(&stage, 0, "AUTH x\r\n");
    cr_assert_eq(strncmp(stage.streams[0].text, "-ERR AUTH <password> called without", 35), 0);
    front_stage_expect(&stage, 0, stage.streams[0].text);
    expect("AUTH default x\r\nAUTH root x\r\n", "+OK\r\n" WRONG);
    front_stage_pass(&stage, 20 * SECOND);
    cr_assert_not(stage.streams[0].closed);
    front_stage_fini(&stage);
}
