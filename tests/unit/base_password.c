/* The stored form of a password: one line, and nothing else is taken for it. */
#include "base/password.h"

#include <criterion/criterion.h>
#include <string.h>

Test(password, its_line_and_nothing_else)
{
    struct password password;

    cr_assert_eq(password_read(&password, span_text("s3cret word\n")), STATUS_OK);
    cr_assert(password_matches(&password, span_text("s3cret word")));
    cr_assert_not(password_matches(&password, span_text("s3cret word\n")));
    cr_assert_not(password_matches(&password, span_text("s3cret wor")));
    cr_assert_not(password_matches(&password, span_text("S3cret word")));
    cr_assert_not(password_matches(&password, span_text("")));
    cr_assert_not(password_matches(&password, span_of("s3cret word\0", 12)));
    cr_assert_eq(password_read(&password, span_text("s3cret word\r\n")), STATUS_OK);
    cr_assert(password_matches(&password, span_text("s3cret word")));
    cr_assert_eq(password_read(&password, span_text(" x")), STATUS_OK);
    cr_assert_not(password_matches(&password, span_text("x")), "blanks count");
}

Test(password, what_can_be_none_is_refused)
{
    char text[PASSWORD_MAX_BYTES + 2];
    struct password password;

    memset(text, 'x', sizeof text);
    text[PASSWORD_MAX_BYTES] = '\n';
    cr_assert_eq(password_read(&password, span_of(text, PASSWORD_MAX_BYTES + 1)), STATUS_OK);
    text[PASSWORD_MAX_BYTES] = 'x';
    cr_assert_eq(password_read(&password, span_of(text, PASSWORD_MAX_BYTES + 1)), STATUS_MALFORMED);
    cr_assert_eq(password_read(&password, span_text("")), STATUS_MALFORMED);
    cr_assert_eq(password_read(&password, span_text("\n")), STATUS_MALFORMED);
    cr_assert_eq(password_read(&password, span_text("one\ntwo\n")), STATUS_MALFORMED);
    cr_assert_eq(password_read(&password, span_of("a\0b", 3)), STATUS_MALFORMED);
}
