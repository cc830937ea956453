/* site_key.h - the key pair by which a site's links are known to those of other sites, and the id
 * that follows from it.
 *
 * All links of a site have one pair, in a file of their own: it is no part of the cluster key,
 * which other sites must not have and which is replaced at times. The file has one line with the
 * secret key, of a word of its own so that no cluster key is taken for it, nor the other way round:
 *
 *   orbloom-site-secret 64 hexadecimal digits
 *
 * Blank lines and those that begin with # are skipped. The public key is what the other sites pin,
 * written as 64 hexadecimal digits, too.
 *
 * Shape:   keys are those of Curve25519, as CURVE has them.
 * Errors:  site_key_read: STATUS_MALFORMED, and in `reason` which line it is and what is wrong with
 *          it, without a word of what may be a secret; the output is as before then.
 * Owner:   no pointers; site_key_wipe() when a pair is used up, as it holds a secret.
 * Threads: any; pure.
 */
#ifndef ORBLOOM_MAP_SITE_KEY_H
#define ORBLOOM_MAP_SITE_KEY_H

#include "base/curve.h"
#include "base/span.h"
#include "base/status.h"
#include "map/sites.h"

#include <stdbool.h>
#include <stddef.h>

enum { SITE_KEY_DIGITS = 2 * CURVE_KEY_BYTES, SITE_KEY_TEXT_BYTES = SITE_KEY_DIGITS + 1 };

#define SITE_KEY_WORD "orbloom-site-secret"

/* Parses a site_key_file; `pair` is a struct curve_pair. For readers of secret files. */
MUST_USE enum status site_key_read(void *pair, struct span text, char *reason, size_t size);

void site_key_wipe(struct curve_pair *pair);

/* False: it is not 64 hexadecimal digits, or all of them are 0. */
MUST_USE bool site_key_parse_public(struct span text, uint8_t public[CURVE_KEY_BYTES]);

/* As people see it and hand it on; returns `text`. */
const char *site_key_show(const uint8_t public[CURVE_KEY_BYTES], char text[SITE_KEY_TEXT_BYTES]);

/* The id of the site whose links have that public key: XXH3-128 of its 32 bytes. So nobody takes
 * another site's id who has not its key, and a site that returns with another key is another one.
 */
struct site_id site_key_id(const uint8_t public[CURVE_KEY_BYTES]);

#endif
