/* group_file.h - a file that describes many things of a kind, as a list of groups:
 *
 *     users = ({ name = "crawler"; rights = ("rw crawl:*", "r shared:*");
 *                limits = { filters = 100; bytes = "8GiB"; }; });
 *
 * In the syntax of configuration files (libconfig). What is in a group is handed over as texts, in
 * order, each with its name, "limits.filters" for that of a group within; of a list of texts each
 * of them goes by the list's name. Decimal numbers of up to nine digits may stand without quotes;
 * others, which libconfig would read wrong, are refused.
 *
 * Errors:  STATUS_IO, STATUS_NOMEM, STATUS_TOO_LARGE, STATUS_INVALID, and what a reader's functions
 *          say; `reason` has the file, the line and what is wrong.
 * Threads: none.
 */
#ifndef ORBLOOM_RUNTIME_OPTIONS_GROUP_FILE_H
#define ORBLOOM_RUNTIME_OPTIONS_GROUP_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { GROUP_FILE_MAX_BYTES = 4 << 20, GROUP_REASON_BYTES = 512 };

struct group_value {
    const char *text; /* of on and off, true and false too: "on", "off" */
    bool quoted;      /* it was written as a text */
};

/* Not OK: what is wrong in `reason`, of GROUP_REASON_BYTES. */
struct group_reader {
    void *context;
    enum status (*begin)(void *context, char *reason); /* the next group */
    enum status (*field)(void *context, const char *name, const struct group_value *value,
                         char *reason);
    enum status (*end)(void *context, char *reason); /* ... is over */
};

/* `list`: the one name that the file has. */
MUST_USE enum status group_file_read(const char *path, const char *list,
                                     const struct group_reader *reader,
                                     char reason[GROUP_REASON_BYTES]);

#endif
