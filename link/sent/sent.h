/* sent.h - what the files of a link share about streams that are sent, and about the logs that
 * these are read from; no one else includes it. What they are is said in link.h, and which file
 * does what in private.h.
 */
#ifndef ORBLOOM_LINK_SENT_SENT_H
#define ORBLOOM_LINK_SENT_SENT_H

#include "base/buffer.h"
#include "base/number_table.h"
#include "link/link.h"
#include "link/pace.h"
#include "link/sent/round.h"
#include "link/sent/way.h"
#include "map/document_cache.h"
#include "proto/codec.h"
#include "site/batch.h"

#include <sys/queue.h>

struct channel;
struct link;

enum {
    OUTFLOW_MEMORY = 1 << 14, /* records of which a stream remembers that they were sent */
    OUTFLOW_ALIVE_US =
        1000000,       /* so often it is said which batch was the last, until that is applied */
    OUTFLOW_MARKS = 8, /* under way of one stream; a newer one takes the oldest's place */
    OUTFLOW_OWN = OUTFLOW_MARKS, /* place of the one that somebody here waits for */
    OUTFLOW_ALL_MARKS,
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
    bool judges;   /* only whether the log had `at` is asked: judging.c */
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
    uint64_t sent_us;
    uint64_t under_way; /* bytes, with it */
    uint32_t by;        /* which connection; SITE_MAX_CONNECTIONS: it has not left */
    bool counted;       /* ... as under way there */
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
    bool told;     /* ... and is, of OUTFLOW_OWN: whoever waits hears of it in this turn */
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

/* Stretches of a copy that are offered before they are sent: offer.c. */
struct offers {
    bool answered;        /* by whoever has opened the stream */
    bool sized;           /* by the first keys of the slot group under way ... */
    uint32_t bits;        /* ... so long are prefixes of ranges */
    struct round gathers; /* what is told is gathered for the next offer ... */
    uint64_t last;        /* ... all up to here */
    bool whole;           /* ... and that is all of the slot group */
    struct round round;   /* that is offered, or left to be sent */
    uint64_t number;      /* of the last offer ... */
    bool sent;            /* ... which has left */
    uint64_t since_us;    /* ... then */
    size_t counted;       /* keys of these two that the link has counted */
    uint32_t useless;     /* offers in a row of which too little was held ... */
    uint64_t unoffered;   /* ... so this many keys are sent without */
};

/* The copy of one slot group, under way. */
struct fill {
    bool active;
    bool scrubs; /* of replicas that are followed: scrub.c */
    bool asking;
    bool begun;     /* a range was told */
    uint32_t group; /* under way, or the last one */
    bool told;      /* all of it is; answers to offers are awaited */
    uint64_t from;  /* where the next range begins */
    uint64_t epoch; /* of the first one */
    uint64_t again_us;
    struct router_copy_source sources[QUORUM_MAX_REPLICAS]; /* that have told all so far */
    uint32_t nsources;
};

/* All of a filter is compared once in a while, a slot group at a time. */
struct scrub {
    uint64_t due_us; /* 0: never */
    bool begun;      /* it is its turn: */
    bool left_out;   /* something was */
    uint64_t from;   /* the slot group that comes first, but for a multiple of how many there are */
    uint32_t ndone;  /* so many were compared, or left out */
    uint32_t restarts; /* of the one under way */
    uint32_t late;     /* offers in a row without an answer in time */
    uint64_t moved_us; /* when something was told last */
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
    struct reading
        *judges; /* places that the asker has given; those with a reader are asked about */
    size_t njudges;
    struct fill fill;
    struct scrub scrub;
    struct offers offers;

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
    struct way way;  /* ... and how many they may be */
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
    struct site_source place;  /* that tells it */
    uint32_t times;            /* so often something has; 0: not yet */
    bool over;                 /* the document has another life by now */
    bool told;                 /* a coordinator has heard of it ... */
    bool filled;               /* ... or does, if the question under way is answered */
};

struct put_backs {
    struct put_back *items;
    size_t count;
    size_t room;
    size_t nlive; /* those that are not over */
    size_t next;  /* they take turns to be told again */
    bool telling; /* the question that is under way says some of it */
    bool news;
    uint64_t told_us;
};

/* ---- follows.c ---- */

/* NULL: no such stream of that channel. */
struct outflow *outflow_of(struct link *self, const struct channel *channel, uint64_t stream);

/* NULL: none of the filter goes there by this link, in these lives. */
const struct outflow *outflow_find(const struct link *self, uint64_t filter_id, uint32_t peer,
                                   const struct site_life *own_life,
                                   const struct site_life *peer_life);

/* NULL: no document of its filter is known. */
const struct document_entry *outflow_document(struct link *self, const struct outflow *outflow);

/* Is that log, in that boot, gone on with or copied, and had its node all places that the asker has
 * given? */
bool outflow_goes_on(const struct outflow *outflow, const struct site_boot *log);

/* Can that be a place in a log? No node tells any other. */
bool outflow_place_can_be(const struct site_source *place);

/* Is a slot group read to beyond where the reading is? Of a node that starts again meanwhile no
 * answer tells whether it has lost that. */
bool outflow_is_ahead(const struct reading *reading);

/* NULL: that replica is not followed. */
struct follow *outflow_follow(struct outflow *outflow, uint32_t group, uint32_t node);

/* The lowest place of that node's log that is needed; UINT64_MAX: none is. */
uint64_t outflow_needs(const struct outflow *outflow, uint32_t node);

/* ---- outflow.c ---- */

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

/* A replica could not be copied, and waits for a while. */
void outflow_unfilled(struct outflow *outflow, uint64_t now_us, uint32_t group);

/* fill.c has a range of a copy; false: no memory. And a replica is copied. */
bool outflow_gather(struct outflow *outflow, uint64_t now_us, const uint64_t *keys, size_t count);
bool outflow_has_room(const struct outflow *outflow);
void outflow_filled(struct link *self, struct outflow *outflow, const struct site_source *source);

/* The one of that node; a new one is in no reader yet. */
struct reading *outflow_reading(struct outflow *outflow, uint32_t node);

/* Read on, or not, by how much is gathered. */
void outflow_stall_if_full(struct outflow *outflow);

/* ---- judging.c ---- */

/* The stream is opened with these places. False: memory is out. */
MUST_USE bool judging_begin(struct link *self, struct outflow *outflow,
                            const struct site_source *places, size_t nplaces);

void judging_stop(struct outflow *outflow);

/* ---- under_way.c ---- */

/* A batch has left by the connection that it names. */
void under_way_begin(struct channel *channel, struct sent_batch *sent);

/* It has arrived, or nobody knows what has become of it. The channel is NULL when it is gone. */
void under_way_end(struct channel *channel, struct sent_batch *sent);

/* Nothing of the stream is under way any more by any connection, or by that one. */
void under_way_forget(struct outflow *outflow);
void under_way_forget_by(struct outflow *outflow, uint32_t connection);

/* The connections (bit i: i) by which batches have left that are not applied, as far as these
 * connections are still there: what went by others may never come. */
uint32_t under_way_by(const struct outflow *outflow, const struct channel *channel);

/* ---- section.c ---- */

/* Is there room for another batch at the other side, and none that could not be sent? */
bool section_may_send(const struct outflow *outflow);

/* Is what was sent to all sites paid for? */
bool section_rate_allows(const struct link *self, uint64_t now_us);

/* ... and no batch of any stream waits for that. */
bool section_line_is_free(const struct link *self, uint64_t now_us);

/* When a batch may leave by the rate, where one waits for that; UINT64_MAX: none does. */
uint64_t section_next_us(const struct link *self, const struct outflow *outflow);

/* What is due, as far as the other side has room. */
void section_flush(struct link *self, uint64_t now_us, struct outflow *outflow);

/* So that the other side knows of a loss of what was sent last, or where it has asked: that the
 * stream is still there. */
void section_say_alive(struct link *self, uint64_t now_us, struct outflow *outflow);
uint64_t section_alive_us(const struct outflow *outflow);
void outflow_on_applied(struct link *self, uint64_t now_us, struct channel *channel,
                        const struct site_applied *message);

/* ---- marks.c ---- */

/* Gather the ends of marks that were asked for, and read on to there. After that section_flush().
 */
void outmarks_read(struct link *self, uint64_t now_us, struct outflow *outflow);

/* Answer those of which all is sent. */
void outmarks_answer(struct link *self, uint64_t now_us, struct outflow *outflow);

/* Somebody here is to ask that site whether all is there that is acknowledged here now: ends are
 * gathered after this, and told to who waits if the stream lasts. False: they can't be, or
 * there is no stream from here. */
bool outflow_want_ends(struct link *self, uint64_t filter_id, uint32_t peer);
void outflow_on_mark(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_mark *message);

/* ---- put_back.c ---- */

/* A place that another site has of a node's log is one that it never had; of `place` all but the
 * slot group and the epoch counts. STATUS_STALE: it says nothing, as this site has joined anew for
 * it already; STATUS_NOMEM. */
MUST_USE enum status put_back_note(struct link *self, const struct outflow *outflow,
                                   const struct site_source *place);

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

/* ---- scrub.c ---- */

/* The stream has just been opened. */
void scrub_open(struct link *self, uint64_t now_us, struct outflow *outflow);

/* Nothing is compared, and some filter is due: it has its turn. */
void scrub_tick(struct link *self, uint64_t now_us);

/* The slot group of `ngroups` that is to be compared now; false: none is. */
bool scrub_next(struct link *self, uint64_t now_us, struct outflow *outflow, uint32_t ngroups,
                uint32_t *group);

/* That one is compared, or left out. */
void scrub_did(struct outflow *outflow, uint64_t now_us, bool all);

/* A range was told here, or a part of what is lacking there has left. */
void scrub_moved(struct outflow *outflow, uint64_t now_us);

/* The slot group is begun anew; false: too often, it is to be left out. */
bool scrub_restarts(struct outflow *outflow);

/* An offer was answered, for all or only for some of it; or it was not. */
void scrub_answered(struct outflow *outflow, uint64_t now_us, bool sure);
void scrub_late(struct outflow *outflow);

/* Is it another one's turn, as nothing moves here, or something is to be copied? */
bool scrub_is_stuck(const struct outflow *outflow, uint64_t now_us);

/* Its turn ends, if it has it. */
void scrub_put_off(struct link *self, uint64_t now_us, struct outflow *outflow);

/* ... with its stream. */
void scrub_forget(struct outflow *outflow);

/* ---- offer.c ---- */

/* Nothing is known of how much of it is held. */
void offers_begin(struct outflow *outflow);

/* Is there room for another range? */
bool offers_have_room(const struct link *self, const struct outflow *outflow);

/* A range of a copy: all keys from `from` up to `last`, by what its document says of shards. False:
 * memory is out. */
MUST_USE bool offers_take(struct link *self, uint64_t now_us, struct outflow *outflow,
                          const struct router_copied *copied, uint64_t from, uint32_t shard_bits);

/* That was all of the slot group. */
void offers_end(struct outflow *outflow);

/* Is all that was taken sent, or held by the other site? */
bool offers_are_done(const struct outflow *outflow);

/* What was taken is told anew. */
void offers_clear(struct link *self, struct outflow *outflow);

/* What is due. False: memory is out. */
MUST_USE bool offers_turn(struct link *self, uint64_t now_us, struct outflow *outflow);
void outflow_on_held(struct link *self, struct channel *channel, const struct site_held *message);

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
