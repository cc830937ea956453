/* In which boots other sites know the nodes of this one. After it was put back to an older copy a
 * site lacks keys that it has acknowledged itself, and no mark of another one tells of that. But
 * that one has places of the logs here, and gives them to whoever sends it these: where they are
 * not of these logs, the stream does not begin (put_back.c). So who goes on from a log in its
 * present boot vouches that nothing is missing in it, and says so with each mark that it answers;
 * who has no place at all could not tell. Only what is vouched for by all others counts for bounded
 * checks: "absent" then means, at no site before, this one included. */
#include "base/mutant.h"
#include "link/private.h"

#include <string.h>

/* ---- told ---- */

static bool is_listed(const struct link *self, size_t count, const struct site_source *source)
{
    for (size_t i = 0; i < count; i++) {
        if (self->boots[i].node == source->node) {
            return true; /* One node has one log: of two boots the first one will do. */
        }
    }
    return false;
}

void vouched_fill(struct link *self, const struct outflow *outflow, struct site_marked *message)
{
    const struct inflow *inflow = inflow_find(self, outflow->filter_id, outflow->peer);
    size_t count = 0;

    if (inflow == NULL || inflow->places.state != PLACES_KNOWN ||
        site_life_compare(&inflow->own_life, &outflow->own_life) != 0 ||
        site_life_compare(&inflow->source_life, &outflow->peer_life) != 0) {
        return;
    }
    for (size_t i = 0; i < inflow->nsources && count < DOCUMENT_MAX_NODES; i++) {
        const struct site_source *source = &inflow->sources[i];

        if (!is_listed(self, count, source)) {
            self->boots[count++] = (struct site_boot){
                .node = source->node, .incarnation = source->incarnation, .boot = source->boot};
        }
    }
    message->boots = self->boots;
    message->nboots = count;
    message->boots_all = inflow->nsources == 0 && inflow->places.none && !inflow->places.too_many;
}

/* ---- heard ---- */

void vouched_take(struct inflow *inflow, const struct site_marked *message)
{
    struct vouched *vouched = &inflow->vouched;

    vouched->count = 0;
    vouched->all = message->boots_all;
    if (message->nboots > 0 &&
        heap_grow(&vouched->boots, &vouched->room, message->nboots, sizeof *vouched->boots)) {
        memcpy(vouched->boots, message->boots, message->nboots * sizeof *vouched->boots);
        vouched->count = message->nboots;
    }
}

static bool has(const struct vouched *vouched, const struct router_end *end)
{
    for (size_t i = 0; i < vouched->count; i++) {
        const struct site_boot *one = &vouched->boots[i];

        if (one->node == end->node && one->incarnation == end->incarnation &&
            one->boot == end->boot) {
            return true;
        }
    }
    return vouched->all;
}

bool vouched_has_all(const struct inflow *inflow, const struct router_ends_told *told)
{
    for (size_t i = 0; i < told->count; i++) {
        if (!has(&inflow->vouched, &told->ends[i]) && !MUTANT(SITE_UNVOUCHED)) {
            return false;
        }
    }
    return true;
}

void vouched_void(struct inflow *inflow)
{
    inflow->vouched.count = 0;
    inflow->vouched.all = false;
}

void vouched_fini(struct inflow *inflow)
{
    heap_free(inflow->vouched.boots);
}
