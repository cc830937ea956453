/* Life of a coordinator and its actor: which frame goes where, what a turn of the loop does, and
 * when the next one is due. */
#include "base/heap.h"
#include "base/number.h"
#include "coordinator/ask/expansion_view.h"
#include "coordinator/ask/fences.h"
#include "coordinator/cluster.h"
#include "coordinator/duty.h"
#include "coordinator/features.h"
#include "coordinator/links.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/records.h"
#include "coordinator/rounds.h"
#include "coordinator/site/newcomer.h"
#include "coordinator/users/users.h"
#include "coordinator/view/process_keys.h"
#include "coordinator/web/lags.h"
#include "coordinator/web/measured.h"
#include "coordinator/web/survey.h"
#include "map/access/identity.h"
#include "map/acks.h"
#include "proto/admin_message.h"
#include "proto/answers.h"

#include <assert.h>
#include <stdio.h>

enum {
    ARENA_BYTES = 32 << 20,
    PATIENCE_US = 500000, /* so long a question about the cluster's state waits for the store */
};

static const struct work_hands hands;

enum status coordinator_create(const struct coordinator_config *config,
                               const struct effects *effects, struct store *store,
                               struct coordinator **out)
{
    struct coordinator *self = heap_zalloc(1, sizeof *self);
    enum status status;

    assert(*out == NULL);
    if (self == NULL) {
        return STATUS_NOMEM;
    }
    self->config = *config;
    self->effects = *effects;
    self->store = store;
    audit_init(&self->audit, config->audit, effects, self->config.name,
               &self->counters[COORDINATOR_audit_lost_total]);
    self->signatures.ring = 1;
    buffer_init(&self->out, CODEC_MAX_FRAME_BYTES);
    buffer_init(&self->scratch, CODEC_MAX_FRAME_BYTES);
    self->usage = usage_create();
    status = self->usage != NULL ? codec_arena_create(ARENA_BYTES, &self->arena) : STATUS_NOMEM;
    if (status == STATUS_OK && config->survey) {
        self->survey = survey_create();
        self->lags = lags_create();
        self->measured = measured_create();
        status = self->survey != NULL && self->lags != NULL && self->measured != NULL
                     ? STATUS_OK
                     : STATUS_NOMEM;
    }
    status = status == STATUS_OK ? codec_arena_create(ARENA_BYTES, &self->aside_arena) : status;
    status = status == STATUS_OK ? work_init(self, &hands) : status;
    if (status == STATUS_OK) {
        status = records_refresh(self);
        self->hinted = self->change;
    }
    if (status == STATUS_IO) { /* The store may come back; until then requests are refused. */
        status = STATUS_OK;
    }
    if (status != STATUS_OK) {
        coordinator_destroy(&self);
        return status;
    }
    *out = self;
    return STATUS_OK;
}

void coordinator_destroy(struct coordinator **coordinator)
{
    struct coordinator *self = *coordinator;

    *coordinator = NULL;
    if (self == NULL) {
        return;
    }
    audit_leave_lanes(&self->audit);
    work_fini(self); /* What stands still lets go of what it holds. */
    waiters_fini(self);
    audit_fini(&self->audit);
    for (size_t i = 0; i < self->documents.count; i++) {
        heap_free(self->documents.by_id[i]->attachment);
    }
    document_cache_fini(&self->documents);
    for (size_t i = 0; i < self->nheard; i++) {
        heard_fini(&self->heard[i]);
    }
    heap_free(self->heard);
    rounds_fini(self);
    signatures_fini(&self->signatures);
    age_fini(self);
    notes_fini(&self->notes);
    newcomers_fini(self);
    users_release(self);
    heap_free(self->usage);
    survey_destroy(self->survey);
    lags_destroy(self->lags);
    measured_destroy(self->measured);
    codec_arena_destroy(&self->arena);
    codec_arena_destroy(&self->aside_arena);
    buffer_fini(&self->out);
    buffer_fini(&self->scratch);
    heap_free(self);
}

void coordinator_rekey(struct coordinator *coordinator, const struct cluster_key *key)
{
    coordinator->config.key = *key;
    coordinator->signatures.ring++;
    coordinator->signatures.quiet_us = 0; /* The last one to get a ring signs all. */
}

bool coordinator_identify(struct coordinator *coordinator, const uint8_t key[CURVE_KEY_BYTES],
                          struct peer *peer)
{
    bool read = coordinator->change != 0; /* the store was */
    struct user_use use;
    bool known = identity_judge(&coordinator->effects, &coordinator->documents.users, read, key,
                                peer, &use);

    if (use.user != 0) {
        users_note_uses(coordinator, &use, 1);
    }
    return known;
}

static void refuse_frame(struct coordinator *self, uint64_t now_us, const struct peer *from,
                         const struct frame *frame, enum status status)
{
    struct frame answer;

    coordinator_count(self, status == STATUS_VERSION ? COORDINATOR_version_total
                                                     : COORDINATOR_malformed_total);
    log_limited(&self->bad_frame_limit, now_us, LOG_WARN, "refused a frame: %s (version %u)",
                status_meaning(status), frame->version);
    if (from != NULL) {
        answer_refusal(frame->correlation, status, &answer);
        coordinator_reply(self, from, &answer);
    }
}

/* Does it give numbers away? */
static bool is_change(enum admin_action action)
{
    return admin_is_change(action) && (action < ADMIN_MAP_BACKUP || action == ADMIN_USER_CHANGE);
}

/* Only where that is in use; see lib/map/feature.h. */
static enum feature feature_of(const struct admin_request *request)
{
    bool makes = request->action == ADMIN_CREATE || request->action == ADMIN_LOAD;

    if (request->action == ADMIN_RENAME) {
        return FEATURE_RENAMES;
    }
    if (request->action == ADMIN_USER_CHANGE) {
        return FEATURE_USERS;
    }
    if (request->action == ADMIN_SITE_CHANGE) {
        return FEATURE_SITES;
    }
    if (request->action == ADMIN_EXPIRE && !request->expire.never) {
        return FEATURE_EXPIRY;
    }
    if (makes && (request->create.max_staleness != 0 || acks_stored(request->create.acks) != 0)) {
        return FEATURE_SITES;
    }
    return makes && request->create.window_us != 0 ? FEATURE_WINDOWS : FEATURE_BASE;
}

/* Users may come before the first node: a store that is empty uses all that this version knows. Not
 * while nodes could still tell that it was lost. */
static enum status allow_feature(struct coordinator *self, const struct admin_request *request,
                                 char *message)
{
    enum feature feature = feature_of(request);
    enum status status = STATUS_OK;

    if (feature == FEATURE_USERS && self->change == 0) {
        if (request->dry_run) {
            return STATUS_OK;
        }
        if (!age_could_tell(self, self->now_us)) {
            (void)snprintf(message, COORDINATOR_MESSAGE_BYTES,
                           "the store is empty and this coordinator has just started: it waits "
                           "for nodes, which would know whether the store was lost; retry");
            return STATUS_UNAVAILABLE;
        }
        status = cluster_ensure(self, message);
    }
    return status == STATUS_OK ? features_allow(self, feature_bit(feature), message) : status;
}

/* May it be begun at all? Else it is answered here. */
static bool admit(struct coordinator *self, uint64_t now_us, const struct peer *from,
                  const struct frame *frame, enum status read)
{
    const struct admin_request *request = &frame->body.admin_request;
    char message[COORDINATOR_MESSAGE_BYTES] = "";
    enum status status = users_judge(self, from, request, read, message);

    if (status != STATUS_OK) {
        /* It was said why. */
    } else if (read != STATUS_OK) {
        status = read;
        records_tell(self, status, "read", message, sizeof message);
    } else if (is_change(request->action) && age_reason(self) != NULL) {
        status = STATUS_CONFLICT;
        (void)snprintf(message, sizeof message, "%s", age_reason(self));
    } else if (is_change(request->action) && !age_settled(self, now_us)) {
        status = STATUS_UNAVAILABLE;
        (void)snprintf(message, sizeof message,
                       "this coordinator has just started and has not heard of all nodes, which "
                       "could tell whether its store is current; retry");
    } else {
        status = order_begin(self, now_us, request, message);
        status = status == STATUS_OK ? allow_feature(self, request, message) : status;
    }
    if (status != STATUS_OK) {
        coordinator_answer(self, from, frame->correlation, status, false, message);
    }
    return status == STATUS_OK;
}

typedef void (*command_fn)(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame *frame);

/* Commands that are no duty's. Status has its own way: it is answered whatever can be read. */
static const struct {
    enum admin_action action;
    command_fn command;
} commands[] = {
    {ADMIN_LOOK, coordinator_on_look},
    {ADMIN_MAP_BACKUP, coordinator_on_map_backup},
    {ADMIN_MAP_BEGIN, coordinator_on_map_restore},
    {ADMIN_MAP_RECORDS, coordinator_on_map_restore},
    {ADMIN_MAP_FINISH, coordinator_on_map_restore},
    {ADMIN_NODE_DRAIN, coordinator_on_drain},
    {ADMIN_NODE_REPLACE, coordinator_on_replace},
    {ADMIN_NODE_REMOVE, coordinator_on_remove},
    {ADMIN_REBALANCE, coordinator_on_rebalance},
    {ADMIN_SITE, coordinator_on_site},
    {ADMIN_UPGRADE_STATUS, coordinator_on_upgrade},
    {ADMIN_UPGRADE_FINALIZE, coordinator_on_upgrade},
    {ADMIN_PROCESS_KEYS, coordinator_on_process_keys},
    {ADMIN_USER_LIST, coordinator_on_user_list},
    {ADMIN_USER_CHANGE, coordinator_on_user_change},
};

/* NULL: of another version, or status. */
static command_fn find_command(enum admin_action action)
{
    for (size_t i = 0; duties[i] != NULL; i++) {
        if (duties[i]->command != NULL && duties[i]->action == action) {
            return duties[i]->command;
        }
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (commands[i].action == action) {
            return commands[i].command;
        }
    }
    return NULL;
}

static void on_status(struct coordinator *self, uint64_t now_us, const struct peer *from,
                      const struct frame *frame, enum status read)
{
    char doubt[COORDINATOR_MESSAGE_BYTES] = "";

    if (read != STATUS_OK) {
        records_tell(self, read, "read, so this is what was known before", doubt, sizeof doubt);
    }
    coordinator_on_status(self, now_us, from, frame, read, doubt);
}

static void carry_out(struct coordinator *self, uint64_t now_us, const struct peer *from,
                      const struct frame *frame, enum status read)
{
    command_fn command = find_command(frame->body.admin_request.action);

    if (frame->body.admin_request.action == ADMIN_STATUS) {
        on_status(self, now_us, from, frame, read);
        return;
    }
    assert(command != NULL); /* Others are not decoded. */
    if (admit(self, now_us, from, frame, read)) {
        command(self, now_us, from, frame);
    }
}

/* Of one who is not known it says whose name was given. */
static void begin_audit(struct coordinator *self, const struct peer *from,
                        const struct admin_request *request)
{
    struct users_asker asker = users_asker(self, from, request);

    audit_begin(&self->audit, from, users_name(&asker, request), request);
}

static void on_admin(struct coordinator *self, uint64_t now_us, const struct peer *from,
                     const struct frame *frame)
{
    enum status read = records_fresh(self);

    if (work_begin(self)) {
        begin_audit(self, from, &frame->body.admin_request);
        carry_out(self, now_us, from, frame, read);
        order_end(self);
        /* Each is answered by now, or waits. */
        audit_end(&self->audit, now_us, &(struct admin_reply){.status = STATUS_INTERNAL});
    }
}

static void note_now(struct coordinator *self, uint64_t now_us)
{
    self->started_us = self->started_us == 0 ? now_us : self->started_us;
}

/* ---- the work: one piece at a time, see work.h ---- */

static void serve_request(struct coordinator *self, uint64_t now_us, const struct work_item *item)
{
    const struct peer *from = &item->from;
    struct frame frame = {0};
    enum status status = codec_decode(self->arena, span_of(item->bytes, item->size), &frame);

    if (status != STATUS_OK) {
        refuse_frame(self, now_us, from, &frame, status);
    } else if (frame.kind == FRAME_SYNC_REQUEST) {
        coordinator_on_sync(self, now_us, from, &frame);
    } else if (frame.kind == FRAME_ADMIN_REQUEST) {
        on_admin(self, now_us, from, &frame);
    } else {
        refuse_frame(self, now_us, from, &frame, STATUS_INVALID);
    }
}

static void hear_fence(struct coordinator *self, const struct fence_reply *reply)
{
    for (size_t i = 0; duties[i] != NULL; i++) {
        if (duties[i]->hear != NULL) {
            duties[i]->hear(self, reply);
        }
    }
    coordinator_on_fence_reply(self, reply);
}

/* Whoever has asked for it, by the number of the question. */
static void hear_of_filter(struct coordinator *self, uint64_t now_us, uint32_t link,
                           const struct frame *frame)
{
    if (self->measured == NULL || !measured_hear(self->measured, now_us, link, frame)) {
        coordinator_on_info_reply(self, link, frame);
    }
}

static void serve_answer(struct coordinator *self, uint64_t now_us, const struct work_item *item)
{
    struct frame frame = {0};
    enum status status = codec_decode(self->arena, span_of(item->bytes, item->size), &frame);

    if (status != STATUS_OK) {
        refuse_frame(self, now_us, NULL, &frame, status);
    } else if (frame.kind == FRAME_FENCE_REPLY) {
        hear_fence(self, &frame.body.fence_reply); /* names its node */
    } else if (frame.kind == FRAME_INFO_REPLY) {
        hear_of_filter(self, now_us, item->link, &frame);
    } else if (frame.kind == FRAME_SITE_LAG_REPLY && self->lags != NULL &&
               lags_hear(self->lags, now_us, item->link, &frame.body.site_lag_reply)) {
        /* It is kept. */
    } else {
        refuse_frame(self, now_us, NULL, &frame, STATUS_INVALID);
    }
}

static void serve(struct coordinator *self, uint64_t now_us, const struct work_item *item)
{
    note_now(self, now_us);
    (item->from.size > 0 ? serve_request : serve_answer)(self, now_us, item);
}

/* ---- what does not wait for the work under way ---- */

/* Nothing was begun for it; what has been so far is as it was. */
static void refuse_aside(struct coordinator *self, uint64_t now_us, const struct work_item *item)
{
    char message[COORDINATOR_MESSAGE_BYTES];
    char waited[NUMBER_TEXT_BYTES];
    struct frame frame = {0};

    if (codec_decode(self->aside_arena, span_of(item->bytes, item->size), &frame) != STATUS_OK) {
        return; /* It was decoded when it came: no memory now. */
    }
    assert(frame.kind == FRAME_ADMIN_REQUEST);
    (void)number_show_duration(work_waits_us(self, now_us), waited);
    if (frame.body.admin_request.action == ADMIN_STATUS) {
        (void)snprintf(message, sizeof message,
                       "the store has not answered for %s, so this is what was known before",
                       waited);
        coordinator_on_status(self, now_us, &item->from, &frame, STATUS_UNAVAILABLE, message);
        return;
    }
    (void)snprintf(message, sizeof message,
                   "the store has not answered for %s, and nothing was changed; see the "
                   "coordinator's log, and retry",
                   waited);
    begin_audit(self, &item->from, &frame.body.admin_request);
    coordinator_answer(self, &item->from, frame.correlation, STATUS_UNAVAILABLE, false, message);
}

/* The command that stands still has its own answer to come. */
static void serve_aside(struct coordinator *self, uint64_t now_us, const struct work_item *item)
{
    struct audit_entry *standing = audit_suspend(&self->audit, 0);

    refuse_aside(self, now_us, item);
    audit_resume(&self->audit, standing);
}

/* So that the answer arrives before its operator gives up. Who does not say when that is waits. */
static uint64_t patient_until_us(const struct admin_request *request, uint64_t now_us)
{
    uint64_t wanted_us = (uint64_t)request->timeout_ms * 1000;

    if (request->action == ADMIN_STATUS) {
        return now_us + PATIENCE_US;
    }
    return wanted_us > 0 ? now_us + wanted_us / 5 * 4 : ACTOR_NEVER;
}

/* It is going to wait for the store, and may be for what stands still; until when? */
static uint64_t note_waiting(struct coordinator *self, uint64_t now_us, struct span bytes)
{
    struct frame frame = {0};

    if (codec_decode(self->aside_arena, bytes, &frame) != STATUS_OK) {
        return ACTOR_NEVER; /* It is refused when it has its turn. */
    }
    if (work_waits(self) && frame.kind == FRAME_SYNC_REQUEST &&
        frame.body.sync_request.role == SYNC_NODE) {
        coordinator_note_alive(self, now_us, &frame.body.sync_request);
    }
    return frame.kind == FRAME_ADMIN_REQUEST ? patient_until_us(&frame.body.admin_request, now_us)
                                             : ACTOR_NEVER;
}

static void refuse_crowded(struct coordinator *self, uint64_t now_us, const struct peer *from,
                           const struct frame_face *face)
{
    struct frame answer;

    log_limited(&self->bad_frame_limit, now_us, LOG_WARN,
                "dropped a request: %d MiB of others wait for the store already",
                WORK_MAX_BYTES >> 20);
    answer_refusal(face->correlation, STATUS_OVERLOADED, &answer);
    coordinator_reply(self, from, &answer);
}

/* Counters change under nobody's hands. */
static void tell_stats(struct coordinator *self, uint64_t now_us, const struct peer *from,
                       struct span bytes)
{
    struct frame frame = {0};
    enum status status = codec_decode(self->aside_arena, bytes, &frame);

    if (status != STATUS_OK) {
        refuse_frame(self, now_us, from, &frame, status);
    } else {
        coordinator_on_stats(self, from, &frame);
    }
}

static void on_request(void *context, uint64_t now_us, const struct peer *from, struct span bytes)
{
    struct coordinator *self = context;
    struct frame_face face = codec_peek(bytes);
    uint64_t aside_us = ACTOR_NEVER;

    assert(from->size > 0);
    if (face.kind == FRAME_STATS_REQUEST) {
        tell_stats(self, now_us, from, bytes);
        return;
    }
    if (work_waits(self) || face.kind == FRAME_ADMIN_REQUEST) {
        aside_us = note_waiting(self, now_us, bytes);
    }
    if (!work_queue_request(self, now_us, from, bytes, face.from_node, aside_us)) {
        refuse_crowded(self, now_us, from, &face);
    }
    work_do(self, now_us, false);
}

static void on_answer(void *context, uint64_t now_us, uint32_t link, struct span bytes)
{
    struct coordinator *self = context;

    /* Whoever asked asks again. */
    (void)work_queue_answer(self, now_us, link, bytes);
    work_do(self, now_us, false);
}

/* ---- duties ---- */

static void look_at_restless(struct coordinator *self, uint64_t now_us, const struct duty *duty)
{
    struct document_entry *entry = rounds_next(self, 0);

    assert(duty->concerns != NULL);
    while (entry != NULL) {
        uint64_t id = entry->document.id;

        if (duty->concerns(entry)) {
            duty->look(self, now_us, entry);
        }
        entry = rounds_next(self, id);
    }
}

static void look_at_all(struct coordinator *self, uint64_t now_us, const struct duty *duty)
{
    for (size_t i = 0; i < self->documents.count; i++) {
        duty->look(self, now_us, self->documents.by_id[i]);
    }
}

/* What a look writes is news again, for the next turn. */
static void look_at_news(struct coordinator *self, uint64_t now_us, const struct duty *duty)
{
    uint64_t ids[COORDINATOR_NEWS];
    bool all;
    size_t count = rounds_take_news(self, ids, &all);

    if (all) {
        look_at_all(self, now_us, duty);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct document_entry *entry = document_cache_find(&self->documents, ids[i]);

        if (entry != NULL) {
            duty->look(self, now_us, entry);
        }
    }
    look_at_restless(self, now_us, duty);
}

static void look_round(struct coordinator *self, uint64_t now_us, const struct duty *duty)
{
    enum duty_round round = duty->look != NULL ? ROUND_RESTLESS : ROUND_NONE;

    if (duty->round != NULL) {
        round = duty->round(self, now_us);
    }
    switch (round) {
    case ROUND_NONE:
        return;
    case ROUND_RESTLESS:
        look_at_restless(self, now_us, duty);
        return;
    case ROUND_NEWS:
        look_at_news(self, now_us, duty);
        return;
    case ROUND_ALL:
        look_at_all(self, now_us, duty);
        return;
    }
}

static void look_at_waiters(struct coordinator *self, uint64_t now_us, const struct duty *duty)
{
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS && duty->wait != NULL; i++) {
        if (self->waiters[i].used && self->waiters[i].kind == duty->waiters) {
            duty->wait(self, now_us, &self->waiters[i]);
        }
    }
}

static bool is_frozen(struct coordinator *self, uint64_t now_us)
{
    return !age_settled(self, now_us) || age_reason(self) != NULL;
}

/* Operators are answered while nothing may be changed, too. */
static void do_duties(struct coordinator *self, uint64_t now_us)
{
    assert(!self->order.on); /* What duties write by themselves no operator has to have seen. */
    self->frozen = false;
    fences_begin_turn(self);
    for (size_t i = 0; duties[i] != NULL; i++) {
        /* What a duty has written may have shown what the store has become: no thaw in one turn. */
        self->frozen = self->frozen || is_frozen(self, now_us);
        if (!self->frozen) {
            look_round(self, now_us, duties[i]);
        }
        look_at_waiters(self, now_us, duties[i]);
    }
    if (!self->frozen) {
        fences_end_turn(self);
    }
    assert(!self->order.on);
}

static void take_turn(struct coordinator *self, uint64_t now_us)
{
    note_now(self, now_us);
    coordinator_check_store(self, now_us);
    do_duties(self, now_us);
    notes_forget(&self->notes, &self->documents);
    survey_turn(self, now_us);
    lags_turn(self, now_us);
    measured_turn(self, now_us);
}

static const struct work_hands hands = {.serve = serve, .turn = take_turn, .aside = serve_aside};

static void turn(void *context, uint64_t now_us)
{
    work_do(context, now_us, true);
}

static uint64_t duties_due_us(const struct coordinator *self)
{
    uint64_t next_us = notes_next_us(&self->notes, NOTE_FENCING);

    for (size_t i = 0; duties[i] != NULL; i++) {
        uint64_t due_us = duties[i]->due_us != NULL ? duties[i]->due_us(self) : ACTOR_NEVER;

        next_us = due_us < next_us ? due_us : next_us;
    }
    return next_us;
}

/* Until enough is heard of nodes, their silence alone may end the wait. */
static uint64_t thaw_us(const struct coordinator *self)
{
    uint64_t next_us = self->started_us + self->config.node_timeout_us;

    if (self->settled) {
        return ACTOR_NEVER;
    }
    return next_us > self->now_us ? next_us : self->now_us + self->config.node_timeout_us;
}

static uint64_t next_us(void *context)
{
    const struct coordinator *self = context;
    uint64_t next;

    if (work_waits(self)) {
        return work_aside_us(self);
    }
    next = self->frozen ? thaw_us(self) : duties_due_us(self);
    next = survey_next_us(self) < next ? survey_next_us(self) : next;
    next = lags_next_us(self) < next ? lags_next_us(self) : next;
    next = measured_next_us(self) < next ? measured_next_us(self) : next;
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        uint64_t waiter_us = waiters_next_us(&self->waiters[i]);

        next = waiter_us < next ? waiter_us : next;
    }
    return next;
}

static void on_time(void *context, uint64_t now_us)
{
    turn(context, now_us);
}

static bool work(void *context, uint64_t now_us)
{
    (void)context;
    (void)now_us;
    return false;
}

static void refused(void *context, enum actor_refusal what)
{
    static const uint32_t counters[] = {
        [ACTOR_REFUSED_NOISE] = COORDINATOR_malformed_total,
        [ACTOR_REFUSED_PEER] = COORDINATOR_peers_refused_total,
        [ACTOR_REFUSED_FRAME] = COORDINATOR_frames_refused_total,
    };

    coordinator_count(context, counters[what]);
}

struct actor coordinator_actor(struct coordinator *coordinator)
{
    return (struct actor){
        .self = coordinator,
        .on_request = on_request,
        .on_answer = on_answer,
        .turn = turn,
        .next_us = next_us,
        .time = on_time,
        .work = work,
        .refused = refused,
    };
}
