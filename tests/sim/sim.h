/* sim.h - one simulated cluster and one run of it: the parts, wired together.
 *
 * A run is a function of its seed: all chance comes from sim_random streams, all time from the
 * event queue, and the processes run the daemons' own cores on real frames.
 *
 * Owner:   sim_create()'s caller calls sim_destroy().
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_SIM_H
#define ORBLOOM_TESTS_SIM_SIM_H

#include "map/access/seal.h"
#include "tests/sim/sim_accept.h"
#include "tests/sim/sim_accepted.h"
#include "tests/sim/sim_client.h"
#include "tests/sim/sim_coverage.h"
#include "tests/sim/sim_expansion.h"
#include "tests/sim/sim_given_up.h"
#include "tests/sim/sim_invariant.h"
#include "tests/sim/sim_losses.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_operator.h"
#include "tests/sim/sim_oracle.h"
#include "tests/sim/sim_process.h"
#include "tests/sim/sim_queue.h"
#include "tests/sim/sim_random.h"
#include "tests/sim/sim_rebuild.h"
#include "tests/sim/sim_scenario.h"
#include "tests/sim/sim_show.h"
#include "tests/sim/sim_takeover.h"
#include "tests/sim/sim_trace.h"
#include "tests/sim/sim_users.h"
#include "tests/sim/sim_view.h"
#include "tests/sim/sim_window.h"
#include "tests/sim/sim_written.h"
#include "tests/support/memory_store.h"

enum { SIM_FAILURE_BYTES = 512 };

/* The streams of a seed. */
enum sim_stream {
    SIM_STREAM_NETWORK = 1,
    SIM_STREAM_SCENARIO,
    SIM_STREAM_LOAD,
    SIM_STREAM_DURABILITY,
    SIM_STREAM_EXPANSION,
    SIM_STREAM_REBUILD,
    SIM_STREAM_WINDOW,
    SIM_STREAM_ACCEPT,
    SIM_STREAM_STEPS,
    SIM_STREAM_REPORTS,
    SIM_STREAM_VOUCH,
    SIM_STREAM_USERS,
    SIM_STREAM_IMPRINTS,
    SIM_STREAM_DISK = 50,     /* plus index */
    SIM_STREAM_PROCESS = 100, /* plus index and generation */
};

enum sim_disks { SIM_DISKS_NEVER, SIM_DISKS_DRAWN, SIM_DISKS_ALWAYS };

/* What is asked of a run beside its seed. */
struct sim_options {
    enum sim_disks disks;
    bool lengthy;      /* ten times as long, under more load, always in a storm */
    uint32_t scenario; /* 0: drawn; else its kind plus one */
};

/* How the processes are configured in this run. */
struct sim_settings {
    char site[SITE_NAME_BYTES]; /* which one of several the cluster is; "": it has no name */
    uint32_t nnodes;            /* from the start; spares come later */
    uint32_t nspares;
    uint32_t nstandbys; /* machines that take over from others */
    uint32_t nrouters;
    uint32_t ncoordinators;
    uint32_t nclients;
    uint64_t faults_us; /* how long things go wrong */
    uint64_t sync_us;
    uint64_t hedge_us;
    uint64_t retry_us;
    uint64_t attempt_us;
    uint64_t node_timeout_us;
    uint64_t fence_retry_us;
    uint64_t replace_after_us;
    uint64_t moves_at_once;
    uint64_t retry_memory_bytes;
    uint64_t retry_memory_us;
    bool disks;    /* nodes have one each */
    bool unsynced; /* ... and some filter is acknowledged without a sync */
    uint64_t segment_bytes;
    uint64_t retain_bytes;
    uint64_t retain_us;
    uint64_t site_retain_bytes;
    uint64_t reserve_bytes;
    uint64_t imprint_bytes;
    uint32_t merge_runs; /* that become one; 0: as many as ever */
    uint64_t gossip_delay_us;
    uint64_t gossip_rate;
    uint64_t scrub_interval_us;
    uint32_t steps[NODE_NSTEPS]; /* of nodes, see steps.h */
    uint64_t report_groups;      /* slot groups that nodes tell coordinators of at once; 0: all */
};

struct sim {
    uint64_t seed;
    void *owner; /* whose it is, of who runs several; else NULL */
    struct sim_options options;
    uint64_t now_us;
    bool done;
    bool failed;
    uint64_t faults; /* but those of single messages */
    char failure[SIM_FAILURE_BYTES];

    struct sim_random random; /* the scenario's */
    struct sim_random network_random;
    struct sim_random load_random;
    struct sim_settings settings;
    struct cluster_key key;

    struct sim_queue queue;
    struct sim_trace trace;
    struct sim_network network;
    struct memory_store store;
    uint64_t
        store_slow_us; /* so long a question to it, or its answer, may be on its way; 0: as ever */
    struct sim_process *processes[SIM_MAX_PROCESSES];
    uint32_t nprocesses;

    struct sim_scenario scenario;
    struct sim_load load;
    struct sim_operator operator;
    struct sim_oracle oracle;
    struct sim_view view;
    struct sim_losses losses;
    struct sim_takeover takeover;
    struct sim_expansion expansion;
    struct sim_rebuild rebuild;
    struct sim_window window;
    struct sim_accept accept;
    struct sim_users users;
    struct sim_accepted accepted;
    struct sim_written written;
    struct sim_invariant invariant;
    struct sim_show show;
    struct sim_coverage *coverage; /* of all runs */
};

struct sim *sim_create(uint64_t seed, struct sim_options options, struct sim_coverage *coverage);

/* In two steps, for who draws another scenario: a cluster without processes, and all zero what is
 * drawn; and the processes that its settings say. */
struct sim *sim_create_empty(uint64_t seed, struct sim_options options,
                             struct sim_coverage *coverage);
void sim_populate(struct sim *self);

void sim_destroy(struct sim **sim);

/* To the end, or to the first broken promise. */
void sim_run(struct sim *self);

/* What comes next of all that is planned; false when nothing is. */
bool sim_step(struct sim *self);

/* A promise is broken: the run ends. Only the first one is kept. */
void sim_fail(struct sim *self, const char *format, ...) PRINTF_LIKE(2, 3);

/* Call `run` after `delay_us`. */
void sim_after(struct sim *self, uint64_t delay_us, sim_event_fn run, void *data, uint64_t number);

/* The number-th process of a kind, from 0; NULL when there are fewer. */
struct sim_process *sim_process_of(const struct sim *self, enum sim_kind kind, uint32_t number);
uint32_t sim_count(const struct sim *self, enum sim_kind kind);

#endif
