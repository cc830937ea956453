/* sim_users.h - users: in a part of the seeds some clients come by keys of their own, and may do
 * what the record of users says, while an operator makes, deletes and changes them all the time.
 *
 * What is behind CURVE is simulated: who a message of a user comes from is looked up by its key
 * where it arrives, as the hub does, by the process's own record (router_identify(),
 * coordinator_identify()), and passes the same gate. Everybody else comes as one of whom nothing is
 * known, to whom everything is allowed. There are grants, limits on keys a second, and second keys
 * that take the place of first ones; no tokens, which are RESP's, and no users at nodes.
 *
 * - Answers: a user whom no router would have let do that since before it asked, by the record that
 *   each has, gets no answer about any key.
 * - Commands: no user has the right to drop a filter, and none is dropped for one.
 * - Changes: one that was confirmed is there the next time users are listed.
 * - The end: once faults have ended a user does what its rights say, and gets UNAUTHENTIC for the
 *   rest.
 *
 * What is drawn comes from a stream of its own: a seed without users does not depend on any of
 * this.
 *
 * Threads: none.
 */
#ifndef ORBLOOM_TESTS_SIM_USERS_H
#define ORBLOOM_TESTS_SIM_USERS_H

#include "client/session.h"
#include "map/access/users.h"
#include "tests/sim/sim_client.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_random.h"
#include "tests/sim/sim_view.h"

enum { SIM_USERS = 2, SIM_USER_GRANTS = 2, SIM_USER_RIGHTS = 2 };

struct sim_user {
    struct sim_process *client;
    uint32_t number;  /* of the key that its client has; they count up */
    uint32_t id;      /* as listed last; 0: there is none */
    uint32_t old_key; /* id of another key that it has; 0: none */
    uint64_t denied_us[SIM_MAX_NAMES][SIM_USER_RIGHTS]; /* since when no router allows that: read,
                                                           write; 0: some router does */
};

/* A change that the operator asks for, and what is asked with it until it ends. */
struct sim_user_change {
    uint32_t about; /* which user; SIM_USERS: all of them, at the end */
    uint64_t revision;
    struct user puts[SIM_USERS];
    struct user_grant grants[SIM_USERS][SIM_USER_GRANTS];
    struct user_wish adds[SIM_USERS];
    struct user_use remove;
    uint32_t delete;
    bool renews;
};

/* What the user that was changed last must look like; only as long as nothing else may have been
 * written. */
struct sim_user_promise {
    bool holds;
    uint32_t about;
    uint64_t revision; /* not before that one */
    bool exists;
    struct user_grant grants[SIM_USER_GRANTS];
    size_t ngrants;
};

/* What a router was seen to know. */
struct sim_user_look {
    uint32_t generation;
    uint64_t revision;
    bool alive;
};

struct sim_users {
    struct sim_random random;
    bool on;
    struct sim_user users[SIM_USERS];
    struct sim_process *operator;
    bool asking;
    bool settled; /* at the end: the last change is confirmed */
    bool final;   /* the last questions are asked */
    bool stale;   /* whom routers allow what is to be looked at again */
    struct sim_user_change change;
    struct sim_user_promise promise;
    struct sim_user_look looks[SIM_MAX_PROCESSES];
};

/* Whether there are users; before processes are made, and their clients after all others. */
void sim_users_draw(struct sim *sim);
void sim_users_add_processes(struct sim *sim);
void sim_users_begin(struct sim *sim);

bool sim_users_is_client(const struct sim *sim, const struct sim_process *process);

/* What a user's message is taken for where it arrives: sets role and user of `peer`. False: it is
 * not let in; it was answered, as far as it is at all. */
bool sim_users_admit(struct sim_process *process, const struct sim_process *from, struct peer *peer,
                     struct span frame);

/* After each event. */
void sim_users_look(struct sim *sim);

/* An operation of a user has ended. */
void sim_users_op_ends(struct sim *sim, const struct sim_op *op,
                       const struct session_result *result);

/* Once faults have ended: what is not as it should be yet. */
bool sim_users_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES]);

/* The last questions, of each user about that name; what is expected where it has the right. */
void sim_users_ask(struct sim *sim, uint32_t name, enum sim_expectation check,
                   enum sim_expectation add);

#endif
