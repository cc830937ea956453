/* Dials a front by TCP or a local socket, sends bytes, and waits for just those that must come. */
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TRIES = 2000, PAUSE_MS = 10, MOST_TEXT = 4096 };

static int connect_path(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_geq(fd, 0, "%s", strerror(errno));
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        return fd;
    }
    (void)close(fd);
    return -1;
}

static int connect_port(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_geq(fd, 0, "%s", strerror(errno));
    address.sin_port = htons((uint16_t)port);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        return fd;
    }
    (void)close(fd);
    return -1;
}

int resp_peer_dial(const char *path, unsigned port)
{
    for (int tries = 0; tries < TRIES; tries++) {
        int fd = port != 0 ? connect_port(port) : connect_path(path);

        if (fd >= 0) {
            return fd;
        }
        (void)poll(NULL, 0, PAUSE_MS);
    }
    cr_assert_fail("cannot connect: %s", strerror(errno));
    return -1;
}

unsigned resp_peer_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)close(fd);
    return ntohs(address.sin_port);
}

void resp_peer_send(int fd, struct span bytes)
{
    while (bytes.size > 0) {
        ssize_t sent = send(fd, bytes.data, bytes.size, MSG_NOSIGNAL);

        cr_assert_gt(sent, 0, "%s", strerror(errno));
        bytes = span_of(bytes.data + sent, bytes.size - (size_t)sent);
    }
}

size_t resp_peer_receive(int fd, char *text, size_t size)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    size_t got = 0;

    while (got < size) {
        ssize_t read;

        cr_assert_eq(poll(&polled, 1, RESP_PEER_WAIT_MS), 1, "no answer; so far: %.*s", (int)got,
                     text);
        read = recv(fd, text + got, size - got, 0);
        cr_assert_geq(read, 0, "%s", strerror(errno));
        if (read == 0) {
            break;
        }
        got += (size_t)read;
    }
    return got;
}

static void expect(int fd, const char *expected, size_t room)
{
    char text[MOST_TEXT] = "";
    size_t got;

    cr_assert_lt(room, sizeof text);
    got = resp_peer_receive(fd, text, room);
    cr_assert_eq(got, strlen(expected), "%zu bytes: %s", got, text);
    cr_assert_str_eq(text, expected);
}

void resp_peer_expect(int fd, const char *sent, const char *expected)
{
    resp_peer_send(fd, span_text(sent));
    expect(fd, expected, strlen(expected));
}

void resp_peer_expect_end(int fd, const char *expected)
{
    expect(fd, expected, strlen(expected) + 1);
    (void)close(fd);
}
