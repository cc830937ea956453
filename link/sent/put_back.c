/* What other sites remember of this one's nodes, and these do not have: then this site was put back
 * to an older copy. In the life that it has here nothing is sent of that filter any more, and
 * nothing told of how far others' keys are here: what it has acknowledged may be with others only.
 * Its coordinators hear of it until its document has another life: it joins anew then.
 *
 * In that life nobody has a place that was noted in the former one. Who tells the very same place
 * once more is wrong about it, and makes nobody join anew again: boots are drawn at random, so no
 * other copy makes it true. */
#include "link/private.h"

#include <stdio.h>
#include <string.h>

enum {
    TOLD_AGAIN = 8, /* at a time; what was not told yet is told as fast as that is heard */
    TELL_AGAIN_US = 1000000,
};

static struct put_back *find(struct link *self, const struct filter_uid *uid)
{
    for (size_t i = 0; i < self->put_backs.count; i++) {
        if (filter_uid_equal(&self->put_backs.items[i].uid, uid)) {
            return &self->put_backs.items[i];
        }
    }
    return NULL;
}

bool put_back_is(const struct link *self, const struct filter_uid *uid,
                 const struct site_life *own_life)
{
    const struct put_back *one = self->put_backs.count > 0 ? find((struct link *)self, uid) : NULL;

    return one != NULL && site_life_compare(&one->own_life, own_life) == 0;
}

/* NULL: there is no room, and it is noted once more. */
static struct put_back *place_of(struct link *self, const struct filter_uid *uid)
{
    struct put_backs *all = &self->put_backs;
    struct put_back *one = find(self, uid);

    if (one == NULL && heap_grow(&all->items, &all->room, all->count + 1, sizeof *all->items)) {
        one = &all->items[all->count++];
        *one = (struct put_back){0};
    }
    return one;
}

/* Whatever else is sent of it is looked at once more, and ends. */
static void doubt_streams(struct link *self, const struct filter_uid *uid)
{
    struct outflow *outflow;

    TAILQ_FOREACH(outflow, &self->outflows, link)
    {
        if (filter_uid_equal(&outflow->uid, uid)) {
            outflow->judged = UINT64_MAX;
        }
    }
}

static bool is_same(const struct site_source *a, const struct site_source *b)
{
    return a->node == b->node && a->incarnation == b->incarnation && a->boot == b->boot &&
           a->offset == b->offset;
}

/* Is it what this site has joined anew for already? */
static bool is_judged(const struct put_back *one, const struct outflow *outflow,
                      const struct site_source *place)
{
    return one->times > 0 && one->peer == outflow->peer && is_same(&one->place, place) &&
           site_life_compare(&one->own_life, &outflow->own_life) != 0;
}

static void say(struct link *self, const struct outflow *outflow, const struct put_back *one,
                uint32_t node)
{
    log_line(LOG_ERROR,
             "filter %016llx: site %s has more of the log of node %u than that node: this site "
             "was put back to an older copy (found %u times here); see `orbloom site`",
             (unsigned long long)outflow->filter_id, self->config.peers[outflow->peer].name, node,
             one->times);
    link_count(self, LINK_site_put_backs_total, 1);
}

enum status put_back_note(struct link *self, const struct outflow *outflow,
                          const struct site_source *place)
{
    struct put_back *one = place_of(self, &outflow->uid);

    if (one == NULL) {
        return STATUS_NOMEM;
    }
    if (is_judged(one, outflow, place)) {
        log_line(LOG_WARN,
                 "filter %016llx: site %s tells a place of node %u once more for which this site "
                 "has joined anew; it is copied from",
                 (unsigned long long)outflow->filter_id, self->config.peers[outflow->peer].name,
                 place->node);
        return STATUS_STALE;
    }
    if (site_life_compare(&one->own_life, &outflow->own_life) != 0) {
        one->times++;
        one->told = false;
        say(self, outflow, one, place->node);
    }
    *one = (struct put_back){.uid = outflow->uid,
                             .filter_id = outflow->filter_id,
                             .peer = outflow->peer,
                             .peer_life = outflow->peer_life,
                             .own_life = outflow->own_life,
                             .place = *place,
                             .times = one->times,
                             .told = one->told};
    self->put_backs.news = true;
    self->put_backs.telling = false; /* What is under way has not said it. */
    doubt_streams(self, &outflow->uid);
    return STATUS_OK;
}

/* NULL: the filter is gone, or this site is out of it. */
static const struct site_entry *own_of(const struct link *self, const struct put_back *one)
{
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             one->filter_id);

    return entry != NULL ? site_filter_own(self, entry) : NULL;
}

/* Those whose document has another life by now are told no more. */
void put_back_tick(struct link *self, uint64_t now_us)
{
    struct put_backs *all = &self->put_backs;
    size_t kept = 0;

    all->nlive = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct put_back *one = &all->items[i];
        const struct site_entry *own = own_of(self, one);

        one->over = own == NULL || site_life_compare(&own->life, &one->own_life) != 0;
        all->nlive += !one->over;
        if (own != NULL) {
            all->items[kept++] = *one;
        }
    }
    all->count = kept;
    all->news |= all->nlive > 0 && now_us - all->told_us >= TELL_AGAIN_US;
}

bool put_back_has_news(const struct link *self)
{
    return self->put_backs.news;
}

static struct site_evidence evidence_of(const struct link *self, const struct put_back *one)
{
    return (struct site_evidence){.uid = one->uid,
                                  .site = self->config.peers[one->peer].id,
                                  .source_life = one->peer_life,
                                  .own_life = one->own_life,
                                  .put_back = true};
}

/* Those that nobody has heard of, as many as there is room for. */
static size_t fill_new(struct link *self, struct site_evidence *page, size_t room)
{
    struct put_backs *all = &self->put_backs;
    size_t count = 0;

    for (size_t i = 0; i < all->count; i++) {
        struct put_back *one = &all->items[i];

        one->filled = !one->over && !one->told && count < room;
        if (one->filled) {
            page[count++] = evidence_of(self, one);
        }
    }
    return count;
}

/* A coordinator that has heard of it may be gone. */
static size_t fill_again(struct link *self, struct site_evidence *page, size_t room)
{
    struct put_backs *all = &self->put_backs;
    size_t count = 0;

    for (size_t i = 0; i < all->count && count < room; i++) {
        const struct put_back *one = &all->items[all->next++ % all->count];

        if (!one->over) {
            page[count++] = evidence_of(self, one);
        }
    }
    return count;
}

size_t put_back_fill(struct link *self, struct site_evidence *page, size_t room)
{
    size_t count = fill_new(self, page, room);

    count = count > 0 ? count : fill_again(self, page, room < TOLD_AGAIN ? room : TOLD_AGAIN);
    self->put_backs.telling = count > 0;
    return count;
}

void put_back_heard(struct link *self, uint64_t now_us)
{
    struct put_backs *all = &self->put_backs;

    if (!all->telling) {
        return; /* It was an answer to something else. */
    }
    all->telling = all->news = false;
    all->told_us = now_us;
    for (size_t i = 0; i < all->count; i++) {
        struct put_back *one = &all->items[i];

        one->told |= one->filled;
        one->filled = false;
        all->news |= !one->told && !one->over;
    }
}

void put_back_fini(struct link *self)
{
    heap_free(self->put_backs.items);
}
