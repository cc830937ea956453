/* torture.h - what all parts of the torture share.
 *
 * The main thread injects faults and looks after processes (faults.h); other threads add keys
 * (adds.h), check them (checks.h), read them back after faults (readback.h), create and drop
 * filters (churn.h), have them grow and shrink (grow.h), move replicas (move.h) and watch what the
 * cluster says of itself (watch.h).
 *
 * Threads: as each part says; `ending` and `over` may be read by any.
 */
#ifndef ORBLOOM_TESTS_TORTURE_TORTURE_H
#define ORBLOOM_TESTS_TORTURE_TORTURE_H

#include "tests/torture/cluster.h"
#include "tests/torture/ledger.h"
#include "tests/torture/tally.h"

enum {
    TORTURE_REPLICAS = 3, /* N, W and R of every filter */
    TORTURE_WRITE = 2,
    TORTURE_READ = 2,
    TORTURE_SETS = 3, /* sets of R of N slots */
};

#define TORTURE_RATE 0.01

struct torture {
    struct options options;
    struct cluster cluster;
    struct ledger ledger;
    struct tally tally;
    char routers[CLUSTER_LIST_BYTES];
    char coordinators[CLUSTER_LIST_BYTES];
    _Atomic uint32_t creating; /* calls under way */
    _Atomic uint32_t dropping;
    _Atomic uint32_t adding;
    _Atomic uint32_t checking;
    _Atomic uint32_t spare; /* index + 1 of a node without replicas that may take a lost one's */
    _Atomic uint32_t replacing; /* index + 1 of the lost one, while it waits for that */
    _Atomic uint32_t late;      /* index + 1 of a node that comes later; 0: none, or it is there */
    _Atomic uint32_t rotating;  /* enum tally_rotation: the step under way */
    _Atomic uint64_t hangups;   /* bit set of daemons that are to get SIGHUP, when they run */
    _Atomic uint64_t pace;      /* adds a second */
    _Atomic uint64_t patience_ms; /* so long may the cluster leave a question open */
    _Atomic bool eased;           /* the cluster is slow to heal: little is asked of it */
    _Atomic bool ending;          /* no more adds, no more filters */
    _Atomic bool over;            /* every thread ends */
};

/* The capacity of a filter for so many keys. */
uint64_t torture_room(uint64_t keys);

/* May filters "grow", replicas "move", the cluster key "rotate"? As options and the cluster allow.
 */
bool torture_may(const struct torture *torture, const char *what);

/* Bit sets of slots: every set of R of N. */
extern const uint32_t torture_sets[TORTURE_SETS];

#endif
