/* OpenSSL over a socket of http_peer.h. */
#include "tests/support/https_peer.h"

#include "tests/support/http_peer.h"

#include <criterion/criterion.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, REQUEST_BYTES = 4096 };

static SSL_CTX *rules(const char *authority, int most)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    (void)signal(SIGPIPE, SIG_IGN); /* OpenSSL writes also to who has hung up meanwhile. */
    cr_assert_not_null(context);
    cr_assert_eq(SSL_CTX_load_verify_locations(context, authority, NULL), 1, "%s", authority);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    cr_assert_eq(SSL_CTX_set_max_proto_version(context, most), 1);
    if (most != 0) { /* Old versions need rules that nobody should have. */
        cr_assert_eq(SSL_CTX_set_cipher_list(context, "ALL:@SECLEVEL=0"), 1);
    }
    return context;
}

static char *ask(SSL *ssl, const char *path, const char *lines)
{
    char request[REQUEST_BYTES];
    char *text = calloc(1, MOST_BYTES + 1);
    size_t size = 0;
    int got = 1;

    cr_assert_not_null(text);
    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", path, lines);
    (void)SSL_write(ssl, request, (int)strlen(request));
    while (got > 0 && size < MOST_BYTES) {
        got = SSL_read(ssl, text + size, (int)(MOST_BYTES - size));
        size += got > 0 ? (size_t)got : 0;
    }
    return text;
}

struct https_answer https_peer_get(const char *endpoint, const char *path, const char *lines,
                                   const char *authority, int most)
{
    struct https_answer answer = {NULL, ""};
    SSL_CTX *context = rules(authority, most);
    SSL *ssl = SSL_new(context);
    int fd = http_peer_open(endpoint);

    cr_assert_not_null(ssl);
    cr_assert_eq(SSL_set_fd(ssl, fd), 1);
    if (SSL_connect(ssl) == 1) {
        X509 *shown = SSL_get0_peer_certificate(ssl);

        (void)X509_NAME_oneline(X509_get_subject_name(shown), answer.name, sizeof answer.name);
        answer.text = ask(ssl, path, lines);
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    (void)close(fd);
    return answer;
}
