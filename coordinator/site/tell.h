/* tell.h - what this site's links are told of its filters in sites, for the links of other sites:
 * the set in the document, what F members of each slot group have fenced of it, and with which
 * leavers this site is done.
 *
 * Each change of what is told has the next number. A link names the number up to which it has all,
 * and is told what has changed since, a page an answer; so what is lost on the way is told again.
 * Numbers are of one process: whose count they are is told with them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_SITE_TELL_H
#define ORBLOOM_COORDINATOR_SITE_TELL_H

#include "coordinator/private.h"
#include "coordinator/site/heard.h"

enum { TELL_MAX = 64 /* filters an answer */ };

struct tell_page {
    size_t count;
    uint64_t to; /* all up to this number is in it, or was told before */
    uint64_t of; /* whose count; 0: nothing was counted yet */
    bool more;   /* there is more behind it */
};

/* Something else of it, that is not looked at here, is to be told. */
void tell_again(struct coordinator *self, struct in_sites *note);

/* Is the document, or what is known of fences or leavers, another one than was numbered last? Then
 * it has the next number. */
bool tell_note(struct coordinator *self, struct in_sites *note,
               const struct filter_document *document, const struct sites_view *view);

/* What has changed since that number of that count; `out` borrows from `self`. */
struct tell_page tell_since(const struct coordinator *self, uint64_t since, uint64_t of,
                            struct site_filter out[TELL_MAX]);

#endif
