/* The struct store itself: its functions lead to the files beside this one, and an endpoint that
 * did not answer is rested from. */
#include "base/heap.h"
#include "coordinator/store/etcd/private.h"
#include "runtime/hub.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

enum {
    REST_ALONE = 1,   /* time-outs to rest when nobody answered ... */
    REST_WATCHED = 5, /* ... and when the watch tells that somebody does again */
};

void etcd_draft_key(struct etcd_draft *draft, const struct store_etcd *self, const char *part,
                    const char *key)
{
    char text[ETCD_KEY_BYTES];

    (void)snprintf(text, sizeof text, "%s%s", self->config.prefix, part);
    etcd_draft_bytes(draft, span_text(text), span_text(key));
}

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

/* Waiting for an answer keeps the whole coordinator waiting: not again and again. */
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

/* All but the first calls find that this was done. */
static enum status ensure_checked(struct store_etcd *self)
{
    return self->checked ? STATUS_OK : etcd_check_format(self);
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

static enum status get(void *context, const char *key, struct buffer *value, uint64_t *version)
{
    struct store_etcd *self = context;
    struct etcd_record record = {0};
    enum status status = ensure_checked(self);
    json_t *answer = NULL;

    assert(strlen(key) < STORE_KEY_BYTES);
    if (status == STATUS_OK) {
        status = etcd_read_record(self, "record/", key, true, &record, &answer);
    }
    if (status == STATUS_OK && record.kv == NULL) {
        status = STATUS_NOT_FOUND;
    }
    if (status == STATUS_OK) {
        status = etcd_read_value(self, record.kv, NULL, value);
    }
    if (status == STATUS_OK) {
        *version = record.version;
    }
    json_decref(answer);
    return status;
}

static enum status read_change(void *context, uint64_t *change)
{
    struct store_etcd *self = context;
    struct etcd_record record = {0};
    enum status status = ensure_checked(self);
    json_t *answer = NULL;

    if (status == STATUS_OK) {
        status = etcd_read_record(self, "change", "", false, &record, &answer);
    }
    if (status == STATUS_OK) {
        *change = record.version;
    }
    json_decref(answer);
    return status;
}

static enum status swap(void *context, const struct store_swap *swaps, size_t count,
                        uint64_t *change)
{
    enum status status = ensure_checked(context);

    return status == STATUS_OK ? etcd_swap(context, swaps, count, change) : status;
}

static enum status since(void *context, uint64_t after, store_visit_fn visit, void *visitor)
{
    enum status status = ensure_checked(context);

    return status == STATUS_OK ? etcd_since(context, after, visit, visitor) : status;
}

static bool moved(void *context)
{
    struct store_etcd *self = context;

    return atomic_exchange(&self->moved, false);
}

static const char *tell_reason(void *context)
{
    const struct store_etcd *self = context;

    return self->client.reason;
}

static void destroy(struct store_etcd *self)
{
    if (self == NULL) {
        return;
    }
    etcd_watch_stop(&self->watch);
    etcd_client_fini(&self->client);
    explicit_bzero(self->config.password, sizeof self->config.password);
    heap_free(self);
}

/* Names of swaps must differ between processes, whenever they run. */
static enum status draw_name(uint8_t name[ETCD_TOKEN_SIZE])
{
    if (getrandom(name, ETCD_TOKEN_SIZE / 2, 0) != ETCD_TOKEN_SIZE / 2) {
        log_line(LOG_ERROR, "the system gives no random numbers: %s", strerror(errno));
        return STATUS_IO;
    }
    return STATUS_OK;
}

enum status store_etcd_open(const struct store_etcd_config *config, struct store **out)
{
    struct store_etcd *self = heap_zalloc(1, sizeof *self);
    enum status status = STATUS_NOMEM;

    assert(*out == NULL && config->nendpoints > 0);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->config = *config;
    self->store = (struct store){.self = self,
                                 .get = get,
                                 .swap = swap,
                                 .since = since,
                                 .change = read_change,
                                 .moved = moved,
                                 .reason = tell_reason};
    status = etcd_client_init(&self->client, &self->config);
    if (status == STATUS_OK) {
        status = draw_name(self->swap_name);
    }
    if (status == STATUS_OK) {
        status = etcd_check_format(self);
        if (status == STATUS_IO && self->down) {
            log_line(LOG_WARN, "the store is not there; documents can be neither read nor changed "
                               "until it is");
            status = STATUS_OK;
        }
    }
    if (status != STATUS_OK) {
        destroy(self);
        return status;
    }
    *out = &self->store;
    return STATUS_OK;
}

void store_etcd_close(struct store **store)
{
    if (*store != NULL) {
        destroy((*store)->self);
    }
    *store = NULL;
}
