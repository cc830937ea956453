/* What a router tells with labels: the series of its requests, and of its nodes by name. */
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

void router_tell_metrics(const struct router *router, struct metrics *metrics)
{
    series_tell(&router->series, metrics);
    tell_nodes(router, metrics);
}
