/* Answers and refusals, as they leave. */
#include "proto/answers.h"
#include "router/private.h"

#include <assert.h>
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

    router_count_request(self, request, status);
    router_reply(self, to, &answer);
}

void router_refuse(struct router *self, const struct peer *to, const struct frame *request,
                   enum status status, const char *message)
{
    struct frame answer = {
        .correlation = request->correlation,
        .kind = FRAME_INFO_REPLY,
        .body.info_reply = {.status = status, .message = message},
    };

    assert(request->kind == FRAME_INFO_REQUEST || request->kind == FRAME_CLIENT_REQUEST);
    if (request->kind == FRAME_INFO_REQUEST) {
        router_reply(self, to, &answer);
    } else {
        router_refuse_client(self, to, request->correlation, &request->body.client_request, status,
                             message);
    }
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
