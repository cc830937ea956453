/* A new filter in the store. */
#include "coordinator/records.h"
#include "proto/signed_document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

static void seal(struct coordinator *self, uint64_t id, const struct hash_secret *secret,
                 uint8_t sealed[SEAL_SECRET_BYTES])
{
    uint8_t nonce[SEAL_NONCE_BYTES];

    for (size_t i = 0; i < SEAL_NONCE_BYTES; i += 8) {
        records_put_number(self->effects.random(self->effects.context), &nonce[i]);
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
    /* First: so whatever is created from now on, and gone without a trace of its name, fails it. */
    status = records_read_number(self, "next/filter", &last_version, &last);
    if (status == STATUS_OK) {
        status = records_read_number(self, keys[0], &name_version, &bound);
    }
    if (status == STATUS_OK) {
        status = check_free(self, document->content.name, bound);
    }
    if (status == STATUS_OK) {
        status = order_may_bind(self, name_version);
    }
    if (status != STATUS_OK) {
        return status;
    }
    document->id = last + 1;
    records_put_number(document->id, id_bytes);
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

        status = records_swap(self, swaps, sizeof swaps / sizeof swaps[0]);
    }
    buffer_fini(&value);
    return status;
}
