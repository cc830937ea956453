/* A heap of filters by time, and beside it queues, first come, first out, for each thing that
 * filters may wait for. */
#include "node/sync/looks.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>

enum { FIRST_ROOM = 64, PEER_QUEUES = LOOK_NWAITS - LOOK_WAITS_PEER };

static void free_items(struct looks *self)
{
    heap_free(self->items);
    heap_free(self->heap);
    heap_free(self->due);
}

void looks_fini(struct looks *self)
{
    free_items(self);
    for (unsigned i = 0; i < LOOK_NWAITS; i++) {
        heap_free(self->queues[i].ids);
    }
    *self = (struct looks){0};
}

/* The first one whose id is not below `id`. */
static size_t find(const struct looks *self, uint64_t id)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (self->items[middle].filter_id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool find_exactly(const struct looks *self, uint64_t id, size_t *at)
{
    *at = find(self, id);
    return *at < self->count && self->items[*at].filter_id == id;
}

/* ---- the heap: a child is not earlier than its parent ---- */

static uint64_t due_at(const struct looks *self, size_t place)
{
    return self->items[self->heap[place]].due_us;
}

static void put(struct looks *self, size_t place, uint32_t at)
{
    self->heap[place] = at;
    self->items[at].place = (uint32_t)place;
}

static void rise(struct looks *self, size_t place)
{
    uint32_t at = self->heap[place];

    while (place > 0 && due_at(self, (place - 1) / 2) > self->items[at].due_us) {
        put(self, place, self->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(self, place, at);
}

static void sink(struct looks *self, size_t place)
{
    uint32_t at = self->heap[place];

    while (2 * place + 1 < self->count) {
        size_t child = 2 * place + 1;

        child += child + 1 < self->count && due_at(self, child + 1) < due_at(self, child);
        if (due_at(self, child) >= self->items[at].due_us) {
            break;
        }
        put(self, place, self->heap[child]);
        place = child;
    }
    put(self, place, at);
}

static void set(struct looks *self, size_t at, uint64_t due_us)
{
    uint64_t before_us = self->items[at].due_us;

    self->items[at].due_us = due_us;
    if (due_us < before_us) {
        rise(self, self->items[at].place);
    } else {
        sink(self, self->items[at].place);
    }
}

static void order_all(struct looks *self)
{
    for (size_t i = 0; i < self->count; i++) {
        put(self, i, (uint32_t)i);
    }
    for (size_t i = self->count / 2; i > 0; i--) {
        sink(self, i - 1);
    }
}

/* ---- as the documents ---- */

static enum status make_room(struct looks *self, size_t count)
{
    size_t room = self->room > 0 ? self->room : FIRST_ROOM;
    struct looks grown = {0};

    if (count <= self->room) {
        return STATUS_OK;
    }
    while (room < count) {
        room *= 2;
    }
    grown.items = heap_alloc(room, sizeof *grown.items);
    grown.heap = heap_alloc(room, sizeof *grown.heap);
    grown.due = heap_alloc(room, sizeof *grown.due);
    if (grown.items == NULL || grown.heap == NULL || grown.due == NULL) {
        free_items(&grown);
        return STATUS_NOMEM;
    }
    if (self->count > 0) {
        memcpy(grown.items, self->items, self->count * sizeof *grown.items);
        memcpy(grown.heap, self->heap, self->count * sizeof *grown.heap);
    }
    free_items(self);
    self->items = grown.items;
    self->heap = grown.heap;
    self->due = grown.due;
    self->room = room;
    return STATUS_OK;
}

/* None has gone, and the last one is in its place: those that have come are above it. */
static bool only_grows(const struct looks *self, const struct document_cache *documents)
{
    size_t last = self->count - 1;

    return self->removed == documents->removed &&
           (self->count == 0 || self->items[last].filter_id == documents->by_id[last]->document.id);
}

static void append_new(struct looks *self, const struct document_cache *documents)
{
    while (self->count < documents->count) {
        size_t at = self->count++;

        self->items[at] = (struct look){.filter_id = documents->by_id[at]->document.id};
        put(self, at, (uint32_t)at);
        rise(self, at);
    }
}

/* Some have come or gone in between: what is known about the others is kept. */
static enum status merge(struct looks *self, const struct document_cache *documents)
{
    struct looks merged = {0};
    size_t from = 0;
    enum status status = make_room(&merged, documents->count > 0 ? documents->count : 1);

    if (status != STATUS_OK) {
        return status;
    }
    for (; merged.count < documents->count; merged.count++) {
        uint64_t id = documents->by_id[merged.count]->document.id;

        while (from < self->count && self->items[from].filter_id < id) {
            from++;
        }
        merged.items[merged.count] = from < self->count && self->items[from].filter_id == id
                                         ? self->items[from]
                                         : (struct look){.filter_id = id};
    }
    free_items(self);
    self->items = merged.items;
    self->heap = merged.heap;
    self->due = merged.due;
    self->count = merged.count;
    self->room = merged.room;
    order_all(self);
    return STATUS_OK;
}

enum status looks_follow(struct looks *self, const struct document_cache *documents)
{
    enum status status = STATUS_OK;

    if (self->inserted == documents->inserted && self->removed == documents->removed) {
        return STATUS_OK;
    }
    if (!only_grows(self, documents)) {
        status = merge(self, documents);
    } else {
        status = make_room(self, documents->count);
        if (status == STATUS_OK) {
            append_new(self, documents);
        }
    }
    if (status == STATUS_OK) {
        assert(self->count == documents->count);
        self->inserted = documents->inserted;
        self->removed = documents->removed;
    }
    return status;
}

/* ---- by their time ---- */

void looks_now(struct looks *self, uint64_t filter_id)
{
    size_t at;

    if (find_exactly(self, filter_id, &at)) {
        looks_by(self, at, 0);
    }
}

void looks_by(struct looks *self, size_t at, uint64_t due_us)
{
    assert(at < self->count);
    if (due_us < self->items[at].due_us) {
        set(self, at, due_us);
    }
}

uint64_t looks_next_us(const struct looks *self)
{
    return self->count > 0 ? due_at(self, 0) : UINT64_MAX;
}

size_t looks_pop_due(struct looks *self, uint64_t now_us, const uint32_t **places)
{
    size_t count = 0;

    while (count < self->count && due_at(self, 0) <= now_us) {
        self->due[count++] = self->heap[0];
        set(self, self->heap[0], UINT64_MAX);
    }
    *places = self->due;
    return count;
}

/* ---- by what they wait for ---- */

unsigned looks_peer(uint32_t node, enum pull_purpose purpose)
{
    return LOOK_WAITS_PEER + (node * PULL_NPURPOSES + (unsigned)purpose) % PEER_QUEUES;
}

static bool make_place(struct look_queue *queue)
{
    size_t room = queue->room > 0 ? 2 * queue->room : FIRST_ROOM;
    uint64_t *grown;

    if (queue->count < queue->room) {
        return true;
    }
    grown = heap_alloc(room, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    /* The room is a power of two, before and after. */
    for (size_t i = 0; i < queue->count; i++) {
        grown[i] = queue->ids[(queue->first + i) & (queue->room - 1)];
    }
    heap_free(queue->ids);
    *queue = (struct look_queue){.ids = grown, .count = queue->count, .room = room};
    return true;
}

enum status looks_wait(struct looks *self, size_t at, uint64_t bits)
{
    struct look *look = &self->items[at];
    enum status status = STATUS_OK;

    /* Where it stands already it keeps its turn. */
    bits &= ~look->queued;
    for (unsigned wait = 0; wait < LOOK_NWAITS && bits >> wait != 0; wait++) {
        struct look_queue *queue = &self->queues[wait];

        if ((bits >> wait & 1) == 0) {
            continue;
        }
        if (!make_place(queue)) {
            status = STATUS_NOMEM;
            continue;
        }
        queue->ids[(queue->first + queue->count++) & (queue->room - 1)] = look->filter_id;
        look->queued |= LOOK_BIT(wait);
    }
    return status;
}

size_t looks_waiting(const struct looks *self, unsigned wait)
{
    return self->queues[wait].count;
}

bool looks_take(struct looks *self, unsigned wait, size_t *at)
{
    struct look_queue *queue = &self->queues[wait];

    while (queue->count > 0) {
        uint64_t id = queue->ids[queue->first];

        queue->first = (queue->first + 1) & (queue->room - 1);
        queue->count--;
        /* Those that went while they waited are passed by. */
        if (find_exactly(self, id, at) && (self->items[*at].queued & LOOK_BIT(wait)) != 0) {
            self->items[*at].queued &= ~LOOK_BIT(wait);
            return true;
        }
    }
    return false;
}
