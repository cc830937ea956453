/* web.h - what a coordinator tells browsers and scripts: its own state, as JSON.
 *
 * Names are those of `orbloom status --json`, `info --json` and `site --json` where these have
 * them. Nothing is changed, and no answer waits for others: what these know is asked of them while
 * somebody looks (lags.h, measured.h), for the answers to come. The work of an answer is bounded,
 * however many filters there are: those of a page are looked at; what concerns all of them is as
 * the survey has found it (survey.h), at most some seconds ago.
 *
 * Errors:  STATUS_NOMEM, STATUS_TOO_LARGE. STATUS_INVALID: the question makes no sense; the answer
 *          says why.
 * Threads: the coordinator's.
 */
#ifndef ORBLOOM_COORDINATOR_WEB_WEB_H
#define ORBLOOM_COORDINATOR_WEB_WEB_H

#include "base/buffer.h"
#include "coordinator/coordinator.h"

enum {
    WEB_PAGE_SIZE = 50,
    WEB_MAX_PAGE_SIZE = 200,
    WEB_MAX_CHANGES = 50,       /* described in one answer; the others are counted */
    WEB_MAX_SITE_FILTERS = 100, /* ... */
};

/* As the address says; NULL: it does not. */
struct web_question {
    const char *q;    /* what the names are to have in them, in large or small letters */
    const char *page; /* from 1 */
    const char *size;
};

typedef enum status web_tell_fn(struct coordinator *coordinator, uint64_t now_us,
                                const struct web_question *question, struct buffer *out);

/* The coordinator's own health, nodes, routers, sums, and which filters lack replicas. */
web_tell_fn web_tell_status;

/* A page of the filters whose names match, in order of names. */
web_tell_fn web_tell_filters;

/* What is under way with filters, how far it is and what it waits for. */
web_tell_fn web_tell_changes;

web_tell_fn web_tell_sites;

#endif
