/* More may be under way with each batch that is applied in time, and less after a slow one. */
#include "link/sent/way.h"

#include "site/batch.h"

enum {
    BATCHES = 16,  /* that fill what may be under way, at least */
    KEY_BYTES = 8, /* of the code, at most */
};

static uint64_t between(uint64_t value, uint64_t least, uint64_t most)
{
    return value < least ? least : value > most ? most : value;
}

void way_begin(struct way *self)
{
    self->bytes = WAY_LEAST_BYTES;
}

/* Twice as much in each round trip, as TCP begins; or what has got there in a second. */
void way_applied(struct way *self, uint64_t bytes, uint64_t took_us, uint64_t under_way,
                 uint64_t most)
{
    uint64_t wanted = took_us <= WAY_US ? self->bytes + bytes
                                        : (uint64_t)((double)under_way * WAY_US / (double)took_us);

    most = most > WAY_LEAST_BYTES ? most : WAY_LEAST_BYTES;
    self->bytes = between(wanted, WAY_LEAST_BYTES, most);
}

size_t way_batch_keys(const struct way *self)
{
    uint64_t keys = self->bytes / BATCHES / KEY_BYTES;

    return keys < SITE_BATCH_MAX_KEYS ? (size_t)keys : SITE_BATCH_MAX_KEYS;
}
