/* Limits of users on real routers: a flood is held to its share and told when to come again, others
 * are not, and a newer limit holds without a restart. */
#include "tests/support/redis_shell.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { LIMIT_S = 180, MOST_TEXT = 2048 };

/* Tokens of users' own choice, as they are needed on command lines. */
#define FLOOD "flood-flood-flood-flood"
#define CALM  "calm-calm-calm-calm-calm"

static struct playground playground;
static char path[REDIS_SOCKET_BYTES];

/* $O is orbloom, $D the playground's folder, $F and $C name the user. */
static void expect(const char *script, const char *output)
{
    char text[MOST_TEXT * 2];

    (void)snprintf(text, sizeof text,
                   "O=%s/orbloom; D=%s; F='--no-auth-warning --user flood --pass " FLOOD "'; "
                   "C='--no-auth-warning --user calm --pass " CALM "'; %s",
                   command_bin_dir(), playground.dir, script);
    redis_shell(path, text, output);
}

/* `limits` of the flood; the other one has none. */
static void apply(const char *limits)
{
    char script[MOST_TEXT];

    (void)snprintf(script, sizeof script,
                   "echo 'users = ({ name = \"calm\"; rights = (\"rwc *\"); create = \"on\"; }, "
                   "{ name = \"flood\"; rights = (\"rwc *\"); create = \"on\"; %s });' >$D/users; "
                   "$O user apply $D/users >/dev/null; echo $?",
                   limits);
    expect(script, "0\n");
}

/* Until a command's output has this in it. */
#define UNTIL(command, text)                                                   \
    "for i in $(seq 300); do " command " 2>&1 | grep -q '" text "' && break; " \
    "sleep 0.1; done; echo $((i < 300))"

static void start(const char *limits)
{
    playground_start(&playground, &(struct playground_plan){.routers = 2, .in_memory = true});
    redis_socket(&playground, path);
    apply(limits);
    expect("umask 077; echo " FLOOD " >$D/flood; echo " CALM " >$D/calm; for who in flood calm; do "
           "$O user token $who add --token-file $D/$who >/dev/null 2>&1; done; " UNTIL(
               "redis-cli $S $F PING", "PONG") "; " UNTIL("redis-cli $S $C PING",
                                                          "PONG") "; redis-cli $S $C BF.ADD many x",
           "1\n1\n1\n");
}

/* How many of a flood's checks are answered; with what it may be at most in that time: its share
 * for as long as it took, a tenth more, what may be saved up, and one request. */
#define FLOODED(most)                                                                              \
    "t=$(date +%s%N); e=$({ echo AUTH flood " FLOOD "; yes 'BF.EXISTS many x' | head -n 200000; }" \
    "| redis-cli $S --pipe 2>/dev/null | sed -n 's/^errors: \\([0-9]*\\), replies: "               \
    "200001$/\\1/p');"                                                                             \
    "n=$(((($(date +%s%N) - t) / 1000000) * " most " * 11 / 10000 + " most " / 4 + 2000)); "

Test(limits, a_flood_is_held_to_its_share_and_others_are_not, .timeout = LIMIT_S)
{
    start("limits = { keys_per_s = \"2k\"; };");
    expect(
        UNTIL("for k in 1 2 3 4; do yes x | head -n 1000 | xargs redis-cli $S $F BF.MEXISTS many; "
              "done",
              "OVERLOADED user flood asks for more than its keys_per_s (2000, of which 1000 at "
              "this router); retry in [0-9]* ms"),
        "1\n");
    expect(FLOODED("1000") "echo $((e > 100000)) $((200000 - e <= n))", "1 1\n");
    expect("seq 1 20000 | sed 's/.*/BF.ADD many &/' | (echo AUTH calm " CALM "; cat) | "
           "redis-cli $S --pipe | tail -1",
           "errors: 0, replies: 20001\n");
    playground_wait_counter(&playground, "router", "user_rate_total", 1);
    playground_stop(&playground);
}

Test(limits, a_newer_limit_holds_without_a_restart, .timeout = LIMIT_S)
{
    start("limits = { keys_per_s = \"1000k\"; };");
    apply("limits = { keys_per_s = \"10\"; };");
    expect(UNTIL("redis-cli $S $F BF.MEXISTS many a b c d e f g", "OVERLOADED"), "1\n");
    apply("");
    expect(UNTIL("redis-cli $S $F BF.EXISTS many a", "^0$"), "1\n");
    expect("for i in 1 2 3 4 5 6 7 8; do redis-cli $S $F BF.MEXISTS many a b c d e f g; done | "
           "grep -c OVERLOADED",
           "0\n");
    playground_stop(&playground);
}

/* Many in one write, more than a turn; somebody else is served as well. */
Test(limits, transactions_have_turns_too, .timeout = LIMIT_S)
{
    start("");
    expect("{ echo AUTH flood " FLOOD "; for i in $(seq 2000); do printf 'MULTI\\nBF.ADD many '$i'"
           "\\nBF.EXISTS many '$i'\\nEXEC\\n'; done; } | redis-cli $S --pipe | tail -1; "
           "redis-cli $S $C BF.MEXISTS many 1 1000 2000",
           "errors: 0, replies: 8001\n1\n1\n1\n");
    playground_stop(&playground);
}
