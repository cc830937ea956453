/* storage_log_judge.h - what a survey must say of a folder that was made by hand. */
#ifndef ORBLOOM_TESTS_UNIT_STORAGE_LOG_JUDGE_H
#define ORBLOOM_TESTS_UNIT_STORAGE_LOG_JUDGE_H

#include "base/heap.h"
#include "log/log_reader.h"
#include "tests/support/log_stage.h"
#include "tests/unit/storage_log_by_hand.h"

#include <criterion/criterion.h>

static uint64_t seen;
static uint64_t seen_offset;

static inline enum status note(void *context, const struct record_header *header,
                               struct span record)
{
    struct record_fence fence;

    (void)context;
    cr_assert_eq(record_fence_get(record, &fence), STATUS_OK);
    cr_assert(seen == 0 || header->offset == seen_offset + FENCE_BYTES);
    seen++;
    seen_offset = header->offset;
    return STATUS_OK;
}

static inline struct log_survey look(void)
{
    struct log_survey survey;
    size_t live = heap_live();

    seen = 0;
    cr_assert_eq(log_survey_make(memory_disk_seam(disk), SAMPLE_CLUSTER, note, NULL, &survey),
                 STATUS_OK);
    cr_assert_eq(memory_disk_open_files(disk), 0);
    cr_assert_leq(heap_live(), live + 1);
    return survey;
}

static inline void expect_ok(size_t extents, uint64_t end, uint64_t records)
{
    struct log_survey survey = look();

    cr_assert_eq(survey.state, LOG_OK, "%s at %u: %s", survey.bad_name, (unsigned)survey.bad_at,
                 survey.reason);
    cr_assert_eq(survey.count, extents);
    cr_assert_eq(survey.extents[extents - 1].end, end);
    cr_assert_eq(seen, records);
    cr_assert_str_eq(survey.reason, "");
    log_survey_fini(&survey);
}

static inline void expect_corrupt(const char *name, uint64_t place, uint64_t records)
{
    struct log_survey survey = look();

    cr_assert_eq(survey.state, LOG_CORRUPT);
    cr_assert_str_eq(survey.bad_name, name);
    cr_assert_eq(survey.bad_at, place);
    cr_assert_str_neq(survey.reason, "");
    cr_assert_eq(seen, records);
    log_survey_fini(&survey);
}

#endif
