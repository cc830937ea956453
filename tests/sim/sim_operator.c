/* Plays the operators of names: each repeats its command until that is confirmed. */
#include "tests/sim/sim_operator.h"

#include "tests/sim/sim.h"
#include "tests/sim/sim_vouch.h"

enum {
    COMMAND_LEAST_US = 150000,
    COMMAND_MOST_US = 900000,
    AGAIN_LEAST_US = 5000,
    AGAIN_MOST_US = 60000,
    STATUS_TIMEOUT_US = 3000000,
};

static void ask(struct sim *sim, uint32_t name);

uint32_t sim_operator_command(const struct sim *sim, const struct sim_process *process)
{
    for (uint32_t i = 0; i < SIM_MAX_NAMES; i++) {
        if (sim->operator.names[i].process == process) {
            return sim->operator.names[i].command;
        }
    }
    return 0;
}

bool sim_operator_settled(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->load.nnames; i++) {
        if (sim->operator.names[i].state != SIM_NAME_LIVE) {
            return false;
        }
    }
    return true;
}

static void on_again(struct sim *sim, void *data, uint64_t number)
{
    (void)data;
    ask(sim, (uint32_t)number);
}

void sim_operator_again(struct sim *sim, uint32_t name)
{
    sim_after(sim, sim_random_between(&sim->random, AGAIN_LEAST_US, AGAIN_MOST_US), on_again, NULL,
              name);
}

/* ---- ends ---- */

/* Has it been given another size since an earlier try made it, whose answer got lost? Then one that
 * asks for the first size is told that there is another. */
static bool has_changed(const struct sim *sim, uint32_t name)
{
    const struct filter_document *document = sim_view_document(sim, name);

    return document != NULL && document_generation(document)->id > 1;
}

static void end_create(struct sim *sim, uint32_t name, enum status status, const char *message)
{
    struct sim_managed_name *one = &sim->operator.names[name];

    if (name == SIM_WEAK && status == STATUS_INVALID) {
        one->state = SIM_NAME_FREE; /* As it must be. */
    } else if (status == STATUS_OK || (status == STATUS_EXISTS && has_changed(sim, name))) {
        one->state = SIM_NAME_LIVE;
        sim->operator.weak_exists = sim->operator.weak_exists || name == SIM_WEAK;
        sim_oracle_create_ends(sim, name);
    } else if (status == STATUS_INVALID || status == STATUS_EXISTS || status == STATUS_INTERNAL) {
        sim_fail(sim, "create %s ended with %s: %s", sim_name(name), status_code(status), message);
    } else {
        sim_operator_again(sim, name);
    }
}

static void end_drop(struct sim *sim, uint32_t name, enum status status, const char *message)
{
    struct sim_managed_name *one = &sim->operator.names[name];

    /* An earlier try may have done it, and its answer got lost. */
    if (status == STATUS_OK || status == STATUS_NOT_FOUND) {
        one->state = SIM_NAME_FREE;
        sim_oracle_drop_ends(sim, name);
        if (one->recreate && !(one->inherit && sim_operator_rename(sim, one->heir, name))) {
            (void)sim_operator_create(sim, name);
        }
    } else if ((status == STATUS_INVALID && one->noff == 0) || status == STATUS_INTERNAL) {
        sim_fail(sim, "drop %s ended with %s: %s", sim_name(name), status_code(status), message);
    } else if (!sim_given_up_begins(sim, name)) {
        sim_operator_again(sim, name);
    }
}

static void end_rename(struct sim *sim, uint32_t name, enum status status, const char *message)
{
    struct sim_managed_name *one = &sim->operator.names[name];
    uint64_t id = sim_oracle_newest(sim, name)->filter_id;
    const struct filter_document *document = sim_view_document(sim, one->target);

    /* An earlier try may have done it, and its answer got lost. */
    if (status == STATUS_OK || status == STATUS_NOT_FOUND) {
        if (document == NULL || document->id != id) {
            sim_fail(sim, "rename of %s ended with %s, and %s is another filter", sim_name(name),
                     status_code(status), sim_name(one->target));
            return;
        }
        sim_oracle_rename_ends(sim, name, one->target);
        sim->operator.names[one->target].state = SIM_NAME_LIVE;
        one->state = SIM_NAME_FREE;
        (void)sim_operator_create(sim, name);
    } else if ((status == STATUS_INVALID && one->noff == 0) || status == STATUS_INTERNAL ||
               status == STATUS_EXISTS || status == STATUS_DROPPED) {
        sim_fail(sim, "rename of %s ended with %s: %s", sim_name(name), status_code(status),
                 message);
    } else {
        sim_operator_again(sim, name);
    }
}

static void on_done(void *context, const struct session_result *result)
{
    struct sim_process *process = context;
    struct sim *sim = process->sim;
    uint32_t name = 0;

    while (sim->operator.names[name].process != process) {
        name++;
    }
    sim_trace_hash(&sim->trace, sim->now_us, UINT64_C(1) << 33 | name, (uint64_t)result->status);
    sim_trace_line(&sim->trace, sim->now_us, "operator of %s: %s %s", sim_name(name),
                   status_code(result->status), result->message);
    sim_view_follow(sim);
    sim->operator.names[name].command = 0;
    if (sim->operator.names[name].state == SIM_NAME_CREATING) {
        sim_coverage_end(sim, SIM_PHASE_CREATE);
        end_create(sim, name, result->status, result->message);
    } else if (sim->operator.names[name].state == SIM_NAME_RENAMING) {
        sim_coverage_end(sim, SIM_PHASE_DROP);
        end_rename(sim, name, result->status, result->message);
    } else {
        sim_coverage_end(sim, SIM_PHASE_DROP);
        end_drop(sim, name, result->status, result->message);
    }
}

/* ---- begins ---- */

/* Nobody sees who had the filter that is replaced; it is vouched for all. */
static struct admin_request request_of(struct sim *sim, uint32_t name)
{
    struct sim_managed_name *one = &sim->operator.names[name];
    struct admin_request request = {.name = sim_name(name)};

    one->noff = 0;

    if (one->state == SIM_NAME_CREATING) {
        request.action = ADMIN_CREATE;
        request.create = one->parameters;
    } else if (one->state == SIM_NAME_RENAMING) {
        request.action = ADMIN_RENAME;
        request.rename = (struct rename_parameters){.name = sim_name(one->target), .replace = true};
        if (one->tries > 0) {
            sim_vouch(sim, NULL, one);
        }
    } else {
        request.action = ADMIN_DROP;
        if (one->tries > 0 && sim_view_document(sim, name) != NULL) {
            sim_vouch(sim, sim_view_document(sim, name), one);
        }
    }
    request.confirmed_off = one->off;
    request.nconfirmed_off = one->noff;
    return request;
}

static void ask(struct sim *sim, uint32_t name)
{
    struct sim_managed_name *one = &sim->operator.names[name];
    bool creating = one->state == SIM_NAME_CREATING;
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST, .body.admin_request = request_of(sim, name)};
    enum status status;

    if (one->state == SIM_NAME_DROPPING) { /* Once it is gone another one may not be meant. */
        frame.body.admin_request.filter_id = sim_oracle_newest(sim, name)->filter_id;
    }
    one->tries++;
    one->command = ++sim->operator.last_command;
    one->patience_us = sim_random_between(&sim->random, COMMAND_LEAST_US, COMMAND_MOST_US);
    sim_given_up_draw(sim, name);
    sim_coverage_begin(sim, creating ? SIM_PHASE_CREATE : SIM_PHASE_DROP);
    sim_trace_line(&sim->trace, sim->now_us, "operator of %s: %s%s%s", sim_name(name),
                   creating                          ? "create"
                   : one->state == SIM_NAME_RENAMING ? "rename to "
                                                     : "drop",
                   one->state == SIM_NAME_RENAMING ? sim_name(one->target) : "",
                   frame.body.admin_request.nconfirmed_off > 0 ? " --confirmed-off" : "");
    status = session_ask(one->process->session, sim_process_now(one->process), one->patience_us,
                         &frame, on_done, one->process);
    if (status != STATUS_OK) {
        sim_fail(sim, "the operator cannot ask: %s", status_code(status));
    }
    sim_process_arm(one->process);
}

bool sim_operator_create(struct sim *sim, uint32_t name)
{
    struct sim_managed_name *one = &sim->operator.names[name];

    if (one->state != SIM_NAME_FREE || sim->oracle.names[name].nbindings == SIM_MAX_BINDINGS) {
        return false;
    }
    one->state = SIM_NAME_CREATING;
    one->tries = 0;
    sim_oracle_create_begins(sim, name);
    ask(sim, name);
    return true;
}

bool sim_operator_drop(struct sim *sim, uint32_t name, bool recreate)
{
    struct sim_managed_name *one = &sim->operator.names[name];

    if (one->state != SIM_NAME_LIVE || sim->oracle.names[name].nbindings + 1 >= SIM_MAX_BINDINGS) {
        return false;
    }
    one->state = SIM_NAME_DROPPING;
    one->recreate = recreate;
    one->inherit = false;
    one->tries = 0;
    one->binds = false;
    sim_oracle_drop_begins(sim, name);
    ask(sim, name);
    return true;
}

static bool has_room(const struct sim *sim, uint32_t name)
{
    return sim->oracle.names[name].nbindings + 1 < SIM_MAX_BINDINGS;
}

bool sim_operator_rename(struct sim *sim, uint32_t from, uint32_t to)
{
    struct sim_managed_name *one = &sim->operator.names[from];
    enum sim_name_state taken = sim->operator.names[to].state;

    if (one->state != SIM_NAME_LIVE || (taken != SIM_NAME_LIVE && taken != SIM_NAME_FREE) ||
        sim_oracle_newest(sim, from)->filter_id == 0 || !has_room(sim, from) ||
        !has_room(sim, to)) {
        return false;
    }
    sim->operator.names[to].state = SIM_NAME_TAKEN;
    one->state = SIM_NAME_RENAMING;
    one->target = to;
    one->tries = 0;
    one->binds = false;
    sim_oracle_rename_begins(sim, from, to);
    ask(sim, from);
    return true;
}

bool sim_operator_bequeath(struct sim *sim, uint32_t name, uint32_t heir)
{
    bool begun = sim_operator_drop(sim, name, true);

    if (begun) {
        sim->operator.names[name].inherit = true;
        sim->operator.names[name].heir = heir;
    }
    return begun;
}

/* ---- status ---- */

/* FULL and JOINING slot groups that the node must report, by what the simulator knows. */
static void expect_groups(const struct sim *sim, uint32_t node, uint32_t *full, uint32_t *joining)
{
    const struct sim_process *process = sim_view_node(sim, node);

    *full = 0;
    *joining = 0;
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        const struct filter_document *document = sim_view_document(sim, name);

        for (uint32_t group = 0; document != NULL && group < document->content.ngroups; group++) {
            enum member_role role = member_role(document, group, node, process->incarnation);

            *full += role == MEMBER_FULL;
            *joining += role == MEMBER_JOINING || role == MEMBER_LEAVING;
        }
    }
}

static void judge_node(struct sim *sim, const struct node_summary *node)
{
    uint32_t full;
    uint32_t joining;

    expect_groups(sim, node->id, &full, &joining);
    if (!node->alive || node->replicas_building > 0) {
        sim_fail(sim, "nothing is wrong any more, yet the status of %s is: %s, %u building",
                 node->name, node->alive ? "alive" : "silent", node->replicas_building);
    } else if (sim->scenario.moves == 0 &&
               (node->replicas_full != full || node->replicas_joining != joining)) {
        /* After a move the member that left still shows what it holds. */
        sim_fail(sim, "the status of %s is %u FULL and %u JOINING instead of %u and %u", node->name,
                 node->replicas_full, node->replicas_joining, full, joining);
    }
}

static uint32_t count_nodes(const struct sim *sim)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        count += sim->processes[i]->kind == SIM_NODE && !sim->processes[i]->standby;
    }
    return count;
}

static void on_status(void *context, const struct session_result *result)
{
    struct sim *sim = context;
    const struct admin_reply *reply = result->frame != NULL ? &result->frame->body.admin_reply
                                                            : NULL;

    sim->operator.names[0].command = 0;
    sim->operator.status_done = true;
    if (reply == NULL || result->status != STATUS_OK) {
        sim_fail(sim, "nothing is wrong any more, yet status ends with %s: %s",
                 status_code(result->status), result->message);
        return;
    }
    if (reply->nnodes != count_nodes(sim)) {
        sim_fail(sim, "status shows %zu nodes of %u", reply->nnodes, count_nodes(sim));
    }
    for (size_t i = 0; i < reply->nnodes; i++) {
        judge_node(sim, &reply->nodes[i]);
    }
}

void sim_operator_ask_status(struct sim *sim)
{
    struct sim_managed_name *one = &sim->operator.names[0];
    struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_STATUS, .name = ""},
    };

    sim->operator.asked_status = true;
    one->command = ++sim->operator.last_command;
    if (session_ask(one->process->session, sim_process_now(one->process), STATUS_TIMEOUT_US, &frame,
                    on_status, sim) != STATUS_OK) {
        sim_fail(sim, "the operator cannot ask for the status");
    }
    sim_process_arm(one->process);
}
