/* pull.h - taking over what one other node (the source) has of one slot group: a state machine
 * that says what to ask next, judges the answer, and knows which part of it is safe to count on.
 *
 *   SYNC    RUNS -> LOG -> SETTLE -> COMPLETE        to complete a replica that joins
 *   DELTA   FOLLOW <-> FETCH, and when the source's log is not kept far enough back:
 *           REPAIR -> FOLLOW                          to catch up on what was missed
 *
 * In REPAIR the two replicas are compared (pull_repair.h); where the source can't do that, they
 * are copied: RUNS -> LOG -> FOLLOW.
 *
 * Of a filter without key log (its scope names a generation) a copy reads LINES in place of runs:
 * what is below the end of the source's log when the first page is read is in all of them, so
 * nothing of the log is left to read. Compared are the digests of SHARDS (the own ones are found
 * meanwhile, in COMPARE), those of the PAGES of shards that differ, and of them those that differ
 * are WANTED. As bits are only gained, a page that is the same here, whenever, holds all that the
 * source had in it when it was asked.
 *
 * A copy reads the runs first and remembers the lowest `merged` that was told; all batches below it
 * were in the runs whichever page was read when. From there it reads the log, up to `through`:
 * for SYNC at least to the source's own fence, below which lies everything that the source has
 * accepted under earlier epochs. Adds of this epoch reach the joining replica from routers.
 *
 * A replica whose log may have lost its end, as after kill -9 on a folder that was put back,
 * catches up before it counts: from its cursor it reads the source's log, batches without numbers
 * too, up to where that was durable when it was first asked. What it has accepted and lost is below
 * that.
 *
 * A cursor (how far the source's log is here) may be written only when the own log is durable
 * through all that it covers: pull_cursor_due().
 *
 * Time:    monotonic microseconds, an argument.
 * Errors:  STATUS_NOMEM where said; else answers that can't be used cost a back-off.
 * Owner:   pull_fini().
 * Threads: none; pure.
 */
#ifndef ORBLOOM_NODE_PULL_PULL_H
#define ORBLOOM_NODE_PULL_PULL_H

#include "map/pull_message.h"
#include "node/pull/batch_set.h"

enum pull_purpose {
    PULL_SYNC,
    PULL_DELTA,
    PULL_REPAIR, /* pull_repair.h */
    PULL_NPURPOSES
};

enum pull_phase {
    PULL_PHASE_RUNS,
    PULL_PHASE_LOG,
    PULL_PHASE_SETTLE, /* everything is here; once it is durable a cursor is due */
    PULL_PHASE_COMPLETE,
    PULL_PHASE_FOLLOW,
    PULL_PHASE_FETCH,
    PULL_PHASE_REPAIR, /* waits for pull_repaired() or pull_copy() */
    PULL_PHASE_SHARDS,
    PULL_PHASE_COMPARE, /* waits for pull_shard_compared() */
    PULL_PHASE_PAGES,
    PULL_PHASE_WANTED,
};

/* Which pages of an array differ from the source's. First one digest a shard of the group, in the
 * order of their numbers; then, of shards that differ, one a page, PULL_MAX_PAGE_DIGESTS at a time;
 * then the pages that differ. */
struct pull_pages {
    uint64_t *shards; /* digests as told; in their place first pages of those that differ */
    uint32_t nshards;
    uint32_t at;      /* shards compared; then which of those that differ */
    uint32_t ndiffer; /* shards */
    uint64_t *wanted; /* of the answer before: pages that differ */
    uint32_t nwanted;
    uint32_t had;  /* of them */
    uint64_t next; /* where digests of pages go on */
};

struct pull {
    enum pull_purpose purpose;
    enum pull_phase phase;
    struct pull_scope scope;
    struct member source;
    uint64_t interval_us; /* DELTA: between two looks at an idle source */

    uint64_t npages;        /* LINES: of all shards; set after pull_init() */
    uint64_t pages_a_shard; /* ... of one */
    uint32_t nshards;       /* ... of the group */
    struct pull_pages pages;
    uint64_t from;     /* next to ask for: in RUNS a fingerprint, or a page; else an offset */
    uint64_t merged;   /* lowest told in this copy */
    uint64_t through;  /* where this copy of the log ends; 0: not told yet */
    uint64_t appended; /* own log's end after the latest that was taken over */

    uint64_t cursor;         /* source's offset: all below is in the own log */
    uint64_t cursor_written; /* ... and this is recorded there */
    uint64_t stride;  /* what nobody met is passed by so much further before it is recorded */
    bool catching_up; /* all that the source had when it was first asked is to be here */
    bool met;         /* batches of this group lie between the two */

    struct pull_interval *wanted; /* FETCH: what is lacking; NULL: all of the page */
    uint32_t nwanted;
    uint64_t page_next; /* FETCH: where the headers went on */
    bool page_met;      /* there were batches in that page */

    bool asked;
    uint64_t due_us;
    uint32_t failures; /* in a row */
    uint32_t idle;     /* looks in a row that met nothing */
    uint32_t copies;   /* begun because the log was not kept */
};

/* `cursor`: what was recorded last. SYNC: any recorded one means that this source is done. */
void pull_init(struct pull *self, enum pull_purpose purpose, const struct pull_scope *scope,
               const struct member *source, const uint64_t *cursor, uint64_t interval_us);
void pull_fini(struct pull *self);

/* Just begun: the own log may be shorter than it was. `catching_up` falls once all that the source
 * has now is here, and in the arrays. */
void pull_catch_up(struct pull *self);

/* Of an answer that is of no use: has another life of the source's node taken its place? Then
 * nobody has that log any more, and there is nothing to catch up with. */
bool pull_source_gone(struct pull *self, const struct pull_reply *reply);

/* Is there anything to ask, and when? UINT64_MAX: there is not. */
uint64_t pull_due_us(const struct pull *self);

/* The question that is due; it borrows from the pull. Call pull_asked() once it was sent. */
void pull_question(const struct pull *self, struct pull_request *out);
void pull_asked(struct pull *self);

/* May the answer be merged? OK, or why it is of no use: what the source says, STATUS_SHAPE (it is
 * about something else), STATUS_CONFLICT (from someone else), STATUS_NOT_READY (the source's
 * replica does not count), STATUS_MALFORMED (its numbers make no sense). */
MUST_USE enum status pull_judge(const struct pull *self, const struct pull_reply *reply);

/* From a judged HEADERS reply: remember those batches that `have` lacks. STATUS_NOMEM: nothing
 * changed. */
MUST_USE enum status pull_take_headers(struct pull *self, uint64_t now_us,
                                       const struct pull_reply *reply, struct batch_set *have);

/* In FETCH, before asking: what other sources have brought since is not wanted any more. When
 * nothing is left the phase is FOLLOW again. */
void pull_trim(struct pull *self, struct batch_set *have);

/* Is all of the source's log below `position` here, so that it need not be asked unless there is
 * something above? */
bool pull_may_sleep(const struct pull *self, uint64_t position);

/* FOLLOW: the source's log has nothing for this scope below `position`, from where it was asked
 * last. */
void pull_pass(struct pull *self, uint64_t position);

/* All of another judged reply has been appended to the own log, which ends at `appended`. */
void pull_take(struct pull *self, uint64_t now_us, const struct pull_reply *reply,
               uint64_t appended);

/* The own log takes no more just now: ask a little later. */
void pull_pause(struct pull *self, uint64_t now_us);

/* No answer, or none of use. STATUS_NOT_FOUND: the source's log is not kept from there: REPAIR, or
 * in a copy: begin it anew. */
void pull_failed(struct pull *self, uint64_t now_us, enum status status);

/* In REPAIR: all that the source had below `view` of its log is in the own one, which ends at
 * `appended`. */
void pull_repaired(struct pull *self, uint64_t now_us, uint64_t view, uint64_t appended);

/* In REPAIR: the source does not compare. */
void pull_copy(struct pull *self, uint64_t now_us);

/* In FOLLOW or FETCH, of a filter without key log, no question being under way: compare all of the
 * source's pages. */
void pull_compare(struct pull *self, uint64_t now_us);

/* Of a judged answer in SHARDS. STATUS_NOMEM: nothing changed. */
MUST_USE enum status pull_take_shards(struct pull *self, uint64_t now_us,
                                      const struct pull_reply *reply);

/* In COMPARE: the digest here of the next shard of the group, which begins with that page. */
void pull_shard_compared(struct pull *self, uint64_t now_us, uint64_t first_page, uint64_t digest);

/* Of a judged answer in PAGES; `own`: as many digests, of the same pages here. STATUS_NOMEM:
 * nothing changed. */
MUST_USE enum status pull_take_pages(struct pull *self, uint64_t now_us,
                                     const struct pull_reply *reply, const uint64_t *own);

/* Should a cursor be recorded, the own log being durable up to `durable`? */
bool pull_cursor_due(const struct pull *self, uint64_t durable);
void pull_cursor_recorded(struct pull *self);

/* Share of the source's replica that is here, 0 to 1: of its fingerprint space, then of its log. */
double pull_progress(const struct pull *self);

#endif
