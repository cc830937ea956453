/* A token: the first line of a secret file, or drawn; then it is told once. */
#include "cli/users/token.h"

#include "cli/cmd.h"
#include "cli/keygen.h"
#include "cli/secret_file.h"

#include <stdio.h>
#include <string.h>

/* file_parse_fn: the first line, without its end. */
static enum status take_token(void *context, struct span content, char *reason, size_t size)
{
    struct new_token *token = context;
    size_t used = 0;

    while (used < content.size && content.data[used] != '\n' && content.data[used] != '\r') {
        used++;
    }
    if (used < USER_MIN_TOKEN_BYTES || used > USER_MAX_TOKEN_BYTES) {
        (void)snprintf(reason, size, "its first line is not of 16 to 512 bytes");
        return STATUS_MALFORMED;
    }
    memcpy(token->text, content.data, used);
    token->size = used;
    return STATUS_OK;
}

int user_token_make(const char *path, struct new_token *out)
{
    static const struct file_secret secret = {
        .what = "the token file",
        .form = "its first line must be the token, of 16 to 512 bytes",
        .remedy = "make one: (umask 077; openssl rand -hex 32 > FILE)",
    };
    char text[KEYGEN_TEXT_BYTES + 1];

    if (path != NULL) {
        return secret_file_read(&secret, path, take_token, out) == STATUS_OK ? CMD_OK : CMD_PARTIAL;
    }
    if (!keygen_draw(text)) {
        return cmd_fail(STATUS_IO, "no random numbers are to be had from the system");
    }
    out->size = USER_TOKEN_BYTES - 1;
    memcpy(out->text, text, out->size);
    out->drawn = true;
    explicit_bzero(text, sizeof text);
    return CMD_OK;
}

/* Alone on stdout, so that it can be put where it is wanted. */
void user_token_print(const char *name, const struct new_token *token)
{
    if (token->drawn) {
        (void)fprintf(stderr,
                      "the token of %s is shown this once: keep it where only %s reads it\n", name,
                      name);
        (void)printf("%.*s\n", (int)token->size, token->text);
    }
}
