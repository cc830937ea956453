/* Runs in an array, and where each number is in it: what is removed leaves its place to the last.
 */
#include "node/store/run_list.h"

#include "base/heap.h"

#include <assert.h>

void run_list_fini(struct run_list *self)
{
    heap_free(self->runs);
    place_index_fini(&self->places);
    *self = (struct run_list){0};
}

/* Numbers are given one after the other. */
static uint32_t hash_of(uint64_t number)
{
    return (uint32_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static bool find(const struct run_list *self, uint64_t number, uint32_t *place)
{
    size_t at = 0;

    while (self->count > 0 && place_index_next(&self->places, hash_of(number), &at, place)) {
        if (self->runs[*place].number == number) {
            return true;
        }
    }
    return false;
}

bool run_list_has(const struct run_list *self, uint64_t number)
{
    uint32_t place;

    return find(self, number, &place);
}

static bool make_room(struct run_list *self, size_t count)
{
    size_t before = self->capacity;
    struct place_index places;

    if (count <= before) {
        return true;
    }
    if (!heap_grow(&self->runs, &self->capacity, count, sizeof *self->runs)) {
        return false;
    }
    if (place_index_init(&places, self->capacity) != STATUS_OK) {
        self->capacity = before; /* Of what has places; the array is merely larger. */
        return false;
    }
    for (size_t i = 0; i < self->count; i++) {
        place_index_put(&places, hash_of(self->runs[i].number), (uint32_t)i);
    }
    place_index_fini(&self->places);
    self->places = places;
    return true;
}

void run_list_remove_at(struct run_list *self, size_t place)
{
    size_t last = self->count - 1;

    assert(place < self->count);
    place_index_remove(&self->places, hash_of(self->runs[place].number), (uint32_t)place);
    if (place != last) {
        uint32_t hash = hash_of(self->runs[last].number);

        place_index_remove(&self->places, hash, (uint32_t)last);
        place_index_put(&self->places, hash, (uint32_t)place);
        self->runs[place] = self->runs[last];
    }
    self->count--;
}

bool run_list_apply(struct run_list *self, const struct record_manifest *manifest)
{
    uint32_t place;

    if (!make_room(self, self->count + manifest->nadded)) {
        return false;
    }
    for (uint32_t i = 0; i < manifest->nadded; i++) {
        const struct record_run run = record_manifest_added(manifest, i);

        if (!find(self, run.number, &place)) {
            place_index_put(&self->places, hash_of(run.number), (uint32_t)self->count);
            self->runs[self->count++] = run;
        }
    }
    for (uint32_t i = 0; i < manifest->nremoved; i++) {
        if (find(self, record_manifest_removed(manifest, i), &place)) {
            run_list_remove_at(self, place);
        }
    }
    return true;
}
