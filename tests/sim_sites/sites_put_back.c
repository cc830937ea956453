/* Copies a site's store and disks, ends its processes, and starts them on the copy. */
#include "tests/sim_sites/sites_put_back.h"

#include "tests/sim/sim_faults.h"
#include "tests/sim_sites/sites.h"

#define MS UINT64_C(1000)

enum {
    DOWN_LEAST_US = 400000, /* longer than anything is on its way inside a site */
    DOWN_MOST_US = 1500000,
    SPREAD_US = 300000,
    REBOOT_PERMILLE = 500,
    LIVE_PERMILLE = 500,
};

void sites_copy_take(struct site *site)
{
    struct sites_copy *copy = &site->copy;
    struct sim *sim = site->sim;

    sites_copy_free(copy);
    copy->at_us = sim->now_us;
    memory_store_init(&copy->store);
    memory_store_restore(&copy->store, &sim->store);
    copy->losses = sim->losses;
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct sim_process *process = sim->processes[i];

        if (process->disk != NULL) {
            copy->folders[i] = memory_disk_copy(&process->disk->memory);
            copy->incarnations[i] = process->incarnation;
        }
    }
    sites_say(site->all, "a copy of %s is taken", site->name);
}

void sites_copy_free(struct sites_copy *copy)
{
    memory_store_fini(&copy->store);
    for (uint32_t i = 0; i < SIM_MAX_PROCESSES; i++) {
        if (copy->folders[i] != NULL) {
            memory_disk_destroy(&copy->folders[i]);
        }
        copy->incarnations[i] = 0;
    }
    copy->at_us = 0;
}

/* ---- its processes ---- */

/* None of them is started before all is put back, not even a link that has lived on until then. */
static void hold_all(struct site *site)
{
    site->down = true;
    site->sim->accept.off = UINT32_MAX;
    for (uint32_t i = 0; i < site->nlinks; i++) {
        sites_link_hold(&site->links[i]);
    }
}

static void kill_links(struct site *site)
{
    for (uint32_t i = 0; i < site->nlinks; i++) {
        if (sites_link_lives(&site->links[i])) {
            sites_link_kill(&site->links[i]);
        }
    }
}

static void kill_all(struct site *site)
{
    for (uint32_t i = 0; i < site->sim->nprocesses; i++) {
        struct sim_process *process = site->sim->processes[i];

        if (process->kind != SIM_CLIENT && process->kind != SIM_LINK && process->alive) {
            sim_process_kill(process);
        }
    }
}

static void on_link_start(struct sim *sim, void *data, uint64_t number)
{
    struct sites_link *link = data;

    (void)sim;
    (void)number;
    if (!sites_link_lives(link)) {
        sites_link_start(link);
    }
}

static void on_back(struct sim *sim, void *data, uint64_t number)
{
    struct site *site = data;

    (void)number;
    site->down = false;
    sim->accept.off = 0;
    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        struct sim_process *process = sim->processes[i];
        uint64_t delay_us = sim_random_below(&sim->random, SPREAD_US);

        if (process->kind == SIM_LINK) {
            continue;
        }
        sim_fault_start_later(sim, process, delay_us);
    }
    for (uint32_t i = 0; i < site->nlinks; i++) {
        sites_link_release(&site->links[i]);
        sites_after(site->all, sim_random_below(&sim->random, SPREAD_US), on_link_start,
                    &site->links[i], 0);
    }
}

/* They have no disk; but documents, which must be none that the store will not have had. */
static bool links_live(const struct site *site)
{
    return site->sim->store.change == site->copy.store.change &&
           sim_random_chance(&site->sim->random, LIVE_PERMILLE);
}

/* ---- what it has ---- */

static void put_back_node(const struct sites_copy *copy, struct sim_process *process, bool reboots)
{
    if (reboots) {
        sim_disk_lose_power(process->disk);
    }
    sim_disk_forget_copy(process->disk); /* One of a time that has never been. */
    sim_disk_wipe(process->disk);
    if (copy->folders[process->index] != NULL) {
        memory_disk_restore(&process->disk->memory, copy->folders[process->index]);
    }
    process->incarnation = copy->incarnations[process->index];
    process->confirmed = false;
}

/* Without syncs nodes that find another boot of their machine take their data for lost, all of them
 * at once here. */
static void put_back_all(struct site *site)
{
    struct sim *sim = site->sim;
    bool reboots = !sim->settings.unsynced && sim_random_chance(&sim->random, REBOOT_PERMILLE);

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        if (sim->processes[i]->disk != NULL) {
            put_back_node(&site->copy, sim->processes[i], reboots);
        }
    }
    sim->losses = site->copy.losses;
    memory_store_restore(&sim->store, &site->copy.store);
    sim_written_put_back(sim);
}

void sites_put_back(struct site *site)
{
    struct sim *sim = site->sim;
    bool wiped = site->copy.at_us == 0;

    sites_say(site->all, "%s is put back to %llu ms", site->name,
              (unsigned long long)(site->copy.at_us / MS));
    sites_coverage_fault(site->all, wiped ? SITES_FAULT_WIPED : SITES_FAULT_PUT_BACK);
    if (links_live(site)) {
        sites_coverage_fault(site->all, SITES_FAULT_UNDER_LINKS);
    } else {
        kill_links(site);
    }
    kill_all(site);
    hold_all(site);
    sim->operator.names[0].state = SIM_NAME_FREE; /* Nobody there asks for that filter. */
    put_back_all(site);
    sites_oracle_put_back(site->all, site, site->copy.at_us);
    sim_view_anew(sim);
    sim_after(sim, sim_random_between(&sim->random, DOWN_LEAST_US, DOWN_MOST_US), on_back, site, 0);
}
