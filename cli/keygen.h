/* keygen.h - making a cluster key, or the key of a site's links, for `orbloom keygen` and the
 * playground.
 *
 * Errors:  STATUS_IO; errno tells (EEXIST: the file is there and stays as it is).
 */
#ifndef ORBLOOM_CLI_KEYGEN_H
#define ORBLOOM_CLI_KEYGEN_H

#include "base/curve.h"
#include "base/status.h"

#include <stdbool.h>

enum { KEYGEN_TEXT_BYTES = 2 * 32 + 1 }; /* digits and a line end */

/* A line of a key file; false: the kernel gives no random bytes. Whoever has it wipes it. */
MUST_USE bool keygen_draw(char text[KEYGEN_TEXT_BYTES + 1]);

/* A new file of mode 600 with 32 random bytes in hexadecimal. */
MUST_USE enum status keygen_write(const char *path);

/* The same of a site: map/site_key.h says what it looks like. */
MUST_USE enum status keygen_write_site(const char *path);

/* The pair in such a file of a site, to be wiped. Not OK: what is wrong was printed. */
MUST_USE enum status keygen_read_site(const char *path, struct curve_pair *pair);

#endif
