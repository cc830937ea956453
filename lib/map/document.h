/* document.h - the records that a cluster agrees on: filter documents and the node list.
 *
 * A filter document carries two numbers. Its revision counts every edit and is what
 * compare-and-swap guards. Its epoch counts only edits of what quorums must agree on
 * (the fields of struct epoch_content); requests, quorums and fences name
 * (filter id, epoch, hash of the epoch's content).
 *
 * The hash covers the content's bytes as they were received, never a re-encoding: a
 * document keeps them, and whoever edits epoch content calls document_epoch_advance().
 *
 * Units:   capacities in keys, sizes in bytes.
 * Errors:  as said at each function.
 * Owner:   document_fini() frees what a document owns; the struct itself is the caller's.
 * Threads: none.
 */
#ifndef ORBLOOM_MAP_DOCUMENT_H
#define ORBLOOM_MAP_DOCUMENT_H

#include "base/span.h"
#include "base/status.h"
#include "filter/fingerprint.h"
#include "filter/lines.h"
#include "map/quorum.h"
#include "map/sites.h"

enum {
    DOCUMENT_NAME_BYTES = 129,                    /* [A-Za-z0-9._:-]{1,128} and a NUL */
    DOCUMENT_TEXT_BYTES = 256,                    /* endpoints; a NUL included */
    NODE_ADDRESS_BYTES = DOCUMENT_TEXT_BYTES + 8, /* "curve://" in front */
    DOCUMENT_MAX_SHARDS = 4096,
    DOCUMENT_MAX_NODES = 1024,
    DOCUMENT_MAX_GENERATIONS = 8,
    DOCUMENT_MAX_TURNS = 64,
    DOCUMENT_MAX_KEYSETS = 4,
    DOCUMENT_MAX_SLICES = 64,     /* of a window; one more is kept */
    DOCUMENT_MAX_BYTES = 1 << 20, /* one encoded document */
};

enum filter_state {
    FILTER_ACTIVE = 1,
    FILTER_DROPPING = 2, /* no longer served; the name is still fenced */
    FILTER_DROPPED = 3,  /* fences confirmed: the name is free, this record is a tombstone */
};

enum when_unavailable { WHEN_UNAVAILABLE_ERROR = 1, WHEN_UNAVAILABLE_MAYBE = 2 };
enum when_full { WHEN_FULL_REFUSE = 1, WHEN_FULL_EXPAND = 2 };
enum keylog { KEYLOG_ON = 1, KEYLOG_OFF = 2 };
enum durability { DURABILITY_MEMORY = 1, DURABILITY_OS = 2, DURABILITY_SYNC = 3 };

/* What a node holds for a slot, as the node itself sees it. */
enum replica_state {
    REPLICA_NONE = 0,     /* not hosted here */
    REPLICA_BUILDING = 1, /* arrays not ready: answers NOT_READY */
    REPLICA_JOINING = 2,  /* takes writes; counts only as the other half of a pair */
    REPLICA_FULL = 3,
};

const char *replica_state_name(enum replica_state state);
const char *filter_state_name(enum filter_state state);
const char *when_unavailable_name(enum when_unavailable policy);
const char *when_full_name(enum when_full policy);
const char *keylog_name(enum keylog keylog);
const char *durability_name(enum durability durability);

/* One continuous life of one node's data. */
struct member {
    uint32_t node; /* id in the node list; 0: none */
    uint64_t incarnation;
};

/* One of a shard's N replica places. While `incoming` is set the slot is a pair: a write counts
 * when both halves have it, reads ask one of them. How slots change: coordinator/plan/change.h. */
struct slot {
    struct member current;
    struct member incoming;
    bool reads_incoming; /* the read set has moved to `incoming` already */
    uint64_t read_since; /* the epoch since which its reader is read; see map/reader.h */
};

/* The shards whose slots are on the same nodes. */
struct slot_group {
    struct slot slots[QUORUM_MAX_REPLICAS]; /* the first N are used */

    /* The operator's word: these lives are gone for good, with their data; see
     * coordinator/plan/loss.h. */
    struct member lost[QUORUM_MAX_REPLICAS]; /* node 0: none, also behind it */
    uint64_t loss_epoch;                     /* since this one; 0: that was never said */
};

/* A stretch of history whose keys count; a rebuild from a list starts a new one. */
struct keyset {
    uint32_t id; /* see map/history/keyset.h */
    bool serving;
};

/* Names a filter wherever it is kept: 128 random bits, drawn when it is created, and its own for
 * good. An id is one cluster's. All 0: none. */
struct filter_uid {
    uint64_t high;
    uint64_t low;
};

enum { FILTER_UID_TEXT_BYTES = 33 /* 32 hexadecimal digits and a NUL */ };

/* What quorums must agree on. */
struct epoch_content {
    struct filter_uid uid;
    char name[DOCUMENT_NAME_BYTES];
    uint64_t named_epoch; /* since this epoch it has the name; 0: ever since */
    enum filter_state state;
    struct quorum_rule rule;
    uint32_t shard_bits;
    uint32_t ngroups;
    struct slot_group *groups;
    uint16_t *group_of_shard; /* 1 << shard_bits entries, each < ngroups */
    struct keyset keysets[DOCUMENT_MAX_KEYSETS];
    uint32_t nkeysets;
    uint32_t last_keyset;                     /* the highest number that any keyset ever had */
    uint64_t newest_slice;                    /* 0 without a window */
    uint32_t chain[DOCUMENT_MAX_GENERATIONS]; /* generations that checks read together, see below */
    uint32_t nchain;                          /* 0: one array, or a key log to build others from */
    struct site_set *sites;                   /* clusters that it lives in; NULL: this one alone */
};

/* One geometry; ids are never reused. */
struct generation {
    uint32_t id;
    struct geometry geometry;
    uint64_t capacity;
    double rate; /* at that capacity, as asked for; 0: the document's */
};

/* When the filter is to be dropped by itself; see map/history/expiry.h. */
struct expiry {
    uint64_t number;     /* the revision that it was asked for under; 0: never */
    uint64_t after_us;   /* once so much has been counted */
    uint64_t counted_us; /* so much was counted before */
    uint64_t at_ms;      /* since 1970: to be told and compared with; nobody acts on it */
};

struct filter_document {
    uint64_t id;
    uint64_t revision;
    uint64_t epoch;
    struct epoch_content content;
    uint8_t *epoch_bytes; /* content as encoded; NULL until then */
    size_t epoch_size;
    uint64_t epoch_hash;

    uint64_t capacity;
    double rate;
    uint64_t max_capacity;
    enum hash_kind hash;
    enum when_unavailable when_unavailable;
    enum when_full when_full;
    enum keylog keylog;
    enum durability durability;
    uint64_t window_us; /* 0: no window */
    uint32_t nslices;
    uint64_t max_staleness; /* the bound of checks in several sites; see map/staleness.h */
    uint32_t acks;          /* by how many sites an add is acknowledged; see map/acks.h */
    struct generation generations[DOCUMENT_MAX_GENERATIONS];
    uint32_t ngenerations; /* the last one is the wanted one, those before it are being left; of a
                              chain they stay */
    uint32_t turns[DOCUMENT_MAX_TURNS]; /* nodes that may build the wanted one now */
    uint32_t nturns;
    bool growth_held;  /* an operator aborted its expansion: it does not grow by itself */
    uint64_t fed_keys; /* of the list that is fed into the keyset that does not serve yet */
    struct expiry expiry;

    /* Of a rename, until it is fenced; see map/rename.h. */
    char former_name[DOCUMENT_NAME_BYTES]; /* taken still; "": none is under way */
    uint64_t replaces;                     /* the filter that had the name; 0: none had */

    /* What names the dump that it is, or was, made of; 0: none, or it was rebuilt since. */
    uint64_t load_source;
    uint64_t loaded; /* ... of which all before this iterator is in it; see map/dump.h */
    uint32_t owner;  /* id of the user who made it; 0: no user did */
};

/* Iterators of a dump: the first one, and what follows the last one. */
#define DOCUMENT_LOAD_FIRST UINT64_C(1)
#define DOCUMENT_LOAD_END   ((UINT64_C(1) << 48) + 1)

struct node_record {
    uint32_t id; /* never reused; 0 is no node */
    char name[DOCUMENT_NAME_BYTES];
    char host[DOCUMENT_NAME_BYTES];
    char zone[DOCUMENT_NAME_BYTES];
    char endpoint[DOCUMENT_TEXT_BYTES]; /* where routers, peers and coordinators reach it */
    uint64_t incarnation;
    uint64_t memory_limit_bytes;
    uint64_t boot;          /* the last one; 0: the node keeps memory only */
    bool durable;           /* keeps a log on disk */
    bool draining;          /* its replicas are to move to other nodes */
    uint32_t replaced_by;   /* ... to this one; 0: not replaced */
    uint64_t confirmed_off; /* the operator vouches that this life never answers again; 0: none */
    bool curve;             /* it speaks CURVE at its endpoint, not plain ZMTP */
};

/* Another site, to which links send nothing of any filter, and from which they take nothing. */
struct paused_site {
    struct site_id id;
    char name[SITE_NAME_BYTES]; /* by which it was paused */
};

struct node_list {
    uint64_t revision;
    uint32_t last_id; /* the highest that any node ever had; ids are never reused */
    bool rebalancing; /* until no move gains anything */
    uint32_t count;
    struct node_record *nodes;
    struct paused_site paused[SITE_SET_MAX_LIVE];
    uint32_t npaused;
};

bool filter_uid_equal(const struct filter_uid *a, const struct filter_uid *b);

/* As people see it; returns `text`. */
const char *filter_uid_show(const struct filter_uid *uid, char text[FILTER_UID_TEXT_BYTES]);

/* Names of filters, nodes, hosts and zones: [A-Za-z0-9._:-]{1,128}. */
bool document_name_valid(struct span name);

/* Everything that a decoder cannot see alone: counts, ranges, members that repeat.
 * STATUS_MALFORMED with *reason set to a constant text. STATUS_VERSION where it is well formed
 * and asks for more than this version serves: a window or a rebuild of a filter that keeps no log
 * of keys on a disk, both at once, more keysets or slices than there may be; several sites with any
 * of these, with an expiry, without such a log, or where a full filter refuses keys. */
MUST_USE enum status document_validate(const struct filter_document *self, const char **reason);

/* Ids and names that are valid and unique, also of paused sites, endpoints that are there.
 * STATUS_MALFORMED with *reason set to a constant text. A zone may be "": there is only one. */
MUST_USE enum status node_list_validate(const struct node_list *self, const char **reason);

/* Call after editing `content`: epoch and revision go up, the encoded bytes are forgotten. */
void document_epoch_advance(struct filter_document *self);

/* Hash of an epoch's encoded content. Source: XXH3-64, seed 0. */
uint64_t document_epoch_hash(struct span epoch_bytes);

/* Frees what it owns and zeroes it; a zeroed document is fine. */
void document_fini(struct filter_document *self);

uint32_t document_nshards(const struct filter_document *self);

/* The generation that is wanted: replicas build and serve it. */
const struct generation *document_generation(const struct filter_document *self);

/* The generation of that id; NULL: it is not among the document's. */
const struct generation *document_generation_of(const struct filter_document *self, uint32_t id);

/* May that node build the wanted generation now, beside the one that it serves? Nodes take turns
 * while there are several generations. One that has nothing to serve yet needs no turn. */
bool document_has_turn(const struct filter_document *self, uint32_t node);

/* Without a log of keys nothing can be built anew: such a filter grows by a chain of generations.
 * Those that the epoch names are read together, the oldest first, and all are kept for good; adds
 * go to the last one of them. One generation more, the last of the document's, is being made room
 * for, and joins the chain with a later epoch. */
bool document_is_chain(const struct filter_document *self);

/* Is what a generation is built anew from kept: a log of keys, on disk? */
bool document_logs_keys(const struct filter_document *self);

/* Is it being made of a dump? Until all of that is in it, it serves nobody. */
bool document_is_loading(const struct filter_document *self);

/* Does it live in several clusters, or is it to? */
bool document_has_sites(const struct filter_document *self);

/* Those clusters; an empty set where it is in this one alone. */
const struct site_set *document_sites(const struct filter_document *self);

/* Of the site whose document it is; "" and zeros: the filter has no sites. */
const char *document_site_name(const struct filter_document *self);
struct site_id document_site_id(const struct filter_document *self);

/* A copy of that set; of an empty one nothing is kept. STATUS_NOMEM: the set is as before. */
MUST_USE enum status document_put_sites(struct filter_document *self, const struct site_set *sites);

/* The same as document_is_loading(), of the two numbers of a filter that another process has told.
 */
static inline bool document_load_open(uint64_t load_source, uint64_t loaded)
{
    return load_source != 0 && loaded != DOCUMENT_LOAD_END;
}

/* Bytes of one replica of one shard, in the wanted generation; of a chain, in all of them. */
uint64_t document_shard_bytes(const struct filter_document *self);

/* The slot that (node, incarnation) holds in `group`, as member of any kind; -1: none.
 * Incarnation 0 matches any. */
int document_slot_of(const struct filter_document *self, uint32_t group, uint32_t node,
                     uint64_t incarnation);

/* Does the node hold a slot of any group so? */
bool document_has_member(const struct filter_document *self, uint32_t node);

/* ---- slots ---- */

bool member_equal(const struct member *a, const struct member *b);

bool slot_is_pair(const struct slot *slot);

/* Has an operator given up this life in this group? */
bool slot_group_gave_up(const struct slot_group *group, const struct member *member);

/* The only member whose "absent" and "present" count. */
const struct member *slot_reader(const struct slot *slot);

/* Who must have a write for it to count: the reader, then the other half of a pair. Returns how
 * many. */
uint32_t slot_writers(const struct slot *slot, const struct member *writers[2]);

/* What (node, incarnation) is for a slot group. */
enum member_role {
    MEMBER_NONE = 0, /* holds no slot of it */
    MEMBER_JOINING,  /* takes writes, answers no checks: the incoming half of a pair that does not
                        read it yet, or a life of a slot's node that the slot does not name, or that
                        was given up and has come back after all */
    MEMBER_FULL,     /* the reader */
    MEMBER_LEAVING,  /* the other half of a pair that reads the incoming one: takes writes */
};

enum member_role member_role(const struct filter_document *document, uint32_t group, uint32_t node,
                             uint64_t incarnation);

/* ---- the node list ---- */

void node_list_fini(struct node_list *self);

/* NULL when there is none. */
const struct node_record *node_list_find(const struct node_list *self, uint32_t id);
const struct node_record *node_list_find_name(const struct node_list *self, const char *name);

/* Where a link to a process is opened: its endpoint, "curve://HOST:PORT" where it speaks CURVE.
 * Returns `text`. */
const char *process_address(const char *endpoint, bool curve, char text[NODE_ADDRESS_BYTES]);
const char *node_record_address(const struct node_record *record, char text[NODE_ADDRESS_BYTES]);

/* Is the node to give up its replicas? */
bool node_record_leaves(const struct node_record *record);

/* Is the site paused, for all filters? */
bool node_list_pauses(const struct node_list *self, const struct site_id *site);

MUST_USE enum status node_list_copy(const struct node_list *self, struct node_list *out);

#endif
