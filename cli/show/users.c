/* A paragraph a user: who, what for, how much, and how it comes in. */
#include "cli/show/users.h"

#include "base/number.h"
#include "map/access/credential.h"
#include "runtime/date.h"

#include <inttypes.h>
#include <string.h>

enum { GRANTS_BYTES = USER_MAX_GRANTS * (USER_PATTERN_BYTES + 8) };

const char *users_show_grants(const struct user *user, char *text, size_t size)
{
    size_t used = 0;

    (void)snprintf(text, size, "%s", user->role == USER_ADMIN ? "everything" : "none");
    for (size_t i = 0; user->role == USER_CLIENT && i < user->ngrants && used < size; i++) {
        char rights[5];

        user_rights_print(user->grants[i].rights, rights);
        used += (size_t)snprintf(text + used, size - used, "%s%s %s", i > 0 ? ", " : "", rights,
                                 user->grants[i].pattern);
    }
    return text;
}

/* ---- text ---- */

static void limit(const char *value, const char *unit, bool *first)
{
    (void)printf("%s%s %s", *first ? "  limits     " : ", ", value, unit);
    *first = false;
}

static void show_limits(const struct user_limits *limits)
{
    char text[NUMBER_TEXT_BYTES];
    bool first = true;

    if (limits->keys_per_s != 0) {
        limit(number_show_count(limits->keys_per_s, text), "keys/s", &first);
    }
    if (limits->filters != 0) {
        limit(number_show_count(limits->filters, text), "filters", &first);
    }
    if (limits->bytes != 0) {
        limit(number_show_bytes(limits->bytes, text), "of arrays", &first);
    }
    if (limits->connections != 0) {
        limit(number_show_count(limits->connections, text), "connections a router", &first);
    }
    if (limits->in_flight != 0) {
        limit(number_show_bytes(limits->in_flight, text), "in flight", &first);
    }
    (void)printf("%s", first ? "" : "\n");
}

static const char *when(uint64_t date_ms, const char *never, char text[DATE_TEXT_BYTES])
{
    return date_ms != 0 ? date_show(date_ms, text) : never;
}

static void show_credential(const struct users_record *record, const struct user *user,
                            const char *kind, uint32_t id, uint64_t created_ms, uint64_t expires_ms)
{
    char created[DATE_TEXT_BYTES];
    char expires[DATE_TEXT_BYTES];
    char seen[DATE_TEXT_BYTES];
    bool over = expires_ms != 0 && expires_ms <= record->now_ms;

    (void)printf("  %-10s id %" PRIu32 ", made %s, %s %s, last seen %s\n", kind, id,
                 when(created_ms, "at no known time", created), over ? "EXPIRED" : "expires",
                 when(expires_ms, "never", expires),
                 when(users_seen_ms(record, user->id, id), "never", seen));
}

static void show_user(const struct users_record *record, const struct user *user)
{
    char grants[GRANTS_BYTES];

    (void)printf("%s: %s, id %" PRIu32 "\n", user->name, user_role_name(user->role), user->id);
    (void)printf("  rights     %s%s\n", users_show_grants(user, grants, sizeof grants),
                 user->create ? "; an add to a missing name makes a filter" : "");
    show_limits(&user->limits);
    if (user->subject[0] != '\0') {
        (void)printf("  tls        %s\n", user->subject);
    }
    for (size_t i = 0; i < user->ntokens; i++) {
        show_credential(record, user, "token", user->tokens[i].id, user->tokens[i].created_ms,
                        user->tokens[i].expires_ms);
    }
    for (size_t i = 0; i < user->nkeys; i++) {
        show_credential(record, user, "key", user->keys[i].id, user->keys[i].created_ms,
                        user->keys[i].expires_ms);
    }
    if (user->ntokens + user->nkeys == 0 && user->subject[0] == '\0') {
        (void)printf("  no token and no key: it can't come in (`orbloom user token %s add`)\n",
                     user->name);
    }
}

void users_show_text(const struct users_record *record)
{
    if (record->list.count == 0) {
        (void)printf(
            "no users: a CURVE port lets in the cluster's processes and who holds the cluster "
            "key, and nobody else; at a plain one whoever reaches it may do everything, "
            "and a Redis client needs the password, if there is one\n");
    }
    for (size_t i = 0; i < record->list.count; i++) {
        show_user(record, &record->list.users[i]);
    }
}

void users_show_keys(const char *title, const struct users_record *record)
{
    char seen[DATE_TEXT_BYTES];

    for (size_t i = 0; i < record->list.count; i++) {
        const struct user *user = &record->list.users[i];

        for (size_t k = 0; k < user->nkeys; k++) {
            const struct user_key *key = &user->keys[k];

            if (key->expires_ms == 0 || key->expires_ms > record->now_ms) {
                (void)fprintf(stderr, "%s  %s: key %" PRIu32 ", last seen %s\n", title, user->name,
                              key->id,
                              when(users_seen_ms(record, user->id, key->id), "never", seen));
                title = "";
            }
        }
    }
}

/* ---- JSON ---- */

static void credential_json(struct json *json, const struct users_record *record,
                            const struct user *user, const char *kind, uint32_t id,
                            uint64_t created_ms, uint64_t expires_ms)
{
    json_begin(json, NULL, '{');
    json_text(json, "kind", kind);
    json_count(json, "id", id);
    json_count(json, "created_ms", created_ms);
    json_count(json, "expires_ms", expires_ms);
    json_bool(json, "expired", expires_ms != 0 && expires_ms <= record->now_ms);
    json_count(json, "seen_ms", users_seen_ms(record, user->id, id));
    json_end(json, '}');
}

static void grants_json(struct json *json, const struct user *user)
{
    json_begin(json, "grants", '[');
    for (size_t i = 0; i < user->ngrants; i++) {
        char rights[5];

        user_rights_print(user->grants[i].rights, rights);
        json_begin(json, NULL, '{');
        json_text(json, "rights", rights);
        json_text(json, "pattern", user->grants[i].pattern);
        json_end(json, '}');
    }
    json_end(json, ']');
}

void users_show_json(struct json *json, const struct users_record *record, const struct user *user)
{
    json_begin(json, NULL, '{');
    json_count(json, "id", user->id);
    json_text(json, "name", user->name);
    json_text(json, "role", user_role_name(user->role));
    json_bool(json, "create", user->create);
    json_text(json, "tls_subject", user->subject);
    grants_json(json, user);
    json_begin(json, "limits", '{');
    json_count(json, "keys_per_s", user->limits.keys_per_s);
    json_count(json, "filters", user->limits.filters);
    json_count(json, "bytes", user->limits.bytes);
    json_count(json, "connections", user->limits.connections);
    json_count(json, "in_flight", user->limits.in_flight);
    json_end(json, '}');
    json_begin(json, "credentials", '[');
    for (size_t i = 0; i < user->ntokens; i++) {
        credential_json(json, record, user, "token", user->tokens[i].id, user->tokens[i].created_ms,
                        user->tokens[i].expires_ms);
    }
    for (size_t i = 0; i < user->nkeys; i++) {
        credential_json(json, record, user, "key", user->keys[i].id, user->keys[i].created_ms,
                        user->keys[i].expires_ms);
    }
    json_end(json, ']');
    json_end(json, '}');
}
