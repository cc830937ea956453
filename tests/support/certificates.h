/* certificates.h - what an authority, a server and clients have, made by openssl for one test.
 *
 * In the folder are then, each with its NAME.key of mode 600:
 *
 *   ca.pem       an authority, which has signed server.pem, second.pem and client.pem
 *   server.pem   for 127.0.0.1; second.pem likewise
 *   client.pem   of a client
 *   other.pem    another authority, which has signed stranger.pem
 *
 * Errors:  a failed cr_assert, also when openssl is not installed.
 * Owner:   who made the folder removes it.
 */
#ifndef ORBLOOM_TESTS_SUPPORT_CERTIFICATES_H
#define ORBLOOM_TESTS_SUPPORT_CERTIFICATES_H

void certificates_make(const char *folder);

#endif
