/* What anyone may ask anyone, and refusals. */
#include "proto/codec_body.h"

#define WIRE_info_request Orbloom__V1__InfoRequest
static const struct binding info_request_rows[] = {
    ROW(info_request, filter_id, UINT64),
    ROW(info_request, timeout_ms, UINT32),
    ROW(info_request, filter, TEXT),
};
BINDING_TABLE(info_request, info_request, NULL);

static bool has_filter(const void *ours)
{
    return ((const struct info_reply *)ours)->has_filter;
}

/* Said by the filter's being there. */
static enum status get_has_filter(struct codec_arena *arena, const void *wire, void *ours)
{
    struct info_reply *reply = ours;

    (void)arena;
    reply->has_filter = ((const Orbloom__V1__InfoReply *)wire)->filter != NULL;
    reply->filter.name = "";
    return STATUS_OK;
}

#define WIRE_info_reply Orbloom__V1__InfoReply
static const struct binding info_reply_rows[] = {
    ROW(info_reply, status, STATUS),
    ROW(info_reply, message, MESSAGE),
    BY_HAND(info_reply, filter, NULL, get_has_filter),
    OPTIONAL(info_reply, filter, filter_summary, has_filter, NULL),
    LIST(info_reply, replicas, nreplicas, replica_report, UNBOUNDED, STATUS_OK),
};
BINDING_TABLE(info_reply, info_reply, NULL);

/* Nothing is to be said. */
const struct binding_table *binding_stats_request(void)
{
    static const struct binding_table table = {
        .descriptor = &orbloom__v1__stats_request__descriptor,
        .wire_bytes = sizeof(Orbloom__V1__StatsRequest),
    };

    return &table;
}

#define WIRE_stat_value Orbloom__V1__StatValue
static const struct binding stat_value_rows[] = {
    ROW(stat_value, value, UINT64),
    ROW(stat_value, name, TEXT),
};
static BINDING_TABLE(stat_value, stat_value, NULL);

#define WIRE_stats_reply Orbloom__V1__StatsReply
static const struct binding stats_reply_rows[] = {
    ROW(stats_reply, program, TEXT),
    ROW(stats_reply, name, TEXT),
    LIST(stats_reply, values, nvalues, stat_value, UNBOUNDED, STATUS_OK),
};
BINDING_TABLE(stats_reply, stats_reply, NULL);

#define WIRE_error_reply Orbloom__V1__ErrorReply
static const struct binding error_reply_rows[] = {
    ROW(error_reply, status, STATUS),
    ROW(error_reply, message, MESSAGE),
};
BINDING_TABLE(error_reply, error_reply, NULL);
