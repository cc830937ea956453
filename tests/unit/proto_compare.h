/* proto_compare.h - do two frames say the same, field by field? For the tests of proto/.
 *
 * proto_rows.h compares what rows name; here is what is BY_HAND. That rows name all fields of the
 * schema tests/unit/proto_binding.c sees to.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_COMPARE_H
#define ORBLOOM_TESTS_UNIT_PROTO_COMPARE_H

#include "tests/unit/proto_rows.h"

#include <criterion/criterion.h>

#define SAME(field) cr_assert_eq(a->field, b->field, #field)

static inline void compare_rows(const struct binding_table *table, const void *a, const void *b)
{
    const char *field = rows_difference(table, a, b);

    cr_assert_null(field, "%s.%s", table->descriptor->name, field);
}

static inline void compare_plane(const uint64_t *a, const uint64_t *b, size_t count)
{
    cr_assert(rows_same_plane(a, b, count), "plane of %zu", count);
}

static inline void compare_op(const struct op_id *a, const struct op_id *b)
{
    SAME(session[0]);
    SAME(session[1]);
    SAME(sequence);
}

/* ---- by hand: what a client and a router, a router and a node say ---- */

static inline void compare_client_request(const struct client_request *a,
                                          const struct client_request *b)
{
    cr_assert_str_eq(a->filter, b->filter);
    SAME(filter_id);
    SAME(operation);
    compare_op(&a->op, &b->op);
    SAME(attempt);
    SAME(timeout_ms);
    SAME(slots);
    SAME(keyset);
    SAME(max_staleness);
    SAME(acks);
    cr_assert(span_equal(a->keys, b->keys));
    SAME(count);
    for (size_t i = 0; i < a->count; i++) {
        SAME(lengths[i]);
    }
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
    SAME(user);
    SAME(relayed);
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
    SAME(boot);
    SAME(position);
}

static inline void compare_subrequest_replies(const struct node_reply *a,
                                              const struct node_reply *b)
{
    SAME(nsubrequests);
    for (size_t i = 0; i < a->nsubrequests; i++) {
        compare_subrequest_reply(&a->subrequests[i], &b->subrequests[i]);
    }
}

/* ---- by hand: starts, commands, filters ---- */

static inline void compare_boot_before(const struct boot_question *a, const struct boot_question *b)
{
    SAME(nbefore);
    for (uint32_t i = 0; i < a->nbefore; i++) {
        SAME(before[i]);
        SAME(ends[i]);
    }
}

static inline void compare_names(const struct admin_request *request,
                                 const struct admin_request *read)
{
    const struct map_parameters *a = &request->map;
    const struct map_parameters *b = &read->map;

    if (request->action < ADMIN_MAP_BACKUP || request->action > ADMIN_MAP_FINISH) {
        return;
    }
    SAME(nconfirmed_off);
    for (size_t i = 0; i < a->nconfirmed_off; i++) {
        cr_assert_str_eq(a->confirmed_off[i], b->confirmed_off[i]);
    }
}

static inline void compare_filter_by_hand(const struct filter_summary *a,
                                          const struct filter_summary *b)
{
    SAME(nchain);
    SAME(rebuild_keyset);
    SAME(fed_keys);
    SAME(rebuild_keys);
    cr_assert_arr_eq(a->loss_shards, b->loss_shards, sizeof a->loss_shards);
}

/* ---- by hand: what nodes take over from each other ---- */

static inline void compare_intervals(const struct pull_interval *a, const struct pull_interval *b,
                                     size_t count)
{
    for (; count > 0; count--, a++, b++) {
        SAME(producer_id);
        SAME(epoch);
        SAME(first);
        SAME(count);
        SAME(offset);
    }
}

static inline void compare_batches(const struct pull_batch *a, const struct pull_batch *b,
                                   size_t count)
{
    for (; count > 0; count--, a++, b++) {
        SAME(producer_id);
        SAME(number);
        SAME(epoch);
        SAME(offset);
        SAME(count);
        SAME(flags);
        cr_assert(pull_targets_equal(a->targets, b->targets));
    }
}

static inline void compare_pull_request(const struct pull_request *a, const struct pull_request *b)
{
    SAME(nwanted);
    compare_intervals(a->wanted, b->wanted, a->nwanted);
    SAME(nprefixes);
    for (size_t i = 0; i < a->nprefixes; i++) {
        SAME(prefixes[i]);
    }
}

static inline void compare_pull_reply(const struct pull_reply *a, const struct pull_reply *b)
{
    SAME(nbatches);
    compare_batches(a->batches, b->batches, a->nbatches);
    SAME(nintervals);
    compare_intervals(a->intervals, b->intervals, a->nintervals);
    if (a->npages > 0) {
        cr_assert_arr_eq(a->pages, b->pages, a->npages * PULL_PAGE_BYTES);
    }
}

static inline void compare_site_tail_request(const struct site_tail_request *a,
                                             const struct site_tail_request *b)
{
    SAME(nfilters);
    if (a->nfilters > 0) {
        cr_assert_arr_eq(a->filters, b->filters, a->nfilters * sizeof *a->filters);
    }
    SAME(nwanted);
    for (size_t i = 0; i < a->nwanted; i++) {
        SAME(wanted[i]);
    }
}

static inline void compare_site_tail_records(const struct site_tail_record *a,
                                             const struct site_tail_record *b, size_t count)
{
    for (; count > 0; count--, a++, b++) {
        SAME(filter_id);
        SAME(epoch);
        SAME(producer_id);
        SAME(number);
        SAME(offset);
        SAME(digest);
        SAME(group);
        SAME(count);
        SAME(flags);
        cr_assert(pull_targets_equal(a->targets, b->targets));
    }
}

/* ---- all of it ---- */

static inline void compare_by_hand(const struct frame *a, const struct frame *b)
{
    switch (a->kind) {
    case FRAME_CLIENT_REQUEST:
        compare_client_request(&a->body.client_request, &b->body.client_request);
        break;
    case FRAME_NODE_REQUEST:
        compare_node_request(&a->body.node_request, &b->body.node_request);
        break;
    case FRAME_NODE_REPLY:
        compare_subrequest_replies(&a->body.node_reply, &b->body.node_reply);
        break;
    case FRAME_BOOT_REQUEST:
        compare_boot_before(&a->body.boot_request.question, &b->body.boot_request.question);
        break;
    case FRAME_ADMIN_REQUEST:
        compare_names(&a->body.admin_request, &b->body.admin_request);
        break;
    case FRAME_ADMIN_REPLY:
        for (size_t i = 0; i < a->body.admin_reply.nfilters; i++) {
            compare_filter_by_hand(&a->body.admin_reply.filters[i],
                                   &b->body.admin_reply.filters[i]);
        }
        break;
    case FRAME_INFO_REPLY:
        SAME(body.info_reply.has_filter);
        compare_filter_by_hand(&a->body.info_reply.filter, &b->body.info_reply.filter);
        break;
    case FRAME_PULL_REQUEST:
        compare_pull_request(&a->body.pull_request, &b->body.pull_request);
        break;
    case FRAME_PULL_REPLY:
        compare_pull_reply(&a->body.pull_reply, &b->body.pull_reply);
        break;
    case FRAME_SITE_TAIL_REQUEST:
        compare_site_tail_request(&a->body.site_tail_request, &b->body.site_tail_request);
        break;
    case FRAME_SITE_TAIL_REPLY:
        SAME(body.site_tail_reply.nrecords);
        compare_site_tail_records(a->body.site_tail_reply.records, b->body.site_tail_reply.records,
                                  a->body.site_tail_reply.nrecords);
        break;
    case FRAME_NONE:
    case FRAME_CLIENT_REPLY:
    case FRAME_DOCUMENTS:
    case FRAME_SYNC_REQUEST:
    case FRAME_SYNC_REPLY:
    case FRAME_HINT:
    case FRAME_FENCE_REQUEST:
    case FRAME_FENCE_REPLY:
    case FRAME_BOOT_REPLY:
    case FRAME_INFO_REQUEST:
    case FRAME_STATS_REQUEST:
    case FRAME_STATS_REPLY:
    case FRAME_DUMP_REQUEST:
    case FRAME_DUMP_REPLY:
    case FRAME_LOAD_REQUEST:
    case FRAME_SITE_HELLO:
    case FRAME_SITE_OPEN:
    case FRAME_SITE_BATCH:
    case FRAME_SITE_APPLIED:
    case FRAME_SITE_MARK:
    case FRAME_SITE_MARKED:
    case FRAME_SITE_CLOSE:
    case FRAME_SITE_FILTERS:
    case FRAME_SITE_CONFIRM:
    case FRAME_SITE_CONFIRMED:
    case FRAME_SITE_OFFER:
    case FRAME_SITE_HELD:
    case FRAME_SITE_CURSOR_REQUEST:
    case FRAME_SITE_CURSOR_REPLY:
    case FRAME_SITE_AGE_REQUEST:
    case FRAME_SITE_AGE_REPLY:
    case FRAME_SITE_LAG_REQUEST:
    case FRAME_SITE_LAG_REPLY:
    case FRAME_ERROR:
        break;
    }
}

static inline void compare_frames(const struct frame *a, const struct frame *b)
{
    const struct binding_table *table = rows_table(a->kind);

    SAME(version);
    SAME(correlation);
    SAME(kind);
    if (table != NULL) {
        compare_rows(table, &a->body, &b->body);
    }
    compare_by_hand(a, b);
}

#undef SAME

#endif
