/* May a filter be for fewer keys than it is now? Reports are as old as the interval between them,
 * and a load that has just ended is not in them; so who holds it is asked first. */
#include "map/growth_private.h"

/* One that lives, holds some of the filter and has not answered; NULL: all have. */
static const struct growth_node *untold(const struct growth_view *view)
{
    const struct filter_document *document = view->document;

    for (uint32_t i = 0; i < view->nnodes; i++) {
        const struct growth_node *node = &view->nodes[i];

        for (uint32_t group = 0; node->alive && !node->told && group < document->content.ngroups;
             group++) {
            if (document_slot_of(document, group, node->id, 0) >= 0) {
                return node;
            }
        }
    }
    return NULL;
}

/* Has a replica of each slot group said how many keys it has? */
static bool all_groups_told(const struct growth_view *view)
{
    bool told[DOCUMENT_MAX_SHARDS] = {false};
    uint32_t ngroups = view->document->content.ngroups;
    uint32_t count = 0;

    for (size_t i = 0; i < view->nreports; i++) {
        const struct growth_report *report = &view->reports[i];

        if (report->group < ngroups && report->asked && !told[report->group]) {
            told[report->group] = true;
            count++;
        }
    }
    return count == ngroups;
}

enum growth_verdict growth_judge_fewer(const struct growth_view *view, uint32_t *node)
{
    const struct growth_node *waits = untold(view);

    if (waits != NULL) {
        *node = waits->id;
        return GROWTH_VERDICT_KEYS_OLD;
    }
    return all_groups_told(view) ? GROWTH_VERDICT_BEGIN : GROWTH_VERDICT_KEYS_UNKNOWN;
}
