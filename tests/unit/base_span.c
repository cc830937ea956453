/* Lines and blanks of borrowed bytes. */
#include "base/span.h"

#include <criterion/criterion.h>

static void expect_line(struct span *rest, const char *text)
{
    struct span line;

    cr_assert(span_take_line(rest, &line));
    cr_assert(span_equal(line, span_text(text)), "not \"%s\"", text);
}

Test(span, lines_are_taken_one_by_one)
{
    struct span rest = span_text("a\n\n b \nc");
    struct span line = span_text("as it was");

    expect_line(&rest, "a");
    expect_line(&rest, "");
    expect_line(&rest, " b ");
    expect_line(&rest, "c");
    cr_assert_not(span_take_line(&rest, &line));
    cr_assert(span_equal(line, span_text("as it was")));
    rest = span_text("\n");
    expect_line(&rest, "");
    cr_assert_not(span_take_line(&rest, &line), "a newline at the end begins no line");
    rest = span_of(NULL, 0);
    cr_assert_not(span_take_line(&rest, &line));
}

/* A NUL is a byte as others are. */
Test(span, blanks_around_are_cut_off)
{
    cr_assert(span_equal(span_trim(span_text(" \t\r\n\v\fa b\r\n")), span_text("a b")));
    cr_assert(span_equal(span_trim(span_of("\0 ", 2)), span_of("", 1)));
    cr_assert_eq(span_trim(span_text(" \n ")).size, 0);
    cr_assert_eq(span_trim(span_of(NULL, 0)).size, 0);
    cr_assert(span_blank(' ') && span_blank('\n') && !span_blank(0) && !span_blank(0xa0));
}
