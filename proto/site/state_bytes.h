/* state_bytes.h - states of state.h as bytes of their own, outside of a frame: compact,
 * and equal where what they say is equal.
 *
 * Errors:  put: STATUS_NOMEM, STATUS_TOO_LARGE, STATUS_INVALID as codec_encode(). get: as
 *          codec_decode().
 * Owner:   what is decoded points into the arena, and is valid until that is used again.
 * Threads: none; one arena a thread.
 */
#ifndef ORBLOOM_PROTO_SITE_STATE_BYTES_H
#define ORBLOOM_PROTO_SITE_STATE_BYTES_H

#include "base/buffer.h"
#include "proto/codec.h"

/* Appended to `out`. */
MUST_USE enum status site_state_bytes_put(const struct site_filter *state, struct buffer *out);

/* All of them into one arena; what that held before is gone. */
MUST_USE enum status site_state_bytes_get(struct codec_arena *arena, const struct span *bytes,
                                          size_t count, struct site_filter *out);

#endif
