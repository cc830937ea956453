/* Who builds, and whether all have. */
#include "map/growth.h"

#include <string.h>

static const struct growth_node *find_node(const struct growth_view *view, uint32_t id)
{
    for (uint32_t i = 0; i < view->nnodes; i++) {
        if (view->nodes[i].id == id) {
            return &view->nodes[i];
        }
    }
    return NULL;
}

static const struct growth_report *report_of(const struct growth_view *view, uint32_t node,
                                             uint32_t group)
{
    for (size_t i = 0; i < view->nreports; i++) {
        if (view->reports[i].node == node && view->reports[i].group == group) {
            return &view->reports[i];
        }
    }
    return NULL;
}

static uint32_t shards_in(const struct filter_document *document, uint32_t group)
{
    uint32_t count = 0;

    for (uint32_t shard = 0; shard < document_nshards(document); shard++) {
        count += document->content.group_of_shard[shard] == group;
    }
    return count;
}

/* All of it: on the way back a replica may name the wanted one and serve the other, too. */
static bool serves_wanted(const struct growth_view *view, uint32_t node, uint32_t group)
{
    const struct growth_report *report = report_of(view, node, group);

    return report != NULL && report->generation == document_generation(view->document)->id &&
           report->shards_grown >= shards_in(view->document, group);
}

/* The life of the node that lives holds a slot of the group; another life's place is nobody's. */
static bool holds(const struct growth_view *view, const struct growth_node *node, uint32_t group)
{
    return document_slot_of(view->document, group, node->id, node->incarnation) >= 0;
}

/* What one node is to the filter. */
struct standing {
    uint32_t groups; /* that it holds */
    uint32_t grown;  /* of them, as it says now */
    bool pressed;    /* some array is full and the next one takes what comes */
};

static struct standing standing_of(const struct growth_view *view, const struct growth_node *node)
{
    struct standing standing = {0};

    for (uint32_t group = 0; group < view->document->content.ngroups; group++) {
        const struct growth_report *report = report_of(view, node->id, group);

        if (!holds(view, node, group)) {
            continue;
        }
        standing.groups++;
        standing.grown += node->current && serves_wanted(view, node->id, group);
        standing.pressed = standing.pressed || (report != NULL && report->overflow_keys > 0);
    }
    return standing;
}

static bool share_group(const struct growth_view *view, const struct growth_node *a,
                        const struct growth_node *b)
{
    for (uint32_t group = 0; group < view->document->content.ngroups; group++) {
        if (holds(view, a, group) && holds(view, b, group)) {
            return true;
        }
    }
    return false;
}

/* Those chosen so far. */
struct chosen {
    const struct growth_node *nodes[DOCUMENT_MAX_TURNS];
    uint32_t count;
    uint32_t nhosts;
};

static bool has_host(const struct chosen *self, const char *host)
{
    for (uint32_t i = 0; i < self->count; i++) {
        if (strcmp(self->nodes[i]->host, host) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_room_for(const struct growth_view *view, const struct chosen *self,
                         uint32_t max_hosts, const struct growth_node *node)
{
    if (self->count == DOCUMENT_MAX_TURNS ||
        (self->nhosts >= max_hosts && !has_host(self, node->host))) {
        return false;
    }
    for (uint32_t i = 0; i < self->count; i++) {
        if (self->nodes[i] == node || share_group(view, self->nodes[i], node)) {
            return false;
        }
    }
    return true;
}

static void choose(struct chosen *self, const struct growth_node *node)
{
    self->nhosts += !has_host(self, node->host);
    self->nodes[self->count++] = node;
}

static bool is_done(const struct growth_view *view, const struct growth_node *node)
{
    struct standing standing = standing_of(view, node);

    return standing.grown == standing.groups;
}

static void keep_turns(const struct growth_view *view, struct chosen *chosen)
{
    const struct filter_document *document = view->document;

    for (uint32_t i = 0; i < document->nturns; i++) {
        const struct growth_node *node = find_node(view, document->turns[i]);

        if (node != NULL && node->alive && !is_done(view, node)) {
            choose(chosen, node);
        }
    }
}

/* The next one in order of urgency: only of nodes that are known to lag, by what they say now. */
static const struct growth_node *next_node(const struct growth_view *view,
                                           const struct chosen *chosen, uint32_t max_hosts)
{
    const struct growth_node *best = NULL;
    bool best_pressed = false;

    for (uint32_t i = 0; i < view->nnodes; i++) {
        const struct growth_node *node = &view->nodes[i];
        struct standing standing;

        if (!node->alive || !node->current) {
            continue;
        }
        standing = standing_of(view, node);
        if (standing.grown < standing.groups && has_room_for(view, chosen, max_hosts, node) &&
            (best == NULL || standing.pressed > best_pressed ||
             (standing.pressed == best_pressed && node->id < best->id))) {
            best = node;
            best_pressed = standing.pressed;
        }
    }
    return best;
}

uint32_t growth_turns(const struct growth_view *view, uint32_t max_hosts, bool hold,
                      uint32_t turns[DOCUMENT_MAX_TURNS])
{
    struct chosen chosen = {0};
    const struct growth_node *next;

    keep_turns(view, &chosen);
    while (!hold && (next = next_node(view, &chosen, max_hosts)) != NULL) {
        choose(&chosen, next);
    }
    for (uint32_t i = 0; i < chosen.count; i++) {
        turns[i] = chosen.nodes[i]->id;
    }
    return chosen.count;
}

bool growth_turns_same(const struct filter_document *document, const uint32_t *turns,
                       uint32_t nturns)
{
    for (uint32_t i = 0; i < nturns; i++) {
        bool found = false;

        for (uint32_t k = 0; k < document->nturns; k++) {
            found = found || document->turns[k] == turns[i];
        }
        if (!found) {
            return false;
        }
    }
    return nturns == document->nturns;
}

/* ---- the end ---- */

/* Does the member serve the wanted generation, as far as it can be asked? */
static bool is_grown_or_gone(const struct growth_view *view, const struct member *member,
                             uint32_t group, uint32_t *grown)
{
    const struct growth_node *node = find_node(view, member->node);

    if (node == NULL || !node->alive || node->incarnation != member->incarnation) {
        return true;
    }
    if (!node->current || !serves_wanted(view, member->node, group)) {
        return false;
    }
    (*grown)++;
    return true;
}

bool growth_done(const struct growth_view *view)
{
    const struct epoch_content *content = &view->document->content;

    for (uint32_t group = 0; group < content->ngroups; group++) {
        uint32_t grown = 0;

        for (uint32_t i = 0; i < content->rule.replicas; i++) {
            const struct slot *slot = &content->groups[group].slots[i];

            if (!is_grown_or_gone(view, &slot->current, group, &grown) ||
                (slot_is_pair(slot) && !is_grown_or_gone(view, &slot->incoming, group, &grown))) {
                return false;
            }
        }
        if (grown == 0) {
            return false;
        }
    }
    return true;
}

bool growth_sees_most(const struct growth_view *view)
{
    uint32_t members = 0;
    uint32_t alive = 0;

    for (uint32_t i = 0; i < view->nnodes; i++) {
        const struct growth_node *node = &view->nodes[i];
        bool member = false;

        for (uint32_t group = 0; group < view->document->content.ngroups && !member; group++) {
            member = document_slot_of(view->document, group, node->id, 0) >= 0;
        }
        members += member;
        alive += member && node->alive;
    }
    return 2 * alive > members;
}

struct growth_progress growth_progress(const struct growth_view *view)
{
    const struct filter_document *document = view->document;
    uint32_t wanted = document_generation(document)->id;
    struct growth_progress sum = {
        .shards = (uint64_t)document_nshards(document) * document->content.rule.replicas,
    };

    for (size_t i = 0; i < view->nreports; i++) {
        const struct growth_report *report = &view->reports[i];

        if (report->group < document->content.ngroups &&
            (report->growing || report->generation == wanted)) {
            sum.grown += report->shards_grown;
            sum.overflow = report->overflow_keys > sum.overflow ? report->overflow_keys
                                                                : sum.overflow;
        }
    }
    sum.grown = sum.grown < sum.shards ? sum.grown : sum.shards;
    return sum;
}
