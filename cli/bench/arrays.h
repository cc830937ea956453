/* arrays.h - memory that the nodes of a cluster hold filter arrays in.
 *
 * Units:   bytes.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_BENCH_ARRAYS_H
#define ORBLOOM_CLI_BENCH_ARRAYS_H

#include "cli/bench/cpu.h"
#include "cli/flags.h"
#include "map/document.h"

struct arrays_node {
    char name[DOCUMENT_NAME_BYTES];
    char endpoint[DOCUMENT_TEXT_BYTES];
    uint64_t bytes;
    bool answered;
};

struct arrays {
    struct arrays_node nodes[CPU_MAX_PROCESSES];
    size_t count;
};

/* Ask a coordinator for the living nodes and each of them for its counter; who does not answer
 * at once is left out. */
void arrays_ask(struct arrays *self, const struct flags_common *common);

#endif
