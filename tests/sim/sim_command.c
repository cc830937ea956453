/* Sends one operator's command at a time to the coordinators, and says so in the trace. */
#include "tests/sim/sim_command.h"

#include "tests/sim/sim.h"

#include <inttypes.h>

enum { COMMAND_US = 400000, BRIEF_LEAST_US = 60000 };

static struct sim_managed_name *session_of(struct sim *sim)
{
    return &sim->operator.names[SIM_WEAK];
}

static void on_done(void *context, const struct session_result *result)
{
    struct sim *sim = context;
    sim_command_done_fn done = sim->operator.command_done;

    session_of(sim)->command = 0;
    sim_trace_hash(&sim->trace, sim->now_us, UINT64_C(1) << 34, (uint64_t)result->status);
    sim_trace_line(&sim->trace, sim->now_us, "operator of nodes: %s %s",
                   status_code(result->status), result->message);
    sim_view_follow(sim);
    if (result->status == STATUS_INTERNAL) {
        sim_fail(sim, "a command ended with %s: %s", status_code(result->status), result->message);
    }
    if (done != NULL) {
        done(sim, result);
    }
}

static void say(struct sim *sim, const struct admin_request *request)
{
    if (request->action == ADMIN_EXPAND) {
        sim_trace_line(&sim->trace, sim->now_us,
                       "operator: expand %s, capacity %" PRIu64 ", rate %g%s", request->name,
                       request->expand.capacity, request->expand.rate,
                       request->expand.abort ? " --abort" : "");
    } else if (request->action == ADMIN_REBUILD) {
        static const char *const steps[] = {[REBUILD_BEGIN] = "begin",
                                            [REBUILD_FED] = "fed",
                                            [REBUILD_COMMIT] = "commit",
                                            [REBUILD_ABORT] = "abort"};

        sim_trace_line(&sim->trace, sim->now_us, "operator: rebuild %s %s, keyset %" PRIu32,
                       request->name, steps[request->rebuild.step], request->rebuild.keyset);
    } else if (request->action == ADMIN_ACCEPT_LOSS) {
        sim_trace_line(&sim->trace, sim->now_us, "operator: shard accept-loss %s, %zu vouched for",
                       request->name, request->nconfirmed_off);
    } else {
        sim_trace_line(&sim->trace, sim->now_us, "operator of nodes: action %d %s %s%s%s",
                       (int)request->action, request->name, request->successor,
                       request->undo ? " --undo" : "",
                       request->nconfirmed_off > 0 ? " --confirmed-off" : "");
    }
}

/* Of steps that wait for nodes some end without an answer. */
static uint64_t patience(struct sim *sim, const struct admin_request *request)
{
    return request->action != ADMIN_REBUILD || sim->scenario.calm
               ? COMMAND_US
               : sim_random_between(&sim->rebuild.random, BRIEF_LEAST_US, COMMAND_US);
}

bool sim_command(struct sim *sim, const struct admin_request *request, sim_command_done_fn done)
{
    struct sim_managed_name *one = session_of(sim);
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST, .body.admin_request = *request};
    bool early = one->tries == 0 && sim->settings.nnodes >= 3; /* Its create is still to come. */

    if (one->command != 0 || one->state != SIM_NAME_FREE || early) {
        return false;
    }
    one->command = ++sim->operator.last_command;
    one->patience_us = patience(sim, request);
    one->arrival_us = sim->now_us > one->arrival_us ? sim->now_us : one->arrival_us;
    one->noff = request->nconfirmed_off < SIM_MAX_NODES ? request->nconfirmed_off : SIM_MAX_NODES;
    for (size_t i = 0; i < one->noff; i++) { /* They outlive retries. */
        one->off[i] = request->confirmed_off[i];
    }
    frame.body.admin_request.confirmed_off = one->off;
    frame.body.admin_request.nconfirmed_off = one->noff;
    sim->operator.command_done = done;
    say(sim, request);
    if (session_ask(one->process->session, sim_process_now(one->process), one->patience_us, &frame,
                    on_done, sim) != STATUS_OK) {
        sim_fail(sim, "an operator cannot ask");
    }
    sim_process_arm(one->process);
    return true;
}
