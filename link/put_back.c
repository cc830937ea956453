/* What other sites remember of this one's nodes, and these do not have: then this site was put back
 * to an older copy. In the life that it has here nothing is sent of that filter any more, and
 * nothing told of how far others' keys are here: what it has acknowledged may be with others only.
 * Its coordinators hear of it until its document has another life: it joins anew then. */
#include "link/private.h"

#include <stdio.h>
#include <string.h>

enum { TOLD_AT_ONCE = 8, TELL_AGAIN_US = 1000000 };

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

bool put_back_note(struct link *self, const struct outflow *outflow, uint32_t node)
{
    struct put_back *one = place_of(self, &outflow->uid);

    if (one == NULL) {
        return false;
    }
    if (site_life_compare(&one->own_life, &outflow->own_life) != 0) {
        log_line(LOG_ERROR,
                 "filter %016llx: site %s has more of the log of node %u than that node: this site "
                 "was put back to an older copy; see `orbloom site`",
                 (unsigned long long)outflow->filter_id, self->config.peers[outflow->peer].name,
                 node);
        link_count(self, LINK_site_put_backs_total, 1);
    }
    *one = (struct put_back){.uid = outflow->uid,
                             .filter_id = outflow->filter_id,
                             .peer = outflow->peer,
                             .peer_life = outflow->peer_life,
                             .own_life = outflow->own_life};
    self->put_backs.news = true;
    doubt_streams(self, &outflow->uid);
    return true;
}

/* Its document has another life by now, or is gone. */
static bool is_over(const struct link *self, const struct put_back *one)
{
    const struct document_entry *entry = document_cache_find(router_documents(self->router),
                                                             one->filter_id);
    const struct site_entry *own = entry != NULL ? site_filter_own(self, entry) : NULL;

    return own == NULL || site_life_compare(&own->life, &one->own_life) != 0;
}

void put_back_tick(struct link *self, uint64_t now_us)
{
    struct put_backs *all = &self->put_backs;
    size_t kept = 0;

    for (size_t i = 0; i < all->count; i++) {
        if (!is_over(self, &all->items[i])) {
            all->items[kept++] = all->items[i];
        }
    }
    all->count = kept;
    all->news |= kept > 0 && now_us - all->told_us >= TELL_AGAIN_US;
}

bool put_back_has_news(const struct link *self)
{
    return self->put_backs.news;
}

size_t put_back_fill(struct link *self, struct site_evidence *page, size_t room)
{
    struct put_backs *all = &self->put_backs;
    size_t count = all->count < TOLD_AT_ONCE ? all->count : TOLD_AT_ONCE;

    count = count < room ? count : room;
    for (size_t i = 0; i < count; i++) {
        const struct put_back *one = &all->items[(all->next + i) % all->count];

        page[i] = (struct site_evidence){.uid = one->uid,
                                         .site = self->config.peers[one->peer].id,
                                         .source_life = one->peer_life,
                                         .own_life = one->own_life,
                                         .put_back = true};
    }
    all->next += count;
    return count;
}

void put_back_heard(struct link *self, uint64_t now_us)
{
    self->put_backs.news = false;
    self->put_backs.told_us = now_us;
}

void put_back_fini(struct link *self)
{
    heap_free(self->put_backs.items);
}
