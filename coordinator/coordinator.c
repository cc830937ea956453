/* Life of a coordinator and its actor: which frame goes where, what a turn of the loop does, and
 * when the next one is due. */
#include "base/heap.h"
#include "coordinator/ask/fences.h"
#include "coordinator/duty/dropped.h"
#include "coordinator/duty/expiry.h"
#include "coordinator/duty/growth.h"
#include "coordinator/duty/load.h"
#include "coordinator/duty/rebuild.h"
#include "coordinator/duty/rename.h"
#include "coordinator/duty/window.h"
#include "coordinator/features.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/records.h"
#include "coordinator/rounds.h"
#include "proto/admin_seen.h"
#include "proto/answers.h"

#include <assert.h>

enum { ARENA_BYTES = 32 << 20 };

static const struct counter_def counter_defs[] = {
#define X(name, unit, help) {#name, unit, help},
    COORDINATOR_COUNTERS(X)
#undef X
};

struct counter_table coordinator_counters(void)
{
    return (struct counter_table){.defs = counter_defs, .count = COORDINATOR_NCOUNTERS};
}

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
    buffer_init(&self->out, CODEC_MAX_FRAME_BYTES);
    buffer_init(&self->scratch, CODEC_MAX_FRAME_BYTES);
    self->usage = usage_create();
    status = self->usage != NULL ? codec_arena_create(ARENA_BYTES, &self->arena) : STATUS_NOMEM;
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
    for (size_t i = 0; i < self->documents.count; i++) {
        heap_free(self->documents.by_id[i]->attachment);
    }
    document_cache_fini(&self->documents);
    for (size_t i = 0; i < self->nheard; i++) {
        heard_fini(&self->heard[i]);
    }
    heap_free(self->heard);
    restless_fini(self);
    age_fini(self);
    notes_fini(&self->notes);
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        waiters_end(&self->waiters[i]);
    }
    heap_free(self->usage);
    codec_arena_destroy(&self->arena);
    buffer_fini(&self->out);
    buffer_fini(&self->scratch);
    heap_free(self);
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
    return admin_is_change(action) && action < ADMIN_MAP_BACKUP;
}

/* Only where that is in use; see lib/map/feature.h. */
static enum feature feature_of(const struct admin_request *request)
{
    bool makes = request->action == ADMIN_CREATE || request->action == ADMIN_LOAD;

    if (request->action == ADMIN_RENAME) {
        return FEATURE_RENAMES;
    }
    if (request->action == ADMIN_EXPIRE && !request->expire.never) {
        return FEATURE_EXPIRY;
    }
    return makes && request->create.window_us != 0 ? FEATURE_WINDOWS : FEATURE_BASE;
}

static void carry_out(struct coordinator *self, uint64_t now_us, const struct peer *from,
                      const struct frame *frame, enum status status)
{
    char message[COORDINATOR_MESSAGE_BYTES];

    if (status != STATUS_OK && frame->body.admin_request.action != ADMIN_STATUS) {
        records_tell(self, status, "read", message, sizeof message);
        coordinator_answer(self, from, frame->correlation, status, false, message);
        return;
    }
    if (is_change(frame->body.admin_request.action) && age_reason(self) != NULL) {
        coordinator_answer(self, from, frame->correlation, STATUS_CONFLICT, false,
                           age_reason(self));
        return;
    }
    if (is_change(frame->body.admin_request.action) && !age_settled(self, now_us)) {
        coordinator_answer(self, from, frame->correlation, STATUS_UNAVAILABLE, false,
                           "this coordinator has just started and has not heard of all nodes, "
                           "which could tell whether its store is current; retry");
        return;
    }
    status = status == STATUS_OK ? order_begin(self, now_us, &frame->body.admin_request, message)
                                 : status;
    if (status == STATUS_DEADLINE || status == STATUS_CONFLICT) {
        coordinator_answer(self, from, frame->correlation, status, false, message);
        return;
    }
    status = status == STATUS_OK
                 ? features_allow(self, feature_of(&frame->body.admin_request), message)
                 : status;
    if (status == STATUS_VERSION) {
        coordinator_answer(self, from, frame->correlation, status, false, message);
        return;
    }
    switch (frame->body.admin_request.action) {
    case ADMIN_CREATE:
        coordinator_on_create(self, now_us, from, frame);
        return;
    case ADMIN_DROP:
        coordinator_on_drop(self, now_us, from, frame);
        return;
    case ADMIN_EXPAND:
        coordinator_on_expand(self, now_us, from, frame);
        return;
    case ADMIN_RENAME:
        coordinator_on_rename(self, now_us, from, frame);
        return;
    case ADMIN_EXPIRE:
        coordinator_on_expire(self, now_us, from, frame);
        return;
    case ADMIN_REBUILD:
        coordinator_on_rebuild(self, now_us, from, frame);
        return;
    case ADMIN_STATUS:
        coordinator_on_status(self, now_us, from, frame, status);
        return;
    case ADMIN_LOOK:
        coordinator_on_look(self, from, frame);
        return;
    case ADMIN_MAP_BACKUP:
        coordinator_on_map_backup(self, from, frame);
        return;
    case ADMIN_MAP_BEGIN:
    case ADMIN_MAP_RECORDS:
    case ADMIN_MAP_FINISH:
        coordinator_on_map_restore(self, now_us, from, frame);
        return;
    case ADMIN_NODE_DRAIN:
        coordinator_on_drain(self, now_us, from, frame);
        return;
    case ADMIN_NODE_REPLACE:
        coordinator_on_replace(self, now_us, from, frame);
        return;
    case ADMIN_NODE_REMOVE:
        coordinator_on_remove(self, now_us, from, frame);
        return;
    case ADMIN_REBALANCE:
        coordinator_on_rebalance(self, now_us, from, frame);
        return;
    case ADMIN_LOAD:
        coordinator_on_load(self, now_us, from, frame);
        return;
    case ADMIN_ACCEPT_LOSS:
        coordinator_on_accept_loss(self, now_us, from, frame);
        return;
    case ADMIN_UPGRADE_STATUS:
    case ADMIN_UPGRADE_FINALIZE:
        coordinator_on_upgrade(self, now_us, from, frame);
        return;
    }
}

static void on_admin(struct coordinator *self, uint64_t now_us, const struct peer *from,
                     const struct frame *frame)
{
    carry_out(self, now_us, from, frame, records_refresh(self));
    order_end(self);
}

static void note_now(struct coordinator *self, uint64_t now_us)
{
    self->now_us = now_us;
    self->started_us = self->started_us == 0 ? now_us : self->started_us;
}

static void on_request(void *context, uint64_t now_us, const struct peer *from, struct span bytes)
{
    struct coordinator *self = context;
    struct frame frame = {0};
    enum status status = codec_decode(self->arena, bytes, &frame);

    note_now(self, now_us);
    if (status != STATUS_OK) {
        refuse_frame(self, now_us, from, &frame, status);
    } else if (frame.kind == FRAME_SYNC_REQUEST) {
        coordinator_on_sync(self, now_us, from, &frame);
    } else if (frame.kind == FRAME_ADMIN_REQUEST) {
        on_admin(self, now_us, from, &frame);
    } else if (frame.kind == FRAME_STATS_REQUEST) {
        coordinator_on_stats(self, from, &frame);
    } else {
        refuse_frame(self, now_us, from, &frame, STATUS_INVALID);
    }
}

static void on_answer(void *context, uint64_t now_us, uint32_t link, struct span bytes)
{
    struct coordinator *self = context;
    struct frame frame = {0};
    enum status status = codec_decode(self->arena, bytes, &frame);

    if (status != STATUS_OK) {
        refuse_frame(self, now_us, NULL, &frame, status);
    } else if (frame.kind == FRAME_FENCE_REPLY) {
        coordinator_on_fence_reply(self, &frame.body.fence_reply); /* names its node */
    } else if (frame.kind == FRAME_INFO_REPLY) {
        coordinator_on_info_reply(self, link, &frame);
    } else {
        refuse_frame(self, now_us, NULL, &frame, STATUS_INVALID);
    }
}

static void turn(void *context, uint64_t now_us)
{
    struct coordinator *self = context;

    note_now(self, now_us);
    coordinator_check_store(self, now_us);
    coordinator_check_creates(self, now_us);
    coordinator_check_drops(self, now_us);
    coordinator_check_renames(self, now_us);
    self->frozen = !age_settled(self, now_us) || age_reason(self) != NULL;
    coordinator_check_rebuilds(self, now_us);
    coordinator_check_expands(self, now_us);
    if (!self->frozen) {
        moves_check(self, now_us);
        coordinator_check_changes(self, now_us);
        coordinator_check_growth(self, now_us);
        coordinator_check_windows(self, now_us);
        coordinator_check_expiries(self, now_us);
        coordinator_check_loads(self, now_us);
        coordinator_check_dropped(self, now_us);
    }
    notes_forget(&self->notes, &self->documents);
}

static uint64_t next_us(void *context)
{
    const struct coordinator *self = context;
    uint64_t next = self->moves_us != 0 && !self->frozen ? self->moves_us : ACTOR_NEVER;

    if (self->frozen && !self->settled) {
        next = self->started_us + self->config.node_timeout_us;
        next = next > self->now_us ? next : self->now_us + self->config.node_timeout_us;
    }
    if (!self->frozen && self->growth_news && self->growth_next_us < next) {
        next = self->growth_next_us;
    }
    if (!self->frozen && windows_next_us(self) < next) {
        next = windows_next_us(self);
    }
    if (!self->frozen && expiries_next_us(self) < next) {
        next = expiries_next_us(self);
    }
    if (!self->frozen && coordinator_loads_next_us(self) < next) {
        next = coordinator_loads_next_us(self);
    }
    if (!self->frozen && dropped_next_us(self) < next) {
        next = dropped_next_us(self);
    }
    for (size_t i = 0; i < COORDINATOR_MAX_WAITERS; i++) {
        uint64_t waiter_us = waiters_next_us(&self->waiters[i]);

        next = waiter_us < next ? waiter_us : next;
    }
    if (!self->frozen && fences_next_us(self) < next) {
        next = fences_next_us(self);
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

static void refused(void *context)
{
    coordinator_count(context, COORDINATOR_malformed_total);
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
