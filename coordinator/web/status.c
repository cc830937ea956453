/* The cluster at a glance. */
#include "coordinator/view/process_keys.h"
#include "coordinator/view/view.h"
#include "coordinator/web/survey.h"
#include "coordinator/web/web.h"

#include <assert.h>

static void put_node(struct json *json, const struct node_summary *node, uint64_t silent_after_us)
{
    json_begin(json, NULL, '{');
    json_count(json, "id", node->id);
    json_text(json, "name", node->name);
    json_text(json, "host", node->host);
    json_text(json, "zone", node->zone);
    json_text(json, "endpoint", node->endpoint);
    json_bool(json, "alive", node->alive);
    json_count(json, "seen_ago_ms", node->seen_ago_ms);
    json_count(json, "silent_after_ms", silent_after_us / 1000);
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
    json_end(json, '}');
}

static void put_nodes(const struct coordinator *self, uint64_t now_us, struct json *json)
{
    const struct node_list *nodes = &self->documents.nodes;

    json_begin(json, "nodes", '[');
    for (uint32_t i = 0; i < nodes->count; i++) {
        struct node_summary node;

        view_describe_node(self, now_us, &nodes->nodes[i], &node);
        put_node(json, &node, heard_silent_after(self, node.id));
    }
    json_end(json, ']');
}

/* Those that ask this coordinator. */
static void put_routers(const struct coordinator *self, uint64_t now_us, struct json *json)
{
    json_begin(json, "routers", '[');
    for (size_t i = 0; i < COORDINATOR_MAX_PEERS; i++) {
        const struct follower *one = &self->followers[i];

        if (one->serves && coordinator_follows_router(self, one, now_us)) {
            json_begin(json, NULL, '{');
            json_text(json, "name", one->name);
            json_count(json, "seen_ago_ms",
                       now_us > one->last_us ? (now_us - one->last_us) / 1000 : 0);
            json_end(json, '}');
        }
    }
    json_end(json, ']');
}

static void put_sums(const struct survey_found *found, uint64_t now_us, struct json *json)
{
    json_begin(json, "sums", '{');
    json_count(json, "ago_ms", now_us > found->at_us ? (now_us - found->at_us) / 1000 : 0);
    json_count(json, "filters", found->nfilters);
    json_count(json, "capacity", found->capacity);
    json_count(json, "keys_estimate", found->keys);
    json_count(json, "copy_bytes", found->copy_bytes);
    json_count(json, "filters_lacking", found->nlacking);
    json_count(json, "filters_unserved", found->nunserved);
    json_count(json, "filters_changing", found->nchanging);
    json_end(json, '}');
}

static void put_lacking(const struct coordinator *self, const struct survey_found *found,
                        struct json *json)
{
    json_begin(json, "lacking", '[');
    for (uint64_t i = 0; i < found->nlacking && i < SURVEY_LACKING; i++) {
        const struct survey_lacking *one = &found->lacking[i];
        const struct document_entry *entry = document_cache_find(&self->documents, one->id);

        if (entry != NULL) {
            json_begin(json, NULL, '{');
            json_text(json, "filter", entry->document.content.name);
            json_count(json, "shards", one->shards);
            json_count(json, "of_shards", document_nshards(&entry->document));
            json_count(json, "fewest_full", one->fewest);
            json_count(json, "replicas", entry->document.content.rule.replicas);
            json_text(json, "why", one->why);
            json_text(json, "remedy", one->remedy);
            json_end(json, '}');
        }
    }
    json_end(json, ']');
}

static void put_keys(const struct coordinator *self, uint64_t now_us, struct json *json)
{
    struct key_use behind[PROCESS_KEYS_MOST];
    size_t count = process_keys_behind(self, now_us, behind);

    json_begin(json, "keys_behind", '[');
    for (size_t i = 0; i < count; i++) {
        json_text(json, NULL, behind[i].name);
    }
    json_end(json, ']');
}

enum status web_tell_status(struct coordinator *coordinator, uint64_t now_us,
                            const struct web_question *question, struct buffer *out)
{
    const struct survey_found *found;
    struct json json = json_to(out);
    struct health health = {0};

    (void)question;
    assert(coordinator->survey != NULL);
    found = survey_found(coordinator->survey);
    coordinator_tell_health(coordinator, now_us, &health);
    json_begin(&json, NULL, '{');
    json_text(&json, "coordinator", coordinator->config.name);
    json_text(&json, "site", coordinator->config.site);
    health_json(&health, &json, "ready");
    put_nodes(coordinator, now_us, &json);
    put_routers(coordinator, now_us, &json);
    put_sums(found, now_us, &json);
    put_lacking(coordinator, found, &json);
    put_keys(coordinator, now_us, &json);
    json_end(&json, '}');
    return json.status;
}
