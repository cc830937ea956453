/* Families are told one after the other, so what is told of each filter is gathered first. */
#include "coordinator/view/filter_metrics.h"

#include "base/heap.h"
#include "coordinator/rounds.h"
#include "coordinator/view/tally.h"
#include "map/history/expansion.h"
#include "map/history/rebuild.h"
#include "map/history/window.h"
#include "proto/answers.h"
#include "proto/rate.h"

#include <stdlib.h>
#include <string.h>

/* Of a filter, or of several together. */
static const struct {
    const char *name;
    const char *help;
} counts[METRICS_FILTER_COUNTS] = {
    [METRICS_FILTER_CAPACITY] = {"orbloom_filter_capacity_keys", "distinct keys that it is for"},
    [METRICS_FILTER_KEYS] = {"orbloom_filter_keys", "distinct keys, as estimated by its replicas"},
    [METRICS_FILTER_BYTES] = {"orbloom_filter_bytes", "arrays of one copy, of which it has N"},
    [METRICS_FILTER_LACKING] = {"orbloom_filter_shards_under_replicated",
                                "shards with fewer than N replicas that are FULL"},
    [METRICS_FILTER_LOST] = {"orbloom_filter_quorum_lost",
                             "1: some shard has too few replicas to be served"},
    [METRICS_FILTER_REFUSED] = {"orbloom_filter_growth_refused", "1: due to grow, and can't"},
};

/* Of a single one. */
enum ratio { FILL, EXPECTED, ASKED, RATIOS };

static const struct {
    const char *name;
    const char *help;
} ratios[RATIOS] = {
    [FILL] = {"orbloom_filter_fill_ratio", "keys by capacity; of a window in its fullest slice"},
    [EXPECTED] = {"orbloom_filter_expected_false_positive_ratio",
                  "share of absent keys that is said to be present, by its keys and arrays"},
    [ASKED] = {"orbloom_filter_asked_false_positive_ratio", "... that it was made for"},
};

/* What may be under way with one, and how far it is. */
enum change { GROWTH, MOVE, LOAD, CHANGES };

static const char *const changes[CHANGES] = {
    [GROWTH] = "growth",
    [MOVE] = "move",
    [LOAD] = "load",
};

struct told {
    const char *name;
    uint64_t limit; /* 0: no such thing */
    uint64_t generations;
    uint64_t counts[METRICS_FILTER_COUNTS];
    double ratios[RATIOS];
    bool changing[CHANGES];
    double progress[CHANGES];
};

/* ---- one filter ---- */

static uint64_t copy_bytes(const struct filter_document *document)
{
    return document_shard_bytes(document) * document_nshards(document) *
           window_sets(document->nslices) * document->content.nkeysets;
}

/* What it may come to have while no operator helps; of a window 0, which forgets. */
static uint64_t limit_keys(const struct filter_document *document)
{
    if (document->nslices > 0) {
        return 0;
    }
    return expansion_makes_room(document) ? document->max_capacity : document->capacity;
}

static bool refuses_growth(const struct coordinator *self, uint64_t filter_id)
{
    const struct expanding *expanding = notes_find(&self->notes, NOTE_EXPANDING, filter_id);

    return expanding != NULL && expanding->refused[0] != '\0';
}

static void count_filter(const struct coordinator *self, const struct filter_document *document,
                         const struct tally *tally, uint64_t out[METRICS_FILTER_COUNTS])
{
    out[METRICS_FILTER_CAPACITY] += document->capacity;
    out[METRICS_FILTER_KEYS] += report_sum_keys(&tally->sum, document->nslices);
    out[METRICS_FILTER_BYTES] += copy_bytes(document);
    out[METRICS_FILTER_LACKING] += tally->nlacking;
    out[METRICS_FILTER_LOST] += tally->fewest < tally_needed(&document->content.rule);
    out[METRICS_FILTER_REFUSED] += refuses_growth(self, document->id);
}

/* Reports of a filter, of nodes that live; how many. heap_free() them. */
static size_t gather_reports(const struct coordinator *self, uint64_t now_us, uint64_t filter_id,
                             struct replica_report **out)
{
    size_t room = 0;
    size_t count = 0;

    *out = NULL;
    for (size_t i = 0; i < self->nheard; i++) {
        size_t more;
        const struct replica_report *reports = heard_reports(&self->heard[i], filter_id, &more);

        if (more > 0 && coordinator_lately(self, now_us, self->heard[i].last_us) &&
            heap_grow(out, &room, count + more, sizeof **out)) {
            memcpy(*out + count, reports, more * sizeof **out);
            count += more;
        }
    }
    return count;
}

/* Which replicas answer from which arrays matters only while these change. */
static double expected_rate(const struct coordinator *self, uint64_t now_us,
                            const struct filter_document *document, const struct report_sum *sum)
{
    struct replica_report *reports = NULL;
    struct info_reply reply = {0};
    double rate;

    answer_filter_summary(document, &reply.filter);
    if (expansion_running(document) && !document_is_chain(document)) {
        reply.nreplicas = gather_reports(self, now_us, document->id, &reports);
        reply.replicas = reports;
    }
    rate = rate_now(&reply, sum);
    heap_free(reports);
    return rate;
}

static void tell_change(struct told *out, enum change change, bool goes_on, double progress)
{
    out->changing[change] = goes_on;
    out->progress[change] = progress;
}

static enum status describe(const struct coordinator *self, uint64_t now_us,
                            const struct document_entry *entry, struct told *out)
{
    const struct filter_document *document = &entry->document;
    struct tally tally;
    enum status status = tally_filter(self, now_us, document, &tally);

    if (status != STATUS_OK) {
        return status;
    }
    *out = (struct told){.name = document->content.name,
                         .limit = limit_keys(document),
                         .generations = document->ngenerations};
    count_filter(self, document, &tally, out->counts);
    out->ratios[FILL] = report_sum_fill(&tally.sum, document->nslices, document->capacity);
    out->ratios[EXPECTED] = expected_rate(self, now_us, document, &tally.sum);
    out->ratios[ASKED] = document->rate;
    tell_change(out, GROWTH, expansion_running(document), tally.grown);
    tell_change(out, MOVE, rounds_is_moving(document), tally.progress);
    tell_change(out, LOAD, document_is_loading(document),
                (double)(document->loaded - DOCUMENT_LOAD_FIRST) /
                    (double)(DOCUMENT_LOAD_END - DOCUMENT_LOAD_FIRST));
    return STATUS_OK;
}

/* ---- which of them ---- */

/* A filter that serves by its name, by its place among all. */
struct place {
    uint64_t capacity;
    size_t at;
};

/* By the ids of filters. */
static int compare_ids(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    return (a->at > b->at) - (a->at < b->at);
}

static int compare_sizes(const void *left, const void *right)
{
    const struct place *a = left;
    const struct place *b = right;

    if (a->capacity != b->capacity) {
        return a->capacity > b->capacity ? -1 : 1;
    }
    return compare_ids(left, right);
}

/* The largest first, if not all are to be told. */
static size_t list_filters(const struct coordinator *self, struct place *out)
{
    size_t count = 0;

    for (size_t i = 0; i < self->documents.count; i++) {
        const struct filter_document *document = &self->documents.by_id[i]->document;

        if (document->content.state == FILTER_ACTIVE) {
            out[count++] = (struct place){document->capacity, i};
        }
    }
    if (count > self->config.metrics_filters) {
        qsort(out, count, sizeof *out, compare_sizes);
    }
    return count;
}

static const struct document_entry *entry_at(const struct coordinator *self,
                                             const struct place *place)
{
    return self->documents.by_id[place->at];
}

static void begin_pass(struct filters_rest *rest)
{
    memset(rest->going, 0, sizeof rest->going);
    rest->next_id = 0;
}

/* In the order of ids, so that a pass goes on whichever filters have come and gone. Where one step
 * suffices for all, what an earlier pass was at is void. */
static enum status add_rest(struct coordinator *self, uint64_t now_us, struct place *places,
                            size_t count)
{
    struct filters_rest *rest = &self->rest;
    size_t at = 0;

    if (count <= METRICS_REST_STEP) {
        begin_pass(rest);
    }
    qsort(places, count, sizeof *places, compare_ids);
    while (at < count && entry_at(self, &places[at])->document.id < rest->next_id) {
        at++;
    }
    for (size_t steps = 0; at < count && steps < METRICS_REST_STEP; steps++, at++) {
        const struct filter_document *document = &entry_at(self, &places[at])->document;
        struct tally tally;
        enum status status = tally_filter(self, now_us, document, &tally);

        if (status != STATUS_OK) {
            return status;
        }
        count_filter(self, document, &tally, rest->going);
        rest->next_id = document->id + 1;
    }
    if (at == count) {
        memcpy(rest->found, rest->going, sizeof rest->found);
        begin_pass(rest);
    }
    return STATUS_OK;
}

/* ---- telling ---- */

static void tell_counts(const struct told *filters, size_t count, const struct filters_rest *rest,
                        struct metrics *metrics)
{
    for (unsigned which = 0; which < METRICS_FILTER_COUNTS; which++) {
        metrics_family(metrics, counts[which].name, METRICS_GAUGE, counts[which].help);
        for (size_t i = 0; i < count; i++) {
            const struct metrics_label label = {"filter", filters[i].name};

            metrics_count(metrics, &label, 1, filters[i].counts[which]);
        }
        metrics_count(metrics, &(struct metrics_label){"filter", ""}, 1, rest->found[which]);
    }
}

static void tell_ratios(const struct told *filters, size_t count, struct metrics *metrics)
{
    for (unsigned which = 0; which < RATIOS; which++) {
        metrics_family(metrics, ratios[which].name, METRICS_GAUGE, ratios[which].help);
        for (size_t i = 0; i < count; i++) {
            const struct metrics_label label = {"filter", filters[i].name};

            metrics_ratio(metrics, &label, 1, filters[i].ratios[which]);
        }
    }
}

static void tell_limits(const struct told *filters, size_t count, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_filter_limit_keys", METRICS_GAUGE,
                   "distinct keys that it may have by itself, grown as far as it may");
    for (size_t i = 0; i < count; i++) {
        const struct metrics_label label = {"filter", filters[i].name};

        if (filters[i].limit > 0) {
            metrics_count(metrics, &label, 1, filters[i].limit);
        }
    }
}

static void tell_generations(const struct told *filters, size_t count, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_filter_generations", METRICS_GAUGE,
                   "geometries of its arrays that there are");
    for (size_t i = 0; i < count; i++) {
        const struct metrics_label label = {"filter", filters[i].name};

        metrics_count(metrics, &label, 1, filters[i].generations);
    }
}

static void tell_changes(const struct told *filters, size_t count, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_change_progress_ratio", METRICS_GAUGE,
                   "how far a change is that is under way");
    for (size_t i = 0; i < count; i++) {
        for (unsigned change = 0; change < CHANGES; change++) {
            const struct metrics_label labels[] = {{"filter", filters[i].name},
                                                   {"change", changes[change]}};

            if (filters[i].changing[change]) {
                metrics_ratio(metrics, labels, 2, filters[i].progress[change]);
            }
        }
    }
}

static void tell_all(const struct coordinator *self, const struct told *filters, size_t count,
                     size_t all, struct metrics *metrics)
{
    metrics_family(metrics, "orbloom_filters", METRICS_GAUGE, "filters that there are");
    metrics_count(metrics, NULL, 0, all);
    tell_counts(filters, count, &self->rest, metrics);
    tell_ratios(filters, count, metrics);
    tell_limits(filters, count, metrics);
    tell_generations(filters, count, metrics);
    tell_changes(filters, count, metrics);
}

/* Of two of one name, while one is to take the place of the other, who has it. */
static bool has_its_name(const struct coordinator *self, const struct document_entry *entry)
{
    return document_cache_find_name(&self->documents, entry->document.content.name) == entry;
}

/* The first `most` of them; *count: how many of these. */
static enum status describe_all(const struct coordinator *self, uint64_t now_us,
                                const struct place *places, size_t most, struct told *out,
                                size_t *count)
{
    enum status status = STATUS_OK;

    *count = 0;
    for (size_t i = 0; i < most && status == STATUS_OK; i++) {
        const struct document_entry *entry = entry_at(self, &places[i]);

        if (has_its_name(self, entry)) {
            status = describe(self, now_us, entry, &out[(*count)++]);
        }
    }
    return status;
}

void filter_metrics_tell(struct coordinator *self, uint64_t now_us, struct metrics *metrics)
{
    struct place *places = heap_alloc(self->documents.count, sizeof *places);
    size_t all = places != NULL ? list_filters(self, places) : 0;
    size_t most = all < self->config.metrics_filters ? all : self->config.metrics_filters;
    struct told *filters = heap_alloc(most, sizeof *filters);
    enum status status = places != NULL && filters != NULL ? STATUS_OK : STATUS_NOMEM;
    size_t count = 0;

    if (status == STATUS_OK) {
        status = describe_all(self, now_us, places, most, filters, &count);
    }
    if (status == STATUS_OK) {
        status = add_rest(self, now_us, places + most, all - most);
    }
    if (status == STATUS_OK) {
        tell_all(self, filters, count, all, metrics);
    } else {
        metrics_fail(metrics, status);
    }
    heap_free(filters);
    heap_free(places);
}
