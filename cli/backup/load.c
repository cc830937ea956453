/* Chunks end in any order; how far the load is moved on to are those from the first on that have
 * ended, and up to the end of the last one only by load_end(): that makes it serve. */
#include "cli/backup/load.h"

#include "base/number.h"
#include "cli/cmd.h"
#include "runtime/date.h"
#include "runtime/hub.h"

#include <assert.h>
#include <string.h>

enum { WAIT_US = 100000, CHUNKS_A_MOVE = 16, MS_PER_MIN = 60000 };

/* ---- answers ---- */

static void fail(struct load *self, enum status status, const char *reason)
{
    if (self->status == STATUS_OK) {
        self->status = status;
        (void)snprintf(self->reason, sizeof self->reason, "%s", reason);
    }
}

static enum status explain(struct load *self)
{
    progress_end(&self->progress);
    (void)cmd_fail(self->status, "%s: %s", self->name, self->reason);
    return self->status;
}

/* What the coordinator says of a step. */
struct step {
    struct load *load;
    enum status status;
};

static void on_step(void *context, const struct session_result *result)
{
    struct step *step = context;
    const struct admin_reply *reply;

    step->status = result->status;
    if (result->status != STATUS_OK) {
        (void)snprintf(step->load->reason, sizeof step->load->reason, "%s", result->message);
        return;
    }
    reply = &result->frame->body.admin_reply;
    if (reply->nfilters == 1) {
        step->load->filter_id = reply->filters[0].id;
        step->load->found = reply->filters[0].loaded;
    }
}

/* ---- the filter ---- */

static struct frame step_frame(const struct load *self, enum load_step step, uint64_t from,
                               uint64_t to)
{
    return (struct frame){
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request =
            {
                .action = ADMIN_LOAD,
                .name = self->name,
                .filter_id = self->filter_id,
                .successor = "",
                .load = {.step = step,
                         .source = self->source,
                         .from = from,
                         .to = to,
                         .secret = span_text("")},
            },
    };
}

/* Is there one that is being made of this backup, or was? */
static enum status find(struct load *self)
{
    const struct frame frame = step_frame(self, LOAD_ASK, DUMP_FIRST, DUMP_FIRST + 1);
    struct step step = {.load = self};

    channel_ask(self->channel, self->timeout_us, &frame, on_step, &step);
    return step.status;
}

static enum status make(struct load *self, const struct backup_filter *filter,
                        const struct hash_secret *secret)
{
    struct frame frame = step_frame(self, LOAD_BEGIN, 0, 0);
    struct admin_request *request = &frame.body.admin_request;
    struct step step = {.load = self};

    request->load.secret = secret != NULL ? span_of(secret->bytes, sizeof secret->bytes)
                                          : span_of(filter->sealed, sizeof filter->sealed);
    request->create = (struct create_parameters){
        .capacity = filter->capacity,
        .rate = filter->rate,
        .max_capacity = filter->max_capacity,
        .rule = filter->rule,
        .hash = filter->hash,
        .when_unavailable = filter->when_unavailable,
        .when_full = filter->when_full,
        .keylog = KEYLOG_ON,
        .durability = filter->durability,
        .max_staleness = filter->max_staleness,
        .acks = filter->acks,
    };
    channel_ask(self->channel, self->timeout_us, &frame, on_step, &step);
    return step.status;
}

static enum status ask_expiry(struct load *self, uint64_t at_ms, uint64_t after_ms)
{
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST};
    struct admin_request *request = &frame.body.admin_request;
    struct step step = {.load = self};
    uint64_t after_us = after_ms < EXPIRY_MAX_US / 1000 ? after_ms * 1000 : EXPIRY_MAX_US;

    request->action = ADMIN_EXPIRE;
    request->name = self->name;
    request->filter_id = self->filter_id;
    request->successor = "";
    request->expire = (struct expiry_wish){
        .after_us = after_us, .dated = true, .at_ms = at_ms, .if_none = true};
    channel_ask(self->channel, self->timeout_us, &frame, on_step, &step);
    return step.status;
}

/* What was to be forgotten some day still is, unless that day is over: whoever restores it then
 * wants to have it. Without its expiry it is better than not at all. */
static void keep_expiry(struct load *self, const struct backup_filter *filter)
{
    uint64_t at_ms = (uint64_t)filter->expires_min * MS_PER_MIN;
    uint64_t now_ms = date_now_ms();
    char date[DATE_TEXT_BYTES];

    if (filter->expires_min == 0) {
        return;
    }
    (void)date_show(at_ms, date);
    if (at_ms <= now_ms) {
        (void)fprintf(
            stderr,
            "restore %s: it was to be dropped by %s, which is over; now it has no expiry: "
            "`orbloom expire %s TIME` gives it one\n",
            self->name, date, self->name);
    } else if (ask_expiry(self, at_ms, at_ms - now_ms) == STATUS_OK) {
        (void)fprintf(stderr,
                      "restore %s: it is dropped by itself at %s, or later, as it was to be; "
                      "`orbloom expire %s never` keeps it\n",
                      self->name, date, self->name);
    } else {
        (void)fprintf(stderr,
                      "restore %s: it was to be dropped at %s, and that could not be said (%s): "
                      "`orbloom expire %s TIME` does, once all of it is there\n",
                      self->name, date, self->reason, self->name);
        self->reason[0] = '\0';
    }
}

enum status load_begin(struct load *self, struct channel *channel, uint64_t timeout_us,
                       const char *name, const struct backup_filter *filter,
                       const struct hash_secret *secret)
{
    enum status status;

    *self = (struct load){.channel = channel,
                          .timeout_us = timeout_us,
                          .source = filter->source,
                          .grows = filter->when_full == WHEN_FULL_EXPAND};
    (void)snprintf(self->name, sizeof self->name, "%s", name);
    for (size_t i = 0; i < LOAD_JOBS; i++) {
        buffer_init(&self->jobs[i].bytes, DUMP_MAX_BYTES);
        self->jobs[i].load = self;
    }
    progress_open_later(&self->progress, hub_now_us());
    status = find(self);
    if (status == STATUS_NOT_FOUND) {
        status = make(self, filter, secret);
        status = status == STATUS_OK ? find(self) : status;
    }
    if (status == STATUS_EXISTS) {
        (void)snprintf(self->reason, sizeof self->reason,
                       "there is a filter of that name that is not made of this backup, or was "
                       "rebuilt from a list since; restore it under another name with --as, or "
                       "drop that one first");
    }
    if (status == STATUS_OK && !load_is_done(self)) {
        keep_expiry(self, filter);
    }
    self->moved = self->there = self->found;
    self->status = status;
    return status == STATUS_OK ? status : explain(self);
}

/* What is under way still has its bytes there. */
void load_close(struct load *self)
{
    progress_end(&self->progress);
    for (size_t i = 0; i < LOAD_JOBS; i++) {
        while (self->jobs[i].used && !self->jobs[i].done && !self->jobs[i].again) {
            channel_run(self->channel, WAIT_US);
        }
        buffer_fini(&self->jobs[i].bytes);
    }
    while (self->moving) {
        channel_run(self->channel, WAIT_US);
    }
}

bool load_is_done(const struct load *self)
{
    return self->found == DUMP_END;
}

/* ---- moving on ---- */

static void on_moved(void *context, const struct session_result *result)
{
    struct load *self = context;

    self->moving = false;
    if (result->status == STATUS_OK) {
        self->moved = self->moving_to;
    } else {
        fail(self, result->status, result->message);
    }
}

static void move_to(struct load *self, uint64_t to)
{
    const struct frame frame = step_frame(self, LOAD_MOVE, self->moved, to);
    enum status status;

    assert(!self->moving);
    self->moving = true;
    self->moving_to = to;
    status = session_ask(channel_session(self->channel), hub_now_us(), self->timeout_us, &frame,
                         on_moved, self);
    if (status != STATUS_OK) {
        self->moving = false;
        fail(self, status, status_meaning(status));
    }
}

/* ---- chunks ---- */

/* In the order of their numbers, those that have ended make way. */
static void settle(struct load *self)
{
    bool again = true;

    while (again) {
        again = false;
        for (size_t i = 0; i < LOAD_JOBS; i++) {
            struct load_job *job = &self->jobs[i];

            if (job->used && job->done && job->number == self->ended) {
                self->ended++;
                self->there = job->to;
                self->keys += job->keys;
                job->used = false;
                again = true;
            }
        }
    }
}

/* What came while the filter grew, as the backup was made, is more than it was begun for. */
static void on_loaded(void *context, const struct session_result *result)
{
    struct load_job *job = context;

    job->again = result->status == STATUS_FULL && job->load->grows && hub_now_us() < job->until_us;
    if (job->again) {
        return;
    }
    job->done = true;
    if (result->status == STATUS_FULL) {
        fail(job->load, result->status,
             "there are more keys in the backup than it was made for, and it does not grow to hold "
             "them; drop it, then restore it with --capacity, or from a file");
    } else if (result->status != STATUS_OK) {
        fail(job->load, result->status, result->message);
    }
}

static void send_chunk(struct load *self, struct load_job *job)
{
    const struct frame frame = {
        .kind = FRAME_LOAD_REQUEST,
        .body.load_request = {.filter = self->name,
                              .filter_id = self->filter_id,
                              .chunk = buffer_span(&job->bytes)},
    };
    enum status status = session_ask(channel_session(self->channel), hub_now_us(), self->timeout_us,
                                     &frame, on_loaded, job);

    job->again = false;
    if (status != STATUS_OK) {
        job->done = true;
        fail(self, status, status_meaning(status));
    }
}

static struct load_job *free_job(struct load *self)
{
    for (size_t i = 0; i < LOAD_JOBS; i++) {
        if (!self->jobs[i].used) {
            return &self->jobs[i];
        }
    }
    return NULL;
}

static void send_again(struct load *self)
{
    for (size_t i = 0; i < LOAD_JOBS; i++) {
        if (self->jobs[i].used && self->jobs[i].again) {
            send_chunk(self, &self->jobs[i]);
        }
    }
}

/* A load that stands still for the coordinator's load_timeout is given up, so it is moved on. */
static void turn(struct load *self, uint64_t wait_us)
{
    channel_run(self->channel, wait_us);
    send_again(self);
    if (self->status == STATUS_OK) {
        settle(self);
        if (!self->moving && self->there != DUMP_END && self->there > self->moved &&
            self->ended >= self->told + CHUNKS_A_MOVE) {
            self->told = self->ended;
            move_to(self, self->there);
        }
    }
}

static void show(struct load *self)
{
    char bar[PROGRESS_BAR_BYTES];
    char keys[NUMBER_TEXT_BYTES];
    char line[DOCUMENT_NAME_BYTES + 96];
    double share = (double)(self->there - DUMP_FIRST) / (double)(DUMP_END - DUMP_FIRST);

    (void)snprintf(line, sizeof line, "%s %3.0f %% of %s, %s keys", progress_bar(share, bar),
                   100 * share, self->name, number_show_count(self->keys, keys));
    progress_show(&self->progress, hub_now_us(), line);
}

enum status load_chunk(struct load *self, const struct backup_chunk *chunk)
{
    struct load_job *job;
    enum status status;

    if (chunk->to <= self->found) {
        return STATUS_OK;
    }
    while ((job = free_job(self)) == NULL && self->status == STATUS_OK) {
        turn(self, WAIT_US);
    }
    if (self->status != STATUS_OK) {
        return explain(self);
    }
    buffer_clear(&job->bytes);
    status = dump_chunk_write(self->source, chunk->from, chunk->to, chunk->fingerprints,
                              chunk->count, &job->bytes);
    if (status != STATUS_OK) {
        fail(self, status, status_meaning(status));
        return explain(self);
    }
    job->used = true;
    job->done = false;
    job->until_us = hub_now_us() + self->timeout_us;
    job->number = self->begun++;
    job->to = chunk->to;
    job->keys = chunk->count;
    send_chunk(self, job);
    turn(self, 0);
    show(self);
    return STATUS_OK;
}

void load_settle(struct load *self)
{
    while (self->status == STATUS_OK && (self->ended < self->begun || self->moving)) {
        turn(self, WAIT_US);
    }
}

enum status load_end(struct load *self)
{
    load_settle(self);
    if (self->status == STATUS_OK && !load_is_done(self)) {
        assert(self->there == DUMP_END);
        move_to(self, DUMP_END);
        while (self->moving) {
            channel_run(self->channel, WAIT_US);
        }
    }
    return self->status == STATUS_OK ? STATUS_OK : explain(self);
}
