/* Who may do anything at all: there is one user, with one password or none. */
#include "router/resp/command.h"

#define WRONG_MESSAGE "WRONGPASS invalid username-password pair or user is disabled."

/* Without a password any will do, as in Redis. */
const char *auth_give(struct front *self, struct session *session, struct span user,
                      struct span password)
{
    bool right = !self->config.guarded || password_matches(&self->config.password, password);

    if (!right || !command_word(user, FRONT_USER)) {
        front_count(self, FRONT_resp_wrong_passwords_total);
        log_limited(&self->stranger_limit, self->now_us, LOG_WARN,
                    "RESP client %s gives a wrong user or password", session->peer);
        return WRONG_MESSAGE;
    }
    session_welcome(self, session);
    return NULL;
}

COMMAND(auth)
{
    const char *error;

    if (count > 3) {
        return answer_error(self, session, SYNTAX_MESSAGE);
    }
    if (count == 2 && !self->config.guarded) {
        return answer_error(self, session,
                            "ERR AUTH <password> called without any password configured for the "
                            "default user. Are you sure your configuration is correct?");
    }
    error = auth_give(self, session, count == 3 ? arguments[1] : span_text(FRONT_USER),
                      arguments[count - 1]);
    return error == NULL ? answer_ok(self, session) : answer_error(self, session, error);
}
