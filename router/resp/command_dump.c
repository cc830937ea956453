/* BF.SCANDUMP, and BF.LOADCHUNK: a chunk of a dump, into the filter that is made of it.
 *
 *   header  --> coordinator: make the filter, which serves nobody yet
 *   chunk   --> coordinator: may it go on so?  --> router: add the fingerprints, as keys are added
 *           --> coordinator: these are there; with the last chunk the filter serves
 *
 * Whatever is interrupted may be repeated: fingerprints that are there stay there. */
#include "base/heap.h"
#include "map/dump.h"
#include "router/resp/command.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LOADS = 64, GRACE_US = 1000000 /* after the deadline, which the router keeps itself */ };

#define BAD_DATA "ERR received bad data"
#define NO_LINK  "ERR invalid offset - no link found"
#define TOO_BIG  "ERR invalid chunk - Too big for current filter"

_Static_assert((int)DUMP_MAX_KEYS <= (int)CODEC_MAX_KEYS, "a chunk is one add");

struct load {
    TAILQ_ENTRY(load) entry;
    struct call *call;
    char name[DOCUMENT_NAME_BYTES];
    uint64_t source;
    uint64_t from;
    uint64_t to;
    uint64_t filter_id;
    uint64_t deadline_us;
    uint64_t number;                      /* of the add that is under way; 0: none is */
    bool again;                           /* add once more, at the next tick */
    char reason[FRONT_MESSAGE_BYTES / 2]; /* ... why */
    uint32_t count;
    uint64_t *fingerprints;
};

static void destroy(struct front *self, struct load *load)
{
    TAILQ_REMOVE(&self->loads, load, entry);
    self->nloads--;
    self->gathered -= load->count * sizeof *load->fingerprints;
    heap_free(load->fingerprints);
    heap_free(load);
}

static void fail(struct front *self, struct load *load, const char *text)
{
    struct call *call = load->call;

    destroy(self, load);
    call_fail(self, call, text);
}

static void fail_status(struct front *self, struct load *load, enum status status,
                        const char *message)
{
    char text[FRONT_MESSAGE_BYTES];

    (void)snprintf(text, sizeof text, "%s %s", front_code(load->call->user, status), message);
    fail(self, load, text);
}

/* ---- the coordinator ---- */

static void ask(struct front *self, struct load *load, enum load_step step, question_done answered)
{
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request =
            {
                .action = ADMIN_LOAD,
                .name = load->name,
                .filter_id = load->filter_id,
                .successor = "",
                .load =
                    {
                        .step = step,
                        .source = load->source,
                        .from = load->from,
                        .to = load->to,
                        .secret = span_text(""),
                    },
            },
    };

    question_ask(self, load->call->user, &frame, load->deadline_us, answered, load);
}

/* False: it was refused, and that was told. */
static bool allowed(struct front *self, struct load *load, const struct frame *frame,
                    enum status status, const char *reason)
{
    const struct admin_reply *reply = frame != NULL ? &frame->body.admin_reply : NULL;

    status = reply != NULL ? reply->status : status;
    if (status == STATUS_NOT_FOUND) {
        fail(self, load, "ERR not found");
    } else if (status == STATUS_INVALID) {
        fail(self, load, NO_LINK);
    } else if (status == STATUS_EXISTS) { /* Not of this dump. */
        fail(self, load, BAD_DATA);
    } else if (status != STATUS_OK) {
        fail_status(self, load, status, reply != NULL ? reply->message : reason);
    }
    return status == STATUS_OK;
}

static void moved(struct front *self, void *owner, const struct frame *frame, enum status status,
                  const char *reason)
{
    struct load *load = owner;
    struct call *call = load->call;
    struct resp_writer writer;

    if (allowed(self, load, frame, status, reason)) {
        destroy(self, load);
        writer = call_writer(call);
        resp_simple(&writer, "OK");
        call_end(self, call, &writer);
    }
}

/* ---- the router ---- */

static uint32_t left_ms(const struct front *self, const struct load *load)
{
    uint64_t left_us = load->deadline_us > self->now_us ? load->deadline_us - self->now_us : 0;

    return (uint32_t)(left_us / 1000) + 1;
}

static void add(struct front *self, struct load *load)
{
    struct router_load request = {
        .user = load->call->user,
        .filter_id = load->filter_id,
        .source = load->source,
        .correlation = ++self->number << FRONT_SLOT_BITS,
        .timeout_ms = left_ms(self, load),
        .fingerprints = load->fingerprints,
        .count = load->count,
    };

    load->again = false;
    if (load->count == 0) {
        ask(self, load, LOAD_MOVE, moved);
        return;
    }
    load->number = request.correlation;
    router_load(self->core, self->now_us, &request); /* It may answer before it returns. */
}

static void asked(struct front *self, void *owner, const struct frame *frame, enum status status,
                  const char *reason)
{
    struct load *load = owner;

    if (!allowed(self, load, frame, status, reason)) {
        return;
    }
    if (frame->body.admin_reply.nfilters != 1) {
        fail_status(self, load, STATUS_INTERNAL, "the coordinator does not say which filter it is");
        return;
    }
    load->filter_id = frame->body.admin_reply.filters[0].id;
    add(self, load);
}

/* What passes by itself: documents on their way, nodes that start, a filter that grows. */
static bool passes(enum status status)
{
    return status == STATUS_NOT_READY || status == STATUS_STALE || status == STATUS_OVERLOADED ||
           status == STATUS_UNAVAILABLE;
}

bool loads_on_reply(struct front *self, const struct frame *frame)
{
    const struct client_reply *reply = &frame->body.client_reply;
    struct load *load;

    TAILQ_FOREACH(load, &self->loads, entry)
    {
        if (load->number != 0 && load->number == frame->correlation) {
            break;
        }
    }
    if (load == NULL) {
        return false;
    }
    load->number = 0;
    if (reply->status == STATUS_OK) {
        ask(self, load, LOAD_MOVE, moved);
    } else if (reply->status == STATUS_FULL) {
        fail(self, load, TOO_BIG);
    } else if (passes(reply->status)) {
        load->again = true;
        (void)snprintf(load->reason, sizeof load->reason, "%s", reply->message);
    } else {
        fail_status(self, load, reply->status, reply->message);
    }
    return true;
}

static void give_up(struct front *self, struct load *load)
{
    char text[FRONT_MESSAGE_BYTES];

    (void)snprintf(text, sizeof text, "not acknowledged in time, send it again: %s", load->reason);
    fail_status(self, load, STATUS_UNAVAILABLE, text);
}

void loads_tick(struct front *self)
{
    struct load *load = TAILQ_FIRST(&self->loads);

    while (load != NULL) {
        struct load *next = TAILQ_NEXT(load, entry);

        if (load->again && self->now_us >= load->deadline_us) {
            give_up(self, load);
        } else if (load->again) {
            add(self, load);
        } else if (load->number != 0 && self->now_us > load->deadline_us + GRACE_US) {
            fail_status(self, load, STATUS_DEADLINE, "the router did not answer");
        }
        load = next;
    }
}

/* Questions have been ended before; what is left waits for the router, which is gone. */
void loads_fini(struct front *self)
{
    while (!TAILQ_EMPTY(&self->loads)) {
        fail_status(self, TAILQ_FIRST(&self->loads), STATUS_UNAVAILABLE, "the router stops");
    }
}

/* ---- the command ---- */

static void begun(struct front *self, struct call *call, const struct frame *frame)
{
    const struct admin_reply *reply = &frame->body.admin_reply;
    struct resp_writer writer;

    if (reply->status == STATUS_EXISTS) {
        call_fail(self, call, "ERR item exists");
    } else if (reply->status == STATUS_NO_SPACE) {
        call_fail(self, call, "ERR Insufficient memory to create filter");
    } else if (reply->status != STATUS_OK) {
        call_fail_status(self, call, reply->status, reply->message);
    } else {
        writer = call_writer(call);
        resp_simple(&writer, "OK");
        call_end(self, call, &writer);
    }
}

static void seal(struct front *self, const struct dump_header *header,
                 uint8_t sealed[SEAL_SECRET_BYTES])
{
    uint8_t nonce[SEAL_NONCE_BYTES];

    for (size_t i = 0; i < sizeof nonce; i += sizeof(uint64_t)) {
        uint64_t random = self->outer.random(self->outer.context);

        memcpy(nonce + i, &random, sizeof random);
    }
    seal_secret(&self->key, header->source, &header->secret, nonce, sealed);
}

static enum taken begin(struct front *self, struct session *session, const char *name,
                        struct span data)
{
    uint8_t sealed[SEAL_SECRET_BYTES];
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct dump_header header;

    if (dump_header_read(data, &header) != STATUS_OK) {
        return answer_error(self, session, BAD_DATA);
    }
    seal(self, &header, sealed);
    request->action = ADMIN_LOAD;
    request->name = name;
    request->successor = "";
    request->load = (struct load_parameters){
        .step = LOAD_BEGIN, .source = header.source, .secret = span_of(sealed, sizeof sealed)};
    request->create = (struct create_parameters){
        .capacity = header.capacity,
        .rate = header.rate,
        .max_capacity = header.max_capacity,
        .rule = header.rule,
        .hash = header.hash,
        .when_unavailable = header.when_unavailable,
        .when_full = header.when_full,
        .keylog = KEYLOG_ON,
    };
    question_for_call(self, session, &frame, name, false, begun, 0);
    return TAKEN_DONE;
}

/* Of who loads a lot some places are left for others; and fingerprints are keys under way. */
static bool has_room(const struct front *self, uint32_t user, size_t count)
{
    const struct load *load;
    uint32_t own = 0;

    TAILQ_FOREACH(load, &self->loads, entry)
    {
        own += load->call->user == user;
    }
    return self->nloads < MAX_LOADS &&
           memory_takes_keys(self, count * sizeof *load->fingerprints) &&
           (self->users.count == 0 || own == 0 || own + 1 <= MAX_LOADS - self->nloads);
}

/* NULL: no memory. */
static struct load *make(struct front *self, const char *name, const struct dump_chunk *chunk)
{
    struct load *load = heap_zalloc(1, sizeof *load);
    uint64_t *fingerprints = heap_alloc(chunk->count + 1, sizeof *fingerprints);

    if (load == NULL || fingerprints == NULL) {
        heap_free(load);
        heap_free(fingerprints);
        return NULL;
    }
    (void)snprintf(load->name, sizeof load->name, "%s", name);
    load->source = chunk->source;
    load->from = chunk->from;
    load->to = chunk->to;
    load->deadline_us = front_deadline_us(self);
    load->count = (uint32_t)chunk->count;
    load->fingerprints = fingerprints;
    dump_chunk_unpack(chunk, fingerprints);
    TAILQ_INSERT_TAIL(&self->loads, load, entry);
    self->nloads++;
    self->gathered += load->count * sizeof *fingerprints;
    return load;
}

static enum taken go_on(struct front *self, struct session *session, const char *name,
                        uint64_t iterator, struct span data)
{
    struct dump_chunk chunk;
    struct load *load;

    if (dump_chunk_read(data, &chunk) != STATUS_OK) {
        return answer_error(self, session, BAD_DATA);
    }
    if (chunk.to != iterator) { /* As it came with the chunk. */
        return answer_error(self, session, NO_LINK);
    }
    load = self->core != NULL && has_room(self, session->user, chunk.count)
               ? make(self, name, &chunk)
               : NULL;
    if (load == NULL) {
        return answer_error(self, session, "OVERLOADED too many chunks are under way; retry");
    }
    load->call = call_begin(self, session);
    if (load->call == NULL) {
        destroy(self, load);
        return TAKEN_DONE;
    }
    ask(self, load, LOAD_ASK, asked);
    return TAKEN_DONE;
}

COMMAND(bf_loadchunk)
{
    char name[DOCUMENT_NAME_BYTES];
    int64_t iterator;

    (void)count;
    if (!argument_integer(arguments[2], INT64_MIN, INT64_MAX, &iterator)) {
        return answer_error(self, session, "ERR Second argument must be numeric");
    }
    if (!argument_name(arguments[1], name)) {
        return answer_error(self, session, "ERR a filter's name takes 1 to 128 of [A-Za-z0-9._:-]");
    }
    return iterator == (int64_t)DUMP_FIRST
               ? begin(self, session, name, arguments[3])
               : go_on(self, session, name, (uint64_t)iterator, arguments[3]);
}

/* ---- BF.SCANDUMP: a page of a filter's dump, which the router makes ---- */

/* Who waits for a page. */
struct scan {
    struct front *front;
    struct call *call;
};

static void answer_page(struct front *self, struct call *call, const struct router_page *page)
{
    struct resp_writer writer = call_writer(call);

    resp_array(&writer, 2);
    resp_integer(&writer, (int64_t)page->next);
    resp_bulk(&writer, page->next != 0 ? page->bytes : span_text(""));
    call_end(self, call, &writer);
}

static void done(void *owner, const struct router_page *page)
{
    struct scan *scan = owner;

    if (page->status == STATUS_OK) {
        /* By its bytes, as what it has sent is. */
        fair_queue_charge(&scan->front->turns, scan->call->user, page->bytes.size);
        answer_page(scan->front, scan->call, page);
    } else if (page->status == STATUS_NOT_FOUND) {
        call_fail(scan->front, scan->call, "ERR not found");
    } else {
        call_fail_status(scan->front, scan->call, page->status, page->message);
    }
    heap_free(scan);
}

COMMAND(bf_scandump)
{
    char name[DOCUMENT_NAME_BYTES];
    struct router_dump dump = {
        .user = session->user, .name = name, .deadline_us = front_deadline_us(self), .done = done};
    struct scan *scan;
    int64_t iterator;

    (void)count;
    if (!argument_integer(arguments[2], 0, INT64_MAX, &iterator)) {
        return answer_error(self, session, "Second argument must be numeric");
    }
    if (!argument_name(arguments[1], name)) {
        return answer_error(self, session, "ERR not found");
    }
    scan = heap_zalloc(1, sizeof *scan);
    if (scan == NULL || self->core == NULL) {
        heap_free(scan);
        return answer_error(self, session, "NOMEM the router has no memory for a dump");
    }
    scan->front = self;
    scan->call = call_begin(self, session);
    if (scan->call == NULL) {
        heap_free(scan);
        return TAKEN_DONE;
    }
    call_expect(scan->call, DUMP_MAX_BYTES);
    dump.owner = scan;
    dump.iterator = (uint64_t)iterator;
    router_dump(self->core, self->now_us, &dump);
    return TAKEN_DONE;
}
