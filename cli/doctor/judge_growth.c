/* Growth that stands still, was aborted, or will not find the memory that it takes. */
#include "base/number.h"
#include "cli/doctor/judge.h"
#include "cli/show/expansion.h"

#include <inttypes.h>

/* ---- what there is ---- */

/* Has nothing of it moved between the two looks? */
static bool is_stuck(const struct gathered *gathered, const struct filter_summary *filter)
{
    const struct admin_reply *earlier = gathered->earlier;

    if (earlier == NULL || gathered->looked_us < JUDGE_STUCK_US) {
        return false;
    }
    for (size_t i = 0; i < earlier->nfilters; i++) {
        if (earlier->filters[i].id == filter->id) {
            const struct expansion_state was = expansion_state_of(earlier, &earlier->filters[i]);
            const struct expansion_state is = expansion_state_of(gathered->cluster, filter);

            return was.running && is.wanted == was.wanted && is.grown == was.grown &&
                   is.share <= was.share && earlier->filters[i].revision == filter->revision;
        }
    }
    return false;
}

static void judge_running(const struct gathered *gathered, const struct filter_summary *filter,
                          struct findings *out)
{
    struct expansion_state state = expansion_state_of(gathered->cluster, filter);
    char time[NUMBER_TEXT_BYTES];

    if (is_stuck(gathered, filter)) {
        findings_tell(out, SEVERITY_WARNING, "growth", filter->name,
                      "%.0f %% there, and has not moved for %s; awaited: %s", 100 * state.share,
                      number_show_duration(gathered->looked_us, time), filter->growth_awaited);
        findings_mend(out,
                      "see that what is awaited comes; or take it back: `orbloom expand %s "
                      "--abort`",
                      filter->name);
    } else {
        findings_tell(out, SEVERITY_INFO, "growth", filter->name, "grows, %.0f %% there",
                      100 * state.share);
    }
}

static void judge_growing(const struct gathered *gathered, const struct filter_summary *filter,
                          struct findings *out)
{
    if (filter->growth_refused[0] != '\0') {
        return; /* judge_fill() tells it with how full the filter is. */
    }
    if (expansion_is_running(filter)) {
        judge_running(gathered, filter, out);
    } else if (filter->growth_held) {
        findings_tell(out, SEVERITY_INFO, "growth", filter->name,
                      "its growth was aborted; it does not grow by itself");
        findings_mend(out, "`orbloom expand %s --capacity KEYS` lets it grow again", filter->name);
    }
}

/* ---- what is to come ---- */

/* What the filter's next growth takes on the node beyond what it has: larger arrays in the place of
 * the present ones, and while they are built one shard more. */
static uint64_t need(const struct admin_reply *cluster, const struct filter_summary *filter,
                     uint32_t node)
{
    double share = (double)filter->max_capacity / (double)filter->capacity;
    uint64_t held = 0;

    share = share < JUDGE_GROWTH_SHARE ? share : JUDGE_GROWTH_SHARE;
    for (size_t i = 0; i < cluster->nreplicas; i++) {
        if (cluster->replicas[i].filter_id == filter->id && cluster->replicas[i].node_id == node) {
            held += cluster->replicas[i].bytes;
        }
    }
    return held == 0
               ? 0
               : (uint64_t)((double)held * (share - 1)) + (uint64_t)((double)filter->shard_bytes);
}

struct largest {
    const struct filter_summary *filter; /* NULL: none grows by itself */
    uint64_t bytes;
};

/* Growths come one after the other, so the largest is what there must be room for. */
static struct largest largest_growth(const struct admin_reply *cluster, uint32_t node)
{
    struct largest largest = {0};

    for (size_t i = 0; i < cluster->nfilters; i++) {
        if (expansion_at_of(&cluster->filters[i]).latest > 0) {
            uint64_t bytes = need(cluster, &cluster->filters[i], node);

            if (bytes > largest.bytes) {
                largest = (struct largest){&cluster->filters[i], bytes};
            }
        }
    }
    return largest;
}

static void judge_room(const struct admin_reply *cluster, const struct node_summary *node,
                       struct findings *out)
{
    struct largest largest = largest_growth(cluster, node->id);
    uint64_t free_bytes = node->memory_limit_bytes > node->memory_used_bytes
                              ? node->memory_limit_bytes - node->memory_used_bytes
                              : 0;
    char takes[NUMBER_TEXT_BYTES];
    char left[NUMBER_TEXT_BYTES];

    if (node->alive && largest.bytes > free_bytes) {
        findings_tell(out, SEVERITY_WARNING, "memory", node->name,
                      "%s of its memory_limit is left, and filter %s takes about %s here to become "
                      "%d times as large",
                      number_show_bytes(free_bytes, left), largest.filter->name,
                      number_show_bytes(largest.bytes, takes), JUDGE_GROWTH_SHARE);
        findings_mend(out,
                      "raise `memory_limit` of %s and restart it, or start further nodes and "
                      "say `orbloom rebalance`",
                      node->name);
    }
}

void judge_growth(const struct gathered *gathered, struct findings *out)
{
    const struct admin_reply *cluster = gathered->cluster;

    for (size_t i = 0; cluster != NULL && i < cluster->nfilters; i++) {
        judge_growing(gathered, &cluster->filters[i], out);
    }
    for (size_t i = 0; cluster != NULL && i < cluster->nnodes; i++) {
        judge_room(cluster, &cluster->nodes[i], out);
    }
}
