/* passphrase.h - a passphrase in a file, and the key that is made of it for one backup.
 *
 * Errors:  printed; the status is returned.
 * Owner:   passphrase_wipe() what was read, and wipe keys.
 * Threads: the main thread.
 */
#ifndef ORBLOOM_CLI_BACKUP_PASSPHRASE_H
#define ORBLOOM_CLI_BACKUP_PASSPHRASE_H

#include "backup/digest.h"

enum { PASSPHRASE_MIN_BYTES = 12, PASSPHRASE_MAX_BYTES = 512 };

struct passphrase {
    uint8_t bytes[PASSPHRASE_MAX_BYTES];
    size_t size;
};

/* The one line of a file of mode 600. */
MUST_USE enum status passphrase_read(const char *path, struct passphrase *out);
void passphrase_wipe(struct passphrase *self);

/* Takes a while, on purpose. */
MUST_USE enum status passphrase_key(const struct passphrase *self, const struct backup_head *head,
                                    struct backup_key *key);

#endif
