/* One way in for each kind of signed record; what fails on the way leaves what was held before
 * untouched. */
#include "proto/intake.h"

static enum status take_nodes(struct document_cache *cache, const struct cluster_key *key,
                              struct span bytes, struct intake *result)
{
    struct node_list nodes = {0};
    enum status status = codec_node_list_open(bytes, key, &nodes);

    if (status == STATUS_OK) {
        status = document_cache_take_nodes(cache, &nodes, bytes, &result->changed);
    }
    node_list_fini(&nodes);
    return status;
}

static enum status take_filter(struct document_cache *cache, const struct cluster_key *key,
                               struct span bytes, struct intake *result)
{
    struct filter_document document = {0};
    enum status status = codec_filter_document_open(bytes, key, &document);

    if (status == STATUS_OK) {
        uint64_t id = document.id;

        status = document_cache_take(cache, &document, bytes, &result->changed);
        result->entry = document_cache_find(cache, id);
    }
    document_fini(&document);
    return status;
}

static enum status take_dropped(struct document_cache *cache, const struct cluster_key *key,
                                struct span bytes, struct intake *result)
{
    struct dropped_record record = {0};
    enum status status = codec_dropped_open(bytes, key, &record);

    if (status == STATUS_OK) {
        status = document_cache_take_dropped(cache, &record, bytes, &result->changed);
    }
    dropped_record_fini(&record);
    return status;
}

static enum status take_users(struct document_cache *cache, const struct cluster_key *key,
                              struct span bytes, struct intake *result)
{
    struct user_list users = {0};
    enum status status = codec_users_open(bytes, key, &users);

    if (status == STATUS_OK) {
        status = document_cache_take_users(cache, &users, bytes, &result->changed);
    }
    user_list_fini(&users);
    return status;
}

enum status intake_take(struct document_cache *cache, const struct cluster_key *key,
                        struct span bytes, struct intake *result)
{
    enum status status;

    *result = (struct intake){0};
    status = codec_document_kind(bytes, &result->kind);
    if (status != STATUS_OK) {
        return status;
    }
    switch (result->kind) {
    case DOCUMENT_NODE_LIST:
        return take_nodes(cache, key, bytes, result);
    case DOCUMENT_DROPPED:
        return take_dropped(cache, key, bytes, result);
    case DOCUMENT_USERS:
        return take_users(cache, key, bytes, result);
    case DOCUMENT_CLUSTER:
    case DOCUMENT_FEATURES:
        return STATUS_MALFORMED; /* No documents that are handed on. */
    case DOCUMENT_FILTER:
        break;
    }
    return take_filter(cache, key, bytes, result);
}
