/* Answers in both versions of the protocol. */
#include "resp/reply.h"

#include <criterion/criterion.h>

static struct buffer out;
static struct resp_writer writer;

static void open_writer(bool resp3, size_t most)
{
    buffer_init(&out, most);
    writer = (struct resp_writer){.out = &out, .resp3 = resp3};
}

static void expect(const char *wanted)
{
    cr_assert(!writer.failed);
    cr_assert(span_equal(buffer_span(&out), span_text(wanted)), "%.*s", (int)out.size, out.data);
    buffer_clear(&out);
}

static void write_all(void)
{
    resp_simple(&writer, "OK");
    resp_error(&writer, "ERR two\r\nlines");
    resp_integer(&writer, 0);
    resp_integer(&writer, 1);
    resp_integer(&writer, INT64_MIN);
    resp_boolean(&writer, true);
    resp_boolean(&writer, false);
    resp_double(&writer, 0.5);
    resp_bulk(&writer, span_of("a\0b", 3));
    resp_text(&writer, "");
    resp_null(&writer);
    resp_array(&writer, 2);
    resp_map(&writer, 3);
    resp_set(&writer, 4);
    resp_push(&writer, 5);
}

static void expect_all(const char *types, const char *end)
{
    static const char common[] = "+OK\r\n-ERR two  lines\r\n:0\r\n:1\r\n:-9223372036854775808\r\n";
    static const char bulks[] = "$3\r\na\0b\r\n$0\r\n\r\n";
    struct span written = buffer_span(&out);
    struct span parts[] = {span_text(common), span_text(types), span_of(bulks, sizeof bulks - 1),
                           span_text(end)};

    for (size_t i = 0; i < 4; i++) {
        cr_assert_geq(written.size, parts[i].size);
        cr_assert(span_equal(span_of(written.data, parts[i].size), parts[i]), "part %zu: %.*s", i,
                  (int)written.size, written.data);
        written = span_of(written.data + parts[i].size, written.size - parts[i].size);
    }
    cr_assert_eq(written.size, 0);
}

Test(resp_reply, in_version_2)
{
    open_writer(false, 4096);
    write_all();
    expect_all(":1\r\n:0\r\n$3\r\n0.5\r\n", "$-1\r\n*2\r\n*6\r\n*4\r\n*5\r\n");
    buffer_fini(&out);
}

Test(resp_reply, in_version_3)
{
    open_writer(true, 4096);
    write_all();
    expect_all("#t\r\n#f\r\n,0.5\r\n", "_\r\n*2\r\n%3\r\n~4\r\n>5\r\n");
    buffer_fini(&out);
}

Test(resp_reply, many_booleans_read_as_each_by_itself)
{
    const uint64_t bits[] = {UINT64_C(1) << 63 | 5, 2};

    for (int resp3 = 0; resp3 < 2; resp3++) {
        struct buffer each;

        open_writer(resp3, 4096);
        for (size_t i = 1; i < 67; i++) {
            resp_boolean(&writer, (bits[i / 64] >> i % 64 & 1) != 0);
        }
        resp_boolean(&writer, false);
        each = out;
        open_writer(resp3, 4096);
        resp_booleans(&writer, bits, 1, 66);
        resp_booleans(&writer, NULL, 5, 1);
        cr_assert(span_equal(buffer_span(&out), buffer_span(&each)));
        buffer_fini(&each);
        buffer_fini(&out);
    }
    open_writer(false, 15);
    resp_booleans(&writer, bits, 0, 4);
    cr_assert(writer.failed);
    cr_assert_eq(out.size, 0, "all of them or none");
    buffer_fini(&out);
}

Test(resp_reply, what_does_not_fit_is_said)
{
    open_writer(false, 8);
    resp_simple(&writer, "OK");
    expect("+OK\r\n");
    resp_error(&writer, "ERR too long");
    cr_assert(writer.failed);
    resp_integer(&writer, 1);
    cr_assert_eq(out.size, 0, "nothing follows what is missing");
    buffer_fini(&out);
}
