/* Histories of a log: boots that append and commit, and end in order, by kill -9 or by power loss,
 * at any operation of the disk, with any part of what was not synced surviving. Always:
 *
 *   - what was acknowledged is read back, and what is read back is exactly what was appended there,
 *     up to some record's end
 *   - a torn end is never called corrupt
 *   - a bit that changes below what a later record calls durable is always found, one above never
 *     costs more than the records from there on
 */
#include "log/segment_file.h"
#include "tests/support/log_samples.h"
#include "tests/support/log_stage.h"
#include "tests/support/random.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HISTORIES = 4000, MAX_RECORDS = 8192, MAX_BOOTS = 6, MAX_STEPS = 120, BIG_COUNT = 4000 };

struct appended {
    enum record_type type;
    uint64_t number;
    uint32_t count;
    uint64_t offset;
    uint64_t end;
};

static struct {
    struct log_stage stage; /* first */
    uint64_t seed;
    uint64_t random;
    struct appended records[MAX_RECORDS]; /* what the log should be, without gaps */
    size_t count;
    size_t begin;          /* those before are in segments that were removed */
    uint64_t acknowledged; /* must be read back up to here */
    uint64_t synced;       /* at the end of the boot before */
    uint64_t next_number;
    bool os;    /* acknowledges what is written */
    bool fails; /* the disk, at some operation of this boot */
    bool lost;  /* no boot after a loss has synced anything yet */
    bool bent;  /* a bit has changed */
    bool spare; /* an older segment's file waits to be used again */
    size_t visited;
    uint64_t durable; /* the highest stamp that was read */
    unsigned long reached[5];
} self;

enum { REACHED_TORN, REACHED_CORRUPT, REACHED_HEADLESS, REACHED_REMOVED, REACHED_REUSED };

#define DEMAND(condition) cr_assert((condition), "seed %" PRIu64 ": %s", self.seed, #condition)

static uint64_t draw(uint64_t below)
{
    return random_below(&self.random, below);
}

static void on_appended(struct log_stage *stage, enum record_type type, uint64_t number,
                        uint32_t count, uint64_t end)
{
    uint64_t before = self.count > 0 ? self.records[self.count - 1].end : 0;

    (void)stage;
    DEMAND(self.count < MAX_RECORDS);
    self.records[self.count++] = (struct appended){
        .type = type, .number = number, .count = count, .offset = before, .end = end};
}

/* ---- one boot ---- */

static void acknowledge(void)
{
    uint64_t now = self.os ? log_writer_written(self.stage.writer)
                           : log_writer_synced(self.stage.writer);

    DEMAND(log_writer_synced(self.stage.writer) <= log_writer_written(self.stage.writer));
    DEMAND(now >= self.acknowledged || self.os);
    self.acknowledged = now > self.acknowledged ? now : self.acknowledged;
}

static void step(void)
{
    uint64_t end;

    switch (draw(8)) {
    case 0:
    case 1:
        (void)log_stage_add(&self.stage, self.next_number++,
                            (uint32_t)draw(draw(8) == 0 ? BIG_COUNT : 100), &end);
        break;
    case 2:
        (void)log_stage_fence(&self.stage, self.next_number++, &end);
        break;
    case 3:
        log_writer_turn(self.stage.writer);
        break;
    case 4:
        (void)job_lanes_run(&self.stage.lanes, JOB_COMMIT);
        break;
    case 5:
        (void)job_lanes_finish(&self.stage.lanes, JOB_COMMIT, 0);
        break;
    case 6:
        (void)job_lanes_run(&self.stage.lanes, JOB_BACKGROUND);
        (void)job_lanes_finish(&self.stage.lanes, JOB_BACKGROUND, 0);
        break;
    default:
        if (draw(8) == 0) {
            log_writer_want_sync(self.stage.writer);
        } else {
            log_stage_commit(&self.stage);
        }
        break;
    }
    acknowledge();
}

/* Power loss takes what the writer did not call synced; a kill what it did not call written. */
static void end_boot(void)
{
    uint64_t synced = log_writer_synced(self.stage.writer);
    uint64_t how = draw(4);

    if (how == 0 && !self.fails) {
        job_lanes_stop(&self.stage.lanes);
        DEMAND(log_writer_finish(self.stage.writer) == STATUS_OK);
        acknowledge();
        DEMAND(self.acknowledged == log_writer_end(self.stage.writer));
        synced = self.acknowledged;
    }
    self.synced = synced;
    log_stage_end(&self.stage);
    if (how <= 1) {
        memory_disk_kill(self.stage.disk);
    } else {
        memory_disk_crash(self.stage.disk, &self.random);
        self.acknowledged = synced;
    }
}

static void run_boot(uint64_t first, uint64_t number)
{
    uint64_t steps = draw(MAX_STEPS);

    self.os = draw(4) == 0;
    self.stage.failed = 0;
    log_stage_begin(&self.stage, first, number, !self.os);
    if (self.spare) {
        log_writer_give_spare(self.stage.writer);
    }
    self.fails = draw(2) == 0;
    memory_disk_fail_after(self.stage.disk, self.fails ? (int64_t)draw(40) : MEMORY_DISK_NEVER);
    for (uint64_t i = 0; i < steps; i++) {
        step();
    }
    if (self.spare && !log_writer_has_spare(self.stage.writer)) {
        self.spare = false;
        self.reached[REACHED_REUSED]++;
    }
    end_boot();
}

/* ---- reading back ---- */

static enum status compare(void *context, const struct record_header *header, struct span record)
{
    const struct appended *wanted;

    (void)context;
    while (self.bent && self.visited == 0 && self.records[self.begin].offset < header->offset) {
        self.begin++; /* The first segment's header is lost: it must not pass as removed. */
    }
    wanted = &self.records[self.begin + self.visited];
    DEMAND(self.begin + self.visited < self.count);
    DEMAND(header->offset == wanted->offset && header->offset + header->size == wanted->end);
    DEMAND(header->type == wanted->type);
    DEMAND(wanted->type == RECORD_BATCH ? log_stage_is_batch(record, wanted->number, wanted->count)
                                        : log_stage_is_fence(record, wanted->number));
    self.visited++;
    self.durable = header->durable > self.durable ? header->durable : self.durable;
    return STATUS_OK;
}

static enum status look(struct log_survey *survey)
{
    self.visited = 0;
    self.durable = 0;
    return log_survey_make(memory_disk_seam(self.stage.disk), SAMPLE_CLUSTER, compare, NULL,
                           survey);
}

static uint64_t end_of(const struct log_survey *survey)
{
    return survey->count > 0 ? survey->extents[survey->count - 1].end : 0;
}

static uint64_t visited_end(void)
{
    return self.visited > 0 ? self.records[self.begin + self.visited - 1].end
           : self.begin > 0 ? self.records[self.begin - 1].end
                            : 0;
}

/* A machine that goes down again while it reads; what a killed process had only written may be
 * lost by that. */
static void look_in_vain(uint64_t synced)
{
    struct log_survey survey;

    memory_disk_fail_after(self.stage.disk, (int64_t)draw(2));
    if (look(&survey) == STATUS_OK) {
        log_survey_fini(&survey);
        memory_disk_fail_after(self.stage.disk, MEMORY_DISK_NEVER);
        return;
    }
    memory_disk_crash(self.stage.disk, &self.random);
    self.acknowledged = synced < self.acknowledged ? synced : self.acknowledged;
}

/* As a node does before it begins, when nothing was lost, or after a loss, once something of the
 * new boot is durable: what is in no extent is kept under another name. Before that it is what
 * tells of the loss. */
static void set_aside(const struct log_survey *survey)
{
    const struct disk *disk = memory_disk_seam(self.stage.disk);

    for (uint64_t number = 1; number < survey->next_number; number++) {
        char name[DISK_NAME_BYTES];
        char aside[DISK_NAME_BYTES];
        bool in_log = false;

        for (size_t i = 0; i < survey->count; i++) {
            in_log = in_log || survey->extents[i].number == number;
        }
        segment_name(number, name);
        (void)snprintf(aside, sizeof aside, "aside-%d-%" PRIu64, (int)draw(1000000), number);
        if (!in_log) {
            (void)disk->rename(disk->context, name, aside);
        }
    }
    DEMAND(disk->sync_folder(disk->context) == STATUS_OK);
}

static struct log_survey recover(uint64_t synced)
{
    struct log_survey survey;

    if (draw(8) == 0) {
        look_in_vain(synced);
    }
    DEMAND(look(&survey) == STATUS_OK);
    cr_assert(survey.state == LOG_OK || survey.state == LOG_EMPTY ||
                  (self.lost && survey.state == LOG_CORRUPT),
              "seed %" PRIu64 ": %s at %s", self.seed, survey.reason, survey.bad_name);
    self.lost = survey.state == LOG_CORRUPT;
    DEMAND(end_of(&survey) == visited_end());
    DEMAND(end_of(&survey) >= self.acknowledged);
    self.reached[REACHED_TORN] += survey.torn_bytes > 0;
    self.count = self.begin + self.visited;
    self.acknowledged = end_of(&survey);
    return survey;
}

/* ---- removing ---- */

static void remove_below(uint64_t number)
{
    const struct disk *disk = memory_disk_seam(self.stage.disk);

    for (uint64_t i = 1; i < number; i++) {
        char name[DISK_NAME_BYTES];

        segment_name(i, name);
        if (disk->remove(disk->context, name) == STATUS_OK) {
            DEMAND(disk->sync_folder(disk->context) == STATUS_OK);
        }
    }
}

static void remove_oldest(struct log_survey *survey)
{
    if (draw(4) != 0) {
        const struct disk *disk = memory_disk_seam(self.stage.disk);

        remove_below(survey->extents[0].number);
        DEMAND(segment_file_drop(disk, survey->extents[0].number, true) == STATUS_OK);
        self.spare = true;
    }
    remove_below(survey->extents[1].number);
    while (self.records[self.begin].offset < survey->extents[1].first) {
        self.begin++;
        DEMAND(self.begin <= self.count);
        if (self.begin == self.count) {
            break;
        }
    }
    self.reached[REACHED_REMOVED]++;
    log_survey_fini(survey);
    DEMAND(look(survey) == STATUS_OK);
    DEMAND(survey->state == LOG_OK);
    DEMAND(self.visited == self.count - self.begin);
}

/* ---- a bit that changes ---- */

/* Somewhere in the headers and records that are the log. */
static bool choose_bit(const struct log_survey *survey, char name[DISK_NAME_BYTES], uint64_t *bit,
                       bool *below)
{
    size_t i = draw(4) == 0 ? 0 : (size_t)draw(survey->count);
    const struct log_extent *extent = &survey->extents[i];
    uint64_t size = extent->end - extent->first;
    bool header = draw(4) == 0;
    uint64_t place = header ? draw(SEGMENT_HEADER_BYTES) : SEGMENT_HEADER_BYTES;
    uint64_t offset = extent->first;

    if (!header && size == 0) {
        return false;
    }
    if (!header) {
        offset = extent->first + draw(size);
        place = SEGMENT_HEADER_BYTES + (offset - extent->first);
    }
    segment_name(extent->number, name);
    *bit = 8 * place + draw(8);
    *below = self.durable > offset || (i + 1 < survey->count && size > 0);
    self.reached[REACHED_HEADLESS] += header;
    return true;
}

static void flip(struct log_survey *survey)
{
    char name[DISK_NAME_BYTES];
    uint64_t bit;
    bool below;
    size_t begin = self.begin;

    if (survey->count == 0 || !choose_bit(survey, name, &bit, &below)) {
        return;
    }
    log_survey_fini(survey);
    memory_disk_flip(self.stage.disk, name, bit);
    self.bent = true;
    DEMAND(look(survey) == STATUS_OK);
    self.bent = false;
    /* Torn records tell of what was durable too: corrupt may be said of more than `below`. */
    DEMAND(survey->state == LOG_CORRUPT || (!below && self.begin == begin));
    DEMAND(survey->state <= LOG_CORRUPT);
    self.reached[REACHED_CORRUPT] += survey->state == LOG_CORRUPT;
    if (survey->state == LOG_CORRUPT && draw(2) == 0) {
        memory_disk_flip(self.stage.disk, name, bit); /* It was in memory, not on the disk. */
        self.begin = begin;
        log_survey_fini(survey);
        DEMAND(look(survey) == STATUS_OK);
        DEMAND(survey->state == LOG_OK);
        DEMAND(self.begin + self.visited == self.count);
        return;
    }
    /* A new incarnation, or what a torn end is taken for: it goes on where reading ended. */
    self.lost = survey->state == LOG_CORRUPT;
    self.count = self.begin + self.visited;
    self.acknowledged = end_of(survey);
}

static void run_history(uint64_t seed)
{
    uint64_t boots;
    uint64_t synced = 0;
    struct log_survey survey;

    self.seed = seed;
    self.random = seed;
    self.count = 0;
    self.begin = 0;
    self.acknowledged = 0;
    self.next_number = 1;
    self.lost = false;
    self.spare = false;
    log_stage_init(&self.stage);
    self.stage.state = (uint32_t)draw(3);
    self.stage.appended = on_appended;
    boots = 1 + draw(MAX_BOOTS);
    for (uint64_t i = 0; i < boots; i++) {
        survey = recover(synced);
        if (survey.state == LOG_OK && survey.count > 1 && draw(3) == 0) {
            remove_oldest(&survey);
        }
        if (survey.state == LOG_OK && draw(2) == 0) {
            flip(&survey);
        }
        if (end_of(&survey) != visited_end()) {
            log_survey_fini(&survey);
            break;
        }
        synced = end_of(&survey);
        if (survey.state != LOG_CORRUPT && !self.lost) {
            set_aside(&survey);
        }
        run_boot(synced, survey.next_number);
        if (self.lost && self.synced > synced) {
            set_aside(&survey);
            self.lost = false;
        }
        log_survey_fini(&survey);
    }
    log_stage_fini(&self.stage);
}

Test(storage_log, keeps_what_was_acknowledged_and_tells_torn_from_lost)
{
    static const char *const names[] = {"torn ends", "changed bits found", "changed headers",
                                        "removed segments", "files used again"};

    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        run_history(seed);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_log_info("%s: %lu", names[i], self.reached[i]);
        cr_assert_gt(self.reached[i], HISTORIES / 40, "%s were hardly reached", names[i]);
    }
}
