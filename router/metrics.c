/* What a router tells with labels: the series of its requests, of its nodes by name, and of users'
 * limits. */
#include "router/private.h"

static enum series_op op_of(enum operation operation)
{
    switch (operation) {
    case OPERATION_ADD:
        return SERIES_ADD;
    case OPERATION_FEED:
        return SERIES_FEED;
    case OPERATION_CHECK:
    case OPERATION_ENDS:
        break;
    }
    return SERIES_CHECK;
}

void router_count_request(struct router *self, const struct client_request *request,
                          enum status status)
{
    series_request(&self->series, op_of(request->operation), status);
}

void router_count_answer(struct router *self, uint64_t now_us, const struct op *op,
                         enum status status, const uint64_t *present, const uint64_t *absent)
{
    enum series_op which = op->keyset != 0 ? SERIES_FEED : op_of(op->operation);

    series_request(&self->series, which, status);
    series_keys(&self->series, which, present, absent, op->count);
    series_duration(&self->series, which, now_us > op->came_us ? now_us - op->came_us : 0);
}

/* Nodes of the list that it has ever had to do with. */
static void tell_nodes(const struct router *self, struct metrics *metrics)
{
    struct series_node nodes[DOCUMENT_MAX_NODES];
    size_t count = 0;

    for (size_t i = 0; i < self->nbackends; i++) {
        const struct node_record *record = node_list_find(&self->documents.nodes,
                                                          self->backends[i].node);

        if (record != NULL) {
            nodes[count++] = (struct series_node){record->name, &self->backends[i].roundtrips};
        }
    }
    series_tell_nodes(nodes, count, metrics);
}

/* ---- users ---- */

/* What a user has of what is limited; `usage`: NULL: nothing yet. */
static uint64_t keys_of(const struct usage *usage)
{
    return usage != NULL ? usage->had : 0;
}

static uint64_t keys_limit_of(const struct user_limits *limits)
{
    return limits->keys_per_s;
}

static uint64_t in_flight_of(const struct usage *usage)
{
    return usage != NULL ? usage->in_flight : 0;
}

static uint64_t in_flight_limit_of(const struct user_limits *limits)
{
    return limits->in_flight;
}

struct limited {
    uint64_t (*limit_of)(const struct user_limits *limits);
    uint64_t (*used_of)(const struct usage *usage); /* NULL: the limit is told */
};

/* Of each user with that limit. */
static void tell_users(const struct router *self, const struct limited *what,
                       struct metrics *metrics)
{
    const struct user_list *users = &self->documents.users;

    for (size_t i = 0; i < users->count; i++) {
        const struct user *user = &users->users[i];
        const struct metrics_label label = {"user", user->name};
        uint64_t limit = what->limit_of(&user->limits);

        if (limit != 0) {
            metrics_count(metrics, &label, 1,
                          what->used_of != NULL
                              ? what->used_of(usages_find(&self->usages, user->id))
                              : limit);
        }
    }
}

static void tell_limits(const struct router *self, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_user_keys_total", METRICS_COUNTER,
                   "keys that the user has had of this router");
    tell_users(self, &(struct limited){keys_limit_of, keys_of}, metrics);
    metrics_family(metrics, "orbloom_user_keys_per_second_limit", METRICS_GAUGE,
                   "... and may have a second of all routers together");
    tell_users(self, &(struct limited){keys_limit_of, NULL}, metrics);
    metrics_family(metrics, "orbloom_user_in_flight_bytes", METRICS_GAUGE,
                   "requests of the user that are under way here");
    tell_users(self, &(struct limited){in_flight_limit_of, in_flight_of}, metrics);
    metrics_family(metrics, "orbloom_user_in_flight_bytes_limit", METRICS_GAUGE,
                   "... and may be at most");
    tell_users(self, &(struct limited){in_flight_limit_of, NULL}, metrics);
}

void router_tell_metrics(const struct router *router, struct metrics *metrics)
{
    series_tell(&router->series, metrics);
    tell_nodes(router, metrics);
    tell_limits(router, metrics);
}
