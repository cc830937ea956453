/* `orbloom site`: the sites that links of this one know, and which filters are in them. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/output.h"

#include <inttypes.h>

struct site_settings {
    struct flags_common common;
    bool json;
};

static const struct option options[] = {
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = offsetof(struct site_settings, json),
        .help = "for programs",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "site",
    .words = "[NAME]",
    .summary = "Show the sites that links of this one know, and which filters are in them.",
    .notes = "A site is one cluster; links connect it to others. A coordinator tells of the links\n"
             "that have asked it lately, and of the filters whose documents name sites: of all,\n"
             "or of NAME.\n\n"
             "Exit: 0 shown, 1 not, 2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .max_words = 1,
};

/* ---- for people ---- */

static void show_site(const struct site_summary *site)
{
    char id[SITE_ID_TEXT_BYTES];

    (void)printf("  %-32s %s  ", site->name, site_id_show(&site->id, id));
    if (site->own) {
        (void)printf("this site, %" PRIu32 " links\n", site->links);
    } else if (site->links > 0 && site->round_trip_us > 0) {
        (void)printf("connected by %" PRIu32 " links, %.1f ms\n", site->links,
                     (double)site->round_trip_us / 1000);
    } else if (site->links > 0) {
        (void)printf("connected by %" PRIu32 " links\n", site->links);
    } else {
        (void)printf("not connected\n");
    }
}

static void show_filter(const struct filter_sites *filter)
{
    const struct site_set *sites = &filter->sites;

    (void)printf("  %s: %s, %s\n", filter->name, sites->takes_adds ? "takes adds" : "takes no adds",
                 !sites->says_absent ? "says no \"absent\" yet"
                 : sites->settled    ? "says \"absent\""
                                     : "says \"absent\", but to no check with a bound");
    for (uint32_t i = 0; i < sites->count; i++) {
        (void)printf("    %-32s %s%s\n", sites->entries[i].name,
                     site_state_name(sites->entries[i].state),
                     i == sites->own ? ", this site" : "");
    }
}

static void show_page(const struct site_page *page)
{
    (void)printf("sites%s%s\n", page->site[0] != '\0' ? "; this one is " : "", page->site);
    for (size_t i = 0; i < page->nsites; i++) {
        show_site(&page->sites[i]);
    }
    if (page->nsites == 0) {
        (void)printf("  none; no link has asked this coordinator lately\n");
    }
    (void)printf("filters\n");
    for (size_t i = 0; i < page->nfilters; i++) {
        show_filter(&page->filters[i]);
    }
    if (page->nfilters == 0) {
        (void)printf("  none is in several sites\n");
    }
    if (page->filters_left > 0) {
        (void)printf("  and %" PRIu64 " more; name one\n", page->filters_left);
    }
}

/* ---- for programs ---- */

static void put_id(struct json *json, const struct site_id *id)
{
    char text[SITE_ID_TEXT_BYTES];

    json_text(json, "id", site_id_show(id, text));
}

static void put_site(struct json *json, const struct site_summary *site)
{
    json_begin(json, NULL, '{');
    json_text(json, "name", site->name);
    put_id(json, &site->id);
    json_bool(json, "own", site->own);
    json_bool(json, "connected", site->own || site->links > 0);
    json_count(json, "links", site->links);
    json_count(json, "round_trip_us", site->round_trip_us);
    json_end(json, '}');
}

static void put_entry(struct json *json, const struct site_entry *entry, bool own)
{
    json_begin(json, NULL, '{');
    json_text(json, "name", entry->name);
    put_id(json, &entry->id);
    json_text(json, "state", site_state_name(entry->state));
    json_count(json, "life", entry->life.number);
    json_bool(json, "own", own);
    json_end(json, '}');
}

static void put_filter(struct json *json, const struct filter_sites *filter)
{
    const struct site_set *sites = &filter->sites;

    json_begin(json, NULL, '{');
    json_text(json, "name", filter->name);
    json_count(json, "filter_id", filter->filter_id);
    json_bool(json, "takes_adds", sites->takes_adds);
    json_bool(json, "says_absent", sites->says_absent);
    json_bool(json, "settled", sites->settled);
    json_begin(json, "sites", '[');
    for (uint32_t i = 0; i < sites->count; i++) {
        put_entry(json, &sites->entries[i], i == sites->own);
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void put_page(const struct site_page *page)
{
    struct json json;

    json_open(&json, stdout);
    json_begin(&json, NULL, '{');
    json_text(&json, "site", page->site);
    json_begin(&json, "sites", '[');
    for (size_t i = 0; i < page->nsites; i++) {
        put_site(&json, &page->sites[i]);
    }
    json_end(&json, ']');
    json_begin(&json, "filters", '[');
    for (size_t i = 0; i < page->nfilters; i++) {
        put_filter(&json, &page->filters[i]);
    }
    json_end(&json, ']');
    json_count(&json, "filters_left", page->filters_left);
    json_end(&json, '}');
}

static int show(void *context, const struct frame *frame)
{
    const struct site_settings *settings = context;
    const struct site_page *page = &frame->body.admin_reply.sites;

    if (page->site == NULL) {
        return cmd_fail(STATUS_VERSION, "the coordinator tells nothing of sites: it is of an "
                                        "earlier version; upgrade it");
    }
    (settings->json ? put_page : show_page)(page);
    return CMD_OK;
}

static int run(int argc, char **argv)
{
    struct site_settings settings = {0};
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct option_words words;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK ||
        (words.count > 0 && !cmd_check_filter_name(words.items[0]))) {
        return CMD_USAGE;
    }
    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_SITE,
        .name = words.count > 0 ? words.items[0] : "",
        .successor = "",
        .site = {.step = SITE_STEP_LIST},
    };
    return cmd_ask(&settings.common, &frame, show, &settings);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_site(void)
{
    return &command;
}
