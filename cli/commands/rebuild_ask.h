/* rebuild_ask.h - what `orbloom rebuild` asks of coordinators.
 *
 * Everything goes by the ids of the filter and of the rebuild that were seen first, so that what
 * comes late, or again, means these and no later ones.
 *
 * Errors:  printed; exit codes of cmd.h.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_COMMANDS_REBUILD_ASK_H
#define ORBLOOM_CLI_COMMANDS_REBUILD_ASK_H

#include "cli/flags.h"
#include "proto/codec.h"

struct rebuild_ask {
    const struct flags_common *common;
    const char *name;
    uint64_t filter_id;
    uint32_t open;    /* the rebuild's number; 0: none is open */
    uint32_t serving; /* that of the keys that checks read */
};

/* How the filter stands. */
int rebuild_look(struct rebuild_ask *self, const struct flags_common *common, const char *name);

/* Begin, commit or abort. The first two wait for nodes to confirm, for the common timeout; on a
 * terminal whom they wait for is shown. */
int rebuild_do(const struct rebuild_ask *self, enum rebuild_step step, bool yes);

/* So many keys of a list have been acknowledged. */
int rebuild_tell_fed(const struct rebuild_ask *self, uint64_t keys);

#endif
