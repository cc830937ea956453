/* expansion_mix.h - how many keys a filter takes while its replicas are in different generations.
 *
 * A check that can expect no further answer takes one "present". So while one replica answers from
 * the array being left, another one from the wanted array, and the others are down, what either has
 * by chance counts: their rates add up. The same is true inside one replica behind a valve, where
 * both arrays are read. So
 *
 *     rate(from, min(keys, its capacity)) + rate(to, keys) <= bound        (filter/sizing.h)
 *
 * is to hold until the change is over, in two ways: expansion_request() makes the wanted arrays so
 * large that it does for the keys which are there, and a quarter more or what both may hold; and
 * nodes take no more keys than it allows. The bound is the higher one of both generations' rates:
 * the lower one can't be had before all replicas are there.
 *
 * Where R is 1 one "absent" suffices, so that "present" takes what all have by chance, and only the
 * valve counts. A chain's generations are made for shares of one rate.
 *
 * Not covered: a replica that was away from coordinators, and not restarted, while the others came
 * to the end. It serves the old array for as long as it takes to build the new one, and the others
 * take all that the wanted generation is for.
 *
 * Units:   keys of one set of arrays; rates are probabilities.
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_HISTORY_EXPANSION_MIX_H
#define ORBLOOM_MAP_HISTORY_EXPANSION_MIX_H

#include "filter/sizing.h"
#include "map/document.h"

#define EXPANSION_MIX_ANY UINT64_MAX

/* The most keys, of `to` at most, while both are read. */
uint64_t expansion_mix_capacity(const struct filter_document *document,
                                const struct generation *from, const struct generation *to);

/* The most that a replica takes under this document, whatever it serves from itself;
 * EXPANSION_MIX_ANY: as much as its arrays are for. */
uint64_t expansion_mix_keys(const struct filter_document *document);

/* What the next generation is to be made for: `capacity` and `rate` are for one set of arrays;
 * `keys`: it has about so many, if that is known. False: nothing but that. */
bool expansion_mix_wanted(const struct filter_document *document,
                          const struct sizing_request *request, uint64_t keys, bool known,
                          struct sizing_mix *mix);

#endif
