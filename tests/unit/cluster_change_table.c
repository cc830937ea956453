/* The table of legal moves of a slot. */
#include "coordinator/plan/change.h"

#include <criterion/criterion.h>

static const struct member a = {1, 11};
static const struct member d = {1, 12};
static const struct member e = {1, 13};

static struct slot slot(const struct member *current, const struct member *incoming, bool reads)
{
    return (struct slot){.current = *current,
                         .incoming = incoming != NULL ? *incoming : (struct member){0},
                         .reads_incoming = reads};
}

/* What an edit takes: 'f' fences, 'c' a copy too, '-' nothing, 'X' it is none. */
static char taken(struct slot from, struct slot to)
{
    const struct change_move *move = change_move_of(&from, &to);

    return move == NULL ? 'X' : move->takes_copy ? 'c' : move->takes_fences ? 'f' : '-';
}

Test(change_table, the_table_has_each_legal_move)
{
    size_t count;

    cr_assert_eq(taken(slot(&a, NULL, false), slot(&a, &d, false)), '-');
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, &e, false)), '-');
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, NULL, false)), '-');
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, &d, true)), 'c');
    cr_assert_eq(taken(slot(&a, &d, true), slot(&d, NULL, false)), 'f');
    (void)change_moves(&count);
    cr_assert_eq(count, 5);
}

Test(change_table, the_table_refuses_every_short_cut)
{
    cr_assert_eq(taken(slot(&a, NULL, false), slot(&d, NULL, false)), 'X', "v1 to v4");
    cr_assert_eq(taken(slot(&a, NULL, false), slot(&a, &d, true)), 'X', "v1 to v3");
    cr_assert_eq(taken(slot(&a, &d, false), slot(&d, NULL, false)), 'X', "v2 to v4");
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, &e, true)), 'X', "another one is read");
    cr_assert_eq(taken(slot(&a, &d, false), slot(&e, &d, false)), 'X', "another old one");
    cr_assert_eq(taken(slot(&a, &d, false), slot(&a, &d, false)), 'X', "nothing at all");
    cr_assert_eq(taken(slot(&a, &d, true), slot(&a, NULL, false)), 'X', "back without fences");
    cr_assert_eq(taken(slot(&a, &d, true), slot(&a, &d, false)), 'X', "back without fences");
    cr_assert_eq(taken(slot(&a, &d, true), slot(&a, &e, true)), 'X', "another one is read");
    cr_assert_eq(taken(slot(&a, &d, true), slot(&e, NULL, false)), 'X', "a third one");
    cr_assert_eq(taken(slot(&a, NULL, false), slot(&a, NULL, false)), 'X', "nothing at all");
}
