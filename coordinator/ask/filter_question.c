/* A question about one filter, to one node. */
#include "coordinator/ask/filter_question.h"

uint32_t filter_question_send(struct coordinator *self, uint32_t node, uint64_t number,
                              uint64_t filter_id)
{
    uint32_t link = heard_link(self, node);
    const struct frame frame = {
        .kind = FRAME_INFO_REQUEST,
        .correlation = number,
        .body.info_request = {.filter = "", .filter_id = filter_id},
    };

    buffer_clear(&self->out);
    if (link == 0 || codec_encode(&frame, &self->out) != STATUS_OK ||
        self->effects.send(self->effects.context, link, buffer_span(&self->out)) != STATUS_OK) {
        return 0;
    }
    return link;
}
