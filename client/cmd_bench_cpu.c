#include "client/cmd_bench_cpu.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STAT_BYTES = 1024, FIELDS_TO_UTIME = 12, NS_PER_S = 1000000000 };

static void add_process(struct cpu_watch *self, const char *name, long pid)
{
    struct cpu_process *process = &self->processes[self->count];

    if (self->count == CPU_MAX_PROCESSES || pid <= 0) {
        return;
    }
    *process = (struct cpu_process){.pid = pid};
    (void)snprintf(process->name, sizeof process->name, "%s", name);
    self->count++;
}

static long read_pid(const char *path)
{
    FILE *file = fopen(path, "re");
    long pid = 0;

    if (file != NULL) {
        char text[CPU_NAME_BYTES];

        pid = fgets(text, sizeof text, file) != NULL ? atol(text) : 0;
        (void)fclose(file);
    }
    return pid;
}

/* ".../node-1/pid" */
static void add_folder(struct cpu_watch *self, char *path)
{
    long pid = read_pid(path);

    *strrchr(path, '/') = '\0';
    add_process(self, strrchr(path, '/') + 1, pid);
}

void cpu_open(struct cpu_watch *self, const char *dir)
{
    char pattern[PATH_MAX];
    glob_t found = {0};

    *self = (struct cpu_watch){0};
    if (dir != NULL) {
        (void)snprintf(pattern, sizeof pattern, "%s/*/pid", dir);
        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t i = 0; i < found.gl_pathc; i++) {
                add_folder(self, found.gl_pathv[i]);
            }
        }
        globfree(&found);
    }
    add_process(self, "client", (long)getpid());
}

/* Fields 14 and 15 of /proc/PID/stat; the name before them may hold blanks and brackets. */
static uint64_t read_used_ns(long pid)
{
    char path[64];
    char text[STAT_BYTES] = "";
    const char *at;
    uint64_t ticks;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    at = fgets(text, sizeof text, file) != NULL ? strrchr(text, ')') : NULL;
    (void)fclose(file);
    for (int i = 0; at != NULL && i < FIELDS_TO_UTIME; i++) {
        at = strchr(at + 1, ' ');
    }
    if (at == NULL) {
        return 0;
    }
    ticks = strtoull(at, (char **)&at, 10);
    ticks += strtoull(at, NULL, 10);
    return ticks * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

void cpu_begin(struct cpu_watch *self)
{
    for (size_t i = 0; i < self->count; i++) {
        self->processes[i].start_ns = read_used_ns(self->processes[i].pid);
    }
}

void cpu_end(struct cpu_watch *self)
{
    for (size_t i = 0; i < self->count; i++) {
        uint64_t now_ns = read_used_ns(self->processes[i].pid);
        uint64_t start_ns = self->processes[i].start_ns;

        self->processes[i].used_ns = now_ns > start_ns ? now_ns - start_ns : 0;
    }
}
