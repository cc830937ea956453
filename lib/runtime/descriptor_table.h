/* descriptor_table.h - open files under numbers of their own.
 *
 * A descriptor's number is used again at once, maybe for a socket; a number from here is not,
 * so that a file used after it was closed is found out instead of writing somewhere else.
 *
 * Numbers: never 0.
 * Errors:  STATUS_TOO_LARGE past DESCRIPTOR_TABLE_MAX files, STATUS_NOMEM. A number that is not
 *          in the table is a defect of the caller: an assertion.
 * Owner:   the table closes what is left in it.
 * Threads: any, between init and fini.
 */
#ifndef ORBLOOM_RUNTIME_DESCRIPTOR_TABLE_H
#define ORBLOOM_RUNTIME_DESCRIPTOR_TABLE_H

#include "base/status.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { DESCRIPTOR_TABLE_MAX = 1 << 14 };

struct descriptor_place {
    uint32_t number; /* 0: free */
    int descriptor;
};

struct descriptor_table {
    pthread_mutex_t mutex;
    struct descriptor_place *places;
    uint32_t capacity;
    uint32_t round; /* how often a file was put in */
};

void descriptor_table_init(struct descriptor_table *self);
void descriptor_table_fini(struct descriptor_table *self);

/* Takes the descriptor, unless it fails. */
MUST_USE enum status descriptor_table_put(struct descriptor_table *self, int descriptor,
                                          uint32_t *number);

/* The file's descriptor, which stays the table's. */
int descriptor_table_get(struct descriptor_table *self, uint32_t number);

/* Take it out; it is the caller's then. */
int descriptor_table_take(struct descriptor_table *self, uint32_t number);

#endif
