/* create.h - make a filter as the torture needs it, with the durability that it says.
 *
 * Threads: one a channel.
 */
#ifndef ORBLOOM_TESTS_TORTURE_CREATE_H
#define ORBLOOM_TESTS_TORTURE_CREATE_H

#include "client/shell_channel.h"
#include "tests/torture/torture.h"

enum { CREATE_ERROR_BYTES = 300 };

struct creator {
    struct torture *torture;
    struct channel *channel;
    enum status status; /* of the last one */
    char error[CREATE_ERROR_BYTES];
};

bool creator_open(struct creator *self, struct torture *torture);
void creator_close(struct creator *self);

/* One attempt; fine when it exists with these parameters. */
MUST_USE enum status creator_create(struct creator *self, const char *name, uint64_t keys,
                                    enum durability durability);

#endif
