/* Tells a coordinator at once that something was written, without its asking all the time. */
#include "base/heap.h"
#include "coordinator/store/etcd/private.h"
#include "runtime/hub.h"

#include <pthread.h>
#include <string.h>

/* A thread that holds one request open at a time: etcd answers with a line for the beginning of
 * the watch and one more for each write of PREFIX "change". What was written is not taken from
 * here. Each line only says "look again", and so does each beginning, as anything may have been
 * written before it; what is new then follows from the store's change number. So there is no
 * place to resume from that compaction could have removed.
 *
 * Before each watch it makes one linearizable read: that is a contact, by which a store that found
 * nobody knows that asking again is worth it. The beginning of a watch would not do, as a member
 * that is cut off from the others takes part in it too. */

enum {
    PAUSE_MS = 500,   /* after a watch that came to nothing */
    RENEW_MS = 60000, /* a member that is cut off from the others says nothing for ever */
    LINE_BYTES = 65536,
};

struct etcd_watch {
    struct store_etcd *store;
    struct etcd_client client; /* of its own: endpoint, token */
    CURLM *multi;
    pthread_t thread;
    bool started;
    atomic_bool stopping;
    atomic_bool probe; /* ask anew whether etcd is there */
    bool begun;        /* etcd has answered the request that is open */
    struct buffer line;
    void (*wake)(void *context);
    void *context;
};

static void tell(struct etcd_watch *self)
{
    atomic_store(&self->store->moved, true);
    self->wake(self->context);
}

/* {"result":{"created":true}} or {"result":{"events":[...]}}; false: anything else. */
static bool take_line(struct etcd_watch *self)
{
    json_t *line = json_loadb((const char *)self->line.data, self->line.size, 0, NULL);
    const json_t *result = json_object_get(line, "result");
    bool good = json_is_object(result) && !json_is_true(json_object_get(result, "canceled"));

    json_decref(line);
    if (good) {
        self->begun = true;
        tell(self);
    }
    return good;
}

static size_t take(char *data, size_t size, size_t count, void *context)
{
    struct etcd_watch *self = context;
    size_t left = size * count;

    while (left > 0) {
        const char *end = memchr(data, '\n', left);
        size_t part = end != NULL ? (size_t)(end - data) + 1 : left;

        if (buffer_append(&self->line, span_of(data, part)) != STATUS_OK) {
            return 0;
        }
        if (end != NULL) {
            bool good = take_line(self);

            buffer_clear(&self->line);
            if (!good) {
                return 0;
            }
        }
        data += part;
        left -= part;
    }
    return size * count;
}

/* Until the answer ends, none comes, the watch is to stop, or (true) it has lasted long enough. */
static bool follow(struct etcd_watch *self)
{
    uint64_t start_us = hub_now_us();
    uint64_t patience_us = self->store->config.timeout_us;
    int running = 1;

    while (running > 0 && !atomic_load(&self->stopping) && !atomic_load(&self->probe) &&
           curl_multi_perform(self->multi, &running) == CURLM_OK) {
        uint64_t limit_us = self->begun ? (uint64_t)RENEW_MS * 1000 : patience_us;

        if (hub_now_us() - start_us >= limit_us) {
            return self->begun;
        }
        (void)curl_multi_poll(self->multi, NULL, 0, PAUSE_MS, NULL);
    }
    return false;
}

static void draft_watch(struct etcd_draft *draft, const struct store_etcd *store)
{
    etcd_draft_init(draft, ETCD_KEY_BYTES * 2 + 64);
    etcd_draft_text(draft, "{\"create_request\":{\"key\":");
    etcd_draft_key(draft, store, "change", "");
    etcd_draft_text(draft, "}}");
}

static bool is_there(struct etcd_watch *self)
{
    struct etcd_call call = {.path = "/v3/kv/range"};
    struct etcd_draft draft;
    json_t *answer = NULL;
    enum status status;

    etcd_draft_init(&draft, ETCD_KEY_BYTES * 2 + 64);
    etcd_draft_text(&draft, "{\"keys_only\":true,\"key\":");
    etcd_draft_key(&draft, self->store, "change", "");
    etcd_draft_text(&draft, "}");
    call.body = buffer_span(&draft.bytes);
    status = draft.status == STATUS_OK ? etcd_client_call(&self->client, &call, &answer)
                                       : draft.status;
    json_decref(answer);
    etcd_draft_fini(&draft);
    return status == STATUS_OK;
}

/* True: another one should follow at once. */
static bool watch_once(struct etcd_watch *self)
{
    bool lasted = false;
    struct curl_slist *headers;
    struct etcd_draft draft;
    CURL *curl = self->client.curl;

    self->begun = false;
    atomic_store(&self->probe, false);
    if (!is_there(self)) {
        return false;
    }
    atomic_fetch_add(&self->store->contacts, 1);
    draft_watch(&draft, self->store);
    headers = etcd_client_prepare(&self->client, curl, "/v3/watch", buffer_span(&draft.bytes));
    buffer_clear(&self->line);
    if (headers != NULL && draft.status == STATUS_OK) {
        (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 0L);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
        (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, self);
        (void)curl_multi_add_handle(self->multi, curl);
        lasted = follow(self);
        (void)curl_multi_remove_handle(self->multi, curl);
    }
    curl_slist_free_all(headers);
    etcd_draft_fini(&draft);
    return lasted;
}

static void *run(void *context)
{
    struct etcd_watch *self = context;

    while (!atomic_load(&self->stopping)) {
        bool lasted = watch_once(self);

        if (!self->begun) {
            self->client.endpoint = (self->client.endpoint + 1) % self->store->config.nendpoints;
        }
        if (!lasted && !atomic_load(&self->stopping)) {
            (void)curl_multi_poll(self->multi, NULL, 0, PAUSE_MS, NULL);
        }
    }
    return NULL;
}

void etcd_watch_probe(struct etcd_watch *self)
{
    atomic_store(&self->probe, true);
    (void)curl_multi_wakeup(self->multi);
}

void etcd_watch_interrupt(struct etcd_watch *self)
{
    if (self != NULL) {
        etcd_client_interrupt(&self->client);
    }
}

void etcd_watch_stop(struct etcd_watch **watch)
{
    struct etcd_watch *self = *watch;

    *watch = NULL;
    if (self == NULL) {
        return;
    }
    if (self->started) {
        atomic_store(&self->stopping, true);
        (void)curl_multi_wakeup(self->multi);
        (void)pthread_join(self->thread, NULL);
    }
    if (self->multi != NULL) {
        (void)curl_multi_cleanup(self->multi);
    }
    etcd_client_fini(&self->client);
    buffer_fini(&self->line);
    heap_free(self);
}

enum status store_etcd_watch_start(struct store *store, void (*wake)(void *context), void *context)
{
    struct store_etcd *owner = store->self;
    struct etcd_watch *self = heap_zalloc(1, sizeof *self);
    enum status status;

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->store = owner;
    self->wake = wake;
    self->context = context;
    buffer_init(&self->line, LINE_BYTES);
    status = etcd_client_init(&self->client, &owner->config);
    self->client.quiet = true;
    self->multi = status == STATUS_OK ? curl_multi_init() : NULL;
    if (self->multi != NULL) {
        self->started = pthread_create(&self->thread, NULL, run, self) == 0;
    }
    if (!self->started) {
        etcd_watch_stop(&self);
        return STATUS_NOMEM;
    }
    owner->watch = self;
    return STATUS_OK;
}
