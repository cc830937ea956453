/* Sorted by id and by name; a document is only ever replaced by a newer one, and two contents of
 * one number are kept apart as a conflict. */
#include "map/document_cache.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "map/rename.h"

#include <assert.h>
#include <string.h>

static void entry_destroy(struct document_entry *entry)
{
    document_fini(&entry->document);
    heap_free(entry->signed_bytes);
    heap_free(entry);
}

void document_cache_fini(struct document_cache *self)
{
    for (size_t i = 0; i < self->count; i++) {
        entry_destroy(self->by_id[i]);
    }
    heap_free(self->by_id);
    heap_free(self->by_name);
    node_list_fini(&self->nodes);
    heap_free(self->nodes_bytes);
    dropped_record_fini(&self->dropped);
    heap_free(self->dropped_bytes);
    user_list_fini(&self->users);
    heap_free(self->users_bytes);
    *self = (struct document_cache){0};
}

size_t document_cache_from(const struct document_cache *self, uint64_t id)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->by_id[middle]->document.id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* First position whose (name, id) is not below the given one. */
static size_t position_of_name(const struct document_cache *self, const char *name, uint64_t id)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct filter_document *other = &self->by_name[middle]->document;
        int order = strcmp(other->content.name, name);

        if (order < 0 || (order == 0 && other->id < id)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct document_entry *document_cache_find(const struct document_cache *self, uint64_t id)
{
    size_t position = document_cache_from(self, id);

    if (position < self->count && self->by_id[position]->document.id == id) {
        return self->by_id[position];
    }
    return NULL;
}

struct document_entry *document_cache_next_named(const struct document_cache *self,
                                                 const char *name, uint64_t after)
{
    size_t at = position_of_name(self, name, after + 1);

    return at < self->count && strcmp(self->by_name[at]->document.content.name, name) == 0
               ? self->by_name[at]
               : NULL;
}

struct document_entry *document_cache_find_name(const struct document_cache *self, const char *name)
{
    struct document_entry *found = NULL;

    for (size_t i = position_of_name(self, name, 0); i < self->count; i++) {
        struct document_entry *entry = self->by_name[i];

        if (strcmp(entry->document.content.name, name) != 0) {
            break;
        }
        if (entry->document.content.state == FILTER_ACTIVE &&
            (found == NULL || rename_outranks(&entry->document, &found->document))) {
            found = entry;
        }
    }
    return found;
}

/* A copy of signed bytes in the place of those that were there, of their size and hash. */
static enum status keep_bytes(struct span bytes, uint8_t **kept, size_t *size, uint64_t *hash)
{
    uint8_t *copy = heap_alloc(bytes.size, 1);

    if (copy == NULL) {
        return STATUS_NOMEM;
    }
    memcpy(copy, bytes.data, bytes.size);
    heap_free(*kept);
    *kept = copy;
    *size = bytes.size;
    *hash = document_epoch_hash(bytes);
    return STATUS_OK;
}

static enum status keep_entry_bytes(struct document_entry *entry, struct span bytes)
{
    return keep_bytes(bytes, &entry->signed_bytes, &entry->signed_size, &entry->signed_hash);
}

static enum status reserve(struct document_cache *self)
{
    size_t ids = self->capacity;
    size_t names = self->capacity;

    if (self->count < self->capacity) {
        return STATUS_OK;
    }
    if (self->count >= DOCUMENT_CACHE_MAX) {
        return STATUS_TOO_LARGE;
    }
    if (!heap_grow(&self->by_id, &ids, self->count + 1, sizeof(struct document_entry *)) ||
        !heap_grow(&self->by_name, &names, self->count + 1, sizeof(struct document_entry *))) {
        return STATUS_NOMEM;
    }
    self->capacity = names;
    return STATUS_OK;
}

static void insert_at(struct document_entry **array, size_t count, size_t position,
                      struct document_entry *entry)
{
    memmove(&array[position + 1], &array[position],
            (count - position) * sizeof(struct document_entry *));
    array[position] = entry;
}

static enum status insert(struct document_cache *self, struct filter_document *document,
                          struct span signed_bytes)
{
    struct document_entry *entry;
    enum status status = reserve(self);

    if (status != STATUS_OK) {
        return status;
    }
    entry = heap_zalloc(1, sizeof *entry);
    if (entry == NULL) {
        return STATUS_NOMEM;
    }
    status = keep_entry_bytes(entry, signed_bytes);
    if (status != STATUS_OK) {
        heap_free(entry);
        return status;
    }
    entry->document = *document;
    *document = (struct filter_document){0};
    insert_at(self->by_id, self->count, document_cache_from(self, entry->document.id), entry);
    insert_at(self->by_name, self->count,
              position_of_name(self, entry->document.content.name, entry->document.id), entry);
    self->count++;
    self->inserted++;
    assert(self->count <= self->capacity);
    return STATUS_OK;
}

/* Move the entry to where its present name belongs. */
static void sort_by_name(struct document_cache *self, struct document_entry *entry)
{
    size_t from = 0;

    while (self->by_name[from] != entry) {
        from++;
        assert(from < self->count); /* Each entry is in both lists. */
    }
    memmove(&self->by_name[from], &self->by_name[from + 1],
            (self->count - from - 1) * sizeof(struct document_entry *));
    self->count--;
    insert_at(self->by_name, self->count,
              position_of_name(self, entry->document.content.name, entry->document.id), entry);
    self->count++;
}

static enum status replace(struct document_cache *self, struct document_entry *entry,
                           struct filter_document *document, struct span signed_bytes)
{
    bool renamed = strcmp(entry->document.content.name, document->content.name) != 0;
    enum status status = keep_entry_bytes(entry, signed_bytes);

    assert(entry->document.id == document->id);
    if (status != STATUS_OK) {
        return status;
    }
    document_fini(&entry->document);
    entry->document = *document;
    *document = (struct filter_document){0};
    if (renamed) {
        sort_by_name(self, entry);
    }
    return STATUS_OK;
}

static bool contradicts(const struct document_entry *entry, const struct filter_document *document,
                        struct span signed_bytes)
{
    const struct filter_document *held = &entry->document;

    if (!filter_uid_equal(&document->content.uid, &held->content.uid)) {
        return true;
    }
    if (document->epoch == held->epoch && document->epoch_hash != held->epoch_hash) {
        return true;
    }
    if (document->revision == held->revision) {
        return !span_equal(signed_bytes, span_of(entry->signed_bytes, entry->signed_size));
    }
    /* Revisions and epochs rise together or not at all. */
    return document->revision > held->revision
               ? document->epoch < held->epoch || !rename_follows(held, document)
               : document->epoch > held->epoch || !rename_follows(document, held);
}

enum status document_cache_take(struct document_cache *self, struct filter_document *document,
                                struct span signed_bytes, bool *changed)
{
    struct document_entry *entry = document_cache_find(self, document->id);
    enum status status;

    *changed = false;
    if (!MUTANT(ERASE_NO_TOMBSTONE) && id_set_has(&self->dropped.ids, document->id)) {
        return STATUS_OK; /* Of a filter that is gone: older than the record. */
    }
    self->changes++;
    if (MUTANT(ERASE_NO_TOMBSTONE) && entry != NULL &&
        entry->document.content.state == FILTER_DROPPED &&
        document->revision < entry->document.revision) {
        self->ngone -= entry->gone;
        entry->gone = false;
        status = replace(self, entry, document, signed_bytes);
        *changed = status == STATUS_OK;
        return status;
    }
    if (entry == NULL) {
        status = insert(self, document, signed_bytes);
    } else if (contradicts(entry, document, signed_bytes)) {
        entry->conflict = true;
        return STATUS_CONFLICT;
    } else if (document->revision <= entry->document.revision) {
        return STATUS_OK;
    } else {
        status = replace(self, entry, document, signed_bytes);
    }
    *changed = status == STATUS_OK;
    return status;
}

enum status document_cache_take_nodes(struct document_cache *self, struct node_list *nodes,
                                      struct span signed_bytes, bool *changed)
{
    enum status status;

    *changed = false;
    if (nodes->revision <= self->nodes.revision) {
        bool same_number = nodes->revision == self->nodes.revision && self->nodes_bytes != NULL;

        return same_number &&
                       !span_equal(signed_bytes, span_of(self->nodes_bytes, self->nodes_size))
                   ? STATUS_CONFLICT
                   : STATUS_OK;
    }
    status = keep_bytes(signed_bytes, &self->nodes_bytes, &self->nodes_size, &self->nodes_hash);
    if (status != STATUS_OK) {
        return status;
    }
    node_list_fini(&self->nodes);
    self->nodes = *nodes;
    *nodes = (struct node_list){0};
    *changed = true;
    return STATUS_OK;
}

enum status document_cache_take_users(struct document_cache *self, struct user_list *users,
                                      struct span signed_bytes, bool *changed)
{
    enum status status;

    *changed = false;
    if (users->revision < self->users.revision) {
        return STATUS_OK;
    }
    if (users->revision == self->users.revision) {
        return span_equal(signed_bytes, span_of(self->users_bytes, self->users_size))
                   ? STATUS_OK
                   : STATUS_CONFLICT;
    }
    status = keep_bytes(signed_bytes, &self->users_bytes, &self->users_size, &self->users_hash);
    if (status != STATUS_OK) {
        return status;
    }
    user_list_fini(&self->users);
    self->users = *users;
    *users = (struct user_list){0};
    *changed = true;
    return STATUS_OK;
}

/* ---- dropped for good ---- */

static void mark_gone(struct document_cache *self)
{
    for (size_t i = 0; i < self->count; i++) {
        struct document_entry *entry = self->by_id[i];

        if (entry->gone || !id_set_has(&self->dropped.ids, entry->document.id)) {
            continue;
        }
        entry->gone = true;
        self->ngone++;
        if (entry->document.content.state != FILTER_DROPPED) {
            entry->document.content.state = FILTER_DROPPED;
            document_epoch_advance(&entry->document); /* What runs under the one before is over. */
        }
    }
}

enum status document_cache_take_dropped(struct document_cache *self, struct dropped_record *record,
                                        struct span signed_bytes, bool *changed)
{
    enum status status;

    *changed = false;
    if (record->revision < self->dropped.revision) {
        return STATUS_OK;
    }
    if (record->revision == self->dropped.revision) {
        return span_equal(signed_bytes, span_of(self->dropped_bytes, self->dropped_size))
                   ? STATUS_OK
                   : STATUS_CONFLICT;
    }
    if (!id_set_covers(&record->ids, &self->dropped.ids)) {
        return STATUS_CONFLICT;
    }
    status = keep_bytes(signed_bytes, &self->dropped_bytes, &self->dropped_size,
                        &self->dropped_hash);
    if (status != STATUS_OK) {
        return status;
    }
    dropped_record_fini(&self->dropped);
    self->dropped = *record;
    *record = (struct dropped_record){0};
    self->changes++;
    mark_gone(self);
    *changed = true;
    return STATUS_OK;
}

bool document_cache_is_dropped(const struct document_cache *self, uint64_t id)
{
    return id_set_has(&self->dropped.ids, id);
}

/* Both lists keep their order; what is let go of is freed with the second one. */
void document_cache_sweep(struct document_cache *self, document_release_fn release, void *context)
{
    size_t left = 0;

    if (self->ngone == 0) {
        return;
    }
    self->changes++;
    for (size_t i = 0; i < self->count; i++) {
        struct document_entry *entry = self->by_id[i];

        entry->released = entry->gone && release(context, entry);
        self->ngone -= entry->released;
        if (!entry->released) {
            self->by_id[left++] = entry;
        }
    }
    left = 0;
    for (size_t i = 0; i < self->count; i++) {
        if (self->by_name[i]->released) {
            entry_destroy(self->by_name[i]);
        } else {
            self->by_name[left++] = self->by_name[i];
        }
    }
    assert(left <= self->count);
    self->removed += self->count - left;
    self->count = left;
}
