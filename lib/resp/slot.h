/* slot.h - which of Redis Cluster's 16384 slots a key is in.
 *
 * Of a key with a "{part}" that is not empty only the first such part counts, so that keys can be
 * kept together.
 *
 * Source:  the Redis Cluster specification: CRC-16/XMODEM, polynomial 0x1021, modulo 16384.
 * Errors:  none.
 * Threads: any; no state.
 */
#ifndef ORBLOOM_RESP_SLOT_H
#define ORBLOOM_RESP_SLOT_H

#include "base/span.h"

#include <stdint.h>

enum { RESP_SLOTS = 16384 };

uint32_t resp_slot(struct span key);

#endif
