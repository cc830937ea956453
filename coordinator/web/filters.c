/* Names are in order already: those that match are counted, and the ones of the page looked at. */
#include "base/number.h"
#include "coordinator/view/tally.h"
#include "coordinator/web/measured.h"
#include "coordinator/web/survey.h"
#include "coordinator/web/web.h"
#include "map/history/expansion.h"
#include "proto/answers.h"
#include "proto/measured_rate.h"
#include "proto/rate.h"

#include <assert.h>
#include <string.h>

enum { MAX_PAGE = DOCUMENT_CACHE_MAX, MAX_GROWING_GROUPS = 64 };

/* ---- the question ---- */

struct wanted {
    const char *q;
    uint64_t page;
    uint64_t size;
};

/* A number from 1 to `most`, or the one that is meant without any. */
static bool read_number(const char *text, uint64_t without, uint64_t most, uint64_t *out)
{
    uint64_t value = 0;

    if (text == NULL || text[0] == '\0') {
        *out = without;
        return true;
    }
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || value > most) {
            return false;
        }
        value = 10 * value + (uint64_t)(*text - '0');
    }
    *out = value;
    return value >= 1 && value <= most;
}

/* NULL, or what is wrong. */
static const char *read_question(const struct web_question *question, struct wanted *out)
{
    out->q = question->q != NULL ? question->q : "";
    if (strlen(out->q) >= DOCUMENT_NAME_BYTES) {
        return "q is longer than any filter's name, 128 bytes";
    }
    if (!read_number(question->page, 1, MAX_PAGE, &out->page)) {
        return "page is no number from 1 to 131072";
    }
    if (!read_number(question->size, WEB_PAGE_SIZE, WEB_MAX_PAGE_SIZE, &out->size)) {
        return "size is no number from 1 to 200";
    }
    return NULL;
}

static enum status refuse(const char *why, struct buffer *out)
{
    struct json json = json_to(out);

    json_begin(&json, NULL, '{');
    json_text(&json, "error", why);
    json_end(&json, '}');
    return json.status == STATUS_OK ? STATUS_INVALID : json.status;
}

/* ---- one filter ---- */

/* What the replicas say of a filter that grows decides which of two rates it has. So many of them
 * are not looked at for one line, and the worse of both is told. */
static double expected_rate(const struct coordinator *self, uint64_t now_us,
                            const struct filter_summary *filter, const struct tally *tally)
{
    struct replica_report reports[MAX_GROWING_GROUPS * QUORUM_MAX_REPLICAS];
    struct info_reply reply = {.filter = *filter, .replicas = reports};
    bool mixed = filter->ngenerations > 1 && filter->nchain == 0 &&
                 filter->ngroups <= MAX_GROWING_GROUPS;

    for (size_t i = 0; i < self->nheard && mixed; i++) {
        size_t count;
        const struct replica_report *told = heard_reports(&self->heard[i], filter->id, &count);

        if (!coordinator_lately(self, now_us, self->heard[i].last_us)) {
            continue;
        }
        for (size_t k = 0; k < count && reply.nreplicas < sizeof reports / sizeof reports[0]; k++) {
            reports[reply.nreplicas++] = told[k];
        }
    }
    return rate_now(&reply, &tally->sum);
}

static void put_pace(const struct coordinator *self, uint64_t now_us,
                     const struct filter_document *document, uint64_t keys, struct json *json)
{
    const struct pace *pace = survey_pace(self->survey, document->id);
    double keys_per_s = pace != NULL ? pace_keys_per_s(pace, now_us, keys) : 0;
    uint64_t full_s = pace != NULL ? pace_full_in_s(pace, now_us, keys, document->capacity)
                                   : PACE_UNKNOWN;

    if (keys_per_s > 0) {
        json_number(json, "keys_per_s", keys_per_s);
    } else {
        json_none(json, "keys_per_s");
    }
    if (full_s != PACE_UNKNOWN && document->nslices == 0) { /* A window lets go of keys, too. */
        json_count(json, "full_in_s", full_s);
    } else {
        json_none(json, "full_in_s");
    }
}

static void put_sizes(const struct filter_summary *filter, const struct report_sum *sum,
                      double rate, struct json *json)
{
    json_count(json, "capacity", filter->capacity);
    json_count(json, "max_capacity", filter->max_capacity);
    json_count(json, "keys_estimate", report_sum_keys(sum, filter->nslices));
    json_number(json, "fill", report_sum_fill(sum, filter->nslices, filter->capacity));
    json_number(json, "rate", filter->rate);
    json_number(json, "rate_now", rate);
    json_count(json, "copy_bytes",
               filter->shard_bytes * filter->nshards * window_sets(filter->nslices));
    json_count(json, "window_us", filter->window_us);
    json_text(json, "when_full", when_full_name(filter->when_full));
    json_text(json, "durability", durability_name(filter->durability));
}

/* What its nodes say when they are asked: so the first answer does not know it yet. */
static void put_measured(struct measured *measured, uint64_t now_us, uint64_t filter_id,
                         struct json *json)
{
    measured_want(measured, now_us, filter_id);
    measured_rate_json(json, measured_of(measured, now_us, filter_id));
}

static void put_replicas(const struct filter_summary *filter, const struct tally *tally,
                         struct json *json)
{
    json_count(json, "replicas", filter->rule.replicas);
    json_count(json, "write_quorum", filter->rule.write);
    json_count(json, "read_quorum", filter->rule.read);
    json_count(json, "shards", filter->nshards);
    json_count(json, "replicas_full", tally->sum.full);
    json_count(json, "replicas_joining", tally->sum.joining);
    json_count(json, "replicas_building", tally->sum.building);
    json_count(json, "shards_lacking", tally->nlacking);
    json_count(json, "fewest_full", tally->fewest);
    json_bool(json, "served",
              filter->state == FILTER_ACTIVE &&
                  (tally->nlacking == 0 || tally->fewest >= tally_needed(&filter->rule)));
}

static enum status put_filter(const struct coordinator *self, uint64_t now_us,
                              const struct filter_document *document, struct json *json)
{
    struct filter_summary filter;
    struct tally tally;
    enum status status = tally_filter(self, now_us, document, &tally);

    if (status != STATUS_OK) {
        return status;
    }
    answer_filter_summary(document, &filter);
    json_begin(json, NULL, '{');
    json_text(json, "name", filter.name);
    json_count(json, "id", filter.id);
    json_text(json, "state", filter_state_name(filter.state));
    put_sizes(&filter, &tally.sum, expected_rate(self, now_us, &filter, &tally), json);
    put_measured(self->measured, now_us, filter.id, json);
    put_pace(self, now_us, document, report_sum_keys(&tally.sum, document->nslices), json);
    put_replicas(&filter, &tally, json);
    json_bool(json, "growing", expansion_running(document));
    json_bool(json, "changing", survey_is_changing(self, document));
    json_count(json, "sites", document_sites(document)->count);
    json_end(json, '}');
    return json->status;
}

/* ---- the page ---- */

static bool matches(const struct filter_document *document, const char *q)
{
    return document->content.state != FILTER_DROPPED &&
           strcasestr(document->content.name, q) != NULL;
}

static enum status put_page(const struct coordinator *self, uint64_t now_us,
                            const struct wanted *wanted, struct json *json, uint64_t *total)
{
    const struct document_cache *documents = &self->documents;
    uint64_t first = (wanted->page - 1) * wanted->size;
    enum status status = STATUS_OK;

    *total = 0;
    for (size_t i = 0; i < documents->count && status == STATUS_OK; i++) {
        const struct filter_document *document = &documents->by_name[i]->document;

        if (!matches(document, wanted->q)) {
            continue;
        }
        if (*total >= first && *total - first < wanted->size) {
            status = put_filter(self, now_us, document, json);
        }
        (*total)++;
    }
    return status;
}

enum status web_tell_filters(struct coordinator *coordinator, uint64_t now_us,
                             const struct web_question *question, struct buffer *out)
{
    struct json json = json_to(out);
    struct wanted wanted;
    const char *wrong = read_question(question, &wanted);
    enum status status;
    uint64_t total;

    assert(coordinator->survey != NULL);
    if (wrong != NULL) {
        return refuse(wrong, out);
    }
    json_begin(&json, NULL, '{');
    json_text(&json, "q", wanted.q);
    json_count(&json, "page", wanted.page);
    json_count(&json, "size", wanted.size);
    json_begin(&json, "filters", '[');
    status = put_page(coordinator, now_us, &wanted, &json, &total);
    json_end(&json, ']');
    json_count(&json, "total", total);
    json_count(&json, "pages", (total + wanted.size - 1) / wanted.size);
    json_end(&json, '}');
    return status == STATUS_OK ? json.status : status;
}
