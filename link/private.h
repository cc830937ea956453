/* private.h - what the files of a link share; no one else includes it.
 *
 *   link.c      the two faces, the clock, which filters are sent and received
 *   filters.c   which filters are in sites, and in which lives
 *   shared.c    ... and may be told to whom
 *   channels.c  who of other sites is there
 *   hello.c     what links say when they greet each other, and whether they may
 *   greetings.c ... once a second, and who is there as long as they do
 *   strands.c   ... and by how many connections: spread.h
 *   alive.c     ... and that streams go on, as they tell
 *   states.c    what sites say of their filters: states.h; state_board.c: what is held of it
 *   report.c    what is told of the link: counters, and to which sites it is connected
 *   lag.c       ... and how far sites are from each other
 *   pause.c     what operators have paused
 *   ages.c      for routers here: how much of others' keys is here, or of ours there: ages.h
 *   confirms.c  ... which those then confirm
 *   received/   streams that are received
 *     wanted.c    which there are
 *     inflow.c    batches applied in order, as far as all is here
 *     arrival.c   ... each of them
 *     places.c    ... and how far that is, as this site's nodes remember it
 *     own_boots.c ... in which boots
 *     marked.c    ... and of which moment all of the source is here
 *     vouched.c   ... at which no node here was put back, as the source knows
 *     held.c      ... and what is here of what the source offers
 *     evidence.c  what streams have brought, as proof: evidence.h
 *   sent/       streams that are sent
 *     outflow.c   who is followed, what readers bring
 *     follows.c   ... looked up
 *     judging.c   ... and whether nodes had all that the other site has of their logs
 *     section.c   ... what was gathered, on its way as batches
 *     under_way.c ... by which connections
 *     marks.c     ... which batch all that was acknowledged is in
 *     fill.c      ... and of copies of replicas
 *     scrub.c     ... and when all is compared once more
 *     offer.c     ... of which the other site is asked first what it has of them: round.h
 *     put_back.c  ... and when others remember more of this site than it has
 *     rest.c      ... how far, where there is no traffic
 *     readers.c   the tails of nodes' logs
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
#include "link/received/received.h"
#include "link/sent/sent.h"
#include "map/document_cache.h"
#include "proto/codec.h"
#include "site/batch.h"
#include "site/mark.h"

#include <stdlib.h>
#include <sys/queue.h>

enum {
    LINK_MAX_CHANNELS = 64,
};

/* A connection. */
struct strand {
    uint32_t link;    /* by which we dialed; 0: the other side has */
    struct peer from; /* then: where its requests come from */
    uint64_t bytes;   /* of batches that are under way by it */

    /* Of those beside the first. */
    uint64_t heard_us; /* 0: it is not in use */
    bool ends;         /* nothing more is sent by it */
};

/* A link of another site that has greeted us, and how it is reached: by one connection, beside
 * which there may be others for batches. */
struct channel {
    uint64_t number; /* never used again; 0: this place is free */
    uint32_t peer;   /* which site: place in the configuration */
    struct strand strands[SITE_MAX_CONNECTIONS];
    uint32_t connections; /* that the other side has or lets in */
    bool wants;           /* ... and says that one is too few */
    uint64_t crowded_us;  /* when one was too few for what is sent; 0: never */
    uint64_t boot;        /* of the other link */
    uint64_t heard_us;
    uint64_t round_trip_us; /* smoothed; 0: not measured yet */
    bool pauses;            /* its site has paused this one, for all filters */
    uint64_t rested_us;     /* when places of streams without traffic were told last */
    uint32_t unequal;       /* so many greetings in a row told of other streams than are received */
};

struct dialed {
    uint32_t links[SITE_MAX_CONNECTIONS]; /* 0: not opened, or the other side dials */
    uint64_t lacks_us; /* since when some of them are wanted that do not answer; 0: none is */
};

/* How far another site is behind, as of the last tick. */
struct site_behind {
    uint64_t lag_us;
    uint64_t pending_keys;
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
    uint64_t strands_us; /* those that lack are not looked at before */
    struct channel channels[LINK_MAX_CHANNELS];
    struct site_behind behind[LINK_MAX_SITES];
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
    bool confirmed_news;         /* some marks of them count for more; see struct marked */
    bool ends_news;              /* some ends are gathered; see struct outmark */
    struct inflow_list leaving;  /* dropped; they go once the router owes them nothing */
    struct number_table inflows_by_stream;
    struct number_table relays; /* arrivals, by the number of their relayed add */

    struct site_boot boots[DOCUMENT_MAX_NODES]; /* of one answer */
    struct ages ages;
    struct confirms confirms;
    struct put_backs put_backs;

    struct outflow_list outflows;
    size_t offered;                 /* keys of copies that are gathered for offers, or offered */
    const struct outflow *scrubbed; /* the one whose turn it is; NULL: nobody's */
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

static inline uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- channels.c ---- */

/* Has the other side dialed that one, under that name? Whoever had the name before may have been
 * another site. */
bool strand_is_from(const struct strand *strand, const struct peer *from);

/* Has the other side, which dialed it, closed it? What went by it may still be on its way. */
static inline bool strand_is_closed(const struct strand *strand)
{
    return strand->ends && strand->link == 0;
}

/* Whose connection that is, and which of them. NULL: nobody has greeted us by it. */
struct channel *channel_of_request(struct link *self, const struct peer *from,
                                   uint32_t *connection);
struct channel *channel_of_answer(struct link *self, uint32_t link, uint32_t *connection);
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

/* Is it one of two between the same links, and the one that is not used? */
bool channel_is_spare(const struct link *self, const struct channel *channel);

/* By the first connection. False: it could not be sent now. */
bool channel_send(struct link *self, struct channel *channel, const struct frame *frame);

/* By that one. */
bool channel_send_by(struct link *self, struct channel *channel, uint32_t connection,
                     const struct frame *frame);

/* ... and nothing of it stays in this process's own buffers. */
bool channel_send_secret(struct link *self, struct channel *channel, const struct frame *frame);

/* ---- hello.c ---- */

enum { HELLO_FAULT_BYTES = 256 };

/* What each greeting has, and each answer to one. */
struct frame hello_frame(const struct link *self, bool answer, uint64_t correlation);

/* NULL, or why that greeting of a link of `peer` is refused: cause and remedy, perhaps in `text`.
 */
const char *hello_fault(const struct link *self, const struct site_hello *hello,
                        const struct other_site *peer, char text[HELLO_FAULT_BYTES]);

/* It is counted and logged. Whoever has dialed us (`link` is 0) is told, too: that is `from`. */
void hello_refuse(struct link *self, uint64_t now_us, const struct peer *from, uint32_t link,
                  const char *fault);

/* ---- strands.c ---- */

/* What a greeting says of connections. */
void strands_tell(const struct link *self, struct channel *channel, struct site_hello *hello);

/* The other side greets by one that is not the first, or has answered so. */
void strand_heard(struct link *self, uint64_t now_us, uint32_t peer, const struct frame *frame,
                  const struct peer *from, uint32_t link);

/* Open and close those to a site that we dial, and greet by them. */
void strands_tick(struct link *self, uint64_t now_us, uint32_t peer);

/* Those of which nothing is heard any more. */
void strands_sweep(struct link *self, uint64_t now_us, struct channel *channel);

/* No batch is under way by that connection, as far as is known, and none goes by it. */
void strand_forget(struct link *self, struct channel *channel, uint32_t connection);

/* A batch, by the connection that is best for it; which one that was. `gone` are those by which
 * batches went before that may not be there. False: it could not be sent now. */
bool strands_send(struct link *self, struct channel *channel, const struct frame *batch,
                  uint32_t gone, uint32_t *by);
void strands_turn(struct link *self, uint64_t now_us);
uint64_t strands_next_us(const struct link *self);

/* ---- greetings.c ---- */

void greetings_tick(struct link *self, uint64_t now_us);

/* One has come, or the answer to one of ours. */
void greeting_heard(struct link *self, uint64_t now_us, const struct frame *hello,
                    const struct peer *from, uint32_t link);

/* What we have dialed does not let us in, or does not take us for who we say we are. */
void greeting_shut_out(struct link *self, uint64_t now_us, uint32_t link, const char *cause);
void greeting_refused(struct link *self, uint64_t now_us, uint32_t link, const char *message);

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

/* ---- filters.c ---- */

/* This site in the set of an entry that serves; NULL: the filter is not in sites, or not any more,
 * or this site is not the one that its set says. */
const struct site_entry *site_filter_own(const struct link *self,
                                         const struct document_entry *entry);

/* NULL: no document of it is known. */
const struct document_entry *site_filter_of(const struct link *self, const struct filter_uid *uid);

/* That other one in it; NULL: it has none of it, or not any more. */
const struct site_entry *site_filter_peer(const struct link *self,
                                          const struct document_entry *entry, uint32_t peer);

/* LINK_MAX_SITES: this link does not speak with that one. */
uint32_t site_peer_of(const struct link *self, const struct site_id *id);

/* ---- shared.c ---- */

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

#endif
