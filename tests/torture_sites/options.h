/* options.h - what a torture of sites is asked to do.
 *
 * Errors:  options_parse() says what is wrong on stderr.
 * Threads: read only once parsed.
 */
#ifndef ORBLOOM_TESTS_TORTURE_SITES_OPTIONS_H
#define ORBLOOM_TESTS_TORTURE_SITES_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum { OPTIONS_MAX_SITES = 4, OPTIONS_MAX_NODES = 7 };

/* Defects made on purpose: does the torture find them? */
enum sabotage {
    SABOTAGE_NONE,
    SABOTAGE_FALSE_CLAIM, /* keys that nobody added are claimed to be acknowledged */
    SABOTAGE_REWIND_SITE, /* a site that is cut off is put back by some seconds */
};

struct options {
    uint64_t seconds;
    uint64_t seed;
    uint64_t sites;
    uint64_t nodes;    /* of each site */
    uint64_t keys_max; /* numbers of keys at each site; then they are added again */
    uint64_t pace;     /* adds a second at each site */
    uint64_t gap_ms;   /* between two faults, at most */
    uint64_t losses;   /* times that a whole site is put back or wiped, by turns */
    uint64_t patience; /* seconds that anything may be waited for */
    const char *dir;   /* NULL: a temporary one */
    struct {
        bool wanted; /* links speak by lines of our own */
        uint64_t round_trip_us;
        uint64_t loss; /* so many of a million packets, each direction */
    } wan;
    uint64_t cut; /* seconds that such a line is cut for, at most */
    bool keep;
    enum sabotage sabotage;
    const char *upgrade; /* the folder of an older release's programs, with which all begins; NULL:
                            faults instead */
    uint64_t rounds;     /* of upgrade and downgrade */
};

/* 0: run; else the program is to exit with *code. */
int options_parse(struct options *self, int argc, char **argv, int *code);

#endif
