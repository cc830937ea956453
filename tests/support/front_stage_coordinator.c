/* What a RESP front on a stage asks the coordinator, and is told. */
#include "tests/support/front_stage.h"

#include <criterion/criterion.h>

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
