/* The worst of a filter's concerns decides how early it is shown in full; the sums cover all
 * filters. */
#include "cli/show/status_brief.h"

#include "base/heap.h"
#include "base/number.h"
#include "cli/show/expansion.h"
#include "cli/show/load.h"
#include "cli/show/window.h"
#include "proto/replica_report.h"

#include <assert.h>
#include <stdio.h>

/* Why one needs attention; the worst first. */
enum concern {
    CONCERN_UNSERVED,
    CONCERN_LACKS,
    CONCERN_REPLACED,
    CONCERN_FULL,
    CONCERN_LOADS,
    CONCERN_REBUILDS,
    CONCERN_DROPS,
    CONCERN_GROWS,
    CONCERN_HELD,
    CONCERN_LOST,
    NCONCERNS,
};

static const char *const concern_words[NCONCERNS] = {
    [CONCERN_UNSERVED] = "too few FULL replicas to be served",
    [CONCERN_LACKS] = "shards with fewer than N FULL replicas",
    [CONCERN_REPLACED] = "replicas to be replaced",
    [CONCERN_FULL] = "due to grow, and can't",
    [CONCERN_LOADS] = "being loaded from a dump",
    [CONCERN_REBUILDS] = "rebuild from a list",
    [CONCERN_DROPS] = "being dropped",
    [CONCERN_GROWS] = "on the way to another size or rate",
    [CONCERN_HELD] = "growth aborted, not by itself any more",
    [CONCERN_LOST] = "a loss was accepted",
};

/* ---- which ---- */

static bool is_changing(const struct admin_reply *reply, uint64_t filter_id)
{
    for (size_t i = 0; i < reply->nchanges; i++) {
        if (reply->changes[i].filter_id == filter_id) {
            return true;
        }
    }
    return false;
}

static bool has(const struct admin_reply *reply, const struct filter_summary *filter,
                enum concern concern)
{
    const struct quorum_rule *rule = &filter->rule;

    switch (concern) {
    case CONCERN_UNSERVED:
        return filter->shards_lacking > 0 &&
               filter->fewest_full < (rule->write > rule->read ? rule->write : rule->read);
    case CONCERN_LACKS:
        return filter->shards_lacking > 0;
    case CONCERN_REPLACED:
        return is_changing(reply, filter->id);
    case CONCERN_FULL:
        return filter->growth_refused[0] != '\0';
    case CONCERN_LOADS:
        return load_is_on(filter);
    case CONCERN_REBUILDS:
        return filter->rebuild_keyset != 0 || filter->rebuild_awaited[0] != '\0';
    case CONCERN_DROPS:
        return filter->state != FILTER_ACTIVE;
    case CONCERN_GROWS:
        return expansion_is_running(filter);
    case CONCERN_HELD:
        return filter->growth_held;
    case CONCERN_LOST:
        return filter->loss_epoch != 0;
    case NCONCERNS:
        break;
    }
    return false;
}

/* NCONCERNS: none. */
static enum concern worst_of(const struct admin_reply *reply, const struct filter_summary *filter)
{
    enum concern concern = CONCERN_UNSERVED;

    while (concern < NCONCERNS && !has(reply, filter, concern)) {
        concern++;
    }
    return concern;
}

size_t status_brief_concerns(const struct admin_reply *reply)
{
    size_t count = 0;

    for (size_t i = 0; i < reply->nfilters; i++) {
        count += worst_of(reply, &reply->filters[i]) < NCONCERNS;
    }
    return count;
}

enum status status_brief_make(const struct admin_reply *reply, struct admin_reply *brief)
{
    struct filter_summary *filters = heap_alloc(STATUS_BRIEF_FILTERS, sizeof *filters);
    struct change_summary *changes = heap_alloc(reply->nchanges, sizeof *changes);
    size_t nfilters = 0;
    size_t nchanges = 0;

    assert(brief->filters == NULL);
    if (filters == NULL || changes == NULL) {
        heap_free(filters);
        heap_free(changes);
        return STATUS_NOMEM;
    }
    for (enum concern concern = CONCERN_UNSERVED; concern < NCONCERNS; concern++) {
        for (size_t i = 0; i < reply->nfilters && nfilters < STATUS_BRIEF_FILTERS; i++) {
            if (worst_of(reply, &reply->filters[i]) == concern) {
                filters[nfilters++] = reply->filters[i];
            }
        }
    }
    *brief = *reply;
    brief->filters = filters;
    brief->nfilters = nfilters;
    for (size_t i = 0; i < reply->nchanges; i++) {
        for (size_t k = 0; k < nfilters; k++) {
            if (reply->changes[i].filter_id == filters[k].id) {
                changes[nchanges++] = reply->changes[i];
            }
        }
    }
    brief->changes = changes;
    brief->nchanges = nchanges;
    return STATUS_OK;
}

void status_brief_free(struct admin_reply *brief)
{
    heap_free((void *)brief->filters);
    heap_free((void *)brief->changes);
    *brief = (struct admin_reply){0};
}

/* ---- sums ---- */

static void show_concerns(const struct admin_reply *reply)
{
    for (enum concern concern = CONCERN_UNSERVED; concern < NCONCERNS; concern++) {
        char text[NUMBER_TEXT_BYTES];
        uint64_t count = 0;

        for (size_t i = 0; i < reply->nfilters; i++) {
            count += has(reply, &reply->filters[i], concern);
        }
        if (count > 0) {
            (void)printf("  %-40s %s\n", concern_words[concern], number_show_count(count, text));
        }
    }
}

static void show_which(size_t concerns)
{
    if (concerns == 0) {
        (void)printf("None needs attention. All of them: orbloom status --all\n");
    } else if (concerns <= STATUS_BRIEF_FILTERS) {
        (void)printf("Those are shown here. All of them: orbloom status --all\n");
    } else {
        (void)printf("The %d worst are shown here. All of them: orbloom status --all\n",
                     STATUS_BRIEF_FILTERS);
    }
}

void status_sums_text(const struct admin_reply *reply)
{
    struct report_sum all = {0};
    uint64_t capacity = 0;
    uint64_t keys = 0;
    char text[3][NUMBER_TEXT_BYTES];

    for (size_t i = 0; i < reply->nfilters; i++) {
        const struct filter_summary *filter = &reply->filters[i];
        struct report_sum sum = report_summarize(reply->replicas, reply->nreplicas, filter->id);

        capacity += filter->capacity;
        keys += report_sum_keys(&sum, filter->nslices);
        all.full += sum.full;
        all.joining += sum.joining;
        all.building += sum.building;
    }
    (void)printf("%s filters for %s keys in sum, with about %s; replicas: %u FULL %u JOINING %u "
                 "BUILDING\n",
                 number_show_count(reply->nfilters, text[0]), number_show_count(capacity, text[1]),
                 number_show_count(keys, text[2]), all.full, all.joining, all.building);
    show_concerns(reply);
    show_which(status_brief_concerns(reply));
}
