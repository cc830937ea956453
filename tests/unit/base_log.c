/* The log: levels, one whole line an event, and a limit on what strangers can provoke. */
#include "base/log.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

/* All that was written to stderr since cr_redirect_stderr(), once. */
static const char *logged(void)
{
    static char text[16384];
    FILE *file = cr_get_redirected_stderr();
    size_t size;

    (void)fflush(stderr);
    size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    return text;
}

static unsigned lines_of(const char *text)
{
    unsigned lines = 0;

    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

static void say(struct log_limit *site, uint64_t now_us)
{
    log_limited(site, now_us, LOG_WARN, "garbage from %s", "10.0.0.1");
}

Test(log, levels_are_parsed_by_name_only)
{
    enum log_level level = LOG_INFO;

    cr_assert(log_level_parse("error", &level) && level == LOG_ERROR);
    cr_assert(log_level_parse("warn", &level) && level == LOG_WARN);
    cr_assert(log_level_parse("info", &level) && level == LOG_INFO);
    cr_assert(log_level_parse("debug", &level) && level == LOG_DEBUG);
    cr_assert_not(log_level_parse("", &level));
    cr_assert_not(log_level_parse("WARN", &level));
    cr_assert_not(log_level_parse("warning", &level));
    cr_assert_eq(level, LOG_DEBUG, "a refused name leaves the level");
}

/* "2026-01-31T12:00:00.123Z warn router: text" */
Test(log, a_line_has_time_level_program_and_text, .init = cr_redirect_stderr)
{
    int year = 0;
    int millisecond = -1;
    char rest[64] = "";

    log_setup("router", LOG_INFO);
    log_line(LOG_INFO, "%d nodes", 3);
    cr_assert_eq(
        sscanf(logged(), "%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%3dZ %63[^\n]", &year, &millisecond, rest),
        3);
    cr_assert(year >= 2024 && millisecond >= 0 && millisecond < 1000);
    cr_assert_str_eq(rest, "info router: 3 nodes");
}

Test(log, what_is_below_the_level_is_not_written, .init = cr_redirect_stderr)
{
    struct log_limit site = {0};
    const char *text;

    log_setup("node", LOG_WARN);
    log_line(LOG_ERROR, "one");
    log_line(LOG_WARN, "two");
    log_line(LOG_INFO, "three");
    log_line(LOG_DEBUG, "four");
    log_limited(&site, 0, LOG_INFO, "five");
    text = logged();
    cr_assert_eq(lines_of(text), 2, "%s", text);
    cr_assert_not_null(strstr(text, "error node: one\n"));
    cr_assert_not_null(strstr(text, "warn node: two\n"));
    cr_assert_eq(site.next_us, 0, "what is not written does not use up the limit");
}

Test(log, a_site_speaks_once_a_second_and_tells_what_it_swallowed, .init = cr_redirect_stderr)
{
    struct log_limit site = {0};
    const char *text;

    log_setup("node", LOG_WARN);
    say(&site, 5000000);
    for (uint64_t i = 1; i < 1000; i++) {
        say(&site, 5000000 + i * 1000);
    }
    cr_assert_eq(site.skipped, 999);
    say(&site, 6000000);
    say(&site, 7000000);
    text = logged();
    cr_assert_eq(lines_of(text), 3, "%s", text);
    cr_assert_not_null(strstr(text, "garbage from 10.0.0.1 (999 alike not shown)\n"));
    cr_assert_null(strstr(text, "(0 alike"));
    cr_assert_eq(site.skipped, 0);
}

/* One noisy site does not silence another. */
Test(log, sites_are_limited_each_on_its_own, .init = cr_redirect_stderr)
{
    struct log_limit one = {0};
    struct log_limit two = {0};

    log_setup("node", LOG_WARN);
    say(&one, 1);
    say(&one, 2);
    say(&two, 3);
    cr_assert_eq(lines_of(logged()), 2);
    cr_assert_eq(one.skipped, 1);
    cr_assert_eq(two.skipped, 0);
}

Test(log, a_long_text_is_cut_and_stays_one_line, .init = cr_redirect_stderr)
{
    char text[8192];
    const char *line;

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_setup("node", LOG_WARN);
    log_line(LOG_WARN, "%s", text);
    line = logged();
    cr_assert_eq(lines_of(line), 1);
    cr_assert_leq(strlen(line), 1200);
}

Test(log, what_usually_passes_is_an_error_once_it_lasts)
{
    uint64_t since_us = 0;

    cr_assert_eq(log_level_lasting(&since_us, 5000, 100), LOG_INFO);
    cr_assert_eq(log_level_lasting(&since_us, 5099, 100), LOG_INFO);
    cr_assert_eq(log_level_lasting(&since_us, 5100, 100), LOG_ERROR);
    cr_assert_eq(log_level_lasting(&since_us, 9000, 100), LOG_ERROR);
    since_us = 0; /* It was over meanwhile. */
    cr_assert_eq(log_level_lasting(&since_us, 9001, 100), LOG_INFO);
    since_us = 0;
    cr_assert_eq(log_level_lasting(&since_us, 0, 100), LOG_INFO);
    cr_assert_eq(log_level_lasting(&since_us, 101, 100), LOG_ERROR, "a clock that begins at 0");
}

/* Dates as others count them: leap days, ends of years and of centuries. */
Test(log, dates_are_those_of_the_calendar)
{
    static const struct {
        uint64_t date_ms;
        const char *text;
    } dates[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {951782400123, "2000-02-29T00:00:00.123Z"},
        {1709251199999, "2024-02-29T23:59:59.999Z"},
        {1709251200000, "2024-03-01T00:00:00.000Z"},
        {1767225599999, "2025-12-31T23:59:59.999Z"},
        {4107542400000, "2100-03-01T00:00:00.000Z"},
    };
    char text[LOG_DATE_BYTES];

    for (size_t i = 0; i < sizeof dates / sizeof dates[0]; i++) {
        cr_assert_str_eq(log_date(dates[i].date_ms, text), dates[i].text);
    }
    cr_assert_str_eq(log_date(UINT64_MAX, text), "584556019-04-03T14:25:51.615Z");
}

/* Whatever a name has in it, a line stays one object, and one line. */
Test(log, a_line_of_json_is_one_object, .init = cr_redirect_stderr)
{
    static const char rest[] = "Z\",\"level\":\"error\",\"program\":\"node\",\"message\":"
                               "\"\\\"\\\\\\u000a\\ufffd, 3\"}\n";
    const char *line;

    log_setup("node", LOG_INFO);
    log_set_format(LOG_JSON);
    log_line(LOG_ERROR, "\"\\\n\xff, %d", 3);
    log_set_format(LOG_TEXT);
    line = logged();
    cr_assert_eq(strncmp(line, "{\"time\":\"", 9), 0, "%s", line);
    cr_assert_not_null(strstr(line, "Z\""), "%s", line);
    cr_assert_str_eq(strstr(line, "Z\""), rest);
}

Test(log, json_tells_what_was_not_shown, .init = cr_redirect_stderr)
{
    struct log_limit site = {0};

    log_setup("node", LOG_INFO);
    log_set_format(LOG_JSON);
    for (uint64_t now_us = 1; now_us < 5; now_us++) {
        say(&site, now_us);
    }
    say(&site, 3000000);
    log_set_format(LOG_TEXT);
    cr_assert_not_null(strstr(logged(), "garbage from 10.0.0.1\",\"skipped\":3}\n"));
}

/* The longest line there can be, of bytes that take most when shown. */
Test(log, the_longest_line_is_whole_in_json, .init = cr_redirect_stderr)
{
    char text[2000];
    const char *line;

    memset(text, 0xff, sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_setup("node", LOG_INFO);
    log_set_format(LOG_JSON);
    log_line(LOG_ERROR, "%s", text);
    log_set_format(LOG_TEXT);
    line = logged();
    cr_assert_eq(lines_of(line), 1);
    cr_assert_not_null(strstr(line, "\\ufffd\"}\n"));
}
