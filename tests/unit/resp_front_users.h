/* resp_front_users.h - a RESP front whose router has a record of users; shared by
 * resp_front_users.c, resp_front_rights.c, resp_front_refused.c, resp_front_clients.c and
 * resp_front_logins.c only.
 *
 * Errors:  a failed cr_assert.
 */
#ifndef ORBLOOM_TESTS_UNIT_RESP_FRONT_USERS_H
#define ORBLOOM_TESTS_UNIT_RESP_FRONT_USERS_H

#include "base/heap.h"
#include "map/access/seal.h"
#include "tests/support/front_stage.h"
#include "tests/support/sample_cluster.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { SECOND = 1000000 };

#define NOAUTH "-NOAUTH Authentication required.\r\n"
#define WRONG  "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
#define NO_KEY "-NOPERM No permissions to access a key\r\n"

static struct front_stage stage;
static const struct hash_secret secret = {.bytes = {4, 2}};

static inline void *need(size_t count, size_t size)
{
    void *items = heap_zalloc(count, size);

    cr_assert_not_null(items);
    return items;
}

/* Names in ascending order. */
static inline struct user *add_user(struct user_list *list, const char *name, enum user_role role)
{
    struct user *user;

    if (list->users == NULL) {
        list->users = need(8, sizeof *list->users);
    }
    user = &list->users[list->count++];
    (void)snprintf(user->name, sizeof user->name, "%s", name);
    user->role = role;
    user->id = ++list->last_id;
    return user;
}

static inline void add_grant(struct user *user, const char *text)
{
    const char *reason;

    if (user->grants == NULL) {
        user->grants = need(USER_MAX_GRANTS, sizeof *user->grants);
    }
    cr_assert_eq(user_grant_parse(text, &user->grants[user->ngrants++], &reason), STATUS_OK);
}

/* By the stage's clock, which begins at 1700000000000; 0: never. */
static inline void add_token(struct user *user, const char *text, uint64_t after_ms)
{
    struct user_token *token;

    if (user->tokens == NULL) {
        user->tokens = need(USER_MAX_TOKENS, sizeof *user->tokens);
    }
    token = &user->tokens[user->ntokens++];
    token->id = ++user->last_credential;
    token->expires_ms = after_ms != 0 ? UINT64_C(1700000000000) + after_ms : 0;
    user_token_hash(&secret, span_text(text), token->hash);
}

static inline void seal_record(struct user_list *list)
{
    static const uint8_t nonce[SEAL_NONCE_BYTES] = {1};
    const char *reason = NULL;

    list->revision++;
    seal_secret(sample_key(), 0, &secret, nonce, list->sealed);
    cr_assert_eq(user_list_validate(list, &reason), STATUS_OK, "%s", reason);
}

static inline struct user *named(const char *name)
{
    struct user *user = user_list_find(&stage.users, name);

    cr_assert_not_null(user);
    return user;
}

/* An admin, a client, one that may make filters, one without rights, a monitor. */
static inline void fill_record(void)
{
    struct user *user;

    user = add_user(&stage.users, "boss", USER_ADMIN);
    add_token(user, "bosstoken", 0);
    user = add_user(&stage.users, "crawler", USER_CLIENT);
    add_grant(user, "rw crawl:*");
    add_grant(user, "r shared:*");
    add_grant(user, "wc crawl:new");
    add_token(user, "alpha", 0);
    add_token(user, "beta", 5000);
    (void)snprintf(user->subject, sizeof user->subject, "CN=crawler");
    user = add_user(&stage.users, "maker", USER_CLIENT);
    user->create = true;
    add_grant(user, "wc made:*");
    add_token(user, "mtoken", 0);
    user = add_user(&stage.users, "nobody", USER_CLIENT);
    add_token(user, "ntoken", 0);
    user = add_user(&stage.users, "watch", USER_MONITOR);
    add_token(user, "wtoken", 0);
    seal_record(&stage.users);
}

static inline void start_empty(const struct front_config *config)
{
    front_stage_init(&stage, config);
    front_rekey(stage.front, sample_key());
}

static inline void start(void)
{
    struct front_config config = front_stage_config();

    config.auth_us = 100 * (uint64_t)SECOND;
    start_empty(&config);
    fill_record();
    front_stage_open(&stage, 0);
    front_stage_open(&stage, 1);
}

static inline void finish(void)
{
    user_list_fini(&stage.users);
    front_stage_fini(&stage);
}

static inline void expect(const char *said, const char *answer)
{
    front_stage_answers(&stage, 0, said, answer);
}

static inline void start_as(const char *name, const char *token)
{
    char said[128];

    start();
    (void)snprintf(said, sizeof said, "AUTH %s %s\r\n", name, token);
    expect(said, "+OK\r\n");
}

static inline bool is_asked(void)
{
    struct fake_sent sent;

    return stage.nasked > 0 || front_stage_take(&stage, &sent);
}

/* The router has no such filter. */
static inline void miss(void)
{
    front_stage_reply(&stage, stage.nasked - 1, STATUS_NOT_FOUND, "");
    front_stage_turn(&stage);
}

#endif
