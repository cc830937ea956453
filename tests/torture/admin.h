/* admin.h - a command to the coordinators, as an operator would give it: one attempt.
 *
 * Errors:  as the coordinator said, with its words in `error`.
 * Owner:   admin_open()'s caller calls admin_close().
 * Threads: one a struct admin.
 */
#ifndef ORBLOOM_TESTS_TORTURE_ADMIN_H
#define ORBLOOM_TESTS_TORTURE_ADMIN_H

#include "client/shell_channel.h"
#include "tests/torture/torture.h"

enum { ADMIN_ERROR_BYTES = 300 };

struct admin {
    struct torture *torture;
    struct channel *channel;
    enum status status; /* of the last one */
    char error[ADMIN_ERROR_BYTES];
};

/* False: said in the tally. */
bool admin_open(struct admin *self, struct torture *torture);
void admin_close(struct admin *self);

MUST_USE enum status admin_ask(struct admin *self, const struct admin_request *request);

struct admin_kind {
    bool sync;          /* else left to the kernel */
    bool grows;         /* by itself: it begins with a quarter of the room */
    bool bits_only;     /* no log of keys */
    uint64_t window_ms; /* 0: none */
};

/* Fine when it exists with these parameters. */
MUST_USE enum status admin_create(struct admin *self, const char *name, uint64_t keys,
                                  const struct admin_kind *kind);

/* Capacity 0 or rate 0: as it is. */
MUST_USE enum status admin_expand(struct admin *self, const char *name,
                                  const struct expand_parameters *wish);

MUST_USE enum status admin_drain(struct admin *self, const char *node, bool undo);
MUST_USE enum status admin_rebalance(struct admin *self, bool undo);
MUST_USE enum status admin_replace(struct admin *self, const char *node, const char *successor);

#endif
