/* kept.h - frames that outlive the callback which they were told in: copies by the codec itself.
 *
 * Errors:  NULL: memory is out, or the frame is too large.
 * Owner:   answers_fini() frees all that were kept; a zeroed struct is ready.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_DOCTOR_KEPT_H
#define ORBLOOM_CLI_DOCTOR_KEPT_H

#include "proto/codec.h"

struct kept_frame;

struct kept_answers {
    struct kept_frame *newest;
};

const struct frame *answers_keep(struct kept_answers *self, const struct frame *frame);
void answers_fini(struct kept_answers *self);

#endif
