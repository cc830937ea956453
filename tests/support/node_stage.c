/* Registers a node, hands it documents, asks it, and decodes what it answers. */
#include "tests/support/node_stage.h"

#include "coordinator/plan/boot.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUTER_PEER = 7, MAX_STEPS = 100000, MAX_CLAIMS = 32, CHECK_KEYS = 2048, MAX_NAMES = 512 };

struct node_config node_stage_config(void)
{
    return (struct node_config){
        .name = "node-1",
        .host = "host-1",
        .zone = "zone-1",
        .endpoint = "tcp://node-1:7000",
        .coordinators = {"tcp://coordinator:7400"},
        .ncoordinators = 1,
        .key = *sample_key(),
        .memory_limit_bytes = 1 << 30,
        .retry_memory_bytes = 1 << 20,
        .retry_memory_us = 60000000,
        .sync_interval_us = 1000000,
        .cluster = *sample_cluster(),
    };
}

void node_stage_init(struct node_stage *self, uint64_t memory_limit_bytes)
{
    node_stage_init_retries(self, memory_limit_bytes, 1 << 20, 60000000);
}

void node_stage_init_retries(struct node_stage *self, uint64_t memory_limit_bytes,
                             uint64_t retry_memory_bytes, uint64_t retry_memory_us)
{
    struct fake_sent sent;

    *self = (struct node_stage){.now_us = 1000000, .config = node_stage_config()};
    self->config.memory_limit_bytes = memory_limit_bytes;
    self->config.retry_memory_bytes = retry_memory_bytes;
    self->config.retry_memory_us = retry_memory_us;
    fake_init(&self->fake);
    cr_assert_eq(node_create(&self->config, &self->fake.effects, &self->node), STATUS_OK);
    self->actor = node_actor(self->node);
    self->actor.time(self->actor.self, self->now_us);
    cr_assert(fake_take(&self->fake, &sent));
    cr_assert_eq(sent.frame.kind, FRAME_SYNC_REQUEST);
    cr_assert_eq(sent.link, STAGE_COORDINATOR);
    self->incarnation = sent.frame.body.sync_request.incarnation;
    cr_assert_neq(self->incarnation, 0);
}

void node_stage_fini(struct node_stage *self)
{
    node_destroy(&self->node);
    fake_fini(&self->fake);
}

void node_stage_register(struct node_stage *self)
{
    struct frame frame = {
        .kind = FRAME_SYNC_REPLY,
        .correlation = self->incarnation,
        .body.sync_reply = {.status = STATUS_OK, .message = "", .change = 1, .node_id = 1},
    };

    fake_answer(&self->actor, self->now_us, STAGE_COORDINATOR, &frame);
    cr_assert(node_registered(self->node));
}

void node_stage_document(const struct node_stage *self, uint64_t id, const char *name,
                         const struct quorum_rule *rule, uint32_t nnodes,
                         struct filter_document *out)
{
    sample_document(id, name, rule, nnodes, out);
    for (uint32_t group = 0; group < out->content.ngroups; group++) {
        for (uint32_t slot = 0; slot < rule->replicas; slot++) {
            struct member *member = &out->content.groups[group].slots[slot].current;

            member->incarnation = member->node == 1 ? self->incarnation : member->incarnation;
        }
    }
}

void node_stage_hand_signed(struct node_stage *self, struct span bytes)
{
    struct frame frame = {.kind = FRAME_DOCUMENTS, .body.documents = {.items = &bytes, .count = 1}};

    fake_request(&self->actor, self->now_us, ROUTER_PEER, &frame);
}

void node_stage_hand(struct node_stage *self, struct filter_document *document)
{
    struct buffer bytes;

    sample_sign(document, sample_key(), &bytes);
    node_stage_hand_signed(self, buffer_span(&bytes));
    buffer_fini(&bytes);
}

void node_stage_build(struct node_stage *self)
{
    int slices = 0;

    while (self->actor.work(self->actor.self, self->now_us)) {
        cr_assert_lt(++slices, 100000, "building never ends");
    }
}

struct subrequest node_stage_subrequest(const struct filter_document *document,
                                        enum operation operation, uint32_t count)
{
    return (struct subrequest){
        .filter_id = document->id,
        .epoch = document->epoch,
        .epoch_hash = document->epoch_hash,
        .operation = operation,
        .op = {.session = {1, 2}, .sequence = 3},
        .batch = {.producer_id = operation == OPERATION_ADD ? 9 : 0, .number = 1},
        .count = count,
    };
}

static void copy_answer(const struct subrequest_reply *reply, size_t ndocuments,
                        struct node_answer *out)
{
    size_t nbytes = (reply->count + 63) / 64 * sizeof(uint64_t);

    memset(out, 0, sizeof *out);
    out->subrequest = *reply;
    out->ndocuments = ndocuments;
    cr_assert_leq(reply->count, STAGE_MAX_KEYS);
    memcpy(out->present, reply->present, nbytes);
    memcpy(out->absent, reply->absent, nbytes);
}

void node_stage_send(struct node_stage *self, const struct subrequest *subrequests,
                     size_t nsubrequests, const uint64_t *fingerprints, uint64_t correlation)
{
    struct subrequest tagged[STAGE_MAX_SUBREQUESTS];
    struct frame frame = {.kind = FRAME_NODE_REQUEST, .correlation = correlation};
    size_t count = 0;

    cr_assert_leq(nsubrequests, STAGE_MAX_SUBREQUESTS);
    for (size_t i = 0; i < nsubrequests; i++) {
        tagged[i] = subrequests[i];
        tagged[i].tag = 100 + i;
        count += subrequests[i].count;
    }
    frame.body.node_request = (struct node_request){.subrequests = tagged,
                                                    .nsubrequests = nsubrequests,
                                                    .fingerprints = fingerprints,
                                                    .count = count};
    fake_request(&self->actor, self->now_us, ROUTER_PEER, &frame);
}

size_t node_stage_take(struct node_stage *self, struct node_answer *answers, uint64_t *correlation)
{
    struct fake_sent sent = {0};
    const struct node_reply *reply = &sent.frame.body.node_reply;

    while (sent.frame.kind != FRAME_NODE_REPLY) {
        if (!fake_take(&self->fake, &sent)) {
            return 0;
        }
    }
    cr_assert_eq(reply->incarnation, self->incarnation);
    *correlation = sent.frame.correlation;
    for (size_t i = 0; i < reply->nsubrequests; i++) {
        copy_answer(&reply->subrequests[i], reply->ndocuments, &answers[i]);
    }
    return reply->nsubrequests;
}

void node_stage_ask(struct node_stage *self, const struct subrequest *subrequests,
                    size_t nsubrequests, const uint64_t *fingerprints, struct node_answer *answers)
{
    uint64_t correlation;

    fake_forget(&self->fake);
    node_stage_send(self, subrequests, nsubrequests, fingerprints, 77);
    cr_assert_eq(node_stage_take(self, answers, &correlation), nsubrequests, "no answer");
    cr_assert_eq(correlation, 77);
    for (size_t i = 0; i < nsubrequests; i++) {
        cr_assert_eq(answers[i].subrequest.tag, 100 + i);
    }
}

uint64_t node_stage_counter(struct node_stage *self, const char *name)
{
    fake_forget(&self->fake);
    return fake_counter(&self->fake, &self->actor, self->now_us, ROUTER_PEER, name);
}

/* ---- the process ---- */

static void submit(void *context, enum job_lane lane, struct job *job)
{
    struct node_stage *self = context; /* The fake is its first member. */

    self->lanes.effects.submit(self->lanes.effects.context, lane, job);
}

void node_stage_init_disk(struct node_stage *self)
{
    *self = (struct node_stage){
        .now_us = 1000000,
        .config = node_stage_config(),
        .disk = memory_disk_create(),
        .random = 7,
    };
    self->config.disk = memory_disk_seam(self->disk);
    self->config.kernel_boot = STAGE_KERNEL;
    self->config.segment_bytes = STAGE_DISK_SEGMENT_BYTES;
}

void node_stage_start(struct node_stage *self)
{
    cr_assert_null(self->node);
    self->incarnation = 0;
    fake_init(&self->fake);
    self->fake.random = 42 + ++self->starts;
    self->fake.effects.submit = submit;
    job_lanes_init(&self->lanes);
    cr_assert_eq(node_create(&self->config, &self->fake.effects, &self->node), STATUS_OK);
    self->actor = node_actor(self->node);
}

void node_stage_end(struct node_stage *self, enum stage_end how)
{
    job_lanes_stop(&self->lanes);
    if (how == STAGE_END_CLEAN) {
        cr_assert_eq(node_finish(self->node), STATUS_OK);
    }
    memory_disk_fail_after(self->disk, 0); /* What is dead does not tidy up. */
    node_destroy(&self->node);
    cr_assert_eq(memory_disk_open_files(self->disk), 0, "a file stays open");
    if (how == STAGE_END_POWER) {
        memory_disk_crash(self->disk, &self->random);
        self->config.kernel_boot++;
    } else {
        memory_disk_kill(self->disk);
    }
    fake_fini(&self->fake);
}

void node_stage_fini_disk(struct node_stage *self)
{
    if (self->node != NULL) {
        node_stage_end(self, STAGE_END_KILL);
    }
    memory_disk_destroy(&self->disk);
}

/* ---- going on ---- */

void node_stage_turn(struct node_stage *self)
{
    self->actor.turn(self->actor.self, self->now_us);
}

bool node_stage_run(struct node_stage *self, enum job_lane lane)
{
    bool ran = job_lanes_run(&self->lanes, lane);

    return job_lanes_finish(&self->lanes, lane, self->now_us) || ran;
}

void node_stage_settle(struct node_stage *self)
{
    bool more = true;

    for (int step = 0; more && !node_failed(self->node); step++) {
        uint64_t submitted = self->lanes.submitted;

        cr_assert_lt(step, MAX_STEPS, "it never settles");
        node_stage_turn(self);
        more = node_stage_run(self, JOB_COMMIT);
        more = node_stage_run(self, JOB_BACKGROUND) || more;
        more = node_stage_run(self, JOB_MEMORY) || more;
        if (!node_failed(self->node)) {
            more = self->actor.work(self->actor.self, self->now_us) || more;
        }
        more = more || self->lanes.submitted != submitted;
    }
}

void node_stage_settle_long(struct node_stage *self)
{
    node_stage_settle(self);
    for (int i = 0; i < 3; i++) {
        self->now_us += 1000000;
        node_stage_settle(self);
    }
}

/* ---- the coordinator ---- */

struct frame node_stage_judge(struct node_stage *self, const struct sync_request *request,
                              uint64_t correlation)
{
    const struct boot_claim claim = {.incarnation = request->incarnation,
                                     .boot = request->boot,
                                     .boot_before = request->boot_before,
                                     .replaces = request->replaces};
    enum boot_verdict verdict = boot_judge(self->record.name[0] != '\0' ? &self->record : NULL,
                                           &claim);
    struct frame answer = {.kind = FRAME_SYNC_REPLY, .correlation = correlation};

    answer.body.sync_reply = (struct sync_reply){
        .status = STATUS_OK, .message = "", .change = 1, .node_id = 1};
    if (verdict == BOOT_OLD || verdict == BOOT_BLIND) {
        answer.body.sync_reply.status = STATUS_STALE;
        answer.body.sync_reply.present = (struct boot_life){.incarnation = self->record.incarnation,
                                                            .boot = self->record.boot};
        answer.body.sync_reply.message = "an older copy";
        answer.body.sync_reply.node_id = 0;
    } else {
        (void)snprintf(self->record.name, sizeof self->record.name, "%s", request->name);
        self->record.incarnation = request->incarnation;
        self->record.boot = request->boot;
    }
    return answer;
}

/* The next question to the coordinator; valid until the next frame is taken. */
static bool take_question(struct node_stage *self, struct fake_sent *out)
{
    while (fake_take(&self->fake, out)) {
        if (out->frame.kind == FRAME_SYNC_REQUEST) {
            return true;
        }
    }
    return false;
}

unsigned node_stage_meet(struct node_stage *self)
{
    unsigned refused = 0;
    struct fake_sent sent;

    fake_forget(&self->fake);
    for (int i = 0; i < MAX_CLAIMS && !node_failed(self->node); i++) {
        struct frame answer;

        self->now_us += self->config.sync_interval_us;
        self->actor.time(self->actor.self, self->now_us);
        if (!take_question(self, &sent)) {
            node_stage_settle(self);
            continue;
        }
        answer = node_stage_judge(self, &sent.frame.body.sync_request, sent.frame.correlation);
        self->incarnation = sent.frame.body.sync_request.incarnation;
        refused += answer.body.sync_reply.status == STATUS_STALE;
        fake_answer(&self->actor, self->now_us, STAGE_COORDINATOR, &answer);
        if (node_registered(self->node)) {
            return refused;
        }
    }
    return refused;
}

unsigned node_stage_open(struct node_stage *self)
{
    unsigned refused;

    node_stage_start(self);
    node_stage_settle(self);
    refused = node_stage_meet(self);
    node_stage_settle(self);
    return refused;
}

/* ---- asking ---- */

bool node_stage_ask_disk(struct node_stage *self, const struct subrequest *subrequest,
                         const uint64_t *fingerprints, struct node_answer *answer)
{
    uint64_t correlation;

    fake_forget(&self->fake);
    node_stage_send(self, subrequest, 1, fingerprints, 77);
    node_stage_settle(self);
    return node_stage_take(self, answer, &correlation) == 1;
}

enum status node_stage_add(struct node_stage *self, const struct filter_document *document,
                           const uint64_t *fingerprints, uint32_t count)
{
    static struct node_answer answer;
    struct subrequest subrequest = node_stage_subrequest(document, OPERATION_ADD, count);

    subrequest.batch.number = ++self->batches;
    subrequest.op.sequence = self->batches;
    if (!node_stage_ask_disk(self, &subrequest, fingerprints, &answer)) {
        return STATUS_UNAVAILABLE;
    }
    cr_assert_not(answer.subrequest.at_capacity, "the filter is too small for this test");
    return answer.subrequest.status;
}

static uint32_t absent_of(struct node_stage *self, const struct filter_document *document,
                          const uint64_t *fingerprints, uint32_t count)
{
    static struct node_answer answer;
    struct subrequest subrequest = node_stage_subrequest(document, OPERATION_CHECK, count);
    uint32_t absent = 0;

    cr_assert(node_stage_ask_disk(self, &subrequest, fingerprints, &answer), "no answer");
    cr_assert_eq(answer.subrequest.status, STATUS_OK, "%s", status_code(answer.subrequest.status));
    cr_assert_eq(answer.subrequest.state, REPLICA_FULL);
    for (uint32_t i = 0; i < count; i++) {
        bool is_absent = (answer.absent[i / 64] >> (i % 64) & 1) != 0;

        cr_assert_neq(is_absent, (answer.present[i / 64] >> (i % 64) & 1) != 0);
        absent += is_absent;
    }
    return absent;
}

uint32_t node_stage_absent(struct node_stage *self, const struct filter_document *document,
                           const uint64_t *fingerprints, uint32_t count)
{
    uint32_t absent = 0;

    for (uint32_t i = 0; i < count; i += CHECK_KEYS) {
        uint32_t step = count - i < CHECK_KEYS ? count - i : CHECK_KEYS;

        absent += absent_of(self, document, fingerprints + i, step);
    }
    return absent;
}

void node_stage_make_filter(const struct node_stage *self, uint64_t id, enum durability durability,
                            struct filter_document *document)
{
    static const struct quorum_rule rule = {.replicas = 3, .write = 2, .read = 2};
    struct buffer bytes;
    char name[16];

    (void)snprintf(name, sizeof name, "filter-%u", (unsigned)id);
    node_stage_document(self, id, name, &rule, 3, document);
    document->durability = durability;
    document->capacity = STAGE_CAPACITY;
    document->max_capacity = STAGE_CAPACITY;
    document->generations[0].geometry.lines = STAGE_LINES;
    document->generations[0].capacity = STAGE_CAPACITY;
    sample_sign(document, sample_key(), &bytes);
    buffer_fini(&bytes);
}

void node_stage_filter(struct node_stage *self, uint64_t id, enum durability durability,
                       struct filter_document *document)
{
    node_stage_make_filter(self, id, durability, document);
    node_stage_hand(self, document);
    node_stage_settle(self);
}

/* ---- the folder ---- */

struct listing {
    const char *prefix;
    char (*names)[DISK_NAME_BYTES];
    unsigned count;
};

static void note_name(void *argument, const char *name)
{
    struct listing *listing = argument;

    if (strncmp(name, listing->prefix, strlen(listing->prefix)) == 0) {
        cr_assert_lt(listing->count, MAX_NAMES);
        (void)snprintf(listing->names[listing->count++], DISK_NAME_BYTES, "%s", name);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static unsigned list(struct node_stage *self, const char *prefix, char (*names)[DISK_NAME_BYTES])
{
    struct listing listing = {.prefix = prefix, .names = names};
    const struct disk *disk = self->config.disk;

    cr_assert_eq(disk->list(disk->context, note_name, &listing), STATUS_OK);
    qsort(names, listing.count, sizeof names[0], by_name);
    return listing.count;
}

unsigned node_stage_files(struct node_stage *self, const char *prefix)
{
    static char names[MAX_NAMES][DISK_NAME_BYTES];

    return list(self, prefix, names);
}

bool node_stage_file(struct node_stage *self, const char *prefix, unsigned number,
                     char name[DISK_NAME_BYTES])
{
    static char names[MAX_NAMES][DISK_NAME_BYTES];
    unsigned count = list(self, prefix, names);

    if (number < count) {
        memcpy(name, names[number], DISK_NAME_BYTES);
    }
    return number < count;
}

struct memory_disk *node_stage_copy_disk(struct node_stage *self)
{
    cr_assert_null(self->node);
    return memory_disk_copy(self->disk);
}

void node_stage_use_disk(struct node_stage *self, struct memory_disk *disk)
{
    cr_assert_null(self->node);
    memory_disk_destroy(&self->disk);
    self->disk = disk;
    self->config.disk = memory_disk_seam(disk);
}

enum stage_outcome node_stage_outcome(struct node_stage *self, uint64_t incarnation)
{
    (void)node_stage_open(self);
    if (node_failed(self->node)) {
        return STAGE_REFUSED;
    }
    /* What is found damaged while it is read back comes after the first registration. */
    for (int i = 0; i < MAX_CLAIMS && !node_registered(self->node); i++) {
        (void)node_stage_meet(self);
        node_stage_settle(self);
    }
    cr_assert(node_registered(self->node));
    return self->incarnation == incarnation ? STAGE_SAME : STAGE_ANOTHER;
}

void node_stage_name(const struct node_stage *self, struct filter_document *document)
{
    bool named = true;

    for (uint32_t group = 0; group < document->content.ngroups; group++) {
        for (uint32_t slot = 0; slot < document->content.rule.replicas; slot++) {
            struct member *member = &document->content.groups[group].slots[slot].current;

            if (member->node == 1 && member->incarnation != self->incarnation) {
                member->incarnation = self->incarnation;
                named = false;
            }
        }
    }
    if (!named) {
        document_epoch_advance(document);
    }
}

void node_stage_adopt(struct node_stage *self, struct filter_document *document)
{
    node_stage_name(self, document);
    node_stage_hand(self, document);
    node_stage_settle(self);
}
