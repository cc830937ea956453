/* router.h - the router: hashes keys, gathers quorums, answers clients. The pure core.
 *
 * A router holds nothing but a cache of documents and hash secrets. A client's request is
 * split by slot group; what is ready in one turn goes to a node in one message; votes are
 * gathered under one epoch and become a verdict per key (map/quorum.h).
 *
 * Promise: "absent" and an acknowledgement are only ever given by a quorum of one epoch of
 *          FULL replicas. Everything else is answered as what it is.
 * Errors:  router_create: STATUS_NOMEM.
 * Owner:   router_create()'s caller calls router_destroy(). The configuration is copied.
 * Threads: none; one thread drives a router.
 */
#ifndef ORBLOOM_ROUTER_ROUTER_H
#define ORBLOOM_ROUTER_ROUTER_H

#include "base/actor.h"
#include "base/buffer.h"
#include "base/link_ring.h"
#include "base/site_cursor.h"
#include "base/telemetry/counter.h"
#include "base/telemetry/health.h"
#include "base/telemetry/metrics.h"
#include "map/access/seal.h"
#include "map/access/users.h"
#include "map/document.h"
#include "map/document_cache.h"

struct router_config {
    char name[DOCUMENT_NAME_BYTES];
    char coordinators[LINK_RING_MAX][DOCUMENT_TEXT_BYTES];
    uint32_t ncoordinators;
    struct cluster_key key;
    uint64_t max_inflight_bytes; /* of requests under way, and as many again of those that wait
                                  * for their turn; more is OVERLOADED */
    uint64_t hedge_us;           /* a check asks the remaining replicas after this; 0: learned */
    uint64_t retry_us;           /* a node that has not answered is asked again after this */
    uint64_t max_timeout_us;     /* longest deadline that a client may ask for */
    uint64_t sync_interval_us;   /* how often it asks coordinators for documents */

    /* Keep these bytes, all that the router holds: on a lane's thread; what goes wrong it says
     * itself, and is asked again later. NULL: nothing is kept. */
    enum status (*keep)(void *context, struct span bytes);
    void *keep_context;
};

enum {
    ROUTER_KEPT_MAX_BYTES = 1 << 30,
    ROUTER_KEPT_US = 3000000, /* coordinators have so long to answer before what was kept is used */
};

struct router;

MUST_USE enum status router_create(const struct router_config *config,
                                   const struct effects *effects, struct router **out);
void router_destroy(struct router **router);

/* The cluster key is another ring from now on; what is held stays, as it was verified. */
void router_rekey(struct router *router, const struct cluster_key *key);
struct actor router_actor(struct router *router);

/* From now on clients are told NOT_READY, so that they ask another router; requests of the same
 * process (peer of size 0) are served. What has come before is under way until it is answered. */
void router_drain(struct router *router);
bool router_busy(const struct router *router);

/* ---- dumps, in the format of map/dump.h; for whoever is in the same process ---- */

/* A page of a dump. `bytes`: header or chunk, until the callback returns; `next`: where to go on,
 * 0: the dump has ended, and there are no bytes. Unless OK `message` says why there is none. */
struct router_page {
    enum status status;
    const char *message;
    uint64_t next;
    struct span bytes;
    struct filter_uid uid; /* of a header: which filter has that name */
};

struct router_dump {
    uint32_t user; /* whose limits hold, and among whose pages it waits for its turn; 0: nobody's */
    const char *name;
    uint64_t iterator; /* 0: the header */
    uint64_t series;   /* random, the same for all pages of a backup; 0: none */
    uint64_t deadline_us;
    void (*done)(void *owner, const struct router_page *page); /* once; perhaps at once */
    void *owner;
};

/* Every key that was acknowledged before this call, and whose fingerprint is in the page's range,
 * is in the page; of a series, every one that was before the first call with that number. */
void router_dump(struct router *router, uint64_t now_us, const struct router_dump *dump);

/* An add of fingerprints to a filter that is, or was, made of this dump. */
struct router_load {
    const struct peer *from; /* who is answered; NULL: as an add of `user` without a peer */
    uint32_t user;           /* whose limits hold, and whose turn it is at nodes; 0: nobody's */
    uint64_t filter_id;
    uint64_t source;
    uint64_t correlation;
    uint32_t timeout_ms;
    const uint64_t *fingerprints;
    uint32_t count; /* CODEC_MAX_KEYS at most */
};

/* Answered as an add; NOT_READY: this router has not heard of the filter yet. */
void router_load(struct router *router, uint64_t now_us, const struct router_load *load);

/* ---- filters that are in several sites; for whoever is in the same process ---- */

/* A node of this site, and the start of it that has said something. */
struct router_boot {
    struct member member;
    uint64_t boot;
};

/* Fingerprints that routers of another site have added there. */
struct router_relay {
    uint64_t filter_id;
    uint64_t correlation;
    uint32_t timeout_ms;
    const uint64_t *fingerprints;
    uint32_t count; /* CODEC_MAX_KEYS at most */

    /* May be NULL. Of each replica whose vote counts, before the answer: the boot in which it has
     * accepted. It may ask the router nothing. */
    void (*heard)(void *owner, uint64_t correlation, const struct router_boot *from);
    void *owner;
};

/* An add with all that belongs to one, but that nodes log it as another site's: so it goes no
 * further from here. No user's limits hold for it. Repeating it is harmless. Answered as an add
 * without a peer, when it is acknowledged; whether keys were new is not told: in both planes the
 * bits of acknowledged keys are set. NOT_READY: this router has not heard of the filter yet, or it
 * is being loaded. DROPPED: for good. */
void router_relay(struct router *router, uint64_t now_us, const struct router_relay *relay);

/* The documents that it holds, until the next event; and one more, which others have handed on. */
const struct document_cache *router_documents(const struct router *router);
void router_take_document(struct router *router, uint64_t now_us, struct span bytes);

/* Whose log holds all that it has told, below `end`. */
struct router_copy_source {
    struct member member;
    uint64_t boot; /* of the log */
    uint64_t end;
};

/* A range of what single replicas of one slot group have. */
struct router_copied {
    enum status status;
    const char *message; /* why, unless OK */
    uint64_t now_us;
    uint32_t group;
    uint64_t epoch;
    uint64_t last; /* all fingerprints from the asker's up to this one, in shards of the group */
    const uint64_t *keys; /* ascending, each once: what any of the sources has; until the callback
                             returns */
    size_t nkeys;
    struct router_copy_source sources[QUORUM_MAX_REPLICAS];
    uint32_t nsources;
};

struct router_copy {
    uint64_t filter_id;
    uint64_t from;  /* a fingerprint: its shard tells the slot group */
    uint32_t slots; /* a bit for each slot of the group whose reader is wanted; 0: of any so many
                       that they have all that was acknowledged, N - W + 1 */
    uint64_t deadline_us;
    void (*done)(void *owner, const struct router_copied *copied); /* once; perhaps at once */
    void *owner;
};

/* All that the readers of those slots have from there on, as far as they answer in time: one at
 * least; of any slots all of them, or DEADLINE. For whoever compares replicas one by one; what a
 * quorum has is router_dump()'s. */
void router_copy(struct router *router, uint64_t now_us, const struct router_copy *question);

/* Which parts of some ranges are here as another site has them: with W FULL replicas of one epoch,
 * as if an add of all of it had been acknowledged under that. */
struct router_compared {
    enum status status;
    const char *message;   /* why, unless OK */
    const uint64_t *equal; /* OK: of each range a word, bit i for part i; until the callback returns
                            */
    bool unsure;           /* ... some that are not equal may be: too few replicas have told */
    const struct router_boot *boots; /* ... of the replicas that have told */
    size_t nboots;
};

struct router_compare {
    uint64_t filter_id;
    uint32_t keyset; /* that they are of */
    uint32_t bits;   /* of prefixes, which name the ranges: see map/pull_message.h; at least
                        as many as a shard has */
    const uint64_t *prefixes; /* ascending, each once; of any shards */
    size_t nprefixes;         /* PULL_MAX_PARENTS at most */
    const uint64_t *digests;  /* PULL_PARTS of each: run_digest_short(), of all that is there. Two
                                 sets have the same one by chance once in 2^64 */
    uint64_t deadline_us;
    void (*done)(void *owner, const struct router_compared *compared); /* once; perhaps at once */
    void *owner;
};

/* What is not told in time, or by too few, is not equal. Of a slot with two members nobody counts.
 * Copies and comparisons wait for each other. All that the question points to stays until it is
 * done. INVALID: the filter has other shards, or another keyset serves; NOT_FOUND, STALE (by
 * now). */
void router_compare(struct router *router, uint64_t now_us, const struct router_compare *question);

/* Where the log of a node ends that has a replica of a slot group. */
struct router_end {
    uint32_t group;
    uint32_t node;
    uint64_t incarnation;
    uint64_t boot;
    uint64_t position; /* durable there */
};

/* `ends`, until the callback returns: by slot group, of each at least R FULL replicas of the epoch
 * told here. Whatever was acknowledged before the question is in at least one log below its end
 * there. Unless OK there are none, and `message` says why: UNAVAILABLE, who did not answer. */
struct router_ends_told {
    enum status status;
    const char *message;
    uint64_t epoch;
    uint64_t epoch_hash;
    const struct router_end *ends;
    size_t count;
};

struct router_ends {
    uint64_t filter_id;
    uint32_t timeout_ms;
    void (*done)(void *owner, const struct router_ends_told *told); /* once; perhaps at once */
    void *owner;
};

/* All replicas are asked; those that have not told when R of every slot group have are left out.
 * Under a newer epoch it begins anew. INVALID: its keys are not logged. NOT_READY, DROPPED: as of
 * router_relay(). */
void router_ends(struct router *router, uint64_t now_us, const struct router_ends *question);

/* OK. Else there are none, and `message` says why: UNAVAILABLE, who did not answer. INVALID,
 * NOT_READY, DROPPED: as of router_ends(). */
struct router_site_cursors_told {
    enum status status;
    const char *message;
    uint64_t epoch; /* under which it was done */
    uint64_t epoch_hash;
    const struct record_site_cursor *cursors; /* got: until the callback returns, in no order */
    size_t count;
};

/* Cursors of other sites' logs; see site/cursor.h. Filter and slot group are those of the question,
 * whatever cursors say. `count`: to be put. */
struct router_site_cursors {
    uint64_t filter_id;
    uint32_t group;
    uint32_t timeout_ms;
    const struct record_site_cursor *cursors;
    size_t count;

    /* To be put: only in these boots of nodes, and nowhere else, since what was told by others may
     * be lost there. `nboots` 0: wherever the document says. */
    const struct router_boot *boots;
    size_t nboots;
    void (*done)(void *owner, const struct router_site_cursors_told *told); /* once; or at once */
    void *owner;
};

/* Into the logs of all replicas of the slot group: done once W of them, of one epoch, have it
 * durably. At most CODEC_MAX_SITE_CURSORS. Put them after what they cover was acknowledged. */
void router_site_cursors_put(struct router *router, uint64_t now_us,
                             const struct router_site_cursors *question);

/* What those of R FULL replicas of one epoch come to: so all that were put and acknowledged are in
 * it. STATUS_TOO_LARGE: a replica has more of that slot group than one answer holds. */
void router_site_cursors_get(struct router *router, uint64_t now_us,
                             const struct router_site_cursors *question);

struct sync_request;
struct sync_reply;

/* What else coordinators are told, and tell, of whoever is in the same process; see proto/codec.h.
 */
struct router_sync_extra {
    void *context;

    /* What a question has besides the router's own, just before it is sent to that coordinator, by
     * its place in the configuration; if that one is not connected it is asked for once more, for
     * the next. What it points to stays until the question is encoded. */
    void (*fill)(void *context, uint64_t now_us, uint32_t coordinator,
                 struct sync_request *request);

    /* It was answered, and not refused. `last`: the answer is to what fill() has told last, so all
     * of that was heard. Else another question was sent meanwhile. */
    void (*answered)(void *context, uint64_t now_us, const struct sync_reply *reply, bool last);
};

/* Before the first event. */
void router_set_sync_extra(struct router *router, const struct router_sync_extra *extra);

/* There is something to tell coordinators, or to ask them for: not before the next question, which
 * is due at once, but for the bound on their rate. */
void router_sync_soon(struct router *router, uint64_t now_us);

/* The secret that a filter's keys are hashed with. False: it is not known here. */
MUST_USE bool router_secret(const struct router *router, uint64_t filter_id,
                            struct hash_secret *secret);

/* With this cluster's key, for its coordinators, under the name that is given for an id. */
void router_seal_secret(struct router *router, uint64_t name, const struct hash_secret *secret,
                        uint8_t sealed[SEAL_SECRET_BYTES]);
/* ---- a router that links its site to others ---- */

struct link_report; /* proto/codec.h */

/* What it tells coordinators with its questions for news, so that its site's processes and people
 * find it. */
struct router_link {
    char site[SITE_NAME_BYTES];
    char endpoint[DOCUMENT_TEXT_BYTES]; /* where it is reached in its site ... */
    bool curve;                         /* ... and by what */
    const struct link_report *report;   /* copied */
};

/* From the next question on. A router of which this was never said is no link. */
void router_tell_link(struct router *router, const struct router_link *link);

/* What an earlier router has kept, which is moved: for when no coordinator answers for
 * ROUTER_KEPT_US after the start. Before the first event. */
void router_set_kept(struct router *router, struct buffer *bytes);

/* It has heard from a coordinator since it started. */
bool router_synced(const struct router *router);

/* The user whose key that is, by the record of users as it is known here: see
 * map/access/identity.h. Until it has heard of one it may be anybody's: PEER_PENDING. */
bool router_identify(struct router *router, const uint8_t key[CURVE_KEY_BYTES], struct peer *peer);
/* The record of users, the newest that it has, until the next event; of revision 0: there is none,
 * if it has heard. */
const struct user_list *router_users(const struct router *router);
bool router_heard_of_users(const struct router *router);

/* A token or key was used to come in: coordinators are told with the next questions for news. */
void router_note_use(struct router *router, const struct user_use *use);

struct counter_table router_counters(void);

/* What keeps it from being of use: it is ready once it knows which filters there are, until it
 * drains. */
void router_tell_health(const struct router *router, struct health *health);
const uint64_t *router_counts(const struct router *router);

/* What became of requests, and how fast its nodes answer: families with labels. */
void router_tell_metrics(const struct router *router, struct metrics *metrics);

#endif
