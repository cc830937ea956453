/* All zeros stand for "not known", which agrees with every cluster; only two known ids can
 * differ. */
#include "base/cluster_id.h"

#include <stdio.h>
#include <string.h>

static const struct cluster_id none;

bool cluster_id_known(const struct cluster_id *id)
{
    return !cluster_id_equal(id, &none);
}

bool cluster_id_equal(const struct cluster_id *a, const struct cluster_id *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool cluster_id_differ(const struct cluster_id *a, const struct cluster_id *b)
{
    return cluster_id_known(a) && cluster_id_known(b) && !cluster_id_equal(a, b);
}

static void put(uint8_t bytes[8], uint64_t number)
{
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(number >> (8 * i));
    }
}

struct cluster_id cluster_id_make(uint64_t a, uint64_t b)
{
    struct cluster_id id;

    put(id.bytes, a);
    put(id.bytes + 8, b | 1); /* Never all zeros. */
    return id;
}

bool cluster_id_get(struct span bytes, struct cluster_id *out)
{
    *out = none;
    if (bytes.size == sizeof out->bytes) {
        memcpy(out->bytes, bytes.data, sizeof out->bytes);
    }
    return cluster_id_known(out);
}

struct span cluster_id_span(const struct cluster_id *id)
{
    return span_of(id->bytes, cluster_id_known(id) ? sizeof id->bytes : 0);
}

uint64_t cluster_id_tag(const struct cluster_id *id)
{
    uint64_t tag = 0;

    for (size_t i = 0; i < 8; i++) {
        tag |= (uint64_t)id->bytes[i] << (8 * i);
    }
    return tag;
}

const char *cluster_id_show(const struct cluster_id *id, char text[CLUSTER_ID_TEXT_BYTES])
{
    for (size_t i = 0; i < sizeof id->bytes; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", id->bytes[i]);
    }
    return text;
}
