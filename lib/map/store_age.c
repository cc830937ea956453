/* Compares what a node holds with the store's documents, and lists what is held in the order in
 * which it is told. */
#include "map/store_age.h"

#include <assert.h>

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
    if (held->filter_id == DROPPED_RECORD_ID) {
        return judge(documents->dropped.revision, documents->dropped_hash, held);
    }
    if (held->filter_id == USER_LIST_ID) {
        return judge(documents->users.revision, documents->users_hash, held);
    }
    if (document_cache_is_dropped(documents, held->filter_id)) {
        return STORE_CURRENT; /* Whatever is held of it is older than the record. */
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

static size_t list_records(const struct document_cache *documents, struct held_document *out)
{
    size_t count = 0;

    if (documents->nodes_bytes != NULL) {
        out[count++] = (struct held_document){.revision = documents->nodes.revision,
                                              .hash = documents->nodes_hash};
    }
    if (documents->dropped_bytes != NULL) {
        out[count++] = (struct held_document){.filter_id = DROPPED_RECORD_ID,
                                              .revision = documents->dropped.revision,
                                              .hash = documents->dropped_hash};
    }
    if (documents->users_bytes != NULL) {
        out[count++] = (struct held_document){.filter_id = USER_LIST_ID,
                                              .revision = documents->users.revision,
                                              .hash = documents->users_hash};
    }
    return count;
}

size_t store_age_list(const struct document_cache *documents, uint64_t after,
                      struct held_document *out, size_t max, uint64_t *to)
{
    size_t count;
    size_t i = 0;

    assert(max > STORE_AGE_RECORDS);
    count = list_records(documents, out);
    while (i < documents->count && documents->by_id[i]->document.id <= after) {
        i++;
    }
    for (; i < documents->count && count < max; i++) {
        const struct document_entry *entry = documents->by_id[i];

        out[count++] = (struct held_document){.filter_id = entry->document.id,
                                              .revision = entry->document.revision,
                                              .hash = entry->signed_hash};
    }
    *to = i < documents->count ? out[count - 1].filter_id : 0;
    return count;
}

size_t store_age_count(const struct document_cache *documents)
{
    return documents->count + (documents->nodes_bytes != NULL) +
           (documents->dropped_bytes != NULL) + (documents->users_bytes != NULL);
}
