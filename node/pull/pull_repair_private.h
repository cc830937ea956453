/* pull_repair_private.h - the steps that node/pull/pull_repair*.c share. */
#ifndef ORBLOOM_NODE_PULL_PULL_REPAIR_PRIVATE_H
#define ORBLOOM_NODE_PULL_PULL_REPAIR_PRIVATE_H

#include "node/pull/pull_repair.h"

/* How many of the nodes the question is about. */
size_t repair_asked(const struct repair *self);

#endif
