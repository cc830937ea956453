/* Copies the data of a site's processes, and starts these again on the copy, or on nothing. */
#include "tests/torture_sites/older.h"

#include "tests/torture/folder.h"
#include "tests/torture/journal.h"
#include "tests/torture_sites/equal.h"
#include "tests/torture_sites/verdict.h"

#include <signal.h>

enum { POLL_MS = 10, REWOUND_KEYS = 5000 };

static bool copy_data(const struct process *node, bool back)
{
    char data[PROCESS_PATH_BYTES];
    char copy[PROCESS_PATH_BYTES];
    folder_job job;
    bool good = false;

    (void)process_path(node, "data", data);
    (void)process_path(node, "copy", copy);
    job = back ? folder_copy(copy, data) : folder_copy(data, copy);
    (void)folder_done(&job, true, &good);
    return good;
}

static bool has_data(const struct process *process, uint32_t site)
{
    return process->site == site &&
           (process->role == ROLE_NODE || process->role == ROLE_COORDINATOR);
}

/* All nodes and the store as they are at one moment. */
bool older_copy(struct faults *self, uint32_t site)
{
    bool good = true;

    for (uint32_t i = 0; i < self->sites->count; i++) {
        if (has_data(&self->sites->processes[i], site)) {
            process_signal(&self->sites->processes[i], SIGSTOP);
        }
    }
    for (uint32_t i = 0; i < self->sites->count; i++) {
        if (has_data(&self->sites->processes[i], site)) {
            good &= copy_data(&self->sites->processes[i], false);
            process_signal(&self->sites->processes[i], SIGCONT);
        }
    }
    return good;
}

static bool wipe_data(const struct process *process)
{
    char data[PROCESS_PATH_BYTES];
    folder_job job = folder_wipe(process_path(process, "data", data));
    bool good = false;

    (void)folder_done(&job, true, &good);
    return good;
}

/* All its processes die before any data is put back. */
static bool lose(struct faults *self, uint32_t site, bool all)
{
    bool good = true;

    for (uint32_t i = 0; i < self->sites->count; i++) {
        if (self->sites->processes[i].site == site) {
            faults_kill(self, &self->sites->processes[i]);
        }
    }
    for (uint32_t i = 0; i < self->sites->count; i++) {
        if (has_data(&self->sites->processes[i], site)) {
            good &= all ? wipe_data(&self->sites->processes[i])
                        : copy_data(&self->sites->processes[i], true);
        }
    }
    return good;
}

static bool await_more(struct faults *self, const _Atomic uint64_t *acknowledged)
{
    uint64_t deadline_ms = journal_now_ms() + self->sites->options->patience * 1000;
    uint64_t wanted = atomic_load(acknowledged) + REWOUND_KEYS;

    while (atomic_load(acknowledged) < wanted && journal_now_ms() < deadline_ms) {
        journal_pause_ms(POLL_MS);
    }
    return atomic_load(acknowledged) >= wanted;
}

/* The link is stopped meanwhile: what it has been told is gone with it. */
void older_rewind(struct faults *self, uint32_t site, const _Atomic uint64_t *acknowledged)
{
    if (!faults_end(self)) {
        return;
    }
    journal_tell("site-%u is cut off and put back, on purpose", site + 1);
    process_signal(sites_find(self->sites, site, ROLE_LINK, 0), SIGSTOP);
    if (!older_copy(self, site) || !await_more(self, acknowledged) || !lose(self, site, false) ||
        !faults_end(self)) {
        verdict_fail("site-%u could not be put back", site + 1);
    }
}

/* ---- and joins anew ---- */

static bool replace(struct faults *self, struct load *loads, uint32_t site, bool all)
{
    uint64_t start_ms;
    bool good;

    for (uint32_t i = 0; i < self->sites->options->sites; i++) {
        load_stop(&loads[i]);
    }
    good = faults_end(self) && equal_wait(self->sites, loads) &&
           sites_wait_others(self->sites, site);
    journal_tell("site-%u %s", site + 1, all ? "loses all that it had" : "is put back");
    start_ms = journal_now_ms();
    if (good && !lose(self, site, all)) {
        verdict_fail("site-%u could not be put back", site + 1);
    }
    good = good && faults_end(self) && equal_heal(self->sites, loads, site) &&
           sites_wait_absent(self->sites) && equal_wait(self->sites, loads);
    journal_tell("site-%u has joined anew after %.1f s", site + 1,
                 (double)(journal_now_ms() - start_ms) / 1000);
    for (uint32_t i = 0; good && i < self->sites->options->sites; i++) {
        good = load_start(&loads[i]);
    }
    return good && !verdict_failed();
}

bool older_put_back(struct faults *faults, struct load *loads, uint32_t site)
{
    return replace(faults, loads, site, false);
}

bool older_wipe(struct faults *faults, struct load *loads, uint32_t site)
{
    return replace(faults, loads, site, true);
}
