/* Of the keys that come while pages are copied, those that come into pages not copied yet. */
#include "node/store/key_tally.h"

#include "base/heap.h"

#include <assert.h>

enum status key_tally_init(struct key_tally *self, uint32_t ngroups)
{
    self->groups = heap_zalloc((size_t)ngroups + 1, sizeof *self->groups);
    self->ngroups = ngroups;
    return self->groups != NULL ? STATUS_OK : STATUS_NOMEM;
}

void key_tally_fini(struct key_tally *self)
{
    heap_free(self->groups);
    *self = (struct key_tally){0};
}

void key_tally_expect(struct key_tally *self, uint32_t group, uint64_t pages)
{
    assert(group < self->ngroups && self->groups[group].copied == 0);
    self->groups[group].pages += pages;
}

void key_tally_note(struct key_tally *self, uint32_t group, uint64_t count)
{
    struct key_tally_group *one = &self->groups[group];
    uint64_t gained = count > one->seen ? count - one->seen : 0;
    double left = one->pages > 0 ? (double)(one->pages - one->copied) / (double)one->pages : 0;

    one->keys += one->copied == 0 ? gained : (uint64_t)((double)gained * left + 0.5);
    one->seen = count;
}

void key_tally_copied(struct key_tally *self, uint32_t group)
{
    assert(self->groups[group].copied < self->groups[group].pages);
    self->groups[group].copied++;
}
