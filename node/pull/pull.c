/* The state machine: copying runs, then the log, then following it; each answer is judged by
 * what was asked. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/pull/pull_geometry.h"
#include "node/pull/pull_private.h"

#include <assert.h>

enum {
    RETRY_US = 100000,
    RETRY_DOUBLINGS = 6, /* 6.4 s at most */
    HASTE_DOUBLINGS = 1, /* 0.2 s, while a replica does not count before it has the answer */
    COPY_AFTER = 8,      /* failures of a comparison: some 25 s */
};

/* A source's log grows by what concerns other groups too; not every step is worth a record. */
#define CURSOR_STRIDE (UINT64_C(1) << 20)

static const double log_share = 0.1; /* of a copy, for its progress */

static void copy_from_start(struct pull *self)
{
    pull_pages_drop(&self->pages);
    self->phase = PULL_PHASE_RUNS;
    self->from = 0;
    self->merged = UINT64_MAX;
    self->through = 0;
}

void pull_follow_from(struct pull *self, uint64_t cursor)
{
    assert(self->purpose == PULL_DELTA); /* Who joins has nothing to follow until it is done. */
    self->phase = PULL_PHASE_FOLLOW;
    self->met = self->met || self->page_met;
    self->page_met = false;
    self->cursor = cursor;
    self->from = cursor;
}

void pull_init(struct pull *self, enum pull_purpose purpose, const struct pull_scope *scope,
               const struct member *source, const uint64_t *cursor, uint64_t interval_us)
{
    *self = (struct pull){
        .purpose = purpose,
        .scope = *scope,
        .source = *source,
        .interval_us = interval_us,
    };
    if (purpose == PULL_DELTA) {
        self->cursor_written = cursor != NULL ? *cursor : 0;
        pull_follow_from(self, self->cursor_written);
    } else if (cursor != NULL) {
        self->phase = PULL_PHASE_COMPLETE;
        self->cursor = *cursor;
    } else {
        copy_from_start(self);
    }
}

/* From the cursor, or from the log's beginning; where that is not kept any more a copy follows. */
void pull_catch_up(struct pull *self)
{
    self->catching_up = true;
    if (self->phase == PULL_PHASE_FOLLOW || self->phase == PULL_PHASE_COMPLETE) {
        self->phase = PULL_PHASE_LOG;
        self->from = self->cursor;
        self->merged = self->cursor;
        self->through = 0;
    }
}

bool pull_source_gone(struct pull *self, const struct pull_reply *reply)
{
    bool gone = reply->source.node == self->source.node && reply->source.incarnation != 0 &&
                reply->source.incarnation != self->source.incarnation;

    self->catching_up = self->catching_up && !(gone && self->purpose == PULL_DELTA);
    return gone;
}

void pull_drop_wanted(struct pull *self)
{
    heap_free(self->wanted);
    self->wanted = NULL;
    self->nwanted = 0;
}

void pull_fini(struct pull *self)
{
    pull_drop_wanted(self);
    pull_pages_drop(&self->pages);
}

uint64_t pull_due_us(const struct pull *self)
{
    bool waits = self->phase == PULL_PHASE_SETTLE || self->phase == PULL_PHASE_COMPLETE ||
                 self->phase == PULL_PHASE_REPAIR || self->phase == PULL_PHASE_COMPARE;

    return waits || self->asked ? UINT64_MAX : self->due_us;
}

void pull_answered(struct pull *self, uint64_t now_us)
{
    self->asked = false;
    self->failures = 0;
    self->due_us = now_us;
}

static void copied(struct pull *self)
{
    self->cursor = self->through;
    self->catching_up = false;
    if (self->purpose == PULL_SYNC) {
        self->phase = PULL_PHASE_SETTLE;
    } else {
        self->page_met = true; /* The way back to here must not be gone again. */
        pull_follow_from(self, self->through);
    }
}

static void set_end(struct pull *self, const struct pull_reply *reply)
{
    if (self->through == 0) {
        self->through = reply->durable > reply->fence_position ? reply->durable
                                                               : reply->fence_position;
    }
}

void pull_read_some(struct pull *self, const struct pull_reply *reply)
{
    set_end(self, reply);
    self->merged = reply->merged < self->merged ? reply->merged : self->merged;
}

void pull_read_all(struct pull *self)
{
    self->phase = PULL_PHASE_LOG;
    self->from = self->merged;
    if (self->from >= self->through) {
        copied(self);
    }
}

static void take_runs(struct pull *self, const struct pull_reply *reply)
{
    pull_read_some(self, reply);
    self->from = reply->next;
    if (reply->end) {
        pull_read_all(self);
    }
}

void pull_pause(struct pull *self, uint64_t now_us)
{
    self->due_us = now_us + RETRY_US;
}

static void take_log(struct pull *self, uint64_t now_us, const struct pull_reply *reply)
{
    set_end(self, reply);
    if (reply->next == self->from && reply->next < self->through) {
        pull_pause(self, now_us); /* The rest is not durable there yet. */
    }
    self->from = reply->next;
    if (self->from >= self->through) {
        copied(self);
    }
}

static void take_bodies(struct pull *self, uint64_t now_us, const struct pull_reply *reply)
{
    if (reply->end || reply->next >= self->page_next) {
        pull_drop_wanted(self);
        pull_follow_from(self, self->page_next);
        return;
    }
    if (reply->next == self->from) {
        pull_pause(self, now_us);
    }
    self->from = reply->next;
}

void pull_take(struct pull *self, uint64_t now_us, const struct pull_reply *reply,
               uint64_t appended)
{
    pull_answered(self, now_us);
    self->appended = appended > self->appended ? appended : self->appended;
    if (self->phase == PULL_PHASE_RUNS) {
        take_runs(self, reply);
    } else if (self->phase == PULL_PHASE_LOG) {
        take_log(self, now_us, reply);
    } else if (self->phase == PULL_PHASE_FETCH) {
        take_bodies(self, now_us, reply);
    } else if (self->phase == PULL_PHASE_WANTED) {
        pull_take_wanted(self, reply);
    }
}

static bool compares(const struct pull *self)
{
    return self->phase == PULL_PHASE_SHARDS || self->phase == PULL_PHASE_PAGES ||
           self->phase == PULL_PHASE_WANTED;
}

void pull_failed(struct pull *self, uint64_t now_us, enum status status)
{
    uint32_t most = self->catching_up ? HASTE_DOUBLINGS : RETRY_DOUBLINGS;
    uint32_t doublings = self->failures < most ? self->failures : most;

    self->asked = false;
    self->due_us = now_us + ((uint64_t)RETRY_US << doublings);
    self->failures += self->failures < UINT32_MAX;
    if (status != STATUS_NOT_FOUND && !(compares(self) && self->failures >= COPY_AFTER)) {
        return;
    }
    pull_drop_wanted(self);
    if (!pull_of_lines(self) &&
        (self->phase == PULL_PHASE_FOLLOW || self->phase == PULL_PHASE_FETCH)) {
        self->phase = PULL_PHASE_REPAIR;
    } else {
        copy_from_start(self);
        self->copies++;
    }
}

void pull_repaired(struct pull *self, uint64_t now_us, uint64_t view, uint64_t appended)
{
    pull_answered(self, now_us);
    self->appended = appended > self->appended ? appended : self->appended;
    self->page_met = true; /* The way back to here must not be gone again. */
    pull_follow_from(self, view > self->cursor ? view : self->cursor);
}

void pull_copy(struct pull *self, uint64_t now_us)
{
    pull_answered(self, now_us);
    copy_from_start(self);
    self->copies++;
}

bool pull_wants(const struct pull_interval *wanted, size_t nwanted, uint64_t boot, uint64_t epoch,
                uint64_t number)
{
    if (nwanted == 0) {
        return true;
    }
    for (size_t i = 0; i < nwanted; i++) {
        if (wanted[i].producer_id == boot && wanted[i].epoch == epoch &&
            number >= wanted[i].first && number - wanted[i].first < wanted[i].count) {
            return true;
        }
    }
    return false;
}

bool pull_cursor_due(const struct pull *self, uint64_t durable)
{
    if (MUTANT(CURSOR_BEFORE_DATA)) {
        return self->purpose == PULL_SYNC
                   ? self->phase < PULL_PHASE_COMPLETE && self->through > 0
                   : self->phase == PULL_PHASE_FETCH && self->page_next > self->cursor_written;
    }
    if (durable < self->appended) {
        return false;
    }
    if (self->purpose == PULL_SYNC) {
        return self->phase == PULL_PHASE_SETTLE;
    }
    return self->cursor > self->cursor_written &&
           (self->met || self->cursor - self->cursor_written >= CURSOR_STRIDE + self->stride);
}

void pull_cursor_recorded(struct pull *self)
{
    if (MUTANT(CURSOR_BEFORE_DATA)) {
        self->cursor = self->purpose == PULL_SYNC ? self->through : self->page_next;
    }
    /* A group that joins is complete with its cursor, and not before all was copied. */
    assert(self->purpose != PULL_SYNC || self->phase == PULL_PHASE_SETTLE ||
           MUTANT(CURSOR_BEFORE_DATA));
    self->cursor_written = self->cursor;
    self->met = false;
    if (self->purpose == PULL_SYNC) {
        self->phase = PULL_PHASE_COMPLETE;
    }
}

double pull_progress(const struct pull *self)
{
    switch (self->phase) {
    case PULL_PHASE_RUNS:
        return (1 - log_share) * (double)self->from /
               (pull_of_lines(self) ? (double)self->npages + 1 : 18446744073709551616.0);
    case PULL_PHASE_LOG:
        return self->through <= self->merged
                   ? 1 - log_share
                   : 1 - log_share * (double)(self->through - self->from) /
                             (double)(self->through - self->merged);
    case PULL_PHASE_SETTLE:
    case PULL_PHASE_COMPLETE:
    case PULL_PHASE_FOLLOW:
    case PULL_PHASE_FETCH:
    case PULL_PHASE_REPAIR:
    case PULL_PHASE_SHARDS:
    case PULL_PHASE_COMPARE:
    case PULL_PHASE_PAGES:
    case PULL_PHASE_WANTED:
        break;
    }
    return 1;
}

uint32_t pull_sources_needed(const struct quorum_rule *rule)
{
    return MUTANT(SYNC_ONE_SOURCE) ? 1 : rule->replicas - rule->write + 1;
}
