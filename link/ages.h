/* ages.h - questions of how much is where, and who waits for their answers.
 *
 *   ages.c      routers of this site ask how much of the other sites' keys is here, or which of the
 *               others have what is acknowledged here
 *   confirms.c  links of the others ask, for the latter, whether theirs is here
 *
 * Owner:   the link's; ages_fini(), confirms_fini().
 * Threads: none.
 */
#ifndef ORBLOOM_LINK_AGES_H
#define ORBLOOM_LINK_AGES_H

#include "link/link.h"
#include "map/document_cache.h"
#include "proto/codec.h"
#include "site/mark.h"

#include <sys/queue.h>

enum {
    AGES_MAX_WAITING = 1024,     /* questions; those beyond are not kept waiting */
    CONFIRMS_MAX_WAITING = 1024, /* ... of other sites; those beyond are refused */
    CONFIRMS_MAX_ENDS = 1 << 16, /* that wait with these; marks are begun for those beyond */
};

struct channel;
struct inflow;
struct outflow;
struct outmark;

/* ---- questions how much of other sites is here ---- */

/* How many marks of an inflow had been begun. */
struct marks_noted {
    uint64_t tag; /* since this was drawn */
    uint64_t begun;
};

/* The other way round: what one other site is asked. */
struct confirm_asked {
    uint64_t again_us;   /* it is not asked once more before that */
    uint64_t ends_since; /* ends that are gathered after this go with the question; 0: none do, or
                            they have */
    uint32_t times;      /* it was asked */
    bool confirmed;
};

/* One that waits for marks that are begun after it has come. */
struct age_question {
    TAILQ_ENTRY(age_question) link;
    struct peer from;
    uint64_t correlation;
    uint64_t filter_id;
    uint64_t until_us;                        /* then it is answered by what there is */
    struct marks_noted noted[LINK_MAX_SITES]; /* when it came, by peers; 0: nothing was received */
    bool news;                                /* something has come since it was looked at */

    bool confirms;     /* the marks are those that others begin */
    uint32_t enough;   /* so many of those that count have to confirm; 0: all */
    uint64_t number;   /* of what they are asked; 0: nothing yet */
    uint64_t epoch;    /* ... by this document */
    uint64_t loss;     /* ... with this newest one that was accepted here ... */
    bool lost;         /* ... or another one since: of what was acknowledged some may be nowhere */
    uint64_t again_us; /* the first of them is to be asked once more */
    struct confirm_asked asked[LINK_MAX_SITES]; /* by peers */
};

TAILQ_HEAD(age_question_list, age_question);

struct ages {
    struct age_question_list waiting;
    size_t nwaiting; /* at most AGES_MAX_WAITING */
    uint64_t due_us; /* the first of them is to be answered; ACTOR_NEVER: none waits */
    bool news;       /* of one of them */
};

/* ---- questions of other sites whether all of theirs is here ---- */

/* Ends that came with a question. */
struct confirm_ends {
    uint64_t stream;          /* by which all below them comes ... */
    uint64_t batch;           /* ... up to this one; then: */
    uint64_t reached;         /* what marked_reach() has said; 0: not yet */
    struct site_source *ends; /* ... until then; NULL: none are waited for */
    size_t nends;
};

/* One that waits for its ends, or for a mark that is begun after it has come. */
struct confirm_wait {
    TAILQ_ENTRY(confirm_wait) link;
    struct site_confirm question; /* without its ends */
    struct confirm_ends ends;
    uint32_t peer;    /* who asks ... */
    uint64_t channel; /* ... and by which it hears the answer */
    uint64_t filter_id;
    uint64_t epoch; /* of the document when it came */
    uint64_t until_us;
    struct marks_noted noted; /* when it came */
    bool news;                /* a mark was confirmed since it was looked at */
};

TAILQ_HEAD(confirm_list, confirm_wait);

struct confirms {
    struct confirm_list waiting;
    size_t nwaiting; /* at most CONFIRMS_MAX_WAITING */
    size_t nends;    /* of all of them; at most CONFIRMS_MAX_ENDS */
    uint64_t due_us; /* the first of them is over; ACTOR_NEVER: none waits */
    bool news;       /* of one of them */
};

/* ---- ages.c ---- */

/* A router asks: SITE_AGE_REQUEST. */
void ages_on_request(struct link *self, uint64_t now_us, const struct peer *from,
                     const struct frame *frame);

/* The ends of this site's logs, and all below them is sent by the stream to another site. */
void ages_on_ends(struct link *self, uint64_t now_us, const struct outflow *outflow,
                  const struct outmark *ends);

/* Another site has all that was acknowledged here before it was asked, or says that it has not. */
void ages_on_confirmed(struct link *self, const struct channel *channel,
                       const struct site_confirmed *message);

/* How many marks have been begun; NULL: nothing is received. */
struct marks_noted ages_note(const struct inflow *inflow);

/* Is what is received about that site and keyset as the document has them now? */
bool ages_is_about(struct inflow *inflow, const struct document_entry *entry,
                   const struct site_entry *site);

/* What a question is told that has noted that when it came; it is about the document as it is now,
 * and that site in it. Inflow NULL: nothing. */
struct mark_told ages_told(const struct link *self, struct inflow *inflow,
                           const struct document_entry *entry, const struct site_entry *site,
                           const struct marks_noted *noted);

/* The same of a question whether all of that site is here, which no bound hangs on. */
bool ages_has_since(const struct link *self, struct inflow *inflow,
                    const struct document_entry *entry, const struct site_entry *site,
                    const struct marks_noted *noted);

/* A mark of that filter was confirmed, or what was confirmed counts again. */
void ages_marked(struct link *self, uint64_t filter_id);

/* Answers what is due; after inflows_turn(). */
void ages_turn(struct link *self, uint64_t now_us);
uint64_t ages_next_us(const struct link *self);
void ages_init(struct link *self);
void ages_fini(struct link *self);

/* ---- confirms.c ---- */

/* Another site asks: is all of it here? */
void confirms_on_confirm(struct link *self, uint64_t now_us, const struct channel *channel,
                         const struct site_confirm *message);

/* Ends that came with questions are taken once all below them is applied; before inflows_turn(). */
void confirms_reach(struct link *self, uint64_t now_us);

/* A mark of what is received was confirmed, or what was confirmed counts again. */
void confirms_marked(const struct inflow *inflow);

/* Answers what is due; after inflows_turn(). */
void confirms_turn(struct link *self, uint64_t now_us);
uint64_t confirms_next_us(const struct link *self);
void confirms_init(struct link *self);
void confirms_fini(struct link *self);

#endif
