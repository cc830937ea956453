/* Requests of clients: to the operation or answer that they ask for, or refused. */
#include "base/mutant.h"
#include "proto/answers.h"
#include "router/private.h"

#include <stdio.h>

void router_reply(struct router *self, const struct peer *to, const struct frame *frame)
{
    struct span bytes;

    if (codec_encode_out(frame, &self->effects, &self->out, &bytes) != STATUS_OK ||
        self->effects.reply(self->effects.context, to, bytes) != STATUS_OK) {
        router_count(self, ROUTER_replies_dropped_total);
    }
}

void router_refuse_client(struct router *self, const struct peer *to, uint64_t correlation,
                          const struct client_request *request, enum status status,
                          const char *message)
{
    struct frame answer = {
        .correlation = correlation,
        .kind = FRAME_CLIENT_REPLY,
        .body.client_reply =
            {
                .op = request->op,
                .attempt = request->attempt,
                .status = status,
                .message = message,
            },
    };

    router_reply(self, to, &answer);
}

void router_refuse_feed(struct router *self, const struct peer *to, uint64_t correlation,
                        const struct client_request *request, const char *name)
{
    char message[ROUTER_MESSAGE_BYTES];

    (void)snprintf(message, sizeof message,
                   "no rebuild of %.128s is open, or not the one that is meant: begin first", name);
    router_refuse_client(self, to, correlation, request, STATUS_INVALID, message);
}

void router_refuse_frame(struct router *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame, enum status status)
{
    struct frame answer;

    router_count(self, status == STATUS_VERSION ? ROUTER_version_total : ROUTER_malformed_total);
    log_limited(&self->bad_frame_limit, now_us, LOG_WARN, "refused a frame: %s (version %u)",
                status_meaning(status), frame->version);
    if (from != NULL) {
        answer_refusal(frame->correlation, status, &answer);
        router_reply(self, from, &answer);
    }
}

static void refuse_info(struct router *self, const struct peer *to, uint64_t correlation,
                        enum status status, const char *message)
{
    struct frame answer = {
        .correlation = correlation,
        .kind = FRAME_INFO_REPLY,
        .body.info_reply = {.status = status, .message = message},
    };

    router_reply(self, to, &answer);
}

/* The store was read after the request came and has no such filter. */
static void refuse_unknown(struct router *self, const struct peer *from, const struct frame *frame)
{
    bool asks = frame->kind == FRAME_INFO_REQUEST;
    const char *name = asks ? frame->body.info_request.filter : frame->body.client_request.filter;
    enum status status = STATUS_NOT_FOUND;
    char message[ROUTER_MESSAGE_BYTES];

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
    if (asks) {
        refuse_info(self, from, frame->correlation, status, message);
    } else {
        router_refuse_client(self, from, frame->correlation, &frame->body.client_request, status,
                             message);
    }
}

/* What it lacks must not be taken for absent, nor may it be added to. */
static bool is_closed(const struct document_entry *entry, const struct frame *frame)
{
    return frame->kind != FRAME_INFO_REQUEST && document_is_loading(&entry->document);
}

static void refuse_loading(struct router *self, const struct peer *from, const struct frame *frame)
{
    const struct client_request *request = &frame->body.client_request;
    char message[ROUTER_MESSAGE_BYTES];

    (void)snprintf(message, sizeof message,
                   "filter %.128s is being loaded from a dump; it serves once all of that is there",
                   request->filter);
    router_refuse_client(self, from, frame->correlation, request, STATUS_NOT_READY, message);
}

/* By name alone an add that comes late would get into the next filter of that name. What comes from
 * this process itself was not on its way. */
static bool is_nameless(const struct peer *from, const struct client_request *request)
{
    return !MUTANT(ADD_BY_NAME) && from->size > 0 && request->operation != OPERATION_CHECK &&
           request->filter_id == 0;
}

static bool is_another(const struct client_request *request, const struct document_entry *entry)
{
    return !MUTANT(ADD_BY_NAME) && request->filter_id != 0 &&
           request->filter_id != entry->document.id;
}

/* Nothing was begun; it is to say which filter it means. */
static void bounce(struct router *self, const struct peer *from, const struct frame *frame,
                   uint64_t filter_id, enum status status, const char *message)
{
    const struct client_request *request = &frame->body.client_request;
    struct frame answer = {
        .correlation = frame->correlation,
        .kind = FRAME_CLIENT_REPLY,
        .body.client_reply = {.op = request->op,
                              .attempt = request->attempt,
                              .status = status,
                              .message = message,
                              .filter_id = filter_id},
    };

    router_reply(self, from, &answer);
}

void router_serve(struct router *self, uint64_t now_us, const struct peer *from, struct span bytes,
                  const struct frame *frame, bool settled)
{
    bool asks = frame->kind == FRAME_INFO_REQUEST;
    const char *name = asks ? frame->body.info_request.filter : frame->body.client_request.filter;
    struct document_entry *entry = router_find(self, name);

    if (entry == NULL && settled) {
        refuse_unknown(self, from, frame);
    } else if (entry == NULL) {
        waiting_add(self, now_us, from, bytes, frame);
    } else if (asks) {
        info_begin(self, now_us, from, frame, entry);
    } else if (is_another(&frame->body.client_request, entry)) {
        bounce(self, from, frame, entry->document.id, STATUS_NOT_FOUND,
               "the name is bound to another filter by now");
    } else if (is_nameless(from, &frame->body.client_request)) {
        bounce(self, from, frame, entry->document.id, STATUS_STALE,
               "an add is to name the id of its filter, which this answer tells");
    } else if (entry->conflict) {
        router_refuse_client(self, from, frame->correlation, &frame->body.client_request,
                             STATUS_CONFLICT, ROUTER_CONFLICT_MESSAGE);
    } else if (is_closed(entry, frame)) {
        /* This router may not have heard of the last chunk yet. */
        if (settled) {
            refuse_loading(self, from, frame);
        } else {
            waiting_add(self, now_us, from, bytes, frame);
        }
    } else if (!op_feeds(entry, frame->body.client_request.operation,
                         frame->body.client_request.lineage)) {
        /* This router may not have heard of the rebuild yet. */
        if (settled) {
            router_refuse_feed(self, from, frame->correlation, &frame->body.client_request, name);
        } else {
            waiting_add(self, now_us, from, bytes, frame);
        }
    } else {
        op_begin(self, now_us, from, frame->correlation, &frame->body.client_request, entry);
    }
}
