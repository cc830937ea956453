/* What processes have used, as the kernel accounts for it. */
#include "cli/bench/process_usage.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_NS = 10000000, SHORT_NS = 1000000, TRIES = 1000, PAUSE_US = 2000 };

/* Works until its own clock has moved by a tenth of a tick, says so, and waits to be stopped. */
static void work_and_wait(int ready)
{
    uint64_t used = 0;

    do {
        if (!process_cpu_ns((long)getpid(), &used)) {
            _exit(1);
        }
    } while (used < SHORT_NS);
    (void)!write(ready, "x", 1);
    for (;;) {
        (void)pause();
    }
}

/* What another process has used. The kernel may enter it late, so zero is asked again. */
static uint64_t used_by(pid_t pid)
{
    uint64_t used = 0;

    for (int i = 0; i < TRIES && used == 0; i++) {
        cr_assert(process_cpu_ns((long)pid, &used));
        (void)usleep(used == 0 ? PAUSE_US : 0);
    }
    return used;
}

Test(process_usage, our_own_cpu_time_grows)
{
    uint64_t before = 0;
    uint64_t now = 0;

    cr_assert(process_cpu_ns((long)getpid(), &before));
    cr_assert_gt(before, 0);
    do {
        cr_assert(process_cpu_ns((long)getpid(), &now));
        cr_assert_geq(now, before);
    } while (now < before + TICK_NS);
}

/* A process that has just begun used less than a clock tick, and that is seen. */
Test(process_usage, another_process_is_measured_finer_than_by_ticks)
{
    uint64_t used = 0;
    uint64_t bytes = 0;
    char name[32];
    char byte;
    int ready[2];
    pid_t pid;

    cr_assert_eq(pipe(ready), 0);
    pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        work_and_wait(ready[1]);
    }
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    used = used_by(pid);
    cr_assert_gt(used, 0);
    cr_assert_neq(used % TICK_NS, 0, "whole ticks: %lu ns", (unsigned long)used);
    cr_assert(process_resident_bytes((long)pid, &bytes));
    cr_assert_geq(bytes, 4096);
    cr_assert(process_name((long)pid, name, sizeof name));
    cr_assert_str_eq(name, "client_process_", "cut to 15 bytes");
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_assert_not(process_cpu_ns((long)pid, &used), "it is gone");
    cr_assert_not(process_resident_bytes((long)pid, &bytes));
    cr_assert_not(process_name((long)pid, name, sizeof name));
}

Test(process_usage, no_process_is_no_process)
{
    uint64_t value = 77;
    char name[32];

    cr_assert_not(process_cpu_ns(0, &value), "0 would be ourselves");
    cr_assert_not(process_cpu_ns(-1, &value));
    cr_assert_not(process_resident_bytes(0, &value));
    cr_assert_not(process_name(0, name, sizeof name));
    cr_assert_eq(value, 77, "untouched");
}
