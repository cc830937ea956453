/* gathered.h - what `orbloom doctor` has found out before it judges: the answers of the cluster's
 * processes, and how the machine is on which the command runs.
 *
 * Units:   microseconds, bytes; dates in milliseconds since 1970.
 * Owner:   gather.h's; judgements borrow all of it.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_DOCTOR_GATHERED_H
#define ORBLOOM_CLI_DOCTOR_GATHERED_H

#include "cli/site_lag.h"
#include "proto/codec.h"

enum { DOCTOR_TEXT_BYTES = 768, MACHINE_TEXT_BYTES = 64 };

/* What became of a question. */
struct doctor_answer {
    bool asked;
    enum status status;          /* OK: it was answered */
    const struct frame *frame;   /* the answer; NULL: none */
    char why[DOCTOR_TEXT_BYTES]; /* else cause and remedy */
};

enum doctor_kind { DOCTOR_COORDINATOR, DOCTOR_ROUTER, DOCTOR_NODE, DOCTOR_LINK, DOCTOR_NKINDS };

/* A process that is known of: by a flag or the environment, or as a coordinator tells of it. */
struct doctor_process {
    enum doctor_kind kind;
    char name[DOCUMENT_TEXT_BYTES]; /* "": it has not told */
    char endpoint[DOCUMENT_TEXT_BYTES];
    bool loopback;  /* the endpoint is one that only its own machine reaches */
    bool encrypted; /* it was asked by CURVE */
    uint64_t round_trip_us;
    struct doctor_answer stats;
    struct doctor_answer status; /* coordinators: ADMIN_STATUS, ADMIN_UPGRADE_STATUS */
    struct doctor_answer upgrade;
};

struct machine {
    char host[MACHINE_TEXT_BYTES];
    uint64_t descriptors;                /* that this process may have; 0: not known */
    char huge_pages[MACHINE_TEXT_BYTES]; /* "always", "madvise", "never"; "": not known */
    bool swap_known;
    uint64_t swap_bytes;
    uint64_t swap_used_bytes;
    int overcommit; /* vm.overcommit_memory; -1: not known */
};

/* A backup of the store that was named. */
struct backup {
    const char *path; /* NULL: none was */
    enum status status;
    const char *reason; /* why it is none */
    uint64_t age_ms;
    uint64_t key; /* cluster_key_tag() of the ring that has signed it */
};

struct gathered {
    struct doctor_process *processes; /* coordinators, routers, nodes, links */
    size_t nprocesses;
    const struct admin_reply
        *cluster; /* last status of the first coordinator that told; NULL: none */
    const struct admin_reply *earlier; /* the same one's, looked_us before; NULL: not asked for */
    const struct admin_reply *amid;    /* ... and amid_us after that; NULL: it was not told */
    uint64_t looked_us;
    uint64_t amid_us;
    struct doctor_answer sites; /* ADMIN_SITE */
    struct doctor_answer users; /* ADMIN_USER_LIST */
    uint64_t users_now_ms;      /* this machine's clock, when that was answered */
    struct site_lags lags;
    struct machine machine;
    struct backup backup;
};

/* A counter of the process; false: it does not tell it, or was not heard. */
bool gathered_counter(const struct doctor_process *process, const char *name, uint64_t *value);

/* Has it told anything? */
bool gathered_answered(const struct doctor_process *process);

/* As far as it has told. */
const char *gathered_name(const struct doctor_process *process);

/* "node" */
const char *doctor_kind_name(enum doctor_kind kind);

/* "node node-1" */
const char *gathered_place(const struct doctor_process *process, char text[DOCTOR_TEXT_BYTES]);

#endif
