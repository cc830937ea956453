/* What Redis clients ask of a server besides filters, of a real cluster: redis-cli as it is. */
#include "tests/support/redis_shell.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { LIMIT_S = 120 };

static struct playground playground;
static char path[REDIS_SOCKET_BYTES];

static void start(void)
{
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
}

Test(resp_commands, a_client_of_a_redis_cluster_finds_one_node, .timeout = LIMIT_S)
{
    unsigned port = redis_free_port();
    char text[512];

    start();
    (void)snprintf(text, sizeof text, "resp_listen = \"tcp://*:%u\";\nresp_open = \"on\";\n", port);
    redis_restart_router(&playground, text);
    (void)snprintf(text, sizeof text,
                   "P='-h 127.0.0.1 -p %u'; redis-cli $P CLUSTER SLOTS | head -4;"
                   "redis-cli $P CLUSTER NODES | cut -d' ' -f2-; redis-cli -c $P BF.ADD k a",
                   port);
    (void)snprintf(text + 256, sizeof text - 256,
                   "0\n16383\n127.0.0.1\n%u\n127.0.0.1:%u@0 myself,master - 0 0 1 connected "
                   "0-16383\n1\n",
                   port, port);
    redis_shell(path, text, text + 256);
    playground_stop(&playground);
}

Test(resp_commands, the_time_and_what_a_filter_takes, .timeout = LIMIT_S)
{
    start();
    redis_shell(path,
                "n=$(redis-cli $S TIME | head -1); test $n -ge $(($(date +%s) - 60)) &&"
                "test $n -le $(date +%s) && echo now; redis-cli $S BF.RESERVE f 0.01 1000;"
                "test $(redis-cli $S MEMORY USAGE f) = $(redis-cli $S BF.INFO f SIZE) && echo same;"
                "redis-cli $S OBJECT ENCODING f; redis-cli $S MEMORY USAGE none;"
                "redis-cli $S CLUSTER COUNTKEYSINSLOT $(redis-cli $S CLUSTER KEYSLOT f)",
                "now\nOK\nsame\nraw\n\n1\n");
    playground_stop(&playground);
}

/* ... by redis-cli, which shows what it takes for an answer and what for a message. */
Test(resp_commands, slow_commands_subscriptions_and_the_one_user, .timeout = LIMIT_S)
{
    start();
    redis_restart_router(&playground, "slowlog_slower_than = \"0us\";\n");
    redis_shell(path,
                "redis-cli $S BF.ADD f secret; redis-cli $S --csv SLOWLOG GET 1 | cut -d, -f1,4-6;"
                "redis-cli $S -3 SLOWLOG GET -1 | grep -c secret; redis-cli $S SLOWLOG RESET",
                "1\n0,\"bf.add\",\"f\",\"(6 bytes hidden)\"\n0\nOK\n");
    redis_shell(path,
                "redis-cli $S GET none; redis-cli $S GET f; timeout 1 redis-cli $S SUBSCRIBE c;"
                "redis-cli $S ACL USERS; redis-cli $S CLIENT KILL ID 999999;"
                "(sleep 3 | redis-cli $S) >/dev/null 2>&1 & sleep 0.5; redis-cli $S CLIENT KILL "
                "TYPE normal",
                "\nWRONGTYPE Operation against a key holding the wrong kind of value\n\n"
                "subscribe\nc\n1\ndefault\n0\n1\n");
    playground_stop(&playground);
}

/* A rebuild needs logs on disk. */
Test(resp_commands, a_filter_grows_and_is_rebuilt_from_a_list, .timeout = LIMIT_S)
{
    playground_start(&playground, &(struct playground_plan){.in_memory = false});
    redis_socket(&playground, path);
    redis_shell(path,
                "redis-cli $S BF.RESERVE f 0.01 1000; redis-cli $S BF.MADD f old kept | wc -l;"
                "redis-cli $S BF.REBUILD f BEGIN; redis-cli $S BF.REBUILD f COMMIT | cut -c1-50 |"
                "head -1; redis-cli $S BF.REBUILD f FEED kept new; redis-cli $S BF.EXISTS f new;"
                "redis-cli $S BF.REBUILD f COMMIT; redis-cli $S BF.MEXISTS f old kept new",
                "OK\n2\n2\nERR INVALID filter f: no list has been fed: all ke\n1\n1\n0\nOK\n"
                "0\n1\n1\n");
    redis_shell(path,
                "redis-cli $S BF.EXPAND f CAPACITY 100000; for i in $(seq 600); do redis-cli $S "
                "BF.STATUS f | grep -A1 '^shards_growing' | grep -qx 0 && break; sleep 0.1; done;"
                "redis-cli $S BF.INFO f CAPACITY; redis-cli $S BF.MEXISTS f kept new;"
                "redis-cli $S BF.DEBUG f | grep -c capacity:100000; redis-cli $S BF.STATUS |"
                "grep -c '^node-'",
                "OK\n100000\n1\n1\n1\n3\n");
    playground_stop(&playground);
}

/* Filters that RESP clients make have N 3, W 2. */
Test(resp_commands, wait_tells_of_a_write_quorum, .timeout = LIMIT_S)
{
    start();
    redis_shell(path,
                "(echo WAIT 1 0; echo BF.ADD f a; echo WAIT 2 100; echo WAIT 1 0;"
                "echo WAIT 1 -1; echo WAIT x 1; echo WAIT 1 x) | redis-cli $S",
                "0\n1\n1\n1\nERR timeout is negative\n\nERR value is not an integer or out of "
                "range\n\nERR timeout is not an integer or out of range\n\n");
    playground_stop(&playground);
}

Test(resp_commands, all_filters_go_if_that_is_allowed, .timeout = LIMIT_S)
{
    start();
    redis_shell(path,
                "for i in $(seq 150); do echo BF.RESERVE f$i 0.01 1000; done | redis-cli $S | uniq;"
                "redis-cli $S FLUSHALL | cut -c1-14; redis-cli $S DBSIZE",
                "OK\nERR this would\n\n150\n");
    redis_restart_router(&playground, "resp_flush = \"on\";\nresp_timeout = \"60s\";\n");
    redis_shell(path,
                "redis-cli $S FLUSHDB NOW; redis-cli $S FLUSHALL ASYNC; redis-cli $S DBSIZE;"
                "redis-cli $S FLUSHALL; redis-cli $S BF.RESERVE f1 0.01 1000",
                "ERR syntax error\n\nOK\n0\nOK\nOK\n");
    playground_stop(&playground);
}
