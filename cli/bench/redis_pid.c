/* Which process of this machine is the Redis server? Only then its CPU time can be watched; 0
 * where that is not certain. */
#include "cli/bench/redis_control.h"
#include "runtime/process_usage.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { NAME_BYTES = 16, LINE_BYTES = 256 };

/* Both ends of a connection within a machine have one address. */
static bool is_on_this_machine(int fd)
{
    struct sockaddr_storage peer = {0};
    struct sockaddr_storage own = {0};
    socklen_t peer_size = sizeof peer;
    socklen_t own_size = sizeof own;

    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0 ||
        getsockname(fd, (struct sockaddr *)&own, &own_size) != 0) {
        return false;
    }
    if (peer.ss_family == AF_INET) {
        return ((struct sockaddr_in *)&peer)->sin_addr.s_addr ==
               ((struct sockaddr_in *)&own)->sin_addr.s_addr;
    }
    if (peer.ss_family == AF_INET6) {
        return memcmp(&((struct sockaddr_in6 *)&peer)->sin6_addr,
                      &((struct sockaddr_in6 *)&own)->sin6_addr, sizeof(struct in6_addr)) == 0;
    }
    return peer.ss_family == AF_UNIX;
}

/* The value of "name:value\r\n" in INFO's text; "" without one. */
static void find_value(const char *text, const char *name, char value[LINE_BYTES])
{
    const char *at = strstr(text, name);

    value[0] = '\0';
    if (at != NULL) {
        at += strlen(name);
        (void)snprintf(value, LINE_BYTES, "%.*s", (int)strcspn(at, "\r\n"), at);
    }
}

/* A server in a container of its own counts processes from 1: is it the one we see here? */
static bool is_its_name(long pid, const char *executable)
{
    const char *slash = strrchr(executable, '/');
    char name[NAME_BYTES];

    executable = slash != NULL ? slash + 1 : executable;
    return process_name(pid, name, sizeof name) && strncmp(name, executable, sizeof name - 1) == 0;
}

long bench_redis_pid(struct bench_redis *self)
{
    char executable[LINE_BYTES];
    char number[LINE_BYTES];
    redisReply *reply;
    long pid = 0;

    if (!is_on_this_machine(self->control->fd)) {
        return 0;
    }
    reply = redisCommand(self->control, "INFO server");
    if (reply != NULL && reply->type == REDIS_REPLY_STRING) {
        find_value(reply->str, "process_id:", number);
        find_value(reply->str, "executable:", executable);
        pid = strtol(number, NULL, 10);
        pid = is_its_name(pid, executable) ? pid : 0;
    }
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    return pid;
}
