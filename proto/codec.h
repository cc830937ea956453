/* codec.h - every message of orbloom as plain structs, and their way to and from bytes.
 *
 * One protobuf message is one ZeroMQ frame, DEALER to ROUTER. proto/orbloom.proto is the
 * contract between versions; these structs mirror it, so that no other code sees protobuf.
 *
 *   client ------ client_request / client_reply, info_request / info_reply ------> router
 *   client ------ dump_request / dump_reply, load_request / client_reply ----------> router
 *   router ------ node_request / node_reply, documents, info_request ------------> node
 *   router ------ site_cursor_request / site_cursor_reply -----------------------> node
 *   router ------ site_age_request / site_age_reply -----------------------------> link
 *   operator ---- site_age_request, site_lag_request and their replies -----------> link
 *   router, node  sync_request / sync_reply, <- hint ----------------------------> coordinator
 *   coordinator - fence_request / fence_reply, info_request / info_reply ---------> node
 *   node -------- pull_request / pull_reply, boot_request / boot_reply ------------> node
 *   link -------- site_tail_request / site_tail_reply ----------------------------> node
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
#include "base/site_cursor.h"
#include "base/span.h"
#include "base/status.h"
#include "map/access/seal.h"
#include "map/boot.h"
#include "map/document.h"
#include "map/pull_message.h"
#include "map/site_tail.h"
#include "map/store_age.h"
#include "proto/admin_message.h"
#include "proto/replica_report.h"
#include "proto/site/message.h"
#include "proto/site/state.h"

enum {
    CODEC_VERSION = 1,        /* what this build speaks */
    CODEC_VERSION_OLDEST = 1, /* what it still serves */
    CODEC_MAX_FRAME_BYTES = 8 << 20,
    CODEC_MAX_KEYS = 65536,      /* in one client request; also fingerprints in one node request */
    CODEC_MAX_KEY_BYTES = 65536, /* 64 KiB */
    CODEC_MAX_SUBREQUESTS = 4096,
    CODEC_MAX_DOCUMENTS = 4096, /* in one frame */
    CODEC_MAX_TEXT_BYTES = 1024,
    CODEC_MAX_HELD = 4096,         /* documents that a node says it holds, on one page */
    CODEC_MAX_WANTED = 256,        /* of them, asked for at once */
    CODEC_MAX_RECORDS = 4096,      /* of a store, in one frame */
    CODEC_MAX_USES = 1024,         /* of users' credentials, told at once */
    CODEC_MAX_SITE_CURSORS = 1024, /* of a slot group, in one frame */
};

/* Between routers and nodes a feed is an add to one keyset, and only they ask where logs end. */
enum operation { OPERATION_CHECK = 1, OPERATION_ADD = 2, OPERATION_FEED = 3, OPERATION_ENDS = 4 };

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
    uint32_t keyset;        /* feed: into this one only; 0: whichever does not serve yet */
    uint64_t max_staleness; /* check: microseconds and 1 more; 0: the filter's own bound */
    uint32_t acks;          /* add: 2 to 8 sites, this one too; 1: this one; 255: each; 0: as the
                               filter says */
};

struct client_reply {
    struct op_id op;
    uint32_t attempt;    /* echoed: a late answer to an earlier attempt is told apart */
    enum status status;  /* STATUS_OK, or why some keys are undecided */
    const char *message; /* cause and remedy; "" when OK */
    uint64_t filter_id;
    uint64_t epoch;
    size_t count;
    const uint64_t *present; /* the verdict, see map/quorum.h */
    const uint64_t *absent;
    uint32_t copies;  /* add, feed: replicas that each acknowledged key is on, at least */
    const char *site; /* whose router it is, of a filter in several sites; "": one, or unknown */
    struct site_id site_id;
};

/* ---- router and node ---- */

/* Names one immutable list of fingerprints, the same at all replicas; with the subrequest's
 * filter, epoch and group. Numbers of one boot are contiguous. */
struct batch_id {
    uint64_t producer_id; /* random, drawn by the router when it starts */
    uint64_t number;
};

/* The part of a node request that belongs to one client's operation and one slot group. */
struct subrequest {
    uint64_t tag; /* the router's own, echoed */
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
    uint32_t group;
    enum operation operation;
    struct op_id op;
    uint32_t attempt;
    struct batch_id batch; /* adds only */
    uint32_t count;        /* of fingerprints, following those of the subrequests before */
    uint32_t keyset;       /* adds: into this one only; 0: into all of the document */
    uint32_t user;         /* whose it is; 0: nobody's in particular */
    bool relayed; /* adds only: it came from another site; its vote tells nothing of before */
};

struct node_request {
    const struct subrequest *subrequests;
    size_t nsubrequests;
    const uint64_t *fingerprints;
    size_t count; /* the sum of the subrequests' counts */
};

struct subrequest_reply {
    uint64_t tag;
    enum status status;       /* OK, STALE, NEED_DOC, NOT_READY, CONFLICT, OVERLOADED, DROPPED */
    uint64_t epoch;           /* OK: the request's; else what the node holds, 0 for nothing */
    uint64_t epoch_hash;      /* of that epoch */
    enum replica_state state; /* of the group's replica */
    bool repeated;            /* the add was, or may have been, executed before, and a
                                 "present" may be its own doing */
    bool at_capacity;         /* some new keys were not accepted: the replica is full */
    bool makes_room;          /* ... for now: as far as it has heard, the filter grows */
    uint32_t count;           /* of keys; 0 unless OK */
    const uint64_t *present;  /* the vote, see map/quorum.h */
    const uint64_t *absent;
    uint64_t boot;     /* ends, and relayed adds: of the log ... */
    uint64_t position; /* ends: ... and where it ended when the question came; durable by now */
};

struct node_reply {
    uint32_t node_id;
    uint64_t incarnation;
    const struct subrequest_reply *subrequests;
    size_t nsubrequests;
    const struct span *documents; /* signed ones that the router lacks (after STALE) */
    size_t ndocuments;
};

/* Of cursors neither filter nor slot group is told: they are the message's. */
struct site_cursor_request {
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
    uint32_t group;
    bool put;      /* else they are asked for */
    uint64_t boot; /* of the node in which they may be put, else CONFLICT; 0: in any */
    const struct record_site_cursor *cursors; /* decoded: see site_cursor_valid() */
    size_t ncursors;
};

struct site_cursor_reply {
    enum status status;
    uint64_t filter_id;
    uint64_t epoch; /* OK: the request's; else what the node holds, 0 for nothing */
    uint64_t epoch_hash;
    uint32_t group;
    uint32_t node_id;
    uint64_t incarnation;
    enum replica_state state;
    const struct record_site_cursor *cursors;
    size_t ncursors;
    struct span document; /* signed, with STALE; else empty */
};

/* Signed documents handed on. */
struct documents {
    const struct span *items;
    size_t count;
};

/* ---- node or router, and coordinator ---- */

enum sync_role { SYNC_ROUTER = 1, SYNC_NODE = 2 };

/* What a process that links this site to others tells of them. */
struct link_peer {
    char name[SITE_NAME_BYTES];
    struct site_id id;
    bool connected;
    uint64_t round_trip_us; /* 0: not measured yet */
};

enum { LINK_MAX_PEERS = 8, CODEC_MAX_LINKS = SITE_PAGE_MAX_LINKS };

struct link_report {
    struct site_id id; /* of its own site; all 0: it is no link */
    struct link_peer peers[LINK_MAX_PEERS];
    uint32_t npeers;
};

static inline bool link_report_said(const struct link_report *self)
{
    return self->id.high != 0 || self->id.low != 0;
}

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
    struct boot_life replaces; /* an incarnation that begins: see map/boot.h */
    bool durable;              /* keeps a log on disk */
    uint64_t disk_used_bytes;
    uint64_t number;   /* nodes: rises with each request of a boot */
    uint64_t position; /* where the log ends: until this boot is confirmed that of boot_before,
                          then what is synced */
    uint8_t mac[SEAL_MAC_BYTES]; /* nodes: see proto/registration.h */
    uint64_t since; /* the change number up to which the sender holds everything; 0: nothing */
    uint64_t store; /* whose change number `since` is; 0: none has told its name */
    const struct replica_report *replicas; /* of the page, in order */
    size_t nreplicas;
    struct report_page page;
    const struct held_document *held; /* nodes: a page of them */
    size_t nheld;
    uint64_t held_count;          /* how many they are on all pages */
    uint64_t held_after;          /* the page has all filters whose id is above this one ... */
    uint64_t held_to;             /* ... and not above this one; 0: to the end */
    const struct span *documents; /* signed: those that the last answer wanted */
    size_t ndocuments;
    struct cluster_id cluster; /* that its data belong to; none: it has none that say so */
    uint64_t features;         /* that it knows */
    bool curve;                /* nodes: it speaks CURVE at its endpoint */
    uint64_t key;              /* cluster_key_tag() of the sender; 0: it does not tell */
    const char *site;          /* that it says it is of; "" or NULL: it does not say */
    struct link_report link;   /* of links, which are routers else and tell endpoint and curve */
    const struct site_filter *states; /* links: what other sites say; see site/state.h */
    size_t nstates;                   /* at most SITE_MAX_FILTERS */
    const struct site_evidence *evidence;
    size_t nevidence;            /* at most SITE_MAX_EVIDENCE */
    uint64_t states_since;       /* links: they have what this site says up to that number ... */
    uint64_t states_of;          /* ... of whoever counts so; 0: nothing */
    const struct user_use *uses; /* routers: of tokens and keys, lately */
    size_t nuses;                /* at most CODEC_MAX_USES */
};

struct sealed_secret {
    uint64_t filter_id;
    struct span sealed; /* see map/access/seal.h */
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
    bool held_lacks;     /* nodes: tell at once what is held ... */
    uint64_t held_after; /* ... after this id */
    struct span cluster; /* signed; empty: none was drawn yet */
    uint32_t routers;    /* routers: how many of them ask this coordinator; 0: not told */
    const struct link_place *links; /* routers: that ask this coordinator */
    size_t nlinks;                  /* at most CODEC_MAX_LINKS */

    /* Links: what this site says of its filters in sites, as far as it has changed since the number
     * that the request names; all of it if that is of another count. Each change of a state has the
     * next number, from 1 on. */
    const struct site_filter *states;
    size_t nstates;     /* at most SITE_MAX_FILTERS */
    uint64_t states_to; /* all up to this number is among them, or was told before */
    uint64_t states_of; /* whose count: random, drawn when it began */
    bool states_more;   /* there is more of it: ask again at once */
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
    uint64_t expiry;     /* that the node counts; 0: none */
    uint64_t expiry_us;  /* ... so much was counted, see map/history/expiry.h */
};

/* ---- node and node, about a start; pulls: map/pull_message.h ---- */

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

/* Names that are no filter's id: a secret that is sealed under one is nobody's in a store. */
#define DUMP_LEAST_NAME (UINT64_C(1) << 63)

/* To a router: the page of a dump at that place; see map/dump.h. */
struct dump_request {
    const char *filter;
    uint64_t iterator; /* 0: the header */
    uint32_t timeout_ms;
    uint64_t seal_as; /* the hash secret is wanted sealed under this name, of DUMP_LEAST_NAME or
                         more; 0: in the clear */
    uint64_t series; /* random: pages with the same one may be as the filter was at any moment since
                        the first of them was asked for; 0: since this one is */
};

struct dump_reply {
    enum status status;
    const char *message;
    uint64_t next;      /* where to go on; 0: that was all, and there is no page */
    struct span page;   /* header or chunk; where the secret was to be sealed the header has zeros
                           for it ... */
    struct span sealed; /* ... and this is the secret; else empty */
    struct filter_uid uid; /* of a header: which filter has that name */
};

/* To a router: add what is in a chunk to the filter that is being made of its dump. Answered as an
 * add. */
struct load_request {
    const char *filter;
    uint64_t filter_id;
    uint32_t timeout_ms;
    struct span chunk;
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
    FRAME_PULL_REQUEST, /* see map/pull_message.h */
    FRAME_PULL_REPLY,
    FRAME_SITE_HELLO, /* these: see site/message.h */
    FRAME_SITE_OPEN,
    FRAME_SITE_BATCH,
    FRAME_SITE_APPLIED,
    FRAME_SITE_MARK,
    FRAME_SITE_MARKED,
    FRAME_SITE_CLOSE,
    FRAME_SITE_FILTERS,
    FRAME_SITE_CONFIRM,
    FRAME_SITE_CONFIRMED,
    FRAME_SITE_OFFER,
    FRAME_SITE_HELD,
    FRAME_SITE_TAIL_REQUEST, /* see map/site_tail.h */
    FRAME_SITE_TAIL_REPLY,
    FRAME_SITE_CURSOR_REQUEST,
    FRAME_SITE_CURSOR_REPLY,
    FRAME_SITE_AGE_REQUEST, /* these: see site/message.h */
    FRAME_SITE_AGE_REPLY,
    FRAME_SITE_LAG_REQUEST,
    FRAME_SITE_LAG_REPLY,
    FRAME_DUMP_REQUEST,
    FRAME_DUMP_REPLY,
    FRAME_LOAD_REQUEST,
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
        struct dump_request dump_request;
        struct dump_reply dump_reply;
        struct load_request load_request;
        struct pull_request pull_request;
        struct pull_reply pull_reply;
        struct site_tail_request site_tail_request;
        struct site_tail_reply site_tail_reply;
        struct site_cursor_request site_cursor_request;
        struct site_cursor_reply site_cursor_reply;
        struct site_age_request site_age_request;
        struct site_age_reply site_age_reply;
        struct site_lag_request site_lag_request;
        struct site_lag_reply site_lag_reply;
        struct error_reply error;
        struct site_hello site_hello;
        struct site_open site_open;
        struct site_batch_message site_batch;
        struct site_applied site_applied;
        struct site_mark site_mark;
        struct site_marked site_marked;
        struct site_close site_close;
        struct site_filters site_filters;
        struct site_confirm site_confirm;
        struct site_confirmed site_confirmed;
        struct site_offer site_offer;
        struct site_held site_held;
    } body;
};

/* Memory for one decoded frame: address space of max_bytes, backed as it is used and kept
 * between frames. About three times the largest frame expected; 64 MiB suffice for any that
 * codec_encode makes of hot kinds. */
struct codec_arena;

MUST_USE enum status codec_arena_create(size_t max_bytes, struct codec_arena **out);
void codec_arena_destroy(struct codec_arena **arena);

/* What a frame is by its first fields, as codec_encode() writes them, without a look at the rest:
 * enough to sort frames by. It may be malformed all the same, or another frame than it seems. */
struct frame_face {
    enum frame_kind kind; /* FRAME_NONE: it can't be told */
    uint64_t correlation;
    bool from_node; /* a sync request in the role of a node */
    bool undecided; /* no kind, as more fields come first than are looked at: it may be any */
};

struct frame_face codec_peek(struct span bytes);

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
