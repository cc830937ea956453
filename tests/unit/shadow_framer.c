/* Values end where they end, however they are cut; what is no protocol is told as that. */
#include "cli/shadow/framer.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const replies[] = {
    "+OK\r\n",
    "-ERR no\r\n",
    ":-12\r\n",
    "$5\r\na\r\nbc\r\n",
    "$0\r\n\r\n",
    "$-1\r\n",
    "*0\r\n",
    "*-1\r\n",
    "*2\r\n:1\r\n*2\r\n$1\r\n*\r\n*0\r\n",
    "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n_\r\n",
    "~1\r\n#t\r\n",
    ">2\r\n+message\r\n$3\r\nabc\r\n",
    "=8\r\ntxt:abcd\r\n",
    ",3.14\r\n",
    "(3492890328409238509324850943850943825024385\r\n",
    "!5\r\nERR x\r\n",
    "|1\r\n+ttl\r\n:3\r\n*1\r\n|1\r\n+a\r\n+b\r\n:7\r\n",
    "+a simple string that is longer than any head that is kept by a framer\r\n",
};

enum { NREPLIES = sizeof replies / sizeof replies[0] };

static void expect_value(const char *value, bool requests, size_t cut)
{
    struct framer framer;
    enum framer_verdict verdict = FRAMER_MORE;
    size_t size = strlen(value);
    size_t taken = 0;
    char text[128];

    (void)snprintf(text, sizeof text, "%s+x\r", value); /* And the next one begins. */

    framer_init(&framer, requests);
    if (cut > 0) {
        taken = framer_take(&framer, span_of(text, cut), &verdict);
        cr_assert_eq(taken, cut, "%s at %zu", text, cut);
        cr_assert_eq(verdict, FRAMER_MORE, "%s at %zu", text, cut);
    }
    taken += framer_take(&framer, span_of(text + taken, size + 3 - taken), &verdict);
    cr_assert_eq(verdict, FRAMER_VALUE, "%s at %zu", text, cut);
    cr_assert_eq(taken, size, "%s at %zu", text, cut);
}

static void expect_broken(const char *text, bool requests)
{
    struct framer framer;
    enum framer_verdict verdict;

    framer_init(&framer, requests);
    (void)framer_take(&framer, span_text(text), &verdict);
    cr_assert_eq(verdict, FRAMER_BROKEN, "%s", text);
}

Test(shadow_framer, replies_end_where_they_end_however_they_are_cut)
{
    for (size_t i = 0; i < NREPLIES; i++) {
        for (size_t cut = 0; cut < strlen(replies[i]); cut++) {
            expect_value(replies[i], false, cut);
        }
    }
}

Test(shadow_framer, requests_are_arrays_of_bulks_or_lines)
{
    static const char *const requests[] = {
        "*1\r\n$4\r\nPING\r\n", "PING\r\n", "\r\n", "\n", "*0\r\n", "*-1\r\n", "$4\r\n",
    };

    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        for (size_t cut = 0; cut < strlen(requests[i]); cut++) {
            expect_value(requests[i], true, cut);
        }
    }
}

Test(shadow_framer, what_is_no_protocol_is_broken)
{
    static const char *const texts[] = {
        "hello\r\n", "*x\r\n", "$\r\n", "$1x\r\n", ":1\n", "\r\n", "*1234567890123456\r\n",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect_broken(texts[i], false);
    }
    expect_broken("*1\r\n:3\r\n", true);
    expect_broken("*1\r\n$-1\r\n", true);
    expect_broken("*1\n", true);
}

Test(shadow_framer, nesting_has_a_bound)
{
    char text[4 * (FRAMER_DEPTH + 1) + 1] = "";

    for (size_t i = 0; i <= FRAMER_DEPTH; i++) {
        strcat(text, "*1\r\n");
    }
    expect_broken(text, false);
}

Test(shadow_framer, elements_of_a_reply_are_split)
{
    struct span rest = framer_elements(span_text("*3\r\n:1\r\n*1\r\n+a\r\n$1\r\nb\r\n"));
    struct span value;

    cr_assert(framer_split(&rest, &value) && span_equal(value, span_text(":1\r\n")));
    cr_assert(framer_split(&rest, &value) && span_equal(value, span_text("*1\r\n+a\r\n")));
    cr_assert(framer_split(&rest, &value) && span_equal(value, span_text("$1\r\nb\r\n")));
    cr_assert_not(framer_split(&rest, &value));
}
