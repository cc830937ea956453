/* options.h - what a torture is asked to do.
 *
 * Errors:  options_parse() says what is wrong on stderr.
 * Threads: read only once parsed.
 */
#ifndef ORBLOOM_TESTS_TORTURE_OPTIONS_H
#define ORBLOOM_TESTS_TORTURE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Defects made on purpose: does the torture find them? */
enum sabotage {
    SABOTAGE_NONE,
    SABOTAGE_WIPE_MAJORITY,  /* W nodes are wiped at once */
    SABOTAGE_OLD_CREDENTIAL, /* the torture's credential is not renewed when the key is replaced */
    SABOTAGE_FALSE_CLAIM,    /* keys that nobody added are claimed to be acknowledged */
};

/* What a filter goes through, of which every phase sees every kind of process killed. */
enum change { CHANGE_NONE, CHANGE_EXPAND, CHANGE_DRAIN, CHANGE_REPLACE };

struct options {
    uint64_t seconds;
    enum change change;  /* NONE: everything mixed */
    uint64_t keys;       /* with a change: that the filter has before the first one, */
    uint64_t to;         /* ... and at the end */
    const char *upgrade; /* the folder of the older release's programs; NULL: not that course */
    uint64_t rounds;     /* changes at most, or upgrades */
    uint64_t hits;       /* kills wanted in each cell */
    uint64_t faults;     /* stop after so many; 0: no limit */
    uint64_t seed;
    uint64_t keys_max;    /* acknowledged keys held at a time */
    uint64_t pace;        /* adds a second */
    uint64_t verify_keys; /* recent ones, and as many at random, read back after faults */
    uint64_t nodes;
    uint64_t routers;
    bool curve;        /* processes and clients speak CURVE, the torture is a user */
    uint64_t gap_ms;   /* between two faults, at most */
    uint64_t patience; /* seconds that the cluster may leave something open */
    const char *dir;   /* NULL: a temporary one */
    bool keep;
    bool in_memory;      /* nodes keep nothing on disk */
    bool loopback;       /* no network namespaces */
    const char *only;    /* faults to inject, by name; NULL: all */
    const char *without; /* faults to leave out, and actions: grow, move, rotate */
    enum sabotage sabotage;
};

/* 0: run; else the program is to exit with *code. */
int options_parse(struct options *self, int argc, char **argv, int *code);

/* "expand"; "": none. */
const char *options_change_name(enum change change);

/* Does the comma-separated list hold the word, or a prefix of it that ends at a "-"? */
bool options_list_has(const char *list, const char *word);

#endif
