/* Bytes over a blocking socket, and what an HTTP answer says. */
#include "tests/support/http_peer.h"

#include "runtime/address.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { DEADLINE_S = 20, TRIES_A_S = 50, MOST_BYTES = 32 << 20, REQUEST_BYTES = 1 << 16 };

static int dial(const struct sockaddr_storage *address, socklen_t length)
{
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_geq(fd, 0);
    if (connect(fd, (const struct sockaddr *)address, length) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

int http_peer_open(const char *endpoint)
{
    const struct timeval deadline = {.tv_sec = DEADLINE_S};
    struct sockaddr_storage address;
    socklen_t length = address_resolve(endpoint, &address);
    int fd = -1;

    cr_assert_gt(length, 0, "%s", endpoint);
    for (int i = 0; fd < 0 && i < DEADLINE_S * TRIES_A_S; i++) {
        fd = dial(&address, length);
        if (fd < 0) {
            (void)usleep(1000000 / TRIES_A_S);
        }
    }
    cr_assert_geq(fd, 0, "%s: %s", endpoint, strerror(errno));
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline), 0);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof deadline), 0);
    return fd;
}

void http_peer_send(int fd, struct span bytes)
{
    ssize_t sent = 1;

    while (bytes.size > 0 && sent > 0) {
        sent = send(fd, bytes.data, bytes.size, MSG_NOSIGNAL);
        if (sent > 0) {
            bytes = span_of(bytes.data + sent, bytes.size - (size_t)sent);
        }
    }
}

char *http_peer_hear(int fd)
{
    char *text = malloc(MOST_BYTES + 1);
    size_t size = 0;
    ssize_t got = 1;

    cr_assert_not_null(text);
    while (got > 0 && size < MOST_BYTES) {
        got = recv(fd, text + size, MOST_BYTES - size, 0);
        size += got > 0 ? (size_t)got : 0;
    }
    cr_assert(got == 0 || errno == ECONNRESET, "no end within the deadline: %s", strerror(errno));
    text[size] = '\0';
    return text;
}

char *http_peer_ask(const char *endpoint, struct span request)
{
    int fd = http_peer_open(endpoint);
    char *answer;

    http_peer_send(fd, request);
    answer = http_peer_hear(fd);
    (void)close(fd);
    return answer;
}

char *http_peer_get(const char *endpoint, const char *path, const char *lines)
{
    char request[REQUEST_BYTES];

    (void)snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", path, lines);
    return http_peer_ask(endpoint, span_text(request));
}

unsigned http_peer_code(const char *answer)
{
    unsigned code = 0;

    return sscanf(answer, "HTTP/1.%*u %u ", &code) == 1 ? code : 0;
}

const char *http_peer_body(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");

    cr_assert_not_null(end, "no head: %.200s", answer);
    return end + 4;
}
