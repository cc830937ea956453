/* Looks at the head of a frame alone: this runs on the receiving thread, beside a loop that may
 * wait for the store. */
#include "coordinator/intake.h"

#include "proto/answers.h"
#include "proto/codec.h"

bool coordinator_comes_first(struct span frame)
{
    return codec_peek(frame).from_node;
}

bool coordinator_refuse_crowded(struct span frame, struct buffer *out)
{
    struct frame_face face = codec_peek(frame);
    struct frame answer;

    if (face.kind != FRAME_SYNC_REQUEST && face.kind != FRAME_ADMIN_REQUEST &&
        face.kind != FRAME_STATS_REQUEST) {
        return false;
    }
    answer_refusal(face.correlation, STATUS_OVERLOADED, &answer);
    return codec_encode(&answer, out) == STATUS_OK;
}
