/* What a router holds, as a file has it: answers of a coordinator with all of that in them, one
 * behind the other, each with its size in front. Documents in it are signed and secrets sealed, as
 * they came, so it is believed no more than what comes from the network. */
#include "base/heap.h"
#include "router/private.h"

#include <assert.h>
#include <string.h>

static const uint8_t magic[] = {'o', 'r', 'b', 'k', 'e', 'p', 't', '1'};

enum {
    SIZE_BYTES = 4,
    PAGE_FILTERS = 256, /* in one frame: documents of some kilobytes each, as a rule */
    PAGE_BYTES = CODEC_MAX_FRAME_BYTES / 4,
    PAUSE_US = 5000000,     /* between two writes ... */
    PAUSE_FILTER_US = 1000, /* ... and that for each filter: a write takes longer with many */
};

/* One that is being written. */
struct page {
    struct span documents[PAGE_FILTERS];
    size_t ndocuments;
    struct sealed_secret secrets[PAGE_FILTERS];
    size_t nsecrets;
    size_t bytes;
};

/* ---- out ---- */

static void put_size(uint8_t *out, size_t size)
{
    for (int i = 0; i < SIZE_BYTES; i++) {
        out[i] = (uint8_t)(size >> (8 * i));
    }
}

static enum status put_page(struct router *self, struct page *page)
{
    const struct frame frame = {
        .kind = FRAME_SYNC_REPLY,
        .body.sync_reply = {.message = "",
                            .cluster = buffer_span(&self->cluster_bytes),
                            .documents = page->documents,
                            .ndocuments = page->ndocuments,
                            .secrets = page->secrets,
                            .nsecrets = page->nsecrets},
    };
    uint8_t size[SIZE_BYTES];
    enum status status;

    buffer_clear(&self->out);
    status = codec_encode(&frame, &self->out);
    put_size(size, self->out.size);
    status = status == STATUS_OK ? buffer_append(&self->keeping.bytes, span_of(size, sizeof size))
                                 : status;
    page->ndocuments = page->nsecrets = page->bytes = 0;
    return status == STATUS_OK ? buffer_append(&self->keeping.bytes, buffer_span(&self->out))
                               : status;
}

/* Once there is no room for it in the page, that goes first. */
static enum status put_document(struct router *self, struct page *page, struct span document)
{
    enum status status = STATUS_OK;

    if (page->ndocuments == PAGE_FILTERS ||
        (page->ndocuments > 0 && page->bytes + document.size > PAGE_BYTES)) {
        status = put_page(self, page);
    }
    page->documents[page->ndocuments++] = document;
    page->bytes += document.size;
    return status;
}

static enum status put_filter(struct router *self, struct page *page,
                              const struct document_entry *entry)
{
    const struct routed_filter *routed = entry->attachment;
    enum status status;

    if (entry->gone || entry->conflict || routed == NULL || !routed->has_secret) {
        return STATUS_OK;
    }
    status = put_document(self, page, span_of(entry->signed_bytes, entry->signed_size));
    page->secrets[page->nsecrets++] = (struct sealed_secret){
        .filter_id = entry->document.id,
        .sealed = span_of(routed->sealed, sizeof routed->sealed),
    };
    return status;
}

static enum status put_records(struct router *self, struct page *page)
{
    const struct document_cache *documents = &self->documents;
    const struct span records[] = {
        span_of(documents->nodes_bytes, documents->nodes_size),
        span_of(documents->dropped_bytes, documents->dropped_size),
        span_of(documents->users_bytes, documents->users_size),
    };
    enum status status = STATUS_OK;

    for (size_t i = 0; status == STATUS_OK && i < sizeof records / sizeof records[0]; i++) {
        if (records[i].size > 0) {
            status = put_document(self, page, records[i]);
        }
    }
    return status;
}

static enum status put_all(struct router *self)
{
    struct page *page = heap_zalloc(1, sizeof *page);
    enum status status = page != NULL ? STATUS_OK : STATUS_NOMEM;

    buffer_init(&self->keeping.bytes, ROUTER_KEPT_MAX_BYTES);
    if (status == STATUS_OK) {
        status = buffer_append(&self->keeping.bytes, span_of(magic, sizeof magic));
    }
    if (status == STATUS_OK) {
        status = put_records(self, page);
    }
    for (size_t i = 0; status == STATUS_OK && i < self->documents.count; i++) {
        status = put_filter(self, page, self->documents.by_id[i]);
    }
    status = status == STATUS_OK ? put_page(self, page) : status;
    heap_free(page);
    return status;
}

/* ---- its writing ---- */

static void run(struct job *job)
{
    struct keeping *keeping = (struct keeping *)job;

    keeping->status = keeping->write(keeping->context, buffer_span(&keeping->bytes));
}

/* What could not be written is tried again: it says itself why. */
static void done(struct job *job, uint64_t now_us)
{
    struct keeping *keeping = (struct keeping *)job;

    (void)now_us;
    keeping->busy = false;
    keeping->wanted = keeping->wanted || keeping->status != STATUS_OK;
    buffer_fini(&keeping->bytes); /* Much memory, and rarely needed. */
}

void kept_init(struct router *self)
{
    self->keeping = (struct keeping){
        .job = {.run = run, .done = done},
        .write = self->config.keep,
        .context = self->config.keep_context,
    };
    buffer_init(&self->cluster_bytes, CODEC_MAX_FRAME_BYTES);
}

void kept_fini(struct router *self)
{
    buffer_fini(&self->keeping.bytes);
    buffer_fini(&self->cluster_bytes);
    buffer_fini(&self->kept);
}

static void keep(struct router *self, uint64_t now_us)
{
    struct keeping *keeping = &self->keeping;

    keeping->next_us = now_us + PAUSE_US + self->documents.count * PAUSE_FILTER_US;
    if (put_all(self) != STATUS_OK) {
        buffer_fini(&keeping->bytes);
        log_line(LOG_WARN, "what this router knows is not kept: it is too much, or memory is out");
        return;
    }
    keeping->wanted = false;
    keeping->busy = true;
    if (self->effects.submit != NULL) {
        self->effects.submit(self->effects.context, JOB_BACKGROUND, &keeping->job);
    } else {
        run(&keeping->job);
        done(&keeping->job, now_us);
    }
}

/* ---- in ---- */

static size_t get_size(const uint8_t *bytes)
{
    size_t size = 0;

    for (int i = 0; i < SIZE_BYTES; i++) {
        size |= (size_t)bytes[i] << (8 * i);
    }
    return size;
}

/* The page at *at, and *at behind it. False: there is none, or it is damaged. */
static bool take_page(struct router *self, uint64_t now_us, struct span bytes, size_t *at)
{
    struct frame frame = {0};
    size_t size;

    if (bytes.size - *at < SIZE_BYTES) {
        return false;
    }
    size = get_size(bytes.data + *at);
    if (size > bytes.size - *at - SIZE_BYTES ||
        codec_decode(self->arena, span_of(bytes.data + *at + SIZE_BYTES, size), &frame) !=
            STATUS_OK ||
        frame.kind != FRAME_SYNC_REPLY) {
        return false;
    }
    *at += SIZE_BYTES + size;
    sync_take_kept(self, now_us, &frame.body.sync_reply);
    return true;
}

/* As far as it is well: what lacks a part of it is as if it had not been told. */
static void take_kept(struct router *self, uint64_t now_us)
{
    struct span bytes = buffer_span(&self->kept);
    size_t at = sizeof magic;

    if (bytes.size >= sizeof magic && memcmp(bytes.data, magic, sizeof magic) == 0) {
        while (take_page(self, now_us, bytes, &at)) {
        }
    }
    if (at != bytes.size) {
        log_line(LOG_WARN,
                 "the kept file is no such file, or damaged from byte %zu on: what "
                 "follows is not known",
                 at);
    }
    log_line(LOG_WARN,
             "no coordinator has told all that there is since the start: this router serves by "
             "what it knew before, %zu filters and %zu users",
             self->documents.count, self->documents.users.count);
    buffer_fini(&self->kept);
}

/* One that can't be sure of its own store may have told nothing, or what is older. */
static bool is_told(const struct router *self)
{
    return self->synced && !self->doubtful;
}

void kept_forget(struct router *self)
{
    buffer_fini(&self->kept);
}

void kept_tick(struct router *self, uint64_t now_us)
{
    self->started_us = self->started_us != 0 ? self->started_us : now_us;
    if (self->kept.size > 0 && is_told(self)) {
        kept_forget(self);
    } else if (self->kept.size > 0 && now_us - self->started_us >= ROUTER_KEPT_US) {
        take_kept(self, now_us);
    }
    /* What was kept is not replaced by less. */
    if (self->keeping.write != NULL && is_told(self) && self->keeping.wanted &&
        !self->keeping.busy && now_us >= self->keeping.next_us) {
        keep(self, now_us);
    }
}

uint64_t kept_next_us(const struct router *self)
{
    return self->kept.size > 0 && self->started_us != 0 ? self->started_us + ROUTER_KEPT_US
                                                        : ACTOR_NEVER;
}

void router_set_kept(struct router *router, struct buffer *bytes)
{
    assert(router->kept.size == 0);
    router->kept = *bytes;
    *bytes = (struct buffer){.data = NULL};
}
