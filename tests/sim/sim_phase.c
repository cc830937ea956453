/* Tells what a node is in the midst of, and notes when that begins and ends. */
#include "tests/sim/sim_phase.h"

#include "node/array/expansion_layers.h"
#include "node/private.h"
#include "node/store/private.h"
#include "tests/sim/sim.h"
#include "tests/sim/sim_faults.h"

static uint32_t bit(enum sim_phase phase)
{
    return UINT32_C(1) << phase;
}

static uint32_t phases_of_disk(const struct node *node, const struct sim_disk *disk)
{
    bool rolls = disk->rolling != 0 || *disk->clock_us < disk->rolls_until_us;
    bool merges = disk->merging > 0 || *disk->clock_us < disk->merges_until_us;

    return (node->life.recovering ? bit(SIM_PHASE_RECOVERY) : 0) |
           (!node->life.recovering && !node->life.confirmed ? bit(SIM_PHASE_BOOT) : 0) |
           (rolls ? bit(SIM_PHASE_ROLL) : 0) | (merges ? bit(SIM_PHASE_MERGE) : 0);
}

static uint32_t phases_of_set(const struct arrays *set)
{
    bool grows = set->expansion != NULL;

    return (!set->loaded ? bit(SIM_PHASE_RECOVERY) : 0) | (grows ? bit(SIM_PHASE_GROW) : 0) |
           (grows && set->expansion->nopen > 0 ? bit(SIM_PHASE_VALVE) : 0);
}

static uint32_t look_at_replicas(struct sim_process *process)
{
    const struct node *node = process->node;
    uint32_t phases = 0;

    for (size_t i = 0; i < node->documents.count; i++) {
        const struct hosted_filter *hosted = node->documents.by_id[i]->attachment;
        uint32_t ngroups = hosted != NULL && hosted->set != NULL ? hosted->set->ngroups : 0;

        for (uint32_t group = 0; group < ngroups; group++) {
            enum replica_state state = hosted_state(hosted, group);

            phases |= state == REPLICA_JOINING ? bit(SIM_PHASE_SYNC) : 0;
            phases |= phases_of_set(hosted->set);
            if (state == REPLICA_FULL && process->served != process->generation &&
                sim_view_answers(process)) {
                process->served = process->generation;
                sim_losses_serves(process->sim, process);
            }
        }
    }
    return phases;
}

/* Not known while the log is being read. A new one is for data that is lost, nothing less; one that
 * nobody has heard of may be forgotten. */
static void follow_incarnation(struct sim_process *process)
{
    uint64_t incarnation = process->node->life.incarnation;
    struct sim *sim = process->sim;

    if (incarnation == 0 || incarnation == process->incarnation) {
        process->confirmed = process->confirmed ||
                             (incarnation != 0 && process->node->life.confirmed);
        return;
    }
    sim_trace_line(&sim->trace, sim->now_us, "%s is incarnation %04x", process->name,
                   (unsigned)(incarnation & 0xffff));
    if (process->disk != NULL && process->confirmed && !sim_losses_noted(sim, process)) {
        sim_fail(sim, "%s gives up incarnation %04x, whose data is all there", process->name,
                 (unsigned)(process->incarnation & 0xffff));
    }
    process->incarnation = incarnation;
    process->confirmed = process->node->life.confirmed;
    sim->losses.rewound = process == sim->losses.rewound ? NULL : sim->losses.rewound;
    if (process->disk == NULL) {
        return;
    }
    if (sim_disk_is_flipped(process->disk)) {
        sim_losses_note(sim, process, SIM_LOSS_LATENT); /* The next reader may find it. */
    } else if (process->disk->set_aside != process->set_aside) {
        sim_losses_note(sim, process, SIM_LOSS_OPEN); /* Perhaps the job is not told to be done. */
    }
    process->set_aside = process->disk->set_aside;
}

/* No phase of the table: seeds with snapshots only are what they were before there were imprints.
 */
static bool begins_imprint(struct sim_process *process)
{
    bool takes = process->sim->settings.imprint_bytes > 0 && process->node->storage != NULL &&
                 process->node->storage->snapshot != NULL;
    bool begins = takes && !process->takes_imprint;

    process->takes_imprint = takes;
    return begins;
}

void sim_phase_follow(struct sim_process *process)
{
    uint32_t before = process->phases;
    uint32_t fresh;

    process->phases = 0;
    if (process->node == NULL || !process->alive) {
        return;
    }
    follow_incarnation(process);
    sim_keysets_note(process);
    process->phases = look_at_replicas(process);
    if (process->disk != NULL) {
        process->phases |= phases_of_disk(process->node, process->disk);
        fresh = process->phases & ~before;
        if (fresh != 0) {
            sim_fault_tempt(process->sim,
                            (fresh & (bit(SIM_PHASE_MERGE) | bit(SIM_PHASE_ROLL))) != 0);
        }
        if (begins_imprint(process)) {
            sim_fault_tempt(process->sim, true);
        }
    }
}
