/* private.h - what the files of a link share; no one else includes it.
 *
 *   link.c      the two faces, the clock, which filters are sent and received
 *   channels.c  who of other sites is there
 *   states.c    what sites say of their filters: states.h; state_board.c: what is held of it
 *   evidence.c  what streams have brought, as proof: evidence.h
 *   report.c    what is told of the link: counters, and to which sites it is connected
 *   lag.c       ... and how far sites are from each other
 *   pause.c     what operators have paused
 *   inflow.c    streams that are received: batches applied in order, as far as all is here
 *   places.c    ... and how far that is, as this site's nodes remember it
 *   own_boots.c ... in which boots
 *   marked.c    ... and of which moment all of the source is here
 *   vouched.c   ... at which no node here was put back, as the source knows
 *   ages.c      ... which routers of this site ask for, or how much of it others have: ages.h
 *   confirms.c  ... which those then confirm
 *   outflow.c   streams that are sent: who is followed, what readers bring
 *   section.c   ... what was gathered, on its way as batches
 *   marks.c     ... which batch all that was acknowledged is in
 *   fill.c      ... and of copies of replicas
 *   put_back.c  ... and when others remember more of this site than it has
 *   alive.c     that streams go on
 *   rest.c      ... and how far, where they have no traffic
 *   readers.c   the tails of nodes' logs
 */
#ifndef ORBLOOM_LINK_PRIVATE_H
#define ORBLOOM_LINK_PRIVATE_H

#include "base/bits.h"
#include "base/buffer.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/number_table.h"
#include "base/token_bucket.h"
#include "link/ages.h"
#include "link/counters.h"
#include "link/link.h"
#include "map/document_cache.h"
#include "proto/codec.h"
#include "site/batch.h"
#include "site/mark.h"

#include <stdlib.h>
#include <sys/queue.h>

enum {
    LINK_MAX_CHANNELS = 64,
    OUTFLOW_MEMORY = 1 << 14, /* records of which a stream remembers that they were sent */
    OUTFLOW_ALIVE_US =
        1000000,       /* so often it is said which batch was the last, until that is applied */
    OUTFLOW_MARKS = 8, /* under way of one stream; a newer one takes the oldest's place */
    OUTFLOW_OWN = OUTFLOW_MARKS, /* place of the one that somebody here waits for */
    OUTFLOW_ALL_MARKS,
};

/* A connection to a link of another site that has greeted us. */
struct channel {
    uint64_t number;  /* never used again; 0: this place is free */
    uint32_t peer;    /* which site: place in the configuration */
    uint32_t link;    /* by which we dialed; 0: it has */
    struct peer from; /* then: where its requests come from */
    uint64_t boot;    /* of the other link */
    uint64_t heard_us;
    uint64_t round_trip_us; /* smoothed; 0: not measured yet */
    bool pauses;            /* its site has paused this one, for all filters */
    uint64_t rested_us;     /* when places of streams without traffic were told last */
    uint32_t unequal;       /* so many greetings in a row told of other streams than are received */
};

struct dialed {
    uint32_t link; /* 0: not opened yet, or the other side dials */
};

/* Bytes of batches, and how many of them in a second, by the last tick. */
struct pace {
    uint64_t bytes;
    uint64_t before;
    uint64_t per_s;
    uint64_t at_us;
};

/* ---- streams that are received ---- */

/* A batch that has come and is not applied, or not the first one that is not. */
struct arrived_batch {
    struct number_entry entry; /* of its relayed add, while one is under way */
    TAILQ_ENTRY(arrived_batch) link;
    struct inflow *inflow;
    uint64_t number;
    uint64_t *keys;
    size_t nkeys;
    struct site_batch_cursor *cursors;
    size_t ncursors;
    size_t bytes; /* that all of it takes */
    bool asked;
    bool applied; /* W replicas have all of it */
    uint64_t again_us;
    unsigned failures;
};

/* What of an inflow this site's own nodes know. Nothing that a process alone remembers counts: it
 * may outlive the nodes' data. */
enum places_state {
    PLACES_UNREAD = 0, /* nothing is known of this site's nodes */
    PLACES_READING,    /* they are asked for their boots, and for the places then */
    PLACES_KNOWN,      /* the stream goes on from there */
};

struct places {
    enum places_state state;
    unsigned asking; /* questions of the router that are not answered */
    bool failed;     /* one of those was not answered well */
    bool said;       /* that they are too many to be kept */
    bool too_many;   /* nodes here have more than they can tell */
    bool none;       /* ... and have none of that site, of no life of anybody's */
    bool hurried;    /* somebody waits until what is applied is noted */
    uint64_t again_us;
    unsigned failures; /* in a row */
    uint64_t epoch;    /* of this site's document, under which they are read or written */
    uint32_t ngroups;  /* ... its slot groups */
    uint32_t next;     /* ... of which this one is asked next */

    /* Read from nodes, or on the way to them. */
    struct record_site_cursor *cursors;
    size_t ncursors;
    size_t cursors_room;

    uint64_t version; /* rises with what is applied ... */
    uint64_t keyed;   /* ... and this is the one that the last keys have brought */
    uint64_t written; /* the one that is on its way to nodes; 0: none is */
    uint64_t noted;   /* the newest that W replicas of every slot group have noted ... */
    uint64_t noted_epoch;
    uint64_t noted_us; /* ... and when that was begun */
    uint64_t drift;    /* bytes of logs since then, in which nothing was of this filter */
};

/* The boots of this site's nodes under which what is known arose. */
struct own_boots {
    struct router_boot *boots;
    size_t count;
    size_t room;
    bool doubted;      /* one of them has another boot now */
    bool confirm;      /* they are to be asked once more ... */
    bool asked;        /* ... and are */
    bool late;         /* ... but about what is not known any more */
    bool suspect;      /* the list of nodes shows another boot, and they have not told yet */
    unsigned failures; /* in a row */
    uint64_t again_us;
    uint64_t list; /* revision of the node list that was looked at */
};

/* What an inflow has to show of how much of the source is here, at W replicas of each slot group.
 * Times are of this link's clock, and 0 where there is nothing. All of it is void, and 0 again,
 * when a node here has another boot: what was here may be lost. */
struct inflow_evidence {
    /* A mark was applied: so R replicas of each slot group there were copied, or gone on with from
     * places that held, and only what is on its way is missing. Of what the source has from other
     * sites nothing is said. */
    bool copied;

    /* Copied as a whole since then, from no place at all: what was at R replicas there at that time
     * is here, whatever site it came from. 0: not that this link knows; inflow_copy_anew() is how
     * to get there, and to be called again when a node here has started again before. */
    uint64_t whole_us;

    /* All that was acknowledged there before this is here. It holds for plain checks alone: nobody
     * has looked whether nodes were put back since. */
    uint64_t marked_us;

    /* The same of this; and W replicas of each slot group here have noted up to where it is, in
     * which boots of the source's nodes, and after that R of them had the boots that they had
     * before. So it may be told to others, and bounded checks may go by it. */
    uint64_t noted_us;
};

/* ... and in which of them the source knows them, as it has said with the last mark. */
struct vouched {
    struct site_boot *boots;
    size_t count;
    size_t room;
    bool all; /* it knows none of them */
};

enum { INFLOW_MARKS = MARK_MAX_PENDING };

/* A mark that is answered, until its batch is applied. */
struct answered_mark {
    uint64_t mark;
    uint64_t batch;
    struct site_source *ends; /* what is below is applied then */
    size_t nends;
};

struct marked {
    struct marks marks; /* those count that are applied */
    bool unsettled;     /* the set of sites: marks are wanted */
    uint64_t wanted_until_us;
    bool at_once;
    uint64_t next_us; /* not before that another one is begun */
    uint64_t set_hash;
    struct answered_mark answered[INFLOW_MARKS];
    uint32_t nanswered;
    uint64_t applied;       /* number of the newest that counts ... */
    uint64_t confirming;    /* ... of the one that nodes are asked for their boots for ... */
    uint64_t confirming_us; /* ... and when that was begun ... */
    uint64_t confirmed;     /* ... and of the one that counts for more */
    uint64_t vouched;       /* ... for bounded checks, too */
    uint64_t vouched_us;    /* ... and when that was begun */

    uint64_t reached; /* so many marks, and ends that came with questions, were found applied ... */
    uint64_t version; /* ... which these places hold ... */
    uint64_t proving; /* ... for so many nodes are asked for their boots ... */
    uint64_t proved;  /* ... and so many count for more */
};

/* A filter that is received from a site, whether a stream is open or not. */
struct inflow {
    struct number_entry entry; /* by the stream's number */
    TAILQ_ENTRY(inflow) link;
    struct link *self;
    uint64_t filter_id;
    struct filter_uid uid;
    uint32_t peer;
    struct site_life source_life;
    struct site_life own_life;
    uint32_t keyset;
    uint64_t epoch;      /* of this site's document, as the last sweep has found it */
    uint64_t loss;       /* the newest one that was accepted here when it was begun ... */
    uint64_t resync;     /* ... and the newest order to compare all of that site */
    uint64_t loss_epoch; /* ... and none since, by the document of this epoch ... */
    uint64_t judged;     /* ... and by so many changes of documents */
    bool wanted;         /* found in the documents since the last sweep */
    struct proof *proof; /* NULL: nothing is to be proved; see evidence.h */

    struct site_source *sources; /* how far the source's logs are here */
    size_t nsources;
    size_t sources_capacity;
    struct places places; /* ... and how far the nodes here know that */
    struct own_boots own;
    struct vouched vouched;
    struct marked marked;
    struct inflow_evidence evidence;
    bool anew;                /* places that are being read are not gone on from */
    uint64_t from_nothing_us; /* when the first stream was opened, if it was with no place; 0: some
                                 were read */

    bool paused_here;  /* by this site's operator */
    bool paused_there; /* by the other one's, as far as was heard: ... */
    bool paused_by_state;
    uint64_t pause_version; /* ... in states of this version; 0: look again */

    struct pace pace;
    uint64_t taken_keys; /* applied since the stream was opened */
    uint64_t served_us;  /* when the other site could last take what is here */

    uint64_t stream;   /* 0: none is open, and then: */
    uint64_t open_us;  /* not before that */
    unsigned failures; /* streams that ended since a batch was applied */
    uint64_t channel;
    uint64_t heard_us;
    uint64_t received; /* number of the last batch that came ... */
    uint64_t batch_us; /* ... and when; 0: none has for a while */
    uint64_t applied;  /* ... up to which all are applied */
    bool busy;     /* while a greeting is looked at: what it says of places is not of this one */
    bool unplaced; /* ... keys, of which no batch has said yet how far they go */
    bool untold;
    size_t held;                                      /* bytes of batches that wait */
    TAILQ_HEAD(arrival_list, arrived_batch) arrivals; /* in their order */
    struct log_limit waits_log;
};

TAILQ_HEAD(inflow_list, inflow);

/* What a document says of a filter and another site. */
struct inflow_wish {
    uint64_t filter_id;
    struct filter_uid uid;
    uint32_t peer;
    struct site_life source_life;
    struct site_life own_life;
    uint32_t keyset;
    uint64_t epoch;
    uint64_t loss;     /* places_loss() of the document */
    uint64_t resync;   /* of the other site's entry */
    uint64_t set_hash; /* of the set of sites */
    bool unsettled;    /* ... in which somebody joins, leaves, is being filled */
    bool paused;       /* by this site */
};

/* ---- tails ---- */

/* A stream reads the log of a node. */
struct reading {
    TAILQ_ENTRY(reading) link; /* of the reader's */
    struct reader *reader;     /* NULL: of none */
    struct outflow *outflow;
    uint64_t filter_id;
    struct member member;
    uint64_t boot; /* that `at` is of */
    uint64_t at;   /* all below has been told */
    uint64_t from; /* ... and before the last answer all below this */
    bool asked;    /* the question under way is about it, too */
    bool stalled;  /* it has no room for more */
    uint64_t again_us;
};

TAILQ_HEAD(reading_list, reading);

struct reader {
    TAILQ_ENTRY(reader) link;
    struct reading_list readings;
    uint32_t node;
    uint32_t channel; /* link to it; 0: none yet */
    char address[NODE_ADDRESS_BYTES];
    uint64_t number; /* of the question under way; 0: none is */
    uint64_t asked_us;
    uint64_t again_us;
    uint64_t list; /* of filters, that the node was told last */
    bool list_lost;
    bool ahead;   /* who is furthest ahead was asked for last */
    bool waits;   /* the question under way may be kept until there is something to tell */
    bool hurried; /* the next one is to be answered at once */
    uint64_t hurried_us;
    bool stirred; /* somebody waits whom the question under way is not about */
};

TAILQ_HEAD(reader_list, reader);

/* ---- streams that are sent ---- */

/* A replica whose log is covered up to a place; or that is to be copied first. */
struct follow {
    struct site_source source;
    bool fills;
    uint64_t taken;      /* what is below is applied at the other site ... */
    uint64_t taken_boot; /* ... which knows the log as of this boot; 0: it does not yet */
    uint64_t again_us;   /* to be copied: it could not, and is not asked before that */
};

struct sent_record {
    uint64_t producer_id;
    uint64_t number;
    uint64_t digest;
};

/* A batch on its way; of no keys: it tells places. */
struct sent_batch {
    size_t bytes;
    uint32_t keys;
    uint64_t read_us; /* since when they were to be sent, or before */
};

/* What was gathered up to a moment, on its way. */
struct section {
    uint64_t number; /* of this one or, unless it is active, the last one */
    bool active;     /* some of it is not sent */
    uint64_t *keys;
    size_t nkeys;
    size_t room;
    size_t at;                         /* so many are sent */
    uint64_t read_us;                  /* when the first of them was read */
    struct site_batch_cursor *cursors; /* how far the logs were read then */
    size_t ncursors;
    size_t cursors_room;
};

/* A mark that was asked for; or the ends of this site's logs, for a question that goes there. */
struct outmark {
    bool used;
    bool asking;
    bool read; /* enough logs are read to their ends; answered once this section is sent: */
    uint64_t section;
    uint64_t mark; /* the other side's number; OUTFLOW_OWN: they are gathered after this */
    uint64_t again_us;
    uint64_t epoch; /* under which the ends were told */
    struct site_source
        *passed; /* once it is read: the logs that were, to the ends that they told */
    size_t npassed;
    size_t passed_room;
    uint32_t groups; /* ... and of how many slot groups, R each */
    uint32_t needed;
    struct router_end *ends;
    size_t nends;
    size_t ends_capacity;
};

/* The copy of one slot group, under way. */
struct fill {
    bool active;
    bool asking;
    bool begun;     /* a range was told */
    uint32_t group; /* under way, or the last one */
    uint64_t from;  /* where the next range begins */
    uint64_t epoch; /* of the first one */
    uint64_t again_us;
    struct router_copy_source sources[QUORUM_MAX_REPLICAS]; /* that have told all so far */
    uint32_t nsources;
};

struct outflow {
    struct number_entry entry; /* by the stream's number */
    TAILQ_ENTRY(outflow) link;
    struct link *self;
    uint64_t stream;
    uint64_t channel;
    uint32_t peer;
    uint64_t filter_id;
    struct filter_uid uid;
    struct site_life own_life;
    struct site_life peer_life;
    uint32_t keyset;
    uint64_t epoch;  /* whose readers are followed */
    uint64_t judged; /* by so many changes of documents it is as it should be */
    bool over;       /* it goes once the router owes it nothing */

    struct follow *follows; /* every reader of every slot group */
    size_t nfollows;
    struct reading *readings; /* one a node */
    size_t nreadings;
    size_t readings_room;
    struct fill fill;

    uint64_t *pending; /* keys that were read and not sent */
    size_t npending;
    size_t pending_capacity;
    uint64_t since_us; /* the oldest of them; 0: there are none */
    bool moved;        /* a place has, and was not told yet */
    bool held_back;    /* a batch waits for the rate */
    bool flush_now;
    uint64_t placed_us; /* when places were told last */
    struct section section;

    uint64_t number;         /* of the last batch */
    struct buffer kept;      /* ... which could not be sent yet */
    struct sent_batch *sent; /* those that are not applied */
    size_t nsent;
    size_t sent_capacity;
    uint64_t applied;
    uint64_t flying; /* bytes of these */
    struct pace pace;
    uint64_t room;
    uint64_t said_us;
    bool alive_asked; /* that it goes on is to be said */
    bool rests;       /* there is no traffic; as the last greeting said */
    struct outmark marks[OUTFLOW_ALL_MARKS];
    bool ends_wanted;                /* those of OUTFLOW_OWN are, once more */
    struct sent_record *memory;      /* OUTFLOW_MEMORY of them; NULL until one is needed */
    struct site_batch_cursor *taken; /* where the logs are applied at the other site */
    size_t ntaken;
    size_t taken_room;
    uint64_t taken_number; /* ... once this batch is applied; 0: they are */
};

TAILQ_HEAD(outflow_list, outflow);

/* A filter of which another site remembers more of a node's log here than that node has. */
struct put_back {
    struct filter_uid uid;
    uint64_t filter_id;
    uint32_t peer;
    struct site_life peer_life;
    struct site_life own_life; /* in which it was found; another one knows of it */
};

struct put_backs {
    struct put_back *items;
    size_t count;
    size_t room;
    size_t next; /* they take turns to be told */
    bool news;
    uint64_t told_us;
};

struct link {
    struct link_config config;
    struct effects inner;
    struct effects outer;
    struct effects router_effects;
    struct router *router;
    struct actor core;               /* the router's */
    struct codec_arena *arena;       /* of what comes by a face */
    struct codec_arena *reply_arena; /* of the router's answers, which come meanwhile */
    uint64_t now_us;
    struct buffer out;
    uint64_t boot;
    uint64_t last_number; /* of channels, streams, questions */
    uint64_t next_tick_us;

    struct dialed dialed[LINK_MAX_SITES];
    struct channel channels[LINK_MAX_CHANNELS];
    struct log_limit refused_log;
    struct log_limit greeted_log;
    struct log_limit shut_out_log;
    struct token_bucket rate; /* of batches */

    struct states *states;               /* see states.h */
    struct site_evidence *evidence_page; /* NULL until there is any */
    struct inflow *evidence_last;        /* that was told; NULL: from the first one on */
    size_t nproofs;                      /* inflows of which something is to be proved */
    bool evidence_news;                  /* some of it coordinators have not heard */

    struct inflow_list inflows;
    unsigned place_questions;    /* about places, that nodes have not answered */
    size_t ninflows;             /* that the last tick has wanted ... */
    size_t nreceiving;           /* ... and those of which batches come */
    bool pauses[LINK_MAX_SITES]; /* some filter is paused that is in that site, too */
    size_t held;                 /* bytes of their batches that wait */
    struct inflow_list leaving;  /* dropped; they go once the router owes them nothing */
    struct number_table inflows_by_stream;
    struct number_table relays; /* arrivals, by the number of their relayed add */

    struct site_boot boots[DOCUMENT_MAX_NODES]; /* of one answer */
    struct ages ages;
    struct confirms confirms;
    struct put_backs put_backs;

    struct outflow_list outflows;
    struct number_table outflows_by_stream;
    struct reader_list readers;
    struct site_source *rest_logs; /* of one greeting */
    size_t nrest_logs;
    size_t rest_logs_room;
    uint64_t *rest_busy;
    size_t nrest_busy;
    size_t rest_busy_room;
    struct site_tail_filter *filters; /* of one question */
    size_t nfilters;
    size_t filters_capacity;
    uint64_t *spare; /* for sorting */
    size_t spare_capacity;

    uint64_t counters[LINK_NCOUNTERS];
};

static inline void link_count(struct link *self, enum link_counter counter, uint64_t more)
{
    self->counters[counter] += more;
}

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- channels.c ---- */

void channels_tick(struct link *self, uint64_t now_us);

/* NULL: nobody of that connection has greeted us. */
struct channel *channel_of_request(struct link *self, const struct peer *from);
struct channel *channel_of_answer(struct link *self, uint32_t link);
struct channel *channel_find(struct link *self, uint64_t number);

/* Which link of that site a filter is received from: the same one as long as it is there. NULL:
 * none is. */
struct channel *channel_for(struct link *self, uint32_t peer, const struct filter_uid *uid);

/* Likewise with turn 0; with each further one the next of them, so that one that can't do what the
 * others can is not in the way. */
struct channel *channel_in_turn(struct link *self, uint32_t peer, const struct filter_uid *uid,
                                uint32_t turn);

/* The link's name for whoever reads a log: "us". */
const char *channel_site(const struct link *self, const struct channel *channel);

/* A greeting, or the answer to one of ours. */
void channel_greeted(struct link *self, uint64_t now_us, const struct frame *hello,
                     const struct peer *from, uint32_t link);

/* Is it one of two between the same links, and the one that is not used? */
bool channel_is_spare(const struct link *self, const struct channel *channel);
/* What we have dialed does not let us in, or does not take us for who we say we are. */
void channel_shut_out(struct link *self, uint64_t now_us, uint32_t link, const char *cause);
void channel_refused(struct link *self, uint64_t now_us, uint32_t link, const char *message);

/* False: it could not be sent now. */
bool channel_send(struct link *self, struct channel *channel, const struct frame *frame);

/* ... and nothing of it stays in this process's own buffers. */
bool channel_send_secret(struct link *self, struct channel *channel, const struct frame *frame);

/* ---- alive.c ---- */

/* What a greeting by that channel says of the streams that are sent and received by it. */
void alive_tell(const struct link *self, const struct channel *channel, struct site_hello *hello);

/* ... and what the other side's says. */
void alive_heard(struct link *self, uint64_t now_us, struct channel *channel,
                 const struct site_hello *hello);

/* ---- rest.c ---- */

/* Where the logs are by streams without traffic, from time to time. */
void rest_tell(struct link *self, struct channel *channel, struct site_hello *hello);

/* ... of streams that are those that are received by that channel. */
void rest_heard(struct link *self, const struct channel *channel, const struct site_hello *hello);

/* ---- report.c ---- */

void report_on_stats(struct link *self, const struct peer *from, const struct frame *frame);

/* That it is a link, no router. */
void report_refuse_client(struct link *self, const struct peer *from, const struct frame *frame);
void report_tick(struct link *self);

/* ---- pause.c ---- */

/* Has this site paused that one, for all filters; for this one? */
bool pause_greets(const struct link *self, uint32_t peer);
bool pause_is_here(const struct link *self, const struct document_entry *entry, uint32_t peer);

/* Here or there? */
bool pause_is_on(const struct inflow *inflow);

/* What the other site says by now. */
void pause_look(struct link *self, struct inflow *inflow);

/* ---- lag.c ---- */

void lag_on_request(struct link *self, uint64_t now_us, const struct peer *from,
                    const struct frame *frame);
void lag_tick(struct link *self, uint64_t now_us);

/* ---- link.c ---- */

/* This site in the set of an entry that serves; NULL: the filter is not in sites, or not any more,
 * or this site is not the one that its set says. */
const struct site_entry *site_filter_own(const struct link *self,
                                         const struct document_entry *entry);

/* NULL: no document of it is known. */
const struct document_entry *site_filter_of(const struct link *self, const struct filter_uid *uid);

/* Is the filter in both sites, in these lives, by the document? STATUS_NOT_FOUND: not in both;
 * STATUS_STALE: in others. The entry may be NULL. */
enum status site_filter_shared(const struct link *self, uint32_t peer,
                               const struct document_entry *entry, const struct site_life *own_life,
                               const struct site_life *peer_life);

/* The filter that is asked for by that site; NULL: it is not to be sent, and why. */
const struct document_entry *site_filter_find(struct link *self, uint32_t peer,
                                              const struct site_open *open, enum status *status,
                                              const char **cause);

/* NULL, or why it is not to be sent any more as it was asked for. The entry may be NULL. */
const char *site_filter_over(const struct link *self, const struct outflow *outflow,
                             const struct document_entry *entry, enum status *status);

/* ---- inflow.c ---- */

/* NULL: that filter is not received from there. Its evidence is what others may go by. */
struct inflow *inflow_find(const struct link *self, uint64_t filter_id, uint32_t peer);

/* NULL: no such stream of that channel. */
struct inflow *inflow_of(struct link *self, const struct channel *channel, uint64_t stream);

/* Is what is known of it still to be gone on from? Not where a loss was accepted here since, or an
 * operator has ordered that all is compared. */
bool inflow_lasts(struct inflow *inflow);

/* The stream ends, which is said, and is begun anew. */
void inflow_close(struct link *self, struct inflow *inflow, enum status status, const char *cause);

/* All that the source has is copied once more, whatever of it is here: see inflow_evidence. */
void inflow_copy_anew(struct link *self, struct inflow *inflow);

/* A tick looks through the documents: each is wanted, then what was not is dropped. */
void inflow_want(struct link *self, const struct inflow_wish *wish);
void inflows_sweep(struct link *self);

void inflow_on_batch(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_batch_message *message);
void inflow_on_close(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_close *message);

/* The router's answer to a relayed add. False: to none of them. */
bool inflows_on_reply(struct link *self, uint64_t now_us, const struct frame *frame);
void inflows_turn(struct link *self, uint64_t now_us);
void inflows_tick(struct link *self, uint64_t now_us);
uint64_t inflows_next_us(const struct link *self);
void inflows_fini(struct link *self);

/* ---- places.c ---- */

/* Read them, or write them, if it is time. */
void places_turn(struct link *self, uint64_t now_us, struct inflow *inflow);
uint64_t places_next_us(const struct link *self, const struct inflow *inflow);

/* More of the source is applied: by W replicas, without a gap. */
void places_advanced(struct inflow *inflow, bool keys);

/* So many bytes of its logs have nothing of the filter. */
void places_drifted(struct inflow *inflow, uint64_t bytes);

/* Has W replicas of each slot group, by the document as it is now, noted that version? */
bool places_are_noted(const struct inflow *inflow, uint64_t version);

/* The epoch since which the newest loss is accepted in any of its slot groups; 0: none was. */
uint64_t places_loss(const struct filter_document *document);

/* Note what is applied as soon as may be. */
void places_hurry(struct inflow *inflow);

/* Nothing is known: they are read before the stream is opened. */
void places_void(struct inflow *inflow);
void places_fini(struct inflow *inflow);

/* ---- own_boots.c ---- */

/* What R of each slot group have told at first. False: it is of no use. */
MUST_USE bool own_boots_set(struct inflow *inflow, const struct router_ends_told *told);

/* A replica here has told its boot: it has acknowledged what came from the source. */
void own_boots_heard(struct inflow *inflow, const struct router_boot *from);

/* Have them asked once more; marked_confirmed() follows unless one has changed. */
void own_boots_confirm(struct inflow *inflow);
bool own_boots_asked(const struct inflow *inflow);
void own_boots_turn(struct link *self, uint64_t now_us, struct inflow *inflow);
uint64_t own_boots_next_us(const struct inflow *inflow);
void own_boots_void(struct inflow *inflow);
void own_boots_fini(struct inflow *inflow);

/* ---- vouched.c ---- */

/* What is known here of the logs of the site that asked for the mark. */
void vouched_fill(struct link *self, const struct outflow *outflow, struct site_marked *message);

void vouched_take(struct inflow *inflow, const struct site_marked *message);

/* Does the source know all of these nodes of this site in the boots that they have told? */
bool vouched_has_all(const struct inflow *inflow, const struct router_ends_told *told);
void vouched_void(struct inflow *inflow);
void vouched_fini(struct inflow *inflow);

/* ---- marked.c ---- */

/* Marks of that filter and site are wanted until then, by somebody in this process; the first one
 * is begun at once. False: it is not received from there. */
bool inflow_want_marks(struct link *self, uint64_t filter_id, uint32_t peer, uint64_t until_us);

/* Likewise, of what is received; `at_once`: another one is begun whatever is under way. */
void marked_want(struct inflow *inflow, uint64_t until_us, bool at_once);

/* The source has told ends of its logs. MALFORMED: they can't be those of R replicas of each slot
 * group; NOMEM. */
enum status marked_judge_ends(uint32_t ngroups, uint32_t read, const struct site_source *ends,
                              size_t nends);

/* ... and all below them is applied: which one that is of what is to be proved; 0: there is no room
 * for them. Until the stream ends, marked_is_proved() tells whether it counts for more than plain
 * checks: nodes here have noted it, and had the boots after that that they had. */
uint64_t marked_reach(struct inflow *inflow, const struct site_source *ends, size_t nends);
bool marked_is_proved(const struct inflow *inflow, uint64_t reached);

/* What a question is told that came when so many had been begun (marks_begun() of its marks), by
 * those that are noted and confirmed. */
struct mark_told inflow_tell(const struct inflow *inflow, uint64_t begun, uint64_t now_us);

void marked_turn(struct link *self, uint64_t now_us, struct inflow *inflow);
uint64_t marked_next_us(const struct inflow *inflow);
void inflow_on_marked(struct link *self, struct channel *channel,
                      const struct site_marked *message);

/* This site's nodes have the boots that they had when the marks were applied. */
void marked_confirmed(struct inflow *inflow, const struct router_ends_told *told);

/* What was asked by the stream is not answered any more. */
void marked_stop(struct inflow *inflow);
void marked_void(struct inflow *inflow);
void marked_fini(struct inflow *inflow);

/* ---- outflow.c ---- */

/* NULL: no such stream of that channel. */
struct outflow *outflow_of(struct link *self, const struct channel *channel, uint64_t stream);
void outflow_close(struct link *self, struct outflow *outflow, enum status status,
                   const char *cause);
void outflow_on_open(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_open *open);
void outflow_on_close(struct link *self, struct channel *channel, const struct site_close *message);
void outflows_turn(struct link *self, uint64_t now_us);
void outflows_tick(struct link *self);
uint64_t outflows_next_us(const struct link *self);
void outflows_fini(struct link *self);

/* A node has told what it has from the reading's place on, up to `next`. */
void outflow_read(struct link *self, uint64_t now_us, struct reading *reading,
                  const struct site_tail_reply *reply);

/* Its log does not go on from there; the reading ends. */
void outflow_lost(struct reading *reading);

/* ... and never was there: the receiver knows more than the node. The stream may be over then. */
void outflow_is_behind(struct reading *reading);

/* The lowest place of that node's log that is needed; UINT64_MAX: none is. */
uint64_t outflow_needs(const struct outflow *outflow, uint32_t node);

/* A replica could not be copied, and waits for a while. */
void outflow_unfilled(struct outflow *outflow, uint64_t now_us, uint32_t group);

/* fill.c has a range of a copy; false: no memory. And a replica is copied. */
bool outflow_gather(struct outflow *outflow, uint64_t now_us, const uint64_t *keys, size_t count);
bool outflow_has_room(const struct outflow *outflow);
void outflow_filled(struct link *self, struct outflow *outflow, const struct site_source *source);

/* NULL: that replica is not followed. */
struct follow *outflow_follow(struct outflow *outflow, uint32_t group, uint32_t node);

/* The one of that node; a new one is in no reader yet. */
struct reading *outflow_reading(struct outflow *outflow, uint32_t node);
const struct document_entry *outflow_document(struct link *self, const struct outflow *outflow);

/* Read on, or not, by how much is gathered. */
void outflow_stall_if_full(struct outflow *outflow);

/* ---- section.c ---- */

/* Is there room for another batch at the other side, and none that could not be sent? */
bool section_may_send(const struct outflow *outflow);

/* When a batch may leave by the rate, where one waits for that; UINT64_MAX: none does. */
uint64_t section_next_us(const struct link *self, const struct outflow *outflow);

/* What is due, as far as the other side has room. */
void section_flush(struct link *self, uint64_t now_us, struct outflow *outflow);

/* So that the other side knows of a loss of what was sent last, or where it has asked: that the
 * stream is still there. */
void section_say_alive(struct link *self, uint64_t now_us, struct outflow *outflow);
uint64_t section_alive_us(const struct outflow *outflow);
void outflow_on_applied(struct link *self, struct channel *channel,
                        const struct site_applied *message);

/* ---- marks.c ---- */

/* Gather the ends of marks that were asked for, and read on to there. After that section_flush().
 */
void outmarks_read(struct link *self, uint64_t now_us, struct outflow *outflow);

/* Answer those of which all is sent. */
void outmarks_answer(struct link *self, uint64_t now_us, struct outflow *outflow);

/* Somebody here is to ask that site whether all is there that is acknowledged here now: ends are
 * gathered after this and given to ages_on_ends(), if the stream lasts. False: they can't be, or
 * there is no stream from here. */
bool outflow_want_ends(struct link *self, uint64_t filter_id, uint32_t peer);
void outflow_on_mark(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_mark *message);

/* ---- put_back.c ---- */

/* A place that another site has of that node's log is one that it never had. False: there is no
 * memory for it. */
MUST_USE bool put_back_note(struct link *self, const struct outflow *outflow, uint32_t node);

/* Was this site put back in that life? */
bool put_back_is(const struct link *self, const struct filter_uid *uid,
                 const struct site_life *own_life);
void put_back_tick(struct link *self, uint64_t now_us);

/* To coordinators; returns how many of `room` are filled. */
bool put_back_has_news(const struct link *self);
size_t put_back_fill(struct link *self, struct site_evidence *page, size_t room);
void put_back_heard(struct link *self, uint64_t now_us);
void put_back_fini(struct link *self);

/* ---- fill.c ---- */

void fill_turn(struct link *self, uint64_t now_us, struct outflow *outflow);
void fill_forget(struct outflow *outflow);

/* ---- readers.c ---- */

/* What it reads with from now on; false: memory is out. */
MUST_USE bool reader_join(struct link *self, struct reading *reading);

/* Somebody is to be asked for that the question under way is not about. */
void reader_stir(struct reader *reader);

/* ... and the node is not to keep its answer. */
void reader_hurry(struct reader *reader, uint64_t now_us);

/* Of none: nothing. */
void reader_leave(struct reading *reading);
void readers_tick(struct link *self);
void readers_fini(struct link *self);
void readers_turn(struct link *self, uint64_t now_us);

/* How far each other site has that node's log; returns of how many it is known. */
size_t readers_taken(const struct link *self, uint32_t node,
                     struct site_taken taken[LINK_MAX_SITES]);

/* False: the link does not lead to a reader's node. */
bool readers_on_answer(struct link *self, uint64_t now_us, uint32_t link, struct span bytes);
uint64_t readers_next_us(const struct link *self);

#endif
