/* https_peer.h - a client of HTTP by TLS, on a blocking socket.
 *
 * Errors:  a failed cr_assert where OpenSSL itself fails.
 * Owner:   the caller frees answers.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_HTTPS_PEER_H
#define ORBLOOM_TESTS_SUPPORT_HTTPS_PEER_H

enum { HTTPS_NAME_BYTES = 128 };

struct https_answer {
    char *text;                  /* all that came; NULL: no handshake came about */
    char name[HTTPS_NAME_BYTES]; /* of the certificate that was shown: "/CN=server" */
};

/* "GET PATH" of "tcp://HOST:PORT", whose certificate `authority` (a file) must have signed.
 * `most`: the highest version that is offered, TLS1_1_VERSION, say; 0: whatever there is. */
struct https_answer https_peer_get(const char *endpoint, const char *path, const char *lines,
                                   const char *authority, int most);

#endif
