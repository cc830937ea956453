/* Checks and copies what is asked into one allocation, makes the frame of each attempt, tells
 * answers to old attempts from those that count, and what these make of it: decided, to be tried
 * again, ended. */
#include "client/operation.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "proto/admin_message.h"

#include <assert.h>
#include <stdio.h>

/* A correlation is the sequence and the low bits of the attempt: answers of all kinds echo it. */
enum { ATTEMPT_BITS = 12, FRAME_OVERHEAD_BYTES = 2048, LENGTH_BYTES_MAX = 3 };

/* Of the time left, a part is kept back for the way of the router's own last word. */
enum {
    ANSWER_SHARE = 10,
    ANSWER_MOST_US = 250000,
    PAGE_ANSWER_MS = 4000, /* of a dump: who has not told it by then is asked once more */
};

static enum status check_text(const char *text)
{
    if (text == NULL || text[0] == '\0') {
        return STATUS_INVALID;
    }
    return strlen(text) < DOCUMENT_NAME_BYTES ? STATUS_OK : STATUS_TOO_LARGE;
}

/* Sizes the batch; a key may be 1 byte to 64 KiB. */
static enum status check_keys(const struct session_keys *keys, size_t *bytes)
{
    *bytes = 0;
    if (keys->count == 0 || keys->lengths == NULL || keys->blob == NULL ||
        (keys->operation < OPERATION_CHECK || keys->operation > OPERATION_FEED)) {
        return STATUS_INVALID;
    }
    if (keys->count > CODEC_MAX_KEYS) {
        return STATUS_TOO_LARGE;
    }
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->lengths[i] == 0) {
            return STATUS_INVALID;
        }
        if (keys->lengths[i] > CODEC_MAX_KEY_BYTES) {
            return STATUS_TOO_LARGE;
        }
        *bytes += keys->lengths[i];
    }
    if (*bytes + LENGTH_BYTES_MAX * keys->count + FRAME_OVERHEAD_BYTES > CODEC_MAX_FRAME_BYTES) {
        return STATUS_TOO_LARGE;
    }
    return check_text(keys->filter);
}

/* One allocation holds the operation and everything that it copies, widest first. */
enum status operation_create_keys(const struct session_keys *keys, struct op_id id,
                                  struct operation_state **out)
{
    struct operation_state *self;
    size_t nwords = bits_words(keys->count);
    size_t text_size = keys->filter != NULL ? strlen(keys->filter) + 1 : 0;
    size_t bytes;
    uint32_t *lengths;
    char *text;
    enum status status = check_keys(keys, &bytes);

    assert(*out == NULL);

    if (status != STATUS_OK) {
        return status;
    }
    self = heap_alloc(1, sizeof *self + 2 * nwords * sizeof(uint64_t) +
                             keys->count * sizeof(uint32_t) + text_size + bytes);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    memset(self, 0, sizeof *self + 2 * nwords * sizeof(uint64_t));
    self->sequence = id.sequence;
    self->count = keys->count;
    self->bytes = bytes;
    self->present = (uint64_t *)(self + 1);
    self->absent = self->present + nwords;
    lengths = (uint32_t *)(self->absent + nwords);
    text = (char *)(lengths + keys->count);
    memcpy(lengths, keys->lengths, keys->count * sizeof *lengths);
    memcpy(text, keys->filter, text_size);
    memcpy(text + text_size, keys->blob, bytes);
    self->frame.kind = FRAME_CLIENT_REQUEST;
    self->frame.body.client_request = (struct client_request){
        .filter = text,
        .operation = keys->operation,
        .op = id,
        .slots = keys->slots,
        .keys = span_of(text + text_size, bytes),
        .lengths = lengths,
        .count = keys->count,
        .keyset = keys->keyset,
        .max_staleness = keys->max_staleness,
        .acks = keys->acks};
    *out = self;
    return STATUS_OK;
}

enum { QUESTION_TEXTS = 2 };

/* The texts of a question, as many as it has; -1: nobody asks this. */
static int texts_of(struct frame *frame, const char **texts[QUESTION_TEXTS])
{
    if (frame->kind == FRAME_ADMIN_REQUEST) {
        texts[0] = &frame->body.admin_request.name;
        texts[1] = &frame->body.admin_request.successor;
        return 2;
    }
    if (frame->kind == FRAME_INFO_REQUEST) {
        texts[0] = &frame->body.info_request.filter;
        return 1;
    }
    if (frame->kind == FRAME_DUMP_REQUEST) {
        texts[0] = &frame->body.dump_request.filter;
        return 1;
    }
    if (frame->kind == FRAME_LOAD_REQUEST) {
        texts[0] = &frame->body.load_request.filter;
        return 1;
    }
    return frame->kind == FRAME_STATS_REQUEST || frame->kind == FRAME_SITE_AGE_REQUEST ||
                   frame->kind == FRAME_SITE_LAG_REQUEST
               ? 0
               : -1;
}

/* They outlive the caller's: a question may be asked again and again. */
static enum status measure_texts(const char **const texts[QUESTION_TEXTS], int count, size_t *size)
{
    *size = 0;
    for (int i = 0; i < count; i++) {
        size_t one;

        if (*texts[i] == NULL) {
            *texts[i] = "";
        }
        one = strlen(*texts[i]) + 1;
        if (one > DOCUMENT_NAME_BYTES) {
            return STATUS_TOO_LARGE;
        }
        *size += one;
    }
    return STATUS_OK;
}

enum status operation_create_question(const struct frame *frame, struct operation_state **out)
{
    struct operation_state *self;
    struct frame copy = *frame;
    const char **texts[QUESTION_TEXTS];
    int count = texts_of(&copy, texts);
    size_t size = 0;
    enum status status = count < 0 ? STATUS_INVALID : measure_texts(texts, count, &size);
    char *place;

    assert(*out == NULL);

    if (status != STATUS_OK) {
        return status;
    }
    self = heap_alloc(1, sizeof *self + size);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    place = (char *)(self + 1);
    for (int i = 0; i < count; i++) {
        size_t one = strlen(*texts[i]) + 1;

        memcpy(place, *texts[i], one);
        *texts[i] = place;
        place += one;
    }
    memset(self, 0, sizeof *self);
    self->frame = copy;
    self->looking = frame->kind == FRAME_ADMIN_REQUEST &&
                    admin_is_change(frame->body.admin_request.action);
    *out = self;
    return STATUS_OK;
}

void operation_destroy(struct operation_state **operation)
{
    heap_free(*operation);
    *operation = NULL;
}

static uint32_t answer_within_ms(uint64_t left_us)
{
    uint64_t kept_us = left_us / ANSWER_SHARE;
    uint64_t ms;

    if (kept_us > ANSWER_MOST_US) {
        kept_us = ANSWER_MOST_US;
    }
    ms = (left_us - kept_us) / 1000;
    if (ms > UINT32_MAX) {
        return UINT32_MAX;
    }
    return ms > 0 ? (uint32_t)ms : 1;
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
    return value < most ? value : most;
}

enum status operation_encode(struct operation_state *self, uint64_t left_us,
                             const struct effects *effects, struct buffer *spare, struct span *out)
{
    uint32_t timeout_ms = answer_within_ms(left_us);
    struct frame *frame = &self->frame;
    struct frame look;

    frame->correlation = self->sequence << ATTEMPT_BITS |
                         (self->attempts & ((1U << ATTEMPT_BITS) - 1));
    if (frame->kind == FRAME_CLIENT_REQUEST) {
        frame->body.client_request.attempt = self->executions;
        frame->body.client_request.timeout_ms = timeout_ms;
    } else if (frame->kind == FRAME_ADMIN_REQUEST) {
        frame->body.admin_request.timeout_ms = timeout_ms;
    } else if (frame->kind == FRAME_INFO_REQUEST) {
        frame->body.info_request.timeout_ms = timeout_ms;
    } else if (frame->kind == FRAME_DUMP_REQUEST) {
        frame->body.dump_request.timeout_ms = at_most(timeout_ms, PAGE_ANSWER_MS);
    } else if (frame->kind == FRAME_LOAD_REQUEST) {
        frame->body.load_request.timeout_ms = at_most(timeout_ms, PAGE_ANSWER_MS);
    }
    if (self->looking) {
        look = *frame;
        look.body.admin_request = admin_look(&frame->body.admin_request);
        frame = &look;
    }
    return codec_encode_out(frame, effects, spare, out);
}

void operation_settle(struct operation_state *self)
{
    if (self->sent) {
        endpoints_settle(self->targets, self->endpoint, self->sent_bytes);
        self->sent = false;
    }
}

bool operation_adds(const struct operation_state *self)
{
    return self->frame.kind == FRAME_CLIENT_REQUEST &&
           self->frame.body.client_request.operation != OPERATION_CHECK;
}

bool operation_is_nameless(const struct operation_state *self)
{
    return operation_adds(self) && self->frame.body.client_request.filter_id == 0;
}

uint64_t operation_correlated_sequence(uint64_t correlation)
{
    return correlation >> ATTEMPT_BITS;
}

bool operation_is_newest(const struct operation_state *self, uint64_t correlation)
{
    uint64_t mask = (UINT64_C(1) << ATTEMPT_BITS) - 1;

    return self->attempts > 0 && (correlation & mask) == ((self->attempts - 1U) & mask);
}

bool operation_is_current(const struct operation_state *self, uint64_t correlation)
{
    uint64_t mask = (UINT64_C(1) << ATTEMPT_BITS) - 1;

    return ((correlation - self->stage) & mask) < self->attempts - self->stage;
}

/* ---- what answers make of it ---- */

/* Keys without a verdict. */
static size_t undecided_keys(const struct operation_state *self)
{
    return self->count - bits_count_either(self->present, self->absent, self->count);
}

/* What is decided stays. Nodes know a retried add again and repeat its verdict. But an attempt
 * that was given up may have been held up on its way, and what it meets may be the doing of a
 * later one, forgotten since: its PRESENT becomes MAYBE_NEW. */
static void merge(struct operation_state *self, const struct client_reply *reply)
{
    bool unsure = !MUTANT(LATE_FIRST_ATTEMPT) &&
                  self->frame.body.client_request.operation != OPERATION_CHECK &&
                  ((uint64_t)reply->attempt + 1 < self->executions ||
                   (self->doubted && self->executions > 1));

    for (size_t i = 0; i < bits_words(self->count); i++) {
        uint64_t open = ~(self->present[i] | self->absent[i]);
        uint64_t present = reply->present[i] & open;
        uint64_t absent = reply->absent[i] & open;

        self->present[i] |= present;
        self->absent[i] |= unsure ? absent | present : absent;
    }
}

/* Refusals that another moment or another router may lift. */
static bool is_passing(enum status status)
{
    static const bool passing[] = {
        [STATUS_NOMEM] = true,     [STATUS_STALE] = true,       [STATUS_NEED_DOC] = true,
        [STATUS_NOT_READY] = true, [STATUS_UNAVAILABLE] = true, [STATUS_OVERLOADED] = true,
        [STATUS_DEADLINE] = true,  [STATUS_NAME_BUSY] = true,
    };

    return (size_t)status < sizeof passing / sizeof passing[0] && passing[status];
}

static void remember(struct operation_state *self, enum status status, const char *message)
{
    self->status = status;
    (void)snprintf(self->message, sizeof self->message, "%s",
                   message != NULL && message[0] != '\0' ? message : status_meaning(status));
}

static enum operation_step judge(struct operation_state *self, enum status status,
                                 const char *message)
{
    remember(self, status, message);
    return is_passing(status) ? OPERATION_RETRY : OPERATION_FINISHED;
}

/* A router does not add by name alone: what came late would get into the next filter of that name.
 * It tells which one it is, and has begun nothing. False: this is no such answer. */
static bool is_bounced(const struct operation_state *self, const struct client_reply *reply)
{
    return operation_adds(self) && reply->filter_id != 0 && reply->count == 0 &&
           (reply->status == STATUS_STALE || reply->status == STATUS_NOT_FOUND);
}

/* Routers may not agree for a while; so one that has told another id is believed once in a row. */
static enum operation_step take_name(struct operation_state *self, const struct client_reply *reply)
{
    bool again = !self->bounced;

    if (reply->filter_id == self->frame.body.client_request.filter_id) {
        return OPERATION_IGNORED; /* It was told before. */
    }
    self->frame.body.client_request.filter_id = reply->filter_id;
    self->executions--;
    self->named += again;
    self->bounced = again;
    remember(self, STATUS_STALE, reply->message);
    return again ? OPERATION_AGAIN : OPERATION_RETRY;
}

static enum operation_step take_verdict(struct operation_state *self,
                                        const struct client_reply *reply)
{
    const struct op_id *op = &self->frame.body.client_request.op;

    if (reply->op.sequence != op->sequence || reply->op.session[0] != op->session[0] ||
        reply->op.session[1] != op->session[1]) {
        return OPERATION_IGNORED;
    }
    if (is_bounced(self, reply)) {
        return take_name(self, reply);
    }
    self->bounced = false;
    if (reply->count == self->count && reply->present != NULL && reply->absent != NULL) {
        merge(self, reply);
    } else if (reply->status == STATUS_OK) {
        return OPERATION_IGNORED;
    }
    if (undecided_keys(self) == 0) {
        self->status = STATUS_OK;
        self->message[0] = '\0';
        return OPERATION_FINISHED;
    }
    if (reply->status == STATUS_OK) {
        return judge(self, STATUS_UNAVAILABLE, "the router left keys undecided; retry");
    }
    return judge(self, reply->status, reply->message);
}

/* The next stage. */
static enum operation_step go_on(struct operation_state *self, bool looking)
{
    self->looking = looking;
    self->stage = self->attempts;
    return OPERATION_AGAIN;
}

/* What a look has found. The refusal before it stands if what was meant is gone. */
static enum operation_step take_look(struct operation_state *self, const struct admin_reply *reply)
{
    struct admin_request *change = &self->frame.body.admin_request;

    if (reply->status != STATUS_OK) {
        return judge(self, reply->status, reply->message);
    }
    if (!self->looked) {
        admin_take_seen(change, &reply->seen);
    } else if (!admin_take_again(change, &reply->seen)) {
        return OPERATION_FINISHED;
    }
    self->looked = true;
    return go_on(self, false);
}

static enum operation_step take_admin(struct operation_state *self, const struct admin_reply *reply)
{
    if (self->looking) {
        return take_look(self, reply);
    }
    if (self->looked && reply->status == STATUS_CONFLICT && reply->moved) {
        remember(self, reply->status, reply->message);
        return go_on(self, true);
    }
    return judge(self, reply->status, reply->message);
}

enum operation_step operation_take(struct operation_state *self, const struct frame *answer)
{
    enum frame_kind asked = self->frame.kind;

    if (answer->kind == FRAME_ERROR) {
        const struct error_reply *error = &answer->body.error;

        return judge(self, error->status != STATUS_OK ? error->status : STATUS_INTERNAL,
                     error->message);
    }
    if (asked == FRAME_CLIENT_REQUEST && answer->kind == FRAME_CLIENT_REPLY) {
        return take_verdict(self, &answer->body.client_reply);
    }
    if (asked == FRAME_ADMIN_REQUEST && answer->kind == FRAME_ADMIN_REPLY) {
        return take_admin(self, &answer->body.admin_reply);
    }
    if (asked == FRAME_INFO_REQUEST && answer->kind == FRAME_INFO_REPLY) {
        return judge(self, answer->body.info_reply.status, answer->body.info_reply.message);
    }
    if (asked == FRAME_DUMP_REQUEST && answer->kind == FRAME_DUMP_REPLY) {
        return judge(self, answer->body.dump_reply.status, answer->body.dump_reply.message);
    }
    if (asked == FRAME_LOAD_REQUEST && answer->kind == FRAME_CLIENT_REPLY) {
        return judge(self, answer->body.client_reply.status, answer->body.client_reply.message);
    }
    if (asked == FRAME_SITE_AGE_REQUEST && answer->kind == FRAME_SITE_AGE_REPLY) {
        return judge(self, answer->body.site_age_reply.status, "the filter is not in sites there");
    }
    if ((asked == FRAME_STATS_REQUEST && answer->kind == FRAME_STATS_REPLY) ||
        (asked == FRAME_SITE_LAG_REQUEST && answer->kind == FRAME_SITE_LAG_REPLY)) {
        return judge(self, STATUS_OK, "");
    }
    return OPERATION_IGNORED;
}

void operation_end_refused(struct operation_state *self)
{
    remember(self, STATUS_UNAUTHENTIC, self->targets->refusal);
}

void operation_end_late(struct operation_state *self)
{
    const char *site = NULL;
    const char *shut = endpoints_shut(self->targets, self->deadline_us, &site);
    char names[OPERATION_MESSAGE_BYTES / 2];

    if (self->status != STATUS_OK) {
        return;
    }
    if (self->attempts == 0 && endpoints_any_refuses(self->targets)) {
        operation_end_refused(self); /* Of the others none could be reached. */
        return;
    }
    self->status = STATUS_DEADLINE;
    if (shut != NULL) {
        (void)snprintf(
            self->message, sizeof self->message,
            "no answer from routers of site %s within %g s; %.200s is of site %s, which is "
            "asked only by who is to fail over to other sites",
            self->targets->site, (double)self->timeout_us / 1e6, shut, site);
        return;
    }
    (void)snprintf(self->message, sizeof self->message,
                   "no answer from %s within %g s; is the %s running, and is this its address?",
                   endpoints_show(self->targets, names, sizeof names),
                   (double)self->timeout_us / 1e6, self->targets->role);
}

void operation_end_foreign(struct operation_state *self, const char *endpoint, uint32_t version)
{
    self->status = STATUS_VERSION;
    (void)snprintf(self->message, sizeof self->message,
                   "%s speaks protocol version %u, this client %d to %d; upgrade the older one",
                   endpoint, version, CODEC_VERSION_OLDEST, CODEC_VERSION);
}
