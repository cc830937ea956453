/* Requests out of bytes that come in pieces: what is a request, what is none and what is said. */
#include "resp/request.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const struct resp_limits limits = {
    .max_arguments = 16, .max_bulk = 64, .max_request = 512, .max_line = 128};

static struct resp_request request;

static void open_request(void)
{
    resp_request_init(&request);
}

static void close_request(void)
{
    resp_request_fini(&request);
}

static struct span bytes(const char *text)
{
    return span_text(text);
}

static void expect_argument(uint32_t index, struct span wanted)
{
    cr_assert_lt(index, request.count);
    cr_assert(span_equal(request.arguments[index], wanted), "argument %u is \"%.*s\"", index,
              (int)request.arguments[index].size, request.arguments[index].data);
}

static void expect_broken(const char *input, const char *error)
{
    resp_request_init(&request);
    cr_assert_eq(resp_request_read(&request, &limits, bytes(input)), RESP_BROKEN, "%s", input);
    cr_assert_str_eq(request.error, error);
    resp_request_fini(&request);
}

/* ---- arrays ---- */

Test(resp_request, an_array_of_bulk_strings)
{
    const char *input = "*3\r\n$6\r\nBF.ADD\r\n$1\r\nk\r\n$4\r\na\r\nb\r\nPING\r\n";

    open_request();
    cr_assert_eq(resp_request_read(&request, &limits, bytes(input)), RESP_REQUEST);
    cr_assert_eq(request.count, 3);
    expect_argument(0, bytes("BF.ADD"));
    expect_argument(1, bytes("k"));
    expect_argument(2, bytes("a\r\nb"));
    cr_assert_eq(request.size, strlen(input) - strlen("PING\r\n"));
    close_request();
}

Test(resp_request, an_item_may_be_empty_and_hold_any_byte)
{
    const struct span input = span_of("*2\r\n$0\r\n\r\n$3\r\n\0\xff*\r\n", 22);

    open_request();
    cr_assert_eq(resp_request_read(&request, &limits, input), RESP_REQUEST);
    expect_argument(0, span_of("", 0));
    expect_argument(1, span_of("\0\xff*", 3));
    close_request();
}

Test(resp_request, one_after_the_other)
{
    struct span input = bytes(
        "*1\r\n$4\r\nPING\r\n*0\r\nECHO hi\r\n\r\n*-1\r\n*1\r\n$4\r\nQUIT\r\n");
    static const uint32_t counts[] = {1, 0, 2, 0, 0, 1};

    open_request();
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        cr_assert_eq(resp_request_read(&request, &limits, input), RESP_REQUEST);
        cr_assert_eq(request.count, counts[i], "request %zu", i);
        input = span_of(input.data + request.size, input.size - request.size);
    }
    expect_argument(0, bytes("QUIT"));
    cr_assert_eq(input.size, 0);
    cr_assert_eq(resp_request_read(&request, &limits, input), RESP_MORE);
    close_request();
}

/* Each time in memory of its own, so that nothing can be kept of where it was. */
Test(resp_request, byte_by_byte_it_is_the_same)
{
    static const char *const inputs[] = {
        "*3\r\n$6\r\nBF.ADD\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n",
        "BF.ADD k \"a\\r\\nb\"\r\n",
    };

    for (size_t i = 0; i < 2; i++) {
        size_t size = strlen(inputs[i]);

        open_request();
        for (size_t come = 0; come <= size; come++) {
            char *copy = malloc(come + 1);
            enum resp_progress progress;

            cr_assert_not_null(copy);
            memcpy(copy, inputs[i], come);
            progress = resp_request_read(&request, &limits, span_of(copy, come));
            cr_assert_eq(progress, come < size ? RESP_MORE : RESP_REQUEST, "%zu of %zu", come,
                         size);
            if (progress == RESP_REQUEST) {
                cr_assert_eq(request.count, 3);
                expect_argument(0, bytes("BF.ADD"));
                expect_argument(2, bytes("a\r\nb"));
                cr_assert_eq(request.size, size);
            }
            free(copy);
        }
        close_request();
    }
}

Test(resp_request, what_is_announced_is_not_allocated)
{
    static const struct resp_limits large = {.max_arguments = 1u << 20,
                                             .max_bulk = SIZE_MAX / 4,
                                             .max_request = SIZE_MAX / 2,
                                             .max_line = 128};

    open_request();
    cr_assert_eq(resp_request_read(&request, &large, bytes("*1048576\r\n$4\r\nPING\r\n")),
                 RESP_MORE);
    cr_assert_leq(request.capacity, 64);
    close_request();
    open_request();
    cr_assert_eq(resp_request_read(&request, &large, bytes("*1\r\n$400000000000\r\nPING\r\n")),
                 RESP_MORE);
    close_request();
}

Test(resp_request, malformed_arrays)
{
    expect_broken("*x\r\n", "Protocol error: invalid multibulk length");
    expect_broken("*\r\n", "Protocol error: invalid multibulk length");
    expect_broken("*-\r\n", "Protocol error: invalid multibulk length");
    expect_broken("*1 \r\n", "Protocol error: invalid multibulk length");
    expect_broken("*1\rx", "Protocol error: invalid multibulk length");
    expect_broken("*17\r\n", "Protocol error: invalid multibulk length");
    expect_broken("*2147483648\r\n", "Protocol error: invalid multibulk length");
    expect_broken("*9999999999999999999\r\n", "Protocol error: invalid multibulk length");
    expect_broken("*00000000000000000000000000000001",
                  "Protocol error: too big mbulk count string");
    expect_broken("*1\r\n:1\r\n", "Protocol error: expected '$', got ':'");
    expect_broken("*1\r\n\n", "Protocol error: expected '$', got \\x0a");
    expect_broken("*1\r\n$-1\r\n", "Protocol error: invalid bulk length");
    expect_broken("*1\r\n$65\r\n", "Protocol error: invalid bulk length");
    expect_broken("*1\r\n$1x\r\n", "Protocol error: invalid bulk length");
    expect_broken("*1\r\n$00000000000000000000000000000001",
                  "Protocol error: too big bulk count string");
    expect_broken("*1\r\n$3\r\nPING\r\n", "Protocol error: no line end after a bulk of 3 bytes");
}

Test(resp_request, a_request_has_a_size_at_most)
{
    char input[1024] = "*9\r\n";

    for (unsigned i = 0; i < 9; i++) {
        (void)snprintf(input + strlen(input), sizeof input - strlen(input), "$64\r\n%064u\r\n", i);
    }
    expect_broken(input, "Protocol error: request of more than 512 bytes");
}

Test(resp_request, a_stranger_has_little)
{
    const struct resp_limits stranger = {
        .max_arguments = 2, .max_bulk = 4, .max_request = 512, .max_line = 16, .stranger = true};

    open_request();
    cr_assert_eq(resp_request_read(&request, &stranger, bytes("*3\r\n")), RESP_BROKEN);
    cr_assert_str_eq(request.error, "Protocol error: unauthenticated multibulk length");
    close_request();
    open_request();
    cr_assert_eq(resp_request_read(&request, &stranger, bytes("*1\r\n$5\r\n")), RESP_BROKEN);
    cr_assert_str_eq(request.error, "Protocol error: unauthenticated bulk length");
    close_request();
}

/* ---- lines ---- */

static void expect_words(const char *line, uint32_t count, const struct span *words)
{
    char input[256];

    (void)snprintf(input, sizeof input, "%s\n", line);
    open_request();
    cr_assert_eq(resp_request_read(&request, &limits, bytes(input)), RESP_REQUEST, "%s", line);
    cr_assert_eq(request.count, count, "%s: %u", line, request.count);
    for (uint32_t i = 0; i < count; i++) {
        expect_argument(i, words[i]);
    }
    cr_assert_eq(request.size, strlen(input));
    close_request();
}

Test(resp_request, lines_are_split_into_words)
{
    expect_words("  set \t k  v\r", 3, (struct span[]){bytes("set"), bytes("k"), bytes("v")});
    expect_words("\r", 0, NULL);
    expect_words("", 0, NULL);
    expect_words("a \"\" ''", 3, (struct span[]){bytes("a"), bytes(""), bytes("")});
    expect_words("\"b c\"", 1, (struct span[]){bytes("b c")});
    expect_words("'b \\' c\\n'", 1, (struct span[]){bytes("b ' c\\n")});
    expect_words("\"\\n\\r\\t\\b\\a\\\"\\\\\\x41\\xg\"", 1,
                 (struct span[]){bytes("\n\r\t\b\a\"\\Axg")});
    expect_words("\"\\x00\\xfF\"", 1, (struct span[]){span_of("\0\xff", 2)});
}

/* Found by libFuzzer: no word had bytes, so there was no memory to point into. */
Test(resp_request, a_line_of_empty_words_has_arguments)
{
    open_request();
    cr_assert_eq(resp_request_read(&request, &limits, bytes("\"\" ''\r\n")), RESP_REQUEST);
    cr_assert_eq(request.count, 2);
    cr_assert_not_null(request.arguments[0].data);
    cr_assert_not_null(request.arguments[1].data);
    expect_argument(0, bytes(""));
    expect_argument(1, bytes(""));
    close_request();
}

Test(resp_request, quotes_must_be_closed)
{
    static const char *const lines[] = {"\"a\n",  "'a\n",      "\"a\"b\n",
                                        "'a'b\n", "a\"b\"c\n", "\"\\\n"};

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        expect_broken(lines[i], "Protocol error: unbalanced quotes in request");
    }
}

Test(resp_request, a_line_has_a_length_and_words_a_number)
{
    char input[256];

    memset(input, 'a', sizeof input);
    input[130] = '\0';
    expect_broken(input, "Protocol error: too big inline request");
    input[129] = '\n';
    expect_broken(input, "Protocol error: too big inline request");
    expect_broken("1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7\n", "Protocol error: too big inline request");
}
