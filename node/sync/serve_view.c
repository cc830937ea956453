/* What a peer compares its replica with: digests and ranges of a view, which its first question
 * fixes and which is kept until it has not asked for a while. */
#include "base/heap.h"
#include "node/sync/exchange.h"

#include <assert.h>
#include <string.h>

static void release(struct serve_view *view)
{
    storage_view_close(&view->view);
    view->used = false;
    view->page = NULL;
    view->resume_us = ACTOR_NEVER;
}

/* ---- answers ---- */

static enum status take_words(uint64_t **out, size_t count)
{
    *out = heap_alloc(count + 1, sizeof **out);
    return *out != NULL ? STATUS_OK : STATUS_OVERLOADED;
}

static enum status fill_shards(struct serve_page *page, const struct storage_view *view)
{
    size_t count = storage_view_nshards(view);
    enum status status = take_words(&page->digests, count);

    if (status == STATUS_OK) {
        status = take_words(&page->counts, count);
    }
    if (status != STATUS_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        struct run_digest_range range = storage_view_shard(view, i);

        page->digests[i] = run_digest_short(range);
        page->counts[i] = range.count;
    }
    page->ndigests = page->ncounts = count;
    return STATUS_OK;
}

/* STATUS_NOT_FOUND: some of them have to be made first. */
static enum status fill_parts(struct serve_page *page, const struct storage_view *view)
{
    const struct pull_request *request = &page->request;
    enum status status = page->digests != NULL
                             ? STATUS_OK
                             : take_words(&page->digests, request->nprefixes * PULL_PARTS);

    page->ndigests = 0;
    for (size_t i = 0; i < request->nprefixes && status == STATUS_OK; i++) {
        struct run_digest_range parts[STORAGE_VIEW_PARTS];

        if (!storage_view_parts(view, request->prefix_bits, request->prefixes[i], parts)) {
            return STATUS_NOT_FOUND;
        }
        for (size_t k = 0; k < PULL_PARTS; k++) {
            page->digests[page->ndigests++] = run_digest_short(parts[k]);
        }
    }
    return status;
}

static enum status fill_keys(struct serve_page *page, const struct storage_view *view)
{
    size_t count;
    const uint64_t *keys = storage_view_keys(view, &count);
    enum status status = take_words(&page->fingerprints, count);

    if (status != STATUS_OK) {
        return status;
    }
    if (count > 0) {
        memcpy(page->fingerprints, keys, count * sizeof *keys);
    }
    page->count = count;
    page->end = !storage_view_more(view, &page->next);
    return STATUS_OK;
}

static enum status fill(struct serve_view *view, struct serve_page *page)
{
    page->view = view->name;
    page->view_end = view->end;
    page->end = true;
    page->merged = 0;
    if (page->request.kind == PULL_RANGES) {
        return fill_keys(page, view->view);
    }
    return page->request.nprefixes == 0 ? fill_shards(page, view->view)
                                        : fill_parts(page, view->view);
}

static void answer(struct serve_view *view, uint64_t now_us, enum status status)
{
    struct serve_page *page = view->page;

    assert(view->used && page != NULL && page->reading); /* Steps are for a question only. */
    view->page = NULL;
    view->kept_until_us = now_us + SERVE_VIEW_US + node_repair_patience_us(view->exchange);
    if (status == STATUS_OK) {
        status = fill(view, page);
    }
    if (status != STATUS_OK) {
        release(view); /* The peer begins anew. */
    }
    node_serve_send(page, now_us,
                    status == STATUS_STALE || status == STATUS_IO ? STATUS_NOT_READY : status);
}

static void stepped(void *context, uint64_t now_us, enum status status, bool finished,
                    uint64_t bytes)
{
    struct serve_view *view = context;

    if (status == STATUS_OK && !finished) {
        node_view_pace(view->exchange, now_us, view->view, bytes, &view->resume_us);
        return;
    }
    view->surveyed = view->surveyed || status == STATUS_OK;
    answer(view, now_us, status);
}

/* ---- questions ---- */

/* Peers do not say when they have come to an end. Who has been silent for longer than between two
 * questions, its own reading included, keeps its view only as long as nobody else needs the place.
 */
static bool may_go(const struct serve_view *view, uint64_t now_us)
{
    uint64_t kept_us = view->kept_until_us > now_us ? view->kept_until_us - now_us : 0;

    return view->page == NULL && kept_us < SERVE_VIEW_US - SERVE_VIEW_SILENT_US;
}

/* The peer's former one, which it has given up; or one that nobody uses, or is likely to use again.
 * NULL: all are in use. */
static struct serve_view *place_for(struct exchange *exchange, uint64_t now_us,
                                    const struct peer *peer)
{
    struct serve_view *place = NULL;

    for (unsigned i = 0; i < SERVE_VIEWS; i++) {
        struct serve_view *view = &exchange->views[i];

        if (view->used && node_serve_same_peer(&view->peer, peer)) {
            return view->page == NULL ? view : NULL;
        }
        if (!view->used) {
            place = view;
        } else if (may_go(view, now_us) &&
                   (place == NULL || (place->used && view->kept_until_us < place->kept_until_us))) {
            place = view;
        }
    }
    return place;
}

/* Peers that ask for one view after the other would keep their places for ever; so a peer that
 * found no place has the next one reserved for it. NULL: it is another peer's turn, or nothing is
 * free.
 */
static struct serve_view *place_in_turn(struct exchange *exchange, uint64_t now_us,
                                        const struct peer *peer)
{
    struct serve_next *next = &exchange->next_view;
    struct serve_view *view = place_for(exchange, now_us, peer);
    bool turn = next->until_us <= now_us || node_serve_same_peer(&next->peer, peer);

    if (turn) {
        *next = view != NULL
                    ? (struct serve_next){0}
                    : (struct serve_next){.peer = *peer, .until_us = now_us + SERVE_VIEW_TURN_US};
    } else if (view != NULL && view->used) {
        release(view);
    }
    return turn ? view : NULL;
}

static enum status open_view(struct serve_page *page, uint64_t now_us,
                             const struct filter_document *document, struct serve_view **out)
{
    struct exchange *self = page->exchange;
    struct serve_view *view = place_in_turn(self, now_us, &page->to);
    struct storage_view_config config = {
        .set = {.filter_id = page->request.scope.filter_id,
                .slice = page->request.scope.slice,
                .keyset = page->request.scope.keyset},
        .end = node_log_durable(self, document),
        .shard_bits = document->content.shard_bits,
        .group_of_shard = document->content.group_of_shard,
        .group = page->request.scope.group,
        .context = view,
        .stepped = stepped,
    };
    enum status status;

    if (view == NULL) {
        return STATUS_OVERLOADED;
    }
    release(view);
    *view = (struct serve_view){
        .exchange = self,
        .peer = page->to,
        /* Never 0, by which a peer asks for a new one. */
        .name = self->node.effects->random(self->node.effects->context) | 1,
        .scope = page->request.scope,
        .end = config.end,
        .resume_us = ACTOR_NEVER,
        .kept_until_us = now_us + SERVE_VIEW_US + node_repair_patience_us(self),
    };
    status = storage_view_open(self->storage, &config, &view->view);
    view->used = status == STATUS_OK;
    exchange_count(self, NODE_repair_cuts_total);
    *out = view;
    return status;
}

static enum status find_view(struct serve_page *page, struct serve_view **out)
{
    for (unsigned i = 0; i < SERVE_VIEWS; i++) {
        struct serve_view *view = &page->exchange->views[i];

        if (view->used && view->name == page->request.view &&
            node_serve_same_peer(&view->peer, &page->to) &&
            pull_scope_equal(&view->scope, &page->request.scope)) {
            *out = view;
            return view->page == NULL && view->surveyed ? STATUS_OK : STATUS_OVERLOADED;
        }
    }
    return STATUS_NOT_FOUND;
}

/* Only shards of the group may be asked for. */
static bool of_group(const struct filter_document *document, const struct pull_request *request)
{
    uint32_t bits = document->content.shard_bits;
    bool good = request->nprefixes == 0 || request->prefix_bits >= bits;

    for (size_t i = 0; i < request->nprefixes && good; i++) {
        uint64_t shard = request->prefixes[i] >> (request->prefix_bits - bits);

        good = document->content.group_of_shard[shard] == request->scope.group;
    }
    return good;
}

static enum status begin_work(struct serve_view *view, const struct serve_page *page)
{
    const struct pull_request *request = &page->request;
    size_t room = request->max_bytes / sizeof(uint64_t);

    if (request->kind == PULL_RANGES) {
        room = room == 0 ? 1 : room < PULL_MAX_KEYS ? room : PULL_MAX_KEYS;
        return storage_view_collect(view->view, request->prefix_bits, request->prefixes,
                                    request->nprefixes, request->from, room);
    }
    return request->nprefixes == 0 ? storage_view_survey(view->view)
                                   : storage_view_split(view->view, request->prefix_bits,
                                                        request->prefixes, request->nprefixes);
}

enum status node_serve_view_begin(struct serve_page *page, uint64_t now_us,
                                  const struct filter_document *document)
{
    const struct pull_request *request = &page->request;
    struct serve_view *view = NULL;
    enum status status;

    if (!of_group(document, request)) {
        return STATUS_INVALID;
    }
    status = request->view == 0 ? open_view(page, now_us, document, &view) : find_view(page, &view);
    if (status != STATUS_OK) {
        return status;
    }
    view->page = page;
    if (request->kind == PULL_DIGESTS && request->nprefixes > 0) {
        /* The survey may have them already. */
        status = fill_parts(page, view->view);
        if (status != STATUS_NOT_FOUND) {
            answer(view, now_us, status);
            return STATUS_OK;
        }
    }
    status = begin_work(view, page);
    if (status != STATUS_OK) {
        release(view);
        return status;
    }
    storage_view_step(view->view);
    return STATUS_OK;
}

/* ---- time ---- */

void node_serve_view_pump(struct exchange *self, uint64_t now_us)
{
    for (unsigned i = 0; i < SERVE_VIEWS; i++) {
        struct serve_view *view = &self->views[i];

        if (!view->used) {
            continue;
        }
        if (view->page == NULL && view->kept_until_us <= now_us) {
            release(view);
        } else if (view->resume_us <= now_us) {
            view->resume_us = ACTOR_NEVER;
            storage_view_step(view->view);
        }
    }
}

uint64_t node_serve_view_next_us(const struct exchange *self)
{
    uint64_t next_us = ACTOR_NEVER;

    for (unsigned i = 0; i < SERVE_VIEWS; i++) {
        const struct serve_view *view = &self->views[i];
        uint64_t due_us = view->page == NULL ? view->kept_until_us : view->resume_us;

        next_us = view->used && due_us < next_us ? due_us : next_us;
    }
    return next_us;
}

/* Storage has closed the views themselves. */
void node_serve_view_fini(struct exchange *exchange)
{
    for (unsigned i = 0; i < SERVE_VIEWS; i++) {
        exchange->views[i].view = NULL;
        exchange->views[i].used = false;
    }
}
