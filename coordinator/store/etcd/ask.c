/* One question to etcd, and what its answers hold. An endpoint that did not answer is rested
 * from. */
#include "coordinator/store/etcd/private.h"
#include "runtime/hub.h"

#include <assert.h>
#include <string.h>

enum {
    REST_ALONE = 1,   /* time-outs to rest when nobody answered ... */
    REST_WATCHED = 5, /* ... and when the watch tells that somebody does again */
};

enum status etcd_refuse_answer(struct store_etcd *self, const char *what)
{
    log_limited(&self->damage, hub_now_us(), LOG_ERROR,
                "store %s, keys below %s: %s; is the prefix this cluster's alone? Restore a backup "
                "if it was damaged",
                self->config.endpoints[self->client.endpoint], self->config.prefix, what);
    (void)snprintf(self->client.reason, sizeof self->client.reason,
                   "%s; is etcd_prefix this cluster's alone? Restore a backup if it was damaged",
                   what);
    return STATUS_IO;
}

/* Waiting for an answer keeps all changes waiting: not again and again. */
static bool rests(struct store_etcd *self)
{
    return self->down && hub_now_us() < self->retry_us &&
           atomic_load(&self->contacts) == self->contacts_seen;
}

static void note_contact(struct store_etcd *self, bool answered, unsigned contacts)
{
    uint64_t factor = self->watch != NULL ? REST_WATCHED : REST_ALONE;

    if (answered && self->down) {
        log_line(LOG_INFO, "store %s answers again", self->config.endpoints[self->client.endpoint]);
    }
    if (!answered && self->watch != NULL) {
        etcd_watch_probe(self->watch);
    }
    self->down = !answered;
    self->contacts_seen = contacts;
    self->retry_us = hub_now_us() + factor * self->config.timeout_us;
}

enum status etcd_ask(struct store_etcd *self, const char *path, const struct etcd_draft *draft,
                     bool *lost, json_t **answer)
{
    struct etcd_call call = {
        .path = path, .body = buffer_span(&draft->bytes), .writes = lost != NULL};
    unsigned contacts = atomic_load(&self->contacts);
    enum status status = draft->status;

    *answer = NULL;
    if (status == STATUS_OK && rests(self)) {
        return STATUS_IO;
    }
    if (status == STATUS_OK) {
        status = etcd_client_call(&self->client, &call, answer);
        note_contact(self, status != STATUS_UNAVAILABLE, contacts);
    }
    if (lost != NULL) {
        *lost = call.lost;
    }
    return status == STATUS_UNAVAILABLE ? STATUS_IO : status;
}

enum status etcd_read_record(struct store_etcd *self, const char *part, const char *key,
                             bool with_value, struct etcd_record *record, json_t **answer)
{
    struct etcd_draft draft;
    enum status status;

    *record = (struct etcd_record){0};
    etcd_draft_init(&draft, ETCD_KEY_BYTES * 2);
    etcd_draft_text(&draft, with_value ? "{\"key\":" : "{\"keys_only\":true,\"key\":");
    etcd_draft_key(&draft, self, part, key);
    etcd_draft_text(&draft, "}");
    status = etcd_ask(self, "/v3/kv/range", &draft, NULL, answer);
    etcd_draft_fini(&draft);
    if (status != STATUS_OK) {
        return status;
    }
    record->kv = json_array_get(json_object_get(*answer, "kvs"), 0);
    if (record->kv != NULL &&
        (etcd_read_number(record->kv, "mod_revision", &record->version) != STATUS_OK ||
         record->version == 0)) {
        return etcd_refuse_answer(self, "an answer without a revision");
    }
    return STATUS_OK;
}

enum status etcd_read_change(struct store_etcd *self, uint64_t *change)
{
    struct etcd_record record = {0};
    json_t *answer = NULL;
    enum status status = etcd_read_record(self, "change", "", false, &record, &answer);

    if (status == STATUS_OK) {
        *change = record.version;
    }
    json_decref(answer);
    return status;
}

enum status etcd_read_value(struct store_etcd *self, const json_t *kv,
                            uint8_t name[ETCD_TOKEN_SIZE], struct buffer *value)
{
    struct buffer bytes;
    enum status status;

    buffer_init(&bytes, ETCD_TOKEN_SIZE + STORE_MAX_VALUE_BYTES);
    status = etcd_decode_bytes(json_object_get(kv, "value"), &bytes);
    if (status == STATUS_OK && bytes.size < ETCD_TOKEN_SIZE) {
        status = STATUS_MALFORMED;
    }
    if (status == STATUS_MALFORMED || status == STATUS_TOO_LARGE) {
        status = etcd_refuse_answer(self, "a value that orbloom did not write");
    }
    if (status == STATUS_OK && name != NULL) {
        memcpy(name, bytes.data, ETCD_TOKEN_SIZE);
    }
    if (status == STATUS_OK && value != NULL) {
        status = buffer_append(value,
                               span_of(bytes.data + ETCD_TOKEN_SIZE, bytes.size - ETCD_TOKEN_SIZE));
    }
    buffer_fini(&bytes);
    return status;
}
