/* A bucket kept as one time, at which its debt is paid; so nothing has to be filled up as time
 * goes by. */
#include "base/token_bucket.h"

#define SECOND_US UINT64_C(1000000)
#define SAVED_US  (SECOND_US / 4)

uint64_t token_bucket_ready_us(const struct token_bucket *self, uint64_t now_us)
{
    return self->free_us > now_us ? self->free_us : now_us;
}

void token_bucket_take(struct token_bucket *self, uint64_t now_us, uint64_t bytes,
                       uint64_t bytes_per_second)
{
    uint64_t floor_us = now_us > SAVED_US ? now_us - SAVED_US : 0;
    uint64_t debt;

    if (self->free_us < floor_us) {
        self->free_us = floor_us;
    }
    /* Many small ones would be for nothing if each was rounded off. */
    debt = bytes * SECOND_US + self->rest % bytes_per_second;
    self->free_us += debt / bytes_per_second;
    self->rest = debt % bytes_per_second;
}
