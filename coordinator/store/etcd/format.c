/* The key that names the format of what is stored below the prefix: written by the first
 * coordinator, compared by all later ones. */
#include "coordinator/store/etcd/private.h"
#include "runtime/hub.h"

#include <string.h>

/* {"compare":[no format yet],"success":[write it]}. Several coordinators may begin at once. */
static enum status write_format(struct store_etcd *self)
{
    struct etcd_draft draft;
    json_t *answer = NULL;
    enum status status;
    bool lost;

    etcd_draft_init(&draft, 4 * ETCD_KEY_BYTES + 512);
    etcd_draft_text(&draft, "{\"compare\":[{\"target\":\"MOD\",\"result\":\"EQUAL\",\"key\":");
    etcd_draft_key(&draft, self, "format", "");
    etcd_draft_text(&draft, ",\"mod_revision\":\"0\"}],\"success\":[{\"request_put\":{\"key\":");
    etcd_draft_key(&draft, self, "format", "");
    etcd_draft_text(&draft, ",\"value\":");
    etcd_draft_bytes(&draft, span_text(STORE_ETCD_FORMAT), span_of(NULL, 0));
    etcd_draft_text(&draft, "}}]}");
    status = etcd_ask(self, "/v3/kv/txn", &draft, &lost, &answer);
    etcd_draft_fini(&draft);
    json_decref(answer);
    return status;
}

/* STATUS_NOT_FOUND: no key at all begins with the prefix. */
static enum status find_any(struct store_etcd *self)
{
    char end[STORE_ETCD_PREFIX_BYTES];
    struct etcd_draft draft;
    json_t *answer = NULL;
    enum status status;

    (void)snprintf(end, sizeof end, "%s", self->config.prefix);
    end[strlen(end) - 1]++; /* '/' becomes '0'. */
    etcd_draft_init(&draft, 4 * ETCD_KEY_BYTES + 512);
    etcd_draft_text(&draft, "{\"limit\":\"1\",\"keys_only\":true,\"key\":");
    etcd_draft_key(&draft, self, "", "");
    etcd_draft_text(&draft, ",\"range_end\":");
    etcd_draft_bytes(&draft, span_text(end), span_of(NULL, 0));
    etcd_draft_text(&draft, "}");
    status = etcd_ask(self, "/v3/kv/range", &draft, NULL, &answer);
    etcd_draft_fini(&draft);
    if (status == STATUS_OK && json_array_size(json_object_get(answer, "kvs")) == 0) {
        status = STATUS_NOT_FOUND;
    }
    json_decref(answer);
    return status;
}

/* STATUS_NOT_FOUND: there is none. */
static enum status compare_format(struct store_etcd *self)
{
    struct etcd_record record;
    struct buffer format;
    json_t *answer = NULL;
    enum status status = etcd_read_record(self, "format", "", true, &record, &answer);

    buffer_init(&format, 64);
    if (status == STATUS_OK && record.kv == NULL) {
        status = STATUS_NOT_FOUND;
    }
    if (status == STATUS_OK) {
        status = etcd_decode_bytes(json_object_get(record.kv, "value"), &format);
        if (status == STATUS_NOMEM) {
            goto done;
        }
        if (status != STATUS_OK ||
            !span_equal(buffer_span(&format), span_text(STORE_ETCD_FORMAT))) {
            log_limited(&self->damage, hub_now_us(), LOG_ERROR,
                        "store, keys below %s: their format is \"%.*s\" and this build reads "
                        "\"%s\"; run the release that wrote them, or choose another etcd_prefix",
                        self->config.prefix, (int)format.size,
                        format.data != NULL ? (const char *)format.data : "", STORE_ETCD_FORMAT);
            status = STATUS_VERSION;
        }
    }

done:
    buffer_fini(&format);
    json_decref(answer);
    return status;
}

enum status etcd_check_format(struct store_etcd *self)
{
    enum status status = compare_format(self);

    if (status == STATUS_NOT_FOUND) {
        status = find_any(self);
        if (status == STATUS_OK && compare_format(self) == STATUS_NOT_FOUND) {
            log_line(LOG_ERROR,
                     "store, keys below %s: they belong to another program; choose "
                     "another etcd_prefix",
                     self->config.prefix);
            return STATUS_VERSION;
        }
    }
    if (status == STATUS_NOT_FOUND) {
        status = write_format(self);
        if (status == STATUS_OK) {
            status = compare_format(self); /* Whoever wrote it. */
        }
    }
    self->checked = status == STATUS_OK;
    return status;
}
