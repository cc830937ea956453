/* cmd_bench_cpu.h - CPU time of the processes of a playground, from /proc.
 *
 * Units:   nanoseconds, in steps of the kernel's clock tick (10 ms).
 * Threads: none.
 */
#ifndef ORBLOOM_CLIENT_CMD_BENCH_CPU_H
#define ORBLOOM_CLIENT_CMD_BENCH_CPU_H

#include <stddef.h>
#include <stdint.h>

enum { CPU_MAX_PROCESSES = 80, CPU_NAME_BYTES = 32 };

struct cpu_process {
    char name[CPU_NAME_BYTES]; /* its folder: "node-1" */
    long pid;
    uint64_t used_ns; /* since cpu_begin() */
    uint64_t start_ns;
};

struct cpu_watch {
    struct cpu_process processes[CPU_MAX_PROCESSES];
    size_t count;
};

/* Find DIR/X/pid, by name, and this process ("client"). `dir` NULL: this process alone. */
void cpu_open(struct cpu_watch *self, const char *dir);

/* Remember what each has used; later cpu_end() tells what came on top. */
void cpu_begin(struct cpu_watch *self);
void cpu_end(struct cpu_watch *self);

#endif
