/* Coordinators first: they tell of nodes, and of links. What counts keys is asked last, so that the
 * time for which they are counted is not waited for twice. */
#include "cli/doctor/gather.h"

#include "base/heap.h"
#include "cli/doctor/backup.h"
#include "cli/doctor/machine.h"
#include "client/endpoint_list.h"
#include "runtime/date.h"
#include "runtime/hub.h"

#include <stdio.h>
#include <string.h>

enum { PROCESS_TIMEOUT_US = 2000000, WAIT_US = 100000 };

/* ---- one question ---- */

struct asking {
    struct gather *gather;
    struct doctor_answer *answer;
};

/* session_done_fn */
static void on_done(void *context, const struct session_result *result)
{
    struct asking *self = context;
    struct doctor_answer *answer = self->answer;

    answer->status = result->status;
    if (result->status != STATUS_OK) {
        (void)snprintf(answer->why, sizeof answer->why, "%s", result->message);
        return;
    }
    answer->frame = answers_keep(&self->gather->kept, result->frame);
    if (answer->frame == NULL) {
        answer->status = STATUS_NOMEM;
        (void)snprintf(answer->why, sizeof answer->why, "%s", status_meaning(STATUS_NOMEM));
    }
}

static uint64_t timeout_of(const struct gather *self)
{
    uint64_t given_us = self->common->timeout_us;

    return given_us < PROCESS_TIMEOUT_US ? given_us : PROCESS_TIMEOUT_US;
}

static void ask(struct gather *self, struct channel *channel, const struct frame *question,
                struct doctor_answer *answer)
{
    struct asking asking = {.gather = self, .answer = answer};

    *answer = (struct doctor_answer){.asked = true};
    channel_ask(channel, timeout_of(self), question, on_done, &asking);
}

static struct frame admin(enum admin_action action)
{
    return (struct frame){
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = action,
                               .name = "",
                               .successor = "",
                               .site = {.step = action == ADMIN_SITE ? SITE_STEP_LIST : 0,
                                        .site = ""}},
    };
}

/* ---- one process ---- */

/* It alone. By CURVE coordinators are known by other keys than all else. NULL: `reason` says why,
 * and it would be so for all. */
static struct channel *open_to(struct gather *self, const struct doctor_process *process)
{
    struct channel_options options = flags_channel(self->common);
    struct channel *channel = NULL;

    options.routers = process->endpoint;
    if (process->kind == DOCTOR_COORDINATOR) {
        options.coordinators = process->endpoint;
    }
    self->status = channel_open(&options, &channel, self->reason);
    return self->status == STATUS_OK ? channel : NULL;
}

/* The first answer takes a connection, the second one does not. */
static void ask_stats(struct gather *self, struct channel *channel, struct doctor_process *process)
{
    const struct frame question = {.kind = FRAME_STATS_REQUEST};
    uint64_t asked_us;

    ask(self, channel, &question, &process->stats);
    if (process->stats.status == STATUS_OK) {
        asked_us = hub_now_us();
        ask(self, channel, &question, &process->stats);
        process->round_trip_us = hub_now_us() - asked_us;
    }
    if (process->stats.status == STATUS_OK) {
        (void)snprintf(process->name, sizeof process->name, "%s",
                       process->stats.frame->body.stats_reply.name);
    }
}

static void ask_coordinator(struct gather *self, struct channel *channel,
                            struct doctor_process *process)
{
    const struct frame status = admin(ADMIN_STATUS);
    const struct frame upgrade = admin(ADMIN_UPGRADE_STATUS);
    const struct frame sites = admin(ADMIN_SITE);
    const struct frame users = admin(ADMIN_USER_LIST);

    ask(self, channel, &status, &process->status);
    ask(self, channel, &upgrade, &process->upgrade);
    if (self->gathered.cluster != NULL || process->status.status != STATUS_OK) {
        return;
    }
    self->gathered.cluster = &process->status.frame->body.admin_reply;
    self->told_us = hub_now_us();
    ask(self, channel, &sites, &self->gathered.sites);
    ask(self, channel, &users, &self->gathered.users);
    self->gathered.users_now_ms = date_now_ms();
}

static void ask_process(struct gather *self, struct doctor_process *process)
{
    struct channel *channel = process->stats.asked ? NULL : open_to(self, process);

    if (channel == NULL) {
        return;
    }
    process->encrypted = channel_is_encrypted(channel);
    ask_stats(self, channel, process);
    if (process->kind == DOCTOR_COORDINATOR && process->stats.status != STATUS_DEADLINE) {
        ask_coordinator(self, channel, process);
    }
    channel_close(&channel);
}

/* ---- which processes ---- */

static void add_process(struct gather *self, enum doctor_kind kind, const char *name,
                        const char *endpoint)
{
    struct gathered *gathered = &self->gathered;
    struct doctor_process *process;

    if (!heap_grow(&gathered->processes, &self->room, gathered->nprocesses + 1, sizeof *process)) {
        self->status = STATUS_NOMEM;
        (void)snprintf(self->reason, sizeof self->reason, "%s", status_meaning(STATUS_NOMEM));
        return;
    }
    process = &gathered->processes[gathered->nprocesses++];
    *process = (struct doctor_process){.kind = kind};
    (void)snprintf(process->name, sizeof process->name, "%s", name);
    (void)snprintf(process->endpoint, sizeof process->endpoint, "%s", endpoint);
    if (endpoint_is_valid(endpoint)) {
        process->loopback = options_endpoint_is_loopback(endpoint);
    } else { /* As somebody tells of it: a list that was given has none such. */
        process->stats = (struct doctor_answer){
            .asked = true, .status = STATUS_INVALID, .why = "that is no endpoint"};
    }
}

typedef enum status (*list_fn)(const char *given, char names[][DOCUMENT_TEXT_BYTES],
                               uint32_t *count, char reason[CHANNEL_REASON_BYTES]);

static void add_listed(struct gather *self, enum doctor_kind kind, const char *given, list_fn list)
{
    char names[SESSION_MAX_ENDPOINTS][DOCUMENT_TEXT_BYTES];
    uint32_t count = 0;

    self->status = list(given, names, &count, self->reason);
    for (uint32_t i = 0; i < count && self->status == STATUS_OK; i++) {
        add_process(self, kind, "", names[i]);
    }
}

/* One that is silent for the coordinator is asked all the same: it may be that one that is cut off.
 */
static void add_nodes(struct gather *self)
{
    const struct admin_reply *cluster = self->gathered.cluster;

    for (size_t i = 0; cluster != NULL && i < cluster->nnodes; i++) {
        const struct node_summary *node = &cluster->nodes[i];

        add_process(self, DOCTOR_NODE, node->name, node->endpoint);
    }
}

static void add_links(struct gather *self)
{
    const struct frame *frame = self->gathered.sites.frame;
    const struct site_page *page = frame != NULL ? &frame->body.admin_reply.sites : NULL;

    for (size_t i = 0; page != NULL && i < page->nlinks; i++) {
        add_process(self, DOCTOR_LINK, "", page->links[i].endpoint);
    }
}

static void ask_from(struct gather *self, size_t first)
{
    for (size_t i = first; i < self->gathered.nprocesses && self->status == STATUS_OK; i++) {
        ask_process(self, &self->gathered.processes[i]);
    }
}

static void ask_lags(struct gather *self)
{
    for (size_t i = 0; i < self->gathered.nprocesses; i++) {
        const struct doctor_process *process = &self->gathered.processes[i];
        struct flags_common link = *self->common;
        struct cmd_outcome outcome;

        if (process->kind == DOCTOR_LINK && process->stats.status == STATUS_OK) {
            link.routers = process->endpoint;
            link.timeout_us = timeout_of(self);
            site_lags_ask_link(&link, 0, &self->gathered.lags, &outcome);
        }
    }
}

/* ---- again, later ---- */

/* The coordinator that has told before. */
static const struct doctor_process *teller(const struct gather *self)
{
    const struct doctor_process *process = self->gathered.processes;

    while (process->status.frame == NULL ||
           &process->status.frame->body.admin_reply != self->gathered.cluster) {
        process++;
    }
    return process;
}

static void wait_until(struct channel *channel, uint64_t until_us)
{
    uint64_t now_us = hub_now_us();

    while (now_us < until_us) {
        channel_run(channel, until_us - now_us < WAIT_US ? until_us - now_us : WAIT_US);
        now_us = hub_now_us();
    }
}

/* NULL: it has not told it. *after_us: how long after the first one. */
static const struct admin_reply *status_after(struct gather *self, struct channel *channel,
                                              uint64_t *after_us)
{
    const struct frame status = admin(ADMIN_STATUS);
    struct doctor_answer answer;

    wait_until(channel, self->told_us + *after_us);
    ask(self, channel, &status, &answer);
    *after_us = hub_now_us() - self->told_us;
    return answer.status == STATUS_OK ? &answer.frame->body.admin_reply : NULL;
}

/* Twice, half of the time apart: the first may be late, as others were asked meanwhile. */
static void look_again(struct gather *self)
{
    struct channel *channel = open_to(self, teller(self));
    const struct admin_reply *amid;
    const struct admin_reply *latest;
    uint64_t amid_us = self->look_us / 2;
    uint64_t looked_us;

    if (channel == NULL) {
        return;
    }
    amid = status_after(self, channel, &amid_us);
    looked_us = amid_us + self->look_us / 2;
    latest = status_after(self, channel, &looked_us);
    channel_close(&channel);
    if (latest != NULL) {
        self->gathered.earlier = self->gathered.cluster;
        self->gathered.amid = amid;
        self->gathered.amid_us = amid_us;
        self->gathered.cluster = latest;
        self->gathered.looked_us = looked_us;
    }
}

/* Those that commands ask. */
static void gather_listed(struct gather *self)
{
    add_listed(self, DOCTOR_COORDINATOR, self->common->coordinators, channel_coordinators);
    ask_from(self, 0);
}

/* ... and those that coordinators tell of. */
static void gather_others(struct gather *self)
{
    size_t asked = self->gathered.nprocesses;

    if (self->status != STATUS_OK) {
        return;
    }
    add_listed(self, DOCTOR_ROUTER, self->common->routers, channel_routers);
    add_nodes(self);
    add_links(self);
    ask_from(self, asked);
    ask_lags(self);
}

enum status gather(struct gather *self)
{
    machine_look(&self->gathered.machine);
    if (self->backup != NULL) {
        backup_look(self->backup, &self->gathered.backup);
    }
    gather_listed(self);
    gather_others(self);
    if (self->gathered.cluster != NULL && self->look_us > 0 && self->status == STATUS_OK) {
        look_again(self);
    }
    return self->status;
}

void gather_fini(struct gather *self)
{
    site_lags_fini(&self->gathered.lags);
    heap_free(self->gathered.processes);
    answers_fini(&self->kept);
    *self = (struct gather){0};
}
