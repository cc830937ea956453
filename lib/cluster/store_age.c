#include "cluster/store_age.h"

static enum store_age judge(uint64_t revision, uint64_t hash, const struct held_document *held)
{
    if (held->revision > revision) {
        return STORE_BEHIND;
    }
    return held->revision == revision && held->hash != hash ? STORE_DIFFERS : STORE_CURRENT;
}

enum store_age store_age_judge(const struct document_cache *documents,
                               const struct held_document *held)
{
    const struct document_entry *entry;

    if (held->filter_id == 0) {
        return judge(documents->nodes.revision, documents->nodes_hash, held);
    }
    entry = document_cache_find(documents, held->filter_id);
    if (entry == NULL) {
        return STORE_LACKS;
    }
    if (held->fence > entry->document.epoch) {
        return STORE_BEHIND;
    }
    return judge(entry->document.revision, entry->signed_hash, held);
}

enum store_age store_age_judge_all(const struct document_cache *documents,
                                   const struct held_document *held, size_t count,
                                   const struct held_document **first)
{
    for (size_t i = 0; i < count; i++) {
        enum store_age age = store_age_judge(documents, &held[i]);

        if (age != STORE_CURRENT) {
            if (first != NULL) {
                *first = &held[i];
            }
            return age;
        }
    }
    return STORE_CURRENT;
}

size_t store_age_list(const struct document_cache *documents, struct held_document *out, size_t max)
{
    size_t count = 0;

    if (documents->nodes_bytes != NULL && max > 0) {
        out[count++] = (struct held_document){.revision = documents->nodes.revision,
                                              .hash = documents->nodes_hash};
    }
    for (size_t i = 0; i < documents->count && count < max; i++) {
        const struct document_entry *entry = documents->by_id[i];

        out[count++] = (struct held_document){.filter_id = entry->document.id,
                                              .revision = entry->document.revision,
                                              .hash = entry->signed_hash};
    }
    return count;
}
