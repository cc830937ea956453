/* Users of Redis clients, with real programs: what they may, how that ends, and who tells. */
#include "tests/support/certificates.h"
#include "tests/support/redis_shell.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_S = 180, MOST_TEXT = 4096 };

static struct playground playground;
static char path[REDIS_SOCKET_BYTES];

/* $D is the folder. `make NAME FLAGS...` makes a user; `as NAME COMMAND...` is redis-cli as that
 * user; `try COMMAND...` repeats it until it succeeds, for so long; `await NAME` waits until the
 * router knows that user, `gone NAME` until it knows it no more. */
static void expect(const char *script, const char *output)
{
    static const char begin[] =
        "make() { n=$1; shift; (umask 077; echo \"$n-token-0123456789\" >$D/$n.token); "
        "orbloom user create $n --token-file $D/$n.token \"$@\" >/dev/null 2>&1; }; "
        "as() { n=$1; shift; "
        "redis-cli $S --no-auth-warning --user $n --pass \"$n-token-0123456789\" \"$@\"; }; "
        "try() { for i in $(seq 200); do \"$@\" && return; sleep 0.1; done; echo in vain: \"$@\"; "
        "}; "
        "is_in() { as $1 ACL WHOAMI 2>&1 | grep -qx $1; }; is_out() { ! is_in $1; }; "
        "await() { try is_in $1; }; gone() { try is_out $1; }";
    char text[MOST_TEXT];
    int size = snprintf(text, sizeof text, "PATH=%s:$PATH; D=%s; %s; %s", command_bin_dir(),
                        playground.dir, begin, script);

    cr_assert_lt(size, (int)sizeof text);
    redis_shell(path, text, output);
}

/* An admin, a crawler that may make no filters, and one that may. */
static void start(void)
{
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
    expect("redis-cli $S BF.RESERVE other 0.01 1000; redis-cli $S BF.RESERVE crawl:a 0.01 1000; "
           "make boss --role admin; make watch --role monitor; "
           "make crawler --rights 'rw crawl:*' --rights 'r shared:*'; "
           "make maker --rights 'rwcd made:*' --create; "
           "await boss; await watch; await crawler; await maker",
           "OK\nOK\n");
}

Test(resp_users, restricted_ones_can_and_cannot, .timeout = LIMIT_S)
{
    start();
    expect("redis-cli $S PING; redis-cli $S BF.ADD crawl:a x; as crawler ACL WHOAMI; "
           "as crawler BF.ADD crawl:a x; as crawler BF.EXISTS crawl:a x; "
           "as crawler BF.ADD other x; as crawler BF.EXISTS other x; as crawler DEL crawl:a; "
           "as crawler BF.ADD crawl:new x; as crawler CLIENT LIST; as crawler SLOWLOG GET",
           "NOAUTH Authentication required.\n\nNOAUTH Authentication required.\n\ncrawler\n1\n1\n"
           "NOPERM No permissions to access a key\n\nNOPERM No permissions to access a key\n\n"
           "NOPERM User crawler has no permissions to run the 'del' command\n\n"
           "NOPERM the filter is missing, and the user has no right (c) to make it\n\n"
           "NOPERM User crawler has no permissions to run the 'client|list' command\n"
           "NOPERM User crawler has no permissions to run the 'slowlog' command\n\n");
    expect("as maker BF.ADD made:1 x; as maker BF.RESERVE made:2 0.01 1000; "
           "as maker RENAME made:2 made:3; as maker RENAME made:3 other; as maker DEL made:3; "
           "as maker EXPIRE made:1 1000; as maker BF.ADD crawl:a x",
           "1\nOK\nOK\nNOPERM No permissions to access a key\n\n1\n1\n"
           "NOPERM No permissions to access a key\n\n");
    expect("as crawler --scan; as crawler DBSIZE; as maker KEYS '*'; as boss KEYS '*' | sort; "
           "as watch DBSIZE; as watch BF.EXISTS crawl:a x; "
           "as crawler BF.STATUS | grep -c '^other$'; as boss BF.STATUS | grep -c '^other$'",
           "crawl:a\n1\nmade:1\ncrawl:a\nmade:1\nother\n3\n"
           "NOPERM User watch has no permissions to run the 'bf.exists' command\n\n0\n1\n");
    expect("as boss ACL USERS; as boss ACL SETUSER x on | grep -c 'orbloom user'; "
           "as boss INFO | grep -E '^resp_forbidden_total:9'",
           "boss\ncrawler\nmaker\nwatch\n1\nresp_forbidden_total:9\r\n");
    playground_stop(&playground);
}

/* Also of those who are in. */
Test(resp_users, what_is_revoked_ends, .timeout = LIMIT_S)
{
    int first;
    int second;

    start();
    expect("(umask 077; echo another-token-0123456789 >$D/another); "
           "orbloom user token crawler add --token-file $D/another >/dev/null 2>&1; "
           "other() { redis-cli $S --no-auth-warning --user crawler --pass "
           "another-token-0123456789 PING 2>&1 | grep -q PONG; }; try other",
           "");
    first = resp_peer_dial(path, 0);
    second = resp_peer_dial(path, 0);
    resp_peer_expect(first, "AUTH crawler crawler-token-0123456789\r\nBF.EXISTS crawl:a x\r\n",
                     "+OK\r\n:0\r\n");
    resp_peer_expect(second, "AUTH crawler another-token-0123456789\r\nPING\r\n",
                     "+OK\r\n+PONG\r\n");
    expect("orbloom user token crawler remove 1 >/dev/null 2>&1; gone crawler", "");
    resp_peer_expect(first, "BF.EXISTS crawl:a x\r\n", "-NOAUTH Authentication required.\r\n");
    resp_peer_expect(second, "BF.EXISTS crawl:a x\r\n", ":0\r\n");
    expect("orbloom user delete crawler >/dev/null 2>&1; "
           "none() { redis-cli $S --no-auth-warning --user crawler --pass "
           "another-token-0123456789 PING 2>&1 | grep -q NOAUTH; }; try none",
           "");
    resp_peer_expect(second, "BF.EXISTS crawl:a x\r\n", "-NOAUTH Authentication required.\r\n");
    resp_peer_expect(second, "AUTH crawler another-token-0123456789\r\n",
                     "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
    (void)close(first);
    (void)close(second);
    playground_stop(&playground);
}

/* The router goes on with what it knows, and one that knows nothing lets nobody at filters. */
Test(resp_users, without_a_coordinator, .timeout = LIMIT_S)
{
    start();
    playground_kill(&playground, "coordinator");
    expect(
        "as crawler BF.ADD crawl:a y; as crawler BF.EXISTS crawl:a y; as crawler BF.ADD other y; "
        "redis-cli $S PING; redis-cli $S --no-auth-warning --user crawler --pass wrong PING",
        "1\n1\nNOPERM No permissions to access a key\n\nNOAUTH Authentication required.\n\n"
        "AUTH failed: WRONGPASS invalid username-password pair or user is disabled.\n"
        "NOAUTH Authentication required.\n\n");
    redis_restart_router(&playground, "resp_timeout = \"500ms\";\n");
    expect("redis-cli $S BF.EXISTS crawl:a y | cut -c 1-60; as crawler BF.EXISTS crawl:a y 2>&1 | "
           "head -1 | cut -c 1-42",
           "UNAVAILABLE this router has just started and has not heard w\n\n"
           "AUTH failed: UNAVAILABLE this router has j\n");
    playground_restart(&playground, "coordinator");
    expect("await crawler; as crawler BF.EXISTS crawl:a y; redis-cli $S PING",
           "1\nNOAUTH Authentication required.\n\n");
    playground_stop(&playground);
}

static void crowd(void)
{
    int fd = resp_peer_dial(path, 0);

    resp_peer_expect(fd, "AUTH crawler crawler-token-0123456789\r\n", "+OK\r\n");
    expect("as crawler PING", "AUTH failed: ERR max number of clients of user 'crawler' reached\n"
                              "NOAUTH Authentication required.\n\n");
    (void)close(fd);
    expect("await crawler", "");
}

Test(resp_users, an_audit_log_and_no_way_in_but_as_a_user, .timeout = LIMIT_S)
{
    char options[256];

    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
    (void)snprintf(options, sizeof options,
                   "resp_users = \"required\";\naudit_log = \"%s/audit\";\n", playground.dir);
    redis_restart_router(&playground, options);
    expect("redis-cli $S PING; make crawler --rights 'r crawl:*' --connections 1; await crawler; "
           "as crawler BF.EXISTS other x; "
           "redis-cli $S --no-auth-warning --user crawler --pass wrong PING >/dev/null 2>&1; "
           "stat -c %a $D/audit; "
           "noted() { grep -q NOPERM $D/audit; }; try noted; "
           "grep -v '\"user\":\"crawler\",\"client\".*WRONGPASS' $D/audit | "
           "sed 's/\"time\":\"[^\"]*\",//; s/\"client\":\"[^\"]*\",//'; "
           "grep -c '\"action\":\"auth\",\"user\":\"crawler\".*WRONGPASS' $D/audit | "
           "sed 's/^[1-9][0-9]*$/some/'",
           "NOAUTH Authentication required.\n\nNOPERM No permissions to access a key\n\n600\n"
           "{\"router\":\"router\",\"action\":\"command\",\"user\":\"crawler\",\"command\":"
           "\"bf.exists\",\"filter\":\"other\",\"outcome\":\"NOPERM\"}\nsome\n");
    crowd();
    playground_stop(&playground);
}

Test(resp_users, a_certificate_names_one, .timeout = LIMIT_S)
{
    unsigned port = redis_free_port();
    char options[MOST_TEXT / 4];
    char script[MOST_TEXT / 4];

    start();
    certificates_make(playground.dir);
    (void)snprintf(options, sizeof options,
                   "resp_tls_listen = \"tcp://127.0.0.1:%u\";\ntls_cert_file = \"%s/server.pem\";\n"
                   "tls_key_file = \"%s/server.key\";\ntls_ca_file = \"%s/ca.pem\";\n"
                   "tls_clients = \"optional\";\n",
                   port, playground.dir, playground.dir, playground.dir);
    redis_restart_router(&playground, options);
    (void)snprintf(
        script, sizeof script,
        "T=\"-p %u --tls --cacert $D/ca.pem\"; "
        "C=\"--cert $D/client.pem --key $D/client.key\"; await crawler; "
        "redis-cli $T $C PING; redis-cli $T PING; "
        "orbloom user create tls --no-token --tls-subject CN=client --rights 'r crawl:*' "
        ">/dev/null 2>&1; known() { redis-cli $T $C PING | grep -q PONG; }; try known; "
        "redis-cli $T $C ACL WHOAMI; redis-cli $T $C BF.EXISTS crawl:a x; "
        "redis-cli $T $C BF.ADD crawl:a x; redis-cli $T PING",
        port);
    expect(script, "NOAUTH Authentication required.\n\nNOAUTH Authentication required.\n\ntls\n0\n"
                   "NOPERM User tls has no permissions to run the 'bf.add' command\n\n"
                   "NOAUTH Authentication required.\n\n");
    playground_stop(&playground);
}
