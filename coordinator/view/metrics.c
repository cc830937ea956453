/* What a coordinator tells with labels: of filters, nodes, users' limits, its store and backups. */
#include "base/heap.h"
#include "coordinator/users/quota.h"
#include "coordinator/view/filter_metrics.h"

static void tell_nodes(const struct coordinator *self, uint64_t now_us, struct metrics *metrics)
{
    const struct node_list *nodes = &self->documents.nodes;

    metrics_family(metrics, "orbloom_node_up", METRICS_GAUGE,
                   "1: this coordinator has heard of the node within node_timeout");
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct metrics_label label = {"node", nodes->nodes[i].name};

        metrics_count(metrics, &label, 1, heard_alive(self, now_us, nodes->nodes[i].id));
    }
}

/* ---- users ---- */

/* What users have of what they may have at most, where there is such a limit. */
static const struct {
    const char *used;
    const char *limit;
    const char *help;
    const char *limit_help;
    size_t used_at;
    size_t limit_at;
} limited[] = {
    {"orbloom_user_filters", "orbloom_user_filters_limit", "filters that the user has made",
     "... and may have made at most", offsetof(struct quota_used, filters),
     offsetof(struct user_limits, filters)},
    {"orbloom_user_array_bytes", "orbloom_user_array_bytes_limit",
     "arrays of filters that the user has made, of one replica", "... and may have at most",
     offsetof(struct quota_used, bytes), offsetof(struct user_limits, bytes)},
};

static uint64_t number_at(const void *within, size_t offset)
{
    return *(const uint64_t *)((const uint8_t *)within + offset);
}

/* Of users with that limit: what they have, or the limit itself. */
static void tell_users(const struct user_list *users, const struct quota_used *used, size_t which,
                       bool limits, struct metrics *metrics)
{
    metrics_family(metrics, limits ? limited[which].limit : limited[which].used, METRICS_GAUGE,
                   limits ? limited[which].limit_help : limited[which].help);
    for (size_t i = 0; i < users->count; i++) {
        const struct user *user = &users->users[i];
        const struct metrics_label label = {"user", user->name};
        uint64_t limit = number_at(&user->limits, limited[which].limit_at);

        if (limit != 0) {
            metrics_count(metrics, &label, 1,
                          limits ? limit : number_at(&used[i], limited[which].used_at));
        }
    }
}

static void tell_limits(const struct coordinator *self, struct metrics *metrics)
{
    const struct user_list *users = &self->documents.users;
    struct quota_used *used = heap_zalloc(users->count, sizeof *used);

    if (used == NULL || quota_sum(self, used) != STATUS_OK) {
        metrics_fail(metrics, STATUS_NOMEM);
    }
    for (size_t i = 0; metrics->status == STATUS_OK && i < sizeof limited / sizeof limited[0];
         i++) {
        tell_users(users, used, i, false, metrics);
        tell_users(users, used, i, true, metrics);
    }
    heap_free(used);
}

/* ---- its store ---- */

/* Whoever was started lately can't know of older ones. */
static void tell_backup(const struct coordinator *self, uint64_t now_us, struct metrics *metrics)
{
    uint64_t since_us = self->backup_us != 0 ? self->backup_us : self->started_us;

    metrics_family(metrics, "orbloom_map_backup_age_seconds", METRICS_GAUGE,
                   "since the last map backup that this coordinator served; since its start, if it "
                   "has served none");
    metrics_seconds(metrics, NULL, 0, since_us != 0 && now_us > since_us ? now_us - since_us : 0);
}

void coordinator_tell_metrics(struct coordinator *coordinator, uint64_t now_us,
                              const struct histogram *store, struct metrics *metrics)
{
    filter_metrics_tell(coordinator, now_us, metrics);
    tell_nodes(coordinator, now_us, metrics);
    tell_limits(coordinator, metrics);
    tell_backup(coordinator, now_us, metrics);
    metrics_family(metrics, "orbloom_coordinator_store_seconds", METRICS_HISTOGRAM,
                   "how long reads and writes of the store took");
    metrics_histogram(metrics, NULL, 0, store);
}
