/* Marks: ends that are not reached are counted down as logs are applied; the newest mark that has
 * none left counts, and those before it are of no use any more.
 *
 * A mark that is stuck must not keep later ones from being begun for ever, and one that is slow
 * must not be given up, or under a long lag none would ever count. So only those make room that
 * wait for what may never come: an answer, or a log that is not followed. */
#include "site/mark.h"

#include "base/heap.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

uint64_t mark_set_hash(const struct site_set *set)
{
    uint64_t words[SITE_SET_MAX * 5];
    size_t count = 0;

    assert(set->count <= SITE_SET_MAX);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct site_entry *entry = &set->entries[i];

        words[count++] = entry->id.high;
        words[count++] = entry->id.low;
        words[count++] = entry->life.number;
        words[count++] = entry->life.tag;
        words[count++] = entry->state;
    }
    return XXH3_64bits(words, count * sizeof words[0]);
}

void marks_init(struct marks *self, uint64_t tag)
{
    assert(tag != 0);
    *self = (struct marks){.tag = tag};
}

static void drop(struct marks *self, uint32_t at)
{
    heap_free(self->pending[at].ends);
    self->npending--;
    memmove(&self->pending[at], &self->pending[at + 1],
            (self->npending - at) * sizeof self->pending[0]);
}

static void forget_pending(struct marks *self)
{
    while (self->npending > 0) {
        drop(self, self->npending - 1);
    }
}

static void forget(struct marks *self)
{
    forget_pending(self);
    heap_free(self->logs);
    self->logs = NULL;
    self->nlogs = 0;
    self->capacity = 0;
    self->newest = 0;
    self->newest_us = 0;
}

void marks_fini(struct marks *self)
{
    forget(self);
    *self = (struct marks){0};
}

static bool is_same_scope(const struct mark_scope *a, const struct mark_scope *b)
{
    return site_life_compare(&a->own, &b->own) == 0 &&
           site_life_compare(&a->source, &b->source) == 0 && a->set_hash == b->set_hash &&
           a->keyset == b->keyset;
}

void marks_enter(struct marks *self, const struct mark_scope *scope)
{
    assert(self->tag != 0);
    if (self->entered && is_same_scope(&self->scope, scope)) {
        return;
    }
    forget(self);
    self->scope = *scope;
    self->entered = true;
}

/* ---- logs ---- */

static int compare_places(const struct mark_log *a, const struct mark_log *b)
{
    if (a->group != b->group) {
        return a->group < b->group ? -1 : 1;
    }
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Where it is, or belongs. */
static size_t find_log(const struct marks *self, const struct mark_log *wanted)
{
    size_t low = 0;
    size_t high = self->nlogs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_places(&self->logs[middle], wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool is_log_of(const struct mark_log *a, const struct mark_log *b)
{
    return compare_places(a, b) == 0 && a->incarnation == b->incarnation && a->boot == b->boot;
}

static bool is_followed(const struct marks *self, const struct mark_log *log)
{
    size_t at = find_log(self, log);

    return at < self->nlogs && is_log_of(&self->logs[at], log);
}

static bool is_reached(const struct marks *self, const struct mark_log *end)
{
    return is_followed(self, end) && self->logs[find_log(self, end)].offset >= end->offset;
}

/* ---- what counts ---- */

/* What was begun before it has nothing to add. */
static void count(struct marks *self, uint32_t at)
{
    self->newest = self->pending[at].number;
    self->newest_us = self->pending[at].begun_us;
    for (uint32_t left = at + 1; left > 0; left--) {
        drop(self, 0);
    }
}

/* The newest that has no end left. */
static void look(struct marks *self)
{
    for (uint32_t i = self->npending; i > 0; i--) {
        if (self->pending[i - 1].ends != NULL && self->pending[i - 1].left == 0) {
            count(self, i - 1);
            return;
        }
    }
}

static struct mark_end *find_end(struct mark *mark, const struct mark_log *log)
{
    size_t low = 0;
    size_t high = mark->nends;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare_places(&mark->ends[middle].log, log) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < mark->nends && is_log_of(&mark->ends[low].log, log) ? &mark->ends[low] : NULL;
}

static void reach(struct mark *mark, const struct mark_log *log)
{
    struct mark_end *end = mark->ends != NULL ? find_end(mark, log) : NULL;

    if (end != NULL && !end->reached && log->offset >= end->log.offset) {
        end->reached = true;
        mark->left--;
    }
}

static enum status add_log(struct marks *self, size_t at, const struct mark_log *log)
{
    if (self->nlogs == MARK_MAX_LOGS) {
        return STATUS_TOO_LARGE;
    }
    if (!heap_grow(&self->logs, &self->capacity, self->nlogs + 1, sizeof self->logs[0])) {
        return STATUS_NOMEM;
    }
    memmove(&self->logs[at + 1], &self->logs[at], (self->nlogs - at) * sizeof self->logs[0]);
    self->logs[at] = *log;
    self->nlogs++;
    return STATUS_OK;
}

enum status marks_applied(struct marks *self, const struct mark_log *log)
{
    size_t at = find_log(self, log);
    bool is_there = at < self->nlogs && compare_places(&self->logs[at], log) == 0;

    if (!is_there) {
        enum status status = add_log(self, at, log);

        if (status != STATUS_OK) {
            return status;
        }
    } else if (!is_log_of(&self->logs[at], log) || log->offset > self->logs[at].offset) {
        self->logs[at] = *log;
    }
    for (uint32_t i = 0; i < self->npending; i++) {
        reach(&self->pending[i], log);
    }
    look(self);
    return STATUS_OK;
}

/* ---- begin and answer ---- */

/* Does it wait for what may never come? */
static bool is_stuck(const struct marks *self, const struct mark *mark)
{
    if (mark->ends == NULL) {
        return true;
    }
    for (uint32_t i = 0; i < mark->nends; i++) {
        if (!mark->ends[i].reached && !is_followed(self, &mark->ends[i].log)) {
            return true;
        }
    }
    return false;
}

static void make_room(struct marks *self, uint64_t now_us)
{
    for (uint32_t i = 0; i < self->npending; i++) {
        const struct mark *mark = &self->pending[i];

        if (now_us >= mark->begun_us && now_us - mark->begun_us >= MARK_PATIENCE_US &&
            is_stuck(self, mark)) {
            drop(self, i);
            return;
        }
    }
}

enum status marks_begin(struct marks *self, uint64_t now_us, struct mark_id *id)
{
    if (!self->entered) {
        return STATUS_NOT_READY;
    }
    if (self->npending == MARK_MAX_PENDING) {
        make_room(self, now_us);
    }
    if (self->npending == MARK_MAX_PENDING) {
        return STATUS_OVERLOADED;
    }
    self->begun++;
    self->pending[self->npending++] = (struct mark){.number = self->begun, .begun_us = now_us};
    *id = (struct mark_id){.tag = self->tag, .number = self->begun};
    return STATUS_OK;
}

static struct mark *find_unanswered(struct marks *self, const struct mark_id *id)
{
    for (uint32_t i = 0; i < self->npending && id->tag == self->tag; i++) {
        if (self->pending[i].number == id->number && self->pending[i].ends == NULL) {
            return &self->pending[i];
        }
    }
    return NULL;
}

/* Is each group named, by that many nodes? An answer that says less would count too early. */
static bool is_whole(uint32_t ngroups, uint32_t read, const struct mark_log *ends, size_t nends)
{
    size_t at = 0;

    for (uint32_t group = 0; group < ngroups; group++) {
        size_t first = at;

        while (at < nends && ends[at].group == group) {
            if (ends[at].node == 0 || (at > first && ends[at].node <= ends[at - 1].node)) {
                return false;
            }
            at++;
        }
        if (at - first < read) {
            return false;
        }
    }
    return at == nends;
}

enum status marks_answered(struct marks *self, const struct mark_id *id, uint32_t ngroups,
                           uint32_t read, const struct mark_log *ends, size_t nends)
{
    struct mark *mark = find_unanswered(self, id);

    if (mark == NULL) {
        return STATUS_NOT_FOUND;
    }
    if (ngroups == 0 || ngroups > DOCUMENT_MAX_SHARDS || read == 0 || read > QUORUM_MAX_REPLICAS ||
        nends > MARK_MAX_ENDS || !is_whole(ngroups, read, ends, nends)) {
        return STATUS_MALFORMED;
    }
    mark->ends = heap_alloc(nends, sizeof mark->ends[0]);
    if (mark->ends == NULL) {
        return STATUS_NOMEM;
    }
    mark->nends = (uint32_t)nends;
    for (size_t i = 0; i < nends; i++) {
        mark->ends[i] = (struct mark_end){.log = ends[i], .reached = is_reached(self, &ends[i])};
        mark->left += !mark->ends[i].reached;
    }
    look(self);
    return STATUS_OK;
}

void marks_disconnected(struct marks *self)
{
    forget_pending(self);
}

/* ---- telling ---- */

uint64_t marks_begun(const struct marks *self)
{
    return self->begun;
}

/* A clock that shows less than when the mark was begun is not to be believed. Of two readings in
 * whole microseconds the difference may be one too small. */
struct mark_told marks_tell(const struct marks *self, uint64_t begun, uint64_t now_us)
{
    if (self->newest == 0 || now_us < self->newest_us) {
        return (struct mark_told){0};
    }
    return (struct mark_told){
        .known = true,
        .after = self->newest > begun,
        .age_us = now_us - self->newest_us + 1,
    };
}
