/* What a real router holds of requests that are begun and never finished, crowd after crowd; and
 * who is no part of them is served meanwhile. */
#include "bench/crowd.h"
#include "bench/onlooker.h"
#include "tests/support/redis_shell.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    LIMIT_S = 480,
    CROWD_S = 150, /* at most; it ends by itself once all is sent */
    MIB = 1 << 20,
    BUDGET_MIB = 256, /* resp_memory, by default */
    CLIENTS = 900,
};

/* A sanitizer keeps what was freed: there memory is not looked at. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { ROUNDS = 3, LOOKS = true };
#else
enum { ROUNDS = 1, LOOKS = false };
#endif

static struct playground playground;
static char path[REDIS_SOCKET_BYTES];

static pid_t router_pid(void)
{
    for (size_t i = 0; i < playground.ndaemons; i++) {
        if (strcmp(playground.daemons[i].name, "router") == 0) {
            return playground.daemons[i].pid;
        }
    }
    cr_assert_fail("no router");
    return -1;
}

/* What the allocator keeps for the next one, and what a process is by itself, come on top. */
static void expect_memory(uint64_t bytes, uint64_t most_mib)
{
    cr_assert(!LOOKS || bytes / MIB <= most_mib, "%lu bytes", bytes);
}

static void send_crowd(const struct crowd_plan *plan)
{
    static struct onlooker onlooker;
    struct crowd_result result;
    char reason[CROWD_REASON_BYTES];

    cr_assert(onlooker_start(&onlooker, path, router_pid()), "%s", onlooker.reason);
    cr_assert(crowd_run(plan, &result, reason), "%s", reason);
    cr_assert(onlooker_stop(&onlooker), "%s", onlooker.reason);
    cr_assert_gt(onlooker.pings, 0);
    cr_assert_gt(result.told, 0, "more came than there is room for");
    cr_assert_eq(result.mute, 0, "%lu were closed without a word", result.mute);
    cr_assert_eq(result.told + result.waiting, CLIENTS);
    expect_memory(onlooker.peak_bytes, BUDGET_MIB + BUDGET_MIB / 4);
}

/* Nobody has anything under way. */
static void await_memory_back(int good)
{
    static struct onlooker onlooker;
    unsigned tries = 0;

    do {
        cr_assert_lt(tries++, PLAYGROUND_WAIT_MS / 100, "%lu bytes are kept", onlooker.last_bytes);
        (void)usleep(100000);
        cr_assert(onlooker_start(&onlooker, path, router_pid()), "%s", onlooker.reason);
        cr_assert(onlooker_stop(&onlooker), "%s", onlooker.reason);
    } while (LOOKS && onlooker.last_bytes / MIB > BUDGET_MIB / 8);
    resp_peer_expect(good, "BF.EXISTS kept item\r\n", ":1\r\n");
}

/* Few large arguments, then many small ones: pieces of memory that neither has any use for of the
 * other's. */
Test(resp_memory, crowd_after_crowd_takes_no_more_than_the_budget, .timeout = LIMIT_S)
{
    struct crowd_plan plan = {
        .path = path, .clients = CLIENTS, .for_us = UINT64_C(1000000) * CROWD_S, .rest_us = 100000};
    const struct rlimit descriptors = {2 * CLIENTS, 2 * CLIENTS};
    int good;

    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
    good = resp_peer_dial(path, 0);
    resp_peer_expect(good, "BF.ADD kept item\r\n", ":1\r\n");
    for (unsigned round = 0; round < ROUNDS; round++) {
        plan.request_bytes = 31 * MIB;
        plan.argument_bytes = MIB;
        send_crowd(&plan);
        plan.request_bytes = 1400000;
        plan.argument_bytes = 16;
        send_crowd(&plan);
    }
    await_memory_back(good);
    (void)close(good);
    playground_stop(&playground);
}
