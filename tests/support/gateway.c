/* A thread that serves one HTTP request after the other, by itself or from the server behind it. */
#include "tests/support/gateway.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_BYTES = 1 << 16, LIMIT_SECONDS = 20 };

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons(port),
    };
}

static int open_socket(void)
{
    struct timeval limit = {.tv_sec = LIMIT_SECONDS};
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (descriptor >= 0) {
        (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        (void)setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    }
    return descriptor;
}

static bool is_whole(const char *request)
{
    const char *body = strstr(request, "\r\n\r\n");
    const char *length = strcasestr(request, "content-length:");

    return body != NULL && (length == NULL || strlen(body + 4) >= strtoul(length + 15, NULL, 10));
}

static bool read_request(int peer, char *request)
{
    size_t size = 0;
    ssize_t part = 1;

    request[0] = '\0';
    while (part > 0 && !is_whole(request)) {
        part = recv(peer, request + size, GATEWAY_REQUEST_BYTES - 1 - size, 0);
        size += part > 0 ? (size_t)part : 0;
        request[size] = '\0';
    }
    return part > 0;
}

static bool send_all(int peer, struct span bytes)
{
    size_t sent = 0;
    ssize_t part = 1;

    while (part > 0 && sent < bytes.size) {
        part = send(peer, bytes.data + sent, bytes.size - sent, MSG_NOSIGNAL);
        sent += part > 0 ? (size_t)part : 0;
    }
    return sent == bytes.size;
}

static void *serve(void *context)
{
    static char request[GATEWAY_REQUEST_BYTES];
    struct gateway *self = context;
    int peer;

    while ((peer = accept(self->listener, NULL, NULL)) >= 0 &&
           !__atomic_load_n(&self->ending, __ATOMIC_SEQ_CST)) {
        if (read_request(peer, request)) {
            struct span answer = self->handle(self->context, request);
            unsigned left = self->repeat > 0 ? self->repeat : 1;

            while (left > 0 && answer.size > 0 && send_all(peer, answer)) {
                left--;
            }
        }
        (void)close(peer);
    }
    if (peer >= 0) {
        (void)close(peer);
    }
    return NULL;
}

void gateway_start(struct gateway *self)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;

    self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(self->listener, 0);
    cr_assert_eq(bind(self->listener, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(listen(self->listener, 16), 0);
    cr_assert_eq(getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    (void)snprintf(self->endpoint, sizeof self->endpoint, "http://127.0.0.1:%u",
                   ntohs(address.sin_port));
    cr_assert_eq(pthread_create(&self->thread, NULL, serve, self), 0);
}

static int connect_to(const char *endpoint)
{
    struct sockaddr_in address = loopback((uint16_t)strtoul(strrchr(endpoint, ':') + 1, NULL, 10));
    int descriptor = open_socket();

    if (descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        (void)close(descriptor);
        return -1;
    }
    return descriptor;
}

void gateway_stop(struct gateway *self)
{
    int last;

    __atomic_store_n(&self->ending, true, __ATOMIC_SEQ_CST);
    last = connect_to(self->endpoint); /* Ends its waiting. */
    cr_assert_eq(pthread_join(self->thread, NULL), 0);
    (void)close(last);
    (void)close(self->listener);
}

struct span gateway_pass_on(const char *endpoint, const char *request)
{
    static char once[GATEWAY_REQUEST_BYTES];
    static uint8_t answer[ANSWER_BYTES];
    int server = connect_to(endpoint);
    size_t size = 0;
    ssize_t part = 1;

    (void)snprintf(once, sizeof once, "%s", request);
    memcpy(strstr(once, "HTTP/1.1"), "HTTP/1.0", 8); /* The server closes at the end, then. */
    if (server < 0 || !send_all(server, span_text(once))) {
        part = 0;
    }
    while (part > 0 && size < sizeof answer) {
        part = recv(server, answer + size, sizeof answer - size, 0);
        size += part > 0 ? (size_t)part : 0;
    }
    if (server >= 0) {
        (void)close(server);
    }
    return span_of(answer, size);
}
