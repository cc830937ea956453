/* Users of RESP clients: what each may say and see, and in whose name coordinators are asked. */
#include "router/resp/command.h"
#include "tests/unit/resp_front_users.h"

/* The right is there. */
#define MAKE_OFF(name)                                                                         \
    "-ERR not found: this user has the right to make the filter, but adds make none, as its "  \
    "`create` is off; make it with BF.RESERVE or `orbloom create " name "`, or give the user " \
    "create = \"on\" (orbloom user apply)\r\n"

#define NO_MAKE "-NOPERM the filter is missing, and the user has no right (c) to make it\r\n"

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

Test(resp_rights, who_has_no_rights_may_say_what_everybody_may)
{
    say_all("nobody", "ntoken", false);
}

Test(resp_rights, a_monitor_may_say_no_more)
{
    say_all("watch", "wtoken", false);
}

Test(resp_rights, an_admin_may_say_everything)
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

Test(resp_rights, a_restricted_user_can_and_cannot)
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

Test(resp_rights, a_transaction_with_a_refused_command_is_none)
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

Test(resp_rights, who_may_not_make_filters_makes_none_by_adding)
{
    start_as("crawler", "alpha");
    front_stage_say(&stage, 0, "BF.ADD crawl:new x\r\nBF.INSERT crawl:a CAPACITY 9 ITEMS x\r\n");
    cr_assert_eq(stage.nasked, 2);
    front_stage_reply(&stage, 0, STATUS_NOT_FOUND, "");
    front_stage_reply(&stage, 1, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
    front_stage_expect(&stage, 0, MAKE_OFF("crawl:new") NO_MAKE);
    cr_assert_eq(front_stage_counter(&stage, "resp_forbidden_total"), 1);
    cr_assert_eq(front_stage_counter(&stage, "resp_errors_total"), 2);
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

/* It has all rights, so that it is told what is amiss and not that it may not. */
Test(resp_rights, an_admin_without_create_is_told_so)
{
    start_as("boss", "bosstoken");
    front_stage_say(&stage, 0, "BF.MADD any x y\r\n");
    miss();
    front_stage_expect(&stage, 0, MAKE_OFF("any"));
    cr_assert_eq(front_stage_counter(&stage, "resp_forbidden_total"), 0);
    named("boss")->create = true;
    seal_record(&stage.users);
    front_stage_say(&stage, 0, "BF.ADD any x\r\n");
    miss();
    cr_assert_eq(front_stage_question(&stage).body.admin_request.action, ADMIN_CREATE);
    finish();
}

/* Adds of two users to one filter, of which one may make it. */
Test(resp_rights, rights_are_not_shared_with_a_request)
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
Test(resp_rights, users_share_no_request)
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

Test(resp_rights, lists_show_what_the_user_may_see)
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
Test(resp_rights, the_status_names_no_other_filter)
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

Test(resp_rights, acl_tells_what_was_granted)
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

Test(resp_rights, acl_changes_nothing_and_says_what_does)
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

Test(resp_rights, clients_are_told_with_their_users_and_killed_by_them)
{
    start_as("boss", "bosstoken");
    front_stage_answers(&stage, 1, "AUTH crawler alpha\r\n", "+OK\r\n");
    front_stage_say(&stage, 0, "CLIENT LIST\r\n");
    cr_assert_not_null(strstr(stage.streams[0].text, "user=boss"));
    cr_assert_not_null(strstr(stage.streams[0].text, "user=crawler"));
    front_stage_expect(&stage, 0, stage.streams[0].text);
    expect("CLIENT KILL USER \"maker\\x00x\"\r\nACL GETUSER \"maker\\x00x\"\r\n",
           "-ERR No such user 'maker'\r\n$-1\r\n"); /* ... and more than is shown. */
    expect("CLIENT KILL USER nosuch\r\nCLIENT KILL USER maker\r\nCLIENT KILL USER crawler\r\n",
           "-ERR No such user 'nosuch'\r\n:0\r\n:1\r\n");
    cr_assert(stage.streams[1].closed);
    finish();
}

/* ---- what is told to coordinators ---- */

Test(resp_rights, a_change_names_its_user)
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

Test(resp_rights, so_does_a_filter_that_an_add_makes)
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

Test(resp_rights, who_is_no_user_is_not_named)
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

Test(resp_rights, what_a_coordinator_refuses_is_refused)
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
Test(resp_rights, who_is_deleted_meanwhile_asks_for_nothing_more)
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

Test(resp_rights, that_a_token_is_used_is_told_each_minute)
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
