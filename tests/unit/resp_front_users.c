/* Users of RESP clients: who gets in, what each may say and see, and when that ends. */
#include "base/heap.h"
#include "map/seal.h"
#include "router/resp/command.h"
#include "tests/support/front_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000 };

#define NOAUTH  "-NOAUTH Authentication required.\r\n"
#define WRONG   "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
#define NO_KEY  "-NOPERM No permissions to access a key\r\n"
#define NO_MAKE "-NOPERM the filter is missing, and the user may not make one by adding to it\r\n"

static struct front_stage stage;
static const struct hash_secret secret = {.bytes = {4, 2}};

/* ---- the record ---- */

static void *need(size_t count, size_t size)
{
    void *items = heap_zalloc(count, size);

    cr_assert_not_null(items);
    return items;
}

/* Names in ascending order. */
static struct user *add_user(struct user_list *list, const char *name, enum user_role role)
{
    struct user *user;

    if (list->users == NULL) {
        list->users = need(8, sizeof *list->users);
    }
    user = &list->users[list->count++];
    (void)snprintf(user->name, sizeof user->name, "%s", name);
    user->role = role;
    user->id = ++list->last_id;
    return user;
}

static void add_grant(struct user *user, const char *text)
{
    const char *reason;

    if (user->grants == NULL) {
        user->grants = need(USER_MAX_GRANTS, sizeof *user->grants);
    }
    cr_assert_eq(user_grant_parse(text, &user->grants[user->ngrants++], &reason), STATUS_OK);
}

/* By the stage's clock, which begins at 1700000000000; 0: never. */
static void add_token(struct user *user, const char *text, uint64_t after_ms)
{
    struct user_token *token;

    if (user->tokens == NULL) {
        user->tokens = need(USER_MAX_TOKENS, sizeof *user->tokens);
    }
    token = &user->tokens[user->ntokens++];
    token->id = ++user->last_credential;
    token->expires_ms = after_ms != 0 ? UINT64_C(1700000000000) + after_ms : 0;
    user_token_hash(&secret, span_text(text), token->hash);
}

static void seal_record(struct user_list *list)
{
    static const uint8_t nonce[SEAL_NONCE_BYTES] = {1};
    const char *reason = NULL;

    list->revision++;
    seal_secret(sample_key(), 0, &secret, nonce, list->sealed);
    cr_assert_eq(user_list_validate(list, &reason), STATUS_OK, "%s", reason);
}

static struct user *named(const char *name)
{
    struct user *user = user_list_find(&stage.users, name);

    cr_assert_not_null(user);
    return user;
}

/* An admin, a client, one that may make filters, one without rights, a monitor. */
static void fill_record(void)
{
    struct user *user;

    user = add_user(&stage.users, "boss", USER_ADMIN);
    add_token(user, "bosstoken", 0);
    user = add_user(&stage.users, "crawler", USER_CLIENT);
    add_grant(user, "rw crawl:*");
    add_grant(user, "r shared:*");
    add_grant(user, "wc crawl:new");
    add_token(user, "alpha", 0);
    add_token(user, "beta", 5000);
    (void)snprintf(user->subject, sizeof user->subject, "CN=crawler");
    user = add_user(&stage.users, "maker", USER_CLIENT);
    user->create = true;
    add_grant(user, "wc made:*");
    add_token(user, "mtoken", 0);
    user = add_user(&stage.users, "nobody", USER_CLIENT);
    add_token(user, "ntoken", 0);
    user = add_user(&stage.users, "watch", USER_MONITOR);
    add_token(user, "wtoken", 0);
    seal_record(&stage.users);
}

static void start_empty(const struct front_config *config)
{
    front_stage_init(&stage, config);
    front_rekey(stage.front, sample_key());
}

static void start(void)
{
    struct front_config config = front_stage_config();

    config.auth_us = 100 * (uint64_t)SECOND;
    start_empty(&config);
    fill_record();
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
}

static void finish(void)
{
    user_list_fini(&stage.users);
    front_stage_fini(&stage);
}

static void expect(const char *said, const char *answer)
{
    front_stage_answers(&stage, 0, said, answer);
}

static void start_as(const char *name, const char *token)
{
    char said[128];

    start();
    (void)snprintf(said, sizeof said, "AUTH %s %s\r\n", name, token);
    expect(said, "+OK\r\n");
}

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

/* ... and a longer one holds for who is in. */
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

/* ---- what each may say ---- */

static const char *const free_commands[] = {
    "acl",    "asking",    "auth",      "client",      "cluster",    "command",
    "config", "dbsize",    "discard",   "echo",        "exec",       "hello",
    "info",   "keys",      "multi",     "ping",        "psubscribe", "punsubscribe",
    "quit",   "readonly",  "readwrite", "reset",       "role",       "scan",
    "select", "subscribe", "time",      "unsubscribe", "wait",       "bf.status",
};

static bool is_free(const char *name)
{
    for (size_t i = 0; i < sizeof free_commands / sizeof free_commands[0]; i++) {
        if (strcmp(free_commands[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Every command of the table, with so many arguments that it would be taken. */
static void say_all(const char *user, const char *token, bool everything)
{
    size_t count;
    const struct command *table = command_table(&count);

    for (size_t i = 0; i < count; i++) {
        int arguments = table[i].arity < 0 ? -table[i].arity : table[i].arity;
        char refusal[160];
        bool refused;

        start_as(user, token);
        front_stage_type(&stage, 0, table[i].name);
        for (int j = 1; j < arguments; j++) {
            front_stage_type(&stage, 0, " 1");
        }
        front_stage_say(&stage, 0, "\r\n");
        (void)snprintf(refusal, sizeof refusal,
                       "-NOPERM User %s has no permissions to run the '%s' command\r\n", user,
                       table[i].name);
        refused = stage.streams[0].text != NULL && strcmp(stage.streams[0].text, refusal) == 0;
        cr_assert_eq(refused, !everything && !is_free(table[i].name), "%s %s: %s", user,
                     table[i].name, stage.streams[0].text);
        cr_assert_eq(front_stage_counter(&stage, "resp_forbidden_total"), refused);
        finish();
    }
}

Test(resp_users, who_has_no_rights_may_say_what_everybody_may)
{
    say_all("nobody", "ntoken", false);
}

Test(resp_users, a_monitor_may_say_no_more)
{
    say_all("watch", "wtoken", false);
}

Test(resp_users, an_admin_may_say_everything)
{
    say_all("boss", "bosstoken", true);
}

static const struct {
    const char *said;
    const char *refused; /* NULL: it is asked for */
} cases[] = {
    {"BF.ADD crawl:a x", NULL},
    {"BF.MADD crawl:a x y", NULL},
    {"BF.INSERT crawl:a ITEMS x", NULL},
    {"BF.EXISTS crawl:a x", NULL},
    {"BF.EXISTS shared:a x", NULL},
    {"BF.MEXISTS shared:a x", NULL},
    {"BF.INFO shared:a", NULL},
    {"BF.CARD crawl:a", NULL},
    {"TTL crawl:a", NULL},
    {"EXISTS crawl:a shared:b", NULL},
    {"MEMORY USAGE shared:b", NULL},
    {"OBJECT ENCODING shared:b", NULL},
    {"BF.RESERVE crawl:new 0.01 1000", NULL},
    {"BF.EXPAND crawl:new CAPACITY 5000", NULL},
    {"DEL crawl:new", NULL},
    {"EXPIRE crawl:new 10", NULL},
    {"RENAMENX crawl:new crawl:new", NULL},
    {"BF.REBUILD crawl:new BEGIN", NULL},
    {"BF.REBUILD crawl:a FEED x", NULL},
    {"BF.STATUS crawl:a", NULL},
    {"BF.STATUS", NULL},
    {"KEYS *", NULL},
    {"BF.ADD shared:a x", NO_KEY},
    {"BF.ADD other x", NO_KEY},
    {"BF.INSERT shared:a NOCREATE ITEMS x", NO_KEY},
    {"BF.EXISTS other x", NO_KEY},
    {"BF.INFO other", NO_KEY},
    {"EXISTS crawl:a other", NO_KEY},
    {"TYPE other", NO_KEY},
    {"GET other", NO_KEY},
    {"MEMORY USAGE other", NO_KEY},
    {"OBJECT ENCODING other", NO_KEY},
    {"BF.RESERVE crawl:a 0.01 1000", NO_KEY},
    {"DEL crawl:new crawl:a", NO_KEY},
    {"UNLINK other", NO_KEY},
    {"EXPIRE crawl:a 10", NO_KEY},
    {"PERSIST shared:a", NO_KEY},
    {"RENAME crawl:new crawl:a", NO_KEY},
    {"RENAME crawl:a crawl:new", NO_KEY},
    {"RENAMENX other crawl:new", NO_KEY},
    {"BF.REBUILD crawl:a BEGIN", NO_KEY},
    {"BF.REBUILD shared:a FEED x", NO_KEY},
    {"BF.REBUILD crawl:a COMMIT YES", NO_KEY},
    {"BF.LOADCHUNK crawl:a 1 x", NO_KEY},
    {"BF.STATUS other", NO_KEY},
    {"FLUSHALL", NO_KEY},
    {"BF.SCANDUMP crawl:a 0",
     "-NOPERM User crawler has no permissions to run the 'bf.scandump' command\r\n"},
    {"SLOWLOG GET", "-NOPERM User crawler has no permissions to run the 'slowlog' command\r\n"},
    {"CLIENT LIST", "-NOPERM User crawler has no permissions to run the 'client|list' command\r\n"},
    {"CLIENT KILL ID 2",
     "-NOPERM User crawler has no permissions to run the 'client|kill' command\r\n"},
    {"ACL LIST", "-NOPERM User crawler has no permissions to run the 'acl|list' command\r\n"},
    {"ACL GETUSER boss",
     "-NOPERM User crawler has no permissions to run the 'acl|getuser' command\r\n"},
};

static bool is_asked(void)
{
    struct fake_sent sent;

    return stage.nasked > 0 || front_stage_take(&stage, &sent);
}

Test(resp_users, a_restricted_user_can_and_cannot)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char said[128];

        start_as("crawler", "alpha");
        (void)snprintf(said, sizeof said, "%s\r\n", cases[i].said);
        front_stage_say(&stage, 0, said);
        cr_assert_str_eq(stage.streams[0].text != NULL ? stage.streams[0].text : "",
                         cases[i].refused != NULL ? cases[i].refused : "", "%s", cases[i].said);
        cr_assert_eq(is_asked(), cases[i].refused == NULL, "%s", cases[i].said);
        finish();
    }
}

Test(resp_users, a_transaction_with_a_refused_command_is_none)
{
    start_as("crawler", "alpha");
    expect("MULTI\r\nBF.ADD crawl:a x\r\nBF.ADD other x\r\nEXEC\r\n",
           "+OK\r\n+QUEUED\r\n" NO_KEY
           "-EXECABORT Transaction discarded because of previous errors.\r\n");
    cr_assert_eq(stage.nasked, 0);
    expect("MULTI\r\nBF.ADD crawl:a x\r\nPING\r\n", "+OK\r\n+QUEUED\r\n+QUEUED\r\n");
    named("crawler")->ngrants = 0; /* between that and EXEC */
    seal_record(&stage.users);
    expect(
        "EXEC\r\n",
        "*2\r\n-NOPERM User crawler has no permissions to run the 'bf.add' command\r\n+PONG\r\n");
    finish();
}

/* ---- filters that adds find missing ---- */

/* The router has no such filter. */
static void miss(void)
{
    front_stage_reply(&stage, stage.nasked - 1, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
}

Test(resp_users, who_may_not_make_filters_makes_none_by_adding)
{
    start_as("crawler", "alpha");
    front_stage_say(&stage, 0, "BF.ADD crawl:new x\r\nBF.INSERT crawl:a CAPACITY 9 ITEMS x\r\n");
    cr_assert_eq(stage.nasked, 2);
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    front_stage_reply(&stage, 1, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, NO_MAKE NO_MAKE);
    front_stage_say(&stage, 0, "BF.INSERT crawl:a NOCREATE ITEMS x\r\n");
    miss();
    front_stage_expect(&stage, 0, "-ERR not found\r\n");
    named("crawler")->create = true; /* `create` alone does not do, it takes c, too */
    seal_record(&stage.users);
    front_stage_say(&stage, 0, "BF.ADD crawl:a x\r\n");
    miss();
    front_stage_expect(&stage, 0, NO_MAKE);
    front_stage_say(&stage, 0, "BF.ADD crawl:new x\r\n");
    miss();
    cr_assert_eq(front_stage_question(&stage).body.admin_request.action, ADMIN_CREATE);
    finish();
}

/* Adds of two users to one filter, of which one may make it. */
Test(resp_users, rights_are_not_shared_with_a_request)
{
    start_as("maker", "mtoken");
    front_stage_answers(&stage, 1, "AUTH crawler alpha\r\n", "+OK\r\n");
    add_grant(named("crawler"), "w made:*");
    seal_record(&stage.users);
    front_stage_type(&stage, 0, "BF.ADD made:x a\r\n");
    front_stage_type(&stage, 1, "BF.ADD made:x b\r\n");
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 2);
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    front_stage_reply(&stage, 1, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 1, NO_MAKE);
    cr_assert_str_eq(front_stage_question(&stage).body.admin_request.name, "made:x");
    finish();
}

/* ... nor is a limit: who makes the filter is whose it is. */
Test(resp_users, users_share_no_request)
{
    start_as("maker", "mtoken");
    front_stage_answers(&stage, 1, "AUTH boss bosstoken\r\n", "+OK\r\n");
    named("boss")->create = true;
    seal_record(&stage.users);
    front_stage_type(&stage, 0, "BF.ADD made:x a\r\n");
    front_stage_type(&stage, 1, "BF.ADD made:x b\r\n");
    front_stage_turn(&stage);
    cr_assert_eq(stage.nasked, 2);
    front_stage_reply(&stage, 1, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    cr_assert_str_eq(front_stage_question(&stage).body.admin_request.user, "boss");
    finish();
}

/* ---- what each sees ---- */

static void answer_two(const struct frame *question)
{
    const struct filter_summary filters[] = {front_stage_filter("crawl:a"),
                                             front_stage_filter("other")};
    const struct admin_reply reply = {
        .message = "other is lacking", .filters = filters, .nfilters = 2};

    front_stage_answer_with(&stage, question, &reply);
}

static void expect_listed(const char *said, const char *answer)
{
    struct frame question;

    front_stage_say(&stage, 0, said);
    question = front_stage_question(&stage);
    answer_two(&question);
    front_stage_expect(&stage, 0, answer);
}

Test(resp_users, lists_show_what_the_user_may_see)
{
    start_as("crawler", "alpha");
    expect_listed("KEYS *\r\n", "*1\r\n$7\r\ncrawl:a\r\n");
    expect_listed("SCAN 0\r\n", "*2\r\n$1\r\n0\r\n*1\r\n$7\r\ncrawl:a\r\n");
    expect_listed("DBSIZE\r\n", ":1\r\n");
    expect_listed("CLUSTER GETKEYSINSLOT 15000 10\r\n", "*0\r\n");
    expect("AUTH nobody ntoken\r\n", "+OK\r\n");
    expect_listed("KEYS *\r\n", "*0\r\n");
    expect_listed("DBSIZE\r\n", ":0\r\n");
    expect("AUTH watch wtoken\r\n", "+OK\r\n");
    expect_listed("KEYS *\r\n", "*2\r\n$7\r\ncrawl:a\r\n$5\r\nother\r\n");
    expect("AUTH boss bosstoken\r\n", "+OK\r\n");
    expect_listed("DBSIZE\r\n", ":2\r\n");
    finish();
}

static const char *status_said(void)
{
    struct frame question;

    front_stage_say(&stage, 0, "BF.STATUS\r\n");
    question = front_stage_question(&stage);
    answer_two(&question);
    return stage.streams[0].text;
}

/* ... and who sees all is told of what wants attention, which may name any filter. */
Test(resp_users, the_status_names_no_other_filter)
{
    start_as("crawler", "alpha");
    cr_assert_not_null(strstr(status_said(), "crawl:a"));
    cr_assert_null(strstr(stage.streams[0].text, "other"), "%s", stage.streams[0].text);
    finish();
    start_as("watch", "wtoken");
    cr_assert_not_null(strstr(status_said(), "$5\r\nother\r\n"));
    cr_assert_not_null(strstr(stage.streams[0].text, "other is lacking"));
    finish();
}

/* ---- ACL ---- */

Test(resp_users, acl_tells_what_was_granted)
{
    start_as("boss", "bosstoken");
    expect("ACL LIST\r\n",
           "*5\r\n$49\r\nuser boss on #hidden sanitize-payload ~* &* +@all\r\n"
           "$130\r\nuser crawler on #hidden #hidden sanitize-payload ~crawl:* %R~shared:* "
           "%W~crawl:new &* -@all +@connection +@read +@write +@keyspace\r\n"
           "$89\r\nuser maker on #hidden sanitize-payload %W~made:* &* -@all +@connection +@write "
           "+@keyspace\r\n"
           "$61\r\nuser nobody on #hidden sanitize-payload &* -@all +@connection\r\n"
           "$60\r\nuser watch on #hidden sanitize-payload &* -@all +@connection\r\n");
    expect(
        "ACL GETUSER maker\r\n",
        "*16\r\n$5\r\nflags\r\n*2\r\n$2\r\non\r\n$16\r\nsanitize-payload\r\n$9\r\npasswords\r\n"
        "*1\r\n$6\r\nhidden\r\n$8\r\ncommands\r\n$37\r\n-@all +@connection +@write +@keyspace\r\n"
        "$4\r\nkeys\r\n$9\r\n%W~made:*\r\n$8\r\nchannels\r\n$2\r\n&*\r\n$9\r\nselectors\r\n*0\r\n"
        "$4\r\nrole\r\n$6\r\nclient\r\n$6\r\ngrants\r\n*1\r\n$9\r\nwc made:*\r\n");
    expect("ACL GETUSER nosuch\r\nACL GETUSER default\r\n", "$-1\r\n$-1\r\n");
    expect("AUTH maker mtoken\r\nACL GETUSER boss\r\n",
           "+OK\r\n-NOPERM User maker has no permissions to run the 'acl|getuser' command\r\n");
    front_stage_say(&stage, 0, "ACL GETUSER maker\r\n");
    cr_assert_eq(strncmp(stage.streams[0].text, "*16\r\n", 5), 0, "its own");
    finish();
}

Test(resp_users, acl_changes_nothing_and_says_what_does)
{
    static const char *const changes[] = {"SETUSER x on", "DELUSER x", "LOAD", "SAVE"};

    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char said[64];

        start_as("boss", "bosstoken");
        (void)snprintf(said, sizeof said, "ACL %s\r\n", changes[i]);
        front_stage_say(&stage, 0, said);
        cr_assert_not_null(strstr(stage.streams[0].text, "`orbloom user`"), "%s", changes[i]);
        finish();
    }
}

Test(resp_users, clients_are_told_with_their_users_and_killed_by_them)
{
    start_as("boss", "bosstoken");
    front_stage_answers(&stage, 1, "AUTH crawler alpha\r\n", "+OK\r\n");
    front_stage_say(&stage, 0, "CLIENT LIST\r\n");
    cr_assert_not_null(strstr(stage.streams[0].text, "user=boss"));
    cr_assert_not_null(strstr(stage.streams[0].text, "user=crawler"));
    front_stage_expect(&stage, 0, stage.streams[0].text);
    expect("CLIENT KILL USER nosuch\r\nCLIENT KILL USER maker\r\nCLIENT KILL USER crawler\r\n",
           "-ERR No such user 'nosuch'\r\n:0\r\n:1\r\n");
    cr_assert(stage.streams[1].closed);
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
    finish();
}

/* Who guesses the password is slowed down all the same. */
Test(resp_users, the_password_is_not_to_be_guessed_meanwhile)
{
    struct front_config config = front_stage_config();

    config.guarded = true;
    config.auth_us = 100 * (uint64_t)SECOND;
    cr_assert_eq(password_read(&config.password, span_text("sesame\n")), STATUS_OK);
    start_empty(&config);
    stage.unheard = true;
    front_stage_open(&stage, 0);
    expect("AUTH guess\r\nAUTH default guess\r\nAUTH sesame\r\n", WRONG WRONG);
    cr_assert_eq(front_stage_counter(&stage, "resp_wrong_passwords_total"), 2);
    front_stage_pass(&stage, SECOND);
    front_stage_expect(&stage, 0, "+OK\r\n");
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

/* ---- what is told to coordinators ---- */

Test(resp_users, a_change_names_its_user)
{
    static const char *const said[] = {
        "DEL crawl:new\r\n",
        "RENAME crawl:new crawl:new\r\n",
        "BF.RESERVE crawl:new 0.01 10\r\n",
        "EXPIRE crawl:new 10\r\n",
        "KEYS *\r\n",
        "BF.STATUS\r\n",
        "EXISTS crawl:a\r\n",
        "BF.REBUILD crawl:a FEED x\r\n",
        "BF.REBUILD crawl:new BEGIN\r\n",
    };

    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        start_as("crawler", "alpha");
        front_stage_say(&stage, 0, said[i]);
        cr_assert_str_eq(front_stage_question(&stage).body.admin_request.user, "crawler", "%s",
                         said[i]);
        finish();
    }
}

Test(resp_users, so_does_a_filter_that_an_add_makes)
{
    struct frame question;

    start_as("maker", "mtoken");
    front_stage_say(&stage, 0, "BF.ADD made:x a\r\n");
    miss();
    question = front_stage_question(&stage);
    cr_assert_eq(question.body.admin_request.action, ADMIN_CREATE);
    cr_assert_str_eq(question.body.admin_request.user, "maker");
    front_stage_answer(&stage, &question, STATUS_UNAUTHENTIC, false);
    front_stage_expect(&stage, 0, "-NOPERM said so\r\n");
    finish();
}

Test(resp_users, who_is_no_user_is_not_named)
{
    const struct front_config config = front_stage_config();
    struct frame question;

    start_empty(&config);
    front_stage_open(&stage, 0);
    front_stage_say(&stage, 0, "DEL f\r\n");
    question = front_stage_question(&stage);
    cr_assert_str_eq(question.body.admin_request.user, "");
    front_stage_answer(&stage, &question, STATUS_UNAUTHENTIC, false);
    front_stage_expect(&stage, 0, "-UNAUTHENTIC said so\r\n");
    finish();
}

Test(resp_users, what_a_coordinator_refuses_is_refused)
{
    struct frame question;

    start_as("crawler", "alpha");
    front_stage_say(&stage, 0, "BF.RESERVE crawl:new 0.01 10\r\n");
    question = front_stage_question(&stage);
    front_stage_answer(&stage, &question, STATUS_UNAUTHENTIC, false);
    front_stage_expect(&stage, 0, "-NOPERM said so\r\n");
    finish();
}

/* In the midst of a command of two questions. */
Test(resp_users, who_is_deleted_meanwhile_asks_for_nothing_more)
{
    struct frame question;

    start_as("crawler", "alpha");
    front_stage_say(&stage, 0, "BF.REBUILD crawl:new BEGIN\r\n");
    question = front_stage_question(&stage);
    named("crawler")->id = ++stage.users.last_id; /* another of that name */
    seal_record(&stage.users);
    front_stage_turn(&stage);
    {
        const struct filter_summary filter = front_stage_filter("crawl:new");

        front_stage_answer_filter(&stage, &question, &filter);
    }
    front_stage_expect(&stage, 0, "-NOPERM the user has been deleted meanwhile\r\n");
    cr_assert_not(is_asked());
    finish();
}

Test(resp_users, that_a_token_is_used_is_told_each_minute)
{
    start_as("crawler", "alpha");
    cr_assert_eq(stage.nuses, 1);
    cr_assert_eq(stage.use.user, named("crawler")->id);
    cr_assert_eq(stage.use.credential, named("crawler")->tokens[0].id);
    cr_assert_eq(stage.use.at_ms, UINT64_C(1700000000000));
    front_stage_pass(&stage, 59 * (uint64_t)SECOND);
    expect("PING\r\n", "+PONG\r\n");
    cr_assert_eq(stage.nuses, 1);
    front_stage_pass(&stage, SECOND);
    stage.later_ms = 60000;
    expect("PING\r\nPING\r\n", "+PONG\r\n+PONG\r\n");
    cr_assert_eq(stage.nuses, 2);
    cr_assert_eq(stage.use.at_ms, UINT64_C(1700000060000));
    expect("AUTH crawler wrong\r\n", WRONG);
    cr_assert_eq(stage.nuses, 2);
    finish();
}

/* ---- the audit log ---- */

static char lines[64 << 10];
static size_t nlines;

static enum status write_line(void *context, struct span line)
{
    size_t used = strlen(lines);

    (void)context;
    cr_assert_lt(used + line.size, sizeof lines);
    memcpy(lines + used, line.data, line.size);
    lines[used + line.size] = '\0';
    nlines++;
    return STATUS_OK;
}

static const struct audit_sink sink = {.write = write_line};

static void start_audited(const char *name, const char *token)
{
    start_as(name, token);
    front_attach_audit(stage.front, &sink);
}

/* The lines are these, without their times; they are forgotten. */
static void expect_lines(const char *expected)
{
    char text[sizeof lines] = "";
    const char *at = lines;

    while (*at != '\0') {
        const char *end = strchr(at, '\n');
        const char *from = strstr(at, "Z\",");

        cr_assert_eq(strncmp(at, "{\"time\":\"", 9), 0);
        cr_assert(from != NULL && from < end);
        strncat(text, from + 3, (size_t)(end - from) - 2);
        at = end + 1;
    }
    cr_assert_str_eq(text, expected);
    lines[0] = '\0';
    nlines = 0;
}

#define HEAD "\"router\":\"router-1\",\"action\":"
#define FROM "\"client\":\"127.0.0.1:50312\",\"outcome\":"

Test(resp_users, what_is_refused_is_noted)
{
    start_audited("crawler", "alpha");
    front_stage_say(&stage, 0,
                    "BF.MEXISTS other x\r\nDEL crawl:new crawl:a\r\n"
                    "SLOWLOG GET\r\nACL LIST\r\nFLUSHALL\r\nPING\r\n");
    expect_lines(
        HEAD "\"command\",\"user\":\"crawler\",\"command\":\"bf.mexists\","
             "\"filter\":\"other\"," FROM "\"NOPERM\"}\n" HEAD
             "\"command\",\"user\":\"crawler\",\"command\":\"del\","
             "\"filter\":\"crawl:a\"," FROM "\"NOPERM\"}\n" HEAD
             "\"command\",\"user\":\"crawler\",\"command\":\"slowlog\"," FROM "\"NOPERM\"}\n" HEAD
             "\"command\",\"user\":\"crawler\",\"command\":\"acl|list\"," FROM "\"NOPERM\"}\n" HEAD
             "\"command\",\"user\":\"crawler\",\"command\":\"flushall\","
             "\"filter\":\"*\"," FROM "\"NOPERM\"}\n");
    finish();
}

Test(resp_users, so_is_who_gave_a_wrong_password)
{
    start_audited("crawler", "alpha");
    named("boss")->limits.connections = 1;
    seal_record(&stage.users);
    front_stage_answers(&stage, 1, "AUTH boss bosstoken\r\n", "+OK\r\n");
    front_stage_say(&stage, 0, "AUTH boss bosstoken\r\nAUTH \"a\\\"b\\x00\\xff\" secret\r\n");
    expect_lines(HEAD "\"auth\",\"user\":\"boss\"," FROM "\"OVERLOADED\"}\n" HEAD
                      "\"auth\",\"user\":\"a\\u0022b\\u0000\\u00ff\"," FROM "\"WRONGPASS\"}\n");
    finish();
}

Test(resp_users, so_is_an_add_that_may_make_no_filter)
{
    start_audited("crawler", "alpha");
    front_stage_say(&stage, 0, "BF.ADD crawl:a x\r\n");
    miss();
    expect_lines(HEAD
                 "\"command\",\"user\":\"crawler\",\"command\":\"add\",\"filter\":\"crawl:a\"," FROM
                 "\"NOPERM\"}\n");
    finish();
}

/* Whoever is refused over and over fills no disk. */
Test(resp_users, of_many_refusals_some_are_left_out_and_that_is_said)
{
    start_audited("crawler", "alpha");
    for (int i = 0; i < 1000; i++) {
        expect("BF.ADD other x\r\n", NO_KEY);
    }
    cr_assert_geq(nlines, 100);
    cr_assert_leq(nlines, 130);
    cr_assert_eq(front_stage_counter(&stage, "audit_left_out_total"), 1000 - nlines);
    cr_assert_null(strstr(lines, "left_out"));
    front_stage_pass(&stage, SECOND);
    lines[0] = '\0';
    expect("BF.ADD other x\r\nBF.ADD other x\r\n", NO_KEY NO_KEY);
    cr_assert_not_null(strstr(lines, "\"left_out\":8"));
    cr_assert_eq(strstr(strstr(lines, "left_out") + 1, "left_out"), NULL);
    finish();
}
