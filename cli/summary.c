/* Tables and JSON of filters and nodes, shared by `info` and `status`. */
#include "cli/summary.h"

#include "base/number.h"
#include "cli/show/expansion.h"
#include "cli/show/expiry.h"
#include "cli/show/load.h"
#include "cli/show/rebuild.h"
#include "cli/show/window.h"
#include "map/acks.h"
#include "map/history/window.h"
#include "map/staleness.h"
#include "proto/replica_report.h"

#include <inttypes.h>

enum { MS_PER_S = 1000 };

uint64_t summary_copy_bytes(const struct filter_summary *filter)
{
    return filter->shard_bytes * filter->nshards * window_sets(filter->nslices);
}

static double bits_per_key(const struct filter_summary *filter)
{
    double bits = 8.0 * (double)summary_copy_bytes(filter);

    return filter->capacity > 0 ? bits / (double)filter->capacity : 0;
}

const char *summary_joining_note(void)
{
    return "\nJOINING: the replica is new on its node, or the node was started anew without what "
           "it "
           "held.\n"
           "It takes adds and does not count, so its filter stays safe with one replica fewer. "
           "With a\n"
           "log on disk it is copied from the others and becomes FULL; what is kept in memory only "
           "is\n"
           "not. With too few FULL replicas left: orbloom help shard; what is kept in memory only "
           "is\n"
           "dropped (orbloom drop NAME --confirmed-off NODES), created again, and its keys added "
           "again.\n";
}

static void bound_text(const struct filter_summary *filter)
{
    char text[NUMBER_TEXT_BYTES];

    if (filter->max_staleness == staleness_of(0)) {
        (void)printf(
            "bound         \"absent\" counts all that any site acknowledged before the check "
            "(max-staleness 0)\n");
    } else if (filter->max_staleness != 0) {
        (void)printf("bound         \"absent\" counts all that any site acknowledged more than %s "
                     "before the check\n",
                     staleness_show(filter->max_staleness, text));
    }
}

static void acks_text(const struct filter_summary *filter)
{
    if (filter->acks == ACKS_EACH) {
        (void)printf(
            "acks          each: an add is acknowledged once each site that counts has it\n");
    } else if (filter->acks != 0) {
        (void)printf("acks          %" PRIu32
                     ": an add is acknowledged once so many sites that count "
                     "have it\n",
                     filter->acks);
    }
}

void summary_filter_text(const struct filter_summary *filter)
{
    char uid[FILTER_UID_TEXT_BYTES];
    char a[NUMBER_TEXT_BYTES];
    char b[NUMBER_TEXT_BYTES];

    (void)printf("filter        %s (id %" PRIu64 ", %s)\n", filter->name, filter->id,
                 filter_state_name(filter->state));
    (void)printf("uid           %s\n", filter_uid_show(&filter->uid, uid));
    (void)printf("capacity      %s keys at %s\n", number_show_count(filter->capacity, a),
                 number_show_rate(filter->rate, b));
    (void)printf("quorums       N=%u W=%u R=%u\n", filter->rule.replicas, filter->rule.write,
                 filter->rule.read);
    (void)printf("policies      when unavailable: %s; when full: %s\n",
                 when_unavailable_name(filter->when_unavailable),
                 when_full_name(filter->when_full));
    bound_text(filter);
    acks_text(filter);
    (void)printf("kept in       %s; key log %s; hash %s\n", durability_name(filter->durability),
                 keylog_name(filter->keylog), hash_kind_name(filter->hash));
    (void)printf("size          %s a copy, %.2f bits a key, %u shards of %s, k = %u\n",
                 number_show_bytes(summary_copy_bytes(filter), a), bits_per_key(filter),
                 filter->nshards, number_show_bytes(filter->shard_bytes, b), 8 * filter->z);
    (void)printf("epoch         %" PRIu64 ", revision %" PRIu64 "\n", filter->epoch,
                 filter->revision);
    if (filter->owner != 0) {
        (void)printf("made by       the user of id %" PRIu32 " (orbloom user list)\n",
                     filter->owner);
    }
}

void summary_filters_text(const struct admin_reply *reply)
{
    if (reply->nfilters == 0) {
        (void)printf("no filters; make one: orbloom create NAME --capacity 10M --fpr 1%%\n");
        return;
    }
    (void)printf("%-24s %-9s %15s %8s %6s %-8s %10s %15s  %s\n", "FILTER", "STATE", "CAPACITY",
                 "RATE", "N/W/R", "HASH", "COPY", "KEYS (ABOUT)", "REPLICAS");
    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];
        struct report_sum sum = report_summarize(reply->replicas, reply->nreplicas, filter->id);
        char capacity[NUMBER_TEXT_BYTES];
        char rate[NUMBER_TEXT_BYTES];
        char bytes[NUMBER_TEXT_BYTES];
        char keys[NUMBER_TEXT_BYTES];

        (void)printf("%-24s %-9s %15s %8s %2u/%u/%u %-8s %10s %15s  %u FULL %u JOINING %u "
                     "BUILDING\n",
                     filter->name, filter_state_name(filter->state),
                     number_show_count(filter->capacity, capacity),
                     number_show_rate(filter->rate, rate), filter->rule.replicas,
                     filter->rule.write, filter->rule.read, hash_kind_name(filter->hash),
                     number_show_bytes(summary_copy_bytes(filter), bytes),
                     number_show_count(report_sum_keys(&sum, filter->nslices), keys), sum.full,
                     sum.joining, sum.building);
    }
}

static void show_state(const struct node_summary *node, char *text, size_t size)
{
    double ago_s = (double)node->seen_ago_ms / MS_PER_S;

    if (node->alive && node->draining) {
        (void)snprintf(text, size, node->slots > 0 ? "draining" : "drained");
    } else if (node->alive) {
        (void)snprintf(text, size, "up");
    } else if (node->seen_ago_ms > 0) {
        (void)snprintf(text, size, "silent %.0f s", ago_s);
    } else {
        (void)snprintf(text, size, "not heard");
    }
}

void summary_nodes_text(const struct admin_reply *reply)
{
    if (reply->nnodes == 0) {
        (void)printf("no nodes; start orbloom-node with this coordinator's endpoint\n");
        return;
    }
    (void)printf("%-4s %-14s %-14s %-10s %-26s %-16s %-11s %s\n", "ID", "NODE", "HOST", "ZONE",
                 "ENDPOINT", "INCARNATION", "STATE", "MEMORY / DISK / REPLICAS");
    for (size_t i = 0; i < reply->nnodes; i++) {
        const struct node_summary *node = &reply->nodes[i];
        char state[NUMBER_TEXT_BYTES];
        char used[NUMBER_TEXT_BYTES];
        char limit[NUMBER_TEXT_BYTES];
        char disk[NUMBER_TEXT_BYTES];

        show_state(node, state, sizeof state);
        (void)printf("%-4u %-14s %-14s %-10s %-26s %016" PRIx64
                     " %-11s %s of %s / %s / %u FULL %u JOINING %u BUILDING\n",
                     node->id, node->name, node->host, node->zone, node->endpoint,
                     node->incarnation, state, number_show_bytes(node->memory_used_bytes, used),
                     number_show_bytes(node->memory_limit_bytes, limit),
                     node->durable ? number_show_bytes(node->disk_used_bytes, disk) : "none",
                     node->replicas_full, node->replicas_joining, node->replicas_building);
    }
}

/* Its replicas are there on paper only. */
static void silent_text(const struct node_summary *node)
{
    if (!node->alive && node->slots > 0) {
        (void)printf(
            "\n%s has not been heard of for %.0f s: %u replica%s of slot groups %s missing. "
            "They move by themselves\nafter the coordinator's replace_after, and at once "
            "with: orbloom node drain %s\n",
            node->name, (double)node->seen_ago_ms / MS_PER_S, node->slots,
            node->slots == 1 ? "" : "s", node->slots == 1 ? "is" : "are", node->name);
    }
}

void summary_moves_text(const struct admin_reply *reply)
{
    for (size_t i = 0; i < reply->nnodes; i++) {
        const struct node_summary *node = &reply->nodes[i];
        bool replaced = node->replaced_by[0] != '\0';

        if (!replaced && !node->draining && node->awaited[0] == '\0') {
            silent_text(node);
            continue;
        }
        (void)printf("\n%s%s%s: ", node->name,
                     replaced         ? " is replaced by "
                     : node->draining ? " is drained"
                                      : " is silent, its replicas are to move",
                     node->replaced_by);
        if (node->slots == 0) {
            (void)printf("nothing is left on it. When its process has ended: orbloom node remove "
                         "%s\n",
                         node->name);
        } else {
            (void)printf("%u replica%s of slot groups %s left.\n", node->slots,
                         node->slots == 1 ? "" : "s", node->slots == 1 ? "is" : "are");
        }
        if (node->awaited[0] != '\0') {
            (void)printf("Awaited: %s\n", node->awaited);
        }
    }
}

void summary_keys_text(const struct admin_reply *reply)
{
    uint64_t left = reply->keys.records_left;

    if (left > 0) {
        (void)printf("\n%" PRIu64
                     " record%s of the store %s signed with an older cluster key still; "
                     "coordinators sign them anew\n",
                     left, left == 1 ? "" : "s", left == 1 ? "is" : "are");
    }
    for (size_t i = 0; i < reply->keys.nbehind; i++) {
        const struct key_use *one = &reply->keys.behind[i];

        (void)printf("%s%s %s has another cluster key first: %016" PRIx64 "\n", i == 0 ? "\n" : "",
                     one->kind == PROCESS_ROUTER ? "router" : "node", one->name, one->key);
    }
}

void summary_keys_json(struct json *json, const char *name, const struct admin_reply *reply)
{
    char signing[17];

    (void)snprintf(signing, sizeof signing, "%016" PRIx64, reply->keys.signing);
    json_begin(json, name, '{');
    json_text(json, "signing", signing);
    json_count(json, "records_left", reply->keys.records_left);
    json_begin(json, "behind", '[');
    for (size_t i = 0; i < reply->keys.nbehind; i++) {
        json_text(json, NULL, reply->keys.behind[i].name);
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void text_of_number(struct json *json, const char *name, uint64_t value)
{
    char text[NUMBER_TEXT_BYTES];

    (void)snprintf(text, sizeof text, "%016" PRIx64, value);
    json_text(json, name, text);
}

static void bound_json(struct json *json, const struct filter_summary *filter)
{
    if (filter->max_staleness == 0) {
        json_none(json, "max_staleness_us");
    } else {
        json_count(json, "max_staleness_us", staleness_bound(filter->max_staleness));
    }
}

void summary_filter_json(struct json *json, const struct filter_summary *filter)
{
    char acks[NUMBER_TEXT_BYTES];
    char uid[FILTER_UID_TEXT_BYTES];

    json_text(json, "name", filter->name);
    json_count(json, "id", filter->id);
    json_text(json, "uid", filter_uid_show(&filter->uid, uid));
    json_text(json, "state", filter_state_name(filter->state));
    json_count(json, "revision", filter->revision);
    json_count(json, "owner", filter->owner);
    json_count(json, "epoch", filter->epoch);
    json_count(json, "capacity", filter->capacity);
    json_count(json, "max_capacity", filter->max_capacity);
    json_number(json, "rate", filter->rate);
    json_count(json, "replicas", filter->rule.replicas);
    json_count(json, "write_quorum", filter->rule.write);
    json_count(json, "read_quorum", filter->rule.read);
    json_text(json, "hash", hash_kind_name(filter->hash));
    json_text(json, "when_unavailable", when_unavailable_name(filter->when_unavailable));
    json_text(json, "when_full", when_full_name(filter->when_full));
    bound_json(json, filter);
    json_text(json, "acks", acks_show(filter->acks, acks));
    json_text(json, "keylog", keylog_name(filter->keylog));
    json_text(json, "durability", durability_name(filter->durability));
    json_count(json, "shards", filter->nshards);
    json_count(json, "slot_groups", filter->ngroups);
    json_count(json, "shard_bytes", filter->shard_bytes);
    json_count(json, "copy_bytes", summary_copy_bytes(filter));
    json_count(json, "hashes", 8 * filter->z);
    json_number(json, "bits_per_key", bits_per_key(filter));
    summary_loss_json(json, filter);
}

void summary_replica_json(struct json *json, const struct replica_report *replica)
{
    json_begin(json, NULL, '{');
    json_count(json, "group", replica->group);
    json_count(json, "node", replica->node_id);
    text_of_number(json, "incarnation", replica->incarnation);
    json_text(json, "state", replica_state_name(replica->state));
    json_count(json, "fence", replica->fence);
    json_count(json, "bytes", replica->bytes);
    json_count(json, "keys_estimate", replica->keys);
    json_number(json, "progress", replica->progress);
    json_count(json, "disk_bytes", replica->disk_bytes);
    json_count(json, "generation", replica->generation);
    json_count(json, "shards_grown", replica->shards_grown);
    json_count(json, "overflow_keys", replica->overflow_keys);
    json_count(json, "keys_next", replica->keys_next);
    json_end(json, '}');
}

void summary_filters_json(struct json *json, const char *name, const struct admin_reply *reply)
{
    json_begin(json, name, '[');
    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];
        struct report_sum sum = report_summarize(reply->replicas, reply->nreplicas, filter->id);

        json_begin(json, NULL, '{');
        summary_filter_json(json, filter);
        expansion_json(json, filter);
        expansion_coordinator_json(json, filter);
        rebuild_json(json, filter);
        load_json(json, filter);
        rebuild_coordinator_json(json, filter);
        window_json(json, filter);
        window_coordinator_json(json, filter);
        expiry_json(json, filter);
        expiry_coordinator_json(json, filter);
        json_count(json, "keys_estimate", report_sum_keys(&sum, filter->nslices));
        json_count(json, "replicas_full", sum.full);
        json_count(json, "replicas_joining", sum.joining);
        json_count(json, "replicas_building", sum.building);
        json_end(json, '}');
    }
    json_end(json, ']');
}

void summary_nodes_json(struct json *json, const char *name, const struct admin_reply *reply)
{
    json_begin(json, name, '[');
    for (size_t i = 0; i < reply->nnodes; i++) {
        const struct node_summary *node = &reply->nodes[i];

        json_begin(json, NULL, '{');
        json_count(json, "id", node->id);
        json_text(json, "name", node->name);
        json_text(json, "host", node->host);
        json_text(json, "zone", node->zone);
        json_text(json, "endpoint", node->endpoint);
        text_of_number(json, "incarnation", node->incarnation);
        json_bool(json, "alive", node->alive);
        json_count(json, "seen_ago_ms", node->seen_ago_ms);
        json_count(json, "memory_limit_bytes", node->memory_limit_bytes);
        json_count(json, "memory_used_bytes", node->memory_used_bytes);
        json_bool(json, "durable", node->durable);
        json_count(json, "disk_used_bytes", node->disk_used_bytes);
        json_count(json, "replicas_full", node->replicas_full);
        json_count(json, "replicas_joining", node->replicas_joining);
        json_count(json, "replicas_building", node->replicas_building);
        json_bool(json, "draining", node->draining);
        json_text(json, "replaced_by", node->replaced_by);
        json_count(json, "slots", node->slots);
        json_text(json, "awaited", node->awaited);
        json_end(json, '}');
    }
    json_end(json, ']');
}
