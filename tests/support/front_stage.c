/* Plays clients, router and coordinator to a RESP front, and keeps what it sends to each. */
#include "tests/support/front_stage.h"

#include "base/heap.h"
#include "router/resp/private.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the router ---- */

static void note_keys(struct front_asked *asked, const struct client_request *request)
{
    const uint8_t *at = request->keys.data;
    size_t used = 0;

    for (size_t i = 0; i < request->count; i++) {
        if (used + request->lengths[i] + 2 < sizeof asked->keys) {
            used += (size_t)snprintf(asked->keys + used, sizeof asked->keys - used, "%s%.*s",
                                     i > 0 ? " " : "", (int)request->lengths[i], (const char *)at);
        }
        at += request->lengths[i];
    }
}

static void router_on_request(void *context, uint64_t now_us, const struct peer *from,
                              struct span bytes)
{
    struct front_stage *self = context;
    struct front_asked *asked = &self->asked[self->nasked++];
    struct frame frame = {0};

    (void)now_us;
    cr_assert_leq(self->nasked, FRONT_STAGE_ASKED);
    cr_assert_eq(from->size, 0, "the front has no peer");
    cr_assert_eq(codec_decode(self->fake.arena, bytes, &frame), STATUS_OK);
    *asked = (struct front_asked){.kind = frame.kind, .correlation = frame.correlation};
    if (frame.kind == FRAME_CLIENT_REQUEST) {
        const struct client_request *request = &frame.body.client_request;

        (void)snprintf(asked->filter, sizeof asked->filter, "%s", request->filter);
        asked->operation = request->operation;
        asked->filter_id = request->filter_id;
        asked->keyset = request->keyset;
        asked->op = request->op;
        asked->timeout_ms = request->timeout_ms;
        asked->count = request->count;
        note_keys(asked, request);
    }
}

static void router_on_answer(void *context, uint64_t now_us, uint32_t link, struct span bytes)
{
    (void)context;
    (void)now_us;
    (void)link;
    (void)bytes;
}

static void router_turn(void *context, uint64_t now_us)
{
    struct front_stage *self = context;
    const char *letters = self->reply_in_turn;

    (void)now_us;
    self->reply_in_turn = NULL;
    if (letters != NULL) {
        front_stage_reply(self, self->nasked - 1, STATUS_OK, letters);
    }
}

static uint64_t router_next_us(void *context)
{
    (void)context;
    return ACTOR_NEVER;
}

static void router_time(void *context, uint64_t now_us)
{
    (void)context;
    (void)now_us;
}

static bool router_work(void *context, uint64_t now_us)
{
    router_turn(context, now_us);
    return false;
}

static void tell_front(struct front_stage *self, const struct frame *frame)
{
    const struct effects *effects = front_effects(self->front);
    const struct peer nobody = {0};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(frame, &bytes), STATUS_OK);
    cr_assert_eq(effects->reply(effects->context, &nobody, buffer_span(&bytes)), STATUS_OK);
    buffer_fini(&bytes);
}

void front_stage_reply(struct front_stage *self, size_t at, enum status status, const char *letters)
{
    size_t count = strlen(letters);
    size_t nwords = count / 64 + 1;
    uint64_t *planes = calloc(2 * nwords, sizeof *planes);
    struct frame frame = {.kind = FRAME_CLIENT_REPLY};

    cr_assert_not_null(planes);
    cr_assert_lt(at, self->nasked, "not asked");
    for (size_t i = 0; i < count; i++) {
        uint64_t bit = UINT64_C(1) << (i % 64);

        planes[i / 64] |= strchr("pm", letters[i]) != NULL ? bit : 0;
        planes[nwords + i / 64] |= strchr("am", letters[i]) != NULL ? bit : 0;
    }
    frame.correlation = self->asked[at].correlation;
    frame.body.client_reply = (struct client_reply){
        .op = self->asked[at].op,
        .status = status,
        .message = status == STATUS_OK ? "" : "said so",
        .count = count,
        .present = planes,
        .absent = planes + nwords,
        .copies = self->copies != 0 ? self->copies : 2,
    };
    tell_front(self, &frame);
    free(planes);
}

void front_stage_info(struct front_stage *self, size_t at, const struct info_reply *reply)
{
    const struct frame frame = {.kind = FRAME_INFO_REPLY,
                                .correlation = self->asked[at].correlation,
                                .body.info_reply = *reply};

    cr_assert_lt(at, self->nasked, "not asked");
    cr_assert_eq(self->asked[at].kind, FRAME_INFO_REQUEST);
    tell_front(self, &frame);
    front_stage_turn(self);
}

void front_stage_stats(struct front_stage *self, size_t at)
{
    const struct frame frame = {.kind = FRAME_STATS_REPLY,
                                .correlation = self->asked[at].correlation,
                                .body.stats_reply = {.program = "", .name = ""}};

    cr_assert_lt(at, self->nasked, "not asked");
    cr_assert_eq(self->asked[at].kind, FRAME_STATS_REQUEST);
    tell_front(self, &frame);
    front_stage_turn(self);
}

/* ---- streams ---- */

static void stream_send(void *context, void *of, struct span bytes)
{
    struct front_stream *stream = of;

    (void)context;
    cr_assert_not(stream->closed, "sent after the close");
    stream->text = realloc(stream->text, stream->size + bytes.size + 1);
    cr_assert_not_null(stream->text);
    memcpy(stream->text + stream->size, bytes.data, bytes.size);
    stream->size += bytes.size;
    stream->text[stream->size] = '\0';
}

static size_t stream_unsent(void *context, void *of)
{
    const struct front_stream *stream = of;

    (void)context;
    return stream->unsent;
}

static void stream_read(void *context, void *of, bool wanted)
{
    struct front_stream *stream = of;

    (void)context;
    cr_assert_neq(stream->reading, wanted, "said twice");
    stream->reading = wanted;
}

static void stream_close(void *context, void *of)
{
    struct front_stream *stream = of;

    (void)context;
    cr_assert_not(stream->closed, "closed twice");
    stream->closed = true;
}

static void stream_drop(void *context, void *of)
{
    struct front_stream *stream = of;

    (void)context;
    cr_assert_not(stream->dropped, "dropped twice");
    stream->closed = true;
    stream->dropped = true;
}

static void stream_local(void *context, void *of, struct stream_address *address)
{
    const struct front_stage *self = context;

    if (of == &self->streams[0]) { /* The others did not come by TCP. */
        *address = (struct stream_address){.host = "192.0.2.1", .port = 6380};
    }
}

static uint64_t wall_us(void *context)
{
    const struct front_stage *self = context;

    return UINT64_C(1700000000000042) + self->later_ms * 1000;
}

static const struct user_list *users(void *context)
{
    const struct front_stage *self = context;

    return &self->users;
}

static void note(void *context, const struct user_use *use)
{
    struct front_stage *self = context;

    self->use = *use;
    self->nuses++;
}

static bool heard(void *context)
{
    const struct front_stage *self = context;

    return !self->unheard;
}

void front_stage_open(struct front_stage *self, size_t at)
{
    struct front_stream *stream = &self->streams[at];

    cr_assert_null(stream->session);
    *stream = (struct front_stream){.reading = true};
    stream->session = front_opened(self->front, self->now_us, stream, "127.0.0.1:50312",
                                   self->subject != NULL ? self->subject : "");
}

void front_stage_bytes(struct front_stage *self, size_t stream, struct span bytes)
{
    front_bytes(self->front, self->now_us, self->streams[stream].session, bytes);
}

void front_stage_type(struct front_stage *self, size_t stream, const char *text)
{
    front_stage_bytes(self, stream, span_text(text));
}

void front_stage_turn(struct front_stage *self)
{
    self->actor.turn(self->actor.self, self->now_us);
}

void front_stage_say(struct front_stage *self, size_t stream, const char *text)
{
    front_stage_type(self, stream, text);
    front_stage_turn(self);
}

void front_stage_gone(struct front_stage *self, size_t at)
{
    struct front_stream *stream = &self->streams[at];

    front_closed(self->front, stream->session);
    stream->session = NULL;
    free(stream->text);
    stream->text = NULL;
    stream->size = 0;
}

void front_stage_drained(struct front_stage *self, size_t stream)
{
    self->streams[stream].unsent = 0;
    front_drained(self->front, self->now_us, self->streams[stream].session);
    front_stage_turn(self);
}

void front_stage_expect(struct front_stage *self, size_t at, const char *text)
{
    struct front_stream *stream = &self->streams[at];

    cr_assert_str_eq(stream->text != NULL ? stream->text : "", text);
    free(stream->text);
    stream->text = NULL;
    stream->size = 0;
}

void front_stage_answers(struct front_stage *self, size_t at, const char *said, const char *answer)
{
    front_stage_say(self, at, said);
    front_stage_expect(self, at, answer);
}

/* ---- time ---- */

void front_stage_pass(struct front_stage *self, uint64_t duration_us)
{
    uint64_t end_us = self->now_us + duration_us;

    for (;;) {
        uint64_t next_us = self->actor.next_us(self->actor.self);

        if (next_us > end_us) {
            break;
        }
        self->now_us = next_us > self->now_us ? next_us : self->now_us;
        self->actor.time(self->actor.self, self->now_us);
        front_stage_turn(self);
    }
    self->now_us = end_us;
}

/* ---- life ---- */

struct front_config front_stage_config(void)
{
    return (struct front_config){
        .capacity = 1000,
        .rate = 0.01,
        .max_capacity = 1000000,
        .timeout_us = 5000000,
        .max_unread = 1 << 20,
        .max_memory = 256 << 20,
        .slow_us = FRONT_SLOW_NEVER_US,
    };
}

void front_stage_init(struct front_stage *self, const struct front_config *config)
{
    struct router_config router = {.name = "router-1", .ncoordinators = 1};
    const struct stream_effects streams = {
        .context = self,
        .send = stream_send,
        .unsent = stream_unsent,
        .read = stream_read,
        .close = stream_close,
        .drop = stream_drop,
        .local = stream_local,
        .wall_us = wall_us,
    };
    const struct actor actor = {
        .self = self,
        .on_request = router_on_request,
        .on_answer = router_on_answer,
        .turn = router_turn,
        .next_us = router_next_us,
        .time = router_time,
        .work = router_work,
    };

    const struct front_users_source source = {
        .context = self, .users = users, .heard = heard, .note = note};

    *self = (struct front_stage){.now_us = 1000000};
    fake_init(&self->fake);
    self->live = heap_live();
    (void)snprintf(router.coordinators[0], sizeof router.coordinators[0], "%s",
                   FRONT_STAGE_COORDINATOR);
    cr_assert_eq(front_create(config, &router, &self->fake.effects, &self->front), STATUS_OK);
    front_attach(self->front, &actor, &streams);
    front_attach_users(self->front, &source);
    self->actor = front_actor(self->front);
}

void front_stage_start(struct front_stage *self, size_t nstreams)
{
    const struct front_config config = front_stage_config();

    front_stage_init(self, &config);
    for (size_t i = 0; i < nstreams; i++) {
        front_stage_open(self, i);
    }
}

void front_stage_fini(struct front_stage *self)
{
    for (size_t i = 0; i < FRONT_STAGE_STREAMS; i++) {
        free(self->streams[i].text);
    }
    front_destroy(&self->front);
    cr_assert_eq(heap_live(), self->live, "leaked");
    fake_fini(&self->fake);
}

uint64_t front_stage_counter(const struct front_stage *self, const char *name)
{
    struct counter_table table = front_counters();

    for (size_t i = 0; i < table.count; i++) {
        if (strcmp(table.defs[i].name, name) == 0) {
            return self->front->counters[i];
        }
    }
    cr_assert_fail("no counter %s", name);
    return 0;
}

/* ---- the coordinator ---- */

/* Of the filter that front_stage_filter() tells. */
static void answer_look(struct front_stage *self, const struct frame *look)
{
    const struct admin_reply reply = {
        .message = "",
        .seen = {.filter_id = FRONT_STAGE_FILTER, .revision = FRONT_STAGE_REVISION},
    };

    front_stage_answer_with(self, look, &reply);
}

bool front_stage_take(struct front_stage *self, struct fake_sent *sent)
{
    while (fake_take(&self->fake, sent)) {
        if (sent->frame.kind != FRAME_ADMIN_REQUEST ||
            sent->frame.body.admin_request.action != ADMIN_LOOK || self->looks) {
            return true;
        }
        answer_look(self, &sent->frame);
    }
    return false;
}

struct frame front_stage_question(struct front_stage *self)
{
    struct fake_sent sent;
    bool any = false;

    while (front_stage_take(self, &sent)) {
        any = true;
    }
    cr_assert(any, "no question");
    cr_assert_eq(sent.frame.kind, FRAME_ADMIN_REQUEST);
    return sent.frame;
}

struct filter_summary front_stage_filter(const char *name)
{
    return (struct filter_summary){
        .id = FRONT_STAGE_FILTER,
        .revision = FRONT_STAGE_REVISION,
        .name = name,
        .state = FILTER_ACTIVE,
        .capacity = 1000,
        .max_capacity = 64000,
        .rate = 0.01,
        .rule = {.replicas = 3, .write = 2, .read = 2},
        .hash = HASH_SIPHASH24,
        .when_unavailable = WHEN_UNAVAILABLE_ERROR,
        .when_full = WHEN_FULL_EXPAND,
        .keylog = KEYLOG_ON,
        .durability = DURABILITY_SYNC,
        .nshards = 16,
        .ngroups = 1,
        .shard_bytes = 4096,
        .lines = 64,
        .z = 1,
        .generations = {{.id = 1, .capacity = 1000, .rate = 0.01, .lines = 64, .z = 1}},
        .ngenerations = 1,
        .keyset = 1,
        .rebuild_awaited = "",
        .lacking = "",
        .lacking_remedy = "",
        .growth_awaited = "",
        .growth_refused = "",
        .window_awaited = "",
    };
}

static void answer(struct front_stage *self, const struct frame *frame)
{
    fake_answer(&self->actor, self->now_us, fake_link(&self->fake, FRONT_STAGE_COORDINATOR), frame);
}

void front_stage_answer_with(struct front_stage *self, const struct frame *question,
                             const struct admin_reply *reply)
{
    const struct frame frame = {.kind = FRAME_ADMIN_REPLY,
                                .correlation = question->correlation,
                                .body.admin_reply = *reply};

    answer(self, &frame);
}

void front_stage_hear(struct front_stage *self, const struct frame *question,
                      const struct admin_reply *reply)
{
    const struct frame frame = {.kind = FRAME_ADMIN_REPLY,
                                .correlation = question->correlation,
                                .body.admin_reply = *reply};
    struct buffer bytes;

    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
    cr_assert_eq(codec_encode(&frame, &bytes), STATUS_OK);
    self->actor.on_answer(self->actor.self, self->now_us,
                          fake_link(&self->fake, FRONT_STAGE_COORDINATOR), buffer_span(&bytes));
    buffer_fini(&bytes);
}

void front_stage_answer(struct front_stage *self, const struct frame *question, enum status status,
                        bool created)
{
    struct frame frame = {.kind = FRAME_ADMIN_REPLY, .correlation = question->correlation};

    frame.body.admin_reply = (struct admin_reply){
        .status = status, .message = status == STATUS_OK ? "" : "said so", .created = created};
    answer(self, &frame);
}

void front_stage_answer_filter(struct front_stage *self, const struct frame *question,
                               const struct filter_summary *filter)
{
    const struct admin_reply reply = {.message = "", .filters = filter, .nfilters = 1};

    front_stage_answer_with(self, question, &reply);
}

void front_stage_answer_error(struct front_stage *self, const struct frame *question,
                              enum status status)
{
    struct frame frame = {.kind = FRAME_ERROR, .correlation = question->correlation};

    frame.body.error = (struct error_reply){.status = status, .message = "said so"};
    answer(self, &frame);
}
