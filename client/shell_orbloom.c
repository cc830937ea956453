/* orbloom.h: connecting; keys, that is adding, checking, and requests under way; filters, each a
 * question that the caller waits for. */
#include "base/bits.h"
#include "base/heap.h"
#include "client/orbloom.h"
#include "client/shell_channel.h"
#include "map/acks.h"
#include "map/staleness.h"
#include "proto/replica_report.h"
#include "runtime/hub.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/queue.h>
#include <unistd.h>

enum { ORBLOOM_ERROR_BYTES = 1024 };

struct orbloom_request_state;
TAILQ_HEAD(orbloom_requests, orbloom_request_state);

struct orbloom {
    struct channel *channel; /* NULL: connecting failed */
    pid_t owner;             /* the process that has connected */
    uint64_t timeout_us;
    size_t max_in_flight;
    size_t in_flight;                    /* of the two lists */
    struct orbloom_requests open;        /* sent */
    struct orbloom_requests done;        /* answered, not yet collected */
    struct orbloom_request_state *shown; /* what the last orbloom_wait() points at */
    char error[ORBLOOM_ERROR_BYTES];
};

/* The public codes are the tree's statuses by another name. */
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), "codes differ")
SAME(ORBLOOM_VERSION_UNSERVED, STATUS_VERSION);
SAME(ORBLOOM_NOT_FOUND, STATUS_NOT_FOUND);
SAME(ORBLOOM_DEADLINE, STATUS_DEADLINE);
SAME(ORBLOOM_INTERNAL, STATUS_INTERNAL);
SAME(ORBLOOM_BEHIND, STATUS_BEHIND);
SAME(ORBLOOM_CHECK, OPERATION_CHECK);
SAME(ORBLOOM_ADD, OPERATION_ADD);
SAME(ORBLOOM_FEED, OPERATION_FEED);
SAME(ORBLOOM_MAX_KEY_BYTES, CODEC_MAX_KEY_BYTES);
SAME(ORBLOOM_MAX_BATCH_KEYS, CODEC_MAX_KEYS);
_Static_assert(ORBLOOM_MAX_STALENESS_US == STALENESS_MAX_US, "bounds differ");
_Static_assert(ORBLOOM_ACKS_LOCAL == (int)ACKS_LOCAL && ORBLOOM_MAX_ACKS == (int)ACKS_MAX &&
                   ORBLOOM_ACKS_EACH == (int)ACKS_EACH,
               "acks differ");

enum {
    MESSAGE_BYTES = 512,
    TIMEOUT_MS = 5000,
    IN_FLIGHT = 64,
    US_PER_MS = 1000,
    WAIT_US = 1000000,
};

/* One request from submit to its collection. */
struct orbloom_request_state {
    TAILQ_ENTRY(orbloom_request_state) entry;
    struct orbloom *handle;
    void *user;
    uint64_t start_us;
    uint64_t latency_us;
    bool awaited; /* by a synchronous call, which collects it itself */
    bool over;
    enum status status;
    uint32_t attempts;
    size_t count;
    char message[MESSAGE_BYTES];
    uint8_t answers[];
};

const char *orbloom_version(void)
{
    return ORBLOOM_VERSION;
}

const char *orbloom_code_name(int code)
{
    return status_code(status_from_wire((unsigned)code));
}

/* Set the handle's error text; returns the status as a public code. */
PRINTF_LIKE(3, 4)
static int fail(struct orbloom *handle, enum status status, const char *format, ...)
{
    int used = snprintf(handle->error, sizeof handle->error, "%s: ", status_code(status));
    va_list args;

    va_start(args, format);
    (void)vsnprintf(handle->error + used, sizeof handle->error - (size_t)used, format, args);
    va_end(args);
    return (int)status;
}

/* The thread that holds the connections is not in a child of fork(). */
static bool is_inherited(const struct orbloom *handle)
{
    return handle->owner != getpid();
}

/* May anything be asked? */
static enum status check_handle(struct orbloom *handle)
{
    if (handle->channel == NULL) {
        return STATUS_INVALID; /* The error of orbloom_connect() stands. */
    }
    if (is_inherited(handle)) {
        (void)fail(handle, STATUS_INVALID,
                   "the handle is of the process that has forked this one; close it, and connect");
        return STATUS_INVALID;
    }
    return STATUS_OK;
}

int orbloom_connect(const struct orbloom_options *options, struct orbloom **out)
{
    static const struct orbloom_options defaults;
    const struct orbloom_options *o = options != NULL ? options : &defaults;
    struct channel_options channel = {.routers = o->routers,
                                      .coordinators = o->coordinators,
                                      .attempt_us = (uint64_t)o->attempt_ms * US_PER_MS,
                                      .max_inflight_bytes = o->max_bytes,
                                      .in_order = o->in_order != 0,
                                      .fail_over = o->fail_over != 0,
                                      .credential = o->credential};
    struct orbloom *self = heap_zalloc(1, sizeof *self);
    char reason[CHANNEL_REASON_BYTES];
    enum status status;

    *out = self;
    if (self == NULL) {
        return ORBLOOM_NOMEM;
    }
    self->owner = getpid();
    TAILQ_INIT(&self->open);
    TAILQ_INIT(&self->done);
    self->timeout_us = (uint64_t)(o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS) * US_PER_MS;
    self->max_in_flight = o->max_in_flight > 0 ? o->max_in_flight : IN_FLIGHT;
    if (self->max_in_flight > SESSION_MAX_OPERATIONS) {
        return fail(self, STATUS_INVALID, "max_in_flight is at most %d", SESSION_MAX_OPERATIONS);
    }
    status = channel_open(&channel, &self->channel, reason);
    return status == STATUS_OK ? ORBLOOM_OK : fail(self, status, "%s", reason);
}

const char *orbloom_site(const struct orbloom *handle)
{
    return handle->channel != NULL ? session_site(channel_session(handle->channel)) : "";
}

static void free_requests(struct orbloom_requests *requests)
{
    while (!TAILQ_EMPTY(requests)) {
        struct orbloom_request_state *request = TAILQ_FIRST(requests);

        TAILQ_REMOVE(requests, request, entry);
        heap_free(request);
    }
}

void orbloom_close(struct orbloom **handle)
{
    struct orbloom *self = handle != NULL ? *handle : NULL;

    if (self == NULL) {
        return;
    }
    channel_close(&self->channel); /* No callback comes after this. */
    free_requests(&self->open);
    free_requests(&self->done);
    heap_free(self->shown);
    heap_free(self);
    *handle = NULL;
}

const char *orbloom_error(const struct orbloom *handle)
{
    return handle != NULL ? handle->error : "NOMEM: no memory for a handle; free some";
}

/* Two planes to one byte a key: their bits side by side are the public numbers. */
static void spread_answers(const struct session_result *result, uint8_t *answers)
{
    for (size_t i = 0; i < result->count; i++) {
        answers[i] = (uint8_t)(bits_has(result->present, i) | bits_has(result->absent, i) << 1);
    }
}

static void on_done(void *context, const struct session_result *result)
{
    struct orbloom_request_state *request = context;
    struct orbloom *handle = request->handle;

    assert(result->count == request->count);

    spread_answers(result, request->answers);
    request->status = result->status;
    request->attempts = result->attempts;
    request->latency_us = hub_now_us() - request->start_us;
    request->over = true;
    (void)snprintf(request->message, sizeof request->message, "%s", result->message);
    if (!request->awaited) {
        TAILQ_REMOVE(&handle->open, request, entry);
        TAILQ_INSERT_TAIL(&handle->done, request, entry);
    }
}

static int refuse(struct orbloom *handle, enum status status)
{
    static const char limits[] = "a batch holds 1 to 65,536 keys of 1 to 65,536 bytes, 8 MB in "
                                 "all, for a filter named in up to 128 bytes";

    if (status == STATUS_OVERLOADED) {
        return fail(handle, status, "too much in flight; collect completions first");
    }
    if (status == STATUS_NOMEM) {
        return fail(handle, status, "no memory for the batch; send smaller ones");
    }
    return fail(handle, status, "%s", limits);
}

/* A bound, as requests have it. What has none is the bound of nothing: 0. */
static int take_bound(struct orbloom *handle, int bounded, uint64_t bound_us, uint64_t *out)
{
    if (bounded != 0 && bound_us > ORBLOOM_MAX_STALENESS_US) {
        return fail(handle, STATUS_INVALID, "a bound of checks is 0 to 30 days");
    }
    *out = bounded != 0 ? staleness_of(bound_us) : 0;
    return ORBLOOM_OK;
}

static int take_acks(struct orbloom *handle, uint32_t acks, uint32_t *out)
{
    if (!acks_valid(acks)) {
        return fail(handle, STATUS_INVALID,
                    "an add is acknowledged by 2 to %d sites, by this one alone "
                    "(ORBLOOM_ACKS_LOCAL) or by each (ORBLOOM_ACKS_EACH), not by %u",
                    ORBLOOM_MAX_ACKS, (unsigned)acks);
    }
    *out = acks;
    return ORBLOOM_OK;
}

/* What a request says of other sites. */
static int take_sites(struct orbloom *handle, const struct orbloom_request *request,
                      struct session_keys *out)
{
    int code;

    if (request->bounded != 0 && request->operation != ORBLOOM_CHECK) {
        return fail(handle, STATUS_INVALID, "only checks have a bound");
    }
    if (request->acks != 0 && request->operation != ORBLOOM_ADD) {
        return fail(handle, STATUS_INVALID, "only adds are acknowledged by several sites");
    }
    code = take_acks(handle, request->acks, &out->acks);
    return code == ORBLOOM_OK ? take_bound(handle, request->bounded, request->max_staleness_us,
                                           &out->max_staleness)
                              : code;
}

/* Nobody is asked about no keys: it has ended. */
static void end_at_once(struct orbloom_request_state *request)
{
    request->status = STATUS_OK;
    request->over = true;
    TAILQ_INSERT_TAIL(&request->handle->done, request, entry);
    request->handle->in_flight++;
}

/* Hand a request to the session; *out lives in handle->open, or in handle->done. */
static int submit(struct orbloom *handle, const struct orbloom_request *request, bool awaited,
                  struct orbloom_request_state **out)
{
    uint64_t timeout_us = request->timeout_ms > 0 ? (uint64_t)request->timeout_ms * US_PER_MS
                                                  : handle->timeout_us;
    struct session_keys keys = {.filter = request->filter,
                                .operation = (enum operation)request->operation,
                                .blob = request->keys.bytes,
                                .lengths = request->keys.lengths,
                                .count = request->keys.count,
                                .slots = request->replicas,
                                .keyset = request->keyset};
    struct orbloom_request_state *self;
    enum status status = check_handle(handle);
    int code;

    if (status != STATUS_OK) {
        return (int)status;
    }
    code = take_sites(handle, request, &keys);
    if (code != ORBLOOM_OK) {
        return code;
    }
    if (keys.count > CODEC_MAX_KEYS) {
        return refuse(handle, STATUS_TOO_LARGE);
    }
    self = heap_zalloc(1, sizeof *self + keys.count);
    if (self == NULL) {
        return refuse(handle, STATUS_NOMEM);
    }
    self->handle = handle;
    self->user = request->user;
    self->count = keys.count;
    self->awaited = awaited;
    self->start_us = hub_now_us();
    *out = self;
    if (keys.count == 0) {
        end_at_once(self);
        return ORBLOOM_OK;
    }
    status = session_submit(channel_session(handle->channel), self->start_us, timeout_us, &keys,
                            on_done, self);
    if (status != STATUS_OK) {
        heap_free(self);
        return refuse(handle, status);
    }
    TAILQ_INSERT_TAIL(&handle->open, self, entry);
    handle->in_flight++;
    return ORBLOOM_OK;
}

int orbloom_submit(struct orbloom *handle, const struct orbloom_request *request)
{
    struct orbloom_request_state *accepted;

    if (handle->in_flight >= handle->max_in_flight) {
        return refuse(handle, STATUS_OVERLOADED);
    }
    return submit(handle, request, false, &accepted);
}

size_t orbloom_in_flight(const struct orbloom *handle)
{
    return is_inherited(handle) ? 0 : handle->in_flight;
}

static void show(struct orbloom *handle, struct orbloom_completion *out)
{
    struct orbloom_request_state *request = TAILQ_FIRST(&handle->done);

    TAILQ_REMOVE(&handle->done, request, entry);
    handle->in_flight--;
    handle->shown = request;
    *out = (struct orbloom_completion){.user = request->user,
                                       .code = (int)request->status,
                                       .message = request->message,
                                       .answers = request->answers,
                                       .count = request->count,
                                       .attempts = request->attempts,
                                       .latency_us = request->latency_us};
}

int orbloom_wait(struct orbloom *handle, uint32_t timeout_ms, struct orbloom_completion *out)
{
    uint64_t end_us = hub_now_us() + (uint64_t)timeout_ms * US_PER_MS;
    uint64_t now_us;

    heap_free(handle->shown);
    handle->shown = NULL;
    if (is_inherited(handle)) {
        return 0;
    }
    if (TAILQ_EMPTY(&handle->done) && !TAILQ_EMPTY(&handle->open)) {
        do {
            now_us = hub_now_us();
            channel_run(handle->channel, end_us > now_us ? end_us - now_us : 0);
        } while (TAILQ_EMPTY(&handle->done) && hub_now_us() < end_us);
    }
    if (TAILQ_EMPTY(&handle->done)) {
        return 0;
    }
    show(handle, out);
    return 1;
}

static int call_request(struct orbloom *handle, const struct orbloom_request *request,
                        uint8_t *answers)
{
    const struct orbloom_keys *keys = &request->keys;
    struct orbloom_request_state *state;
    int code;

    if (keys->count == 0) {
        return ORBLOOM_OK;
    }
    memset(answers, ORBLOOM_UNKNOWN, keys->count);
    code = submit(handle, request, true, &state);
    if (code != ORBLOOM_OK) {
        return code;
    }
    while (!state->over) {
        channel_run(handle->channel, WAIT_US);
    }
    memcpy(answers, state->answers, state->count);
    code = (int)state->status;
    if (code != ORBLOOM_OK) {
        (void)fail(handle, state->status, "%s", state->message);
    }
    TAILQ_REMOVE(&handle->open, state, entry);
    handle->in_flight--;
    heap_free(state);
    return code;
}

static int call(struct orbloom *handle, enum orbloom_operation operation, const char *filter,
                const struct orbloom_keys *keys, uint8_t *answers)
{
    struct orbloom_request request = {.filter = filter, .operation = operation, .keys = *keys};

    return call_request(handle, &request, answers);
}

int orbloom_feed(struct orbloom *handle, const char *filter, uint32_t keyset,
                 const struct orbloom_keys *keys, uint8_t *answers)
{
    struct orbloom_request request = {
        .filter = filter, .operation = ORBLOOM_FEED, .keys = *keys, .keyset = keyset};

    return call_request(handle, &request, answers);
}

int orbloom_add(struct orbloom *handle, const char *filter, const struct orbloom_keys *keys,
                uint8_t *answers)
{
    return call(handle, ORBLOOM_ADD, filter, keys, answers);
}

int orbloom_check(struct orbloom *handle, const char *filter, const struct orbloom_keys *keys,
                  uint8_t *answers)
{
    return call(handle, ORBLOOM_CHECK, filter, keys, answers);
}

int orbloom_check_within(struct orbloom *handle, const char *filter, uint64_t max_staleness_us,
                         const struct orbloom_keys *keys, uint8_t *answers)
{
    struct orbloom_request request = {.filter = filter,
                                      .operation = ORBLOOM_CHECK,
                                      .keys = *keys,
                                      .bounded = 1,
                                      .max_staleness_us = max_staleness_us};

    return call_request(handle, &request, answers);
}

int orbloom_add_in_sites(struct orbloom *handle, const char *filter, uint32_t acks,
                         const struct orbloom_keys *keys, uint8_t *answers)
{
    struct orbloom_request request = {
        .filter = filter, .operation = ORBLOOM_ADD, .keys = *keys, .acks = acks};

    return call_request(handle, &request, answers);
}

static int call_key(struct orbloom *handle, enum orbloom_operation operation, const char *filter,
                    const void *key, size_t size, enum orbloom_answer *answer)
{
    uint32_t length = size <= CODEC_MAX_KEY_BYTES ? (uint32_t)size : UINT32_MAX;
    struct orbloom_keys keys = {.bytes = key, .lengths = &length, .count = 1};
    uint8_t byte;
    int code = call(handle, operation, filter, &keys, &byte);

    *answer = (enum orbloom_answer)byte;
    return code;
}

int orbloom_add_key(struct orbloom *handle, const char *filter, const void *key, size_t size,
                    enum orbloom_answer *answer)
{
    return call_key(handle, ORBLOOM_ADD, filter, key, size, answer);
}

int orbloom_check_key(struct orbloom *handle, const char *filter, const void *key, size_t size,
                      enum orbloom_answer *answer)
{
    return call_key(handle, ORBLOOM_CHECK, filter, key, size, answer);
}

/* ---- filters: create, drop, rebuild, info ---- */

enum { DEFAULT_REPLICAS = 3 };

_Static_assert((int)ORBLOOM_SIPHASH == (int)HASH_SIPHASH24 && (int)ORBLOOM_XXH3 == (int)HASH_XXH3,
               "the public numbers are those of documents");

/* The outcome of one question, taken while the answer is still borrowed. */
struct outcome {
    struct orbloom *handle;
    enum status status;
    uint32_t attempts;
    bool created;
    uint64_t filter_id;
    uint32_t keyset;  /* of the rebuild that is open; 0: none is */
    uint32_t serving; /* of the keys that checks read */
    struct orbloom_info info;
};

static void take_info(const struct info_reply *reply, struct orbloom_info *out)
{
    const struct filter_summary *filter = &reply->filter;
    struct report_sum sum = report_summarize(reply->replicas, reply->nreplicas, 0);

    *out = (struct orbloom_info){
        .id = filter->id,
        .epoch = filter->epoch,
        .capacity = filter->capacity,
        .max_capacity = filter->max_capacity,
        .rate = filter->rate,
        .replicas = filter->rule.replicas,
        .write_quorum = filter->rule.write,
        .read_quorum = filter->rule.read,
        .shards = filter->nshards,
        .bytes = filter->shard_bytes * filter->nshards,
        .keys = sum.keys,
        .replicas_full = sum.full,
        .replicas_waiting = sum.joining + sum.building,
        .hash = (enum orbloom_hash)filter->hash,
        .bounded = filter->max_staleness != 0,
        .max_staleness_us = filter->max_staleness != 0 ? staleness_bound(filter->max_staleness) : 0,
        .acks = filter->acks != 0 ? filter->acks : ORBLOOM_ACKS_LOCAL};
}

static void on_answer(void *context, const struct session_result *result)
{
    struct outcome *outcome = context;

    outcome->status = result->status;
    outcome->attempts = result->attempts;
    if (result->status != STATUS_OK) {
        (void)fail(outcome->handle, result->status, "%s", result->message);
    } else if (result->frame->kind == FRAME_ADMIN_REPLY) {
        const struct admin_reply *reply = &result->frame->body.admin_reply;

        outcome->created = reply->created;
        outcome->filter_id = reply->nfilters == 1 ? reply->filters[0].id : 0;
        outcome->keyset = reply->nfilters == 1 ? reply->filters[0].rebuild_keyset : 0;
        outcome->serving = reply->nfilters == 1 ? reply->filters[0].keyset : 0;
    } else if (result->frame->kind == FRAME_INFO_REPLY) {
        take_info(&result->frame->body.info_reply, &outcome->info);
    }
}

static enum status ask(struct orbloom *handle, const struct frame *frame, struct outcome *outcome)
{
    *outcome = (struct outcome){.handle = handle, .status = check_handle(handle)};
    if (outcome->status == STATUS_OK) {
        channel_ask(handle->channel, handle->timeout_us, frame, on_answer, outcome);
    }
    return outcome->status;
}

static void fill_create(const struct orbloom_filter *filter, struct create_parameters *create)
{
    create->capacity = filter->capacity;
    create->rate = filter->rate;
    create->max_capacity = filter->max_capacity;
    create->rule.replicas = filter->replicas > 0 ? filter->replicas : DEFAULT_REPLICAS;
    create->rule.write = filter->write_quorum > 0 ? filter->write_quorum
                                                  : create->rule.replicas / 2 + 1;
    create->rule.read = filter->read_quorum > 0 ? filter->read_quorum
                                                : create->rule.replicas - create->rule.write + 1;
    create->hash = filter->hash != 0 ? (enum hash_kind)filter->hash : HASH_SIPHASH24;
    create->when_unavailable = filter->maybe_when_unavailable != 0 ? WHEN_UNAVAILABLE_MAYBE
                                                                   : WHEN_UNAVAILABLE_ERROR;
    create->when_full = filter->refuse_when_full != 0 ? WHEN_FULL_REFUSE : (enum when_full)0;
    create->keylog = filter->keylog_off != 0 ? KEYLOG_OFF : KEYLOG_ON;
}

static int check_create(struct orbloom *handle, const struct orbloom_filter *filter,
                        const struct create_parameters *create)
{
    if (!document_name_valid(span_text(filter->name != NULL ? filter->name : ""))) {
        return fail(handle, STATUS_INVALID, "a filter's name is [A-Za-z0-9._:-]{1,128}");
    }
    if (create->hash != HASH_SIPHASH24 && create->hash != HASH_XXH3) {
        return fail(handle, STATUS_INVALID,
                    "there is no hash number %d; use ORBLOOM_SIPHASH or ORBLOOM_XXH3",
                    (int)filter->hash);
    }
    if (quorum_rule_check(&create->rule) != STATUS_OK) {
        return fail(handle, STATUS_INVALID,
                    "quorums need W + R > N and 2 W > N, with 1 <= W, R <= N <= %d",
                    QUORUM_MAX_REPLICAS);
    }
    if (!(create->rate > 0 && create->rate < 1)) { /* nor one that is no number */
        return fail(handle, STATUS_INVALID, "a rate is more than 0 and less than 1: 0.01 is 1 %%");
    }
    return ORBLOOM_OK;
}

int orbloom_create(struct orbloom *handle, const struct orbloom_filter *filter, int *created)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct create_parameters *create = &frame.body.admin_request.create;
    struct outcome outcome;
    enum status status;
    int code;

    frame.body.admin_request.action = ADMIN_CREATE;
    frame.body.admin_request.name = filter->name;
    fill_create(filter, create);
    code = take_bound(handle, filter->bounded, filter->max_staleness_us, &create->max_staleness);
    code = code == ORBLOOM_OK ? take_acks(handle, filter->acks, &create->acks) : code;
    if (code != ORBLOOM_OK) {
        return code;
    }
    code = check_create(handle, filter, create);
    if (code != ORBLOOM_OK) {
        return code;
    }
    status = ask(handle, &frame, &outcome);
    if (created != NULL) {
        *created = outcome.created;
    }
    return (int)status;
}

int orbloom_drop(struct orbloom *handle, const char *filter)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST,
                          .body.admin_request = {.action = ADMIN_DROP, .name = filter}};
    struct outcome outcome;

    return (int)ask(handle, &frame, &outcome);
}

/* By the ids of the filter and the rebuild, so that a command which comes late, or again, means
 * these and no later ones. */
static int rebuild(struct orbloom *handle, const char *filter,
                   const struct rebuild_parameters *wanted, uint32_t *keyset)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct outcome outcome;
    enum status status;

    request->action = ADMIN_STATUS;
    request->name = filter;
    status = ask(handle, &frame, &outcome);
    if (status == STATUS_OK) {
        request->action = ADMIN_REBUILD;
        request->filter_id = outcome.filter_id;
        request->rebuild = *wanted;
        if (wanted->keyset == 0 && wanted->step != REBUILD_BEGIN) {
            request->rebuild.keyset = outcome.keyset != 0 ? outcome.keyset : outcome.serving;
        }
        status = ask(handle, &frame, &outcome);
    }
    if (keyset != NULL) {
        *keyset = status == STATUS_OK ? outcome.keyset : 0;
    }
    return (int)status;
}

int orbloom_rebuild_begin(struct orbloom *handle, const char *filter, uint32_t *keyset)
{
    return rebuild(handle, filter, &(struct rebuild_parameters){.step = REBUILD_BEGIN}, keyset);
}

int orbloom_rebuild_fed(struct orbloom *handle, const char *filter, uint32_t keyset, uint64_t keys)
{
    const struct rebuild_parameters wanted = {
        .step = REBUILD_FED, .keyset = keyset, .fed_keys = keys};

    return rebuild(handle, filter, &wanted, NULL);
}

int orbloom_rebuild_commit(struct orbloom *handle, const char *filter, uint32_t keyset, int empty)
{
    const struct rebuild_parameters wanted = {
        .step = REBUILD_COMMIT, .keyset = keyset, .empty = empty != 0};

    return rebuild(handle, filter, &wanted, NULL);
}

int orbloom_rebuild_abort(struct orbloom *handle, const char *filter, uint32_t keyset)
{
    const struct rebuild_parameters wanted = {.step = REBUILD_ABORT, .keyset = keyset};

    return rebuild(handle, filter, &wanted, NULL);
}

int orbloom_info(struct orbloom *handle, const char *filter, struct orbloom_info *out)
{
    struct frame frame = {.kind = FRAME_INFO_REQUEST};
    struct outcome outcome;
    enum status status;

    frame.body.info_request.filter = filter;
    status = ask(handle, &frame, &outcome);
    if (status == STATUS_OK) {
        *out = outcome.info;
    }
    return (int)status;
}
