/* Asks coordinators and nodes again and again, and judges by their answers. */
#include "tests/torture/watch.h"

#include "client/shell_channel.h"
#include "tests/torture/credentials.h"
#include "tests/torture/journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    ASK_US = 400000,
    PAUSE_MS = 60,
    MAX_FILTERS = 32,
    LOOKS = 3,
    TELL_MS = 20000,
    REASON_BYTES = 160
};

/* What a node counted when last asked. */
struct node_view {
    struct channel *channel;
    struct channel *inside; /* as a process, for what users may not ask */
    uint64_t replayed;
    uint64_t runs;
    uint64_t run_bytes;
};

struct watched_filter {
    uint64_t id;
    char name[LEDGER_NAME_BYTES];
    uint32_t replicas; /* that it should have */
};

struct watch {
    struct watch_thread *thread;
    struct torture *torture;
    struct channel *coordinators;
    struct node_view nodes[CLUSTER_MAX_DAEMONS];

    /* Of one look. */
    bool answered;
    bool signed_anew; /* every record, with the first key of the coordinator's ring */
    bool changing;    /* a replacement of replicas is not over */
    bool joining;
    bool building;
    bool replaying;
    bool merging;
    bool growing;
    bool valve;
    uint64_t joiners;
    bool leaving; /* a node is drained or replaced, and holds something still */
    uint32_t slots[CLUSTER_MAX_DAEMONS];
    struct watched_filter filters[MAX_FILTERS];
    uint32_t nfilters;
    uint32_t full;    /* of the filter that is asked about */
    uint32_t told;    /* nodes that answered about it */
    uint32_t looks;   /* at a whole cluster since it was seen broken */
    uint64_t told_ms; /* when it was last said why it is not whole */
    struct node_view *asked;
};

static struct channel *open_channel(const char *routers, const char *coordinators,
                                    const char *credential)
{
    struct channel_options options = {
        .routers = routers, .coordinators = coordinators, .credential = credential};
    struct channel *channel = NULL;
    char reason[CHANNEL_REASON_BYTES];

    return channel_open(&options, &channel, reason) == STATUS_OK ? channel : NULL;
}

/* Did a question come to its answer? */
static bool was_answered(const struct watch *self, const struct session_result *result,
                         const char *what)
{
    if (result->status == STATUS_UNAUTHENTIC) {
        tally_refused(&self->torture->tally, what, result->message);
    }
    return result->status == STATUS_OK;
}

/* ---- what it is doing ---- */

/* Keys of a filter in arrays of its wanted generation alone. */
static uint64_t overflow_of(const struct admin_reply *reply, uint64_t filter_id)
{
    uint64_t keys = 0;

    for (size_t i = 0; i < reply->nreplicas; i++) {
        keys += reply->replicas[i].filter_id == filter_id ? reply->replicas[i].overflow_keys : 0;
    }
    return keys;
}

static void see_expansion(struct watch *self, const struct admin_reply *reply,
                          const struct filter_summary *filter)
{
    struct tally *tally = &self->torture->tally;
    bool growing = filter->ngenerations > (filter->nchain > 0 ? filter->nchain : 1);
    bool valve = growing && overflow_of(reply, filter->id) > 0;
    uint64_t wanted = growing ? filter->generations[filter->ngenerations - 1].id : 0;
    bool done;
    uint64_t took_ms;

    self->growing |= growing;
    self->valve |= valve;
    took_ms = ledger_see(&self->torture->ledger, filter->name, wanted,
                         valve           ? TALLY_VALVE
                         : growing       ? TALLY_GROWING
                         : self->leaving ? TALLY_MOVING
                                         : TALLY_STILL,
                         &done);
    atomic_fetch_add(&tally->expansions, done);
    atomic_fetch_add(&tally->chains, done && filter->nchain > 0);
    if (filter->newest_slice > atomic_load(&tally->slices)) {
        atomic_store(&tally->slices, filter->newest_slice);
    }
    if (took_ms > atomic_load(&self->torture->patience_ms)) {
        tally_fail(tally, "STUCK: %s is on its way to another generation for %" PRIu64 " s: %s",
                   filter->name, took_ms / 1000, filter->growth_awaited);
    }
}

static void see_node(struct watch *self, const struct node_summary *node)
{
    const struct daemon *daemon;

    for (uint32_t i = 0;
         (daemon = cluster_next(&self->torture->cluster, DAEMON_NODE, &i)) != NULL;) {
        if (strcmp(daemon->name, node->name) == 0) {
            self->slots[i - 1] = node->slots;
            self->joiners |= (uint64_t)(node->replicas_joining > 0) << (i - 1);
        }
    }
    self->leaving |= (node->draining || node->replaced_by[0] != '\0') && node->slots > 0;
}

static void on_status(void *context, const struct session_result *result)
{
    struct watch *self = context;
    const struct admin_reply *reply;

    if (!was_answered(self, result, "status")) {
        return;
    }
    reply = &result->frame->body.admin_reply;
    self->answered = true;
    self->signed_anew = reply->keys.records_left == 0 && reply->message[0] == '\0';
    self->changing = reply->nchanges > 0;
    for (size_t i = 0; i < reply->nreplicas; i++) {
        self->joining |= reply->replicas[i].state == REPLICA_JOINING;
        self->building |= reply->replicas[i].state == REPLICA_BUILDING;
    }
    for (size_t i = 0; i < reply->nnodes; i++) {
        see_node(self, &reply->nodes[i]);
    }
    for (size_t i = 0; i < reply->nfilters; i++) {
        see_expansion(self, reply, &reply->filters[i]);
    }
    for (size_t i = 0; i < reply->nfilters && self->nfilters < MAX_FILTERS; i++) {
        const struct filter_summary *filter = &reply->filters[i];

        if (filter->state == FILTER_ACTIVE && strncmp(filter->name, "brief", 5) != 0) {
            struct watched_filter *watched = &self->filters[self->nfilters++];

            watched->id = filter->id;
            watched->replicas = filter->ngroups * filter->rule.replicas;
            (void)snprintf(watched->name, sizeof watched->name, "%s", filter->name);
        }
    }
}

static uint64_t value_of(const struct stats_reply *reply, const char *name)
{
    for (size_t i = 0; i < reply->nvalues; i++) {
        if (strcmp(reply->values[i].name, name) == 0) {
            return reply->values[i].value;
        }
    }
    return 0;
}

static void on_stats(void *context, const struct session_result *result)
{
    struct watch *self = context;
    struct node_view *view = self->asked;
    uint64_t replayed;
    uint64_t runs;
    uint64_t run_bytes;

    if (!was_answered(self, result, "stats") || result->frame->kind != FRAME_STATS_REPLY) {
        return;
    }
    replayed = value_of(&result->frame->body.stats_reply, "replayed_keys_total");
    runs = value_of(&result->frame->body.stats_reply, "runs");
    run_bytes = value_of(&result->frame->body.stats_reply, "run_bytes");
    self->replaying |= replayed > view->replayed;
    self->merging |= runs != view->runs || run_bytes != view->run_bytes;
    view->replayed = replayed;
    view->runs = runs;
    view->run_bytes = run_bytes;
}

/* Daemons that are stopped or dead would only cost time. */
static struct daemon *next_usable(struct watch *self, uint32_t *index)
{
    struct daemon *daemon;

    do {
        daemon = cluster_next(&self->torture->cluster, DAEMON_NODE, index);
    } while (daemon != NULL && !atomic_load(&daemon->usable));
    return daemon;
}

static void ask_node(struct watch *self, uint32_t index, const struct daemon *daemon,
                     const struct frame *frame, session_done_fn done)
{
    struct node_view *view = &self->nodes[index];
    const struct cluster *cluster = &self->torture->cluster;
    bool inside = cluster->options->curve && frame->kind == FRAME_INFO_REQUEST;
    struct channel **channel = inside ? &view->inside : &view->channel;

    if (*channel == NULL) {
        char process[DAEMON_PATH_BYTES];

        *channel = open_channel(daemon->endpoint, self->torture->coordinators,
                                inside ? credentials_path(cluster, "process", process) : NULL);
    }
    self->asked = view;
    if (*channel != NULL) {
        channel_ask(*channel, ASK_US, frame, done, self);
    }
}

static void publish(struct watch *self, uint64_t start_ms)
{
    struct watch_thread *thread = self->thread;

    atomic_store(&thread->joining, self->joining);
    atomic_store(&thread->growing, self->growing);
    atomic_store(&thread->valve, self->valve);
    atomic_store(&thread->moving, self->leaving && self->changing);
    atomic_store(&thread->changing, self->changing);
    atomic_store(&thread->joiners, self->joiners);
    for (uint32_t i = 0; i < CLUSTER_MAX_DAEMONS; i++) {
        atomic_store(&thread->slots[i], self->slots[i]);
    }
    if (!self->growing && !self->changing) {
        atomic_store(&thread->calm_ms, start_ms);
    }
    if (self->signed_anew) {
        atomic_store(&thread->signed_ms, start_ms);
    }
    atomic_store(&thread->looked_ms, start_ms);
}

static void look(struct watch *self)
{
    uint64_t start_ms = journal_now_ms();
    struct frame status = {.kind = FRAME_ADMIN_REQUEST};
    struct frame stats = {.kind = FRAME_STATS_REQUEST};
    const struct daemon *daemon;

    status.body.admin_request = (struct admin_request){.action = ADMIN_STATUS, .name = ""};
    self->answered = self->joining = self->building = self->replaying = self->merging = false;
    self->growing = self->valve = self->leaving = false;
    self->joiners = 0;
    self->nfilters = 0;
    channel_ask(self->coordinators, ASK_US, &status, on_status, self);
    for (uint32_t i = 0; (daemon = next_usable(self, &i)) != NULL;) {
        ask_node(self, i, daemon, &stats, on_stats);
    }
    if (self->answered) {
        publish(self, start_ms);
    }
    atomic_store(&self->thread->replaying, self->replaying || self->building);
    atomic_store(&self->thread->merging, self->merging);
}

/* ---- whether it is whole ---- */

static void on_info(void *context, const struct session_result *result)
{
    struct watch *self = context;

    if (!was_answered(self, result, "info") || result->frame->kind != FRAME_INFO_REPLY) {
        return;
    }
    for (size_t i = 0; i < result->frame->body.info_reply.nreplicas; i++) {
        self->full += result->frame->body.info_reply.replicas[i].state == REPLICA_FULL;
    }
    self->told++;
}

enum wholeness { WHOLE, BROKEN, UNSETTLED };

static void count_replicas(struct watch *self, const struct watched_filter *filter)
{
    struct frame info = {.kind = FRAME_INFO_REQUEST};
    const struct daemon *daemon;

    info.body.info_request = (struct info_request){.filter = "", .filter_id = filter->id};
    self->full = self->told = 0;
    for (uint32_t i = 0;
         self->full < filter->replicas && (daemon = next_usable(self, &i)) != NULL;) {
        ask_node(self, i, daemon, &info, on_info);
    }
}

/* A filter that no node knows says nothing: it was dropped since it was listed, or is listed again
 * by the next look. */
static enum wholeness judge_filters(struct watch *self, char reason[static REASON_BYTES])
{
    enum wholeness outcome = WHOLE;

    for (uint32_t i = 0; i < self->nfilters; i++) {
        const struct watched_filter *filter = &self->filters[i];

        count_replicas(self, filter);
        if (self->told == 0) {
            outcome = UNSETTLED;
        } else if (self->full < filter->replicas) {
            (void)snprintf(reason, REASON_BYTES,
                           "%s: %" PRIu32 " of %" PRIu32 " replicas are FULL, as %" PRIu32
                           " nodes say",
                           filter->name, self->full, filter->replicas, self->told);
            return BROKEN;
        }
    }
    return outcome;
}

static enum wholeness judge(struct watch *self, char reason[static REASON_BYTES])
{
    const char *cause = !self->answered       ? "no coordinator answers"
                        : self->changing      ? "replicas are on their way"
                        : self->nfilters == 0 ? "no filter is listed"
                                              : NULL;

    if (cause != NULL) {
        (void)snprintf(reason, REASON_BYTES, "%s", cause);
        return BROKEN;
    }
    return judge_filters(self, reason);
}

/* Looks whether it is whole, if that is wanted. What keeps it from that is told now and then. */
static void look_for_whole(struct watch *self, uint64_t start_ms)
{
    char reason[REASON_BYTES];

    if (!atomic_load(&self->thread->wants_whole)) {
        self->looks = 0;
        self->told_ms = start_ms;
        return;
    }
    switch (judge(self, reason)) {
    case UNSETTLED:
        break;
    case BROKEN:
        self->looks = 0;
        if (start_ms - self->told_ms > TELL_MS) {
            journal_tell("not whole: %s", reason);
            self->told_ms = start_ms;
        }
        break;
    case WHOLE:
        if (++self->looks >= LOOKS) {
            atomic_store(&self->thread->whole_ms, start_ms);
        }
        break;
    }
}

void *watch_thread(void *context)
{
    struct watch self = {.thread = context};

    self.torture = self.thread->torture;
    self.coordinators = open_channel(self.torture->routers, self.torture->coordinators, NULL);
    while (self.coordinators != NULL && !atomic_load(&self.torture->over)) {
        uint64_t start_ms = journal_now_ms();

        look(&self);
        look_for_whole(&self, start_ms);
        journal_pause_ms(PAUSE_MS);
    }
    channel_close(&self.coordinators);
    for (uint32_t i = 0; i < CLUSTER_MAX_DAEMONS; i++) {
        channel_close(&self.nodes[i].channel);
        channel_close(&self.nodes[i].inside);
    }
    return NULL;
}
