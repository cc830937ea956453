/* transport.h - how a process of the cluster speaks to others: plain ZMTP, or CURVE with the keys
 * that are derived from the cluster key.
 *
 * Its own server has the pair of the ring's first key, and lets in whoever proves a pair of any key
 * of the ring, as that kind of process. What it dials it takes for a coordinator where that is one
 * of its own, else for a node, and tries the keys of the ring in their order. Plain is expected of
 * coordinators where `transport` says so of their address, and of nodes whose address is "tcp://";
 * if they turn out to speak CURVE, that is spoken. The other way round nothing is said.
 *
 * Owner:   a struct transport is the hub's for the hub's life; what it is made of is borrowed.
 * Threads: the loop's.
 */
#ifndef ORBLOOM_RUNTIME_TRANSPORT_H
#define ORBLOOM_RUNTIME_TRANSPORT_H

#include "base/curve.h"
#include "runtime/hub_curve.h"

enum { TRANSPORT_MAX_KEYS = HUB_MAX_DIALS };

/* The pairs that a ring gives a kind of process, in its order; how many. */
typedef size_t transport_pairs_fn(const void *key, enum curve_kind kind,
                                  struct curve_pair pairs[TRANSPORT_MAX_KEYS]);
typedef bool transport_who_fn(const uint8_t key[CURVE_KEY_BYTES], struct peer *peer);
typedef bool transport_admits_fn(const struct peer *from, bool known, struct span frame,
                                 struct buffer *refusal);

/* Does `transport`, one of "auto", "curve" and "plain", mean CURVE at that endpoint? */
bool transport_is_curve(const char *transport, const char *endpoint);

struct transport {
    struct hub_curve curve; /* for the hub */
    enum curve_kind kind;
    const char *mode; /* "auto", "curve" or "plain" */
    const char *coordinators;
    size_t coordinator_bytes;
    const uint32_t *ncoordinators; /* NULL: none */
    transport_pairs_fn *make_pairs;
    transport_who_fn *who;       /* NULL: who has no key of the ring is nobody */
    transport_admits_fn *admits; /* NULL: whoever is known may send anything */
    struct curve_pair pairs[CURVE_NKINDS][TRANSPORT_MAX_KEYS];
    size_t npairs;
};

/* All but the pairs is set, `curve.listens` too; they are made of `key`. */
void transport_init(struct transport *self, const void *key);

/* Has that ring a key that is in use now? Else whoever has it and whoever has the present one can't
 * talk to each other. */
bool transport_shares_key(const struct transport *self, const void *key);

/* The ring is another one now. Then hub_rekey(). */
void transport_rekey(struct transport *self, const void *key);
void transport_fini(struct transport *self);

#endif
