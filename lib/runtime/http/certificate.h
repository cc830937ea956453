/* certificate.h - what HTTP by TLS shows to who connects: a certificate, those that vouch for it,
 * and its key, as texts.
 *
 * Errors:  http_certificate_read: STATUS_IO, STATUS_INVALID, STATUS_NOMEM, after saying what is
 * wrong. Owner:   zeros hold nothing; whoever has read one ends it, which wipes the key. Threads:
 * none.
 */
#ifndef ORBLOOM_RUNTIME_HTTP_CERTIFICATE_H
#define ORBLOOM_RUNTIME_HTTP_CERTIFICATE_H

#include "base/buffer.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct http_certificate {
    struct buffer chain; /* PEM, ended by a zero */
    struct buffer key;   /* likewise */
    int64_t ends_s;      /* when the certificate expires, since 1970 */
};

/* The files of http_cert_file and http_key_file. *out holds nothing before. */
MUST_USE enum status http_certificate_read(const char *cert_file, const char *key_file,
                                           struct http_certificate *out);
bool http_certificate_equal(const struct http_certificate *a, const struct http_certificate *b);
void http_certificate_fini(struct http_certificate *self);

#endif
