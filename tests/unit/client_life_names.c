/* Names of nodes become the lives that a coordinator shows, or those that are written out. */
#include "cli/life_names.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct node_summary nodes[] = {
    {.id = 3, .name = "node-1", .incarnation = 0x1234, .alive = true},
    {.id = 7, .name = "node-12", .incarnation = UINT64_MAX},
};
static struct life_names names;
static char reason[LIFE_REASON_BYTES];

static enum status resolve(const char *text)
{
    return life_names_resolve(text, nodes, 2, &names, reason);
}

static void expect(size_t i, uint32_t node, uint64_t incarnation, bool runs)
{
    cr_assert_lt(i, names.count);
    cr_assert_eq(names.lives[i].life.node, node);
    cr_assert_eq(names.lives[i].life.incarnation, incarnation);
    cr_assert_eq(names.lives[i].runs, runs, "life %zu", i);
}

static void expect_refusal(const char *text, enum status status, const char *part)
{
    names.count = 99;
    cr_assert_eq(resolve(text), status, "\"%s\"", text);
    cr_assert_not_null(strstr(reason, part), "\"%s\" is not in: %s", part, reason);
    cr_assert_eq(names.count, 99, "untouched");
}

Test(life_names, none_is_none)
{
    names.count = 99;
    cr_assert_eq(resolve(NULL), STATUS_OK);
    cr_assert_eq(names.count, 0);
    cr_assert_eq(resolve(""), STATUS_OK);
    cr_assert_eq(names.count, 0);
}

Test(life_names, a_name_is_the_life_that_is_shown)
{
    cr_assert_eq(resolve("node-12,node-1"), STATUS_OK);
    cr_assert_eq(names.count, 2);
    expect(0, 7, UINT64_MAX, false);
    expect(1, 3, 0x1234, true);
}

Test(life_names, an_incarnation_is_that_one_whatever_is_shown)
{
    cr_assert_eq(resolve("node-1@1234,node-1@00000000deadBEEF,node-12@ffffffffffffffff"),
                 STATUS_OK);
    expect(0, 3, 0x1234, false);
    expect(1, 3, 0xdeadbeef, false);
    expect(2, 7, UINT64_MAX, false);
}

Test(life_names, a_node_that_is_not_listed_has_a_number)
{
    cr_assert_eq(resolve("#9@1f"), STATUS_OK);
    expect(0, 9, 0x1f, false);
    expect_refusal("#9", STATUS_INVALID, "#NUMBER@INCARNATION");
    expect_refusal("#@1f", STATUS_INVALID, "#NUMBER@INCARNATION");
    expect_refusal("#4294967296@1f", STATUS_INVALID, "#NUMBER@INCARNATION");
    expect_refusal("#0@1f", STATUS_INVALID, "#NUMBER@INCARNATION");
}

Test(life_names, what_is_wrong_is_told)
{
    expect_refusal("node-1,node-2", STATUS_NOT_FOUND, "there is no node node-2;");
    expect_refusal("node", STATUS_NOT_FOUND, "there is no node node;");
    expect_refusal(",", STATUS_NOT_FOUND, "there is no node ;");
    expect_refusal("node-1@", STATUS_INVALID, "\"node-1@\" names no life");
    expect_refusal("node-1@0", STATUS_INVALID, "names no life");
    expect_refusal("node-1@xyz", STATUS_INVALID, "names no life");
    expect_refusal("node-1@-1", STATUS_INVALID, "names no life");
    expect_refusal("node-1@10000000000000000", STATUS_INVALID, "names no life");
    expect_refusal("node-1@1234@5", STATUS_INVALID, "names no life");
}

Test(life_names, they_are_bounded)
{
    static char text[(ADMIN_MAX_LIVES + 1) * 8];

    for (size_t i = 0; i < ADMIN_MAX_LIVES; i++) {
        strcat(text, "node-1,");
    }
    cr_assert_eq(resolve(text), STATUS_OK);
    cr_assert_eq(names.count, ADMIN_MAX_LIVES);
    strcat(text, "node-1");
    expect_refusal(text, STATUS_INVALID, "more than 1024 nodes");
}
