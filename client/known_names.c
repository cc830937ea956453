/* A few names with the ids that routers told for them; a new one takes the place of the oldest. */
#include "client/known_names.h"

#include <stdio.h>
#include <string.h>

static uint32_t find(const struct known_names *self, const char *name)
{
    uint32_t i = 0;

    while (i < KNOWN_NAMES && strcmp(self->items[i].name, name) != 0) {
        i++;
    }
    return i;
}

uint64_t known_names_find(const struct known_names *self, const char *name)
{
    uint32_t at = find(self, name);

    return at < KNOWN_NAMES ? self->items[at].filter_id : 0;
}

void known_names_note(struct known_names *self, const char *name, uint64_t filter_id)
{
    uint32_t at = find(self, name);

    if (at == KNOWN_NAMES) {
        at = self->noted++ % KNOWN_NAMES;
        (void)snprintf(self->items[at].name, sizeof self->items[at].name, "%s", name);
    }
    self->items[at].filter_id = filter_id;
}
