/* Segments that hold nothing but what later checkpoints repeat: their loss is none, as long as one
 * does repeat it, and no add is lost with them. */
#include "base/heap.h"
#include "log/log_reader.h"
#include "tests/support/log_stage.h"
#include "tests/unit/storage_log_by_hand.h"

#include <criterion/criterion.h>

TestSuite(log_bare, .init = setup, .fini = teardown);

static size_t nseen;
static uint64_t seen_end; /* of the last record */

static enum status note(void *context, const struct record_header *header, struct span record)
{
    (void)context;
    nseen++;
    seen_end = header->offset + record.size;
    return STATUS_OK;
}

static void put_typed(enum record_type type, uint16_t flags, uint64_t durable)
{
    uint8_t *at = image + used;

    used += sample_record(at, type, here(), boot, durable);
    memcpy(at + 14, &flags, sizeof flags);
    record_seal(at, boot, durable);
}

/* What each segment begins with. */
static void put_checkpoint(void)
{
    put_typed(RECORD_IDENTITY, RECORD_CHECKPOINT, first);
    (void)put(first);
    put_typed(RECORD_IDENTITY, RECORD_CHECKPOINTED, first);
}

static struct log_survey look(void)
{
    struct log_survey survey;

    nseen = 0;
    seen_end = 0;
    cr_assert_eq(log_survey_make(memory_disk_seam(disk), SAMPLE_CLUSTER, note, NULL, &survey),
                 STATUS_OK);
    return survey;
}

/* One with an add, two without, a last one. What is in `without` is not there. */
struct made {
    uint64_t adds_end;
    uint64_t ends[5]; /* of segments 1 to 4 */
};

static struct made keep_four(unsigned without)
{
    struct made made = {0};

    for (uint64_t number = 1; number <= 4; number++) {
        uint64_t from = made.ends[number - 1];

        bare = number > 1 ? from - made.adds_end : 0;
        begin(number, from);
        put_checkpoint();
        if (number == 1) {
            put_typed(RECORD_BATCH, 0, first);
            made.adds_end = here();
        }
        (void)put(first);
        (void)put(here());
        made.ends[number] = here();
        if ((without >> number & 1) == 0) {
            keep(number);
        }
    }
    bare = 0;
    return made;
}

static void expect_ok(size_t extents, const struct made *made)
{
    struct log_survey survey = look();

    cr_assert_eq(survey.state, LOG_OK, "%s: %s", survey.bad_name, survey.reason);
    cr_assert_eq(survey.count, extents);
    cr_assert_eq(survey.extents[extents - 1].end, made->ends[4]);
    cr_assert_geq(nseen, extents * 4);
    cr_assert_eq(survey.bare, made->ends[4] - made->adds_end);
    log_survey_fini(&survey);
}

static void expect_corrupt(const char *name)
{
    struct log_survey survey = look();

    cr_assert_eq(survey.state, LOG_CORRUPT);
    cr_assert_str_eq(survey.bad_name, name);
    cr_assert_eq(survey.bare, 0);
    cr_assert_leq(seen_end, survey.extents[survey.count - 1].end, "behind the loss");
    log_survey_fini(&survey);
}

Test(log_bare, segments_without_adds_may_be_missing)
{
    for (unsigned without = 0; without <= 3; without++) {
        struct made made = keep_four(without << 2);

        expect_ok(4 - (size_t)__builtin_popcount(without), &made);
        teardown();
        setup();
    }
}

Test(log_bare, a_segment_with_an_add_may_not)
{
    (void)keep_four(1 << 1);
    {
        struct log_survey survey = look();

        cr_assert_eq(survey.state, LOG_OK);
        cr_assert_gt(survey.extents[0].first - survey.extents[0].bare, 0, "from there on");
        log_survey_fini(&survey);
    }
    teardown();
    setup();
    /* The same in the middle: the third has one, too. */
    {
        struct made made = keep_four(0);

        begin(3, made.ends[2]);
        bare = 0;
        put_checkpoint();
        put_typed(RECORD_BATCH, 0, first);
        made.adds_end = here();
        put_many(1, first);
        bare = here() - made.adds_end;
        begin(4, here());
        put_checkpoint();
        keep(4);
        {
            struct disk *seam = memory_disk_seam(disk);

            cr_assert_eq(seam->remove(seam->context, "log-0000000000000003"), STATUS_OK);
        }
    }
    expect_corrupt("log-0000000000000002");
}

/* What follows the hole must have repeated all: its checkpoint, and to its end. */
Test(log_bare, behind_a_hole_a_checkpoint_is_whole)
{
    struct made made = keep_four(1 << 3);

    bare = made.ends[3] - made.adds_end;
    begin(4, made.ends[3]);
    put_typed(RECORD_IDENTITY, RECORD_CHECKPOINT, first);
    put_many(2, first);
    keep(4);
    expect_corrupt("log-0000000000000002");
    begin(4, made.ends[3]);
    keep(4);
    expect_corrupt("log-0000000000000002");
    (void)keep_four(0);
    begin(4, made.ends[3]);
    keep(4);
    {
        struct log_survey survey = look();

        cr_assert_eq(survey.state, LOG_OK, "there is no hole");
        log_survey_fini(&survey);
    }
}

/* ... and is not taken for damage where a newer orbloom wrote it. */
Test(log_bare, behind_a_hole_another_version_is_noticed_first)
{
    struct made made = keep_four(1 << 3);
    struct log_survey survey;

    bare = made.ends[3] - made.adds_end;
    begin(4, made.ends[3]);
    put_typed(RECORD_IDENTITY, RECORD_CHECKPOINT, first);
    put_typed(RECORD_FENCE, 0x8000, first);
    keep(4);
    survey = look();
    cr_assert_eq(survey.state, LOG_VERSION);
    log_survey_fini(&survey);
}

/* State that can't be read is no loss either once it was repeated; an add behind it is. */
Test(log_bare, damaged_state_that_was_repeated_is_no_loss)
{
    for (size_t place = SEGMENT_HEADER_BYTES + 50; place < 4000; place += 100) {
        struct made made = keep_four(0);
        uint64_t offset = place - SEGMENT_HEADER_BYTES;

        memory_disk_flip(disk, "log-0000000000000001", place * 8);
        if (offset < made.adds_end) {
            expect_corrupt("log-0000000000000001");
        } else {
            expect_ok(4, &made);
        }
    }
}

/* The file of one that was dropped becomes a later one, and has not begun yet. */
Test(log_bare, a_file_that_was_one_before_is_no_loss)
{
    struct made made = keep_four(0);
    struct disk *seam = memory_disk_seam(disk);
    struct span bytes = memory_disk_bytes(disk, "log-0000000000000003");

    memcpy(image, bytes.data, sizeof image);
    memset(image, 0, SEGMENT_HEADER_BYTES);
    cr_assert_eq(seam->remove(seam->context, "log-0000000000000003"), STATUS_OK);
    keep(5);
    expect_ok(3, &made);
    /* Of one that is there still, it is a copy that took the place of something. */
    bytes = memory_disk_bytes(disk, "log-0000000000000002");
    memcpy(image, bytes.data, sizeof image);
    memset(image, 0, SEGMENT_HEADER_BYTES);
    keep(5);
    expect_corrupt("log-0000000000000005");
}

Test(log_bare, a_reader_passes_over_holes)
{
    struct made made = keep_four(3 << 2);
    struct log_survey survey = look();
    static const uint64_t back[] = {0, 8};

    cr_assert_eq(survey.count, 2);
    for (size_t i = 0; i < 2; i++) { /* From where it ends, and from within the hole. */
        struct log_reader *reader = NULL;
        struct record_header header;
        struct span record;

        cr_assert_eq(log_reader_create(memory_disk_seam(disk), survey.extents, survey.count,
                                       made.ends[1] + back[i] * 8, made.ends[4], &reader),
                     STATUS_OK);
        cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_OK);
        cr_assert_eq(header.offset, made.ends[3]);
        log_reader_destroy(&reader);
        cr_assert_eq(log_reader_create(memory_disk_seam(disk), survey.extents, survey.count,
                                       made.ends[1] + back[i] * 8, made.ends[2], &reader),
                     STATUS_OK);
        cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_NOT_FOUND);
        log_reader_destroy(&reader);
    }
    log_survey_fini(&survey);
}

/* An empty extent behind a hole: a boot that ended before it had a record. */
Test(log_bare, a_reader_passes_over_what_is_empty_behind_a_hole)
{
    static const struct log_extent extents[] = {
        {.number = 1, .first = 0, .end = 64},
        {.number = 2, .first = 128, .end = 128, .bare = 64},
        {.number = 3, .first = 128, .end = 128 + FENCE_BYTES, .bare = 64}};
    struct log_reader *reader = NULL;
    struct record_header header;
    struct span record;

    begin(3, 128);
    (void)put(128);
    keep(3);
    begin(2, 128);
    keep(2);
    cr_assert_eq(
        log_reader_create(memory_disk_seam(disk), extents, 3, 64, 128 + FENCE_BYTES, &reader),
        STATUS_OK);
    cr_assert_eq(log_reader_next(reader, &header, &record), STATUS_OK);
    cr_assert_eq(header.offset, 128);
    log_reader_destroy(&reader);
}
