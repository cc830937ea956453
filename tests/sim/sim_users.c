/* Draws users and their rights, lets their messages through the daemons' gates, and plays their
 * operator. */
#include "tests/sim/sim_users.h"

#include "coordinator/coordinator.h"
#include "proto/gate.h"
#include "proto/signed_document.h"
#include "router/router.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MS UINT64_C(1000)

enum {
    USERS_PERMILLE = 200,
    LIMIT_PERMILLE = 250,
    DROP_PERMILLE = 60,
    MAX_INFLIGHT = 3, /* of a user's client */
    LEAST_RATE = 20,  /* keys a second */
    MOST_RATE = 400,
    ASK_US = 500000,
    TURN_LEAST_US = 10000,
    TURN_MOST_US = 250000,
    CALM_TURN_US = 40000,
    FINAL_US = 3000000,
};

static const char *const names[SIM_USERS] = {"crawler", "reader"};

/* ---- what is drawn ---- */

void sim_users_draw(struct sim *sim)
{
    sim_random_init(&sim->users.random, sim->seed, SIM_STREAM_USERS);
    sim->users.on = sim_random_chance(&sim->users.random, USERS_PERMILLE);
}

void sim_users_add_processes(struct sim *sim)
{
    uint32_t number = sim->settings.nclients + SIM_MAX_NAMES;

    for (uint32_t i = 0; sim->users.on && i < SIM_USERS; i++) {
        sim->users.users[i].client = sim_process_add(sim, SIM_CLIENT, number + i);
    }
    if (sim->users.on) {
        sim->users.operator= sim_process_add(sim, SIM_CLIENT, number + SIM_USERS);
        sim->users.stale = true;
    }
}

static uint32_t user_of(const struct sim *sim, const struct sim_process *process)
{
    uint32_t i = 0;

    while (i < SIM_USERS && (!sim->users.on || sim->users.users[i].client != process)) {
        i++;
    }
    return i;
}

bool sim_users_is_client(const struct sim *sim, const struct sim_process *process)
{
    return user_of(sim, process) < SIM_USERS;
}

/* ---- who comes ---- */

static void make_key(uint32_t user, uint32_t number, uint8_t key[USER_KEY_BYTES])
{
    memset(key, 0, USER_KEY_BYTES);
    key[0] = (uint8_t)(user + 1);
    memcpy(&key[1], &number, sizeof number);
}

static bool identify(struct sim_process *process, const uint8_t key[USER_KEY_BYTES],
                     struct peer *peer)
{
    return process->kind == SIM_ROUTER ? router_identify(process->router, key, peer)
                                       : coordinator_identify(process->coordinator, key, peer);
}

bool sim_users_admit(struct sim_process *process, const struct sim_process *from, struct peer *peer,
                     struct span frame)
{
    uint32_t user = user_of(process->sim, from);
    enum gate_door door = process->kind == SIM_ROUTER ? GATE_ROUTER : GATE_COORDINATOR;
    uint8_t key[USER_KEY_BYTES];
    struct buffer refusal;
    bool known;
    bool admitted;

    if (user == SIM_USERS) {
        return true;
    }
    make_key(user, process->sim->users.users[user].number, key);
    known = identify(process, key, peer);
    buffer_init(&refusal, CODEC_MAX_FRAME_BYTES);
    admitted = gate_pass(door, peer, known, frame, &refusal);
    if (!admitted && refusal.size > 0) {
        (void)sim_network_reply(process, peer, buffer_span(&refusal));
    }
    buffer_fini(&refusal);
    return admitted;
}

/* ---- who may what: read off a record, by rules of its own ---- */

static bool covers(const char *pattern, const char *name)
{
    size_t size = strlen(pattern);

    return size > 0 && pattern[size - 1] == '*' ? strncmp(pattern, name, size - 1) == 0
                                                : strcmp(pattern, name) == 0;
}

static bool grants(const struct user_grant *list, size_t count, uint8_t right, uint32_t name)
{
    bool granted = false;

    for (size_t i = 0; i < count; i++) {
        granted = granted ||
                  ((list[i].rights & right) != 0 && covers(list[i].pattern, sim_name(name)));
    }
    return granted;
}

static bool has_key(const struct user *user, const uint8_t key[USER_KEY_BYTES])
{
    bool has = false;

    for (size_t i = 0; i < user->nkeys; i++) {
        has = has || memcmp(user->keys[i].key, key, USER_KEY_BYTES) == 0;
    }
    return has;
}

static bool record_allows(const struct sim *sim, const struct user_list *list, uint32_t user,
                          uint8_t right, uint32_t name)
{
    uint8_t key[USER_KEY_BYTES];
    bool allows = false;

    make_key(user, sim->users.users[user].number, key);
    for (size_t i = 0; i < list->count; i++) {
        const struct user *one = &list->users[i];

        allows = allows || (has_key(one, key) && grants(one->grants, one->ngrants, right, name));
    }
    return allows;
}

static const uint8_t rights[SIM_USER_RIGHTS] = {USER_READ, USER_WRITE};

/* Some router lets it do that. */
static bool is_allowed(const struct sim *sim, uint32_t user, uint8_t right, uint32_t name)
{
    bool allowed = false;

    for (uint32_t i = 0; i < sim->nprocesses; i++) {
        const struct sim_process *process = sim->processes[i];

        allowed = allowed || (process->kind == SIM_ROUTER && process->alive &&
                              record_allows(sim, router_users(process->router), user, right, name));
    }
    return allowed;
}

static void look_at_user(struct sim *sim, uint32_t user)
{
    for (uint32_t name = 0; name < SIM_MAX_NAMES; name++) {
        for (uint32_t i = 0; i < SIM_USER_RIGHTS; i++) {
            uint64_t *denied_us = &sim->users.users[user].denied_us[name][i];

            if (is_allowed(sim, user, rights[i], name)) {
                *denied_us = 0;
            } else if (*denied_us == 0) {
                *denied_us = sim->now_us;
            }
        }
    }
}

/* A killed router's process knows nothing, and one that has come back what it hears. */
static bool has_news(struct sim *sim, const struct sim_process *router)
{
    struct sim_user_look *look = &sim->users.looks[router->index];
    struct sim_user_look now = {
        .generation = router->generation,
        .revision = router->alive ? router_users(router->router)->revision : 0,
        .alive = router->alive,
    };
    bool news = look->generation != now.generation || look->revision != now.revision ||
                look->alive != now.alive;

    *look = now;
    return news;
}

void sim_users_look(struct sim *sim)
{
    struct sim_users *self = &sim->users;

    for (uint32_t i = 0; self->on && i < sim->nprocesses; i++) {
        if (sim->processes[i]->kind == SIM_ROUTER && has_news(sim, sim->processes[i])) {
            self->stale = true;
        }
    }
    for (uint32_t i = 0; self->on && self->stale && i < SIM_USERS; i++) {
        look_at_user(sim, i);
    }
    self->stale = false;
}

/* ---- what users do ---- */

static bool submit(struct sim *sim, uint32_t user, enum operation operation, uint32_t name,
                   const uint32_t *keys, uint32_t count, enum sim_expectation expect)
{
    enum sim_expectation others = sim->load.expect;
    uint64_t timeout_us = expect == SIM_EXPECT_SUCCESS ? FINAL_US : ASK_US;
    bool submitted;

    sim->load.expect = expect;
    submitted = sim_load_submit(sim, sim->users.users[user].client, operation, name, keys, count,
                                timeout_us);
    sim->load.expect = others;
    return submitted;
}

/* No user has that right. */
static void on_dropped(void *context, const struct session_result *result)
{
    struct sim *sim = context;

    if (result->status == STATUS_OK) {
        sim_fail(sim, "a filter was dropped for a user without the right to that");
    }
}

static void ask_to_drop(struct sim *sim, uint32_t user)
{
    struct sim_process *client = sim->users.users[user].client;
    uint64_t name = sim_random_below(&sim->users.random, sim->load.nnames);
    const struct frame frame = {
        .kind = FRAME_ADMIN_REQUEST,
        .body.admin_request = {.action = ADMIN_DROP, .name = sim_name((uint32_t)name)},
    };

    if (session_ask(client->session, sim_process_now(client), ASK_US, &frame, on_dropped, sim) !=
        STATUS_OK) {
        sim_fail(sim, "a user cannot ask");
    }
    sim_process_arm(client);
}

static void on_think(struct sim *sim, void *data, uint64_t user)
{
    struct sim_random *random = &sim->users.random;
    struct sim_process *client = sim->users.users[user].client;
    uint32_t base = (uint32_t)(sim->now_us / sim->load.slide_us) % (SIM_MAX_KEYS / 2);
    uint32_t key = base + (uint32_t)sim_random_below(random, sim->load.window);
    uint32_t name = (uint32_t)sim_random_below(random, sim->load.nnames);

    (void)data;
    if (!sim->load.running) {
        return;
    }
    if (sim_random_chance(random, DROP_PERMILLE)) {
        ask_to_drop(sim, (uint32_t)user);
    } else if (session_inflight(client->session) < MAX_INFLIGHT) {
        enum operation operation = sim_random_chance(random, sim->load.add_permille)
                                       ? OPERATION_ADD
                                       : OPERATION_CHECK;

        (void)submit(sim, (uint32_t)user, operation, name, &key, 1, SIM_EXPECT_NOTHING);
    }
    sim_after(sim, 1 + sim_random_below(random, 4 * sim->load.pause_us), on_think, NULL, user);
}

void sim_users_op_ends(struct sim *sim, const struct sim_op *op,
                       const struct session_result *result)
{
    uint32_t user = user_of(sim, op->client);
    bool answered = (result->present[0] | result->absent[0]) != 0;
    uint64_t denied_us;

    if (user == SIM_USERS) {
        return;
    }
    denied_us = sim->users.users[user].denied_us[op->name][op->operation != OPERATION_CHECK];
    if (answered && denied_us != 0 && denied_us <= op->begun_us) {
        sim_fail(sim,
                 "user %s without the right to %s has an answer: operation %" PRIu64 ", %" PRIu64
                 " us after the last router has taken it away",
                 names[user], sim_name(op->name), op->serial, op->begun_us - denied_us);
    } else if (sim->users.final && denied_us != 0 && result->status != STATUS_UNAUTHENTIC) {
        sim_fail(sim, "user %s without the right to %s is told %s: %s", names[user],
                 sim_name(op->name), status_code(result->status), result->message);
    }
}

void sim_users_ask(struct sim *sim, uint32_t name, enum sim_expectation check,
                   enum sim_expectation add)
{
    uint32_t key = sim_load_fresh_key(sim);

    sim->users.final = sim->users.on;
    for (uint32_t i = 0; sim->users.on && i < SIM_USERS; i++) {
        const uint64_t *denied_us = sim->users.users[i].denied_us[name];

        if (!submit(sim, i, OPERATION_CHECK, name, &key, 1,
                    denied_us[0] == 0 ? check : SIM_EXPECT_NOTHING) ||
            !submit(sim, i, OPERATION_ADD, name, &key, 1,
                    denied_us[1] == 0 ? add : SIM_EXPECT_NOTHING)) {
            sim_fail(sim, "operations are left over");
        }
    }
}

/* ---- the operator ---- */

static void say(struct sim *sim, const char *what, const struct session_result *result)
{
    sim_trace_hash(&sim->trace, sim->now_us, UINT64_C(1) << 35, (uint64_t)result->status);
    sim_trace_line(&sim->trace, sim->now_us, "operator of users: %s %s %s", what,
                   status_code(result->status), result->message);
    sim->users.asking = false;
    if (result->status == STATUS_INTERNAL || result->status == STATUS_INVALID) {
        sim_fail(sim, "a change of users ended with %s: %s", status_code(result->status),
                 result->message);
    }
}

static void ask(struct sim *sim, const struct admin_request *request, session_done_fn done)
{
    struct sim_process *operator= sim->users.operator;
    struct frame frame = {.kind = FRAME_ADMIN_REQUEST, .body.admin_request = *request};

    sim->users.asking = true;
    if (session_ask(operator->session, sim_process_now(operator), ASK_US, &frame, done, sim) !=
        STATUS_OK) {
        sim_fail(sim, "the operator of users cannot ask");
    }
    sim_process_arm(operator);
}

static void draw_grants(struct sim *sim, uint32_t at, const char *user, uint32_t id)
{
    static const char *const patterns[] = {"f1", "f2", "f*", "f1", "f*", "g*"};
    static const uint8_t sets[] = {USER_READ, USER_WRITE, USER_READ | USER_WRITE};
    struct sim_random *random = &sim->users.random;
    struct sim_user_change *change = &sim->users.change;
    struct user *put = &change->puts[at];
    bool limited = sim_random_chance(random, LIMIT_PERMILLE) && !sim->scenario.calm;

    *put = (struct user){.id = id, .role = USER_CLIENT, .grants = change->grants[at]};
    (void)snprintf(put->name, sizeof put->name, "%s", user);
    put->ngrants = (size_t)sim_random_below(random, SIM_USER_GRANTS + 1);
    for (size_t i = 0; i < put->ngrants; i++) {
        struct user_grant *grant = &change->grants[at][i];

        *grant = (struct user_grant){.rights = sets[sim_random_below(random, 3)]};
        (void)snprintf(grant->pattern, sizeof grant->pattern, "%s",
                       patterns[sim_random_below(random, 6)]);
    }
    put->limits.keys_per_s = limited ? sim_random_between(random, LEAST_RATE, MOST_RATE) : 0;
}

static void add_key(struct sim *sim, uint32_t at, uint32_t user, uint32_t number)
{
    struct user_wish *wish = &sim->users.change.adds[at];

    *wish = (struct user_wish){.user = names[user], .token = span_of("", 0)};
    make_key(user, number, wish->key);
}

/* ---- what is to be changed ---- */

/* Of one user: it is made, or deleted, or may something else from now on, or gets another key. */
static struct user_change draw_change(struct sim *sim, uint32_t user)
{
    struct sim_user_change *change = &sim->users.change;
    const struct sim_user *one = &sim->users.users[user];
    struct user_change out = {.revision = change->revision};
    uint64_t choice = sim_random_below(&sim->users.random, 10);

    change->about = user;
    change->renews = false;
    if (one->id == 0 || choice < 5) {
        draw_grants(sim, 0, names[user], one->id);
        out.puts = change->puts;
        out.nputs = 1;
    }
    if (one->id == 0) {
        add_key(sim, 0, user, one->number);
        out.adds = change->adds;
        out.nadds = 1;
    } else if (choice >= 5 && choice < 7) {
        change->delete = one->id;
        out.deletes = &change->delete;
        out.ndeletes = 1;
    } else if (choice >= 7 && one->old_key != 0) {
        change->remove = (struct user_use){.user = one->id, .credential = one->old_key};
        out.removes = &change->remove;
        out.nremoves = 1;
    } else if (choice >= 7) {
        change->renews = true;
        add_key(sim, 0, user, one->number + 1);
        out.adds = change->adds;
        out.nadds = 1;
    }
    return out;
}

/* All are there, and nobody is held back. */
static struct user_change last_change(struct sim *sim)
{
    struct sim_user_change *change = &sim->users.change;

    change->about = SIM_USERS;
    change->renews = false;
    for (uint32_t i = 0; i < SIM_USERS; i++) {
        draw_grants(sim, i, names[i], sim->users.users[i].id);
        add_key(sim, i, i, sim->users.users[i].number);
    }
    return (struct user_change){.revision = change->revision,
                                .puts = change->puts,
                                .nputs = SIM_USERS,
                                .adds = change->adds,
                                .nadds = SIM_USERS};
}

/* ---- and what comes of it ---- */

static void promise(struct sim *sim, const struct user_change *change)
{
    struct sim_users *self = &sim->users;
    struct sim_user_promise *promise = &self->promise;
    const struct user *put = &self->change.puts[0];

    *promise = (struct sim_user_promise){
        .holds = self->change.about < SIM_USERS && (change->nputs > 0 || change->ndeletes > 0),
        .about = self->change.about,
        .revision = self->change.revision,
        .exists = change->nputs > 0,
    };
    if (promise->holds && promise->exists) {
        promise->ngrants = put->ngrants;
        memcpy(promise->grants, self->change.grants[0], sizeof promise->grants);
    }
}

static void on_changed(void *context, const struct session_result *result)
{
    struct sim *sim = context;
    struct sim_users *self = &sim->users;

    say(sim, "change", result);
    if (result->status != STATUS_OK) {
        self->promise.holds = false; /* It may be written all the same, also later. */
        return;
    }
    if (self->change.renews) {
        self->users[self->change.about].number++;
        self->stale = true;
    }
    self->settled = self->settled || self->change.about == SIM_USERS;
}

static bool same_grants(const struct sim_user_promise *promise, const struct user *user)
{
    bool same = user->ngrants == promise->ngrants;

    for (size_t i = 0; same && i < promise->ngrants; i++) {
        same = user->grants[i].rights == promise->grants[i].rights &&
               strcmp(user->grants[i].pattern, promise->grants[i].pattern) == 0;
    }
    return same;
}

/* What was confirmed is there. */
static void judge_promise(struct sim *sim, const struct user_page *page)
{
    const struct sim_user_promise *promise = &sim->users.promise;
    const struct user *found = NULL;

    for (size_t i = 0; i < page->nusers; i++) {
        if (promise->holds && strcmp(page->users[i].name, names[promise->about]) == 0) {
            found = &page->users[i];
        }
    }
    if (promise->holds &&
        (page->revision < promise->revision || promise->exists != (found != NULL) ||
         (found != NULL && !same_grants(promise, found)))) {
        sim_fail(sim,
                 "wrong document: a change of user %s that was confirmed is not in revision "
                 "%" PRIu64 " of users",
                 names[promise->about], page->revision);
    }
}

static void learn_user(struct sim *sim, uint32_t user, const struct user_page *page)
{
    struct sim_user *self = &sim->users.users[user];
    uint8_t key[USER_KEY_BYTES];

    make_key(user, self->number, key);
    self->id = self->old_key = 0;
    for (size_t i = 0; i < page->nusers; i++) {
        const struct user *one = &page->users[i];

        if (strcmp(one->name, names[user]) != 0) {
            continue;
        }
        self->id = one->id;
        for (size_t k = 0; k < one->nkeys; k++) {
            if (memcmp(one->keys[k].key, key, sizeof key) != 0) {
                self->old_key = one->keys[k].id;
            }
        }
    }
}

static void on_listed(void *context, const struct session_result *result)
{
    struct sim *sim = context;
    struct sim_users *self = &sim->users;
    struct admin_request request = {.action = ADMIN_USER_CHANGE, .name = ""};
    const struct user_page *page;

    say(sim, "list", result);
    if (result->status != STATUS_OK || self->settled) {
        return;
    }
    page = &result->frame->body.admin_reply.users;
    judge_promise(sim, page);
    self->change.revision = page->revision;
    for (uint32_t i = 0; i < SIM_USERS; i++) {
        learn_user(sim, i, page);
    }
    request.users = sim->scenario.calm
                        ? last_change(sim)
                        : draw_change(sim, (uint32_t)sim_random_below(&self->random, SIM_USERS));
    promise(sim, &request.users);
    ask(sim, &request, on_changed);
}

static void on_turn(struct sim *sim, void *data, uint64_t number)
{
    struct sim_users *self = &sim->users;
    const struct admin_request list = {.action = ADMIN_USER_LIST, .name = ""};

    (void)data;
    if (self->settled) {
        return;
    }
    if (!self->asking) {
        ask(sim, &list, on_listed);
    }
    sim_after(sim,
              sim->scenario.calm ? CALM_TURN_US
                                 : sim_random_between(&self->random, TURN_LEAST_US, TURN_MOST_US),
              on_turn, NULL, number);
}

void sim_users_begin(struct sim *sim)
{
    struct sim_random *random = &sim->users.random;

    for (uint32_t i = 0; sim->users.on && i < SIM_USERS; i++) {
        sim_after(sim, sim_random_below(random, 4 * sim->load.pause_us), on_think, NULL, i);
    }
    if (sim->users.on) {
        sim_after(sim, sim_random_below(random, TURN_MOST_US), on_turn, NULL, 0);
    }
}

/* A router that no coordinator has answered asks again after a while only. */
static bool is_behind(const struct sim_process *router, uint64_t revision,
                      char text[SIM_UNREST_BYTES])
{
    uint64_t its = router_users(router->router)->revision;

    if (its == revision) {
        return false;
    }
    (void)snprintf(text, SIM_UNREST_BYTES,
                   "%s goes by revision %" PRIu64 " of users, and the store has %" PRIu64,
                   router->name, its, revision);
    return true;
}

/* Every router is to go by the store's record. */
static bool any_behind(const struct sim *sim, char text[SIM_UNREST_BYTES])
{
    const struct memory_store_record *record = memory_store_find(&sim->store, "users");
    struct user_list list = {0};
    bool behind = false;

    if (record == NULL ||
        codec_users_open(span_of(record->value, record->size), &sim->key, &list) != STATUS_OK) {
        (void)snprintf(text, SIM_UNREST_BYTES, "the store's record of users cannot be read");
        return true;
    }
    for (uint32_t i = 0; i < sim->nprocesses && !behind; i++) {
        const struct sim_process *process = sim->processes[i];

        behind = process->kind == SIM_ROUTER && process->alive &&
                 is_behind(process, list.revision, text);
    }
    user_list_fini(&list);
    return behind;
}

bool sim_users_unrest(const struct sim *sim, char text[SIM_UNREST_BYTES])
{
    if (!sim->users.on) {
        return false;
    }
    if (!sim->users.settled) {
        (void)snprintf(text, SIM_UNREST_BYTES, "a change of users does not come to its end");
        return true;
    }
    return any_behind(sim, text);
}
