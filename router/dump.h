/* dump.h - pages of dumps; for router only.
 *
 * One page is worked on at a time, the others wait in their order: a node keeps one view for each
 * peer. A page goes from its iterator on through stretches, each of shards next to each other that
 * are in one slot group. Of each stretch N - W + 1 FULL replicas tell all that they have, as it is
 * when they are asked: any key that was acknowledged before is in one of them. What they tell
 * counts under one exact epoch; under a newer one the page begins anew.
 * Pages of one series may be as the filter was at any moment since the series began: then replicas
 * need not read the end of their logs again for each, and are asked of the view that they have.
 *
 * Users have turns by the bytes of their pages. Once there are any, a page counts as bytes under
 * way while it is worked on, and its keys count for keys a second, which are known only once they
 * are told: so a page begins once what was asked for before is paid.
 *
 *   waits (unknown filter: until a fresh read of the store) --> asks for a stretch, and the next
 * one
 *         --> answered: full enough, or at the end; or at its deadline, with nothing
 */
#ifndef ORBLOOM_ROUTER_DUMP_H
#define ORBLOOM_ROUTER_DUMP_H

#include "map/dump.h"
#include "router/private.h"

enum { DUMPS_MAX = 64, VIEWS_MAX = 64 };

/* Asked for, and not answered yet. */
struct dump_job {
    bool used;
    uint32_t user;
    struct fair_entry turn; /* while it waits for that */
    uint64_t held;          /* bytes that count as under way for its user */
    char name[DOCUMENT_NAME_BYTES];
    uint64_t iterator;
    uint64_t series;
    uint64_t deadline_us;
    void (*done)(void *owner, const struct router_page *page);
    void *owner;
    uint64_t sync; /* number of the sync request that settles whether the filter serves; 0: none */
    bool settled;
};

enum dump_ask_state { DUMP_ASK_NOT = 0, DUMP_ASK_SENT, DUMP_ASK_TOLD, DUMP_ASK_FAILED };

/* One slot's reader. */
struct dump_ask {
    enum dump_ask_state state;
    uint64_t number; /* of the question */
    uint64_t asked_us;
    bool slow;
    uint8_t handed;     /* documents handed to it */
    enum status status; /* why it failed */
    uint64_t *keys;     /* all that it has in the stretch, to `last`; or digests */
    size_t count;
    uint64_t last;
    uint64_t boot; /* of its log ... */
    uint64_t end;  /* ... below which all of that is told */
    uint64_t view; /* by which it knows what it had at that moment */
};

/* A stretch of a page, under way. */
struct dump_stretch {
    uint64_t from; /* fingerprints */
    uint64_t last;
    uint32_t group;
    uint32_t slots;
    uint32_t asked; /* a bit for each slot whose reader may be asked */
    uint32_t needed;
    uint32_t least; /* above 0: those who answer in time suffice, and of so many, others may be
                       late; a copy takes one, a comparison as many as have to agree */
    uint64_t views[QUORUM_MAX_REPLICAS]; /* by slot: that they are to tell of; 0: of a new one */
    uint32_t bits;
    const uint64_t *prefixes; /* of a comparison: these, of which digests are told; else NULL */
    size_t nprefixes;
    struct dump_ask asks[QUORUM_MAX_REPLICAS];
};

/* A range of a copy, or ranges that are to be compared. */
struct view_question {
    bool compares;
    uint64_t asked_us;
    union {
        struct router_copy copy;
        struct router_compare compare;
    };
};

/* What a comparison has found so far; one slot group after the other is asked. */
struct comparison {
    uint64_t *equal;    /* a word for each range */
    uint64_t *prefixes; /* those of the slot group under way ... */
    size_t *places;     /* ... and which ones these are of all */
    size_t count;
    uint32_t next; /* slot group */
    bool unsure;   /* of some of them too few have told */
    struct router_boot *boots;
    size_t nboots;
    size_t boots_room;
};

/* One question is worked on at a time: a node keeps one view for each peer. */
struct view_job {
    bool used;
    struct view_question question;
    struct dump_stretch stretch;
    struct comparison comparison;
    uint64_t epoch;
    uint64_t epoch_hash;
};

/* Views of a slot group, one a slot, that were made for a series of pages. */
struct dump_views {
    uint64_t series; /* 0: there are none */
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
    uint32_t group;
    uint64_t names[QUORUM_MAX_REPLICAS];
};

struct dumps {
    struct dump_job jobs[DUMPS_MAX];
    uint32_t nused;
    struct fair_queue turns; /* of jobs that may begin, by user */
    struct dump_job *job;    /* under way; NULL: none */
    uint64_t begun_us;
    uint64_t filter_id;
    uint64_t epoch;
    uint64_t epoch_hash;
    struct dump_stretch stretch;
    struct dump_views made; /* for the series that was worked on last */
    uint64_t *keys;         /* of the page so far; room for DUMP_MAX_KEYS */
    size_t nkeys;
    struct buffer out;

    struct view_question views[VIEWS_MAX]; /* that wait, in their order */
    uint32_t nviews;
    struct view_job view; /* under way */
};

MUST_USE enum status dumps_create(struct dumps **out);
void dumps_destroy(struct router *self);
bool dumps_idle(const struct router *self);
void dumps_tick(struct router *self, uint64_t now_us);

/* Is a page of the filter under way? */
bool dumps_use(const struct router *self, uint64_t filter_id);
void dumps_settle(struct router *self, uint64_t now_us, uint64_t sync);
void dumps_on_reply(struct router *self, uint64_t now_us, const struct frame *frame);

/* ---- views.c: what replicas have, for a link: copies and comparisons ---- */

void views_tick(struct router *self, uint64_t now_us);

/* False: an answer to none of their questions. */
bool views_on_reply(struct router *self, uint64_t now_us, const struct frame *frame);
bool views_use(const struct router *self, uint64_t filter_id);
void views_fini(struct router *self);

/* ---- compare.c: one comparison ---- */

/* INVALID, NOMEM. Whatever it is, comparison_fini() follows. */
MUST_USE enum status comparison_begin(struct view_job *job, const struct document_entry *entry);
void comparison_fini(struct comparison *self);

/* Whoever is still to be asked is. True: all that can be told is. */
bool comparison_pump(struct router *self, uint64_t now_us, struct view_job *job,
                     const struct document_entry *entry);

/* There is no more time: what was told by now is all. */
void comparison_end(struct view_job *job, const struct document_entry *entry);

/* ---- dump_ask.c: one stretch ---- */

/* From this fingerprint on: N - W + 1 readers are to tell, which have all that was acknowledged;
 * or, of a copy, all of those slots that can. `made`: of such views, where they are of its slot
 * group; NULL: of new ones. */
void stretch_begin(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                   const struct document_entry *entry, uint64_t from,
                   const struct dump_views *made);
void stretch_begin_copy(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                        const struct document_entry *entry, uint64_t from, uint32_t slots);

/* Of a comparison: the readers of those slots of a slot group tell digests of the parts of those
 * ranges, which are borrowed. */
void stretch_begin_digests(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                           const struct document_entry *entry, uint32_t group, uint32_t slots,
                           uint32_t bits, const uint64_t *prefixes, size_t nprefixes);
void stretch_end(struct dump_stretch *stretch);

/* Ask whom it still takes, and those again who have failed. */
void stretch_pump(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                  const struct document_entry *entry);

/* An answer; false: to no question of this stretch. */
bool stretch_take(struct router *self, uint64_t now_us, struct dump_stretch *stretch,
                  const struct document_entry *entry, const struct pull_reply *reply,
                  uint64_t number);

/* How many have told. */
uint32_t stretch_tellers(const struct dump_stretch *stretch);

/* Have enough replicas told? */
bool stretch_told(const struct dump_stretch *stretch);

/* What all of them have told of is complete up to here. */
uint64_t stretch_last(const struct dump_stretch *stretch);

/* Append what they told up to `last`, ascending, each once, while there is room. False: there is
 * not, and *behind is what came next. */
bool stretch_merge(const struct dump_stretch *stretch, uint64_t last, uint64_t *keys, size_t *nkeys,
                   uint64_t *behind);

/* Why too few have told. */
void stretch_describe(const struct dump_stretch *stretch, const struct document_entry *entry,
                      char *text, size_t size);

#endif
