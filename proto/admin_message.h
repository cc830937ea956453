/* admin_message.h - what operators ask of a coordinator, and what it answers; see codec.h.
 *
 * Units:   times in milliseconds unless named _us; sizes in bytes, capacities in keys.
 * Owner:   as codec.h says of frames.
 * Threads: none.
 */
#ifndef ORBLOOM_PROTO_ADMIN_MESSAGE_H
#define ORBLOOM_PROTO_ADMIN_MESSAGE_H

#include "base/cluster_id.h"
#include "base/span.h"
#include "base/status.h"
#include "map/access/users.h"
#include "map/document.h"
#include "map/history/expiry.h"
#include "proto/replica_report.h"

enum admin_action {
    ADMIN_CREATE = 1,
    ADMIN_DROP = 2,
    ADMIN_STATUS = 3,
    ADMIN_MAP_BACKUP = 20,
    ADMIN_MAP_BEGIN = 21,
    ADMIN_MAP_RECORDS = 22,
    ADMIN_MAP_FINISH = 23,
    ADMIN_UPGRADE_STATUS = 24,
    ADMIN_UPGRADE_FINALIZE = 25,
    ADMIN_USER_LIST = 26,
    ADMIN_USER_CHANGE = 27,
    ADMIN_PROCESS_KEYS = 28,
    ADMIN_EXPAND = 4,
    ADMIN_REBUILD = 5,
    ADMIN_EXPIRE = 6,
    ADMIN_RENAME = 7,
    ADMIN_SITE = 9,
    ADMIN_NODE_DRAIN = 10,
    ADMIN_NODE_REPLACE = 11,
    ADMIN_NODE_REMOVE = 12,
    ADMIN_REBALANCE = 13,
    ADMIN_ACCEPT_LOSS = 14,
    ADMIN_LOOK = 15,
    ADMIN_SITE_CHANGE = 16,
    ADMIN_LOAD = 19,
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
    uint64_t max_staleness;     /* as in the document; 0: none */
    uint32_t acks;              /* ...; 1 is this site alone, too */
};

/* A record of the store, as it is there. */
struct map_record {
    const char *key;
    struct span value;
};

struct map_parameters {
    uint64_t since; /* backup: records written after this change */
    uint64_t key;   /* restore: cluster_key_tag() */
    const struct map_record *records;
    size_t nrecords;
    const char *const *confirmed_off; /* finish: names of nodes that are off for good */
    size_t nconfirmed_off;
    bool accept_losses; /* finish */
};

enum process_kind {
    PROCESS_COORDINATOR = 1, /* the one that answers */
    PROCESS_NODE = 2,        /* in the node list */
    PROCESS_ROUTER = 3,      /* that has asked this coordinator lately */
};

/* What one process knows; see map/feature.h. */
struct process_features {
    enum process_kind kind;
    const char *name;
    uint64_t features;
    bool heard; /* lately, by this coordinator */
};

/* A public key of all processes of that kind. */
struct process_key {
    enum process_kind kind;
    uint8_t key[CURVE_KEY_BYTES];
};

enum { ADMIN_MAX_PROCESS_KEYS = CURVE_NKINDS * CLUSTER_KEY_MAX };

struct upgrade_page {
    uint64_t known; /* by the coordinator that answers; 0: another command's answer */
    uint64_t in_use;
    const struct process_features *processes;
    size_t nprocesses;
};

struct map_page {
    uint64_t key;
    struct cluster_id cluster;
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
    REBUILD_BEGIN = 1,  /* a new keyset; answered once no add can miss it any more */
    REBUILD_FED = 2,    /* keys of the user's list have been acknowledged */
    REBUILD_COMMIT = 3, /* the new keyset serves, the other one is forgotten */
    REBUILD_ABORT = 4,  /* the new keyset is forgotten */
};

struct rebuild_parameters {
    enum rebuild_step step;
    uint32_t keyset;   /* all but begin: the one that was begun; 0: whichever does not serve yet */
    uint64_t fed_keys; /* fed */
    bool empty;        /* commit: even if no list has been fed */
};

enum load_step {
    LOAD_BEGIN = 1, /* make the filter, which serves nobody yet; or begin anew */
    LOAD_ASK = 2,   /* may the fingerprints from `from` to `to` be added? */
    LOAD_MOVE = 3,  /* they have been acknowledged; at the end of the dump it serves */
};

/* A step of making a filter of a dump. INVALID: not what the dump goes on with; EXISTS: the filter
 * of that name is not made of this dump. */
struct load_parameters {
    enum load_step step;
    uint64_t source; /* what names the dump */
    uint64_t from;   /* iterators: see map/dump.h */
    uint64_t to;
    struct span secret; /* begin: sealed, for `source` in place of a filter id; or, of who does not
                           hold the cluster key, HASH_SECRET_BYTES in the clear */
};

enum { ADMIN_MAX_LIVES = DOCUMENT_MAX_NODES };

struct loss_parameters {
    bool all;       /* shards where it is needed; else those of the slot group of `shard` */
    uint32_t shard; /* counted from 0 */
};

enum site_step {
    SITE_STEP_LIST = 1,   /* a question: which sites there are, and which filters are in them */
    SITE_STEP_ADD = 2,    /* changes: that site is to have the filter, too ... */
    SITE_STEP_LEAVE = 3,  /* ... to give it up, once the others have all that it acknowledged */
    SITE_STEP_REMOVE = 4, /* ... is off for good, with what nobody else has */
    SITE_STEP_PAUSE =
        5, /* nothing of the filter, or of all, is sent there or taken from there ... */
    SITE_STEP_RESUME = 6, /* ... any more ... */
    SITE_STEP_RESYNC = 7, /* all that it has of the filter is to be compared once more */
};

struct site_parameters {
    enum site_step step;
    const char *site; /* which one, by name; "" to list */
};

/* Where a filter that is in several sites is to be dropped; 0: it was not said. */
enum drop_scope {
    DROP_HERE = 1, /* the others keep it */
    DROP_EVERYWHERE = 2,
};

struct rename_parameters {
    const char *name; /* the new one */
    bool replace;     /* drop the filter that has it */
};

/* A token or a key that a user is to have. */
struct user_wish {
    const char *user;            /* by name: it may be made by the same change */
    struct span token;           /* of USER_MIN_TOKEN_BYTES to USER_MAX_TOKEN_BYTES, or empty ... */
    uint8_t key[USER_KEY_BYTES]; /* ... and a public key; zeros: none */
    uint64_t expires_ms;         /* since 1970; 0: never */
};

enum { USER_MIN_TOKEN_BYTES = 16 };

bool user_wish_has_key(const struct user_wish *self);

/* What is to become of users, all of it or nothing. What is so already is no change; with another
 * record there than was seen the rest is refused as moved. */
struct user_change {
    uint64_t revision;       /* of the record that was seen; 0: there was none */
    const struct user *puts; /* whole, but for tokens and keys, which stay; id 0: a new one */
    size_t nputs;
    const struct user_wish *adds;
    size_t nadds;
    const struct user_use *removes; /* tokens and keys */
    size_t nremoves;
    const uint32_t *deletes; /* ids of users */
    size_t ndeletes;
    bool without_admin; /* also where no admin who can come in would be left */
};

struct user_page {
    uint64_t revision;        /* 0: there is no record */
    uint64_t now_ms;          /* since 1970, by the coordinator's clock */
    const struct user *users; /* without hashes of tokens */
    size_t nusers;
    const struct user_use *uses; /* as far as this coordinator has heard */
    size_t nuses;
};

/* What a look has found, and a change repeats, so that it changes nothing else; see
 * proto/admin_message.h and orbloom.proto. Of filters the request's name is meant, and as the
 * target that of a rename. */
struct admin_seen {
    uint64_t filter_id; /* a look's answer only; 0: none has the name */
    uint64_t revision;
    uint64_t binding; /* of a name that no live filter has: see records_seen_binding() */
    uint64_t target_id;
    uint64_t target_revision;
    uint64_t target_binding;
    uint64_t nodes_revision;
    uint64_t store_version;
    uint32_t node;
    uint32_t successor;
};

/* What an operator saw and says of a node: this is the life that it has, and neither that one nor
 * any before it ever answers again. */
struct vouched_life {
    struct member life;
    bool runs; /* it was alive: only those before it are meant */
};

struct admin_request {
    enum admin_action action;
    uint32_t timeout_ms; /* a change is wanted for so long */
    const char *name;    /* of a filter, or a node; "" for status of all */
    uint64_t filter_id;  /* all that change a filter: this one and no other one of that name; 0:
                            none, which create and the first step of a load make one of */
    struct admin_seen seen;
    /* An operator's word about nodes. Drop, rename, accept-loss: any; drain and replace: the node
     * itself. */
    const struct vouched_life *confirmed_off;
    size_t nconfirmed_off; /* at most ADMIN_MAX_LIVES */
    const char *successor; /* replace: the node that takes over */
    enum drop_scope scope; /* drop; 0: it was not said */
    bool undo;             /* drain: no longer */
    bool dry_run;          /* rebalance, accept-loss: only tell */
    struct create_parameters create;
    struct map_parameters map; /* ADMIN_MAP_* */
    struct expand_parameters expand;
    struct rebuild_parameters rebuild;
    struct loss_parameters loss;     /* ADMIN_ACCEPT_LOSS */
    struct expiry_wish expire;       /* ADMIN_EXPIRE */
    struct rename_parameters rename; /* ADMIN_RENAME */
    struct load_parameters load;     /* ADMIN_LOAD; filter_id and, to begin, create belong to it */
    const char *user; /* a router: its client, by whose rights it is judged; "": the asker's own */
    struct user_change users;    /* ADMIN_USER_CHANGE */
    struct site_parameters site; /* ADMIN_SITE, ADMIN_SITE_CHANGE */
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
    struct filter_uid uid;
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
    uint32_t nchain;       /* of them, read together: the first ones; 0: no chain */
    const uint32_t *turns; /* nodes that may build it now; at most DOCUMENT_MAX_TURNS */
    size_t nturns;
    bool growth_held;        /* aborted: it does not grow by itself */
    uint32_t keyset;         /* that serves */
    uint32_t rebuild_keyset; /* that does not serve yet; 0: no rebuild is open */
    uint64_t fed_keys;       /* of the user's list, into that one */
    uint64_t loss_epoch;     /* when an operator last accepted that keys may be lost; 0: never */
    uint8_t loss_shards[DOCUMENT_MAX_SHARDS / 8]; /* of which shards, ever: bit s of byte s / 8 */
    uint64_t window_us;                           /* 0: none */
    uint32_t nslices;
    uint64_t newest_slice;
    uint64_t max_staleness; /* as in the document */
    uint32_t acks;          /* ... */
    uint64_t expiry;        /* 0: it stays until it is dropped */
    uint64_t expires_left_us;
    uint64_t expires_at_ms; /* since 1970; as clocks said when it was asked for */
    uint64_t load_source;   /* as in the document */
    uint64_t loaded;
    uint32_t owner; /* id of the user who made it; 0: no user did */
    /* From a coordinator only: */
    uint64_t rebuild_keys;       /* distinct keys that it holds, estimated */
    const char *rebuild_awaited; /* in words, also after a commit; "": nothing */
    uint32_t shards_lacking;     /* with fewer than N FULL replicas; as a coordinator knows it */
    uint32_t fewest_full;        /* that any shard has */
    const char *lacking;         /* of shards with fewest: which node and why; "": none lacks any */
    const char *lacking_remedy;  /* what helps */
    uint64_t shards_grown;       /* of replicas, served from the wanted generation */
    uint64_t shards_growing;     /* of so many; 0: there is one generation */
    const char *growth_awaited;  /* in words: what the next step takes */
    const char *growth_refused;  /* in words: why it does not grow by itself, though it is due */
    const char *window_awaited;  /* in words: when another slice begins */
    const char *expiry_awaited;  /* in words: when it is dropped */
};

/* Where a change of replicas stands, for people. */
enum change_step { CHANGE_TO_BEGIN = 1, CHANGE_COPYING = 2, CHANGE_HANDING_OVER = 3 };

/* A filter whose replicas are being replaced, or should be. */
struct change_summary {
    uint64_t filter_id;
    enum change_step step;
    uint32_t slots;      /* on their way; 0 while it can't begin */
    const char *awaited; /* in words: what the next step takes */
};

/* A process, as far as it was heard of lately, and its cluster_key_tag(). */
struct key_use {
    enum process_kind kind;
    const char *name;
    uint64_t key;
};

/* Where the replacing of the cluster key stands. */
struct key_page {
    uint64_t signing;             /* cluster_key_tag() of the coordinator that answers */
    uint64_t records_left;        /* of the store, that another key has signed or sealed */
    const struct key_use *behind; /* who signs with another one */
    size_t nbehind;
};

/* A site, as far as links and documents tell. */
struct site_summary {
    const char *name;
    struct site_id id;
    bool own;
    uint32_t links;         /* that live; of another site: that are connected to it */
    uint64_t round_trip_us; /* the shortest that one of them has measured; 0: none has */
    bool paused;            /* for all filters, by this site's operator */
};

/* What another site has told of itself. */
struct site_standing {
    struct site_id id;
    bool told; /* else nothing was heard of it */
    bool takes_adds;
    bool says_absent;
    bool settled;
    uint64_t keys; /* about; 0: it is not known */
};

struct filter_sites {
    uint64_t filter_id;
    const char *name;
    struct site_set sites;
    const char *awaited;                /* for what the set waits here; "": for nothing */
    const struct site_standing *others; /* the other sites of it that are not gone */
    size_t nothers;
};

/* Another site has named this one, and the filter can't be made here. */
struct site_refusal {
    const char *name;
    const char *site; /* which has named it */
    const char *reason;
};

/* Where a link is reached. */
struct link_place {
    const char *endpoint;
    bool curve;
};

enum { SITE_PAGE_MAX_LINKS = 16 };

struct site_page {
    const char *site; /* which one the cluster is; "": it has no name; NULL: it is not told */
    const struct site_summary *sites;
    size_t nsites;
    const struct filter_sites *filters;
    size_t nfilters;
    uint64_t filters_left; /* that are not told, as they are too many */
    const struct site_refusal *refusals;
    size_t nrefusals;
    const struct link_place *links; /* this site's, that live: whom to ask how far the others are */
    size_t nlinks;                  /* at most SITE_PAGE_MAX_LINKS */
};

struct admin_reply {
    enum status status;
    const char *message;
    bool created;           /* by this command; else it existed, or was under way */
    bool moved;             /* CONFLICT: what was seen is not so any more; look, and ask again */
    struct admin_seen seen; /* look */
    const struct filter_summary *filters;
    size_t nfilters;
    const struct node_summary *nodes;
    size_t nnodes;
    const struct replica_report *replicas;
    size_t nreplicas;
    const struct change_summary *changes;
    size_t nchanges;
    struct map_page map;                    /* ADMIN_MAP_BACKUP; else all zero */
    struct upgrade_page upgrade;            /* ADMIN_UPGRADE_*; else all zero */
    struct key_page keys;                   /* ADMIN_STATUS; else all zero */
    struct user_page users;                 /* ADMIN_USER_LIST; else all zero */
    const struct process_key *process_keys; /* ADMIN_PROCESS_KEYS: in the order of the ring */
    size_t nprocess_keys;
    struct site_page sites; /* ADMIN_SITE; else all zero */
};

/* ---- what a change has seen of what it is about, for whoever asks for one ----
 *
 *   look     a question to a coordinator, which has no effect: as often and as late as may be
 *   change   names what was found. With something else there by then it is refused as moved
 *   again    ... a look once more: is it still the same filter, target and node? Else the answer is
 *            CONFLICT, as whoever asked meant others
 */

/* All but questions. */
bool admin_is_change(enum admin_action action);

/* Does it rest on the operator's word about lives of nodes? Not those that came after it. */
bool admin_vouches(const struct admin_request *change);

/* The look that it takes; borrows its names. */
struct admin_request admin_look(const struct admin_request *change);

/* Take what was found, the first time. A change that names a filter already means that one. */
void admin_take_seen(struct admin_request *change, const struct admin_seen *seen);

/* ... once more. False: what was meant is not there any more, or nothing has changed; nothing is
 * taken then. */
bool admin_take_again(struct admin_request *change, const struct admin_seen *seen);

#endif
