/* options.h - every option of a program in one table; files and flags both read it.
 *
 * A configuration file (libconfig syntax) is a flat list of `name = "value";`. Numbers with
 * units are strings ("8GiB", "20ms", "10M"): libconfig itself reads large integers wrong.
 * Unknown options, wrong types, values out of range and options that don't go together are
 * refused with file and line.
 * A flag --name=value (or --name value) overrides the file.
 *
 * Errors:  STATUS_USAGE after printing "orbloom-node: FILE:LINE: reason; remedy" on stderr.
 * Threads: none.
 */
#ifndef ORBLOOM_RUNTIME_OPTIONS_H
#define ORBLOOM_RUNTIME_OPTIONS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_TEXT,     /* char[size] */
    OPTION_NAME,     /* char[size]; [A-Za-z0-9._:-]{1,128} */
    OPTION_ENDPOINT, /* char[size]; tcp://HOST:PORT, port 0 or * for a free one */
    OPTION_LIST,     /* char[count][size] of endpoints; in flags separated by commas */
    OPTION_URLS,     /* the same of http://HOST:PORT and https://HOST:PORT */
    OPTION_COUNT,    /* uint64_t, "10M" */
    OPTION_BYTES,    /* uint64_t, "8GiB"; this and durations also "auto", kept as 0, where that
                        is the default */
    OPTION_DURATION, /* uint64_t microseconds, "20ms" */
    OPTION_FACTOR,   /* double, "1.5"; min and max in units of 1 / OPTION_FACTOR_ONE */
    OPTION_CHOICE,   /* char[size]; one of `range`, separated by " | " */
};

enum { OPTION_FACTOR_ONE = 100 };

struct option {
    const char *name;
    enum option_kind kind;
    size_t offset;       /* of the field in the program's settings struct */
    size_t size;         /* bytes of a text field, or of one list element */
    size_t count_offset; /* lists: of their uint32_t count */
    uint32_t max_count;  /* lists */
    uint64_t min;        /* numbers; for texts 1 means "must be given" */
    uint64_t max;
    const char *unit;  /* "bytes", "keys", "duration", "endpoint", "" */
    const char *range; /* as people read it: "1 MiB to 16 TiB" */
    const char *value; /* default, in the form that people type; NULL: none */
    const char *help;
    const char *needs;    /* options without which this one must not be given, blanks between */
    const char *excludes; /* one with which it must not, and instead of which it is given */
    bool live;            /* may change at run time, when the file is read again */
};

struct option_table {
    const char *program; /* "orbloom-node" */
    const char *summary; /* one line for --help */
    const struct option *options;
    size_t count;
};

/* What the command line asks for besides options. */
struct option_result {
    const char *config; /* --config FILE, or NULL */
    bool check_config;  /* --check-config: say whether all is well, exit */
    bool done;          /* --help, --version or --print-options was served: exit 0 */
};

/* Defaults, then the file, then flags, into `settings`. */
MUST_USE enum status options_load(const struct option_table *table, int argc, char **argv,
                                  void *settings, struct option_result *result);

/* Has the option another value in `b` than in `a`? And: give `to` the value that `from` has. */
bool options_differ(const struct option *option, const void *a, const void *b);
void options_copy(const struct option *option, const void *from, void *to);

/* An endpoint that means all of a machine's addresses; one with that or without a real port. */
bool options_endpoint_is_any_host(const char *endpoint);
bool options_endpoint_is_wildcard(const char *endpoint);

/* "--help" */
void options_help(const struct option_table *table, FILE *out);

/* One line an option: name, unit, range, default, help, separated by tabs. */
void options_print(const struct option_table *table, FILE *out);

#endif
