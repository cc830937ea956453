/* credentials.h - credential files, for commands that make them and write them anew.
 *
 * Errors:  printed; exit codes are returned.
 * Owner:   whoever has filled in a struct credential wipes it.
 * Threads: none.
 */
#ifndef ORBLOOM_CLI_USERS_CREDENTIALS_H
#define ORBLOOM_CLI_USERS_CREDENTIALS_H

#include "cli/flags.h"
#include "map/access/credential.h"
#include "proto/admin_message.h"

/* What an operator is who holds the cluster key: it comes as a coordinator does, by the keys of the
 * ring in that file. */
int credentials_of_key(const char *key_file, struct credential *out);

/* A file that is about to be made. */
struct credential_draft {
    const char *path;
    struct credential credential;
    bool written;
};

/* Draw a pair, and get the public keys of processes: of common->held, else of a coordinator. */
int credentials_make(struct credential_draft *self, const struct flags_common *common);

/* That the user of this name is to have the key. */
struct user_wish credentials_wish(const struct credential_draft *self, const char *name,
                                  uint64_t expires_ms);

/* Write the file, unless it was: before the user has the key, as it would be lost otherwise. */
int credentials_put(struct credential_draft *self, const char *name, enum user_role role);

/* Wipe it. `has`: the user has the key; `unsure`: maybe, so its file stays; else that goes. */
void credentials_end(struct credential_draft *self, bool has, bool unsure);

/* Bring the public keys in the file up to date, as its own user, or by common->held. */
int credentials_renew(const struct flags_common *common, const char *path);

#endif
