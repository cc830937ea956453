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

enum status intake_take(struct document_cache *cache, const struct cluster_key *key,
                        struct span bytes, struct intake *result)
{
    enum status status;

    *result = (struct intake){0};
    status = codec_document_kind(bytes, &result->kind);
    if (status != STATUS_OK) {
        return status;
    }
    return result->kind == DOCUMENT_NODE_LIST ? take_nodes(cache, key, bytes, result)
                                              : take_filter(cache, key, bytes, result);
}
