/* The kinds of notes, and for each kind a list by filter id: found by halving, ended in one place.
 * */
#include "coordinator/notes.h"

#include "base/actor.h"
#include "base/heap.h"
#include "coordinator/site/heard.h"

#include <assert.h>
#include <string.h>

/* ---- kinds ---- */

static bool is_not_dropped(const struct document_entry *entry)
{
    return entry->document.content.state != FILTER_DROPPED;
}

static bool is_active(const struct document_entry *entry)
{
    return entry->document.content.state == FILTER_ACTIVE;
}

static bool expires(const struct document_entry *entry)
{
    return is_active(entry) && !entry->conflict && entry->document.expiry.number != 0;
}

static bool is_loading(const struct document_entry *entry)
{
    return is_active(entry) && document_is_loading(&entry->document);
}

static bool is_in_sites(const struct document_entry *entry)
{
    return document_has_sites(&entry->document);
}

static uint64_t fencing_next_us(const void *about)
{
    return ((const struct fencing *)about)->next_us;
}

/* Fences come first, and have times of their own. */
static uint64_t rotating_next_us(const void *about)
{
    const struct rotating *rotating = about;

    return rotating->fenced ? rotating->next_us : ACTOR_NEVER;
}

static uint64_t expiring_next_us(const void *about)
{
    return ((const struct expiring *)about)->next_us;
}

static uint64_t loading_next_us(const void *about)
{
    return ((const struct loading *)about)->next_us;
}

static void fencing_fini(void *about)
{
    evidence_fini(&((struct fencing *)about)->evidence);
}

static void rotating_fini(void *about)
{
    counts_forget(&((struct rotating *)about)->counts);
}

static void expiring_fini(void *about)
{
    counts_forget(&((struct expiring *)about)->counts);
}

static void sites_fini(void *about)
{
    in_sites_fini(about);
}

static const struct {
    size_t size;
    bool (*stays)(const struct document_entry *entry);
    uint64_t (*next_us)(
        const void *about);    /* NULL: news are a reason to look at it, or what its duty says */
    void (*fini)(void *about); /* NULL: it owns nothing */
} kinds[NOTE_KINDS] = {
    [NOTE_FENCING] = {sizeof(struct fencing), is_not_dropped, fencing_next_us, fencing_fini},
    [NOTE_EXPANDING] = {sizeof(struct expanding), is_active, NULL, NULL},
    [NOTE_ROTATING] = {sizeof(struct rotating), is_active, rotating_next_us, rotating_fini},
    [NOTE_EXPIRING] = {sizeof(struct expiring), expires, expiring_next_us, expiring_fini},
    [NOTE_LOADING] = {sizeof(struct loading), is_loading, loading_next_us, NULL},
    [NOTE_SITES] = {sizeof(struct in_sites), is_in_sites, NULL, sites_fini},
};

static void free_note(enum note_kind kind, struct note *note)
{
    if (kinds[kind].fini != NULL) {
        kinds[kind].fini(note->about);
    }
    heap_free(note->about);
}

/* ---- one kind's notes ---- */

/* The first one whose id is not below `filter_id`. */
static size_t find_place(const struct notes_of_kind *all, uint64_t filter_id)
{
    size_t low = 0;
    size_t high = all->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (all->items[middle].filter_id < filter_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_at(const struct notes_of_kind *all, size_t at, uint64_t filter_id)
{
    return at < all->count && all->items[at].filter_id == filter_id;
}

/* It is looked at as a touched one: it may be about a filter that is done with. */
static void *insert(struct notes_of_kind *all, size_t at, enum note_kind kind, uint64_t filter_id)
{
    bool room = heap_grow(&all->items, &all->room, all->count + 1, sizeof *all->items);
    void *about = room ? heap_zalloc(1, kinds[kind].size) : NULL;

    if (about == NULL) {
        return NULL;
    }
    memmove(&all->items[at + 1], &all->items[at], (all->count - at) * sizeof *all->items);
    all->items[at] = (struct note){.filter_id = filter_id, .about = about, .touched = true};
    all->count++;
    all->ntouched++;
    return about;
}

void *notes_find(const struct notes *self, enum note_kind kind, uint64_t filter_id)
{
    const struct notes_of_kind *all = &self->kinds[kind];
    size_t at = find_place(all, filter_id);

    return is_at(all, at, filter_id) ? all->items[at].about : NULL;
}

void *notes_open(struct notes *self, enum note_kind kind, uint64_t filter_id)
{
    struct notes_of_kind *all = &self->kinds[kind];
    size_t at = find_place(all, filter_id);

    assert(filter_id != 0);
    return is_at(all, at, filter_id) ? all->items[at].about : insert(all, at, kind, filter_id);
}

void notes_end(struct notes *self, enum note_kind kind, uint64_t filter_id)
{
    struct notes_of_kind *all = &self->kinds[kind];
    size_t at = find_place(all, filter_id);

    if (!is_at(all, at, filter_id)) {
        return;
    }
    all->ntouched -= all->items[at].touched;
    free_note(kind, &all->items[at]);
    all->count--;
    memmove(&all->items[at], &all->items[at + 1], (all->count - at) * sizeof *all->items);
}

size_t notes_count(const struct notes *self, enum note_kind kind)
{
    return self->kinds[kind].count;
}

const struct note *notes_at(const struct notes *self, enum note_kind kind, size_t at)
{
    assert(at < self->kinds[kind].count);
    return &self->kinds[kind].items[at];
}

uint64_t notes_next_us(const struct notes *self, enum note_kind kind)
{
    const struct notes_of_kind *all = &self->kinds[kind];
    uint64_t next_us = ACTOR_NEVER;

    assert(kinds[kind].next_us != NULL);
    for (size_t i = 0; i < all->count; i++) {
        uint64_t note_us = kinds[kind].next_us(all->items[i].about);

        next_us = note_us < next_us ? note_us : next_us;
    }
    return next_us;
}

/* ---- forgetting ---- */

void notes_touch(struct notes *self, uint64_t filter_id)
{
    for (int kind = 0; kind < NOTE_KINDS; kind++) {
        struct notes_of_kind *all = &self->kinds[kind];
        size_t at = find_place(all, filter_id);

        if (is_at(all, at, filter_id)) {
            all->ntouched += !all->items[at].touched;
            all->items[at].touched = true;
        }
    }
}

void notes_touch_all(struct notes *self)
{
    for (int kind = 0; kind < NOTE_KINDS; kind++) {
        struct notes_of_kind *all = &self->kinds[kind];

        for (size_t i = 0; i < all->count; i++) {
            all->items[i].touched = true;
        }
        all->ntouched = all->count;
    }
}

static bool may_stay(const struct note *note, enum note_kind kind,
                     const struct document_cache *documents)
{
    const struct document_entry *entry = document_cache_find(documents, note->filter_id);

    return entry != NULL && kinds[kind].stays(entry);
}

static void forget_kind(struct notes_of_kind *all, enum note_kind kind,
                        const struct document_cache *documents)
{
    size_t left = 0;

    for (size_t i = 0; i < all->count; i++) {
        struct note note = all->items[i];

        if (note.touched && !may_stay(&note, kind, documents)) {
            free_note(kind, &note);
        } else {
            note.touched = false;
            all->items[left++] = note;
        }
    }
    all->count = left;
    all->ntouched = 0;
}

void notes_forget(struct notes *self, const struct document_cache *documents)
{
    for (int kind = 0; kind < NOTE_KINDS; kind++) {
        if (self->kinds[kind].ntouched > 0) {
            forget_kind(&self->kinds[kind], (enum note_kind)kind, documents);
        }
    }
}

void notes_fini(struct notes *self)
{
    for (int kind = 0; kind < NOTE_KINDS; kind++) {
        struct notes_of_kind *all = &self->kinds[kind];

        for (size_t i = 0; i < all->count; i++) {
            free_note((enum note_kind)kind, &all->items[i]);
        }
        heap_free(all->items);
    }
    *self = (struct notes){0};
}
