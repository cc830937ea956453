/* Numbers are given by a counter in the epoch's content, so that an aborted rebuild's number
 * never comes back. */
#include "map/lineage.h"

#include "base/mutant.h"

#include <assert.h>

void lineage_first(struct epoch_content *content)
{
    content->last_lineage = 1;
    content->nlineages = 1;
    content->lineages[0] = (struct lineage){.id = 1, .serving = true};
}

uint32_t lineage_next(const struct epoch_content *content)
{
    if (MUTANT(LINEAGE_AGAIN)) {
        return content->lineages[content->nlineages - 1].id + 1; /* Also of one that was aborted. */
    }
    return content->last_lineage < UINT32_MAX ? content->last_lineage + 1 : 0;
}

void lineage_add(struct epoch_content *content)
{
    uint32_t id = lineage_next(content);

    assert(id != 0 && content->nlineages < DOCUMENT_MAX_LINEAGES);
    content->last_lineage = id;
    content->lineages[content->nlineages++] = (struct lineage){.id = id};
}

void lineage_skip(struct epoch_content *content, uint32_t numbers)
{
    uint32_t left = UINT32_MAX - content->last_lineage;

    content->last_lineage += numbers < left ? numbers : left;
}

const char *lineage_fault(const struct filter_document *document)
{
    const struct epoch_content *content = &document->content;
    bool serving = false;

    if (content->nlineages == 0 || content->nlineages > DOCUMENT_MAX_LINEAGES) {
        return "there are no lineages, or too many";
    }
    for (uint32_t i = 0; i < content->nlineages; i++) {
        uint32_t id = content->lineages[i].id;

        if (id == 0 || id > content->last_lineage) {
            return "a lineage has no number, or one that was never given";
        }
        for (uint32_t k = 0; k < i; k++) {
            if (id == content->lineages[k].id) {
                return "two lineages have one number";
            }
        }
        serving = serving || content->lineages[i].serving;
    }
    return serving ? NULL : "no lineage serves";
}
