/* options_internal.h - what the files of the option reader share; no one else includes it.
 *
 * Whoever refuses a value writes only the reason; where it was found (FILE:LINE, --flag)
 * is put before it by the caller.
 */
#ifndef ORBLOOM_RUNTIME_OPTIONS_INTERNAL_H
#define ORBLOOM_RUNTIME_OPTIONS_INTERNAL_H

#include "runtime/options.h"

enum { OPTION_REASON_BYTES = 512, OPTION_MAX = 64 };

/* Where each option of a table was given: its line in the file, or a flag. */
struct option_origins {
    const char *path; /* of the file; NULL: none */
    unsigned lines[OPTION_MAX];
    bool flags[OPTION_MAX];
};

/* Parse `text` into the option's field; untouched on STATUS_USAGE. Lists are split at commas. */
MUST_USE enum status option_set(const struct option *option, const char *text, void *settings,
                                char reason[OPTION_REASON_BYTES]);

/* Lists only: forget all elements; append one. */
void option_list_clear(const struct option *option, void *settings);
MUST_USE enum status option_list_append(const struct option *option, const char *text,
                                        void *settings, char reason[OPTION_REASON_BYTES]);

/* A mandatory option has no value yet. */
bool option_missing(const struct option *option, const void *settings);

/* tcp://HOST:PORT; a link needs a real host and port, a server may have "*" for both. */
bool option_endpoint_valid(const char *text, bool link);

/* By name; NULL when there is none. */
const struct option *option_find(const struct option_table *table, const char *name);

/* The name that `name` may have meant, or NULL. */
const char *option_suggest(const struct option_table *table, const char *name);

/* Is it a list, of whatever? */
bool option_is_list(const struct option *option);

/* Read the file at `path` into `settings`. Prints what is wrong. */
MUST_USE enum status options_read_file(const struct option_table *table, const char *path,
                                       void *settings, struct option_origins *origins);

/* Does all that must be given, and only what goes together? Prints what is wrong. */
MUST_USE enum status options_check_rules(const struct option_table *table, const void *settings,
                                         const struct option_origins *origins);

/* "orbloom-node: " and the message on stderr. Always STATUS_USAGE. */
enum status options_refuse(const struct option_table *table, const char *format, ...)
    PRINTF_LIKE(2, 3);

#endif
