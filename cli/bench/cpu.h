/* cpu.h - CPU time and memory of the processes that a load keeps busy.
 *
 * Units:   nanoseconds and bytes.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_CPU_H
#define ORBLOOM_CLI_BENCH_CPU_H

#include <stddef.h>
#include <stdint.h>

enum { CPU_MAX_PROCESSES = 80, CPU_NAME_BYTES = 32 };

struct cpu_process {
    char name[CPU_NAME_BYTES]; /* its folder: "node-1" */
    long pid;
    uint64_t used_ns; /* from cpu_begin() to cpu_end() */
    uint64_t start_ns;
    uint64_t resident_bytes; /* at cpu_end(); 0: it is gone */
};

struct cpu_watch {
    struct cpu_process processes[CPU_MAX_PROCESSES];
    size_t count;
};

/* Watch a process; a pid of 0 and one too many are left out. */
void cpu_watch_process(struct cpu_watch *self, const char *name, long pid);

/* Watch those of a playground: DIR/X/pid, by name. */
void cpu_watch_folder(struct cpu_watch *self, const char *dir);

/* Remember what each has used; later cpu_end() tells what came on top. */
void cpu_begin(struct cpu_watch *self);
void cpu_end(struct cpu_watch *self);

#endif
