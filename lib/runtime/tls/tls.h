/* tls.h - one end of TLS, a server's or a client's, as bytes in and bytes out; no socket is known
 * here.
 *
 *   bytes of the peer -> tls_receive() -> plain bytes, and what the peer must be sent
 *   plain bytes       -> tls_send()    -> what the peer must be sent
 *
 * TLS 1.2 and 1.3, forward secret ciphers only. No renegotiation, no compression, no early data,
 * and no session is resumed: whoever connects is looked at anew.
 *
 * Bounds:  a connection keeps one record, and while it shakes hands what OpenSSL needs for that:
 * some 40 KiB. `plain` has room for TLS_PLAIN_BYTES more than what was received. Errors:
 * tls_identity_read: STATUS_IO, STATUS_INVALID, STATUS_NOMEM, after saying what is wrong. Owner:
 * who read or created destroys. Connections keep what they need of an identity. Threads: one at a
 * time for each connection.
 */
#ifndef ORBLOOM_RUNTIME_TLS_TLS_H
#define ORBLOOM_RUNTIME_TLS_TLS_H

#include "base/buffer.h"
#include "base/span.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { TLS_PLAIN_BYTES = 32 << 10 };

/* Who must show a certificate that the authority has signed? */
enum tls_clients { TLS_CLIENTS_NONE, TLS_CLIENTS_OPTIONAL, TLS_CLIENTS_REQUIRED };

struct tls_files {
    const char *certificate; /* PEM: ours, then those that vouch for it */
    const char *key;         /* PEM, of mode 600 */
    const char *authority;   /* PEM: those that sign certificates of clients; "": none */
    enum tls_clients clients;
};

/* What is shown to peers and asked of them. */
struct tls_identity;

MUST_USE enum status tls_identity_read(const struct tls_files *files, struct tls_identity **out);

/* Of a client of somebody else's server, which has to show a certificate that `authority` vouches
 * for. `certificate` and `key` are "" where none is shown; `prefix` is what the names of their
 * options begin with: "old_". Likewise. */
MUST_USE enum status tls_identity_read_client(const struct tls_files *files, const char *prefix,
                                              struct tls_identity **out);
void tls_identity_destroy(struct tls_identity **identity);

/* Files of a client of somebody else's server, which reads them itself: is each what it must be,
 * and the key that of the certificate? Paths that are "" are not looked at; `prefix` is what the
 * names of their options begin with: "etcd_". Errors as of tls_identity_read(). */
MUST_USE enum status tls_files_check(const struct tls_files *files, const char *prefix);

/* When the first certificate of a file in PEM form expires, in seconds since 1970; 0: there is
 * none. */
int64_t tls_certificate_ends_s(struct span pem);

/* ... of an identity. */
int64_t tls_identity_ends_s(const struct tls_identity *identity);

/* "/CN=router-1, valid until Nov 26 12:00:00 2027 GMT" */
const char *tls_identity_about(const struct tls_identity *identity);

/* Is this within the time of its certificate? Else clients refuse it. */
bool tls_identity_is_valid(const struct tls_identity *identity);

/* In how many seconds that time begins; 0: it has. */
int64_t tls_identity_begins_s(const struct tls_identity *identity);

enum tls_state {
    TLS_SHAKING,
    TLS_OPEN,
    TLS_ENDED,  /* the peer has said that nothing follows */
    TLS_FAILED, /* for tls_outcome() */
};

/* What has become of a handshake. */
enum tls_outcome {
    TLS_DONE,
    TLS_PLAIN,       /* what came first was text */
    TLS_VERSION,     /* no version in common */
    TLS_CERTIFICATE, /* the peer's is missing, or nobody knows it, or it is another host's */
    TLS_BROKEN,      /* whatever else; also later than the handshake */
    TLS_LATE,        /* it took too long; told by who has a clock */
    TLS_CROWDED,     /* it gave way to others, likewise */
    TLS_NOUTCOMES
};

struct tls;

/* STATUS_NOMEM. */
MUST_USE enum status tls_create(const struct tls_identity *identity, struct tls **out);

/* A client's end, for the server that proves to be `host`: a name, or an address in numbers. Its
 * first words are there after a tls_receive() of nothing. STATUS_INVALID: that is no host. */
MUST_USE enum status tls_create_client(const struct tls_identity *identity, const char *host,
                                       struct tls **out);
void tls_destroy(struct tls **tls);

/* Append to `plain` what the peer says by `bytes`, and to `out` what it must be sent, also where it
 * failed. What it said before its end or failure is in `plain`, too. */
enum tls_state tls_receive(struct tls *self, struct span bytes, struct buffer *plain,
                           struct buffer *out);

/* Append to `out` what says `plain` to the peer. Nothing before the handshake is over, or after an
 * end. STATUS_NOMEM: the connection is of no use any more. */
MUST_USE enum status tls_send(struct tls *self, struct span plain, struct buffer *out);

/* Nothing follows: append close_notify, once. */
void tls_end(struct tls *self, struct buffer *out);

/* Whose certificate the peer has shown, as "CN=crawler,O=example" (RFC 2253: the last part of the
 * name first; lib/map/access/subject.h has the form). "": none, or none that was looked at, or its
 * name does not fit. Only once the handshake is over: then an authority of ours vouches for it. */
void tls_subject(const struct tls *self, char *text, size_t size);

/* Of what has failed; and why, for people. */
enum tls_outcome tls_outcome(const struct tls *self);
const char *tls_reason(const struct tls *self);

#endif
