/* Order of places, whether a page of reports is what it says it is, and the search within one. */
#include "proto/report_page.h"

int report_place_compare(struct report_place a, struct report_place b)
{
    if (a.filter_id != b.filter_id) {
        return a.filter_id < b.filter_id ? -1 : 1;
    }
    return a.group < b.group ? -1 : a.group > b.group;
}

struct report_place report_place_of(const struct replica_report *report)
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
        struct report_place place = report_place_of(&reports[i]);

        if (report_place_compare(place, page->from) < 0 ||
            (!report_page_ends(page) && report_place_compare(place, page->to) >= 0) ||
            (i > 0 && report_place_compare(report_place_of(&reports[i - 1]), place) >= 0)) {
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

        if (report_place_compare(report_place_of(&reports[first + half]), place) < 0) {
            first += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return first;
}
