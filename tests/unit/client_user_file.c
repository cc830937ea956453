/* Files that describe users: is what they say what is taken, and is what is wrong refused with its
 * place? */
#include "base/heap.h"
#include "cli/users/file.h"
#include "runtime/options/group_file.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/orbloom-users-XXXXXX";
static struct user_list list;

static void setup(void)
{
    int file = mkstemp(path);

    cr_assert_geq(file, 0);
    (void)close(file);
    cr_redirect_stderr();
}

static void teardown(void)
{
    (void)unlink(path);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(user_file, .init = setup, .fini = teardown);

static enum status read_text(const char *text)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
    return user_file_read(path, &list);
}

Test(user_file, says_all_of_a_user)
{
    const struct user *user;

    cr_assert_eq(read_text("users = ({ name = \"crawler\"; rights = (\"rw crawl:*\", \"r s\");\n"
                           "  create = \"on\"; role = \"client\";\n"
                           "  limits = { keys_per_s = \"2M\"; filters = 100; bytes = \"8GiB\";\n"
                           "             connections = 500; in_flight = \"16MiB\"; };\n"
                           "  tls_subject = \"CN=crawler\"; }, { name = \"a\"; role = \"admin\"; "
                           "rights = \"c *\"; create = true; });"),
                 STATUS_OK);
    cr_assert_eq(list.count, 2);
    cr_assert_str_eq(list.users[0].name, "a", "in order of names");
    cr_assert(list.users[0].role == USER_ADMIN && list.users[0].create);
    cr_assert(user_may(&list.users[0], USER_ALL_RIGHTS, "x"));
    user = &list.users[1];
    cr_assert_str_eq(user->subject, "CN=crawler");
    cr_assert(user->id == 0 && user->create && user->ngrants == 2);
    cr_assert(user_may(user, USER_READ | USER_WRITE, "crawl:x") && user_may(user, USER_READ, "s"));
    cr_assert_eq(user->limits.keys_per_s, 2000000);
    cr_assert_eq(user->limits.filters, 100);
    cr_assert_eq(user->limits.bytes, (uint64_t)8 << 30);
    cr_assert_eq(user->limits.connections, 500);
    cr_assert_eq(user->limits.in_flight, 16 << 20);
    user_list_fini(&list);
}

/* What looks like a number that is misread, or an include, and is none. */
Test(user_file, digits_in_texts_and_comments_are_no_numbers)
{
    cr_assert_eq(
        read_text("# since 20261126120000, 0x1F, and no @include\n"
                  "users = ({ /* 12345678901 */ name = \"a\"; // 010\n"
                  "  rights = (\"r 12345678901\" \":*\"); tls_subject = \"CN=\\\\\\\"0x5\";\n"
                  "  limits = { filters = 999999999; bytes = \"8589934692\"; }; });"),
        STATUS_OK);
    cr_assert(user_may(&list.users[0], USER_READ, "12345678901:x"));
    cr_assert_str_eq(list.users[0].subject, "CN=\\\"0x5");
    cr_assert_eq(list.users[0].limits.filters, 999999999);
    cr_assert_eq(list.users[0].limits.bytes, 8589934692);
    user_list_fini(&list);
}

Test(user_file, may_have_no_user)
{
    cr_assert_eq(read_text("users = ();"), STATUS_OK);
    cr_assert_eq(list.count, 0);
    user_list_fini(&list);
}

Test(user_file, what_is_wrong_is_refused)
{
    static const char *const wrong[] = {
        "users = ({ role = \"client\"; });",
        "users = ({ name = 3; });",
        "users = ({ name = true; });",
        "users = ({ name = \"a\"; tls_subject = 3; });",
        "users = ({ name = \"a b\"; });",
        "users = ({ name = \"a\"; }, { name = \"a\"; });",
        "users = ({ name = \"a\"; tls_subject = \"CN=x\"; }, { name = \"b\"; tls_subject = "
        "\"CN=x\"; });",
        "users = ({ name = \"a\"; role = \"boss\"; });",
        "users = ({ name = \"a\"; rights = \"x y\"; });",
        "users = ({ name = \"a\"; create = \"yes\"; });",
        "users = ({ name = \"a\"; limits = { bytes = 0; }; });",
        "users = ({ name = \"a\"; limits = { bytes = 8589934592; }; });",
        "users = ({ name = \"a\"; limits = { bytes = \"lots\"; }; });",
        "users = ({ name = \"a\"; limits = { connections = \"5G\"; }; });",
        "users = ({ name = \"a\"; limits = { deep = { x = 1; }; }; });",
        "users = ({ name = \"a\"; token = \"secret\"; });",
        "users = ({ name = \"a\"; tls_subject = \"\"; });",
        "users = ({ name = \"a\"; tls_subject = \"/CN=a\"; });",
        "users = ({ name = \"a\"; tls_subject = \"CN=a, O=b\"; });",
        "users = (\"a\");",
        "", /* With --prune nobody would be left. */
        "# users = ();",
        "others = ({ name = \"a\"; });",
        "users = ({ name = 1.5; });",
        "users = ({ name = \"a\"",
        "@include \"/etc/passwd\"",
        "users = ({ name = \"a\"; limits = { bytes = 0x200000064; }; });",
        "users = ({ name = \"a\"; limits = { bytes = 0x64; }; });",
        "users = ({ name = \"a\"; limits = { bytes = 010; }; });",
        "users = ({ name = \"a\"; limits = { bytes =\n8589934692\n; }; });",
        "users = ({ name = \"a\"; limits = { bytes = # \"\n 8589934692; }; });",
        "users = ({ name = \"a\\\"\"; limits = { bytes = 8589934692; }; });",
        "users = ({ name = \"a\"; /* \" */ limits = { bytes = 8589934692; }; });",
        "users = ({ name = \"a\"; limits = { bytes = 100L; }; });",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cr_assert_eq(read_text(wrong[i]), STATUS_INVALID, "%s", wrong[i]);
        cr_assert_eq(list.count, 0);
    }
    cr_assert_eq(user_file_read("/nowhere/users.conf", &list), STATUS_IO);
}

static enum status take_nothing(void *context, char *reason)
{
    (void)context;
    (void)reason;
    return STATUS_OK;
}

static enum status refuse_all(void *context, const char *name, const struct group_value *value,
                              char *reason)
{
    (void)context;
    (void)snprintf(reason, GROUP_REASON_BYTES, "%s=%s is not wanted", name, value->text);
    return STATUS_INVALID;
}

Test(user_file, the_place_is_told)
{
    const struct group_reader reader = {
        .begin = take_nothing, .field = refuse_all, .end = take_nothing};
    char reason[GROUP_REASON_BYTES];
    char wanted[GROUP_REASON_BYTES];

    cr_assert_eq(
        read_text("# a comment\nusers = ({\n  name = \"a\";\n  limits = {\n   x = 0; }; });"),
        STATUS_INVALID);
    cr_assert_eq(group_file_read(path, "users", &reader, reason), STATUS_INVALID);
    (void)snprintf(wanted, sizeof wanted, "%s:3: name=a is not wanted", path);
    cr_assert_str_eq(reason, wanted);
}
