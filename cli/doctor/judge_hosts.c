/* Replicas of one slot group that share a host, or all of a zone: what takes one takes the others.
 */
#include "base/heap.h"
#include "cli/doctor/judge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A replica that counts, where it is. */
struct placed {
    uint64_t filter;
    uint32_t group;
    const struct node_summary *node;
};

static int by_group(const void *a, const void *b)
{
    const struct placed *one = a;
    const struct placed *other = b;

    if (one->filter != other->filter) {
        return one->filter < other->filter ? -1 : 1;
    }
    return one->group < other->group ? -1 : one->group > other->group;
}

static const struct node_summary *node_of(const struct admin_reply *cluster, uint32_t id)
{
    for (size_t i = 0; i < cluster->nnodes; i++) {
        if (cluster->nodes[i].id == id) {
            return &cluster->nodes[i];
        }
    }
    return NULL;
}

static size_t place_all(const struct admin_reply *cluster, struct placed *out)
{
    size_t count = 0;

    for (size_t i = 0; i < cluster->nreplicas; i++) {
        const struct replica_report *report = &cluster->replicas[i];
        const struct node_summary *node = node_of(cluster, report->node_id);

        if (report->state == REPLICA_FULL && node != NULL) {
            out[count++] = (struct placed){report->filter_id, report->group, node};
        }
    }
    qsort(out, count, sizeof *out, by_group);
    return count;
}

/* ---- one filter ---- */

struct sharing {
    uint32_t groups;
    uint32_t on_one_host;
    uint32_t in_one_zone;
    const struct node_summary *node; /* one of two on one host */
    const char *zone;
};

static void weigh_group(const struct placed *group, size_t count, struct sharing *sum)
{
    const struct node_summary *shares = NULL;
    bool one_zone = count > 1;

    for (size_t i = 1; i < count; i++) {
        one_zone = one_zone && strcmp(group[i].node->zone, group[0].node->zone) == 0;
        for (size_t k = 0; k < i; k++) {
            shares = strcmp(group[i].node->host, group[k].node->host) == 0 ? group[i].node : shares;
        }
    }
    sum->groups++;
    sum->on_one_host += shares != NULL;
    sum->node = shares != NULL ? shares : sum->node;
    sum->in_one_zone += one_zone;
    sum->zone = one_zone ? group[0].node->zone : sum->zone;
}

static const char *name_of(const struct admin_reply *cluster, uint64_t id)
{
    for (size_t i = 0; i < cluster->nfilters; i++) {
        if (cluster->filters[i].id == id) {
            return cluster->filters[i].name;
        }
    }
    return NULL;
}

static uint32_t count_zones(const struct admin_reply *cluster)
{
    uint32_t zones = 0;

    for (size_t i = 0; i < cluster->nnodes; i++) {
        bool seen = false;

        for (size_t k = 0; k < i; k++) {
            seen = seen || strcmp(cluster->nodes[k].zone, cluster->nodes[i].zone) == 0;
        }
        zones += !seen;
    }
    return zones;
}

static void tell(const struct admin_reply *cluster, uint64_t id, const struct sharing *sum,
                 struct findings *out)
{
    const char *name = name_of(cluster, id);

    if (name == NULL) {
        return;
    }
    if (sum->on_one_host > 0) {
        findings_tell(out, SEVERITY_WARNING, "host", name,
                      "%" PRIu32 " of %" PRIu32 " slot groups have several replicas on one host, "
                      "such as %s: what ends that machine ends them together",
                      sum->on_one_host, sum->groups, sum->node->host);
        findings_mend(out, "start a node on another host, then `orbloom node drain %s`",
                      sum->node->name);
    }
    if (sum->in_one_zone > 0 && count_zones(cluster) > 1) {
        findings_tell(out, SEVERITY_INFO, "zone", name,
                      "%" PRIu32 " of %" PRIu32 " slot groups have all their replicas in one zone, "
                      "such as %s",
                      sum->in_one_zone, sum->groups, sum->zone);
        findings_mend(out, "start nodes in the other zones, then `orbloom rebalance`");
    }
}

/* Those of one group, and those of one filter, are together. */
static void judge_placed(const struct admin_reply *cluster, const struct placed *all, size_t count,
                         struct findings *out)
{
    struct sharing sum = {0};

    for (size_t i = 0; i < count;) {
        size_t end = i + 1;

        while (end < count && by_group(&all[i], &all[end]) == 0) {
            end++;
        }
        weigh_group(&all[i], end - i, &sum);
        if (end == count || all[end].filter != all[i].filter) {
            tell(cluster, all[i].filter, &sum, out);
            sum = (struct sharing){0};
        }
        i = end;
    }
}

void judge_hosts(const struct gathered *gathered, struct findings *out)
{
    const struct admin_reply *cluster = gathered->cluster;
    struct placed *all;

    if (cluster == NULL) {
        return;
    }
    all = heap_alloc(cluster->nreplicas + 1, sizeof *all);
    if (all == NULL) {
        findings_omit(out, "host", "memory is out");
        return;
    }
    judge_placed(cluster, all, place_all(cluster, all), out);
    heap_free(all);
}
