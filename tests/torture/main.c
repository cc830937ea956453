/* torture - real processes under real faults: no acknowledged key may be lost. See docs/torture.md
 */
#include "runtime/process.h"
#include "tests/torture/directed.h"
#include "tests/torture/journal.h"
#include "tests/torture/mixed.h"
#include "tests/torture/report.h"
#include "tests/torture/upgrade.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INTERRUPTED = 130 };

const uint32_t torture_sets[TORTURE_SETS] = {3, 5, 6};

/* While processes become others no replica leaves its node: every process waits for all to be FULL.
 * Nothing grows or moves without a log. A majority can only be wiped in quiet. Clients notice
 * another cluster key by CURVE alone. */
bool torture_may(const struct torture *torture, const char *what)
{
    const struct options *options = &torture->options;
    bool rotates = strcmp(what, "rotate") == 0;
    bool moves = strcmp(what, "move") == 0 || strcmp(what, "rebalance") == 0;

    return (rotates ? options->curve : !options->in_memory) &&
           options->sabotage != SABOTAGE_WIPE_MAJORITY &&
           !options_list_has(options->without, what) &&
           (!moves || (options->nodes > TORTURE_REPLICAS && options->upgrade == NULL));
}

static void on_signal(int number)
{
    (void)number;
    run_interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
}

static bool prepare(struct run *run)
{
    struct torture *torture = &run->torture;
    bool late;

    tally_init(&torture->tally);
    ledger_init(&torture->ledger);
    atomic_store(&torture->patience_ms, torture->options.patience * 1000);
    atomic_store(&torture->pace, torture->options.pace);
    if (!cluster_open(&torture->cluster, &torture->options)) {
        return false;
    }
    journal_tell("seed %" PRIu64 ", %" PRIu64 " nodes, %" PRIu64
                 " routers, %d coordinators, partitions %s, in %s",
                 torture->options.seed, torture->options.nodes, torture->options.routers,
                 CLUSTER_COORDINATORS,
                 torture->cluster.network.namespaces ? "by network namespaces" : "none",
                 torture->cluster.dir);
    late = torture->cluster.network.namespaces && torture->options.change == CHANGE_NONE &&
           torture_may(torture, "move") && torture_may(torture, "rebalance");
    if (!cluster_start(&torture->cluster, late)) {
        return false;
    }
    atomic_store(&torture->late, late ? torture->cluster.ndaemons : 0);
    (void)cluster_list(&torture->cluster, DAEMON_ROUTER, torture->routers);
    (void)cluster_list(&torture->cluster, DAEMON_COORDINATOR, torture->coordinators);
    return torture->options.change == CHANGE_NONE ? churn_begin(torture) : directed_begin(torture);
}

/* Returns the exit status. */
static int run_it(struct run *run, uint64_t start_ms)
{
    struct directed directed;
    struct upgrade upgrade;

    if (run->torture.options.upgrade != NULL) {
        upgrade_run(&upgrade, run);
        return upgrade_report(&upgrade, journal_now_ms() - start_ms);
    }
    if (run->torture.options.change != CHANGE_NONE) {
        directed_run(&directed, run);
        return directed_report(&directed, journal_now_ms() - start_ms);
    }
    mixed_run(run);
    return report_end(&run->torture, &run->faults, journal_now_ms() - start_ms);
}

int main(int argc, char **argv)
{
    struct run *run = calloc(1, sizeof *run);
    uint64_t start_ms = journal_now_ms();
    int code = 1;

    process_prepare();
    if (run == NULL || options_parse(&run->torture.options, argc, argv, &code) != 0) {
        free(run);
        return code;
    }
    catch_signals();
    if (prepare(run)) {
        code = run_it(run, start_ms);
    }
    code = run_interrupted != 0 ? INTERRUPTED : code;
    cluster_close(&run->torture.cluster, run->torture.options.keep || code == 1);
    ledger_fini(&run->torture.ledger);
    free(run);
    return code;
}
