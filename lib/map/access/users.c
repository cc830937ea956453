/* The record of users: copying and judging it, who in it somebody is, and what that user may.
 *
 * Nothing here is kept sorted but the users themselves. A list has thousands of them, a user some
 * grants: a pass over these costs less than an index that must be kept right. What compares each
 * with each (ids, keys, subjects) sorts pointers first. */
#include "map/access/users.h"

#include "base/heap.h"
#include "base/mutant.h"
#include "map/document.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)USER_PATTERN_BYTES == (int)DOCUMENT_NAME_BYTES + 1, "a name, \"*\" and a NUL");

enum { NRIGHTS = 4 };

static const char right_letters[NRIGHTS] = {'r', 'w', 'c', 'd'}; /* by bit */

/* ---- owning ---- */

void user_fini(struct user *self)
{
    heap_free(self->grants);
    heap_free(self->tokens);
    heap_free(self->keys);
    memset(self, 0, sizeof *self);
}

void user_list_fini(struct user_list *self)
{
    size_t i;

    for (i = 0; i < self->count; i++) {
        user_fini(&self->users[i]);
    }
    heap_free(self->users);
    memset(self, 0, sizeof *self);
}

/* False: memory is out. None of them is NULL. */
static bool copy_array(const void *from, size_t count, size_t size, void *to)
{
    void *copy = NULL;

    if (count > 0) {
        copy = heap_alloc(count, size);
        if (copy == NULL) {
            return false;
        }
        memcpy(copy, from, count * size);
    }
    memcpy(to, &copy, sizeof copy);
    return true;
}

/* False: memory is out; then what *out has is its own. */
static bool copy_user(const struct user *self, struct user *out)
{
    *out = *self;
    out->grants = NULL;
    out->tokens = NULL;
    out->keys = NULL;
    return copy_array(self->grants, self->ngrants, sizeof *self->grants, &out->grants) &&
           copy_array(self->tokens, self->ntokens, sizeof *self->tokens, &out->tokens) &&
           copy_array(self->keys, self->nkeys, sizeof *self->keys, &out->keys);
}

enum status user_list_copy(const struct user_list *self, struct user_list *out)
{
    struct user_list copy = *self;

    copy.users = NULL;
    copy.count = 0;
    if (self->count > 0) {
        copy.users = heap_zalloc(self->count, sizeof *copy.users);
        if (copy.users == NULL) {
            goto fail;
        }
    }
    while (copy.count < self->count) {
        copy.count++; /* Counted before it is whole, so that what it has by then is freed. */
        if (!copy_user(&self->users[copy.count - 1], &copy.users[copy.count - 1])) {
            goto fail;
        }
    }
    *out = copy;
    return STATUS_OK;
fail:
    user_list_fini(&copy);
    memset(out, 0, sizeof *out);
    return STATUS_NOMEM;
}

/* ---- what a record must fulfil: each rule returns NULL, or what is wrong ---- */

static const char *const roles[] = {
    [USER_CLIENT] = "client", [USER_MONITOR] = "monitor", [USER_ADMIN] = "admin"};

const char *user_role_name(enum user_role role)
{
    assert(role >= USER_CLIENT && role <= USER_ADMIN);
    return roles[role];
}

bool user_role_parse(const char *text, enum user_role *role)
{
    for (int i = USER_CLIENT; i <= USER_ADMIN; i++) {
        if (strcmp(roles[i], text) == 0) {
            *role = (enum user_role)i;
            return true;
        }
    }
    return false;
}

bool user_name_valid(const char *name)
{
    size_t size = strnlen(name, USER_NAME_BYTES);

    return size < USER_NAME_BYTES && document_name_valid(span_of(name, size));
}

bool user_pattern_valid(const char *pattern)
{
    size_t size = strnlen(pattern, USER_PATTERN_BYTES);

    if (size == 0 || size == USER_PATTERN_BYTES) {
        return false;
    }
    if (pattern[size - 1] != '*') {
        return document_name_valid(span_of(pattern, size));
    }
    return size == 1 || document_name_valid(span_of(pattern, size - 1));
}

/* Control bytes are no part of a name that people read in a log. */
static bool subject_valid(const char *subject)
{
    size_t i;

    for (i = 0; i < USER_SUBJECT_BYTES && subject[i] != '\0'; i++) {
        if ((uint8_t)subject[i] < ' ' || subject[i] == 0x7f) {
            return false;
        }
    }
    return i < USER_SUBJECT_BYTES;
}

static const char *rule_user(const struct user *self)
{
    if (self->id == 0) {
        return "a user's id is 0";
    }
    if (!user_name_valid(self->name)) {
        return "a user's name is not one";
    }
    if (self->role < USER_CLIENT || self->role > USER_ADMIN) {
        return "a user's role is unknown";
    }
    if (!subject_valid(self->subject)) {
        return "a user's tls_subject is too long, or has control characters";
    }
    if (self->ngrants > USER_MAX_GRANTS) {
        return "a user has too many grants";
    }
    if (self->ntokens > USER_MAX_TOKENS) {
        return "a user has too many tokens";
    }
    return self->nkeys > USER_MAX_KEYS ? "a user has too many keys" : NULL;
}

static const char *rule_grants(const struct user *self)
{
    size_t i;

    for (i = 0; i < self->ngrants; i++) {
        const struct user_grant *grant = &self->grants[i];

        if (grant->rights == 0 || (grant->rights & ~USER_ALL_RIGHTS) != 0) {
            return "a grant has no rights, or unknown ones";
        }
        if (!user_pattern_valid(grant->pattern)) {
            return "a grant's pattern is neither a name nor the beginning of one and *";
        }
    }
    return NULL;
}

/* Tokens first, then keys. */
static uint32_t credential_id(const struct user *self, size_t i)
{
    return i < self->ntokens ? self->tokens[i].id : self->keys[i - self->ntokens].id;
}

static const char *rule_credentials(const struct user *self)
{
    size_t i;
    size_t k;

    for (i = 0; i < self->ntokens + self->nkeys; i++) {
        uint32_t id = credential_id(self, i);

        if (id == 0 || id > self->last_credential) {
            return "a token's or key's id is 0, or was never given";
        }
        for (k = 0; k < i; k++) {
            if (credential_id(self, k) == id) {
                return "two tokens or keys of a user have one id";
            }
        }
    }
    for (i = 0; i < self->nkeys; i++) {
        if (sodium_is_zero(self->keys[i].key, USER_KEY_BYTES)) {
            return "a public key is zero";
        }
    }
    return NULL;
}

static int by_id(const void *a, const void *b)
{
    const struct user *left = *(const struct user *const *)a;
    const struct user *right = *(const struct user *const *)b;

    return (left->id > right->id) - (left->id < right->id);
}

static int by_subject(const void *a, const void *b)
{
    const struct user *left = *(const struct user *const *)a;
    const struct user *right = *(const struct user *const *)b;

    return strcmp(left->subject, right->subject);
}

static int by_key(const void *a, const void *b)
{
    return memcmp(*(const uint8_t *const *)a, *(const uint8_t *const *)b, USER_KEY_BYTES);
}

/* Are two of them alike? They are sorted for that. */
static bool alike(const void **items, size_t count, int (*compare)(const void *, const void *))
{
    size_t i;

    qsort(items, count, sizeof *items, compare);
    for (i = 1; i < count; i++) {
        if (compare(&items[i - 1], &items[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool ids_alike(const struct user_list *self, const void **room)
{
    size_t i;

    for (i = 0; i < self->count; i++) {
        room[i] = &self->users[i];
    }
    return alike(room, self->count, by_id);
}

static bool subjects_alike(const struct user_list *self, const void **room)
{
    size_t count = 0;
    size_t i;

    for (i = 0; i < self->count; i++) {
        if (self->users[i].subject[0] != '\0') {
            room[count++] = &self->users[i];
        }
    }
    return alike(room, count, by_subject);
}

static bool keys_alike(const struct user_list *self, const void **room)
{
    size_t count = 0;
    size_t i;
    size_t k;

    for (i = 0; i < self->count; i++) {
        for (k = 0; k < self->users[i].nkeys; k++) {
            room[count++] = self->users[i].keys[k].key;
        }
    }
    return alike(room, count, by_key);
}

/* No two users have the same of these; `room` for all of them, and for all of their keys. */
static const char *rule_one_user(const struct user_list *self, const void **room)
{
    if (ids_alike(self, room)) {
        return "two users have one id";
    }
    if (subjects_alike(self, room)) {
        return "two users have one tls_subject";
    }
    return keys_alike(self, room) ? "one public key is there twice" : NULL;
}

static const char *rule_each(const struct user_list *self)
{
    size_t i;

    for (i = 0; i < self->count; i++) {
        const struct user *user = &self->users[i];
        const char *reason = rule_user(user);

        reason = reason != NULL ? reason : rule_grants(user);
        reason = reason != NULL ? reason : rule_credentials(user);
        if (reason != NULL) {
            return reason;
        }
        if (user->id > self->last_id) {
            return "a user's id was never given";
        }
        if (i > 0 && strcmp(self->users[i - 1].name, user->name) >= 0) {
            return "users are not in the order of their names";
        }
    }
    return NULL;
}

enum status user_list_validate(const struct user_list *self, const char **reason)
{
    size_t room_for = self->count;
    const void **room;
    size_t i;

    *reason = self->revision == 0      ? "the revision is 0"
              : self->count > USER_MAX ? "there are too many users"
                                       : rule_each(self);
    if (*reason != NULL) {
        return STATUS_MALFORMED;
    }
    for (i = 0; i < self->count; i++) {
        room_for += self->users[i].nkeys;
    }
    room = heap_alloc(room_for, sizeof *room);
    if (room == NULL) {
        *reason = "memory is out";
        return STATUS_NOMEM;
    }
    *reason = rule_one_user(self, room);
    heap_free((void *)room);
    return *reason == NULL ? STATUS_OK : STATUS_MALFORMED;
}

/* ---- comparing ---- */

static bool same_limits(const struct user_limits *a, const struct user_limits *b)
{
    return a->keys_per_s == b->keys_per_s && a->filters == b->filters && a->bytes == b->bytes &&
           a->connections == b->connections && a->in_flight == b->in_flight;
}

static bool same_grants(const struct user *a, const struct user *b)
{
    bool same = a->ngrants == b->ngrants;

    for (size_t i = 0; same && i < a->ngrants; i++) {
        same = a->grants[i].rights == b->grants[i].rights &&
               strcmp(a->grants[i].pattern, b->grants[i].pattern) == 0;
    }
    return same;
}

unsigned user_differences(const struct user *a, const struct user *b)
{
    return (a->role != b->role ? USER_SETS_ROLE : 0U) |
           (same_grants(a, b) ? 0U : USER_SETS_GRANTS) |
           (a->create != b->create ? USER_SETS_CREATE : 0U) |
           (same_limits(&a->limits, &b->limits) ? 0U : USER_SETS_LIMITS) |
           (strcmp(a->subject, b->subject) != 0 ? USER_SETS_SUBJECT : 0U);
}

/* ---- who ---- */

bool user_has_credential(const struct user *self, uint32_t id)
{
    for (size_t i = 0; i < self->ntokens + self->nkeys; i++) {
        if (credential_id(self, i) == id) {
            return true;
        }
    }
    return false;
}

struct user *user_list_find(const struct user_list *self, const char *name)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(self->users[middle].name, name);

        if (order == 0) {
            return &self->users[middle];
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

struct user *user_list_find_id(const struct user_list *self, uint32_t id)
{
    size_t i;

    for (i = 0; i < self->count; i++) {
        if (self->users[i].id == id) {
            return &self->users[i];
        }
    }
    return NULL;
}

_Static_assert((int)USER_MAX <= (int)UINT16_MAX, "places fit");

struct user *user_places_find(struct user_places *self, const struct user_list *list, uint32_t id)
{
    uint16_t *at = &self->at[id % USER_MAX];
    struct user *user;

    if (*at < list->count && list->users[*at].id == id) {
        return &list->users[*at];
    }
    user = user_list_find_id(list, id);
    if (user != NULL) {
        *at = (uint16_t)(user - list->users);
    }
    return user;
}

struct user *user_list_find_key(const struct user_list *self, const uint8_t public[USER_KEY_BYTES],
                                const struct user_key **key)
{
    size_t i;
    size_t k;

    for (i = 0; i < self->count; i++) {
        for (k = 0; k < self->users[i].nkeys; k++) {
            if (memcmp(self->users[i].keys[k].key, public, USER_KEY_BYTES) == 0) {
                if (key != NULL) {
                    *key = &self->users[i].keys[k];
                }
                return &self->users[i];
            }
        }
    }
    return NULL;
}

struct user *user_list_find_subject(const struct user_list *self, const char *subject)
{
    size_t i;

    for (i = 0; subject[0] != '\0' && i < self->count; i++) {
        if (strcmp(self->users[i].subject, subject) == 0) {
            return &self->users[i];
        }
    }
    return NULL;
}

/* ---- what for ---- */

bool user_pattern_covers(const char *pattern, const char *name)
{
    size_t size = strlen(pattern);

    if (size > 0 && pattern[size - 1] == '*') {
        return strncmp(pattern, name, size - 1) == 0;
    }
    return strcmp(pattern, name) == 0;
}

/* Of all of its grants together. */
static uint8_t rights_to(const struct user *self, const char *filter)
{
    uint8_t rights = 0;
    size_t i;

    for (i = 0; i < self->ngrants; i++) {
        if (user_pattern_covers(self->grants[i].pattern, filter) || MUTANT(RIGHTS_ANY_NAME)) {
            rights |= self->grants[i].rights;
        }
    }
    return rights;
}

bool user_may(const struct user *self, uint8_t rights, const char *filter)
{
    switch (self->role) {
    case USER_ADMIN:
        return true;
    case USER_CLIENT:
        return (rights & ~rights_to(self, filter)) == 0;
    case USER_MONITOR:
        break;
    }
    return false;
}

bool user_sees(const struct user *self, const char *filter)
{
    return self->role != USER_CLIENT || rights_to(self, filter) != 0;
}

/* 0: it is none. */
static uint8_t right_of(char letter)
{
    unsigned bit;

    for (bit = 0; bit < NRIGHTS; bit++) {
        if (right_letters[bit] == letter) {
            return (uint8_t)(1U << bit);
        }
    }
    return 0;
}

static bool is_blank(char letter)
{
    return letter == ' ' || letter == '\t';
}

enum status user_grant_parse(const char *text, struct user_grant *out, const char **reason)
{
    struct user_grant grant = {.rights = 0};
    size_t size;

    for (; *text != '\0' && !is_blank(*text); text++) {
        uint8_t right = right_of(*text);

        if (right == 0 || (grant.rights & right) != 0) {
            *reason = "rights are letters of \"rwcd\", each once";
            return STATUS_MALFORMED;
        }
        grant.rights |= right;
    }
    while (is_blank(*text)) {
        text++;
    }
    size = strlen(text);
    if (grant.rights == 0 || size == 0 || size >= sizeof grant.pattern) {
        *reason = "a grant is rights, a blank and a pattern, such as \"rw crawl:*\"";
        return STATUS_MALFORMED;
    }
    memcpy(grant.pattern, text, size + 1);
    if (!user_pattern_valid(grant.pattern)) {
        *reason = "a pattern is a filter's name, or the beginning of names and * behind it";
        return STATUS_MALFORMED;
    }
    *out = grant;
    return STATUS_OK;
}

void user_rights_print(uint8_t rights, char text[5])
{
    size_t size = 0;
    unsigned bit;

    for (bit = 0; bit < NRIGHTS; bit++) {
        if ((rights >> bit & 1) != 0) {
            text[size++] = right_letters[bit];
        }
    }
    text[size] = '\0';
}

/* ---- tokens ---- */

int user_use_order(const void *a, const void *b)
{
    const struct user_use *left = a;
    const struct user_use *right = b;

    if (left->user != right->user) {
        return left->user < right->user ? -1 : 1;
    }
    return (left->credential > right->credential) - (left->credential < right->credential);
}

void user_token_hash(const struct hash_secret *secret, struct span token,
                     uint8_t hash[USER_HASH_BYTES])
{
    int failed = crypto_generichash(hash, USER_HASH_BYTES, token.data, token.size, secret->bytes,
                                    sizeof secret->bytes);

    assert(failed == 0); /* It fails for lengths out of range only. */
}

/* All of them are looked at, whichever fits: how long it takes tells nothing of where. */
size_t user_find_token(const struct user *self, const struct hash_secret *secret, struct span token,
                       uint64_t now_ms)
{
    uint8_t hash[USER_HASH_BYTES];
    size_t found = self->ntokens;
    size_t i;

    user_token_hash(secret, token, hash);
    for (i = 0; i < self->ntokens; i++) {
        const struct user_token *kept = &self->tokens[i];
        bool lives = kept->expires_ms == 0 || now_ms < kept->expires_ms;

        if (sodium_memcmp(hash, kept->hash, sizeof hash) == 0 && lives) {
            found = i;
        }
    }
    sodium_memzero(hash, sizeof hash);
    return found;
}
