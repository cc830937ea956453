/* Edits of documents, and of what names are bound to: one swap of the store each. */
#include "coordinator/records.h"
#include "coordinator/users/quota.h"
#include "proto/signed_document.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

    assert(at < DRAFT_SWAPS);
    (void)snprintf(draft->keys[at], STORE_KEY_BYTES, "name/%s", name);
    status = records_read_number(self, draft->keys[at], &version, &bound);
    if (status == STATUS_OK && bound != holder && required) {
        return records_refresh(self) == STATUS_OK ? STATUS_CONFLICT : STATUS_IO;
    }
    if (status != STATUS_OK || bound != holder) {
        return status;
    }
    records_put_number(id, draft->ids[at]);
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
        status = records_swap(self, draft.swaps, draft.count);
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

static void edit_state(struct filter_document *document, const void *context)
{
    document->content.state = *(const enum filter_state *)context;
    document_epoch_advance(document);
}

static enum status draft_dropping(struct coordinator *self, struct draft *draft,
                                  const struct document_entry *entry)
{
    const enum filter_state state = FILTER_DROPPING;
    struct filter_document copy = {0};
    enum status status = open_copy(self, entry, &copy);

    if (status == STATUS_OK) {
        edit_state(&copy, &state);
        status = draft_document(self, draft, records_version(entry), &copy);
    }
    document_fini(&copy);
    return status;
}

/* What was bound last is read only where somebody has seen it. */
static enum status may_bind(struct coordinator *self, uint64_t name_version)
{
    uint64_t binding = 0;
    enum status status = STATUS_OK;

    if (self->order.on) {
        status = records_seen_binding(self, name_version, &binding);
    }
    return status == STATUS_OK ? order_may_bind(self, binding) : status;
}

enum status records_rename_filter(struct coordinator *self, const struct document_entry *entry,
                                  const struct document_entry *replaced, const char *name)
{
    uint64_t holder = replaced != NULL ? replaced->document.id : 0;
    struct filter_document copy = {0};
    struct draft draft;
    enum status status = order_may_edit(self, entry);

    status = status == STATUS_OK ? order_may_replace(self, replaced) : status;
    status = status == STATUS_OK && replaced != NULL ? order_may_edit(self, replaced) : status;
    status = status == STATUS_OK ? open_copy(self, entry, &copy) : status;

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
    if (status == STATUS_OK && replaced == NULL) {
        status = may_bind(self, draft.swaps[draft.count - 1].expected);
    }
    if (status == STATUS_OK) {
        status = records_swap(self, draft.swaps, draft.count);
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
        status = records_swap(self, draft.swaps, draft.count);
    }
    draft_fini(&draft);
    document_fini(&copy);
    return status;
}

/* What a user may have is looked at in what was read of the store, so whatever takes more of it
 * must be the only one to since then: the number of the last filter is written with it, as where a
 * filter is made. STATUS_CONFLICT: somebody else was first, and by now that has been read. */
static enum status draft_more(struct coordinator *self, struct draft *draft)
{
    size_t at = draft->count;
    uint64_t version;
    uint64_t last;
    enum status status = records_read_number(self, RECORDS_LAST_FILTER_KEY, &version, &last);

    assert(at < DRAFT_SWAPS);
    if (status == STATUS_OK && version > self->change) {
        return records_refresh(self) == STATUS_OK ? STATUS_CONFLICT : STATUS_IO;
    }
    if (status == STATUS_OK) {
        (void)snprintf(draft->keys[at], STORE_KEY_BYTES, RECORDS_LAST_FILTER_KEY);
        records_put_number(last, draft->ids[at]);
        draft->swaps[at] = (struct store_swap){.key = draft->keys[at],
                                               .expected = version,
                                               .value = span_of(draft->ids[at], ID_BYTES)};
        draft->count++;
    }
    return status;
}

/* An edit by which the user who has made the filter has more. */
static enum status write_more(struct coordinator *self, uint64_t version,
                              struct filter_document *document)
{
    struct draft draft;
    enum status status;

    draft_init(&draft);
    status = draft_document(self, &draft, version, document);
    status = status == STATUS_OK ? draft_more(self, &draft) : status;
    status = status == STATUS_OK ? records_swap(self, draft.swaps, draft.count) : status;
    draft_fini(&draft);
    return status;
}

enum status records_edit_filter(struct coordinator *self, uint64_t now_us,
                                const struct document_entry *entry, records_edit_fn edit,
                                const void *context)
{
    struct filter_document edited = {0};
    enum status status = order_may_edit(self, entry);

    status = status == STATUS_OK ? open_copy(self, entry, &edited) : status;
    if (status == STATUS_OK) {
        edit(&edited, context);
        status = quota_takes_more(&entry->document, &edited)
                     ? write_more(self, records_version(entry), &edited)
                     : records_write_filter(self, records_version(entry), &edited);
    }
    document_fini(&edited);
    if (status == STATUS_OK) {
        coordinator_hint(self, now_us);
    }
    return status;
}

enum status records_edit_sites(struct coordinator *self, uint64_t now_us,
                               const struct document_entry *entry, const struct site_set *sites)
{
    struct filter_document edited = {0};
    enum status status = order_may_edit(self, entry);

    status = status == STATUS_OK ? open_copy(self, entry, &edited) : status;
    status = status == STATUS_OK ? document_put_sites(&edited, sites) : status;
    if (status == STATUS_OK) {
        document_epoch_advance(&edited);
        status = records_write_filter(self, records_version(entry), &edited);
    }
    document_fini(&edited);
    if (status == STATUS_OK) {
        coordinator_hint(self, now_us);
    }
    return status;
}

enum status records_write_state(struct coordinator *self, uint64_t now_us,
                                const struct document_entry *entry, enum filter_state state)
{
    enum filter_state held = entry->document.content.state;

    /* A filter is dropped in two steps, and never comes back. */
    assert((held == FILTER_ACTIVE && state == FILTER_DROPPING) ||
           (held == FILTER_DROPPING && state == FILTER_DROPPED));
    (void)held;
    return records_edit_filter(self, now_us, entry, edit_state, &state);
}

enum status records_write_nodes(struct coordinator *self, const struct node_list *nodes)
{
    struct buffer value;
    enum status status = order_may_list(self);

    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = status == STATUS_OK ? codec_node_list_sign(nodes, &self->config.key, &value) : status;
    if (status == STATUS_OK) {
        /* The bytes name random incarnations: a name as good as one that is drawn. */
        struct store_mark mark = {.name = document_epoch_hash(buffer_span(&value)) | 1};
        uint8_t mark_bytes[RECORDS_MARK_BYTES];
        const struct store_swap swaps[] = {
            {.key = "nodes", .expected = self->nodes_version, .value = buffer_span(&value)},
            {.key = "store", .value = span_of(mark_bytes, sizeof mark_bytes)},
        };

        records_put_mark(&mark, mark_bytes);
        status = records_swap(self, swaps, self->mark.version == 0 ? 2 : 1);
    }
    buffer_fini(&value);
    return status;
}

/* ---- a new filter ---- */

/* A binding that the filter has lost may be left over from a store that was restored: it binds
 * nothing. */
static enum status check_free(struct coordinator *self, const char *name, uint64_t bound)
{
    enum status status = bound != 0 ? records_refresh(self) : STATUS_OK;
    const struct document_entry *entry = document_cache_find(&self->documents, bound);
    const struct filter_document *document = entry != NULL ? &entry->document : NULL;

    if (status != STATUS_OK || bound == 0 || document_cache_is_dropped(&self->documents, bound)) {
        return status;
    }
    return document != NULL && document->content.state == FILTER_ACTIVE &&
                   strcmp(document->content.name, name) != 0 &&
                   strcmp(document->former_name, name) != 0
               ? STATUS_OK
               : STATUS_CONFLICT;
}

void records_seal(struct coordinator *self, uint64_t id, const struct hash_secret *secret,
                  uint8_t sealed[SEAL_SECRET_BYTES])
{
    uint8_t nonce[SEAL_NONCE_BYTES];

    for (size_t i = 0; i < SEAL_NONCE_BYTES; i += 8) {
        records_put_number(self->effects.random(self->effects.context), &nonce[i]);
    }
    seal_secret(&self->config.key, id, secret, nonce, sealed);
}

enum status records_sign_users(struct coordinator *self, struct user_list *users,
                               struct buffer *out)
{
    struct span sealed = span_of(users->sealed, sizeof users->sealed);
    struct hash_secret secret;
    enum status status = STATUS_OK;

    if (!seal_secret_by_first(&self->config.key, 0, sealed)) {
        status = seal_secret_open(&self->config.key, 0, sealed, &secret);
        if (status == STATUS_OK) {
            records_seal(self, 0, &secret, users->sealed);
        }
        secret = (struct hash_secret){{0}};
    }
    return status == STATUS_OK ? codec_users_sign(users, &self->config.key, out) : status;
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

    assert(document->id == 0 && document->revision == 1 && document->epoch == 1);
    (void)snprintf(keys[0], sizeof keys[0], "name/%s", document->content.name);
    /* First: so whatever is created from now on, and gone without a trace of its name, fails it. */
    status = records_read_number(self, RECORDS_LAST_FILTER_KEY, &last_version, &last);
    if (status == STATUS_OK) {
        status = records_read_number(self, keys[0], &name_version, &bound);
    }
    if (status == STATUS_OK) {
        status = check_free(self, document->content.name, bound);
    }
    if (status == STATUS_OK && (document->owner != 0 || document_has_sites(document)) &&
        last_version > self->change) {
        /* Another filter was made meanwhile: whether the user may have one more it tells, too; and
         * it may be the same one of another site, by another name since. */
        return records_refresh(self) == STATUS_OK ? STATUS_CONFLICT : STATUS_IO;
    }
    if (status == STATUS_OK) {
        status = may_bind(self, name_version);
    }
    if (status != STATUS_OK) {
        return status;
    }
    document->id = last + 1;
    records_put_number(document->id, id_bytes);
    records_seal(self, document->id, secret, sealed);
    (void)snprintf(keys[1], sizeof keys[1], "filter/%" PRIu64, document->id);
    (void)snprintf(keys[2], sizeof keys[2], "secret/%" PRIu64, document->id);
    buffer_init(&value, CODEC_MAX_FRAME_BYTES);
    status = codec_filter_document_sign(document, &self->config.key, &value);
    if (status == STATUS_OK) {
        const struct store_swap swaps[] = {
            {.key = keys[0], .expected = name_version, .value = span_of(id_bytes, 8)},
            {.key = RECORDS_LAST_FILTER_KEY,
             .expected = last_version,
             .value = span_of(id_bytes, 8)},
            {.key = keys[1], .value = buffer_span(&value)},
            {.key = keys[2], .value = span_of(sealed, sizeof sealed)},
        };

        status = records_swap(self, swaps, sizeof swaps / sizeof swaps[0]);
    }
    buffer_fini(&value);
    return status;
}
