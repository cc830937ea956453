/* feature.h - what a version of orbloom knows that others may not: one bit each.
 *
 * A process tells what it knows each time that it asks a coordinator. A feature is in use in a
 * cluster once an operator has said so and every process knew it (the store's record
 * cluster_features); from then on a process that does not know it is refused. A signed document
 * names the features that its reader must know: one that knows less refuses it, and never misreads
 * it.
 *
 * Bits are given once, in this table, and never again. Bit 0 is what was there before: a document
 * or process that tells nothing is of that.
 *
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_FEATURE_H
#define ORBLOOM_MAP_FEATURE_H

#include "map/document.h"

#include <stdint.h>

/* constant, bit, name, help */
#define FEATURES(X)                                                                     \
    X(BASE, 0, "base", "all that was there before features were told")                  \
    X(RENAMES, 1, "renames", "filters take another name, or another filter's: rename")  \
    X(WINDOWS, 2, "windows", "filters that forget keys after a while: create --window") \
    X(EXPIRY, 3, "expiry", "filters that are dropped by themselves: expire")            \
    X(USERS, 4, "users", "names, rights and limits of who uses the cluster: user")      \
    X(SITES, 5, "sites", "filters in several datacentres: site")

enum feature {
#define X(constant, bit, name, help) FEATURE_##constant = (bit),
    FEATURES(X)
#undef X
};

enum { FEATURES_MAX = 64, FEATURES_TEXT_BYTES = 256 };

/* A set of them, a bit each. */
static inline uint64_t feature_bit(enum feature feature)
{
    return (uint64_t)1 << feature;
}

/* Which features a cluster uses: the store's record cluster_features. */
struct cluster_features {
    uint64_t revision; /* 0: there is no record */
    uint64_t in_use;
};

/* What this version knows. */
uint64_t features_known(void);

/* NULL: this version does not know it. */
const char *feature_name(unsigned bit);
const char *feature_help(unsigned bit);

/* Names, separated by commas; one that is not known by its number. Base is left out where there is
 * another. Returns `text`. */
const char *features_show(uint64_t set, char text[FEATURES_TEXT_BYTES]);

/* What whoever reads the document must know. */
uint64_t features_of(const struct filter_document *document);

/* ... and what other sites must that hear how it is at this one. Names, owners and expiry are each
 * site's own. */
uint64_t features_of_sites(const struct filter_document *document);

#endif
