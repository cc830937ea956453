/* private.h - the parts of a node; for the node only. */
#ifndef ORBLOOM_NODE_PRIVATE_H
#define ORBLOOM_NODE_PRIVATE_H

#include "base/arrivals.h"
#include "base/link_ring.h"
#include "base/log.h"
#include "map/document_cache.h"
#include "node/array/hosted.h"
#include "node/array/replica.h"
#include "node/base/counters.h"
#include "node/base/life.h"
#include "node/expansion.h"
#include "node/former.h"
#include "node/node.h"
#include "node/probes.h"
#include "node/replay_window.h"
#include "node/site_cursors.h"
#include "node/store/storage.h"
#include "node/sync/sync.h"
#include "node/vote_cache.h"

enum { NODE_CONNECT_POLL_US = 50000 /* how soon to try again while nobody is connected */ };

/* An answer that waits for the log. */
struct held_reply {
    struct held_reply *next;
    struct peer to;
    uint64_t written; /* the log must have reached both */
    uint64_t synced;
    size_t size;
    uint8_t bytes[];
};

/* Filling arrays from the log, a stretch after the other: those of one filter from its runs, then
 * those of all that have read theirs from the batches that are in no run. Each by itself would have
 * to go through the whole log. */
struct node_replay {
    struct storage_read read;
    struct storage_load load; /* of a filter without key log: a snapshot first */
    uint64_t counted_from;    /* what the log has below is counted already */
    bool active;
    bool waits;         /* for the log to be written up to read.to */
    uint64_t filter_id; /* 0: all that wait for the end of the log */
    uint64_t hosting;   /* of the arrays that are being filled */
    uint64_t merged;    /* the lowest that a stretch of the runs told */
};

/* What has changed since it was told: filters of these ids, and perhaps others in between. */
struct node_news {
    uint64_t first;
    uint32_t group;      /* of that filter: those before it are told already */
    uint64_t last;       /* 0: nothing */
    uint64_t sent_first; /* the same of news that were sent and may not have arrived: sent again if
                            a report is not answered */
    uint64_t sent_last;
    uint32_t sends;         /* coordinators that are to hear the news under way yet */
    uint32_t open;          /* reports that were not answered: what is new is gathered meanwhile */
    bool hinted;            /* ... and coordinators have something new */
    uint64_t not_before_us; /* what could not be sent is not tried again at once */
};

/* What moves whenever there may be something else to tell. */
struct report_mark {
    uint64_t log_end;
    uint64_t disk_bytes;
    uint64_t memory_bytes;
    uint64_t keys_added;
    uint64_t documents;
    uint64_t since;
};

/* Where this node is in telling coordinators of its slot groups. */
struct reporting {
    struct report_place from; /* the next page's; none: a round begins */
    uint32_t sends;           /* of the page under way, yet to be made */
    uint32_t answers;         /* ... that were not answered */
    bool more;                /* another page goes once they are */
    uint64_t whole_us;        /* when coordinators are to hear of this node, whatever has changed */
    uint64_t round_us;        /* when a round is due, even if nothing has changed */
    struct report_mark mark;  /* as the last round began */
    struct node_news news;
};

struct node {
    struct node_config config;
    struct effects effects;
    struct node_life life;
    struct steps steps;
    struct document_cache documents;
    struct former former; /* while the log is read back */
    uint64_t memory_used_bytes;
    uint64_t hostings; /* arrays made so far */
    bool building;     /* some set of arrays is not ready */

    struct link_ring coordinators; /* in turn: all of them hear of every node */
    uint64_t since;
    uint64_t store;                    /* whose change number that is */
    uint64_t wanted[CODEC_MAX_WANTED]; /* documents to be sent along with the next request */
    size_t nwanted;
    uint32_t wanted_sends; /* so many reports are to carry them yet */
    uint64_t held_after;   /* the next report tells what is held from behind this id */
    uint32_t held_sends;   /* so many reports are to tell that page yet */
    uint64_t dropped_end;  /* where the record of dropped filters ends in the log ... */
    bool dropped_unlogged; /* ... if it is there */
    uint64_t next_sync_us;
    uint32_t reports_due; /* how many of them have not */
    struct reporting reporting;
    uint64_t reports_made;

    struct replay_window replay_window; /* batches that arrived */
    struct vote_cache *vote_cache;
    struct codec_arena *arena;
    struct arrivals arrivals; /* requests of routers that wait for their turn, of users */
    struct buffer out;
    uint64_t *words; /* planes of the answer under way */
    size_t words_capacity;
    struct subrequest_reply *replies;
    struct subrequest_reply *late_replies; /* those that wait for the log, while they are parted */

    struct cluster_id cluster; /* that what is held belongs to; none: not known yet */
    uint64_t cluster_hash;     /* of the signed bytes that named it last */
    struct storage *storage;   /* NULL: memory only */
    bool nameless;             /* ... which a coordinator is asked for */
    bool sync_unchosen;        /* documents have changed: must the log be synced? */
    uint32_t boot_try;         /* which of the boots before the store is thought to name */
    struct boot_life replaces; /* an incarnation that begins: whose place the store told it has */
    uint64_t claims;           /* how often what is claimed of this incarnation has changed */
    struct held_reply *held;
    struct held_reply **held_tail;
    size_t held_bytes;
    uint64_t log_since_us; /* that the log has something to write; 0: nothing, or not looked */
    uint64_t full_told_us; /* when coordinators were told of a filter without room */
    struct node_replay replay;
    struct node_expansion expansion;
    struct node_probes probes;
    struct exchange *exchange; /* with other nodes */
    struct site_cursors site_cursors;

    struct log_limit bad_frame_limit;
    struct log_limit coordinator_limit; /* of what it refuses */
    struct log_limit bad_document_limit;
    struct log_limit no_space_limit;
    struct log_limit expansion_limit;
    uint64_t counters[NODE_NCOUNTERS];
};

static inline void node_count(struct node *self, enum node_counter counter)
{
    self->counters[counter]++;
}

/* Encode and send an answer; counts what could not be sent. */
void node_reply_frame(struct node *self, const struct peer *to, const struct frame *frame);

/* The same once the log has reached both places. */
void node_reply_when(struct node *self, const struct peer *to, const struct frame *frame,
                     struct log_need need);

/* ---- documents.c ---- */

/* A document that was handed on: verify, take, act on it. */
void node_take_document(struct node *self, uint64_t now_us, struct span bytes);

/* Can the record that is held not be lost any more? */
bool node_dropped_durable(const struct node *self);

/* Forget the documents and fences of filters that are in the record. Entries go: call it where
 * none is in use. */
void node_forget_dropped(struct node *self);

void node_hosted_destroy(struct hosted_filter *hosted);

/* Bring what is hosted in line with a filter's document; needs an id. */
void node_apply(struct node *self, struct document_entry *entry);

/* Bring what is hosted in line with what waited: for an id, for room, for the log. */
void node_apply_all(struct node *self);

/* A slice of building; true while more is left. */
bool node_build(struct node *self, uint64_t slice_bytes);

/* sets.c: the sets that the document names, and no others. `suits`: the node keeps what the
 * filter asks for. */
void node_sets_follow(struct node *self, struct hosted_filter *hosted,
                      const struct filter_document *document, bool suits);
void node_sets_release(struct node *self, struct hosted_filter *hosted);
void node_sets_destroy(struct hosted_filter *hosted);

/* requests.c */
void node_on_node_request(struct node *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame);

/* As it came. A user's request waits for that user's turn, so that no user holds up the others; any
 * other one is served at once. */
void node_take_node_request(struct node *self, uint64_t now_us, const struct peer *from,
                            struct span bytes, const struct frame *frame);
void node_serve_users(struct node *self, uint64_t now_us); /* a part of those that wait */

/* retries.c: the batch came in another way than in its router's message, which may follow. */
void node_arrived(struct node *self, const struct record_batch *batch);

/* By what an add is known again. */
struct vote_cache_add node_vote_cache_add(const struct subrequest *subrequest,
                                          const uint64_t *fingerprints);

/* Of an add that was just executed, replace the planes by those of its first
 * execution. False: it may have been executed before and nobody knows how it voted then, so a
 * "present" may be its own doing. */
MUST_USE bool node_settle_vote(struct node *self, uint64_t now_us,
                               const struct subrequest *subrequest, const uint64_t *fingerprints,
                               enum replica_state state, uint64_t *present, uint64_t *absent);

/* The add has set bits and was refused after all: when its message comes again, "present" is
 * doubted. */
void node_lost_vote(struct node *self, const struct subrequest *subrequest);

/* questions.c: fences, info, stats */
void node_on_fence_request(struct node *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame);
void node_on_info_request(struct node *self, uint64_t now_us, const struct peer *from,
                          const struct frame *frame);
void node_on_stats_request(struct node *self, const struct peer *from, const struct frame *frame);

/* Is what names this epoch served? OK · STALE · NEED_DOC · CONFLICT · NOT_READY · DROPPED. */
enum status node_judge(const struct node *self, const struct document_entry *entry,
                       const struct subrequest *subrequest);

/* sites.c: cursors of other sites' logs; found in the log, repeated, and void when an incarnation
 * begins. */
void node_on_site_cursor_request(struct node *self, const struct peer *from,
                                 const struct frame *frame);
void node_site_cursor_found(struct node *self, struct span record);
void node_site_cursors_forget(struct node *self);
MUST_USE enum status node_site_cursors_checkpoint(const struct node *self);

/* disk.c: what the slot group's share of the filter's sorted runs takes on the disk. */
uint64_t node_disk_bytes(const struct node *self, const struct document_entry *entry,
                         uint32_t group);

/* storage.c */
MUST_USE enum status node_storage_create(struct node *self);

/* What is held is not all that was acknowledged: from now on another incarnation. */
void node_begin_incarnation(struct node *self, uint64_t now_us, enum amnesia amnesia);

/* A coordinator has taken note of this boot. */
void node_confirm(struct node *self, uint32_t id);

/* No coordinator answers, and all others that share shards have noted this boot. */
void node_confirm_by_peers(struct node *self, uint32_t count);

/* The store names another boot than the claimed one: try the next that it may name; when it names
 * none, the folder is an older copy. An incarnation that begins is told what it replaces. */
void node_on_boot_refused(struct node *self, uint64_t now_us, const struct sync_reply *reply);
void node_fail(struct node *self, const char *what, enum status status);

/* log.c: log a document as held and fenced; sets hosted->fence_end or ->unlogged. */
void node_log_document(struct node *self, struct document_entry *entry);

/* Sync every group, if some filter asks for it. Before every commit. */
void node_choose_sync(struct node *self);

/* Log a batch that was accepted, before its answer. */
MUST_USE enum status node_log_add(struct node *self, const struct document_entry *entry,
                                  const struct subrequest *subrequest, const uint64_t *fingerprints,
                                  uint32_t count, struct log_need *need);

/* held.c: answers that wait */
void node_release_held(struct node *self);
void node_drop_held(struct node *self);

/* replay.c: false when nothing is to be read back now. */
bool node_replay_begin(struct node *self, struct document_entry *entry, struct arrays *set);

/* Is it filled from an imprint, or will be from now on? That takes its memory as it goes: zeroing
 * it before would only take longer. */
bool node_replay_builds(struct node *self, struct document_entry *entry, struct arrays *set);

/* What the log has besides runs, for all sets that have read theirs. */
void node_replay_begin_rest(struct node *self);

/* The log has been written a little further. */
void node_replay_moved(struct node *self);

/* image.c: arrays as storage wants them for snapshots. */
bool node_image(void *context, const struct storage_set *set, struct storage_image *out);
void node_image_groups(void *context, const struct storage_set *set, struct snapshot_group *out);
struct snapshot_geometry node_image_geometry(const struct geometry *geometry);

/* reports.c */

/* How many slot groups a page may tell of. */
size_t node_report_most(const struct node *self);

/* The page that is due, of the `whole` round or of what is new; returns how many reports it has,
 * node_report_most() at most. */
size_t node_report_page(const struct node *self, bool whole, struct replica_report *reports,
                        struct report_page *page);

/* It went to a coordinator: what is due next, and when. */
void node_report_sent(struct node *self, uint64_t now_us, const struct report_page *page);

/* A coordinator has answered: the next page may go. */
void node_report_answered(struct node *self, uint64_t now_us);

/* So many coordinators are to hear at once of what has changed, by a round that begins now or, if
 * one is under way, behind that one. */
void node_report_soon(struct node *self, uint64_t now_us, uint32_t coordinators);

/* Coordinators should hear of one filter at once. */
void node_report_news(struct node *self, uint64_t filter_id);

/* Now, if there are news and none are under way. */
void node_report_turn(struct node *self, uint64_t now_us);

/* Is a page of the round due? Else the report is about what is new only, if anything: where nothing
 * has changed since the last round began the next one would say the same. */
bool node_report_whole(const struct node *self, uint64_t now_us);

/* May a report that is not of a round go now? Each coordinator keeps only the newest of a node. */
bool node_news_may_go(const struct node *self);

/* A report went to a coordinator; of news: and what has become of those. */
void node_report_opened(struct node *self, bool whole);
void node_news_sent(struct node *self, uint64_t now_us, const struct report_page *page);

/* cluster.c */
void node_on_nameless(void *context, uint64_t now_us);
void node_ask_cluster(struct node *self, uint64_t now_us);
/* An answer to that. */
void node_take_cluster(struct node *self, uint64_t now_us, const struct sync_reply *reply);
/* False, and said: the answer is of another cluster than what is held here. */
bool node_same_cluster(struct node *self, uint64_t now_us, const struct sync_reply *reply);

/* sync_request.c */
void node_sync(struct node *self, uint64_t now_us);
void node_on_sync_reply(struct node *self, uint64_t now_us, uint64_t correlation,
                        const struct sync_reply *reply);
void node_on_hint(struct node *self, uint64_t now_us, const struct hint *hint);

#endif
