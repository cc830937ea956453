/* private.h - what the files of this folder share; no one else includes it.
 *
 *   table.c        rows by name, defaults, rules between options: what daemons and commands share
 *   value.c        from text to a field of the settings
 *   daemon.c       a daemon's file and command line
 *   command.c      a command's flags and words
 *   config_text.c  a file that libconfig is to scan: daemon.c's, and those of group_file.h
 *
 * A daemon and a command refuse in words of their own, so what reads a value only tells what is
 * wrong with it (struct option_wrong), and rules are told by the table's voice.
 */
#ifndef ORBLOOM_RUNTIME_OPTIONS_PRIVATE_H
#define ORBLOOM_RUNTIME_OPTIONS_PRIVATE_H

#include "base/buffer.h"
#include "runtime/options/options.h"

enum { OPTION_SHOWN_BYTES = 201, OPTION_REASON_BYTES = 512 };

enum option_fault {
    OPTION_CONTROL,   /* it holds a control character */
    OPTION_LONG,      /* longer than `limit` bytes */
    OPTION_MANY,      /* more than max_count elements */
    OPTION_MALFORMED, /* not of the option's kind */
    OPTION_OUTSIDE,   /* out of range */
};

struct option_wrong {
    enum option_fault fault;
    char text[OPTION_SHOWN_BYTES]; /* the value or, of a list, the element; long ones are cut */
    size_t limit;
    uint32_t item; /* which element of a list, from 0 */
    bool alone;    /* it is the whole value */
};

/* Parse `text` into the option's field. STATUS_INVALID: `wrong` is filled in; a field that is not
 * a list or borrowed is untouched. Lists are split at commas. */
MUST_USE enum status option_set(const struct option *option, const char *text, void *settings,
                                struct option_wrong *wrong);

/* Lists only: forget all elements; append one. */
void option_list_clear(const struct option *option, void *settings);
MUST_USE enum status option_list_append(const struct option *option, const char *text,
                                        void *settings, struct option_wrong *wrong);

/* A text or list that has no value; numbers always have one. */
bool option_empty(const struct option *option, const void *settings);

/* Is it a list, of whatever? A text, alone or in a list? */
bool option_is_list(const struct option *option);
bool option_is_text(const struct option *option);

/* Was the option given, in the file or as a flag? Else it has its default. */
bool option_is_given(const struct option_table *table, const struct option_origins *origins,
                     const struct option *option);

/* By name; NULL when there is none. */
const struct option *option_find(const struct option_table *table, const char *name);

/* The name that `name` may have meant, at most `limit` letters away, or NULL. */
const char *option_suggest(const struct option_table *table, const char *name, size_t limit);

/* All that have a default get it. */
void options_set_defaults(const struct option_table *table, void *settings);

/* A command line that is read from left to right. */
struct option_args {
    char **words;
    int count;
    int next;
};

/* The value of the flag that was read last: after '=', or the next word; NULL when neither is
 * there. */
const char *option_args_value(struct option_args *self, const char *flag);

/* How a program words what breaks a rule; each prints and returns STATUS_USAGE. `origins` tells
 * where what is wrong was given. */
struct option_voice {
    enum status (*lacks)(const struct option_table *table, const struct option_origins *origins,
                         const struct option *option, const struct option *needed);
    enum status (*pair)(const struct option_table *table, const struct option_origins *origins,
                        const struct option *option, const struct option *rival);
    enum status (*missing)(const struct option_table *table, const struct option_origins *origins,
                           const struct option *option);
};

/* Does all that must be given, and only what goes together? */
MUST_USE enum status options_check_rules(const struct option_table *table,
                                         const struct option_voice *voice, const void *settings,
                                         const struct option_origins *origins);

/* The text of a file in libconfig's syntax, ended by a NUL, appended to `out`, which is empty. Not
 * OK (STATUS_IO, STATUS_TOO_LARGE, STATUS_NOMEM; STATUS_INVALID: an include or a NUL byte): the
 * place and what is wrong are in `reason`. */
MUST_USE enum status config_text_read(const char *path, struct buffer *out,
                                      char reason[OPTION_REASON_BYTES]);

#endif
