/* Fills documents with generations of a chain, one after the other. */
#include "tests/support/chain_document.h"

#include "coordinator/plan/expansion.h"

#include <criterion/criterion.h>

static void put(struct filter_document *document, uint64_t lines, uint64_t capacity)
{
    double rate = expansion_chain_next_rate(document);
    uint32_t n = document->ngenerations;

    cr_assert_lt(n, DOCUMENT_MAX_GENERATIONS);
    document->generations[n] = (struct generation){
        .id = 10 * n + 1,
        .geometry = {.seed = UINT64_C(77) * (n + 1),
                     .lines = lines,
                     .z = 1,
                     .shard_bits = document->content.shard_bits},
        .capacity = capacity,
        .rate = rate,
    };
    document->ngenerations = n + 1;
}

void chain_document_start(struct filter_document *document, uint64_t lines, uint64_t capacity)
{
    document->ngenerations = 0;
    if (document->durability != DURABILITY_MEMORY) {
        document->keylog = KEYLOG_OFF;
    }
    document->when_full = WHEN_FULL_EXPAND;
    document->capacity = capacity;
    document->max_capacity = 1000 * capacity;
    put(document, lines, capacity);
    expansion_chain_start(document);
}

void chain_document_list(struct filter_document *document, uint64_t lines, uint64_t capacity)
{
    put(document, lines, capacity);
    document->capacity += capacity;
    document->revision++;
}

void chain_document_join(struct filter_document *document)
{
    expansion_finish(document);
}
