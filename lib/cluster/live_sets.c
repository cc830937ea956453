#include "cluster/live_sets.h"

/* As many as the window has, and the one before them. Without a window there is slice 0 alone. */
static uint64_t slices_kept(const struct filter_document *document)
{
    uint64_t newest = document->content.newest_slice;
    uint64_t kept = (uint64_t)document->nslices + 1;

    return newest == 0 ? 1 : newest < kept ? newest : kept;
}

uint32_t live_sets_count(const struct filter_document *document)
{
    return document->content.nlineages * (uint32_t)slices_kept(document);
}

/* The serving lineage is the first one, wherever the document has it. */
static uint32_t place_of(const struct epoch_content *content, uint32_t rank)
{
    uint32_t serving = 0;

    while (serving + 1 < content->nlineages && !content->lineages[serving].serving) {
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
    const struct lineage *lineage = &content->lineages[place_of(content, at / kept)];

#ifdef ORBLOOM_MUTANT_REBUILD_ADDS_TO_NEXT
    if (content->nlineages > 1 && lineage->serving) {
        return (struct live_set){
            .lineage = lineage->id, .slice = content->newest_slice - at % kept, .read = true};
    }
#endif
    return (struct live_set){
        .lineage = lineage->id,
        .slice = content->newest_slice - at % kept,
        .read = lineage->serving,
        .written = at % kept == 0,
    };
}

bool live_sets_have_lineage(const struct filter_document *document, uint32_t lineage)
{
    for (uint32_t i = 0; i < document->content.nlineages; i++) {
        if (document->content.lineages[i].id == lineage) {
            return true;
        }
    }
    return false;
}

bool live_sets_have(const struct filter_document *document, uint32_t lineage, uint64_t slice)
{
    return live_sets_have_lineage(document, lineage) && slice <= document->content.newest_slice &&
           document->content.newest_slice - slice < slices_kept(document);
}
