/* `orbloom site`: the sites that links of this one know, which filters are in them, and changes of
 * that. */
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/commands/site_change.h"
#include "cli/commands/site_order.h"
#include "cli/show/sites.h"
#include "cli/site_lag.h"

#include <inttypes.h>
#include <string.h>

struct site_settings {
    struct flags_common common;
    const char *confirmed_off;
    bool now;
    bool detach;
    bool json;
};

#define FIELD(name) offsetof(struct site_settings, name)

static const struct option options[] = {
    {
        .name = "now",
        .kind = OPTION_SWITCH,
        .offset = FIELD(now),
        .help = "remove: at once, as the site is off for good",
    },
    {
        .name = "confirmed-off",
        .kind = OPTION_TEXT,
        .offset = FIELD(confirmed_off),
        .sample = "SITE",
        .range = "the same site",
        .help = "with --now: vouch that nothing of it will ever answer again",
    },
    {
        .name = "detach",
        .kind = OPTION_SWITCH,
        .offset = FIELD(detach),
        .help = "add, remove, resync: return as soon as it has begun",
    },
    {
        .name = "json",
        .kind = OPTION_SWITCH,
        .offset = FIELD(json),
        .help = "for programs",
    },
    FLAGS_COMMON,
};

static const struct option_table table = {
    .program = "orbloom",
    .command = "site",
    .words = "[NAME] | add NAME SITE | remove NAME SITE | pause SITE [NAME] | resume SITE [NAME] | "
             "resync NAME SITE",
    .summary = "Show which filters are in which sites; add, remove, pause or compare a site.",
    .notes =
        "A site is one cluster; links connect it to others. Without add or remove: the sites that\n"
        "links of this one know, and the filters that are in several, or NAME; for what each of\n"
        "them waits, how far behind it is, and which can't come here, and why.\n\n"
        "add     SITE is to have filter NAME, too: it makes its own, takes adds, copies what the\n"
        "        others have, and then answers as they do. Adds and checks here go on. One that\n"
        "        had left, or was removed, may be added again; what it has kept comes along.\n"
        "remove  SITE gives NAME up. Given at SITE itself, which takes no adds of it any more; it\n"
        "        has left once the others have all that was acknowledged there.\n"
        "        With --now --confirmed-off SITE at any other one: SITE is off for good, with "
        "what\n"
        "        nobody else has.\n\n"
        "pause   nothing of NAME, or of any filter, is sent to SITE or taken from there until\n"
        "resume  says so. As in a cut both sites go on; checks with a bound and adds that wait\n"
        "        for SITE end BEHIND. What is then beyond site_retain is copied.\n"
        "resync  all that SITE has of NAME is compared with what is here, by copying it once\n"
        "        more. Until it is through checks with a bound here end BEHIND.\n\n"
        "add, remove and resync show how far they are, until they are there; Ctrl-C leaves them\n"
        "going on. The timeout is that of each question to a coordinator.\n\n"
        "Examples:\n"
        "  orbloom site urls\n"
        "  orbloom site add urls us\n"
        "  orbloom site remove urls us --now --confirmed-off us\n"
        "  orbloom site pause us\n\n"
        "Exit: 0 shown, or it is there, or with --detach has begun; 1 not, or left before the "
        "end;\n"
        "2 wrong usage.",
    .options = options,
    .count = sizeof options / sizeof options[0],
    .max_words = 3,
};

/* ---- for people ---- */

static void show_site(const struct site_summary *site)
{
    char id[SITE_ID_TEXT_BYTES];

    (void)printf("  %-32s %s  ", site->name, site_id_show(&site->id, id));
    if (site->own) {
        (void)printf("this site, %" PRIu32 " links", site->links);
    } else if (site->links > 0 && site->round_trip_us > 0) {
        (void)printf("connected by %" PRIu32 " links, %.1f ms", site->links,
                     (double)site->round_trip_us / 1000);
    } else if (site->links > 0) {
        (void)printf("connected by %" PRIu32 " links", site->links);
    } else {
        (void)printf("not connected");
    }
    (void)printf("%s\n", site->paused ? ", paused here for all filters" : "");
}

static const char *standing_text(const struct site_standing *standing)
{
    if (standing == NULL) {
        return "";
    }
    return !standing->told         ? ", nothing heard of it"
           : standing->says_absent ? ""
           : standing->takes_adds  ? ", says no \"absent\" yet"
                                   : ", takes no adds";
}

static const char *absent_text(const struct site_set *sites)
{
    enum site_state own = sites->own < sites->count ? sites->entries[sites->own].state
                                                    : SITE_COUNTED;

    if (own == SITE_GONE) {
        return "has left, and can be dropped here";
    }
    return own == SITE_LEAVING   ? "says no \"absent\" any more"
           : !sites->says_absent ? "says no \"absent\" yet"
           : sites->settled      ? "says \"absent\""
                                 : "says \"absent\", but to no check with a bound";
}

static void show_lag(const struct site_lag *lag)
{
    char text[SITE_LAG_TEXT_BYTES];

    if (lag != NULL) {
        (void)printf("      from it: %s\n", site_lag_show_in(lag, text));
        (void)printf("      to it: %s\n", site_lag_show_out(lag, text));
    }
}

static void show_filter(const struct filter_sites *filter, const struct site_lags *lags)
{
    const struct site_set *sites = &filter->sites;

    (void)printf("  %s: %s, %s\n", filter->name, sites->takes_adds ? "takes adds" : "takes no adds",
                 absent_text(sites));
    for (uint32_t i = 0; i < sites->count; i++) {
        (void)printf("    %-32s %s%s%s%s\n", sites->entries[i].name,
                     site_state_name(sites->entries[i].state), i == sites->own ? ", this site" : "",
                     standing_text(sites_standing_of(filter, &sites->entries[i].id)),
                     sites->entries[i].paused ? ", paused here" : "");
        show_lag(site_lags_find(lags, filter->filter_id, &sites->entries[i].id));
    }
    if (filter->awaited[0] != '\0') {
        (void)printf("    waits for %s\n", filter->awaited);
    }
}

static void show_refusal(const struct site_refusal *refusal)
{
    (void)printf("  %s, of site %s: %s\n", refusal->name, refusal->site, refusal->reason);
}

static void show_page(const struct site_page *page, const struct site_lags *lags)
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
        show_filter(&page->filters[i], lags);
    }
    if (page->nfilters == 0) {
        (void)printf("  none is in several sites\n");
    }
    if (page->filters_left > 0) {
        (void)printf("  and %" PRIu64 " more; name one\n", page->filters_left);
    }
    if (page->nrefusals > 0) {
        (void)printf("filters that can't come here\n");
    }
    for (size_t i = 0; i < page->nrefusals; i++) {
        show_refusal(&page->refusals[i]);
    }
}

/* ---- the command ---- */

static int show(void *context, const struct frame *frame)
{
    const struct site_settings *settings = context;
    const struct site_page *page = &frame->body.admin_reply.sites;
    struct site_lags lags;
    struct json json;

    if (page->site == NULL) {
        return cmd_fail(STATUS_VERSION, "the coordinator tells nothing of sites: it is of an "
                                        "earlier version; upgrade it");
    }
    site_lags_ask(&settings->common, page, &lags);
    if (settings->json) {
        json_open(&json, stdout);
        sites_json(&json, NULL, page, &lags);
    } else {
        show_page(page, &lags);
    }
    site_lags_fini(&lags);
    return CMD_OK;
}

static int list(struct site_settings *settings, const char *name)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};

    if (settings->now || settings->confirmed_off != NULL || settings->detach) {
        return cmd_fail(STATUS_USAGE,
                        "--now, --confirmed-off and --detach go with add, remove or resync; "
                        "usage: orbloom site %s",
                        table.words);
    }
    if (name[0] != '\0' && !cmd_check_filter_name(name)) {
        return CMD_USAGE;
    }
    frame.body.admin_request = (struct admin_request){
        .action = ADMIN_SITE,
        .name = name,
        .successor = "",
        .site = {.step = SITE_STEP_LIST, .site = ""},
    };
    return cmd_ask(&settings->common, &frame, show, settings);
}

static int check_change(const struct site_settings *settings, const struct site_wish *wish)
{
    int code;

    if (settings->json) {
        return cmd_fail(STATUS_USAGE, "--json goes without add and remove");
    }
    code = site_check_name(span_text(wish->site));
    if (code != CMD_OK) {
        return code;
    }
    if (settings->now != (settings->confirmed_off != NULL)) {
        return cmd_fail(STATUS_USAGE, "--now and --confirmed-off SITE go together");
    }
    if (settings->now && strcmp(settings->confirmed_off, wish->site) != 0) {
        return cmd_fail(STATUS_USAGE, "--confirmed-off names another site than the one to remove");
    }
    if (settings->now && wish->step == SITE_STEP_ADD) {
        return cmd_fail(STATUS_USAGE, "--now goes with remove");
    }
    return cmd_check_filter_name(wish->name) ? CMD_OK : CMD_USAGE;
}

static int order(const struct site_settings *settings, const struct site_wish *wish)
{
    int code;

    if (settings->json || settings->now || settings->confirmed_off != NULL ||
        (settings->detach && wish->step != SITE_STEP_RESYNC)) {
        return cmd_fail(STATUS_USAGE,
                        "pause, resume and resync take no --json, --now or --confirmed-off, and "
                        "--detach goes with resync alone");
    }
    code = site_check_name(span_text(wish->site));
    if (code != CMD_OK) {
        return code;
    }
    if (wish->name[0] != '\0' && !cmd_check_filter_name(wish->name)) {
        return CMD_USAGE;
    }
    return site_order(&settings->common, wish, settings->detach);
}

/* False: the words mean nothing. */
static bool read_wish(const struct option_words *words, struct site_wish *wish)
{
    const char *word = words->items[0];
    bool named = words->count == 3;

    wish->step = site_order_step(word);
    if (wish->step == SITE_STEP_PAUSE || wish->step == SITE_STEP_RESUME) {
        wish->site = words->items[1];
        wish->name = named ? words->items[2] : "";
        return true;
    }
    if (wish->step == 0) {
        wish->step = strcmp(word, "add") == 0      ? SITE_STEP_ADD
                     : strcmp(word, "remove") == 0 ? SITE_STEP_LEAVE
                                                   : (enum site_step)0;
    }
    wish->name = words->items[1];
    wish->site = named ? words->items[2] : "";
    return named && wish->step != 0;
}

static int run(int argc, char **argv)
{
    struct site_settings settings = {0};
    struct site_wish wish = {0};
    struct option_words words;
    int code;

    if (options_parse_command(&table, argc, argv, &settings, &words) != STATUS_OK) {
        return CMD_USAGE;
    }
    if (words.count < 2) {
        return list(&settings, words.count > 0 ? words.items[0] : "");
    }
    if (!read_wish(&words, &wish)) {
        return cmd_fail(STATUS_USAGE, "usage: orbloom site %s", table.words);
    }
    if (site_order_step(words.items[0]) != 0) {
        return order(&settings, &wish);
    }
    code = check_change(&settings, &wish);
    if (code != CMD_OK) {
        return code;
    }
    wish.step = settings.now ? SITE_STEP_REMOVE : wish.step;
    return site_change(&settings.common, &wish, settings.detach);
}

static const struct command command = {.flags = &table, .run = run};

const struct command *cmd_site(void)
{
    return &command;
}
