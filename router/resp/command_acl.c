/* ACL: the users that there are, told as Redis tells its own. Of tokens and passwords neither they
 * nor their hashes are told. Rights are put into Redis' words as far as it has any: r and w are
 * rights to keys, and which commands there are follows from all grants together; exactly what was
 * granted is under "grants", which is ours. */
#include "router/resp/command.h"

#include <stdio.h>
#include <string.h>

#define KEYS_ALLOWED     "~*"
#define CHANNELS_ALLOWED "&*"
#define COMMANDS_ALLOWED "+@all"
#define ALLOWED          "sanitize-payload " KEYS_ALLOWED " " CHANNELS_ALLOWED " " COMMANDS_ALLOWED
#define HIDDEN           "hidden"

#define CHANGE_MESSAGE                                                                           \
    "ERR users are made and changed by `orbloom user` (create, delete, apply, token), at a "     \
    "coordinator, which keeps them; the password of 'default' is the line of the file that the " \
    "router's option resp_password_file names: write another one there and send the router "     \
    "SIGHUP"

enum { GRANT_BYTES = USER_PATTERN_BYTES + 8, WORDS_BYTES = USER_MAX_GRANTS * GRANT_BYTES };

/* Words with spaces between; what does not fit is left out. */
struct words {
    char text[WORDS_BYTES];
    size_t size;
};

static void say(struct words *self, const char *first, const char *second)
{
    int put = snprintf(self->text + self->size, sizeof self->text - self->size, "%s%s%s",
                       self->size > 0 ? " " : "", first, second);
    size_t left = sizeof self->text - self->size;

    self->size += put > 0 && (size_t)put < left ? (size_t)put : 0;
    self->text[self->size] = '\0';
}

/* ---- a user in Redis' words ---- */

static void say_keys(struct words *words, const struct user *user)
{
    for (size_t i = 0; user->role == USER_CLIENT && i < user->ngrants; i++) {
        const struct user_grant *grant = &user->grants[i];
        bool reads = (grant->rights & USER_READ) != 0;
        bool writes = (grant->rights & USER_WRITE) != 0;

        if (reads || writes) {
            say(words, reads && writes ? "~" : reads ? "%R~" : "%W~", grant->pattern);
        }
    }
    if (user->role == USER_ADMIN) {
        say(words, KEYS_ALLOWED, "");
    }
}

static void say_commands(struct words *words, const struct user *user)
{
    static const struct {
        uint8_t right;
        const char *category;
    } categories[] = {{USER_READ, "+@read"},
                      {USER_WRITE, "+@write"},
                      {USER_CREATE, "+@keyspace"},
                      {USER_DUMP, "+bf.scandump"}};
    uint8_t rights = 0;

    if (user->role == USER_ADMIN) {
        say(words, COMMANDS_ALLOWED, "");
        return;
    }
    for (size_t i = 0; user->role == USER_CLIENT && i < user->ngrants; i++) {
        rights |= user->grants[i].rights;
    }
    say(words, "-@all +@connection", "");
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
        if ((rights & categories[i].right) != 0) {
            say(words, categories[i].category, "");
        }
    }
}

static void write_line(struct resp_writer *writer, const struct front *self,
                       const struct user *user)
{
    struct words line = {.size = 0};

    say(&line, "user ", user->name);
    say(&line, "on", "");
    if (front_lets_in(self, user)) {
        say(&line, "nopass", "");
    }
    for (size_t i = 0; i < user->ntokens; i++) {
        say(&line, "#" HIDDEN, "");
    }
    say(&line, "sanitize-payload", "");
    say_keys(&line, user);
    say(&line, CHANNELS_ALLOWED, "");
    say_commands(&line, user);
    resp_text(writer, line.text);
}

static void write_grants(struct resp_writer *writer, const struct user *user)
{
    resp_array(writer, user->ngrants);
    for (size_t i = 0; i < user->ngrants; i++) {
        char text[GRANT_BYTES];
        char rights[5];

        user_rights_print(user->grants[i].rights, rights);
        (void)snprintf(text, sizeof text, "%s %s", rights, user->grants[i].pattern);
        resp_text(writer, text);
    }
}

static void write_secrets(struct resp_writer *writer, bool free, size_t count)
{
    resp_text(writer, "flags");
    resp_set(writer, free ? 3 : 2);
    resp_text(writer, "on");
    if (free) {
        resp_text(writer, "nopass");
    }
    resp_text(writer, "sanitize-payload");
    resp_text(writer, "passwords");
    resp_array(writer, count);
    for (size_t i = 0; i < count; i++) {
        resp_text(writer, HIDDEN);
    }
}

static void write_allowed(struct resp_writer *writer, const char *commands, const char *keys)
{
    resp_text(writer, "commands");
    resp_text(writer, commands);
    resp_text(writer, "keys");
    resp_text(writer, keys);
    resp_text(writer, "channels");
    resp_text(writer, CHANNELS_ALLOWED);
    resp_text(writer, "selectors");
    resp_array(writer, 0);
}

static void write_user(struct resp_writer *writer, const struct front *self,
                       const struct user *user)
{
    struct words commands = {.size = 0};
    struct words keys = {.size = 0};

    say_commands(&commands, user);
    say_keys(&keys, user);
    resp_map(writer, 8);
    write_secrets(writer, front_lets_in(self, user), user->ntokens);
    write_allowed(writer, commands.text, keys.text);
    resp_text(writer, "role");
    resp_text(writer, user_role_name(user->role));
    resp_text(writer, "grants");
    write_grants(writer, user);
}

/* ---- the one of the password, who is in no record ---- */

static bool is_in_record(const struct front *self)
{
    return user_list_find(&self->users, USER_DEFAULT) != NULL;
}

/* With users, one without a password is nobody. */
static bool is_there(const struct front *self)
{
    return !is_in_record(self) && (self->config.guarded || self->users.count == 0);
}

static void write_default(struct resp_writer *writer, bool guarded)
{
    resp_map(writer, 6);
    write_secrets(writer, !guarded, guarded ? 1 : 0);
    write_allowed(writer, COMMANDS_ALLOWED, KEYS_ALLOWED);
}

/* ---- ACL ---- */

static COMMAND(acl_whoami)
{
    (void)arguments;
    (void)count;
    return answer_text(self, session, session_user(session));
}

static COMMAND(acl_users)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    (void)arguments;
    (void)count;
    if (call == NULL) {
        return TAKEN_DONE;
    }
    resp_array(&writer, self->users.count + is_there(self));
    if (is_there(self)) {
        resp_text(&writer, USER_DEFAULT);
    }
    for (size_t i = 0; i < self->users.count; i++) {
        resp_text(&writer, self->users.users[i].name);
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static COMMAND(acl_list)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    (void)arguments;
    (void)count;
    if (call == NULL) {
        return TAKEN_DONE;
    }
    resp_array(&writer, self->users.count + is_there(self));
    if (is_there(self)) {
        resp_text(&writer, self->config.guarded ? "user " USER_DEFAULT " on #" HIDDEN " " ALLOWED
                                                : "user " USER_DEFAULT " on nopass " ALLOWED);
    }
    for (size_t i = 0; i < self->users.count; i++) {
        write_line(&writer, self, &self->users.users[i]);
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

/* Of others only admins are told. */
static COMMAND(acl_getuser)
{
    const struct user *user = users_find(self, arguments[2]);
    bool own = span_equal(arguments[2], span_text(session_user(session)));
    char room[FRONT_MESSAGE_BYTES];
    const char *error = own ? NULL : rights_refuse_others(self, session, "acl|getuser", room);
    struct resp_writer writer;
    struct call *call;

    (void)count;
    if (error != NULL) {
        return answer_error(self, session, error);
    }
    call = call_now(self, session, &writer);
    if (call == NULL) {
        return TAKEN_DONE;
    }
    if (user != NULL) {
        write_user(&writer, self, user);
    } else if (is_there(self) && span_equal(arguments[2], span_text(USER_DEFAULT))) {
        write_default(&writer, self->config.guarded);
    } else {
        resp_null(&writer);
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

/* ---- ACL CAT ---- */

static enum taken tell_categories(struct front *self, struct session *session)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);
    size_t count = 0;

    if (call == NULL) {
        return TAKEN_DONE;
    }
    while (category_name(count) != NULL) {
        count++;
    }
    resp_array(&writer, count);
    for (size_t i = 0; i < count; i++) {
        resp_text(&writer, category_name(i));
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static enum taken tell_commands_of(struct front *self, struct session *session, size_t category)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);
    size_t count;
    const struct command *table = command_table(&count);
    size_t told = 0;

    if (call == NULL) {
        return TAKEN_DONE;
    }
    for (size_t i = 0; i < count; i++) {
        told += category_has(category, &table[i]);
    }
    resp_array(&writer, told);
    for (size_t i = 0; i < count; i++) {
        if (category_has(category, &table[i])) {
            resp_text(&writer, table[i].name);
        }
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static COMMAND(acl_cat)
{
    char text[FRONT_MESSAGE_BYTES];
    size_t category;

    if (count == 2) {
        return tell_categories(self, session);
    }
    if (count > 3) {
        return answer_error(self, session,
                            "ERR unknown subcommand or wrong number of arguments for 'CAT'. Try "
                            "ACL HELP.");
    }
    category = category_find(arguments[2]);
    if (category_name(category) != NULL) {
        return tell_commands_of(self, session, category);
    }
    (void)snprintf(text, sizeof text, "ERR Unknown category '%.*s'",
                   arguments[2].size < 128 ? (int)arguments[2].size : 128,
                   (const char *)arguments[2].data);
    return answer_error(self, session, text);
}

/* ---- ACL, all of it ---- */

static COMMAND(acl_change)
{
    (void)arguments;
    (void)count;
    return answer_error(self, session, CHANGE_MESSAGE);
}

COMMAND(acl)
{
    static const struct subcommand subcommands[] = {
        {"cat", -2, command_acl_cat, " [<category>]",
         "The categories of commands, or the commands of one"},
        {"deluser", -3, command_acl_change, "", NULL}, /* errors, which say what to do instead */
        {"getuser", 3, command_acl_getuser, " <username>",
         "What the user may do; null: no such user"},
        {"list", 2, command_acl_list, "", "All users, a line each"},
        {"load", 2, command_acl_change, "", NULL},
        {"save", 2, command_acl_change, "", NULL},
        {"setuser", -3, command_acl_change, "", NULL},
        {"users", 2, command_acl_users, "", "Their names"},
        {"whoami", 2, command_acl_whoami, "", "Tell which user this connection is"},
    };

    return SUBCOMMAND_RUN(subcommands);
}
