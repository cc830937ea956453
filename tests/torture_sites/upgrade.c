/* Restarts the processes of all sites as the other release, and has filters made, filled, grown and
 * dropped between these restarts. */
#include "tests/torture_sites/upgrade.h"

#include "client/orbloom.h"
#include "tests/support/random.h"
#include "tests/torture/journal.h"
#include "tests/torture_sites/verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ORDERS = 24,
    BACK = 10,      /* orders further: the way back is never the way there */
    END_MS = 60000, /* a process that was asked to end */
    AGAIN_MS = 20,  /* between two questions */
    BATCH = 2048,   /* keys that are added or checked at once */
    STEADY = 60000, /* keys: more bytes in runs than in the array, so that there is an imprint */
    MORE = 1024, /* ... that come in each phase, and so few that it does not grow: then the imprint
                    would go */
    PASSING = 4096, /* ... of a filter that passes, at each site */
};

#define STEADY_FILTER "steady"

/* Small files, so that a node writes imprints of small arrays; only this release knows imprints. */
static const char older_lines[] = "log_segment = \"1MiB\";\n";
static const char newer_lines[] = "log_segment = \"1MiB\";\nimprint_size = \"64KiB\";\n";

static const struct options *options_of(const struct upgrade *self)
{
    return self->faults->sites->options;
}

static uint32_t nsites(const struct upgrade *self)
{
    return (uint32_t)options_of(self)->sites;
}

/* ---- orders ---- */

static bool is_order(const enum role roles[ROLES])
{
    uint32_t seen = 0;

    for (uint32_t i = 0; i < ROLES; i++) {
        seen |= 1U << roles[i];
    }
    return seen == (1U << ROLES) - 1;
}

/* All there are: an even number, and the next one is its reverse, so that of two kinds each comes
 * first in one of them. */
static void order_of(uint64_t number, enum role order[ROLES])
{
    uint64_t left = number % ORDERS / 2;
    enum role roles[ROLES];

    for (uint32_t code = 0; code < 1U << 2 * ROLES; code++) {
        for (uint32_t i = 0; i < ROLES; i++) {
            roles[i] = (enum role)(code >> 2 * i & 3);
        }
        if (is_order(roles) && roles[0] < roles[ROLES - 1] && left-- == 0) {
            break;
        }
    }
    for (uint32_t i = 0; i < ROLES; i++) {
        order[i] = roles[number % 2 == 0 ? i : ROLES - 1 - i];
    }
}

/* ---- one process ---- */

static bool copy_lines(const struct process *process, FILE *to)
{
    char path[PROCESS_PATH_BYTES];
    char line[1024];
    FILE *from = fopen(process_path(process, "conf", path), "re");

    while (from != NULL && fgets(line, sizeof line, from) != NULL) {
        (void)fputs(line, to);
    }
    return from != NULL && fclose(from) == 0;
}

static bool write_conf(const struct process *process, const char *name, const char *lines)
{
    char path[PROCESS_PATH_BYTES];
    FILE *to = fopen(process_path(process, name, path), "we");
    bool good = to != NULL && copy_lines(process, to) && fputs(lines, to) >= 0;

    good = to != NULL && fclose(to) == 0 && good;
    if (!good) {
        verdict_fail("%s can't be written", path);
    }
    return good;
}

static void end(struct upgrade *self, struct process *process)
{
    int status;

    self->restarts++;
    if (random_below(&self->random, 2) == 0) {
        self->killed++;
        process_kill(process);
        return;
    }
    process_signal(process, SIGTERM);
    if (!process_ended(process, END_MS, &status) || status != 0) {
        verdict_fail("%s does not end well on SIGTERM: see its log", process->name);
    }
}

static void restart(struct upgrade *self, struct process *process, const char *programs)
{
    end(self, process);
    process->programs = programs;
    if (process->role == ROLE_NODE) {
        process->conf = programs == NULL ? "conf-newer" : "conf-older";
    }
    (void)process_start(process);
}

/* Of each node, before it ends: it is to have as many FULL replicas again. */
static void await_full(struct upgrade *self, const struct process *node, uint64_t wanted)
{
    uint64_t deadline_ms = journal_now_ms() + options_of(self)->patience * 1000;

    while (!verdict_failed() && sites_count(node, "replicas_full") < wanted) {
        if (journal_now_ms() > deadline_ms) {
            verdict_fail("STUCK: %s does not have %" PRIu64 " FULL replicas again", node->name,
                         wanted);
        }
        journal_pause_ms(AGAIN_MS);
    }
}

/* The same ones of some sites, at once. */
static bool restart_each(struct upgrade *self, const enum role roles[OPTIONS_MAX_SITES],
                         uint32_t from, uint32_t to, uint32_t index, const char *programs)
{
    struct process *found[OPTIONS_MAX_SITES] = {NULL};
    uint64_t full[OPTIONS_MAX_SITES] = {0};
    bool any = false;

    for (uint32_t site = from; site < to; site++) {
        found[site] = sites_find(self->faults->sites, site, roles[site], index);
        if (found[site] != NULL) {
            any = true;
            full[site] = roles[site] == ROLE_NODE ? sites_count(found[site], "replicas_full") : 0;
            restart(self, found[site], programs);
        }
    }
    any = any && faults_end(self->faults);
    for (uint32_t site = from; any && site < to; site++) {
        if (full[site] > 0) {
            await_full(self, found[site], full[site]);
        }
    }
    return any && sites_wait_connected(self->faults->sites);
}

/* ---- filters that come and go ---- */

struct batch {
    char keys[BATCH * LEDGER_KEY_BYTES];
    uint32_t lengths[BATCH];
    uint8_t answers[BATCH];
};

static struct orbloom_keys write_keys(struct batch *batch, uint64_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ledger_key(first + i, batch->keys + (size_t)i * LEDGER_KEY_BYTES);
        batch->lengths[i] = LEDGER_KEY_BYTES;
        batch->answers[i] = ORBLOOM_UNKNOWN;
    }
    return (struct orbloom_keys){batch->keys, batch->lengths, count};
}

static uint32_t count_answers(const struct batch *batch, uint32_t count, enum orbloom_answer answer)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        found += batch->answers[i] == answer;
    }
    return found;
}

/* FULL comes while it grows. */
static void add_batch(struct upgrade *self, uint32_t site, const char *filter, struct batch *batch,
                      uint64_t first, uint32_t count)
{
    uint64_t deadline_ms = journal_now_ms() + options_of(self)->patience * 1000;
    struct orbloom_keys keys;
    int code;

    do {
        keys = write_keys(batch, first, count);
        code = orbloom_add(self->handles[site], filter, &keys, batch->answers);
        if (code == ORBLOOM_FULL) {
            journal_pause_ms(AGAIN_MS);
        }
    } while (code == ORBLOOM_FULL && journal_now_ms() < deadline_ms && !verdict_failed());
    if (code != ORBLOOM_OK) {
        verdict_fail("CLIENT ERROR: adds to %s at site-%u: %s", filter, site + 1,
                     orbloom_error(self->handles[site]));
    }
}

/* What waits for the other site may be told BEHIND, and is asked again. */
static void check_batch(struct upgrade *self, uint32_t site, const char *filter,
                        struct batch *batch, uint64_t first, uint32_t count)
{
    uint64_t deadline_ms = journal_now_ms() + options_of(self)->patience * 1000;
    struct orbloom_keys keys;
    uint32_t absent;

    do {
        keys = write_keys(batch, first, count);
        (void)orbloom_check_within(self->handles[site], filter, 0, &keys, batch->answers);
        absent = count_answers(batch, count, ORBLOOM_ABSENT);
        if (absent > 0) {
            verdict_fail("LOST: %u of %u keys of %s, from %016" PRIx64
                         " on, are called absent by a fresh check at site-%u",
                         absent, count, filter, first, site + 1);
        } else if (journal_now_ms() > deadline_ms) {
            verdict_fail("STUCK: site-%u does not answer about %s: %s", site + 1, filter,
                         orbloom_error(self->handles[site]));
        }
    } while (!verdict_failed() && count_answers(batch, count, ORBLOOM_PRESENT) < count);
}

typedef void (*batch_fn)(struct upgrade *self, uint32_t site, const char *filter,
                         struct batch *batch, uint64_t first, uint32_t count);

static void for_keys(struct upgrade *self, uint32_t site, const char *filter, uint64_t first,
                     uint64_t count, batch_fn visit)
{
    struct batch *batch = calloc(1, sizeof *batch);

    for (uint64_t done = 0; batch != NULL && done < count && !verdict_failed(); done += BATCH) {
        visit(self, site, filter, batch, first + done,
              count - done < BATCH ? (uint32_t)(count - done) : BATCH);
    }
    if (batch == NULL) {
        verdict_fail("no memory for a client");
    }
    free(batch);
}

static void check_everywhere(struct upgrade *self, const char *filter, uint64_t count)
{
    for (uint32_t site = 0; site < nsites(self); site++) {
        for_keys(self, site, filter, 0, count, check_batch);
    }
}

/* By either release's command. */
static void order(struct upgrade *self, const char *words)
{
    const char *programs = random_below(&self->random, 2) == 0 ? options_of(self)->upgrade : NULL;
    uint32_t site = (uint32_t)random_below(&self->random, nsites(self));

    if (!verdict_failed() && !sites_command_of(self->faults->sites, site, programs, words)) {
        verdict_fail("refused at site-%u: %s; see the journal", site + 1, words);
    }
}

static void make_filter(struct upgrade *self, const char *name, const char *capacity)
{
    char words[256];
    size_t used;

    used = (size_t)snprintf(words, sizeof words,
                            "create %s --capacity %s --fpr 1%% --timeout 60s --sites site-1", name,
                            capacity);
    for (uint32_t site = 1; site < nsites(self); site++) {
        used += (size_t)snprintf(words + used, sizeof words - used, ",site-%u", site + 1);
    }
    order(self, words);
    if (!verdict_failed()) {
        (void)sites_wait_absent_of(self->faults->sites, name);
    }
}

static void fill_passing(struct upgrade *self)
{
    for (uint32_t site = 0; site < nsites(self); site++) {
        for_keys(self, site, self->passing, self->fast, PASSING, add_batch);
        self->fast += PASSING;
    }
    check_everywhere(self, self->passing, self->fast);
}

/* A step before each kind: made, filled, grown and filled, dropped. */
static void pass(struct upgrade *self, uint32_t turn)
{
    char words[128];

    if (turn == 0) {
        self->fast = 0;
        (void)snprintf(self->passing, sizeof self->passing, "passing-%" PRIu64, self->filters);
        make_filter(self, self->passing, "40k");
    } else if (turn == 1) {
        fill_passing(self);
    } else if (turn == 2) {
        (void)snprintf(words, sizeof words, "expand %s --capacity 80k --timeout 60s",
                       self->passing);
        order(self, words);
        fill_passing(self);
    } else {
        check_everywhere(self, self->passing, self->fast);
        (void)snprintf(words, sizeof words, "drop %s --everywhere --timeout 60s", self->passing);
        order(self, words);
        if (!verdict_failed()) {
            (void)sites_wait_dropped(self->faults->sites, self->passing);
            self->filters++;
        }
    }
}

/* ---- imprints ---- */

static uint64_t sum_nodes(struct upgrade *self, const char *counter, bool *each)
{
    const struct process *node;
    uint64_t sum = 0;

    *each = true;
    for (uint32_t site = 0; site < nsites(self); site++) {
        for (uint32_t i = 0; (node = sites_find(self->faults->sites, site, ROLE_NODE, i)) != NULL;
             i++) {
            uint64_t count = sites_count(node, counter);

            *each = *each && count > 0;
            sum += count;
        }
    }
    return sum;
}

/* All are of this release: what they write an older one will find, and this one after it. */
static void await_imprints(struct upgrade *self)
{
    uint64_t deadline_ms = journal_now_ms() + options_of(self)->patience * 1000;
    bool each = false;

    while (!verdict_failed()) {
        (void)sum_nodes(self, "imprint_bytes", &each);
        if (each) {
            break;
        }
        if (journal_now_ms() > deadline_ms) {
            verdict_fail("STUCK: not every node has written an imprint");
        }
        journal_pause_ms(AGAIN_MS);
    }
}

static void add_steady(struct upgrade *self, uint64_t count)
{
    for_keys(self, (uint32_t)random_below(&self->random, nsites(self)), STEADY_FILTER, self->steady,
             count, add_batch);
    self->steady += count;
}

/* ---- the course ---- */

/* The sites from ... to, of orders[number + site]. */
static void become(struct upgrade *self, uint32_t from, uint32_t to, uint64_t number,
                   const char *programs)
{
    enum role orders[OPTIONS_MAX_SITES][ROLES];
    enum role roles[OPTIONS_MAX_SITES];

    for (uint32_t site = from; site < to; site++) {
        order_of(number + site, orders[site]);
    }
    for (uint32_t turn = 0; turn < ROLES && !verdict_failed(); turn++) {
        pass(self, turn);
        for (uint32_t site = from; site < to; site++) {
            roles[site] = orders[site][turn];
            journal_tell("%ss of site-%u become %s", process_role_name(roles[site]), site + 1,
                         programs != NULL ? "older" : "newer");
        }
        for (uint32_t i = 0; !verdict_failed() && restart_each(self, roles, from, to, i, programs);
             i++) {
        }
    }
    add_steady(self, MORE);
}

/* Every other time one site is wholly of the other release before the next one begins. */
static void become_all(struct upgrade *self, uint64_t number, const char *programs)
{
    bool each;

    if (self->rounds % 2 == 0) {
        become(self, 0, nsites(self), number, programs);
    }
    for (uint32_t site = 0; self->rounds % 2 == 1 && site < nsites(self); site++) {
        become(self, site, site + 1, number, programs);
    }
    check_everywhere(self, STEADY_FILTER, self->steady);
    if (programs == NULL) {
        self->imprints += sum_nodes(self, "imprints_read_total", &each);
        await_imprints(self);
    }
}

static bool prepare(struct upgrade *self)
{
    struct sites *sites = self->faults->sites;
    bool good = true;

    for (uint32_t i = 0; good && i < sites->count; i++) {
        struct process *process = &sites->processes[i];

        process->programs = options_of(self)->upgrade;
        good = process->role != ROLE_NODE || (write_conf(process, "conf-older", older_lines) &&
                                              write_conf(process, "conf-newer", newer_lines));
    }
    for (uint32_t site = 0; good && site < nsites(self); site++) {
        self->handles[site] = load_connect(sites, site);
        good = self->handles[site] != NULL;
    }
    return good;
}

/* One site is finalized, and the other is not yet. */
static void finalize(struct upgrade *self)
{
    for (uint32_t site = 0; site < nsites(self) && !verdict_failed(); site++) {
        if (!sites_command(self->faults->sites, site, "upgrade finalize")) {
            verdict_fail("`orbloom upgrade finalize` is refused at site-%u", site + 1);
        }
        for (uint32_t turn = 0; turn < ROLES && !verdict_failed(); turn++) {
            pass(self, turn);
        }
    }
    check_everywhere(self, STEADY_FILTER, self->steady);
}

static void judge(const struct upgrade *self)
{
    uint64_t errors = 0;

    for (uint32_t site = 0; site < nsites(self); site++) {
        errors += atomic_load(&self->loads[site].errors);
    }
    if (errors > 0) {
        verdict_fail("CLIENT ERROR: %" PRIu64 " keys not acknowledged or not answered about; the "
                     "journal says why",
                     errors);
    } else if (self->imprints == 0) {
        verdict_fail("no start has read an imprint: that they are not stale was not seen");
    }
}

void upgrade_run(struct upgrade *self, struct faults *faults, struct load *loads)
{
    *self = (struct upgrade){
        .faults = faults, .loads = loads, .random = faults->sites->options->seed};
    if (prepare(self)) {
        make_filter(self, STEADY_FILTER, "300k");
        add_steady(self, STEADY);
    }
    while (self->rounds < options_of(self)->rounds && !verdict_failed()) {
        become_all(self, 2 * self->rounds, NULL);
        become_all(self, 2 * self->rounds + BACK, options_of(self)->upgrade);
        self->rounds++;
    }
    if (!verdict_failed()) {
        become_all(self, options_of(self)->seed, NULL);
        finalize(self);
    }
    judge(self);
    for (uint32_t site = 0; site < nsites(self); site++) {
        orbloom_close(&self->handles[site]);
    }
}

void upgrade_print(const struct upgrade *self)
{
    (void)printf("%" PRIu64 " rounds there and back, %" PRIu64
                 " restarts as the other release, %" PRIu64 " of them by kill -9\n%" PRIu64
                 " filters made, grown and dropped; %" PRIu64 " imprints read back\n",
                 self->rounds, self->restarts, self->killed, self->filters, self->imprints);
}
