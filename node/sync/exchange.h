/* exchange.h - what a node takes over from other nodes, and what it gives them; shared by
 * node/sync only.
 *
 *   exchange.c    when, and who is looked at now
 *   stir.c        something may be due now
 *   looks.c       when each filter is looked at
 *   pull_plan.c   whom to ask for what, by each filter's document
 *   pull.c        asking, judging answers, cursors, how complete a joining group is
 *   pull_take.c   taking over what was answered
 *   batch_form.c  batches of the log, as they are told and heard
 *   pages.c       pages of arrays, of filters without key log, and their digests: both sides
 *   watch.c       one question a node for all filters that have nothing to ask
 *   repair.c      comparing replicas: which one is next, and the way through it
 *   view_pace.c   ... how fast replicas are read for that
 *   peer_votes.c  asking others what they remember of this node
 *   peer_memory.c answering that
 *   catch_up.c    catching up before it counts, after an end that was not in order
 *   serve.c       answering: reading storage at a bounded rate
 *   serve_answer.c  ... which requests, how fast, and what is said
 *   serve_view.c  ... what a peer compares with: digests and ranges of a view
 *   tail.c        answering links: the tail of the log, for other sites
 *   tail_answer.c ... which filters, up to where, and what is said
 *
 * Without a disk a node has none of this: there is no log to take over.
 */
#ifndef ORBLOOM_NODE_SYNC_EXCHANGE_H
#define ORBLOOM_NODE_SYNC_EXCHANGE_H

#include "base/token_bucket.h"
#include "node/pull/boot_memory.h"
#include "node/pull/log_age.h"
#include "node/pull/pull.h"
#include "node/pull/pull_plan.h"
#include "node/pull/pull_repair.h"
#include "node/store/view.h"
#include "node/sync/cursors.h"
#include "node/sync/looks.h"
#include "node/sync/peers.h"
#include "node/sync/sync.h"

enum {
    SERVE_PAGES = 8,
    SERVE_BUCKETS = 64,
    SERVE_VIEWS = 4,
    SERVE_TARGETS = 32, /* lists of targets in one answer: they change with the document only */
    REPAIR_RETRY_US = 100000,

    /* A view waits this long for its peer's next question, on top of the time that reading takes.
     */
    SERVE_VIEW_US = 8000000,
    /* After this much silence of its peer another peer that needs the place may have it. */
    SERVE_VIEW_SILENT_US = 1000000,
    /* This long the next free place is reserved for a peer that found none: longer than that peer
     * waits before it asks again. */
    SERVE_VIEW_TURN_US = 2500000,
};

/* Through the pages of all shards of a group. */
struct page_walk {
    uint32_t shard;
    uint64_t page; /* of the shard: the next one */
    uint64_t sum;  /* of the digests of those before it */
};

/* One source of one slot group, as far as this node has taken it over. */
struct pull_item {
    struct pull pull;
    uint32_t rank;    /* SYNC: in the order of the plan */
    uint32_t needed;  /* SYNC: how many sources complete the group */
    uint64_t watch;   /* the watch of its source that wakes it; 0: it is awake */
    uint64_t answers; /* how many answers that watch had had when it fell asleep */

    struct page_walk walk;    /* in PULL_PHASE_COMPARE */
    bool compared;            /* since the plan was made */
    uint64_t repair_us;       /* when it is to be compared next; 0: not chosen yet */
    uint32_t repair_failures; /* in a row */
    uint32_t repair_refusals; /* ... because the source can't, or there is too much */
};

/* What one filter's document makes this node pull. */
struct filter_pulls {
    uint64_t serial; /* tells answers to a former plan apart */
    uint64_t epoch;
    uint64_t incarnation;
    uint64_t hosting; /* of the set of arrays that it is for */
    bool joined;      /* some of its replicas were JOINING before */
    uint32_t count;
    struct pull_item items[];
};

/* One answer that is being made. */
struct serve_page {
    struct storage_read read; /* first: done() finds the page by it */
    struct exchange *exchange;
    bool used;
    bool reading;
    uint64_t start_us; /* not before: the peer's rate */
    struct peer to;
    uint64_t correlation;
    struct pull_request request;
    struct pull_interval *wanted; /* the request's, copied */
    uint32_t rounds;              /* reads so far */
    uint64_t stop;                /* where the request ends */
    uint64_t limit;               /* where this answer may end: what is durable, or old enough */

    uint64_t next;
    bool end;
    uint64_t merged;
    uint64_t *fingerprints;
    size_t count;
    struct pull_batch *batches;
    size_t nbatches;
    struct pull_targets *targets; /* that they name, each list once: SERVE_TARGETS at most */
    size_t ntargets;
    uint64_t *page_ids; /* LINES */
    uint8_t *pages;
    size_t npages;
    struct page_walk walk; /* DIGESTS of an array's shards */

    uint64_t *prefixes; /* the request's, copied */
    uint64_t view;
    uint64_t view_end;
    uint64_t *digests;
    size_t ndigests;
    uint64_t *counts;
    size_t ncounts;
};

/* What a peer compares with: fixed by its first question, kept for a while. */
struct serve_view {
    struct exchange *exchange;
    bool used;
    struct peer peer;
    uint64_t name;
    struct pull_scope scope;
    struct storage_view *view;
    uint64_t end;
    bool surveyed;
    struct serve_page *page; /* the question under way; NULL: none */
    uint64_t resume_us;      /* when to go on reading; ACTOR_NEVER: a step is under way, or none */
    uint64_t kept_until_us;
};

/* Who was refused for want of a place, and is next. */
struct serve_next {
    struct peer peer;
    uint64_t until_us;
};

/* The comparison under way; a node has one at a time. */
struct node_repair {
    bool active;
    struct peer_topic topic;
    struct repair machine;
    struct storage_view *view;
    bool exact;         /* the view is the second one, for fingerprints */
    bool own;           /* what the answer is compared with is there */
    bool asked;         /* the question under way was sent */
    uint64_t resume_us; /* when to go on asking, comparing, taking over; ACTOR_NEVER: nothing */
    uint64_t read_us;   /* ... and reading */

    bool answered; /* the answer, kept until `own` */
    struct pull_reply reply;
    uint64_t *words;   /* what the reply borrows */
    size_t absorbed;   /* of what lacks here */
    uint64_t keys;     /* taken over */
    uint64_t appended; /* own log's end after that */
};

/* Which comparison is next, as far as has been looked. */
struct repair_turn {
    bool any;
    bool urgent;
    uint64_t due_us;
    struct peer_topic topic;
};

struct serve_bucket {
    struct peer peer;
    uint64_t used_us;
    struct token_bucket bucket;
};

/* What another node that shares shards has said of this start. */
struct meeting {
    uint32_t node;
    bool answered;
    bool fits;
    bool confirmed;
    uint32_t asked;
    uint64_t next_us;
};

struct exchange {
    struct exchange_config config;
    struct exchange_node node;
    struct storage *storage; /* NULL: the node keeps no log, so there is nothing to exchange */
    struct log_limit pull_limit;

    struct node_peers peers;
    struct boot_memory memory; /* of the others */
    uint64_t memory_end;       /* what was confirmed is in the log up to here */
    struct meeting *meetings;
    uint32_t nmeetings;
    size_t meetings_capacity;
    uint64_t meet_us;    /* when there is something to ask */
    uint64_t started_us; /* when the first could be asked; 0: not yet */
    struct batch_set *have;
    struct node_cursors cursors;
    uint64_t serial;
    struct looks looks;
    uint64_t all_us;  /* when all are looked at, whatever they wait for */
    uint32_t turn;    /* which item of a filter is looked at first */
    bool stirred;     /* something may be due now */
    bool stirred_all; /* ... of any filter */
    uint64_t freed;   /* queues whose filters may go on now, as bits */
    uint64_t waits;   /* queues that the filter being looked at is to stand in, as bits */
    uint64_t asked;   /* queues that stay as they are, a question having been sent, as bits */
    bool awaits_log;  /* a cursor is due once the log is durable */
    uint64_t due_us;  /* when something is due next, as far as is known */
    uint64_t doubt_until_us; /* see node_pull_doubts() */

    bool aged; /* log_age was begun */
    struct log_age age;
    struct serve_page pages[SERVE_PAGES];
    struct serve_bucket buckets[SERVE_BUCKETS];
    struct serve_view views[SERVE_VIEWS];
    struct serve_next next_view;
    struct node_repair repair;
    struct repair_turn next_repair;
    uint64_t repaired_end;       /* own log's end after the last one that took something over */
    struct token_bucket reading; /* of all views: how fast they are read */
    struct tails *tails;         /* of links; NULL: none has asked */
    uint64_t changes;            /* of documents and replicas, counted */
    uint64_t hash_us;            /* when pages may be hashed again */
    size_t answer_bytes;         /* of the answer that is being looked at */
};

static inline void exchange_count(struct exchange *self, enum node_counter counter)
{
    self->node.counters[counter]++;
}

/* pull_plan.c: bring what is pulled for a filter in line with its document. */
void node_pull_follow(struct exchange *self, struct document_entry *entry);

/* What a question was about; NULL: it is not wanted any more. */
struct pull_item *node_pull_item(struct exchange *self, const struct peer_topic *topic,
                                 struct document_entry **out);

/* repair.c: nodes that did not answer may be tried again: bits of queues. */
uint64_t node_silences_over(struct exchange *self, uint64_t now_us);

/* pull.c: ask for what is due of one filter; exchange->due_us and ->waits: when again. And: give up
 * questions whose time is over. */
void node_pull_look(struct exchange *self, uint64_t now_us, struct document_entry *entry);
void node_pull_expire(struct exchange *self, uint64_t now_us);
void node_pull_on_reply(struct exchange *self, uint64_t now_us, uint32_t link, uint64_t correlation,
                        const struct pull_reply *reply);
void node_pull_on_error(struct exchange *self, uint64_t now_us, uint32_t link,
                        uint64_t correlation);

/* watch.c: does the item sleep? It is then where the watch is; and: let it sleep, if it may. */
bool node_watch_sleeps(const struct exchange *self, uint64_t now_us,
                       const struct filter_document *document, struct pull_item *item);
bool node_watch_sleep(const struct exchange *self, uint64_t now_us, struct pull_item *item);

/* A source has told one filter that its log has no more from `next` on. */
void node_watch_begin(struct exchange *self, uint64_t now_us, const struct pull_reply *reply);
uint64_t node_watch_pump(struct exchange *self, uint64_t now_us); /* when to go on */
void node_watch_on_reply(struct exchange *self, uint64_t now_us, const struct peer_topic *topic,
                         const struct pull_reply *reply);
void node_watch_on_silence(struct exchange *self, uint64_t now_us, const struct peer_topic *topic);
void node_watch_on_error(struct exchange *self, uint64_t now_us, const struct peer_topic *topic);

/* batch_form.c: has the batch a number? */
bool node_batch_named(const struct record_batch *batch);

/* ... by which all of it is known everywhere? What is partial has one too, and only that: neither
 * is it known by it, nor does who has it have what the number names. */
bool node_batch_whole(const struct record_batch *batch);

/* pull_take.c: log a batch that comes from another node, flagged repaired, and set its bits; safe
 * once the log is durable up to storage_end(). The first target decides; the others stay in `batch`
 * where they can be taken now, and are not there by the batch's number. STATUS_NOT_READY,
 * STATUS_INVALID (fingerprints of another slot group), STATUS_FULL (past the capacity of a replica
 * that counts), STATUS_NO_SPACE, STATUS_OVERLOADED, STATUS_NOMEM: nothing was done. */
MUST_USE enum status node_absorb(struct exchange *self, struct document_entry *entry,
                                 struct record_batch *batch);

/* catch_up.c: has it caught up, or waited long enough? When to look again; ACTOR_NEVER: no more. */
uint64_t node_settle(struct exchange *self, uint64_t now_us, struct document_entry *entry);

/* Of a judged answer; OK: its pull has moved on. */
MUST_USE enum status node_pull_take(struct exchange *self, uint64_t now_us,
                                    struct document_entry *entry, struct pull *pull,
                                    const struct pull_reply *reply);

/* Log fingerprints without numbers and set their bits; *done of them, whatever is returned. */
MUST_USE enum status node_pull_absorb(struct exchange *self, uint64_t now_us,
                                      struct document_entry *entry, const struct pull_scope *scope,
                                      const uint64_t *fingerprints, size_t count, size_t *done);

/* repair.c: is an item's comparison due, and the next one? Later: exchange->due_us. */
void node_repair_look(struct exchange *self, uint64_t now_us, const struct filter_pulls *pulls,
                      const struct document_entry *entry, struct pull_item *item);
void node_repair_end(struct exchange *self); /* of the one under way, for good or ill */

/* The next one begins, and what is due of the one under way is done. */
void node_repair_pump(struct exchange *self, uint64_t now_us);

void node_repair_on_reply(struct exchange *self, uint64_t now_us, const struct peer_topic *topic,
                          const struct pull_reply *reply);
void node_repair_on_silence(struct exchange *self, uint64_t now_us, const struct peer_topic *topic,
                            enum status status);
uint64_t node_repair_next_us(const struct exchange *self);
void node_repair_fini(struct exchange *self);

/* view_pace.c: read on, not faster than is meant for the background; else at *resume_us. */
void node_view_pace(struct exchange *self, uint64_t now_us, struct storage_view *view,
                    uint64_t bytes, uint64_t *resume_us);

/* How long reading all of a set may take, the source having about as much as is here. */
uint64_t node_repair_patience_us(const struct exchange *self);

/* serve_view.c */
MUST_USE enum status node_serve_view_begin(struct serve_page *page, uint64_t now_us,
                                           const struct filter_document *document);
void node_serve_view_pump(struct exchange *self, uint64_t now_us);
uint64_t node_serve_view_next_us(const struct exchange *self);
void node_serve_view_fini(struct exchange *exchange);

/* peer_votes.c: asks about this start; when to go on. */
uint64_t node_meet_pump(struct exchange *self, uint64_t now_us);
void node_meet_on_reply(struct exchange *self, uint32_t link, uint64_t now_us, uint64_t correlation,
                        const struct boot_reply *reply);

/* Have all that are to be asked answered? */
bool node_met(const struct exchange *self);

/* peer_memory.c: a pull's answer tells how far its source's log is. */
void node_remember(struct exchange *self, const struct pull_reply *reply);

/* serve.c */
void node_serve_pump(struct exchange *self, uint64_t now_us);
uint64_t node_serve_next_us(const struct exchange *self);
void node_serve_fini(struct exchange *exchange);

/* serve_answer.c */
bool node_serve_same_peer(const struct peer *a, const struct peer *b);

/* The peer's own bucket, or that of the one heard of longest ago. */
struct token_bucket *node_serve_bucket(struct exchange *exchange, uint64_t now_us,
                                       const struct peer *peer);

/* Not answered, and why. */
void node_serve_refuse(struct exchange *self, const struct peer *to, uint64_t correlation,
                       const struct pull_request *request, enum status status);

/* OK: what the page holds is sent; else it is refused. The page is free then. */
void node_serve_send(struct serve_page *page, uint64_t now_us, enum status status);
void node_serve_release(struct serve_page *page);

/* Up to where the log is durable in the sense of this filter's durability (sync or os). */
uint64_t node_log_durable(const struct exchange *self, const struct filter_document *document);

/* May this request be answered from what is held, now? */
MUST_USE enum status node_serve_judge(const struct exchange *self,
                                      const struct pull_request *request,
                                      const struct document_entry **out);

/* tail.c */
void node_tail_pump(struct exchange *self, uint64_t now_us);
uint64_t node_tail_next_us(const struct exchange *self);
void node_tail_moved(struct exchange *self); /* the log has, a little further */
void node_tail_fini(struct exchange *self);

/* pages.c: the answer is sent. */
MUST_USE enum status node_serve_lines(struct serve_page *page, uint64_t now_us,
                                      const struct document_entry *entry);

/* The answer is sent, or it goes on at page->start_us. */
MUST_USE enum status node_serve_page_digests(struct serve_page *page, uint64_t now_us);

/* Compare on, if that is under way; exchange->due_us: when again. */
void node_compare_pump(struct exchange *self, uint64_t now_us, const struct document_entry *entry,
                       struct pull_item *item);

/* Of a judged answer of digests. */
MUST_USE enum status node_pull_take_digests(struct exchange *self, uint64_t now_us,
                                            const struct document_entry *entry, struct pull *pull,
                                            const struct pull_reply *reply);

/* Into the log, then into the array, as much as the log takes now; what is left is cut off the
 * answer, and asked for again. STATUS_SHAPE: pages of another group; nothing was merged. */
MUST_USE enum status node_pull_take_lines(struct exchange *self, uint64_t now_us,
                                          struct document_entry *entry, struct pull_reply *reply);

/* A batch of the log as headers name it; and as it is told whole, which is false where the answer
 * has no room for what it names. */
struct pull_batch node_batch_header(const struct record_batch *batch, uint64_t offset);
MUST_USE bool node_batch_tell(struct serve_page *page, const struct record_batch *batch,
                              uint64_t offset, struct pull_batch *out);

/* As node_absorb() takes it: the scope first of its targets. */
struct record_batch node_batch_heard(const struct pull_scope *scope, const struct pull_batch *told,
                                     const uint64_t *fingerprints);

#endif
