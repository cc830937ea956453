/* number_table.h - things under a number, such as an operation or the id of a user: a hash table
 * through the things themselves, which begin with a struct number_entry.
 *
 * Owner:   things are the caller's; what is in the table stays where it is.
 * Errors:  none: nothing is allocated.
 * Threads: none; pure.
 */
#ifndef ORBLOOM_BASE_NUMBER_TABLE_H
#define ORBLOOM_BASE_NUMBER_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TABLE_BUCKETS = 1024 };

struct number_entry {
    struct number_entry *next; /* in its bucket */
    uint64_t number;
};

/* Zeroed: it is empty. */
struct number_table {
    struct number_entry *buckets[NUMBER_TABLE_BUCKETS];
};

/* No other one has that number. */
void number_table_put(struct number_table *self, struct number_entry *entry, uint64_t number);

/* NULL: there is none. */
struct number_entry *number_table_find(const struct number_table *self, uint64_t number);

/* It is in the table. */
void number_table_remove(struct number_table *self, struct number_entry *entry);

/* All, one by one, in any order: the one behind `entry`, or the first one behind NULL; NULL: that
 * was the last. */
struct number_entry *number_table_next(const struct number_table *self,
                                       const struct number_entry *entry);

#endif
