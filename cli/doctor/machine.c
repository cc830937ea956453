/* What /proc, /sys and the kernel tell. */
#include "cli/doctor/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PROC_LINE_BYTES = 256, KIB = 1024 };

static bool read_line(const char *path, char line[PROC_LINE_BYTES])
{
    FILE *file = fopen(path, "re");
    bool read = file != NULL && fgets(line, PROC_LINE_BYTES, file) != NULL;

    if (file != NULL) {
        (void)fclose(file);
    }
    return read;
}

const char *machine_choice(const char *line, char choice[MACHINE_TEXT_BYTES])
{
    const char *from = strchr(line, '[');
    const char *to = from != NULL ? strchr(from, ']') : NULL;

    choice[0] = '\0';
    if (to != NULL && to - from <= MACHINE_TEXT_BYTES) {
        (void)snprintf(choice, MACHINE_TEXT_BYTES, "%.*s", (int)(to - from - 1), from + 1);
    }
    return choice;
}

static void look_at_swap(struct machine *out)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[PROC_LINE_BYTES];
    uint64_t total_kib = 0;
    uint64_t free_kib = 0;
    int found = 0;

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        found += sscanf(line, "SwapTotal: %" SCNu64, &total_kib) == 1;
        found += sscanf(line, "SwapFree: %" SCNu64, &free_kib) == 1;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    out->swap_known = found == 2 && free_kib <= total_kib;
    if (out->swap_known) {
        out->swap_bytes = total_kib * KIB;
        out->swap_used_bytes = (total_kib - free_kib) * KIB;
    }
}

void machine_look(struct machine *out)
{
    struct rlimit limit;
    char line[PROC_LINE_BYTES];

    *out = (struct machine){.overcommit = -1};
    if (gethostname(out->host, sizeof out->host - 1) != 0) {
        (void)snprintf(out->host, sizeof out->host, "localhost");
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        out->descriptors = limit.rlim_cur;
    }
    if (read_line("/sys/kernel/mm/transparent_hugepage/enabled", line)) {
        (void)machine_choice(line, out->huge_pages);
    }
    if (read_line("/proc/sys/vm/overcommit_memory", line) && line[0] >= '0' && line[0] <= '2') {
        out->overcommit = line[0] - '0';
    }
    look_at_swap(out);
}
