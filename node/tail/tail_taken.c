/* The lowest of a few offsets that only rise. */
#include "node/tail/tail_taken.h"

static struct site_taken *find(struct tail_taken *self, const struct site_taken *told)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->sites[i].site_high == told->site_high &&
            self->sites[i].site_low == told->site_low) {
            return &self->sites[i];
        }
    }
    return NULL;
}

static struct site_taken *make_room(struct tail_taken *self)
{
    struct site_taken *farthest = &self->sites[0];

    if (self->count < SITE_TAIL_MAX_SITES) {
        return &self->sites[self->count++];
    }
    for (uint32_t i = 1; i < self->count; i++) {
        farthest = self->sites[i].offset > farthest->offset ? &self->sites[i] : farthest;
    }
    return farthest;
}

static void note(struct tail_taken *self, const struct site_taken *told)
{
    struct site_taken *known = find(self, told);

    if (known == NULL) {
        *make_room(self) = *told;
    } else if (told->offset > known->offset) {
        known->offset = told->offset;
    }
}

void tail_taken_note(struct tail_taken *self, uint64_t incarnation, uint64_t end,
                     const struct site_taken *told, size_t count)
{
    if (self->incarnation != incarnation) {
        *self = (struct tail_taken){.incarnation = incarnation};
    }
    for (size_t i = 0; i < count; i++) {
        if (told[i].offset <= end || told[i].offset == UINT64_MAX) {
            note(self, &told[i]);
        }
    }
}

uint64_t tail_taken_lowest(const struct tail_taken *self)
{
    uint64_t lowest = UINT64_MAX;

    for (uint32_t i = 0; i < self->count; i++) {
        lowest = self->sites[i].offset < lowest ? self->sites[i].offset : lowest;
    }
    return lowest;
}
