/* proto_compare_admin.h - do two questions to a coordinator, or their answers, say the same?
 *
 * Part of proto_compare.h.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_COMPARE_ADMIN_H
#define ORBLOOM_TESTS_UNIT_PROTO_COMPARE_ADMIN_H

#include "tests/unit/proto_compare_fields.h"

static inline void compare_rule(const struct quorum_rule *a, const struct quorum_rule *b)
{
    SAME(replicas);
    SAME(write);
    SAME(read);
}

static inline void compare_seen(const struct admin_seen *a, const struct admin_seen *b)
{
    SAME(filter_id);
    SAME(revision);
    SAME(binding);
    SAME(target_id);
    SAME(target_revision);
    SAME(target_binding);
    SAME(nodes_revision);
    SAME(store_version);
    SAME(node);
    SAME(successor);
}

static inline void compare_admin_request(const struct admin_request *a,
                                         const struct admin_request *b)
{
    SAME(action);
    SAME(timeout_ms);
    SAME(nconfirmed_off);
    for (size_t i = 0; i < a->nconfirmed_off; i++) {
        SAME(confirmed_off[i].life.node);
        SAME(confirmed_off[i].life.incarnation);
        SAME(confirmed_off[i].runs);
    }
    SAME(filter_id);
    compare_seen(&a->seen, &b->seen);
    SAME_TEXT(name);
    SAME_TEXT(successor);
    SAME(undo);
    SAME(dry_run);
    SAME(create.capacity);
    SAME(create.rate);
    SAME(create.max_capacity);
    compare_rule(&a->create.rule, &b->create.rule);
    SAME(create.hash);
    SAME(create.when_unavailable);
    SAME(create.when_full);
    SAME(create.keylog);
    SAME(create.durability);
    SAME(create.window_us);
    SAME(create.nslices);
    SAME(expand.capacity);
    SAME(expand.rate);
    SAME(expand.abort);
    SAME(rebuild.step);
    SAME(rebuild.keyset);
    SAME(rebuild.fed_keys);
    SAME(rebuild.empty);
    SAME(expire.never);
    SAME(expire.after_us);
    SAME(expire.dated);
    SAME(expire.at_ms);
    SAME(expire.if_none);
    SAME(expire.if_some);
    SAME(expire.if_later);
    SAME(expire.if_sooner);
    if (a->action == ADMIN_RENAME) {
        SAME_TEXT(rename.name);
    }
    SAME(rename.replace);
    SAME(load.step);
    SAME(load.source);
    SAME(load.from);
    SAME(load.to);
    SAME(load.secret.size);
    cr_assert(a->load.secret.size == 0 ||
              memcmp(a->load.secret.data, b->load.secret.data, a->load.secret.size) == 0);
}

static inline void compare_filter_summary(const struct filter_summary *a,
                                          const struct filter_summary *b)
{
    SAME(id);
    SAME_TEXT(name);
    SAME(state);
    SAME(revision);
    SAME(epoch);
    SAME(capacity);
    SAME(max_capacity);
    SAME(rate);
    compare_rule(&a->rule, &b->rule);
    SAME(hash);
    SAME(when_unavailable);
    SAME(when_full);
    SAME(keylog);
    SAME(durability);
    SAME(nshards);
    SAME(ngroups);
    SAME(shard_bytes);
    SAME(lines);
    SAME(z);
    SAME(ngenerations);
    for (uint32_t i = 0; i < a->ngenerations; i++) {
        SAME(generations[i].id);
        SAME(generations[i].capacity);
        SAME(generations[i].rate);
        SAME(generations[i].lines);
        SAME(generations[i].z);
    }
    SAME(nturns);
    for (size_t i = 0; i < a->nturns; i++) {
        SAME(turns[i]);
    }
    SAME(nchain);
    SAME(growth_held);
    SAME(keyset);
    SAME(rebuild_keyset);
    SAME(fed_keys);
    SAME(rebuild_keys);
    SAME_TEXT(rebuild_awaited);
    SAME(shards_lacking);
    SAME(fewest_full);
    SAME(loss_epoch);
    for (size_t i = 0; i < sizeof a->loss_shards; i++) {
        SAME(loss_shards[i]);
    }
    SAME_TEXT(lacking);
    SAME_TEXT(lacking_remedy);
    SAME(shards_grown);
    SAME(shards_growing);
    SAME_TEXT(growth_awaited);
    SAME_TEXT(growth_refused);
    SAME(window_us);
    SAME(nslices);
    SAME(newest_slice);
    SAME_TEXT(window_awaited);
    SAME(expiry);
    SAME(expires_left_us);
    SAME(expires_at_ms);
    SAME_TEXT(expiry_awaited);
    SAME(load_source);
    SAME(uid.high);
    SAME(uid.low);
    SAME(loaded);
}

static inline void compare_node_summary(const struct node_summary *a, const struct node_summary *b)
{
    SAME(id);
    SAME_TEXT(name);
    SAME_TEXT(host);
    SAME_TEXT(zone);
    SAME_TEXT(endpoint);
    SAME(incarnation);
    SAME(alive);
    SAME(seen_ago_ms);
    SAME(memory_limit_bytes);
    SAME(memory_used_bytes);
    SAME(replicas_full);
    SAME(replicas_joining);
    SAME(replicas_building);
    SAME(disk_used_bytes);
    SAME(durable);
    SAME(draining);
    SAME_TEXT(replaced_by);
    SAME(slots);
    SAME_TEXT(awaited);
}

static inline void compare_admin_reply(const struct admin_reply *a, const struct admin_reply *b)
{
    SAME(status);
    SAME_TEXT(message);
    SAME(created);
    SAME(moved);
    compare_seen(&a->seen, &b->seen);
    SAME(nfilters);
    for (size_t i = 0; i < a->nfilters; i++) {
        compare_filter_summary(&a->filters[i], &b->filters[i]);
    }
    SAME(nnodes);
    for (size_t i = 0; i < a->nnodes; i++) {
        compare_node_summary(&a->nodes[i], &b->nodes[i]);
    }
    SAME(nreplicas);
    compare_reports(a->replicas, b->replicas, a->nreplicas);
    SAME(nchanges);
    for (size_t i = 0; i < a->nchanges; i++) {
        SAME(changes[i].filter_id);
        SAME(changes[i].step);
        SAME(changes[i].slots);
        SAME_TEXT(changes[i].awaited);
    }
}

static inline void compare_info_reply(const struct info_reply *a, const struct info_reply *b)
{
    SAME(status);
    SAME_TEXT(message);
    SAME(has_filter);
    if (a->has_filter) {
        compare_filter_summary(&a->filter, &b->filter);
    }
    SAME(nreplicas);
    compare_reports(a->replicas, b->replicas, a->nreplicas);
}

#endif
