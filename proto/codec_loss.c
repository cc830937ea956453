/* What documents keep of losses that operators have accepted. */
#include "proto/codec_field.h"

static enum status put_one(const struct slot_group *group, struct codec_scratch *scratch,
                           Orbloom__V1__AcceptedLoss *wire)
{
    Orbloom__V1__NodeLife *lives = codec_scratch_take(scratch, QUORUM_MAX_REPLICAS, sizeof *lives);

    wire->lives = codec_scratch_take(scratch, QUORUM_MAX_REPLICAS, sizeof *wire->lives);
    if (lives == NULL || wire->lives == NULL) {
        return STATUS_NOMEM;
    }
    wire->epoch = group->loss_epoch;
    while (wire->n_lives < QUORUM_MAX_REPLICAS && group->lost[wire->n_lives].node != 0) {
        Orbloom__V1__NodeLife *life = &lives[wire->n_lives];

        *life = (Orbloom__V1__NodeLife)ORBLOOM__V1__NODE_LIFE__INIT;
        life->node = group->lost[wire->n_lives].node;
        life->incarnation = group->lost[wire->n_lives].incarnation;
        wire->lives[wire->n_lives++] = life;
    }
    return STATUS_OK;
}

enum status codec_put_losses(const struct epoch_content *content, struct codec_scratch *scratch,
                             Orbloom__V1__EpochContent *wire)
{
    Orbloom__V1__AcceptedLoss *items = codec_scratch_take(scratch, content->ngroups, sizeof *items);
    enum status status = STATUS_OK;

    wire->losses = codec_scratch_take(scratch, content->ngroups, sizeof *wire->losses);
    if (items == NULL || wire->losses == NULL) {
        return STATUS_NOMEM;
    }
    for (uint32_t i = 0; i < content->ngroups && status == STATUS_OK; i++) {
        Orbloom__V1__AcceptedLoss *item = &items[wire->n_losses];

        if (content->groups[i].loss_epoch != 0) {
            *item = (Orbloom__V1__AcceptedLoss)ORBLOOM__V1__ACCEPTED_LOSS__INIT;
            item->group = i;
            status = put_one(&content->groups[i], scratch, item);
            wire->losses[wire->n_losses++] = item;
        }
    }
    return status;
}

/* What is left open here, document_validate() looks at. */
enum status codec_get_losses(const Orbloom__V1__EpochContent *wire, struct epoch_content *content)
{
    for (size_t i = 0; i < wire->n_losses; i++) {
        const Orbloom__V1__AcceptedLoss *loss = wire->losses[i];
        struct slot_group *group =
            &content->groups[loss->group < content->ngroups ? loss->group : 0];

        if (loss->group >= content->ngroups || loss->n_lives == 0 ||
            loss->n_lives > QUORUM_MAX_REPLICAS || loss->epoch == 0 || group->loss_epoch != 0) {
            return STATUS_MALFORMED;
        }
        group->loss_epoch = loss->epoch;
        for (size_t k = 0; k < loss->n_lives; k++) {
            if (loss->lives[k]->node == 0) {
                return STATUS_MALFORMED;
            }
            group->lost[k] = (struct member){loss->lives[k]->node, loss->lives[k]->incarnation};
        }
    }
    return STATUS_OK;
}
