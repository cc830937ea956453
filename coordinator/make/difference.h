/* difference.h - what a filter that exists has, and a request to create it has not.
 *
 * Threads: any; no state.
 */
#ifndef ORBLOOM_COORDINATOR_MAKE_DIFFERENCE_H
#define ORBLOOM_COORDINATOR_MAKE_DIFFERENCE_H

#include "proto/codec.h"

enum { DIFFERENCE_BYTES = 192 };

/* "capacity 10,000, not 20,000; hash siphash, not xxh3": as it is, and as it is wanted. "" says
 * that all parameters are the same. When there is no room for all differences the last are left
 * out, never the first. Returns `text`. */
const char *difference_describe(const struct filter_document *document,
                                const struct create_parameters *wanted,
                                char text[DIFFERENCE_BYTES]);

#endif
