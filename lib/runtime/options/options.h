/* options.h - every option of a program or of a command in one table of rows, which parses, checks
 * and explains them.
 *
 * A daemon reads options_load(): defaults, then a configuration file, then the command line.
 * The file (libconfig syntax) is a flat list of `name = "value";`. Numbers with units are strings
 * ("8GiB", "20ms", "10M"): libconfig itself reads large integers wrong. Unknown options, wrong
 * types, values out of range and options that don't go together are refused with file and line.
 * A flag --name=value (or --name value) overrides the file; it may have '-' for '_'.
 *
 * A command reads options_parse_command(): flags and plain words, mixed, and after "--" all is
 * words. A flag is --name VALUE or --name=VALUE, or its letter: -0.
 *
 * Errors:  after printing one line on stderr. Daemons: "orbloom-node: FILE:LINE: reason; remedy",
 *          always STATUS_USAGE. Commands: "orbloom: CODE: cause; remedy", STATUS_INVALID for
 *          a value and STATUS_USAGE for all else.
 * Owner:   texts of rows without a size point into argv; all others are copied.
 * Threads: none.
 */
#ifndef ORBLOOM_RUNTIME_OPTIONS_OPTIONS_H
#define ORBLOOM_RUNTIME_OPTIONS_OPTIONS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
    OPTION_SWITCH,   /* bool; commands only; takes no value */
    OPTION_TEXT,     /* char[size]; size 0: const char *, not empty */
    OPTION_TEXTS,    /* const char *[max_count], or char[max_count][size]: one each time that it is
                        given, or a list of a file */
    OPTION_NAME,     /* char[size]; [A-Za-z0-9._:-]{1,128} */
    OPTION_SITE,     /* char[size]; [a-z0-9-]{1,32} */
    OPTION_ENDPOINT, /* char[size]; tcp://HOST:PORT, port 0 or * for a free one */
    OPTION_LIST,     /* char[count][size] of endpoints; in flags separated by commas */
    OPTION_URLS,     /* the same of http://HOST:PORT and https://HOST:PORT */
    OPTION_COUNT,    /* uint64_t, "10M" */
    OPTION_BYTES,    /* uint64_t, "8GiB"; this and durations also "auto", kept as 0, where that
                        is the default */
    OPTION_DURATION, /* uint64_t microseconds, "20ms" */
    OPTION_FACTOR,   /* double, "1.5"; min and max in units of 1 / OPTION_FACTOR_ONE */
    OPTION_RATE,     /* double, "1%"; min and max in units of 1 / OPTION_RATE_ONE */
    OPTION_COUNTS,   /* uint64_t[max_count], "100k,10M"; min and max are of each */
    OPTION_RATES,    /* double[max_count], "1%,0.1%"; likewise */
    OPTION_CHOICE,   /* char[size], or const char *; one of `range`, separated by " | " */
};

enum { OPTION_FACTOR_ONE = 100, OPTION_RATE_ONE = 1000000000 };

struct option {
    const char *name; /* without the dashes */
    char letter;      /* commands: of a short form, such as -0; 0: none */
    enum option_kind kind;
    bool required; /* it must be given, or have a default; texts and lists: not an empty one */
    size_t offset; /* of the field in the settings struct */
    size_t size;   /* bytes of a text field, or of one list element; 0: it is borrowed */
    size_t count_offset; /* lists: of their uint32_t count */
    uint32_t max_count;  /* lists */
    uint64_t min;        /* numbers */
    uint64_t max;
    bool (*accepts)(const char *text); /* of a borrowed text; NULL: any that is not empty */
    const char *unit;                  /* daemons: "bytes", "keys", "duration", "endpoint", "" */
    const char *sample;                /* commands: how help calls the value: "KEYS" */
    const char *range;                 /* as people read it: "1 MiB to 16 TiB" */
    const char *value;                 /* default, in the form that people type; NULL: none */
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

    /* A command's; NULL and 0 for a daemon. */
    const char *command; /* "create" */
    const char *words;   /* "NAME [FILE...]" */
    const char *notes;   /* paragraphs for help: exit codes, examples; NULL: none */
    size_t min_words;
    size_t max_words; /* SIZE_MAX: any number */
};

enum { OPTION_MAX = 64 /* rows of a table */ };

/* Where each option of a table was given: its line in the file, or a flag; neither: it has its
 * default. */
struct option_origins {
    const char *path; /* of the file; NULL: none */
    unsigned lines[OPTION_MAX];
    bool flags[OPTION_MAX];
};

/* What the command line asks for besides options, and where these were given. */
struct option_result {
    struct option_origins origins;
    const char *config; /* --config FILE, or NULL */
    bool check_config;  /* --check-config: say whether all is well, exit */
    bool done;          /* --help, --version or --print-options was served: exit 0 */
};

/* A daemon's: defaults, then the file, then flags, into `settings`. */
MUST_USE enum status options_load(const struct option_table *table, int argc, char **argv,
                                  void *settings, struct option_result *result);

/* A daemon's, for what its options are together: print why that can't be, and where to mend it,
 * which is where the first of `names` (blanks between) was given: "FILE:LINE: ", "--NAME: ", or
 * "default of NAME: " where none was. Always STATUS_USAGE. */
enum status options_refuse(const struct option_table *table, const struct option_origins *origins,
                           const char *names, const char *format, ...) PRINTF_LIKE(4, 5);

/* The plain words; argv is reordered so that they are adjacent. */
struct option_words {
    char **items;
    size_t count;
};

/* A command's: defaults, then `argv` without the command's name, into `settings`, which begins as
 * zeros. On error settings may have changed. */
MUST_USE enum status options_parse_command(const struct option_table *table, int argc, char **argv,
                                           void *settings, struct option_words *words);

/* Has the option another value in `b` than in `a`? And: give `to` the value that `from` has. */
bool options_differ(const struct option *option, const void *a, const void *b);
void options_copy(const struct option *option, const void *from, void *to);

/* An endpoint that means all of a machine's addresses; one with that or without a real port. */
bool options_endpoint_is_any_host(const char *endpoint);
bool options_endpoint_is_wildcard(const char *endpoint);

/* Two addresses to listen on of which the second could not be bound: one port, of one host or where
 * one of them is all hosts. A free port clashes with nothing. */
bool options_endpoints_clash(const char *a, const char *b);

/* One that only this machine reaches: by its text, as a name may mean another address tomorrow. */
bool options_endpoint_is_loopback(const char *endpoint);

/* A command's "--help". */
void options_help_command(const struct option_table *table, FILE *out);

/* The same for programs, of which man pages and completion are made: a line each, tabs between, "-"
 * for what there is none of: "words WORDS", "summary TEXT", "flag NAME LETTER SAMPLE RANGE DEFAULT
 * RIVAL HELP" (DEFAULT may be "required", RIVAL is the flag that it excludes), and "note TEXT", for
 * each line of the notes. */
void options_print_command(const struct option_table *table, FILE *out);

/* The nearer one to `word`, of `best` so far (NULL: none) and `candidate`, within `limit` letters
 * that are put in, taken out or changed. */
const char *options_nearest(const char *word, size_t limit, const char *best,
                            const char *candidate);

/* How many letters a word may be away from what a command's user meant. */
size_t options_typing_limit(const char *word);

#endif
