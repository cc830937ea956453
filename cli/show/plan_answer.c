/* Runs both sizings for one wish, and shares shards out among nodes as placement would at best. */
#include "cli/show/plan_answer.h"

enum { BITS_A_BYTE = 8, LANES = 8 };

/* Whole shards are placed: the fullest node holds its share rounded up. */
static void place(struct plan_answer *self)
{
    uint64_t copies = self->question.replicas * self->shards;
    uint64_t fullest = (copies + self->question.nodes - 1) / self->question.nodes;

    self->cluster_bytes = self->ours.total_bytes * self->question.replicas;
    self->node_bytes = fullest * self->ours.shard_bytes;
}

enum status plan_answer_make(const struct plan_question *question, struct plan_answer *answer)
{
    enum status status = sizing_plan_make(&question->filter, &answer->ours);

    if (status == STATUS_OK) {
        status = sizing_classic_make(question->filter.capacity, question->filter.rate,
                                     &answer->classic);
    }
    if (status == STATUS_OK) {
        answer->question = *question;
        answer->shards = 1U << answer->ours.shard_bits;
        answer->bits = answer->ours.total_bytes * BITS_A_BYTE;
        answer->lines = answer->ours.lines * answer->shards;
        answer->hashes = answer->ours.z * LANES;
        place(answer);
    }
    return status;
}
