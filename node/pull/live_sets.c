/* Sets in a fixed order, so that a set has one place as long as the document stands: the serving
 * keyset comes first. */
#include "node/pull/live_sets.h"

#include "base/mutant.h"

#include <assert.h>

static uint64_t newest_slice(const struct filter_document *document)
{
    return document_is_chain(document) ? document->content.nchain - 1
                                       : document->content.newest_slice;
}

/* As many as the window has, and the one before them; of a chain all. Without either there is slice
 * 0 alone. */
static uint64_t slices_kept(const struct filter_document *document)
{
    uint64_t newest = document->content.newest_slice;
    uint64_t kept = (uint64_t)document->nslices + (MUTANT(SLICE_TOO_FEW) ? 0 : 1);

    if (document_is_chain(document)) {
        return document->content.nchain;
    }
    return newest == 0 ? 1 : newest < kept ? newest : kept;
}

uint32_t live_sets_count(const struct filter_document *document)
{
    return document->content.nkeysets * (uint32_t)slices_kept(document);
}

/* The serving keyset is the first one, wherever the document has it. */
static uint32_t place_of(const struct epoch_content *content, uint32_t rank)
{
    uint32_t serving = 0;

    while (serving + 1 < content->nkeysets && !content->keysets[serving].serving) {
        serving++;
    }
    if (rank == 0) {
        return serving;
    }
    return rank <= serving ? rank - 1 : rank;
}

struct live_set live_sets_at(const struct filter_document *document, uint32_t at)
{
    const struct epoch_content *content = &document->content;
    uint32_t kept = (uint32_t)slices_kept(document);
    const struct keyset *keyset = &content->keysets[place_of(content, at / kept)];
    uint64_t slice = newest_slice(document) - at % kept;
    bool read = keyset->serving;
    bool written = at % kept == 0;

    assert(at < live_sets_count(document));
    if (MUTANT(CHAIN_READS_NEWEST) && at > 0 && document_is_chain(document)) {
        read = false;
    }
    if (MUTANT(REBUILD_ADDS_TO_NEXT) && content->nkeysets > 1 && keyset->serving) {
        written = false;
    }
    return (struct live_set){
        .keyset = keyset->id,
        .slice = slice,
        .read = read,
        .written = written,
        .generation = live_sets_generation(document, slice),
    };
}

bool live_sets_ahead(const struct filter_document *document, struct live_set *out)
{
    bool longer = document_is_chain(document) && document->ngenerations > document->content.nchain;
    struct live_set next = live_sets_at(document, 0);

    next.slice++;
    next.read = next.written = false;
    next.generation = document_generation(document);
    *out = next;
    return longer || document->content.newest_slice != 0;
}

const struct generation *live_sets_generation(const struct filter_document *document,
                                              uint64_t slice)
{
    if (!document_is_chain(document)) {
        return document_generation(document);
    }
    return slice < document->content.nchain ? &document->generations[slice] : NULL;
}

bool live_sets_have_keyset(const struct filter_document *document, uint32_t keyset)
{
    for (uint32_t i = 0; i < document->content.nkeysets; i++) {
        if (document->content.keysets[i].id == keyset) {
            return true;
        }
    }
    return false;
}

bool live_sets_have(const struct filter_document *document, uint32_t keyset, uint64_t slice)
{
    return live_sets_have_keyset(document, keyset) && slice <= newest_slice(document) &&
           newest_slice(document) - slice < slices_kept(document);
}
