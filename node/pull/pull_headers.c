/* What headers show to be lacking, and how it is named when asked for. */
#include "base/heap.h"
#include "node/pull/pull_private.h"

#include <assert.h>

enum { IDLE_DOUBLINGS = 3 };

/* Put what `have` lacks of one interval into `out`, which has room for the most there can be;
 * returns how many intervals that makes. */
static size_t lacking(const struct pull *self, const struct pull_interval *interval,
                      struct batch_set *have, struct pull_interval *out)
{
    struct number_range ranges[BATCH_SET_RANGES + 1];
    const struct batch_series_key key = {
        .producer_id = interval->producer_id,
        .filter_id = self->scope.filter_id,
        .epoch = interval->epoch,
        .slice = self->scope.slice,
        .keyset = self->scope.keyset,
        .group = self->scope.group,
    };
    size_t count = batch_set_lacking(have, &key, interval->first,
                                     interval->first + (interval->count - 1), ranges,
                                     sizeof ranges / sizeof ranges[0]);

    for (size_t i = 0; i < count; i++) {
        out[i] = *interval;
        out[i].first = ranges[i].first;
        out[i].count = ranges[i].last - ranges[i].first + 1;
    }
    return count;
}

/* False: there is no room for all of it. */
static bool want(struct pull *self, const struct pull_interval *interval, struct batch_set *have)
{
    struct pull_interval parts[BATCH_SET_RANGES + 1];
    size_t count = lacking(self, interval, have, parts);

    if (count > PULL_MAX_WANTED - self->nwanted) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        self->wanted[self->nwanted++] = parts[i];
    }
    return true;
}

static uint64_t lowest_offset(const struct pull *self)
{
    uint64_t lowest = self->page_next;

    for (uint32_t i = 0; i < self->nwanted; i++) {
        if (self->wanted[i].offset < lowest) {
            lowest = self->wanted[i].offset;
        }
    }
    return lowest > self->from ? lowest : self->from;
}

/* Fetch what is lacking; all of the page when that is too scattered to be named. */
static void fetch(struct pull *self, const struct pull_reply *reply, struct batch_set *have)
{
    bool named = true;

    self->page_next = reply->next;
    for (size_t i = 0; i < reply->nintervals && named; i++) {
        named = want(self, &reply->intervals[i], have);
    }
    if (!named) {
        pull_drop_wanted(self);
        self->phase = PULL_PHASE_FETCH;
    } else if (self->nwanted > 0) {
        self->phase = PULL_PHASE_FETCH;
        self->from = lowest_offset(self);
    } else {
        pull_drop_wanted(self);
        pull_follow_from(self, reply->next);
    }
}

/* Only intervals that are gone altogether are dropped: others cost little. */
void pull_trim(struct pull *self, struct batch_set *have)
{
    struct pull_interval parts[BATCH_SET_RANGES + 1];
    uint32_t kept = 0;

    if (self->phase != PULL_PHASE_FETCH || self->wanted == NULL) {
        return;
    }
    for (uint32_t i = 0; i < self->nwanted; i++) {
        if (lacking(self, &self->wanted[i], have, parts) > 0) {
            self->wanted[kept++] = self->wanted[i];
        }
    }
    self->nwanted = kept;
    if (kept == 0) {
        pull_drop_wanted(self);
        pull_follow_from(self, self->page_next);
    } else {
        self->from = lowest_offset(self);
    }
}

static void idle_until(struct pull *self, uint64_t now_us, bool met)
{
    /* A source where nothing comes is asked ever less often. */
    self->idle = met ? 0 : self->idle + (self->idle < IDLE_DOUBLINGS);
    self->due_us = now_us + (self->interval_us << self->idle);
}

bool pull_may_sleep(const struct pull *self, uint64_t position)
{
    return self->purpose == PULL_DELTA && self->phase == PULL_PHASE_FOLLOW && !self->asked &&
           !self->catching_up && self->failures == 0 && self->from >= position;
}

void pull_pass(struct pull *self, uint64_t position)
{
    if (position > self->from) {
        pull_follow_from(self, position);
    }
}

enum status pull_take_headers(struct pull *self, uint64_t now_us, const struct pull_reply *reply,
                              struct batch_set *have)
{
    assert(self->phase == PULL_PHASE_FOLLOW);
    if (reply->nintervals > 0) {
        /* Before anything changes, so that a page which can't be kept is asked for again. */
        self->wanted = heap_alloc(PULL_MAX_WANTED, sizeof *self->wanted);
        if (self->wanted == NULL) {
            return STATUS_NOMEM;
        }
    }
    pull_answered(self, now_us);
    self->page_met = reply->nintervals > 0;
    fetch(self, reply, have);
    if (self->phase == PULL_PHASE_FOLLOW && reply->end) {
        idle_until(self, now_us, reply->nintervals > 0);
    }
    return STATUS_OK;
}
