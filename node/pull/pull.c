/* The state machine: copying runs, then the log, then following it; each answer is judged by
 * what was asked. */
#include "base/heap.h"
#include "base/mutant.h"
#include "node/pull/pull_geometry.h"
#include "node/pull/pull_private.h"

#include <assert.h>
#include <string.h>

enum {
    RETRY_US = 100000,
    RETRY_DOUBLINGS = 6, /* 6.4 s at most */
    HASTE_DOUBLINGS = 1, /* 0.2 s, while a replica does not count before it has the answer */
    COPY_AFTER = 8,      /* failures of a comparison: some 25 s */
};

/* A source's log grows by what concerns other groups too; not every step is worth a record. */
#define CURSOR_STRIDE (UINT64_C(1) << 20)

static const double log_share = 0.1; /* of a copy, for its progress */

/* Pages of an array, not fingerprints. */
static bool of_lines(const struct pull *self)
{
    return self->scope.generation != 0;
}

static void drop_pages(struct pull_pages *self)
{
    heap_free(self->shards);
    heap_free(self->wanted);
    *self = (struct pull_pages){0};
}

static void copy_from_start(struct pull *self)
{
    drop_pages(&self->pages);
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
        /* It was recorded once all had been copied, and was durable. */
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
        /* The log itself, as headers name no batch that has no number. */
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
    drop_pages(&self->pages);
}

uint64_t pull_due_us(const struct pull *self)
{
    bool waits = self->phase == PULL_PHASE_SETTLE || self->phase == PULL_PHASE_COMPLETE ||
                 self->phase == PULL_PHASE_REPAIR || self->phase == PULL_PHASE_COMPARE;

    return waits || self->asked ? UINT64_MAX : self->due_us;
}

/* ---- what is asked, and which answers fit ---- */

/* How many of `wanted` one question names. */
static uint32_t pages_asked(const struct pull_pages *self)
{
    uint32_t left = self->nwanted - self->had;

    return left < PULL_MAX_PAGES ? left : PULL_MAX_PAGES;
}

/* Are all pages of a LINES reply among them? */
static bool are_wanted(const struct pull_pages *self, const struct pull_reply *reply)
{
    uint32_t at = self->had;
    uint32_t end = self->had + pages_asked(self);

    for (size_t i = 0; i < reply->npages; i++) {
        while (at < end && self->wanted[at] < reply->page_ids[i]) {
            at++;
        }
        if (at == end || self->wanted[at] != reply->page_ids[i]) {
            return false;
        }
    }
    return true;
}

static enum pull_kind kind_of(const struct pull *self)
{
    switch (self->phase) {
    case PULL_PHASE_RUNS:
        return of_lines(self) ? PULL_PAGES : PULL_RUNS;
    case PULL_PHASE_LOG:
        return PULL_LOG;
    case PULL_PHASE_FETCH:
        return PULL_BODIES;
    case PULL_PHASE_SHARDS:
    case PULL_PHASE_PAGES:
        return PULL_DIGESTS;
    case PULL_PHASE_WANTED:
        return PULL_PAGES;
    case PULL_PHASE_COMPARE:
    case PULL_PHASE_FOLLOW:
    case PULL_PHASE_SETTLE:
    case PULL_PHASE_COMPLETE:
    case PULL_PHASE_REPAIR:
        break;
    }
    return PULL_HEADERS;
}

static uint64_t stop_of(const struct pull *self)
{
    switch (self->phase) {
    case PULL_PHASE_RUNS:
    case PULL_PHASE_SHARDS:
        return UINT64_MAX;
    case PULL_PHASE_PAGES:
        return self->pages.shards[self->pages.at] + self->pages_a_shard - 1;
    case PULL_PHASE_WANTED:
        return self->pages.wanted[self->pages.had + pages_asked(&self->pages) - 1];
    case PULL_PHASE_LOG:
        return self->through;
    case PULL_PHASE_FETCH:
        return self->page_next;
    case PULL_PHASE_FOLLOW:
    case PULL_PHASE_SETTLE:
    case PULL_PHASE_COMPLETE:
    case PULL_PHASE_REPAIR:
    case PULL_PHASE_COMPARE:
        break;
    }
    return 0;
}

void pull_question(const struct pull *self, struct pull_request *out)
{
    *out = (struct pull_request){
        .kind = kind_of(self),
        .scope = self->scope,
        .source = self->source,
        .sync = self->purpose == PULL_SYNC,
        .from = self->from,
        .to = stop_of(self),
        .max_bytes = PULL_MAX_KEYS * sizeof(uint64_t),
        .wanted = self->wanted,
        .nwanted = self->nwanted,
    };
    if (self->phase == PULL_PHASE_WANTED) {
        out->prefixes = self->pages.wanted + self->pages.had;
        out->nprefixes = pages_asked(&self->pages);
    }
}

void pull_asked(struct pull *self)
{
    assert(!self->asked); /* One question at a time, or answers would be mistaken. */
    self->asked = true;
}

/* As many digests as there are shards, or pages from where they were asked to where they end. */
static bool digests_fit(const struct pull *self, const struct pull_reply *reply)
{
    if (self->phase == PULL_PHASE_SHARDS) {
        return reply->ndigests == self->nshards && reply->ncounts == 0 && reply->end;
    }
    return reply->next > reply->from && reply->next - 1 <= stop_of(self) &&
           reply->ndigests == reply->next - reply->from && reply->ncounts == 0;
}

/* Numbers that would make us skip something, or go round for ever. */
static bool sensible(const struct pull *self, const struct pull_reply *reply)
{
    if (reply->kind == PULL_DIGESTS) {
        return digests_fit(self, reply);
    }
    if (self->phase == PULL_PHASE_WANTED && !are_wanted(&self->pages, reply)) {
        return false;
    }
    if (reply->kind == PULL_RUNS || reply->kind == PULL_PAGES) {
        return (reply->end || reply->next > reply->from) && pull_pages_ascend(reply);
    }
    return reply->next >= reply->from && reply->next <= reply->durable;
}

static bool source_counts(const struct pull *self, const struct pull_reply *reply)
{
    if (MUTANT(SYNC_COUNTS_JOINING) && reply->state == REPLICA_JOINING) {
        return true;
    }
    if (reply->state != REPLICA_FULL) {
        return false;
    }
    return self->purpose == PULL_DELTA || reply->fence_epoch >= self->scope.epoch;
}

enum status pull_judge(const struct pull *self, const struct pull_reply *reply)
{
    if (reply->status != STATUS_OK) {
        return reply->status;
    }
    if (reply->kind != kind_of(self) || reply->from != self->from) {
        return STATUS_SHAPE;
    }
    if (!MUTANT(MERGE_UNCHECKED) && !pull_scope_equal(&self->scope, &reply->scope)) {
        return STATUS_SHAPE;
    }
    if (!MUTANT(MERGE_UNCHECKED) && (reply->source.node != self->source.node ||
                                     reply->source.incarnation != self->source.incarnation)) {
        return STATUS_CONFLICT;
    }
    if (!source_counts(self, reply)) {
        return STATUS_NOT_READY;
    }
    return sensible(self, reply) ? STATUS_OK : STATUS_MALFORMED;
}

/* ---- what ends a copy ---- */

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
    /* Told once, or a log that grows would have no end. What comes later routers bring, or
     * following does. */
    if (self->through == 0) {
        self->through = reply->durable > reply->fence_position ? reply->durable
                                                               : reply->fence_position;
    }
}

static void read_some(struct pull *self, const struct pull_reply *reply)
{
    set_end(self, reply);
    self->merged = reply->merged < self->merged ? reply->merged : self->merged;
}

/* What an answer tells of its source's log, while runs or pages are read; and: all were read. */
static void read_all(struct pull *self)
{
    self->phase = PULL_PHASE_LOG;
    self->from = self->merged;
    /* The runs had all of the log that counts for this copy. */
    if (self->from >= self->through) {
        copied(self);
    }
}

/* ---- comparing arrays: shards, then pages, then those that differ ---- */

void pull_compare(struct pull *self, uint64_t now_us)
{
    assert(of_lines(self) && !self->asked); /* Its answer would be taken for one of these. */
    assert(self->phase == PULL_PHASE_FOLLOW || self->phase == PULL_PHASE_FETCH);
    pull_drop_wanted(self);
    drop_pages(&self->pages);
    self->phase = PULL_PHASE_SHARDS;
    self->from = 0;
    self->merged = UINT64_MAX;
    self->through = 0;
    self->due_us = now_us;
}

/* Digests of the next shard that differs; when there is none everything is here. */
static void next_shard(struct pull *self)
{
    if (self->pages.at == self->pages.ndiffer) {
        drop_pages(&self->pages);
        read_all(self);
        return;
    }
    self->phase = PULL_PHASE_PAGES;
    self->from = self->pages.shards[self->pages.at];
}

static void go_on(struct pull *self)
{
    self->phase = PULL_PHASE_PAGES;
    self->from = self->pages.next;
    if (self->from >= self->pages.shards[self->pages.at] + self->pages_a_shard) {
        self->pages.at++;
        next_shard(self);
    }
}

enum status pull_take_shards(struct pull *self, uint64_t now_us, const struct pull_reply *reply)
{
    uint64_t *shards = heap_alloc(reply->ndigests, sizeof *shards);

    assert(self->phase == PULL_PHASE_SHARDS && reply->ndigests == self->nshards);
    if (shards == NULL) {
        return STATUS_NOMEM;
    }
    memcpy(shards, reply->digests, reply->ndigests * sizeof *shards);
    self->pages.shards = shards;
    self->pages.nshards = (uint32_t)reply->ndigests;
    pull_answered(self, now_us);
    read_some(self, reply);
    /* The own digests are found in steps; nothing is asked until they are. */
    self->phase = PULL_PHASE_COMPARE;
    return STATUS_OK;
}

void pull_shard_compared(struct pull *self, uint64_t now_us, uint64_t first_page, uint64_t digest)
{
    struct pull_pages *pages = &self->pages;

    assert(self->phase == PULL_PHASE_COMPARE && pages->at < pages->nshards);
    if (pages->shards[pages->at++] != digest) {
        /* Never beyond `at`: only digests that were compared are written over. */
        pages->shards[pages->ndiffer++] = first_page;
    }
    if (pages->at == pages->nshards) {
        pages->at = 0;
        self->due_us = now_us;
        next_shard(self);
    }
}

enum status pull_take_pages(struct pull *self, uint64_t now_us, const struct pull_reply *reply,
                            const uint64_t *own)
{
    struct pull_pages *pages = &self->pages;
    uint64_t *wanted = heap_alloc(reply->ndigests, sizeof *wanted);
    uint32_t count = 0;

    assert(self->phase == PULL_PHASE_PAGES);
    if (wanted == NULL) {
        return STATUS_NOMEM;
    }
    for (size_t i = 0; i < reply->ndigests; i++) {
        if (own[i] != reply->digests[i]) {
            wanted[count++] = reply->from + i;
        }
    }
    pull_answered(self, now_us);
    read_some(self, reply);
    heap_free(pages->wanted);
    pages->wanted = wanted;
    pages->nwanted = count;
    pages->had = 0;
    pages->next = reply->next;
    if (count > 0) {
        self->phase = PULL_PHASE_WANTED;
        self->from = wanted[0];
    } else {
        go_on(self);
    }
    return STATUS_OK;
}

/* Of an answer in WANTED. */
static void take_wanted(struct pull *self, const struct pull_reply *reply)
{
    struct pull_pages *pages = &self->pages;
    uint32_t end = pages->had + pages_asked(pages);

    read_some(self, reply);
    while (pages->had < end && (reply->end || pages->wanted[pages->had] < reply->next)) {
        pages->had++;
    }
    if (pages->had < pages->nwanted) {
        self->from = pages->wanted[pages->had];
    } else {
        go_on(self);
    }
}

/* ---- answers of use, and failures ---- */

static void take_runs(struct pull *self, const struct pull_reply *reply)
{
    read_some(self, reply);
    self->from = reply->next;
    if (reply->end) {
        read_all(self);
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
        take_wanted(self, reply);
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
    /* Sorted runs can be compared range by range; who has none of them reads all pages anew. */
    if (!of_lines(self) && (self->phase == PULL_PHASE_FOLLOW || self->phase == PULL_PHASE_FETCH)) {
        self->phase = PULL_PHASE_REPAIR;
    } else {
        copy_from_start(self);
        self->copies++;
    }
}

void pull_repaired(struct pull *self, uint64_t now_us, uint64_t view, uint64_t appended)
{
    assert(self->phase == PULL_PHASE_REPAIR);
    pull_answered(self, now_us);
    self->appended = appended > self->appended ? appended : self->appended;
    self->page_met = true; /* The way back to here must not be gone again. */
    pull_follow_from(self, view > self->cursor ? view : self->cursor);
}

void pull_copy(struct pull *self, uint64_t now_us)
{
    assert(self->phase == PULL_PHASE_REPAIR);
    pull_answered(self, now_us);
    copy_from_start(self);
    self->copies++;
}

/* ---- the cursor ---- */

bool pull_cursor_due(const struct pull *self, uint64_t durable)
{
    if (MUTANT(CURSOR_BEFORE_DATA)) {
        return self->purpose == PULL_SYNC
                   ? self->phase < PULL_PHASE_COMPLETE && self->through > 0
                   : self->phase == PULL_PHASE_FETCH && self->page_next > self->cursor_written;
    }
    /* A cursor that outlives what it covers would skip that for good. */
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
               (of_lines(self) ? (double)self->npages + 1 : 18446744073709551616.0);
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
