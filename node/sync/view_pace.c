/* How fast views are read, those for peers and the own one, and so how long reading one may take.
 */
#include "node/sync/exchange.h"

/* Of files, in the background: about half of what a core merges. */
#define READ_RATE    (UINT64_C(200) << 20)
#define READ_SLOW_BY 16 /* ... and so much slower on a machine that has other work */

void node_view_pace(struct exchange *self, uint64_t now_us, struct storage_view *view,
                    uint64_t bytes, uint64_t *resume_us)
{
    struct token_bucket *bucket = &self->reading;

    token_bucket_take(bucket, now_us, bytes, READ_RATE);
    *resume_us = token_bucket_ready_us(bucket, now_us);
    if (*resume_us <= now_us) {
        *resume_us = ACTOR_NEVER;
        storage_view_step(view);
    }
}

/* The first answer comes once the source has read all that it has; about as much as is here. */
uint64_t node_repair_patience_us(const struct exchange *self)
{
    const struct storage_usage usage = storage_usage(self->storage);
    uint64_t bytes = usage.run_keys * sizeof(uint64_t) + usage.unmerged_bytes;

    return PEERS_DEADLINE_US + READ_SLOW_BY * (bytes >> 10) * 1000000 / (READ_RATE >> 10);
}
