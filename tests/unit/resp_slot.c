/* Keys are in the slots in which Redis has them. */
#include "resp/slot.h"

#include <criterion/criterion.h>

static uint32_t slot(const char *text)
{
    return resp_slot(span_text(text));
}

/* The values of the specification of Redis Cluster, and of `redis-cli CLUSTER KEYSLOT`. */
Test(resp_slot, keys_are_where_redis_has_them)
{
    cr_assert_eq(slot("123456789"), 0x31c3);
    cr_assert_eq(slot("foo"), 12182);
    cr_assert_eq(slot("somekey"), 11058);
    cr_assert_eq(slot(""), 0);
    cr_assert_eq(resp_slot(span_of("\0\xff", 2)), 7920);
}

Test(resp_slot, a_part_in_braces_counts_alone)
{
    cr_assert_eq(slot("{user1000}.following"), slot("user1000"));
    cr_assert_eq(slot("{user1000}.followers"), 3443);
    cr_assert_eq(slot("foo{bar}{zap}"), slot("bar"));
    cr_assert_eq(slot("foo{{bar}}zap"), slot("{bar"));
    cr_assert_eq(slot("foo{hash_tag}"), 2515);
}

Test(resp_slot, unless_it_is_empty_or_open)
{
    cr_assert_eq(slot("foo{}{bar}"), 8363);
    cr_assert_neq(slot("foo{bar"), slot("bar"));
    cr_assert_neq(slot("foo}bar{"), slot("bar"));
    cr_assert_neq(slot("{"), slot(""));
}
