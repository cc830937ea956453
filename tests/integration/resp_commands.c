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
    (void)snprintf(text, sizeof text, "resp_listen = \"tcp://*:%u\";\n", port);
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
