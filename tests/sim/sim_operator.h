/* sim_operator.h - who creates, drops and renames filters, insisting until it is confirmed.
 *
 * Each name has an operator of its own, with one command at a time. As people do, an operator
 * repeats a command that ended without success, and vouches for restarted nodes when a drop
 * does not come to an end without that.
 *
 * What is on its way when a command ends arrives whenever it likes, and must do nothing then. Some
 * give a drop up (sim_given_up.h).
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_OPERATOR_H
#define ORBLOOM_TESTS_SIM_OPERATOR_H

#include "client/session.h"
#include "tests/sim/sim_command.h"
#include "tests/sim/sim_view.h"

enum { SIM_WEAK = SIM_MAX_NAMES - 1 /* the name whose rule must be refused */ };

enum sim_name_state {
    SIM_NAME_FREE,
    SIM_NAME_CREATING,
    SIM_NAME_LIVE,
    SIM_NAME_DROPPING,
    SIM_NAME_RENAMING, /* its filter gets another name */
    SIM_NAME_TAKEN,    /* ... this one */
};

struct sim_managed_name {
    enum sim_name_state state;
    struct sim_process *process; /* its operator's session */
    struct create_parameters parameters;
    bool recreate;   /* as soon as the drop is confirmed */
    uint32_t target; /* of the rename */
    bool inherit;    /* as soon as the drop is confirmed, the filter `heir` gets the name */
    uint32_t heir;
    uint32_t tries;   /* of the command under way */
    uint32_t command; /* its number; 0: none is under way */
    uint64_t patience_us;
    bool gives_up;       /* the drop that is under way, if it does not succeed at once */
    uint64_t arrival_us; /* of the last frame of the command, all tries */
};

struct sim_operator {
    struct sim_managed_name names[SIM_MAX_NAMES];
    uint32_t last_command;
    sim_command_done_fn command_done; /* of the one beside creates and drops */
    bool weak_exists;
    bool asked_status;
    bool status_done;
};

/* Begin to create a free name, or to drop a live one; false in any other state. */
bool sim_operator_create(struct sim *sim, uint32_t name);
bool sim_operator_drop(struct sim *sim, uint32_t name, bool recreate);

/* Begin to rename a live one to a name that is free, or to that of another live one, which is
 * dropped. Once that is confirmed the old name is created anew. */
bool sim_operator_rename(struct sim *sim, uint32_t from, uint32_t to);

/* Begin to drop `name`; once that is confirmed the filter that is called `heir` gets it. */
bool sim_operator_bequeath(struct sim *sim, uint32_t name, uint32_t heir);

/* All names in use are live. */
bool sim_operator_settled(const struct sim *sim);

/* Ask for the state of the cluster; it must be as expected when nothing is wrong any more. */
void sim_operator_ask_status(struct sim *sim);

/* Give the command that has ended once more, after a while. */
void sim_operator_again(struct sim *sim, uint32_t name);

/* The number of the command that a frame sent by this process belongs to; 0: no operator's. */
uint32_t sim_operator_command(const struct sim *sim, const struct sim_process *process);

#endif
