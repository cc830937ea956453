/* Arrays of a batch, made with its first line; a line that is no key is kept in its place with
 * the reason. */
#include "cli/stream_batch.h"

#include "base/heap.h"
#include "proto/codec.h"

#include <assert.h>
#include <stdio.h>

void batch_init(struct stream_batch *self, size_t limit)
{
    *self = (struct stream_batch){.limit = limit};
    buffer_init(&self->blob, BATCH_MAX_BYTES + CODEC_MAX_KEY_BYTES);
}

void batch_fini(struct stream_batch *self)
{
    buffer_fini(&self->blob);
    heap_free(self->places);
    heap_free(self->lengths);
    heap_free(self->answers);
    *self = (struct stream_batch){0};
}

void batch_clear(struct stream_batch *self)
{
    buffer_clear(&self->blob);
    self->nplaces = 0;
    self->nkeys = 0;
    self->done = false;
    self->code = ORBLOOM_OK;
    self->message[0] = '\0';
}

/* Small inputs never fill all batches, so arrays come with the first line. */
static enum status make_arrays(struct stream_batch *self)
{
    if (self->answers != NULL) {
        return STATUS_OK;
    }
    heap_free(self->places);
    heap_free(self->lengths);
    self->places = heap_alloc(self->limit, sizeof *self->places);
    self->lengths = heap_alloc(self->limit, sizeof *self->lengths);
    if (self->places != NULL && self->lengths != NULL) {
        self->answers = heap_alloc(self->limit, sizeof *self->answers);
    }
    return self->answers != NULL ? STATUS_OK : STATUS_NOMEM;
}

enum status batch_append(struct stream_batch *self, const struct key_item *item, bool bad)
{
    assert(self->nplaces < self->limit);

    if (make_arrays(self) != STATUS_OK ||
        (!bad && buffer_append(&self->blob, item->key) != STATUS_OK)) {
        return STATUS_NOMEM;
    }
    self->places[self->nplaces++] = (struct batch_place){
        .file = item->file, .line = item->line, .bad = bad};
    if (!bad) {
        self->lengths[self->nkeys++] = (uint32_t)item->key.size;
    }
    return STATUS_OK;
}

void batch_finish(struct stream_batch *self, const struct orbloom_completion *completion)
{
    assert(completion->count == self->nkeys && !self->done);

    self->done = true;
    self->code = completion->code;
    (void)snprintf(self->message, sizeof self->message, "%s", completion->message);
    memcpy(self->answers, completion->answers, self->nkeys);
}

void batch_refuse(struct stream_batch *self, int code, const char *reason)
{
    const char *cause = strstr(reason, ": ");

    self->done = true;
    self->code = code;
    (void)snprintf(self->message, sizeof self->message, "%s", cause != NULL ? cause + 2 : reason);
    memset(self->answers, ORBLOOM_UNKNOWN, self->nkeys);
}
