/* What it takes to be allowed a command, and what is said to those who lack it. The table of
 * commands has what each needs; subcommands that need something else are told here.
 *
 * A word that can't be a filter's name is nobody's to refuse: the command will find nothing. */
#include "router/resp/command.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A filter's name that no filter has: only patterns of all filters cover it. */
#define ANY_NAME "*"

/* Of a command whose second or third word says more. */
struct refinement {
    const char *command;
    const char *word;
    uint32_t at; /* where the word stands */
    uint8_t need;
};

static const struct refinement refinements[] = {
    {"acl", "list", 1, NEED_ADMIN},        {"acl", "users", 1, NEED_ADMIN},
    {"client", "kill", 1, NEED_ADMIN},     {"client", "list", 1, NEED_ADMIN},
    {"bf.rebuild", "feed", 2, USER_WRITE},
};

static const struct refinement *refine(const struct command *command, const struct span *arguments,
                                       uint32_t count)
{
    for (size_t i = 0; i < sizeof refinements / sizeof refinements[0]; i++) {
        const struct refinement *one = &refinements[i];

        if (strcmp(one->command, command->name) == 0 && one->at < count &&
            command_word(arguments[one->at], one->word)) {
            return one;
        }
    }
    return NULL;
}

/* Of any filter at all? */
static bool has_somewhere(const struct user *user, uint8_t rights)
{
    uint8_t all = 0;

    for (size_t i = 0; i < user->ngrants; i++) {
        all |= user->grants[i].rights;
    }
    return user->role == USER_CLIENT && (rights & ~all) == 0;
}

static bool may_touch(const struct user *user, uint8_t need, struct span word)
{
    char name[DOCUMENT_NAME_BYTES];

    if (!argument_name(word, name)) {
        return true;
    }
    return (need & NEED_SIGHT) != 0 ? user_sees(user, name) : user_may(user, need, name);
}

static bool may_touch_all(const struct user *user, const struct command *command, uint8_t need,
                          const struct span *arguments, uint32_t count)
{
    int last = command->keys.last < 0 ? (int)count + command->keys.last : command->keys.last;

    if ((need & NEED_ALL) != 0) {
        return user_may(user, need & USER_ALL_RIGHTS, ANY_NAME);
    }
    if (command->keys.first == 0) { /* It names a filter, or asks about what there is. */
        return count < 2 || may_touch(user, need, arguments[1]);
    }
    for (int i = command->keys.first; i <= last && i < (int)count; i += command->keys.step) {
        if (!may_touch(user, need, arguments[i])) {
            return false;
        }
    }
    return true;
}

static const char *refuse_command(struct front *self, const struct user *user, const char *command,
                                  const char *word, char room[FRONT_MESSAGE_BYTES])
{
    front_count(self, FRONT_resp_forbidden_total);
    (void)snprintf(room, FRONT_MESSAGE_BYTES,
                   "NOPERM User %s has no permissions to run the '%s%s%s' command", user->name,
                   command, word[0] != '\0' ? "|" : "", word);
    return room;
}

static const char *refuse_key(struct front *self)
{
    front_count(self, FRONT_resp_forbidden_total);
    return "NOPERM No permissions to access a key";
}

const char *rights_refuse(struct front *self, const struct session *session,
                          const struct command *command, const struct span *arguments,
                          uint32_t count, char room[FRONT_MESSAGE_BYTES])
{
    const struct user *user = session->who;
    const struct refinement *refined;
    uint8_t need;

    if (user == NULL || user->role == USER_ADMIN) {
        return NULL;
    }
    refined = refine(command, arguments, count);
    need = refined != NULL ? refined->need : command->need;
    if (need == NEED_NOTHING) {
        return NULL;
    }
    if ((need & NEED_ADMIN) != 0 ||
        ((need & NEED_SIGHT) == 0 && !has_somewhere(user, need & USER_ALL_RIGHTS))) {
        const char *word = refined != NULL && refined->at == 1 ? refined->word : "";

        return refuse_command(self, user, command->name, word, room);
    }
    return may_touch_all(user, command, need, arguments, count) ? NULL : refuse_key(self);
}

const char *rights_refuse_others(struct front *self, const struct session *session,
                                 const char *command, char room[FRONT_MESSAGE_BYTES])
{
    const struct user *user = session->who;

    return user == NULL || user->role == USER_ADMIN ? NULL
                                                    : refuse_command(self, user, command, "", room);
}

void rights_limit_make(const struct session *session, struct gather_kind *kind)
{
    const struct user *user = session->who;

    assert(kind->operation == OPERATION_ADD);
    if (user == NULL || kind->make == MAKE_NEVER) {
        return;
    }
    if (user->create && user_may(user, USER_CREATE, kind->name)) {
        kind->user = user->id;
    } else {
        kind->make = MAKE_DENIED;
    }
}
