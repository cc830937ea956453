/* Asks once more for what was lost, prints what was counted, and says what that means. */
#include "tests/torture/report.h"

#include "base/number.h"
#include "client/orbloom.h"
#include "tests/torture/journal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { TIMEOUT_MS = 2000, SHOWN_LOSSES = 8 };

static void ask_again(struct torture *torture, const struct tally_loss *loss,
                      const struct daemon *router, FILE *list)
{
    struct orbloom_options options = {.routers = router->endpoint,
                                      .coordinators = torture->coordinators,
                                      .timeout_ms = TIMEOUT_MS};
    char bytes[LEDGER_KEY_BYTES];
    uint32_t length = LEDGER_KEY_BYTES;
    struct orbloom *handle = NULL;

    ledger_key(loss->number, bytes);
    if (orbloom_connect(&options, &handle) == ORBLOOM_OK) {
        for (uint32_t i = 0; i <= TORTURE_SETS; i++) {
            struct orbloom_request request = {.filter = loss->filter,
                                              .operation = ORBLOOM_CHECK,
                                              .keys = {bytes, &length, 1},
                                              .replicas = i == 0 ? 0 : torture_sets[i - 1]};
            static const char *const words[] = {"unknown", "present", "ABSENT", "maybe"};
            struct orbloom_completion done;

            if (orbloom_submit(handle, &request) == ORBLOOM_OK &&
                orbloom_wait(handle, 2 * TIMEOUT_MS, &done) == 1) {
                (void)fprintf(list, "%.16s %s through %s, slots %#x: %s %s\n", bytes, loss->filter,
                              router->name, request.replicas, words[done.answers[0]], done.message);
            }
        }
    }
    orbloom_close(&handle);
}

void report_losses(struct torture *torture)
{
    char path[DAEMON_PATH_BYTES];
    FILE *list;

    (void)snprintf(path, sizeof path, "%s/lost", torture->cluster.dir);
    list = fopen(path, "we");
    for (uint32_t i = 0; list != NULL && i < torture->tally.nlosses && i < SHOWN_LOSSES; i++) {
        const struct daemon *router;

        for (uint32_t at = 0;
             (router = cluster_next(&torture->cluster, DAEMON_ROUTER, &at)) != NULL;) {
            ask_again(torture, &torture->tally.losses[i], router, list);
        }
    }
    if (list != NULL) {
        (void)fclose(list);
        journal_tell("what every router and set of replicas says of lost keys: %s", path);
    }
}

static const char *const state_names[TALLY_STATES] = {
    [TALLY_STILL] = "still",
    [TALLY_GROWING] = "growing",
    [TALLY_VALVE] = "valve open",
    [TALLY_MOVING] = "moving",
};

/* Far above what chance does at the bound, which the fill stays below. */
void report_judge_rate(struct torture *torture)
{
    for (uint32_t state = 0; state < TALLY_STATES; state++) {
        double asked = (double)atomic_load(&torture->tally.never[state].asked);
        double present = (double)atomic_load(&torture->tally.never[state].present);

        if (present > TORTURE_RATE * asked + 5 * sqrt(TORTURE_RATE * asked) + 5) {
            tally_fail(&torture->tally,
                       "RATE: %.0f of %.0f keys that nobody added are called present (%s); the "
                       "bound is %.3g",
                       present, asked, state_names[state], TORTURE_RATE);
        }
    }
}

static void print_rates(const struct tally *tally)
{
    char text[NUMBER_TEXT_BYTES];

    for (uint32_t state = 0; state < TALLY_STATES; state++) {
        double asked = (double)atomic_load(&tally->never[state].asked);
        double present = (double)atomic_load(&tally->never[state].present);

        (void)printf("%-18s %16.4f %% of %s keys never added, %s; bound %g %%\n",
                     state == 0 ? "false positives" : "", asked > 0 ? 100 * present / asked : 0,
                     number_show_count((uint64_t)asked, text), state_names[state],
                     100 * TORTURE_RATE);
    }
}

static void print_actions(const struct tally *tally)
{
    char text[NUMBER_TEXT_BYTES];

    (void)printf("expansions         %16" PRIu64 "   by a chain %" PRIu64 ", taken back %" PRIu64
                 ", keys FULL meanwhile %s\n",
                 atomic_load(&tally->expansions), atomic_load(&tally->chains),
                 atomic_load(&tally->aborts), number_show_count(atomic_load(&tally->full), text));
    (void)printf("drains             %16" PRIu64 "   lost nodes replaced %" PRIu64
                 ", rebalanced %" PRIu64 "\n",
                 atomic_load(&tally->drains), atomic_load(&tally->replacements),
                 atomic_load(&tally->rebalances));
    (void)printf("slices of a window %16" PRIu64 "   keys absent when it was over %s\n",
                 atomic_load(&tally->slices),
                 number_show_count(atomic_load(&tally->expired), text));
}

static void print_rotations(const struct tally *tally)
{
    (void)printf("rotations          %16" PRIu64 "   credentials renewed %" PRIu64
                 ", faults in add %" PRIu64 ", renew %" PRIu64 ", promote %" PRIu64
                 ", sign %" PRIu64 ", retire %" PRIu64 "\n",
                 atomic_load(&tally->rotations), atomic_load(&tally->renewals),
                 atomic_load(&tally->rotation_faults[TALLY_ADD]),
                 atomic_load(&tally->rotation_faults[TALLY_RENEW]),
                 atomic_load(&tally->rotation_faults[TALLY_PROMOTE]),
                 atomic_load(&tally->rotation_faults[TALLY_SIGN]),
                 atomic_load(&tally->rotation_faults[TALLY_RETIRE]));
}

static void print_totals(const struct torture *torture, const struct faults *faults,
                         uint64_t took_ms)
{
    const struct tally *tally = &torture->tally;
    char text[7][NUMBER_TEXT_BYTES];

    if (torture->options.change == CHANGE_NONE) {
        (void)printf("\n");
        coverage_print(&faults->coverage, faults->rows, stdout);
        (void)printf("\n");
    }
    (void)printf("time               %16.1f s\n", (double)took_ms / 1000);
    (void)printf("faults             %16s\n", number_show_count(faults->coverage.faults, text[0]));
    (void)printf("acknowledged adds  %16s\n",
                 number_show_count(atomic_load(&torture->ledger.acked), text[1]));
    (void)printf("  not acknowledged %16s\n",
                 number_show_count(atomic_load(&tally->unacknowledged), text[2]));
    (void)printf("keys read back     %16s\n",
                 number_show_count(atomic_load(&tally->read_back), text[3]));
    (void)printf("  asked again      %16s\n",
                 number_show_count(atomic_load(&tally->again), text[4]));
    (void)printf("  unsure sets      %16s\n",
                 number_show_count(atomic_load(&tally->unsure), text[5]));
    (void)printf("read-backs         %16s\n",
                 number_show_count(atomic_load(&tally->passes), text[6]));
    (void)printf("healed             %16" PRIu64 "   slowest %.1f s\n", faults->heals,
                 (double)faults->heal_ms_max / 1000);
    print_actions(tally);
    if (torture_may(torture, "rotate") && torture->options.change == CHANGE_NONE) {
        print_rotations(tally);
    }
    print_rates(tally);
    (void)printf("partitions         %16s\n",
                 torture->cluster.network.namespaces ? "by network namespaces" : "none");
}

static void explain(const struct torture *torture)
{
    const struct options *options = &torture->options;

    (void)printf(
        "look: %s/journal has what was done when, */log what each daemon says, */conf and\n"
        "      */data what it ran with; `lost` there what was answered about lost keys\n"
        "again: --seed %" PRIu64 " makes the same choices (real time is never the same)\n",
        torture->cluster.dir, options->seed);
}

int report_end(struct torture *torture, const struct faults *faults, uint64_t took_ms)
{
    struct tally *tally = &torture->tally;
    bool failed = atomic_load(&tally->failed);
    char text[2][NUMBER_TEXT_BYTES];

    print_totals(torture, faults, took_ms);
    if (failed) {
        explain(torture);
        (void)printf("torture: FAILED: %s\n", tally->reason);
    } else {
        (void)printf("torture: %s faults, %s acknowledged adds, 0 lost\n",
                     number_show_count(faults->coverage.faults, text[0]),
                     number_show_count(atomic_load(&torture->ledger.acked), text[1]));
    }
    (void)fflush(stdout);
    return failed ? 1 : 0;
}
