/* Keys of many commands in one request to the router; its answer is shared out to the commands, and
 * filters that are missing are made. */
#include "base/bits.h"
#include "base/heap.h"
#include "router/resp/command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    FIRST_ROOM = 16,
    HEAD_BYTES = 16,
    ANSWER_BYTES = 4,
    TRIES = 4,
    GRACE_US = 1000000, /* after the deadline, which the router keeps by itself */
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

static bool is_add(const struct gather *gather)
{
    return gather->kind.operation == OPERATION_ADD;
}

static bool has_room(const struct gather *gather, const struct span *keys, uint32_t count)
{
    return gather->count + count <= CODEC_MAX_KEYS &&
           (gather->count == 0 ||
            gather->keys.size + gather_key_bytes(keys, count) <= FRONT_GATHER_BYTES);
}

static bool is_kind(const struct gather *gather, const struct gather_kind *kind, uint32_t user)
{
    return gather->kind.operation == kind->operation && gather->kind.make == kind->make &&
           gather->user == user && strcmp(gather->kind.name, kind->name) == 0;
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

/* To the end of a list, out of the one that it is in. */
static void move(struct gather_list *list, struct gather *gather)
{
    if (gather->list != NULL) {
        TAILQ_REMOVE(gather->list, gather, entry);
    }
    TAILQ_INSERT_TAIL(list, gather, entry);
    gather->list = list;
}

/* The newest stands first: those behind it are full. */
static struct gather *open_one(struct front *self, const struct gather_kind *kind, uint32_t user)
{
    struct gather **bucket = bucket_of(self, kind);
    struct gather *gather = NULL;

    if (self->ngathers < FRONT_MAX_GATHERS) {
        gather = heap_zalloc(1, sizeof *gather);
    }
    if (gather != NULL) {
        gather->kind = *kind;
        gather->user = user;
        gather->deadline_us = kind->deadline_us != 0 ? kind->deadline_us : front_deadline_us(self);
        gather->slot = self->free_slots[self->ngathers++];
        assert(self->slots[gather->slot] == NULL);
        self->slots[gather->slot] = gather;
        gather->next_alike = *bucket;
        *bucket = gather;
        buffer_init(&gather->keys, CODEC_MAX_FRAME_BYTES);
        move(&self->open, gather);
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

static void destroy(struct front *self, struct gather *gather)
{
    if (gather->list == &self->open) {
        leave_bucket(self, gather);
    }
    TAILQ_REMOVE(gather->list, gather, entry);
    assert(self->slots[gather->slot] == gather && self->ngathers > 0);
    self->slots[gather->slot] = NULL;
    self->free_slots[--self->ngathers] = (uint16_t)gather->slot;
    self->gathered -= gather->counted;
    buffer_fini(&gather->keys);
    heap_free(gather->lengths);
    heap_free(gather);
}

/* It shares no request with others. */
static bool is_alone(const struct gather_kind *kind)
{
    return kind->make == MAKE_ASKED || kind->operation == OPERATION_FEED;
}

/* An open one that these keys may join. */
static struct gather *choose(struct front *self, const struct gather_kind *kind, uint32_t user,
                             const struct span *keys, uint32_t count)
{
    struct gather *gather = !is_alone(kind) ? *bucket_of(self, kind) : NULL;

    while (gather != NULL && !(is_kind(gather, kind, user) && has_room(gather, keys, count))) {
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

    if (is_add(gather) && !is_noted(session, gather)) {
        assert(session->nadds < FRONT_ADDS);
        session->adds[session->nadds++] = gather;
    }
    if (gather->last != NULL) {
        gather->last->next_shared = call;
    } else {
        gather->first = call;
    }
    gather->last = call;
    gather->ncalls++;
}

bool gather_keys(struct front *self, struct session *session, const struct gather_kind *kind,
                 const struct span *keys, uint32_t count, bool many)
{
    uint32_t user = session->user;
    struct gather *gather = choose(self, kind, user, keys, count);
    struct call *call;

    assert(kind->operation != OPERATION_FEED || kind->fed != NULL);
    if (!may_follow(session, kind, gather) || too_many_adds(session, kind, gather)) {
        return false;
    }
    call = call_begin(self, session);
    if (call == NULL) {
        return true;
    }
    gather = gather != NULL ? gather : open_one(self, kind, user);
    if (gather == NULL || !append(self, gather, keys, count)) {
        /* Begun just now, for these keys. */
        if (gather != NULL && gather->count == 0) {
            destroy(self, gather);
        }
        call_fail(self, call, "OVERLOADED the router has too much under way; slow down, retry");
        return true;
    }
    call_expect(call, HEAD_BYTES + (size_t)count * ANSWER_BYTES);
    call->many = many;
    call->first = gather->count - count;
    call->count = count;
    call->keys_at = (uint32_t)(gather->keys.size - gather_key_bytes(keys, count));
    call->gathered = kind->operation != OPERATION_FEED;
    join(gather, call);
    return true;
}

/* ---- what it says ---- */

static bool bit(const uint64_t *plane, uint32_t at)
{
    return plane != NULL && bits_has(plane, at);
}

/* What one key has: for a check "perhaps present", for an add "new", where both may be: an item
 * that perhaps is new must not be taken for an old one. */
struct verdict {
    bool known;
    bool yes;
};

/* Which of the two planes says yes. */
static const uint64_t *yes_of(const struct gather *gather, const struct client_reply *reply)
{
    return gather->kind.operation == OPERATION_CHECK ? reply->present : reply->absent;
}

static struct verdict verdict_of(const struct gather *gather, const struct client_reply *reply,
                                 uint32_t at)
{
    bool held = at < reply->count;

    return (struct verdict){.known = held && (bit(reply->present, at) || bit(reply->absent, at)),
                            .yes = held && bit(yes_of(gather, reply), at)};
}

static void write_one(struct front *self, struct resp_writer *writer, struct verdict verdict,
                      const char *error)
{
    if (verdict.known) {
        resp_boolean(writer, verdict.yes);
    } else {
        front_count(self, FRONT_resp_errors_total);
        resp_error(writer, error);
    }
}

/* As peers do it: the array ends with the item that found the filter full. */
static uint32_t answers_of(const struct gather *gather, const struct call *call,
                           const struct client_reply *reply)
{
    for (uint32_t i = 0; reply->status == STATUS_FULL && i < call->count; i++) {
        if (!verdict_of(gather, reply, call->first + i).known) {
            return i + 1;
        }
    }
    return call->count;
}

static bool all_known(const struct gather *gather, const struct call *call,
                      const struct client_reply *reply)
{
    for (uint32_t i = 0; i < call->count; i++) {
        if (!verdict_of(gather, reply, call->first + i).known) {
            return false;
        }
    }
    return true;
}

/* How many are known. */
static uint32_t write_all(struct front *self, struct resp_writer *writer,
                          const struct gather *gather, const struct call *call,
                          const struct client_reply *reply, const char *error)
{
    uint32_t count = answers_of(gather, call, reply);
    uint32_t known = 0;

    if (call->many) {
        resp_array(writer, count);
    }
    if (all_known(gather, call, reply)) {
        resp_booleans(writer, yes_of(gather, reply), call->first, count);
        return count;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct verdict verdict = verdict_of(gather, reply, call->first + i);

        write_one(self, writer, verdict, error);
        known += verdict.known;
    }
    return known;
}

static void answer(struct front *self, const struct gather *gather, struct call *call,
                   const struct client_reply *reply, const char *error)
{
    bool feeds = gather->kind.operation == OPERATION_FEED;
    struct resp_writer writer = call_writer(call);
    uint32_t known;

    /* A feed's answer stays with the call until the coordinator has heard of it. */
    writer.out = feeds ? &call->reply : writer.out;
    known = write_all(self, &writer, gather, call, reply, error);
    if (feeds && known > 0 && !writer.failed) {
        gather->kind.fed(self, gather, call, known);
    } else {
        call_end(self, call, &writer);
    }
}

static void forget_add(struct session *session, const struct gather *gather)
{
    for (uint32_t i = 0; i < session->nadds; i++) {
        if (session->adds[i] == gather) {
            session->adds[i] = session->adds[--session->nadds];
            return;
        }
    }
}

/* For WAIT. What was not acknowledged may be nowhere. */
static void note_copies(const struct gather *gather, const struct call *call,
                        const struct client_reply *reply)
{
    struct session *session = call->session;
    uint32_t copies = reply != NULL && all_known(gather, call, reply) ? reply->copies : 0;

    if (session->waited || copies < session->copies) {
        session->copies = copies;
    }
    session->waited = false;
}

/* The slow log has its words from here, as they were not kept for those that are fast. */
static void time_it(struct front *self, const struct gather *gather, struct call *call,
                    uint32_t following)
{
    if (call->gathered && slowlog_wants(self, call)) {
        slowlog_keep_keys(self, gather, call, following);
    }
}

/* Every command gets its part, or the error where there is no reply; the connection may go on. */
static void settle(struct front *self, struct gather *gather, const struct client_reply *reply,
                   const char *error)
{
    struct call *call = gather->first;
    uint32_t following = gather->ncalls;

    while (call != NULL) {
        struct call *next = call->next_shared;

        time_it(self, gather, call, --following);
        if (call->session != NULL) {
            forget_add(call->session, gather);
            if (gather->kind.operation != OPERATION_CHECK) {
                note_copies(gather, call, reply);
            }
        }
        if (reply != NULL) {
            answer(self, gather, call, reply, error);
        } else {
            call_fail(self, call, error);
        }
        call = next;
    }
    destroy(self, gather);
}

/* Nothing is known of any key: the error is the whole answer of every command. */
static void fail(struct front *self, struct gather *gather, enum status status, const char *message)
{
    char error[FRONT_MESSAGE_BYTES];

    if (status == STATUS_FULL) {
        (void)snprintf(error, sizeof error, "ERR non scaling filter is full");
    } else if (status == STATUS_NOT_FOUND) {
        (void)snprintf(error, sizeof error, "ERR not found");
    } else {
        (void)snprintf(error, sizeof error, "%s %s", front_code(gather->user, status), message);
    }
    settle(self, gather, NULL, error);
}

/* ---- filters that are missing ---- */

/* Made by whoever came first, which is as good. */
static void made(struct front *self, void *owner, const struct frame *frame, enum status status,
                 const char *message)
{
    struct gather *gather = owner;

    if (frame != NULL) {
        status = frame->body.admin_reply.status;
        message = frame->body.admin_reply.message;
        self->counters[FRONT_resp_filters_created_total] += status == STATUS_OK &&
                                                            frame->body.admin_reply.created;
    }
    if (status == STATUS_OK || status == STATUS_EXISTS) {
        move(&self->again, gather);
    } else {
        fail(self, gather, status, message);
    }
}

static void make_filter(struct front *self, struct gather *gather)
{
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request =
            {
                .action = ADMIN_CREATE,
                .name = gather->kind.name,
                .create = gather->kind.create,
                .successor = "",
            },
    };

    /* No answer of the router is awaited meanwhile. */
    gather->number = 0;
    question_ask(self, gather->user, &frame, gather->deadline_us, made, gather);
}

/* Nothing is in it. */
static void answer_missing(struct front *self, struct call *call)
{
    struct resp_writer writer = call_writer(call);

    if (call->many) {
        resp_array(&writer, call->count);
    }
    for (uint32_t i = 0; i < call->count; i++) {
        resp_boolean(&writer, false);
    }
    call_end(self, call, &writer);
}

/* As of one that is told to make none; its owner has the right to do so otherwise. */
static void refuse_to_make(struct front *self, struct gather *gather)
{
    char error[FRONT_MESSAGE_BYTES];

    (void)snprintf(error, sizeof error,
                   "ERR not found: this user has the right to make the filter, but adds make none, "
                   "as its `create` is off; make it with BF.RESERVE or `orbloom create %s`, or "
                   "give the user create = \"on\" (orbloom user apply)",
                   gather->kind.name);
    settle(self, gather, NULL, error);
}

/* No such filter: a check finds nothing in it, unless that is to be an error. */
static void miss(struct front *self, struct gather *gather)
{
    if (is_add(gather) && gather->kind.make == MAKE_DENIED) {
        rights_note_denied(self, gather);
        settle(self, gather, NULL,
               "NOPERM the filter is missing, and the user has no right (c) to make it");
    } else if (is_add(gather) && gather->kind.make == MAKE_OFF) {
        refuse_to_make(self, gather);
    } else if (is_add(gather) && gather->kind.make != MAKE_NEVER && gather->attempts < TRIES) {
        make_filter(self, gather);
    } else if (gather->kind.operation != OPERATION_CHECK || self->config.strict_missing) {
        fail(self, gather, STATUS_NOT_FOUND, "");
    } else {
        struct call *next;
        uint32_t following = gather->ncalls;

        for (struct call *call = gather->first; call != NULL; call = next) {
            next = call->next_shared;
            time_it(self, gather, call, --following);
            answer_missing(self, call);
        }
        destroy(self, gather);
    }
}

/* ---- answers of the router ---- */

static struct gather *find(struct front *self, uint64_t number)
{
    struct gather *gather = self->slots[number % FRONT_MAX_GATHERS];

    return gather != NULL && gather->number == number ? gather : NULL;
}

void gather_on_reply(struct front *self, const struct frame *frame)
{
    const struct client_reply *reply = &frame->body.client_reply;
    struct gather *gather = find(self, frame->correlation);
    char error[FRONT_MESSAGE_BYTES];

    if (gather == NULL) {
        return;
    }
    if (reply->status == STATUS_NOT_FOUND) {
        miss(self, gather);
    } else if (reply->status == STATUS_STALE && gather->attempts < TRIES) {
        gather->number = 0; /* The name is bound to another filter by now. */
        move(&self->again, gather);
    } else if (reply->status == STATUS_FULL) {
        settle(self, gather, reply, "ERR non scaling filter is full");
    } else {
        (void)snprintf(error, sizeof error, "%s %s", front_code(gather->user, reply->status),
                       reply->message);
        settle(self, gather, reply, error);
    }
}

void gather_on_error(struct front *self, const struct frame *frame)
{
    struct gather *gather = find(self, frame->correlation);

    if (gather != NULL) {
        fail(self, gather, frame->body.error.status, frame->body.error.message);
    }
}

/* The router answers in time; but if an answer should get lost, nobody waits for ever. */
void gathers_tick(struct front *self)
{
    struct gather *gather = TAILQ_FIRST(&self->sent);

    while (gather != NULL && self->now_us > gather->deadline_us + GRACE_US) {
        struct gather *next = TAILQ_NEXT(gather, entry);

        if (gather->number != 0) { /* Else a question has a deadline of its own. */
            fail(self, gather, STATUS_DEADLINE, "the router did not answer");
        }
        gather = next;
    }
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
                .keyset = gather->kind.keyset,
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
        fail(self, gather, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    self->router.on_request(self->router.self, self->now_us, &(struct peer){.user = gather->user},
                            buffer_span(&self->frame));
}

/* The router may answer before send() returns, and so fill `again`. */
void gathers_send(struct front *self)
{
    struct gather *gather;

    while ((gather = TAILQ_FIRST(&self->again)) != NULL) {
        move(&self->sent, gather);
        send(self, gather);
    }
    while ((gather = TAILQ_FIRST(&self->open)) != NULL) {
        leave_bucket(self, gather);
        move(&self->sent, gather);
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

                slowlog_forget(call->slow);
                buffer_fini(&call->reply);
                heap_free(call);
                call = next;
            }
            destroy(self, gather);
        }
    }
}
