/* expansion.h - what a document says about a filter's growth: is it on its way to another geometry,
 * and may it take more keys before long? What to want, and whose turn it is, is the coordinator's:
 * coordinator/plan/expansion.h.
 *
 * Rates of a chain: all generations are read, so their rates add up. Each is made for half of what
 * those before it left: p/2, p/4, p/8 and so on stay below p together, however long the chain. That
 * costs 1.44 bits a key for each generation.
 *
 * Errors:  none.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_HISTORY_EXPANSION_H
#define ORBLOOM_MAP_HISTORY_EXPANSION_H

#include "map/document.h"

/* Of the capacity: with so many keys it grows in any case, and below so many never. */
#define EXPANSION_FULL_SHARE  0.85
#define EXPANSION_LEAST_SHARE 0.5

bool expansion_running(const struct filter_document *document);

/* Can it grow: anew from a log, or by a chain? */
bool expansion_possible(const struct filter_document *document);

/* Will a filter that is full take more keys before long, by itself? */
bool expansion_makes_room(const struct filter_document *document);

/* The rate that a chain's next generation is made for; `document` may have none yet. */
double expansion_chain_next_rate(const struct filter_document *document);

/* Can none be added any more: there are as many as there may be, or its rate would be too low? */
bool expansion_chain_is_long(const struct filter_document *document);

#endif
