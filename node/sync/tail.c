/* Questions of links: each waits for something to tell, and reads it as a job.
 *
 * Whether there is anything is told by what storage remembers of the youngest batches, so that a
 * link that waits costs a look at those that were added meanwhile, and no disk. What is told is
 * read back: only there are the fingerprints, and what a link has not read yet is mostly in the
 * machine's cache of files. */
#include "node/sync/tail.h"

#include "base/heap.h"
#include "node/tail/tail_place.h"

#include <assert.h>
#include <string.h>

enum { MAX_ROUNDS = 64 /* reads for one answer that find nothing */ };

#define MS_US UINT64_C(1000)

static const char not_kept[] =
    "this node's log is not kept so far back (site_retain); compare the sites' replicas, and begin "
    "where that view ends";

/* ---- looking and reading ---- */

static size_t room_of(const struct tail_page *page)
{
    size_t most = page->exchange->node.steps->most[STEP_ANSWER_KEYS];
    size_t keys = page->request.max_bytes / sizeof(uint64_t);

    keys = keys < 1 || page->request.headers_only ? 1 : keys;
    return keys < most ? keys : most;
}

static void done(struct storage_read *read, uint64_t now_us, enum status status);

static void begin_read(struct tail_page *page, uint64_t limit)
{
    enum status status;

    page->rounds++;
    page->read = (struct storage_read){
        .log = true,
        .own = &page->own,
        .from = page->next,
        .to = limit,
        .room = room_of(page),
        .done = done,
    };
    page->reading = true;
    status = storage_read(page->exchange->storage, &page->read);
    if (status == STATUS_STALE) {
        node_tail_give_up(page, STATUS_STALE, not_kept);
    } else if (status != STATUS_OK) {
        node_tail_give_up(page, STATUS_OVERLOADED, "no memory to read the log with; ask again");
    }
}

/* Is there something to read, up to `limit`? What is remembered tells that, but not where records
 * begin: from a place within one it would pass over that one. */
static bool find(struct tail_page *page, uint64_t limit)
{
    struct exchange *self = page->exchange;
    bool found = false;

    page->placed = page->placed || page->next == node_tail_durable(page);
    if (page->placed && page->own.nfilters == 0) {
        page->next = limit;
    }
    if (page->placed && page->next < limit &&
        storage_recall_own(self->storage, &page->own, page->next, limit, &page->next, &found)) {
        /* Looking goes on with the next turn: others have theirs first. */
        self->tails->moved = self->tails->moved || (!found && page->next < limit);
        return found;
    }
    return page->next < limit;
}

static void look(struct tail_page *page, uint64_t now_us)
{
    uint64_t limit = node_tail_durable(page);

    limit = limit > page->next ? limit : page->next;
    if (page->request.nwanted > 0) {
        begin_read(page, limit);
    } else if (find(page, limit)) {
        if (page->rounds < MAX_ROUNDS) {
            begin_read(page, limit);
        } else {
            node_tail_send(page, now_us, false);
        }
    } else if (now_us >= page->until_us && page->next >= limit) {
        node_tail_send(page, now_us, false);
    }
}

static void read_failed(struct tail_page *page, uint64_t now_us, enum status status)
{
    if (status == STATUS_STALE) {
        node_tail_give_up(page, STATUS_STALE, not_kept);
    } else if (status == STATUS_NOT_FOUND) {
        node_tail_give_up(page, STATUS_INVALID,
                          "one of the places wanted is not where a record of an add of these "
                          "filters begins; ask for places that this log has told");
    } else if (status == STATUS_MALFORMED) {
        node_tail_give_up(page, STATUS_STALE,
                          "no record that can be read begins at the place; compare the sites' "
                          "replicas, and begin where that view ends");
    } else {
        log_limited(page->exchange->node.bad_document_limit, now_us, LOG_ERROR,
                    "cannot read back the log that a link asks for: %s", status_meaning(status));
        node_tail_give_up(page, STATUS_NOT_READY, "the log can't be read now; ask again");
    }
}

static void done(struct storage_read *read, uint64_t now_us, enum status status)
{
    struct tail_page *page = (struct tail_page *)read;

    assert(page->used && page->reading); /* No page is given away while storage fills it. */
    if (status != STATUS_OK) {
        read_failed(page, now_us, status);
        return;
    }
    page->next = read->next;
    page->placed = true;
    if (read->nbatches > 0) {
        node_tail_send(page, now_us, true);
        return;
    }
    page->reading = false;
    look(page, now_us);
}

void node_tail_pump(struct exchange *self, uint64_t now_us)
{
    struct tails *tails = self->tails;

    if (tails == NULL) {
        return;
    }
    tails->moved = false;
    for (unsigned i = 0; i < TAIL_PAGES; i++) {
        struct tail_page *page = &tails->pages[i];

        if (page->used && !page->reading && page->start_us <= now_us) {
            page->started = true;
            look(page, now_us);
        }
    }
}

uint64_t node_tail_next_us(const struct exchange *self)
{
    const struct tails *tails = self->tails;
    uint64_t next_us = ACTOR_NEVER;

    if (tails == NULL) {
        return ACTOR_NEVER;
    }
    for (unsigned i = 0; i < TAIL_PAGES; i++) {
        const struct tail_page *page = &tails->pages[i];
        uint64_t due_us = page->started ? page->until_us : page->start_us;

        if (page->used && !page->reading) {
            due_us = tails->moved ? 0 : due_us;
            next_us = due_us < next_us ? due_us : next_us;
        }
    }
    return next_us;
}

void node_tail_moved(struct exchange *self)
{
    if (self->tails != NULL) {
        self->tails->moved = true;
    }
}

/* ---- questions ---- */

static struct tail_page *page_of(struct tails *tails, const struct peer *peer)
{
    for (unsigned i = 0; i < TAIL_PAGES; i++) {
        if (tails->pages[i].used && node_serve_same_peer(&tails->pages[i].to, peer)) {
            return &tails->pages[i];
        }
    }
    return NULL;
}

static struct tail_page *free_page(struct tails *tails)
{
    for (unsigned i = 0; i < TAIL_PAGES; i++) {
        if (!tails->pages[i].used) {
            return &tails->pages[i];
        }
    }
    return NULL;
}

/* Where the question is kept. A link that asks again waits no longer for what it asked before. */
static struct tail_page *choose_page(struct exchange *self, uint64_t now_us,
                                     const struct peer *from, const char **why)
{
    struct tail_page *page = page_of(self->tails, from);

    if (page != NULL && page->reading) {
        *why = "the question before is being answered; a link asks one at a time";
        return NULL;
    }
    if (page != NULL) {
        node_tail_send(page, now_us, false);
    }
    *why = "this node answers 16 links at once, and as many ask; ask again";
    return free_page(self->tails);
}

static enum status choose_list(struct tails *tails, const struct site_tail_request *request,
                               struct tail_list **out)
{
    if (request->nfilters > 0) {
        return tail_lists_put(&tails->lists, request->list, request->filters, request->nfilters,
                              out);
    }
    *out = tail_lists_find(&tails->lists, request->list);
    return *out != NULL ? STATUS_OK : STATUS_NOT_FOUND;
}

static enum status open_page(struct tail_page *page, uint64_t now_us, const struct frame *frame)
{
    const struct site_tail_request *request = &frame->body.site_tail_request;
    uint64_t wait_ms = request->wait_ms < SITE_TAIL_MAX_WAIT_MS ? request->wait_ms
                                                                : SITE_TAIL_MAX_WAIT_MS;
    enum status status;

    page->request = *request;
    page->request.filters = NULL;
    page->request.nfilters = 0;
    page->request.taken = NULL;
    page->request.ntaken = 0;
    page->request.wanted = NULL;
    page->correlation = frame->correlation;
    page->next = request->nwanted > 0 ? request->wanted[0] : request->from;
    status = node_tail_judge(page);
    if (status == STATUS_OK && request->nwanted > 0) {
        page->wanted = heap_alloc(request->nwanted, sizeof *page->wanted);
        status = page->wanted != NULL ? STATUS_OK : STATUS_NOMEM;
    }
    if (status == STATUS_OK && request->nwanted > 0) {
        memcpy(page->wanted, request->wanted, request->nwanted * sizeof *page->wanted);
    }
    /* Whoever is behind hears of it at once. */
    page->until_us = now_us + (page->nrefused == 0 ? wait_ms * MS_US : 0);
    page->own.offsets = page->wanted;
    page->own.noffsets = request->nwanted;
    page->own.most = SITE_TAIL_MAX_RECORDS;
    page->own.headers = request->headers_only;
    return status;
}

static void begin(struct exchange *self, uint64_t now_us, const struct peer *from,
                  const struct frame *frame)
{
    const struct site_tail_request *request = &frame->body.site_tail_request;
    const char *why = NULL;
    struct tail_page *page = choose_page(self, now_us, from, &why);
    struct tail_list *list = NULL;
    enum status status;

    if (page == NULL) {
        node_tail_refuse(self, from, frame->correlation, request, STATUS_OVERLOADED, why);
        return;
    }
    status = choose_list(self->tails, request, &list);
    if (status != STATUS_OK) {
        node_tail_refuse(self, from, frame->correlation, request,
                         status == STATUS_NOMEM ? STATUS_OVERLOADED : status,
                         "this node does not know the list of filters; send it along");
        return;
    }
    *page = (struct tail_page){
        .exchange = self,
        .used = true,
        .to = *from,
        .list = list,
        .start_us = token_bucket_ready_us(node_serve_bucket(self, now_us, from), now_us),
    };
    tail_list_use(list);
    if (open_page(page, now_us, frame) != STATUS_OK) {
        node_tail_give_up(page, STATUS_OVERLOADED, "no memory for the question; ask again");
        return;
    }
    if (page->start_us <= now_us) {
        page->started = true;
        look(page, now_us);
    }
}

/* What other sites have is true, whatever becomes of the question. */
static void note_taken(struct exchange *self, const struct site_tail_request *request)
{
    tail_taken_note(&self->tails->taken, self->node.life->incarnation, storage_end(self->storage),
                    request->taken, request->ntaken);
    storage_hold(self->storage, tail_taken_lowest(&self->tails->taken));
}

void node_on_site_tail_request(struct exchange *self, uint64_t now_us, const struct peer *from,
                               const struct frame *frame)
{
    const struct site_tail_request *request = &frame->body.site_tail_request;
    enum status status = STATUS_OK;
    const char *why = node_tail_why_not(self, request, &status);

    exchange_count(self, NODE_site_tails_total);
    if (self->tails == NULL && why == NULL) {
        self->tails = heap_zalloc(1, sizeof *self->tails);
        status = STATUS_OVERLOADED;
        why = self->tails != NULL ? NULL : "no memory for the question; ask again";
    }
    if (why == NULL) {
        note_taken(self, request);
        if (!storage_keeps(self->storage, request->from)) {
            status = STATUS_STALE;
            why = not_kept;
        }
    }
    if (why != NULL) {
        node_tail_refuse(self, from, frame->correlation, request, status, why);
        return;
    }
    begin(self, now_us, from, frame);
}

uint64_t node_tail_untaken(const struct exchange *self)
{
    uint64_t lowest = self->tails != NULL ? tail_taken_lowest(&self->tails->taken) : UINT64_MAX;
    uint64_t end = self->storage != NULL ? storage_end(self->storage) : 0;

    return lowest < end ? end - lowest : 0;
}

void node_tail_fini(struct exchange *self)
{
    for (unsigned i = 0; self->tails != NULL && i < TAIL_PAGES; i++) {
        if (self->tails->pages[i].used) {
            node_tail_release(&self->tails->pages[i]);
        }
    }
    if (self->tails != NULL) {
        tail_lists_fini(&self->tails->lists);
    }
    heap_free(self->tails);
    self->tails = NULL;
}
