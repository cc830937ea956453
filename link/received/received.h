/* received.h - what the files of a link share about streams that are received; no one else includes
 * it. What they are is said in link.h, and which file does what in private.h.
 */
#ifndef ORBLOOM_LINK_RECEIVED_RECEIVED_H
#define ORBLOOM_LINK_RECEIVED_RECEIVED_H

#include "base/heap.h"
#include "base/log.h"
#include "base/number_table.h"
#include "link/link.h"
#include "link/pace.h"
#include "map/document.h"
#include "proto/codec.h"
#include "site/batch.h"
#include "site/mark.h"

#include <sys/queue.h>

struct channel;
struct link;
struct outflow;

/* ---- streams that are received ---- */

/* A batch that has come and is not applied, or not the first one that is not. */
struct arrived_batch {
    struct number_entry entry; /* of its relayed add, while one is under way */
    TAILQ_ENTRY(arrived_batch) link;
    struct inflow *inflow;
    uint64_t number;
    uint64_t *keys; /* that are not acknowledged yet: so many are left */
    size_t left;
    size_t nkeys; /* that came */
    struct site_batch_cursor *cursors;
    size_t ncursors;
    size_t bytes; /* that all of it takes */
    bool asked;
    bool full;    /* it found no room for the rest of it */
    bool applied; /* W replicas have all of it */
    uint64_t again_us;
    unsigned failures;
};

/* How far an inflow has come, as this site's own nodes know. Nothing that a process alone remembers
 * counts: it may outlive the nodes' data. */
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
     * before. So it may be told to others. */
    uint64_t noted_us;

    /* The same of this; and the source knows those R nodes here as they are (vouched.c): of what
     * was acknowledged here nothing is at the source that is not here. So the source may go. */
    uint64_t known_us;
};

/* ... and in which of them the source knows them, as it has said with the last mark. */
struct vouched {
    struct site_boot *boots;
    size_t count;
    size_t room;
    bool all; /* it knows none of them */
};

/* An offer of the source, of which nodes here are asked. */
struct held_here {
    bool asking; /* the router */
    uint64_t stream;
    uint64_t number;
    uint64_t *prefixes;
    uint64_t *digests;
    size_t nprefixes;
};

/* Nothing is asked. */
static inline void held_here_clear(struct held_here *held)
{
    heap_free(held->prefixes);
    heap_free(held->digests);
    *held = (struct held_here){0};
}

enum { INFLOW_MARKS = MARK_MAX_PENDING };

/* A mark that is answered, until its batch is applied. */
struct answered_mark {
    uint64_t mark;
    uint64_t batch;
    struct site_source *ends; /* what is below is applied then */
    size_t nends;
    uint64_t vouched_set; /* all further sites of this set know these logs; 0: they do not */
};

struct mark_moment {
    uint64_t number;
    uint64_t begun_us; /* 0: there is none in the present scope */
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
    uint64_t confirmed;     /* ... and of the one that counts for more ... */
    uint64_t confirmed_us;  /* ... and when that was begun */

    /* The same of those that all further sites have vouched for. */
    struct mark_moment known;    /* the newest that counts */
    struct mark_moment vouching; /* that nodes are asked for their boots for */
    struct mark_moment vouched;  /* that counts for bounded checks, too */
    uint64_t unvouched_us;       /* since when none was vouched for; 0: the last one was ... */
    uint64_t patience_us;        /* ... and after this another link of that site is tried */

    uint64_t reached; /* so many marks, and ends that came with questions, were found applied ... */
    uint64_t version; /* ... which these places hold ... */
    uint64_t proving; /* ... for so many nodes are asked for their boots ... */
    uint64_t proved;  /* ... and so many count for more ... */
    bool news;        /* ... of which those who wait have not heard */
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
    struct held_here held_here;
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

    uint32_t turn;     /* which of the other site's links it is to come by */
    uint64_t stream;   /* 0: none is open, and then: */
    uint64_t open_us;  /* not before that */
    unsigned failures; /* streams that ended since a batch was applied */
    uint64_t channel;
    uint64_t heard_us;
    uint64_t received;                   /* all batches up to this number have come ... */
    uint64_t told[SITE_MAX_CONNECTIONS]; /* ... and by each connection this one was told last */
    uint64_t batch_us;                   /* when one has come; 0: none has for a while */
    uint64_t applied;                    /* all up to this one are applied */
    bool busy;     /* while a greeting is looked at: what it says of places is not of this one */
    bool unplaced; /* ... keys, of which no batch has said yet how far they go */
    bool untold;
    size_t held;                                      /* bytes of batches that wait */
    TAILQ_HEAD(arrival_list, arrived_batch) arrivals; /* by rising numbers */
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

/* ---- arrival.c ---- */

/* Of that stream, or `fault` says why not: STATUS_MALFORMED, STATUS_NOMEM and what
 * site_batch_open() says. *out is given up with arrival_free(). */
MUST_USE enum status arrival_read(struct span bytes, struct inflow *inflow,
                                  struct arrived_batch **out, const char **fault);
void arrival_free(struct arrived_batch *arrival);

/* What is acknowledged is so for good, and is not sent to nodes again: while they wait for room
 * they would do little else. True: something was. */
bool arrival_keep_unacknowledged(struct arrived_batch *arrival, const struct client_reply *reply);

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

/* It goes once the router owes it nothing. */
void inflow_drop(struct link *self, struct inflow *inflow);

/* All that the source has is copied once more, even what is here: see inflow_evidence. */
void inflow_copy_anew(struct link *self, struct inflow *inflow);

/* A tick looks through the documents: each is wanted, then what was not is dropped: wanted.c. */
void inflow_want(struct link *self, const struct inflow_wish *wish);
void inflows_sweep(struct link *self);

void inflow_on_batch(struct link *self, uint64_t now_us, struct channel *channel,
                     uint32_t connection, const struct site_batch_message *message);
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

/* Is that node known in another boot than this one? */
bool own_boots_differ(const struct inflow *inflow, const struct site_boot *log);

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

/* If all sites of the set but the one that is sent to know the logs whose ends are told: the set's
 * hash; else 0. */
uint64_t vouched_by_others(struct link *self, uint64_t now_us, const struct outflow *outflow,
                           const struct site_marked *message);
void vouched_void(struct inflow *inflow);
void vouched_fini(struct inflow *inflow);

/* ---- held.c ---- */

void inflow_on_offer(struct link *self, uint64_t now_us, struct channel *channel,
                     const struct site_offer *message);

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

/* What a question within a bound is told that came when so many had been begun (marks_begun() of
 * its marks): by those that are noted and confirmed, of nodes here that the source knows as they
 * are, and of such there that all further sites know. */
struct mark_told inflow_tell(const struct inflow *inflow, uint64_t begun, uint64_t now_us);

/* Is all here that was acknowledged there when such a question came? By those that are noted and
 * confirmed: who was put back asks by another set, or life, or lacks nothing that matters. */
bool inflow_has_since(const struct inflow *inflow, uint64_t begun, uint64_t now_us);

/* Has no mark been vouched for for long that somebody wanted, and is there another link of that
 * site? At most once in ever longer times. */
bool marked_tries_another(struct link *self, uint64_t now_us, struct inflow *inflow);

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

#endif
