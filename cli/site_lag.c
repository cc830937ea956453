/* One question a link, one after the other: there are few. */
#include "cli/site_lag.h"

#include "base/heap.h"
#include "base/number.h"
#include "cli/cmd.h"

#include <stdio.h>
#include <string.h>

enum {
    MARK_WAIT_MS = 900, /* below the time after which a question is asked again */
    LINK_TIMEOUT_US = 3000000,
};

/* ---- asking ---- */

static struct site_lag *find(const struct site_lags *self, uint64_t filter_id,
                             const struct site_id *id)
{
    for (size_t i = 0; i < self->count; i++) {
        if (self->items[i].filter_id == filter_id && site_id_equal(&self->items[i].id, id)) {
            return &self->items[i];
        }
    }
    return NULL;
}

const struct site_lag *site_lags_find(const struct site_lags *self, uint64_t filter_id,
                                      const struct site_id *id)
{
    return find(self, filter_id, id);
}

static int take(void *context, const struct frame *frame)
{
    const struct site_lag_reply *reply = &frame->body.site_lag_reply;
    struct site_lags *self = context;

    for (size_t i = 0; i < reply->nlags; i++) {
        const struct site_lag *told = &reply->lags[i];
        struct site_lag *held = find(self, told->filter_id, &told->id);

        if (held != NULL) {
            site_lag_join(held, told);
        } else if (heap_grow(&self->items, &self->room, self->count + 1, sizeof *self->items)) {
            self->items[self->count++] = *told;
        }
    }
    return CMD_OK;
}

static int pass(void *context, const struct frame *frame)
{
    (void)context;
    (void)frame;
    return CMD_OK;
}

/* Marks of a filter run where somebody wants them: so one is begun, and awaited if it takes no
 * longer than that. */
static void await_mark(const struct flags_common *link, uint64_t filter_id,
                       struct cmd_outcome *outcome)
{
    const struct frame frame = {
        .kind = FRAME_SITE_AGE_REQUEST,
        .body.site_age_request = {.filter_id = filter_id, .wait_ms = MARK_WAIT_MS}};

    (void)cmd_ask_quietly(link, &frame, pass, NULL, outcome);
}

/* Whoever is silent is asked once; a link that has just started may not know the filter yet. */
void site_lags_ask_link(const struct flags_common *link, uint64_t filter_id, struct site_lags *out,
                        struct cmd_outcome *outcome)
{
    const struct frame frame = {.kind = FRAME_SITE_LAG_REQUEST,
                                .body.site_lag_request = {.filter_id = filter_id}};

    *outcome = (struct cmd_outcome){.status = STATUS_OK};
    if (filter_id != 0) {
        await_mark(link, filter_id, outcome);
    }
    if (outcome->status == STATUS_OK || outcome->status == STATUS_NOT_FOUND) {
        (void)cmd_ask_quietly(link, &frame, take, out, outcome);
    }
}

void site_lags_ask(const struct flags_common *common, const struct site_page *page,
                   struct site_lags *out)
{
    uint64_t filter_id = page->nfilters == 1 ? page->filters[0].filter_id : 0;
    struct flags_common link = *common;

    *out = (struct site_lags){0};
    if (link.timeout_us > LINK_TIMEOUT_US) {
        link.timeout_us = LINK_TIMEOUT_US;
    }
    for (size_t i = 0; page->nfilters > 0 && i < page->nlinks; i++) {
        struct cmd_outcome outcome;

        link.routers = page->links[i].endpoint;
        site_lags_ask_link(&link, filter_id, out, &outcome);
        if (outcome.status != STATUS_OK) {
            (void)fprintf(stderr, "the link at %s does not tell how far sites are: %s\n",
                          link.routers, outcome.message);
        }
    }
}

void site_lags_fini(struct site_lags *self)
{
    heap_free(self->items);
    *self = (struct site_lags){0};
}

/* ---- in words ---- */

static void add(char text[SITE_LAG_TEXT_BYTES], const char *before, const char *words,
                const char *after)
{
    size_t used = strlen(text);

    (void)snprintf(text + used, SITE_LAG_TEXT_BYTES - used, "%s%s%s%s", used > 0 ? ", " : "",
                   before, words, after);
}

static const char *paused_by(const struct site_lag *self)
{
    return self->paused_here && self->paused_there ? "paused at both sites"
           : self->paused_here                     ? "paused here"
           : self->paused_there                    ? "paused at the other site"
                                                   : "paused";
}

const char *site_lag_show_in(const struct site_lag *self, char text[SITE_LAG_TEXT_BYTES])
{
    char number[NUMBER_TEXT_BYTES];

    text[0] = '\0';
    if (self->waits == SITE_WAIT_PAUSED) {
        add(text, "", paused_by(self), "");
    } else if (self->waits != SITE_WAIT_NOTHING) {
        add(text, "", site_lag_words_of(self->waits), "");
    }
    if (self->marked) {
        add(text, "all up to ", number_show_duration(self->age_us, number), " ago");
    } else if (self->waits == SITE_WAIT_NOTHING) {
        add(text, "", "received", "");
    }
    if (self->in_per_s > 0) {
        add(text, "", number_show_bytes(self->in_per_s, number), "/s");
    }
    return text;
}

static void add_pending(const struct site_lag *self, char text[SITE_LAG_TEXT_BYTES])
{
    char number[NUMBER_TEXT_BYTES];

    add(text, "", number_show_duration(self->pending_us, number), " behind");
    add(text, "about ", number_show_count(self->pending_keys, number), " keys at risk");
}

const char *site_lag_show_out(const struct site_lag *self, char text[SITE_LAG_TEXT_BYTES])
{
    char number[NUMBER_TEXT_BYTES];

    text[0] = '\0';
    if (!self->sends) {
        add(text, "", "nothing is sent: all that is added meanwhile is at risk", "");
        if (self->paused_here || self->paused_there) {
            add(text, "", paused_by(self), "");
        }
        return text;
    }
    if (self->pending_keys > 0) {
        add_pending(self, text);
    } else {
        add(text, "", "nothing is pending", "");
    }
    if (self->copies > 0) {
        add(text, "", number_show_count(self->copies, number), " replicas to be copied");
    } else if (self->holds != SITE_WAIT_NOTHING) {
        add(text, "", site_lag_words_of(self->holds), "");
    }
    if (self->out_per_s > 0) {
        add(text, "", number_show_bytes(self->out_per_s, number), "/s");
    }
    return text;
}
