/* Order of places, whether a page of reports is what it says it is, and the search within one;
 * what all reports of a filter say together. */
#include "proto/replica_report.h"

#include "map/history/window.h"

#include <assert.h>

/* ---- pages ---- */

int report_place_compare(struct report_place a, struct report_place b)
{
    if (a.filter_id != b.filter_id) {
        return a.filter_id < b.filter_id ? -1 : 1;
    }
    return a.group < b.group ? -1 : a.group > b.group;
}

static struct report_place place_of(const struct replica_report *report)
{
    return (struct report_place){.filter_id = report->filter_id, .group = report->group};
}

static bool is_stretch(const struct report_page *page)
{
    bool ends = report_page_ends(page);

    if ((report_page_begins(page) && page->from.group != 0) || (ends && page->to.group != 0)) {
        return false;
    }
    return ends || report_place_compare(page->from, page->to) < 0;
}

bool report_page_fits(const struct report_page *page, const struct replica_report *reports,
                      size_t count)
{
    if (!is_stretch(page)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct report_place place = place_of(&reports[i]);

        if (report_place_compare(place, page->from) < 0 ||
            (!report_page_ends(page) && report_place_compare(place, page->to) >= 0) ||
            (i > 0 && report_place_compare(place_of(&reports[i - 1]), place) >= 0)) {
            return false;
        }
    }
    return true;
}

size_t report_place_find(const struct replica_report *reports, size_t count,
                         struct report_place place)
{
    size_t first = 0;

    while (count > 0) {
        size_t half = count / 2;

        if (report_place_compare(place_of(&reports[first + half]), place) < 0) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}

/* ---- the reports of a filter together: keys are counted once for each slot group, by its fullest
 * replica; states are counted for each replica ---- */

static bool is_of(const struct replica_report *report, uint64_t filter_id)
{
    return filter_id == 0 || report->filter_id == filter_id;
}

/* The fullest replica of a group speaks for it: once, at the first place it is listed. */
static bool speaks_for_group(const struct replica_report *reports, size_t count, size_t index,
                             uint64_t filter_id)
{
    const struct replica_report *self = &reports[index];

    for (size_t i = 0; i < count; i++) {
        if (i == index || !is_of(&reports[i], filter_id) || reports[i].group != self->group) {
            continue;
        }
        if (reports[i].keys > self->keys || (reports[i].keys == self->keys && i < index)) {
            return false;
        }
    }
    return true;
}

double report_grown(const struct replica_report *report, uint32_t wanted)
{
    if (report->generation == wanted && report->phase != PHASE_GROWING) {
        return 1;
    }
    return report->phase == PHASE_GROWING ? report->progress : 0;
}

static uint64_t add_capped(uint64_t a, uint64_t b)
{
    return b <= UINT64_MAX - a ? a + b : UINT64_MAX;
}

void report_sum_probes(struct report_sum *self, uint64_t probes, uint64_t hits)
{
    assert(hits <= probes);
    self->probes = add_capped(self->probes, probes);
    self->probe_hits = add_capped(self->probe_hits, hits);
}

struct report_sum report_summarize(const struct replica_report *reports, size_t count,
                                   uint64_t filter_id)
{
    struct report_sum sum = {0};

    for (size_t i = 0; i < count; i++) {
        if (!is_of(&reports[i], filter_id)) {
            continue;
        }
        if (reports[i].state == REPLICA_FULL) {
            report_sum_probes(&sum, reports[i].probes, reports[i].probe_hits);
        }
        sum.full += reports[i].state == REPLICA_FULL;
        sum.joining += reports[i].state == REPLICA_JOINING;
        sum.building += reports[i].state == REPLICA_BUILDING;
        if (speaks_for_group(reports, count, i, filter_id)) {
            sum.keys += reports[i].keys;
            sum.keys_kept += reports[i].keys_kept;
        }
    }
    return sum;
}

double report_sum_fill(const struct report_sum *self, uint32_t nslices, uint64_t capacity)
{
    uint64_t room = window_set_capacity(nslices, capacity);

    return room > 0 ? (double)self->keys / (double)room : 0;
}
