/* shell_pages.h - the pages that a coordinator has beyond those of all daemons: the one for
 * browsers, and the answers of web/web.h below /api/v1. */
#ifndef ORBLOOM_COORDINATOR_SHELL_PAGES_H
#define ORBLOOM_COORDINATOR_SHELL_PAGES_H

#include "coordinator/coordinator.h"
#include "runtime/http/http.h"

enum { COORDINATOR_NPAGES = 8 };

extern const struct http_page coordinator_pages[COORDINATOR_NPAGES];

/* Whose they are; it is there whenever one is asked for. */
void coordinator_pages_use(struct coordinator *coordinator);

#endif
