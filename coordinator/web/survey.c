/* Two lists in order of ids: what the last pass saw, which the one under way reads as it goes, and
 * what that one sees. */
#include "coordinator/web/survey.h"

#include "base/heap.h"
#include "coordinator/rounds.h"
#include "coordinator/view/tally.h"
#include "coordinator/view/view.h"
#include "map/history/expansion.h"
#include "map/history/rebuild.h"
#include "map/rename.h"

#include <assert.h>
#include <string.h>

struct seen {
    uint64_t id;
    struct pace pace;
};

struct seen_list {
    struct seen *items;
    size_t count;
    size_t room;
};

struct survey {
    struct seen_list before;
    struct seen_list now;
    size_t at; /* in `before`: what is to come */
    struct survey_found found;
    struct survey_found finding;
    bool going;
    uint64_t next_id; /* of the pass under way */
    uint64_t began_us;
    uint64_t next_us;
};

struct survey *survey_create(void)
{
    return heap_zalloc(1, sizeof(struct survey));
}

void survey_destroy(struct survey *self)
{
    if (self != NULL) {
        heap_free(self->before.items);
        heap_free(self->now.items);
        heap_free(self);
    }
}

/* ---- one filter ---- */

bool survey_is_changing(const struct coordinator *self, const struct filter_document *document)
{
    const struct expanding *expanding = notes_find(&self->notes, NOTE_EXPANDING, document->id);

    return document->content.state == FILTER_DROPPING || expansion_running(document) ||
           (expanding != NULL && expanding->refused[0] != '\0') || rebuild_keyset(document) != 0 ||
           rename_is_open(document) || document_is_loading(document) || rounds_is_moving(document);
}

/* It goes on from where the last pass saw it. */
static enum status note_pace(struct survey *self, uint64_t now_us, uint64_t id, uint64_t keys)
{
    struct seen seen = {.id = id};

    while (self->at < self->before.count && self->before.items[self->at].id < id) {
        self->at++;
    }
    if (self->at < self->before.count && self->before.items[self->at].id == id) {
        seen = self->before.items[self->at];
    }
    if (!heap_grow(&self->now.items, &self->now.room, self->now.count + 1, sizeof seen)) {
        return STATUS_NOMEM;
    }
    pace_note(&seen.pace, now_us, keys);
    self->now.items[self->now.count++] = seen;
    return STATUS_OK;
}

static void note_lacking(struct coordinator *self, uint64_t now_us,
                         const struct document_entry *entry, const struct tally *tally,
                         struct survey_found *finding)
{
    uint64_t at = finding->nlacking++;
    char texts[TELLING_TEXTS][COORDINATOR_MESSAGE_BYTES];
    struct filter_summary summary;
    struct change_summary change;
    struct telling telling = {.summary = &summary, .change = &change, .texts = texts};
    struct survey_lacking *one;

    finding->nunserved += tally->fewest < tally_needed(&entry->document.content.rule);
    if (at >= SURVEY_LACKING) {
        return;
    }
    one = &finding->lacking[at];
    view_describe_filter(self, now_us, entry, &telling);
    one->id = entry->document.id;
    one->shards = tally->nlacking;
    one->fewest = tally->fewest;
    memcpy(one->why, summary.lacking, strlen(summary.lacking) + 1);
    memcpy(one->remedy, summary.lacking_remedy, strlen(summary.lacking_remedy) + 1);
}

static enum status look_at(struct coordinator *self, uint64_t now_us,
                           const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    struct survey *survey = self->survey;
    struct survey_found *finding = &survey->finding;
    struct tally tally;
    enum status status = tally_filter(self, now_us, document, &tally);
    uint64_t keys = report_sum_keys(&tally.sum, document->nslices);

    if (status == STATUS_OK) {
        status = note_pace(survey, now_us, document->id, keys);
    }
    if (status != STATUS_OK) {
        return status;
    }
    finding->nfilters++;
    finding->capacity += document->capacity;
    finding->keys += keys;
    finding->copy_bytes += document_shard_bytes(document) * document_nshards(document) *
                           window_sets(document->nslices);
    if (tally.nlacking > 0) {
        note_lacking(self, now_us, entry, &tally, finding);
    }
    /* One that joins may be in nobody's place: what that waits for is told, too. */
    if (tally.sum.joining > 0 || survey_is_changing(self, document)) {
        if (finding->nchanging < SURVEY_CHANGING) {
            finding->changing[finding->nchanging] = document->id;
        }
        finding->nchanging++;
    }
    return STATUS_OK;
}

/* ---- passes ---- */

static void begin(struct survey *self, uint64_t now_us)
{
    self->going = true;
    self->began_us = now_us;
    self->next_id = 0;
    self->at = 0;
    self->now.count = 0;
    self->finding = (struct survey_found){0};
}

static void end(struct survey *self, uint64_t now_us)
{
    struct seen_list list = self->before;

    self->going = false;
    self->before = self->now;
    self->now = list;
    self->finding.at_us = now_us;
    self->found = self->finding;
}

static enum status step(struct coordinator *self, uint64_t now_us)
{
    struct survey *survey = self->survey;
    const struct document_cache *documents = &self->documents;
    size_t at = document_cache_from(documents, survey->next_id);
    size_t stop = documents->count - at < SURVEY_STEP ? documents->count : at + SURVEY_STEP;
    enum status status = STATUS_OK;

    for (; at < stop && status == STATUS_OK; at++) {
        const struct document_entry *entry = documents->by_id[at];

        if (entry->document.content.state != FILTER_DROPPED) {
            status = look_at(self, now_us, entry);
        }
        survey->next_id = entry->document.id + 1;
    }
    if (status == STATUS_OK && stop == documents->count) {
        end(survey, now_us);
    }
    return status;
}

void survey_turn(struct coordinator *self, uint64_t now_us)
{
    struct survey *survey = self->survey;

    if (survey == NULL || now_us < survey->next_us) {
        return;
    }
    if (!survey->going) {
        begin(survey, now_us);
    }
    if (step(self, now_us) != STATUS_OK) {
        survey->going = false;
    }
    survey->next_us = survey->going ? now_us + SURVEY_STEP_US : survey->began_us + SURVEY_PASS_US;
    if (survey->next_us < now_us + SURVEY_STEP_US) {
        survey->next_us = now_us + SURVEY_STEP_US;
    }
}

uint64_t survey_next_us(const struct coordinator *self)
{
    return self->survey != NULL ? self->survey->next_us : ACTOR_NEVER;
}

/* ---- what it has found ---- */

const struct survey_found *survey_found(const struct survey *self)
{
    return &self->found;
}

const struct pace *survey_pace(const struct survey *self, uint64_t filter_id)
{
    size_t low = 0;
    size_t high = self->before.count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->before.items[middle].id < filter_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < self->before.count && self->before.items[low].id == filter_id
               ? &self->before.items[low].pace
               : NULL;
}
