/* tail.h - questions of links for the tail of this node's log; shared by tail.c and tail_answer.c.
 *
 * A question has a place of its own, and a link one of them. It waits until there is something to
 * tell, reads a stretch of the log as a job, and is answered with what that found.
 */
#ifndef ORBLOOM_NODE_SYNC_TAIL_H
#define ORBLOOM_NODE_SYNC_TAIL_H

#include "node/sync/exchange.h"
#include "node/tail/tail_lists.h"
#include "node/tail/tail_taken.h"

enum { TAIL_PAGES = 16 /* questions under way, of so many links */ };

_Static_assert((int)TAIL_PAGES < (int)TAIL_LISTS, "there is always a list that is not in use");

struct tail_page {
    struct storage_read read; /* first: done() finds the page by it */
    struct storage_own own;
    struct exchange *exchange;
    bool used;
    bool reading;
    bool started;      /* its time by the peer's rate has come */
    bool synced;       /* told is what is synced; else what is written */
    uint64_t start_us; /* not before: the peer's rate */
    uint64_t until_us; /* it waits no longer */
    struct peer to;
    uint64_t correlation;
    struct site_tail_request request; /* its filters are the list's, the rest is copied */
    uint64_t *wanted;
    struct tail_list *list;
    uint64_t judged;                   /* at which count of changes */
    struct site_tail_refusal *refused; /* NULL: none was when the question came */
    size_t nrefused;
    uint64_t *served; /* ids of the others; NULL: all */
    bool placed;      /* it begins where a record does */
    uint32_t rounds;  /* reads so far */
    uint64_t next;    /* what lies before is looked at */
};

struct tails {
    struct tail_page pages[TAIL_PAGES];
    struct tail_lists lists;
    struct tail_taken taken;
    bool moved; /* the log has, while some page waited */
};

/* tail_answer.c: may anything be told now? NULL: yes; else why not, and *status. */
const char *node_tail_why_not(const struct exchange *self, const struct site_tail_request *request,
                              enum status *status);

/* Which filters of the list nothing is told of, and of the others their ids. */
MUST_USE enum status node_tail_judge(struct tail_page *page);

/* All of it is refused. */
void node_tail_refuse(struct exchange *self, const struct peer *to, uint64_t correlation,
                      const struct site_tail_request *request, enum status status,
                      const char *message);

/* What the page's read has found, if `found`, is told; else that there is nothing up to
 * page->next. The page is free then. */
void node_tail_send(struct tail_page *page, uint64_t now_us, bool found);
void node_tail_give_up(struct tail_page *page, enum status status, const char *message);
void node_tail_release(struct tail_page *page);

/* Up to where is told now. */
uint64_t node_tail_durable(const struct tail_page *page);

#endif
