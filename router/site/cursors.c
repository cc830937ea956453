/* A list of questions under way, each with one ask a seat of its slot group. */
#include "router/site/cursors.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "site/cursor.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    SITE_ASKS_MAX = 256,
    SOON_US = 10000,    /* after the first refusal, then doubled */
    SOON_DOUBLINGS = 5, /* ... so often at most */
    RESEND_DOUBLINGS = 2,
    MAX_HANDED = 3,
};

enum seat_state { SEAT_NOT = 0, SEAT_SENT, SEAT_DONE, SEAT_FAILED };

struct site_seat {
    enum seat_state state;
    enum status refusal;
    uint64_t number; /* of the question */
    uint64_t asked_us;
    uint32_t times; /* that it was asked */
    uint8_t handed; /* documents */
};

struct site_ask {
    struct site_ask *next;
    bool put;
    uint64_t filter_id;
    uint32_t group;
    uint64_t epoch;
    uint64_t epoch_hash;
    uint64_t deadline_us;
    struct site_seat seats[2 * SEAT_PARTNER];
    struct record_site_cursor *cursors; /* to be put, or that were told so far */
    size_t ncursors;
    size_t capacity;
    struct router_boot *boots; /* in which they may be put; NULL: in any */
    size_t nboots;
    void (*done)(void *owner, const struct router_site_cursors_told *told);
    void *owner;
};

/* ---- the end of one ---- */

static void unlink_ask(struct router *self, const struct site_ask *ask)
{
    struct site_ask **way = &self->site_asks;

    while (*way != ask) {
        way = &(*way)->next;
    }
    *way = ask->next;
    self->nsite_asks--;
}

static void forget(struct site_ask *ask)
{
    heap_free(ask->cursors);
    heap_free(ask->boots);
    heap_free(ask);
}

/* It may ask for more at once. */
static void finish(struct router *self, struct site_ask *ask,
                   const struct router_site_cursors_told *told)
{
    unlink_ask(self, ask);
    ask->done(ask->owner, told);
    forget(ask);
}

static void fail(struct router *self, struct site_ask *ask, enum status status, const char *message)
{
    finish(self, ask, &(struct router_site_cursors_told){.status = status, .message = message});
}

void site_asks_destroy(struct router *self)
{
    while (self->site_asks != NULL) {
        fail(self, self->site_asks, STATUS_UNAVAILABLE, "the router stops");
    }
}

bool site_asks_idle(const struct router *self)
{
    return self->site_asks == NULL;
}

bool site_asks_use(const struct router *self, uint64_t filter_id)
{
    for (const struct site_ask *ask = self->site_asks; ask != NULL; ask = ask->next) {
        if (ask->filter_id == filter_id) {
            return true;
        }
    }
    return false;
}

/* ---- asking ---- */

static const struct slot_group *group_of(const struct site_ask *ask,
                                         const struct document_entry *entry)
{
    return &entry->document.content.groups[ask->group];
}

/* Readers, and the other halves of pairs for what is put. Two lives of one node can't both answer.
 */
static bool is_wanted(const struct site_ask *ask, const struct document_entry *entry, uint32_t seat)
{
    const struct slot *slot = &group_of(ask, entry)->slots[seat % SEAT_PARTNER];

    return seat < SEAT_PARTNER || (ask->put && slot_is_pair(slot) && !pair_of_one_node(slot));
}

/* 0: in any; where boots are named: in none of them. */
static uint64_t boot_for(const struct site_ask *ask, const struct member *member)
{
    for (size_t i = 0; i < ask->nboots; i++) {
        if (member_equal(&ask->boots[i].member, member)) {
            return ask->boots[i].boot;
        }
    }
    return 0;
}

static void send(struct router *self, uint64_t now_us, struct site_ask *ask,
                 const struct document_entry *entry, uint32_t seat)
{
    struct backend *backend = backend_of(self, seat_member(group_of(ask, entry), seat)->node);
    struct site_seat *one = &ask->seats[seat];
    struct frame frame = {.correlation = ++self->round, .kind = FRAME_SITE_CURSOR_REQUEST};

    frame.body.site_cursor_request = (struct site_cursor_request){
        .filter_id = ask->filter_id,
        .epoch = ask->epoch,
        .epoch_hash = ask->epoch_hash,
        .group = ask->group,
        .put = ask->put,
        .boot = boot_for(ask, seat_member(group_of(ask, entry), seat)),
        .cursors = ask->put ? ask->cursors : NULL,
        .ncursors = ask->put ? ask->ncursors : 0,
    };
    one->number = frame.correlation;
    one->asked_us = now_us;
    one->times++;
    one->state = SEAT_SENT;
    if (ask->boots != NULL && frame.body.site_cursor_request.boot == 0) {
        one->state = SEAT_FAILED;
        one->refusal = STATUS_CONFLICT;
    } else if (backend == NULL || backend->link == 0 || !backend_send(self, backend, &frame)) {
        one->state = SEAT_FAILED;
        one->refusal = STATUS_UNAVAILABLE;
    }
}

/* The next one of all seats that are to be asked, from *seat on. */
static bool next_seat(const struct site_ask *ask, const struct document_entry *entry,
                      uint32_t *seat)
{
    for (; *seat < 2 * SEAT_PARTNER; (*seat)++) {
        if (*seat % SEAT_PARTNER < entry->document.content.rule.replicas &&
            is_wanted(ask, entry, *seat)) {
            return true;
        }
    }
    return false;
}

/* Under the document as it is now. */
static void ask_all(struct router *self, uint64_t now_us, struct site_ask *ask,
                    const struct document_entry *entry)
{
    ask->epoch = entry->document.epoch;
    ask->epoch_hash = entry->document.epoch_hash;
    ask->ncursors = ask->put ? ask->ncursors : 0;
    memset(ask->seats, 0, sizeof ask->seats);
    for (uint32_t seat = 0; next_seat(ask, entry, &seat); seat++) {
        send(self, now_us, ask, entry, seat);
    }
}

/* What was refused may be taken in a moment; who does not answer may have much to do. */
static uint64_t patience_us(const struct router *self, const struct site_seat *seat)
{
    uint32_t times = seat->times > 0 ? seat->times - 1 : 0;
    uint64_t soon_us;

    if (seat->state == SEAT_SENT) {
        return self->config.retry_us << (times < RESEND_DOUBLINGS ? times : RESEND_DOUBLINGS);
    }
    soon_us = (uint64_t)SOON_US << (times < SOON_DOUBLINGS ? times : SOON_DOUBLINGS);
    return soon_us < self->config.retry_us ? soon_us : self->config.retry_us;
}

/* ---- enough of them? ---- */

static bool slot_done(const struct site_ask *ask, const struct document_entry *entry, uint32_t slot)
{
    bool pair = ask->put && slot_is_pair(&group_of(ask, entry)->slots[slot]);

    return ask->seats[slot].state == SEAT_DONE &&
           (!pair || ask->seats[slot + SEAT_PARTNER].state == SEAT_DONE);
}

static uint32_t slots_done(const struct site_ask *ask, const struct document_entry *entry)
{
    uint32_t done = 0;

    for (uint32_t slot = 0; slot < entry->document.content.rule.replicas; slot++) {
        done += slot_done(ask, entry, slot);
    }
    return done;
}

static uint32_t needed(const struct site_ask *ask, const struct document_entry *entry)
{
    const struct quorum_rule *rule = &entry->document.content.rule;

    if (MUTANT(SITE_CURSOR_OF_ONE)) {
        return 1;
    }
    return ask->put ? rule->write : rule->read;
}

static void evaluate(struct router *self, struct site_ask *ask, const struct document_entry *entry)
{
    struct router_site_cursors_told told = {
        .message = "",
        .epoch = ask->epoch,
        .epoch_hash = ask->epoch_hash,
        .cursors = ask->put ? NULL : ask->cursors,
        .count = ask->put ? 0 : ask->ncursors,
    };

    if (slots_done(ask, entry) >= needed(ask, entry)) {
        finish(self, ask, &told);
    }
}

/* More than one answer holds: that stays so. */
static enum status status_of(const struct site_ask *ask)
{
    for (uint32_t seat = 0; seat < 2 * SEAT_PARTNER; seat++) {
        if (ask->seats[seat].state != SEAT_DONE && ask->seats[seat].refusal == STATUS_TOO_LARGE) {
            return STATUS_TOO_LARGE;
        }
    }
    return STATUS_UNAVAILABLE;
}

/* Who has not answered, and why. */
static void expire(struct router *self, struct site_ask *ask, const struct document_entry *entry)
{
    char text[ROUTER_MESSAGE_BYTES];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "%u of %u replicas of slot group %u %s cursors of other sites, "
                                   "it takes %u",
                                   slots_done(ask, entry), entry->document.content.rule.replicas,
                                   ask->group, ask->put ? "took" : "told", needed(ask, entry));

    for (uint32_t seat = 0; used < sizeof text && next_seat(ask, entry, &seat); seat++) {
        const struct site_seat *one = &ask->seats[seat];
        const struct node_record *record = node_list_find(
            &self->documents.nodes, seat_member(group_of(ask, entry), seat)->node);

        if (one->state != SEAT_DONE) {
            used += (size_t)snprintf(
                text + used, sizeof text - used, "%s %s %s", strchr(text, ':') == NULL ? ":" : ",",
                record != NULL ? record->name : "a node not listed",
                one->state == SEAT_SENT ? "does not answer" : status_code(one->refusal));
        }
    }
    router_count(self, ROUTER_deadlines_total);
    fail(self, ask, status_of(ask), text);
}

/* Why it can't go on under the document as it is now; NULL: it can. */
static const char *why_over(const struct site_ask *ask, const struct document_entry *entry,
                            enum status *status)
{
    if (entry->conflict) {
        *status = STATUS_CONFLICT;
        return ROUTER_CONFLICT_MESSAGE;
    }
    if (entry->document.content.state != FILTER_ACTIVE) {
        *status = STATUS_DROPPED;
        return "the filter was dropped here";
    }
    *status = STATUS_INVALID;
    return ask->group < entry->document.content.ngroups ? NULL : "there is no such slot group";
}

/* True: it goes on, under the epoch that it was asked under. */
static bool goes_on(struct router *self, uint64_t now_us, struct site_ask *ask,
                    const struct document_entry *entry)
{
    enum status status;
    const char *reason = why_over(ask, entry, &status);

    if (reason != NULL) {
        fail(self, ask, status, reason);
        return false;
    }
    if (entry->document.epoch != ask->epoch) {
        router_count(self, ROUTER_restarts_total);
        ask_all(self, now_us, ask, entry);
        return false;
    }
    return true;
}

static void tick(struct router *self, uint64_t now_us, struct site_ask *ask)
{
    const struct document_entry *entry = document_cache_find(&self->documents, ask->filter_id);

    if (!goes_on(self, now_us, ask, entry)) {
        return;
    }
    if (now_us >= ask->deadline_us) {
        expire(self, ask, entry);
        return;
    }
    for (uint32_t seat = 0; next_seat(ask, entry, &seat); seat++) {
        const struct site_seat *one = &ask->seats[seat];

        if (one->state != SEAT_DONE && now_us - one->asked_us >= patience_us(self, one)) {
            router_count(self, ROUTER_retries_total);
            send(self, now_us, ask, entry, seat);
        }
    }
}

void site_asks_tick(struct router *self, uint64_t now_us)
{
    struct site_ask *next;

    for (struct site_ask *ask = self->site_asks; ask != NULL; ask = next) {
        next = ask->next; /* Those that are begun meanwhile come first in the list. */
        tick(self, now_us, ask);
    }
}

/* ---- answers ---- */

static enum status keep(struct site_ask *ask, const struct record_site_cursor *told)
{
    struct record_site_cursor cursor = *told;

    cursor.filter_id = ask->filter_id;
    cursor.group = ask->group;
    for (size_t i = 0; i < ask->ncursors; i++) {
        if (site_cursor_compare(&ask->cursors[i], &cursor) == 0) {
            site_cursor_join(&ask->cursors[i], &cursor);
            return STATUS_OK;
        }
    }
    if (!heap_grow(&ask->cursors, &ask->capacity, ask->ncursors + 1, sizeof cursor)) {
        return STATUS_NOMEM;
    }
    ask->cursors[ask->ncursors++] = cursor;
    return STATUS_OK;
}

/* All of them are looked at before any is kept. */
static enum status take(struct site_ask *ask, const struct document_entry *entry, uint32_t seat,
                        const struct site_cursor_reply *reply)
{
    const struct member *member = seat_member(group_of(ask, entry), seat);
    enum replica_state state = seat < SEAT_PARTNER ? REPLICA_FULL : REPLICA_JOINING;
    enum status status = STATUS_OK;

    if (reply->epoch != ask->epoch || reply->epoch_hash != ask->epoch_hash ||
        reply->node_id != member->node || reply->incarnation != member->incarnation ||
        reply->state != state || reply->group != ask->group) {
        return STATUS_NOT_READY;
    }
    for (size_t i = 0; i < reply->ncursors; i++) {
        if (!site_cursor_valid(&reply->cursors[i])) {
            return STATUS_MALFORMED;
        }
    }
    for (size_t i = 0; !ask->put && i < reply->ncursors && status == STATUS_OK; i++) {
        status = keep(ask, &reply->cursors[i]);
    }
    return status;
}

static void hand_document(struct router *self, const struct document_entry *entry,
                          struct site_seat *one, uint32_t node)
{
    struct span bytes = span_of(entry->signed_bytes, entry->signed_size);
    struct frame frame = {.kind = FRAME_DOCUMENTS, .body.documents = {.items = &bytes, .count = 1}};
    struct backend *backend = backend_of(self, node);

    router_count(self, ROUTER_need_doc_total);
    if (one->handed < MAX_HANDED && backend != NULL && backend_send(self, backend, &frame)) {
        one->handed++;
    }
}

static struct site_ask *find(const struct router *self, uint64_t number, uint32_t *seat)
{
    for (struct site_ask *ask = self->site_asks; ask != NULL; ask = ask->next) {
        for (*seat = 0; *seat < 2 * SEAT_PARTNER; (*seat)++) {
            if (ask->seats[*seat].state == SEAT_SENT && ask->seats[*seat].number == number) {
                return ask;
            }
        }
    }
    return NULL;
}

void site_asks_on_reply(struct router *self, uint64_t now_us, const struct frame *frame)
{
    const struct site_cursor_reply *reply = &frame->body.site_cursor_reply;
    const struct document_entry *entry;
    struct site_ask *ask;
    struct site_seat *one;
    uint32_t seat;

    if (reply->document.size > 0) {
        router_take_document(self, now_us, reply->document);
    }
    ask = find(self, frame->correlation, &seat);
    if (ask == NULL) {
        router_count(self, ROUTER_late_total);
        return;
    }
    entry = document_cache_find(&self->documents, ask->filter_id);
    if (!goes_on(self, now_us, ask, entry)) {
        return;
    }
    one = &ask->seats[seat];
    one->refusal = reply->status == STATUS_OK ? take(ask, entry, seat, reply) : reply->status;
    one->state = one->refusal == STATUS_OK ? SEAT_DONE : SEAT_FAILED;
    self->counters[ROUTER_votes_void_total] += reply->status == STATUS_OK &&
                                               one->refusal != STATUS_OK;
    if (one->refusal == STATUS_NEED_DOC) {
        hand_document(self, entry, one, seat_member(group_of(ask, entry), seat)->node);
        send(self, now_us, ask, entry, seat);
    } else if (one->refusal == STATUS_STALE || one->refusal == STATUS_DROPPED) {
        sync_want(self, now_us);
    }
    evaluate(self, ask, entry);
}

/* ---- the questions ---- */

static void refuse(const struct router_site_cursors *question, enum status status,
                   const char *message)
{
    question->done(question->owner,
                   &(struct router_site_cursors_told){.status = status, .message = message});
}

static bool copy_cursors(struct site_ask *ask, const struct router_site_cursors *question)
{
    ask->cursors = heap_alloc(question->count, sizeof *ask->cursors);
    if (ask->cursors == NULL) {
        return false;
    }
    memcpy(ask->cursors, question->cursors, question->count * sizeof *ask->cursors);
    ask->ncursors = ask->capacity = question->count;
    return true;
}

static bool copy_boots(struct site_ask *ask, const struct router_site_cursors *question)
{
    ask->boots = heap_alloc(question->nboots, sizeof *ask->boots);
    if (ask->boots == NULL) {
        return false;
    }
    memcpy(ask->boots, question->boots, question->nboots * sizeof *ask->boots);
    ask->nboots = question->nboots;
    return true;
}

/* NULL: there is no room. */
static struct site_ask *make(const struct router_site_cursors *question, bool put, size_t count)
{
    struct site_ask *ask = heap_zalloc(1, sizeof *ask);

    if (ask == NULL) {
        return NULL;
    }
    ask->put = put;
    ask->filter_id = question->filter_id;
    ask->group = question->group;
    ask->done = question->done;
    ask->owner = question->owner;
    if ((count > 0 && !copy_cursors(ask, question)) ||
        (put && question->nboots > 0 && !copy_boots(ask, question))) {
        forget(ask);
        return NULL;
    }
    return ask;
}

static bool all_valid(const struct router_site_cursors *question)
{
    bool valid = question->count <= CODEC_MAX_SITE_CURSORS;

    for (size_t i = 0; valid && i < question->count; i++) {
        valid = site_cursor_valid(&question->cursors[i]);
    }
    return valid;
}

static void begin(struct router *self, uint64_t now_us, const struct router_site_cursors *question,
                  bool put)
{
    struct document_entry *entry = document_cache_find(&self->documents, question->filter_id);
    enum status status;
    const char *reason = router_why_not(self, entry, question->filter_id, &status);
    struct site_ask *ask;

    if (reason != NULL) {
        sync_want(self, now_us);
        refuse(question, status, reason);
        return;
    }
    if (!document_logs_keys(&entry->document) ||
        question->group >= entry->document.content.ngroups || (put && !all_valid(question))) {
        refuse(question, STATUS_INVALID,
               "no such slot group, no cursors, or a filter without a key log on disk");
        return;
    }
    ask = self->nsite_asks < SITE_ASKS_MAX ? make(question, put, put ? question->count : 0) : NULL;
    if (ask == NULL) {
        router_count(self, ROUTER_overloaded_total);
        refuse(question, STATUS_OVERLOADED, "too many questions about cursors are under way");
        return;
    }
    ask->deadline_us = op_deadline_us(self, now_us, question->timeout_ms);
    ask->next = self->site_asks;
    self->site_asks = ask;
    self->nsite_asks++;
    ask_all(self, now_us, ask, entry);
    op_set_clock(self, now_us);
}

void router_site_cursors_put(struct router *self, uint64_t now_us,
                             const struct router_site_cursors *question)
{
    begin(self, now_us, question, true);
}

void router_site_cursors_get(struct router *self, uint64_t now_us,
                             const struct router_site_cursors *question)
{
    begin(self, now_us, question, false);
}
