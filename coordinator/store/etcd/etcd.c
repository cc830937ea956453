/* The struct store itself: its functions lead to the files beside this one. */
#include "base/heap.h"
#include "coordinator/store/etcd/private.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* All but the first calls find that this was done. */
static enum status ensure_checked(struct store_etcd *self)
{
    return self->checked ? STATUS_OK : etcd_check_format(self);
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
    enum status status = ensure_checked(context);

    return status == STATUS_OK ? etcd_read_change(context, change) : status;
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

static void interrupt(void *context)
{
    struct store_etcd *self = context;

    etcd_client_interrupt(&self->client);
    etcd_watch_interrupt(self->watch);
    etcd_room_interrupt(self->room);
}

static const char *tell_reason(void *context)
{
    const struct store_etcd *self = context;

    return self->client.reason;
}

static struct store_room tell_room(void *context)
{
    const struct store_etcd *self = context;

    return etcd_room_last(self->room);
}

static void destroy(struct store_etcd *self)
{
    if (self == NULL) {
        return;
    }
    etcd_watch_stop(&self->watch);
    etcd_room_stop(&self->room);
    etcd_client_fini(&self->client);
    recent_fini(&self->recent);
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
    recent_init(&self->recent);
    self->store = (struct store){.self = self,
                                 .get = get,
                                 .swap = swap,
                                 .since = since,
                                 .change = read_change,
                                 .moved = moved,
                                 .interrupt = interrupt,
                                 .reason = tell_reason,
                                 .room = tell_room};
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
