/* The store's keys:
 *
 *   filter/ID     the signed filter document
 *   name/NAME     the id that the name is bound to, 8 bytes little-endian; 0: free again
 *   secret/ID     the filter's hash secret, sealed with the cluster key
 *   nodes         the signed node list
 *   next/filter   the last filter id given out, 8 bytes little-endian
 *   store         the store's name (8 bytes), how often it was restored (8), whether it is being
 * (1); written together with the first node list
 */
#include "base/heap.h"
#include "coordinator/coordinator_private.h"
#include "proto/intake.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The attachment of a cached document. */
struct record {
    uint64_t version;
};

uint64_t records_version(const struct document_entry *entry)
{
    const struct record *record = entry->attachment;

    return record != NULL ? record->version : 0;
}

static uint64_t read_u64(struct span bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < 8 && i < bytes.size; i++) {
        value |= (uint64_t)bytes.data[i] << (8 * i);
    }
    return value;
}

static void write_u64(uint64_t value, uint8_t bytes[8])
{
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

void records_put_mark(const struct store_mark *mark, uint8_t bytes[RECORDS_MARK_BYTES])
{
    write_u64(mark->name, bytes);
    write_u64(mark->restores, bytes + 8);
    bytes[16] = mark->restoring;
}

void records_take_mark(struct coordinator *self, uint64_t version, struct span value)
{
    uint64_t before = self->mark.restores;

    if (value.size < RECORDS_MARK_BYTES) {
        return;
    }
    self->mark = (struct store_mark){
        .name = read_u64(value),
        .restores = read_u64(span_of(value.data + 8, 8)),
        .restoring = value.data[16] != 0,
        .version = version,
    };
    if (self->mark.restores > before) {
        self->went_back = false;
        self->fence_ahead = (struct held_document){0};
    }
}

void records_tell(const struct coordinator *self, enum status status, const char *done, char *text,
                  size_t size)
{
    const char *reason = self->store->reason != NULL ? self->store->reason(self->store->self) : "";

    if (status == STATUS_CONFLICT) {
        (void)snprintf(text, size, "somebody else writes it all the time; retry");
        return;
    }
    if (status != STATUS_IO && status != STATUS_UNAUTHENTIC) {
        (void)snprintf(text, size, "%s", status_meaning(status));
        return;
    }
    (void)snprintf(text, size, "the store can't be %s: %.400s", done,
                   reason[0] != '\0' ? reason : "see the coordinator's log");
}

/* Take one record of the store into the cache, with the version that guards its next edit. */
static enum status take(struct coordinator *self, uint64_t version, struct span value)
{
    struct intake intake;
    enum status status = intake_take(&self->documents, &self->config.key, value, &intake);

    if (status != STATUS_OK) {
        return status;
    }
    if (intake.kind == DOCUMENT_NODE_LIST) {
        self->nodes_version = version;
        return STATUS_OK;
    }
    if (intake.entry->attachment == NULL) {
        intake.entry->attachment = heap_zalloc(1, sizeof(struct record));
    }
    if (intake.entry->attachment == NULL) {
        return STATUS_NOMEM;
    }
    ((struct record *)intake.entry->attachment)->version = version;
    return STATUS_OK;
}

/* Context of one refresh. */
struct refresh {
    struct coordinator *self;
    enum status status;
};

static bool visit(void *context, const char *key, uint64_t version, struct span value)
{
    struct refresh *refresh = context;
    enum status status = STATUS_OK;

    if (strncmp(key, "filter/", 7) == 0 || strcmp(key, "nodes") == 0) {
        status = take(refresh->self, version, value);
    } else if (strcmp(key, "store") == 0) {
        records_take_mark(refresh->self, version, value);
    }
    if (status != STATUS_OK) {
        log_limited(&refresh->self->store_limit, refresh->self->now_us, LOG_ERROR,
                    "the store's record %s is not usable: %s%s", key, status_meaning(status),
                    status == STATUS_UNAUTHENTIC ? "; is it the right cluster_key_file?" : "");
        refresh->status = status;
        return false;
    }
    return true;
}

/* An older copy was put in place of the store while this process was running: read all of it. What
 * is newer here is kept: nodes may have it. */
static void note_went_back(struct coordinator *self, uint64_t change)
{
    self->went_back = true;
    log_line(LOG_ERROR,
             "the store's change number has gone back from %" PRIu64 " to %" PRIu64
             ": it was put back from an older copy",
             self->change, change);
    self->change = 0;
}

enum status records_refresh(struct coordinator *self)
{
    struct refresh refresh = {.self = self, .status = STATUS_OK};
    uint64_t change = 0;
    enum status status = self->store->change(self->store->self, &change);

    if (status == STATUS_OK && change < self->change) {
        note_went_back(self, change);
    }
    if (status == STATUS_OK && change != self->change) {
        status = self->store->since(self->store->self, self->change, visit, &refresh);
        status = status == STATUS_OK ? refresh.status : status;
        if (status == STATUS_OK) {
            self->change = change;
        }
    }
    if (status != STATUS_OK) {
        coordinator_count(self, COORDINATOR_store_errors_total);
    }
    return status;
}

static enum status swap(struct coordinator *self, const struct store_swap *swaps, size_t count)
{
    uint64_t change;
    enum status status = self->store->swap(self->store->self, swaps, count, &change);

    if (status == STATUS_CONFLICT) {
        coordinator_count(self, COORDINATOR_swap_conflicts_total);
    } else if (status != STATUS_OK) {
        coordinator_count(self, COORDINATOR_store_errors_total);
        records_tell(self, status, "written", self->unwritten, sizeof self->unwritten);
    } else {
        self->unwritten[0] = '\0';
        coordinator_count(self, COORDINATOR_documents_written_total);
        status = records_refresh(self);
    }
    return status;
}

/* The version of a key, 0 when it does not exist; its value as a number in *number. */
static enum status read_number(struct coordinator *self, const char *key, uint64_t *version,
                               uint64_t *number)
{
    enum status status;

    *version = 0;
    *number = 0;
    buffer_clear(&self->scratch);
    status = self->store->get(self->store->self, key, &self->scratch, version);
    if (status == STATUS_NOT_FOUND) {
        return STATUS_OK;
    }
    if (status == STATUS_OK) {
        *number = read_u64(buffer_span(&self->scratch));
    }
    return status;
}

enum { DRAFT_SWAPS = 4, ID_BYTES = 8 };

/* One swap of the store, while it is put together. */
struct draft {
    struct store_swap swaps[DRAFT_SWAPS];
    char keys[DRAFT_SWAPS][STORE_KEY_BYTES];
    uint8_t ids[DRAFT_SWAPS][ID_BYTES];
    struct buffer values[DRAFT_SWAPS];
    size_t count;
};

static void draft_init(struct draft *self)
{
    self->count = 0;
    for (size_t i = 0; i < DRAFT_SWAPS; i++) {
        buffer_init(&self->values[i], CODEC_MAX_FRAME_BYTES);
    }
}

static void draft_fini(struct draft *self)
{
    for (size_t i = 0; i < DRAFT_SWAPS; i++) {
        buffer_fini(&self->values[i]);
    }
}

static enum status draft_document(struct coordinator *self, struct draft *draft, uint64_t version,
                                  struct filter_document *document)
{
    size_t at = draft->count++;
    enum status status = codec_filter_document_sign(document, &self->config.key,
                                                    &draft->values[at]);

    (void)snprintf(draft->keys[at], STORE_KEY_BYTES, "filter/%" PRIu64, document->id);
    draft->swaps[at] = (struct store_swap){
        .key = draft->keys[at], .expected = version, .value = buffer_span(&draft->values[at])};
    return status;
}

/* Bind a name to `id`, 0: to none, if it is bound to `holder` now. Else it is left alone, or, with
 * `required`, the answer is STATUS_CONFLICT. */
static enum status draft_name(struct coordinator *self, struct draft *draft, const char *name,
                              uint64_t holder, uint64_t id, bool required)
{
    size_t at = draft->count;
    uint64_t version;
    uint64_t bound;
    enum status status;

    (void)snprintf(draft->keys[at], STORE_KEY_BYTES, "name/%s", name);
    status = read_number(self, draft->keys[at], &version, &bound);
    if (status != STATUS_OK || bound != holder) {
        return status == STATUS_OK && required ? STATUS_CONFLICT : status;
    }
    write_u64(id, draft->ids[at]);
    draft->swaps[at] = (struct store_swap){
        .key = draft->keys[at], .expected = version, .value = span_of(draft->ids[at], ID_BYTES)};
    draft->count++;
    return STATUS_OK;
}

/* What a filter that is gone had: another one may have got a name of it meanwhile. */
static enum status draft_free_names(struct coordinator *self, struct draft *draft,
                                    const struct filter_document *document)
{
    enum status status = draft_name(self, draft, document->content.name, document->id, 0, false);

    return status == STATUS_OK && rename_is_open(document)
               ? draft_name(self, draft, document->former_name, document->id, 0, false)
               : status;
}

enum status records_write_filter(struct coordinator *self, uint64_t version,
                                 struct filter_document *document)
{
    struct draft draft;
    enum status status;

    draft_init(&draft);
    status = draft_document(self, &draft, version, document);
    if (status == STATUS_OK && document->content.state == FILTER_DROPPED) {
        status = draft_free_names(self, &draft, document);
    }
    if (status == STATUS_OK) {
        status = swap(self, draft.swaps, draft.count);
    }
    draft_fini(&draft);
    return status;
}

static enum status open_copy(const struct coordinator *self, const struct document_entry *entry,
                             struct filter_document *copy)
{
    return codec_filter_document_open(span_of(entry->signed_bytes, entry->signed_size),
                                      &self->config.key, copy);
}

static enum status draft_dropping(struct coordinator *self, struct draft *draft,
                                  const struct document_entry *entry)
{
    const enum filter_state state = FILTER_DROPPING;
    struct filter_document copy = {0};
    enum status status = open_copy(self, entry, &copy);

    if (status == STATUS_OK) {
        drops_edit(&copy, &state);
        status = draft_document(self, draft, records_version(entry), &copy);
    }
    document_fini(&copy);
    return status;
}

enum status records_rename_filter(struct coordinator *self, const struct document_entry *entry,
                                  const struct document_entry *replaced, const char *name)
{
    uint64_t holder = replaced != NULL ? replaced->document.id : 0;
    struct filter_document copy = {0};
    struct draft draft;
    enum status status = open_copy(self, entry, &copy);

    draft_init(&draft);
    if (status == STATUS_OK) {
        rename_begin(&copy, name, holder);
        status = draft_document(self, &draft, records_version(entry), &copy);
    }
    if (status == STATUS_OK && replaced != NULL) {
        status = draft_dropping(self, &draft, replaced);
    }
    if (status == STATUS_OK) {
        status = draft_name(self, &draft, name, holder, copy.id, true);
    }
    if (status == STATUS_OK) {
        status = swap(self, draft.swaps, draft.count);
    }
    draft_fini(&draft);
    document_fini(&copy);
    return status;
}

enum status records_end_rename(struct coordinator *self, const struct document_entry *entry)
{
    struct filter_document copy = {0};
    struct draft draft;
    enum status status = open_copy(self, entry, &copy);

    draft_init(&draft);
    if (status == STATUS_OK) {
        status = draft_name(self, &draft, copy.former_name, copy.id, 0, false);
    }
    if (status == STATUS_OK) {
        rename_end(&copy);
        status = draft_document(self, &draft, records_version(entry), &copy);
    }
    if (status == STATUS_OK) {
        status = swap(self, draft.swaps, draft.count);
    }
    draft_fini(&draft);
    document_fini(&copy);
    return status;
}

enum status records_edit_filter(struct coordinator *self, uint64_t now_us,
                                const struct document_entry *entry, records_edit_fn edit,
                                const void *context)
{
    struct filter_document edited = {0};
    enum status status = codec_filter_document_open(
        span_of(entry->signed_bytes, entry->signed_size), &self->config.key, &edited);

    if (status == STATUS_OK) {
        edit(&edited, context);
        status = records_write_filter(self, records_version(entry), &edited);
    }
    document_fini(&edited);
    if (status == STATUS_OK) {
        coordinator_hint(self, now_us);
    } else if (status == STATUS_CONFLICT && records_refresh(self) != STATUS_OK) {
        status = STATUS_IO; /* Another coordinator was first, and what it wrote can't be read. */
    }
    return status;
}

struct document_entry *records_find(const struct coordinator *self, const char *name,
                                    uint64_t filter_id)
{
    struct document_entry *found = document_cache_find_name(&self->documents, name);

    if (found != NULL && filter_id != 0 && found->document.id != filter_id) {
        return NULL;
    }
    return found;
}

enum status records_write_nodes(struct coordinator *self, const struct node_list *nodes)
{
    struct buffer value;
    enum status status;

    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = codec_node_list_sign(nodes, &self->config.key, &value);
    if (status == STATUS_OK) {
        /* The bytes name random incarnations: a name as good as one that is drawn. */
        struct store_mark mark = {.name = document_epoch_hash(buffer_span(&value)) | 1};
        uint8_t mark_bytes[RECORDS_MARK_BYTES];
        const struct store_swap swaps[] = {
            {.key = "nodes", .expected = self->nodes_version, .value = buffer_span(&value)},
            {.key = "store", .value = span_of(mark_bytes, sizeof mark_bytes)},
        };

        records_put_mark(&mark, mark_bytes);
        status = swap(self, swaps, self->mark.version == 0 ? 2 : 1);
    }
    buffer_fini(&value);
    return status;
}

/* A binding that the filter has lost may be left over from a store that was restored: it binds
 * nothing. */
static enum status check_free(struct coordinator *self, const char *name, uint64_t bound)
{
    enum status status = bound != 0 ? records_refresh(self) : STATUS_OK;
    const struct document_entry *entry = document_cache_find(&self->documents, bound);
    const struct filter_document *document = entry != NULL ? &entry->document : NULL;

    if (status != STATUS_OK || bound == 0) {
        return status;
    }
    return document != NULL && document->content.state == FILTER_ACTIVE &&
                   strcmp(document->content.name, name) != 0 &&
                   strcmp(document->former_name, name) != 0
               ? STATUS_OK
               : STATUS_CONFLICT;
}

static void seal(struct coordinator *self, uint64_t id, const struct hash_secret *secret,
                 uint8_t sealed[SEAL_SECRET_BYTES])
{
    uint8_t nonce[SEAL_NONCE_BYTES];

    for (size_t i = 0; i < SEAL_NONCE_BYTES; i += 8) {
        write_u64(self->effects.random(self->effects.context), &nonce[i]);
    }
    seal_secret(&self->config.key, id, secret, nonce, sealed);
}

enum status records_create_filter(struct coordinator *self, struct filter_document *document,
                                  const struct hash_secret *secret)
{
    char keys[3][STORE_KEY_BYTES];
    uint8_t id_bytes[8];
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct buffer value;
    uint64_t last_version;
    uint64_t name_version;
    uint64_t last;
    uint64_t bound;
    enum status status;

    (void)snprintf(keys[0], sizeof keys[0], "name/%s", document->content.name);
    status = read_number(self, keys[0], &name_version, &bound);
    if (status == STATUS_OK) {
        status = check_free(self, document->content.name, bound);
    }
    if (status == STATUS_OK) {
        status = read_number(self, "next/filter", &last_version, &last);
    }
    if (status != STATUS_OK) {
        return status;
    }
    document->id = last + 1;
    write_u64(document->id, id_bytes);
    seal(self, document->id, secret, sealed);
    (void)snprintf(keys[1], sizeof keys[1], "filter/%" PRIu64, document->id);
    (void)snprintf(keys[2], sizeof keys[2], "secret/%" PRIu64, document->id);
    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = codec_filter_document_sign(document, &self->config.key, &value);
    if (status == STATUS_OK) {
        const struct store_swap swaps[] = {
            {.key = keys[0], .expected = name_version, .value = span_of(id_bytes, 8)},
            {.key = "next/filter", .expected = last_version, .value = span_of(id_bytes, 8)},
            {.key = keys[1], .value = buffer_span(&value)},
            {.key = keys[2], .value = span_of(sealed, sizeof sealed)},
        };

        status = swap(self, swaps, sizeof swaps / sizeof swaps[0]);
    }
    buffer_fini(&value);
    return status;
}
