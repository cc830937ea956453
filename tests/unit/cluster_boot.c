/* Which lives of a node's data may take, keep, or never again have its place? */
#include "coordinator/plan/boot.h"

#include <criterion/criterion.h>
#include <stddef.h>

/* X and Y are incarnations, 1 to 9 boots. */
enum { X = 101, Y = 102 };

static enum boot_verdict judge(uint64_t incarnation, uint64_t boot, uint64_t boot_before,
                               uint64_t record_incarnation, uint64_t record_boot)
{
    const struct node_record record = {.incarnation = record_incarnation, .boot = record_boot};
    const struct boot_claim claim = {
        incarnation, boot, boot_before, {record_incarnation, record_boot}};

    return boot_judge(&record, &claim);
}

Test(boot, a_node_without_a_record_is_fresh)
{
    const struct boot_claim claims[] = {
        {X, 1, 0, {0, 0}}, {X, 2, 1, {0, 0}}, {X, 0, 0, {0, 0}}, {X, 1, 0, {Y, 5}}};

    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        cr_assert_eq(boot_judge(NULL, &claims[i]), BOOT_FRESH);
    }
}

Test(boot, the_one_in_the_record_is_known)
{
    cr_assert_eq(judge(X, 1, 0, X, 1), BOOT_KNOWN);
    cr_assert_eq(judge(X, 2, 1, X, 2), BOOT_KNOWN);
    cr_assert_eq(judge(X, 0, 0, X, 0), BOOT_KNOWN, "memory only");
}

Test(boot, the_one_that_continues_the_record_is_next)
{
    cr_assert_eq(judge(X, 2, 1, X, 1), BOOT_NEXT);
    cr_assert_eq(judge(X, 1, 0, X, 0), BOOT_NEXT, "a record without a boot");
}

Test(boot, an_older_copy_is_old)
{
    cr_assert_eq(judge(X, 3, 1, X, 2), BOOT_OLD, "a folder of before boot 2");
    cr_assert_eq(judge(X, 1, 0, X, 2), BOOT_OLD, "a boot that was left");
    cr_assert_eq(judge(X, 2, 1, X, 0), BOOT_OLD, "a boot that no coordinator heard of");
    cr_assert_eq(judge(X, 0, 0, X, 2), BOOT_OLD, "without its disk");
}

/* Two machines from one copy of the folder: whoever comes first goes on. */
Test(boot, of_two_copies_one_goes_on)
{
    cr_assert_eq(judge(X, 2, 1, X, 1), BOOT_NEXT);
    cr_assert_eq(judge(X, 3, 1, X, 2), BOOT_OLD);
}

Test(boot, another_incarnation_takes_over_only_when_it_begins)
{
    cr_assert_eq(judge(Y, 5, 0, X, 2), BOOT_FRESH, "a wiped disk");
    cr_assert_eq(judge(Y, 0, 0, X, 2), BOOT_FRESH, "memory only from now on");
    cr_assert_eq(judge(Y, 0, 0, X, 0), BOOT_FRESH, "memory only");
    cr_assert_eq(judge(X, 3, 2, Y, 5), BOOT_OLD, "it was replaced");
    cr_assert_eq(judge(X, 3, 2, Y, 0), BOOT_OLD, "it was replaced by memory");
}

/* What the network delays or repeats names what is no longer there. */
Test(boot, one_that_begins_must_name_what_it_replaces)
{
    const struct node_record record = {.incarnation = X, .boot = 2};
    const struct boot_claim claims[] = {
        {Y, 5, 0, {0, 0}}, {Y, 5, 0, {X, 1}}, {Y, 5, 0, {103, 2}}, {Y, 0, 0, {X, 0}}};
    const struct boot_claim lost = {Y, 5, 4, {X, 2}};

    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        cr_assert_eq(boot_judge(&record, &claims[i]), BOOT_BLIND, "claim %zu", i);
    }
    cr_assert_eq(boot_judge(&record, &lost), BOOT_OLD, "naming does not help what lost its place");
}
