/* Other sites: not connected, paused, behind, or not able to have a filter. */
#include "base/number.h"
#include "cli/doctor/judge.h"

#include <inttypes.h>
#include <stdio.h>

static void judge_site(const struct site_summary *site, struct findings *out)
{
    if (site->own) {
        return;
    }
    if (site->links == 0) {
        findings_tell(out, SEVERITY_WARNING, "site", site->name,
                      "not connected: no link of it is heard of");
        findings_mend(out,
                      "start orbloom-link there, and look at `site_peers` of both sides; one "
                      "that is off for good: `orbloom site remove NAME %s --now "
                      "--confirmed-off %s`",
                      site->name, site->name);
    }
    if (site->paused) {
        findings_tell(out, SEVERITY_WARNING, "site", site->name, "paused here for all filters");
        findings_mend(out, "`orbloom site resume %s`", site->name);
    }
}

static const char *name_of(const struct filter_sites *filter, const struct site_id *id)
{
    const struct site_entry *entry = site_set_find(&filter->sites, id);

    return entry != NULL ? entry->name : "?";
}

static void judge_standing(const struct filter_sites *filter, const struct site_standing *standing,
                           struct findings *out)
{
    if (!standing->told) {
        findings_tell(out, SEVERITY_WARNING, "site", filter->name, "nothing is heard of site %s",
                      name_of(filter, &standing->id));
        findings_mend(out, "`orbloom site %s` shows it; start orbloom-link there", filter->name);
    }
}

/* A pause for all filters is told of the site. */
static void judge_pause(const struct filter_sites *filter, const struct site_entry *entry,
                        struct findings *out)
{
    if (entry->paused) {
        findings_tell(out, SEVERITY_WARNING, "site", filter->name, "paused here for site %s",
                      entry->name);
        findings_mend(out, "`orbloom site resume %s %s`", entry->name, filter->name);
    }
}

static void judge_lag(const char *own, const struct filter_sites *filter,
                      const struct site_lag *lag, struct findings *out)
{
    const char *site = name_of(filter, &lag->id);
    char time[NUMBER_TEXT_BYTES];
    char keys[NUMBER_TEXT_BYTES];

    if (lag->paused_there) {
        findings_tell(out, SEVERITY_WARNING, "site", filter->name, "paused at site %s", site);
        findings_mend(out, "said there: `orbloom site resume %s %s`, or without the filter's name",
                      own, filter->name);
    } else if (lag->sends && lag->pending_us >= JUDGE_SITE_US) {
        findings_tell(out, SEVERITY_WARNING, "site", filter->name,
                      "site %s is %s behind, about %s keys are at risk", site,
                      number_show_duration(lag->pending_us, time),
                      number_show_count(lag->pending_keys, keys));
        findings_mend(out,
                      "`orbloom site %s` tells what is waited for; a line that is too slow: "
                      "`site_rate`, `site_connections`",
                      filter->name);
    }
}

static void judge_filter(const struct gathered *gathered, const char *own,
                         const struct filter_sites *filter, struct findings *out)
{
    for (uint32_t i = 0; i < filter->sites.count; i++) {
        judge_pause(filter, &filter->sites.entries[i], out);
    }
    for (size_t i = 0; i < filter->nothers; i++) {
        const struct site_lag *lag = site_lags_find(&gathered->lags, filter->filter_id,
                                                    &filter->others[i].id);

        judge_standing(filter, &filter->others[i], out);
        if (lag != NULL) {
            judge_lag(own, filter, lag, out);
        }
    }
    if (filter->awaited[0] != '\0') {
        findings_tell(out, SEVERITY_INFO, "site", filter->name, "waits for %s", filter->awaited);
    }
}

static void judge_refusal(const struct site_refusal *refusal, struct findings *out)
{
    findings_tell(out, SEVERITY_WARNING, "site", refusal->name,
                  "site %s wants it here, and it can't be made: %s", refusal->site,
                  refusal->reason);
    findings_mend(out, "`orbloom rename` or `orbloom drop` what stands in the way; or take it back "
                       "there: `orbloom site remove`");
}

void judge_sites(const struct gathered *gathered, struct findings *out)
{
    const struct site_page *page;

    if (gathered->sites.frame == NULL) {
        findings_omit(out, "site", "%s",
                      gathered->sites.asked ? gathered->sites.why
                                            : "no coordinator has told anything");
        return;
    }
    page = &gathered->sites.frame->body.admin_reply.sites;
    if (page->site == NULL) {
        findings_omit(out, "site", "the coordinator is of a version that knows of none");
        return;
    }
    for (size_t i = 0; i < page->nsites; i++) {
        judge_site(&page->sites[i], out);
    }
    if (page->nfilters > 0 && page->nlinks == 0) {
        findings_tell(out, SEVERITY_ERROR, "link", page->site,
                      "filters are in several sites, and no link of this one is heard of");
        findings_mend(out, "start orbloom-link with this site's `site_key_file`");
    }
    for (size_t i = 0; i < page->nfilters; i++) {
        judge_filter(gathered, page->site, &page->filters[i], out);
    }
    for (size_t i = 0; i < page->nrefusals; i++) {
        judge_refusal(&page->refusals[i], out);
    }
    if (page->filters_left > 0) {
        findings_omit(out, "site", "%" PRIu64 " more filters that are in several sites",
                      page->filters_left);
    }
}
