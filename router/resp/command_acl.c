/* ACL: the one user that there is, told as Redis tells its own of that name. Its password comes
 * from a file, and neither it nor its hash is told. */
#include "router/resp/command.h"

#define KEYS_ALLOWED     "~*"
#define CHANNELS_ALLOWED "&*"
#define COMMANDS_ALLOWED "+@all"
#define ALLOWED          "sanitize-payload " KEYS_ALLOWED " " CHANNELS_ALLOWED " " COMMANDS_ALLOWED
#define HIDDEN           "hidden"

#define CHANGE_MESSAGE                                                                            \
    "ERR the only user is 'default', and its password is the line of the file that the router's " \
    "option resp_password_file names: write another one there and send the router SIGHUP"

static COMMAND(acl_whoami)
{
    (void)arguments;
    (void)count;
    return answer_text(self, session, FRONT_USER);
}

static enum taken answer_one_text(struct front *self, struct session *session, const char *text)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    if (call != NULL) {
        resp_array(&writer, 1);
        resp_text(&writer, text);
        call_end(self, call, &writer);
    }
    return TAKEN_DONE;
}

static COMMAND(acl_users)
{
    (void)arguments;
    (void)count;
    return answer_one_text(self, session, FRONT_USER);
}

static COMMAND(acl_list)
{
    (void)arguments;
    (void)count;
    return answer_one_text(self, session,
                           self->config.guarded ? "user " FRONT_USER " on #" HIDDEN " " ALLOWED
                                                : "user " FRONT_USER " on nopass " ALLOWED);
}

static void write_user(struct resp_writer *writer, bool guarded)
{
    resp_map(writer, 6);
    resp_text(writer, "flags");
    resp_set(writer, guarded ? 2 : 3);
    resp_text(writer, "on");
    if (!guarded) {
        resp_text(writer, "nopass");
    }
    resp_text(writer, "sanitize-payload");
    resp_text(writer, "passwords");
    resp_array(writer, guarded ? 1 : 0);
    if (guarded) {
        resp_text(writer, HIDDEN);
    }
    resp_text(writer, "commands");
    resp_text(writer, COMMANDS_ALLOWED);
    resp_text(writer, "keys");
    resp_text(writer, KEYS_ALLOWED);
    resp_text(writer, "channels");
    resp_text(writer, CHANNELS_ALLOWED);
    resp_text(writer, "selectors");
    resp_array(writer, 0);
}

static COMMAND(acl_getuser)
{
    struct resp_writer writer;
    struct call *call = call_now(self, session, &writer);

    (void)count;
    if (call == NULL) {
        return TAKEN_DONE;
    }
    if (span_equal(arguments[2], span_text(FRONT_USER))) {
        write_user(&writer, self->config.guarded);
    } else {
        resp_null(&writer);
    }
    call_end(self, call, &writer);
    return TAKEN_DONE;
}

static COMMAND(acl_change)
{
    (void)arguments;
    (void)count;
    return answer_error(self, session, CHANGE_MESSAGE);
}

COMMAND(acl)
{
    static const struct subcommand subcommands[] = {
        {"deluser", -3, command_acl_change, "", NULL}, /* errors, which say what to do instead */
        {"getuser", 3, command_acl_getuser, " <username>",
         "What the user may do; null: no such user"},
        {"list", 2, command_acl_list, "", "All users, a line each: there is one"},
        {"setuser", -3, command_acl_change, "", NULL},
        {"users", 2, command_acl_users, "", "Their names"},
        {"whoami", 2, command_acl_whoami, "", "Tell which user this connection is"},
    };

    return SUBCOMMAND_RUN(subcommands);
}
