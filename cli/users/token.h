/* token.h - the token that a user is to have.
 *
 * Errors:  a CMD_ code; what was wrong is printed.
 * Owner:   the caller's, to be overwritten once it was used.
 * Threads: any.
 */
#ifndef ORBLOOM_CLI_USERS_TOKEN_H
#define ORBLOOM_CLI_USERS_TOKEN_H

#include "map/access/users.h"

#include <stdbool.h>

struct new_token {
    char text[USER_MAX_TOKEN_BYTES + 1];
    size_t size;
    bool drawn; /* ... and to be printed */
};

/* The first line of the file at `path`, whose mode keeps others out; NULL: one of 256 bits is
 * drawn. */
int user_token_make(const char *path, struct new_token *out);

/* If it was drawn: on stdout, with a word on stderr. */
void user_token_print(const char *name, const struct new_token *token);

#endif
