/* codec_body.h - private to proto/: one pair of functions for each kind of frame.
 *
 * put: describe frame->body to protobuf-c, borrowing from the frame and the scratch.
 *      STATUS_NOMEM, STATUS_TOO_LARGE, STATUS_INVALID.
 * get: validate an unpacked message into frame->body, borrowing from the arena.
 *      STATUS_MALFORMED, STATUS_TOO_LARGE.
 * read: in place of get, a hot kind from its bytes, borrowing from them and the arena.
 */
#ifndef ORBLOOM_PROTO_CODEC_BODY_H
#define ORBLOOM_PROTO_CODEC_BODY_H

#include "proto/codec_field.h"

typedef enum status codec_put_fn(const struct frame *frame, struct codec_scratch *scratch,
                                 ProtobufCMessage **out);
typedef enum status codec_get_fn(const ProtobufCMessage *message, struct codec_arena *arena,
                                 struct frame *frame);
typedef enum status codec_read_fn(struct span body, struct codec_arena *arena, struct frame *frame);

codec_put_fn codec_put_client_request;
codec_put_fn codec_put_client_reply;
codec_put_fn codec_put_node_request;
codec_put_fn codec_put_node_reply;
codec_put_fn codec_put_document_list;
codec_put_fn codec_put_sync_request;
codec_put_fn codec_put_sync_reply;
codec_put_fn codec_put_hint;
codec_put_fn codec_put_fence_request;
codec_put_fn codec_put_fence_reply;
codec_put_fn codec_put_boot_request;
codec_put_fn codec_put_boot_reply;
codec_put_fn codec_put_admin_request;
codec_put_fn codec_put_admin_reply;
codec_put_fn codec_put_info_request;
codec_put_fn codec_put_info_reply;
codec_put_fn codec_put_stats_request;
codec_put_fn codec_put_stats_reply;
codec_put_fn codec_put_pull_request;
codec_put_fn codec_put_pull_reply;
codec_put_fn codec_put_error;

codec_get_fn codec_get_client_reply;
codec_get_fn codec_get_node_request;
codec_get_fn codec_get_node_reply;
codec_get_fn codec_get_document_list;
codec_get_fn codec_get_sync_request;
codec_get_fn codec_get_sync_reply;
codec_get_fn codec_get_hint;
codec_get_fn codec_get_fence_request;
codec_get_fn codec_get_fence_reply;
codec_get_fn codec_get_boot_request;
codec_get_fn codec_get_boot_reply;
codec_get_fn codec_get_admin_request;
codec_get_fn codec_get_admin_reply;
codec_get_fn codec_get_info_request;
codec_get_fn codec_get_info_reply;
codec_get_fn codec_get_stats_request;
codec_get_fn codec_get_stats_reply;
codec_get_fn codec_get_pull_request;
codec_get_fn codec_get_pull_reply;
codec_get_fn codec_get_error;

codec_read_fn codec_read_client_request;

#endif
