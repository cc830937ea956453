/* When an operation is sent, sent again, and ended: deadlines, pauses, and adds that wait for
 * their filter's id. */
#include "client/session.h"

#include "base/heap.h"
#include "client/endpoints.h"
#include "client/operation.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum {
    ARENA_BYTES = 256 << 20, /* what a frame of many filters and replicas unpacks to; untouched
                                it takes no memory */
    KNOWN_NAMES = 16,
    RETRY_FIRST_US = 2000,
    RETRY_LONGEST_US = 200000,
    SILENCE_DOUBLINGS = 3,
};

enum session_counter {
    COUNT_OPERATIONS,
    COUNT_ATTEMPTS,
    COUNT_RETRIES,
    COUNT_FAILOVERS,
    COUNT_DEADLINES,
    COUNT_LATE_ANSWERS,
    COUNT_DROPPED_FRAMES,
    COUNT_OTHER_SITES,
    COUNT_SITE_CHANGES,
    NCOUNTERS,
};

static const struct counter_def counter_defs[NCOUNTERS] = {
    [COUNT_OPERATIONS] = {"operations_total", "operations", "accepted by session_submit or _ask"},
    [COUNT_ATTEMPTS] = {"attempts_total", "frames", "frames sent, first attempts included"},
    [COUNT_RETRIES] = {"retries_total", "frames", "attempts refused for the moment"},
    [COUNT_FAILOVERS] = {"failovers_total", "attempts", "attempts without an answer in time"},
    [COUNT_DEADLINES] = {"deadlines_total", "operations", "ended by their deadline"},
    [COUNT_LATE_ANSWERS] = {"late_answers_total", "frames", "to operations that had ended"},
    [COUNT_DROPPED_FRAMES] = {"dropped_frames_total", "frames", "that answer nothing asked"},
    [COUNT_OTHER_SITES] = {"other_sites_total", "frames", "answers of other sites, not taken"},
    [COUNT_SITE_CHANGES] = {"site_changes_total", "times",
                            "that another site was asked from then on"},
};

/* The open operations, oldest first, and a table by sequence beside them, so that an answer finds
 * its operation among thousands. It links them and owns none. */
struct open_operations {
    struct operation_state *first;
    struct operation_state *last;
    struct number_table by_sequence;
    size_t count;
    uint64_t bytes; /* of their keys */
};

/* Which filters names were bound to, as routers have told. What is known may be old: then a router
 * tells another id, which is noted in place of it. A new name takes the place of the oldest. */
struct known_names {
    struct {
        char name[DOCUMENT_NAME_BYTES];
        uint64_t filter_id; /* 0: not known */
        bool in_sites;
    } items[KNOWN_NAMES];
    uint32_t noted; /* so far */
};

struct session {
    struct effects effects;
    struct endpoints routers;
    struct endpoints coordinators;
    uint64_t attempt_us;
    uint64_t max_inflight_bytes;
    bool in_order;
    uint64_t id[2];
    uint64_t last_sequence;
    uint64_t
        changed_site; /* operations up to that one may have been asked of another site before */
    uint64_t next_us; /* never later than the first due operation */
    struct open_operations open;
    struct known_names names;
    struct buffer out;
    struct codec_arena *arena;
    uint64_t counters[NCOUNTERS];
};

/* ---- open operations, and names ---- */

static void open_append(struct open_operations *self, struct operation_state *operation)
{
    operation->previous = self->last;
    operation->next = NULL;
    *(self->last != NULL ? &self->last->next : &self->first) = operation;
    self->last = operation;
    number_table_put(&self->by_sequence, &operation->open, operation->sequence);
    self->count++;
    self->bytes += operation->bytes;
}

static void open_remove(struct open_operations *self, struct operation_state *operation)
{
    number_table_remove(&self->by_sequence, &operation->open);
    *(operation->previous != NULL ? &operation->previous->next : &self->first) = operation->next;
    *(operation->next != NULL ? &operation->next->previous : &self->last) = operation->previous;
    assert(self->count > 0 && self->bytes >= operation->bytes);
    self->count--;
    self->bytes -= operation->bytes;
}

/* NULL: not open (any more). */
static struct operation_state *open_find(const struct open_operations *self, uint64_t sequence)
{
    return (struct operation_state *)number_table_find(&self->by_sequence, sequence);
}

/* KNOWN_NAMES: it is none of them. */
static uint32_t find_name(const struct known_names *self, const char *name)
{
    uint32_t i = 0;

    while (i < KNOWN_NAMES && strcmp(self->items[i].name, name) != 0) {
        i++;
    }
    return i;
}

/* The filter's id; 0: not known. */
static uint64_t find_id(const struct known_names *self, const char *name)
{
    uint32_t at = find_name(self, name);

    return at < KNOWN_NAMES ? self->items[at].filter_id : 0;
}

static uint32_t place_of_name(struct known_names *self, const char *name)
{
    uint32_t at = find_name(self, name);

    if (at == KNOWN_NAMES) {
        at = self->noted++ % KNOWN_NAMES;
        memset(&self->items[at], 0, sizeof self->items[at]);
        (void)snprintf(self->items[at].name, sizeof self->items[at].name, "%s", name);
    }
    return at;
}

static void note_name(struct known_names *self, const char *name, uint64_t filter_id)
{
    self->items[place_of_name(self, name)].filter_id = filter_id;
}

static bool is_in_sites(const struct known_names *self, const char *name)
{
    uint32_t at = find_name(self, name);

    return at < KNOWN_NAMES && self->items[at].in_sites;
}

/* ---- life ---- */

struct counter_table session_counters(void)
{
    return (struct counter_table){.defs = counter_defs, .count = NCOUNTERS};
}

const uint64_t *session_values(const struct session *session)
{
    return session->counters;
}

const char *session_site(const struct session *session)
{
    return session->routers.site;
}

size_t session_inflight(const struct session *session)
{
    return session->open.count;
}

enum status session_create(const struct session_config *config, const struct effects *effects,
                           struct session **out)
{
    struct session *self;

    assert(out != NULL && *out == NULL);

    if (config->nrouters > SESSION_MAX_ENDPOINTS || config->ncoordinators > SESSION_MAX_ENDPOINTS ||
        config->attempt_us == 0) {
        return STATUS_INVALID;
    }
    self = heap_zalloc(1, sizeof *self);
    if (self == NULL || codec_arena_create(ARENA_BYTES, &self->arena) != STATUS_OK) {
        heap_free(self);
        return STATUS_NOMEM;
    }
    self->effects = *effects;
    self->attempt_us = config->attempt_us;
    self->max_inflight_bytes = config->max_inflight_bytes;
    self->in_order = config->in_order;
    self->next_us = ACTOR_NEVER;
    self->id[0] = effects->random(effects->context);
    self->id[1] = effects->random(effects->context);
    buffer_init(&self->out, CODEC_MAX_FRAME_BYTES);
    endpoints_init(&self->routers, "router", config->routers, config->nrouters);
    endpoints_init(&self->coordinators, "coordinator", config->coordinators, config->ncoordinators);
    self->routers.fail_over = config->fail_over;
    *out = self;
    return STATUS_OK;
}

void session_destroy(struct session **session)
{
    struct session *self = *session;

    if (self == NULL) {
        return;
    }
    while (self->open.first != NULL) {
        struct operation_state *operation = self->open.first;

        open_remove(&self->open, operation);
        operation_destroy(&operation);
    }
    endpoints_fini(&self->routers, &self->effects);
    endpoints_fini(&self->coordinators, &self->effects);
    buffer_fini(&self->out);
    codec_arena_destroy(&self->arena);
    heap_free(self);
    *session = NULL;
}

/* When the operation wants time() next. */
static void schedule(struct session *self, struct operation_state *operation, uint64_t due_us)
{
    operation->due_us = due_us < operation->deadline_us ? due_us : operation->deadline_us;
    if (operation->due_us < self->next_us) {
        self->next_us = operation->due_us;
    }
}

/* Unlinked before the callback, which may submit anew. */
static void finish(struct session *self, struct operation_state *operation,
                   const struct frame *frame)
{
    struct session_result result = {
        .status = operation->status,
        .message = operation->message,
        .attempts = operation->attempts - operation->named,
        .count = operation->count,
        .present = operation->present,
        .absent = operation->absent,
        .frame = frame,
    };

    operation_settle(operation);
    open_remove(&self->open, operation);
    operation->done(operation->context, &result);
    operation_destroy(&operation);
}

/* ---- names: an add goes by the id of its filter, which the first one is told ---- */

/* Is another add under way that will be told the id? */
static bool is_being_told(const struct session *self, const struct operation_state *operation)
{
    const char *name = operation->frame.body.client_request.filter;

    for (const struct operation_state *one = self->open.first; one != NULL; one = one->next) {
        if (one != operation && one->sent && operation_is_nameless(one) &&
            strcmp(one->frame.body.client_request.filter, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Give the operation its filter's id. False: it is to wait until that is told. */
static bool name_filter(struct session *self, struct operation_state *operation)
{
    struct client_request *request = &operation->frame.body.client_request;

    if (!operation_is_nameless(operation)) {
        return true;
    }
    request->filter_id = find_id(&self->names, request->filter);
    return request->filter_id != 0 || !is_being_told(self, operation);
}

/* Ever longer once each was silent: routers that all have more to do than they can would never
 * catch up with attempts that come as often as ever, of which each is carried out. */
static uint64_t attempt_patience_us(const struct session *self,
                                    const struct operation_state *operation)
{
    uint32_t rounds = operation->silences / operation->targets->count;

    return self->attempt_us << (rounds < SILENCE_DOUBLINGS ? rounds : SILENCE_DOUBLINGS);
}

/* Send the next attempt, or plan to when nothing can be reached now. */
static enum status attempt(struct session *self, struct operation_state *operation, uint64_t now_us)
{
    struct endpoints *targets = operation->targets;
    struct span bytes;
    enum status status;

    operation_settle(operation);
    if (!name_filter(self, operation)) {
        schedule(self, operation, now_us + RETRY_LONGEST_US);
        return STATUS_OK;
    }
    status = operation_encode(operation, operation->deadline_us - now_us, &self->effects,
                              &self->out, &bytes);
    if (status != STATUS_OK) {
        schedule(self, operation, now_us + RETRY_LONGEST_US);
        return status;
    }
    if (endpoints_send(targets, &self->effects, now_us, bytes, &operation->endpoint) == STATUS_OK) {
        operation->sent = true;
        operation->sent_bytes = bytes.size;
        operation->attempts++;
        operation->executions++;
        self->counters[COUNT_ATTEMPTS]++;
        schedule(self, operation, now_us + attempt_patience_us(self, operation));
    } else {
        schedule(self, operation, targets->paused_until);
    }
    return STATUS_OK;
}

/* Once accepted, an operation lives in the list. Behind others that wait for a router it
 * waits too: order of submission is order of sending. */
static enum status accept(struct session *self, struct operation_state **taken,
                          struct endpoints *targets, uint64_t now_us, uint64_t timeout_us)
{
    struct operation_state *operation = *taken;
    enum status status;

    operation->targets = targets;
    operation->endpoint = endpoints_choose(targets, now_us, self->in_order);
    operation->timeout_us = timeout_us;
    operation->deadline_us = now_us + timeout_us;
    operation->pause_us = RETRY_FIRST_US;
    open_append(&self->open, operation);
    if (targets->paused_until != 0) {
        schedule(self, operation, targets->paused_until);
    } else {
        status = attempt(self, operation, now_us);
        if (status != STATUS_OK) {
            open_remove(&self->open, operation);
            operation_destroy(taken);
            return status;
        }
    }
    self->counters[COUNT_OPERATIONS]++;
    *taken = NULL;
    return STATUS_OK;
}

enum status session_submit(struct session *session, uint64_t now_us, uint64_t timeout_us,
                           const struct session_keys *keys, session_done_fn done, void *context)
{
    struct op_id id = {.session = {session->id[0], session->id[1]},
                       .sequence = session->last_sequence + 1};
    struct operation_state *operation = NULL;
    enum status status;

    if (session->routers.count == 0) {
        return STATUS_INVALID;
    }
    if (session->open.count >= SESSION_MAX_OPERATIONS) {
        return STATUS_OVERLOADED;
    }
    status = operation_create_keys(keys, id, &operation);
    if (status != STATUS_OK) {
        return status;
    }
    if (session->open.bytes + operation->bytes > session->max_inflight_bytes) {
        status = session->open.count > 0 ? STATUS_OVERLOADED : STATUS_TOO_LARGE;
        operation_destroy(&operation);
        return status;
    }
    operation->done = done;
    operation->context = context;
    session->last_sequence++;
    return accept(session, &operation, &session->routers, now_us, timeout_us);
}

enum status session_ask(struct session *session, uint64_t now_us, uint64_t timeout_us,
                        const struct frame *frame, session_done_fn done, void *context)
{
    struct endpoints *targets = frame->kind == FRAME_ADMIN_REQUEST ? &session->coordinators
                                                                   : &session->routers;
    struct operation_state *operation = NULL;
    enum status status;

    if (targets->count == 0) {
        return STATUS_INVALID;
    }
    if (session->open.count >= SESSION_MAX_OPERATIONS) {
        return STATUS_OVERLOADED;
    }
    status = operation_create_question(frame, &operation);
    if (status != STATUS_OK) {
        return status;
    }
    operation->sequence = ++session->last_sequence;
    operation->done = done;
    operation->context = context;
    return accept(session, &operation, targets, now_us, timeout_us);
}

/* A refusal is retried after a pause at the next endpoint: this one may be the one cut off. */
static void plan_retry(struct session *self, struct operation_state *operation, uint64_t now_us)
{
    self->counters[COUNT_RETRIES]++;
    operation_settle(operation);
    if (operation->status == STATUS_OVERLOADED) {
        operation->executions--; /* Nothing was begun: the next attempt need not be doubted. */
    }
    endpoints_spare(operation->targets, now_us, operation->endpoint);
    operation->endpoint = endpoints_after(operation->targets, now_us, operation->endpoint);
    schedule(self, operation, now_us + operation->pause_us);
    operation->pause_us *= 2;
    if (operation->pause_us > RETRY_LONGEST_US) {
        operation->pause_us = RETRY_LONGEST_US;
    }
}

/* At once, of the process that has told what to name. */
static void ask_again(struct session *self, struct operation_state *operation, uint64_t now_us)
{
    if (now_us < operation->deadline_us) {
        (void)attempt(self, operation, now_us); /* Out of memory: again after a pause. */
    } else {
        schedule(self, operation, now_us);
    }
}

/* Those that have waited for it go on, in their order. */
static void take_name(struct session *self, const struct operation_state *told, uint64_t now_us)
{
    const char *name = told->frame.body.client_request.filter;

    note_name(&self->names, name, told->frame.body.client_request.filter_id);
    for (struct operation_state *one = self->open.first; one != NULL; one = one->next) {
        if (one != told && !one->sent && operation_is_nameless(one) && one->attempts == 0 &&
            now_us < one->deadline_us && one->targets->paused_until == 0 &&
            strcmp(one->frame.body.client_request.filter, name) == 0) {
            (void)attempt(self, one, now_us);
        }
    }
}

/* Is it from the site that is asked? Who does not say so may be of another one, which has another
 * filter of that name, or none. */
static bool is_of_site(struct session *self, struct operation_state *operation, uint64_t now_us,
                       uint32_t index, const struct client_reply *reply)
{
    const char *name = operation->frame.body.client_request.filter;
    struct site_id before = self->routers.site_id;
    bool first = self->routers.site[0] == '\0';

    if (reply->site[0] == '\0') {
        bool ours = endpoints_is_of_site(operation->targets, index);

        if (ours && reply->status == STATUS_OK) { /* The filter of that name is another one now. */
            self->names.items[place_of_name(&self->names, name)].in_sites = false;
        }
        return ours || !is_in_sites(&self->names, name);
    }
    self->names.items[place_of_name(&self->names, name)].in_sites = true;
    if (!endpoints_take_site(operation->targets, now_us, index, reply->site, &reply->site_id)) {
        return false;
    }
    if (!first && !site_id_equal(&before, &self->routers.site_id)) {
        self->counters[COUNT_SITE_CHANGES]++;
        self->changed_site = self->last_sequence;
    }
    return true;
}

/* Else it is no answer, and another one is asked: at once, unless there is none, or it was as
 * strange before. What was begun there may be why a key is present. */
static bool take_site(struct session *self, struct operation_state *operation, uint64_t now_us,
                      uint32_t index, const struct frame *answer)
{
    if (operation->frame.kind != FRAME_CLIENT_REQUEST || answer->kind != FRAME_CLIENT_REPLY ||
        is_of_site(self, operation, now_us, index, &answer->body.client_reply)) {
        return true;
    }
    self->counters[COUNT_OTHER_SITES]++;
    operation->doubted = true;
    operation->strange++;
    if (!operation->sent || !operation_is_newest(operation, answer->correlation)) {
        return false;
    }
    if (operation->strange > 1 || endpoints_after(operation->targets, now_us, index) == index) {
        plan_retry(self, operation, now_us);
    } else {
        operation_settle(operation);
        endpoints_spare(operation->targets, now_us, index);
        operation->endpoint = endpoints_after(operation->targets, now_us, index);
        ask_again(self, operation, now_us);
    }
    return false;
}

static void on_answer(void *context, uint64_t now_us, uint32_t link, struct span bytes)
{
    struct session *self = context;
    struct operation_state *operation;
    struct frame frame = {0};
    uint32_t index = 0;
    enum status status = codec_decode(self->arena, bytes, &frame);

    if (status != STATUS_OK && status != STATUS_VERSION) {
        self->counters[COUNT_DROPPED_FRAMES]++;
        return;
    }
    operation = open_find(&self->open, operation_correlated_sequence(frame.correlation));
    if (operation == NULL) {
        self->counters[COUNT_LATE_ANSWERS]++;
        return;
    }
    if (!endpoints_find(operation->targets, link, &index) ||
        !operation_is_current(operation, frame.correlation)) {
        self->counters[COUNT_DROPPED_FRAMES]++;
        return;
    }
    if (status == STATUS_VERSION) {
        operation_end_foreign(operation, operation->targets->names[index], frame.version);
        finish(self, operation, NULL);
        return;
    }
    if (!take_site(self, operation, now_us, index, &frame)) {
        return;
    }
    operation->doubted |= operation->sequence <= self->changed_site;
    switch (operation_take(operation, &frame)) {
    case OPERATION_IGNORED:
        self->counters[COUNT_DROPPED_FRAMES]++;
        break;
    case OPERATION_RETRY:
        if (operation->sent && operation_is_newest(operation, frame.correlation)) {
            plan_retry(self, operation, now_us);
        }
        break;
    case OPERATION_AGAIN:
        endpoints_trust(operation->targets, index);
        operation_settle(operation);
        operation->endpoint = index;
        ask_again(self, operation, now_us);
        if (operation_adds(operation)) {
            take_name(self, operation, now_us);
        }
        break;
    case OPERATION_FINISHED:
        operation->targets->current = index;
        endpoints_trust(operation->targets, index);
        finish(self, operation, &frame);
        break;
    }
}

static void give_time(struct session *self, struct operation_state *operation, uint64_t now_us)
{
    if (now_us >= operation->deadline_us) {
        self->counters[COUNT_DEADLINES]++;
        operation_end_late(operation);
        finish(self, operation, NULL);
        return;
    }
    if (now_us < operation->due_us) {
        schedule(self, operation, operation->due_us);
        return;
    }
    if (operation->sent) {
        self->counters[COUNT_FAILOVERS]++;
        operation->silences++;
        endpoints_suspect(operation->targets, now_us, operation->endpoint);
        operation_settle(operation);
        operation->endpoint = endpoints_after(operation->targets, now_us, operation->endpoint);
    }
    (void)attempt(self, operation, now_us); /* Out of memory: again after a pause. */
    if (!operation->sent && endpoints_all_refuse(operation->targets)) {
        operation_end_refused(operation);
        finish(self, operation, NULL);
    }
}

/* Callbacks may append operations but never end others, so `next` stays valid. */
static void on_time(void *context, uint64_t now_us)
{
    struct session *self = context;
    struct operation_state *next;

    if (now_us < self->next_us) {
        return;
    }
    self->next_us = ACTOR_NEVER;
    for (struct operation_state *operation = self->open.first; operation != NULL;
         operation = next) {
        next = operation->next;
        give_time(self, operation, now_us);
    }
}

static uint64_t next_us(void *context)
{
    struct session *self = context;

    return self->open.count > 0 ? self->next_us : ACTOR_NEVER;
}

static void on_request(void *context, uint64_t now_us, const struct peer *from, struct span frame)
{
    struct session *self = context;

    (void)now_us;
    (void)from;
    (void)frame;
    self->counters[COUNT_DROPPED_FRAMES]++; /* Nobody asks a client. */
}

/* What waits for that one is tried elsewhere at once, or ends if there is nowhere else. */
static void on_shut_out(void *context, uint64_t now_us, uint32_t link, const char *cause)
{
    struct session *self = context;
    struct endpoints *all[] = {&self->routers, &self->coordinators};
    uint32_t index;

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (!endpoints_find(all[i], link, &index)) {
            continue;
        }
        endpoints_refused(all[i], now_us, index, cause);
        for (struct operation_state *one = self->open.first; one != NULL; one = one->next) {
            if (one->targets == all[i] && !one->sent) {
                schedule(self, one, now_us);
            }
        }
    }
}

static void turn(void *context, uint64_t now_us)
{
    (void)context;
    (void)now_us; /* Attempts leave when they are made. */
}

static bool work(void *context, uint64_t now_us)
{
    (void)context;
    (void)now_us;
    return false;
}

struct actor session_actor(struct session *session)
{
    return (struct actor){.self = session,
                          .on_request = on_request,
                          .on_answer = on_answer,
                          .on_shut_out = on_shut_out,
                          .turn = turn,
                          .next_us = next_us,
                          .time = on_time,
                          .work = work};
}
