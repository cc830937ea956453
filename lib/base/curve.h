/* curve.h - key pairs of Curve25519, by which processes know each other.
 *
 * Source:  CurveZMQ (ZeroMQ RFC 26) uses such pairs for its handshake.
 * Threads: none.
 */
#ifndef ORBLOOM_BASE_CURVE_H
#define ORBLOOM_BASE_CURVE_H

#include <stdint.h>

enum { CURVE_KEY_BYTES = 32 };

struct curve_pair {
    uint8_t public[CURVE_KEY_BYTES];
    uint8_t secret[CURVE_KEY_BYTES];
};

/* Processes whose pairs are derived from the cluster key. */
enum curve_kind { CURVE_ROUTER, CURVE_NODE, CURVE_COORDINATOR, CURVE_NKINDS };

#endif
