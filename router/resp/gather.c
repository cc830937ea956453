/* Keys of many commands in one request to the router. */
#include "base/heap.h"
#include "router/resp/private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST_ROOM = 16,
    HEAD_BYTES = 16,
    ANSWER_BYTES = 4,
};

/* ---- which request ---- */

size_t gather_key_bytes(const struct span *keys, uint32_t count)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++) {
        bytes += keys[i].size;
    }
    return bytes;
}

static bool has_room(const struct gather *gather, const struct span *keys, uint32_t count)
{
    return gather->count + count <= CODEC_MAX_KEYS &&
           (gather->count == 0 ||
            gather->keys.size + gather_key_bytes(keys, count) <= FRONT_GATHER_BYTES);
}

static bool is_kind(const struct gather *gather, const struct gather_kind *kind)
{
    return gather->kind.operation == kind->operation && gather->kind.make == kind->make &&
           strcmp(gather->kind.name, kind->name) == 0;
}

/* FNV-1a. Whoever fills one bucket only makes it slow for as long as requests are gathered: a
 * turn. */
static struct gather **bucket_of(struct front *self, const struct gather_kind *kind)
{
    uint32_t hash = 2166136261U ^ (uint32_t)kind->operation;

    for (const char *at = kind->name; *at != '\0'; at++) {
        hash = (hash ^ (uint8_t)*at) * 16777619U;
    }
    return &self->alike[(hash ^ hash >> 16) % FRONT_BUCKETS];
}

void gather_move(struct gather_list *list, struct gather *gather)
{
    if (gather->list != NULL) {
        TAILQ_REMOVE(gather->list, gather, entry);
    }
    TAILQ_INSERT_TAIL(list, gather, entry);
    gather->list = list;
}

/* The newest stands first: those behind it are full. */
static struct gather *open_one(struct front *self, const struct gather_kind *kind)
{
    struct gather **bucket = bucket_of(self, kind);
    struct gather *gather = NULL;

    if (self->ngathers < FRONT_MAX_GATHERS) {
        gather = heap_zalloc(1, sizeof *gather);
    }
    if (gather != NULL) {
        gather->kind = *kind;
        gather->deadline_us = kind->deadline_us != 0 ? kind->deadline_us : front_deadline_us(self);
        gather->slot = self->free_slots[self->ngathers++];
        self->slots[gather->slot] = gather;
        gather->next_alike = *bucket;
        *bucket = gather;
        buffer_init(&gather->keys, CODEC_MAX_FRAME_BYTES);
        gather_move(&self->open, gather);
    }
    return gather;
}

static void leave_bucket(struct front *self, const struct gather *gather)
{
    struct gather **at = bucket_of(self, &gather->kind);

    while (*at != NULL && *at != gather) {
        at = &(*at)->next_alike;
    }
    if (*at != NULL) {
        *at = gather->next_alike;
    }
}

void gather_destroy(struct front *self, struct gather *gather)
{
    if (gather->list == &self->open) {
        leave_bucket(self, gather);
    }
    TAILQ_REMOVE(gather->list, gather, entry);
    self->slots[gather->slot] = NULL;
    self->free_slots[--self->ngathers] = (uint16_t)gather->slot;
    self->gathered -= gather->counted;
    buffer_fini(&gather->keys);
    heap_free(gather->lengths);
    heap_free(gather);
}

/* An open one that these keys may join. */
static struct gather *choose(struct front *self, const struct gather_kind *kind,
                             const struct span *keys, uint32_t count)
{
    struct gather *gather = !gather_is_alone(kind) ? *bucket_of(self, kind) : NULL;

    while (gather != NULL && !(is_kind(gather, kind) && has_room(gather, keys, count))) {
        gather = gather->next_alike;
    }
    return gather;
}

/* ---- the order of one connection ---- */

/* Earlier adds to the filter are settled, or leave in the same request. */
static bool may_follow(const struct session *session, const struct gather_kind *kind,
                       const struct gather *gather)
{
    for (uint32_t i = 0; i < session->nadds; i++) {
        if (strcmp(session->adds[i]->kind.name, kind->name) == 0 && session->adds[i] != gather) {
            return false;
        }
    }
    return true;
}

static bool is_noted(const struct session *session, const struct gather *gather)
{
    for (uint32_t i = 0; i < session->nadds; i++) {
        if (session->adds[i] == gather) {
            return true;
        }
    }
    return false;
}

/* So many adds are awaited that no further one can be noted. */
static bool too_many_adds(const struct session *session, const struct gather_kind *kind,
                          const struct gather *gather)
{
    return kind->operation == OPERATION_ADD && session->nadds == FRONT_ADDS &&
           (gather == NULL || !is_noted(session, gather));
}

/* ---- keys in ---- */

/* For the lengths of so many further keys. */
static bool make_room(struct gather *gather, uint32_t count)
{
    uint32_t room = gather->room > 0 ? gather->room : FIRST_ROOM;

    while (room < gather->count + count) {
        room *= 2;
    }
    if (room > gather->room) {
        uint32_t *grown = heap_realloc(gather->lengths, room, sizeof *grown);

        if (grown == NULL) {
            return false;
        }
        gather->lengths = grown;
        gather->room = room;
    }
    return true;
}

static bool append(struct front *self, struct gather *gather, const struct span *keys,
                   uint32_t count)
{
    size_t bytes = gather_key_bytes(keys, count);
    uint8_t *out;

    if (!memory_takes_keys(self, bytes) || !make_room(gather, count) ||
        buffer_extend(&gather->keys, bytes, &out) != STATUS_OK) {
        return false;
    }
    memory_count_gather(self, gather);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(out, keys[i].data, keys[i].size);
        out += keys[i].size;
        gather->lengths[gather->count + i] = (uint32_t)keys[i].size;
    }
    gather->count += count;
    return true;
}

static void join(struct gather *gather, struct call *call)
{
    struct session *session = call->session;

    if (gather_is_add(gather) && !is_noted(session, gather)) {
        session->adds[session->nadds++] = gather;
    }
    if (gather->last != NULL) {
        gather->last->next_shared = call;
    } else {
        gather->first = call;
    }
    gather->last = call;
}

bool gather_keys(struct front *self, struct session *session, const struct gather_kind *kind,
                 const struct span *keys, uint32_t count, bool many)
{
    struct gather *gather = choose(self, kind, keys, count);
    struct call *call;

    if (!may_follow(session, kind, gather) || too_many_adds(session, kind, gather)) {
        return false;
    }
    call = call_begin(self, session);
    if (call == NULL) {
        return true;
    }
    gather = gather != NULL ? gather : open_one(self, kind);
    if (gather == NULL || !append(self, gather, keys, count)) {
        if (gather != NULL && gather->count == 0) {
            gather_destroy(self, gather);
        }
        call_fail(self, call, "OVERLOADED the router has too much under way; slow down, retry");
        return true;
    }
    call_expect(call, HEAD_BYTES + (size_t)count * ANSWER_BYTES);
    call->many = many;
    call->first = gather->count - count;
    call->count = count;
    join(gather, call);
    return true;
}

/* ---- the request ---- */

static void send(struct front *self, struct gather *gather)
{
    uint64_t left_us = gather->deadline_us > self->now_us ? gather->deadline_us - self->now_us : 0;
    struct frame frame = {
        .correlation = ++self->number << FRONT_SLOT_BITS | gather->slot,
        .kind = FRAME_CLIENT_REQUEST,
        .body.client_request =
            {
                .filter = gather->kind.name,
                .filter_id = gather->kind.filter_id,
                .lineage = gather->kind.lineage,
                .operation = gather->kind.operation,
                .op = self->op,
                .timeout_ms = (uint32_t)(left_us / 1000) + 1,
                .keys = buffer_span(&gather->keys),
                .lengths = gather->lengths,
                .count = gather->count,
            },
    };

    self->op.sequence++;
    gather->number = frame.correlation;
    gather->attempts++;
    front_count(self, FRONT_resp_requests_total);
    buffer_clear(&self->frame);
    if (codec_encode(&frame, &self->frame) != STATUS_OK) {
        gather_fail(self, gather, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    self->router.on_request(self->router.self, self->now_us, &(struct peer){0},
                            buffer_span(&self->frame));
}

/* The router may answer before send() returns, and so fill `again`. */
void gathers_send(struct front *self)
{
    struct gather *gather;

    while ((gather = TAILQ_FIRST(&self->again)) != NULL) {
        gather_move(&self->sent, gather);
        send(self, gather);
    }
    while ((gather = TAILQ_FIRST(&self->open)) != NULL) {
        leave_bucket(self, gather);
        gather_move(&self->sent, gather);
        send(self, gather);
    }
}

/* ---- all of them ---- */

void gathers_init(struct front *self)
{
    TAILQ_INIT(&self->open);
    TAILQ_INIT(&self->sent);
    TAILQ_INIT(&self->again);
    for (uint32_t i = 0; i < FRONT_MAX_GATHERS; i++) {
        self->free_slots[i] = (uint16_t)i;
    }
}

void gathers_fini(struct front *self)
{
    struct gather_list *lists[] = {&self->open, &self->sent, &self->again};

    for (size_t i = 0; i < 3; i++) {
        while (!TAILQ_EMPTY(lists[i])) {
            struct gather *gather = TAILQ_FIRST(lists[i]);
            struct call *call = gather->first;

            while (call != NULL) {
                struct call *next = call->next_shared;

                buffer_fini(&call->reply);
                heap_free(call);
                call = next;
            }
            gather_destroy(self, gather);
        }
    }
}
