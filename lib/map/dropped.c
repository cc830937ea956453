/* Whether the record of dropped filters makes sense; the intervals of ids in it are id_set.c's. */
#include "map/dropped.h"

void dropped_record_fini(struct dropped_record *self)
{
    id_set_fini(&self->ids);
    *self = (struct dropped_record){0};
}

enum status dropped_record_validate(const struct dropped_record *self, const char **reason)
{
    *reason = NULL;
    if (self->revision == 0 || self->revision == UINT64_MAX) {
        *reason = "a record of dropped filters without a revision";
    } else if (!id_set_valid(&self->ids)) {
        *reason = "intervals of ids that are empty, out of order or too many";
    }
    return *reason == NULL ? STATUS_OK : STATUS_MALFORMED;
}
