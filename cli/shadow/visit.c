/* A queue of entries, one a command: the first ones wait for the new server, or are the next to be
 * answered by the old one. Answers leave in its order. */
#include "cli/shadow/visit.h"

#include "base/heap.h"
#include "cli/shadow/answers.h"

#include <assert.h>

enum {
    ENTRIES_MOST = 4096,
    HELD_MOST = 4 << 20,    /* bytes of commands, and of answers, at which no more is read */
    ANSWER_MOST = 16 << 20, /* ... of one answer that is held */
    PREFIX_BYTES = 256,     /* of a command, by which it is known whether it matters */
    SMALL_BYTES = 4096,     /* of what is kept from one command for the next */
    REPLY_BYTES = 2 << 20,  /* of an answer, beyond which it is not looked at */
};

struct entry {
    TAILQ_ENTRY(entry) link;
    struct visit *visit;
    struct shadow_deed *deed; /* NULL: nothing but the answer matters */
    bool blind;               /* from here on nothing is seen */
    bool answered;            /* by the old server, as a whole */
    struct mirror_item *item; /* whose answer it waits for */
    struct buffer held;       /* the old server's answer, as far as it has not left */
};

TAILQ_HEAD(entries, entry);

struct visit {
    const struct visit_port *port;
    void *owner;

    struct framer requests;
    struct resp_request parser;
    struct buffer request;   /* the one that comes, while it may matter */
    size_t request_reserved; /* for it at the mirror */
    bool unnoted;            /* ... it does not, or is too large, or there is no room */
    bool large;              /* ... it would matter */
    bool no_room;            /* ... likewise */
    bool blind_requests;     /* nothing goes to the new one any more */
    bool garbled;            /* ... nor can it be told where commands begin */

    struct framer replies;
    struct buffer reply; /* the one that comes, as far as it is looked at */
    bool blind_replies;

    struct entries entries;
    struct entry *next; /* the old server answers this one next */
    size_t nentries;
    size_t noted; /* bytes of deeds in entries */
    size_t held;  /* bytes of answers in entries */

    struct shadow_deeds transaction;
    bool transaction_full; /* its beginning was given up, and so is the rest */
    uint32_t database;
    bool torn; /* bytes for the client were lost */
};

struct visit *visit_create(const struct visit_port *port, void *owner)
{
    struct visit *self = heap_zalloc(1, sizeof *self);

    if (self == NULL) {
        return NULL;
    }
    self->port = port;
    self->owner = owner;
    framer_init(&self->requests, true);
    framer_init(&self->replies, false);
    resp_request_init(&self->parser);
    buffer_init(&self->request, SHADOW_REQUEST_BYTES);
    buffer_init(&self->reply, REPLY_BYTES);
    TAILQ_INIT(&self->entries);
    TAILQ_INIT(&self->transaction);
    return self;
}

static void count(const struct visit *self, enum tally_count what, uint64_t number)
{
    self->port->tally->counts[what] += number;
}

static void drop_deed(struct visit *self, struct entry *entry)
{
    self->noted -= shadow_deed_bytes(entry->deed);
    mirror_drop_deed(self->port->mirror, &entry->deed);
}

static void destroy_entry(struct visit *self, struct entry *entry)
{
    TAILQ_REMOVE(&self->entries, entry, link);
    self->nentries--;
    self->held -= entry->held.size;
    drop_deed(self, entry);
    if (entry->item != NULL) {
        entry->item->waiter = NULL;
    }
    buffer_fini(&entry->held);
    heap_free(entry);
}

static void forget_transaction(struct visit *self)
{
    struct shadow_deed *deed;

    while ((deed = TAILQ_FIRST(&self->transaction)) != NULL) {
        TAILQ_REMOVE(&self->transaction, deed, entry);
        mirror_drop_deed(self->port->mirror, &deed);
    }
    self->transaction_full = false;
}

/* What a large command took is given back with it. */
static void forget_request(struct visit *self)
{
    mirror_release(self->port->mirror, self->request_reserved);
    self->request_reserved = 0;
    if (self->request.capacity > SMALL_BYTES) {
        buffer_fini(&self->request);
        resp_request_fini(&self->parser);
        resp_request_init(&self->parser);
    }
    buffer_clear(&self->request);
}

void visit_destroy(struct visit **visit)
{
    struct visit *self = *visit;

    *visit = NULL;
    if (self == NULL) {
        return;
    }
    while (!TAILQ_EMPTY(&self->entries)) {
        destroy_entry(self, TAILQ_FIRST(&self->entries));
    }
    forget_transaction(self);
    forget_request(self);
    resp_request_fini(&self->parser);
    buffer_fini(&self->request);
    buffer_fini(&self->reply);
    heap_free(self);
}

/* ---- what leaves ---- */

/* No router takes it, or there was no room for it. */
static bool is_for_old_alone(const struct shadow_deed *deed)
{
    return deed->size == 0 || deed->nkeys > SHADOW_MOST_KEYS;
}

/* Is the old server's answer held until the new one's has come? */
static bool holds(const struct visit *self, const struct entry *entry)
{
    return self->port->answers_new && !self->blind_replies && entry->deed != NULL &&
           shadow_is_about_keys(entry->deed->kind) && !is_for_old_alone(entry->deed);
}

/* The first entries that wait for nothing leave; of the next one what has come. */
static void flush(struct visit *self)
{
    struct entry *first;

    while ((first = TAILQ_FIRST(&self->entries)) != NULL && first->item == NULL) {
        if ((first->answered || !holds(self, first)) && first->held.size > 0) {
            self->port->to_client(self->owner, buffer_span(&first->held));
            self->held -= first->held.size;
            buffer_clear(&first->held);
        }
        if (!first->answered) {
            return;
        }
        destroy_entry(self, first);
    }
}

/* Bytes of the old server that belong to the entry, or to none: then they leave behind all that
 * waits. */
static void emit(struct visit *self, struct entry *entry, struct span bytes)
{
    entry = entry != NULL ? entry : TAILQ_LAST(&self->entries, entries);
    if (entry == NULL ||
        (entry == TAILQ_FIRST(&self->entries) && !entry->answered && !holds(self, entry))) {
        self->port->to_client(self->owner, bytes);
    } else if (buffer_append(&entry->held, bytes) == STATUS_OK) {
        self->held += bytes.size;
    } else {
        self->torn = true;
    }
}

/* ---- what is to be done at the new one ---- */

static void count_missed(struct visit *self, const struct shadow_deed *deed, enum tally_count why)
{
    count(self,
          deed->kind == SHADOW_ADD     ? why
          : deed->kind == SHADOW_CHECK ? TALLY_UNCOMPARED
                                       : TALLY_NOT_MADE,
          deed->kind == SHADOW_MAKE ? 1 : deed->nkeys);
}

/* What is in the transaction will not be done at the new one. */
static void miss_transaction(struct visit *self, enum tally_count why)
{
    const struct shadow_deed *deed;

    TAILQ_FOREACH(deed, &self->transaction, entry)
    {
        if (shadow_is_about_keys(deed->kind)) {
            count_missed(self, deed, why);
        }
    }
    forget_transaction(self);
}

/* The old server has done it. Takes the deed. */
static struct mirror_item *mirror_deed(struct visit *self, struct shadow_deed **deed,
                                       struct span reply, uint64_t now_us)
{
    struct shadow_deed lost = **deed;
    struct mirror_item *item = NULL;

    if (self->database != self->port->database) {
        count(self, TALLY_OTHER_DATABASE, 1);
        mirror_drop_deed(self->port->mirror, deed);
        return NULL;
    }
    if (lost.kind != SHADOW_MAKE) {
        count(self, lost.kind == SHADOW_ADD ? TALLY_ADDED : TALLY_CHECKED, lost.nkeys);
    }
    if (is_for_old_alone(&lost)) {
        count_missed(self, &lost, lost.no_room ? TALLY_MISSED_FULL : TALLY_MISSED_LARGE);
        mirror_drop_deed(self->port->mirror, deed);
        return NULL;
    }
    item = mirror_put(self->port->mirror, deed, reply, now_us);
    if (item == NULL) {
        count_missed(self, &lost, TALLY_MISSED_FULL);
    }
    return item;
}

/* What the old server has done, and has said so. Takes the deed; the item that it has become, if
 * any. */
static struct mirror_item *do_deed(struct visit *self, struct shadow_deed **deed, struct span reply,
                                   uint64_t now_us)
{
    bool failed = shadow_is_error(reply);

    switch ((*deed)->kind) {
    case SHADOW_ADD:
    case SHADOW_CHECK:
    case SHADOW_MAKE:
        if (!failed) {
            return mirror_deed(self, deed, reply, now_us);
        }
        break;
    case SHADOW_SELECT:
        self->database = failed ? self->database : (*deed)->database;
        break;
    case SHADOW_RESET:
        if (!failed) {
            self->database = 0;
            forget_transaction(self);
        }
        break;
    case SHADOW_DISCARD:
        if (!failed) {
            forget_transaction(self);
        }
        break;
    case SHADOW_PLAIN:
    case SHADOW_EXEC:
    case SHADOW_BLIND:
        break;
    }
    mirror_drop_deed(self->port->mirror, deed);
    return NULL;
}

/* Each command of the transaction has its own answer in that of EXEC. One that is too long to be
 * looked at says at least that all was done. */
static void do_transaction(struct visit *self, struct span reply, uint64_t now_us)
{
    bool done = reply.size > 0 && reply.data[0] == '*' && self->replies.count >= 0;
    struct span rest = framer_elements(reply);
    struct shadow_deed *deed;

    while (done && (deed = TAILQ_FIRST(&self->transaction)) != NULL) {
        struct span element = span_text("+?\r\n");

        (void)framer_split(&rest, &element);
        TAILQ_REMOVE(&self->transaction, deed, entry);
        (void)do_deed(self, &deed, element, now_us);
    }
    forget_transaction(self);
}

/* ---- what the old server answers ---- */

/* The transaction is too large to be kept: what is in it, and what still comes, is missed. */
static void give_up_transaction(struct visit *self)
{
    miss_transaction(self, TALLY_MISSED_FULL);
    self->transaction_full = true;
}

/* It is done with EXEC only: its place is kept, whatever it is. */
static void queue_deed(struct visit *self, struct entry *entry)
{
    static const struct shadow_command nothing = {.kind = SHADOW_PLAIN};
    struct shadow_deed *deed = entry->deed != NULL ? entry->deed
                                                   : shadow_deed_create(&nothing, span_of(NULL, 0));

    self->noted -= shadow_deed_bytes(entry->deed);
    entry->deed = NULL;
    if (deed != NULL) {
        TAILQ_INSERT_TAIL(&self->transaction, deed, entry);
    }
    if (deed == NULL || self->transaction_full || !mirror_reserve_deed(self->port->mirror, deed)) {
        give_up_transaction(self);
    }
}

/* Has the new one all that was acknowledged since the shadow began? A client that was told that its
 * key is added may look it up before a command that was put off has its turn, and what was missed
 * never comes: then "absent" is not for the new one to say. */
static bool new_is_whole(const struct visit *self)
{
    return self->port->mirror->owed == 0 && tally_missed(self->port->tally) == 0;
}

static void settle(struct visit *self, struct entry *entry, uint64_t now_us)
{
    struct span reply = buffer_span(&self->reply);
    struct mirror_item *item = NULL;

    entry->answered = true;
    self->next = TAILQ_NEXT(entry, link);
    if (span_equal(reply, span_text("+QUEUED\r\n"))) {
        queue_deed(self, entry);
    } else if (entry->deed != NULL && entry->deed->kind == SHADOW_EXEC) {
        do_transaction(self, reply, now_us);
        drop_deed(self, entry);
    } else if (entry->deed != NULL) {
        self->noted -= shadow_deed_bytes(entry->deed);
        item = do_deed(self, &entry->deed, reply, now_us);
    }
    if (item != NULL && self->port->answers_new && mirror_ready(self->port->mirror) &&
        !mirror_is_late(self->port->mirror) && new_is_whole(self)) {
        item->waiter = entry;
        entry->item = item;
    } else if (item != NULL && self->port->answers_new) {
        count(self, TALLY_IN_PLACE, 1);
    }
    flush(self);
}

/* It can't be told any more which answer is whose. */
static void go_blind(struct visit *self)
{
    const struct entry *entry;

    TAILQ_FOREACH(entry, &self->entries, link)
    {
        if (entry->deed != NULL && shadow_is_about_keys(entry->deed->kind)) {
            count_missed(self, entry->deed, TALLY_MISSED_UNSURE);
        }
    }
    miss_transaction(self, TALLY_MISSED_UNSURE);
    count(self, TALLY_BLIND, self->blind_requests ? 0 : 1);
    self->blind_requests = self->blind_replies = true;
    visit_server_gone(self);
}

/* Keep of an answer what is looked at. False: no memory. */
static bool look_at(struct visit *self, struct span bytes)
{
    struct entry *entry = self->next;
    size_t most = entry == NULL ? 0 : entry->deed != NULL ? REPLY_BYTES : 16;
    size_t room = most > self->reply.size ? most - self->reply.size : 0;

    return buffer_append(&self->reply,
                         span_of(bytes.data, bytes.size < room ? bytes.size : room)) == STATUS_OK;
}

/* A piece of an answer, or of what is told by the way. */
static size_t take_piece(struct visit *self, uint64_t now_us, struct span bytes)
{
    enum framer_verdict verdict;
    size_t size = framer_take(&self->replies, bytes, &verdict);
    struct span piece = span_of(bytes.data, size);
    bool pushed = self->replies.kind == '>';

    if (verdict == FRAMER_BROKEN || (!pushed && !look_at(self, piece))) {
        go_blind(self);
        return 0;
    }
    emit(self, self->next, piece);
    if (verdict == FRAMER_VALUE) {
        if (!pushed && self->next != NULL) {
            settle(self, self->next, now_us);
        }
        buffer_clear(&self->reply);
    }
    return size;
}

void visit_old_bytes(struct visit *visit, uint64_t now_us, struct span bytes)
{
    while (bytes.size > 0 && !visit->blind_replies) {
        size_t size;

        if (visit->next != NULL && visit->next->blind) {
            miss_transaction(visit, TALLY_MISSED_UNSURE); /* EXEC may come. */
            visit->blind_replies = true;
            break;
        }
        size = take_piece(visit, now_us, bytes);
        bytes = span_of(bytes.data + size, bytes.size - size);
    }
    if (bytes.size > 0) {
        emit(visit, visit->next, bytes);
    }
}

/* Nobody waits for the new server any longer who has since before then. Returns how many. */
static size_t give_up(struct visit *self, uint64_t before_us)
{
    struct entry *entry;
    size_t number = 0;

    TAILQ_FOREACH(entry, &self->entries, link)
    {
        if (entry->item != NULL && entry->item->since_us < before_us) {
            entry->item->waiter = NULL;
            entry->item = NULL;
            number++;
        }
    }
    count(self, TALLY_IN_PLACE, number);
    flush(self);
    return number;
}

void visit_server_gone(struct visit *visit)
{
    (void)give_up(visit, UINT64_MAX);
}

void visit_give_up(struct visit *visit, uint64_t before_us)
{
    for (size_t i = give_up(visit, before_us); i > 0; i--) {
        mirror_was_late(visit->port->mirror);
    }
}

/* ---- what the client sends ---- */

static struct entry *make_entry(struct visit *self)
{
    struct entry *entry = heap_zalloc(1, sizeof *entry);

    if (entry == NULL) {
        return NULL;
    }
    entry->visit = self;
    buffer_init(&entry->held, ANSWER_MOST);
    TAILQ_INSERT_TAIL(&self->entries, entry, link);
    self->nentries++;
    self->next = self->next != NULL ? self->next : entry;
    return entry;
}

/* From here on the old one may do it, and nobody will tell. */
static void miss_unseen(struct visit *self, const struct shadow_command *command)
{
    count(self, TALLY_MISSED_UNSURE,
          command->unread               ? 1
          : command->kind == SHADOW_ADD ? command->nkeys
                                        : 0);
}

static void push_blind(struct visit *self)
{
    struct entry *entry = make_entry(self);

    if (entry == NULL) {
        go_blind(self);
        return;
    }
    count(self, TALLY_BLIND, 1);
    self->blind_requests = entry->blind = true;
}

/* An empty line and an empty array are not answered. */
static bool is_nothing(const struct visit *self)
{
    return self->requests.kind == '*'
               ? self->requests.count <= 0
               : !self->unnoted && span_trim(buffer_span(&self->request)).size == 0;
}

/* Nobody reads the request of a deed that is not for the new server, or that has no room. NULL: no
 * memory. */
static struct shadow_deed *make_deed(struct visit *self, const struct shadow_command *command,
                                     struct span request)
{
    bool for_both = shadow_is_about_keys(command->kind);
    struct shadow_deed *deed = shadow_deed_create(command, for_both ? request : span_of(NULL, 0));

    if (deed != NULL && for_both &&
        (self->no_room || !mirror_reserve_deed(self->port->mirror, deed))) {
        mirror_drop_deed(self->port->mirror, &deed);
        deed = shadow_deed_create(command, span_of(NULL, 0));
        if (deed != NULL) {
            deed->no_room = true;
        }
    }
    return deed;
}

static void take_request(struct visit *self)
{
    struct shadow_command command = {.kind = SHADOW_PLAIN};
    struct span request = buffer_span(&self->request);
    struct entry *entry;

    if (!self->unnoted) {
        command = shadow_command_read(&self->parser, request);
    } else if (self->large || self->no_room) {
        command = (struct shadow_command){.kind = SHADOW_ADD, .nkeys = 1};
        request = span_of(NULL, 0);
    }
    if (self->blind_requests) {
        miss_unseen(self, &command);
        return;
    }
    if (command.kind == SHADOW_BLIND) {
        push_blind(self);
        return;
    }
    entry = make_entry(self);
    if (entry != NULL && command.kind != SHADOW_PLAIN) {
        entry->deed = make_deed(self, &command, request);
    }
    if (entry == NULL || command.unread || (entry->deed == NULL && command.kind != SHADOW_PLAIN)) {
        miss_unseen(self, &command);
        go_blind(self);
        return;
    }
    self->noted += shadow_deed_bytes(entry->deed);
}

/* The room that it takes beyond what each client may keep is the mirror's. */
static bool reserve_request(struct visit *self)
{
    size_t wanted = self->request.capacity > SMALL_BYTES ? self->request.capacity : 0;

    assert(wanted >= self->request_reserved);
    if (!mirror_reserve(self->port->mirror, wanted - self->request_reserved)) {
        return false;
    }
    self->request_reserved = wanted;
    return true;
}

/* Keep what has come of a command, while it may matter. */
static void note(struct visit *self, struct span bytes)
{
    if (self->unnoted) {
        return;
    }
    if (buffer_append(&self->request, bytes) != STATUS_OK) {
        self->unnoted = self->large = true;
    } else if (self->request.size > PREFIX_BYTES &&
               !shadow_command_may_matter(buffer_span(&self->request))) {
        self->unnoted = true;
    } else if (!reserve_request(self)) {
        self->unnoted = self->no_room = true;
    }
    if (self->unnoted) {
        forget_request(self);
    }
}

static size_t take_client_piece(struct visit *self, struct span bytes)
{
    enum framer_verdict verdict;
    size_t size = framer_take(&self->requests, bytes, &verdict);

    if (verdict == FRAMER_BROKEN) {
        self->garbled = true;
        if (!self->blind_requests) {
            push_blind(self);
        }
        return size;
    }
    note(self, span_of(bytes.data, size));
    if (verdict == FRAMER_VALUE) {
        mirror_release(self->port->mirror, self->request_reserved); /* The deed takes it. */
        self->request_reserved = 0;
        if (!is_nothing(self)) {
            take_request(self);
        }
        forget_request(self);
        self->unnoted = self->large = self->no_room = false;
    }
    return size;
}

void visit_client_bytes(struct visit *visit, struct span bytes)
{
    visit->port->to_old(visit->owner, bytes);
    while (bytes.size > 0 && !visit->garbled) {
        size_t size = take_client_piece(visit, bytes);

        bytes = span_of(bytes.data + size, bytes.size - size);
    }
}

/* ---- what the new server answers ---- */

/* The answers of the new server take the place of the old one's, as far as it is sure; what was
 * told by the way stays. False: the old one's stand, as a whole or in part. */
static bool replace(struct entry *entry, struct span reply)
{
    struct visit *self = entry->visit;
    struct span rest = buffer_span(&entry->held);
    struct span value;
    struct buffer fresh;
    enum status status = STATUS_OK;
    bool in_place = true;

    buffer_init(&fresh, ANSWER_MOST);
    while (status == STATUS_OK && framer_split(&rest, &value)) {
        status = value.data[0] == '>' ? buffer_append(&fresh, value)
                                      : shadow_answers_merge(value, reply, &fresh, &in_place);
    }
    if (status != STATUS_OK) {
        buffer_fini(&fresh);
        return false;
    }
    self->held += fresh.size;
    self->held -= entry->held.size;
    buffer_fini(&entry->held);
    entry->held = fresh;
    return !in_place;
}

void visit_new_answered(struct mirror_item *item, struct span reply)
{
    struct entry *entry = item->waiter;

    if (entry == NULL) {
        return;
    }
    item->waiter = NULL;
    entry->item = NULL;
    if (!new_is_whole(entry->visit) || !replace(entry, reply)) {
        count(entry->visit, TALLY_IN_PLACE, 1);
    }
    flush(entry->visit);
}

/* ---- bounds ---- */

bool visit_reads_client(const struct visit *visit)
{
    return visit->nentries < ENTRIES_MOST && visit->noted < HELD_MOST;
}

bool visit_reads_old(const struct visit *visit)
{
    bool waits_for_old = visit->next != NULL && visit->next == TAILQ_FIRST(&visit->entries);

    return visit->held < HELD_MOST || waits_for_old; /* Else its answer would never be whole. */
}

bool visit_is_settled(const struct visit *visit)
{
    return visit->next == NULL || visit->next->blind || visit->blind_replies;
}

bool visit_is_answered(const struct visit *visit)
{
    const struct entry *first = TAILQ_FIRST(&visit->entries);

    return first == NULL || first->blind || visit->blind_replies;
}

bool visit_is_torn(const struct visit *visit)
{
    return visit->torn;
}
