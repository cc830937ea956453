/* expansion_throttle.h - private to node/: how many keys a second an expansion may read back beside
 * what clients ask for.
 *
 * A key that is read back costs about what a key of a request does. So both share growth_rate:
 * what requests took lately is left out, down to a sixteenth, as an expansion must end. On a node
 * without load it has all of it. Little is saved up, so that a pause is not followed by a burst
 * that requests would wait behind.
 *
 * Time:    now_us, monotonic.  Errors: none.  Threads: none.
 */
#ifndef ORBLOOM_NODE_ARRAY_EXPANSION_THROTTLE_H
#define ORBLOOM_NODE_ARRAY_EXPANSION_THROTTLE_H

#include <stdint.h>

enum { EXPANSION_THROTTLE_FLOOR = 16 }; /* of growth_rate, what is left whatever else comes */

struct expansion_throttle { /* zeroed: nothing was read, nothing was served */
    uint64_t rate;          /* keys a second now; 0: not looked at yet */
    uint64_t free_us;       /* when the next keys may be read */
    uint64_t looked_us;     /* when `rate` was set */
    uint64_t served;        /* keys of requests until then, in all */
};

/* `limit` keys a second (growth_rate, not 0), of which `served` keys of all requests so far take
 * their part. Looks again every now and then only. When keys may be read: `now_us`, or later. */
uint64_t expansion_throttle_ready_us(struct expansion_throttle *self, uint64_t now_us,
                                     uint64_t served, uint64_t limit);

/* How many to read at once, 1 at least: some milliseconds' worth, so that requests wait for few and
 * a small limit is met as it is. After expansion_throttle_ready_us(). */
uint64_t expansion_throttle_most(const struct expansion_throttle *self);

/* So many were read; after expansion_throttle_ready_us(). */
void expansion_throttle_take(struct expansion_throttle *self, uint64_t now_us, uint64_t keys);

#endif
