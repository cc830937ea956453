/* The record of dropped filters: does it come through, and is what is none refused? */
#include "base/heap.h"
#include "proto/codec_field.h"
#include "proto/codec_signed.h"
#include "proto/signed_document.h"
#include "proto_document_samples.h"

#include <criterion/criterion.h>
#include <string.h>

static struct cluster_key key;
static struct buffer bytes;

static void setup(void)
{
    key = sample_key(1);
    buffer_init(&bytes, CODEC_MAX_FRAME_BYTES);
}

static void teardown(void)
{
    buffer_fini(&bytes);
    if (heap_live() != 0) {
        abort();
    }
}

TestSuite(codec_dropped, .init = setup, .fini = teardown);

static struct dropped_record record_of(const struct id_interval *intervals, size_t count)
{
    struct dropped_record record = {.revision = 7};

    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(id_set_add_interval(&record.ids, intervals[i]), STATUS_OK);
    }
    return record;
}

static void comes_through(const struct id_interval *intervals, size_t count)
{
    struct dropped_record record = record_of(intervals, count);
    struct dropped_record back;

    buffer_clear(&bytes);
    cr_assert_eq(codec_dropped_sign(&record, &key, &bytes), STATUS_OK);
    cr_assert_eq(codec_dropped_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert_eq(back.revision, 7);
    cr_assert_eq(back.ids.count, record.ids.count);
    cr_assert(id_set_covers(&back.ids, &record.ids));
    cr_assert(id_set_covers(&record.ids, &back.ids));
    dropped_record_fini(&back);
    dropped_record_fini(&record);
}

Test(codec_dropped, comes_through_as_it_was_signed)
{
    const struct id_interval some[] = {{1, 1}, {3, 400}, {402, 402}, {1ull << 40, 1ull << 50}};
    const struct id_interval last = {1, UINT64_MAX - 2};

    comes_through(NULL, 0);
    comes_through(some, 4);
    comes_through(&last, 1);
}

/* As many intervals as may be, each the largest step that fits the numbers, fit a frame. */
Test(codec_dropped, the_fullest_record_comes_through)
{
    struct dropped_record record = {.revision = 1};
    struct dropped_record back;

    record.ids.intervals = heap_alloc(ID_SET_MAX_INTERVALS, sizeof *record.ids.intervals);
    cr_assert_not_null(record.ids.intervals);
    record.ids.count = record.ids.capacity = ID_SET_MAX_INTERVALS;
    for (uint64_t i = 0; i < ID_SET_MAX_INTERVALS; i++) {
        record.ids.intervals[i] = (struct id_interval){.first = (i << 20) + 1,
                                                       .last = (i << 20) + 5};
    }
    cr_assert_eq(codec_dropped_sign(&record, &key, &bytes), STATUS_OK);
    cr_assert_eq(codec_dropped_open(buffer_span(&bytes), &key, &back), STATUS_OK);
    cr_assert_eq(back.ids.count, ID_SET_MAX_INTERVALS);
    dropped_record_fini(&back);
    dropped_record_fini(&record);
}

/* What somebody who has the key signs. */
static enum status open_steps(uint64_t revision, uint64_t *steps, size_t count)
{
    Orbloom__V1__DroppedFilters wire = ORBLOOM__V1__DROPPED_FILTERS__INIT;
    struct dropped_record back;
    enum status status;

    wire.revision = revision;
    wire.needs = feature_bit(FEATURE_BASE);
    wire.steps = steps;
    wire.n_steps = count;
    buffer_clear(&bytes);
    cr_assert_eq(codec_signed_append(&wire.base, DOCUMENT_DROPPED, &key, &bytes), STATUS_OK);
    status = codec_dropped_open(buffer_span(&bytes), &key, &back);
    cr_assert(status == STATUS_OK || back.ids.intervals == NULL, "zeroed on error");
    dropped_record_fini(&back);
    return status;
}

Test(codec_dropped, what_is_no_set_is_refused)
{
    uint64_t good[] = {5, 0, 2, 3};
    uint64_t zero[] = {0, 3};
    uint64_t touching[] = {5, 0, 1, 3};
    uint64_t overlapping[] = {5, 7, 0, 1};
    uint64_t beyond[] = {5, UINT64_MAX - 4};
    uint64_t far[] = {5, 0, UINT64_MAX - 4, 0};

    cr_assert_eq(open_steps(1, good, 4), STATUS_OK);
    cr_assert_eq(open_steps(0, good, 4), STATUS_MALFORMED, "no revision");
    cr_assert_eq(open_steps(UINT64_MAX, good, 4), STATUS_MALFORMED, "the last one");
    cr_assert_eq(open_steps(1, good, 3), STATUS_MALFORMED, "half an interval");
    cr_assert_eq(open_steps(1, zero, 2), STATUS_MALFORMED, "0 is no filter");
    cr_assert_eq(open_steps(1, touching, 4), STATUS_MALFORMED, "one interval, told as two");
    cr_assert_eq(open_steps(1, overlapping, 4), STATUS_MALFORMED);
    cr_assert_eq(open_steps(1, beyond, 2), STATUS_MALFORMED, "runs over");
    cr_assert_eq(open_steps(1, far, 4), STATUS_MALFORMED, "begins beyond");
}

Test(codec_dropped, too_many_intervals_are_refused)
{
    static uint64_t steps[2 * (ID_SET_MAX_INTERVALS + 1)];

    for (size_t i = 0; i <= ID_SET_MAX_INTERVALS; i++) {
        steps[2 * i] = 2;
    }
    cr_assert_eq(open_steps(1, steps, 2 * ID_SET_MAX_INTERVALS), STATUS_OK);
    cr_assert_neq(open_steps(1, steps, 2 * (ID_SET_MAX_INTERVALS + 1)), STATUS_OK);
}

Test(codec_dropped, is_taken_only_as_it_was_signed)
{
    const struct id_interval some[] = {{1, 1}, {3, 400}};
    struct dropped_record record = record_of(some, 2);
    struct cluster_key other = sample_key(2);
    struct dropped_record back;

    cr_assert_eq(codec_dropped_sign(&record, &key, &bytes), STATUS_OK);
    cr_assert_eq(codec_dropped_open(buffer_span(&bytes), &other, &back), STATUS_UNAUTHENTIC);
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] ^= 1;
        cr_assert_neq(codec_dropped_open(buffer_span(&bytes), &key, &back), STATUS_OK, "%zu", i);
        bytes.data[i] ^= 1;
        cr_assert_neq(codec_dropped_open(span_of(bytes.data, i), &key, &back), STATUS_OK);
    }
    dropped_record_fini(&record);
}
