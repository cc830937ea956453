/* Codes and numbers of outcomes are what scripts and other versions rely on. */
#include "base/status.h"

#include <criterion/criterion.h>
#include <string.h>

/* A number is never reused: these are on the wire. */
Test(status, numbers_on_the_wire_are_fixed)
{
    cr_assert_eq((int)STATUS_OK, 0);
    cr_assert_eq((int)STATUS_STALE, 10);
    cr_assert_eq((int)STATUS_NEED_DOC, 11);
    cr_assert_eq((int)STATUS_NOT_READY, 12);
    cr_assert_eq((int)STATUS_UNAVAILABLE, 13);
    cr_assert_eq((int)STATUS_INTERNAL, 23);
    cr_assert_eq((int)STATUS_OVER_QUOTA, 24);
    cr_assert_eq((int)STATUS_BEHIND, 25);
}

/* Every outcome survives the wire and has a text of its own. */
Test(status, each_has_its_own_code_and_meaning)
{
#define X(name, number, meaning) STATUS_##name,
    static const enum status all[] = {STATUS_TABLE(X)};
#undef X
    enum { COUNT = sizeof all / sizeof all[0] };

    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(status_from_wire((unsigned)all[i]), all[i]);
        cr_assert_gt(strlen(status_code(all[i])), 1);
        cr_assert_gt(strlen(status_meaning(all[i])), 3);
        for (int other = 0; other < i; other++) {
            cr_assert_neq(all[i], all[other]);
            cr_assert_str_neq(status_code(all[i]), status_code(all[other]));
        }
    }
    cr_assert_str_eq(status_code(STATUS_NOT_READY), "NOT_READY");
    cr_assert_str_eq(status_meaning(STATUS_OK), "done");
}

/* A newer peer may send what this version does not know; that is never success. */
Test(status, an_unknown_number_is_never_ok)
{
    static const unsigned unknown[] = {26, 27, 255, 65536, 0x80000000u, 0xffffffffu};

    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        cr_assert_eq(status_from_wire(unknown[i]), STATUS_INTERNAL, "%u", unknown[i]);
        cr_assert_str_eq(status_code((enum status)unknown[i]), "INTERNAL");
        cr_assert_str_eq(status_meaning((enum status)unknown[i]), status_meaning(STATUS_INTERNAL));
    }
}
