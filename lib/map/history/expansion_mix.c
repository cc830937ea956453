/* Two arrays of different sizes answer one check together: how many keys fit in until the sum of
 * what they let pass meets the bound. */
#include "map/history/expansion_mix.h"

#include "base/mutant.h"
#include "map/history/window.h"

static struct sizing_array array_of(const struct generation *generation)
{
    const struct geometry *geometry = &generation->geometry;

    return (struct sizing_array){.lines = geometry->lines << geometry->shard_bits,
                                 .z = geometry->z,
                                 .capacity = generation->capacity};
}

/* Of one set. */
static double set_rate(const struct filter_document *document, const struct generation *generation)
{
    return window_set_rate(document->nslices,
                           generation->rate > 0 ? generation->rate : document->rate);
}

static double higher(double a, double b)
{
    return a > b ? a : b;
}

static uint64_t lower(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t expansion_mix_capacity(const struct filter_document *document,
                                const struct generation *from, const struct generation *to)
{
    const struct sizing_array left = array_of(from);
    const struct sizing_array wanted = array_of(to);

    return sizing_mix_keys(&left, &wanted, to->capacity,
                           higher(set_rate(document, from), set_rate(document, to)));
}

static bool may_mix(const struct filter_document *document)
{
    return !document_is_chain(document) && document->content.rule.read > 1;
}

uint64_t expansion_mix_keys(const struct filter_document *document)
{
    const struct generation *wanted = document_generation(document);
    uint64_t keys = EXPANSION_MIX_ANY;

    if (MUTANT(GROW_MIX_UNBOUND)) {
        return keys;
    }
    for (uint32_t i = 0; may_mix(document) && i + 1 < document->ngenerations; i++) {
        keys = lower(keys, expansion_mix_capacity(document, &document->generations[i], wanted));
    }
    return keys;
}

bool expansion_mix_wanted(const struct filter_document *document,
                          const struct sizing_request *request, uint64_t keys, bool known,
                          struct sizing_mix *mix)
{
    const struct generation *left = document_generation(document);
    uint64_t both = lower(left->capacity, request->capacity);

    if (!may_mix(document)) {
        return false;
    }
    *mix = (struct sizing_mix){
        .other = array_of(left),
        .keys = known ? lower(both, keys + both / 4) : both,
        .rate = higher(set_rate(document, left), request->rate),
    };
    return true;
}
