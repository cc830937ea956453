/* CPU time by the process's own clock where the kernel gives that, else from /proc, as memory
 * and name are. */
#include "cli/bench/process_usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024, FIELDS_TO_UTIME = 12 };

static const uint64_t ns_per_s = 1000000000;

/* The first line of /proc/PID/FILE. */
static bool read_line(long pid, const char *file, char text[TEXT_BYTES])
{
    char path[64];
    bool got;
    FILE *in;

    (void)snprintf(path, sizeof path, "/proc/%ld/%s", pid, file);
    in = fopen(path, "re");
    if (in == NULL) {
        return false;
    }
    got = fgets(text, TEXT_BYTES, in) != NULL;
    (void)fclose(in);
    return got;
}

/* Fields 14 and 15 of /proc/PID/stat; the name before them may hold blanks and brackets. */
static bool read_ticks_ns(long pid, uint64_t *used_ns)
{
    char text[TEXT_BYTES];
    const char *at = read_line(pid, "stat", text) ? strrchr(text, ')') : NULL;
    char *next;
    uint64_t ticks;

    for (int i = 0; at != NULL && i < FIELDS_TO_UTIME; i++) {
        at = strchr(at + 1, ' ');
    }
    if (at == NULL) {
        return false;
    }
    ticks = strtoull(at, &next, 10);
    ticks += strtoull(next, NULL, 10);
    *used_ns = ticks * (ns_per_s / (uint64_t)sysconf(_SC_CLK_TCK));
    return true;
}

bool process_cpu_ns(long pid, uint64_t *used_ns)
{
    struct timespec used;
    clockid_t clock;

    if (pid <= 0) {
        return false;
    }
    if (clock_getcpuclockid((pid_t)pid, &clock) != 0 || clock_gettime(clock, &used) != 0) {
        return read_ticks_ns(pid, used_ns);
    }
    *used_ns = (uint64_t)used.tv_sec * ns_per_s + (uint64_t)used.tv_nsec;
    return true;
}

bool process_resident_bytes(long pid, uint64_t *bytes)
{
    char text[TEXT_BYTES];
    unsigned long long pages;

    if (pid <= 0 || !read_line(pid, "statm", text) || sscanf(text, "%*u %llu", &pages) != 1) {
        return false;
    }
    *bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

bool process_name(long pid, char *name, size_t size)
{
    char text[TEXT_BYTES];

    if (pid <= 0 || !read_line(pid, "comm", text)) {
        return false;
    }
    text[strcspn(text, "\n")] = '\0';
    (void)snprintf(name, size, "%s", text);
    return true;
}
