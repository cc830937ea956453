/* users.h - who may use the cluster, and for what: the record of users.
 *
 * One signed record has all of them, so that a change of several is one compare-and-swap, and that
 * who is not in it any more is gone: no tombstones. Coordinators write it; it goes the way of all
 * documents, and whoever holds one goes by it while no coordinator answers.
 *
 * A user is known by a token (RESP), by the public key of a CURVE pair, or by the subject of a TLS
 * certificate. Of a token only a hash is kept, keyed with a secret that lies in the record, sealed
 * with the cluster key: whoever has a copy of the store and no cluster key can't try guesses.
 *
 * Rights: a grant is a set of rights and a pattern, which is a filter's name, or the beginning of
 *          names and "*" behind it. A user has a right to a filter that any of its grants gives.
 *          Admins have all rights to all filters, monitors none.
 * Errors:  as said at each function.
 * Owner:   user_list_fini() frees what a list owns.
 * Threads: none; pure.
 * Source:  BLAKE2b keyed hash (RFC 7693), libsodium.
 */
#ifndef ORBLOOM_MAP_ACCESS_USERS_H
#define ORBLOOM_MAP_ACCESS_USERS_H

#include "base/span.h"
#include "base/status.h"
#include "map/access/seal.h"

#include <stdbool.h>
#include <stdint.h>

/* In the store's answers and in lists of what a process holds the record goes by this id; no filter
 * has it. */
#define USER_LIST_ID (UINT64_MAX - 1)

enum {
    USER_MAX = 4096,
    USER_NAME_BYTES = 65,     /* [A-Za-z0-9._:-]{1,64}, and a NUL */
    USER_PATTERN_BYTES = 130, /* of a filter's name, "*", and a NUL */
    USER_SUBJECT_BYTES = 256, /* ... and a NUL: as RFC 2253 writes it */
    USER_MAX_GRANTS = 64,
    USER_MAX_TOKENS = 8,
    USER_MAX_KEYS = 8,
    USER_KEY_BYTES = CURVE_KEY_BYTES,
    USER_HASH_BYTES = 32,       /* of a token */
    USER_TOKEN_BYTES = 65,      /* 256 random bits, as hexadecimal digits, and a NUL */
    USER_MAX_TOKEN_BYTES = 512, /* one that was chosen may be as long */
};

/* The user of RESP clients that name none, whose password is in resp_password_file. */
#define USER_DEFAULT "default"

enum user_role {
    USER_CLIENT = 1,  /* what its grants say */
    USER_MONITOR = 2, /* sees how the cluster does, and no key */
    USER_ADMIN = 3,   /* everything */
};

/* "rwcd" */
enum user_right {
    USER_READ = 1,   /* check, info */
    USER_WRITE = 2,  /* add, feed */
    USER_CREATE = 4, /* create, drop, rename, expire, rebuild, expand */
    USER_DUMP = 8,   /* dump: it holds the hash secret, so it is no part of reading */
    USER_ALL_RIGHTS = 15,
};

struct user_grant {
    uint8_t rights; /* enum user_right, one or more */
    char pattern[USER_PATTERN_BYTES];
};

struct user_token {
    uint32_t
        id; /* the user's own number for it, never used again for another of its tokens or keys */
    uint64_t created_ms; /* since 1970, by the clock of who made it: told, and not acted on */
    uint64_t expires_ms; /* 0: never */
    uint8_t hash[USER_HASH_BYTES];
};

struct user_key {
    uint32_t id; /* as above */
    uint64_t created_ms;
    uint64_t expires_ms;
    uint8_t key[USER_KEY_BYTES];
};

/* 0: no limit. */
struct user_limits {
    uint64_t keys_per_s;  /* checked and added, by all routers together */
    uint64_t filters;     /* that it has made */
    uint64_t bytes;       /* of arrays of these, of one replica */
    uint32_t connections; /* to one router */
    uint64_t in_flight;   /* bytes of requests under way at one router */
};

struct user {
    uint32_t id; /* never used again; 0 is nobody */
    char name[USER_NAME_BYTES];
    enum user_role role;
    bool create; /* RESP: may an add to a free name make a filter? With USER_CREATE too */
    char subject[USER_SUBJECT_BYTES]; /* of a TLS certificate; "": none */
    struct user_limits limits;
    struct user_grant *grants;
    size_t ngrants;
    struct user_token *tokens;
    size_t ntokens;
    struct user_key *keys;
    size_t nkeys;
    uint32_t last_credential; /* the highest id that any token or key of it ever had */
};

struct user_list {
    uint64_t revision;                 /* counts every edit; 0: there is none */
    uint64_t needs;                    /* features, as in a filter's document */
    uint32_t last_id;                  /* the highest id ever given */
    uint8_t sealed[SEAL_SECRET_BYTES]; /* the secret of hashes; sealed as that of filter 0 */
    struct user *users;                /* ascending names */
    size_t count;
};

/* Where users were found by their ids, so that who asks again is not searched for. Zeroed: nowhere
 * yet. It may be used with any record, also a newer one: what it says is looked at first. */
struct user_places {
    uint16_t at[USER_MAX];
};

void user_fini(struct user *self);
void user_list_fini(struct user_list *self);

/* A copy that owns what it has. STATUS_NOMEM; then *out is empty. */
MUST_USE enum status user_list_copy(const struct user_list *self, struct user_list *out);

/* Names, patterns, order, bounds, ids, no key or subject of two users. STATUS_MALFORMED with
 * *reason set to a constant text; STATUS_NOMEM: it was not judged. */
MUST_USE enum status user_list_validate(const struct user_list *self, const char **reason);

/* "client", "monitor", "admin". Parsing: false: it is none of these; *role is as before. */
const char *user_role_name(enum user_role role);
bool user_role_parse(const char *text, enum user_role *role);

bool user_name_valid(const char *name);
bool user_pattern_valid(const char *pattern);

/* What an administrator says of a user; its id, name, tokens and keys are no part of it. */
enum user_setting {
    USER_SETS_ROLE = 1,
    USER_SETS_GRANTS = 2, /* in this order */
    USER_SETS_CREATE = 4,
    USER_SETS_LIMITS = 8,
    USER_SETS_SUBJECT = 16,
};

/* Which of them are not the same: enum user_setting, joined. */
unsigned user_differences(const struct user *a, const struct user *b);

/* Has it a token or key of this id? */
bool user_has_credential(const struct user *self, uint32_t id);

/* NULL: there is none. */
struct user *user_list_find(const struct user_list *self, const char *name);
struct user *user_list_find_id(const struct user_list *self, uint32_t id);

/* The same for who asks often. Who is there is searched for once, as long as users neither come nor
 * go. */
struct user *user_places_find(struct user_places *self, const struct user_list *list, uint32_t id);

/* Who has this public key; with which of its keys, if `key` is given. Whether that has expired is
 * the caller's to look at. */
struct user *user_list_find_key(const struct user_list *self, const uint8_t public[USER_KEY_BYTES],
                                const struct user_key **key);
struct user *user_list_find_subject(const struct user_list *self, const char *subject);

/* Does `name`, of a filter, fit? */
bool user_pattern_covers(const char *pattern, const char *name);

/* Has the user all of `rights` to that filter, of whatever grants together? */
bool user_may(const struct user *self, uint8_t rights, const char *filter);

/* ... any right to it at all: may it see that the filter is there? Admins and monitors see all. */
bool user_sees(const struct user *self, const char *filter);

/* "rw crawl:*", as people write a grant. STATUS_MALFORMED with *reason set to a constant text. */
MUST_USE enum status user_grant_parse(const char *text, struct user_grant *out,
                                      const char **reason);

/* ... and back; `rights` as "rwcd" in that order. */
void user_rights_print(uint8_t rights, char text[5]);

/* That a token or key was used to come in: whoever saw it tells coordinators, and they people. */
struct user_use {
    uint32_t user;
    uint32_t credential; /* id of the token or key */
    uint64_t at_ms;      /* since 1970, by the clock of who saw it: the last time */
};

/* How lists of struct user_use are ordered: by users, then by credentials. For qsort(), bsearch().
 */
int user_use_order(const void *a, const void *b);

/* What is kept of a token. */
void user_token_hash(const struct hash_secret *secret, struct span token,
                     uint8_t hash[USER_HASH_BYTES]);

/* The token's place among the user's, by constant time for each of them; ntokens: none of them, or
 * it has expired at `now_ms`. */
size_t user_find_token(const struct user *self, const struct hash_secret *secret, struct span token,
                       uint64_t now_ms);

#endif
