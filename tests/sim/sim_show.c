/* Puts frames into words, kind by kind. */
#include "tests/sim/sim_show.h"

#include "site/batch.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHOW_ARENA_BYTES = 4 << 20, SHOW_TEXT_BYTES = 512, SHOW_SUBREQUESTS = 3 };

void sim_show_init(struct sim_show *self)
{
    if (codec_arena_create(SHOW_ARENA_BYTES, &self->arena) != STATUS_OK) {
        abort();
    }
}

void sim_show_fini(struct sim_show *self)
{
    codec_arena_destroy(&self->arena);
}

static const char *operation_name(enum operation operation)
{
    return operation == OPERATION_ADD ? "add" : "check";
}

static void show_subrequests(const struct node_request *request, char *text)
{
    int used = 0;

    for (size_t i = 0; i < request->nsubrequests && i < SHOW_SUBREQUESTS; i++) {
        const struct subrequest *subrequest = &request->subrequests[i];

        used += snprintf(text + used, (size_t)(SHOW_TEXT_BYTES - used),
                         "%s#%" PRIu64 ".%u f%" PRIu64 " e%" PRIu64 " g%u batch %" PRIu64 " x%u; ",
                         operation_name(subrequest->operation), subrequest->op.sequence,
                         subrequest->attempt, subrequest->filter_id, subrequest->epoch,
                         subrequest->group, subrequest->batch.number, subrequest->count);
    }
}

static void show_votes(const struct node_reply *reply, char *text)
{
    int used = snprintf(text, SHOW_TEXT_BYTES, "inc %04x, %zu documents; ",
                        (unsigned)(reply->incarnation & 0xffff), reply->ndocuments);

    for (size_t i = 0; i < reply->nsubrequests && i < SHOW_SUBREQUESTS; i++) {
        const struct subrequest_reply *subrequest = &reply->subrequests[i];

        used += snprintf(text + used, (size_t)(SHOW_TEXT_BYTES - used), "%s%s e%" PRIu64 " %s",
                         status_code(subrequest->status), subrequest->repeated ? " repeated" : "",
                         subrequest->epoch, replica_state_name(subrequest->state));
        if (subrequest->count > 0) {
            used += snprintf(text + used, (size_t)(SHOW_TEXT_BYTES - used),
                             " p%02" PRIx64 " a%02" PRIx64, subrequest->present[0],
                             subrequest->absent[0]);
        }
        used += snprintf(text + used, (size_t)(SHOW_TEXT_BYTES - used), "; ");
    }
}

static void show_client(const struct frame *frame, char *text)
{
    const struct client_request *request = &frame->body.client_request;
    const struct client_reply *reply = &frame->body.client_reply;

    if (frame->kind == FRAME_CLIENT_REQUEST) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "%s#%" PRIu64 ".%u %.40s x%zu within %u ms",
                       operation_name(request->operation), request->op.sequence, request->attempt,
                       request->filter, request->count, request->timeout_ms);
        return;
    }
    (void)snprintf(text, SHOW_TEXT_BYTES,
                   "#%" PRIu64 ".%u f%" PRIu64 " e%" PRIu64 " %s p%02" PRIx64 " a%02" PRIx64
                   " %.100s",
                   reply->op.sequence, reply->attempt, reply->filter_id, reply->epoch,
                   status_code(reply->status), reply->count > 0 ? reply->present[0] : 0,
                   reply->count > 0 ? reply->absent[0] : 0, reply->message);
}

static void show_batch(const struct site_batch_message *message, char *text)
{
    struct site_batch batch = {0};
    bool told = message->batch.size > 0 && site_batch_open(message->batch, &batch) == STATUS_OK;

    (void)snprintf(text, SHOW_TEXT_BYTES,
                   "batch %" PRIu64 " of %04x, %u keys, %u cursors, flags %u%s, connections %x",
                   message->number, (unsigned)(message->stream & 0xffff), batch.nkeys,
                   batch.ncursors, batch.flags, told ? "" : ", nothing", message->connections);
}

/* Between links of two sites. */
static void show_link(const struct frame *frame, char *text)
{
    const struct site_hello *hello = &frame->body.site_hello;
    const struct site_open *opened = &frame->body.site_open;
    const struct site_applied *applied = &frame->body.site_applied;
    const struct site_mark *mark = &frame->body.site_mark;
    const struct site_marked *marked = &frame->body.site_marked;
    const struct site_close *closed = &frame->body.site_close;

    if (frame->kind == FRAME_SITE_HELLO) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "hello %u%s, %zu logs, %zu busy, %u streams",
                       hello->connection, hello->answer ? " back" : "", hello->nlogs, hello->nbusy,
                       hello->streams);
    } else if (frame->kind == FRAME_SITE_OPEN) {
        (void)snprintf(text, SHOW_TEXT_BYTES,
                       "open %04x, life %" PRIu64 " for life %" PRIu64 ", %zu sources",
                       (unsigned)(opened->stream & 0xffff), opened->source_life.number,
                       opened->own_life.number, opened->nsources);
    } else if (frame->kind == FRAME_SITE_BATCH) {
        show_batch(&frame->body.site_batch, text);
    } else if (frame->kind == FRAME_SITE_APPLIED) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "applied %" PRIu64 " of %04x", applied->number,
                       (unsigned)(applied->stream & 0xffff));
    } else if (frame->kind == FRAME_SITE_MARK) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "mark %" PRIu64 " of %04x?", mark->mark,
                       (unsigned)(mark->stream & 0xffff));
    } else if (frame->kind == FRAME_SITE_MARKED) {
        (void)snprintf(text, SHOW_TEXT_BYTES,
                       "mark %" PRIu64 " of %04x: batch %" PRIu64 ", %zu ends, %zu boots",
                       marked->mark, (unsigned)(marked->stream & 0xffff), marked->number,
                       marked->nends, marked->nboots);
    } else if (frame->kind == FRAME_SITE_CLOSE) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "close %04x %s: %.100s",
                       (unsigned)(closed->stream & 0xffff), status_code(closed->status),
                       closed->message);
    } else {
        (void)snprintf(text, SHOW_TEXT_BYTES, "frame of kind %d", (int)frame->kind);
    }
}

/* Kinds between processes of the cluster that carry documents or fences. */
static void show_control(const struct frame *frame, char *text)
{
    const struct sync_request *request = &frame->body.sync_request;
    const struct sync_reply *reply = &frame->body.sync_reply;
    const struct fence_request *fence = &frame->body.fence_request;
    const struct fence_reply *fenced = &frame->body.fence_reply;
    const struct admin_request *admin = &frame->body.admin_request;

    if (frame->kind == FRAME_SYNC_REQUEST) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "sync since %" PRIu64 ", %zu replicas",
                       request->since, request->nreplicas);
    } else if (frame->kind == FRAME_SYNC_REPLY) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "sync %s, change %" PRIu64 ", %zu documents, node %u",
                       status_code(reply->status), reply->change, reply->ndocuments,
                       reply->node_id);
    } else if (frame->kind == FRAME_FENCE_REQUEST) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "fence f%" PRIu64 " e%" PRIu64 "?", fence->filter_id,
                       fence->epoch);
    } else if (frame->kind == FRAME_FENCE_REPLY) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "fence f%" PRIu64 " e%" PRIu64 " %s, inc %04x",
                       fenced->filter_id, fenced->epoch, status_code(fenced->status),
                       (unsigned)(fenced->incarnation & 0xffff));
    } else if (frame->kind == FRAME_ADMIN_REQUEST) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "%s %.40s%s",
                       admin->action == ADMIN_CREATE ? "create"
                       : admin->action == ADMIN_DROP ? "drop"
                                                     : "status",
                       admin->name, admin->nconfirmed_off > 0 ? " --confirmed-off" : "");
    } else if (frame->kind == FRAME_ADMIN_REPLY) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "%s %.100s",
                       status_code(frame->body.admin_reply.status),
                       frame->body.admin_reply.message);
    } else {
        show_link(frame, text);
    }
}

static void describe(struct sim_show *self, struct span bytes, char *text)
{
    struct frame frame = {0};

    text[0] = '\0';
    if (codec_decode(self->arena, bytes, &frame) != STATUS_OK) {
        (void)snprintf(text, SHOW_TEXT_BYTES, "%zu bytes", bytes.size);
    } else if (frame.kind == FRAME_NODE_REQUEST) {
        show_subrequests(&frame.body.node_request, text);
    } else if (frame.kind == FRAME_NODE_REPLY) {
        show_votes(&frame.body.node_reply, text);
    } else if (frame.kind == FRAME_CLIENT_REQUEST || frame.kind == FRAME_CLIENT_REPLY) {
        show_client(&frame, text);
    } else {
        show_control(&frame, text);
    }
}

void sim_show_frame(struct sim *sim, const struct sim_message *message, struct span bytes,
                    const char *fate)
{
    char text[SHOW_TEXT_BYTES];

    describe(&sim->show, bytes, text);
    sim_trace_line(&sim->trace, sim->now_us, "%s > %s  %s%s%s", sim->processes[message->from]->name,
                   sim->processes[message->to]->name, text, fate[0] != '\0' ? " - " : "", fate);
}

void sim_show_arrival(struct sim *sim, const struct sim_message *message)
{
    char text[SHOW_TEXT_BYTES];

    describe(&sim->show, span_of(message->bytes, message->size), text);
    sim_trace_line(&sim->trace, sim->now_us, "    %s serves %s's  %s",
                   sim->processes[message->to]->name, sim->processes[message->from]->name, text);
}
