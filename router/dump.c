/* Pages of a dump: jobs wait in turn, and each page is put together of stretches that dump_ask.c
 * asks nodes for. */
#include "router/dump.h"

#include "base/heap.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { ENOUGH_KEYS = DUMP_MAX_KEYS / 2, SHARE_OF_TIME = 4 };

static const uint64_t step_mask = (UINT64_C(1) << DUMP_STEP_BITS) - 1;

/* ---- life ---- */

enum status dumps_create(struct dumps **out)
{
    struct dumps *self = heap_zalloc(1, sizeof *self);

    if (self == NULL) {
        return STATUS_NOMEM;
    }
    buffer_init(&self->out, DUMP_MAX_BYTES);
    fair_queue_init(&self->turns, DUMP_MAX_BYTES);
    *out = self;
    return STATUS_OK;
}

bool dumps_idle(const struct router *self)
{
    return self->dumps->nused == 0 && self->dumps->nviews == 0 && !self->dumps->view.used;
}

/* What the page holds is let go of, but for the memory that the next one needs, too. */
static void leave_page(struct dumps *dumps)
{
    stretch_end(&dumps->stretch);
    dumps->job = NULL;
    if (dumps->nused == 0) {
        heap_free(dumps->keys);
        dumps->keys = NULL;
        buffer_fini(&dumps->out);
        buffer_init(&dumps->out, DUMP_MAX_BYTES);
    }
}

/* Bytes that it has under way, so that others of its user are counted with them. NULL: it may have
 * them; else why not. */
static const char *hold(struct router *self, struct dump_job *job)
{
    const char *reason;

    if (self->documents.users.count == 0) {
        return NULL;
    }
    if (self->inflight_bytes + DUMP_MAX_BYTES > self->config.max_inflight_bytes) {
        return "the router's max_inflight is reached; slow down, retry, or add routers";
    }
    reason = limits_begin(self, job->user, DUMP_MAX_BYTES);
    if (reason == NULL) {
        job->held = DUMP_MAX_BYTES;
        self->inflight_bytes += job->held;
        router_show_inflight(self);
    }
    return reason;
}

static void let_go(struct router *self, struct dump_job *job)
{
    if (job->held > 0) {
        assert(self->inflight_bytes >= job->held);
        limits_end(self, job->user, job->held);
        self->inflight_bytes -= job->held;
        job->held = 0;
        router_show_inflight(self);
    }
}

/* The owner may ask for more at once, so it goes first. */
static void finish(struct router *self, struct dump_job *job, const struct router_page *page)
{
    struct dumps *dumps = self->dumps;
    struct dump_job done;

    assert(job->used && dumps->nused > 0);
    fair_queue_remove(&dumps->turns, &job->turn);
    fair_queue_charge(&dumps->turns, job->user, page->bytes.size);
    let_go(self, job);
    done = *job;
    *job = (struct dump_job){0};
    dumps->nused--;
    if (dumps->job == job) {
        stretch_end(&dumps->stretch);
        dumps->job = NULL;
    }
    done.done(done.owner, page);
}

static void fail(struct router *self, struct dump_job *job, enum status status, const char *message)
{
    finish(self, job, &(struct router_page){.status = status, .message = message});
}

void dumps_destroy(struct router *self)
{
    struct dumps *dumps = self->dumps;

    if (dumps == NULL) {
        return;
    }
    for (size_t i = 0; i < DUMPS_MAX; i++) {
        if (dumps->jobs[i].used) {
            fail(self, &dumps->jobs[i], STATUS_UNAVAILABLE, "the router stops");
        }
    }
    views_fini(self);
    leave_page(dumps);
    buffer_fini(&dumps->out);
    fair_queue_fini(&dumps->turns);
    heap_free(dumps);
    self->dumps = NULL;
}

/* ---- header and end, which need no nodes ---- */

static void answer_header(struct router *self, struct dump_job *job,
                          const struct document_entry *entry)
{
    const struct filter_document *document = &entry->document;
    const struct routed_filter *routed = entry->attachment;
    uint64_t grown = document_generation(document)->capacity;
    struct dump_header header = {
        .source = dump_source(document, &routed->secret),
        .capacity = grown > document->capacity ? grown : document->capacity,
        .rate = document->rate,
        .max_capacity = document->max_capacity,
        .rule = document->content.rule,
        .hash = document->hash,
        .when_unavailable = document->when_unavailable,
        .when_full = document->when_full,
        .secret = routed->secret,
    };

    header.max_capacity = header.max_capacity > header.capacity ? header.max_capacity
                                                                : header.capacity;
    buffer_clear(&self->dumps->out);
    if (dump_header_write(&header, &self->dumps->out) != STATUS_OK) {
        fail(self, job, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    finish(self, job,
           &(struct router_page){.next = DUMP_FIRST,
                                 .bytes = buffer_span(&self->dumps->out),
                                 .uid = document->content.uid});
}

/* ---- pages ---- */

static void answer_page(struct router *self, uint64_t now_us, const struct document_entry *entry,
                        uint64_t to)
{
    struct dumps *dumps = self->dumps;
    const struct routed_filter *routed = entry->attachment;
    uint64_t source = dump_source(&entry->document, &routed->secret);

    buffer_clear(&dumps->out);
    if (dump_chunk_write(source, dumps->job->iterator, to, dumps->keys, dumps->nkeys,
                         &dumps->out) != STATUS_OK) {
        fail(self, dumps->job, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    router_count(self, ROUTER_dump_chunks_total);
    limits_owe_keys(self, now_us, dumps->job->user, dumps->nkeys);
    finish(self, dumps->job, &(struct router_page){.next = to, .bytes = buffer_span(&dumps->out)});
}

/* All below `end` is in the page; what lies above comes with the next one. */
static void answer_below(struct router *self, uint64_t now_us, const struct document_entry *entry,
                         uint64_t end)
{
    struct dumps *dumps = self->dumps;

    end &= ~step_mask;
    while (dumps->nkeys > 0 && dumps->keys[dumps->nkeys - 1] >= end) {
        dumps->nkeys--;
    }
    if (dump_iterator(end) <= dumps->job->iterator) {
        fail(self, dumps->job, STATUS_INTERNAL, "replicas tell too little at once");
        return;
    }
    answer_page(self, now_us, entry, dump_iterator(end));
}

/* What is told from now on may be of this moment, for whoever goes on with the series. */
static void remember_views(struct dumps *dumps)
{
    const struct dump_stretch *stretch = &dumps->stretch;

    dumps->made = (struct dump_views){
        .series = dumps->job->series,
        .filter_id = dumps->filter_id,
        .epoch = dumps->epoch,
        .epoch_hash = dumps->epoch_hash,
        .group = stretch->group,
    };
    for (uint32_t i = 0; i < stretch->slots; i++) {
        dumps->made.names[i] = stretch->asks[i].state == DUMP_ASK_TOLD ? stretch->asks[i].view
                                                                       : stretch->views[i];
    }
}

/* Those that were made since its series began; NULL: there are none. */
static const struct dump_views *views_for(const struct dumps *dumps)
{
    return dumps->job->series != 0 && dumps->made.series == dumps->job->series ? &dumps->made
                                                                               : NULL;
}

/* Another stretch must be worth its while, and there must be time for it. */
static bool is_enough(const struct dumps *dumps, uint64_t now_us)
{
    uint64_t time_us = dumps->job->deadline_us - dumps->begun_us;

    return dumps->nkeys >= ENOUGH_KEYS || now_us - dumps->begun_us >= time_us / SHARE_OF_TIME;
}

/* The stretch under way has been told. */
static void take_stretch(struct router *self, uint64_t now_us, const struct document_entry *entry)
{
    struct dumps *dumps = self->dumps;
    struct dump_stretch *stretch = &dumps->stretch;
    uint64_t told = stretch_last(stretch);
    uint64_t last = stretch->last;
    uint64_t behind = 0;

    remember_views(dumps);
    if (!stretch_merge(stretch, told, dumps->keys, &dumps->nkeys, &behind)) {
        answer_below(self, now_us, entry, behind);
    } else if (told < last) {
        answer_below(self, now_us, entry, told + 1);
    } else if (last == UINT64_MAX) {
        answer_page(self, now_us, entry, DUMP_END);
    } else if (is_enough(dumps, now_us)) {
        answer_below(self, now_us, entry, last + 1);
    } else {
        stretch_end(stretch);
        stretch_begin(self, now_us, stretch, entry, last + 1, views_for(dumps));
    }
}

/* Why a filter can't be dumped; NULL: it can. */
static const char *undumpable(const struct document_entry *entry)
{
    if (entry->document.window_us != 0) {
        return "a filter with a time window can't be dumped: its keys would lose their age";
    }
    if (!document_logs_keys(&entry->document)) {
        return "only a filter with a key log on disk can be dumped, as a copy that could not grow "
               "would be none; see `orbloom info`";
    }
    return NULL;
}

/* A page of who asks for more than it may: false, and it was told. */
static bool is_allowed(struct router *self, uint64_t now_us, struct dump_job *job)
{
    char room[ROUTER_MESSAGE_BYTES];
    const char *reason = hold(self, job);

    if (reason == NULL && !limits_take_keys(self, now_us, job->user, 0, room)) {
        reason = room;
    }
    if (reason != NULL) {
        router_count(self, ROUTER_overloaded_total);
        fail(self, job, STATUS_OVERLOADED, reason);
    }
    return reason == NULL;
}

static void begin_page(struct router *self, uint64_t now_us, struct dump_job *job,
                       const struct document_entry *entry)
{
    struct dumps *dumps = self->dumps;

    if (job->held == 0 && !is_allowed(self, now_us, job)) { /* Else it begins anew. */
        return;
    }
    if (dumps->keys == NULL) {
        dumps->keys = heap_alloc(DUMP_MAX_KEYS, sizeof *dumps->keys);
    }
    if (dumps->keys == NULL) {
        fail(self, job, STATUS_NOMEM, "the router is out of memory");
        return;
    }
    dumps->job = job;
    dumps->begun_us = now_us;
    dumps->filter_id = entry->document.id;
    dumps->epoch = entry->document.epoch;
    dumps->epoch_hash = entry->document.epoch_hash;
    dumps->nkeys = 0;
    stretch_begin(self, now_us, &dumps->stretch, entry, dump_fingerprint(job->iterator),
                  views_for(dumps));
}

/* ---- jobs ---- */

/* What it lacks must not be taken for absent wherever a dump is loaded. */
static bool is_filled_still(const struct filter_document *document)
{
    return document_is_loading(document) || site_gate_lacks(document);
}

static const char *lacks_reason(const struct filter_document *document)
{
    if (document_is_loading(document)) {
        return "the filter is itself being loaded from a dump";
    }
    return site_gate_left(document)
               ? "this site leaves the sites of the filter, or has left them, and may lack keys "
                 "that "
                 "others acknowledged; see `orbloom site`, and dump it at another site"
               : "this site is still being filled with what other sites have of the filter; dump "
                 "it "
                 "there";
}

/* The filter is not known to serve here: a fresh read of the store says more. */
static void judge_missing(struct router *self, uint64_t now_us, struct dump_job *job,
                          const struct document_entry *entry)
{
    if (!job->settled) {
        if (job->sync == 0) {
            job->sync = self->sync + 1;
            sync_want(self, now_us);
        }
    } else if (entry != NULL) {
        fail(self, job, STATUS_NOT_READY, lacks_reason(&entry->document));
    } else if (self->doubtful) {
        fail(self, job, STATUS_UNAVAILABLE,
             "this router could not verify all that the coordinator holds; see its log");
    } else {
        fail(self, job, STATUS_NOT_FOUND, "there is no such filter");
    }
}

static void begin(struct router *self, uint64_t now_us, struct dump_job *job)
{
    const struct document_entry *entry = router_find(self, job->name);

    if (entry == NULL || is_filled_still(&entry->document)) {
        judge_missing(self, now_us, job, entry);
    } else if (entry->conflict) {
        fail(self, job, STATUS_CONFLICT, ROUTER_CONFLICT_MESSAGE);
    } else if (undumpable(entry) != NULL) {
        fail(self, job, STATUS_INVALID, undumpable(entry));
    } else if (job->iterator == 0) {
        answer_header(self, job, entry);
    } else if (job->iterator == DUMP_END) {
        finish(self, job, &(struct router_page){.next = 0});
    } else {
        begin_page(self, now_us, job, entry);
    }
}

/* It waits for its user's turn; no memory: it is told so. */
static void await_turn(struct router *self, struct dump_job *job)
{
    if (fair_queue_push(&self->dumps->turns, job->user, &job->turn, 0) != STATUS_OK) {
        fail(self, job, STATUS_NOMEM, "the router is out of memory");
    }
}

/* NULL: none may begin. */
static struct dump_job *next_job(struct dumps *dumps)
{
    struct fair_entry *next = fair_queue_pop(&dumps->turns);

    return next != NULL
               ? (struct dump_job *)(void *)((char *)next - offsetof(struct dump_job, turn))
               : NULL;
}

/* Go on with what is under way, and begin what waits. */
static void pump(struct router *self, uint64_t now_us)
{
    struct dumps *dumps = self->dumps;
    struct dump_job *job;

    if (dumps->job != NULL) {
        const struct document_entry *entry = document_cache_find(&self->documents,
                                                                 dumps->filter_id);

        if (entry->conflict || entry->document.epoch != dumps->epoch ||
            entry->document.epoch_hash != dumps->epoch_hash) {
            job = dumps->job;
            stretch_end(&dumps->stretch); /* What was told under another epoch does not add up. */
            dumps->job = NULL;
            begin(self, now_us, job);
        } else {
            stretch_pump(self, now_us, &dumps->stretch, entry);
        }
    }
    /* Some are answered at once, and then it is the next one's turn. */
    while (dumps->job == NULL && (job = next_job(dumps)) != NULL) {
        begin(self, now_us, job);
    }
    if (dumps->nused == 0) {
        leave_page(dumps);
    }
}

/* So whoever asks for all places leaves some for others, and so do many of those. */
static bool has_enough(const struct router *self, uint32_t user)
{
    const struct dumps *dumps = self->dumps;
    uint32_t own = 0;

    for (size_t i = 0; i < DUMPS_MAX; i++) {
        own += dumps->jobs[i].used && dumps->jobs[i].user == user;
    }
    return self->documents.users.count > 0 && own > 0 && own + 1 > DUMPS_MAX - dumps->nused;
}

/* A free place; NULL: there is none, which was told. */
static struct dump_job *place(struct router *self, const struct router_dump *dump)
{
    struct dumps *dumps = self->dumps;
    struct router_page page = {.status = STATUS_OVERLOADED,
                               .message = "too many dumps are under way; retry"};
    struct dump_job *job = NULL;

    for (size_t i = 0; i < DUMPS_MAX && job == NULL; i++) {
        job = dumps->jobs[i].used ? NULL : &dumps->jobs[i];
    }
    if (dump->iterator > DUMP_END) {
        page = (struct router_page){.status = STATUS_INVALID,
                                    .message = "the iterator is none of a dump"};
        job = NULL;
    } else if (job != NULL && has_enough(self, dump->user)) {
        page.message = "the user has as many pages of dumps under way as there are places free; "
                       "await answers, retry";
        job = NULL;
    }
    if (job == NULL) {
        dump->done(dump->owner, &page);
    }
    return job;
}

void router_dump(struct router *self, uint64_t now_us, const struct router_dump *dump)
{
    struct dumps *dumps = self->dumps;
    struct dump_job *job = place(self, dump);

    if (job == NULL) {
        return;
    }
    *job = (struct dump_job){
        .used = true,
        .user = dump->user,
        .iterator = dump->iterator,
        .series = dump->series,
        .deadline_us = dump->deadline_us,
        .done = dump->done,
        .owner = dump->owner,
    };
    (void)snprintf(job->name, sizeof job->name, "%s", dump->name);
    dumps->nused++;
    await_turn(self, job);
    if (self->next_tick_us == ACTOR_NEVER) {
        self->next_tick_us = now_us + ROUTER_TICK_US;
    }
    if (dumps->job == NULL) {
        pump(self, now_us);
    }
}

static void expire(struct router *self, struct dump_job *job)
{
    struct dumps *dumps = self->dumps;
    char text[ROUTER_MESSAGE_BYTES] = "other pages come first; retry";

    if (job == dumps->job) {
        stretch_describe(&dumps->stretch, document_cache_find(&self->documents, dumps->filter_id),
                         text, sizeof text);
    } else if (job->sync != 0 && !job->settled) {
        (void)snprintf(text, sizeof text,
                       "the filter is not known to this router and no coordinator answers");
    }
    router_count(self, ROUTER_deadlines_total);
    fail(self, job, STATUS_UNAVAILABLE, text);
}

void dumps_tick(struct router *self, uint64_t now_us)
{
    views_tick(self, now_us);
    if (self->dumps->nused == 0) {
        return;
    }
    for (size_t i = 0; i < DUMPS_MAX; i++) {
        struct dump_job *job = &self->dumps->jobs[i];

        if (job->used && now_us >= job->deadline_us) {
            expire(self, job);
        }
    }
    pump(self, now_us);
}

void dumps_settle(struct router *self, uint64_t now_us, uint64_t sync)
{
    if (self->dumps->nused == 0) {
        return;
    }
    for (size_t i = 0; i < DUMPS_MAX; i++) {
        struct dump_job *job = &self->dumps->jobs[i];

        if (job->used && !job->settled && job->sync != 0 && job->sync <= sync) {
            job->settled = true;
            await_turn(self, job);
        }
    }
    pump(self, now_us);
}

void dumps_on_reply(struct router *self, uint64_t now_us, const struct frame *frame)
{
    const struct pull_reply *reply = &frame->body.pull_reply;
    struct dumps *dumps = self->dumps;
    const struct document_entry *entry;

    if (reply->document.size > 0) {
        router_take_document(self, now_us, reply->document);
    }
    if (views_on_reply(self, now_us, frame)) {
        return;
    }
    if (dumps->job == NULL) {
        router_count(self, ROUTER_late_total);
        return;
    }
    entry = document_cache_find(&self->documents, dumps->filter_id);
    if (!stretch_take(self, now_us, &dumps->stretch, entry, reply, frame->correlation)) {
        router_count(self, ROUTER_late_total);
    } else if (entry->document.epoch == dumps->epoch && !entry->conflict &&
               stretch_told(&dumps->stretch)) {
        take_stretch(self, now_us, entry);
    }
    pump(self, now_us);
}

bool dumps_use(const struct router *self, uint64_t filter_id)
{
    return (self->dumps->job != NULL && self->dumps->filter_id == filter_id) ||
           views_use(self, filter_id);
}
