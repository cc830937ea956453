/* Starts etcd on ports that are free, asks it by HTTP, and ends it. */
#include "tests/support/etcd.h"

#include "tests/support/certificates.h"
#include "tests/support/command.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_MS = 30000, POLL_MS = 10, PORT_TRIES = 5, ANSWER_BYTES = 1 << 16 };

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons(port),
    };
}

/* One that is free now. */
static uint16_t choose_port(void)
{
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;

    cr_assert_geq(descriptor, 0);
    cr_assert_eq(bind(descriptor, (struct sockaddr *)&address, size), 0);
    cr_assert_eq(getsockname(descriptor, (struct sockaddr *)&address, &size), 0);
    cr_assert_eq(close(descriptor), 0);
    return ntohs(address.sin_port);
}

static void choose_ports(struct etcd *self)
{
    self->client_port = choose_port();
    do {
        self->peer_port = choose_port();
    } while (self->peer_port == self->client_port);
    (void)snprintf(self->endpoint, sizeof self->endpoint, "http://127.0.0.1:%u", self->client_port);
    while (self->tls_endpoint[0] != '\0' &&
           (self->tls_port == 0 || self->tls_port == self->client_port ||
            self->tls_port == self->peer_port)) {
        self->tls_port = choose_port();
    }
    if (self->tls_port != 0) {
        (void)snprintf(self->tls_endpoint, sizeof self->tls_endpoint, "https://127.0.0.1:%u",
                       self->tls_port);
    }
}

void etcd_make(struct etcd *self)
{
    *self = (struct etcd){.dir = "/tmp/orbloom-etcd-XXXXXX"};
    cr_assert_not_null(mkdtemp(self->dir), "%s", strerror(errno));
    choose_ports(self);
}

void etcd_make_certificates(struct etcd *self)
{
    certificates_make(self->dir);
    (void)snprintf(self->tls_endpoint, sizeof self->tls_endpoint, "to be chosen");
    choose_ports(self);
}

static void set_file(const char *variable, const struct etcd *self, const char *name)
{
    char path[96];

    (void)snprintf(path, sizeof path, "%s/%s", self->dir, name);
    (void)setenv(variable, path, 1);
}

/* In the child: never returns. */
static void become_etcd(const struct etcd *self, pid_t parent)
{
    char log[80];
    char data[80];
    char peer[64];
    char cluster[80];
    char clients[160];
    int descriptor;

    (void)snprintf(log, sizeof log, "%s/log", self->dir);
    (void)snprintf(data, sizeof data, "%s/data", self->dir);
    (void)snprintf(peer, sizeof peer, "http://127.0.0.1:%u", self->peer_port);
    (void)snprintf(cluster, sizeof cluster, "default=%s", peer);
    (void)snprintf(clients, sizeof clients, "%s%s%s", self->endpoint,
                   self->tls_port != 0 ? "," : "", self->tls_port != 0 ? self->tls_endpoint : "");
    if (self->tls_port != 0) { /* As flags, with the folder before them. */
        set_file("ETCD_CERT_FILE", self, "server.pem");
        set_file("ETCD_KEY_FILE", self, "server.key");
        set_file("ETCD_TRUSTED_CA_FILE", self, "ca.pem");
        (void)setenv("ETCD_CLIENT_CERT_AUTH", "true", 1);
    }
    if (self->quota_bytes != NULL) {
        (void)setenv("ETCD_QUOTA_BACKEND_BYTES", self->quota_bytes, 1);
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (getppid() == parent && descriptor >= 0 && dup2(descriptor, 1) == 1 &&
        dup2(descriptor, 2) == 2) {
        (void)execlp("etcd", "etcd", "--data-dir", data, "--listen-client-urls", clients,
                     "--advertise-client-urls", clients, "--listen-peer-urls", peer,
                     "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster,
                     "--heartbeat-interval", "20", "--election-timeout", "200", (char *)NULL);
    }
    _exit(127);
}

/* Read to the end of the connection; false: nobody listens. */
static bool exchange(uint16_t port, const char *request, char *answer)
{
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = loopback(port);
    struct timeval limit = {.tv_sec = LIMIT_MS / 1000};
    size_t size = 0;
    ssize_t part = 1;

    cr_assert_geq(descriptor, 0);
    (void)setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0 ||
        send(descriptor, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request)) {
        part = 0;
    }
    while (part > 0 && size < ANSWER_BYTES - 1) {
        part = recv(descriptor, answer + size, ANSWER_BYTES - 1 - size, 0);
        size += part > 0 ? (size_t)part : 0;
    }
    answer[size] = '\0';
    cr_assert_eq(close(descriptor), 0);
    return size > 0;
}

const char *etcd_post(const struct etcd *self, const char *path, const char *json)
{
    static char answer[ANSWER_BYTES];
    char request[4096];

    (void)snprintf(request, sizeof request,
                   "POST %s HTTP/1.0\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", path,
                   strlen(json), json);
    cr_assert(exchange(self->client_port, request, answer), "etcd does not answer");
    return answer;
}

static bool answers(const struct etcd *self)
{
    char answer[ANSWER_BYTES];

    return exchange(self->client_port, "GET /health HTTP/1.0\r\n\r\n", answer) &&
           strstr(answer, "true") != NULL;
}

/* False: it has ended, perhaps as another process has one of its ports. */
static bool try_start(struct etcd *self)
{
    uint64_t deadline_ms = command_now_ms() + LIMIT_MS;
    pid_t parent = getpid();
    int how = 0;

    self->pid = fork();
    cr_assert_geq(self->pid, 0);
    if (self->pid == 0) {
        become_etcd(self, parent);
    }
    while (!answers(self)) {
        if (waitpid(self->pid, &how, WNOHANG) == self->pid) {
            cr_assert(!WIFEXITED(how) || WEXITSTATUS(how) != 127,
                      "etcd cannot be run; is etcd-server installed? (make deps)");
            self->pid = 0;
            return false;
        }
        cr_assert_lt(command_now_ms(), deadline_ms, "etcd does not answer");
        (void)poll(NULL, 0, POLL_MS);
    }
    return true;
}

void etcd_start(struct etcd *self)
{
    char data[80];

    (void)snprintf(data, sizeof data, "%s/data", self->dir);
    for (int try = 0; try < PORT_TRIES && self->pid == 0; try++) {
        if (!try_start(self) && access(data, F_OK) != 0) {
            choose_ports(self);
        }
    }
    cr_assert_gt(self->pid, 0, "etcd does not start; see %s/log", self->dir);
}

void etcd_signal(struct etcd *self, int signal)
{
    cr_assert_gt(self->pid, 1);
    cr_assert_eq(kill(self->pid, signal), 0, "%s", strerror(errno));
    if (signal == SIGKILL) {
        cr_assert_eq(waitpid(self->pid, NULL, 0), self->pid);
        self->pid = 0;
    }
}

void etcd_remove(struct etcd *self)
{
    char command[128];

    if (self->pid > 0) {
        etcd_signal(self, SIGKILL);
    }
    (void)snprintf(command, sizeof command, "rm -rf %s", self->dir);
    cr_assert_eq(system(command), 0);
}
