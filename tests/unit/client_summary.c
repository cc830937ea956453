/* What `info` shows of a filter's bound of checks, and of the sites that acknowledge its adds. */
#include "cli/summary.h"
#include "map/acks.h"
#include "map/staleness.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdlib.h>
#include <string.h>

static struct filter_summary filter;

static void setup(void)
{
    filter = (struct filter_summary){.name = "seen",
                                     .state = FILTER_ACTIVE,
                                     .capacity = 1000,
                                     .rate = 0.01,
                                     .rule = {3, 2, 2},
                                     .hash = HASH_SIPHASH24,
                                     .when_unavailable = WHEN_UNAVAILABLE_ERROR,
                                     .when_full = WHEN_FULL_EXPAND,
                                     .keylog = KEYLOG_ON,
                                     .durability = DURABILITY_SYNC,
                                     .nshards = 1,
                                     .shard_bytes = 1024};
}

TestSuite(client_summary, .init = setup);

static void expect_json(const char *member)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct json json;

    cr_assert_not_null(out);
    json_open_line(&json, out);
    json_begin(&json, NULL, '{');
    summary_filter_json(&json, &filter);
    json_end(&json, '}');
    cr_assert_eq(fclose(out), 0);
    cr_assert_not_null(strstr(text, member), "%s", text);
    free(text);
}

Test(client_summary, json_tells_none_from_fresh)
{
    expect_json("\"max_staleness_us\": null, ");
    filter.max_staleness = staleness_of(0);
    expect_json("\"max_staleness_us\": 0, ");
    filter.max_staleness = staleness_of(5000000);
    expect_json("\"max_staleness_us\": 5000000, ");
}

static void expect_text(const char *line)
{
    static char text[4096];
    FILE *out;
    size_t size;

    cr_redirect_stdout();
    summary_filter_text(&filter);
    (void)fflush(stdout);
    out = cr_get_redirected_stdout();
    size = fread(text, 1, sizeof text - 1, out);
    text[size] = '\0';
    if (line != NULL) {
        cr_assert_not_null(strstr(text, line), "%s", text);
    } else {
        cr_assert_null(strstr(text, "bound"), "%s", text);
        cr_assert_null(strstr(text, "acks"), "%s", text);
    }
}

Test(client_summary, what_is_not_of_sites_has_no_lines)
{
    expect_text(NULL);
}

Test(client_summary, a_bound_says_what_absent_means)
{
    filter.max_staleness = staleness_of(5000000);
    expect_text("\nbound         \"absent\" counts all that any site acknowledged more than 5s "
                "before the check\n");
}

Test(client_summary, so_does_a_fresh_one)
{
    filter.max_staleness = staleness_of(0);
    expect_text("\nbound         \"absent\" counts all that any site acknowledged before the check "
                "(max-staleness 0)\n");
}

Test(client_summary, acks_say_how_many_sites_have_it)
{
    filter.acks = 2;
    expect_text(
        "\nacks          2: an add is acknowledged once so many sites that count have it\n");
}

Test(client_summary, so_do_those_of_each)
{
    filter.acks = ACKS_EACH;
    expect_text("\nacks          each: an add is acknowledged once each site that counts has it\n");
}

Test(client_summary, json_has_acks_in_words)
{
    expect_json("\"acks\": \"local\", ");
    filter.acks = 8;
    expect_json("\"acks\": \"8\", ");
    filter.acks = ACKS_EACH;
    expect_json("\"acks\": \"each\", ");
}
