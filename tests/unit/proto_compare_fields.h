/* proto_compare_fields.h - fields of two messages a and b, and what many messages hold.
 *
 * Part of proto_compare.h.
 */
#ifndef ORBLOOM_TESTS_UNIT_PROTO_COMPARE_FIELDS_H
#define ORBLOOM_TESTS_UNIT_PROTO_COMPARE_FIELDS_H

#include "proto/codec.h"

#include <criterion/criterion.h>

#define SAME(field)      cr_assert_eq(a->field, b->field, #field)
#define SAME_TEXT(field) cr_assert_str_eq(a->field, b->field, #field)
#define SAME_SPAN(field) cr_assert(span_equal(a->field, b->field), #field)

static inline void compare_spans(const struct span *a, const struct span *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_assert(span_equal(a[i], b[i]), "span %zu", i);
        cr_assert_not_null(b[i].data);
    }
}

static inline void compare_reports(const struct replica_report *a, const struct replica_report *b,
                                   size_t count)
{
    for (size_t i = 0; i < count; i++, a++, b++) {
        SAME(filter_id);
        SAME(group);
        SAME(node_id);
        SAME(incarnation);
        SAME(fence);
        SAME(state);
        SAME(bytes);
        SAME(keys);
        SAME(bits_set);
        SAME(bits_seen);
        SAME(progress);
        SAME(phase);
        SAME(complete);
        SAME(disk_bytes);
        SAME(generation);
        SAME(shards_grown);
        SAME(overflow_keys);
        SAME(keys_next);
        SAME(keys_kept);
    }
}

#endif
