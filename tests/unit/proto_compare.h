/* proto_compare.h - do two frames say the same, field by field? For the tests of proto/.
 *
 * Written without the codec, so that a field which both of its directions forget is seen.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_COMPARE_H
#define ORBLOOM_TESTS_UNIT_PROTO_COMPARE_H

#include "tests/unit/proto_compare_admin.h"
#include "tests/unit/proto_compare_fields.h"
#include "tests/unit/proto_compare_pull.h"

static inline void compare_op(const struct op_id *a, const struct op_id *b)
{
    SAME(session[0]);
    SAME(session[1]);
    SAME(sequence);
}

static inline void compare_plane(const uint64_t *a, const uint64_t *b, size_t count)
{
    cr_assert_not_null(b);
    cr_assert_eq((uintptr_t)b % sizeof *b, 0);
    cr_assert_eq(memcmp(a, b, (count + 63) / 64 * sizeof *a), 0, "plane of %zu", count);
}

static inline void compare_client_request(const struct client_request *a,
                                          const struct client_request *b)
{
    SAME_TEXT(filter);
    SAME(filter_id);
    SAME(operation);
    compare_op(&a->op, &b->op);
    SAME(attempt);
    SAME(timeout_ms);
    SAME(slots);
    SAME(keyset);
    SAME_SPAN(keys);
    SAME(count);
    for (size_t i = 0; i < a->count; i++) {
        SAME(lengths[i]);
    }
}

static inline void compare_client_reply(const struct client_reply *a, const struct client_reply *b)
{
    compare_op(&a->op, &b->op);
    SAME(attempt);
    SAME(status);
    SAME_TEXT(message);
    SAME(filter_id);
    SAME(epoch);
    SAME(count);
    compare_plane(a->present, b->present, a->count);
    compare_plane(a->absent, b->absent, a->count);
    SAME(copies);
}

static inline void compare_subrequest(const struct subrequest *a, const struct subrequest *b)
{
    SAME(tag);
    SAME(filter_id);
    SAME(epoch);
    SAME(epoch_hash);
    SAME(group);
    SAME(operation);
    compare_op(&a->op, &b->op);
    SAME(attempt);
    SAME(batch.producer_id);
    SAME(batch.number);
    SAME(count);
    SAME(keyset);
}

static inline void compare_node_request(const struct node_request *a, const struct node_request *b)
{
    SAME(nsubrequests);
    for (size_t i = 0; i < a->nsubrequests; i++) {
        compare_subrequest(&a->subrequests[i], &b->subrequests[i]);
    }
    SAME(count);
    for (size_t i = 0; i < a->count; i++) {
        SAME(fingerprints[i]);
    }
}

static inline void compare_subrequest_reply(const struct subrequest_reply *a,
                                            const struct subrequest_reply *b)
{
    SAME(tag);
    SAME(status);
    SAME(epoch);
    SAME(epoch_hash);
    SAME(state);
    SAME(repeated);
    SAME(at_capacity);
    SAME(makes_room);
    SAME(count);
    compare_plane(a->present, b->present, a->count);
    compare_plane(a->absent, b->absent, a->count);
}

static inline void compare_node_reply(const struct node_reply *a, const struct node_reply *b)
{
    SAME(node_id);
    SAME(incarnation);
    SAME(nsubrequests);
    for (size_t i = 0; i < a->nsubrequests; i++) {
        compare_subrequest_reply(&a->subrequests[i], &b->subrequests[i]);
    }
    SAME(ndocuments);
    compare_spans(a->documents, b->documents, a->ndocuments);
}

static inline void compare_sync_request(const struct sync_request *a, const struct sync_request *b)
{
    SAME(role);
    SAME_TEXT(name);
    SAME_TEXT(endpoint);
    SAME_TEXT(host);
    SAME_TEXT(zone);
    SAME(incarnation);
    SAME(memory_limit_bytes);
    SAME(memory_used_bytes);
    SAME(boot);
    SAME(boot_before);
    SAME(replaces.incarnation);
    SAME(replaces.boot);
    SAME(number);
    SAME(position);
    SAME(durable);
    SAME(disk_used_bytes);
    SAME(since);
    SAME(page.from.filter_id);
    SAME(page.from.group);
    SAME(page.to.filter_id);
    SAME(page.to.group);
    SAME(cluster.bytes[0]);
    SAME(cluster.bytes[15]);
    SAME(features);
    SAME(nreplicas);
    compare_reports(a->replicas, b->replicas, a->nreplicas);
}

static inline void compare_sync_reply(const struct sync_reply *a, const struct sync_reply *b)
{
    SAME(status);
    SAME_TEXT(message);
    SAME(change);
    SAME(more);
    SAME(node_id);
    SAME(present.incarnation);
    SAME(present.boot);
    SAME_SPAN(cluster);
    SAME(ndocuments);
    compare_spans(a->documents, b->documents, a->ndocuments);
    SAME(nsecrets);
    for (size_t i = 0; i < a->nsecrets; i++) {
        SAME(secrets[i].filter_id);
        SAME_SPAN(secrets[i].sealed);
    }
}

static inline void compare_fence_reply(const struct fence_reply *a, const struct fence_reply *b)
{
    SAME(status);
    SAME(filter_id);
    SAME(epoch);
    SAME(epoch_hash);
    SAME(node_id);
    SAME(incarnation);
    SAME(position);
    SAME(boot);
    SAME(slice);
    SAME(counted_us);
    SAME(expiry);
    SAME(expiry_us);
}

static inline void compare_stats_reply(const struct stats_reply *a, const struct stats_reply *b)
{
    SAME_TEXT(program);
    SAME_TEXT(name);
    SAME(nvalues);
    for (size_t i = 0; i < a->nvalues; i++) {
        SAME_TEXT(values[i].name);
        SAME(values[i].value);
    }
}

static inline void compare_boot_request(const struct boot_request *a, const struct boot_request *b)
{
    SAME(question.node);
    SAME(question.incarnation);
    SAME(question.boot);
    SAME(question.nbefore);
    for (uint32_t i = 0; i < a->question.nbefore; i++) {
        SAME(question.before[i]);
        SAME(question.ends[i]);
    }
    SAME(question.position);
    SAME(question.reached);
    SAME(confirm);
    SAME_SPAN(nodes);
    cr_assert_arr_eq(a->mac, b->mac, sizeof a->mac);
}

static inline void compare_boot_reply(const struct boot_reply *a, const struct boot_reply *b)
{
    SAME(status);
    SAME(node);
    SAME(incarnation);
    SAME(boot);
    SAME(confirmed);
    SAME(position);
    cr_assert_arr_eq(a->mac, b->mac, sizeof a->mac);
}

static inline void compare_small(const struct frame *a, const struct frame *b)
{
    switch ((int)a->kind) {
    case FRAME_DOCUMENTS:
        SAME(body.documents.count);
        compare_spans(a->body.documents.items, b->body.documents.items, a->body.documents.count);
        break;
    case FRAME_HINT:
        SAME(body.hint.change);
        break;
    case FRAME_FENCE_REQUEST:
        SAME(body.fence_request.filter_id);
        SAME(body.fence_request.epoch);
        SAME(body.fence_request.epoch_hash);
        SAME_SPAN(body.fence_request.document);
        SAME(body.fence_request.slice);
        break;
    case FRAME_INFO_REQUEST:
        SAME_TEXT(body.info_request.filter);
        SAME(body.info_request.filter_id);
        SAME(body.info_request.timeout_ms);
        break;
    case FRAME_ERROR:
        SAME(body.error.status);
        SAME_TEXT(body.error.message);
        break;
    default:
        break;
    }
}

static inline void compare_frames(const struct frame *a, const struct frame *b)
{
    SAME(version);
    SAME(correlation);
    SAME(kind);
    switch ((int)a->kind) {
    case FRAME_CLIENT_REQUEST:
        compare_client_request(&a->body.client_request, &b->body.client_request);
        break;
    case FRAME_CLIENT_REPLY:
        compare_client_reply(&a->body.client_reply, &b->body.client_reply);
        break;
    case FRAME_NODE_REQUEST:
        compare_node_request(&a->body.node_request, &b->body.node_request);
        break;
    case FRAME_NODE_REPLY:
        compare_node_reply(&a->body.node_reply, &b->body.node_reply);
        break;
    case FRAME_SYNC_REQUEST:
        compare_sync_request(&a->body.sync_request, &b->body.sync_request);
        break;
    case FRAME_SYNC_REPLY:
        compare_sync_reply(&a->body.sync_reply, &b->body.sync_reply);
        break;
    case FRAME_FENCE_REPLY:
        compare_fence_reply(&a->body.fence_reply, &b->body.fence_reply);
        break;
    case FRAME_BOOT_REQUEST:
        compare_boot_request(&a->body.boot_request, &b->body.boot_request);
        break;
    case FRAME_BOOT_REPLY:
        compare_boot_reply(&a->body.boot_reply, &b->body.boot_reply);
        break;
    case FRAME_ADMIN_REQUEST:
        compare_admin_request(&a->body.admin_request, &b->body.admin_request);
        break;
    case FRAME_ADMIN_REPLY:
        compare_admin_reply(&a->body.admin_reply, &b->body.admin_reply);
        break;
    case FRAME_INFO_REPLY:
        compare_info_reply(&a->body.info_reply, &b->body.info_reply);
        break;
    case FRAME_PULL_REQUEST:
        compare_pull_request(&a->body.pull_request, &b->body.pull_request);
        break;
    case FRAME_PULL_REPLY:
        compare_pull_reply(&a->body.pull_reply, &b->body.pull_reply);
        break;
    case FRAME_STATS_REPLY:
        compare_stats_reply(&a->body.stats_reply, &b->body.stats_reply);
        break;
    default:
        compare_small(a, b);
        break;
    }
}

#undef SAME
#undef SAME_TEXT
#undef SAME_SPAN

#endif
