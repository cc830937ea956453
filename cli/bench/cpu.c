/* Which processes are watched: given by pid, or by the pid files of a playground's folder. */
#include "cli/bench/cpu.h"

#include "cli/bench/process_usage.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cpu_watch_process(struct cpu_watch *self, const char *name, long pid)
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
static void watch_pid_file(struct cpu_watch *self, char *path)
{
    long pid = read_pid(path);

    *strrchr(path, '/') = '\0';
    cpu_watch_process(self, strrchr(path, '/') + 1, pid);
}

void cpu_watch_folder(struct cpu_watch *self, const char *dir)
{
    char pattern[PATH_MAX];
    glob_t found = {0};

    (void)snprintf(pattern, sizeof pattern, "%s/*/pid", dir);
    if (glob(pattern, 0, NULL, &found) == 0) {
        for (size_t i = 0; i < found.gl_pathc; i++) {
            watch_pid_file(self, found.gl_pathv[i]);
        }
    }
    globfree(&found);
}

void cpu_begin(struct cpu_watch *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct cpu_process *process = &self->processes[i];

        if (!process_cpu_ns(process->pid, &process->start_ns)) {
            process->start_ns = 0;
        }
    }
}

void cpu_end(struct cpu_watch *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct cpu_process *process = &self->processes[i];
        uint64_t now_ns;

        process->used_ns = 0;
        process->resident_bytes = 0;
        if (process_cpu_ns(process->pid, &now_ns) && now_ns > process->start_ns) {
            process->used_ns = now_ns - process->start_ns;
        }
        if (!process_resident_bytes(process->pid, &process->resident_bytes)) {
            process->resident_bytes = 0;
        }
    }
}
