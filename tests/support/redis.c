/* Starts redis-server on a socket, and servers that only pretend to be one. */
#include "tests/support/redis.h"

#include "tests/support/command.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 20000, POLL_MS = 10, CONNECTIONS = 8, READ_BYTES = 4096, SMALL_BYTES = 4608 };

static void make_folder(struct redis *self)
{
    *self = (struct redis){.dir = "/tmp/orbloom-redis-XXXXXX"};
    cr_assert_not_null(mkdtemp(self->dir), "%s", strerror(errno));
    (void)snprintf(self->socket, sizeof self->socket, "%s/socket", self->dir);
    (void)snprintf(self->endpoint, sizeof self->endpoint, "unix:%s", self->socket);
    cr_assert_eq(setenv("ORBLOOM_REDIS", self->endpoint, 1), 0);
}

struct link_path {
    char path[PATH_MAX];
};

static struct link_path link_of(const struct redis *self)
{
    struct link_path link;

    (void)snprintf(link.path, sizeof link.path, "%s/redis-server", self->dir);
    return link;
}

static void run(const char *program, const struct redis *self)
{
    (void)execlp(program, program, "--port", "0", "--unixsocket", self->socket, "--dir", self->dir,
                 "--save", "", "--appendonly", "no", (char *)NULL);
}

/* In the child: never returns. Debian's redis-tools brings the server as redis-check-rdb, which
 * takes its part from its name. */
static void become_redis(const struct redis *self, pid_t parent)
{
    struct link_path link = link_of(self);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && freopen("/dev/null", "w", stdout) != NULL) {
        run("redis-server", self);
        if (symlink("/usr/bin/redis-check-rdb", link.path) == 0) {
            run(link.path, self);
        }
    }
    _exit(127);
}

static bool answers(struct redis *self)
{
    redisReply *reply;
    bool pong;

    self->client = redisConnectUnixWithTimeout(self->socket, (struct timeval){.tv_sec = 10});
    cr_assert_not_null(self->client);
    reply = self->client->err == 0 ? redisCommand(self->client, "PING") : NULL;
    pong = reply != NULL && reply->type == REDIS_REPLY_STATUS;
    if (reply != NULL) {
        freeReplyObject(reply);
    }
    if (!pong) {
        redisFree(self->client);
        self->client = NULL;
    }
    return pong;
}

void redis_start(struct redis *self)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    pid_t parent = getpid();

    make_folder(self);
    self->pid = fork();
    cr_assert_geq(self->pid, 0);
    if (self->pid == 0) {
        become_redis(self, parent);
    }
    while (!answers(self)) {
        cr_assert_eq(waitpid(self->pid, NULL, WNOHANG), 0,
                     "redis-server does not start; is it installed? (make deps)");
        cr_assert_lt(command_now_ms(), deadline_ms, "redis-server does not answer");
        (void)poll(NULL, 0, POLL_MS);
    }
}

void redis_signal(struct redis *self, int signal)
{
    cr_assert_gt(self->pid, 1);
    cr_assert_eq(kill(self->pid, signal), 0, "%s", strerror(errno));
}

void redis_stop(struct redis *self)
{
    if (self->client != NULL) {
        redisFree(self->client);
        self->client = NULL;
    }
    (void)kill(self->pid, SIGKILL);
    cr_assert_eq(waitpid(self->pid, NULL, 0), self->pid);
    (void)unlink(self->socket);
    (void)unlink(link_of(self).path);
    cr_assert_eq(rmdir(self->dir), 0, "%s: %s", self->dir, strerror(errno));
}

long long redis_ask(struct redis *self, const char *command)
{
    redisReply *reply = redisCommand(self->client, command);
    long long value;

    cr_assert_not_null(reply, "%s: %s", command, self->client->errstr);
    cr_assert(reply->type == REDIS_REPLY_INTEGER || reply->type == REDIS_REPLY_NIL ||
                  reply->type == REDIS_REPLY_STATUS,
              "%s: %s", command, reply->str);
    value = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    freeReplyObject(reply);
    return value;
}

static long long processed(struct redis *self)
{
    redisReply *reply = redisCommand(self->client, "INFO stats");
    const char *at;
    long long count;

    cr_assert_not_null(reply, "%s", self->client->errstr);
    at = strstr(reply->str, "total_commands_processed:");
    cr_assert_not_null(at);
    count = strtoll(strchr(at, ':') + 1, NULL, 10);
    freeReplyObject(reply);
    return count;
}

void redis_wait_commands(struct redis *self, long long more)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    long long goal = processed(self) + more;

    while (processed(self) < goal) {
        cr_assert_lt(command_now_ms(), deadline_ms, "the server has nothing to do");
        (void)poll(NULL, 0, POLL_MS);
    }
}

/* ---- impostors ---- */

static int listen_on(const struct redis *self)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_geq(fd, 0);
    memcpy(address.sun_path, self->socket, strlen(self->socket) + 1);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0, "%s", strerror(errno));
    cr_assert_eq(listen(fd, CONNECTIONS), 0);
    return fd;
}

/* Blocks until the peer has taken it. */
static void say(int fd, const char *text)
{
    for (size_t done = 0, size = strlen(text); done < size;) {
        ssize_t part = send(fd, text + done, size - done, MSG_NOSIGNAL);

        if (part <= 0) {
            return;
        }
        done += (size_t)part;
    }
}

/* What a real server says to commands before and after a load; false: it is of the load. */
static bool say_greeting(int fd, const char *command)
{
    static const struct {
        const char *word;
        const char *reply;
    } greetings[] = {{"PING", "+PONG\r\n"},
                     {"UNLINK", ":0\r\n"},
                     {"INFO", "$0\r\n\r\n"},
                     {"BF.RESERVE", "+OK\r\n"}};

    for (size_t i = 0; i < sizeof greetings / sizeof greetings[0]; i++) {
        if (strstr(command, greetings[i].word) != NULL) {
            say(fd, greetings[i].reply);
            return true;
        }
    }
    return false;
}

/* '*' begins a command and is nowhere else in what a bench sends. */
static void say_one_each(int fd, const char *commands)
{
    for (const char *at = strchr(commands, '*'); at != NULL; at = strchr(at + 1, '*')) {
        say(fd, ":1\r\n");
    }
}

static void play(enum impostor kind, int fd, const char *text)
{
    switch (kind) {
    case IMPOSTOR_WEB:
        say(fd, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        break;
    case IMPOSTOR_PONG:
        if (!say_greeting(fd, text)) {
            say(fd, "\x80\x81 what?\r\n");
        }
        break;
    case IMPOSTOR_MUTE:
        (void)say_greeting(fd, text);
        break;
    case IMPOSTOR_LEAVES:
        if (!say_greeting(fd, text)) {
            (void)shutdown(fd, SHUT_WR);
        }
        break;
    case IMPOSTOR_NARROW:
        if (!say_greeting(fd, text)) {
            say_one_each(fd, text);
        }
        break;
    case IMPOSTOR_SILENT:
    case IMPOSTOR_HANGS_UP:
        break;
    }
}

/* Returns false when the peer has gone. */
static bool serve(enum impostor kind, int fd)
{
    char text[READ_BYTES + 1];
    ssize_t size = kind == IMPOSTOR_HANGS_UP ? 0 : recv(fd, text, READ_BYTES, 0);

    if (size <= 0) {
        (void)close(fd);
        return false;
    }
    text[size] = '\0';
    play(kind, fd, text);
    return true;
}

static void take_connection(struct pollfd *polled, nfds_t *count)
{
    int small = SMALL_BYTES;
    int fd = accept(polled[0].fd, NULL, NULL);

    if (fd >= 0 && *count <= CONNECTIONS) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        polled[(*count)++] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
}

/* In the child, until it is killed. */
static void become_impostor(enum impostor kind, int listener)
{
    struct pollfd polled[CONNECTIONS + 1] = {{.fd = listener, .events = POLLIN}};
    nfds_t count = 1;

    while (poll(polled, count, LIMIT_MS) > 0) {
        for (nfds_t i = count; i-- > 1;) {
            if (polled[i].revents != 0 && !serve(kind, polled[i].fd)) {
                polled[i] = polled[--count];
            }
        }
        if (polled[0].revents != 0) {
            take_connection(polled, &count);
        }
    }
    _exit(0);
}

void redis_start_impostor(struct redis *self, enum impostor kind)
{
    pid_t parent = getpid();
    int listener;

    make_folder(self);
    listener = listen_on(self);
    self->pid = fork();
    cr_assert_geq(self->pid, 0);
    if (self->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            become_impostor(kind, listener);
        }
        _exit(1);
    }
    (void)close(listener);
}
