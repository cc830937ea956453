/* A hash table by uid, and two lists in the order of stamps: what waits for other sites is said
 * more often, so it has a list of its own. A place is looked for from the end of a list, where what
 * is new is. Tombstones are in a third one besides: where there are none a full board says so at
 * once. */
#include "link/state_board.h"

#include "base/buffer.h"
#include "base/heap.h"
#include "proto/site/state_bytes.h"

#include <assert.h>
#include <string.h>

enum {
    UNSETTLED = 0,
    SETTLED = 1,
    STATE_MOST_BYTES = 32768, /* of one: two sets of 32 sites, and a name */
    PAGE_MOST = 256,
};

struct held_state {
    struct number_entry entry;
    TAILQ_ENTRY(held_state) link;
    TAILQ_ENTRY(held_state) grave; /* of one that is dropped */
    struct filter_uid uid;
    uint64_t stamp;
    uint64_t stamped_us;
    uint64_t version; /* the stamp that it had when it became what it is */
    unsigned list;
    bool dropped;
    size_t size;
    uint8_t *bytes; /* they may have a hash secret in them */
};

/* Does its site wait for others, or do others for it? */
static bool is_unsettled(const struct site_set *set)
{
    const struct site_entry *own = site_set_own(set);
    bool waits = own != NULL && own->state != SITE_GONE && (!set->settled || !set->says_absent);

    for (uint32_t i = 0; i < set->count && !waits; i++) {
        waits = set->entries[i].state == SITE_JOINING || set->entries[i].state == SITE_LEAVING;
    }
    return waits;
}

/* Also one that was not fenced yet as it is written. */
static unsigned list_of(const struct site_filter *state)
{
    bool waits = !state->dropped && (is_unsettled(&state->document) || !state->is_fenced ||
                                     !site_set_agrees(&state->document, &state->fenced));

    return waits ? UNSETTLED : SETTLED;
}

/* ---- what is held ---- */

static uint64_t number_of(const struct filter_uid *uid)
{
    return uid->high ^ (uid->low << 32 | uid->low >> 32);
}

static struct held_state *find(const struct state_board *self, const struct filter_uid *uid)
{
    struct held_state *held = (struct held_state *)number_table_find(&self->by_uid, number_of(uid));

    return held != NULL && filter_uid_equal(&held->uid, uid) ? held : NULL;
}

static void forget_bytes(struct state_board *self, struct held_state *held)
{
    if (held->bytes != NULL) {
        explicit_bzero(held->bytes, held->size);
        self->bytes -= held->size;
    }
    heap_free(held->bytes);
    held->bytes = NULL;
}

static void bury(struct state_board *self, struct held_state *held, bool dropped)
{
    if (held->dropped) {
        TAILQ_REMOVE(&self->tombstones, held, grave);
    }
    held->dropped = dropped;
    if (dropped) {
        TAILQ_INSERT_TAIL(&self->tombstones, held, grave);
    }
}

static void drop(struct state_board *self, struct held_state *held)
{
    bury(self, held, false);
    forget_bytes(self, held);
    number_table_remove(&self->by_uid, &held->entry);
    TAILQ_REMOVE(&self->lists[held->list], held, link);
    self->count--;
    heap_free(held);
}

void state_board_init(struct state_board *self)
{
    *self = (struct state_board){0};
    TAILQ_INIT(&self->lists[UNSETTLED]);
    TAILQ_INIT(&self->lists[SETTLED]);
    TAILQ_INIT(&self->tombstones);
}

void state_board_fini(struct state_board *self)
{
    for (unsigned list = 0; list < 2; list++) {
        struct held_state *held;

        while ((held = TAILQ_FIRST(&self->lists[list])) != NULL) {
            drop(self, held);
        }
    }
}

/* To the end of the list, as what was told last. */
static void stamp(struct state_board *self, uint64_t now_us, struct held_state *held, unsigned list)
{
    TAILQ_REMOVE(&self->lists[held->list], held, link);
    held->list = list;
    held->stamp = ++self->last_stamp;
    held->stamped_us = now_us;
    TAILQ_INSERT_TAIL(&self->lists[list], held, link);
}

/* ---- taking one ---- */

static bool has_room(const struct state_board *self, size_t states, size_t bytes)
{
    return self->count + states <= STATE_BOARD_MOST && self->bytes + bytes <= STATE_BOARD_BYTES;
}

/* Tombstones are told anew by whoever has them; the oldest ones go first, but not the one that is
 * taken further. */
static bool make_room(struct state_board *self, const struct held_state *keep, size_t states,
                      size_t bytes)
{
    struct held_state *held = TAILQ_FIRST(&self->tombstones);

    while (held != NULL && !has_room(self, states, bytes)) {
        struct held_state *next = TAILQ_NEXT(held, grave);

        if (held != keep) {
            drop(self, held);
        }
        held = next;
    }
    return has_room(self, states, bytes);
}

static enum status add(struct state_board *self, const struct filter_uid *uid, size_t size,
                       struct held_state **out)
{
    struct held_state *held;

    if (number_table_find(&self->by_uid, number_of(uid)) != NULL) {
        return STATUS_TOO_LARGE; /* Another uid of that number: nobody draws one by chance. */
    }
    if (!make_room(self, NULL, 1, size)) {
        return STATUS_TOO_LARGE;
    }
    held = heap_zalloc(1, sizeof *held);
    if (held == NULL) {
        return STATUS_NOMEM;
    }
    held->uid = *uid;
    held->list = SETTLED;
    number_table_put(&self->by_uid, &held->entry, number_of(uid));
    TAILQ_INSERT_TAIL(&self->lists[held->list], held, link);
    self->count++;
    *out = held;
    return STATUS_OK;
}

/* STATUS_OK: what is known is older. */
static enum status compare(const struct held_state *held, struct codec_arena *arena,
                           const struct site_filter *state, struct span bytes)
{
    const struct span known = span_of(held->bytes, held->size);
    struct site_filter before;

    if (span_equal(known, bytes)) {
        return STATUS_EXISTS;
    }
    if (site_state_bytes_get(arena, &known, 1, &before) != STATUS_OK) {
        return STATUS_NOMEM;
    }
    return site_filter_compare(state, &before) < 0 ? STATUS_STALE : STATUS_OK;
}

static enum status keep(struct state_board *self, struct held_state *held, struct span bytes)
{
    size_t before = held->bytes != NULL ? held->size : 0;
    uint8_t *copy;

    if (bytes.size > before && !make_room(self, held, 0, bytes.size - before)) {
        return STATUS_TOO_LARGE;
    }
    copy = heap_alloc(bytes.size, 1);
    if (copy == NULL) {
        return STATUS_NOMEM;
    }
    memcpy(copy, bytes.data, bytes.size);
    forget_bytes(self, held);
    held->bytes = copy;
    held->size = bytes.size;
    self->bytes += bytes.size;
    assert(self->bytes <= STATE_BOARD_BYTES);
    return STATUS_OK;
}

static enum status put(struct state_board *self, uint64_t now_us, struct codec_arena *arena,
                       const struct site_filter *state, struct span bytes)
{
    struct held_state *held = find(self, &state->uid);
    bool is_new = held == NULL;
    enum status status = is_new ? add(self, &state->uid, bytes.size, &held)
                                : compare(held, arena, state, bytes);

    if (status != STATUS_OK) {
        return status;
    }
    status = keep(self, held, bytes);
    if (status == STATUS_OK) {
        bury(self, held, state->dropped);
        stamp(self, now_us, held, list_of(state));
        held->version = held->stamp;
    } else if (is_new) {
        drop(self, held);
    }
    return status;
}

/* The arena is used for what is known: so the state must not be of it. */
enum status state_board_put(struct state_board *self, uint64_t now_us, struct codec_arena *arena,
                            const struct site_filter *state)
{
    struct buffer bytes;
    enum status status;

    buffer_init(&bytes, STATE_MOST_BYTES);
    status = site_state_bytes_put(state, &bytes);
    if (status == STATUS_OK) {
        status = put(self, now_us, arena, state, buffer_span(&bytes));
        explicit_bzero(bytes.data, bytes.size);
    }
    buffer_fini(&bytes);
    return status;
}

/* ---- telling ---- */

bool state_board_find(const struct state_board *self, const struct filter_uid *uid,
                      struct codec_arena *arena, struct site_filter *out)
{
    const struct held_state *held = find(self, uid);
    struct span bytes;

    if (held == NULL) {
        return false;
    }
    bytes = span_of(held->bytes, held->size);
    return site_state_bytes_get(arena, &bytes, 1, out) == STATUS_OK;
}

uint64_t state_board_version(const struct state_board *self, const struct filter_uid *uid)
{
    const struct held_state *held = find(self, uid);

    return held != NULL ? held->version : 0;
}

bool state_board_unsettled(const struct state_board *self, const struct filter_uid *uid)
{
    const struct held_state *held = find(self, uid);

    return held != NULL && held->list == UNSETTLED;
}

static bool list_has_news(const struct state_board *self, const struct state_place *place,
                          unsigned list)
{
    const struct held_state *last = TAILQ_LAST(&self->lists[list], held_states);

    return last != NULL && last->stamp > place->told[list];
}

bool state_board_has_news(const struct state_board *self, const struct state_place *place)
{
    return list_has_news(self, place, UNSETTLED) || list_has_news(self, place, SETTLED);
}

/* The first one that is not told; of a list that has news. */
static const struct held_state *first_untold(const struct state_board *self,
                                             const struct state_place *place, unsigned list)
{
    const struct held_state *held = TAILQ_LAST(&self->lists[list], held_states);
    const struct held_state *before;

    while ((before = TAILQ_PREV(held, held_states, link)) != NULL &&
           before->stamp > place->told[list]) {
        held = before;
    }
    return held;
}

static size_t page_of_list(const struct state_board *self, struct state_place *place, unsigned list,
                           struct span *spans, size_t most)
{
    const struct held_state *held = list_has_news(self, place, list)
                                        ? first_untold(self, place, list)
                                        : NULL;
    size_t count = 0;

    for (; held != NULL && count < most; held = TAILQ_NEXT(held, link)) {
        assert(held->stamp > place->told[list]);
        spans[count++] = span_of(held->bytes, held->size);
        place->told[list] = held->stamp;
    }
    return count;
}

size_t state_board_page(const struct state_board *self, struct state_place *place,
                        struct codec_arena *arena, struct site_filter *out, size_t most)
{
    struct state_place after = *place;
    struct span spans[PAGE_MOST];
    size_t count;

    most = most < PAGE_MOST ? most : PAGE_MOST;
    count = page_of_list(self, &after, UNSETTLED, spans, most);
    count += page_of_list(self, &after, SETTLED, spans + count, most - count);
    if (site_state_bytes_get(arena, spans, count, out) != STATUS_OK) {
        return 0; /* Out of memory: the next time. */
    }
    *place = after;
    return count;
}

static void repeat(struct state_board *self, uint64_t now_us, unsigned list, uint64_t after_us,
                   unsigned most)
{
    struct held_state *held;

    while (most-- > 0 && (held = TAILQ_FIRST(&self->lists[list])) != NULL &&
           now_us - held->stamped_us >= after_us) {
        stamp(self, now_us, held, list);
    }
}

void state_board_repeat(struct state_board *self, uint64_t now_us)
{
    repeat(self, now_us, UNSETTLED, STATE_UNSETTLED_US, STATE_UNSETTLED_BURST);
    repeat(self, now_us, SETTLED, STATE_SETTLED_US, STATE_SETTLED_BURST);
}
