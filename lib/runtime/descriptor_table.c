/* Place and round make up a number, so that one which was closed is found out by an assertion
 * instead of meeting the file that came after. */
#include "runtime/descriptor_table.h"

#include "base/heap.h"

#include <assert.h>
#include <unistd.h>

enum { FIRST_PLACES = 16 };

void descriptor_table_init(struct descriptor_table *self)
{
    *self = (struct descriptor_table){0};
    (void)pthread_mutex_init(&self->mutex, NULL); /* Fails never with the default kind. */
}

void descriptor_table_fini(struct descriptor_table *self)
{
    for (uint32_t i = 0; i < self->capacity; i++) {
        if (self->places[i].number != 0) {
            (void)close(self->places[i].descriptor);
        }
    }
    heap_free(self->places);
    (void)pthread_mutex_destroy(&self->mutex);
    *self = (struct descriptor_table){0};
}

static enum status grow(struct descriptor_table *self)
{
    uint32_t capacity = self->capacity > 0 ? 2 * self->capacity : FIRST_PLACES;
    struct descriptor_place *places;

    if (self->capacity == DESCRIPTOR_TABLE_MAX) {
        return STATUS_TOO_LARGE;
    }
    places = heap_realloc(self->places, capacity, sizeof *places);
    if (places == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = self->capacity; i < capacity; i++) {
        places[i] = (struct descriptor_place){0};
    }
    self->places = places;
    self->capacity = capacity;
    return STATUS_OK;
}

static enum status find_free(struct descriptor_table *self, uint32_t *place)
{
    uint32_t i = 0;
    enum status status = STATUS_OK;

    while (i < self->capacity && self->places[i].number != 0) {
        i++;
    }
    if (i == self->capacity) {
        status = grow(self);
    }
    *place = i;
    return status;
}

enum status descriptor_table_put(struct descriptor_table *self, int descriptor, uint32_t *number)
{
    enum status status;
    uint32_t place;

    (void)pthread_mutex_lock(&self->mutex);
    status = find_free(self, &place);
    if (status == STATUS_OK) {
        self->round = self->round % (UINT32_MAX / DESCRIPTOR_TABLE_MAX - 1) + 1;
        *number = self->round * DESCRIPTOR_TABLE_MAX + place;
        self->places[place] = (struct descriptor_place){.number = *number,
                                                        .descriptor = descriptor};
    }
    (void)pthread_mutex_unlock(&self->mutex);
    return status;
}

/* The mutex is held. */
static struct descriptor_place *find(struct descriptor_table *self, uint32_t number)
{
    struct descriptor_place *place = &self->places[number % DESCRIPTOR_TABLE_MAX];

    assert(number != 0 && number % DESCRIPTOR_TABLE_MAX < self->capacity);
    assert(place->number == number); /* else it was closed */
    return place;
}

int descriptor_table_get(struct descriptor_table *self, uint32_t number)
{
    int descriptor;

    (void)pthread_mutex_lock(&self->mutex);
    descriptor = find(self, number)->descriptor;
    (void)pthread_mutex_unlock(&self->mutex);
    return descriptor;
}

int descriptor_table_take(struct descriptor_table *self, uint32_t number)
{
    struct descriptor_place *place;
    int descriptor;

    (void)pthread_mutex_lock(&self->mutex);
    place = find(self, number);
    descriptor = place->descriptor;
    place->number = 0;
    (void)pthread_mutex_unlock(&self->mutex);
    return descriptor;
}
