/* site_change.h - changing the set of sites of a filter, and how far that is.
 *
 * Errors:  printed; the exit code is returned.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_COMMANDS_SITE_CHANGE_H
#define ORBLOOM_CLI_COMMANDS_SITE_CHANGE_H

#include "cli/flags.h"
#include "proto/codec.h"

struct site_wish {
    enum site_step step;
    const char *name; /* of the filter */
    const char *site;
};

enum { SITE_LINE_BYTES = 256 };

enum site_progress {
    SITE_GOES_ON,
    SITE_THERE,
    SITE_OVERTAKEN, /* another change was made meanwhile */
};

/* How far a wish is by what this site tells of the filter, and for what it waits. */
enum site_progress site_progress_of(const struct filter_sites *filter, const struct site_wish *wish,
                                    char text[SITE_LINE_BYTES]);

/* Ask for it and, unless `detach`, show how far it is until it is there; Ctrl-C ends the watch, not
 * the change. */
int site_change(const struct flags_common *common, const struct site_wish *wish, bool detach);

/* Is it the name of a site, or a list of such, "eu,us"? */
int site_check_name(struct span name);
int site_check_list(const char *sites);

/* A filter that was just created comes to all sites of a list, "eu,us", of which this one is one.
 */
int site_add_all(const struct flags_common *common, const char *name, const char *sites);

struct watch;

/* Watch a filter's sites by `watch`, until that is over or Ctrl-C ends the watch alone. */
int site_watch(struct watch *watch, const struct flags_common *common, const char *filter);

#endif
