/* A change is answered once it is written; a watch then asks again and again how far it is. */
#include "cli/commands/site_change.h"

#include "base/number.h"
#include "cli/ask.h"
#include "cli/cmd.h"
#include "cli/commands/watch.h"
#include "runtime/hub.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_IDLE = 240, /* answers in a row that tell the same, and nothing to wait for here */
};

/* ---- how far ---- */

static const struct site_entry *find_entry(const struct site_set *sites, const char *name)
{
    const struct site_entry *found = NULL;

    for (uint32_t i = 0; i < sites->count; i++) {
        bool same = strncmp(sites->entries[i].name, name, SITE_NAME_BYTES) == 0;

        if (same && (found == NULL || found->state == SITE_GONE)) {
            found = &sites->entries[i];
        }
    }
    return found;
}

static struct site_standing standing_of(const struct filter_sites *filter, const struct site_id *id)
{
    for (size_t i = 0; i < filter->nothers; i++) {
        if (site_id_equal(&filter->others[i].id, id)) {
            return filter->others[i];
        }
    }
    return (struct site_standing){0};
}

/* Why a newcomer has made nothing its own cluster tells, and knows more of it. */
static void tell_newcomer(const struct site_standing *standing, const struct site_entry *entry,
                          char text[SITE_LINE_BYTES])
{
    char keys[NUMBER_TEXT_BYTES];

    if (!standing->told) {
        (void)snprintf(text, SITE_LINE_BYTES,
                       "%.32s is to make it; if that takes long, `orbloom site` there says why",
                       entry->name);
    } else if (!standing->takes_adds) {
        (void)snprintf(text, SITE_LINE_BYTES, "%.32s waits until all sites know of it",
                       entry->name);
    } else if (entry->state == SITE_JOINING) {
        (void)snprintf(text, SITE_LINE_BYTES,
                       "%.32s takes adds, and copies what the others have; about %s keys so far",
                       entry->name, number_show_count(standing->keys, keys));
    } else {
        (void)snprintf(text, SITE_LINE_BYTES,
                       "%.32s counts, and takes over what was acknowledged before it did",
                       entry->name);
    }
}

static enum site_progress progress_of_add(const struct filter_sites *filter,
                                          const struct site_entry *entry,
                                          char text[SITE_LINE_BYTES])
{
    struct site_standing standing;

    if (entry == NULL || entry->state > SITE_COUNTED) {
        return SITE_OVERTAKEN;
    }
    standing = standing_of(filter, &entry->id);
    if (entry->state == SITE_COUNTED && standing.says_absent) {
        return SITE_THERE;
    }
    tell_newcomer(&standing, entry, text);
    return SITE_GOES_ON;
}

enum site_progress site_progress_of(const struct filter_sites *filter, const struct site_wish *wish,
                                    char text[SITE_LINE_BYTES])
{
    const struct site_entry *entry = find_entry(&filter->sites, wish->site);
    bool gone = entry == NULL || entry->state == SITE_GONE;

    text[0] = '\0';
    if (wish->step == SITE_STEP_ADD) {
        return progress_of_add(filter, entry, text);
    }
    if (gone && (wish->step == SITE_STEP_LEAVE || filter->sites.settled)) {
        return SITE_THERE;
    }
    if (!gone && entry->state != SITE_LEAVING) {
        return SITE_OVERTAKEN;
    }
    (void)snprintf(text, SITE_LINE_BYTES, "%.*s", SITE_LINE_BYTES - 1,
                   filter->awaited[0] != '\0' ? filter->awaited : "the others to take it over");
    return SITE_GOES_ON;
}

static const char *there_text(enum site_step step)
{
    switch (step) {
    case SITE_STEP_ADD:
        return "has it, and answers as all others do";
    case SITE_STEP_LEAVE:
        return "has left; what is still there is dropped with `orbloom drop --here`";
    case SITE_STEP_REMOVE:
    case SITE_STEP_LIST:
    case SITE_STEP_PAUSE:
    case SITE_STEP_RESUME:
    case SITE_STEP_RESYNC:
        break;
    }
    return "is removed, and what it had told the others is with all of them";
}

/* ---- watching ---- */

struct change {
    struct watch watch; /* first */
    const struct site_wish *wish;
    uint32_t idle; /* answers in a row */
    char last[SITE_LINE_BYTES];
};

/* Whatever is awaited is awaited elsewhere, where more is told of it. */
static void look_on(struct change *self, const char *text, bool awaited)
{
    const struct site_wish *wish = self->wish;
    bool same = !awaited && strcmp(text, self->last) == 0;

    self->idle = same ? self->idle + 1 : 0;
    (void)snprintf(self->last, sizeof self->last, "%s", text);
    progress_show(&self->watch.progress, hub_now_us(), text);
    if (self->idle == MAX_IDLE) {
        progress_end(&self->watch.progress);
        (void)fprintf(stderr,
                      "left, as nothing is seen to move here: %s. It goes on by itself; `orbloom "
                      "site %s` at each of its sites shows what it waits for\n",
                      text, wish->name);
        watch_end(&self->watch, CMD_PARTIAL);
    }
}

static void look(struct watch *watch, const struct admin_reply *reply)
{
    struct change *self = (struct change *)watch;
    const struct site_page *page = &reply->sites;
    const struct site_wish *wish = self->wish;
    enum site_progress progress = SITE_OVERTAKEN;
    char text[SITE_LINE_BYTES] = "";

    if (page->site != NULL && page->nfilters == 1) {
        progress = site_progress_of(&page->filters[0], wish, text);
    }
    if (progress == SITE_GOES_ON) {
        look_on(self, text, page->filters[0].awaited[0] != '\0');
        return;
    }
    progress_end(&self->watch.progress);
    if (progress == SITE_THERE) {
        (void)printf("%s: %s %s\n", wish->name, wish->site, there_text(wish->step));
        watch_end(&self->watch, CMD_OK);
    } else {
        watch_end(&self->watch,
                  cmd_fail(STATUS_CONFLICT, "another change was made meanwhile; see `orbloom "
                                            "site`"));
    }
}

int site_watch(struct watch *watch, const struct flags_common *common, const char *filter)
{
    const struct admin_request request = {.action = ADMIN_SITE,
                                          .name = filter,
                                          .successor = "",
                                          .site = {.step = SITE_STEP_LIST, .site = ""}};

    watch_run(watch, common, &request);
    if (!watch->over) {
        (void)fprintf(stderr, "left; it goes on by itself. `orbloom site %s` shows how far it is\n",
                      filter);
        watch->code = CMD_PARTIAL;
    }
    return cmd_close_output(watch->code);
}

static int watch(const struct flags_common *common, const struct site_wish *wish)
{
    struct change self = {.watch = {.look = look}, .wish = wish};

    return site_watch(&self.watch, common, wish->name);
}

/* ---- the change ---- */

static int take(void *context, const struct frame *frame)
{
    const struct site_wish *wish = context;
    bool created = frame->body.admin_reply.created;

    (void)fprintf(stderr, "%s: %s %s%s\n", wish->name, wish->site,
                  wish->step == SITE_STEP_ADD     ? "is to have it, too"
                  : wish->step == SITE_STEP_LEAVE ? "leaves"
                                                  : "is off for good",
                  created ? "" : ", as was asked before");
    return CMD_OK;
}

int site_change(const struct flags_common *common, const struct site_wish *wish, bool detach)
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

    return code != CMD_OK || detach ? code : watch(common, wish);
}

/* ---- several ---- */

struct own {
    char name[SITE_NAME_BYTES];
};

static int take_own(void *context, const struct frame *frame)
{
    const struct site_page *page = &frame->body.admin_reply.sites;
    struct own *own = context;

    for (size_t i = 0; i < page->nsites; i++) {
        if (page->sites[i].own) {
            (void)snprintf(own->name, sizeof own->name, "%s", page->sites[i].name);
        }
    }
    return own->name[0] != '\0'
               ? CMD_OK
               : cmd_fail(STATUS_UNAVAILABLE, "no link has told the coordinator which site this "
                                              "is; start orbloom-link, see `orbloom site`, and add "
                                              "the others with `orbloom site add`");
}

static int ask_own(const struct flags_common *common, struct own *own)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST,
                          .body.admin_request = {.action = ADMIN_SITE,
                                                 .name = "",
                                                 .successor = "",
                                                 .site = {.step = SITE_STEP_LIST, .site = ""}}};

    return cmd_ask(common, &frame, take_own, own);
}

int site_check_name(struct span name)
{
    return site_name_valid(name)
               ? CMD_OK
               : cmd_fail(STATUS_INVALID,
                          "a site's name takes 1 to 32 of a-z, 0-9 and -, and \"%.*s\" is none",
                          (int)(name.size < 60 ? name.size : 60), (const char *)name.data);
}

/* The name that a list begins with; the list is what is behind it then. */
static struct span next_name(const char **sites)
{
    size_t size = strcspn(*sites, ",");
    struct span name = span_of((const uint8_t *)*sites, size);

    *sites += size + ((*sites)[size] == ',');
    return name;
}

int site_check_list(const char *sites)
{
    int code = CMD_OK;

    do {
        code = site_check_name(next_name(&sites));
    } while (code == CMD_OK && *sites != '\0');
    return code;
}

int site_add_all(const struct flags_common *common, const char *name, const char *sites)
{
    struct own own = {""};
    int code = ask_own(common, &own);

    while (code == CMD_OK && *sites != '\0') {
        struct span item = next_name(&sites);
        char site[SITE_NAME_BYTES];

        (void)snprintf(site, sizeof site, "%.*s", (int)item.size, (const char *)item.data);
        if (strcmp(site, own.name) != 0) {
            const struct site_wish wish = {.step = SITE_STEP_ADD, .name = name, .site = site};

            code = site_change(common, &wish, true);
        }
    }
    return code;
}
