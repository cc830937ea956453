/* expansion_chain.h - how a filter without key log grows: by one more generation, all of them read.
 *
 * Nothing can be built anew without keys. So what is full stays as it is, adds go to a new
 * generation, and checks read all: the generations that they must read are part of the epoch.
 *
 *   [1], 1 -- expansion_chain_request, _begin --> [1] 5, 1 --> all that live have room -- _finish
 * --> [1, 5]
 *
 * First the document lists the generation and nodes make its arrays, while the epoch is what it
 * was. Once those stand the chain gets longer, by an edit of the epoch: so no add waits for memory.
 * What was acknowledged before is in older generations, which are read in every later epoch; W
 * replicas have it under one epoch, as ever, and each looks into all that it has.
 *
 * Rates: all generations are read, so their rates add up. Each is made for half of what those
 * before it left: p/2, p/4, p/8 and so on stay below p together, however long the chain. That
 * costs 1.44 bits a key for each generation.
 *
 * Errors:  none: verdicts say why not.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_MAP_EXPANSION_CHAIN_H
#define ORBLOOM_MAP_EXPANSION_CHAIN_H

#include "map/expansion.h"

/* The rate that the next generation is made for; `document` may have none yet. */
double expansion_chain_next_rate(const struct filter_document *document);

/* Can none be added any more: there are as many as there may be, or its rate would be too low? */
bool expansion_chain_is_long(const struct filter_document *document);

/* The first generation is in the document, made for expansion_chain_next_rate(). */
void expansion_chain_start(struct filter_document *document);

/* What expansion.h's functions of these names do, of a chain. */
struct expansion_answer expansion_chain_request(const struct expansion_view *view,
                                                const struct expansion_wish *wish, uint64_t seed);
void expansion_chain_begin(struct filter_document *document, const struct expansion_answer *answer);
void expansion_chain_finish(struct filter_document *document);

/* Some slot is a pair: the epoch must not be edited for anything else. */
bool expansion_chain_waits(const struct filter_document *document);

#endif
