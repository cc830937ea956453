/* Whatever bytes a text has, what is written is JSON; and each style has its blanks. */
#include "base/json.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

static struct buffer text;

static const char *shown(const struct json *json)
{
    cr_assert_eq(json->status, STATUS_OK);
    cr_assert_eq(buffer_append(&text, span_of("", 1)), STATUS_OK);
    return (const char *)text.data;
}

static struct json begin(void)
{
    buffer_fini(&text);
    buffer_init(&text, 1 << 16);
    return json_to(&text);
}

static void end(void)
{
    buffer_fini(&text);
}

static void write_all(struct json *json)
{
    json_begin(json, NULL, '{');
    json_text(json, "a", "x");
    json_count(json, "b", UINT64_MAX);
    json_begin(json, "c", '[');
    json_bool(json, NULL, true);
    json_none(json, NULL);
    json_number(json, NULL, 0.5);
    json_number(json, NULL, INFINITY);
    json_end(json, ']');
    json_begin(json, "d", '{');
    json_end(json, '}');
    json_end(json, '}');
}

Test(base_json, each_style_has_its_blanks, .fini = end)
{
    struct json json = begin();

    write_all(&json);
    cr_assert_str_eq(shown(&json), "{\"a\":\"x\",\"b\":18446744073709551615,"
                                   "\"c\":[true,null,0.5,null],\"d\":{}}\n");
    json = begin();
    json.style = JSON_LINE;
    write_all(&json);
    cr_assert_str_eq(shown(&json), "{\"a\": \"x\", \"b\": 18446744073709551615, "
                                   "\"c\": [true, null, 0.5, null], \"d\": {}}\n");
    json = begin();
    json.style = JSON_TREE;
    write_all(&json);
    cr_assert_str_eq(shown(&json),
                     "{\n  \"a\": \"x\",\n  \"b\": 18446744073709551615,\n  \"c\": [\n    true,\n"
                     "    null,\n    0.5,\n    null\n  ],\n  \"d\": {}\n}\n");
}

Test(base_json, texts_of_any_bytes_are_json, .fini = end)
{
    static const struct {
        const char *text;
        const char *shown;
    } cases[] = {
        {"", ""},
        {"<script>alert('1')</script>", "<script>alert('1')</script>"},
        {"\"\\\n\x01\x7f", "\\\"\\\\\\u000a\\u0001\\u007f"},
        {"Z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x8c\xb8",
         "Z\xc3\xbcrich \xe2\x82\xac \xf0\x9f\x8c\xb8"},
        {"\xff", "\\ufffd"},
        {"\xc3", "\\ufffd"},                                  /* cut off ... */
        {"\xe2\x82", "\\ufffd\\ufffd"},                       /* ... */
        {"\xf0\x9f\x8c", "\\ufffd\\ufffd\\ufffd"},            /* ... */
        {"\xc3\"", "\\ufffd\\\""},                            /* ... and no quote is swallowed */
        {"\xc0\xaf", "\\ufffd\\ufffd"},                       /* longer than there need be */
        {"\xe0\x9f\xbf", "\\ufffd\\ufffd\\ufffd"},            /* ... */
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},            /* a surrogate */
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* beyond Unicode */
        {"a\x80z", "a\\ufffdz"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json json = begin();
        char wanted[256];

        json_begin(&json, NULL, '[');
        json_text(&json, NULL, cases[i].text);
        json_end(&json, ']');
        (void)snprintf(wanted, sizeof wanted, "[\"%s\"]\n", cases[i].shown);
        cr_expect_str_eq(shown(&json), wanted, "case %zu", i);
    }
}

Test(base_json, what_does_not_fit_is_told, .fini = end)
{
    struct json json = begin();

    text.max = 10;
    json_begin(&json, NULL, '[');
    json_text(&json, NULL, "more than ten bytes");
    json_end(&json, ']');
    cr_assert_eq(json.status, STATUS_TOO_LARGE);
    cr_assert_leq(text.size, 10);
}
