/* private.h - the parts of a coordinator; shared by the coordinator only.
 */
#ifndef ORBLOOM_COORDINATOR_PRIVATE_H
#define ORBLOOM_COORDINATOR_PRIVATE_H

#include "base/log.h"
#include "coordinator/audit.h"
#include "coordinator/coordinator.h"
#include "coordinator/nodes/rhythm.h"
#include "coordinator/notes.h"
#include "coordinator/order.h"
#include "coordinator/plan/boot.h"
#include "coordinator/plan/change.h"
#include "coordinator/plan/rebuild.h"
#include "coordinator/signatures.h"
#include "coordinator/work.h"
#include "map/document_cache.h"
#include "map/feature.h"
#include "map/history/window.h"
#include "map/rename.h"
#include "proto/codec.h"

#include <stdbool.h>

enum {
    COORDINATOR_MAX_PEERS = 1024,  /* hinted when something changes */
    COORDINATOR_MAX_WAITERS = 256, /* operators waiting for a create or drop */
    COORDINATOR_NEWS = 64,         /* documents that are looked at one by one; beyond it all are */
    COORDINATOR_MESSAGE_BYTES = NOTES_TEXT_BYTES,
};

/* name, unit, help */
#define COORDINATOR_COUNTERS(X)                                                                    \
    X(late_commands_total, "commands",                                                             \
      "refused as nobody waits for them any more, or this process was stopped")                    \
    X(moved_commands_total, "commands",                                                            \
      "refused as what they are about is not what was seen any more")                              \
    X(syncs_total, "requests", "nodes and routers that asked for documents")                       \
    X(hints_total, "frames", "hints sent that something changed")                                  \
    X(documents_written_total, "documents", "documents written to the store")                      \
    X(swap_conflicts_total, "swaps", "compare-and-swaps lost to another writer")                   \
    X(store_errors_total, "operations", "reads or writes that the store refused")                  \
    X(store_bytes, "bytes",                                                                        \
      "etcd's database, at the member that has least left of its quota; 0: not told (a gauge)")    \
    X(store_in_use_bytes, "bytes",                                                                 \
      "... that hold something: defragmentation gives the others back (a gauge)")                  \
    X(store_quota_bytes, "bytes",                                                                  \
      "... and what it may have at most, 2 GiB where etcd does not say; 0: no quota (a gauge)")    \
    X(registrations_total, "changes", "nodes added to the node list or changed in it")             \
    X(registrations_refused_total, "requests",                                                     \
      "nodes, links, routers refused: name in use, wrong labels, key, site, version")              \
    X(filters_created_total, "filters", "filters created here")                                    \
    X(filters_dropped_total, "filters", "filters dropped here")                                    \
    X(filters_forgotten_total, "filters",                                                          \
      "dropped filters that this coordinator removed from the store")                              \
    X(changes_written_total, "documents", "steps of replacing replicas written here")              \
    X(report_rounds_total, "rounds",                                                               \
      "of reports of several pages, heard from the first to the end")                              \
    X(growth_written_total, "documents", "steps of growing filters written here")                  \
    X(growth_refused_total, "checks",                                                              \
      "filters that were due to grow by themselves, and could not")                                \
    X(rebuilds_written_total, "documents", "steps of rebuilding filters from a list written here") \
    X(losses_accepted_total, "documents", "in which an operator gave up replicas that are gone")   \
    X(loads_given_up_total, "filters",                                                             \
      "filters dropped here as their load from a dump stood still")                                \
    X(rotations_written_total, "documents", "slices of time windows begun here")                   \
    X(expiries_written_total, "documents", "expiries of filters set, taken back or noted here")    \
    X(filters_renamed_total, "filters", "renames confirmed here")                                  \
    X(filters_expired_total, "filters", "drops begun here as their time was over")                 \
    X(sites_written_total, "documents", "steps of sets of sites of filters written here")          \
    X(site_states_refused_total, "states",                                                         \
      "of filters at other sites, or evidence of links, that make no sense")                       \
    X(rekeys_written_total, "records",                                                             \
      "signed or sealed anew here, as the cluster key is replaced")                                \
    X(fences_sent_total, "requests", "fences asked of nodes")                                      \
    X(fences_confirmed_total, "replies", "fences confirmed by FULL replicas")                      \
    X(fences_void_total, "replies", "fence replies that do not count")                             \
    X(audit_lost_total, "lines", "of the audit log that could not be written")                     \
    X(audit_left_out_total, "lines",                                                               \
      "of refused requests, beyond so many a second, that the audit log does not have")            \
    X(not_permitted_total, "requests", "refused as the user who asks may not ask for that")        \
    X(peers_refused_total, "connections",                                                          \
      "not let in: an unknown key, plain where CURVE is spoken, or the other way round")           \
    X(frames_refused_total, "frames",                                                              \
      "of peers whose role does not allow them, or whose key was withdrawn")                       \
    X(malformed_total, "frames",                                                                   \
      "frames that could not be decoded or do not belong here, connections that break ZMTP")       \
    X(version_total, "frames", "frames of a protocol version that is not served")                  \
    X(replies_dropped_total, "frames", "answers that could not be sent")

enum coordinator_counter {
#define X(name, unit, help) COORDINATOR_##name,
    COORDINATOR_COUNTERS(X)
#undef X
        COORDINATOR_NCOUNTERS
};

/* How much a node has told of its slot groups, page by page. What a page does not tell of may be
 * there all the same. */
struct report_round {
    bool told;                   /* all of them, since it began as what it is */
    bool going;                  /* the pages so far followed one another */
    struct report_place reached; /* ... up to here */
    uint64_t since;              /* ... and the oldest was told with this change in hand */
};

/* What this coordinator has heard of a node; gone with the process. */
struct heard {
    uint32_t node;
    uint64_t incarnation;
    uint64_t boot;
    uint64_t number; /* of the newest request, of that boot */
    uint64_t last_us;
    uint64_t rival_us; /* when another process first asked for its name; 0: none has */
    struct rhythm rhythm;
    struct report_round round;
    uint64_t since; /* every report kept here was made when the node held all changes of the store
                       up to this one, or more; 0 until a whole round of them has come */
    uint64_t memory_used_bytes;
    uint64_t disk_used_bytes;
    uint64_t features; /* that it knows */
    uint64_t key;      /* cluster_key_tag() of it; 0: it has not told */
    uint64_t position; /* how far its log is known to have reached, of that incarnation */
    struct replica_report *reports; /* of that boot, in order */
    size_t nreports;
    size_t reports_capacity;
    uint32_t states[REPLICA_FULL + 1]; /* how many of them are in each state */
    struct replica_report *before;     /* the last ones of the life before this one */
    size_t nbefore;
    uint32_t link; /* for questions; 0: none yet */
    char link_address[NODE_ADDRESS_BYTES];
};

/* What a process that holds the cluster key says of itself and of what it holds; in the node list
 * or not. */
struct claim {
    struct node_record record; /* id 0 */
    struct boot_claim life;
    struct cluster_id cluster; /* that its data belong to */
    uint64_t number;
    uint64_t last_us;
    uint64_t rival_us;          /* when another process claimed the same name; 0: never */
    struct held_document *held; /* of the pages told so far: the records, then filters by id */
    size_t nheld;
    struct id_set told;         /* the ids that those pages are about */
    uint64_t dropped_revision;  /* of the record of dropped filters that it holds */
    uint64_t dropped_found;     /* hash of the one that it has sent along */
    enum store_age age;         /* of the store, by what is held */
    struct held_document first; /* ... that shows it */
};

/* The store's record of which cluster this is, as it is there. */
struct cluster_held {
    struct cluster_id id; /* none: none was drawn yet */
    uint64_t version;
    uint8_t bytes[128];
    size_t size;
};

/* The store's record of the features in use. */
struct features_held {
    struct cluster_features record;
    uint64_t version;
};

/* The store's record about itself. */
struct store_mark {
    uint64_t name;     /* random; change numbers of different names say nothing of each other */
    uint64_t restores; /* finished */
    bool restoring;
    uint64_t version;
};

/* When tokens and keys of users were last used, as far as was heard here: in order of users and
 * credentials. See users.h. */
struct users_held {
    struct user_use *uses;
    size_t nuses;
    size_t room;
    bool unwritten; /* some of it is not in the store */
    uint64_t next_us;
    uint64_t version; /* of the store's */
};

/* Somebody who asks for documents and gets hints. */
struct follower {
    struct peer peer;
    uint64_t last_us;
    uint64_t gap_us;                /* the longest between two questions; 0: there was one */
    char name[DOCUMENT_NAME_BYTES]; /* of a router, cut off if need be; "": a node */
    bool serves;                    /* clients: a router that is no link */
    uint64_t features;              /* that it knows */
    uint64_t key;                   /* cluster_key_tag() of it; 0: it has not told */
};

/* What a process that links this site to others has said; see links.h. */
struct link_heard {
    char name[DOCUMENT_NAME_BYTES]; /* of the process; "": none */
    char site[SITE_NAME_BYTES];     /* that it is of */
    char endpoint[DOCUMENT_TEXT_BYTES];
    bool curve;
    struct link_report report;
    uint64_t last_us;
    uint64_t gap_us; /* the longest between two questions; 0: there was one */
};

enum { COORDINATOR_MAX_LINKS = CODEC_MAX_LINKS };

enum waiter_kind { WAITER_CREATE, WAITER_DROP, WAITER_REBUILD, WAITER_EXPAND, WAITER_RENAME };

/* What nodes answer when they are asked how many keys they have of a filter. */
struct inquiry {
    uint64_t number;                  /* of the question: answers to others don't count */
    uint64_t next_us;                 /* to ask once more who has not answered */
    bool news;                        /* somebody has answered since it was looked at */
    struct expansion_report *reports; /* all that was answered */
    size_t nreports;
    uint32_t told[DOCUMENT_MAX_NODES]; /* who has; also those that have nothing to report yet */
    uint32_t ntold;
};

/* An operator whose command is under way. */
struct waiter {
    bool used;
    struct peer peer;
    uint64_t correlation;
    uint64_t deadline_us;
    uint64_t filter_id;
    enum waiter_kind kind;
    struct rebuild_parameters rebuild; /* with WAITER_REBUILD; its keyset is the one in question */
    struct expand_parameters expand;   /* with WAITER_EXPAND */
    struct inquiry *inquiry;           /* ... what nodes answer; the waiter's own */
    struct order order;                /* ..., and WAITER_REBUILD: what may still be written */
    bool created;                      /* by this command */
    struct audit_entry *audit;         /* to be noted with its end; NULL: nothing */
};

/* The newest look at what is new in the store; see records_fresh(). */
struct store_read {
    uint64_t number; /* frames that had come when it was begun */
    enum status status;
};

/* A filter that wants a look at every event. */
struct restless {
    struct document_entry *entry;
    bool moving; /* replicas of it are being replaced */
};

/* See rounds.h. */
struct rounds {
    struct restless *items; /* ascending ids */
    size_t count;
    size_t room;
    size_t nmoving;
    bool all;                        /* are to be looked at, once */
    uint64_t news[COORDINATOR_NEWS]; /* ... else these */
    size_t nnews;
};

/* What /metrics tells of a filter and of several together: see view/filter_metrics.h. */
enum {
    METRICS_FILTER_CAPACITY,
    METRICS_FILTER_KEYS,
    METRICS_FILTER_BYTES,
    METRICS_FILTER_LACKING,
    METRICS_FILTER_LOST,
    METRICS_FILTER_REFUSED,
    METRICS_FILTER_COUNTS
};

/* Sums over those that are not told one by one: of the last pass through them that has come to its
 * end, and of the one that goes on from an id. */
struct filters_rest {
    uint64_t found[METRICS_FILTER_COUNTS];
    uint64_t going[METRICS_FILTER_COUNTS];
    uint64_t next_id;
};

struct coordinator {
    struct coordinator_config config;
    struct effects effects;
    struct store *store;
    struct document_cache documents; /* attachment: the store's version, see records */
    uint64_t change;                 /* the cache reflects the store up to here */
    uint64_t hinted;                 /* followers were told of the change up to here */
    uint64_t nodes_version;
    uint64_t dropped_version; /* of the record of dropped filters */
    uint64_t users_version;   /* ... of users; 0: there is none */
    struct users_held users;
    uint64_t documents_taken;                      /* from the store into the cache, so far */
    struct usage *usage;                           /* see usage.c */
    char unwritten[COORDINATOR_MESSAGE_BYTES / 2]; /* why the last swap failed; "": it did not */

    struct cluster_held cluster;
    struct features_held features;
    struct store_mark mark;
    bool went_back; /* the store's change number has; until it is restored */
    struct claim *claims;
    size_t nclaims;
    struct document_cache found;         /* what nodes sent along, as the store lacked it */
    struct dropped_record found_dropped; /* all of their records together, and the highest number */
    struct held_document fence_ahead;    /* of the store: a fence that a node has confirmed */
    char age_text[COORDINATOR_MESSAGE_BYTES];

    struct heard *heard;
    size_t nheard;
    struct follower followers[COORDINATOR_MAX_PEERS];
    struct link_heard links[COORDINATOR_MAX_LINKS];
    uint64_t sites_told;         /* numbers what they are told; see site/tell.h ... */
    uint64_t sites_count;        /* ... in this count; 0: nothing was told yet */
    bool sites_news;             /* they have not been hinted at it yet */
    struct newcomers *newcomers; /* NULL: none is to come; see site/newcomer.h */
    struct waiter waiters[COORDINATOR_MAX_WAITERS];
    uint64_t inquiries; /* begun so far; numbers them */
    struct rounds rounds;
    struct notes notes;
    uint64_t expansion_seen;    /* expansion was looked at up to this change */
    bool expansion_news;        /* nodes have reported since, or something went wrong */
    uint64_t expansion_next_us; /* not to be looked at before */
    uint64_t started_us;        /* of the first event */

    uint64_t dropped_seen;  /* tombstones were looked for up to this change */
    uint64_t tombstones_us; /* since when some wait for the record; 0: none does */
    uint64_t forget_us;     /* look at what may be removed from the store not before */
    struct signatures signatures;
    struct survey *survey;     /* NULL: nobody wants one; see web/survey.h */
    struct lags *lags;         /* ... and web/lags.h */
    struct measured *measured; /* ... and web/measured.h */

    struct filters_rest rest;
    uint64_t backup_us; /* when the end of a backup of the store was told last; 0: never */

    struct audit audit;
    struct order order; /* the command under way */
    uint64_t now_us;    /* of the event under way */
    uint64_t moves_us;  /* look again at what is to leave; 0: nothing is */
    bool frozen;        /* nothing is to be changed now: see restore/age.c */
    bool settled;       /* since started_us enough was heard of nodes */
    struct work work;
    struct store_read read;
    struct codec_arena *arena;       /* of the work under way ... */
    struct codec_arena *aside_arena; /* ... and of what does not wait for it */
    struct buffer out;
    struct buffer scratch;
    struct log_limit bad_frame_limit;
    struct log_limit store_limit;
    struct log_limit expansion_limit;
    struct log_limit dropped_limit;
    struct log_limit rekey_limit;
    uint64_t counters[COORDINATOR_NCOUNTERS];
};

static inline void coordinator_count(struct coordinator *self, enum coordinator_counter counter)
{
    self->counters[counter]++;
}

/* Since 1970; 0: there is no clock. */
static inline uint64_t coordinator_date_ms(const struct coordinator *self)
{
    return self->effects.date_ms != NULL ? self->effects.date_ms(self->effects.context) : 0;
}

/* Heard of within node_timeout? It may have been after the work under way began. */
static inline bool coordinator_lately(const struct coordinator *self, uint64_t now_us,
                                      uint64_t last_us)
{
    return now_us <= last_us || now_us - last_us <= self->config.node_timeout_us;
}

/* A router that has asked lately? It asks one coordinator after the other, each sync_interval of
 * its own, so here as seldom as that takes. */
static inline bool coordinator_follows_router(const struct coordinator *self,
                                              const struct follower *one, uint64_t now_us)
{
    return one->peer.size > 0 && one->name[0] != '\0' &&
           (coordinator_lately(self, now_us, one->last_us) ||
            now_us - one->last_us <= 2 * one->gap_us);
}

/* ---- answers.c ---- */

void coordinator_reply(struct coordinator *self, const struct peer *to, const struct frame *frame);

/* The message of a refusal; returns the status. */
PRINTF_LIKE(3, 4)
enum status coordinator_refuse(char message[COORDINATOR_MESSAGE_BYTES], enum status status,
                               const char *format, ...);

/* Answer an admin request with a status and a message. */
void coordinator_answer(struct coordinator *self, const struct peer *to, uint64_t correlation,
                        enum status status, bool created, const char *message);

/* Tell all followers that the store has moved. */
void coordinator_hint(struct coordinator *self, uint64_t now_us);

/* Keep an operator waiting; answers OVERLOADED when there are too many, and frees what is the
 * waiter's. */
void waiters_add(struct coordinator *self, const struct waiter *waiter);

/* ... the one whose command this is, for as long as it is wanted. `created`: by it. */
void waiters_await(struct coordinator *self, const struct peer *from, const struct frame *frame,
                   enum waiter_kind kind, uint64_t filter_id, bool created);

/* The filter that one is about: it stays in the cache while somebody waits. */
struct document_entry *waiters_entry(const struct coordinator *self, const struct waiter *waiter);

/* Forget one; it was answered. */
void waiters_end(struct waiter *waiter);

/* Forget all: the coordinator ends, and nobody answers them. */
void waiters_fini(struct coordinator *self);

/* When it is to be looked at, whatever comes. */
uint64_t waiters_next_us(const struct waiter *waiter);

/* Answer and forget one; with the filter as it is, unless it was dropped. */
void waiters_finish(struct coordinator *self, struct waiter *waiter, enum status status,
                    const char *message);

/* ---- nodes/registration.c ---- */

struct registered {
    uint32_t node;                           /* STATUS_OK: its id */
    struct boot_life present;                /* STATUS_STALE: what has its place */
    bool unfit;                              /* refused until somebody mends it, as it seems */
    char message[COORDINATOR_MESSAGE_BYTES]; /* why not */
};

/* Take a node into the node list, or find it there. STATUS_STALE: its data is an older copy, or it
 * is to name the life that it replaces. */
MUST_USE enum status coordinator_register(struct coordinator *self, uint64_t now_us,
                                          const struct sync_request *request,
                                          struct registered *out);

/* A node that would write its first file asks which cluster this is. */
void coordinator_on_cluster_question(struct coordinator *self, const struct peer *from,
                                     const struct frame *frame, enum status read);

/* The node of this claim, verified, by the list that was read last; 0: it is not there as that
 * life. For when the store can't be read: nothing is written. */
uint32_t coordinator_recognize(const struct coordinator *self, const struct sync_request *request);

/* ---- restore/age.c: is the store older than what nodes hold? ---- */

void age_fini(struct coordinator *self);

/* A record as a node's claim says, but for the id. */
void age_fill_record(struct node_record *record, const struct sync_request *request);

/* A node's claim, its MAC verified, right after the store was read. */
void age_note(struct coordinator *self, uint64_t now_us, const struct sync_request *request);

/* One that has claimed before, and says nothing new that could be looked at now, is there. */
void age_note_alive(struct coordinator *self, uint64_t now_us, const struct sync_request *request);

/* The node of that name has nothing: what one that was heard of before held does not count, once
 * that is silent; a question that came late must not make what lives forgotten. */
void age_forget(struct coordinator *self, uint64_t now_us, const char *name);

/* NULL when nobody of that name has claimed anything. */
struct claim *age_claim(const struct coordinator *self, const char *name);

/* Its fence for the filter; 0: it has told of none. */
uint64_t age_fence(const struct claim *claim, uint64_t filter_id);

/* Has it told of all that it holds? Else *after is where to go on. */
bool age_told_all(const struct claim *claim, uint64_t *after);

/* Ids of documents that it should send along: the store lacks them. Returns how many. */
size_t age_wanted(struct coordinator *self, const struct claim *claim, uint64_t *out, size_t max);

/* Why nothing may be changed now: the store is older than what nodes hold, or is being restored.
 * NULL: nothing speaks against it. Valid until the next call. */
const char *age_reason(struct coordinator *self);

/* Has every node of the list been heard of, or had node_timeout to be? Before that nobody could
 * have told that the store is an older copy, so nothing is changed yet. */
bool age_settled(struct coordinator *self, uint64_t now_us);

/* The same, and at least one node: a store that was lost has no list. */
bool age_could_tell(struct coordinator *self, uint64_t now_us);

/* Is there another content under a number that a node holds? Then documents are not told. */
bool age_differs(const struct coordinator *self);

/* ---- sync.c: nodes and routers asking ---- */

void coordinator_on_sync(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame);

/* A report has come that has to wait: its node is there. */
void coordinator_note_alive(struct coordinator *self, uint64_t now_us,
                            const struct sync_request *request);

/* Where the store tells by itself that others have written: read that, and tell followers. */
void coordinator_check_store(struct coordinator *self, uint64_t now_us);

/* ---- nodes/heard.c: what nodes have told, and of their slot groups ---- */

/* NULL when nothing was heard of it. */
struct heard *coordinator_heard(const struct coordinator *self, uint32_t node);

/* Heard of lately? */
bool heard_alive(const struct coordinator *self, uint64_t now_us, uint32_t node);

/* It has told something just now. */
void heard_note(const struct coordinator *self, uint64_t now_us, struct heard *heard);

/* After how many microseconds without a word it is shown as silent; it is alive for longer. */
uint64_t heard_silent_after(const struct coordinator *self, uint32_t node);

/* The link to a node for questions, opened if need be; 0: not heard of here. */
uint32_t heard_link(struct coordinator *self, uint32_t node);

/* A page of a node whose boot it is; false: no memory, nothing has changed. Reports of the boot
 * before count no more: they are dropped, or kept as `before` where another life has begun. */
bool heard_take_page(struct heard *self, const struct sync_request *request, uint64_t since);
void heard_fini(struct heard *self);

/* What the node told of a filter, in order of groups; `self` may be NULL. */
const struct replica_report *heard_reports(const struct heard *self, uint64_t filter_id,
                                           size_t *count);

/* ... of one slot group; NULL: nothing, as yet. */
const struct replica_report *heard_report(const struct heard *self, uint64_t filter_id,
                                          uint32_t group);

/* The most keys that any replica of a slot group ever told, as far as this coordinator remembers.
 */
uint64_t heard_most_keys(const struct coordinator *self, uint64_t filter_id, uint32_t group);

/* ---- view/sites.c ---- */

/* What links and documents tell of sites: `orbloom site`. */
void coordinator_on_site(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame);

/* ---- view/status.c ---- */

/* `read`: how the last look at the store ended, or STATUS_UNAVAILABLE: it has not; `doubt`: why
 * what it tells may not be so any more; "": it is. Changes nothing. */
void coordinator_on_status(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame, enum status read, const char *doubt);
void coordinator_on_stats(struct coordinator *self, const struct peer *from,
                          const struct frame *frame);

/* ---- look.c ---- */

void coordinator_on_look(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame);

/* ---- restore/map.c, restore/restore.c ---- */

void coordinator_on_map_backup(struct coordinator *self, uint64_t now_us, const struct peer *from,
                               const struct frame *frame);
void coordinator_on_map_restore(struct coordinator *self, uint64_t now_us, const struct peer *from,
                                const struct frame *frame);

#endif
