/* When a filter grows by itself. */
#include "map/growth_private.h"
#include "map/window.h"

#include <math.h>

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
static double arrived(const struct growth_pace *self, double seconds, uint64_t keys)
{
    return keys > self->keys ? (double)(keys - self->keys) / seconds : 0;
}

double growth_pace_with(const struct growth_pace *self, uint64_t now_us, uint64_t keys)
{
    double seconds;

    if (self->at_us == 0 || now_us <= self->at_us) {
        return self->keys_per_s;
    }
    seconds = (double)(now_us - self->at_us) / 1e6;
    return smoothed(self->keys_per_s, arrived(self, seconds, keys), seconds / PACE_MEMORY_S);
}

void growth_pace_note(struct growth_pace *self, uint64_t now_us, uint64_t keys)
{
    double seconds;

    if (self->at_us == 0 || now_us < self->at_us) {
        *self = (struct growth_pace){.at_us = now_us, .keys = keys};
        return;
    }
    if (now_us - self->at_us < PACE_MIN_US) {
        return;
    }
    seconds = (double)(now_us - self->at_us) / 1e6;
    self->keys_per_s = growth_pace_with(self, now_us, keys);
    self->burst_per_s = smoothed(self->burst_per_s, arrived(self, seconds, keys),
                                 seconds / BURST_MEMORY_S);
    self->at_us = now_us;
    self->keys = keys;
}

double growth_duration_s(const struct growth_view *view, uint64_t keys, uint32_t max_hosts)
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

bool growth_due(const struct filter_document *document, uint64_t keys, double keys_per_s,
                double duration_s)
{
    double capacity = (double)document_generation(document)->capacity;
    double coming = (double)keys + keys_per_s * (duration_s + margin_s);

    return (double)keys >= GROWTH_FULL_SHARE * capacity ||
           (coming >= capacity && (double)keys >= GROWTH_LEAST_SHARE * capacity);
}

/* 239,123 is told as 240,000. */
static double three_figures(double number)
{
    double unit = number >= 1000 ? pow(10, floor(log10(number)) - 2) : 1;

    return ceil(number / unit) * unit;
}

uint64_t growth_least(const struct filter_document *document, uint64_t keys,
                      const struct growth_coming *coming)
{
    double held = (1 + estimate_margin) * (double)keys;
    double more = pace_margin * coming->keys_per_s * (coming->duration_s + margin_s);
    double least = fmax(held / GROWTH_FULL_SHARE, fmin(held / GROWTH_LEAST_SHARE, held + more));
    double all = three_figures((double)window_capacity(document->nslices, (uint64_t)least + 1));

    return all < (double)document->max_capacity ? (uint64_t)all : document->max_capacity;
}

/* Else what was told to be done would be followed by another change, which nobody asked for. */
bool growth_judge_on(const struct filter_document *document, const struct growth_wish *wish,
                     uint64_t keys, struct growth_answer *answer)
{
    if (wish->coming == NULL || wish->capacity == 0 || document->when_full != WHEN_FULL_EXPAND) {
        return false;
    }
    answer->least = growth_least(document, keys, wish->coming);
    return wish->capacity < answer->least;
}

uint64_t growth_goal(const struct filter_document *document, uint64_t keys, double factor)
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

uint64_t growth_burst_goal(const struct filter_document *document, uint64_t keys, double factor,
                           double burst_per_s)
{
    uint64_t goal = growth_goal(document, keys, factor);
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
