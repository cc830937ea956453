/* plan.h - a first cluster: which files, where, and what is in them. Pure.
 *
 *   one machine      DIR: a coordinator on SQLite, three nodes, a router, on loopback
 *   three machines   DIR/MACHINE of each, to be copied there as /etc/orbloom: a node, a router, and
 * a coordinator, on the first one alone where the store is SQLite; by CURVE
 *
 * All hold the same secrets. What is not in a file of options has its default.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_SETUP_PLAN_H
#define ORBLOOM_CLI_SETUP_PLAN_H

#include "cli/keygen.h"

#include <stddef.h>
#include <stdint.h>

#define SETUP_HOME "/etc/orbloom"     /* where the units look for files */
#define SETUP_DATA "/var/lib/orbloom" /* ... and have data */

enum {
    SETUP_MACHINES = 3,
    SETUP_NODES = 3,
    SETUP_MACHINE_BYTES = 128,
    SETUP_DIR_BYTES = 1024,
    SETUP_FOLDER_BYTES = SETUP_DIR_BYTES + SETUP_MACHINE_BYTES + 1,
    SETUP_FILE_BYTES = 32,
    SETUP_PATH_BYTES = SETUP_FOLDER_BYTES + SETUP_FILE_BYTES,
    SETUP_MAX_FILES = SETUP_MACHINES * 5, /* three of options and two secrets, each */
    SETUP_TEXT_BYTES = 8192,
    SETUP_BASE_PORT = 7400,
    SETUP_HTTP_PORTS = 2000, /* above each process' own one */
};

struct setup_options {
    char dir[SETUP_DIR_BYTES]; /* absolute */
    char data[SETUP_DIR_BYTES];
    char machines[SETUP_MACHINES][SETUP_MACHINE_BYTES];
    size_t nmachines; /* 0: this one alone, on loopback */
    const char *etcd; /* URLs with commas between; NULL: SQLite */
    uint64_t base_port;
    uint64_t memory_bytes;           /* of each node of this one machine */
    char key[KEYGEN_TEXT_BYTES + 1]; /* lines */
    char token[KEYGEN_TEXT_BYTES + 1];
};

struct setup_file {
    char path[SETUP_PATH_BYTES];
    bool secret;
    char text[SETUP_TEXT_BYTES];
};

struct setup_plan {
    struct setup_file files[SETUP_MAX_FILES];
    size_t count;
};

/* Three different names or IPv4 addresses, with commas between, into `options`; false: they are
 * not. */
bool setup_read_machines(const char *text, struct setup_options *options);

/* Does that machine, counted from 0, run a coordinator? */
bool setup_has_coordinator(const struct setup_options *options, size_t machine);

/* The folder of that machine's files: DIR, or DIR/MACHINE. */
const char *setup_folder(const struct setup_options *options, size_t machine,
                         char path[SETUP_FOLDER_BYTES]);

/* Endpoints of all coordinators (offset 0) or routers (1), with `between` between; each is quoted
 * where `quote` is "\"". */
const char *setup_endpoints(const struct setup_options *options, unsigned offset, const char *quote,
                            const char *between, char *text, size_t size);

void setup_make_plan(const struct setup_options *options, struct setup_plan *plan);

#endif
