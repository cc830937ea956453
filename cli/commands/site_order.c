/* A comparison is over when links tell that all of that site has come by the newest order. */
#include "cli/commands/site_order.h"

#include "base/number.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/commands/watch.h"
#include "runtime/hub.h"

#include <stdio.h>
#include <string.h>

enum site_step site_order_step(const char *word)
{
    return strcmp(word, "pause") == 0    ? SITE_STEP_PAUSE
           : strcmp(word, "resume") == 0 ? SITE_STEP_RESUME
           : strcmp(word, "resync") == 0 ? SITE_STEP_RESYNC
                                         : (enum site_step)0;
}

/* ---- how far ---- */

static const struct site_entry *find_entry(const struct site_set *sites, const char *name)
{
    for (uint32_t i = 0; i < sites->count; i++) {
        if (sites->entries[i].state != SITE_GONE &&
            strncmp(sites->entries[i].name, name, SITE_NAME_BYTES) == 0) {
            return &sites->entries[i];
        }
    }
    return NULL;
}

static uint64_t keys_of(const struct filter_sites *filter, const struct site_id *id)
{
    for (size_t i = 0; i < filter->nothers; i++) {
        if (site_id_equal(&filter->others[i].id, id)) {
            return filter->others[i].keys;
        }
    }
    return 0;
}

static void tell(const struct filter_sites *filter, const struct site_entry *entry,
                 const struct site_lag *lag, char text[SITE_LINE_BYTES])
{
    char taken[NUMBER_TEXT_BYTES];
    char keys[NUMBER_TEXT_BYTES];
    char in[SITE_LAG_TEXT_BYTES];

    if (lag == NULL || lag->resync < entry->resync) {
        (void)snprintf(text, SITE_LINE_BYTES, "links have not begun yet");
        return;
    }
    (void)snprintf(text, SITE_LINE_BYTES, "%s keys taken, %.32s has about %s; %.120s",
                   number_show_count(lag->in_keys, taken), entry->name,
                   number_show_count(keys_of(filter, &entry->id), keys), site_lag_show_in(lag, in));
}

enum site_progress site_order_progress(const struct filter_sites *filter, const char *site,
                                       const struct site_lags *lags, char text[SITE_LINE_BYTES])
{
    const struct site_entry *entry = find_entry(&filter->sites, site);
    const struct site_lag *lag = entry != NULL ? site_lags_find(lags, filter->filter_id, &entry->id)
                                               : NULL;

    text[0] = '\0';
    if (entry == NULL || entry->paused) {
        return SITE_OVERTAKEN;
    }
    if (lag != NULL && lag->resync >= entry->resync && lag->copied) {
        return SITE_THERE;
    }
    tell(filter, entry, lag, text);
    return SITE_GOES_ON;
}

/* ---- watching ---- */

struct resync {
    struct watch watch; /* first */
    const struct flags_common *common;
    const struct site_wish *wish;
};

static enum site_progress measure(const struct resync *self, const struct site_page *page,
                                  char text[SITE_LINE_BYTES])
{
    enum site_progress progress = SITE_OVERTAKEN;
    struct site_lags lags;

    if (page->site != NULL && page->nfilters == 1) {
        site_lags_ask(self->common, page, &lags);
        progress = site_order_progress(&page->filters[0], self->wish->site, &lags, text);
        site_lags_fini(&lags);
    }
    return progress;
}

static void look(struct watch *watch, const struct admin_reply *reply)
{
    struct resync *self = (struct resync *)watch;
    const struct site_wish *wish = self->wish;
    char text[SITE_LINE_BYTES] = "";
    enum site_progress progress = measure(self, &reply->sites, text);

    if (progress == SITE_GOES_ON) {
        progress_show(&self->watch.progress, hub_now_us(), text);
        return;
    }
    progress_end(&self->watch.progress);
    if (progress == SITE_THERE) {
        (void)printf("%s: all that %s has of it is here\n", wish->name, wish->site);
        watch_end(&self->watch, CMD_OK);
    } else {
        watch_end(&self->watch,
                  cmd_fail(STATUS_CONFLICT, "the site was paused or removed meanwhile; see "
                                            "`orbloom site`"));
    }
}

static int watch(const struct flags_common *common, const struct site_wish *wish)
{
    struct resync self = {.watch = {.look = look}, .common = common, .wish = wish};

    return site_watch(&self.watch, common, wish->name);
}

/* ---- the order ---- */

static int take(void *context, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    const struct site_wish *wish = context;
    bool all = wish->name[0] == '\0';

    (void)fprintf(stderr, "%s%s: %s%s\n", all ? "all filters, " : wish->name, all ? wish->site : "",
                  wish->step == SITE_STEP_PAUSE    ? "nothing is sent or taken any more"
                  : wish->step == SITE_STEP_RESUME ? "what was paused goes on"
                                                   : "all is compared once more",
                  reply->created ? "" : ", as was so before");
    if (reply->message[0] != '\0') {
        (void)fprintf(stderr, "%s\n", reply->message);
    }
    return CMD_OK;
}

int site_order(const struct flags_common *common, const struct site_wish *wish, bool detach)
{
    struct site_wish copy = *wish;
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_SITE_CHANGE,
                               .name = wish->name,
                               .successor = "",
                               .site = {.step = wish->step, .site = wish->site}},
    };
    int code = cmd_ask(common, &frame, take, &copy);

    return code != CMD_OK || detach || wish->step != SITE_STEP_RESYNC ? code : watch(common, wish);
}
