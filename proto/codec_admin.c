/* The operator's conversation with a coordinator: what it answers. */
#include "proto/codec_body.h"

/* ---- nodes, and what is under way ---- */

#define WIRE_node_summary Orbloom__V1__NodeSummary
static const struct binding node_summary_rows[] = {
    ROW(node_summary, id, UINT32),
    ROW(node_summary, incarnation, UINT64),
    ROW(node_summary, alive, BOOL),
    ROW(node_summary, seen_ago_ms, UINT64),
    ROW(node_summary, memory_limit_bytes, UINT64),
    ROW(node_summary, memory_used_bytes, UINT64),
    ROW(node_summary, replicas_full, UINT32),
    ROW(node_summary, replicas_joining, UINT32),
    ROW(node_summary, replicas_building, UINT32),
    ROW(node_summary, disk_used_bytes, UINT64),
    ROW(node_summary, durable, BOOL),
    ROW(node_summary, draining, BOOL),
    ROW(node_summary, slots, UINT32),
    ROW(node_summary, awaited, MESSAGE),
    ROW(node_summary, replaced_by, TEXT),
    ROW(node_summary, name, TEXT),
    ROW(node_summary, host, TEXT),
    ROW(node_summary, zone, TEXT),
    ROW(node_summary, endpoint, TEXT),
};
static BINDING_TABLE(node_summary, node_summary, NULL);

#define WIRE_change_summary Orbloom__V1__ChangeSummary
static const struct binding change_summary_rows[] = {
    ROW(change_summary, filter_id, UINT64),
    ENUM(change_summary, step, CHANGE_TO_BEGIN, CHANGE_HANDING_OVER),
    ROW(change_summary, slots, UINT32),
    ROW(change_summary, awaited, MESSAGE),
};
static BINDING_TABLE(change_summary, change_summary, NULL);

/* ---- which processes know which features ---- */

#define WIRE_process_features Orbloom__V1__ProcessFeatures
static const struct binding process_features_rows[] = {
    ENUM(process_features, kind, PROCESS_COORDINATOR, PROCESS_ROUTER),
    ROW(process_features, heard, BOOL),
    ROW(process_features, features, UINT64),
    ROW(process_features, name, TEXT),
};
static BINDING_TABLE(process_features, process_features, NULL);

#define WIRE_upgrade_page Orbloom__V1__UpgradePage
static const struct binding upgrade_page_rows[] = {
    ROW(upgrade_page, known, UINT64),
    ROW(upgrade_page, in_use, UINT64),
    LIST(upgrade_page, processes, nprocesses, process_features, UNBOUNDED, STATUS_OK),
};
static BINDING_TABLE(upgrade_page, upgrade_page, NULL);

/* ---- the answer ---- */

static bool says_seen(const void *ours)
{
    return codec_seen_said(&((const struct admin_reply *)ours)->seen);
}

/* Else it is another command's answer, here and below. */
static bool says_upgrade(const void *ours)
{
    return ((const struct admin_reply *)ours)->upgrade.known != 0;
}

static bool says_map(const void *ours)
{
    const struct admin_reply *reply = ours;

    return reply->map.records != NULL || reply->map.key != 0;
}

#define WIRE_admin_reply Orbloom__V1__AdminReply
static const struct binding admin_reply_rows[] = {
    ROW(admin_reply, status, STATUS),
    ROW(admin_reply, created, BOOL),
    ROW(admin_reply, moved, BOOL),
    OPTIONAL(admin_reply, seen, admin_seen, says_seen, NULL),
    ROW(admin_reply, message, MESSAGE),
    LIST(admin_reply, filters, nfilters, filter_summary, UNBOUNDED, STATUS_OK),
    LIST(admin_reply, nodes, nnodes, node_summary, UNBOUNDED, STATUS_OK),
    LIST(admin_reply, changes, nchanges, change_summary, UNBOUNDED, STATUS_OK),
    OPTIONAL(admin_reply, map, map_page, says_map, NULL),
    OPTIONAL(admin_reply, upgrade, upgrade_page, says_upgrade, NULL),
    LIST(admin_reply, replicas, nreplicas, replica_report, UNBOUNDED, STATUS_OK),
};
BINDING_TABLE(admin_reply, admin_reply, NULL);
