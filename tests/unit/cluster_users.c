/* The record of users: who somebody is, what that user may, and which records are refused. */
#include "base/heap.h"
#include "map/access/users.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NOW = 1000 };

static const struct hash_secret secret = {.bytes = {1, 2, 3}};

/* Aborts when memory is out. */
static void *need(size_t count, size_t size)
{
    void *items = heap_zalloc(count, size);

    cr_assert_not_null(items);
    return items;
}

static void grant(struct user *user, const char *text)
{
    const char *reason = NULL;

    if (user->grants == NULL) {
        user->grants = need(USER_MAX_GRANTS + 1, sizeof *user->grants);
    }
    cr_assert_eq(user_grant_parse(text, &user->grants[user->ngrants], &reason), STATUS_OK, "%s: %s",
                 text, reason);
    user->ngrants++;
}

static void token(struct user *user, const char *text, uint64_t expires_ms)
{
    struct user_token *added;

    if (user->tokens == NULL) {
        user->tokens = need(USER_MAX_TOKENS + 1, sizeof *user->tokens);
    }
    added = &user->tokens[user->ntokens++];
    added->id = ++user->last_credential;
    added->expires_ms = expires_ms;
    user_token_hash(&secret, span_text(text), added->hash);
}

static void key(struct user *user, uint8_t byte)
{
    struct user_key *added;

    if (user->keys == NULL) {
        user->keys = need(USER_MAX_KEYS + 1, sizeof *user->keys);
    }
    added = &user->keys[user->nkeys++];
    added->id = ++user->last_credential;
    memset(added->key, byte, sizeof added->key);
}

/* Names in the order that they are told in. */
static struct user *add(struct user_list *list, const char *name, enum user_role role)
{
    struct user *user;

    if (list->users == NULL) {
        list->users = need(USER_MAX + 1, sizeof *list->users);
    }
    user = &list->users[list->count++];
    (void)snprintf(user->name, sizeof user->name, "%s", name);
    user->role = role;
    user->id = ++list->last_id;
    return user;
}

/* A record with an admin, a client and a monitor. */
static void sample(struct user_list *list)
{
    struct user *user;

    memset(list, 0, sizeof *list);
    list->revision = 3;
    user = add(list, "boss", USER_ADMIN);
    key(user, 1);
    user = add(list, "crawler", USER_CLIENT);
    grant(user, "rw crawl:*");
    grant(user, "r shared:*");
    grant(user, "c crawl:new");
    token(user, "alpha", 0);
    token(user, "beta", NOW);
    key(user, 2);
    (void)snprintf(user->subject, sizeof user->subject, "CN=crawler");
    user = add(list, "watch", USER_MONITOR);
    key(user, 3);
    (void)snprintf(user->subject, sizeof user->subject, "CN=watch");
}

/* Which user the trials below break. */
static struct user *crawler(const struct user_list *list)
{
    return user_list_find(list, "crawler");
}

Test(users, patterns_are_names_and_beginnings_of_names)
{
    char longest[USER_PATTERN_BYTES + 1];

    cr_assert(user_pattern_covers("crawl:*", "crawl:a"));
    cr_assert(user_pattern_covers("crawl:*", "crawl:"));
    cr_assert_not(user_pattern_covers("crawl:*", "crawl"));
    cr_assert_not(user_pattern_covers("crawl:*", "a:crawl:a"));
    cr_assert(user_pattern_covers("urls", "urls"));
    cr_assert_not(user_pattern_covers("urls", "urls2"));
    cr_assert_not(user_pattern_covers("urls", "url"));
    cr_assert(user_pattern_covers("*", "anything"));
    cr_assert(user_pattern_valid("*"));
    cr_assert(user_pattern_valid("a.b_c:d-e*"));
    cr_assert_not(user_pattern_valid(""));
    cr_assert_not(user_pattern_valid("**"));
    cr_assert_not(user_pattern_valid("a*b"));
    cr_assert_not(user_pattern_valid("*b"));
    cr_assert_not(user_pattern_valid("a b"));
    memset(longest, 'a', sizeof longest);
    longest[USER_PATTERN_BYTES - 1] = '\0';
    cr_assert_not(user_pattern_valid(longest), "129 bytes are no name");
    longest[USER_PATTERN_BYTES - 2] = '*';
    cr_assert(user_pattern_valid(longest), "of 128, and a star");
    longest[USER_PATTERN_BYTES - 2] = '\0';
    cr_assert(user_pattern_valid(longest), "a name of 128");
}

Test(users, names_are_up_to_64_letters)
{
    char longest[USER_NAME_BYTES + 1];

    cr_assert(user_name_valid("a"));
    cr_assert(user_name_valid("crawler-1.eu:x_y"));
    cr_assert_not(user_name_valid(""));
    cr_assert_not(user_name_valid("a b"));
    cr_assert_not(user_name_valid("a*"));
    memset(longest, 'a', sizeof longest);
    longest[USER_NAME_BYTES] = '\0';
    cr_assert_not(user_name_valid(longest));
    longest[USER_NAME_BYTES - 1] = '\0';
    cr_assert(user_name_valid(longest));
}

Test(users, a_right_may_come_of_several_grants)
{
    struct user_list list;
    const struct user *user;

    sample(&list);
    user = crawler(&list);
    cr_assert(user_may(user, USER_READ | USER_WRITE, "crawl:a"));
    cr_assert_not(user_may(user, USER_CREATE, "crawl:a"));
    cr_assert(user_may(user, USER_READ | USER_WRITE | USER_CREATE, "crawl:new"),
              "of two grants together");
    cr_assert_not(user_may(user, USER_DUMP, "crawl:new"), "is no part of reading");
    cr_assert(user_may(user, USER_READ, "shared:x"));
    cr_assert_not(user_may(user, USER_READ | USER_WRITE, "shared:x"));
    cr_assert_not(user_may(user, USER_READ, "other"));
    cr_assert(user_sees(user, "shared:x"));
    cr_assert(user_sees(user, "crawl:"));
    cr_assert_not(user_sees(user, "other"));
    user_list_fini(&list);
}

Test(users, admins_may_all_and_monitors_see)
{
    struct user_list list;

    sample(&list);
    grant(user_list_find(&list, "watch"), "rwcd *");
    cr_assert(user_may(user_list_find(&list, "boss"), USER_ALL_RIGHTS, "any"));
    cr_assert(user_sees(user_list_find(&list, "boss"), "any"));
    cr_assert_not(user_may(user_list_find(&list, "watch"), USER_READ, "any"), "whatever it has");
    cr_assert(user_sees(user_list_find(&list, "watch"), "any"));
    user_list_fini(&list);
}

Test(users, grants_are_read_as_they_are_written)
{
    static const struct {
        const char *text;
        const char *rights; /* NULL: it is refused */
        const char *pattern;
    } rows[] = {
        {"r a", "r", "a"},       {"wr a*", "rw", "a*"}, {"dcwr  *", "rwcd", "*"},
        {"c\tx:*", "c", "x:*"},  {"", NULL, NULL},      {"r", NULL, NULL},
        {"r ", NULL, NULL},      {" a", NULL, NULL},    {"x a", NULL, NULL},
        {"rr a", NULL, NULL},    {"r a b", NULL, NULL}, {"r a ", NULL, NULL},
        {"r a**", NULL, NULL},   {"R a", NULL, NULL},   {"r a\n", NULL, NULL},
        {"rwcd a", "rwcd", "a"},
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct user_grant got = {.rights = 77};
        const char *reason = NULL;
        char text[5];

        if (rows[i].rights == NULL) {
            cr_assert_eq(user_grant_parse(rows[i].text, &got, &reason), STATUS_MALFORMED, "\"%s\"",
                         rows[i].text);
            cr_assert_not_null(reason);
            cr_assert_eq(got.rights, 77, "untouched");
            continue;
        }
        cr_assert_eq(user_grant_parse(rows[i].text, &got, &reason), STATUS_OK, "\"%s\": %s",
                     rows[i].text, reason);
        user_rights_print(got.rights, text);
        cr_assert_str_eq(text, rows[i].rights);
        cr_assert_str_eq(got.pattern, rows[i].pattern);
    }
}

Test(users, a_grant_of_a_name_that_is_too_long_is_refused)
{
    char text[2 * USER_PATTERN_BYTES];
    struct user_grant got;
    const char *reason = NULL;

    memset(text, 'a', sizeof text);
    memcpy(text, "r ", 2);
    text[sizeof text - 1] = '\0';
    cr_assert_eq(user_grant_parse(text, &got, &reason), STATUS_MALFORMED);
    text[USER_PATTERN_BYTES + 1] = '\0';
    text[USER_PATTERN_BYTES] = '*';
    cr_assert_eq(user_grant_parse(text, &got, &reason), STATUS_OK, "%s", reason);
}

/* Two of one id, which no record has, tell who was searched for. */
Test(users, who_asks_again_is_not_searched_for)
{
    struct user_places places = {0};
    struct user_list list;

    sample(&list);
    cr_assert_eq(list.count, 3);
    cr_assert_eq(list.users[2].id, 3);
    cr_assert_eq(user_places_find(&places, &list, 3), &list.users[2]);
    list.users[0].id = 3;
    cr_assert_eq(user_list_find_id(&list, 3), &list.users[0]);
    cr_assert_eq(user_places_find(&places, &list, 3), &list.users[2]);
    list.users[2].id = 3 + USER_MAX;
    cr_assert_eq(user_places_find(&places, &list, 3 + USER_MAX), &list.users[2], "not another");
    cr_assert_eq(user_places_find(&places, &list, 3), &list.users[0], "it is elsewhere now");
    cr_assert_eq(user_places_find(&places, &list, 3), &list.users[0]);
    cr_assert_null(user_places_find(&places, &list, 0));
    cr_assert_null(user_places_find(&places, &list, 77));
    user_list_fini(&list);
    cr_assert_null(user_places_find(&places, &list, 3), "nobody is left");
}

Test(users, are_found_by_name_id_key_and_subject)
{
    struct user_list list;
    const struct user_key *found = NULL;
    uint8_t public[USER_KEY_BYTES];

    sample(&list);
    cr_assert_eq(user_list_find(&list, "boss")->id, 1);
    cr_assert_eq(user_list_find(&list, "watch")->id, 3);
    cr_assert_null(user_list_find(&list, "a"));
    cr_assert_null(user_list_find(&list, "cat"));
    cr_assert_null(user_list_find(&list, "z"));
    cr_assert_str_eq(user_list_find_id(&list, 2)->name, "crawler");
    cr_assert_null(user_list_find_id(&list, 0));
    cr_assert_null(user_list_find_id(&list, 4));
    memset(public, 2, sizeof public);
    cr_assert_str_eq(user_list_find_key(&list, public, &found)->name, "crawler");
    cr_assert_eq(found->id, 3);
    memset(public, 3, sizeof public);
    cr_assert_str_eq(user_list_find_key(&list, public, NULL)->name, "watch");
    public[31] = 4;
    cr_assert_null(user_list_find_key(&list, public, NULL));
    cr_assert_str_eq(user_list_find_subject(&list, "CN=crawler")->name, "crawler");
    cr_assert_null(user_list_find_subject(&list, "CN=crawle"));
    cr_assert_null(user_list_find_subject(&list, ""), "who has none is nobody");
    user_list_fini(&list);
}

static void differ_by(struct user *b, unsigned setting)
{
    const struct user a = {.role = USER_CLIENT};

    cr_assert_eq(user_differences(&a, b), setting, "%u", user_differences(&a, b));
    cr_assert_eq(user_differences(b, &a), setting);
    *b = (struct user){.role = USER_CLIENT};
}

Test(users, differ_by_what_is_said_of_them)
{
    struct user_grant grants[] = {{USER_READ, "a*"}, {USER_READ, "b*"}};
    struct user_grant others[] = {{USER_READ, "b*"}, {USER_READ, "a*"}};
    struct user_token token = {.id = 1};
    struct user b = {.id = 7, .role = USER_CLIENT, .name = "b", .tokens = &token, .ntokens = 1};
    struct user a = {.role = USER_CLIENT, .grants = others, .ngrants = 2};

    differ_by(&b, 0);
    b.role = USER_ADMIN;
    differ_by(&b, USER_SETS_ROLE);
    b.create = true;
    differ_by(&b, USER_SETS_CREATE);
    b.subject[0] = 'x';
    differ_by(&b, USER_SETS_SUBJECT);
    b.limits.in_flight = 1;
    b.create = true;
    differ_by(&b, USER_SETS_LIMITS | USER_SETS_CREATE);
    b.grants = grants;
    b.ngrants = 2;
    cr_assert_eq(user_differences(&a, &b), USER_SETS_GRANTS, "their order is kept as it is given");
    memcpy(grants, others, sizeof grants);
    cr_assert_eq(user_differences(&a, &b), 0);
    grants[1].rights = USER_WRITE;
    cr_assert_eq(user_differences(&a, &b), USER_SETS_GRANTS);
    differ_by(&b, USER_SETS_GRANTS);
}

Test(users, have_tokens_and_keys_of_one_row_of_ids)
{
    struct user_token token = {.id = 2};
    struct user_key key = {.id = 5};
    const struct user user = {.tokens = &token, .ntokens = 1, .keys = &key, .nkeys = 1};

    cr_assert(user_has_credential(&user, 2) && user_has_credential(&user, 5));
    cr_assert(!user_has_credential(&user, 1) && !user_has_credential(&user, 0));
}

Test(users, tokens_are_known_by_their_hash_until_they_expire)
{
    struct user_list list;
    const struct user *user;
    const struct hash_secret other = {.bytes = {9}};

    sample(&list);
    user = crawler(&list);
    cr_assert_eq(user_find_token(user, &secret, span_text("alpha"), NOW), 0);
    cr_assert_eq(user_find_token(user, &secret, span_text("beta"), NOW - 1), 1);
    cr_assert_eq(user_find_token(user, &secret, span_text("beta"), NOW), user->ntokens, "expired");
    cr_assert_eq(user_find_token(user, &secret, span_text("alph"), NOW), user->ntokens);
    cr_assert_eq(user_find_token(user, &secret, span_text(""), NOW), user->ntokens);
    cr_assert_eq(user_find_token(user, &other, span_text("alpha"), NOW), user->ntokens,
                 "by another secret");
    user = user_list_find(&list, "boss");
    cr_assert_eq(user_find_token(user, &secret, span_text("alpha"), NOW), 0, "it has none");
    cr_assert_eq(user->ntokens, 0);
    user_list_fini(&list);
}

Test(users, one_hash_is_another_by_a_bit)
{
    uint8_t one[USER_HASH_BYTES];
    uint8_t two[USER_HASH_BYTES];

    user_token_hash(&secret, span_text("alpha"), one);
    user_token_hash(&secret, span_text("alphb"), two);
    cr_assert_arr_neq(one, two, sizeof one);
    user_token_hash(&secret, span_text("alpha"), two);
    cr_assert_arr_eq(one, two, sizeof one);
}

Test(users, a_copy_has_its_own)
{
    struct user_list list;
    struct user_list copy;
    const char *reason = NULL;

    sample(&list);
    cr_assert_eq(user_list_copy(&list, &copy), STATUS_OK);
    memset(crawler(&list)->grants, 0, sizeof(struct user_grant));
    memset(crawler(&list)->tokens, 0, sizeof(struct user_token));
    memset(crawler(&list)->keys, 0, sizeof(struct user_key));
    user_list_fini(&list);
    cr_assert_eq(list.count, 0);
    cr_assert_null(list.users);
    cr_assert_eq(copy.revision, 3);
    cr_assert_eq(copy.count, 3);
    cr_assert_eq(user_list_validate(&copy, &reason), STATUS_OK, "%s", reason);
    cr_assert(user_may(crawler(&copy), USER_WRITE, "crawl:a"));
    cr_assert_eq(user_find_token(crawler(&copy), &secret, span_text("alpha"), NOW), 0);
    cr_assert_str_eq(crawler(&copy)->subject, "CN=crawler");
    user_list_fini(&copy);
    user_list_fini(&copy);
}

Test(users, no_memory_leaves_nothing_behind)
{
    struct user_list list;
    struct user_list copy;
    const char *reason = NULL;
    size_t before;
    unsigned n;
    enum status status = STATUS_NOMEM;

    sample(&list);
    before = heap_live();
    for (n = 0; status == STATUS_NOMEM; n++) {
        cr_assert_lt(n, 100);
        heap_fault_after(n);
        status = user_list_copy(&list, &copy);
        heap_fault_clear();
        if (status == STATUS_NOMEM) {
            cr_assert_eq(copy.count, 0);
            cr_assert_null(copy.users);
            cr_assert_eq(heap_live(), before);
        }
    }
    cr_assert_gt(n, 6, "users, and what they have");
    user_list_fini(&copy);
    heap_fault_after(0);
    cr_assert_eq(user_list_validate(&list, &reason), STATUS_NOMEM);
    heap_fault_clear();
    user_list_fini(&list);
}

/* ---- refused records: one bound or rule each ---- */

static void no_revision(struct user_list *list)
{
    list->revision = 0;
}

static void no_id(struct user_list *list)
{
    crawler(list)->id = 0;
}

static void id_to_come(struct user_list *list)
{
    crawler(list)->id = list->last_id + 1;
}

static void one_id(struct user_list *list)
{
    crawler(list)->id = 1;
}

static void no_name(struct user_list *list)
{
    crawler(list)->name[0] = '\0';
}

static void bad_name(struct user_list *list)
{
    crawler(list)->name[3] = ' ';
}

static void endless_name(struct user_list *list)
{
    memset(crawler(list)->name, 'c', USER_NAME_BYTES);
}

static void one_name(struct user_list *list)
{
    (void)snprintf(list->users[2].name, USER_NAME_BYTES, "crawler");
}

static void out_of_order(struct user_list *list)
{
    list->users[0].name[0] = 'd';
}

static void no_role(struct user_list *list)
{
    crawler(list)->role = 0;
}

static void unknown_role(struct user_list *list)
{
    crawler(list)->role = USER_ADMIN + 1;
}

static void endless_subject(struct user_list *list)
{
    memset(crawler(list)->subject, 'c', USER_SUBJECT_BYTES);
}

static void control_in_subject(struct user_list *list)
{
    crawler(list)->subject[2] = '\n';
}

static void one_subject(struct user_list *list)
{
    (void)snprintf(list->users[2].subject, USER_SUBJECT_BYTES, "CN=crawler");
}

static void many_grants(struct user_list *list)
{
    struct user *user = crawler(list);

    while (user->ngrants <= USER_MAX_GRANTS) {
        grant(user, "r a*");
    }
}

static void no_right(struct user_list *list)
{
    crawler(list)->grants[1].rights = 0;
}

static void unknown_right(struct user_list *list)
{
    crawler(list)->grants[1].rights = 16;
}

static void bad_pattern(struct user_list *list)
{
    crawler(list)->grants[1].pattern[0] = '*';
}

static void endless_pattern(struct user_list *list)
{
    memset(crawler(list)->grants[1].pattern, 'c', USER_PATTERN_BYTES);
}

static void many_tokens(struct user_list *list)
{
    struct user *user = crawler(list);

    while (user->ntokens <= USER_MAX_TOKENS) {
        token(user, "x", 0);
    }
}

static void many_keys(struct user_list *list)
{
    struct user *user = crawler(list);

    while (user->nkeys <= USER_MAX_KEYS) {
        key(user, (uint8_t)(100 + user->nkeys));
    }
}

static void token_without_id(struct user_list *list)
{
    crawler(list)->tokens[1].id = 0;
}

static void key_to_come(struct user_list *list)
{
    crawler(list)->keys[0].id = crawler(list)->last_credential + 1;
}

static void one_credential_id(struct user_list *list)
{
    crawler(list)->keys[0].id = crawler(list)->tokens[1].id;
}

static void zero_key(struct user_list *list)
{
    memset(crawler(list)->keys[0].key, 0, USER_KEY_BYTES);
}

static void key_of_two(struct user_list *list)
{
    memset(crawler(list)->keys[0].key, 3, USER_KEY_BYTES);
}

static void many_users(struct user_list *list)
{
    char name[USER_NAME_BYTES];

    while (list->count <= USER_MAX) {
        (void)snprintf(name, sizeof name, "x%05zu", list->count);
        (void)add(list, name, USER_CLIENT);
    }
}

Test(users, no_record_beyond_a_bound_is_taken)
{
    static const struct {
        void (*spoil)(struct user_list *list);
        const char *reason; /* a part of it */
    } rows[] = {
        {no_revision, "revision"},
        {no_id, "id is 0"},
        {id_to_come, "never given"},
        {one_id, "two users have one id"},
        {no_name, "name"},
        {bad_name, "name"},
        {endless_name, "name"},
        {one_name, "order"},
        {out_of_order, "order"},
        {no_role, "role"},
        {unknown_role, "role"},
        {endless_subject, "tls_subject"},
        {control_in_subject, "tls_subject"},
        {one_subject, "one tls_subject"},
        {many_grants, "too many grants"},
        {no_right, "no rights"},
        {unknown_right, "unknown"},
        {bad_pattern, "pattern"},
        {endless_pattern, "pattern"},
        {many_tokens, "too many tokens"},
        {many_keys, "too many keys"},
        {token_without_id, "id is 0"},
        {key_to_come, "never given"},
        {one_credential_id, "one id"},
        {zero_key, "zero"},
        {key_of_two, "twice"},
        {many_users, "too many users"},
    };
    size_t i;

    for (i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct user_list list;
        const char *reason = NULL;

        sample(&list);
        cr_assert_eq(user_list_validate(&list, &reason), STATUS_OK, "%s", reason);
        cr_assert_null(reason);
        rows[i].spoil(&list);
        cr_assert_eq(user_list_validate(&list, &reason), STATUS_MALFORMED, "row %zu", i);
        cr_assert_not_null(strstr(reason, rows[i].reason), "row %zu: %s", i, reason);
        user_list_fini(&list);
    }
}

Test(users, the_fullest_record_is_taken)
{
    struct user_list list;
    const char *reason = NULL;
    struct user *user;

    sample(&list);
    user = crawler(&list);
    while (user->ngrants < USER_MAX_GRANTS) {
        grant(user, "r a*");
    }
    while (user->ntokens < USER_MAX_TOKENS) {
        token(user, "x", 0);
    }
    while (user->nkeys < USER_MAX_KEYS) {
        key(user, (uint8_t)(100 + user->nkeys));
    }
    while (list.count < USER_MAX) {
        char name[USER_NAME_BYTES];

        (void)snprintf(name, sizeof name, "x%05zu", list.count);
        (void)add(&list, name, USER_CLIENT);
    }
    cr_assert_eq(user_list_validate(&list, &reason), STATUS_OK, "%s", reason);
    cr_assert_eq(user_list_find(&list, "x04095")->id, USER_MAX);
    user_list_fini(&list);
}
