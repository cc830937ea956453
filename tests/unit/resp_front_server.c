/* What clients ask of any server, of a Redis Cluster and of a key: this router's answers. */
#include "router/resp/command.h"
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct front_stage stage;

static void expect(const char *said, const char *answer)
{
    front_stage_answers(&stage, 0, said, answer);
}

/* ---- a server ---- */

Test(resp_server, it_tells_the_time_of_day)
{
    front_stage_start(&stage, 2);
    expect("TIME\r\n", "*2\r\n$10\r\n1700000000\r\n$2\r\n42\r\n");
    expect("TIME now\r\n", "-ERR wrong number of arguments for 'time' command\r\n");
    front_stage_fini(&stage);
}

Test(resp_server, it_has_one_user_no_replicas_and_nothing_noted)
{
    front_stage_start(&stage, 2);
    expect("ROLE\r\n", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
    expect("ACL WHOAMI\r\n", "$7\r\ndefault\r\n");
    expect("acl whoami x\r\n", "-ERR wrong number of arguments for 'acl|whoami' command\r\n");
    expect("ACL genpass\r\n", "-ERR unknown subcommand 'genpass'. Try ACL HELP.\r\n");
    expect("SLOWLOG GET 5\r\nSLOWLOG LEN\r\nSLOWLOG RESET\r\n", "*0\r\n:0\r\n+OK\r\n");
    expect("LATENCY LATEST\r\nLATENCY RESET\r\n", "*0\r\n:0\r\n");
    expect("READONLY\r\nREADWRITE\r\nASKING\r\n", "+OK\r\n+OK\r\n+OK\r\n");
    front_stage_fini(&stage);
}

Test(resp_server, redis_benchmark_finds_the_parameters_it_looks_for)
{
    front_stage_start(&stage, 2);
    expect("CONFIG GET save\r\n", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n");
    expect("CONFIG GET APPEND*\r\n", "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n");
    expect("CONFIG GET maxmemory\r\n", "*0\r\n");
    front_stage_say(&stage, 0, "HELLO 3\r\n");
    front_stage_expect(&stage, 0, stage.streams[0].text);
    expect("CONFIG GET save nothing appendonly\r\n",
           "%2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n$4\r\nsave\r\n$0\r\n\r\n");
    front_stage_say(&stage, 0, "CONFIG SET save x\r\n");
    cr_assert_not_null(strstr(stage.streams[0].text, "-ERR options are set in"));
    front_stage_fini(&stage);
}

/* ---- its commands ---- */

/* Where a filter's name is not the first argument. */
static bool is_behind_subcommand(const char *name)
{
    return strcmp(name, "memory") == 0 || strcmp(name, "object") == 0;
}

/* Searched one after another, told one after another: a name twice would be told twice. */
Test(resp_server, the_table_is_in_order_and_says_of_keys_what_it_says_of_arguments)
{
    size_t count;
    const struct command *table = command_table(&count);

    for (size_t i = 0; i < count; i++) {
        int least = table[i].arity < 0 ? -table[i].arity : table[i].arity;

        cr_assert(i == 0 || strcmp(table[i - 1].name, table[i].name) < 0, "%s", table[i].name);
        cr_assert_neq(table[i].arity, 0);
        cr_assert_eq(table[i].keys.first == 2, is_behind_subcommand(table[i].name), "%s",
                     table[i].name);
        cr_assert(table[i].keys.first < least || table[i].keys.first == 2, "%s", table[i].name);
        cr_assert_eq(table[i].keys.first == 0, table[i].keys.step == 0);
        cr_assert_eq(command_find(span_text(table[i].name)), &table[i]);
    }
}

Test(resp_server, it_tells_them_as_redis_does)
{
    char text[64];
    size_t count;

    front_stage_start(&stage, 2);
    (void)command_table(&count);
    (void)snprintf(text, sizeof text, ":%zu\r\n", count);
    expect("COMMAND COUNT\r\n", text);
    expect("COMMAND INFO DEL no\r\n",
           "*2\r\n*10\r\n$3\r\ndel\r\n:-2\r\n*1\r\n+write\r\n:1\r\n:-1\r\n:1\r\n*3\r\n"
           "+@keyspace\r\n+@write\r\n+@slow\r\n*0\r\n*0\r\n*0\r\n$-1\r\n");
    expect("COMMAND DOCS no TIME\r\n",
           "*2\r\n$4\r\ntime\r\n*6\r\n$7\r\nsummary\r\n$35\r\nseconds and microseconds since "
           "1970\r\n$5\r\nsince\r\n$5\r\n1.0.0\r\n$5\r\ngroup\r\n$6\r\nserver\r\n");
    expect("COMMAND LIST FILTERBY PATTERN cl*\r\n", "*2\r\n$6\r\nclient\r\n$7\r\ncluster\r\n");
    expect("COMMAND LIST FILTERBY MODULE transactions\r\n",
           "*3\r\n$7\r\ndiscard\r\n$4\r\nexec\r\n$5\r\nmulti\r\n");
    expect("COMMAND LIST FILTERBY ACLCAT transaction\r\n",
           "*3\r\n$7\r\ndiscard\r\n$4\r\nexec\r\n$5\r\nmulti\r\n");
    expect("COMMAND LIST FILTERBY ACLCAT no\r\n", "*0\r\n");
    expect("COMMAND LIST x\r\n", "-ERR syntax error\r\n");
    (void)snprintf(text, sizeof text, "*%zu\r\n*10\r\n$3\r\nacl\r\n", count);
    front_stage_say(&stage, 0, "COMMAND\r\n");
    cr_assert_eq(strncmp(stage.streams[0].text, text, strlen(text)), 0);
    front_stage_fini(&stage);
}

/* ---- categories ---- */

Test(resp_server, categories_are_told_with_what_is_in_them)
{
    front_stage_start(&stage, 2);
    expect("ACL CAT\r\n",
           "*12\r\n$8\r\nkeyspace\r\n$4\r\nread\r\n$5\r\nwrite\r\n$6\r\nstring\r\n$6\r\npubsub"
           "\r\n$5\r\nadmin\r\n$4\r\nfast\r\n$4\r\nslow\r\n$9\r\ndangerous\r\n$10\r\n"
           "connection\r\n$11\r\ntransaction\r\n$5\r\nbloom\r\n");
    expect("ACL CAT transaction\r\nacl cat STRING\r\n",
           "*3\r\n$7\r\ndiscard\r\n$4\r\nexec\r\n$5\r\nmulti\r\n*1\r\n$3\r\nget\r\n");
    expect("ACL CAT dangerous\r\n",
           "*5\r\n$6\r\nconfig\r\n$8\r\nflushall\r\n$7\r\nflushdb\r\n$7\r\nlatency\r\n$7\r\n"
           "slowlog\r\n");
    expect("ACL CAT hash\r\nACL CAT \"read\\x00x\"\r\nACL CAT \"\"\r\nACL CAT read write\r\n",
           "-ERR Unknown category 'hash'\r\n-ERR Unknown category 'read'\r\n"
           "-ERR Unknown category ''\r\n"
           "-ERR unknown subcommand or wrong number of arguments for 'CAT'. Try ACL HELP.\r\n");
    front_stage_fini(&stage);
}

static size_t category_called(const char *name)
{
    size_t category = 0;

    while (strcmp(category_name(category), name) != 0) {
        category++;
    }
    return category;
}

/* By the flags that COMMAND INFO tells, and the groups of COMMAND DOCS. */
Test(resp_server, categories_say_what_flags_and_groups_say)
{
    static const struct {
        const char *category;
        unsigned flag;
    } flags[] = {{"read", COMMAND_READS},
                 {"write", COMMAND_WRITES},
                 {"fast", COMMAND_FAST},
                 {"admin", COMMAND_ADMIN}};
    size_t count;
    const struct command *table = command_table(&count);

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
            cr_assert_eq(category_has(category_called(flags[k].category), &table[i]),
                         (table[i].flags & flags[k].flag) != 0, "%s", table[i].name);
        }
        cr_assert_neq(category_has(category_called("fast"), &table[i]),
                      category_has(category_called("slow"), &table[i]));
        cr_assert_eq(category_has(category_called("bloom"), &table[i]),
                     strncmp(table[i].name, "bf.", 3) == 0);
        cr_assert_eq(category_has(category_called("keyspace"), &table[i]),
                     strcmp(table[i].group, "generic") == 0);
    }
}

/* ---- a cluster ---- */

Test(resp_server, a_cluster_of_one_node_where_the_client_found_it)
{
    char text[256];
    const char *id;

    front_stage_start(&stage, 2);
    id = stage.front->node_id;
    cr_assert_eq(strlen(id), 40);
    (void)snprintf(text, sizeof text, "$40\r\n%s\r\n", id);
    expect("CLUSTER MYID\r\n", text);
    (void)snprintf(
        text, sizeof text,
        "*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$9\r\n192.0.2.1\r\n:6380\r\n$40\r\n%s\r\n*0\r\n", id);
    expect("CLUSTER SLOTS\r\n", text);
    (void)snprintf(text, sizeof text,
                   "$98\r\n%s 192.0.2.1:6380@0 myself,master - 0 0 1 connected 0-16383\n\r\n", id);
    expect("CLUSTER NODES\r\n", text);
    (void)snprintf(text, sizeof text, "CLUSTER REPLICAS %s\r\nCLUSTER REPLICAS x\r\n", id);
    expect(text, "*0\r\n-ERR Unknown node x\r\n");
    front_stage_say(&stage, 0, "CLUSTER INFO\r\n");
    cr_assert_not_null(strstr(stage.streams[0].text, "cluster_state:ok\r\n"));
    front_stage_say(&stage, 0, "CLUSTER SHARDS\r\n");
    cr_assert_not_null(strstr(stage.streams[0].text, "$8\r\nendpoint\r\n$9\r\n192.0.2.1\r\n"));
    front_stage_say(&stage, 1, "CLUSTER SLOTS\r\n");
    cr_assert_not_null(strstr(stage.streams[1].text, "*4\r\n$0\r\n\r\n:0\r\n"), "by no TCP");
    front_stage_fini(&stage);
}

/* Of the coordinator: `first` and `second`, which goes already. */
static void answer_two(const char *first, const char *second)
{
    struct frame question = front_stage_question(&stage);
    struct filter_summary filters[] = {front_stage_filter(first), front_stage_filter(second)};
    const struct admin_reply reply = {.message = "", .filters = filters, .nfilters = 2};

    filters[1].state = FILTER_DROPPING;
    cr_assert_eq(question.body.admin_request.action, ADMIN_STATUS);
    front_stage_answer_with(&stage, &question, &reply);
}

Test(resp_server, slots_have_the_filters_that_hash_there)
{
    front_stage_start(&stage, 2);
    expect("CLUSTER KEYSLOT {foo}bar\r\n", ":12182\r\n");
    front_stage_say(&stage, 0, "CLUSTER COUNTKEYSINSLOT 12182\r\n");
    answer_two("foo", "foo");
    front_stage_expect(&stage, 0, ":1\r\n");
    front_stage_say(&stage, 0, "CLUSTER GETKEYSINSLOT 12182 9\r\n");
    answer_two("foo", "foo");
    front_stage_expect(&stage, 0, "*1\r\n$3\r\nfoo\r\n");
    front_stage_say(&stage, 0, "CLUSTER GETKEYSINSLOT 12182 0\r\n");
    answer_two("foo", "foo");
    front_stage_expect(&stage, 0, "*0\r\n");
    expect("CLUSTER COUNTKEYSINSLOT 16384\r\n", "-ERR Invalid slot\r\n");
    expect("CLUSTER COUNTKEYSINSLOT 9999999999999999999\r\n", "-" INTEGER_MESSAGE "\r\n");
    expect("CLUSTER GETKEYSINSLOT 0 -1\r\n", "-ERR Invalid slot or number of keys\r\n");
    expect("CLUSTER KEYSLOT\r\n",
           "-ERR wrong number of arguments for 'cluster|keyslot' command\r\n");
    expect("CLUSTER MEET x\r\n", "-ERR unknown subcommand 'MEET'. Try CLUSTER HELP.\r\n");
    front_stage_fini(&stage);
}

/* ---- a key ---- */

Test(resp_server, objects_are_filters)
{
    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "OBJECT ENCODING foo\r\n");
    answer_two("foo", "bar");
    front_stage_expect(&stage, 0, "$3\r\nraw\r\n");
    front_stage_say(&stage, 0, "OBJECT REFCOUNT bar\r\n");
    answer_two("foo", "bar");
    front_stage_expect(&stage, 0, "$-1\r\n");
    front_stage_say(&stage, 0, "OBJECT FREQ foo\r\n");
    answer_two("foo", "bar");
    front_stage_expect(&stage, 0, "-ERR how often a filter is used is not tracked\r\n");
    expect("OBJECT IDLETIME bad/name\r\n", "$-1\r\n");
    expect("OBJECT ENCODING\r\n",
           "-ERR wrong number of arguments for 'object|encoding' command\r\n");
    front_stage_fini(&stage);
}

Test(resp_server, memory_is_that_of_one_replica)
{
    struct info_reply reply = {
        .message = "", .has_filter = true, .filter = front_stage_filter("foo")};

    front_stage_start(&stage, 2);
    front_stage_say(&stage, 0, "MEMORY USAGE foo SAMPLES 0\r\n");
    front_stage_info(&stage, 0, &reply);
    front_stage_expect(&stage, 0, ":65536\r\n");
    front_stage_say(&stage, 0, "MEMORY USAGE foo\r\n");
    reply = (struct info_reply){.status = STATUS_NOT_FOUND, .message = ""};
    front_stage_info(&stage, 1, &reply);
    front_stage_expect(&stage, 0, "$-1\r\n");
    expect("MEMORY USAGE bad/name\r\n", "$-1\r\n");
    expect("MEMORY USAGE foo SAMPLES x\r\n", "-" INTEGER_MESSAGE "\r\n");
    expect("MEMORY USAGE foo SAMPLES\r\n", "-ERR syntax error\r\n");
    expect("MEMORY DOCTOR\r\n", "-ERR unknown subcommand 'DOCTOR'. Try MEMORY HELP.\r\n");
    front_stage_fini(&stage);
}

/* ---- WAIT ---- */

static void reply(size_t at, uint32_t copies, enum status status, const char *letters)
{
    stage.copies = copies;
    front_stage_reply(&stage, at, status, letters);
    front_stage_turn(&stage);
}

Test(resp_wait, it_waits_for_the_connections_adds_and_tells_the_least)
{
    front_stage_start(&stage, 2);
    expect("WAIT 1 0\r\n", ":0\r\n");
    front_stage_say(&stage, 0, "BF.ADD f a\r\nBF.ADD g a\r\nWAIT 5 0\r\n");
    reply(1, 4, STATUS_OK, "a");
    reply(0, 3, STATUS_OK, "p");
    front_stage_expect(&stage, 0, ":0\r\n:1\r\n:2\r\n");
    expect("WAIT 1 0\r\n", ":2\r\n");
    front_stage_say(&stage, 0, "BF.ADD g b\r\nWAIT 1 0\r\n");
    reply(2, 4, STATUS_OK, "a");
    front_stage_expect(&stage, 0, ":1\r\n:3\r\n");
    front_stage_say(&stage, 0, "BF.EXISTS g b\r\nWAIT 1 0\r\n");
    reply(3, 4, STATUS_OK, "u");
    front_stage_expect(&stage, 0, "-OK \r\n:3\r\n");
    front_stage_fini(&stage);
}

/* ... of others' it says nothing, even of such in the same request. */
Test(resp_wait, what_was_not_acknowledged_is_nowhere)
{
    front_stage_start(&stage, 2);
    front_stage_type(&stage, 1, "BF.ADD f x\r\n");
    front_stage_say(&stage, 0, "BF.MADD f a b\r\n");
    reply(0, 2, STATUS_UNAVAILABLE, "aau");
    front_stage_expect(&stage, 1, ":1\r\n");
    front_stage_expect(&stage, 0, "*2\r\n:1\r\n-UNAVAILABLE said so\r\n");
    front_stage_say(&stage, 1, "WAIT 1 0\r\n");
    front_stage_expect(&stage, 1, ":1\r\n");
    front_stage_say(&stage, 0, "BF.ADD f b\r\n");
    reply(1, 2, STATUS_OK, "a");
    expect("WAIT 1 0\r\n", ":1\r\n:0\r\n");
    front_stage_say(&stage, 0, "BF.ADD f b\r\n");
    reply(2, 2, STATUS_OK, "p");
    expect("WAIT 1 0\r\n", ":0\r\n:1\r\n");
    front_stage_say(&stage, 0, "BF.ADD f c\r\n");
    front_stage_pass(&stage, 8000000);
    expect("WAIT 1 0\r\n", "-DEADLINE the router did not answer\r\n:0\r\n");
    expect("WAIT 1 x\r\nWAIT 99999999999999999999 1\r\nWAIT 1 -1\r\n",
           "-ERR timeout is not an integer or out of range\r\n-" INTEGER_MESSAGE
           "\r\n-ERR timeout is negative\r\n");
    front_stage_fini(&stage);
}
