/* Read off the document alone: what nodes and routers must know of a growth that a coordinator
 * decides about. */
#include "map/history/expansion.h"

#include "filter/sizing.h"
#include "map/history/expansion_mix.h"

bool expansion_running(const struct filter_document *document)
{
    return document->ngenerations > (document_is_chain(document) ? document->content.nchain : 1);
}

double expansion_chain_next_rate(const struct filter_document *document)
{
    double left = document->rate;

    for (uint32_t i = 0; i < document->ngenerations; i++) {
        left -= document->generations[i].rate;
    }
    return left / 2;
}

bool expansion_chain_is_long(const struct filter_document *document)
{
    return document_is_chain(document) && (document->ngenerations == DOCUMENT_MAX_GENERATIONS ||
                                           expansion_chain_next_rate(document) < SIZING_RATE_MIN);
}

bool expansion_possible(const struct filter_document *document)
{
    return document_logs_keys(document) || document_is_chain(document);
}

bool expansion_makes_room(const struct filter_document *document)
{
    bool chain = document_is_chain(document);
    uint64_t wanted = chain ? document->capacity : document_generation(document)->capacity;
    bool grows = expansion_running(document) &&
                 (chain || wanted > document->generations[0].capacity ||
                  expansion_mix_keys(document) < wanted); /* Until it is over they take less. */
    bool may = document->when_full == WHEN_FULL_EXPAND && !document->growth_held &&
               document->capacity < document->max_capacity && !expansion_chain_is_long(document);

    return expansion_possible(document) && (grows || (may && !expansion_running(document)));
}
