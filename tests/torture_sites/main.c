/* torture-sites - real sites under real faults: no acknowledged key may be lost, and all of them
 * get to all sites. See docs/torture.md, "Several sites". */
#include "base/number.h"
#include "runtime/process.h"
#include "tests/torture/folder.h"
#include "tests/torture/journal.h"
#include "tests/torture_sites/equal.h"
#include "tests/torture_sites/faults.h"
#include "tests/torture_sites/older.h"
#include "tests/torture_sites/upgrade.h"
#include "tests/torture_sites/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { TICK_MS = 10, PROGRESS_MS = 10000, INTERRUPTED = 130 };

struct run {
    struct options options;
    struct lines lines;
    struct sites sites;
    struct load loads[OPTIONS_MAX_SITES];
    struct faults faults;
    struct upgrade upgrade;
    uint64_t equal_ms; /* so long after the last fault */
};

static void on_signal(int number)
{
    (void)number;
    verdict_interrupt();
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

static uint64_t acknowledged(const struct run *self)
{
    uint64_t sum = 0;

    for (uint32_t site = 0; site < self->options.sites; site++) {
        sum += atomic_load(&self->loads[site].ledger.acked);
    }
    return sum;
}

/* ---- phases ---- */

static bool prepare(struct run *self)
{
    bool good = sites_open(&self->sites, &self->options, self->lines.wan != NULL) &&
                sites_create_filter(&self->sites);

    for (uint32_t site = 0; good && site < self->options.sites; site++) {
        uint32_t next = (site + 1) % (uint32_t)self->options.sites;

        good = load_open(&self->loads[site], &self->sites, site,
                         next != site ? &self->loads[next] : NULL);
    }
    for (uint32_t site = 0; good && site < self->options.sites; site++) {
        good = load_start(&self->loads[site]);
    }
    faults_init(&self->faults, &self->sites, &self->lines);
    return good;
}

static void tick(struct run *self)
{
    faults_tick(&self->faults);
    journal_pause_ms(TICK_MS);
}

static void torture_for(struct run *self, uint64_t seconds_ms, uint64_t spare_ms)
{
    uint64_t end_ms = journal_now_ms() + seconds_ms;
    uint64_t progress_ms = journal_now_ms();

    while (journal_now_ms() < end_ms && !verdict_failed()) {
        faults_begin(&self->faults, journal_now_ms() > spare_ms);
        tick(self);
        if (journal_now_ms() - progress_ms >= PROGRESS_MS) {
            progress_ms += PROGRESS_MS;
            journal_tell("%" PRIu64 " faults, %" PRIu64 " adds", self->faults.total,
                         acknowledged(self));
        }
    }
}

/* It is copied while it runs, and under faults, and goes on for a while. */
static void lose_site(struct run *self, uint64_t number, uint64_t between_ms)
{
    uint32_t site = (uint32_t)((self->options.seed + number / 2) % self->options.sites);
    bool wipe = number % 2 == 1;

    torture_for(self, between_ms / 2, UINT64_MAX);
    if (!verdict_failed() && !wipe &&
        (!faults_end(&self->faults) || !older_copy(&self->faults, site))) {
        verdict_fail("site-%u could not be copied", site + 1);
    }
    torture_for(self, between_ms / 2, UINT64_MAX);
    if (!verdict_failed()) {
        (void)(wipe ? older_wipe : older_put_back)(&self->faults, self->loads, site);
    }
}

/* Nodes that start again and again may make links copy whole replicas, which would hide what was
 * left out of streams before: so in the last third of the time no node is hit. */
static void torture(struct run *self)
{
    uint64_t whole_ms = self->options.seconds * 1000;
    uint64_t part_ms = whole_ms / (self->options.losses + 1);

    for (uint64_t i = 0; i < self->options.losses && !verdict_failed(); i++) {
        lose_site(self, i, part_ms);
    }
    torture_for(self, part_ms, journal_now_ms() + part_ms - whole_ms / 3);
}

/* Numbers that nobody will hand out any more. */
static void claim_falsely(struct run *self)
{
    struct load *load = &self->loads[0];
    struct ledger_handout out = {0};

    load_stop(load);
    if (ledger_take_batch(&load->ledger, &load->random, &out) != NULL) {
        for (uint32_t word = 0; word < LEDGER_BATCH / 64; word++) {
            ledger_acknowledge(&load->ledger, load->filter, &out, word, UINT64_MAX);
        }
        ledger_put(&load->ledger, load->filter);
    }
}

static void sabotage(struct run *self)
{
    if (verdict_failed()) {
        return;
    }
    if (self->options.sabotage == SABOTAGE_REWIND_SITE) {
        older_rewind(&self->faults, 0, &self->loads[0].ledger.acked);
    } else if (self->options.sabotage == SABOTAGE_FALSE_CLAIM) {
        claim_falsely(self);
    }
}

static void go(struct run *self)
{
    if (self->options.upgrade != NULL) {
        upgrade_run(&self->upgrade, &self->faults, self->loads);
        return;
    }
    torture(self);
    sabotage(self);
}

/* Far above what chance does at the bound, which the fill stays below. */
static void judge_rate(const struct load *load)
{
    double asked = (double)atomic_load(&load->never.asked);
    double present = (double)atomic_load(&load->never.present);

    if (present > SITES_RATE * asked + 5 * sqrt(SITES_RATE * asked) + 5) {
        verdict_fail("RATE: %.0f of %.0f keys that nobody added are called present at site-%u",
                     present, asked, load->site + 1);
    }
}

static void settle(struct run *self)
{
    uint64_t start_ms = journal_now_ms();

    if (!faults_end(&self->faults)) {
        return;
    }
    for (uint32_t site = 0; site < self->options.sites; site++) {
        load_stop(&self->loads[site]);
    }
    if (!equal_wait(&self->sites, self->loads)) {
        return;
    }
    self->equal_ms = journal_now_ms() - start_ms;
    journal_tell("equal after %.1f s", (double)self->equal_ms / 1000);
    if (equal_count(&self->sites, self->loads) && sites_wait_absent(&self->sites)) {
        for (uint32_t site = 0; site < self->options.sites; site++) {
            judge_rate(&self->loads[site]);
        }
    }
}

/* ---- the end ---- */

static void print_site(const struct load *load)
{
    char text[5][NUMBER_TEXT_BYTES];
    uint64_t asked = atomic_load(&load->never.asked);
    double present = (double)atomic_load(&load->never.present);

    (void)printf("site-%u %16s %16s %16s %16s %16s %12.4f %%\n", load->site + 1,
                 number_show_count(atomic_load(&load->ledger.acked), text[0]),
                 number_show_count(atomic_load(&load->unacknowledged), text[1]),
                 number_show_count(atomic_load(&load->by_each), text[2]),
                 number_show_count(atomic_load(&load->checked), text[3]),
                 number_show_count(atomic_load(&load->fresh), text[4]),
                 asked > 0 ? 100 * present / (double)asked : 0);
}

static int report(const struct run *self)
{
    bool upgrades = self->options.upgrade != NULL;
    char text[2][NUMBER_TEXT_BYTES];

    (void)printf("\n");
    if (upgrades) {
        upgrade_print(&self->upgrade);
    } else {
        faults_print(&self->faults);
    }
    (void)printf("\n%-6s %16s %16s %16s %16s %16s %14s\n", "", "acknowledged", "not acknowledged",
                 "by each site", "checked there", "by fresh checks", "false positives");
    for (uint32_t site = 0; site < self->options.sites; site++) {
        print_site(&self->loads[site]);
    }
    (void)printf("\n");
    if (verdict_failed()) {
        (void)printf("look: %s/journal has what was done when, */*/log what each daemon says\n"
                     "again: --seed %" PRIu64
                     " makes the same choices (real time is never the same)\n"
                     "torture-sites: FAILED: %s\n",
                     self->sites.dir, self->options.seed, verdict_reason());
    } else {
        (void)printf(
            "equal after %.1f s\ntorture-sites: %s %s, %s acknowledged adds, 0 lost\n",
            (double)self->equal_ms / 1000,
            number_show_count(upgrades ? self->upgrade.restarts : self->faults.total, text[0]),
            upgrades ? "restarts" : "faults", number_show_count(acknowledged(self), text[1]));
    }
    (void)fflush(stdout);
    return verdict_failed() ? 1 : 0;
}

/* Whatever has happened: nothing is left running, or stopped. */
static void end(struct run *self)
{
    for (uint32_t site = 0; site < self->options.sites; site++) {
        load_stop(&self->loads[site]);
    }
    if (verdict_failed()) {
        sites_kill(&self->sites);
    } else {
        sites_end(&self->sites);
    }
    lines_close(&self->lines);
}

int main(int argc, char **argv)
{
    struct run *self = calloc(1, sizeof *self);
    int code = 1;

    process_prepare();
    if (self == NULL || options_parse(&self->options, argc, argv, &code) != 0) {
        free(self);
        return code;
    }
    catch_signals();
    lines_open(&self->lines, &self->options);
    if (prepare(self)) {
        go(self);
        settle(self);
    }
    end(self);
    code = report(self);
    code = verdict_interrupted() ? INTERRUPTED : code;
    journal_close();
    if (code == 0 && !self->options.keep && self->options.dir == NULL) {
        folder_remove(self->sites.dir);
    }
    for (uint32_t site = 0; site < self->options.sites; site++) {
        load_free(&self->loads[site]);
    }
    free(self);
    return code;
}
