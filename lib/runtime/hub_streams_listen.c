/* Where clients find a hub's streams: an address, a path. */
#include "runtime/hub_streams_internal.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 511 };

static bool resolve(const char *endpoint, struct sockaddr_storage *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char host[HUB_ENDPOINT_BYTES];
    const char *text = strstr(endpoint, "://") != NULL ? strstr(endpoint, "://") + 3 : endpoint;
    const char *colon = strrchr(text, ':');
    size_t size = colon != NULL ? (size_t)(colon - text) : 0;

    if (colon == NULL || size >= sizeof host) {
        return false;
    }
    if (size > 2 && text[0] == '[') { /* [::1] */
        text++;
        size -= 2;
    }
    memcpy(host, text, size);
    host[size] = '\0';
    if (getaddrinfo(strcmp(host, "*") == 0 ? NULL : host,
                    strcmp(colon, ":*") == 0 ? "0" : colon + 1, &hints, &found) != 0) {
        return false;
    }
    memcpy(address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return true;
}

static void tell_endpoint(struct hub_streams *streams)
{
    struct sockaddr_storage address;
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    int length = sizeof address;

    if (uv_tcp_getsockname(&streams->listeners[0].tcp, (struct sockaddr *)&address, &length) == 0 &&
        getnameinfo((struct sockaddr *)&address, (socklen_t)length, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        (void)snprintf(streams->endpoint, sizeof streams->endpoint,
                       address.ss_family == AF_INET6 ? "tcp://[%.200s]:%.5s" : "tcp://%.200s:%.5s",
                       host, port);
    }
}

static int listen_tcp(struct hub_streams *streams, const char *endpoint)
{
    union stream_handle *listener = &streams->listeners[0];
    struct sockaddr_storage address;
    int error;

    if (!resolve(endpoint, &address)) {
        return UV_EADDRNOTAVAIL;
    }
    error = uv_tcp_init(&streams->hub->loop, &listener->tcp);
    streams->listening[0] = error == 0;
    listener->handle.data = streams;
    error = error != 0 ? error : uv_tcp_bind(&listener->tcp, (struct sockaddr *)&address, 0);
    error = error != 0 ? error : uv_listen(&listener->stream, BACKLOG, hub_streams_on_connection);
    if (error == 0) {
        tell_endpoint(streams);
    }
    return error;
}

/* A socket that nobody listens on is left over from a process that was killed. */
static void remove_leftover(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0 &&
        errno == ECONNREFUSED) {
        (void)unlink(path);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static int listen_path(struct hub_streams *streams, const char *path)
{
    union stream_handle *listener = &streams->listeners[1];
    int error = uv_pipe_init(&streams->hub->loop, &listener->pipe, 0);

    streams->listening[1] = error == 0;
    listener->handle.data = streams;
    remove_leftover(path);
    error = error != 0 ? error : uv_pipe_bind(&listener->pipe, path);
    error = error != 0 ? error : uv_listen(&listener->stream, BACKLOG, hub_streams_on_connection);
    if (error == 0) {
        (void)snprintf(streams->path, sizeof streams->path, "%s", path);
    }
    return error;
}

static bool listen_on(struct hub_streams *streams, const char *where,
                      int (*listen)(struct hub_streams *, const char *))
{
    int error = where[0] != '\0' ? listen(streams, where) : 0;

    if (error != 0) {
        log_line(LOG_ERROR,
                 "cannot listen on %s for RESP clients: %s; choose another address or port, or "
                 "stop what listens there",
                 where, uv_strerror(error));
    }
    return error == 0;
}

bool hub_streams_listen(struct hub_streams *streams, const char *endpoint, const char *path)
{
    return listen_on(streams, endpoint, listen_tcp) && listen_on(streams, path, listen_path);
}
