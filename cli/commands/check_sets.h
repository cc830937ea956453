/* check_sets.h - sets of replica slots, as `check --replicas` names them.
 *
 * "0,1" is one set, "0,1/1,2" are two, "all" is every set of R of N slots.
 *
 * Units:   a set is a mask, bit i for slot i.
 * Errors:  STATUS_INVALID: no such list; outputs are untouched.
 * Threads: any.
 */
#ifndef ORBLOOM_CLI_COMMANDS_CHECK_SETS_H
#define ORBLOOM_CLI_COMMANDS_CHECK_SETS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHECK_MAX_SETS = 64, /* the most subsets of one size are C(7, 3) = 35 */
    CHECK_SET_BYTES = 16,
};

struct check_sets {
    bool all; /* known once N and R are */
    uint32_t masks[CHECK_MAX_SETS];
    size_t count;
};

MUST_USE enum status check_sets_parse(const char *text, struct check_sets *out);

/* Every set of `size` of `slots` slots, in the order of their masks. */
void check_sets_fill(struct check_sets *out, uint32_t slots, uint32_t size);

/* 5 -> "0,2". Returns `text`. */
const char *check_set_show(uint32_t mask, char text[CHECK_SET_BYTES]);

#endif
