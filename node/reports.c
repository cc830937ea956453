/* What a node tells coordinators of its slot groups: page by page, round by round.
 *
 * A round tells of all, and the next one follows when anything may have changed; else only now and
 * then, the more seldom the more there are, and in between that this node is there.
 *
 * What is new is told at once, in a page about those filters alone: of many, the others would cost
 * more than the news.
 *
 * A page goes to every coordinator, and the next one once they have answered, or with the next
 * interval: never more than one is on its way to each. Where all fits one page only one coordinator
 * is told, in turn, unless something has changed. */
#include "base/mutant.h"
#include "node/private.h"

#include <string.h>

enum {
    MOST_REPORTS = 4096,  /* a page */
    ROUND_EACH_US = 1000, /* a report that says nothing new takes a few microseconds */
};

size_t node_report_most(const struct node *self)
{
    return self->config.report_groups != 0 ? self->config.report_groups : MOST_REPORTS;
}

/* Without a look at the arrays, which would take too long. */
static struct replica_report report_of(const struct node *self, const struct document_entry *entry,
                                       uint32_t group)
{
    const struct hosted_filter *hosted = entry->attachment;
    struct replica_report report = {
        .node_id = self->life.id,
        .incarnation = self->life.incarnation,
        .fence = hosted->fence.epoch,
    };

    hosted_report(hosted, &entry->document, group, 0, &report);
    report.disk_bytes = node_disk_bytes(self, entry, group);
    return report;
}

/* Behind all that is held, if nothing is new: the empty page that says that there is no more. */
static void news_page(const struct node *self, struct report_page *page)
{
    const struct document_cache *documents = &self->documents;
    const struct node_news *news = &self->reporting.news;
    uint64_t last = documents->count > 0 ? documents->by_id[documents->count - 1]->document.id : 0;

    if (news->last == 0) {
        page->from.filter_id = last + 1;
        return;
    }
    page->from = (struct report_place){news->first, news->group};
    page->to.filter_id = news->last < last ? news->last + 1 : 0;
}

size_t node_report_page(const struct node *self, bool whole, struct replica_report *reports,
                        struct report_page *page)
{
    size_t most = node_report_most(self);
    size_t count = 0;

    *page = (struct report_page){0};
    if (whole) {
        page->from = self->reporting.from;
    } else {
        news_page(self, page);
    }
    for (size_t i = document_cache_from(&self->documents, page->from.filter_id);
         i < self->documents.count; i++) {
        const struct document_entry *entry = self->documents.by_id[i];
        const struct hosted_filter *hosted = entry->attachment;
        bool begun = entry->document.id == page->from.filter_id;

        if (!report_page_ends(page) && entry->document.id >= page->to.filter_id) {
            break;
        }
        if (hosted == NULL || hosted->set == NULL) {
            continue;
        }
        for (uint32_t group = begun ? page->from.group : 0; group < hosted->set->ngroups; group++) {
            if (!hosted->set->groups[group].hosted) {
                continue;
            }
            if (count == most) {
                page->to = (struct report_place){entry->document.id, group};
                return count;
            }
            reports[count++] = report_of(self, entry, group);
        }
    }
    return count;
}

/* ---- news ---- */

static void add_news(struct node_news *news, uint64_t first, uint64_t last)
{
    if (news->last == 0 || first <= news->first) {
        news->first = first;
        news->group = 0;
    }
    news->last = last > news->last ? last : news->last;
}

void node_report_news(struct node *self, uint64_t filter_id)
{
    add_news(&self->reporting.news, filter_id, filter_id);
}

bool node_news_may_go(const struct node *self)
{
    return self->reporting.news.open < self->coordinators.count;
}

void node_report_turn(struct node *self, uint64_t now_us)
{
    const struct node_news *news = &self->reporting.news;

    if ((news->last != 0 || news->hinted) && node_news_may_go(self) && self->life.confirmed &&
        now_us >= news->not_before_us && now_us < self->next_sync_us) {
        self->next_sync_us = now_us;
    }
}

/* A page of the round goes whatever is under way, and may take its place. */
void node_report_opened(struct node *self, bool whole)
{
    struct node_news *news = &self->reporting.news;

    if (whole && news->open > 0 && news->sent_last != 0) {
        add_news(news, news->sent_first, news->sent_last);
    }
    news->open = whole ? 1 : news->open + 1;
    news->hinted = false;
}

static void note_answer(struct node_news *news)
{
    news->open -= news->open > 0;
    if (news->open == 0) {
        news->sent_first = news->sent_last = 0;
    }
}

static struct report_mark mark_of(const struct node *self)
{
    struct storage_usage usage = {0};

    if (self->storage != NULL) {
        usage = storage_usage(self->storage);
    }
    return (struct report_mark){
        .log_end = self->storage != NULL ? storage_end(self->storage) : 0,
        .disk_bytes = usage.log_bytes + usage.run_bytes + usage.snapshot_bytes,
        .memory_bytes = self->memory_used_bytes,
        .keys_added = self->counters[NODE_keys_added_total],
        .documents = self->counters[NODE_documents_taken_total] + self->documents.removed,
        .since = self->since,
    };
}

/* Has nothing happened since the last round began, and was that heard to its end? */
static bool is_quiet(const struct node *self, uint64_t now_us)
{
    const struct reporting *reporting = &self->reporting;
    const struct report_mark mark = mark_of(self);

    return now_us < reporting->round_us && memcmp(&mark, &reporting->mark, sizeof mark) == 0 &&
           reporting->from.filter_id == 0 && self->life.refetched && !self->building &&
           !self->expansion.due && node_news_may_go(self);
}

/* One page of the round after the other, as answers come; else one in each interval. */
bool node_report_whole(const struct node *self, uint64_t now_us)
{
    const struct reporting *reporting = &self->reporting;
    bool goes_on = reporting->from.filter_id != 0 && reporting->answers == 0;

    return !self->life.confirmed || reporting->sends > 0 || goes_on || self->reports_due > 0 ||
           (now_us >= reporting->whole_us && !is_quiet(self, now_us));
}

/* What did not fit is news still. */
void node_news_sent(struct node *self, uint64_t now_us, const struct report_page *page)
{
    struct node_news *news = &self->reporting.news;

    if (now_us >= self->reporting.whole_us) { /* That this node is there. */
        self->reporting.whole_us = now_us + self->config.sync_interval_us;
    }

    if (news->sends == 0) {
        news->sends = self->coordinators.count;
    }
    if (news->last != 0) {
        news->sent_first = news->sent_last == 0 || news->first < news->sent_first
                               ? news->first
                               : news->sent_first;
        news->sent_last = news->last > news->sent_last ? news->last : news->sent_last;
    }
    if (--news->sends > 0) {
        return;
    }
    if (!report_page_ends(page) && page->to.filter_id <= news->last) {
        news->first = page->to.filter_id;
        news->group = page->to.group;
    } else {
        news->first = news->last = 0;
        news->group = 0;
    }
}

/* ---- rounds ---- */

/* A page that is not all is told to every coordinator, as each has to hear the whole round. */
static uint32_t sends_of(const struct node *self, bool whole)
{
    if (!whole) {
        return self->coordinators.count;
    }
    return self->reports_due > 1 ? self->reports_due : 1;
}

static void end_page(struct node *self, uint64_t now_us, const struct report_page *page, bool whole)
{
    struct reporting *reporting = &self->reporting;

    reporting->from = page->to;
    if (MUTANT(REPORT_FIRST_PAGE)) {
        reporting->from = (struct report_place){0};
    }
    reporting->more = reporting->from.filter_id != 0 || self->reports_due > 0;
    if (whole && reporting->more) {
        self->next_sync_us = now_us;
    }
}

static void begin_round(struct node *self, uint64_t now_us)
{
    uint64_t round_us = self->documents.count * ROUND_EACH_US;
    uint64_t least_us = self->config.sync_interval_us;

    self->reporting.mark = mark_of(self);
    self->reporting.round_us = now_us + (round_us > least_us ? round_us : least_us);
}

void node_report_sent(struct node *self, uint64_t now_us, const struct report_page *page)
{
    struct reporting *reporting = &self->reporting;
    bool whole = report_page_begins(page) && report_page_ends(page);

    reporting->whole_us = now_us + self->config.sync_interval_us;
    if (reporting->sends == 0) {
        reporting->sends = sends_of(self, whole);
        reporting->answers = 0;
        if (report_page_begins(page)) {
            self->reports_due = 0; /* This round tells it. */
            begin_round(self, now_us);
        }
    }
    reporting->sends--;
    reporting->answers += whole ? 0 : 1;
    self->counters[NODE_report_pages_total] += !whole;
    if (reporting->sends > 0) {
        self->next_sync_us = now_us; /* To the next coordinator, in turn. */
    } else {
        end_page(self, now_us, page, whole);
    }
}

void node_report_answered(struct node *self, uint64_t now_us)
{
    struct reporting *reporting = &self->reporting;

    note_answer(&reporting->news);
    if (reporting->answers > 0 && --reporting->answers == 0 && reporting->sends == 0 &&
        reporting->more) {
        reporting->more = false;
        self->next_sync_us = now_us;
    }
}

void node_report_soon(struct node *self, uint64_t now_us, uint32_t coordinators)
{
    self->reports_due = coordinators > self->reports_due ? coordinators : self->reports_due;
    self->next_sync_us = now_us;
}
