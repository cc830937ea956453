/* Looks once a minute how near etcd's members are to their quota: past it none of them writes. */
#include "base/heap.h"
#include "base/number.h"
#include "coordinator/store/etcd/private.h"
#include "coordinator/store/etcd/size.h"

#include <assert.h>
#include <pthread.h>

/* A thread with a client of its own: neither reads and writes of the store nor its watch wait for
 * it, nor it for them. It shows no token, as none is needed where the answer may be had at all, and
 * each one would cost etcd a hashed password. */

enum { REST_MS = 60000 };

struct etcd_room {
    const struct store_etcd_config *config;
    struct etcd_client client;
    CURLM *multi; /* to sleep in, and to be woken */
    pthread_t thread;
    bool started;
    atomic_bool stopping;
    bool warned[STORE_ETCD_MAX_ENDPOINTS];
    pthread_mutex_t mutex;
    struct store_room room; /* of the member that has least left; the mutex' */
};

/* What one member says; zeros: it does not. */
static struct store_room ask_member(struct etcd_room *self, uint32_t endpoint)
{
    struct etcd_client *client = &self->client;
    struct etcd_size size = {0};

    if (etcd_client_fetch(client, endpoint, "/v3/maintenance/status", span_text("{}"))) {
        json_t *answer = json_loadb((const char *)client->answer.data, client->answer.size, 0,
                                    NULL);

        etcd_size_read_status(&size, answer);
        json_decref(answer);
    }
    if ((size.bytes == 0 || !size.quota_said) &&
        etcd_client_fetch(client, endpoint, "/metrics", span_of(NULL, 0))) {
        etcd_size_read_metrics(&size, buffer_span(&client->answer));
    }
    return etcd_size_room(&size);
}

/* Once, until it is below that again. */
static void warn(struct etcd_room *self, uint32_t endpoint, const struct store_room *room)
{
    bool full = etcd_room_share(room) >= ETCD_FULL_SHARE;
    char bytes[NUMBER_TEXT_BYTES];
    char quota[NUMBER_TEXT_BYTES];

    if (full && !self->warned[endpoint]) {
        log_line(LOG_WARN,
                 "store %s: etcd's database has %s of the %s that its quota allows; when it is "
                 "full nothing can be changed: compact and defragment it, or raise "
                 "--quota-backend-bytes",
                 self->config->endpoints[endpoint], number_show_bytes(room->bytes, bytes),
                 number_show_bytes(room->quota, quota));
    }
    self->warned[endpoint] = full;
}

/* Of several that are as near, or have no quota, the largest. */
static bool has_less_left(const struct store_room *a, const struct store_room *b)
{
    double share = etcd_room_share(a);
    double other = etcd_room_share(b);

    return share > other || (share >= other && a->bytes > b->bytes);
}

static struct store_room look(struct etcd_room *self)
{
    struct store_room least = {0};

    for (uint32_t i = 0; i < self->config->nendpoints; i++) {
        struct store_room room = ask_member(self, i);

        if (room.bytes != 0) { /* Who says nothing has not got better. */
            warn(self, i, &room);
        }
        if (has_less_left(&room, &least)) {
            least = room;
        }
    }
    return least;
}

static void *run(void *context)
{
    struct etcd_room *self = context;

    while (!atomic_load(&self->stopping)) {
        struct store_room room = look(self);

        pthread_mutex_lock(&self->mutex);
        self->room = room;
        pthread_mutex_unlock(&self->mutex);
        (void)curl_multi_poll(self->multi, NULL, 0, REST_MS, NULL);
    }
    return NULL;
}

struct store_room etcd_room_last(struct etcd_room *self)
{
    struct store_room room = {0};

    if (self != NULL) {
        pthread_mutex_lock(&self->mutex);
        room = self->room;
        pthread_mutex_unlock(&self->mutex);
    }
    return room;
}

void etcd_room_interrupt(struct etcd_room *self)
{
    if (self != NULL) {
        etcd_client_interrupt(&self->client);
    }
}

void etcd_room_stop(struct etcd_room **room)
{
    struct etcd_room *self = *room;

    *room = NULL;
    if (self == NULL) {
        return;
    }
    etcd_client_interrupt(&self->client);
    if (self->started) {
        atomic_store(&self->stopping, true);
        (void)curl_multi_wakeup(self->multi);
        (void)pthread_join(self->thread, NULL);
    }
    if (self->multi != NULL) {
        (void)curl_multi_cleanup(self->multi);
    }
    etcd_client_fini(&self->client);
    (void)pthread_mutex_destroy(&self->mutex);
    heap_free(self);
}

enum status store_etcd_room_start(struct store *store)
{
    struct store_etcd *owner = store->self;
    struct etcd_room *self = heap_zalloc(1, sizeof *self);

    assert(owner->room == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->config = &owner->config;
    (void)pthread_mutex_init(&self->mutex, NULL);
    self->multi = etcd_client_init(&self->client, &owner->config) == STATUS_OK ? curl_multi_init()
                                                                               : NULL;
    if (self->multi != NULL) {
        self->started = pthread_create(&self->thread, NULL, run, self) == 0;
    }
    if (!self->started) {
        etcd_room_stop(&self);
        return STATUS_NOMEM;
    }
    owner->room = self;
    return STATUS_OK;
}
