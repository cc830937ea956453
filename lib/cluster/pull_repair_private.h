/* pull_repair_private.h - the steps that lib/cluster/pull_repair*.c share. */
#ifndef ORBLOOM_CLUSTER_PULL_REPAIR_PRIVATE_H
#define ORBLOOM_CLUSTER_PULL_REPAIR_PRIVATE_H

#include "cluster/pull_repair.h"

/* How many of the nodes the question is about. */
size_t repair_asked(const struct repair *self);

#endif
