/* The machine on which the command runs. Where nodes run on it, what slows them down is a warning;
 * else it is told for whoever means to run one. */
#include "base/number.h"
#include "cli/doctor/judge.h"

#include <inttypes.h>
#include <string.h>

static bool runs_node(const struct gathered *gathered)
{
    const struct admin_reply *cluster = gathered->cluster;

    for (size_t i = 0; cluster != NULL && i < cluster->nnodes; i++) {
        if (strcmp(cluster->nodes[i].host, gathered->machine.host) == 0) {
            return true;
        }
    }
    return false;
}

static void judge_descriptors(const struct machine *machine, enum severity severity,
                              struct findings *out)
{
    if (machine->descriptors == 0) {
        findings_omit(out, "descriptors", "the kernel does not tell");
    } else if (machine->descriptors < JUDGE_DESCRIPTORS) {
        findings_tell(out, severity, "descriptors", machine->host,
                      "what is started from here may have %" PRIu64
                      " files and connections open, and many clients or filters take more",
                      machine->descriptors);
        findings_mend(out, "`ulimit -n 65536` in a shell; LimitNOFILE=65536 of a unit, as those in "
                           "deploy/ have it");
    }
}

static void judge_pages(const struct machine *machine, enum severity severity, struct findings *out)
{
    if (machine->huge_pages[0] == '\0') {
        findings_omit(out, "huge pages", "the kernel does not tell");
    } else if (strcmp(machine->huge_pages, "never") == 0) {
        findings_tell(out, severity, "huge pages", machine->host,
                      "transparent huge pages are off: look-ups in large filters are slower");
        findings_mend(out, "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    }
}

static void judge_swap(const struct machine *machine, enum severity severity, struct findings *out)
{
    char used[NUMBER_TEXT_BYTES];
    char total[NUMBER_TEXT_BYTES];

    if (!machine->swap_known) {
        findings_omit(out, "swap", "the kernel does not tell");
    } else if (machine->swap_used_bytes > 0) {
        findings_tell(out, severity, "swap", machine->host,
                      "%s of %s of swap are in use: what of a filter is there takes milliseconds "
                      "to look up",
                      number_show_bytes(machine->swap_used_bytes, used),
                      number_show_bytes(machine->swap_bytes, total));
        findings_mend(out, "lower `memory_limit` of the nodes here, and swapoff -a");
    }
}

static void judge_overcommit(const struct machine *machine, enum severity severity,
                             struct findings *out)
{
    if (machine->overcommit < 0) {
        findings_omit(out, "overcommit", "the kernel does not tell");
    } else if (machine->overcommit == 2) {
        findings_tell(out, severity, "overcommit", machine->host,
                      "vm.overcommit_memory is 2: address space that a process asks for and never "
                      "uses counts, so that it is out of memory early");
        findings_mend(out, "sysctl vm.overcommit_memory=0");
    }
}

void judge_machine(const struct gathered *gathered, struct findings *out)
{
    const struct machine *machine = &gathered->machine;
    enum severity severity = runs_node(gathered) ? SEVERITY_WARNING : SEVERITY_INFO;

    judge_descriptors(machine, severity, out);
    judge_pages(machine, severity, out);
    judge_swap(machine, severity, out);
    judge_overcommit(machine, severity, out);
    findings_omit(out, "machine",
                  "settings of other machines than %s, where this command runs: "
                  "run it there, too",
                  machine->host);
}
