/* Users: as the signed record holds them, in heap memory, and as people ask for them and are told
 * of them, in the frame's. One user is the same message there and here. */
#include "proto/codec_body.h"
#include "proto/codec_signed.h"
#include "proto/signed_document.h"

/* ---- what a user has ---- */

static enum status put_rights(struct codec_scratch *scratch, const void *ours, void *wire)
{
    (void)scratch;
    ((Orbloom__V1__UserGrant *)wire)->rights = ((const struct user_grant *)ours)->rights;
    return STATUS_OK;
}

/* One that is not known can't be guessed. */
static enum status get_rights(struct codec_arena *arena, const void *wire, void *ours)
{
    uint32_t rights = ((const Orbloom__V1__UserGrant *)wire)->rights;

    (void)arena;
    ((struct user_grant *)ours)->rights = (uint8_t)rights;
    return rights <= USER_ALL_RIGHTS ? STATUS_OK : STATUS_MALFORMED;
}

#define WIRE_user_grant Orbloom__V1__UserGrant
static const struct binding user_grant_rows[] = {
    BY_HAND(user_grant, rights, put_rights, get_rights),
    ROW(user_grant, pattern, CHARS),
};
static BINDING_TABLE(user_grant, user_grant, NULL);

/* None is told in answers. */
static bool has_hash(const void *ours)
{
    static const uint8_t none[USER_HASH_BYTES];
    const struct user_token *token = ours;

    return memcmp(token->hash, none, sizeof none) != 0;
}

#define WIRE_user_token Orbloom__V1__UserToken
static const struct binding user_token_rows[] = {
    ROW(user_token, id, UINT32),
    ROW(user_token, created_ms, UINT64),
    ROW(user_token, expires_ms, UINT64),
    BYTES_IF(user_token, hash, has_hash),
};
static BINDING_TABLE(user_token, user_token, NULL);

#define WIRE_user_key Orbloom__V1__UserKey
static const struct binding user_key_rows[] = {
    ROW(user_key, id, UINT32),
    ROW(user_key, created_ms, UINT64),
    ROW(user_key, expires_ms, UINT64),
    ROW(user_key, key, BYTES),
};
static BINDING_TABLE(user_key, user_key, NULL);

#define WIRE_user_limits Orbloom__V1__UserLimits
static const struct binding user_limits_rows[] = {
    ROW(user_limits, keys_per_s, UINT64), ROW(user_limits, filters, UINT64),
    ROW(user_limits, bytes, UINT64),      ROW(user_limits, connections, UINT32),
    ROW(user_limits, in_flight, UINT64),
};
static BINDING_TABLE(user_limits, user_limits, NULL);

static bool has_limits(const void *ours)
{
    const struct user_limits *limits = &((const struct user *)ours)->limits;

    return (limits->keys_per_s | limits->filters | limits->bytes | limits->connections |
            limits->in_flight) != 0;
}

/* ---- a user ---- */

#define WIRE_user Orbloom__V1__UserRecord
#define USER_ROWS                                                                                  \
    ROW(user, id, UINT32), ENUM(user, role, USER_CLIENT, USER_ADMIN), ROW(user, create, BOOL),     \
        ROW(user, last_credential, UINT32), OPTIONAL(user, limits, user_limits, has_limits, NULL), \
        ROW(user, name, CHARS), ROW(user, subject, CHARS)

static const struct binding user_rows[] = {
    USER_ROWS,
    OWNED(user, grants, ngrants, user_grant, USER_MAX_GRANTS, STATUS_MALFORMED),
    OWNED(user, tokens, ntokens, user_token, USER_MAX_TOKENS, STATUS_MALFORMED),
    OWNED(user, keys, nkeys, user_key, USER_MAX_KEYS, STATUS_MALFORMED),
};
static BINDING_TABLE(user, user_record, NULL);

/* Of a frame: as the one above, but for where its lists are. */
#define TOLD_LIST(field, count, item, max)                                    \
    {                                                                         \
        BINDING_ITEMS(BINDING_LIST, user, struct item *, field, count, item), \
            .most = (max), .fault = STATUS_MALFORMED                          \
    }
static const struct binding told_user_rows[] = {
    USER_ROWS,
    TOLD_LIST(grants, ngrants, user_grant, USER_MAX_GRANTS),
    TOLD_LIST(tokens, ntokens, user_token, USER_MAX_TOKENS),
    TOLD_LIST(keys, nkeys, user_key, USER_MAX_KEYS),
};

static const struct binding_table *binding_told_user(void)
{
    static const struct binding_table table = {
        .descriptor = &orbloom__v1__user_record__descriptor,
        .our_bytes = sizeof(struct user),
        .wire_bytes = sizeof(WIRE_user),
        .rows = told_user_rows,
        .count = sizeof told_user_rows / sizeof told_user_rows[0],
    };

    return &table;
}

#define TOLD_USERS(message, field, count)                                              \
    {                                                                                  \
        .kind = BINDING_LIST + BINDING_COUNT_FIT(message, count) +                     \
                BINDING_FIT(message, field, const struct user *, field, WIRE_user **), \
        BINDING_AT(message, field, field), BINDING_COUNTS(message, count, field),      \
        .table = binding_told_user, .most = USER_MAX, .fault = STATUS_MALFORMED        \
    }

/* ---- the record ---- */

static uint64_t needs_users(const void *ours)
{
    (void)ours;
    return feature_bit(FEATURE_BASE) | feature_bit(FEATURE_USERS);
}

static enum status check_users(const void *ours)
{
    const char *reason = NULL;

    return user_list_validate(ours, &reason);
}

#define WIRE_user_list Orbloom__V1__UserList
static const struct binding user_list_rows[] = {
    NEEDS(user_list, needs_users),
    ROW(user_list, revision, UINT64),
    ROW(user_list, last_id, UINT32),
    ROW(user_list, sealed, BYTES),
    OWNED(user_list, users, count, user, USER_MAX, STATUS_MALFORMED),
};
BINDING_TABLE(user_list, user_list, check_users);

enum status codec_users_sign(const struct user_list *users, const struct cluster_key *key,
                             struct buffer *out)
{
    enum status status = check_users(users);

    return status != STATUS_OK
               ? status
               : codec_signed_put(users, DOCUMENT_USERS, binding_user_list(), key, out);
}

enum status codec_users_open(struct span bytes, const struct cluster_key *key,
                             struct user_list *out)
{
    enum status status = codec_signed_open(bytes, DOCUMENT_USERS, binding_user_list(), key, out);

    if (status != STATUS_OK) {
        user_list_fini(out);
    }
    return status;
}

/* ---- what is asked, and told ---- */

static const struct binding user_use_rows[] = {
    ROW(user_use, user, UINT32),
    ROW(user_use, credential, UINT32),
    ROW(user_use, at_ms, UINT64),
};
BINDING_TABLE(user_use, credential_use, NULL);

static bool wishes_key(const void *ours)
{
    return user_wish_has_key(ours);
}

static enum status get_key(struct codec_arena *arena, const void *wire, void *ours)
{
    size_t size = ((const Orbloom__V1__CredentialWish *)wire)->key.len;

    (void)arena;
    (void)ours;
    return size == 0 || size == USER_KEY_BYTES ? STATUS_OK : STATUS_MALFORMED;
}

#define WIRE_user_wish Orbloom__V1__CredentialWish
static const struct binding user_wish_rows[] = {
    ROW(user_wish, token, SPAN),
    BYTES_IF(user_wish, key, wishes_key),
    BY_HAND(user_wish, key, NULL, get_key),
    ROW(user_wish, expires_ms, UINT64),
    ROW(user_wish, user, TEXT),
};
static BINDING_TABLE(user_wish, credential_wish, NULL);

static const struct binding user_change_rows[] = {
    ROW(user_change, revision, UINT64),
    TOLD_USERS(user_change, puts, nputs),
    LIST(user_change, adds, nadds, user_wish, USER_MAX, STATUS_MALFORMED),
    LIST(user_change, removes, nremoves, user_use, USER_MAX, STATUS_MALFORMED),
    NUMBERS(user_change, deletes, ndeletes, uint32_t, USER_MAX, STATUS_MALFORMED),
    ROW(user_change, without_admin, BOOL),
};
BINDING_TABLE(user_change, user_change, NULL);

static const struct binding user_page_rows[] = {
    ROW(user_page, revision, UINT64),
    ROW(user_page, now_ms, UINT64),
    TOLD_USERS(user_page, users, nusers),
    LIST(user_page, uses, nuses, user_use, UNBOUNDED, STATUS_OK),
};
BINDING_TABLE(user_page, user_page, NULL);
