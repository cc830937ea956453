/* options.h - what a torture is asked to do.
 *
 * Errors:  options_parse() says what is wrong on stderr.
 * Threads: read only once parsed.
 */
#ifndef ORBLOOM_TESTS_TORTURE_OPTIONS_H
#define ORBLOOM_TESTS_TORTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Losses made on purpose: does the torture find them? */
enum sabotage {
    SABOTAGE_NONE,
    SABOTAGE_WIPE_MAJORITY, /* W nodes are wiped at once */
    SABOTAGE_FALSE_CLAIM,   /* keys that nobody added are claimed to be acknowledged */
};

struct options {
    uint64_t seconds;
    uint64_t faults; /* stop after so many; 0: no limit */
    uint64_t seed;
    uint64_t keys_max;    /* acknowledged keys held at a time */
    uint64_t pace;        /* adds a second */
    uint64_t verify_keys; /* recent ones, and as many at random, read back after faults */
    uint64_t nodes;
    uint64_t routers;
    uint64_t gap_ms; /* between two faults, at most */
    const char *dir; /* NULL: a temporary one */
    bool keep;
    bool in_memory;      /* nodes keep nothing on disk */
    bool loopback;       /* no network namespaces */
    const char *only;    /* faults to inject, by name; NULL: all */
    const char *without; /* faults to leave out, and actions: grow, move */
    enum sabotage sabotage;
};

/* 0: run; else the program is to exit with *code. */
int options_parse(struct options *self, int argc, char **argv, int *code);

/* Does the comma-separated list hold the word, or a prefix of it that ends at a "-"? */
bool options_list_has(const char *list, const char *word);

#endif
