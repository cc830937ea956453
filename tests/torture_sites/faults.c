/* Draws which fault comes next and where, and waits it out. */
#include "tests/torture_sites/faults.h"

#include "tests/support/random.h"
#include "tests/torture/journal.h"
#include "tests/torture_sites/verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

enum {
    START_WITHIN_MS = 500,
    STOP_LEAST_MS = 200,
    STOP_MOST_MS = 8000,
    CUT_LEAST_MS = 1000,
    BURST_LEAST_MS = 500,
    BURST_MOST_MS = 10000,
    BURST_LEAST_LOSS = LINE_ALL / 20,
    BURST_MOST_LOSS = LINE_ALL / 2,
    POLL_MS = 10,
    AGAIN_MS = 300,
};

static const char *const names[FAULTS] = {
    [FAULT_KILL] = "kill",
    [FAULT_STOP] = "stop",
    [FAULT_KILL_PAIR] = "kill both",
    [FAULT_STOP_PAIR] = "stop both",
    [FAULT_KILL_SITE] = "kill all",
    [FAULT_PAUSE] = "pause",
    [FAULT_RESYNC] = "resync",
    [FAULT_LEAVE] = "leave",
    [FAULT_CUT] = "cut",
    [FAULT_CUT_ONE_WAY] = "cut one way",
    [FAULT_BURST] = "burst of loss",
};

/* Of all of them; those of lines only where there are lines. */
static const uint32_t odds[FAULTS] = {
    [FAULT_KILL] = 32,     [FAULT_STOP] = 28,        [FAULT_KILL_PAIR] = 8, [FAULT_STOP_PAIR] = 8,
    [FAULT_KILL_SITE] = 8, [FAULT_PAUSE] = 10,       [FAULT_RESYNC] = 6,    [FAULT_LEAVE] = 5,
    [FAULT_CUT] = 20,      [FAULT_CUT_ONE_WAY] = 30, [FAULT_BURST] = 15};
static const uint32_t role_odds[ROLES] = {
    [ROLE_LINK] = 40, [ROLE_NODE] = 30, [ROLE_ROUTER] = 15, [ROLE_COORDINATOR] = 15};

void faults_init(struct faults *self, struct sites *sites, struct lines *lines)
{
    *self = (struct faults){.sites = sites, .lines = lines, .random = sites->options->seed};
    self->next_ms = journal_now_ms();
}

static uint32_t choose(struct faults *self, const uint32_t *chances, uint32_t count)
{
    uint64_t left = 0;
    uint32_t i = 0;

    for (uint32_t each = 0; each < count; each++) {
        left += chances[each];
    }
    for (left = random_below(&self->random, left); left >= chances[i]; i++) {
        left -= chances[i];
    }
    return i;
}

static uint32_t choose_site(struct faults *self)
{
    return (uint32_t)random_below(&self->random, self->sites->options->sites);
}

/* ---- one victim ---- */

void faults_kill(struct faults *self, struct process *victim)
{
    process_kill(victim);
    victim->due_ms = journal_now_ms() + random_below(&self->random, START_WITHIN_MS);
}

static void stop_one(struct faults *self, struct process *victim, uint64_t pause_ms)
{
    (void)self;
    process_signal(victim, SIGSTOP);
    victim->state = PROCESS_STOPPED;
    victim->due_ms = journal_now_ms() + pause_ms;
}

static uint64_t choose_pause(struct faults *self)
{
    return STOP_LEAST_MS + random_below(&self->random, STOP_MOST_MS - STOP_LEAST_MS);
}

static bool nodes_run(struct faults *self, uint32_t site)
{
    struct process *node;

    for (uint32_t i = 0; (node = sites_find(self->sites, site, ROLE_NODE, i)) != NULL; i++) {
        if (node->state != PROCESS_RUNNING) {
            return false;
        }
    }
    return true;
}

/* ---- faults: each says whether it could be done ---- */

static bool hit_one(struct faults *self, enum fault fault, enum role role)
{
    uint32_t site = choose_site(self);
    uint32_t index = role == ROLE_NODE
                         ? (uint32_t)random_below(&self->random, self->sites->options->nodes)
                         : 0;
    struct process *victim = sites_find(self->sites, site, role, index);

    if (victim->state != PROCESS_RUNNING || (role == ROLE_NODE && !nodes_run(self, site))) {
        return false;
    }
    journal_say("%s %s", names[fault], victim->name);
    if (fault == FAULT_KILL) {
        faults_kill(self, victim);
    } else {
        stop_one(self, victim, choose_pause(self));
    }
    return true;
}

static bool hit_pair(struct faults *self, enum fault fault)
{
    uint64_t nsites = self->sites->options->sites;
    uint32_t first = choose_site(self);
    uint32_t second = (uint32_t)((first + 1 + random_below(&self->random, nsites - 1)) % nsites);
    uint64_t pause_ms = choose_pause(self);
    struct process *links[] = {sites_find(self->sites, first, ROLE_LINK, 0),
                               sites_find(self->sites, second, ROLE_LINK, 0)};

    if (links[0]->state != PROCESS_RUNNING || links[1]->state != PROCESS_RUNNING) {
        return false;
    }
    journal_say("%s %s %s", names[fault], links[0]->name, links[1]->name);
    for (int i = 0; i < 2; i++) {
        if (fault == FAULT_KILL_PAIR) {
            faults_kill(self, links[i]);
        } else {
            stop_one(self, links[i], pause_ms);
        }
    }
    return true;
}

/* The signals first, so that all are dead at once. */
static bool kill_site(struct faults *self)
{
    uint32_t site = choose_site(self);
    struct process *node;

    if (!nodes_run(self, site)) {
        return false;
    }
    journal_say("kill all nodes of site-%u", site + 1);
    for (uint32_t i = 0; (node = sites_find(self->sites, site, ROLE_NODE, i)) != NULL; i++) {
        process_signal(node, SIGKILL);
    }
    for (uint32_t i = 0; (node = sites_find(self->sites, site, ROLE_NODE, i)) != NULL; i++) {
        faults_kill(self, node);
    }
    return true;
}

/* That it is not answered is no failure. */
static bool order(struct faults *self, uint32_t site, const char *words)
{
    return sites_find(self->sites, site, ROLE_COORDINATOR, 0)->state == PROCESS_RUNNING &&
           sites_command(self->sites, site, words);
}

static uint32_t choose_other(struct faults *self, uint32_t site)
{
    uint64_t nsites = self->sites->options->sites;

    return (uint32_t)((site + 1 + random_below(&self->random, nsites - 1)) % nsites);
}

/* One at a time. It may have been written where the command has failed, so it is resumed then, too.
 */
static bool pause_other(struct faults *self)
{
    struct pause *pause = &self->pause;
    uint32_t site = choose_site(self);
    uint32_t other = choose_other(self, site) + 1;
    const char *filter = random_below(&self->random, 2) == 0 ? "" : SITES_FILTER;
    char words[sizeof pause->words];

    if (pause->words[0] != '\0') {
        return false;
    }
    pause->site = site;
    pause->due_ms = journal_now_ms() + choose_pause(self);
    (void)snprintf(words, sizeof words, "site pause site-%u %s --timeout 2s", other, filter);
    (void)snprintf(pause->words, sizeof pause->words, "site resume site-%u %s --timeout 2s", other,
                   filter);
    return order(self, site, words);
}

static bool resync_other(struct faults *self)
{
    uint32_t site = choose_site(self);
    char words[64];

    (void)snprintf(words, sizeof words, "site resync %s site-%u --detach --timeout 2s",
                   SITES_FILTER, choose_other(self, site) + 1);
    return order(self, site, words);
}

static void resume(struct faults *self)
{
    struct pause *pause = &self->pause;

    if (pause->words[0] != '\0' && journal_now_ms() >= pause->due_ms &&
        order(self, pause->site, pause->words)) {
        pause->words[0] = '\0';
    }
}

static bool leave(struct faults *self)
{
    struct leaver *leaver = &self->leaver;
    char words[64];

    (void)snprintf(words, sizeof words, "site remove %s site-%u --detach --timeout 2s",
                   SITES_FILTER, leaver->site + 1);
    return order(self, leaver->site, words);
}

static bool leave_one(struct faults *self)
{
    struct leaver *leaver = &self->leaver;

    if (leaver->away) {
        return false;
    }
    *leaver = (struct leaver){
        .away = true, .site = choose_site(self), .due_ms = journal_now_ms() + choose_pause(self)};
    return leave(self);
}

/* While it leaves it can't come back; and one that has not left, as its coordinator did not hear of
 * it, or that was not able to, leaves first. */
static void come_back(struct faults *self)
{
    struct leaver *leaver = &self->leaver;
    char words[64];

    if (!leaver->away || journal_now_ms() < leaver->due_ms) {
        return;
    }
    (void)snprintf(words, sizeof words, "site add %s site-%u --detach --timeout 2s", SITES_FILTER,
                   leaver->site + 1);
    leaver->away = !order(self, choose_other(self, leaver->site), words);
    if (leaver->away) {
        (void)leave(self);
        leaver->due_ms = journal_now_ms() + AGAIN_MS;
    }
}

static uint64_t choose_between(struct faults *self, uint64_t least, uint64_t most)
{
    return least + random_below(&self->random, most - least + 1);
}

/* Half of all cuts are short: what is told after them differs from that of long ones. */
static uint64_t choose_cut(struct faults *self)
{
    uint64_t most_ms = self->sites->options->cut * 1000;

    return choose_between(self, CUT_LEAST_MS, choose_between(self, CUT_LEAST_MS, most_ms));
}

static bool trouble_line(struct faults *self, enum fault fault)
{
    static const enum line_trouble troubles[FAULTS] = {
        [FAULT_CUT] = LINE_CUT, [FAULT_CUT_ONE_WAY] = LINE_CUT_ONE_WAY, [FAULT_BURST] = LINE_BURST};
    uint32_t from = choose_site(self);
    uint32_t to = choose_other(self, from);
    uint32_t loss = (uint32_t)choose_between(self, BURST_LEAST_LOSS, BURST_MOST_LOSS);
    uint64_t for_ms = fault == FAULT_BURST ? choose_between(self, BURST_LEAST_MS, BURST_MOST_MS)
                                           : choose_cut(self);

    if (!lines_trouble(self->lines, troubles[fault], from, to, loss, for_ms)) {
        return false;
    }
    journal_say("%s from site-%u to site-%u for %.1f s", names[fault], from + 1, to + 1,
                (double)for_ms / 1000);
    return true;
}

struct choice {
    enum fault fault;
    enum role role;
};

static bool takes_any(enum fault fault)
{
    return fault == FAULT_KILL || fault == FAULT_STOP;
}

/* Of the others each has one. */
static enum role role_of(enum fault fault)
{
    return fault == FAULT_KILL_SITE                       ? ROLE_NODE
           : fault >= FAULT_PAUSE && fault <= FAULT_LEAVE ? ROLE_COORDINATOR
                                                          : ROLE_LINK;
}

static struct choice draw(struct faults *self)
{
    uint32_t count = self->lines->wan != NULL ? FAULTS : FAULT_CUT;
    struct choice choice = {.fault = choose(self, odds, count),
                            .role = choose(self, role_odds, ROLES)};

    if (!takes_any(choice.fault)) {
        choice.role = role_of(choice.fault);
    }
    return choice;
}

/* Of two the one that there was none of yet, so that a short torture has some of each. */
static struct choice choose_fault(struct faults *self)
{
    struct choice one = draw(self);
    struct choice other = draw(self);

    return self->counts[other.fault][other.role] == 0 ? other : one;
}

static bool hit(struct faults *self, const struct choice *choice)
{
    switch (choice->fault) {
    case FAULT_KILL_PAIR:
    case FAULT_STOP_PAIR:
        return hit_pair(self, choice->fault);
    case FAULT_KILL_SITE:
        return kill_site(self);
    case FAULT_PAUSE:
        return pause_other(self);
    case FAULT_RESYNC:
        return resync_other(self);
    case FAULT_LEAVE:
        return leave_one(self);
    case FAULT_CUT:
    case FAULT_CUT_ONE_WAY:
    case FAULT_BURST:
        return trouble_line(self, choice->fault);
    case FAULT_KILL:
    case FAULT_STOP:
    case FAULTS:
        break;
    }
    return hit_one(self, choice->fault, choice->role);
}

void faults_begin(struct faults *self, bool spare_nodes)
{
    struct choice choice;

    if (journal_now_ms() < self->next_ms) {
        return;
    }
    choice = choose_fault(self);
    if (spare_nodes && choice.role == ROLE_NODE) {
        return;
    }
    if (hit(self, &choice)) {
        self->total++;
        self->counts[choice.fault][choice.role]++;
        self->next_ms = journal_now_ms() +
                        random_below(&self->random, self->sites->options->gap_ms);
    }
}

/* ---- recovery ---- */

static void look_after(struct process *process, uint64_t now_ms)
{
    int status;

    if (process->state == PROCESS_DEAD) {
        if (now_ms >= process->due_ms) {
            (void)process_start(process);
        }
    } else if (process_ended(process, 0, &status)) {
        verdict_fail("ENDED: %s, by itself, with status %#x: see its log", process->name,
                     (unsigned)status);
        process->due_ms = UINT64_MAX;
    } else if (process->state == PROCESS_STARTING && process_is_ready(process)) {
        process->state = PROCESS_RUNNING;
    } else if (process->state == PROCESS_STOPPED && now_ms >= process->due_ms) {
        process_signal(process, SIGCONT);
        process->state = PROCESS_RUNNING;
        journal_say("go on %s", process->name);
    }
}

void faults_tick(struct faults *self)
{
    uint64_t now_ms = journal_now_ms();

    for (uint32_t i = 0; i < self->sites->count && !verdict_failed(); i++) {
        look_after(&self->sites->processes[i], now_ms);
    }
    lines_tick(self->lines, now_ms);
    resume(self);
    come_back(self);
}

static const struct process *any_in_trouble(const struct faults *self)
{
    for (uint32_t i = 0; i < self->sites->count; i++) {
        if (self->sites->processes[i].state != PROCESS_RUNNING) {
            return &self->sites->processes[i];
        }
    }
    return NULL;
}

bool faults_end(struct faults *self)
{
    uint64_t deadline_ms = journal_now_ms() + self->sites->options->patience * 1000;
    const struct process *late;

    for (uint32_t i = 0; i < self->sites->count; i++) {
        self->sites->processes[i].due_ms = 0;
    }
    self->pause.due_ms = self->leaver.due_ms = 0;
    lines_heal(self->lines);
    while (((late = any_in_trouble(self)) != NULL || self->pause.words[0] != '\0' ||
            self->leaver.away) &&
           !verdict_failed()) {
        if (journal_now_ms() > deadline_ms) {
            verdict_fail("STUCK: %s", late != NULL        ? late->name
                                      : self->leaver.away ? "who has left does not come back"
                                                          : self->pause.words);
        }
        faults_tick(self);
        journal_pause_ms(POLL_MS);
    }
    return !verdict_failed();
}

/* ---- the table ---- */

void faults_print(const struct faults *self)
{
    (void)printf("%-14s", "fault");
    for (enum role role = 0; role < ROLES; role++) {
        (void)printf(" %12s", process_role_name(role));
    }
    (void)printf("\n");
    for (enum fault fault = 0; fault < FAULTS; fault++) {
        (void)printf("%-14s", names[fault]);
        for (enum role role = 0; role < ROLES; role++) {
            if (!takes_any(fault) && role != role_of(fault)) {
                (void)printf(" %12s", "-");
            } else {
                (void)printf(" %12" PRIu64, self->counts[fault][role]);
            }
        }
        (void)printf("\n");
    }
}
