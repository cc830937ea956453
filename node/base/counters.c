/* The table of counters, as names for those who show them. */
#include "node/base/counters.h"

static const struct counter_def counter_defs[] = {
#define X(name, unit, help) {#name, unit, help},
    NODE_COUNTERS(X)
#undef X
};

struct counter_table node_counters(void)
{
    return (struct counter_table){.defs = counter_defs, .count = NODE_NCOUNTERS};
}
