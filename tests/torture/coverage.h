/* coverage.h - which fault has hit which kind of process in which phase of work, how often.
 *
 * A fault counts in every phase that was going on when it began.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_TORTURE_COVERAGE_H
#define ORBLOOM_TESTS_TORTURE_COVERAGE_H

#include "tests/torture/daemon.h"

#include <stdio.h>

enum fault {
    FAULT_KILL,     /* kill -9, and started again */
    FAULT_KILL_ALL, /* of everything at once */
    FAULT_STOP,     /* SIGSTOP for a while */
    FAULT_CUT,      /* cut off from some or all others for a while */
    FAULT_WIPE,     /* killed, its folder emptied */
    FAULT_ROLLBACK, /* killed, its folder replaced by a copy of an earlier life */
    FAULT_REPLACE,  /* killed, its folder emptied, its replicas given to another node meanwhile */
    FAULT_REWIND,   /* the same with a copy made in its very last life */
};

enum phase {
    PHASE_CREATE, /* a filter is being created */
    PHASE_ADD,    /* adds are in flight */
    PHASE_CHECK,
    PHASE_REPLAY, /* a node is starting, or reads its log back */
    PHASE_SYNC,   /* a replica is JOINING */
    PHASE_MERGE,  /* some node's runs have changed */
    PHASE_DROP,
    PHASE_GROW,  /* a filter is on its way to another generation */
    PHASE_VALVE, /* and has keys in arrays that are not complete */
    PHASE_MOVE,  /* replicas go to another node */
    PHASES
};

struct coverage_row {
    const char *name; /* "kill-node" */
    enum fault fault;
    enum daemon_kind kind;
};

enum { COVERAGE_ROWS = 14 };

extern const struct coverage_row coverage_rows[COVERAGE_ROWS];

/* COVERAGE_ROWS: there is none. */
uint32_t coverage_row(enum fault fault, enum daemon_kind kind);

struct coverage {
    uint64_t faults; /* all */
    uint64_t hits[COVERAGE_ROWS];
    uint64_t cells[COVERAGE_ROWS][PHASES];
};

/* `phases`: a bit set. */
void coverage_count(struct coverage *self, uint32_t row, uint32_t phases);

/* Of the rows of the bit set, one that has been hit seldom; and of its phases one likewise. */
uint32_t coverage_choose_row(const struct coverage *self, uint32_t rows, uint64_t *random);
enum phase coverage_choose_phase(const struct coverage *self, uint32_t row, uint64_t *random);

const char *coverage_phase_name(enum phase phase);

/* "add,check". Returns `text`. */
const char *coverage_show_phases(uint32_t phases, char text[64]);

void coverage_print(const struct coverage *self, uint32_t rows, FILE *out);

#endif
