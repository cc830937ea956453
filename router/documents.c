/* What a router keeps of filters: their documents, and the secrets that keys are hashed with. */
#include "base/heap.h"
#include "proto/intake.h"
#include "proto/signed_document.h"
#include "router/private.h"

#include <string.h>

static void refuse_document(struct router *self, uint64_t now_us, enum status status)
{
    router_count(self, ROUTER_documents_refused_total);
    log_limited(&self->bad_document_limit, now_us, LOG_WARN, "refused a document: %s; %s%s",
                status_code(status), status_meaning(status), codec_document_remedy(status));
}

void router_take_document(struct router *self, uint64_t now_us, struct span bytes)
{
    struct intake intake;
    enum status status = intake_take(&self->documents, &self->config.key, bytes, &intake);

    if (intake.kind == DOCUMENT_USERS) {
        self->users_refused = status != STATUS_OK;
    }
    if (status != STATUS_OK) {
        refuse_document(self, now_us, status);
    } else if (intake.changed) {
        router_count(self, ROUTER_documents_taken_total);
        self->keeping.wanted = true;
        if (intake.kind == DOCUMENT_NODE_LIST) {
            backends_connect(self);
        }
    }
}

static bool is_held(const struct routed_filter *routed, const struct sealed_secret *sealed)
{
    return routed->has_secret && sealed->sealed.size == sizeof routed->sealed &&
           memcmp(routed->sealed, sealed->sealed.data, sizeof routed->sealed) == 0;
}

/* A filter's secret stays what it is; by another key of the ring it is only sealed anew. */
static enum status unseal(struct router *self, struct routed_filter *routed,
                          const struct sealed_secret *sealed)
{
    struct hash_secret secret;
    enum status status;

    if (is_held(routed, sealed)) {
        return STATUS_OK;
    }
    status = seal_secret_open(&self->config.key, sealed->filter_id, sealed->sealed, &secret);
    if (status != STATUS_OK) {
        return routed->has_secret ? STATUS_OK : status;
    }
    if (!routed->has_secret) {
        routed->secret = secret;
        routed->has_secret = true;
    }
    if (memcmp(&routed->secret, &secret, sizeof secret) == 0) {
        memcpy(routed->sealed, sealed->sealed.data, sizeof routed->sealed);
        self->keeping.wanted = true;
    }
    explicit_bzero(&secret, sizeof secret);
    return STATUS_OK;
}

static enum status open_secret(struct router *self, const struct sealed_secret *sealed)
{
    struct document_entry *entry = document_cache_find(&self->documents, sealed->filter_id);

    if (entry == NULL) {
        return STATUS_OK; /* Its document was refused, and that was said. */
    }
    if (entry->attachment == NULL) {
        entry->attachment = heap_zalloc(1, sizeof(struct routed_filter));
    }
    return entry->attachment != NULL ? unseal(self, entry->attachment, sealed) : STATUS_NOMEM;
}

bool router_secret(const struct router *router, uint64_t filter_id, struct hash_secret *secret)
{
    const struct document_entry *entry = document_cache_find(&router->documents, filter_id);
    const struct routed_filter *routed = entry != NULL ? entry->attachment : NULL;

    if (routed == NULL || !routed->has_secret) {
        return false;
    }
    *secret = routed->secret;
    return true;
}

void router_seal_secret(struct router *router, uint64_t name, const struct hash_secret *secret,
                        uint8_t sealed[SEAL_SECRET_BYTES])
{
    uint8_t nonce[SEAL_NONCE_BYTES];

    for (size_t i = 0; i < sizeof nonce; i += sizeof(uint64_t)) {
        uint64_t random = router->effects.random(router->effects.context);

        memcpy(nonce + i, &random, sizeof random);
    }
    seal_secret(&router->config.key, name, secret, nonce, sealed);
}

void router_take_secret(struct router *self, uint64_t now_us, const struct sealed_secret *sealed)
{
    enum status status = open_secret(self, sealed);

    if (status != STATUS_OK) {
        refuse_document(self, now_us, status);
    }
}

struct document_entry *router_find(const struct router *self, const char *name)
{
    struct document_entry *entry = document_cache_find_name(&self->documents, name);
    const struct routed_filter *routed = entry != NULL ? entry->attachment : NULL;

    return routed != NULL && routed->has_secret ? entry : NULL;
}

const char *router_why_not(const struct router *self, const struct document_entry *entry,
                           uint64_t filter_id, enum status *status)
{
    const struct routed_filter *routed = entry != NULL ? entry->attachment : NULL;

    *status = STATUS_NOT_READY;
    if (document_cache_is_dropped(&self->documents, filter_id) ||
        (entry != NULL && entry->document.content.state != FILTER_ACTIVE)) {
        *status = STATUS_DROPPED;
        return "the filter was dropped here";
    }
    if (routed == NULL || !routed->has_secret) {
        return "this router has not heard of the filter yet";
    }
    if (entry->conflict) {
        *status = STATUS_CONFLICT;
        return ROUTER_CONFLICT_MESSAGE;
    }
    return document_is_loading(&entry->document) ? "the filter is being loaded from a dump" : NULL;
}

void routed_filter_destroy(struct routed_filter *routed)
{
    if (routed != NULL) {
        heap_free(routed->batch_number);
        site_knowledge_destroy(routed->sites);
        heap_free(routed);
    }
}

const struct document_cache *router_documents(const struct router *self)
{
    return &self->documents;
}
