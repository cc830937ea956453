/* "What was written after change N", as is known, or read in pages by version without losing a swap
 * at the seam of two pages. */
#include "coordinator/store/etcd/private.h"

#include <string.h>

/* etcd has no index by version: it reads all records for each page. So what this process has
 * written last is not asked for again, as long as etcd's change number shows that nobody else has
 * written.
 *
 * Records are read in pages, in order of version; each page is of one moment, not all of them. A
 * record that is written meanwhile comes once more or later, with its new version: whoever goes
 * on from the last version that he has seen misses nothing. */

enum { PAGE_MOST = 4096, PAGE_SHRINK = 8 };

struct page {
    uint64_t after; /* the next page begins behind this version */
    uint64_t limit;
    bool more;
    bool stopped; /* by the visitor */
};

static void draft_page(struct etcd_draft *draft, const struct store_etcd *self,
                       const struct page *page)
{
    etcd_draft_text(draft, "{\"sort_order\":\"ASCEND\",\"sort_target\":\"MOD\",\"key\":");
    etcd_draft_key(draft, self, "record/", "");
    etcd_draft_text(draft, ",\"range_end\":");
    etcd_draft_key(draft, self, "record0", ""); /* '0' comes after '/'. */
    etcd_draft_text(draft, ",\"min_mod_revision\":");
    etcd_draft_number(draft, page->after + 1);
    etcd_draft_text(draft, ",\"limit\":");
    etcd_draft_number(draft, page->limit);
    etcd_draft_text(draft, "}");
}

/* The record's key without prefix, as text. */
static enum status read_key(struct store_etcd *self, const json_t *kv, struct buffer *key)
{
    char prefix[ETCD_KEY_BYTES];
    size_t size = (size_t)snprintf(prefix, sizeof prefix, "%srecord/", self->config.prefix);
    enum status status = etcd_decode_bytes(json_object_get(kv, "key"), key);

    if (status == STATUS_OK) {
        status = buffer_append(key, span_of("", 1));
    }
    if (status == STATUS_NOMEM) {
        return status;
    }
    if (status != STATUS_OK || key->size <= size || key->size - size > STORE_KEY_BYTES ||
        memcmp(key->data, prefix, size) != 0 || strlen((char *)key->data) + 1 != key->size) {
        return etcd_refuse_answer(self, "a key that orbloom did not write");
    }
    memmove(key->data, key->data + size, key->size - size);
    return STATUS_OK;
}

static enum status visit_one(struct store_etcd *self, const json_t *kv, uint64_t version,
                             store_visit_fn visit, void *visitor, bool *stopped)
{
    struct buffer key;
    struct buffer value;
    enum status status;

    buffer_init(&key, ETCD_KEY_BYTES);
    buffer_init(&value, STORE_MAX_VALUE_BYTES);
    status = read_key(self, kv, &key);
    if (status == STATUS_OK) {
        status = etcd_read_value(self, kv, NULL, &value);
    }
    if (status == STATUS_OK) {
        *stopped = !visit(visitor, (const char *)key.data, version, buffer_span(&value));
    }
    buffer_fini(&key);
    buffer_fini(&value);
    return status;
}

static enum status version_of(struct store_etcd *self, const json_t *kvs, size_t at, uint64_t after,
                              uint64_t *version)
{
    enum status status = etcd_read_number(json_array_get(kvs, at), "mod_revision", version);

    if (status != STATUS_OK || *version <= after) {
        return etcd_refuse_answer(self, "records out of order");
    }
    return STATUS_OK;
}

/* Records of one swap have one version and are not torn apart: those of the last version of a
 * page that is not the last page are left to the next one. */
static enum status visit_page(struct store_etcd *self, const json_t *kvs, struct page *page,
                              store_visit_fn visit, void *visitor)
{
    size_t count = json_array_size(kvs);
    uint64_t before = page->after;
    enum status status = STATUS_OK;
    uint64_t version = before;
    uint64_t last = 0;

    if (page->more) {
        status = count > 0 ? version_of(self, kvs, count - 1, before, &last) : STATUS_IO;
    }
    for (size_t i = 0; status == STATUS_OK && i < count && !page->stopped; i++) {
        status = version_of(self, kvs, i, version > before ? version - 1 : before, &version);
        if (status != STATUS_OK || version == last) {
            break;
        }
        status = visit_one(self, json_array_get(kvs, i), version, visit, visitor, &page->stopped);
        page->after = version;
    }
    if (status == STATUS_OK && page->more && page->after == before) {
        status = etcd_refuse_answer(self, "more records of one version than one swap writes");
    }
    return status;
}

static enum status read_page(struct store_etcd *self, struct page *page, store_visit_fn visit,
                             void *visitor)
{
    json_t *answer = NULL;
    struct etcd_draft draft;
    enum status status;

    etcd_draft_init(&draft, 4 * ETCD_KEY_BYTES + 512);
    draft_page(&draft, self, page);
    status = etcd_ask(self, "/v3/kv/range", &draft, NULL, &answer);
    etcd_draft_fini(&draft);
    if (status == STATUS_TOO_LARGE && page->limit > ETCD_PAGE_LEAST) {
        page->limit /= PAGE_SHRINK;
        page->limit = page->limit > ETCD_PAGE_LEAST ? page->limit : ETCD_PAGE_LEAST;
        return STATUS_OK;
    }
    if (status == STATUS_TOO_LARGE) {
        return etcd_refuse_answer(self, "records longer than orbloom writes");
    }
    page->more = json_is_true(json_object_get(answer, "more"));
    if (status == STATUS_OK) {
        status = visit_page(self, json_object_get(answer, "kvs"), page, visit, visitor);
    }
    json_decref(answer);
    return status;
}

enum status etcd_since(void *context, uint64_t since, store_visit_fn visit, void *visitor)
{
    struct store_etcd *self = context;
    struct page page = {.after = since, .limit = PAGE_MOST, .more = true};
    enum status status = STATUS_OK;
    uint64_t change = 0;

    if (since >= INT64_MAX) {
        return STATUS_OK; /* Beyond any version. */
    }
    if (self->recent.upto > since && since >= self->recent.from) {
        status = etcd_read_change(self, &change);
        if (status == STATUS_OK && recent_knows(&self->recent, since, change)) {
            recent_visit(&self->recent, since, visit, visitor);
            return STATUS_OK;
        }
    }
    while (status == STATUS_OK && page.more && !page.stopped) {
        status = read_page(self, &page, visit, visitor);
    }
    return status;
}
