/* flags.h - the words after a command's name: flags from its one table, then plain words.
 *
 * A flag is --name VALUE or --name=VALUE; flags and words may be mixed, and after "--" all is
 * words. The same table prints `orbloom help COMMAND`.
 *
 * Errors:  STATUS_USAGE (unknown, missing, repeated word) or STATUS_INVALID (a value), after
 *          printing "orbloom: CODE: cause; remedy" on stderr.
 * Owner:   texts point into argv.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_FLAGS_H
#define ORBLOOM_CLI_FLAGS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum flag_kind {
    FLAG_SWITCH,    /* bool */
    FLAG_TEXT,      /* const char * */
    FLAG_ENDPOINTS, /* const char *: tcp://HOST:PORT, separated by commas */
    FLAG_CHOICE,    /* const char *: one of `range`, separated by " | " */
    FLAG_COUNT,     /* uint64_t, "10M" */
    FLAG_BYTES,     /* uint64_t, "8GiB" */
    FLAG_DURATION,  /* uint64_t microseconds, "5s" */
    FLAG_RATE,      /* double, "1%" */
    FLAG_COUNTS,    /* struct flag_counts, "100k,10M" */
    FLAG_RATES,     /* struct flag_rates, "1%,0.1%" */
};

enum { FLAG_LIST_MAX = 64 };

/* Separated by commas; at least one when the flag was given. */
struct flag_counts {
    uint64_t items[FLAG_LIST_MAX];
    size_t count;
};

struct flag_rates {
    double items[FLAG_LIST_MAX];
    size_t count;
};

struct flag {
    const char *name; /* without the dashes */
    char letter;      /* of a short form, such as -0; 0: none */
    enum flag_kind kind;
    bool required;
    const char *unless; /* a flag that excludes this one and lifts `required`; NULL: none */
    size_t offset;      /* of the field in the command's settings */
    uint64_t min;       /* numbers */
    uint64_t max;
    const char *sample; /* how help calls the value: "KEYS" */
    const char *range;  /* as people read it: "1 to 7" */
    const char *value;  /* default as people type it; NULL: none (zero) */
    const char *help;
};

/* Flags that commands share. */
struct flags_common {
    const char *routers;
    const char *coordinators;
    uint64_t timeout_us;
};

struct flag_table {
    const char *command;
    const char *words;   /* "NAME [FILE...]" */
    const char *summary; /* one line */
    const char *notes;   /* paragraphs for help: exit codes, examples; NULL: none */
    const struct flag *flags;
    size_t count;
    bool common; /* the settings begin with a struct flags_common */
    size_t min_words;
    size_t max_words; /* SIZE_MAX: any number */
};

/* The plain words; argv is reordered so that they are adjacent. */
struct words {
    char **items;
    size_t count;
};

/* `argv` without the command's name. Defaults are set first. */
MUST_USE enum status flags_parse(const struct flag_table *table, int argc, char **argv,
                                 void *settings, struct words *words);

void flags_help(const struct flag_table *table, FILE *out);

/* The candidate nearest to `word` that may have been meant; NULL: none is near. */
const char *flags_nearest(const char *word, const char *best, const char *candidate);

/* How many letters must change to make one of the other. */
size_t flags_distance(const char *a, const char *b);

#endif
