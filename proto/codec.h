/* codec.h - every message of orbloom as plain structs, and their way to and from bytes.
 *
 * One protobuf message is one ZeroMQ frame, DEALER to ROUTER. proto/orbloom.proto is the
 * contract between versions; these structs mirror it, so that no other code sees protobuf.
 *
 *   client ------ client_request / client_reply, info_request / info_reply ------> router
 *   router ------ node_request / node_reply, documents, info_request ------------> node
 *   router, node  sync_request / sync_reply, <- hint ----------------------------> coordinator
 *   coordinator - fence_request / fence_reply -----------------------------------> node
 *   node -------- pull_request / pull_reply, boot_request / boot_reply ------------> node
 *   client ------ admin_request / admin_reply -----------------------------------> coordinator
 *   anyone ------ stats_request / stats_reply, error (a refusal) ----------------> anyone
 *
 * Units:   times in milliseconds unless named _us; sizes in bytes.
 * Shape:   planes and bitmaps are uint64_t words, LSB first, ceil(count / 64) of them, spare
 *          bits 0; on the wire they are ceil(count / 8) bytes, and all-zero planes are left out.
 *          Arrays of no items may be NULL; texts and planes never are once decoded.
 * Errors:  codec_decode: STATUS_MALFORMED, STATUS_TOO_LARGE (over the arena's cap or a limit),
 *          STATUS_VERSION (another version, or a body that this one does not know). On each of
 *          them .kind is FRAME_NONE, and .version and .correlation are set if they could be
 *          read, so that a refusal can name what it refuses.
 *          codec_encode: STATUS_NOMEM, STATUS_TOO_LARGE, STATUS_INVALID (a text that no peer
 *          would take: not UTF-8, or control characters). Messages of replies are cleaned and
 *          cut instead. Frames that break the shapes below are defects and asserted.
 * Owner:   a decoded frame points into the arena and is valid until that is used again or
 *          destroyed. The keys of a client request point into the bytes that were decoded, and
 *          are valid only as long as these are too. A frame to encode borrows everything.
 * Threads: none; one arena a thread.
 */
#ifndef ORBLOOM_PROTO_CODEC_H
#define ORBLOOM_PROTO_CODEC_H

#include "base/actor.h"
#include "base/buffer.h"
#include "base/span.h"
#include "base/status.h"
#include "cluster/boot.h"
#include "cluster/boot_memory.h"
#include "cluster/change.h"
#include "cluster/document.h"
#include "cluster/pull_message.h"
#include "cluster/seal.h"
#include "cluster/store_age.h"

enum {
    CODEC_VERSION = 1,        /* what this build speaks */
    CODEC_VERSION_OLDEST = 1, /* what it still serves */
    CODEC_MAX_FRAME_BYTES = 8 << 20,
    CODEC_MAX_KEYS = 65536,      /* in one client request; also fingerprints in one node request */
    CODEC_MAX_KEY_BYTES = 65536, /* 64 KiB */
    CODEC_MAX_SEGMENTS = 4096,
    CODEC_MAX_DOCUMENTS = 4096, /* in one frame */
    CODEC_MAX_TEXT_BYTES = 1024,
    CODEC_MAX_HELD = 4096,    /* documents that a node says it holds */
    CODEC_MAX_WANTED = 256,   /* of them, asked for at once */
    CODEC_MAX_RECORDS = 4096, /* of a store, in one frame */
};

/* Between routers and nodes a feed is an add to one lineage. */
enum operation { OPERATION_CHECK = 1, OPERATION_ADD = 2, OPERATION_FEED = 3 };

/* An add or check of one client, unique through all routers and attempts. */
struct op_id {
    uint64_t session[2]; /* random, drawn by the client when it connects */
    uint64_t sequence;   /* 1, 2, 3... in the session */
};

/* ---- client and router ---- */

struct client_request {
    const char *filter; /* its name */
    uint64_t filter_id; /* 0: whatever the name is bound to */
    enum operation operation;
    struct op_id op;
    uint32_t attempt;    /* 0 the first time */
    uint32_t timeout_ms; /* from now on; there is no common clock */
    uint32_t slots;      /* bit set of the replica slots a check may ask; 0: all */
    struct span keys;    /* one after the other; decoded: within the frame's bytes */
    const uint32_t *lengths;
    size_t count;
    uint32_t lineage; /* feed: into this one only; 0: whichever does not serve yet */
};

struct client_reply {
    struct op_id op;
    uint32_t attempt;    /* echoed: a late answer to an earlier attempt is told apart */
    enum status status;  /* STATUS_OK, or why some keys are undecided */
    const char *message; /* cause and remedy; "" when OK */
    uint64_t filter_id;
    uint64_t epoch;
    size_t count;
    const uint64_t *present; /* the verdict, see cluster/quorum.h */
    const uint64_t *absent;
};

/* ---- router and node ---- */

/* Names one immutable list of fingerprints, the same at all replicas; with the segment's
 * filter, epoch and group. Numbers of one boot are contiguous. */
struct batch_id {
    uint64_t boot; /* random, drawn by the router when it starts */
    uint64_t number;
};

/* The part of a node request that belongs to one client's operation and one slot group. */
struct segment {
    uint64_t tag; /* the router's own, echoed */
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
    uint32_t group;
    enum operation operation;
    struct op_id op;
    uint32_t attempt;
    struct batch_id batch; /* adds only */
    uint32_t origin_zone;  /* 0: this one */
    uint32_t count;        /* of fingerprints, following those of the segments before */
    uint32_t lineage;      /* adds: into this one only; 0: into all of the document */
};

struct node_request {
    const struct segment *segments;
    size_t nsegments;
    const uint64_t *fingerprints;
    size_t count; /* the sum of the segments' counts */
};

struct segment_reply {
    uint64_t tag;
    enum status status;       /* OK, STALE, NEED_DOC, NOT_READY, CONFLICT, OVERLOADED, DROPPED */
    uint64_t epoch;           /* OK: the request's; else what the node holds, 0 for nothing */
    uint64_t epoch_hash;      /* of that epoch */
    enum replica_state state; /* of the group's replica */
    bool repeated;            /* the add was, or may have been, executed before, and a
                                 "present" may be its own doing */
    bool at_capacity;         /* some new keys were not accepted: the replica is full */
    uint32_t count;           /* of keys; 0 unless OK */
    const uint64_t *present;  /* the vote, see cluster/quorum.h */
    const uint64_t *absent;
};

struct node_reply {
    uint32_t node_id;
    uint64_t incarnation;
    const struct segment_reply *segments;
    size_t nsegments;
    const struct span *documents; /* signed ones that the router lacks (after STALE) */
    size_t ndocuments;
};

/* Signed documents handed on. */
struct documents {
    const struct span *items;
    size_t count;
};

/* ---- node or router, and coordinator ---- */

enum sync_role { SYNC_ROUTER = 1, SYNC_NODE = 2 };

/* What a replica that is not ready to serve is doing about it. */
enum replica_phase {
    PHASE_NONE = 0,
    PHASE_REPLAYING = 1,
    PHASE_SYNCING = 2,
    PHASE_GROWING = 3, /* builds the wanted generation while it serves another one */
};

/* What a node says of its replica of one slot group of one filter. */
struct replica_report {
    uint64_t filter_id;
    uint32_t group;
    uint32_t node_id; /* set by whoever relays the report */
    uint64_t incarnation;
    uint64_t fence; /* lowest epoch still accepted */
    enum replica_state state;
    uint64_t bytes;
    uint64_t keys;      /* estimate of distinct keys from the fill; of the fullest slice */
    uint64_t bits_set;  /* in the sampled lines */
    uint64_t bits_seen; /* bits of the sampled lines; all of them when small */
    double progress;    /* of building, or of the phase, 0 to 1 */
    enum replica_phase phase;
    uint64_t complete;      /* JOINING: all that a SYNC under the document of this epoch asks for is
                               here, durably and in the arrays; 0: of none */
    uint64_t disk_bytes;    /* its share of the filter's sorted runs; not of the log */
    uint32_t generation;    /* that all its shards are served from, or the one that is being left */
    uint32_t shards_grown;  /* of the group, served from the wanted generation */
    uint64_t overflow_keys; /* only in arrays of the wanted one that are not complete yet */
    uint64_t keys_next;     /* estimate, of the lineage that does not serve yet */
    uint64_t keys_kept; /* estimate, of all slices that are kept: a key counts in each of them */
};

struct sync_request {
    enum sync_role role;
    const char *name;     /* of the process */
    const char *endpoint; /* nodes: where others reach it */
    const char *host;
    const char *zone;
    uint64_t incarnation;
    uint64_t memory_limit_bytes;
    uint64_t memory_used_bytes;
    uint64_t boot;             /* nodes with a disk: random, drawn at each start; 0: memory only */
    uint64_t boot_before;      /* the one before, as the disk tells; 0: the data's first */
    struct boot_life replaces; /* an incarnation that begins: see cluster/boot.h */
    bool durable;              /* keeps a log on disk */
    uint64_t disk_used_bytes;
    uint64_t number;   /* nodes: rises with each request of a boot */
    uint64_t position; /* where the log ends: until this boot is confirmed that of boot_before,
                          then what is synced */
    uint8_t mac[SEAL_MAC_BYTES]; /* nodes: see proto/registration.h */
    uint64_t since; /* the change number up to which the sender holds everything; 0: nothing */
    uint64_t store; /* whose change number `since` is; 0: none has told its name */
    const struct replica_report *replicas;
    size_t nreplicas;
    const struct held_document *held; /* nodes: all of them, as far as they fit */
    size_t nheld;
    uint64_t held_count;          /* how many they are */
    const struct span *documents; /* signed: those that the last answer wanted */
    size_t ndocuments;
};

struct sealed_secret {
    uint64_t filter_id;
    struct span sealed; /* see cluster/seal.h */
};

struct sync_reply {
    enum status status;
    const char *message;
    uint64_t change;          /* everything up to here is in this reply or was held before */
    bool more;                /* ask again at once */
    uint32_t node_id;         /* nodes: the id given; 0 else */
    struct boot_life present; /* with STALE: what has the node's place */
    const struct span *documents;
    size_t ndocuments;
    const struct sealed_secret *secrets; /* routers only */
    size_t nsecrets;
    uint64_t store;         /* whose change number `change` is */
    const uint64_t *wanted; /* nodes: ids of documents to send along, 0 for the node list */
    size_t nwanted;
};

/* "The store has moved to this change number: ask." */
struct hint {
    uint64_t change;
};

struct fence_request {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
    struct span document; /* the signed document of that epoch */
    uint64_t slice;       /* count this one from now on, if it is the newest; 0: none */
};

struct fence_reply {
    enum status status;
    uint64_t filter_id;
    uint64_t epoch; /* the fence as it stands now */
    uint64_t epoch_hash;
    uint32_t node_id;
    uint64_t incarnation;
    uint64_t position;   /* of the fence in the node's log; 0 while nodes keep memory only */
    uint64_t boot;       /* of that log; 0: memory only */
    uint64_t slice;      /* the newest, if the node counts it; 0: none */
    uint64_t counted_us; /* ... for how long, on the node's own clock */
};

/* ---- node and node, about a start; pulls: cluster/pull_message.h ---- */

struct boot_request {
    struct boot_question question;
    bool confirm;                /* in the store's place, durably */
    struct span nodes;           /* signed; the newest node list that the asker has */
    uint8_t mac[SEAL_MAC_BYTES]; /* see proto/boot_seal.h */
};

struct boot_reply {
    enum status status; /* OK · STALE (more is remembered) · NOT_READY (can't say) */
    uint32_t node;      /* who answers */
    uint64_t incarnation;
    uint64_t boot;
    bool confirmed;
    uint64_t position;
    uint8_t mac[SEAL_MAC_BYTES];
};

/* ---- client and coordinator ---- */

enum admin_action {
    ADMIN_CREATE = 1,
    ADMIN_DROP = 2,
    ADMIN_STATUS = 3,
    ADMIN_MAP_BACKUP = 20,
    ADMIN_MAP_BEGIN = 21,
    ADMIN_MAP_RECORDS = 22,
    ADMIN_MAP_FINISH = 23,
    ADMIN_EXPAND = 4,
    ADMIN_REBUILD = 5,
    ADMIN_NODE_DRAIN = 10,
    ADMIN_NODE_REPLACE = 11,
    ADMIN_NODE_REMOVE = 12,
    ADMIN_REBALANCE = 13,
};

struct create_parameters {
    uint64_t capacity;
    double rate;
    uint64_t max_capacity; /* 0: 64 times capacity */
    struct quorum_rule rule;
    enum hash_kind hash;
    enum when_unavailable when_unavailable;
    enum when_full when_full; /* 0: expand where the filter can, else refuse */
    enum keylog keylog;
    enum durability durability; /* 0: sync where enough nodes have a disk, else memory */
    uint64_t window_us;         /* 0: no window */
    uint32_t nslices;           /* of the window; 0 without one */
};

/* A record of the store, as it is there. */
struct map_record {
    const char *key;
    struct span value;
};

struct map_parameters {
    uint64_t since;   /* backup: records written after this change */
    uint64_t cluster; /* restore: cluster_key_tag() */
    const struct map_record *records;
    size_t nrecords;
    const char *const *confirmed_off; /* finish: names of nodes that are off for good */
    size_t nconfirmed_off;
    bool accept_losses; /* finish */
};

struct map_page {
    uint64_t cluster;
    uint64_t store;
    uint64_t change; /* all that was written up to here is in this page or those before */
    bool more;
    const struct map_record *records;
    size_t nrecords;
};

/* Another capacity or rate, or both; neither: join what is under way. */
struct expand_parameters {
    uint64_t capacity; /* 0: as it is */
    double rate;       /* 0: as it is */
    bool abort;        /* take back what is under way; without numbers */
};

enum rebuild_step {
    REBUILD_BEGIN = 1,  /* a new lineage; answered once no add can miss it any more */
    REBUILD_FED = 2,    /* keys of the user's list have been acknowledged */
    REBUILD_COMMIT = 3, /* the new lineage serves, the other one is forgotten */
    REBUILD_ABORT = 4,  /* the new lineage is forgotten */
};

struct rebuild_parameters {
    enum rebuild_step step;
    uint32_t lineage;  /* all but begin: the one that was begun; 0: whichever does not serve yet */
    uint64_t fed_keys; /* fed */
    bool empty;        /* commit: even if no list has been fed */
};

struct admin_request {
    enum admin_action action;
    uint32_t timeout_ms;
    const char *name;      /* of a filter, or a node; "" for status of all */
    uint64_t filter_id;    /* drop, expand, rebuild: this one and no later one of that name; 0:
                              whichever */
    bool confirmed_off;    /* drop: the operator vouches that former incarnations are off; drain and
                              replace: that the node is */
    const char *successor; /* replace: the node that takes over */
    bool undo;             /* drain: no longer */
    bool dry_run;          /* rebalance */
    struct create_parameters create;
    struct map_parameters map; /* ADMIN_MAP_* */
    struct expand_parameters expand;
    struct rebuild_parameters rebuild;
};

struct node_summary {
    uint32_t id;
    const char *name;
    const char *host;
    const char *zone;
    const char *endpoint;
    uint64_t incarnation;
    bool alive;           /* this coordinator has heard of it within its node_timeout */
    uint64_t seen_ago_ms; /* since it was heard of last; 0 also when it never was */
    uint64_t memory_limit_bytes;
    uint64_t memory_used_bytes;
    uint32_t replicas_full; /* slot groups of filters */
    uint32_t replicas_joining;
    uint32_t replicas_building;
    uint64_t disk_used_bytes;
    bool durable;
    bool draining;
    const char *replaced_by; /* "": by none */
    uint32_t slots;          /* that documents name it in */
    const char *awaited;     /* why what is to leave it can't yet; "": nothing is waited for */
};

struct generation_summary {
    uint32_t id;
    uint64_t capacity;
    double rate;
    uint64_t lines; /* per shard */
    uint32_t z;
};

struct filter_summary {
    uint64_t id;
    const char *name;
    enum filter_state state;
    uint64_t revision;
    uint64_t epoch;
    uint64_t capacity;
    uint64_t max_capacity;
    double rate;
    struct quorum_rule rule;
    enum hash_kind hash;
    enum when_unavailable when_unavailable;
    enum when_full when_full;
    enum keylog keylog;
    enum durability durability;
    uint32_t nshards;
    uint32_t ngroups;
    uint64_t shard_bytes;
    uint64_t lines; /* per shard */
    uint32_t z;
    struct generation_summary generations[DOCUMENT_MAX_GENERATIONS]; /* the last one is wanted */
    uint32_t ngenerations;
    const uint32_t *turns; /* nodes that may build it now; at most DOCUMENT_MAX_TURNS */
    size_t nturns;
    bool growth_held;         /* aborted: it does not grow by itself */
    uint32_t lineage;         /* that serves */
    uint32_t rebuild_lineage; /* that does not serve yet; 0: no rebuild is open */
    uint64_t fed_keys;        /* of the user's list, into that one */
    uint64_t window_us;       /* 0: none */
    uint32_t nslices;
    uint64_t newest_slice;
    /* From a coordinator only: */
    uint64_t rebuild_keys;       /* distinct keys that it holds, estimated */
    const char *rebuild_awaited; /* in words, also after a commit; "": nothing */
    uint64_t shards_grown;       /* of replicas, served from the wanted generation */
    uint64_t shards_growing;     /* of so many; 0: there is one generation */
    const char *growth_awaited;  /* in words: what the next step takes */
    const char *growth_refused;  /* in words: why it does not grow by itself, though it is due */
    const char *window_awaited;  /* in words: when another slice begins */
};

/* A filter whose replicas are being replaced, or should be. */
struct change_summary {
    uint64_t filter_id;
    enum change_step step;
    uint32_t slots;      /* on their way; 0 while it can't begin */
    const char *awaited; /* in words: what the next step takes */
};

struct admin_reply {
    enum status status;
    const char *message;
    bool created; /* by this command; else it existed, or was under way */
    const struct filter_summary *filters;
    size_t nfilters;
    const struct node_summary *nodes;
    size_t nnodes;
    const struct replica_report *replicas;
    size_t nreplicas;
    const struct change_summary *changes;
    size_t nchanges;
    struct map_page map; /* ADMIN_MAP_BACKUP; else all zero */
};

/* ---- anyone ---- */

/* To a router: describe the filter. To a node: report your replicas of it. */
struct info_request {
    const char *filter;
    uint64_t filter_id; /* nodes go by this one */
    uint32_t timeout_ms;
};

struct info_reply {
    enum status status;
    const char *message;
    bool has_filter;
    struct filter_summary filter;
    const struct replica_report *replicas;
    size_t nreplicas;
};

struct stat_value {
    const char *name;
    uint64_t value;
};

struct stats_reply {
    const char *program; /* "orbloom-node" */
    const char *name;    /* of the process */
    const struct stat_value *values;
    size_t nvalues;
};

/* A refusal of a whole frame. */
struct error_reply {
    enum status status;
    const char *message;
};

enum frame_kind {
    FRAME_NONE = 0,
    FRAME_CLIENT_REQUEST,
    FRAME_CLIENT_REPLY,
    FRAME_NODE_REQUEST,
    FRAME_NODE_REPLY,
    FRAME_DOCUMENTS,
    FRAME_SYNC_REQUEST,
    FRAME_SYNC_REPLY,
    FRAME_HINT,
    FRAME_FENCE_REQUEST,
    FRAME_FENCE_REPLY,
    FRAME_BOOT_REQUEST,
    FRAME_BOOT_REPLY,
    FRAME_ADMIN_REQUEST,
    FRAME_ADMIN_REPLY,
    FRAME_INFO_REQUEST,
    FRAME_INFO_REPLY,
    FRAME_STATS_REQUEST, /* has no body */
    FRAME_STATS_REPLY,
    FRAME_PULL_REQUEST, /* see cluster/pull_message.h */
    FRAME_PULL_REPLY,
    FRAME_ERROR,
};

struct frame {
    uint32_t version;     /* codec_encode: 0 means CODEC_VERSION */
    uint64_t correlation; /* the asker's own number, echoed by the answer */
    enum frame_kind kind;
    union {
        struct client_request client_request;
        struct client_reply client_reply;
        struct node_request node_request;
        struct node_reply node_reply;
        struct documents documents;
        struct sync_request sync_request;
        struct sync_reply sync_reply;
        struct hint hint;
        struct fence_request fence_request;
        struct fence_reply fence_reply;
        struct boot_request boot_request;
        struct boot_reply boot_reply;
        struct admin_request admin_request;
        struct admin_reply admin_reply;
        struct info_request info_request;
        struct info_reply info_reply;
        struct stats_reply stats_reply;
        struct pull_request pull_request;
        struct pull_reply pull_reply;
        struct error_reply error;
    } body;
};

/* Memory for one decoded frame: address space of max_bytes, backed as it is used and kept
 * between frames. About three times the largest frame expected; 64 MiB suffice for any that
 * codec_encode makes of hot kinds. */
struct codec_arena;

MUST_USE enum status codec_arena_create(size_t max_bytes, struct codec_arena **out);
void codec_arena_destroy(struct codec_arena **arena);

/* Decode one frame; what the arena held before is gone, and `bytes` must outlive `out`. Texts in
 * the result are never NULL and have no NUL, no control bytes; enums are in range; counts agree
 * with each other. */
MUST_USE enum status codec_decode(struct codec_arena *arena, struct span bytes, struct frame *out);

/* Append the encoding of `frame` to `out`. */
MUST_USE enum status codec_encode(const struct frame *frame, struct buffer *out);

/* Encode where effects->room() says, else in `spare`, which is cleared before: *out is to be sent
 * by the same effects, at once. */
MUST_USE enum status codec_encode_out(const struct frame *frame, const struct effects *effects,
                                      struct buffer *spare, struct span *out);

#endif
