/* replicas.h - the replicas of each filter on each node, and what becomes of those that are
 * being replaced, as `status` prints them.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_REPLICAS_H
#define ORBLOOM_CLI_REPLICAS_H

#include "cli/output.h"
#include "proto/codec.h"

/* A line for each filter and node that holds slot groups of it. */
void replicas_text(const struct admin_reply *reply);

/* A paragraph for each filter with something to say; nothing else. */
void replicas_changes_text(const struct admin_reply *reply);

/* Members "replicas" and "changes" of an open object. */
void replicas_json(struct json *json, const struct admin_reply *reply);
void replicas_changes_json(struct json *json, const struct admin_reply *reply);

/* Filters with shards that have fewer than N FULL replicas: why, and what helps; or that there are
 * none. */
void replicas_lacking_text(const struct admin_reply *reply);
void replicas_lacking_json(struct json *json, const struct admin_reply *reply);

/* What the node's slot groups of the filter are together: the one least ready speaks. */
struct replicas_state {
    uint32_t groups; /* 0: none here */
    uint32_t behind; /* of them not FULL */
    enum replica_state state;
    enum replica_phase phase;
    double progress; /* of those that speak, on average */
    bool not_replaced;
    uint64_t disk_bytes;
};

struct replicas_state replicas_state_of(const struct admin_reply *reply, uint64_t filter_id,
                                        uint32_t node);

/* "JOINING 42 % syncing"; at most REPLICAS_TEXT_BYTES. */
enum { REPLICAS_TEXT_BYTES = 64 };

const char *replicas_state_text(const struct replicas_state *state, char text[REPLICAS_TEXT_BYTES]);

#endif
