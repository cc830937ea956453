/* What a peer compares its replica with: digests and ranges of a cut, which its first question
 * fixes and which is kept until it has not asked for a while. */
#include "base/heap.h"
#include "node/sync/exchange.h"

#include <assert.h>
#include <string.h>

static void release(struct serve_cut *cut)
{
    storage_cut_close(&cut->cut);
    cut->used = false;
    cut->page = NULL;
    cut->resume_us = ACTOR_NEVER;
}

/* ---- answers ---- */

static enum status take_words(uint64_t **out, size_t count)
{
    *out = heap_alloc(count + 1, sizeof **out);
    return *out != NULL ? STATUS_OK : STATUS_OVERLOADED;
}

static enum status fill_shards(struct serve_page *page, const struct storage_cut *cut)
{
    size_t count = storage_cut_nshards(cut);
    enum status status = take_words(&page->digests, count);

    if (status == STATUS_OK) {
        status = take_words(&page->counts, count);
    }
    if (status != STATUS_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        struct run_digest_range range = storage_cut_shard(cut, i);

        page->digests[i] = run_digest_short(range);
        page->counts[i] = range.count;
    }
    page->ndigests = page->ncounts = count;
    return STATUS_OK;
}

/* STATUS_NOT_FOUND: some of them have to be made first. */
static enum status fill_parts(struct serve_page *page, const struct storage_cut *cut)
{
    const struct pull_request *request = &page->request;
    enum status status = page->digests != NULL
                             ? STATUS_OK
                             : take_words(&page->digests, request->nprefixes * PULL_PARTS);

    page->ndigests = 0;
    for (size_t i = 0; i < request->nprefixes && status == STATUS_OK; i++) {
        struct run_digest_range parts[STORAGE_CUT_PARTS];

        if (!storage_cut_parts(cut, request->prefix_bits, request->prefixes[i], parts)) {
            return STATUS_NOT_FOUND;
        }
        for (size_t k = 0; k < PULL_PARTS; k++) {
            page->digests[page->ndigests++] = run_digest_short(parts[k]);
        }
    }
    return status;
}

static enum status fill_keys(struct serve_page *page, const struct storage_cut *cut)
{
    size_t count;
    const uint64_t *keys = storage_cut_keys(cut, &count);
    enum status status = take_words(&page->fingerprints, count);

    if (status != STATUS_OK) {
        return status;
    }
    if (count > 0) {
        memcpy(page->fingerprints, keys, count * sizeof *keys);
    }
    page->count = count;
    page->end = !storage_cut_more(cut, &page->next);
    return STATUS_OK;
}

static enum status fill(struct serve_cut *cut, struct serve_page *page)
{
    page->cut = cut->name;
    page->cut_end = cut->end;
    page->end = true;
    page->merged = 0;
    if (page->request.kind == PULL_RANGES) {
        return fill_keys(page, cut->cut);
    }
    return page->request.nprefixes == 0 ? fill_shards(page, cut->cut) : fill_parts(page, cut->cut);
}

static void answer(struct serve_cut *cut, uint64_t now_us, enum status status)
{
    struct serve_page *page = cut->page;

    assert(cut->used && page != NULL && page->reading); /* Steps are for a question only. */
    cut->page = NULL;
    cut->kept_until_us = now_us + SERVE_CUT_US + node_repair_patience_us(cut->exchange);
    if (status == STATUS_OK) {
        status = fill(cut, page);
    }
    if (status != STATUS_OK) {
        release(cut); /* The peer begins anew. */
    }
    node_serve_send(page, now_us,
                    status == STATUS_STALE || status == STATUS_IO ? STATUS_NOT_READY : status);
}

static void stepped(void *context, uint64_t now_us, enum status status, bool finished,
                    uint64_t bytes)
{
    struct serve_cut *cut = context;

    if (status == STATUS_OK && !finished) {
        node_cut_pace(cut->exchange, now_us, cut->cut, bytes, &cut->resume_us);
        return;
    }
    cut->surveyed = cut->surveyed || status == STATUS_OK;
    answer(cut, now_us, status);
}

/* ---- questions ---- */

/* Peers do not say when they have come to an end. Who has been silent for longer than between two
 * questions, its own reading included, keeps its cut only as long as nobody else needs the place.
 */
static bool may_go(const struct serve_cut *cut, uint64_t now_us)
{
    uint64_t kept_us = cut->kept_until_us > now_us ? cut->kept_until_us - now_us : 0;

    return cut->page == NULL && kept_us < SERVE_CUT_US - SERVE_CUT_SILENT_US;
}

/* The peer's former one, which it has given up; or one that nobody uses, or is likely to use again.
 * NULL: all are in use. */
static struct serve_cut *place_for(struct exchange *exchange, uint64_t now_us,
                                   const struct peer *peer)
{
    struct serve_cut *place = NULL;

    for (unsigned i = 0; i < SERVE_CUTS; i++) {
        struct serve_cut *cut = &exchange->cuts[i];

        if (cut->used && node_serve_same_peer(&cut->peer, peer)) {
            return cut->page == NULL ? cut : NULL;
        }
        if (!cut->used) {
            place = cut;
        } else if (may_go(cut, now_us) &&
                   (place == NULL || (place->used && cut->kept_until_us < place->kept_until_us))) {
            place = cut;
        }
    }
    return place;
}

/* Peers that ask for one cut after the other would keep their places for ever; so a peer that found
 * no place has the next one reserved for it. NULL: it is another peer's turn, or nothing is free.
 */
static struct serve_cut *place_in_turn(struct exchange *exchange, uint64_t now_us,
                                       const struct peer *peer)
{
    struct serve_next *next = &exchange->next_cut;
    struct serve_cut *cut = place_for(exchange, now_us, peer);
    bool turn = next->until_us <= now_us || node_serve_same_peer(&next->peer, peer);

    if (turn) {
        *next = cut != NULL
                    ? (struct serve_next){0}
                    : (struct serve_next){.peer = *peer, .until_us = now_us + SERVE_CUT_TURN_US};
    } else if (cut != NULL && cut->used) {
        release(cut);
    }
    return turn ? cut : NULL;
}

static enum status open_cut(struct serve_page *page, uint64_t now_us,
                            const struct filter_document *document, struct serve_cut **out)
{
    struct exchange *self = page->exchange;
    struct serve_cut *cut = place_in_turn(self, now_us, &page->to);
    struct storage_cut_config config = {
        .set = {.filter_id = page->request.scope.filter_id,
                .slice = page->request.scope.slice,
                .lineage = page->request.scope.lineage},
        .end = node_log_durable(self, document),
        .shard_bits = document->content.shard_bits,
        .group_of_shard = document->content.group_of_shard,
        .group = page->request.scope.group,
        .context = cut,
        .stepped = stepped,
    };
    enum status status;

    if (cut == NULL) {
        return STATUS_OVERLOADED;
    }
    release(cut);
    *cut = (struct serve_cut){
        .exchange = self,
        .peer = page->to,
        .name = self->node.effects->random(self->node.effects->context) | 1,
        .scope = page->request.scope,
        .end = config.end,
        .resume_us = ACTOR_NEVER,
        .kept_until_us = now_us + SERVE_CUT_US + node_repair_patience_us(self),
    };
    status = storage_cut_open(self->storage, &config, &cut->cut);
    cut->used = status == STATUS_OK;
    exchange_count(self, NODE_repair_cuts_total);
    *out = cut;
    return status;
}

static enum status find_cut(struct serve_page *page, struct serve_cut **out)
{
    for (unsigned i = 0; i < SERVE_CUTS; i++) {
        struct serve_cut *cut = &page->exchange->cuts[i];

        if (cut->used && cut->name == page->request.cut &&
            node_serve_same_peer(&cut->peer, &page->to) &&
            pull_scope_equal(&cut->scope, &page->request.scope)) {
            *out = cut;
            return cut->page == NULL && cut->surveyed ? STATUS_OK : STATUS_OVERLOADED;
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

static enum status begin_work(struct serve_cut *cut, const struct serve_page *page)
{
    const struct pull_request *request = &page->request;
    size_t room = request->max_bytes / sizeof(uint64_t);

    if (request->kind == PULL_RANGES) {
        room = room == 0 ? 1 : room < PULL_MAX_KEYS ? room : PULL_MAX_KEYS;
        return storage_cut_collect(cut->cut, request->prefix_bits, request->prefixes,
                                   request->nprefixes, request->from, room);
    }
    return request->nprefixes == 0 ? storage_cut_survey(cut->cut)
                                   : storage_cut_split(cut->cut, request->prefix_bits,
                                                       request->prefixes, request->nprefixes);
}

enum status node_serve_cut_begin(struct serve_page *page, uint64_t now_us,
                                 const struct filter_document *document)
{
    const struct pull_request *request = &page->request;
    struct serve_cut *cut = NULL;
    enum status status;

    if (!of_group(document, request)) {
        return STATUS_INVALID;
    }
    status = request->cut == 0 ? open_cut(page, now_us, document, &cut) : find_cut(page, &cut);
    if (status != STATUS_OK) {
        return status;
    }
    cut->page = page;
    if (request->kind == PULL_DIGESTS && request->nprefixes > 0) {
        status = fill_parts(page, cut->cut);
        if (status != STATUS_NOT_FOUND) {
            answer(cut, now_us, status);
            return STATUS_OK;
        }
    }
    status = begin_work(cut, page);
    if (status != STATUS_OK) {
        release(cut);
        return status;
    }
    storage_cut_step(cut->cut);
    return STATUS_OK;
}

/* ---- time ---- */

void node_serve_cut_pump(struct exchange *self, uint64_t now_us)
{
    for (unsigned i = 0; i < SERVE_CUTS; i++) {
        struct serve_cut *cut = &self->cuts[i];

        if (!cut->used) {
            continue;
        }
        if (cut->page == NULL && cut->kept_until_us <= now_us) {
            release(cut);
        } else if (cut->resume_us <= now_us) {
            cut->resume_us = ACTOR_NEVER;
            storage_cut_step(cut->cut);
        }
    }
}

uint64_t node_serve_cut_next_us(const struct exchange *self)
{
    uint64_t next_us = ACTOR_NEVER;

    for (unsigned i = 0; i < SERVE_CUTS; i++) {
        const struct serve_cut *cut = &self->cuts[i];
        uint64_t due_us = cut->page == NULL ? cut->kept_until_us : cut->resume_us;

        next_us = cut->used && due_us < next_us ? due_us : next_us;
    }
    return next_us;
}

/* Storage has closed the cuts themselves. */
void node_serve_cut_fini(struct exchange *exchange)
{
    for (unsigned i = 0; i < SERVE_CUTS; i++) {
        exchange->cuts[i].cut = NULL;
        exchange->cuts[i].used = false;
    }
}
