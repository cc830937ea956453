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

bool rights_matter(const struct command *command, const struct span *arguments, uint32_t count)
{
    const struct refinement *refined = refine(command, arguments, count);
    uint8_t need = refined != NULL ? refined->need : command->need;
    bool names = strcmp(command->name, "cluster") == 0 && count > 2 &&
                 (command_word(arguments[1], "getkeysinslot") ||
                  command_word(arguments[1], "countkeysinslot"));
    bool tells_who = strcmp(command->name, "acl") == 0 && count > 1 &&
                     (command_word(arguments[1], "whoami") ||
                      command_word(arguments[1], "getuser"));

    return names || tells_who || (command->flags & (COMMAND_READS | COMMAND_WRITES)) != 0 ||
           (need & NEED_ADMIN) != 0;
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

/* The first one that the user may not touch; nothing: it may touch all of them. */
static struct span forbidden(const struct user *user, const struct command *command, uint8_t need,
                             const struct span *arguments, uint32_t count)
{
    const struct span none = span_of(NULL, 0);
    int last = command->keys.last < 0 ? (int)count + command->keys.last : command->keys.last;

    if ((need & NEED_ALL) != 0) {
        return user_may(user, need & USER_ALL_RIGHTS, ANY_NAME) ? none : span_text(ANY_NAME);
    }
    if (command->keys.first == 0) { /* It names a filter, or asks about what there is. */
        return count < 2 || may_touch(user, need, arguments[1]) ? none : arguments[1];
    }
    for (int i = command->keys.first; i <= last && i < (int)count; i += command->keys.step) {
        if (!may_touch(user, need, arguments[i])) {
            return arguments[i];
        }
    }
    return none;
}

static void note(struct front *self, const struct session *session, const char *command,
                 struct span filter)
{
    const struct refusal refusal = {.action = "command",
                                    .user = span_text(session_user(session)),
                                    .command = command,
                                    .filter = filter,
                                    .outcome = "NOPERM"};

    front_count(self, FRONT_resp_forbidden_total);
    audit_refusal(self, session, &refusal);
}

/* "acl|list", as Redis calls it. */
static const char *refuse_command(struct front *self, const struct session *session,
                                  const char *command, const char *word,
                                  char room[FRONT_MESSAGE_BYTES])
{
    char name[FRONT_LABEL_BYTES];

    (void)snprintf(name, sizeof name, "%s%s%s", command, word[0] != '\0' ? "|" : "", word);
    note(self, session, name, span_of(NULL, 0));
    (void)snprintf(room, FRONT_MESSAGE_BYTES,
                   "NOPERM User %s has no permissions to run the '%s' command",
                   session_user(session), name);
    return room;
}

static const char *refuse_key(struct front *self, const struct session *session,
                              const struct command *command, struct span filter)
{
    note(self, session, command->name, filter);
    return "NOPERM No permissions to access a key";
}

const char *rights_refuse(struct front *self, const struct session *session,
                          const struct command *command, const struct span *arguments,
                          uint32_t count, char room[FRONT_MESSAGE_BYTES])
{
    const struct user *user = session->who;
    const struct refinement *refined;
    struct span filter;
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

        return refuse_command(self, session, command->name, word, room);
    }
    filter = forbidden(user, command, need, arguments, count);
    return filter.size == 0 ? NULL : refuse_key(self, session, command, filter);
}

const char *rights_refuse_others(struct front *self, const struct session *session,
                                 const char *command, char room[FRONT_MESSAGE_BYTES])
{
    const struct user *user = session->who;

    return user == NULL || user->role == USER_ADMIN
               ? NULL
               : refuse_command(self, session, command, "", room);
}

void rights_note_denied(struct front *self, const struct gather *gather)
{
    const struct session *session = gather->first != NULL ? gather->first->session : NULL;

    if (session != NULL) {
        assert(gather->first->command != NULL);
        note(self, session, gather->first->command->name, span_text(gather->kind.name));
    } else {
        front_count(self, FRONT_resp_forbidden_total);
    }
}

void rights_limit_make(const struct session *session, struct gather_kind *kind)
{
    const struct user *user = session->who;

    assert(kind->operation == OPERATION_ADD);
    if (user == NULL || kind->make == MAKE_NEVER) {
        return;
    }
    if (!user_may(user, USER_CREATE, kind->name)) {
        kind->make = MAKE_DENIED;
    } else if (!user->create) {
        kind->make = MAKE_OFF;
    }
}
