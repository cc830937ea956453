/* A ring of records in a fixed stretch of memory with an index beside it; the oldest ones go
 * when room or their time is up. */
#include "node/vote_cache.h"

#include "base/bits.h"
#include "base/heap.h"
#include "node/base/place_index.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

enum { WORD_BYTES = sizeof(uint64_t) };

/* Followed by the planes, present first. */
struct record {
    struct vote_cache_add add;
    uint64_t batch[2];
    uint64_t kept_us;
    uint32_t hash;   /* of its name */
    uint32_t nwords; /* of record and planes */
    bool voted;
    bool unsure;
};

enum { RECORD_WORDS = sizeof(struct record) / WORD_BYTES };

/* Records follow each other in a ring, oldest first, none broken at its end:
 *
 *      not wrapped  |    head ====== tail      |
 *      wrapped      | === tail    head ==== end|
 */
struct vote_cache {
    uint64_t max_age_us;
    uint64_t seed;            /* of the hash */
    struct place_index index; /* of the records */
    uint64_t *words;
    size_t capacity;
    size_t head;
    size_t tail;
    size_t end;
    bool wrapped;
    size_t count;
    size_t used; /* words of records */
    size_t page_bytes;
};

_Static_assert(sizeof(struct record) % WORD_BYTES == 0, "records are whole words");

enum status vote_cache_create(size_t max_bytes, uint64_t max_age_us, uint64_t seed,
                              struct vote_cache **out)
{
    struct vote_cache *self = heap_zalloc(1, sizeof *self);

    assert(*out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->max_age_us = max_age_us;
    self->seed = seed;
    self->capacity = max_bytes / WORD_BYTES;
    /* The index keeps places in 32 bits, and the highest number is no place there. */
    self->capacity = self->capacity < UINT32_MAX ? self->capacity : UINT32_MAX - 1;
    self->page_bytes = (self->capacity + 1) * WORD_BYTES;
    self->words = heap_pages_alloc(self->page_bytes, false); /* Had when it is used. */
    if (self->words == NULL ||
        place_index_init(&self->index, self->capacity / RECORD_WORDS) != STATUS_OK) {
        vote_cache_destroy(&self);
        return STATUS_NOMEM;
    }
    *out = self;
    return STATUS_OK;
}

void vote_cache_destroy(struct vote_cache **adds)
{
    struct vote_cache *self = *adds;

    *adds = NULL;
    if (self != NULL) {
        heap_pages_free(self->words, self->page_bytes);
        place_index_fini(&self->index);
        heap_free(self);
    }
}

uint64_t vote_cache_list(const uint64_t *fingerprints, uint32_t count)
{
    return XXH3_64bits(fingerprints, count * sizeof *fingerprints);
}

size_t vote_cache_bytes(const struct vote_cache *self)
{
    return self->used * WORD_BYTES;
}

static struct record *record_at(const struct vote_cache *self, size_t place)
{
    return (struct record *)(self->words + place);
}

/* Op ids are the clients' choice: without the seed they could make them collide. */
static uint32_t hash_of(const struct vote_cache *self, const struct vote_cache_add *add)
{
    const uint64_t named[] = {add->session[0], add->session[1], add->sequence,
                              add->filter_id,  add->epoch,      add->group};

    return (uint32_t)XXH3_64bits_withSeed(named, sizeof named, self->seed);
}

static bool same_add(const struct vote_cache_add *a, const struct vote_cache_add *b)
{
    return a->session[0] == b->session[0] && a->session[1] == b->session[1] &&
           a->sequence == b->sequence && a->filter_id == b->filter_id && a->epoch == b->epoch &&
           a->group == b->group;
}

static void forget_oldest(struct vote_cache *self)
{
    const struct record *record = record_at(self, self->head);

    place_index_remove(&self->index, record->hash, (uint32_t)self->head);
    self->head += record->nwords;
    self->used -= record->nwords;
    self->count--;
    if (self->wrapped && self->head == self->end) {
        self->head = 0;
        self->wrapped = false;
    }
}

static void forget_aged(struct vote_cache *self, uint64_t now_us)
{
    while (self->count > 0 && now_us - record_at(self, self->head)->kept_us >= self->max_age_us) {
        forget_oldest(self);
    }
}

/* Room for so many words at self->tail; at most self->capacity of them. */
static void make_room(struct vote_cache *self, size_t nwords)
{
    for (;;) {
        size_t limit = self->wrapped ? self->head : self->capacity;

        if (self->count == 0) {
            self->head = 0;
            self->tail = 0;
            self->wrapped = false;
            return;
        }
        if (limit - self->tail >= nwords) {
            return;
        }
        if (self->wrapped) {
            forget_oldest(self);
        } else {
            self->end = self->tail;
            self->tail = 0;
            self->wrapped = true;
        }
    }
}

enum vote_cache_match vote_cache_find(struct vote_cache *self, uint64_t now_us,
                                      const struct vote_cache_add *add, struct cached_vote *vote)
{
    uint32_t hash = hash_of(self, add);
    uint32_t place;
    size_t at = 0;

    forget_aged(self, now_us);
    while (place_index_next(&self->index, hash, &at, &place)) {
        struct record *record = record_at(self, place);

        if (!same_add(&record->add, add)) {
            continue;
        }
        if (!record->voted || record->add.list != add->list || record->add.count != add->count) {
            return VOTE_CACHE_OTHER;
        }
        vote->present = (uint64_t *)(record + 1);
        vote->absent = vote->present + bits_words(add->count);
        vote->batch[0] = record->batch[0];
        vote->batch[1] = record->batch[1];
        vote->unsure = record->unsure;
        return VOTE_CACHE_VOTE;
    }
    return VOTE_CACHE_NONE;
}

void vote_cache_keep(struct vote_cache *self, uint64_t now_us, const struct vote_cache_add *add,
                     const struct cached_vote *vote)
{
    size_t plane_words = vote != NULL ? bits_words(add->count) : 0;
    size_t nwords = RECORD_WORDS + 2 * plane_words;
    struct record *record;

    if (nwords > self->capacity) {
        return;
    }
    make_room(self, nwords);
    record = record_at(self, self->tail);
    *record = (struct record){.add = *add,
                              .kept_us = now_us,
                              .hash = hash_of(self, add),
                              .nwords = (uint32_t)nwords,
                              .voted = vote != NULL,
                              .unsure = vote != NULL && vote->unsure};
    if (vote != NULL) {
        uint64_t *planes = (uint64_t *)(record + 1);

        memcpy(record->batch, vote->batch, sizeof record->batch);
        for (size_t i = 0; i < plane_words; i++) { /* Of no key, planes may be NULL. */
            planes[i] = vote->present[i];
            planes[plane_words + i] = vote->absent[i];
        }
    }
    place_index_put(&self->index, record->hash, (uint32_t)self->tail);
    self->tail += nwords;
    self->used += nwords;
    self->count++;
}
