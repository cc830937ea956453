/* Chains in a fixed number of buckets: ids are given one after the other, so they spread. */
#include "base/number_table.h"

#include <assert.h>

void number_table_put(struct number_table *self, struct number_entry *entry, uint64_t number)
{
    struct number_entry **bucket = &self->buckets[number % NUMBER_TABLE_BUCKETS];

    entry->number = number;
    entry->next = *bucket;
    *bucket = entry;
}

struct number_entry *number_table_find(const struct number_table *self, uint64_t number)
{
    struct number_entry *entry = self->buckets[number % NUMBER_TABLE_BUCKETS];

    while (entry != NULL && entry->number != number) {
        entry = entry->next;
    }
    return entry;
}

void number_table_remove(struct number_table *self, struct number_entry *entry)
{
    struct number_entry **at = &self->buckets[entry->number % NUMBER_TABLE_BUCKETS];

    while (*at != entry) {
        assert(*at != NULL);
        at = &(*at)->next;
    }
    *at = entry->next;
}

struct number_entry *number_table_next(const struct number_table *self,
                                       const struct number_entry *entry)
{
    size_t bucket = entry != NULL ? entry->number % NUMBER_TABLE_BUCKETS + 1 : 0;

    if (entry != NULL && entry->next != NULL) {
        return entry->next;
    }
    while (bucket < NUMBER_TABLE_BUCKETS && self->buckets[bucket] == NULL) {
        bucket++;
    }
    return bucket < NUMBER_TABLE_BUCKETS ? self->buckets[bucket] : NULL;
}
