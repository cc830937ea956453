/* private.h - the parts of a router; for router only.
 *
 * An operation is one client's batch. It is split into parts, one a slot group; each part
 * asks slots and gathers their votes. Its life:
 *
 *   client request --> waiting (unknown filter: until a fresh read of the store) --> asking
 *        asking: votes come in; STALE starts it over under the newer document
 *        --> parked: a check whose "absent" is not of all sites yet; then asking once more
 *        --> answered: by a quorum, or at the deadline with what is certain by then
 */
#ifndef ORBLOOM_ROUTER_PRIVATE_H
#define ORBLOOM_ROUTER_PRIVATE_H

#include "base/arrivals.h"
#include "base/bits.h"
#include "base/buffer.h"
#include "base/job.h"
#include "base/link_ring.h"
#include "base/log.h"
#include "base/telemetry/latency.h"
#include "base/token_bucket.h"
#include "map/access/usage.h"
#include "map/document_cache.h"
#include "map/history/rebuild.h"
#include "proto/codec.h"
#include "router/counters.h"
#include "router/flight.h"
#include "router/router.h"
#include "router/sent.h"
#include "router/series.h"
#include "site/freshness.h"

#include <stdbool.h>

enum {
    ROUTER_MAX_OPS = 65536,
    ROUTER_MAX_WAITING = 1024,
    ROUTER_MAX_INFOS = 64,
    ROUTER_TICK_US = 5000, /* how exactly retries and deadlines are kept; hedges: see there */
    ROUTER_MESSAGE_BYTES = 512,
    ROUTER_DEFAULT_TIMEOUT_MS = 5000,
};

/* Two valid documents under one number: neither can be trusted. */
#define ROUTER_CONFLICT_MESSAGE                                                                  \
    "this router holds two contents of the filter under one number and serves neither; see its " \
    "log, restore the store or restart the router"

/* What a router keeps for one filter document. */
struct routed_filter {
    bool has_secret;
    struct hash_secret secret;
    uint8_t sealed[SEAL_SECRET_BYTES]; /* as it came last */
    uint64_t batch_epoch;              /* the numbers below belong to this epoch */
    uint64_t *batch_number;            /* last one given out, by slot group */
    uint64_t pairs_epoch;              /* has_pairs was worked out for this epoch */
    bool has_pairs;                    /* some slot is a pair: replicas are being replaced */
    struct site_knowledge *sites;      /* see site/inquiry.h; NULL: nothing was asked */
};

/* ---- nodes ---- */

/* A node as this router sees it: the link to it, what is under way there, and the subrequests that
 * are gathered until the end of the turn, to leave in one message. */
struct backend {
    uint32_t node;
    char address[NODE_ADDRESS_BYTES];
    uint64_t list; /* revision of the node list that the address is of */
    uint32_t link;
    bool suspect;                   /* has not answered for a while: asked last */
    uint64_t unanswered_us;         /* since when something is unanswered; 0: nothing is */
    uint64_t next_probe_us;         /* while suspect */
    struct flight flight;           /* bytes that were sent and not answered, and their bound */
    struct sent sent;               /* ... in these messages */
    uint64_t looked_us;             /* when what was lost was last looked for */
    uint64_t unsent_bytes;          /* gathered in this turn */
    bool unsent_adds;               /* ... and there are adds among it, or what waits as they do */
    struct latency checks;          /* how fast it answers messages with checks alone */
    struct histogram roundtrips;    /* how fast it has answered messages of any kind, ever */
    struct subrequest *subrequests; /* CODEC_MAX_SUBREQUESTS, once it is used */
    size_t nsubrequests;
    uint64_t *fingerprints; /* CODEC_MAX_KEYS, once it is used */
    size_t nfingerprints;
};

/* ---- operations ---- */

enum ask_state {
    ASK_NOT = 0,  /* not asked */
    ASK_SENT,     /* an answer is awaited */
    ASK_ANSWERED, /* voted, or answered without a vote that counts */
    ASK_FAILED,   /* refused, in part, or not sent: asked again later */
};

/* How far one member of a slot is with a part. A slot has one of these for its reader, and while it
 * is a pair another one for the other half. */
struct slot_ask {
    enum ask_state state;
    enum status refusal; /* why ASK_FAILED or not counted; FULL: some keys were not accepted */
    bool makes_room;     /* FULL, as far as the node has heard, until the filter has grown */
    bool voted;
    bool tainted;     /* add: its "present" may be the doing of an earlier attempt */
    bool paired;      /* add, of a reader: counts only together with its partner */
    uint8_t handed;   /* documents handed to it */
    uint8_t unready;  /* how often it was NOT_READY, or could not be sent anything */
    uint8_t full;     /* ... FULL until it has grown, in a row */
    uint32_t resends; /* how often it was sent again as no answer came */
    uint64_t asked_us;
};

struct part {
    uint32_t group;
    uint32_t count;
    uint64_t *fingerprints;
    uint32_t *positions; /* of each key in the client's batch; NULL: the same */
    uint64_t *planes;    /* of slot s: present at 2 s nwords, absent nwords further */
    uint64_t *present;   /* the verdict */
    uint64_t *absent;
    uint64_t batch_number;
    bool hedged; /* every replica that may be asked has been */
    bool done;
    struct slot_ask asks[QUORUM_MAX_REPLICAS];
    struct slot_ask *partners; /* the other halves of pairs, by slot; NULL: there are none */
    uint64_t *accepted;        /* ... and the plane of what each has accepted */
};

/* The block that holds an operation's arrays; some blocks stay with their place: op.c. */
struct op_memory {
    uint8_t *block;
    size_t bytes;
};

struct op {
    bool used;
    uint64_t round; /* told apart from earlier users of this place and earlier starts */
    struct peer client;
    uint64_t correlation;
    struct op_id id;
    uint32_t attempt;
    uint32_t restarts;        /* under newer documents */
    enum operation operation; /* a feed is an add to one keyset */
    uint32_t keyset;          /* ... to this one; 0: no feed */
    bool withholds;           /* "absent" or "new" is not to be said, see site/gate.c */
    bool unproved;            /* nor is "absent" before it keeps to its bound (site/bounds.c), nor
                                 an add acknowledged before other sites have it (site/acks.c) */
    bool parked;              /* all votes are in, and it waits for that */
    uint64_t bound_us;        /* of a check; FRESHNESS_UNBOUNDED: it has none */
    uint32_t acks;            /* of an add: map/acks.h */
    struct freshness_moment came; /* a check; or all votes of an add */
    bool relayed; /* an add that came from another site; and who is to hear of boots: */
    void (*heard)(void *owner, uint64_t correlation, const struct router_boot *from);
    void *heard_owner;
    void (*ends_done)(void *owner,
                      const struct router_ends_told *told); /* of a question for ends */
    void *ends_owner;
    uint32_t slots; /* that may be asked */
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
    uint64_t came_us; /* the request; before it began it may have waited for its turn */
    uint64_t started_us;
    uint64_t deadline_us;
    uint64_t bytes; /* counted as in flight */
    uint32_t count;
    struct op_memory memory; /* of all that follows; some of it stays with the place */
    uint64_t *fingerprints;  /* as hashed, in the client's order */
    uint64_t *sorted;        /* ... by slot group */
    uint32_t *positions;     /* of those in the client's order */
    uint32_t *counts;        /* of keys by slot group */
    uint64_t *planes;        /* of all parts */
    uint64_t *answer;        /* two planes for the client, where there are several groups */
    struct part *parts;
    struct slot_ask *partners; /* of all parts; NULL while nothing is being replaced */
    uint64_t *accepted;
    struct router_end *ends; /* QUORUM_MAX_REPLICAS of each part, if that is the question */
    uint32_t nparts;
    uint32_t nopen;
};

/* The links of this site, which know how far other sites' keys are here. */
struct site_links {
    struct {
        char address[NODE_ADDRESS_BYTES];
        uint32_t link;   /* 0: it can't be opened */
        uint32_t lacked; /* so many answers of coordinators, one after another, have not had it */
    } links[CODEC_MAX_LINKS];
    uint32_t count;
    uint32_t turn; /* who is asked */
    struct site_wanted {
        uint64_t filter_id;
        uint32_t topic;
    } * wanted; /* what is to be asked: site/inquiry.h */
    size_t nwanted;
    size_t room;
};

/* A request that waits for a read of the store begun after it came. */
struct waiting {
    bool used;
    struct peer client;
    uint8_t *frame;
    size_t size;
    uint64_t sync; /* number of the sync request that settles it */
    uint64_t deadline_us;
};

/* A client's question about a filter, while its nodes are asked. */
struct info {
    bool used;
    uint64_t round;
    struct peer client;
    uint64_t correlation;
    uint64_t filter_id;
    uint64_t deadline_us;
    uint32_t expected;
    uint32_t answered;
    struct replica_report *reports;
    size_t nreports;
};

/* Writing down what is held. */
struct keeping {
    struct job job; /* first */
    enum status (*write)(void *context, struct span bytes);
    void *context;
    struct buffer bytes; /* the job's while it is busy */
    bool busy;
    bool wanted; /* something is held that is not written */
    enum status status;
    uint64_t next_us; /* not before */
};

struct router {
    struct router_config config;
    struct effects effects;
    uint64_t producer_id;
    uint64_t round;
    struct cluster_id cluster;   /* that the documents are of; none: not known yet */
    uint64_t cluster_hash;       /* of the signed bytes that named it last ... */
    struct buffer cluster_bytes; /* ... and these */
    struct keeping keeping;
    struct buffer kept;  /* of an earlier router, while it may be needed */
    uint64_t started_us; /* 0: not yet */
    struct document_cache documents;
    struct backend *backends; /* DOCUMENT_MAX_NODES places: pointers to them stay valid */
    size_t nbackends;
    uint32_t rotation;      /* spreads checks over replicas */
    uint64_t hedge_us;      /* a check asks the remaining replicas after this */
    uint64_t next_learn_us; /* ... and when that is worked out again */
    uint64_t faded_us;      /* when old times of the nodes were last given less weight */

    bool draining;
    struct op *ops; /* ROUTER_MAX_OPS places, used ones below `nops` */
    uint32_t nops;
    uint32_t nused;
    uint32_t nparked; /* of those; and their bytes in flight */
    uint64_t parked_bytes;
    uint32_t *free_ops;
    uint32_t nfree;
    uint64_t inflight_bytes; /* of operations, and of what waits for the store */
    uint64_t next_tick_us;

    uint32_t routers;             /* that there are, as a coordinator knows; 0: not known */
    struct user_places asking;    /* users of requests, in the record */
    uint64_t under_way[USER_MAX]; /* bytes of operations, by the id of their user */
    struct usages usages;         /* of users with limits */
    struct arrivals arrivals;     /* requests that wait for their turn, once there are users */
    struct waiting waiting[ROUTER_MAX_WAITING];
    uint32_t nwaiting;
    struct info infos[ROUTER_MAX_INFOS];
    struct dumps *dumps;        /* see dump.h */
    struct site_ask *site_asks; /* see site/cursors.h; those that came last first */
    uint32_t nsite_asks;
    struct site_links site_links;
    struct link_ring coordinators;
    struct router_link link; /* of one that links sites; its report is the one below */
    struct link_report link_report;
    uint64_t since;
    uint64_t store;      /* the name of the store that `since` is a change number of */
    uint64_t sync;       /* number of the last sync request sent */
    bool sync_open;      /* ... which is not answered */
    bool sync_wanted;    /* another one is to follow: requests have come since it was sent */
    uint64_t sync_us;    /* ... when it was sent */
    uint32_t syncs_lost; /* given up, one after another */
    struct token_bucket sync_rate;
    struct router_sync_extra sync_extra; /* none: NULLs */
    bool synced;
    bool users_refused;                   /* the record of users was, when it came last */
    struct user_use uses[CODEC_MAX_USES]; /* to be told to a coordinator */
    size_t nuses;
    size_t uses_sent;                /* with the sync that is open ... */
    bool uses_since[CODEC_MAX_USES]; /* ... and which of these were noted again since */
    bool doubtful; /* a document or secret of the store was refused: unknown may be wrong */
    uint64_t next_sync_us;
    struct codec_arena *arena;
    struct buffer out;
    struct log_limit bad_frame_limit;
    struct log_limit coordinator_limit; /* on lines about a coordinator that refuses */
    uint64_t unavailable_us;            /* since when it says UNAVAILABLE; 0: it does not */
    struct log_limit bad_document_limit;
    struct log_limit conflict_limit;
    uint64_t counters[ROUTER_NCOUNTERS];
    struct series series;
};

static inline void router_count(struct router *self, enum router_counter counter)
{
    self->counters[counter]++;
}

/* What is not answered yet has changed: `inflight_bytes`, or what waits for its turn. */
static inline void router_show_inflight(struct router *self)
{
    self->counters[ROUTER_inflight_bytes] = self->inflight_bytes + self->arrivals.bytes;
}

/* ---- reply.c ---- */

void router_reply(struct router *self, const struct peer *to, const struct frame *frame);
void router_refuse_client(struct router *self, const struct peer *to, uint64_t correlation,
                          const struct client_request *request, enum status status,
                          const char *message);

/* A client's request or its question about a filter, whichever it is. */
void router_refuse(struct router *self, const struct peer *to, const struct frame *request,
                   enum status status, const char *message);

/* The rebuild that a feed is meant for is not open, by the store. */
void router_refuse_feed(struct router *self, const struct peer *to, uint64_t correlation,
                        const struct client_request *request, const char *name);

/* One that can't be decoded or does not belong here; `from`: NULL if it is not to be answered. */
void router_refuse_frame(struct router *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame, enum status status);

/* ---- metrics.c ---- */

/* A client's request leaves, refused or answered. */
void router_count_request(struct router *self, const struct client_request *request,
                          enum status status);
void router_count_answer(struct router *self, uint64_t now_us, const struct op *op,
                         enum status status, const uint64_t *present, const uint64_t *absent);

/* ---- limits.c ---- */

void limits_fini(struct router *self);

/* May a user have these bytes under way, too, for which max_inflight has room? NULL: they are,
 * until limits_end(); else why not. */
const char *limits_begin(struct router *self, uint32_t user, uint64_t bytes);
void limits_end(struct router *self, uint32_t user, uint64_t bytes);

/* May a user have so many keys now, by its limit of keys a second? They are taken then: asked last,
 * as what is refused costs nothing. False: `message` says when to come again. */
bool limits_take_keys(struct router *self, uint64_t now_us, uint32_t user, size_t count,
                      char message[ROUTER_MESSAGE_BYTES]);

/* So many were told to it, as was not known before: what it asks for next waits for that. */
void limits_owe_keys(struct router *self, uint64_t now_us, uint32_t user, size_t count);

/* ---- turns.c ---- */

void turns_init(struct router *self);
void turns_fini(struct router *self);

/* True: it waits for its turn, or was refused. False: it is served at once. */
bool turns_queue(struct router *self, uint64_t now_us, const struct peer *from,
                 const struct frame *frame, struct span bytes);
void turns_serve(struct router *self, uint64_t now_us); /* a part of those that wait */

/* ---- site/gate.c ---- */

/* Of a filter in several sites: does this site take no adds of clients? What to tell them. */
bool site_gate_shuts_out(const struct filter_document *document);
extern const char site_gate_reason[];

/* Does it leave them, or has it left? */
bool site_gate_left(const struct filter_document *document);

/* May this site not say "absent", as others have keys that it does not? */
bool site_gate_withholds(const struct filter_document *document);

/* May it lack keys that others acknowledged while it was one of them, or before it joined? Then it
 * is not dumped: what a dump lacks is absent wherever it is loaded. */
bool site_gate_lacks(const struct filter_document *document);

/* What this part would call absent is undecided; how many keys that is. */
size_t site_gate_withhold(struct router *self, struct part *part);

/* ---- site/inquiry.c ---- */

void site_knowledge_destroy(struct site_knowledge *knowledge);
void site_inquiries_fini(struct router *self);

/* ---- site/links.c ---- */

/* The links that there are, as a coordinator tells them. */
void site_links_take(struct router *self, const struct sync_reply *reply);
bool site_links_has(const struct router *self, uint32_t link);

/* Send what is to be asked; at the end of a turn, so that all that wait share that. */
void site_links_flush(struct router *self, uint64_t now_us);

/* ---- site/waits.c ---- */

/* A link's answer: those that it was asked for go on. */
void site_waits_on_reply(struct router *self, uint64_t now_us, const struct frame *frame);

/* All its votes are in, and it can't be answered yet: it waits, or has begun anew. */
bool site_holds(struct router *self, uint64_t now_us, struct op *op, struct document_entry *entry);

/* One that waits goes on if it can, and else links are asked again. */
void site_resume(struct router *self, uint64_t now_us, struct op *op, struct document_entry *entry);

/* What becomes of one that waits; of SITE_WAITS, links are asked again. */
enum site_ruling { SITE_WAITS, SITE_DECIDES /* by its votes */, SITE_ASKS_AGAIN /* for votes */ };

/* ---- site/bounds.c ---- */

/* A check has come: which bound it has to keep to, its own or the filter's. */
void site_bound_enter(struct router *self, uint64_t now_us, struct op *op, uint64_t own,
                      struct document_entry *entry);

/* May it say "absent" by what nodes tell from now on? If not, links are asked. */
bool site_bound_proves(struct router *self, uint64_t now_us, const struct op *op,
                       struct document_entry *entry);

bool site_bound_hold(struct router *self, struct op *op, struct document_entry *entry);
enum site_ruling site_bound_rule(struct router *self, uint64_t now_us, struct op *op,
                                 struct document_entry *entry);

/* Why it may not say "absent"; `text` has ROUTER_MESSAGE_BYTES. */
void site_bound_describe(const struct op *op, const struct document_entry *entry, char *text);

/* ---- site/acks.c ---- */

/* An add has come: how many sites are to have it, by its own word or the filter's. */
void site_acks_enter(struct op *op, uint32_t own, const struct document_entry *entry);
bool site_acks_wanted(const struct op *op);

bool site_acks_hold(struct router *self, uint64_t now_us, struct op *op,
                    struct document_entry *entry);
enum site_ruling site_acks_rule(struct router *self, uint64_t now_us, struct op *op,
                                struct document_entry *entry);

/* What this part has acknowledged is not; how many keys that is. */
size_t site_acks_withhold(struct part *part);

/* Why it is not acknowledged; `text` has ROUTER_MESSAGE_BYTES. */
void site_acks_describe(const struct op *op, const struct document_entry *entry, char *text);

/* ---- serve.c ---- */

/* A client's add or check, or question about a filter; `bytes`: what the frame was decoded from. */
void serve_request(struct router *self, uint64_t now_us, const struct peer *from, struct span bytes,
                   const struct frame *frame);

/* The same of one that has waited for its turn, in the time that it has left. */
void serve_arrival(struct router *self, uint64_t now_us, const struct arrival *one);

/* Until when a request that comes now is wanted. */
uint64_t serve_deadline_us(const struct router *self, uint64_t now_us, const struct frame *frame);

/* Why the user, NULL: one that was deleted, may not do that to the filter. Whether there is such a
 * one is not told. */
void serve_describe_right(struct router *self, const struct user *user, uint8_t right,
                          const char *filter, char message[ROUTER_MESSAGE_BYTES]);

/* Serve again what answer number `sync` of a coordinator settles: all that came before it was
 * asked for. */
void serve_settle(struct router *self, uint64_t now_us, uint64_t sync);

/* Answer those whose time is up. */
void serve_tick(struct router *self, uint64_t now_us);
void serve_fini(struct router *self);

/* ---- documents.c ---- */

/* Of a node or a coordinator: what is signed and newer is taken, what is refused is counted. */
void router_take_secret(struct router *self, uint64_t now_us, const struct sealed_secret *sealed);

/* The served filter of that name with its secret; NULL: not known here. */
struct document_entry *router_find(const struct router *self, const char *name);

/* Why nothing can be asked of the filter with this id, by who is in the same process; NULL: it can.
 * `entry`: NULL: it is not known. */
const char *router_why_not(const struct router *self, const struct document_entry *entry,
                           uint64_t filter_id, enum status *status);

void routed_filter_destroy(struct routed_filter *routed);

/* ---- sync.c ---- */

/* Ask a coordinator for news; when next_sync_us has come. */
void sync_send(struct router *self, uint64_t now_us);

/* Something needs a question sent from now on: number self->sync + 1 or a later one. It is sent
 * soon, once the one under way is answered or given up. */
void sync_want(struct router *self, uint64_t now_us);

/* A coordinator says that the store has changed. */
void sync_hinted(struct router *self, uint64_t now_us);

/* An answer of a coordinator. True: all that the store had when number `correlation` was asked is
 * known, and who waited for that can go on. */
bool sync_on_reply(struct router *self, uint64_t now_us, uint64_t correlation,
                   const struct sync_reply *reply);
void sync_on_refusal(struct router *self, uint64_t now_us, const struct frame *frame);

/* What was kept of a coordinator's answers: as it would be taken from one that is asked now, but
 * for what that tells of its store. */
void sync_take_kept(struct router *self, uint64_t now_us, const struct sync_reply *reply);

/* ---- kept.c ---- */

void kept_init(struct router *self);
void kept_fini(struct router *self);

/* It is not used any more: this router has been told not to serve. */
void kept_forget(struct router *self);

/* Use what an earlier router has kept if its time has come, and keep what is held if that is
 * wanted: now and then. */
void kept_tick(struct router *self, uint64_t now_us);

/* When that has to be looked at, at the latest; ACTOR_NEVER: the next question for news will do. */
uint64_t kept_next_us(const struct router *self);

/* ---- backends.c ---- */

/* NULL when the node list has no such node. */
struct backend *backend_of(struct router *self, uint32_t node);

/* Connect to all nodes of the list, so that the first request finds a connection. */
void backends_connect(struct router *self);

/* Add one subrequest to the message that leaves at the end of the turn. False: too much is in
 * flight to that node, or it can't be reached. */
bool backend_gather(struct router *self, uint64_t now_us, struct backend *backend,
                    const struct subrequest *subrequest, const uint64_t *fingerprints);
bool backend_send(struct router *self, struct backend *backend, const struct frame *frame);
void backends_flush(struct router *self, uint64_t now_us);
void backends_tick(struct router *self, uint64_t now_us);

/* Something arrived on the link; NULL when it is no backend's. `number`: of the message, of those
 * that were gathered, that it is the answer to; else 0. */
struct backend *backend_heard(struct router *self, uint64_t now_us, uint32_t link, uint64_t number);
bool backend_suspect(const struct router *self, uint32_t node);
void backends_fini(struct router *self);

/* ---- hedge.c ---- */

void hedge_init(struct router *self);

/* Think the delay over, now and then. */
void hedge_learn(struct router *self, uint64_t now_us);

/* How long anything else waits for a node that should answer: never less than 20 ms. */
uint64_t hedge_patience_us(const struct router *self);

/* How often operations must be looked at for hedges to be in time. */
uint64_t hedge_tick_us(const struct router *self);

/* ---- ops.c ---- */

/* May this be fed, by the document as it is? Also for what is no feed. Only what may is begun. */
bool op_feeds(const struct document_entry *entry, enum operation operation, uint32_t keyset);

/* Until when what comes now with this time-out is worked on; 0: it says none. */
uint64_t op_deadline_us(const struct router *self, uint64_t now_us, uint32_t timeout_ms);

/* Keys that are fingerprints already: of these a request has neither bytes nor lengths. */
struct hashed_keys {
    const uint64_t *fingerprints;
    const struct router_relay *relay; /* NULL: not of another site */
};

/* Who is to be answered, and since when it waits for that. */
struct asker {
    const struct peer *from;
    uint64_t correlation;
    uint64_t came_us;
};

/* Begin what was requested of this filter. `hashed`: NULL: the request has its keys. */
void op_begin(struct router *self, uint64_t now_us, const struct asker *asker,
              const struct client_request *request, const struct hashed_keys *hashed,
              struct document_entry *entry);

/* Room among what is under way, of all and of its user; NULL: there is none, and *reason says why.
 */
struct op *op_place(struct router *self, const struct peer *from, uint64_t bytes,
                    const char **reason);

/* The clock stands still while nothing is under way: what was begun sets it going. */
void op_set_clock(struct router *self, uint64_t now_us);

/* Votes and refusals of a node, by any link. */
void ops_on_reply(struct router *self, uint64_t now_us, uint32_t link, const struct frame *frame);

/* What was refused or not answered is tried again, and what has no time left ends. */
void ops_tick(struct router *self, uint64_t now_us);

/* ---- op.c ---- */

/* A place for an operation; NULL: all are taken. */
struct op *op_take(struct router *self);
void op_end(struct router *self, struct op *op);
void ops_fini(struct router *self);

/* So much memory of an ended operation is kept for the next one in its place; the rest is freed. */
struct op_memory op_memory_keep(struct op_memory memory, uint32_t place);

/* Room for op->count keys under this document; fingerprints that are there are kept. */
MUST_USE enum status op_reserve(struct op *op, struct document_entry *entry);

/* Sort the keys into parts by slot group, in the room reserved for the same document. */
void op_split(struct op *op, const struct epoch_content *content);

/* ---- parts.c ---- */

/* Split and ask, in the memory reserved; used again when a newer document came. STATUS_NOMEM. */
MUST_USE enum status op_start(struct router *self, uint64_t now_us, struct op *op,
                              struct document_entry *entry);

/* Whose subrequest it was; NULL when that operation, or that start of it, is over. */
struct op *op_of_tag(const struct router *self, uint64_t tag, struct part **part, uint32_t *seat);

/* Ask one seat of a part; true when the subrequest is on its way. */
bool part_ask(struct router *self, uint64_t now_us, struct op *op, struct part *part,
              uint32_t seat);

/* Ask the readers of up to `wanted` more slots of those not asked yet, answering ones first. */
uint32_t part_ask_more(struct router *self, uint64_t now_us, struct op *op, struct part *part,
                       uint32_t wanted);

/* ---- pairs.c ---- */

/* A seat below this is a slot's reader, from here on the other half of the slot's pair. */
enum { SEAT_PARTNER = 8 };

/* Are replicas of a served filter being replaced? Looked for once an epoch. */
bool pairs_in(struct document_entry *entry);

const struct member *seat_member(const struct slot_group *group, uint32_t seat);

/* Is there somebody in it, as far as this part is concerned? */
bool seat_taken(const struct part *part, uint32_t seat);
struct slot_ask *seat_ask(struct part *part, uint32_t seat);

/* An add begins: true when the slot has a partner that is to be asked too. */
bool pair_begin(struct part *part, uint32_t index, const struct slot *slot);

/* Two lives of one node: they can't both answer. */
bool pair_of_one_node(const struct slot *slot);

/* ... and the one that is read is not the one that is there: it will not answer checks. */
bool pair_reader_gone(const struct slot *slot);

/* Both have voted: leave of the reader's vote what its partner has accepted. */
void pair_mask(struct part *part, uint32_t index);

/* Is there a vote of the slot? Of a pair it takes both. */
bool slot_counts(const struct part *part, uint32_t index);

/* ---- decide.c ---- */

/* It waits for other sites. Those that do leave most of the places, and of the bytes in flight, to
 * others: beyond a part of them none may. */
bool op_may_park(const struct router *self, const struct op *op);
void op_park(struct router *self, struct op *op);
void op_unpark(struct router *self, struct op *op);

/* Forget all votes and ask once more under the same document. */
void op_again(struct router *self, uint64_t now_us, struct op *op, struct document_entry *entry);

/* Decide what can be decided; answer the client when all is. `last`: its time is up. */
void op_evaluate(struct router *self, uint64_t now_us, struct op *op, bool last);

/* Why slots of a part have no vote that counts: "node-2 does not answer, node-3 NOT_READY". Returns
 * the gravest refusal. */
enum status part_describe(const struct router *self, const struct document_entry *entry,
                          struct part *part, char *text, size_t size);

/* ---- ends.c: operations that ask where logs end ---- */

/* What a slot's reader has told. */
void ends_keep(const struct op *op, const struct part *part, uint32_t slot,
               const struct member *member, const struct subrequest_reply *reply);

/* Done once R of every slot group have told; `last`: its time is up. */
void ends_evaluate(struct router *self, struct op *op, bool last);

/* End it without an answer; it is told why. */
void ends_give_up(struct router *self, struct op *op, enum status status, const char *message);
void ends_stop(struct router *self); /* ... all of them: the router stops */

/* ---- transfers.c ---- */

/* A client asks for a page of a dump, or brings one. */
void transfers_serve(struct router *self, uint64_t now_us, const struct peer *from,
                     const struct frame *frame);

/* ---- info.c ---- */

void info_begin(struct router *self, uint64_t now_us, const struct peer *from,
                const struct frame *frame, const struct document_entry *entry);
void info_on_reply(struct router *self, const struct frame *frame);
void infos_tick(struct router *self, uint64_t now_us);
bool infos_idle(const struct router *self);
void infos_fini(struct router *self);

/* Is an answer about the filter under way? */
bool infos_use(const struct router *self, uint64_t filter_id);
void router_on_stats(struct router *self, const struct peer *from, const struct frame *frame);

#endif
