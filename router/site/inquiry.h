/* inquiry.h - what a router asks links of its site: how far other sites' keys are here, and
 * which of them have what is acknowledged here. For the files site_*.c of a router only.
 *
 * Questions of a topic are about one filter, and serve all operations that wait when they are sent.
 * They leave at the end of a turn. A link may keep one until it knows more; one that does not
 * answer, or knows too little, gives the turn to the next link.
 *
 * Errors:  without memory, or a link, nothing becomes known.
 * Threads: none.
 */
#ifndef ORBLOOM_ROUTER_SITE_INQUIRY_H
#define ORBLOOM_ROUTER_SITE_INQUIRY_H

#include "router/private.h"

/* What is known of one topic, of one filter: after which question each other site ... */
enum site_topic {
    SITE_AGES,     /* ... had its keys here, or when: bounds.c */
    SITE_CONFIRMS, /* ... had all that was acknowledged here: acks.c */
    SITE_TOPICS
};

struct site_inquiry {
    struct freshness fresh;
    uint64_t epoch;    /* whose set of sites that knows */
    bool wanted;       /* it is listed among what is to be asked ... */
    bool waits;        /* ... by a question that may be kept until there is news ... */
    uint32_t enough;   /* ... of so many sites, if they are to confirm; 0: nobody has said */
    uint64_t asked_us; /* 0: never */
    uint64_t await_us; /* until then an answer is awaited; 0: none is */
    bool lacks;        /* the last one said too little: another link is to be asked */
    struct site_id paused[SITE_SET_MAX_LIVE]; /* that an operator has paused, by the last one */
    uint32_t npaused;
};

/* NULL: nothing was asked, or memory is out. */
struct site_inquiry *site_inquiry_of(const struct document_entry *entry, enum site_topic topic);

/* The same, and it is made where it was not; of the sites that the document has now. */
struct site_inquiry *site_inquiry_make(struct router *self, const struct document_entry *entry,
                                       enum site_topic topic);

/* To be asked at the end of the turn; `waits`: the answer may. */
void site_inquire(struct router *self, uint64_t filter_id, enum site_topic topic,
                  struct site_inquiry *inquiry, bool waits);

/* What an operation waits for is not known yet: another question follows, unless an answer is
 * awaited. */
void site_inquire_on(struct router *self, uint64_t now_us, uint64_t filter_id,
                     enum site_topic topic, struct site_inquiry *inquiry);

/* What helps where a site is behind: "retry, see `orbloom site urls`", or that it is paused. */
enum { SITE_REMEDY_BYTES = DOCUMENT_NAME_BYTES + 80 };
const char *site_remedy(const struct site_inquiry *inquiry, const struct document_entry *entry,
                        const struct site_id *id, char text[SITE_REMEDY_BYTES]);

/* Of a site of the filter's set. */
const char *site_name_of(const struct document_entry *entry, const struct site_id *id);

#endif
