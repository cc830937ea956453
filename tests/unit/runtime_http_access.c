/* Who is told what, by the head of a request alone. */
#include "runtime/http/access.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct http_page pages[] = {{.path = "/metrics"}, {.path = "/healthz"}};

static struct password token_of(const char *text)
{
    struct password token;

    cr_assert_eq(password_read(&token, span_text(text)), STATUS_OK);
    return token;
}

static enum http_verdict judge(const char *method, const char *path, const char *authorization,
                               const struct password *token, size_t *page)
{
    const struct http_request request = {method, path, authorization};

    return http_judge(&request, token, pages, 2, page);
}

Test(runtime_http_access, a_bearer_has_the_token)
{
    const struct password token = token_of("s3cret");

    cr_expect(http_knows_token(&token, "Bearer s3cret"));
    cr_expect(http_knows_token(&token, "bearer   s3cret"));
    cr_expect_not(http_knows_token(&token, NULL));
    cr_expect_not(http_knows_token(&token, ""));
    cr_expect_not(http_knows_token(&token, "Bearer"));
    cr_expect_not(http_knows_token(&token, "Bearer "));
    cr_expect_not(http_knows_token(&token, "Bearer s3cre"));
    cr_expect_not(http_knows_token(&token, "Bearer s3crets"));
    cr_expect_not(http_knows_token(&token, "Bearers3cret"));
    cr_expect_not(http_knows_token(&token, "Digest s3cret"));
    cr_expect_not(http_knows_token(&token, "s3cret"));
    cr_expect_not(http_knows_token(&token, "Bearer s3cret x"));
}

Test(runtime_http_access, a_token_may_have_blanks)
{
    const struct password token = token_of("two words");

    cr_expect(http_knows_token(&token, "Bearer two words"));
    cr_expect(http_knows_token(&token, "Basic OnR3byB3b3Jkcw=="));
    cr_expect_not(http_knows_token(&token, "Bearer two"));
}

/* "admin:s3cret", ":s3cret", "s3cret", "s3cret:", "a:b:s3cret" */
Test(runtime_http_access, or_gives_it_as_the_password_with_any_name)
{
    const struct password token = token_of("s3cret");
    const struct password colon = token_of("b:s3cret");

    cr_expect(http_knows_token(&token, "Basic YWRtaW46czNjcmV0"));
    cr_expect(http_knows_token(&token, "basic OnMzY3JldA=="));
    cr_expect(http_knows_token(&colon, "Basic YTpiOnMzY3JldA=="), "a password may hold colons");
    cr_expect_not(http_knows_token(&token, "Basic YTpiOnMzY3JldA=="));
    cr_expect_not(http_knows_token(&token, "Basic czNjcmV0"), "no colon");
    cr_expect_not(http_knows_token(&token, "Basic czNjcmV0Og=="), "the name is no password");
    cr_expect_not(http_knows_token(&token, "Basic YWRtaW46czNjcmV"), "no whole base64");
    cr_expect_not(http_knows_token(&token, "Basic ****"));
    cr_expect_not(http_knows_token(&token, "Basic "));
}

Test(runtime_http_access, longer_credentials_than_there_is_room_for_are_wrong)
{
    const struct password token = token_of("s3cret");
    char header[8192] = "Basic ";

    memset(header + 6, 'A', sizeof header - 7);
    header[sizeof header - 1] = '\0';
    cr_expect_not(http_knows_token(&token, header));
}

Test(runtime_http_access, pages_are_read_by_get_and_head)
{
    size_t page = 9;

    cr_expect_eq(judge("GET", "/healthz", NULL, NULL, &page), HTTP_SERVE);
    cr_expect_eq(page, 1);
    cr_expect_eq(judge("HEAD", "/metrics", NULL, NULL, &page), HTTP_SERVE);
    cr_expect_eq(page, 0);
    cr_expect_eq(judge("POST", "/metrics", NULL, NULL, &page), HTTP_NO_METHOD);
    cr_expect_eq(judge("get", "/metrics", NULL, NULL, &page), HTTP_NO_METHOD);
    cr_expect_eq(judge("GET", "/metrics/", NULL, NULL, &page), HTTP_NO_PAGE);
    cr_expect_eq(judge("GET", "/metric", NULL, NULL, &page), HTTP_NO_PAGE);
    cr_expect_eq(judge("GET", "", NULL, NULL, &page), HTTP_NO_PAGE);
}

/* Not even which pages there are. */
Test(runtime_http_access, who_lacks_the_token_is_told_nothing_else)
{
    const struct password token = token_of("s3cret");
    size_t page = 9;

    cr_expect_eq(judge("GET", "/metrics", NULL, &token, &page), HTTP_DENY);
    cr_expect_eq(judge("GET", "/nothing", "Bearer wrong", &token, &page), HTTP_DENY);
    cr_expect_eq(judge("POST", "/metrics", NULL, &token, &page), HTTP_DENY);
    cr_expect_eq(page, 9, "untouched");
    cr_expect_eq(judge("GET", "/metrics", "Bearer s3cret", &token, &page), HTTP_SERVE);
    cr_expect_eq(judge("GET", "/nothing", "Bearer s3cret", &token, &page), HTTP_NO_PAGE);
}
