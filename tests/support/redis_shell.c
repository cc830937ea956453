/* Runs shell lines that find the router's socket as $S, and starts that router with other options.
 * */
#include "tests/support/redis_shell.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_TEXT = 8192 };

void redis_socket(const struct playground *playground, char path[REDIS_SOCKET_BYTES])
{
    int size = snprintf(path, REDIS_SOCKET_BYTES, "%s/router/resp.sock", playground->dir);

    cr_assert_lt(size, REDIS_SOCKET_BYTES);
}

void redis_shell(const char *path, const char *script, const char *output)
{
    char line[MOST_TEXT];
    char text[MOST_TEXT];
    FILE *shell;
    size_t size;

    (void)snprintf(line, sizeof line, "S='-s %s'; { %s; } 2>&1 | tail -c 4000", path, script);
    shell = popen(line, "r");
    cr_assert_not_null(shell);
    size = fread(text, 1, sizeof text - 1, shell);
    text[size] = '\0';
    cr_assert_eq(pclose(shell), 0);
    if (output != NULL) {
        cr_assert_str_eq(text, output, "%s: %s", script, text);
    }
}

/* The socket is what it opens last. */
static void await_router(const struct playground *playground)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int tries = 0;

    redis_socket(playground, address.sun_path);
    while (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        cr_assert_lt(++tries, 3000, "the router does not serve %s", address.sun_path);
        (void)poll(NULL, 0, 10);
    }
    (void)close(fd);
}

void redis_restart_router(struct playground *playground, const char *options)
{
    char conf[160];
    FILE *file;

    playground_kill(playground, "router");
    (void)snprintf(conf, sizeof conf, "%s/router/conf", playground->dir);
    file = fopen(conf, "a");
    cr_assert_not_null(file);
    (void)fputs(options, file);
    cr_assert_eq(fclose(file), 0);
    playground_restart(playground, "router");
    await_router(playground);
}

unsigned redis_free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    (void)close(fd);
    return ntohs(address.sin_port);
}
