/* hub_curve.h - CURVE on a hub's sockets: who gets in, by which keys, and to whom it speaks.
 *
 * The server socket has one key pair. A peer proves in the handshake which key is its own; who()
 * says whether that one is known, and is asked again and again while the peer is connected, as
 * nothing in libzmq ends a connection: so a key that is withdrawn gets nothing any more within
 * HUB_WHO_US. A peer that speaks plain ZMTP, or whose key is not known, does not get in.
 *
 * Links try the keys that dial() names, in turn, until one is let in; each refusal ends libzmq's
 * session for good, so the socket is opened anew. A peer that speaks CURVE where plain was
 * expected is dialed with these keys, too; one that speaks plain where CURVE was expected never
 * gets a frame. Once all was tried the actor is told why (on_shut_out), and it goes on.
 *
 *   link_open(), or a send that fails for a while -> watched -> in: not watched any more
 *                                 -> refused: the next key, by and by more slowly
 *
 * An endpoint "curve://HOST:PORT" is that of a server that is known to speak CURVE; "tcp://...":
 * dial() knows.
 *
 * Owner:   a struct hub_curve is borrowed for the hub's life; keys are copied into sockets.
 * Threads: the loop's.
 * Source:  CurveZMQ (ZeroMQ RFC 26), ZAP (RFC 27).
 */
#ifndef ORBLOOM_RUNTIME_HUB_CURVE_H
#define ORBLOOM_RUNTIME_HUB_CURVE_H

#include "base/actor.h"
#include "base/buffer.h"
#include "base/curve.h"

#include <stdbool.h>

enum {
    HUB_MAX_DIALS = 8,
    HUB_WHO_US = 200000, /* for how long an answer of who() holds */
};

/* What a link may speak CURVE with: its own pair, and the public key of the server. */
struct hub_dial {
    struct curve_pair own;
    uint8_t server[CURVE_KEY_BYTES];
};

struct hub_curve {
    void *context;

    /* The server socket speaks CURVE with `own`; otherwise it is plain. */
    bool listens;
    struct curve_pair own;

    /* The keys for a server, those that are likely to be right first; how many. *plain, false at
     * first: it is expected to speak plain ZMTP. None, and not plain: it can't be reached. */
    size_t (*dial)(void *context, const char *endpoint, bool *plain,
                   struct hub_dial dials[HUB_MAX_DIALS]);

    /* Whose key is that? Sets role and user of the peer; false: nobody's. Only where it listens. */
    bool (*who)(void *context, const uint8_t key[CURVE_KEY_BYTES], struct peer *peer);

    /* What is logged of a peer that nobody knows ends with this; NULL: with what helps a process or
     * client of a cluster. */
    const char *stranger_remedy;

    /* May that peer send this frame? Of one that is not `known` any more it may not. False, and in
     * `refusal`, empty at first, what it is answered, if anything. NULL: whoever is known may. Only
     * where it listens. */
    bool (*admits)(void *context, const struct peer *from, bool known, struct span frame,
                   struct buffer *refusal);
};

struct hub;

/* The keys have changed: `own` of the curve, or what dial() and who() answer. With another pair the
 * server socket is bound anew, which cuts its connections. Links that speak with a key that dial()
 * does not name any more are opened anew. */
void hub_rekey(struct hub *hub);

#endif
