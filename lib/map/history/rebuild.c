/* While a rebuild is open the document names two keysets, the one that serves first. */
#include "map/history/rebuild.h"

#include "base/mutant.h"

uint32_t rebuild_keyset(const struct filter_document *document)
{
    return document->content.nkeysets > 1 ? document->content.keysets[1].id : 0;
}

uint32_t rebuild_serving(const struct filter_document *document)
{
    return document->content.keysets[0].id;
}

bool rebuild_takes(const struct filter_document *document, uint32_t keyset)
{
    uint32_t open = rebuild_keyset(document);

    if (MUTANT(REBUILD_ANY_LIST)) {
        keyset = 0;
    }
    return document->content.state == FILTER_ACTIVE && open != 0 && (keyset == 0 || keyset == open);
}
