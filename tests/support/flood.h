/* flood.h - many adds in flight through the C library, remembering which were acknowledged.
 *
 * Keys are "flood-0", "flood-1"... One key is added once; the library retries by itself.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_FLOOD_H
#define ORBLOOM_TESTS_SUPPORT_FLOOD_H

#include "client/orbloom.h"

#include <stdbool.h>
#include <stdint.h>

enum { FLOOD_MAX_KEYS = 200000, FLOOD_BATCH = 100, FLOOD_IN_FLIGHT = 16 };

struct flood {
    struct orbloom *handle;
    const char *filter;
    uint32_t next; /* the number of the next key */
    bool acked[FLOOD_MAX_KEYS];
    uint32_t nacked;
    uint32_t nfailed;       /* batches that ended in an error */
    char first_error[256];  /* of those */
    uint32_t most_attempts; /* that any batch took */
};

void flood_open(struct flood *self, const char *filter);
void flood_close(struct flood *self);

/* The cluster was started again, maybe at other endpoints. */
void flood_reconnect(struct flood *self);

/* Add so many batches; `hook` runs when half of them are sent and some are in flight. */
void flood_add(struct flood *self, uint32_t nbatches, void (*hook)(void));

/* How many acknowledged keys are not reported present. */
uint32_t flood_count_lost(struct flood *self);
void flood_expect_present(struct flood *self);

#endif
