/* pull_private.h - the steps that node/pull/pull*.c share. */
#ifndef ORBLOOM_NODE_PULL_PULL_PRIVATE_H
#define ORBLOOM_NODE_PULL_PULL_PRIVATE_H

#include "node/pull/pull.h"

/* An answer of use: no question is under way, the next one may be asked at once. */
void pull_answered(struct pull *self, uint64_t now_us);

/* All below `cursor` is here: look at headers from there on. */
void pull_follow_from(struct pull *self, uint64_t cursor);

/* What an answer tells of its source's log, while runs or pages are read; and: all were read. */
void pull_read_some(struct pull *self, const struct pull_reply *reply);
void pull_read_all(struct pull *self);

/* Of an answer in WANTED. */
void pull_take_wanted(struct pull *self, const struct pull_reply *reply);

void pull_drop_wanted(struct pull *self);

/* Pages of an array, not fingerprints. */
bool pull_of_lines(const struct pull *self);

#endif
