/* Ports that whoever reaches them may use, as far as a client can know. */
#include "cli/doctor/judge.h"

void judge_ports(const struct gathered *gathered, struct findings *out)
{
    for (size_t i = 0; i < gathered->nprocesses; i++) {
        const struct doctor_process *process = &gathered->processes[i];
        char place[DOCTOR_TEXT_BYTES];

        if (process->stats.status == STATUS_OK && !process->encrypted && !process->loopback) {
            findings_tell(out, SEVERITY_WARNING, "port", gathered_place(process, place),
                          "speaks plain at %s, which is not on loopback: whoever reaches it may do "
                          "everything, and reads along",
                          process->endpoint);
            findings_mend(out, "`transport = \"curve\"`, and a credential for each user: "
                               "`orbloom user create NAME --credential FILE`");
        }
    }
    findings_omit(out, "port",
                  "http_listen and resp_listen are told by the configuration of each "
                  "process alone; there look for `http_open`, `resp_open` and "
                  "`allow_plain`");
    findings_omit(out, "certificate",
                  "commands have none; on the machines that have the files of "
                  "processes, of each: orbloom-router --config FILE "
                  "--check-config");
}
