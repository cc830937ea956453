/* rice.h - sorted fingerprints as Rice-coded gaps: fewer bytes, the closer they lie.
 *
 * Of fingerprints that rise, each once, the first is told elsewhere. Of every other one its gap is
 * coded: how far it is above the one before, less 1. A gap g with the parameter k (0 to 63) is
 *
 *   g >> k zeros, a one, the k low bits of g, the lowest first
 *
 * Bits fill each byte from the lowest up; what the last byte has beyond them is 0. So there is one
 * code only of a list and a parameter, and none of a list that does not rise.
 *
 * Fingerprints that are spread over all 2^64 take, in bytes each: 100 of them 7.37, 1,000 6.95,
 * 10,000 6.52, 65,536 6.19, 1 M 5.70. Such within one shard take as many bits less as shards have.
 *
 * Source:  R. F. Rice, "Some Practical Universal Noiseless Coding Techniques", JPL 79-22 (1979).
 * Units:   `ngaps`, one less than fingerprints; `range`, the last fingerprint less the first.
 * Errors:  STATUS_MALFORMED: no code of as many fingerprints, as it is too short or too long, its
 *          last byte has bits set that mean nothing, or it goes beyond 2^64 - 1. Reading takes as
 *          long as the code has bytes, at most, whatever they are.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_SITE_RICE_H
#define ORBLOOM_SITE_RICE_H

#include "base/span.h"
#include "base/status.h"

enum { RICE_MAX_PARAMETER = 63 };

/* The one with which fingerprints that are spread evenly are shortest. With it no `count` of them,
 * be they as they may, take more than 8 * count bytes. */
unsigned rice_parameter(size_t ngaps, uint64_t range);

/* Room that rice_encode() needs: its code, and up to 8 bytes behind it that it uses meanwhile. */
size_t rice_room(size_t ngaps, unsigned parameter, uint64_t range);

/* Code the gaps of `count` fingerprints, which rise, each once. Returns the bytes of the code. */
size_t rice_encode(const uint64_t *fingerprints, size_t count, unsigned parameter, uint8_t *out);

/* All `count`, of which fingerprints[0] is there already; after an error the others are nothing. */
MUST_USE enum status rice_decode(struct span code, unsigned parameter, uint64_t *fingerprints,
                                 size_t count);

#endif
