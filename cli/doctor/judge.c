/* All judgements, in the order in which equally bad findings are shown: causes before what follows
 * from them. */
#include "cli/doctor/judge.h"

void judge(const struct gathered *gathered, struct findings *out)
{
    static const judge_fn all[] = {
        judge_reach,    judge_nodes,  judge_filters,  judge_store,   judge_backup, judge_disks,
        judge_fill,     judge_growth, judge_hosts,    judge_sites,   judge_keys,   judge_ports,
        judge_versions, judge_clocks, judge_counters, judge_machine,
    };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i](gathered, out);
    }
    findings_sort(out);
}
