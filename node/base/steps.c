/* The table of bounds; tests set smaller ones, so that what takes several steps does so with
 * little data. */
#include "node/base/steps.h"

static const struct {
    const char *name;
    uint32_t most;
} table[] = {
#define X(name, most, what) {#name, most},
    NODE_STEPS(X)
#undef X
};

void steps_init(struct steps *self, const uint32_t most[NODE_NSTEPS])
{
    *self = (struct steps){0};
    for (unsigned i = 0; i < NODE_NSTEPS; i++) {
        bool smaller = most[i] > 0 && most[i] < table[i].most;

        self->most[i] = smaller ? most[i] : table[i].most;
    }
}

const char *steps_name(enum step step)
{
    return table[step].name;
}
