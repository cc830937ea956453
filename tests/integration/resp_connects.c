/* What client libraries send when they connect, to a real router by TLS, as a user that may read
 * some filters and nothing else: each is answered, and with nothing that would end its connection.
 */
#include "tests/support/certificates.h"
#include "tests/support/connects.h"
#include "tests/support/redis_shell.h"
#include "tests/support/resp_peer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LIMIT_S = 180, MOST_REPLY = 64 << 10, MOST_SCRIPT = 1024 };

#define USER  "reader"
#define TOKEN "reader-token-0123456789"
#define MARK  "$3\r\n=-=\r\n"

static struct playground playground;
static char path[REDIS_SOCKET_BYTES];
static unsigned port;

static void start(void)
{
    char text[MOST_SCRIPT];

    playground_start(&playground, &(struct playground_plan){.in_memory = true});
    redis_socket(&playground, path);
    certificates_make(playground.dir);
    port = redis_free_port();
    (void)snprintf(text, sizeof text,
                   "resp_tls_listen = \"tcp://127.0.0.1:%u\";\ntls_cert_file = \"%s/server.pem\";\n"
                   "tls_key_file = \"%s/server.key\";\n",
                   port, playground.dir, playground.dir);
    redis_restart_router(&playground, text);
    (void)snprintf(text, sizeof text,
                   "(umask 077; echo " TOKEN " >%s/token); %s/orbloom user create " USER
                   " --token-file %s/token --rights 'r shared:*' >/dev/null 2>&1; "
                   "for i in $(seq 200); do redis-cli $S --no-auth-warning --user " USER
                   " --pass " TOKEN " ACL WHOAMI 2>&1 | grep -qx " USER " && break; sleep 0.1; "
                   "done; echo $((i < 200))",
                   playground.dir, command_bin_dir(), playground.dir);
    redis_shell(path, text, "1\n");
}

/* A connection by TLS, which OpenSSL's own client speaks. */
static int dial(pid_t *pid)
{
    char address[32];
    char authority[128];
    int ends[2];

    (void)snprintf(address, sizeof address, "127.0.0.1:%u", port);
    (void)snprintf(authority, sizeof authority, "%s/ca.pem", playground.dir);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    *pid = fork();
    cr_assert_geq(*pid, 0);
    if (*pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(ends[1], 0);
        (void)dup2(ends[1], 1);
        (void)dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
        (void)execlp("openssl", "openssl", "s_client", "-connect", address, "-CAfile", authority,
                     "-verify_return_error", "-quiet", (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    return ends[0];
}

static void hang_up(int fd, pid_t pid)
{
    (void)close(fd);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* What comes before the answer to a PING that was sent behind; or before the end. */
static void receive(int fd, const char *what, char reply[MOST_REPLY])
{
    size_t size = 0;

    while (size < strlen(MARK) || strcmp(reply + size - strlen(MARK), MARK) != 0) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got;

        cr_assert_eq(poll(&ready, 1, RESP_PEER_WAIT_MS), 1, "%s: no answer", what);
        got = recv(fd, reply + size, MOST_REPLY - 1 - size, 0);
        /* openssl may end with the PING still unread. */
        got = got < 0 && errno == ECONNRESET ? 0 : got;
        cr_assert_geq(got, 0, "%s", what);
        size += (size_t)got;
        reply[size] = '\0';
        if (got == 0) {
            return;
        }
    }
}

static void expect_line(int fd, const char *client, const char *said, const char *answer)
{
    static char reply[MOST_REPLY];
    char what[2 * CONNECT_SAID_BYTES];

    (void)snprintf(what, sizeof what, "%s: %s", client, said);
    reply[0] = '\0';
    resp_peer_send(fd, span_text(said));
    resp_peer_send(fd, span_text("PING =-=\r\n"));
    receive(fd, what, reply);
    cr_assert_eq(strncmp(reply, answer, strlen(answer)), 0, "%s: %s", what, reply);
    cr_assert(strstr(reply, MARK) != NULL || strncasecmp(said, "quit", 4) == 0,
              "%s: the connection was closed", what);
}

static void connect_as_reader(const struct connect_client *client)
{
    char said[CONNECT_SAID_BYTES];
    pid_t pid;
    int fd = dial(&pid);

    if (connect_logs_in_first(client)) {
        expect_line(fd, client->name, "AUTH " USER " " TOKEN "\r\n", "+OK\r\n");
    }
    for (size_t i = 0; connect_said(client, i, USER, TOKEN, said); i++) {
        expect_line(fd, client->name, said, connect_answer(&client->lines[i], true));
    }
    hang_up(fd, pid);
}

Test(resp_connects, by_tls_as_a_restricted_user, .timeout = LIMIT_S)
{
    size_t count;
    const struct connect_client *clients = connect_clients(&count);

    (void)signal(SIGPIPE, SIG_IGN);
    start();
    for (size_t i = 0; i < count; i++) {
        connect_as_reader(&clients[i]);
    }
    playground_stop(&playground);
}
