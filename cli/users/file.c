/* One table says what a user may have; the file's fields and the flags of `user create` go by it.
 */
#include "cli/users/file.h"

#include "base/heap.h"
#include "base/number.h"
#include "cli/cmd.h"
#include "map/access/subject.h"
#include "runtime/options/group_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)USER_REASON_BYTES == (int)GROUP_REASON_BYTES, "one is the other's");

static enum status refuse(char *reason, const char *name, const char *text, const char *form)
{
    (void)snprintf(reason, USER_REASON_BYTES, "%.40s cannot be \"%.80s\"; give %.200s", name, text,
                   form);
    return STATUS_INVALID;
}

/* ---- what a user may have ---- */

static enum status set_name(struct user *user, const char *text, char *reason)
{
    if (!user_name_valid(text)) {
        return refuse(reason, "name", text, "1 to 64 letters, digits, '.', '_', ':' or '-'");
    }
    (void)snprintf(user->name, sizeof user->name, "%s", text);
    return STATUS_OK;
}

static enum status set_role(struct user *user, const char *text, char *reason)
{
    if (user_role_parse(text, &user->role)) {
        return STATUS_OK;
    }
    return refuse(reason, "role", text, "client, monitor or admin");
}

static enum status set_rights(struct user *user, const char *text, char *reason)
{
    struct user_grant *grown;
    struct user_grant grant;
    const char *why = NULL;

    if (user_grant_parse(text, &grant, &why) != STATUS_OK) {
        (void)snprintf(reason, USER_REASON_BYTES, "\"%.160s\" is no grant: %s", text, why);
        return STATUS_INVALID;
    }
    if (user->ngrants >= USER_MAX_GRANTS) {
        return refuse(reason, "rights", text, "at most 64 of them");
    }
    grown = heap_realloc(user->grants, user->ngrants + 1, sizeof *grown);
    if (grown == NULL) {
        return STATUS_NOMEM;
    }
    user->grants = grown;
    grown[user->ngrants++] = grant;
    return STATUS_OK;
}

static enum status set_create(struct user *user, const char *text, char *reason)
{
    user->create = strcmp(text, "on") == 0;
    return user->create || strcmp(text, "off") == 0 ? STATUS_OK
                                                    : refuse(reason, "create", text, "on or off");
}

static enum status set_subject(struct user *user, const char *text, char *reason)
{
    const char *fault = strlen(text) < sizeof user->subject ? subject_fault(text)
                                                            : "it has more than 255 bytes";

    if (fault != NULL) {
        (void)snprintf(
            reason, USER_REASON_BYTES,
            "no certificate has the tls_subject \"%.80s\": %s. Give what this prints: "
            "openssl x509 -in FILE -noout -subject -nameopt RFC2253, without \"subject=\"",
            text, fault);
        return STATUS_INVALID;
    }
    (void)snprintf(user->subject, sizeof user->subject, "%s", text);
    return STATUS_OK;
}

static enum status set_limit(const char *name, const char *text, uint64_t most, uint64_t *out,
                             char *reason)
{
    uint64_t value;

    if (number_parse_count(text, &value) != STATUS_OK || value == 0 || value > most) {
        return refuse(reason, name, text, "a whole number from 1 on, such as 500, 2M or 8GiB");
    }
    *out = value;
    return STATUS_OK;
}

static enum status set_keys(struct user *user, const char *text, char *reason)
{
    return set_limit("keys_per_s", text, UINT64_MAX, &user->limits.keys_per_s, reason);
}

static enum status set_filters(struct user *user, const char *text, char *reason)
{
    return set_limit("filters", text, UINT64_MAX, &user->limits.filters, reason);
}

static enum status set_bytes(struct user *user, const char *text, char *reason)
{
    return set_limit("bytes", text, UINT64_MAX, &user->limits.bytes, reason);
}

static enum status set_connections(struct user *user, const char *text, char *reason)
{
    uint64_t value = 0;
    enum status status = set_limit("connections", text, UINT32_MAX, &value, reason);

    user->limits.connections = (uint32_t)value;
    return status;
}

static enum status set_in_flight(struct user *user, const char *text, char *reason)
{
    return set_limit("in_flight", text, UINT64_MAX, &user->limits.in_flight, reason);
}

static const struct setting {
    const char *name;
    enum status (*set)(struct user *user, const char *text, char *reason);
    bool quoted; /* it must be a text in a file: a number would be taken for one */
} settings[] = {
    {"name", set_name, true},
    {"role", set_role, true},
    {"rights", set_rights, true},
    {"create", set_create, false},
    {"tls_subject", set_subject, true},
    {"limits.keys_per_s", set_keys, false},
    {"limits.filters", set_filters, false},
    {"limits.bytes", set_bytes, false},
    {"limits.connections", set_connections, false},
    {"limits.in_flight", set_in_flight, false},
};

/* NULL: there is none, and `reason` says which there are. */
static const struct setting *find_setting(const char *name, char *reason)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (strcmp(settings[i].name, name) == 0) {
            return &settings[i];
        }
    }
    (void)snprintf(
        reason, USER_REASON_BYTES,
        "a user has no \"%.60s\": name, role, rights, create, tls_subject, and in limits "
        "keys_per_s, filters, bytes, connections, in_flight",
        name);
    return NULL;
}

enum status user_file_set(struct user *user, const char *name, const char *text, char *reason)
{
    const struct setting *setting = find_setting(name, reason);

    return setting != NULL ? setting->set(user, text, reason) : STATUS_INVALID;
}

/* ---- the file ---- */

static enum status begin(void *context, char *reason)
{
    struct user_list *list = context;
    struct user *grown;

    if (list->count >= USER_MAX) {
        (void)snprintf(reason, USER_REASON_BYTES, "there are more users than %d", USER_MAX);
        return STATUS_TOO_LARGE;
    }
    grown = heap_realloc(list->users, list->count + 1, sizeof *grown);
    if (grown == NULL) {
        return STATUS_NOMEM;
    }
    list->users = grown;
    grown[list->count++] = (struct user){.role = USER_CLIENT};
    return STATUS_OK;
}

static enum status field(void *context, const char *name, const struct group_value *value,
                         char *reason)
{
    const struct setting *setting = find_setting(name, reason);
    struct user_list *list = context;

    if (setting == NULL) {
        return STATUS_INVALID;
    }
    if (setting->quoted && !value->quoted) {
        (void)snprintf(reason, USER_REASON_BYTES, "%s must be a text: put it in quotes", name);
        return STATUS_INVALID;
    }
    return setting->set(&list->users[list->count - 1], value->text, reason);
}

static enum status end(void *context, char *reason)
{
    const struct user_list *list = context;
    const struct user *last = &list->users[list->count - 1];

    if (last->name[0] == '\0') {
        (void)snprintf(reason, USER_REASON_BYTES, "a user has no name; give name = \"...\"");
        return STATUS_INVALID;
    }
    for (size_t i = 0; i + 1 < list->count; i++) {
        const struct user *other = &list->users[i];

        if (strcmp(other->name, last->name) == 0) {
            (void)snprintf(reason, USER_REASON_BYTES, "user %s is there twice", last->name);
            return STATUS_INVALID;
        }
        if (last->subject[0] != '\0' && strcmp(other->subject, last->subject) == 0) {
            (void)snprintf(reason, USER_REASON_BYTES,
                           "user %s has the tls_subject of user %s; a subject names one user",
                           last->name, other->name);
            return STATUS_INVALID;
        }
    }
    return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct user *)a)->name, ((const struct user *)b)->name);
}

enum status user_file_read(const char *path, struct user_list *out)
{
    const struct group_reader reader = {.context = out, .begin = begin, .field = field, .end = end};
    char reason[GROUP_REASON_BYTES] = "";
    enum status status;

    *out = (struct user_list){0};
    status = group_file_read(path, "users", &reader, reason);
    if (status != STATUS_OK) {
        user_list_fini(out);
        (void)cmd_fail(status, "%s",
                       status == STATUS_NOMEM ? status_meaning(status) : (const char *)reason);
        return status;
    }
    if (out->count > 0) {
        qsort(out->users, out->count, sizeof *out->users, by_name);
    }
    return STATUS_OK;
}
