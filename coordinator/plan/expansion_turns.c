/* When a filter grows by itself, and whose turn it is to make new arrays. */
#include "coordinator/plan/expansion.h"
#include "filter/sizing.h"
#include "map/history/window.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What is heard within less is one report, or several of one moment. */
#define PACE_MIN_US UINT64_C(20000)
/* The weight of what is older falls to a third within this. */
#define PACE_MEMORY_S  10.0
#define BURST_MEMORY_S 0.25
/* Of a burst, that there is to be room for. */
#define BURST_ROOM_S 15.0

/* A node reads its log and sets bits: slowed down in favour of those who ask, it does at least that
 * much; and a turn takes some reports until the next one is given. */
static const double backfill_keys_per_s = 2e6;
static const double turn_s = 4.0;

static const double margin_s = 30.0;
/* Arrays made anew have other bits, and another estimate of the keys. */
static const double estimate_margin = 1.0 / 64;
static const double pace_margin = 2;

static double smoothed(double before, double now, double age)
{
    double weight = exp(-age);

    return weight * before + (1 - weight) * now;
}

/* A second, since the last note. */
static double arrived(const struct expansion_pace *self, double seconds, uint64_t keys)
{
    return keys > self->keys ? (double)(keys - self->keys) / seconds : 0;
}

double expansion_pace_with(const struct expansion_pace *self, uint64_t now_us, uint64_t keys)
{
    double seconds;

    if (self->at_us == 0 || now_us <= self->at_us) {
        return self->keys_per_s;
    }
    seconds = (double)(now_us - self->at_us) / 1e6;
    return smoothed(self->keys_per_s, arrived(self, seconds, keys), seconds / PACE_MEMORY_S);
}

void expansion_pace_note(struct expansion_pace *self, uint64_t now_us, uint64_t keys)
{
    double seconds;

    if (self->at_us == 0 || now_us < self->at_us) {
        *self = (struct expansion_pace){.at_us = now_us, .keys = keys};
        return;
    }
    if (now_us - self->at_us < PACE_MIN_US) {
        return;
    }
    seconds = (double)(now_us - self->at_us) / 1e6;
    self->keys_per_s = expansion_pace_with(self, now_us, keys);
    self->burst_per_s = smoothed(self->burst_per_s, arrived(self, seconds, keys),
                                 seconds / BURST_MEMORY_S);
    self->at_us = now_us;
    self->keys = keys;
}

double expansion_duration_s(const struct expansion_view *view, uint64_t keys, uint32_t max_hosts)
{
    const struct filter_document *document = view->document;
    uint32_t members = 0;
    double turns;
    double keys_a_node;

    if (document_is_chain(document)) {
        return turn_s; /* Nothing is read back, and all make room at once. */
    }
    for (uint32_t i = 0; i < view->nnodes; i++) {
        for (uint32_t group = 0; group < document->content.ngroups; group++) {
            if (document_slot_of(document, group, view->nodes[i].id, 0) >= 0) {
                members++;
                break;
            }
        }
    }
    members = members > 0 ? members : 1;
    turns = ceil((double)members / (max_hosts > 0 ? max_hosts : 1));
    turns = fmax(turns, (double)document->content.rule.replicas);
    keys_a_node = (double)keys * document->content.rule.replicas / members;
    return turns * (keys_a_node / backfill_keys_per_s + turn_s);
}

bool expansion_due(const struct filter_document *document, uint64_t keys, double keys_per_s,
                   double duration_s)
{
    double capacity = (double)document_generation(document)->capacity;
    double coming = (double)keys + keys_per_s * (duration_s + margin_s);

    return (double)keys >= EXPANSION_FULL_SHARE * capacity ||
           (coming >= capacity && (double)keys >= EXPANSION_LEAST_SHARE * capacity);
}

/* 239,123 is told as 240,000. */
static double three_figures(double number)
{
    double unit = number >= 1000 ? pow(10, floor(log10(number)) - 2) : 1;

    return ceil(number / unit) * unit;
}

uint64_t expansion_least(const struct filter_document *document, uint64_t keys,
                         const struct expansion_coming *coming)
{
    double held = (1 + estimate_margin) * (double)keys;
    double more = pace_margin * coming->keys_per_s * (coming->duration_s + margin_s);
    double least = fmax(held / EXPANSION_FULL_SHARE,
                        fmin(held / EXPANSION_LEAST_SHARE, held + more));
    double all = three_figures((double)window_capacity(document->nslices, (uint64_t)least + 1));

    return all < (double)document->max_capacity ? (uint64_t)all : document->max_capacity;
}

uint64_t expansion_goal(const struct filter_document *document, uint64_t keys, double factor)
{
    uint64_t held = window_capacity(document->nslices, keys);
    double goal = factor * (double)(held > document->capacity ? held : document->capacity);

    return goal < (double)document->max_capacity ? (uint64_t)goal : document->max_capacity;
}

/* Of arrays for one set, in pages: that is how memory is had. */
static uint64_t pages_for(const struct filter_document *document, uint64_t capacity)
{
    const struct sizing_request request = {
        .capacity = window_set_capacity(document->nslices, capacity),
        .rate = window_set_rate(document->nslices, document->rate),
    };
    struct sizing_plan plan;

    return sizing_plan_generation(&request, document->content.shard_bits, &plan) == STATUS_OK
               ? (plan.total_bytes + LINES_PAGE_BYTES - 1) / LINES_PAGE_BYTES
               : UINT64_MAX;
}

uint64_t expansion_burst_goal(const struct filter_document *document, uint64_t keys, double factor,
                              double burst_per_s)
{
    uint64_t goal = expansion_goal(document, keys, factor);
    double coming = (double)keys + burst_per_s * BURST_ROOM_S;
    uint64_t pages;

    if (coming > (double)goal) {
        goal = coming < (double)document->max_capacity ? (uint64_t)coming : document->max_capacity;
    }
    pages = pages_for(document, goal);
    while (goal <= document->max_capacity / 2 && pages_for(document, 2 * goal) == pages) {
        goal *= 2; /* Small arrays have room for more. */
    }
    return goal;
}

/* Who builds, and whether all have. */

static const struct expansion_node *find_node(const struct expansion_view *view, uint32_t id)
{
    for (uint32_t i = 0; i < view->nnodes; i++) {
        if (view->nodes[i].id == id) {
            return &view->nodes[i];
        }
    }
    return NULL;
}

static const struct expansion_report *report_of(const struct expansion_view *view, uint32_t node,
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
static bool serves_wanted(const struct expansion_view *view, uint32_t node, uint32_t group)
{
    const struct expansion_report *report = report_of(view, node, group);

    return report != NULL && report->generation == document_generation(view->document)->id &&
           report->shards_grown >= shards_in(view->document, group);
}

/* The life of the node that lives holds a slot of the group; another life's place is nobody's. */
static bool holds(const struct expansion_view *view, const struct expansion_node *node,
                  uint32_t group)
{
    return document_slot_of(view->document, group, node->id, node->incarnation) >= 0;
}

/* What one node is to the filter. */
struct standing {
    uint32_t groups; /* that it holds */
    uint32_t grown;  /* of them, as it says now */
    bool pressed;    /* some array is full and the next one takes what comes */
};

static struct standing standing_of(const struct expansion_view *view,
                                   const struct expansion_node *node)
{
    struct standing standing = {0};

    for (uint32_t group = 0; group < view->document->content.ngroups; group++) {
        const struct expansion_report *report = report_of(view, node->id, group);

        if (!holds(view, node, group)) {
            continue;
        }
        standing.groups++;
        standing.grown += node->current && serves_wanted(view, node->id, group);
        standing.pressed = standing.pressed || (report != NULL && report->overflow_keys > 0);
    }
    return standing;
}

static bool share_group(const struct expansion_view *view, const struct expansion_node *a,
                        const struct expansion_node *b)
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
    const struct expansion_node *nodes[DOCUMENT_MAX_TURNS];
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

static bool has_room_for(const struct expansion_view *view, const struct chosen *self,
                         uint32_t max_hosts, const struct expansion_node *node)
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

static void choose(struct chosen *self, const struct expansion_node *node)
{
    self->nhosts += !has_host(self, node->host);
    self->nodes[self->count++] = node;
}

static bool is_done(const struct expansion_view *view, const struct expansion_node *node)
{
    struct standing standing = standing_of(view, node);

    return standing.grown == standing.groups;
}

static void keep_turns(const struct expansion_view *view, struct chosen *chosen)
{
    const struct filter_document *document = view->document;

    for (uint32_t i = 0; i < document->nturns; i++) {
        const struct expansion_node *node = find_node(view, document->turns[i]);

        if (node != NULL && node->alive && !is_done(view, node)) {
            choose(chosen, node);
        }
    }
}

/* The next one in order of urgency: only of nodes that are known to lag, by what they say now. */
static const struct expansion_node *next_node(const struct expansion_view *view,
                                              const struct chosen *chosen, uint32_t max_hosts)
{
    const struct expansion_node *best = NULL;
    bool best_pressed = false;

    for (uint32_t i = 0; i < view->nnodes; i++) {
        const struct expansion_node *node = &view->nodes[i];
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

uint32_t expansion_turns(const struct expansion_view *view, uint32_t max_hosts, bool hold,
                         uint32_t turns[DOCUMENT_MAX_TURNS])
{
    struct chosen chosen = {0};
    const struct expansion_node *next;

    keep_turns(view, &chosen);
    while (!hold && (next = next_node(view, &chosen, max_hosts)) != NULL) {
        choose(&chosen, next);
    }
    for (uint32_t i = 0; i < chosen.count; i++) {
        turns[i] = chosen.nodes[i]->id;
    }
    return chosen.count;
}

bool expansion_turns_same(const struct filter_document *document, const uint32_t *turns,
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

void expansion_give_turns(struct filter_document *document, const uint32_t *turns, uint32_t nturns)
{
    assert(nturns <= DOCUMENT_MAX_TURNS);
    memcpy(document->turns, turns, nturns * sizeof *turns);
    document->nturns = nturns;
    document->revision++;
}

/* ---- the end ---- */

/* Does the member serve the wanted generation, as far as it can be asked? */
static bool is_grown_or_gone(const struct expansion_view *view, const struct member *member,
                             uint32_t group, uint32_t *grown)
{
    const struct expansion_node *node = find_node(view, member->node);

    if (node == NULL || !node->alive || node->incarnation != member->incarnation) {
        return true;
    }
    if (!node->current || !serves_wanted(view, member->node, group)) {
        return false;
    }
    (*grown)++;
    return true;
}

bool expansion_done(const struct expansion_view *view)
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

bool expansion_sees_most(const struct expansion_view *view)
{
    uint32_t members = 0;
    uint32_t alive = 0;

    for (uint32_t i = 0; i < view->nnodes; i++) {
        const struct expansion_node *node = &view->nodes[i];
        bool member = false;

        for (uint32_t group = 0; group < view->document->content.ngroups && !member; group++) {
            member = document_slot_of(view->document, group, node->id, 0) >= 0;
        }
        members += member;
        alive += member && node->alive;
    }
    return 2 * alive > members;
}

struct expansion_progress expansion_progress(const struct expansion_view *view)
{
    const struct filter_document *document = view->document;
    uint32_t wanted = document_generation(document)->id;
    struct expansion_progress sum = {
        .shards = (uint64_t)document_nshards(document) * document->content.rule.replicas,
    };

    for (size_t i = 0; i < view->nreports; i++) {
        const struct expansion_report *report = &view->reports[i];

        if (report->group < document->content.ngroups &&
            (report->expanding || report->generation == wanted)) {
            sum.grown += report->shards_grown;
            sum.overflow = report->overflow_keys > sum.overflow ? report->overflow_keys
                                                                : sum.overflow;
        }
    }
    sum.grown = sum.grown < sum.shards ? sum.grown : sum.shards;
    return sum;
}
