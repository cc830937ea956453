/* password.h - what a client must know. It is not kept: its hash is, and hashes are compared in
 * constant time.
 *
 * Source:  BLAKE2b (RFC 7693), libsodium. There is no salt, as the hash never leaves the process.
 * Errors:  STATUS_MALFORMED.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_BASE_PASSWORD_H
#define ORBLOOM_BASE_PASSWORD_H

#include "base/span.h"
#include "base/status.h"

#include <stdbool.h>

enum { PASSWORD_HASH_BYTES = 32, PASSWORD_MAX_BYTES = 512 };

struct password {
    uint8_t hash[PASSWORD_HASH_BYTES];
};

/* The one line of a file: 1 to 512 bytes, any but line ends and NUL. `password` is a struct
 * password. */
MUST_USE enum status password_read(void *password, struct span text);

bool password_matches(const struct password *self, struct span attempt);

#endif
