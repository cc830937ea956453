/* credential.h - what an outside client holds in place of the cluster key: a file with its key
 * pair, and the public keys by which it knows the cluster's processes.
 *
 * Lines of a word and a value, in any order; blank ones and those that begin with # are skipped:
 *
 *   orbloom-credential 1
 *   user crawler
 *   role client
 *   public 64 hexadecimal digits
 *   secret 64 hexadecimal digits
 *   router ...        one line for each key of the cluster key's ring, the one that serves first;
 *   node ...          the others are to come, or have been
 *   coordinator ...
 *
 * The role is told for people; what the user may is what the cluster has in its record of users.
 *
 * Shape:   keys are those of Curve25519, as CURVE has them.
 * Errors:  credential_parse: STATUS_MALFORMED, and in `reason` which line it is and what is wrong
 *          with it, without a word of what may be a secret; the output is as before then.
 *          credential_write: STATUS_NOMEM.
 * Owner:   no pointers; credential_wipe() when it is used up, as it holds a secret.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_MAP_ACCESS_CREDENTIAL_H
#define ORBLOOM_MAP_ACCESS_CREDENTIAL_H

#include "base/buffer.h"
#include "map/access/identity.h"

enum { CREDENTIAL_TEXT_BYTES = 4096, CREDENTIAL_REASON_BYTES = 160 };

struct credential {
    char user[USER_NAME_BYTES];
    enum user_role role;
    struct curve_pair pair;
    struct process_keys processes;
};

MUST_USE enum status credential_parse(struct span text, struct credential *out, char *reason,
                                      size_t size);

/* The same for readers of files: `credential` is a struct credential. */
MUST_USE enum status credential_read(void *credential, struct span text, char *reason, size_t size);

/* Append the file's text, with what people should know of it at its head. */
MUST_USE enum status credential_write(const struct credential *self, struct buffer *out);

void credential_wipe(struct credential *self);

#endif
