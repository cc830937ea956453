/* coordinator_users.h - a coordinator with one filter, and changes of its record of users; shared
 * by coordinator_users.c and coordinator_users_rights.c only.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_COORDINATOR_USERS_H
#define ORBLOOM_TESTS_UNIT_COORDINATOR_USERS_H

#include "base/heap.h"
#include "coordinator/private.h"
#include "coordinator/records.h"
#include "coordinator/users/users.h"
#include "tests/support/coordinator_stage.h"
#include "tests/support/memory_store.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { FILTER = 1 };

static struct memory_store store;
static struct coordinator_stage stage;
static const struct user_grant crawl[] = {{USER_READ | USER_WRITE | USER_CREATE, "crawl:*"},
                                          {USER_READ, "urls"}};

static inline void setup(void)
{
    memory_store_init(&store);
    coordinator_stage_init(&stage, &store.store);
    (void)coordinator_stage_make_filter(&stage);
}

static inline void teardown(void)
{
    coordinator_stage_fini(&stage);
    memory_store_fini(&store);
}

static inline const struct user_list *users(void)
{
    return &stage.coordinator->documents.users;
}

static inline struct user client(const char *name)
{
    struct user user = {.role = USER_CLIENT, .grants = (struct user_grant *)crawl, .ngrants = 2};

    (void)snprintf(user.name, sizeof user.name, "%s", name);
    return user;
}

static inline struct user_wish token(const char *user, const char *text)
{
    return (struct user_wish){.user = user, .token = span_text(text)};
}

static inline struct coordinator_told change(const struct user_change *change)
{
    const struct admin_request request = {
        .action = ADMIN_USER_CHANGE,
        .timeout_ms = COORDINATOR_STAGE_TIMEOUT_MS,
        .name = "",
        .successor = "",
        .users = *change,
    };

    coordinator_stage_ask(&stage, 5, &request);
    return coordinator_stage_told(&stage);
}

static inline struct coordinator_told put(const struct user *user)
{
    return change(&(struct user_change){.revision = users()->revision, .puts = user, .nputs = 1});
}

static inline void make(const char *name, const char *token_text)
{
    struct user user = client(name);
    struct user_wish wish = token(name, token_text);
    struct coordinator_told told = change(&(struct user_change){
        .revision = users()->revision, .puts = &user, .nputs = 1, .adds = &wish, .nadds = 1});

    cr_assert_eq(told.status, STATUS_OK, "%s", told.message);
    cr_assert(told.created);
}

static inline bool has_token(const char *name, const char *text)
{
    const struct user *user = user_list_find(users(), name);
    struct hash_secret secret;

    cr_assert_eq(seal_secret_open(&stage.coordinator->config.key, 0,
                                  span_of(users()->sealed, SEAL_SECRET_BYTES), &secret),
                 STATUS_OK);
    return user != NULL && user_find_token(user, &secret, span_text(text), 0) < user->ntokens;
}

static inline enum status create_as(const char *user, const char *name)
{
    struct admin_request request = coordinator_stage_create();
    enum status status;

    request.name = name;
    request = coordinator_stage_look(&stage, &request);
    request.user = user;
    coordinator_stage_ask(&stage, 5, &request);
    coordinator_stage_report(&stage, 3, stage.coordinator->documents.count, 1, REPLICA_FULL);
    status = coordinator_stage_told(&stage).status;
    return status;
}

#define TOKEN_A "aaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN_B "bbbbbbbbbbbbbbbbbbbbbbbb"

#endif
