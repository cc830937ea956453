#include "tests/sim/sim_phase.h"

#include "node/node_private.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_faults.h"

enum { NO_COUNTER = -1, UNKNOWN = -2 };

static uint32_t bit(enum sim_phase phase)
{
    return UINT32_C(1) << phase;
}

/* Its place in the node's table, looked up once. */
static int boot_counter(void)
{
    static int place = UNKNOWN;
    struct counter_table table = node_counters();

    if (place == UNKNOWN) {
        place = NO_COUNTER;
        for (size_t i = 0; i < table.count; i++) {
            place = strcmp(table.defs[i].name, "boot_unconfirmed") == 0 ? (int)i : place;
        }
    }
    return place;
}

static uint32_t phases_of_disk(const struct sim_disk *disk)
{
    bool rolls = disk->rolling != 0 || *disk->clock_us < disk->rolls_until_us;
    bool merges = disk->merging > 0 || *disk->clock_us < disk->merges_until_us;

    return (disk->written ? 0 : bit(SIM_PHASE_RECOVERY)) | (rolls ? bit(SIM_PHASE_ROLL) : 0) |
           (merges ? bit(SIM_PHASE_MERGE) : 0);
}

static uint32_t look_at_replicas(struct sim_process *process)
{
    const struct node *node = process->node;
    uint32_t phases = 0;

    for (size_t i = 0; i < node->documents.count; i++) {
        const struct hosted_filter *hosted = node->documents.by_id[i]->attachment;
        uint32_t ngroups = hosted != NULL && hosted->set != NULL ? hosted->set->ngroups : 0;

        for (uint32_t group = 0; group < ngroups; group++) {
            enum replica_state state = replica_set_state(hosted->set, group);

            phases |= state == REPLICA_JOINING ? bit(SIM_PHASE_SYNC) : 0;
            if (state == REPLICA_FULL && process->served != process->generation) {
                process->served = process->generation;
                sim_losses_serves(process->sim, process);
            }
        }
    }
    return phases;
}

void sim_phase_follow(struct sim_process *process)
{
    int boot = boot_counter();
    uint32_t before = process->phases;

    process->phases = 0;
    if (process->node == NULL || !process->alive) {
        return;
    }
    process->incarnation = process->node->incarnation;
    process->phases = look_at_replicas(process);
    if (process->disk != NULL) {
        process->phases |= phases_of_disk(process->disk);
        process->phases |= boot >= 0 && process->node->counters[boot] > 0 ? bit(SIM_PHASE_BOOT) : 0;
        if ((process->phases & ~before) != 0) {
            sim_fault_tempt(process->sim);
        }
    }
}
