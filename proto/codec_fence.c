/* The coordinator's questions to nodes. */
#include "proto/codec_body.h"

#define WIRE_fence_request Orbloom__V1__FenceRequest
static const struct binding fence_request_rows[] = {
    ROW(fence_request, filter_id, UINT64),  ROW(fence_request, epoch, UINT64),
    ROW(fence_request, epoch_hash, UINT64), ROW(fence_request, document, DOCUMENT),
    ROW(fence_request, slice, UINT64),
};
BINDING_TABLE(fence_request, fence_request, NULL);

#define WIRE_fence_reply Orbloom__V1__FenceReply
static const struct binding fence_reply_rows[] = {
    ROW(fence_reply, status, STATUS),   ROW(fence_reply, filter_id, UINT64),
    ROW(fence_reply, epoch, UINT64),    ROW(fence_reply, epoch_hash, UINT64),
    ROW(fence_reply, node_id, UINT32),  ROW(fence_reply, incarnation, UINT64),
    ROW(fence_reply, position, UINT64), ROW(fence_reply, boot, UINT64),
    ROW(fence_reply, slice, UINT64),    ROW(fence_reply, counted_us, UINT64),
    ROW(fence_reply, expiry, UINT64),   ROW(fence_reply, expiry_us, UINT64),
};
BINDING_TABLE(fence_reply, fence_reply, NULL);
