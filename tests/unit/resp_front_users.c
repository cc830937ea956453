/* Users of RESP clients: who gets in, when that ends, and what waits until they are known. */
#include "tests/unit/resp_front_users.h"

#include "tests/support/health.h"

/* ---- who gets in ---- */

Test(resp_users, who_says_nothing_is_nobody)
{
    start();
    expect("PING\r\nBF.ADD crawl:a x\r\nHELLO 3 AUTH crawler alpha\r\n", NOAUTH NOAUTH
           "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$5\r\n7.4.0\r\n$5\r\n"
           "proto\r\n:3\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\n"
           "role\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*1\r\n%2\r\n$4\r\nname\r\n$2\r\nbf"
           "\r\n$3\r\nver\r\n:20612\r\n");
    expect("PING\r\nACL WHOAMI\r\n", "+PONG\r\n$7\r\ncrawler\r\n");
    finish();
}

Test(resp_users, a_token_opens_it_for_its_user_alone)
{
    start();
    expect("AUTH crawler alpha\r\nACL WHOAMI\r\n", "+OK\r\n$7\r\ncrawler\r\n");
    expect("AUTH crawler beta\r\nAUTH boss bosstoken\r\nACL WHOAMI\r\n",
           "+OK\r\n+OK\r\n$4\r\nboss\r\n");
    expect("AUTH crawler bosstoken\r\nPING\r\n", WRONG "+PONG\r\n");
    expect("AUTH boss alpha\r\n", WRONG);
    front_stage_pass(&stage, SECOND);
    expect("ACL WHOAMI\r\n", "$4\r\nboss\r\n");
    expect("AUTH Boss bosstoken\r\n", WRONG);
    front_stage_pass(&stage, SECOND);
    expect("AUTH nosuch bosstoken\r\n", WRONG);
    front_stage_pass(&stage, SECOND);
    expect("AUTH default bosstoken\r\n", WRONG);
    cr_assert_eq(front_stage_counter(&stage, "resp_wrong_passwords_total"), 5);
    finish();
}

Test(resp_users, who_guesses_tokens_is_slowed_down_and_closed)
{
    start();
    for (int i = 0; i < 10; i++) {
        expect("AUTH crawler guess\r\n", WRONG);
        front_stage_pass(&stage, 2 * SECOND);
    }
    cr_assert(stage.streams[0].closed);
    cr_assert_eq(front_stage_counter(&stage, "resp_guessers_total"), 1);
    finish();
}

Test(resp_users, without_any_nothing_has_changed)
{
    const struct front_config config = front_stage_config();

    start_empty(&config);
    front_stage_open(&stage, 0);
    expect("PING\r\nAUTH default any\r\nACL WHOAMI\r\n", "+PONG\r\n+OK\r\n$7\r\ndefault\r\n");
    expect("AUTH crawler alpha\r\n", WRONG);
    expect("FLUSHALL\r\n", "-ERR this would drop every filter of the cluster; it takes resp_flush "
                           "= \"on\" in the router's configuration\r\n");
    finish();
}

/* The first user, and the last one. */
Test(resp_users, the_first_one_shuts_out_whoever_is_none)
{
    const struct front_config config = front_stage_config();

    start_empty(&config);
    front_stage_open(&stage, 0);
    expect("PING\r\n", "+PONG\r\n");
    fill_record();
    expect("PING\r\n", NOAUTH);
    user_list_fini(&stage.users);
    stage.users.revision = 9;
    expect("PING\r\n", "+PONG\r\n");
    finish();
}

Test(resp_users, users_only_lets_nobody_else_in)
{
    struct front_config config = front_stage_config();

    config.users_only = true;
    start_empty(&config);
    front_stage_open(&stage, 0);
    expect("PING\r\nAUTH default x\r\n", NOAUTH WRONG);
    fill_record();
    expect("AUTH crawler alpha\r\nPING\r\n", "+OK\r\n+PONG\r\n");
    user_list_fini(&stage.users);
    stage.users.revision = 9;
    expect("PING\r\n", NOAUTH);
    finish();
}

/* By a SIGHUP: also those who were let in before. */
Test(resp_users, users_only_holds_for_who_is_in)
{
    struct front_config config = front_stage_config();

    start_empty(&config);
    front_stage_open(&stage, 0);
    expect("PING\r\n", "+PONG\r\n");
    config.users_only = true;
    front_configure(stage.front, &config);
    expect("PING\r\n", NOAUTH);
    finish();
}

Test(resp_users, the_password_is_that_of_default_who_may_do_everything)
{
    struct front_config config = front_stage_config();

    config.guarded = true;
    config.auth_us = 100 * (uint64_t)SECOND;
    cr_assert_eq(password_read(&config.password, span_text("sesame\n")), STATUS_OK);
    start_empty(&config);
    fill_record();
    front_stage_open(&stage, 0);
    expect("PING\r\nAUTH sesame\r\nACL WHOAMI\r\n", NOAUTH "+OK\r\n$7\r\ndefault\r\n");
    expect("ACL USERS\r\n", "*6\r\n$7\r\ndefault\r\n$4\r\nboss\r\n$7\r\ncrawler\r\n$5\r\nmaker\r\n"
                            "$6\r\nnobody\r\n$5\r\nwatch\r\n");
    expect("AUTH nobody ntoken\r\nACL USERS\r\nRESET\r\nPING\r\n",
           "+OK\r\n-NOPERM User nobody has no permissions to run the 'acl|users' command\r\n"
           "+RESET\r\n" NOAUTH);
    config.guarded = false;
    front_configure(stage.front, &config);
    expect("AUTH sesame\r\n",
           "-ERR AUTH <password> called without any password configured for the default user. Are "
           "you sure your configuration is correct?\r\n");
    expect("AUTH default sesame\r\n", WRONG);
    finish();
}

/* It is a user like others then. */
Test(resp_users, a_default_without_tokens_is_whoever_says_nothing)
{
    const struct front_config config = front_stage_config();
    struct user *user;

    start_empty(&config);
    (void)add_user(&stage.users, "boss", USER_ADMIN);
    user = add_user(&stage.users, "default", USER_CLIENT);
    add_grant(user, "r public");
    seal_record(&stage.users);
    front_stage_open(&stage, 0);
    expect("PING\r\nACL WHOAMI\r\nBF.EXISTS other x\r\n", "+PONG\r\n$7\r\ndefault\r\n" NO_KEY);
    expect("AUTH default any\r\nBF.ADD public x\r\n",
           "+OK\r\n-NOPERM User default has no permissions to run the 'bf.add' command\r\n");
    front_stage_say(&stage, 0, "BF.EXISTS public x\r\n");
    front_stage_reply(&stage, stage.nasked - 1, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n");
    add_token(user, "dtoken", 0);
    seal_record(&stage.users);
    expect("PING\r\nAUTH dtoken\r\nPING\r\n", NOAUTH "+OK\r\n+PONG\r\n");
    finish();
}

/* It is the name of a client that proves who it is. */
Test(resp_users, a_default_with_a_key_or_a_certificate_is_nobody_else)
{
    const struct front_config config = front_stage_config();
    struct user *user;

    start_empty(&config);
    user = add_user(&stage.users, "default", USER_CLIENT);
    add_grant(user, "rw *");
    (void)snprintf(user->subject, sizeof user->subject, "CN=default");
    seal_record(&stage.users);
    front_stage_open(&stage, 0);
    expect("PING\r\nAUTH default any\r\nBF.ADD public x\r\n", NOAUTH WRONG NOAUTH);
    user->subject[0] = '\0';
    user->keys = need(1, sizeof *user->keys);
    user->nkeys = 1;
    user->keys[0] = (struct user_key){.id = ++user->last_credential, .key = {7}};
    seal_record(&stage.users);
    expect("PING\r\nBF.ADD public x\r\n", NOAUTH NOAUTH);
    finish();
}

/* ---- what ends it ---- */

Test(resp_users, who_is_deleted_has_no_rights_from_the_next_command_on)
{
    struct user other;

    start_as("nobody", "ntoken");
    other = *named("nobody");
    stage.users.count = 3; /* it and the monitor go */
    user_fini(&stage.users.users[4]);
    seal_record(&stage.users);
    expect("PING\r\nAUTH nobody ntoken\r\n", NOAUTH WRONG);
    other.id = ++stage.users.last_id; /* another one of that name */
    stage.users.users[3] = other;
    stage.users.count = 4;
    seal_record(&stage.users);
    expect("PING\r\n", NOAUTH);
    expect("AUTH nobody ntoken\r\nPING\r\n", "+OK\r\n+PONG\r\n");
    finish();
}

Test(resp_users, a_removed_token_opens_nothing_and_others_do)
{
    start_as("crawler", "alpha");
    front_stage_answers(&stage, 1, "AUTH crawler beta\r\n", "+OK\r\n");
    named("crawler")->tokens[0] = named("crawler")->tokens[1];
    named("crawler")->ntokens = 1;
    seal_record(&stage.users);
    expect("PING\r\nAUTH crawler alpha\r\n", NOAUTH WRONG);
    front_stage_answers(&stage, 1, "PING\r\n", "+PONG\r\n");
    finish();
}

Test(resp_users, an_expired_token_opens_nothing)
{
    start_as("crawler", "beta");
    stage.later_ms = 4999;
    expect("PING\r\n", "+PONG\r\n");
    stage.later_ms = 5000;
    expect("PING\r\nAUTH crawler beta\r\nAUTH crawler alpha\r\nPING\r\n",
           NOAUTH WRONG "+OK\r\n+PONG\r\n");
    stage.later_ms = 500000;
    expect("PING\r\n", "+PONG\r\n");
    finish();
}

/* By which it judges whether the keys of users have expired: it has no other clock. */
Test(resp_users, the_router_behind_it_knows_the_time_of_day)
{
    const struct effects *effects;

    front_stage_start(&stage, 1);
    effects = front_effects(stage.front);
    stage.fake.date_ms = 1700000000123;
    cr_assert_not_null(effects->date_ms);
    cr_assert_eq(effects->date_ms(effects->context), 1700000000123);
    front_stage_fini(&stage);
}

/* Another one holds for who is in, too. */
Test(resp_users, an_expiry_may_move)
{
    start_as("crawler", "beta");
    named("crawler")->tokens[1].expires_ms += 5000;
    seal_record(&stage.users);
    stage.later_ms = 5000;
    expect("PING\r\n", "+PONG\r\n");
    stage.later_ms = 10000;
    expect("PING\r\n", NOAUTH);
    finish();
}

Test(resp_users, a_right_that_is_taken_is_gone_with_the_next_command)
{
    start_as("crawler", "alpha");
    front_stage_say(&stage, 0, "BF.EXISTS shared:x a\r\n");
    cr_assert_eq(stage.nasked, 1);
    named("crawler")->ngrants = 1;
    seal_record(&stage.users);
    front_stage_say(&stage, 0, "BF.EXISTS shared:x a\r\n");
    front_stage_reply(&stage, 0, STATUS_OK, "p");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, ":1\r\n" NO_KEY);
    finish();
}

/* ---- connections ---- */

#define CROWDED "-ERR max number of clients of user 'crawler' reached\r\n"

Test(resp_users, a_user_has_as_many_connections_as_it_may)
{
    start();
    named("crawler")->limits.connections = 1;
    seal_record(&stage.users);
    expect("AUTH crawler alpha\r\nAUTH crawler beta\r\n", "+OK\r\n+OK\r\n");
    front_stage_answers(&stage, 1, "AUTH crawler alpha\r\nPING\r\n", CROWDED NOAUTH);
    cr_assert_eq(front_stage_counter(&stage, "resp_user_crowded_total"), 1);
    cr_assert_eq(front_stage_counter(&stage, "resp_wrong_passwords_total"), 0);
    expect("AUTH maker mtoken\r\n", "+OK\r\n");
    front_stage_answers(&stage, 1, "AUTH crawler alpha\r\n", "+OK\r\n");
    expect("AUTH crawler alpha\r\nACL WHOAMI\r\n", CROWDED "$5\r\nmaker\r\n");
    seal_record(&stage.users); /* They are counted anew. */
    expect("AUTH crawler alpha\r\n", CROWDED);
    front_stage_gone(&stage, 1);
    expect("AUTH crawler alpha\r\n", "+OK\r\n");
    finish();
}

/* ---- certificates ---- */

Test(resp_users, a_certificate_is_its_user_from_the_beginning)
{
    start();
    stage.subject = "CN=crawler";
    front_stage_open(&stage, 2);
    front_stage_answers(&stage, 2, "ACL WHOAMI\r\nBF.ADD other x\r\n", "$7\r\ncrawler\r\n" NO_KEY);
    front_stage_answers(&stage, 2, "AUTH boss bosstoken\r\nACL WHOAMI\r\nRESET\r\nACL WHOAMI\r\n",
                        "+OK\r\n$4\r\nboss\r\n+RESET\r\n$7\r\ncrawler\r\n");
    stage.subject = "CN=another";
    front_stage_open(&stage, 3);
    front_stage_answers(&stage, 3, "PING\r\nAUTH maker mtoken\r\nPING\r\n",
                        NOAUTH "+OK\r\n+PONG\r\n");
    named("crawler")->subject[0] = '\0';
    (void)snprintf(named("maker")->subject, USER_SUBJECT_BYTES, "CN=another");
    seal_record(&stage.users);
    front_stage_answers(&stage, 2, "PING\r\n", NOAUTH);
    front_stage_answers(&stage, 3, "RESET\r\nACL WHOAMI\r\n", "+RESET\r\n$5\r\nmaker\r\n");
    finish();
}

Test(resp_users, certificates_count_as_connections)
{
    start_as("crawler", "alpha");
    named("crawler")->limits.connections = 1;
    seal_record(&stage.users);
    front_stage_turn(&stage);
    stage.subject = "CN=crawler";
    front_stage_open(&stage, 2);
    front_stage_answers(&stage, 2, "PING\r\n", CROWDED);
    cr_assert(stage.streams[2].closed);
    finish();
}

static void expect_crowded(size_t stream)
{
    front_stage_expect(&stage, stream, CROWDED);
    cr_assert(stage.streams[stream].closed);
    front_stage_gone(&stage, stream);
}

Test(resp_users, so_do_those_that_become_one_by_a_reset)
{
    start();
    named("crawler")->limits.connections = 1;
    seal_record(&stage.users);
    stage.subject = "CN=crawler";
    front_stage_open(&stage, 2);
    front_stage_answers(&stage, 2, "AUTH boss bosstoken\r\nRESET\r\nAUTH boss bosstoken\r\n",
                        "+OK\r\n+RESET\r\n+OK\r\n");
    expect("AUTH crawler alpha\r\n", "+OK\r\n");
    front_stage_say(&stage, 2, "RESET\r\nPING\r\n");
    expect_crowded(2);
    expect("RESET\r\nPING\r\n", "+RESET\r\n" NOAUTH);
    cr_assert_eq(front_stage_counter(&stage, "resp_user_crowded_total"), 1);
    finish();
}

/* Those that came first are in. */
Test(resp_users, so_do_those_that_were_there_before_the_record)
{
    struct front_config config = front_stage_config();

    config.users_only = true;
    config.auth_us = 100 * (uint64_t)SECOND;
    start_empty(&config);
    stage.unheard = true;
    stage.subject = "CN=crawler";
    for (size_t i = 0; i < 4; i++) {
        front_stage_open(&stage, i);
        front_stage_say(&stage, i, "ACL WHOAMI\r\n");
    }
    fill_record();
    named("crawler")->limits.connections = 2;
    stage.unheard = false;
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "$7\r\ncrawler\r\n");
    front_stage_expect(&stage, 1, "$7\r\ncrawler\r\n");
    expect_crowded(2);
    expect_crowded(3);
    finish();
}

Test(resp_users, a_record_puts_nobody_out_for_a_limit_but_who_comes_with_it)
{
    start();
    stage.subject = "CN=another";
    front_stage_open(&stage, 2);
    stage.subject = NULL;
    front_stage_open(&stage, 3);
    front_stage_open(&stage, 4);
    front_stage_answers(&stage, 2, "PING\r\n", NOAUTH);
    front_stage_answers(&stage, 3, "AUTH crawler alpha\r\n", "+OK\r\n");
    front_stage_answers(&stage, 4, "AUTH crawler alpha\r\n", "+OK\r\n");
    (void)snprintf(named("crawler")->subject, USER_SUBJECT_BYTES, "CN=another");
    named("crawler")->limits.connections = 1;
    seal_record(&stage.users);
    front_stage_turn(&stage);
    expect_crowded(2);
    front_stage_answers(&stage, 3, "PING\r\n", "+PONG\r\n");
    front_stage_answers(&stage, 4, "PING\r\n", "+PONG\r\n");
    seal_record(&stage.users); /* Nothing has changed. */
    front_stage_answers(&stage, 4, "PING\r\n", "+PONG\r\n");
    front_stage_gone(&stage, 3);
    front_stage_gone(&stage, 4);
    expect("AUTH crawler alpha\r\n", "+OK\r\n");
    finish();
}

/* Also of `default`, when the password goes. */
Test(resp_users, options_let_in_as_many_as_the_limit_says)
{
    struct front_config config = front_stage_config();

    config.guarded = true;
    config.auth_us = 100 * (uint64_t)SECOND;
    cr_assert_eq(password_read(&config.password, span_text("sesame\n")), STATUS_OK);
    start_empty(&config);
    (void)add_user(&stage.users, "default", USER_CLIENT);
    named("default")->limits.connections = 1;
    seal_record(&stage.users);
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
    front_stage_turn(&stage);
    config.guarded = false;
    front_configure(stage.front, &config);
    expect("PING\r\n", "+PONG\r\n");
    front_stage_expect(&stage, 1, "-ERR max number of clients of user 'default' reached\r\n");
    expect("AUTH default x\r\n", "+OK\r\n");
    (void)add_user(&stage.users, "other", USER_CLIENT);
    add_token(named("other"), "otoken", 0);
    seal_record(&stage.users);
    expect("AUTH other otoken\r\n", "+OK\r\n");
    front_stage_open(&stage, 2);
    expect("AUTH default x\r\nACL WHOAMI\r\n",
           "-ERR max number of clients of user 'default' reached\r\n$5\r\nother\r\n");
    finish();
}

/* ---- what a router does not know yet, or not any more ---- */

Test(resp_users, while_it_is_not_known_whether_there_are_any_who_wants_something_waits)
{
    const struct front_config config = front_stage_config();

    start_empty(&config);
    stage.unheard = true;
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
    expect("PING\r\nKEYS *\r\nPING\r\n", "+PONG\r\n");
    front_stage_answers(&stage, 1, "BF.ADD f x\r\n", "");
    cr_assert_not(is_asked());
    fill_record();
    stage.unheard = false;
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, NOAUTH NOAUTH);
    front_stage_expect(&stage, 1, NOAUTH);
    finish();
}

/* One from a kept file says that there were none once. */
Test(resp_users, an_old_record_of_nobody_lets_nobody_in)
{
    const struct front_config config = front_stage_config();

    start_empty(&config);
    stage.unheard = true;
    stage.users.revision = 7;
    front_stage_open(&stage, 0);
    front_stage_answers(&stage, 0, "BF.ADD f x\r\n", "");
    cr_assert_not(is_asked());
    fill_record();
    stage.unheard = false;
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, NOAUTH);
    finish();
}

/* What shows or ends the connections of others, and what names filters by their slots, too. */
Test(resp_users, so_does_who_wants_something_of_others)
{
    static const char *const asked[] = {"CLIENT LIST\r\n", "CLIENT KILL ID 1\r\n",
                                        "SLOWLOG GET\r\n", "CLUSTER GETKEYSINSLOT 1 9\r\n",
                                        "CLUSTER COUNTKEYSINSLOT 1\r\n"};
    const struct front_config config = front_stage_config();

    start_empty(&config);
    stage.unheard = true;
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        front_stage_open(&stage, i);
        front_stage_answers(&stage, i, asked[i], "");
    }
    front_stage_open(&stage, 9);
    front_stage_answers(&stage, 9, "CLUSTER KEYSLOT foo\r\nCLIENT ID\r\n", ":12182\r\n:6\r\n");
    cr_assert_not(is_asked());
    fill_record();
    stage.unheard = false;
    front_stage_turn(&stage);
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        front_stage_expect(&stage, i, NOAUTH);
    }
    finish();
}

/* Clients give up a connection that is refused at its first command, as by a greeting. */
static void certificate_waits(const struct front_config *config)
{
    start_empty(config);
    stage.unheard = true;
    stage.subject = "CN=crawler";
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
    stage.subject = "CN=another";
    front_stage_open(&stage, 2);
    expect("ACL WHOAMI\r\nHELLO 3 SETNAME x\r\n", "");
    front_stage_say(&stage, 1, "HELLO 2\r\nBF.ADD other x\r\n");
    front_stage_answers(&stage, 2, "KEYS *\r\n", "");
    cr_assert_not(is_asked());
    fill_record();
    stage.unheard = false;
    front_stage_turn(&stage);
    cr_assert_eq(strncmp(stage.streams[0].text, "$7\r\ncrawler\r\n%7", 15), 0);
    cr_assert_eq(strncmp(stage.streams[1].text, "*14\r\n$6\r\nserver", 15), 0);
    cr_assert_not_null(strstr(stage.streams[1].text, NO_KEY));
    front_stage_expect(&stage, 2, NOAUTH);
    finish();
}

Test(resp_users, so_does_who_shows_a_certificate)
{
    struct front_config config = front_stage_config();

    config.auth_us = 100 * (uint64_t)SECOND;
    certificate_waits(&config);
    config.users_only = true;
    certificate_waits(&config);
    config.users_only = false;
    config.guarded = true;
    cr_assert_eq(password_read(&config.password, span_text("sesame\n")), STATUS_OK);
    certificate_waits(&config);
}

Test(resp_users, a_certificate_keeps_nobody_from_saying_the_password_or_goodbye)
{
    struct front_config config = front_stage_config();

    config.guarded = true;
    config.auth_us = 100 * (uint64_t)SECOND;
    cr_assert_eq(password_read(&config.password, span_text("sesame\n")), STATUS_OK);
    start_empty(&config);
    stage.unheard = true;
    stage.subject = "CN=crawler";
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
    expect("AUTH sesame\r\nPING\r\n", "+OK\r\n+PONG\r\n");
    front_stage_answers(&stage, 1, "QUIT\r\n", "+OK\r\n");
    finish();
}

/* Clients give up a connection whose login fails, so a router that has just started fails none. */
Test(resp_users, so_does_who_logs_in)
{
    const struct front_config config = front_stage_config();

    start_empty(&config);
    stage.unheard = true;
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
    front_stage_answers(&stage, 0, "AUTH crawler alpha\r\nACL WHOAMI\r\n", "");
    front_stage_answers(&stage, 1, "HELLO 2 AUTH crawler wrong\r\n", "");
    fill_record();
    stage.unheard = false;
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, "+OK\r\n$7\r\ncrawler\r\n");
    front_stage_expect(&stage, 1, WRONG);
    finish();
}

/* It may be a token: `default` may be a user like others. */
static void default_waits(const struct front_config *config)
{
    start_empty(config);
    stage.unheard = true;
    for (size_t i = 0; i < 4; i++) {
        front_stage_open(&stage, i);
    }
    front_stage_answers(&stage, 0, "AUTH default dtoken\r\nACL GETUSER default\r\n", "");
    front_stage_answers(&stage, 1, "AUTH dtoken\r\nPING\r\n", "");
    front_stage_answers(&stage, 2, "HELLO 2 AUTH default wrong\r\n", "");
    add_token(add_user(&stage.users, "default", USER_CLIENT), "dtoken", 0);
    seal_record(&stage.users);
    stage.unheard = false;
    front_stage_turn(&stage);
    cr_assert_eq(strncmp(stage.streams[0].text, "+OK\r\n*16\r\n", 10), 0);
    cr_assert_not_null(strstr(stage.streams[0].text, "client"));
    front_stage_expect(&stage, 1, "+OK\r\n+PONG\r\n");
    front_stage_expect(&stage, 2, WRONG);
    finish();
}

Test(resp_users, so_does_who_logs_in_as_default)
{
    struct front_config config = front_stage_config();

    config.auth_us = 100 * (uint64_t)SECOND;
    default_waits(&config);
    config.users_only = true;
    default_waits(&config);
    config.users_only = false;
    config.guarded = true;
    cr_assert_eq(password_read(&config.password, span_text("sesame\n")), STATUS_OK);
    default_waits(&config);
}

Test(resp_users, where_there_are_none_it_goes_on_then)
{
    const struct front_config config = front_stage_config();

    start_empty(&config);
    stage.unheard = true;
    front_stage_open(&stage, 0);
    front_stage_say(&stage, 0, "BF.ADD f x\r\n");
    front_stage_pass(&stage, 4 * SECOND);
    cr_assert_not(is_asked());
    stage.unheard = false;
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 1);
    finish();
}

Test(resp_users, nobody_waits_for_that_for_longer_than_for_an_answer)
{
    const struct front_config config = front_stage_config();

    start_empty(&config);
    stage.unheard = true;
    front_stage_open(&stage, 0);
    front_stage_say(&stage, 0, "BF.ADD f x\r\nPING\r\n");
    front_stage_pass(&stage, 6 * SECOND);
    cr_assert_eq(strncmp(stage.streams[0].text, "-UNAVAILABLE this router has just", 33), 0);
    cr_assert_not_null(strstr(stage.streams[0].text, "+PONG"));
    front_stage_open(&stage, 1);
    front_stage_open(&stage, 2);
    front_stage_say(&stage, 1, "AUTH crawler alpha\r\n");
    front_stage_say(&stage, 2, "AUTH any\r\n");
    front_stage_pass(&stage, 6 * SECOND);
    cr_assert_eq(strncmp(stage.streams[1].text, "-UNAVAILABLE this router has just", 33), 0);
    cr_assert_eq(strncmp(stage.streams[2].text, "-UNAVAILABLE this router has just", 33), 0);
    finish();
}

/* Who guesses the password waits all the same, and is counted. */
Test(resp_users, the_password_is_not_to_be_guessed_meanwhile)
{
    struct front_config config = front_stage_config();

    config.guarded = true;
    config.auth_us = 100 * (uint64_t)SECOND;
    cr_assert_eq(password_read(&config.password, span_text("sesame\n")), STATUS_OK);
    start_empty(&config);
    stage.unheard = true;
    front_stage_open(&stage, 0);
    expect("AUTH guess\r\nAUTH default guess\r\nAUTH sesame\r\n", "");
    front_stage_pass(&stage, 12 * (uint64_t)SECOND);
    front_stage_expect(&stage, 0, WRONG WRONG "+OK\r\n");
    cr_assert_eq(front_stage_counter(&stage, "resp_wrong_passwords_total"), 2);
    finish();
}

static void start_guarded_unheard(size_t connections)
{
    struct front_config config = front_stage_config();

    config.guarded = true;
    config.auth_us = 100 * (uint64_t)SECOND;
    cr_assert_eq(password_read(&config.password, span_text("sesame\n")), STATUS_OK);
    start_empty(&config);
    stage.unheard = true;
    for (size_t i = 0; i < connections; i++) {
        front_stage_open(&stage, i);
    }
}

static uint64_t wrong_ones(void)
{
    return front_stage_counter(&stage, "resp_wrong_passwords_total");
}

/* ... nor by many at once, of whom none waits for its answer. */
Test(resp_users, who_guesses_it_and_goes_has_been_counted)
{
    enum { GUESSERS = 20 };

    start_guarded_unheard(GUESSERS);
    for (size_t i = 0; i < GUESSERS; i++) {
        front_stage_answers(&stage, i, i % 2 == 0 ? "AUTH a\r\n" : "HELLO 3 AUTH default a\r\n",
                            "");
        cr_assert_eq(wrong_ones(), i + 1);
        front_stage_gone(&stage, i);
    }
    finish();
}

Test(resp_users, a_wrong_one_is_counted_once_when_it_comes)
{
    start_guarded_unheard(3);
    front_stage_answers(&stage, 0, "AUTH a\r\n", "");
    front_stage_answers(&stage, 1, "AUTH dtoken\r\nAUTH a\r\n", "");
    front_stage_answers(&stage, 2, "AUTH crawler a\r\n", "");
    front_stage_pass(&stage, SECOND);
    front_stage_turn(&stage);
    cr_assert_eq(wrong_ones(), 2, "a token may be one of a user");
    add_token(add_user(&stage.users, "default", USER_CLIENT), "dtoken", 0);
    seal_record(&stage.users);
    stage.unheard = false;
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, WRONG);
    front_stage_expect(&stage, 1, "+OK\r\n" WRONG);
    front_stage_expect(&stage, 2, WRONG);
    cr_assert_eq(wrong_ones(), 4);
    finish();
}

/* The tenth is the last one, and is told so though nothing has been heard yet. */
Test(resp_users, guesses_before_users_are_heard_of_end_the_connection)
{
    start_guarded_unheard(1);
    for (int i = 0; i < 10; i++) {
        front_stage_type(&stage, 0, "AUTH a\r\n");
    }
    front_stage_turn(&stage);
    front_stage_pass(&stage, 70 * (uint64_t)SECOND);
    cr_assert_eq(wrong_ones(), 10);
    cr_assert(stage.streams[0].closed);
    cr_assert_eq(front_stage_counter(&stage, "resp_guessers_total"), 1);
    front_stage_expect(&stage, 0, WRONG WRONG WRONG WRONG WRONG WRONG WRONG WRONG WRONG WRONG);
    finish();
}

Test(resp_users, tokens_take_a_cluster_key_that_opens_the_record)
{
    struct cluster_key other;
    const uint8_t master[SEAL_KEY_BYTES] = {77};

    start_as("crawler", "alpha");
    cluster_key_derive(master, &other);
    front_rekey(stage.front, &other);
    front_stage_answers(&stage, 1, "AUTH crawler alpha\r\n",
                        "-UNAVAILABLE this router has no cluster key that opens the record of "
                        "users\r\n");
    expect("PING\r\n", "+PONG\r\n");
    front_rekey(stage.front, sample_key());
    front_stage_answers(&stage, 1, "AUTH crawler alpha\r\n", "+OK\r\n");
    finish();
}

/* Who has left the record is none of it, wherever memory is out. */
Test(resp_users, without_memory_the_former_record_holds)
{
    start_as("crawler", "alpha");
    seal_record(&stage.users);
    named("crawler")->ngrants = 0;
    for (unsigned n = 0; n < 12; n++) {
        heap_fault_after(n);
        front_stage_turn(&stage);
        heap_fault_clear();
    }
    front_stage_turn(&stage);
    expect("BF.ADD crawl:a x\r\n",
           "-NOPERM User crawler has no permissions to run the 'bf.add' command\r\n");
    finish();
}

/* ---- is it of use? ---- */

/* Where no password is for all, clients wait for news of users. */
static void expect_users_awaited(bool guarded, bool awaited)
{
    struct front_config config = front_stage_config();
    struct health health = {0};

    config.guarded = guarded;
    start_empty(&config);
    stage.unheard = true;
    front_stage_turn(&stage);
    front_tell_health(stage.front, &health);
    expect_health(&health, awaited ? "users" : NULL, "which users there are");
    stage.unheard = false;
    front_stage_turn(&stage);
    health = (struct health){0};
    front_tell_health(stage.front, &health);
    expect_health(&health, NULL, NULL);
    finish();
}

Test(resp_users, until_users_are_heard_of_it_is_not_ready)
{
    expect_users_awaited(false, true);
    expect_users_awaited(true, false);
}
