/* One node on a disk, any history: adds and checks on their way while lanes are slow, epochs that
 * rise, answers of the coordinator that are lost, kills, power losses and clean ends at any moment,
 * also while the log is read back. What was acknowledged is never absent while the node is FULL
 * under the incarnation that acknowledged it, and an incarnation ends only where it has to. */
#include "base/heap.h"
#include "tests/support/node_stage.h"
#include "tests/support/random.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    POOL = 6000,
    MAX_COUNT = 900,
    MAX_REQUESTS = 512,
    SEEDS = 60,
    STEPS = 700,
    ROUTER = 7,
    CHECKED = 200
};

struct request {
    bool is_add;
    uint32_t first;
    uint32_t count;
    uint8_t acknowledged[POOL]; /* checks: when it was sent */
};

struct history {
    struct node_stage stage;
    uint64_t random;
    uint64_t seed;
    enum durability durability;
    struct filter_document document;
    uint64_t keys[POOL];
    uint8_t acknowledged[POOL];
    struct request requests[MAX_REQUESTS]; /* of this process, by correlation */
    uint32_t nrequests;
    uint64_t incarnation; /* 0: none was confirmed yet */
    bool may_change;      /* power was lost with durability os */
    bool clean;
    uint32_t checked; /* keys looked for */
    uint32_t restarts;
    uint32_t changes;
};

static uint64_t below(struct history *self, uint64_t limit)
{
    return random_below(&self->random, limit);
}

/* ---- what the node says ---- */

static void on_check(struct history *self, const struct request *request,
                     const struct subrequest_reply *reply)
{
    if (reply->state != REPLICA_FULL) {
        return;
    }
    for (uint32_t i = 0; i < request->count; i++) {
        bool absent = (reply->absent[i / 64] >> (i % 64) & 1) != 0;

        cr_assert(!absent || request->acknowledged[request->first + i] == 0,
                  "seed %u: key %u was acknowledged and is absent", (unsigned)self->seed,
                  request->first + i);
        self->checked += request->acknowledged[request->first + i];
    }
}

static void on_reply(struct history *self, uint64_t correlation, const struct node_reply *reply)
{
    const struct request *request = &self->requests[correlation];

    cr_assert_lt(correlation, self->nrequests);
    for (size_t i = 0; i < reply->nsubrequests; i++) {
        const struct subrequest_reply *subrequest = &reply->subrequests[i];

        if (subrequest->status != STATUS_OK) {
            continue;
        }
        cr_assert_eq(reply->incarnation, self->incarnation);
        if (!request->is_add) {
            on_check(self, request, subrequest);
        } else {
            cr_assert_not(subrequest->at_capacity);
            memset(self->acknowledged + request->first, 1, request->count);
        }
    }
}

static void on_confirmed(struct history *self)
{
    uint64_t now = self->stage.incarnation;

    if (now == self->incarnation) {
        return;
    }
    cr_assert(self->incarnation == 0 || self->may_change, "seed %u: data was given up",
              (unsigned)self->seed);
    self->changes += self->incarnation != 0;
    self->incarnation = now;
    memset(self->acknowledged, 0, sizeof self->acknowledged);
}

static void on_question(struct history *self, const struct fake_sent *sent)
{
    struct frame answer = node_stage_judge(&self->stage, &sent->frame.body.sync_request,
                                           sent->frame.correlation);

    self->stage.incarnation = sent->frame.body.sync_request.incarnation;
    if (below(self, 3) == 0) {
        return; /* Lost. */
    }
    fake_answer(&self->stage.actor, self->stage.now_us, STAGE_COORDINATOR, &answer);
    if (node_registered(self->stage.node)) {
        on_confirmed(self);
        self->may_change = false;
        node_stage_name(&self->stage, &self->document);
        node_stage_hand(&self->stage, &self->document);
    }
}

static void listen(struct history *self)
{
    struct fake_sent sent;

    while (fake_take(&self->stage.fake, &sent)) {
        if (sent.frame.kind == FRAME_NODE_REPLY) {
            on_reply(self, sent.frame.correlation, &sent.frame.body.node_reply);
        } else if (sent.frame.kind == FRAME_SYNC_REQUEST) {
            on_question(self, &sent);
        }
    }
}

/* ---- what is done to it ---- */

static void ask(struct history *self, bool is_add)
{
    struct request *request = &self->requests[self->nrequests];
    struct subrequest subrequest;

    if (self->nrequests == MAX_REQUESTS) {
        return;
    }
    *request = (struct request){.is_add = is_add, .count = 1 + (uint32_t)below(self, MAX_COUNT)};
    request->first = (uint32_t)below(self, POOL - request->count);
    memcpy(request->acknowledged, self->acknowledged, sizeof self->acknowledged);
    subrequest = node_stage_subrequest(&self->document, is_add ? OPERATION_ADD : OPERATION_CHECK,
                                       request->count);
    if (is_add) {
        subrequest.batch.number = ++self->stage.batches;
        subrequest.op.sequence = self->stage.batches;
        subrequest.attempt = (uint32_t)below(self, 2);
    }
    node_stage_send(&self->stage, &subrequest, 1, self->keys + request->first, self->nrequests++);
}

static void end(struct history *self)
{
    static const enum stage_end ends[] = {STAGE_END_CLEAN, STAGE_END_KILL, STAGE_END_KILL,
                                          STAGE_END_POWER};
    enum stage_end how = ends[below(self, 4)];
    bool lossy = how == STAGE_END_POWER;

    if (how == STAGE_END_CLEAN) { /* It answers what that makes durable; nothing, before it has read
                                     back what another left unsynced. */
        bool recovered = node_registered(self->stage.node);

        job_lanes_stop(&self->stage.lanes);
        cr_assert_eq(node_finish(self->stage.node), STATUS_OK);
        listen(self);
        how = below(self, 2) == 0 ? STAGE_END_POWER : STAGE_END_KILL;
        lossy = how == STAGE_END_POWER && !recovered;
    }
    self->may_change = self->may_change || (lossy && self->durability == DURABILITY_OS);
    node_stage_end(&self->stage, how);
    node_stage_start(&self->stage);
    self->nrequests = 0;
    self->restarts++;
}

static void go_on(struct history *self)
{
    struct node_stage *stage = &self->stage;
    enum job_lane lane = below(self, 2) == 0 ? JOB_COMMIT : JOB_BACKGROUND;

    switch (below(self, 6)) {
    case 0:
        (void)job_lanes_run(&stage->lanes, lane);
        break;
    case 1:
        (void)job_lanes_finish(&stage->lanes, lane, stage->now_us);
        break;
    case 2:
        (void)node_stage_run(stage, lane);
        break;
    case 3:
        node_stage_turn(stage);
        break;
    case 4:
        (void)stage->actor.work(stage->actor.self, stage->now_us);
        break;
    default:
        stage->now_us += below(self, 600000);
        stage->actor.time(stage->actor.self, stage->now_us);
        break;
    }
}

static void step(struct history *self)
{
    uint64_t what = below(self, 200);

    if (what < 24) {
        ask(self, true);
    } else if (what < 40) {
        ask(self, false);
    } else if (what < 42) {
        document_epoch_advance(&self->document);
        node_stage_hand(&self->stage, &self->document);
    } else if (what < 44) {
        end(self);
    } else if (what < 48) {
        node_stage_settle(&self->stage);
    } else {
        go_on(self);
    }
    cr_assert_not(node_failed(self->stage.node), "seed %u", (unsigned)self->seed);
    listen(self);
}

/* ---- a history ---- */

static void begin(struct history *self, uint64_t seed)
{
    memset(self, 0, sizeof *self);
    self->seed = seed;
    self->random = seed * 7919;
    self->durability = below(self, 2) == 0 ? DURABILITY_OS : DURABILITY_SYNC;
    node_stage_init_disk(&self->stage);
    self->stage.random = seed;
    self->stage.config.retain_bytes = below(self, 4) * STAGE_DISK_SEGMENT_BYTES;
    cr_assert_eq(node_stage_open(&self->stage), 0);
    self->incarnation = self->stage.incarnation;
    node_stage_filter(&self->stage, 5, self->durability, &self->document);
    sample_fingerprints(&self->document, 0, seed, POOL, self->keys);
}

/* In the end nothing is slow or lost, and all of it is looked for. */
static void conclude(struct history *self)
{
    node_stage_settle_long(&self->stage);
    listen(self);
    (void)node_stage_meet(&self->stage);
    on_confirmed(self);
    node_stage_adopt(&self->stage, &self->document);
    fake_forget(&self->stage.fake);
    for (uint32_t first = 0; first < POOL; first += CHECKED) {
        struct request *request = &self->requests[0];
        struct subrequest subrequest = node_stage_subrequest(&self->document, OPERATION_CHECK,
                                                             CHECKED);

        *request = (struct request){.first = first, .count = CHECKED};
        memcpy(request->acknowledged, self->acknowledged, sizeof self->acknowledged);
        self->nrequests = 1;
        node_stage_send(&self->stage, &subrequest, 1, self->keys + first, 0);
        node_stage_settle(&self->stage);
        listen(self);
    }
}

Test(node_durable_property, what_was_acknowledged_is_never_absent)
{
    static struct history history;
    uint64_t checked = 0;
    uint64_t restarts = 0;
    uint64_t changes = 0;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(&history, seed);
        for (int i = 0; i < STEPS; i++) {
            step(&history);
        }
        conclude(&history);
        checked += history.checked;
        restarts += history.restarts;
        changes += history.changes;
        document_fini(&history.document);
        node_stage_fini_disk(&history.stage);
        cr_assert_eq(heap_live(), 0);
    }
    cr_log_info("%u keys looked for, %u restarts, %u incarnations given up", (unsigned)checked,
                (unsigned)restarts, (unsigned)changes);
    cr_assert_gt(checked, SEEDS * 1000);
    cr_assert_gt(restarts, SEEDS * 3);
    cr_assert_gt(changes, 0);
}
