/* Cursors of other sites' logs give back what was put into them, and are refused where they can't
 * be. */
#include "log/record.h"
#include "tests/support/log_samples.h"

#include <criterion/criterion.h>
#include <string.h>

static _Alignas(8) uint8_t record[SAMPLE_RECORD_MAX];

static struct span make(void)
{
    return span_of(record, sample_record(record, RECORD_SITE_CURSOR, 4096, 0xb0, 2048));
}

Test(record_site, a_site_cursor_comes_back)
{
    struct record_site_cursor cursor;

    memset(&cursor, 0, sizeof cursor);
    cr_assert_eq(record_site_cursor_get(make(), &cursor), STATUS_OK);
    cr_assert_eq(cursor.filter_id, 91);
    cr_assert_eq(cursor.group, 92);
    cr_assert_eq(cursor.keyset, 93);
    cr_assert_eq(cursor.site[0], 94);
    cr_assert_eq(cursor.site[1], sample_site_cursor.site[1]);
    cr_assert_eq(cursor.site_life.number, 96);
    cr_assert_eq(cursor.site_life.tag, 97);
    cr_assert_eq(cursor.own_life.number, 98);
    cr_assert_eq(cursor.own_life.tag, 99);
    cr_assert_eq(cursor.loss, 100);
    cr_assert_eq(cursor.site_group, 101);
    cr_assert_eq(cursor.nsources, 2);
    cr_assert_eq(cursor.sources[0].incarnation, 102);
    cr_assert_eq(cursor.sources[0].boot, 103);
    cr_assert_eq(cursor.sources[0].offset, 104);
    cr_assert_eq(cursor.sources[0].epoch, 105);
    cr_assert_eq(cursor.sources[0].node, 106);
    cr_assert_eq(cursor.sources[1].node, 110);
}

/* What the sample becomes with other bytes at that place of the body. */
static enum status get_bent_cursor(size_t at, const void *bytes, size_t size)
{
    struct span bent = make();
    struct record_site_cursor cursor = {.nsources = 99};
    enum status status;

    memcpy(record + RECORD_HEADER_BYTES + at, bytes, size);
    status = record_site_cursor_get(bent, &cursor);
    cr_assert(status == STATUS_OK || cursor.nsources == 99, "an output was touched");
    return status;
}

Test(record_site, a_site_cursor_that_can_not_be_is_refused)
{
    enum { AT_NSOURCES = 76, SECOND = 80 + 40, AT_OFFSET = 16, AT_NODE = 32, AT_ZERO = 36 };
    static const uint64_t zero;
    static const uint64_t odd = 113;
    static const uint64_t far = UINT64_C(1) << 63;
    static const uint32_t counts[] = {0, 1, 3, RECORD_MAX_SOURCES + 1, UINT32_MAX};
    static const uint32_t same = 106;
    static const uint32_t other = 107;

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        cr_assert_eq(get_bent_cursor(AT_NSOURCES, &counts[i], 4), STATUS_MALFORMED);
    }
    cr_assert_eq(get_bent_cursor(SECOND + AT_NODE, &other, 4), STATUS_OK);
    cr_assert_eq(get_bent_cursor(SECOND + AT_NODE, &same, 4), STATUS_MALFORMED, "a node twice");
    cr_assert_eq(get_bent_cursor(80 + AT_NODE, &zero, 4), STATUS_MALFORMED, "no node");
    cr_assert_eq(get_bent_cursor(SECOND, &zero, 8), STATUS_MALFORMED, "no incarnation");
    cr_assert_eq(get_bent_cursor(SECOND + 8, &zero, 8), STATUS_MALFORMED, "no boot");
    cr_assert_eq(get_bent_cursor(SECOND + AT_OFFSET, &odd, 8), STATUS_MALFORMED, "in a record");
    cr_assert_eq(get_bent_cursor(SECOND + AT_OFFSET, &far, 8), STATUS_MALFORMED, "no log's");
    cr_assert_eq(get_bent_cursor(SECOND + AT_OFFSET, &zero, 8), STATUS_OK);
    cr_assert_eq(get_bent_cursor(SECOND + AT_ZERO, &other, 4), STATUS_VERSION, "not known yet");
}

Test(record_site, a_site_cursor_names_as_many_sources_as_a_group_may_have)
{
    struct record_site_cursor cursor = sample_site_cursor;
    struct record_site_cursor read;
    uint32_t size;

    for (uint32_t i = 0; i < RECORD_MAX_SOURCES; i++) {
        cursor.sources[i] = (struct record_site_source){
            .node = i + 1, .incarnation = 1, .boot = 2, .offset = UINT64_C(8) * i};
    }
    cursor.nsources = RECORD_MAX_SOURCES;
    size = sample_begin(record, RECORD_SITE_CURSOR, 0, record_site_cursor_size(&cursor));
    record_site_cursor_put(record, &cursor);
    cr_assert_eq(record_site_cursor_get(span_of(record, size), &read), STATUS_OK);
    cr_assert_eq(read.nsources, RECORD_MAX_SOURCES);
    cr_assert_eq(read.sources[RECORD_MAX_SOURCES - 1].offset, 8 * (RECORD_MAX_SOURCES - 1));
}
