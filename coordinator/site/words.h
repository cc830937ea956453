/* words.h - for what a filter's set of sites waits, for people.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_COORDINATOR_SITE_WORDS_H
#define ORBLOOM_COORDINATOR_SITE_WORDS_H

#include "coordinator/private.h"
#include "coordinator/site/heard.h"

/* "site us has not ...": `text` takes COORDINATOR_MESSAGE_BYTES; "": it waits for nothing. */
void words_awaited(const struct coordinator *self, uint64_t now_us,
                   const struct document_entry *entry, char *text);

#endif
