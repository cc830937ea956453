/* pull_private.h - the steps that node/pull/pull*.c share. */
#ifndef ORBLOOM_NODE_PULL_PULL_PRIVATE_H
#define ORBLOOM_NODE_PULL_PULL_PRIVATE_H

#include "node/pull/pull.h"

/* An answer of use: no question is under way, the next one may be asked at once. */
void pull_answered(struct pull *self, uint64_t now_us);

/* All below `cursor` is here: look at headers from there on. */
void pull_follow_from(struct pull *self, uint64_t cursor);

void pull_drop_wanted(struct pull *self);

#endif
