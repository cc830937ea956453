/* What the survey has found to change is described as it is now. */
#include "coordinator/view/tally.h"
#include "coordinator/view/view.h"
#include "coordinator/web/survey.h"
#include "coordinator/web/web.h"
#include "map/history/expansion.h"
#include "map/rename.h"

#include <assert.h>
#include <string.h>

/* Everything that is told of one filter. */
struct described {
    const struct filter_document *document;
    struct filter_summary summary;
    struct change_summary change;
    struct telling telling;
    struct tally tally;
    char texts[TELLING_TEXTS][COORDINATOR_MESSAGE_BYTES];
};

enum { NO_PROGRESS = -1 };

static void put(const struct described *self, const char *what, const char *step, double progress,
                uint32_t slots, const char *awaited, struct json *json)
{
    json_begin(json, NULL, '{');
    json_text(json, "filter", self->summary.name);
    json_text(json, "what", what);
    json_text(json, "step", step);
    if (progress < 0) {
        json_none(json, "progress");
    } else {
        json_number(json, "progress", progress);
    }
    json_count(json, "slots", slots);
    json_text(json, "awaited", awaited);
    json_end(json, '}');
}

static void put_growth(const struct described *self, struct json *json)
{
    if (expansion_running(self->document)) {
        put(self, "growth", "growing", self->tally.grown, 0, self->summary.growth_awaited, json);
    } else if (self->summary.growth_refused[0] != '\0') {
        put(self, "growth", "refused", NO_PROGRESS, 0, self->summary.growth_refused, json);
    }
}

static void put_moves(const struct described *self, struct json *json)
{
    static const char *const names[] = {"", "to_begin", "copying", "handing_over"};
    const struct change_summary *change = &self->change;
    bool copies = change->step == CHANGE_COPYING && change->slots > 0;

    if (self->telling.changes) {
        put(self, "replicas", names[change->step & 3], copies ? self->tally.progress : NO_PROGRESS,
            change->slots, change->awaited, json);
    }
}

static double loaded_share(const struct filter_document *document)
{
    return (double)(document->loaded - DOCUMENT_LOAD_FIRST) /
           (double)(DOCUMENT_LOAD_END - DOCUMENT_LOAD_FIRST);
}

static void put_others(const struct described *self, struct json *json)
{
    const struct filter_document *document = self->document;

    if (document_is_loading(document)) {
        put(self, "load", "loading", loaded_share(document), 0, "", json);
    }
    if (self->summary.rebuild_keyset != 0 || self->summary.rebuild_awaited[0] != '\0') {
        put(self, "rebuild", "feeding", NO_PROGRESS, 0, self->summary.rebuild_awaited, json);
    }
    if (rename_is_open(document)) {
        put(self, "rename", "renaming", NO_PROGRESS, 0, "", json);
    }
    if (document->content.state == FILTER_DROPPING) {
        put(self, "drop", "dropping", NO_PROGRESS, 0, "", json);
    }
}

static enum status put_filter(struct coordinator *self, uint64_t now_us,
                              const struct document_entry *entry, struct json *json)
{
    struct described described = {.document = &entry->document};
    enum status status = tally_filter(self, now_us, &entry->document, &described.tally);

    if (status != STATUS_OK) {
        return status;
    }
    described.telling = (struct telling){
        .summary = &described.summary, .change = &described.change, .texts = described.texts};
    view_describe_filter(self, now_us, entry, &described.telling);
    put_growth(&described, json);
    put_moves(&described, json);
    put_others(&described, json);
    return json->status;
}

enum status web_tell_changes(struct coordinator *coordinator, uint64_t now_us,
                             const struct web_question *question, struct buffer *out)
{
    const struct survey_found *found;
    struct json json = json_to(out);
    enum status status = STATUS_OK;
    uint64_t told = 0;

    (void)question;
    assert(coordinator->survey != NULL);
    found = survey_found(coordinator->survey);
    json_begin(&json, NULL, '{');
    json_begin(&json, "changes", '[');
    for (; told < found->nchanging && told < WEB_MAX_CHANGES && status == STATUS_OK; told++) {
        const struct document_entry *entry = document_cache_find(&coordinator->documents,
                                                                 found->changing[told]);

        if (entry != NULL && entry->document.content.state != FILTER_DROPPED) {
            status = put_filter(coordinator, now_us, entry, &json);
        }
    }
    json_end(&json, ']');
    json_count(&json, "filters_left", found->nchanging - told);
    json_end(&json, '}');
    return status == STATUS_OK ? json.status : status;
}
