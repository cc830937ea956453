/* coordinator_expansion.h - a filter on three nodes of a stage, and what they say of it;
 * for tests of expansion across the cluster. The test changes what they say.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_COORDINATOR_EXPANSION_H
#define ORBLOOM_TESTS_COORDINATOR_EXPANSION_H

#include "coordinator/duty.h"
#include "coordinator/nodes/moves.h"
#include "coordinator/nodes/usage.h"
#include "coordinator/rounds.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <string.h>

enum { FILTER = 1, SHARDS = 16, NODES = 3, SECOND_US = 1000000 };

static struct memory_store store;
static struct coordinator_stage stage;

/* What node n says from now on. */
struct says {
    uint32_t generation;
    uint32_t shards_grown;
    uint64_t keys;
    uint64_t newest; /* of them, in the last generation of a chain */
    uint64_t overflow;
    uint64_t used_bytes;
    uint64_t since; /* as the last answer told */
    uint64_t life;  /* another incarnation than the first one, which has lost its data; 0: that */
    bool dead;
    bool mute; /* it answers no questions */
};

static struct says says[NODES + 1];
static uint64_t first_keys = 1000;
static enum keylog keylog = KEYLOG_ON; /* of the filter */
static uint64_t user_bytes;            /* that its maker may have; 0: nobody made it */

static inline struct replica_report report_of(uint32_t n)
{
    return (struct replica_report){
        .filter_id = FILTER,
        .state = REPLICA_FULL,
        .generation = says[n].generation,
        .shards_grown = says[n].shards_grown,
        .keys = says[n].keys,
        .keys_next = says[n].newest,
        .overflow_keys = says[n].overflow,
        .progress = 1,
    };
}

static inline void say(struct coordinator_stage *at, uint32_t n)
{
    struct sync_request request = coordinator_stage_node(n);
    struct replica_report report = report_of(n);

    if (says[n].life != 0) {
        request.incarnation = request.boot = says[n].life;
        report.state = REPLICA_JOINING;
    }
    request.replicas = &report;
    request.nreplicas = 1;
    request.since = says[n].since;
    request.memory_used_bytes = says[n].used_bytes;
    cr_assert_eq(coordinator_stage_sync(at, n, &request).status, STATUS_OK);
    says[n].since = at->synced.change;
}

/* All that live report twice: they learn what is new, and then say what they do. */
static inline void report_all(struct coordinator_stage *at)
{
    for (int i = 0; i < 2; i++) {
        for (uint32_t n = 1; n <= NODES; n++) {
            if (!says[n].dead) {
                say(at, n);
            }
        }
        coordinator_stage_pass(at, SECOND_US);
    }
}

static inline struct admin_request create_request(void)
{
    struct admin_request create = coordinator_stage_create();

    create.create.durability = DURABILITY_SYNC;
    create.create.keylog = keylog;
    return create;
}

/* Of a user of that name; or the user has another limit from now on. */
static inline void limit_user(void)
{
    static const struct user_grant all = {USER_ALL_RIGHTS, "*"};
    const struct user_list *users = &stage.coordinator->documents.users;
    struct user user = {.id = users->last_id,
                        .name = "maker",
                        .role = USER_CLIENT,
                        .limits.bytes = user_bytes,
                        .grants = (struct user_grant *)&all,
                        .ngrants = 1};
    const struct admin_request request = {
        .action = ADMIN_USER_CHANGE,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "",
        .successor = "",
        .users = {.revision = users->revision, .puts = &user, .nputs = 1},
    };

    coordinator_stage_ask(&stage, 1, &request);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
}

static inline void open_with(enum when_full when_full)
{
    struct admin_request create = create_request();

    coordinator_stage_disks = true;
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    coordinator_stage_report(&stage, NODES, 0, 0, REPLICA_NONE);
    create.create.when_full = when_full;
    if (user_bytes != 0) {
        limit_user();
        create.user = "maker";
    }
    coordinator_stage_command(&stage, 1, &create);
    coordinator_stage_report(&stage, NODES, FILTER, 1, REPLICA_FULL);
    cr_assert_eq(coordinator_stage_told(&stage).status, STATUS_OK);
    for (uint32_t n = 1; n <= NODES; n++) {
        says[n] = (struct says){
            .generation = 1, .shards_grown = SHARDS, .keys = first_keys, .newest = first_keys};
    }
    report_all(&stage);
}

static inline void close_stage(void)
{
    first_keys = 1000;
    keylog = KEYLOG_ON;
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static inline const struct filter_document *document_at(const struct coordinator_stage *at)
{
    return &document_cache_find(&at->coordinator->documents, FILTER)->document;
}

static inline struct admin_request expand(uint64_t capacity, double rate)
{
    return (struct admin_request){
        .action = ADMIN_EXPAND,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "urls",
        .expand = {.capacity = capacity, .rate = rate},
    };
}

/* Those who are asked how many keys they have now say so. */
static inline void answer_questions(struct coordinator_stage *at)
{
    size_t nquestions = at->nquestions;

    at->nquestions = 0;
    for (size_t i = 0; i < nquestions; i++) {
        uint32_t n = at->questions[i].node;
        struct replica_report report = report_of(n);

        if (!says[n].dead && !says[n].mute) {
            coordinator_stage_answer(at, &at->questions[i], &report, 1);
        }
    }
}

static inline struct coordinator_told command(struct coordinator_stage *at,
                                              const struct admin_request *request)
{
    coordinator_stage_command(at, 5, request);
    answer_questions(at);
    return coordinator_stage_told(at);
}

static inline struct coordinator_told ask(uint64_t capacity, double rate)
{
    struct admin_request request = expand(capacity, rate);

    return command(&stage, &request);
}

static inline struct coordinator_told take_back(void)
{
    struct admin_request request = expand(0, 0);

    request.expand.abort = true;
    return command(&stage, &request);
}

static inline void expect_refusal(struct coordinator_told told, enum status status,
                                  const char *words)
{
    cr_assert_eq(told.status, status, "%s: %s", status_code(told.status), told.message);
    cr_assert_not_null(strstr(told.message, words), "%s", told.message);
    cr_assert_not_null(strstr(told.message, "filter urls: "), "%s", told.message);
}

static inline void begin(uint64_t capacity)
{
    struct coordinator_told told = ask(capacity, 0);

    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(told.created);
}

static inline void expect_turn(const struct coordinator_stage *at, uint32_t node)
{
    cr_assert_eq(document_at(at)->nturns, node != 0, "%u turns", document_at(at)->nturns);
    if (node != 0) {
        cr_assert_eq(document_at(at)->turns[0], node);
    }
}

static inline void grow(uint32_t n)
{
    says[n].generation = document_generation(document_at(&stage))->id;
    says[n].shards_grown = SHARDS;
}

/* What all say right after a change began: the former generation, no shard of the wanted one. */
static inline void lag(void)
{
    for (uint32_t n = 1; n <= NODES; n++) {
        says[n].shards_grown = 0;
    }
}

#endif
