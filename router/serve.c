/* Requests of clients: to the operation or answer that they ask for, or refused. Those that this
 * router can't judge yet are kept as bytes until a read of the store that was begun after they
 * came. */
#include "base/heap.h"
#include "base/mutant.h"
#include "router/private.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- which filter is meant ---- */

static const char *name_of(const struct frame *frame)
{
    return frame->kind == FRAME_INFO_REQUEST ? frame->body.info_request.filter
                                             : frame->body.client_request.filter;
}

/* The store was read after the request came and has no such filter. */
static void refuse_unknown(struct router *self, const struct peer *from, const struct frame *frame)
{
    const char *name = name_of(frame);
    enum status status = STATUS_NOT_FOUND;
    char message[ROUTER_MESSAGE_BYTES];

    /* It may be there, in what was not believed: "no such filter" would be a claim. */
    if (self->doubtful || document_cache_find_name(&self->documents, name) != NULL) {
        status = STATUS_UNAVAILABLE;
        (void)snprintf(message, sizeof message,
                       "this router could not verify all that the coordinator holds; see its log, "
                       "and whether both use the same cluster_key_file");
    } else {
        router_count(self, ROUTER_unknown_filters_total);
        (void)snprintf(message, sizeof message,
                       "there is no filter %.128s; create it, or see `orbloom info` for those "
                       "that exist",
                       name);
    }
    router_refuse(self, from, frame, status, message);
}

/* Of a filter that is being loaded: what it lacks must not be taken for absent, nor may it be added
 * to. */
static bool is_closed(const struct document_entry *entry)
{
    return document_is_loading(&entry->document);
}

static void refuse_loading(struct router *self, const struct peer *from, const struct frame *frame)
{
    char message[ROUTER_MESSAGE_BYTES];

    (void)snprintf(message, sizeof message,
                   "filter %.128s is being loaded from a dump; it serves once all of that is there",
                   name_of(frame));
    router_refuse(self, from, frame, STATUS_NOT_READY, message);
}

static bool is_shut_out(const struct document_entry *entry, const struct client_request *request)
{
    return request->operation != OPERATION_CHECK && site_gate_shuts_out(&entry->document);
}

/* Does an add not say which filter it means? By name alone one that comes late would get into the
 * next filter of that name. What comes from this process itself was not on its way. */
static bool is_nameless(const struct peer *from, const struct client_request *request)
{
    return !MUTANT(ADD_BY_NAME) && from->size > 0 && request->operation != OPERATION_CHECK &&
           request->filter_id == 0;
}

/* The name is bound to another filter than the one that is meant. */
static bool is_another(const struct client_request *request, const struct document_entry *entry)
{
    return !MUTANT(ADD_BY_NAME) && request->filter_id != 0 &&
           request->filter_id != entry->document.id;
}

/* Nothing was begun; it is to say which filter it means. */
static void bounce(struct router *self, const struct peer *from, const struct frame *frame,
                   const struct filter_document *document, enum status status, const char *message)
{
    const struct client_request *request = &frame->body.client_request;
    struct frame answer = {
        .correlation = frame->correlation,
        .kind = FRAME_CLIENT_REPLY,
        .body.client_reply = {.op = request->op,
                              .attempt = request->attempt,
                              .status = status,
                              .message = message,
                              .filter_id = document->id,
                              .site = document_site_name(document),
                              .site_id = document_site_id(document)},
    };

    router_count_request(self, request, status);
    router_reply(self, from, &answer);
}

/* ---- keeping one until the store was read ---- */

static uint32_t timeout_ms(const struct frame *frame)
{
    return frame->kind == FRAME_INFO_REQUEST ? frame->body.info_request.timeout_ms
                                             : frame->body.client_request.timeout_ms;
}

uint64_t serve_deadline_us(const struct router *self, uint64_t now_us, const struct frame *frame)
{
    return op_deadline_us(self, now_us, timeout_ms(frame));
}

static struct waiting *free_place(struct router *self)
{
    for (size_t i = 0; i < ROUTER_MAX_WAITING; i++) {
        if (!self->waiting[i].used) {
            return &self->waiting[i];
        }
    }
    return NULL;
}

static void count_inflight(struct router *self, uint64_t inflight_bytes)
{
    self->inflight_bytes = inflight_bytes;
    router_show_inflight(self);
}

/* Not the one under way: it may have read the store before the request came. */
static uint64_t sync_settles(const struct router *self)
{
    return MUTANT(JOIN_OPEN_SYNC) && self->sync_open ? self->sync : self->sync + 1;
}

/* Keep it until a question is answered that is sent from now on. */
static void keep(struct router *self, uint64_t now_us, const struct peer *from, struct span bytes,
                 const struct frame *frame)
{
    struct waiting *one = free_place(self);
    uint8_t *copy = one != NULL &&
                            self->inflight_bytes + bytes.size <= self->config.max_inflight_bytes
                        ? heap_alloc(bytes.size, 1)
                        : NULL;

    if (copy == NULL) {
        router_count(self, ROUTER_overloaded_total);
        router_refuse(self, from, frame, STATUS_OVERLOADED,
                      "too many requests wait for the coordinator; slow down, retry");
        return;
    }
    memcpy(copy, bytes.data, bytes.size);
    *one = (struct waiting){
        .used = true,
        .client = *from,
        .frame = copy,
        .size = bytes.size,
        .sync = sync_settles(self),
        .deadline_us = serve_deadline_us(self, now_us, frame),
    };
    self->nwaiting++;
    assert(self->nwaiting <= ROUTER_MAX_WAITING);
    count_inflight(self, self->inflight_bytes + one->size);
    sync_want(self, now_us);
}

/* ---- rights ---- */

static uint8_t right_to(const struct frame *frame)
{
    return frame->kind == FRAME_CLIENT_REQUEST &&
                   frame->body.client_request.operation != OPERATION_CHECK
               ? USER_WRITE
               : USER_READ;
}

/* By the record of users as it is now, also for what was kept. Info shows what the user may see.
 * Who is no user is not asked: processes do not get here, and nobody knows who is who where all is
 * plain. */
static bool may(struct router *self, const struct peer *from, const struct frame *frame,
                const struct user **user)
{
    *user = NULL;
    if (from->user == 0) {
        return true;
    }
    *user = user_places_find(&self->asking, &self->documents.users, from->user);
    if (*user == NULL) {
        return false;
    }
    return frame->kind == FRAME_INFO_REQUEST ? user_sees(*user, name_of(frame))
                                             : user_may(*user, right_to(frame), name_of(frame));
}

void serve_describe_right(struct router *self, const struct user *user, uint8_t right,
                          const char *filter, char message[ROUTER_MESSAGE_BYTES])
{
    char text[5];

    router_count(self, ROUTER_not_permitted_total);
    user_rights_print(right, text);
    if (user == NULL) {
        (void)snprintf(message, ROUTER_MESSAGE_BYTES,
                       "this user was deleted; ask an admin for another");
    } else {
        (void)snprintf(message, ROUTER_MESSAGE_BYTES,
                       "user %s has not the right %s to filter %.128s; an admin may give it: "
                       "orbloom user apply",
                       user->name, text, filter);
    }
}

static void refuse_right(struct router *self, const struct peer *from, const struct frame *frame,
                         const struct user *user)
{
    char message[ROUTER_MESSAGE_BYTES];

    serve_describe_right(self, user, right_to(frame), name_of(frame), message);
    router_refuse(self, from, frame, STATUS_UNAUTHENTIC, message);
}

/* ---- serving one ---- */

/* Is there something that this router may only not have heard of yet: a dump's last chunk, the
 * rebuild that is to be fed, or that this site takes adds? */
static bool may_come(const struct document_entry *entry, const struct frame *frame)
{
    const struct client_request *request = &frame->body.client_request;

    return is_closed(entry) || is_shut_out(entry, request) ||
           !op_feeds(entry, request->operation, request->keyset);
}

/* An add or a check of a filter that this router knows. */
static void serve_batch(struct router *self, uint64_t now_us, const struct asker *asker,
                        struct span bytes, const struct frame *frame, bool settled,
                        struct document_entry *entry)
{
    const struct client_request *request = &frame->body.client_request;
    const struct peer *from = asker->from;

    if (is_another(request, entry)) {
        bounce(self, from, frame, &entry->document, STATUS_NOT_FOUND,
               "the name is bound to another filter by now");
    } else if (is_nameless(from, request)) {
        bounce(self, from, frame, &entry->document, STATUS_STALE,
               "an add is to name the id of its filter, which this answer tells");
    } else if (entry->conflict) {
        router_refuse(self, from, frame, STATUS_CONFLICT, ROUTER_CONFLICT_MESSAGE);
    } else if (!settled && may_come(entry, frame)) {
        keep(self, now_us, from, bytes, frame);
    } else if (is_closed(entry)) {
        refuse_loading(self, from, frame);
    } else if (is_shut_out(entry, request)) {
        router_refuse(self, from, frame, STATUS_NOT_READY, site_gate_reason);
    } else if (!op_feeds(entry, request->operation, request->keyset)) {
        router_refuse_feed(self, from, frame->correlation, request, request->filter);
    } else {
        op_begin(self, now_us, asker, request, NULL, entry);
    }
}

/* `settled`: the store has been read since it came, so what is unknown is unknown. */
static void serve(struct router *self, uint64_t now_us, const struct asker *asker,
                  struct span bytes, const struct frame *frame, bool settled)
{
    struct document_entry *entry = router_find(self, name_of(frame));
    const struct peer *from = asker->from;
    const struct user *user;

    if (!may(self, from, frame, &user)) {
        refuse_right(self, from, frame, user);
    } else if (entry == NULL && settled) {
        refuse_unknown(self, from, frame);
    } else if (entry == NULL) {
        keep(self, now_us, from, bytes, frame);
    } else if (frame->kind == FRAME_INFO_REQUEST) {
        info_begin(self, now_us, from, frame, entry);
    } else {
        serve_batch(self, now_us, asker, bytes, frame, settled, entry);
    }
}

void serve_request(struct router *self, uint64_t now_us, const struct peer *from, struct span bytes,
                   const struct frame *frame)
{
    const struct asker asker = {from, frame->correlation, now_us};

    assert(frame->kind == FRAME_INFO_REQUEST || frame->kind == FRAME_CLIENT_REQUEST);
    serve(self, now_us, &asker, bytes, frame, false);
}

/* ---- those that were kept ---- */

/* What is left of a request's time; never 0, which would mean the default. */
static void leave(struct frame *frame, uint64_t left_us)
{
    uint32_t left_ms = (uint32_t)(left_us / 1000) + 1;

    if (frame->kind == FRAME_INFO_REQUEST) {
        frame->body.info_request.timeout_ms = left_ms;
    } else {
        frame->body.client_request.timeout_ms = left_ms;
    }
}

/* One that was kept as bytes, decoded anew, as the arena has moved on. What has waited for the
 * store is told what that says; who has waited for its turn for too long is waited for by nobody.
 */
static void serve_late(struct router *self, uint64_t now_us, const struct peer *from,
                       struct span bytes, uint64_t deadline_us, bool settled)
{
    uint64_t left_us = deadline_us > now_us ? deadline_us - now_us : 0;
    struct asker asker = {.from = from};
    struct frame frame = {0};

    if (codec_decode(self->arena, bytes, &frame) != STATUS_OK) {
        return;
    }
    asker.correlation = frame.correlation;
    asker.came_us = deadline_us - serve_deadline_us(self, 0, &frame); /* It had all of it then. */
    leave(&frame, left_us);
    if (!settled && left_us == 0) {
        router_count(self, ROUTER_deadlines_total);
        router_refuse(self, from, &frame, STATUS_OVERLOADED,
                      "the request waited for its turn until its time-out was over; slow down, "
                      "retry, or add routers");
    } else {
        serve(self, now_us, &asker, bytes, &frame, settled);
    }
}

void serve_arrival(struct router *self, uint64_t now_us, const struct arrival *one)
{
    serve_late(self, now_us, &one->from, span_of(one->bytes, one->size), one->deadline_us, false);
}

/* Out of its place, which is free then; the caller frees the frame. */
static struct waiting take_out(struct router *self, struct waiting *one)
{
    struct waiting taken = *one;

    assert(taken.used && self->nwaiting > 0 && self->inflight_bytes >= taken.size);
    *one = (struct waiting){0};
    self->nwaiting--;
    count_inflight(self, self->inflight_bytes - taken.size);
    return taken;
}

static void serve_again(struct router *self, uint64_t now_us, struct waiting *one)
{
    /* It goes first: what is served may have to be kept again. */
    struct waiting taken = take_out(self, one);

    serve_late(self, now_us, &taken.client, span_of(taken.frame, taken.size), taken.deadline_us,
               true);
    heap_free(taken.frame);
}

void serve_settle(struct router *self, uint64_t now_us, uint64_t sync)
{
    for (size_t i = 0; self->nwaiting > 0 && i < ROUTER_MAX_WAITING; i++) {
        if (self->waiting[i].used && self->waiting[i].sync <= sync) {
            serve_again(self, now_us, &self->waiting[i]);
        }
    }
}

static void give_up(struct router *self, struct waiting *one)
{
    static const char message[] =
        "the filter, or the rebuild to feed, is not known to this router and no coordinator "
        "answers; start one, or see the router's `coordinators` option";
    struct waiting taken = take_out(self, one);
    struct frame frame = {0};

    router_count(self, ROUTER_deadlines_total);
    if (codec_decode(self->arena, span_of(taken.frame, taken.size), &frame) == STATUS_OK) {
        router_refuse(self, &taken.client, &frame, STATUS_UNAVAILABLE, message);
    }
    heap_free(taken.frame);
}

void serve_tick(struct router *self, uint64_t now_us)
{
    for (size_t i = 0; self->nwaiting > 0 && i < ROUTER_MAX_WAITING; i++) {
        if (self->waiting[i].used && now_us >= self->waiting[i].deadline_us) {
            give_up(self, &self->waiting[i]);
        }
    }
}

void serve_fini(struct router *self)
{
    for (size_t i = 0; i < ROUTER_MAX_WAITING; i++) {
        heap_free(self->waiting[i].frame);
    }
}

/* ---- fingerprints of a dump, added as keys are ---- */

void router_load(struct router *self, uint64_t now_us, const struct router_load *load)
{
    struct document_entry *entry = document_cache_find(&self->documents, load->filter_id);
    const struct routed_filter *routed = entry != NULL ? entry->attachment : NULL;
    const struct peer inside = {.user = load->user};
    const struct peer *from = load->from != NULL ? load->from : &inside;
    const struct client_request request = {
        .filter = entry != NULL ? entry->document.content.name : "",
        .filter_id = load->filter_id,
        .operation = OPERATION_ADD,
        .op = {.session = {self->producer_id, load->source}, .sequence = load->correlation},
        .timeout_ms = load->timeout_ms,
        .count = load->count,
    };

    assert(load->count <= CODEC_MAX_KEYS);
    router_count(self, ROUTER_requests_total);
    if (routed == NULL || !routed->has_secret || entry->document.load_source != load->source ||
        entry->document.content.state != FILTER_ACTIVE) {
        sync_want(self, now_us);
        router_refuse_client(self, from, load->correlation, &request, STATUS_NOT_READY,
                             "this router has not heard of the filter yet");
    } else if (entry->conflict) {
        router_refuse_client(self, from, load->correlation, &request, STATUS_CONFLICT,
                             ROUTER_CONFLICT_MESSAGE);
    } else {
        op_begin(self, now_us, &(struct asker){from, load->correlation, now_us}, &request,
                 &(struct hashed_keys){.fingerprints = load->fingerprints}, entry);
    }
}

/* ---- what other sites have added ---- */

void router_relay(struct router *self, uint64_t now_us, const struct router_relay *relay)
{
    struct document_entry *entry = document_cache_find(&self->documents, relay->filter_id);
    const struct peer inside = {0};
    const struct hashed_keys hashed = {.fingerprints = relay->fingerprints, .relay = relay};
    const struct client_request request = {
        .filter = entry != NULL ? entry->document.content.name : "",
        .filter_id = relay->filter_id,
        .operation = OPERATION_ADD,
        .op = {.session = {self->producer_id, 0}, .sequence = relay->correlation},
        .timeout_ms = relay->timeout_ms,
        .count = relay->count,
    };
    enum status status;
    const char *reason = router_why_not(self, entry, relay->filter_id, &status);

    assert(relay->count <= CODEC_MAX_KEYS);
    if (reason != NULL) {
        sync_want(self, now_us);
        router_refuse_client(self, &inside, relay->correlation, &request, status, reason);
    } else {
        op_begin(self, now_us, &(struct asker){&inside, relay->correlation, now_us}, &request,
                 &hashed, entry);
    }
}
