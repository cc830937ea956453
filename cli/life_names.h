/* life_names.h - how people name lives of nodes for which they vouch.
 *
 *   NODE                 the life that the node has now, as the coordinator shows it; while that
 *                        is alive, those before it
 *   NODE@INCARNATION     that one: as `orbloom status` shows it, in hexadecimal
 *   #NUMBER@INCARNATION  of a node that is not listed any more
 *
 * Errors:  STATUS_INVALID, STATUS_NOT_FOUND, with a reason; outputs are untouched.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_CLI_LIFE_NAMES_H
#define ORBLOOM_CLI_LIFE_NAMES_H

#include "proto/admin_message.h"

enum { LIFE_REASON_BYTES = 256 };

struct life_names {
    struct vouched_life lives[ADMIN_MAX_LIVES];
    size_t count;
};

/* Lives separated by commas; "" and NULL: none. */
MUST_USE enum status life_names_resolve(const char *text, const struct node_summary *nodes,
                                        size_t nnodes, struct life_names *out,
                                        char reason[LIFE_REASON_BYTES]);

#endif
