/* message.h - what links of two sites tell each other, and what routers ask the links of their
 * own; see codec.h and link/link.h.
 *
 * Owner:   as codec.h says of frames.
 * Threads: none.
 */
#ifndef ORBLOOM_PROTO_SITE_MESSAGE_H
#define ORBLOOM_PROTO_SITE_MESSAGE_H

#include "base/span.h"
#include "base/status.h"
#include "map/document.h"
#include "map/pull_message.h"
#include "map/sites.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SITE_LINK_VERSION = 1,    /* of what links tell each other */
    SITE_MAX_SOURCES = 16384, /* in one message */
    SITE_MAX_BUSY = 4096,
    SITE_AGE_MAX_WAIT_MS = 10000,
    SITE_MAX_OFFERED = PULL_MAX_PARENTS, /* ranges in one offer */
    SITE_MAX_CONNECTIONS = 16,           /* between two links */
};

/* All of that node's log of this slot group, both of the source's site, below the offset is with
 * whoever names it. */
struct site_source {
    uint32_t group;
    uint32_t node;
    uint64_t incarnation;
    uint64_t boot; /* that the offset is of */
    uint64_t offset;
    uint64_t epoch; /* under which it began to be followed */
};

struct site_hello {
    uint32_t version;
    bool answer; /* else one is wanted */
    char site[SITE_NAME_BYTES];
    struct site_id id;
    uint64_t boot;          /* of the link: random, drawn at its start */
    uint64_t round_trip_us; /* as who greets has measured it by this connection; 0: not yet */
    uint32_t streams;       /* that are sent to the receiver by this connection: so many ... */
    uint64_t streams_sum;   /* ... and the sum of their names */
    bool asks_streams;      /* each that the receiver sends is to be told of by itself */
    const struct site_source *logs; /* groups and epochs are 0: all below is applied, by all of the
                                       streams, for all slot groups ... */
    size_t nlogs;
    const uint64_t *busy; /* ... but for these */
    size_t nbusy;         /* at most SITE_MAX_BUSY */
    bool paused;          /* its operator has paused the site that is greeted, for all filters */

    /* Between two links; only batches go by others than the first. */
    uint32_t connection;    /* by which this comes: 0, 1, ... */
    uint32_t connections;   /* that the sender has or lets in; 0: one */
    bool wants_connections; /* by the first: one is too few. By another: it is in use; else this is
                               the last that is said by it */
};

/* Send what is acknowledged at your site of this filter, from these places on. */
struct site_open {
    uint64_t stream; /* random; names it from here on */
    struct filter_uid uid;
    struct site_life source_life; /* as the asker knows them */
    struct site_life own_life;
    uint32_t keyset;
    uint64_t room; /* bytes of batches that it may be sent before it has applied any */
    const struct site_source *sources;
    size_t nsources; /* at most SITE_MAX_SOURCES; what is missing is copied */
    bool compares;   /* the asker answers offers */
};

/* A node of the asker's site, in a boot that its log is known and gone on from there. */
struct site_boot {
    uint32_t node;
    uint64_t incarnation;
    uint64_t boot;
};

struct site_batch_message {
    uint64_t stream;
    uint64_t number;        /* 1, 2, 3 ... of the stream */
    struct span batch;      /* site/batch.h; empty: it only tells that the stream goes on */
    uint32_t connections;   /* bit i: by connection i went some that may not be applied; 0: by none
                               but this one */
    bool wants_connections; /* as a greeting by the first says, which may come long after it */
};

struct site_applied {
    uint64_t stream;
    uint64_t number; /* all batches up to it are with W replicas of the receiver's site */
    uint64_t room;
    const uint64_t
        *arrived;    /* by each connection: all that went by it up to this number is there */
    size_t narrived; /* at most SITE_MAX_CONNECTIONS; 0: nothing is said */
};

/* Which of what is about to be sent of a copy is with W replicas of the receiver's site? Ranges as
 * in struct pull_request. Nothing but the lists' bounds is judged when it is decoded. */
struct site_offer {
    uint64_t stream;
    uint64_t number; /* 1, 2, 3 ... of the stream's offers */
    uint32_t bits;
    const uint64_t *prefixes;
    size_t nprefixes;        /* at most SITE_MAX_OFFERED */
    const uint64_t *digests; /* PULL_PARTS of each: run_digest_short() of all that would be sent */
    size_t ndigests;
};

struct site_held {
    uint64_t stream;
    uint64_t number;      /* the offer's */
    const uint64_t *held; /* a word for each range: bit i for part i */
    size_t nheld;         /* at most SITE_MAX_OFFERED */
    bool unsure;          /* some of what is not held may be there: too few replicas have told */
};

/* By which batch will the asker have all that was acknowledged before the question was read? */
struct site_mark {
    uint64_t stream;
    uint64_t mark; /* the asker's own number for it */
};

/* Once that batch is applied. */
struct site_marked {
    uint64_t stream;
    uint64_t mark;
    uint64_t number;
    uint32_t groups;                /* at the source's site; and of each at least ... */
    uint32_t read;                  /* ... so many replicas in `ends` */
    const struct site_source *ends; /* by rising groups and nodes, each once: where those logs ended
                                     * after the question had come */
    size_t nends;                   /* at most SITE_MAX_SOURCES */

    /* Of the asker's site, as far as its logs are known there. */
    const struct site_boot *boots;
    size_t nboots;  /* at most DOCUMENT_MAX_NODES */
    bool boots_all; /* none is: nothing there could tell that one was put back */

    uint64_t vouched_set; /* mark_set_hash() of one of which every further site knows the logs of
                             `ends` in these boots; 0: not every one does */
};

struct site_close {
    uint64_t stream;
    enum status status;
    const char *message;
};

/* Has the other site all that the asker's has acknowledged before the question came? It begins a
 * mark for it, unless the ends of that come along. */
struct site_confirm {
    uint64_t number; /* random; the same again is the same question, whose answer may be lost */
    struct filter_uid uid;
    struct site_life asker_life; /* as the asker knows them */
    struct site_life other_life;
    uint32_t wait_ms;  /* more than SITE_AGE_MAX_WAIT_MS is as much */
    uint64_t set_hash; /* mark_set_hash() of the asker's set */

    uint64_t stream; /* which brings all of it ... */
    uint64_t batch;  /* ... with this one; the others as in struct site_marked */
    uint32_t groups;
    uint32_t read;
    const struct site_source *ends;
    size_t nends; /* 0: a mark is to be begun, and the five before say nothing */
};

struct site_confirmed {
    uint64_t number;
    enum status status; /* OK: a mark that was begun after the question came is applied, or the ends
                           that came with it */
};

/* ---- router and link of one site ---- */

/* How much of what other sites have acknowledged is here? */
struct site_age_request {
    uint64_t filter_id;
    uint32_t wait_ms; /* for marks that are begun after the question has come; more than
                         SITE_AGE_MAX_WAIT_MS is as much; 0: the answer comes at once */
    bool confirms;    /* the other way round: how much of what is acknowledged here is there? It
                         waits until all that are COUNTED have confirmed ... */
    uint32_t enough;  /* ... or so many of them; 0: all */
};

/* Of one other site's keys, by the newest mark that counts: site/mark.h. */
struct site_age {
    struct site_id id;
    struct site_life life;
    bool known; /* else nothing is, whatever the others say */
    bool after; /* it was begun after the question had come, by the order of events */
    uint64_t age_us;
    bool paused; /* by an operator, here or there: more will not be known soon */
};

/* With `confirms`: known and after say that the site has applied all that was acknowledged here
 * before the question came; the age is 0. */

struct site_age_reply {
    enum status status; /* OK; NOT_FOUND: the filter is not here, or not in sites */
    uint64_t filter_id;
    struct site_life own_life; /* what the ages are about: see struct freshness_answer */
    uint32_t keyset;
    const struct site_age *sites; /* the others of the set but for those that are gone */
    size_t nsites;                /* at most SITE_SET_MAX_LIVE - 1 */
    bool confirms;                /* the request's */
};

/* ---- whoever wants to know, and a link ---- */

/* How far behind are sites? */
struct site_lag_request {
    uint64_t filter_id; /* 0: of all */
};

enum { SITE_MAX_LAGS = 8192 };

/* What a stream waits for; a number that is not known is something new. */
enum site_wait {
    SITE_WAIT_NOTHING = 0,
    SITE_WAIT_PAUSED,     /* an operator's word, here or there */
    SITE_WAIT_CONNECTION, /* no link of the other site is heard of */
    SITE_WAIT_PLACES,     /* this site's nodes to tell how far it is here */
    SITE_WAIT_JOIN,       /* this site to take adds: it is not copied before */
    SITE_WAIT_OPEN,       /* the other site, to begin */
    SITE_WAIT_COPY,       /* replicas to be copied */
    SITE_WAIT_APPLY,      /* this site's nodes to take what has come, as when the filter is full */
    SITE_WAIT_TAKEN,      /* the other site, to apply what was sent */
    SITE_WAIT_RATE,       /* site_rate */
};

/* Of one filter and one other site, as this link sees it. Bytes are those of batches. */
struct site_lag {
    uint64_t filter_id;
    struct site_id id;
    bool paused_here;  /* by this site's operator */
    bool paused_there; /* by the other one's, as far as was heard */

    uint32_t waits;   /* enum site_wait: why nothing is received */
    bool marked;      /* else the age says nothing */
    uint64_t age_us;  /* all that was acknowledged there so long ago, or earlier, is here */
    uint64_t in_keys; /* applied here since the stream began */
    uint64_t in_per_s;
    uint64_t resync; /* what is received is of this order for a comparison; 0: of none */
    bool copied;     /* ... and all of the other site has come by it */

    bool sends;            /* a stream goes there; else what follows says nothing */
    uint32_t holds;        /* enum site_wait: why nothing is sent */
    uint64_t pending_keys; /* read here, and not applied there yet */
    uint64_t pending_us;   /* since the oldest of them was read */
    uint64_t out_per_s;
    uint32_t copies; /* replicas here that are to be copied there yet */
};

struct site_lag_reply {
    const struct site_lag *lags;
    size_t nlags; /* at most SITE_MAX_LAGS; who has more tells the first ones */
};

#endif
