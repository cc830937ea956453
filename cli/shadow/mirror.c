/* One list: answered next | sent | to be sent. */
#include "cli/shadow/mirror.h"

#include "base/heap.h"
#include "cli/shadow/answers.h"

#include <assert.h>

enum {
    SENT_MOST = 1024, /* commands that are sent and not answered */
    SENT_BYTES_MOST = 16 << 20,
    REPLY_BYTES_MOST = 4 << 20,
    ATTEMPTS_MOST = 3,
    LATE_MOST = 3,
};

struct shadow_deed *shadow_deed_create(const struct shadow_command *command, struct span request)
{
    struct shadow_deed *self = heap_alloc(1, sizeof *self + request.size);

    if (self == NULL) {
        return NULL;
    }
    self->kind = command->kind;
    self->database = command->database;
    self->nkeys = command->nkeys;
    self->no_room = false;
    self->reserved = 0;
    self->size = request.size;
    if (request.size > 0) {
        memcpy(self->request, request.data, request.size);
    }
    return self;
}

static size_t bytes_of(const struct mirror_item *item)
{
    return sizeof *item + item->deed->nkeys + shadow_deed_bytes(item->deed);
}

bool mirror_reserve(struct mirror *self, size_t bytes)
{
    if (bytes > self->max_bytes - self->bytes) {
        return false;
    }
    self->bytes += bytes;
    return true;
}

void mirror_release(struct mirror *self, size_t bytes)
{
    assert(bytes <= self->bytes);

    self->bytes -= bytes;
}

bool mirror_reserve_deed(struct mirror *self, struct shadow_deed *deed)
{
    if (deed->reserved == 0 && mirror_reserve(self, shadow_deed_bytes(deed))) {
        deed->reserved = shadow_deed_bytes(deed);
    }
    return deed->reserved > 0;
}

void mirror_drop_deed(struct mirror *self, struct shadow_deed **deed)
{
    if (*deed != NULL) {
        mirror_release(self, (*deed)->reserved);
    }
    heap_free(*deed);
    *deed = NULL;
}

void mirror_init(struct mirror *self, const struct mirror_port *port, size_t max_bytes,
                 uint64_t patience_us, struct span greeting)
{
    *self = (struct mirror){
        .port = *port, .max_bytes = max_bytes, .patience_us = patience_us, .greeting = greeting};
    TAILQ_INIT(&self->items);
    TAILQ_INIT(&self->later);
    framer_init(&self->framer, false);
    buffer_init(&self->reply, REPLY_BYTES_MOST);
}

bool mirror_ready(const struct mirror *self)
{
    return self->connected && self->greeted;
}

bool mirror_is_idle(const struct mirror *self)
{
    return mirror_ready(self) && self->sent == 0;
}

void mirror_was_late(struct mirror *self)
{
    self->late++;
}

bool mirror_is_late(const struct mirror *self)
{
    return self->late >= LATE_MOST;
}

/* Take the oldest one out of the list. */
static struct mirror_item *take_first(struct mirror *self)
{
    struct mirror_item *item = TAILQ_FIRST(&self->items);

    if (item == self->next) {
        self->next = TAILQ_NEXT(item, entry);
    } else {
        self->sent--;
        self->sent_bytes -= item->deed->size;
    }
    TAILQ_REMOVE(&self->items, item, entry);
    return item;
}

/* The oldest one has its answer, or never will. */
static void settle(struct mirror *self, struct span reply)
{
    struct mirror_item *item = take_first(self);

    self->count--;
    self->owed -= item->put_off;
    mirror_release(self, bytes_of(item));
    self->port.answered(self->port.context, item, reply);
    mirror_drop_deed(self, &item->deed);
    heap_free(item);
}

/* What was put off comes behind all else. */
static void append_later(struct mirror *self)
{
    struct mirror_item *first = TAILQ_FIRST(&self->later);

    TAILQ_CONCAT(&self->items, &self->later, entry);
    self->next = self->next != NULL ? self->next : first;
}

void mirror_fini(struct mirror *self)
{
    append_later(self);
    while (!TAILQ_EMPTY(&self->items)) {
        settle(self, span_of(NULL, 0));
    }
    assert(self->bytes == 0);
    buffer_fini(&self->reply);
}

static void pump(struct mirror *self)
{
    while (mirror_ready(self) && self->next != NULL && self->sent < SENT_MOST &&
           self->sent_bytes < SENT_BYTES_MOST) {
        struct mirror_item *item = self->next;

        self->next = TAILQ_NEXT(item, entry);
        self->sent++;
        self->sent_bytes += item->deed->size;
        self->port.send(self->port.context, span_of(item->deed->request, item->deed->size));
    }
}

void mirror_again(struct mirror *self)
{
    append_later(self);
    pump(self);
}

static struct mirror_item *make_item(struct mirror *self, struct shadow_deed *deed, struct span old,
                                     uint64_t now_us)
{
    struct mirror_item *item = heap_zalloc(1, sizeof *item + deed->nkeys);

    if (item == NULL) {
        return NULL;
    }
    item->deed = deed;
    item->since_us = now_us;
    shadow_answers_read(old, item->old, deed->nkeys);
    mirror_release(self, deed->reserved);
    deed->reserved = 0; /* From here on the item's. */
    if (!mirror_reserve(self, bytes_of(item))) {
        heap_free(item);
        return NULL;
    }
    return item;
}

struct mirror_item *mirror_put(struct mirror *self, struct shadow_deed **deed, struct span old,
                               uint64_t now_us)
{
    struct mirror_item *item = make_item(self, *deed, old, now_us);

    if (item == NULL) {
        mirror_drop_deed(self, deed);
        return NULL;
    }
    *deed = NULL;
    TAILQ_INSERT_TAIL(&self->items, item, entry);
    self->count++;
    self->next = self->next != NULL ? self->next : item;
    pump(self);
    return item;
}

void mirror_connected(struct mirror *self)
{
    assert(!self->connected && self->sent == 0);

    self->connected = true;
    self->greeted = self->greeting.size == 0;
    framer_init(&self->framer, false);
    buffer_clear(&self->reply);
    if (!self->greeted) {
        self->port.send(self->port.context, self->greeting);
    }
    pump(self);
}

void mirror_disconnected(struct mirror *self)
{
    struct mirror_item *first = TAILQ_FIRST(&self->items);
    bool was_sent = self->sent > 0;

    self->connected = false;
    self->sent = 0;
    self->sent_bytes = 0;
    self->next = first;
    if (was_sent && ++first->attempts >= ATTEMPTS_MOST) {
        settle(self, span_of(NULL, 0));
    }
}

/* An error that may be none a moment later; of an array, any. */
static bool is_for_now(struct span reply)
{
    static const char *const errors[] = {
        "-UNAVAILABLE", "-NOT_READY", "-STALE",   "-NEED_DOC", "-OVERLOADED",
        "-DEADLINE",    "-NAME_BUSY", "-LOADING", "-TRYAGAIN", "-ERR max number of clients",
    };
    struct span rest = reply;
    struct span value = reply;

    if (reply.data[0] == '*') {
        rest = framer_elements(reply);
    }
    while (framer_split(&rest, &value)) {
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            size_t size = strlen(errors[i]);

            if (value.size > size && memcmp(value.data, errors[i], size) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* A reply is whole. */
static bool take_reply(struct mirror *self, uint64_t now_us)
{
    struct span reply = buffer_span(&self->reply);

    if (!self->greeted) {
        self->greeted = !shadow_is_error(reply);
        return self->greeted;
    }
    if (self->sent == 0) {
        return false; /* Nobody has asked. */
    }
    if (now_us - TAILQ_FIRST(&self->items)->since_us <= self->patience_us) {
        self->late = 0;
    }
    if (TAILQ_FIRST(&self->items)->deed->kind != SHADOW_CHECK && is_for_now(reply)) {
        struct mirror_item *item = take_first(self);

        TAILQ_INSERT_TAIL(&self->later, item, entry);
        self->owed += !item->put_off;
        item->put_off = true;
        self->port.put_off(self->port.context, item);
        return true;
    }
    settle(self, reply);
    return true;
}

bool mirror_bytes(struct mirror *self, uint64_t now_us, struct span bytes)
{
    enum framer_verdict verdict;

    while (bytes.size > 0) {
        size_t size = framer_take(&self->framer, bytes, &verdict);

        if (verdict == FRAMER_BROKEN ||
            buffer_append(&self->reply, span_of(bytes.data, size)) != STATUS_OK) {
            return false;
        }
        bytes = span_of(bytes.data + size, bytes.size - size);
        if (verdict == FRAMER_VALUE) {
            if (!take_reply(self, now_us)) {
                return false;
            }
            buffer_clear(&self->reply);
        }
    }
    pump(self);
    return true;
}
